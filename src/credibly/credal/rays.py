"""How far a ray from inside a set goes before it leaves: the one question behind membership and boundary."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import Array, HostArray, as_float64, clip, like, namespace, to_host
from credibly.credal.bounds import singleton_bounds
from credibly.credal.envelope import MAX_CLASSES, all_events, envelope_of, event_tiles
from credibly.credal.sets import CredalSet, members_of
from credibly.credal.simplex_method import least_total
from credibly.predictions import Belief, Ensemble, Point

_FLAT = 1e-9  # a direction this far out of the hull's plane (relative to its length) leaves at once

_POINT = 1e-12  # members this close to each other are one point: rounding of probabilities near 1


def on_simplex(array: Array) -> Array:
    """Divide by the sum along the last axis: rounding must not lift a distribution off the plane of all."""
    array = as_float64(array)
    return array / namespace(array).sum(array, axis=-1, keepdims=True)


def ray_lengths(credal: CredalSet, start: Array, direction: Array) -> Array:
    """Return the largest a >= 0 with start + a direction in the set, (n,); start has to be in it.

    inf where the direction is 0. Start and goal have to sum to 1 (:func:`on_simplex`).
    """
    if isinstance(credal, Point | Ensemble):
        members = to_host(on_simplex(members_of(credal)))  # the linear programs live on the host
        lengths = hull_ray_lengths(members, to_host(start), to_host(direction))
        return like(lengths, start)
    if isinstance(credal, Belief):
        return _belief_ray_lengths(credal, start, direction)
    lower, upper = singleton_bounds(credal)
    xp = credal.xp
    return _shortest_way(xp.where(direction > 0, upper - start, start - lower), xp.abs(direction), 0.0)


def _shortest_way(room: Array, speed: Array, least: float) -> Array:
    """Min over what moves faster than `least` of room / speed, inf where nothing does; (n, ...) -> (n,)."""
    xp = namespace(room)
    moving = speed > least
    room = clip(room, 0.0)
    ways = xp.where(moving, room / xp.where(moving, speed, xp.ones_like(speed)), xp.inf)
    return xp.min(ways, axis=-1)


def _belief_ray_lengths(credal: Belief, start: Array, direction: Array) -> Array:
    """Min over events that lose probability of (start(A) - Bel(A)) / loss."""
    xp, k = credal.xp, credal.n_classes
    if k > MAX_CLASSES:
        # Corners of the set would do, but there are too many: each focal set's shares are the unknowns.
        lengths = [
            _allocation_ray(masses, credal.membership, begin, step)
            for masses, begin, step in zip(
                to_host(as_float64(credal.masses)), to_host(start), to_host(direction), strict=True
            )  # the linear programs live on the host
        ]
        return like(np.array(lengths), start)
    events = like(np.ascontiguousarray(all_events(k).T), start, dtype=xp.float64)
    shortest = []
    for rows in event_tiles(len(credal), k):
        loss = -(direction[rows, :] @ events)
        shortest.append(_shortest_way(start[rows, :] @ events - envelope_of(credal[rows]), loss, 1e-15))
    return xp.concat(shortest, axis=0)


def _allocation_ray(
    masses: HostArray, membership: HostArray, start: HostArray, direction: HostArray
) -> float:
    """Maximise a subject to start + a direction = sum over sets of shares, by one sparse linear program."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    if not np.abs(direction).max() > 0:
        return np.inf
    owner, classes = np.nonzero(membership)
    k, f, count = membership.shape[1], membership.shape[0], owner.size
    ones = np.ones(count)
    to_class = csr_array((ones, (classes, np.arange(count))), shape=(k, count))
    to_set = csr_array((ones, (owner, np.arange(count))), shape=(f, count))
    table = vstack([hstack([to_class, csr_array(-direction[:, None])]), hstack([to_set, csr_array((f, 1))])])
    cost = np.zeros(count + 1)
    cost[-1] = -1.0
    solved = linprog(cost, A_eq=table, b_eq=np.concatenate([start, masses]), method="highs")
    return float(max(solved.x[-1], 0.0)) if solved.status == 0 else 0.0


def hull_ray_lengths(members: HostArray, start: HostArray, direction: HostArray) -> HostArray:
    """1 / min sum(u) subject to sum_m u_m (P_m - start) = direction, u >= 0, (n,).

    Hulls of fewer members than classes are looked at in their own plane; what leaves it has length 0. Classes
    of very different size (0.5 and 1e-9 in one hull) are scaled to one size first: pivots of the smaller ones
    would be taken for rounding, or rounding for pivots.
    """
    shifted = members - start[:, None, :]
    length = np.sqrt((direction**2).sum(axis=-1))
    extent = np.abs(shifted).max(axis=(1, 2))
    lengths = np.where(length == 0, np.inf, 0.0)
    usable = np.flatnonzero((length > 0) & (extent > _POINT))
    if usable.size:
        rows = np.swapaxes(shifted[usable], 1, 2) / extent[usable, None, None]
        aim = direction[usable] / length[usable, None]
        rows, aim, leaves = _equations(rows, aim)
        totals = least_total(rows, aim)
        ways = np.full(usable.size, np.inf)  # a direction that is rounding asks for nothing: nothing ends it
        with np.errstate(over="ignore"):
            np.divide(extent[usable] / length[usable], totals, out=ways, where=totals > 0)
        lengths[usable] = np.where(leaves, 0.0, ways)
    return lengths


def _equations(rows: HostArray, aim: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return well scaled equations without repetition, and which rays leave the hull's plane at once.

    `rows` (n, k, m) are classes by members, `aim` (n, k); both sum to 0 over the classes.
    """
    _, k, m = rows.shape
    width = np.abs(rows).max(axis=2)
    # The widest class follows from the others, and eliminating it with them would leave nothing but rounding.
    np.put_along_axis(width, width.argmax(axis=1)[:, None], np.inf, axis=1)
    leaves = ((width <= _FLAT) & (np.abs(aim) > _FLAT)).any(axis=1)
    width = np.where(width <= _FLAT, np.inf, width)
    rows, aim = rows / width[:, :, None], aim / width
    if m <= k:
        size = np.where(np.isinf(width), 0.0, width)  # from scaled classes back to probabilities
        plane, _ = np.linalg.qr(rows)  # (n, k, m)
        inner = (aim[:, None, :] @ plane)[:, 0, :]
        off = aim - (plane @ inner[:, :, None])[:, :, 0]
        leaves |= (np.abs(off) * size > _FLAT).any(axis=1)
        rows, aim = np.swapaxes(plane, 1, 2) @ rows, inner
        width = np.abs(rows).max(axis=2)
        thin = width <= _FLAT
        reach = np.abs(plane * size[:, :, None]).max(axis=1) * np.abs(aim)
        leaves |= (thin & (reach > _FLAT)).any(axis=1)
        width = np.where(thin, np.inf, width)
        rows, aim = rows / width[:, :, None], aim / width
    return np.ascontiguousarray(rows), aim, leaves
