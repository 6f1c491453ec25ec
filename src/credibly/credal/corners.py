"""The least entropy of interval and belief sets: entropy is concave, so its minimum is at a corner.

A corner of a belief set belongs to an order of the classes and its terms add up along the order, so the best
corner is a shortest path through the events, from nothing to everything: k 2^(k-1) steps instead of k!.

Over intervals, replacing each term by its chord gives a linear problem that filling solves; all but one class
are then at a bound, where the chord is exact. Branch and bound on that one class closes the gap.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, tiles, xlogy
from credibly.credal.bounds import filled_in_order
from credibly.credal.envelope import all_events, envelope_of, event_tiles
from credibly.credal.sets import uncertified
from credibly.predictions import Belief, Intervals
from credibly.predictions.intervals import tightened

_NODE_ELEMENTS = 2**18  # doubles of the bounds of nodes that are looked at together

_NODES_PER_ROW = 100_000


def least_over_orders(credal: Belief | Intervals) -> Array:
    """Return the least entropy over the corners of sets with at most 16 classes, (n,)."""
    xp, k = credal.xp, credal.n_classes
    size = 2**k
    sizes = all_events(k).sum(axis=1)
    entropies = []
    for rows in event_tiles(len(credal), k):
        block = envelope_of(credal[rows])
        best = xp.zeros_like(block[:, :1])  # least sums to the events of the size before: the empty one
        place = np.zeros(size, dtype=np.int64)
        for count in range(1, k + 1):
            events = np.flatnonzero(sizes == count)
            reached = xp.take(block, like(events, block), axis=1)
            paths = xp.full_like(reached, xp.inf)
            for j in range(k):
                having = (events >> j) & 1 == 1
                source = np.where(having, events ^ (1 << j), 0)
                gained = reached - xp.take(block, like(source, block), axis=1)
                gained = xp.where(gained > 0, gained, xp.zeros_like(gained))
                before = xp.take(best, like(np.where(having, place[source], 0), block), axis=1)
                path = before - xlogy(gained, gained)
                paths = xp.where(like(having, block) & (path < paths), path, paths)
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
