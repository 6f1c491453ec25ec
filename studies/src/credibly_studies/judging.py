"""From means with intervals to the outcome of a claim; `outcomes` has the same for shares."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import ndtri

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly._arrays.standard_errors import mean_error
from credibly.evaluation import shown, shown_range
from credibly.results.estimates import Estimate
from credibly_studies.results import Outcome

LEVEL = 0.95

_FEW = 10

Interval = tuple[float, float]


def normal_interval(value: float, stderr: float, level: float = LEVEL) -> Interval:
    """Return the normal interval of an estimate."""
    half = float(ndtri((1 + level) / 2)) * stderr
    return value - half, value + half


def student_interval(values: HostArray, level: float = LEVEL) -> Interval | None:
    """Return Student's interval of the mean of a few runs; None for a single one.

    The normal one is too narrow: of ten runs, 90 % intervals hold the mean in 86.6 %.
    """
    from scipy.stats import t  # slow to load, and every command loads this module

    if len(values) < 2:
        return None
    half = float(t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - half, float(values.mean()) + half


def offered_interval(estimate: Estimate, level: float = LEVEL) -> Interval | None:
    """Return the interval of an estimate; None where its coverage is not vouched for."""
    try:
        return estimate.interval(level)
    except UnsupportedError:
        return None


def mean_interval(values: HostArray, level: float = LEVEL) -> Interval | None:
    """Return the normal interval of the mean of independent values (n,); None where a few decide the mean."""
    error = mean_error(values)
    if error["interval_refusal"] is not None:
        return None
    return normal_interval(float(values.mean()), error["stderr"], level)


def dominance(first: HostArray, second: HostArray) -> tuple[float, Interval | None]:
    """Return how probable it is that one of `first` is larger than one of `second`, ties half.

    The area under the curve with DeLong's interval (1988): no moments of the values are needed, so it tells
    where a few large ones decide the means. None below ten values.
    """
    m, n = len(first), len(second)
    above_second, below_first = _share_below(first, second), 1 - _share_below(second, first)
    value = float(above_second.mean())
    if min(m, n) < _FEW:
        return value, None
    return value, normal_interval(
        value, math.sqrt(above_second.var(ddof=1) / m + below_first.var(ddof=1) / n)
    )


def _share_below(values: HostArray, others: HostArray) -> HostArray:
    """Return for each value the share of `others` below it, ties half."""
    ordered = np.sort(others)
    counts = sum(np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray(counts) / 2 / len(others)


def above(interval: Interval | None, bound: float = 0.0) -> Outcome:
    """Judge "it is larger than `bound`": confirmed or not where the interval lies on one side of it."""
    if interval is None or not (interval[0] > bound or interval[1] < bound):
        return "cannot tell"
    return "confirmed" if interval[0] > bound else "not confirmed"


def below(interval: Interval | None, bound: float = 0.0) -> Outcome:
    """Judge "it is smaller than `bound`"."""
    return above(None if interval is None else (-interval[1], -interval[0]), -bound)


def denied(outcome: Outcome) -> Outcome:
    """Judge the opposite claim."""
    opposite: dict[Outcome, Outcome] = {"confirmed": "not confirmed", "not confirmed": "confirmed"}
    return opposite.get(outcome, outcome)


def holds(facts: Iterable[bool]) -> Outcome:
    """Judge a claim whose cases are certain, such as an identity between printed numbers."""
    return "confirmed" if all(facts) else "not confirmed"


def told(value: float, interval: Interval | None) -> str:
    """Write a number with its interval."""
    if interval is None:
        return f"{shown(value)} (no interval holds here)"
    return f"{shown(value)} ({shown_range(interval)})"
