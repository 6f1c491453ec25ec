"""What single members predict along a feature, beside the band of all of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.results import Result

HostArray = np.ndarray[Any, Any]


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
