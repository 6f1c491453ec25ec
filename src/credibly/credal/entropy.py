"""Upper and lower entropy: the largest and the least Shannon entropy in a set of distributions.

Entropy is concave, so its minimum is at a corner. A corner of a belief set belongs to an order of classes
and its terms add up along the order, so the best corner is a shortest path through the events, from nothing
to everything: k 2^(k-1) steps instead of k!.

Over intervals, replacing each term by its chord gives a linear problem that filling solves; all but one class
are then at a bound, where the chord is exact. Branch and bound on that one class closes the gap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credibly._arrays.checks import require_positive_number
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, HostArray, entropy_of_rows, like, tiles, to_host, xlogy
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import filled_in_order, tight_bounds
from credibly.credal.envelope import all_events, envelope_of, event_tiles, require_few_classes
from credibly.credal.filling import nearest_distribution
from credibly.credal.sets import (
    DIRICHLET_SAMPLES,
    CredalSet,
    as_set,
    members_of,
    require_tolerance,
    uncertified,
)
from credibly.predictions import Belief, Intervals
from credibly.predictions.intervals import tightened

TOLERANCE = 1e-6
"""How far a certified value may be from the true one where the caller does not say."""


@takes_rng
def upper_entropy(
    predictions: Any,
    *,
    base: float | None = None,
    tolerance: float = TOLERANCE,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Return the largest entropy of any distribution in each set.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    base : float, optional
        ...
    tolerance : float
        Certified error of the maximum, in natural units, for hulls and for beliefs with more than 12
        classes. Intervals and smaller beliefs are exact.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n,)
        One value per instance.

    Notes
    -----
    Hulls: primal-dual Newton on all instances at once, stopped by the duality gap. Intervals: water-filling.
    Beliefs: the events of largest belief per class are levelled one after the other (Meyerowitz, Richman and
    Walker 1994); beyond 12 classes focal sets are levelled in turn until the gap closes.

    References
    ----------
    Abellan, Klir and Moral, *Disaggregated total uncertainty measure for credal sets*, 2006; Meyerowitz,
    Richman and Walker, *Calculating maximum-entropy probability densities for belief functions*, 1994.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.upper_entropy(cr.Ensemble([[[0.9, 0.1], [0.3, 0.7]]]), base=2).round(6)
    array([1.])
    >>> cr.credal.upper_entropy(cr.Intervals([[0.1, 0.6]], [[0.4, 0.9]])).round(4)
    array([0.673])
    """
    require_tolerance(tolerance)
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    return entropy_of_rows(most_even(credal, tolerance)) / log_base(base)


