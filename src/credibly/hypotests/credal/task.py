"""The checked input of tests of sets, and statistics of combinations that change with the labels.

A bound statistic serves many label vectors of one prediction. Where weights are fitted to every label vector
both change with the replicate, so the sums of all of them are taken in a few array operations where the
statistic allows it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, HostArray, is_numpy, tiles, to_host
from credibly._arrays.philox import Seed, as_seed
from credibly._arrays.progress import Progress, tell
from credibly.hypotests.calibration.calibration_test import calibration_test
from credibly.hypotests.resampling.loop import resampled_values
from credibly.hypotests.resampling.pvalues import omnibus, settled, single_result
from credibly.hypotests.resampling.replicates import Replicates, observed_classes
from credibly.learners.points import Points, as_class_predictions, points_of
from credibly.predictions import Classes, ClassPredictions, Ensemble, Point, cluster_codes, paired
from credibly.predictions.passes import without_graph
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult, with_details
from credibly.statistics import Statistic
from credibly.statistics.cells import BinnedStatistic, CellStatistic
from credibly.statistics.protocol import Bound, State
from credibly.statistics.registry import story_of
from credibly.statistics.skce import Skce

_TILE = 128  # rows of a kernel that are made at a time, with all later ones

HYPOTHESES = {
    "learned": "some combination of the set, with weights this learner can represent, is calibrated",
    "constant": "some combination of the set, with one weight vector for all instances, is calibrated",
    "mean": "the mean of the set is calibrated",
}
"""By the weights that are tested."""


@dataclasses.dataclass(frozen=True)
class SetTask:
    """Sets and one label per instance."""

    predictions: ClassPredictions
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

    def calibration(self, tested: Any, seen: Classes, codes: HostArray | None) -> HypotestResult:
        """Test whether one combination is calibrated, with signs of clusters where rows have codes."""
        return calibration_test(
            tested,
            seen,
            statistics=self.statistics if self.several else self.statistics[0],
            n_resamples=self.n_resamples,
            clusters=codes,
            rng=self.seed,
            progress=self.progress,
        )

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
        notions = {story_of(statistic.name).notion for statistic in self.statistics}
        notion = notions.pop() if len(notions) == 1 else "distribution"
        return with_details(
            result,
            WeightsDetails(rows, combination, weights, names, notion),
            name="weights_test",
            hypothesis=HYPOTHESES[self.settings["weights"]],
            settings={**self.settings, **result.settings},
            notes=tuple(dict.fromkeys((*notes, *self.notes, *result.notes))),
        )


def values_of_pairs(
    bounds: Sequence[Bound],
    pairs: Iterable[tuple[Array, Classes]],
    total: int,
    progress: Progress | None = None,
) -> HostArray:
    """Evaluate statistics of `total` pairs of predictions (b, n, k) and labels (b, n), (s, total).

    The pairs come in batches, and the first is the observation. `bounds` are the statistics at the
    observation: their settings, bandwidths too, serve all pairs.
    """
    values, start = np.empty((len(bounds), total)), 0
    for probs, labels in pairs:
        stop = start + len(labels)
        for row, bound in zip(values, bounds, strict=True):
            row[start:stop] = pair_values(bound.statistic, probs, labels)
        start = stop
        tell(progress, stop, total)
    return np.stack(
        [
            settled(row, bound.term_size, bound.n, bound.rounding)
            for row, bound in zip(values, bounds, strict=True)
        ]
    )


def pair_values(statistic: Statistic, probs: Array, labels: Classes) -> HostArray:
    """Return a statistic of each prediction with its own labels, (b, n, k), (b, n) -> (b,)."""
    plain = isinstance(statistic, Skce) and statistic.kernel == "exponential" and not statistic._single
    if is_numpy(probs) and isinstance(statistic, Skce) and plain:
        return kernel_values(statistic, probs, labels)
    if is_numpy(probs) and isinstance(statistic, CellStatistic) and counted_in_pairs(statistic):
        return cell_values(statistic, probs, labels)
    points = (Point._trusted(probs[d, ...]) for d in range(len(labels)))
    return np.array(
        [float(statistic.bind(point)(one_of_many(labels, d))[0]) for d, point in enumerate(points)]
    )


def one_of_many(labels: Classes, d: int) -> Classes:
    """Return one of several label vectors."""
    return Classes(labels.values[d : d + 1, :], labels.n_classes)


def kernel_values(statistic: Skce, probs: HostArray, labels: Classes) -> HostArray:
    """sum_{i != j} exp(-|p_i - p_j| / h) <e_yi - p_i, e_yj - p_j> / (n (n - 1)) of each pair, (b,).

    Rows meet later rows only: the sum is symmetric.
    """
    b, n, k = probs.shape
    rows, scale = np.arange(n), -1.0 / float(statistic.bandwidth)
    classes = to_host(labels.values).astype(np.int64)
    if k == 2:
        return np.asarray(_sums_in_order(probs[:, :, 1], classes, scale) / (n * (n - 1)))
    from scipy.spatial.distance import cdist  # whose import takes a tenth of a second

    grid = list(tiles(n, _TILE))
    errors = np.empty(b)
    for d in range(b):
        places = np.ascontiguousarray(probs[d])
        residual = np.negative(places)
        residual[rows, classes[d]] += 1.0
        total = 0.0
        for part in grid:
            kernel = cdist(places[part], places[part.start :])
            np.exp(np.multiply(kernel, scale, out=kernel), out=kernel)
            inside = part.stop - part.start
            kernel[:, inside:] *= 2.0
            kernel[rows[:inside], rows[:inside]] = 0.0
            total += np.vdot(residual[part], kernel @ residual[part.start :])
        errors[d] = total
    return np.asarray(errors / (n * (n - 1)))


def _sums_in_order(chance: HostArray, classes: HostArray, scale: float) -> HostArray:
    """Return the sums over pairs for two classes from chances (b, n) of the second one, (b,).

    In the order of the chances distances add up, so every row meets all before it at once.
    """
    order = np.argsort(chance, axis=1)
    place, error = (
        np.take_along_axis(values, order, axis=1).T.copy() for values in (chance, classes - chance)
    )
    fading = np.exp((math.sqrt(2.0) * scale) * np.diff(place, axis=0))
    before = total = np.zeros(len(chance))
    for fades, previous, current in zip(fading, error[:-1], error[1:], strict=True):
        before = fades * (before + previous)
        total = total + current * before
    sums: HostArray = 4.0 * total
    return sums


def counted_in_pairs(statistic: CellStatistic) -> bool:
    """Tell whether bins are fixed, so that many predictions can be counted at once."""
    if not isinstance(statistic, BinnedStatistic):
        return False
    return statistic.binning == "equal_width" and "square" not in statistic.needs


def cell_values(statistic: CellStatistic, probs: HostArray, labels: Classes) -> HostArray:
    """Return a binned statistic where each label vector has its own predictions, (b, n, k), (b, n) -> (b,).

    All pairs are counted at once: every pair is a part of the rows.
    """
    b, n, k = probs.shape
    terms = statistic.terms(Point._trusted(probs.reshape(b * n, k)), statistic.plan(Point._trusted(probs[0])))
    parts = terms.split(np.repeat(np.arange(b), n), b)
    sums = parts.sums(Classes(labels.values.reshape(1, b * n), k), statistic.needs)
    return to_host(statistic.value(State({name: total.reshape(b, -1) for name, total in sums.items()})))
