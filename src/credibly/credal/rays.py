"""How far a ray from inside a set goes before it leaves: the one question behind membership and boundary."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host
from credibly.credal.bounds import singleton_bounds
from credibly.credal.envelope import MAX_CLASSES, all_events, envelope_of, event_tiles
from credibly.credal.sets import CredalSet
from credibly.credal.simplex_method import least_total
from credibly.predictions import Belief, Ensemble, Intervals

HostArray = np.ndarray[Any, Any]

_FLAT = 1e-9  # a direction this far out of the hull's plane (relative to its length) leaves at once


def on_simplex(array: Array) -> Array:
    """Divide by the sum along the last axis: rounding must not lift a distribution off the plane of all."""
    array = as_float64(array)
    return array / namespace(array).sum(array, axis=-1, keepdims=True)


def ray_lengths(credal: CredalSet, start: Array, direction: Array) -> Array:
    """Return the largest a >= 0 with start + a direction in the set, (n,); start has to be in it.

    inf where the direction is 0. Start and goal have to sum to 1 (:func:`on_simplex`).
    """
    if isinstance(credal, Ensemble):
        members = to_host(on_simplex(credal.probs))  # the linear programs live on the host
        found = hull_ray_lengths(members, to_host(start), to_host(direction))
        return like(found, start)
    if isinstance(credal, Belief):
        return _belief_ray_lengths(credal, start, direction)
    lower, upper = singleton_bounds(credal)
    if not isinstance(credal, Intervals):
        start = lower  # a point holds nothing but itself
    return _box_ray_lengths(lower, upper, start, direction)


def _box_ray_lengths(lower: Array, upper: Array, start: Array, direction: Array) -> Array:
    """Min over classes of the way to the bound the class moves towards."""
    xp = namespace(start)
    room = xp.where(direction > 0, upper - start, start - lower)
    room = xp.where(room > 0, room, xp.zeros_like(room))
    moving = direction != 0
    ways = xp.where(moving, room / xp.where(moving, xp.abs(direction), xp.ones_like(direction)), xp.inf)
    return xp.min(ways, axis=-1)


def _belief_ray_lengths(credal: Belief, start: Array, direction: Array) -> Array:
    """Min over events that lose probability of (start(A) - Bel(A)) / loss."""
    xp, k = credal.xp, credal.n_classes
    if k > MAX_CLASSES:
        # Corners of the set would do, but there are too many: each focal set's shares are the unknowns.
        found = [
            _allocation_ray(masses, credal.membership, begin, step)
            for masses, begin, step in zip(
                to_host(as_float64(credal.masses)), to_host(start), to_host(direction), strict=True
            )  # the linear programs live on the host
        ]
        return like(np.array(found), start)
    events = like(np.ascontiguousarray(all_events(k).T), start, dtype=xp.float64)
    shortest = []
    for rows in event_tiles(len(credal), k):
        room = start[rows, :] @ events - envelope_of(credal[rows])
        room = xp.where(room > 0, room, xp.zeros_like(room))
        loss = -(direction[rows, :] @ events)
        losing = loss > 1e-15
        ways = xp.where(losing, room / xp.where(losing, loss, xp.ones_like(loss)), xp.inf)
        shortest.append(xp.min(ways, axis=-1))
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

    Hulls of fewer members than classes are looked at in their own plane; what leaves it has length 0.
    """
    n, m, k = members.shape
    shifted = members - start[:, None, :]
    aim = direction
    length = np.sqrt((direction**2).sum(axis=-1))
    still = length == 0
    flat = np.zeros(n, dtype=bool)
    if m <= k:
        plane, _ = np.linalg.qr(np.swapaxes(shifted, 1, 2))  # (n, k, m)
        aim = (direction[:, None, :] @ plane)[:, 0, :]
        off = direction - (plane @ aim[:, :, None])[:, :, 0]
        flat = np.sqrt((off**2).sum(axis=-1)) > _FLAT * length
        shifted = shifted @ plane
    extent = np.abs(shifted).max(axis=(1, 2))
    usable = ~(flat | still | (extent == 0))
    found = np.where(still, np.inf, 0.0)
    if usable.any():
        scale, aim_scale = extent[usable], length[usable]
        columns = np.swapaxes(shifted[usable] / scale[:, None, None], 1, 2)
        totals = least_total(np.ascontiguousarray(columns), aim[usable] / aim_scale[:, None])
        found[usable] = scale / (aim_scale * totals)
    return found
