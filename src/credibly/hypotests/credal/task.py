"""The checked input of every credal test."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress
from credibly.hypotests.resampling.loop import paired_values, resampled_values
from credibly.hypotests.resampling.pvalues import omnibus, single_result
from credibly.hypotests.resampling.replicates import Replicates, bootstrapped
from credibly.learners.points import Points
from credibly.predictions import Classes, ClassPredictions, as_point
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.protocol import Bound

Resample = Literal["labels", "instances"]


@dataclasses.dataclass(frozen=True)
class CredalTask:
    """Checked input of a credal test."""

    given: ClassPredictions
    observed: Classes
    points: Points
    statistics: tuple[Statistic, ...]
    several: bool
    n_resamples: int
    n_draws: int
    seed: Seed
    settings: Mapping[str, Any]
    progress: Progress | None
    resample: Resample = "labels"

    def values(self, bounds: Sequence[Bound], tested: ClassPredictions, seen: Classes) -> HostArray:
        """Evaluate bound statistics of one combination, (s, 1 + b): labels drawn from it, or rows as well."""
        if self.resample == "labels":
            replicates = Replicates(as_point(tested)[0].probs, self.seed)
            return resampled_values(bounds, seen, replicates, self.n_resamples, self.progress)
        pairs = bootstrapped(tested, seen, self.seed, self.n_resamples)
        return paired_values([one.statistic for one in bounds], pairs, self.n_resamples + 1, self.progress)

    def result(self, bounds: Sequence[Bound], values: HostArray) -> HypotestResult:
        """Return the result of one statistic or the omnibus of several, from (s, 1 + b) values."""
        settings = dict(self.settings)
        results = [single_result(bound, row, settings) for bound, row in zip(bounds, values, strict=True)]
        return omnibus(results, values, settings) if self.several else results[0]
