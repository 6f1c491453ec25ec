"""One test of all that may be said: every component against labels drawn from the predictions.

A family holds the components that would show one kind of fault. Each is standardised by its replicates; a
family is judged by its largest component, or by the sum of squares of all of them, as a tail probability;
the test by the smallest of these, ranked among those of the replicates. So one error rate holds for
everything: a right model is in conflict in at most the level of all data sets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc, log_ndtr

from credibly._arrays.binomial import clopper_pearson
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import Seed
from credibly.diagnosis.table import Fault
from credibly.hypotests.calibration.lattice import Attribute
from credibly.hypotests.resampling.wild import sign_tiles

_BOTH_TAILS = np.log(2.0)
_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Family:
    """Components that would show one kind of fault.

    Attributes
    ----------
    fault : str
        Name of the fault.
    sums : ndarray (1 + b, c)
        The components; row 0 is the observation, the others are replicates.
    pooled : bool
        Whether many small deviations count together, instead of the largest.
    weight : float
        How much of the level it gets, relative to the others.
    """

    fault: str
    sums: HostArray
    pooled: bool = False
    weight: float = 1.0

    def log_tails(self) -> HostArray | None:
        """Return the logarithm of the tail probability of every row, (1 + b,); None where nothing varies."""
        spread = self.sums.std(axis=0)
        moving = spread > _ROUNDING * (1.0 + np.abs(self.sums).max(axis=0))
        if not moving.any():
            return None
        z = (self.sums[:, moving] - self.sums[:, moving].mean(axis=0)) / spread[moving]
        if not self.pooled:
            number = np.log(moving.sum())
            return np.asarray(np.minimum(0.0, number + _BOTH_TAILS + log_ndtr(-np.abs(z).max(axis=1))))
        square = (z * z).sum(axis=1)
        factor = square.var() / (2.0 * square.mean())  # a multiple of a chi-square, its moments matched
        tails: HostArray = np.log(np.maximum(chdtrc(square.mean() / factor, square / factor), 1e-300))
        return tails


_OF_GROUPS = 3.0  # the user named them, so their families get more of the level


def families_of(names: Sequence[str], sums: HostArray, faults: Sequence[Fault], pooled: str) -> list[Family]:
    """Return the families of sums (1 + b, c), whose names are those of faults; one of them is pooled."""
    by_group = {fault.name for fault in faults if fault.by_group}
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return [
        Family(name, sums[:, at], name == pooled, _OF_GROUPS if name in by_group else 1.0)
        for name, at in places.items()
    ]


def indicators(attributes: Sequence[Attribute], n: int) -> HostArray:
    """Return which of n rows belong to which group, (n, groups); attributes of one level have no groups."""
    several = [attribute for attribute in attributes if len(attribute.levels) > 1]
    groups = [attribute.codes[:, None] == np.arange(len(attribute.levels)) for attribute in several]
    return np.hstack([np.empty((n, 0), dtype=bool), *groups])


@dataclasses.dataclass(frozen=True)
class Screened:
    """What the one test found.

    Attributes
    ----------
    pvalue : float
        Of everything together.
    interval : tuple of float
        Its Monte-Carlo interval.
    shown : str
        The fault whose family shows most.
    """

    pvalue: float
    interval: tuple[float, float]
    shown: str


def signed_sums(
    rows: HostArray, chance: HostArray, clusters: HostArray, seed: Seed, n_resamples: int
) -> HostArray:
    """Return sums of residuals, and the same with the signs of clusters changed, (1 + b, c).

    Where an event is too rare to have happened in many clusters, they vary less than independent rows, whose
    variance counts then.

    Parameters
    ----------
    rows : ndarray (n, c)
        Residuals.
    chance : ndarray (c,)
        Variances of their sums for independent rows.
    clusters : ndarray (n,)
        Number of the cluster of every row.
    seed : Seed
        Of the signs.
    n_resamples : int
        Number of replicates.
    """
    number = int(clusters.max()) + 1
    added = np.zeros((number, rows.shape[1]))
    np.add.at(added, clusters, rows)
    wide = np.sqrt((added**2).sum(axis=0))
    factor = np.maximum(1.0, np.sqrt(chance) / np.maximum(wide, np.finfo(float).tiny))
    signed = [
        to_host(signs) @ (factor * added) for _, signs in sign_tiles(seed, number, n_resamples, 8 * number)
    ]
    return np.concatenate([added.sum(axis=0, keepdims=True), *signed])


OTHER = "other"
"""Stands for the fault that other tests show, on the same replicates."""


def screened(
    families: Sequence[Family], floor: float = 0.0, others: HostArray | None = None
) -> Screened | None:
    """Test all families together; None where no component can vary.

    Parameters
    ----------
    families : sequence of Family
        What may be said.
    floor : float
        The smallest p-value that the replicates can show, above that of their number.
    others : ndarray (1 + b,), optional
        Logarithms of the smallest p-value of other tests, on the same replicates.

    Returns
    -------
    Screened or None
        What was found.
    """
    tails = {
        family.fault: tail - np.log(family.weight)
        for family in families
        if (tail := family.log_tails()) is not None
    }
    if others is not None:
        tails[OTHER] = others
    if not tails:
        return None
    weighed = np.stack(list(tails.values()))
    least = weighed.min(axis=0)
    as_small = int(np.count_nonzero(least[1:] <= least[0] + _ROUNDING))
    number = least.size - 1
    low, high = clopper_pearson(as_small, number)
    pvalue = max((1 + as_small) / (1 + number), floor)
    return Screened(pvalue, (low, max(high, pvalue)), list(tails)[int(weighed[:, 0].argmin())])
