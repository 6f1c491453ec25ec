"""What every kind of credal test gets and gives back, and how values become one result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress
from credibly.hypotests.credal.combinations import Combination
from credibly.hypotests.credal.points import Points
from credibly.hypotests.resampling.pvalues import omnibus, single_result
from credibly.predictions import Classes, ClassPredictions
from credibly.results.tests import CredalTestResult, HypotestResult, Notion
from credibly.statistics import Bound, Statistic

_NOTIONS: dict[str, Notion] = {
    "accuracy": "confidence",
    "confidence_ece": "confidence",
    "top_label_ece": "confidence",
    "classwise_ece": "classwise",
    "hosmer_lemeshow": "classwise",
}


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


class Finding(NamedTuple):
    """A test, and the combination it found."""

    result: HypotestResult
    combination: Combination
    weights: HostArray
    names: tuple[str, ...]
    rows: HostArray
    notes: tuple[str, ...]


def as_credal_result(found: Finding, hypothesis: str, settings: Mapping[str, Any]) -> CredalTestResult:
    """Return everything in one result that knows its hypothesis and the notion of calibration it tests."""
    fields = {field.name: getattr(found.result, field.name) for field in dataclasses.fields(HypotestResult)}
    names = tuple(found.result.components) or (found.result.statistic_name,)
    notions = {_NOTIONS.get(name, "distribution") for name in names}
    fields |= {
        "name": "credal_test",
        "hypothesis": hypothesis,
        "settings": {**settings, **found.result.settings},
        "notes": tuple(dict.fromkeys((*found.notes, *found.result.notes))),
    }
    return CredalTestResult(
        **fields,
        weights=found.weights,
        weight_names=found.names,
        notion=notions.pop() if len(notions) == 1 else "distribution",
        test_rows=np.asarray(found.rows),
        combination=found.combination,
    )
