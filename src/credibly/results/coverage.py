"""Coverage of sets and intervals that claim a coverage."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.notes import counted
from credibly.results.base import Result, require_level
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult


@dataclasses.dataclass(frozen=True)
class Strata(Result):
    """Coverage in parts of the instances, and one p-value for "each part has the claimed coverage".

    Attributes
    ----------
    by : str
        What makes the parts: "size" or "group".
    names : tuple of str
        Names of the parts.
    n : ndarray (s,)
        Instances of each.
    coverage : ndarray (s,)
        Share of these whose label is covered; for parts by size, the smallest is the size-stratified
        coverage.
    pvalue : float or None
        Chi-square statistic against replicates: exact. None if nothing was drawn.
    """

    by: str
    names: tuple[str, ...]
    n: np.ndarray[Any, Any]
    coverage: np.ndarray[Any, Any]
    pvalue: float | None


@dataclasses.dataclass(frozen=True)
class SetCoverage(Result):
    """Coverage of prediction sets or intervals that claim a coverage, on average and in parts.

    Attributes
    ----------
    kind : {"sets", "intervals"}
        Sets of classes, or intervals of a real value.
    claimed : float
        Coverage that is claimed.
    coverage : Estimate
        Share of labels that are covered, with Wilson's interval.
    pvalue : float or None
        Exact binomial, two-sided; for rows in clusters by their signs, None if nothing was drawn.
    size : Estimate
        Mean number of classes in a set, or mean width of an interval.
    score : Estimate or None
        Mean interval score; None for sets of classes.
    empty : float
        Share of sets that are empty, or of intervals without width.
    widen : float or None
        For intervals: how far both ends must be moved out to contain the claimed share of new labels from the
        same source (the conformal quantile); negative if they can be moved in, infinite for too few labels,
        None for sets of classes.
    by_size : Strata
        Coverage by size.
    by_group : Strata or None
        Coverage by group, if there are groups.
    features_pvalue : float or None
        P-value of whether features predict which labels are covered: ridge regression on other folds, exact
        by replicates.
    tests : mapping of str to HypotestResult
        All of these tests, with p-values adjusted for each other: ``"set_coverage"``,
        ``"coverage_by_size"``, ``"coverage_by_group"`` and ``"coverage_by_features"``.
    n, n_resamples : int
        Instances, and replicates behind p-values.
    notes : tuple of str
        How sets and labels were read.
    """

    kind: Literal["sets", "intervals"]
    claimed: float
    coverage: Estimate
    pvalue: float | None
    size: Estimate
    score: Estimate | None
    empty: float
    widen: float | None
    by_size: Strata
    by_group: Strata | None
    features_pvalue: float | None
    tests: Mapping[str, HypotestResult]
    n: int
    n_resamples: int
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Coverage, size and, of intervals, their score by name."""
        estimates = (self.coverage, self.size, self.score)
        return {estimate.name: estimate for estimate in estimates if estimate is not None}

    def rejects(self, level: float = 0.05) -> bool:
        """Tell whether any of the tests rejects the claim; the chance of a false yes is at most `level`."""
        require_level(level)
        return any(test.deciding_pvalue <= level for test in self.tests.values())

    def __str__(self) -> str:
        claimed, share = (f"{100 * each:.4g} %" for each in (self.claimed, self.coverage.value))
        coverage = f"{claimed} {self.kind} contain {share} of {counted(self.n, 'label')}"
        tested = "" if self.pvalue is None else f", p = {self.pvalue:.3g}"
        return f"{coverage}{tested}; mean {'width' if self.score else 'size'} {self.size.value:.4g}"
