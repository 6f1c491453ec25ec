"""Coverage of sets and intervals that claim a coverage."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly.results.base import Result
from credibly.results.estimates import Estimate


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
        Share of these whose label is covered.
    pvalue : float
        Chi-square statistic against replicates: exact.
    """

    by: str
    names: tuple[str, ...]
    n: np.ndarray[Any, Any]
    coverage: np.ndarray[Any, Any]
    pvalue: float

    @property
    def lowest(self) -> float:
        """Coverage of the worst part; for parts by size, the size-stratified coverage."""
        return float(self.coverage.min())


@dataclasses.dataclass(frozen=True)
class Slab(Result):
    """The slab of features, a <= <v, x> <= b, with the lowest coverage.

    Attributes
    ----------
    direction : ndarray (f,)
        v, in units of standardised features.
    low, high : float
        a and b.
    n : int
        Instances inside.
    coverage : float
        Share of these whose label is covered: too low because the slab was searched for, so look at the
        p-value.
    pvalue : float
        Share of replicates whose worst slab is at least as bad: exact.
    """

    direction: np.ndarray[Any, Any]
    low: float
    high: float
    n: int
    coverage: float
    pvalue: float


@dataclasses.dataclass(frozen=True)
class SetCoverage(Result):
    """Coverage of prediction sets or intervals that claim a coverage, on average and in parts.

    Attributes
    ----------
    claimed : float
        Coverage that is claimed.
    coverage : Estimate
        Share of labels that are covered, with Wilson's interval.
    pvalue : float
        Exact binomial, two-sided.
    size : Estimate
        Mean number of classes in a set, or mean width of an interval.
    score : Estimate or None
        Mean interval score; None for sets of classes.
    by_size : Strata
        Coverage by size.
    by_group : Strata or None
        Coverage by group, if there are groups.
    features_pvalue : float or None
        P-value of whether features predict which labels are covered: ridge regression on other folds, exact
        by replicates.
    slab : Slab or None
        The worst slab of the features.
    n, n_resamples : int
        Instances, and replicates behind p-values.
    """

    claimed: float
    coverage: Estimate
    pvalue: float
    size: Estimate
    score: Estimate | None
    by_size: Strata
    by_group: Strata | None
    features_pvalue: float | None
    slab: Slab | None
    n: int
    n_resamples: int
