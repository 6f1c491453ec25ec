"""What sets and intervals with a claimed coverage hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly.results.base import Result
from credibly.results.estimates import Estimate


@dataclasses.dataclass(frozen=True)
class Strata(Result):
    """Coverage in parts of the instances, and one p-value of "each part holds what is claimed".

    Attributes
    ----------
    by : str
        What makes the parts: "size" or "group".
    names : tuple of str
        Names of the parts.
    n : ndarray (s,)
        Instances of each.
    coverage : ndarray (s,)
        Share of them whose label is held.
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
        """Coverage of the part that is held least: by size the size-stratified coverage."""
        return float(self.coverage.min())


@dataclasses.dataclass(frozen=True)
class Slab(Result):
    """The slab of features, a <= <v, x> <= b, whose labels are held least.

    Attributes
    ----------
    direction : ndarray (f,)
        v, in units of standardised features.
    low, high : float
        a and b.
    n : int
        Instances inside.
    coverage : float
        Share of them whose label is held: too low by search, so look at the p-value.
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
    """What prediction sets or intervals with a claimed coverage hold, on average and in parts.

    Attributes
    ----------
    claimed : float
        Coverage that is claimed.
    coverage : Estimate
        Share of labels that are held, with Wilson's interval.
    pvalue : float
        Exact binomial, two-sided.
    size : Estimate
        Mean number of classes in a set, or mean width of an interval.
    score : Estimate or None
        Mean interval score; None for sets of classes.
    by_size : Strata
        Coverage by size.
    by_group : Strata or None
        Coverage by group, where there are groups.
    features_pvalue : float or None
        Whether features predict which labels are held: ridge regression on other folds, exact by replicates.
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
