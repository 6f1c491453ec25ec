"""Curves behind predictive checks of real values: coverage by level, and functions drawn from members."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from credibly._arrays.results import Result

HostArray = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class CoverageCurve(Result):
    """How many labels central intervals hold, level by level.

    Attributes
    ----------
    levels : ndarray (l,)
        Probability that each interval is said to hold.
    observed : ndarray (l,)
        Share of the labels inside.
    band : tuple of ndarray
        Lower and upper end, per level, of what the model expects of itself.
    band_level : float
        Coverage of the band at each level.
    hypothesis : {"bayesian", "independent"}
        How labels behind the band were drawn.
    n : int
        Number of instances.
    n_resamples : int
        Replicates behind the band.
    """

    levels: HostArray
    observed: HostArray
    band: tuple[HostArray, HostArray]
    band_level: float
    hypothesis: Literal["bayesian", "independent"]
    n: int
    n_resamples: int


@dataclasses.dataclass(frozen=True)
class MemberFunctions(Result):
    """What some members predict along one feature, and the band of all of them together.

    Attributes
    ----------
    x : ndarray (n,)
        The feature, in increasing order.
    members : ndarray (f,)
        Which members are shown.
    centre, low, high : ndarray (n, f)
        Median and central interval of each of these members.
    total_low, total_high : ndarray (n,)
        Central interval of all members together.
    level : float
        Probability that the intervals are said to hold.
    labels : ndarray (n,) or None
        What was observed.
    """

    x: HostArray
    members: HostArray
    centre: HostArray
    low: HostArray
    high: HostArray
    total_low: HostArray
    total_high: HostArray
    level: float
    labels: HostArray | None
