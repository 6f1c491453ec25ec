"""The distribution nearest to a target inside intervals and belief sets: water-filling.

These sets share out mass between classes (they are base polytopes), and on such a set one distribution
minimises sum_j t_j g(p_j / t_j) for every convex g at once: Kullback-Leibler, Jensen-Shannon and, with
t = 1, the negative entropy.

    intervals   p = clip(c t, l, u), with c such that p sums to 1
    belief      the event with the largest Bel(A) / t(A) gets p = t Bel(A) / t(A); go on with what is left

Fujishige, Lexicographically optimal base of a polymatroid with respect to a weight vector, 1980.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, as_float64, device, like, namespace
from credibly._arrays.tiles import rows_within_budget, tiles
from credibly.credal.bounds import tight_bounds
from credibly.credal.envelope import all_events, envelope_of, event_tiles
from credibly.credal.objectives import Objective, slope
from credibly.predictions import Belief, Intervals

_GREEDY_CLASSES = 12  # beyond, levelling sets in turn is quicker than listing events
_MAX_SWEEPS = 5000


def nearest_in_intervals(credal: Intervals, target: Array) -> Array:
    """Return p = clip(c t, l, u) summing to 1, (n, k); classes with t = 0 take the overflow."""
    return fill(*tight_bounds(credal), target)


def fill(lower: Array, upper: Array, target: Array) -> Array:
    """Find c by sorting the 2k places where c t meets a bound: between them the sum is linear in c."""
    xp = namespace(lower)
    wanted = target > 0
    safe = xp.where(wanted, target, xp.ones_like(target))
    far = xp.full_like(target, xp.inf)
    starts, stops = xp.where(wanted, lower / safe, far), xp.where(wanted, upper / safe, far)
    places = xp.concat([starts, stops], axis=-1)
    turns = xp.where(wanted, target, xp.zeros_like(target))
    turns = xp.concat([turns, -turns], axis=-1)
    order = xp.argsort(places, axis=-1)
    places = xp.take_along_axis(places, order, axis=-1)
    rates = xp.cumulative_sum(xp.take_along_axis(turns, order, axis=-1), axis=-1)  # slope after each place
    finite = xp.isfinite(places)
    shown = xp.where(finite, places, xp.zeros_like(places))
    rises = xp.where(finite[:, 1:], rates[:, :-1] * (shown[:, 1:] - shown[:, :-1]), 0.0)
    rises = xp.where(rises > 0, rises, xp.zeros_like(rises))
    reached = xp.cumulative_sum(rises, axis=-1)
    reached = xp.concat([xp.zeros_like(reached[:, :1]), reached], axis=-1)  # sum above lower, at each place
    missing = 1.0 - xp.sum(lower, axis=-1, keepdims=True)
    # The last place whose sum is still below what is needed starts the segment that holds c.
    before = xp.sum(xp.astype((reached < missing) & finite, xp.int64), axis=-1, keepdims=True) - 1
    before = xp.where(before < 0, xp.zeros_like(before), before)
    rate = xp.take_along_axis(rates, before, axis=-1)
    left = missing - xp.take_along_axis(reached, before, axis=-1)
    base = xp.take_along_axis(shown, before, axis=-1)
    level = base + xp.where(rate > 0, left / xp.where(rate > 0, rate, xp.ones_like(rate)), 0.0)
    filled = xp.where(wanted, xp.minimum(xp.maximum(level * target, lower), upper), lower)
    # Without any wanted room left, the rest goes to classes with t = 0, in proportion to their room.
    short = 1.0 - xp.sum(filled, axis=-1, keepdims=True)
    room = xp.where(wanted, xp.zeros_like(target), upper - lower)
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
    bel = envelope_of(credal)
    events = like(all_events(k), bel)
    numbers = xp.arange(2**k, device=device(bel))
    powers = 2 ** xp.arange(k, device=device(bel))
    probs = xp.zeros_like(target)
    # Mass that can only go to classes with t = 0 is spread over them evenly: no objective sees how.
    chosen = target <= 0
    share = xp.astype(chosen, xp.float64)
    free = ~chosen
    while True:
        number = xp.sum(xp.astype(chosen, numbers.dtype) * powers, axis=-1)[:, None]
        mass = xp.take_along_axis(bel, number, axis=-1)
        total = xp.sum(share, axis=-1, keepdims=True)
        probs = probs + mass * share / xp.where(total > 0, total, xp.ones_like(total))
        bel = xp.take_along_axis(bel, numbers[None, :] | number, axis=-1) - mass
        if not bool(xp.any(free)):
            return probs
        weight = xp.where(free, target, xp.zeros_like(target))
        sums = weight @ events.T
        ratio = bel / xp.where(sums > 0, sums, xp.ones_like(sums))
        best = xp.argmax(xp.where(sums > 0, ratio, xp.full_like(ratio, -xp.inf)), axis=-1)
        chosen = (xp.take(events, best, axis=0) > 0) & free
        share = xp.where(chosen, weight, xp.zeros_like(weight))
        free = free & ~chosen


def _sweep(credal: Belief, target: Array, kind: Objective, tolerance: float) -> Array:
    """Let every focal set in turn fill its classes up to a common level c t, until the duality gap closes."""
    xp = credal.xp
    masses = as_float64(credal.masses)
    members = [like(np.array(sorted(members)), masses) for members in credal.focal_sets]
    spread = [  # column of `change` below for every class; classes outside the set get its last one, 0
        like(np.where(row > 0, np.cumsum(row) - 1, row.sum()).astype(np.int64), masses)
        for row in credal.membership
    ]
    probs = credal.pignistic().probs
    given = [
        masses[:, j : j + 1] / index.shape[0] * xp.ones_like(probs[:, : index.shape[0]])
        for j, index in enumerate(members)
    ]
    for _ in range(_MAX_SWEEPS):
        for j, index in enumerate(members):
            if index.shape[0] == 1:
                continue
            here, wanted = xp.take(probs, index, axis=-1), xp.take(target, index, axis=-1)
            others = here - given[j]
            moved = _fill_above(others, wanted, masses[:, j : j + 1])
            change = xp.concat([moved - given[j], xp.zeros_like(probs[:, :1])], axis=1)
            probs = probs + xp.take(change, spread[j], axis=1)
            given[j] = moved
        slopes = slope(kind, probs, target)
        gap = xp.sum(probs * slopes, axis=-1)
        for j, index in enumerate(members):
            gap = gap - masses[:, j] * xp.min(xp.take(slopes, index, axis=-1), axis=-1)
        worst = scalar(xp.max(gap))
        if worst <= tolerance:
            return probs
    raise UnsupportedError(
        "the nearest distribution of a belief set",
        f"must be certified within {tolerance:.1g}",
        f"the gap is {worst:.1g} after {_MAX_SWEEPS} sweeps",
        "Pass a larger `tolerance`.",
    )


def _fill_above(others: Array, target: Array, mass: Array) -> Array:
    """Return x >= 0 summing to `mass` with others + x = max(others, c t): fill the lowest first."""
    xp = namespace(others)
    wanted = target > 0
    heights = xp.where(wanted, others / xp.where(wanted, target, xp.ones_like(target)), xp.inf)
    order = xp.argsort(heights, axis=-1)
    sorted_t = xp.take_along_axis(xp.where(wanted, target, xp.zeros_like(target)), order, axis=-1)
    sorted_b = xp.take_along_axis(xp.where(wanted, others, xp.zeros_like(others)), order, axis=-1)
    held = xp.cumulative_sum(sorted_t, axis=-1)
    levels = (mass + xp.cumulative_sum(sorted_b, axis=-1)) / xp.where(held > 0, held, xp.ones_like(held))
    sorted_h = xp.take_along_axis(heights, order, axis=-1)
    count = xp.sum(xp.astype(levels > sorted_h, xp.int64), axis=-1, keepdims=True)
    place = xp.where(count > 0, count - 1, xp.zeros_like(count))
    level = xp.take_along_axis(levels, place, axis=-1)
    filled = xp.where(wanted, level * target - others, xp.zeros_like(others))
    filled = xp.where(filled > 0, filled, xp.zeros_like(filled))
    # A set without any wanted class spreads evenly; rounding of the others is put right.
    total = xp.sum(filled, axis=-1, keepdims=True)
    even = mass / others.shape[-1] * xp.ones_like(others)
    return xp.where(total > 0, filled * (mass / xp.where(total > 0, total, xp.ones_like(total))), even)
