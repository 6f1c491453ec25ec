"""The checked input of tests of sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed, as_seed
from credibly._arrays.progress import Progress
from credibly.hypotests.calibration.calibration_test import observed_classes
from credibly.hypotests.resampling.loop import resampled_values
from credibly.hypotests.resampling.pvalues import omnibus, single_result
from credibly.hypotests.resampling.replicates import Replicates
from credibly.learners.points import Points, as_class_predictions, points_of
from credibly.predictions import Classes, ClassPredictions, Ensemble, Point, cluster_codes, paired
from credibly.predictions.passes import without_graph
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult, with_details
from credibly.statistics import Statistic
from credibly.statistics.protocol import Bound
from credibly.statistics.registry import story_of

HYPOTHESES = {
    "learned": "some combination of the set, with weights this learner can represent, is calibrated",
    "constant": "some combination of the set, with one weight vector for all instances, is calibrated",
    "mean": "the mean of the set is calibrated",
}
"""By the weights that are tested."""


@dataclasses.dataclass(frozen=True)
class SetTask:
    """Sets and one label per instance."""

    given: ClassPredictions
    observed: Classes
    points: Points
    codes: HostArray | None  # (n,) clusters of the rows; None where all are independent
    n_draws: int
    seed: Seed
    notes: tuple[str, ...]  # about the labels

    @classmethod
    def of(
        cls, predictions: Any, labels: Any, n_draws: int, clusters: Any, blocks: int | None, rng: Any
    ) -> SetTask:
        """Check what a user gives."""
        codes = cluster_codes(predictions, clusters, blocks)
        predictions, labels = paired(predictions, labels)
        sets = without_graph(as_class_predictions(predictions))
        if isinstance(sets, Ensemble) and sets.holds_drawn_labels:
            raise UnsupportedError(
                "a test of sets",
                "needs members that are distributions",
                f"all {sets.n_members} members are certain of one class, as drawn labels are",
                "Use `calibration_test` or `predictive_check`, which take them as draws.",
            )
        seed = as_seed(rng)
        observed, notes = observed_classes(sets, labels, "a test of sets", seed)
        points = points_of(sets, require_integer(n_draws, "n_draws", 1), seed)
        return cls(sets, observed, points, codes, n_draws, seed, notes)


@dataclasses.dataclass(frozen=True)
class WeightsTask(SetTask):
    """The same for a test of weights: what is compared, and with how many replicates."""

    statistics: tuple[Statistic, ...]
    several: bool
    n_resamples: int
    settings: Mapping[str, Any]
    progress: Progress | None

    @property
    def asked(self) -> Statistic | tuple[Statistic, ...]:
        """The statistics as `calibration_test` takes them."""
        return self.statistics if self.several else self.statistics[0]

    def values(self, bounds: Sequence[Bound], tested: Point, seen: Classes) -> HostArray:
        """Evaluate bound statistics of one combination on labels drawn from it, (s, 1 + b)."""
        replicates = Replicates(tested.probs, self.seed)
        return resampled_values(bounds, seen, replicates, self.n_resamples, self.progress)

    def result(self, bounds: Sequence[Bound], values: HostArray) -> HypotestResult:
        """Return the result of one statistic or the omnibus of several, from (s, 1 + b) values."""
        settings = dict(self.settings)
        results = [single_result(bound, row, settings) for bound, row in zip(bounds, values, strict=True)]
        return omnibus(results, values, settings) if self.several else results[0]

    def with_weights(
        self,
        result: HypotestResult,
        combination: Any,
        weights: HostArray,
        names: tuple[str, ...],
        rows: HostArray,
        notes: Sequence[str],
    ) -> HypotestResult[WeightsDetails]:
        """Return a test with the weights that it found, its hypothesis and its notion of calibration."""
        notions = {story_of(one.name).notion for one in self.statistics}
        notion = notions.pop() if len(notions) == 1 else "distribution"
        return with_details(
            result,
            WeightsDetails(rows, combination, weights, names, notion),
            name="weights_test",
            hypothesis=HYPOTHESES[self.settings["weights"]],
            settings={**self.settings, **result.settings},
            notes=tuple(dict.fromkeys((*notes, *self.notes, *result.notes))),
        )
