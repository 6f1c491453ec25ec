"""Minimise a sum of concave terms over belief sets with many classes.

At a corner every focal set gives its whole mass to one of its classes. Replacing terms by their chords lets
each set choose on its own (the class with the smallest slope), which bounds the minimum from below; branching
on who gets one mass, wherever a class ends up between its bounds, closes the gap.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray

_MAX_NODES = 20_000


def least_over_assignments(
    masses: HostArray,
    membership: HostArray,
    terms: Callable[[HostArray], HostArray],
    tolerance: float,
) -> float:
    """Return the least sum of terms(p) over one belief set, certified within `tolerance`.

    `masses` is (f,), `membership` (f, k), and `terms` maps probabilities (k,) to concave terms (k,).
    """
    held = masses > 0
    masses, allowed = masses[held], membership[held] > 0
    counter = itertools.count()
    bound, best, probs, choice = _relax(masses, allowed, terms)
    heap = [(bound, next(counter), allowed, probs, choice)]
    for _ in range(_MAX_NODES):
        bound, _, allowed, probs, choice = heapq.heappop(heap)
        if bound >= best - tolerance:
            return best
        branch = _branching_set(masses, allowed, probs, choice, terms)
        given, withheld = allowed.copy(), allowed.copy()
        given[branch] = False
        given[branch, choice[branch]] = True
        withheld[branch, choice[branch]] = False
        for child in (given, withheld):
            bound, value, probs, picked = _relax(masses, child, terms)
            best = min(best, value)
            heapq.heappush(heap, (bound, next(counter), child, probs, picked))
    raise UnsupportedError(
        "the least value over a belief set",
        "must be certified by branch and bound",
        f"the gap is {best - heap[0][0]:.1g} after {_MAX_NODES} nodes",
        "Pass a larger `tolerance`.",
    )


def _chords(
    masses: HostArray, allowed: HostArray, terms: Callable[[HostArray], HostArray]
) -> tuple[HostArray, HostArray, HostArray]:
    """Return what every class surely gets, the term there and the slope of the chord to what it may get."""
    sure = (allowed.sum(axis=1, keepdims=True) == 1) & allowed
    low, high = masses @ sure, masses @ allowed
    at_low, at_high = terms(low), terms(high)
    wide = high > low
    return low, at_low, np.where(wide, (at_high - at_low) / np.where(wide, high - low, 1.0), 0.0)


def _relax(
    masses: HostArray, allowed: HostArray, terms: Callable[[HostArray], HostArray]
) -> tuple[float, float, HostArray, HostArray]:
    """Let every set choose the smallest slope: bound, true value, probabilities and choice."""
    low, at_low, slopes = _chords(masses, allowed, terms)
    choice = np.argmin(np.where(allowed, slopes, np.inf), axis=1)
    probs = np.bincount(choice, weights=masses, minlength=allowed.shape[1])
    return float((at_low + slopes * (probs - low)).sum()), float(terms(probs).sum()), probs, choice


def _branching_set(
    masses: HostArray,
    allowed: HostArray,
    probs: HostArray,
    choice: HostArray,
    terms: Callable[[HostArray], HostArray],
) -> int:
    """Return the heaviest undecided set that could change the class whose chord is furthest off."""
    low, at_low, slopes = _chords(masses, allowed, terms)
    loss = terms(probs) - (at_low + slopes * (probs - low))
    undecided = allowed.sum(axis=1) > 1
    gives = undecided & (choice == np.argmax(loss))
    return int(np.argmax(np.where(gives if gives.any() else undecided, masses, -1.0)))