@takes_rng
def lower_entropy(
    predictions: Any,
    *,
    base: float | None = None,
    tolerance: float = TOLERANCE,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Return the smallest entropy of any distribution in each set.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    base : float, optional
        ...
    tolerance : float
        Certified error of the minimum, in natural units, for intervals. Hulls and beliefs are exact.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n,)
        One value per instance.

    Notes
    -----
    Entropy is concave, so its minimum is at a corner. Hulls: the smallest over members. Intervals: branch and
    bound on the host. Beliefs: a shortest path through the 2^k events, for at most 16 classes. Filling
    classes greedily in their order is wrong for most instances.

    References
    ----------
    Abellan and Moral, *Difference of entropies as a non-specificity function on credal sets*, 2005.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.lower_entropy(cr.Ensemble([[[0.9, 0.1], [0.5, 0.5]]])).round(4)
    array([0.3251])
    """
    require_tolerance(tolerance)
    return least_entropy(as_set(predictions, n_samples=n_samples, rng=rng), tolerance) / log_base(base)


def most_even(credal: CredalSet, tolerance: float) -> Array:
    """Return the distribution of largest entropy in each set, (n, k)."""
    xp = credal.xp
    ones = xp.ones((len(credal), credal.n_classes), dtype=xp.float64, device=credal.device)
    return nearest_distribution(credal, ones, "entropy", tolerance)


def least_entropy(credal: CredalSet, tolerance: float) -> Array:
    """Return the least entropy in each set, (n,), in natural units."""
    if isinstance(credal, Intervals):
        lower, upper = map(to_host, tight_bounds(credal))  # branch and bound lives on the host
        return like(least_over_intervals(lower, upper, tolerance), credal.lower)
    if isinstance(credal, Belief):
        few = "the lower entropy of a belief", "Use `upper_entropy` or `size`."
        require_few_classes(credal.n_classes, *few)
        return least_over_orders(credal)
    return credal.xp.min(entropy_of_rows(members_of(credal)), axis=1)


def log_base(base: float | None) -> float:
    """Return what natural units are divided by for logarithms of another base."""
    if base is None:
        return 1.0
    require_positive_number(base, "base", "Use 2 for bits.")
    if base == 1:
        raise InputError("`base`", "must not be 1", "its logarithm is 0", "Use 2 for bits.")
    return math.log(base)


_NODE_ELEMENTS = 2**18  # doubles of the bounds of nodes that are looked at together

_NODES_PER_ROW = 100_000


def least_over_orders(credal: Belief | Intervals) -> Array:
    """Return the least entropy over the corners of sets with at most 16 classes, (n,)."""
    xp, k = credal.xp, credal.n_classes
    size = 2**k
    sizes = all_events(k).sum(axis=1)
    entropies = []
    for rows in event_tiles(len(credal), k):
        bounds = envelope_of(credal[rows])
        best = xp.zeros_like(bounds[:, :1])  # least sums to the events of the size before: the empty one
        place = np.zeros(size, dtype=np.int64)
        for count in range(1, k + 1):
            events = np.flatnonzero(sizes == count)
            reached = xp.take(bounds, like(events, bounds), axis=1)
            paths = xp.full_like(reached, xp.inf)
            for j in range(k):
                having = (events >> j) & 1 == 1
                source = np.where(having, events ^ (1 << j), 0)
                gained = reached - xp.take(bounds, like(source, bounds), axis=1)
                gained = xp.where(gained > 0, gained, xp.zeros_like(gained))
                before = xp.take(best, like(np.where(having, place[source], 0), bounds), axis=1)
                path = before - xlogy(gained, gained)
                paths = xp.where(like(having, bounds) & (path < paths), path, paths)
            best = paths
            place[events] = np.arange(events.size)
        entropies.append(best[:, 0])
    return xp.concat(entropies, axis=0)


def least_over_intervals(lower: HostArray, upper: HostArray, tolerance: float) -> HostArray:
    """Return the least entropy over interval sets (n, k) on the host, certified within `tolerance`.

    Nodes wait on a stack and are taken a limited number at a time, so memory stays bounded.
    """
    n, k = lower.shape
    best = np.full(n, np.inf)
    limit = max(16, _NODE_ELEMENTS // k)
    stack = [
        (np.arange(n)[rows], lower[rows], upper[rows], np.full(rows.stop - rows.start, -np.inf))
        for rows in tiles(n, limit)
    ]
    budget = _NODES_PER_ROW * n
    while stack:
        owner, low, high, bound = stack.pop()
        going = bound < best[owner] - tolerance
        if not going.any():
            continue
        owner, low, high = owner[going], low[going], high[going]
        budget -= owner.size
        if budget < 0:
            evidence = f"instances are still open after {_NODES_PER_ROW} nodes per instance"
            raise uncertified("the least entropy of intervals", tolerance, evidence)
        bound, values, probs, free = _relax(low, high)
        np.minimum.at(best, owner, values)
        going = bound < best[owner] - tolerance
        owner, low, high, probs, free, bound = (
            array[going] for array in (owner, low, high, probs, free, bound)
        )
        rows_left = np.arange(owner.size)
        below, above = high.copy(), low.copy()
        below[rows_left, free] = above[rows_left, free] = probs[rows_left, free]
        owner, bound = np.concatenate([owner, owner]), np.concatenate([bound, bound])
        low, high = tightened(np.concatenate([low, above]), np.concatenate([below, high]))
        order = np.argsort(-bound, kind="stable")  # the most promising nodes come off the stack first
        stack.extend(
            (owner[part], low[part], high[part], bound[part])
            for part in (order[piece] for piece in tiles(order.size, limit))
        )
    return best


def _relax(low: HostArray, high: HostArray) -> tuple[HostArray, HostArray, HostArray, HostArray]:
    """Minimise the chords: return bound, true entropy, distribution and the class between its bounds."""
    width = high - low
    at_low, at_high = -xlogy(low, low), -xlogy(high, high)
    wide = width > 0
    chord = np.where(wide, (at_high - at_low) / np.where(wide, width, 1.0), 0.0)
    order = np.argsort(chord, axis=1, kind="stable")
    probs = np.empty_like(low)
    np.put_along_axis(probs, order, filled_in_order(low, high, order), axis=1)
    probs = np.clip(probs, low, high)
    chords = at_low + chord * (probs - low)
    true = -xlogy(probs, probs)
    return chords.sum(axis=1), true.sum(axis=1), probs, np.argmax(true - chords, axis=1)
