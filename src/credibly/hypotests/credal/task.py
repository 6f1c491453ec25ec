"""The checked input of every credal test."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress
from credibly.hypotests.resampling.pvalues import omnibus, single_result
from credibly.learners.points import Points
from credibly.predictions import Classes, ClassPredictions
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.protocol import Bound


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

    def result(self, bounds: Sequence[Bound], values: HostArray) -> HypotestResult:
        """Return the result of one statistic or the omnibus of several, from (s, 1 + b) values."""
        settings = dict(self.settings)
        results = [single_result(bound, row, settings) for bound, row in zip(bounds, values, strict=True)]
        return omnibus(results, values, settings) if self.several else results[0]
