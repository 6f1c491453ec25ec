"""One error rate for the first screen: each of its tests is judged at its share of the level (Holm).

The diagnosis is one test of everything that predictions state. Sets, raters, members and groups bring tests
of their own. Together they find a conflict in a right model in at most the level of all data sets.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from credibly._arrays.notes import replicates_note
from credibly.evaluation.ignorance import IgnoranceParts
from credibly.evaluation.rows import has_counts
from credibly.evaluation.set_tests import CredalParts, ValidityParts, judged_set, judged_truth
from credibly.evaluation.work import Work
from credibly.hypotests.resampling.pvalues import fewest_resamples, level_beside
from credibly.predictions import (
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Point,
    PredictionIntervals,
    PredictionSets,
    RealPredictions,
    Rows,
)
from credibly.results.audit import AuditResult
from credibly.results.predictive import PredictiveCheck

_DECIDING = ("audit", "credal", "validity", "raters", "ignorance", "check", "diagnosis")
"""Parts whose first verdicts the first screen shows."""


def _pvalue(part: Any) -> float:
    """Return the p-value behind the first verdict of a part."""
    if isinstance(part, PredictiveCheck):
        return min((test.deciding_pvalue for test in part.checks.values()), default=1.0)
    return float(part.pvalue)


def _can_reject(part: Any, level: float) -> bool:
    """Tell whether some labels could make a test reject; one that cannot needs no share of the level."""
    if isinstance(part, PredictiveCheck):  # p-values of members as a sample are at least 2 / (m + 1)
        return part.bayesian is None or 2.0 / (part.m + 1) <= level
    return True


def _tests(work: Work) -> dict[str, float]:
    """Return the p-values of the parts that share the level."""
    return {
        name: _pvalue(work.results[name])
        for name in _DECIDING
        if work.results.get(name) is not None and _can_reject(work.results[name], work.level)
    }


def own_level(part: str, work: Work) -> float:
    """Return the level at which one part is judged beside the others that were run."""
    return level_beside((pvalue for name, pvalue in _tests(work).items() if name != part), work.level)


def levels_of(work: Work) -> dict[str, float]:
    """Return the level at which each part of the first screen is judged; none where nothing is tested."""
    if not work.tests:
        return {}
    return {name: own_level(name, work) for name in _tests(work)}


def share_level(work: Work) -> None:
    """Judge all parts of the first screen at their own levels."""
    for name, level in levels_of(work).items():
        part = work.results[name]
        if isinstance(part, CredalParts):
            work.results[name] = judged_set(part, dataclasses.replace(work, level=level))
        elif isinstance(part, ValidityParts):
            work.results[name] = judged_truth(part, dataclasses.replace(work, level=level))
        elif isinstance(part, (AuditResult, IgnoranceParts)):
            work.results[name] = part.judged(level)


def resamples_for(rows: Rows, n_resamples: int, level: float) -> tuple[int, tuple[str, ...]]:
    """Return how many replicates are drawn so that every test of the first screen can reject, with a note."""
    some = rows.example.predictions
    number, sides = 1 + (rows.example.groups is not None), 1
    if isinstance(some, (PredictionSets, PredictionIntervals)):  # on average, by size and by features
        number, sides = number + 1 + (rows.example.features is not None), 2
    elif isinstance(some, ClassPredictions):
        stated = isinstance(some, (Ensemble, Dirichlet))
        number += (2 + stated) * has_counts(rows) + (not isinstance(some, Point))
    if (
        isinstance(some, (Ensemble, RealPredictions)) and some.n_members > 1
    ):  # what members expect is tested on both sides
        number, sides = number + 1, 2
    needed = fewest_resamples(level / number, sides)
    if n_resamples >= needed:
        return n_resamples, ()
    return needed, (replicates_note(needed, n_resamples),)
