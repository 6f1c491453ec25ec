"""The distribution nearest to a target inside a set: Newton's method for hulls, water-filling for the others.

Intervals and belief sets share out mass between classes (they are base polytopes), and on such a set one
distribution minimises sum_j t_j g(p_j / t_j) for every convex g at once: Kullback-Leibler, Jensen-Shannon
and, with t = 1, the negative entropy.

    intervals   p = clip(c t, l, u), with c such that p sums to 1
    belief      the event with the largest Bel(A) / t(A) gets p = t Bel(A) / t(A); go on with what is left

Fujishige, Lexicographically optimal base of a polymatroid with respect to a weight vector, 1980.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.namespace import (
    Array,
    as_float64,
    clip,
    device,
    like,
    namespace,
    rows_within_budget,
    tiles,
)
from credibly.credal.bounds import tight_bounds
from credibly.credal.envelope import all_events, beliefs, event_tiles
from credibly.credal.newton import Objective, nearest_weights, slope
from credibly.credal.sets import CredalSet, members_of, uncertified
from credibly.predictions import Belief, Intervals

_GREEDY_CLASSES = 12  # beyond, levelling sets in turn is quicker than listing events
_MAX_SWEEPS = 5000


def nearest_distribution(credal: CredalSet, target: Array, kind: Objective, tolerance: float) -> Array:
    """Return the distribution of each set with the smallest divergence from its target, (n, k).

    For the entropy, whose nearest distribution is the most even one, targets are 1.
    """
    if isinstance(credal, Intervals):
        return nearest_in_intervals(credal, target)
    if isinstance(credal, Belief):
        return nearest_in_belief(credal, target, kind, tolerance)
    members = as_float64(members_of(credal))
    return (nearest_weights(kind, members, target, tolerance)[:, None, :] @ members)[:, 0, :]


def nearest_in_intervals(credal: Intervals, target: Array) -> Array:
    """Return p = clip(c t, l, u) summing to 1, (n, k); classes with t = 0 take the overflow.

    The 2k places where c t meets a bound are sorted: between them the sum is linear in c. The place before c
    is found by halving, each sum computed again: a running sum of slopes would be nothing
    but rounding where the classes that are left have targets of 1e-15.
    """
    xp = credal.xp
    lower, upper = tight_bounds(credal)
    positive = target > 0
    safe = xp.where(positive, target, xp.ones_like(target))
    far = xp.full_like(target, xp.inf)
    starts, stops = xp.where(positive, lower / safe, far), xp.where(positive, upper / safe, far)
    breaks = xp.sort(xp.concat([starts, stops], axis=-1), axis=-1)
    finite = xp.isfinite(breaks)
    finite_breaks = xp.where(finite, breaks, xp.zeros_like(breaks))

    def filled_to(level: Array) -> Array:
        return xp.where(positive, xp.minimum(xp.maximum(level * target, lower), upper), lower)

    # The last place whose sum is still below 1 starts the segment that holds c.
    beyond = xp.sum(xp.astype(finite, xp.int64), axis=-1, keepdims=True)
    before = xp.zeros_like(beyond)
    for _ in range(int(breaks.shape[-1]).bit_length()):
        middle = (before + beyond) // 2
        sums = xp.sum(filled_to(xp.take_along_axis(finite_breaks, middle, axis=-1)), axis=-1, keepdims=True)
        below, open_ = sums < 1.0, middle > before
        before = xp.where(open_ & below, middle, before)
        beyond = xp.where(open_ & ~below, middle, beyond)
    base = xp.take_along_axis(finite_breaks, before, axis=-1)
    free = positive & (starts <= base) & (base < stops)
    rate = xp.sum(xp.where(free, target, xp.zeros_like(target)), axis=-1, keepdims=True)
    left = 1.0 - xp.sum(filled_to(base), axis=-1, keepdims=True)
    level = base + xp.where(rate > 0, left / xp.where(rate > 0, rate, xp.ones_like(rate)), 0.0)
    filled = filled_to(level)
    # Without any wanted room left, the rest goes to classes with t = 0, in proportion to their room.
    short = 1.0 - xp.sum(filled, axis=-1, keepdims=True)
    room = xp.where(positive, xp.zeros_like(target), upper - lower)
    space = xp.sum(room, axis=-1, keepdims=True)
    overflow = (short > 1e-12) & (space > 0)
    share = xp.where(overflow, short / xp.where(space > 0, space, xp.ones_like(space)), 0.0)
    return filled + room * xp.minimum(share, xp.ones_like(share))


def nearest_in_belief(credal: Belief, target: Array, kind: Objective, tolerance: float) -> Array:
    """Return the nearest distribution (n, k): exact up to 12 classes, certified beyond."""
    xp, k = credal.xp, credal.n_classes
    few = k <= _GREEDY_CLASSES
    many = tiles(len(credal), rows_within_budget(24 * k * len(credal.focal_sets), 0.5))
    solve, pieces = (_greedy, event_tiles(len(credal), k)) if few else (_sweep, many)
    parts = [solve(credal[rows], target[rows, ...], kind, tolerance) for rows in pieces]
    return xp.concat(parts, axis=0)


def _greedy(credal: Belief, target: Array, kind: Objective, tolerance: float) -> Array:
    """Take the event with the largest Bel(A) / t(A), fill it, contract, until every class has its share."""
    xp, k = credal.xp, credal.n_classes
    left = _masses_of_events(credal)
    events = like(all_events(k), left)
    numbers = xp.arange(2**k, device=device(left))
    powers = 2 ** xp.arange(k, device=device(left))
    probs = xp.zeros_like(target)
    # Mass that can only go to classes with t = 0 is spread over them evenly: no objective sees how.
    chosen = target <= 0
    share = xp.astype(chosen, xp.float64)
    free = ~chosen
    while True:
        filled = xp.sum(xp.astype(~free, numbers.dtype) * powers, axis=-1)[:, None]
        together = numbers[None, :] | filled
        spent = together == filled  # sets inside what is filled: their mass goes to the classes just chosen
        mass = xp.sum(xp.where(spent, left, xp.zeros_like(left)), axis=-1, keepdims=True)
        total = xp.sum(share, axis=-1, keepdims=True)
        probs = probs + mass * share / xp.where(total > 0, total, xp.ones_like(total))
        if not bool(xp.any(free)):
            return probs
        # Bel(A | filled) as a sum of masses: a difference would turn masses of 1e-17 into 0
        left = xp.where(spent, xp.zeros_like(left), left)
        bel = xp.take_along_axis(beliefs(left), together, axis=-1)
        weight = xp.where(free, target, xp.zeros_like(target))
        sums = weight @ events.T
        ratio = bel / xp.where(sums > 0, sums, xp.ones_like(sums))
        best = xp.argmax(xp.where(sums > 0, ratio, xp.full_like(ratio, -xp.inf)), axis=-1)
        chosen = (xp.take(events, best, axis=0) > 0) & free
        share = xp.where(chosen, weight, xp.zeros_like(weight))
        free = free & ~chosen


def _masses_of_events(credal: Belief) -> Array:
    """Return the masses at the numbers of their events, (n, 2^k)."""
    masses = as_float64(credal.masses)
    numbers = credal.membership.astype(np.int64) @ (1 << np.arange(credal.n_classes))
    column = np.full(2**credal.n_classes, len(credal.focal_sets))  # a column of zeros, where no set is
    column[numbers] = np.arange(len(credal.focal_sets))
    return _placed(masses, like(column, masses))


def _placed(values: Array, columns: Array) -> Array:
    """Return the values (n, f) at these columns; column f stands for zeros."""
    xp = namespace(values)
    return xp.take(xp.concat([values, xp.zeros_like(values[:, :1])], axis=1), columns, axis=1)


def _sweep(credal: Belief, target: Array, kind: Objective, tolerance: float) -> Array:
    """Let every focal set in turn fill its classes up to a common level c t, until the duality gap closes."""
    xp = credal.xp
    masses = as_float64(credal.masses)
    members = [like(np.array(sorted(members)), masses) for members in credal.focal_sets]
    spread = [  # column of the set's shares for every class; classes outside the set get zeros
        like(np.where(row > 0, np.cumsum(row) - 1, row.sum()).astype(np.int64), masses)
        for row in credal.membership
    ]
    probs = credal.pignistic().probs
    allocated = [
        masses[:, j : j + 1] / index.shape[0] * xp.ones_like(probs[:, : index.shape[0]])
        for j, index in enumerate(members)
    ]
    for _ in range(_MAX_SWEEPS):
        for j, index in enumerate(members):
            if index.shape[0] == 1:
                continue
            here, aims = xp.take(probs, index, axis=-1), xp.take(target, index, axis=-1)
            moved = _fill_above(clip(here - allocated[j], 0.0), aims, masses[:, j : j + 1])
            probs = probs + _placed(moved - allocated[j], spread[j])
            allocated[j] = moved
        # a sum of shares anew: what a class lost would leave rounding where it now has 1e-17
        probs = xp.zeros_like(probs)
        for j, shares in enumerate(allocated):
            probs = probs + _placed(shares, spread[j])
        slopes = slope(kind, probs, target)
        gap = xp.sum(probs * slopes, axis=-1)
        for j, index in enumerate(members):
            gap = gap - masses[:, j] * xp.min(xp.take(slopes, index, axis=-1), axis=-1)
        worst = scalar(xp.max(gap))
        if worst <= tolerance:
            return probs
    evidence = f"the gap is {worst:.1g} after {_MAX_SWEEPS} sweeps"
    raise uncertified("the nearest distribution of a belief set", tolerance, evidence)


def _fill_above(others: Array, target: Array, mass: Array) -> Array:
    """Return x >= 0 summing to `mass` with others + x = max(others, c t): fill the lowest first."""
    xp = namespace(others)
    positive = target > 0
    heights = xp.where(positive, others / xp.where(positive, target, xp.ones_like(target)), xp.inf)
    order = xp.argsort(heights, axis=-1)
    sorted_t = xp.take_along_axis(xp.where(positive, target, xp.zeros_like(target)), order, axis=-1)
    sorted_b = xp.take_along_axis(xp.where(positive, others, xp.zeros_like(others)), order, axis=-1)
    below = xp.cumulative_sum(sorted_t, axis=-1)
    levels = (mass + xp.cumulative_sum(sorted_b, axis=-1)) / xp.where(below > 0, below, xp.ones_like(below))
    sorted_h = xp.take_along_axis(heights, order, axis=-1)
    count = xp.sum(xp.astype(levels > sorted_h, xp.int64), axis=-1, keepdims=True)
    place = xp.where(count > 0, count - 1, xp.zeros_like(count))
    level = xp.take_along_axis(levels, place, axis=-1)
    filled = xp.where(positive, level * target - others, xp.zeros_like(others))
    filled = clip(filled, 0.0)
    # A set without any wanted class spreads evenly; rounding of the others is put right.
    total = xp.sum(filled, axis=-1, keepdims=True)
    even = mass / others.shape[-1] * xp.ones_like(others)
    return xp.where(total > 0, filled * (mass / xp.where(total > 0, total, xp.ones_like(total))), even)
