"""Many small smooth minimisations at once: L-BFGS with backtracking, one tensor program for all of them.

Liu and Nocedal 1989. The problems share their shape, not their data: each has its own step length and memory,
and one that has converged stays where it is while the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.namespace import Array, HostArray, is_numpy, namespace


def library(array: Array) -> Any:
    """Return the namespace of an array; of NumPy NumPy itself, whose functions cost less per call.

    These loops call functions of small arrays a thousand times.
    """
    return np if is_numpy(array) else namespace(array)


_MEMORY = 8

_BACKTRACKS = 20

_ARMIJO = 1e-4

_SHRINK = 0.4

_FLAT = 1e-13  # relative decrease that is rounding


class Minimum(NamedTuple):
    """Where the minimisations ended."""

    at: Array  # (b, p)
    value: Array  # (b,)
    steps: int
    converged: Array  # (b,) of bool: largest slope below the tolerance, or no further decrease possible


LossAndSlope = Callable[[Array, Any], tuple[Array, Array]]
"""From parameters (r, p) and the places of their problems (an array, a slice, or None for all) to values (r,)
and slopes (r, p)."""


def minimise_batch(
    objective: LossAndSlope,
    start: Array,
    *,
    tolerance: float | Array,
    max_steps: int,
) -> Minimum:
    """Minimise b functions of p numbers each.

    Parameters
    ----------
    objective : callable
        Parameters (r, p) of some problems and their places (r,), or (b, p) and None, -> values (r,) and
        gradients (r, p).
    start : array (b, p)
        Where to begin.
    tolerance : float or array (b,)
        A problem has converged when no entry of its gradient is larger.
    max_steps : int
        Steps after which the rest is left as it is.

    Returns
    -------
    Minimum
        The last point of each, its value, the number of steps and which converged.
    """
    xp = library(start)
    at = start
    value, slope = objective(at, None)
    moves: list[tuple[Array, Array, Array]] = []
    scale = xp.ones_like(value)
    tolerance = scale * tolerance
    done = xp.max(xp.abs(slope), axis=1) <= tolerance
    steps = 0
    moving, ended = np.arange(at.shape[0]), []  # those that still move; where the others stopped
    while steps < max_steps and not bool(xp.all(done)):
        if xp is np and 2 * np.count_nonzero(done) >= done.size:
            ended.append((moving[done], at[done], value[done]))
            moving, at, value, slope = moving[~done], at[~done], value[~done], slope[~done]
            moves = [(step[~done], change[~done], weight[~done]) for step, change, weight in moves]
            scale, tolerance, done = scale[~done], tolerance[~done], done[~done]
        steps += 1
        ones = xp.ones_like(value)
        direction = _direction(slope, moves, scale, xp)
        descent = xp.vecdot(slope, direction)
        uphill = descent >= 0
        direction = xp.where(uphill[:, None], -slope, direction)
        descent = xp.where(uphill, -xp.vecdot(slope, slope), descent)
        some = _of_places(objective, moving) if ended else objective
        next_at, next_value, next_slope, moved = _line_search(
            some, at, value, slope, direction, descent, done, xp
        )
        step, change = next_at - at, next_slope - slope
        curvature, squares = xp.vecdot(step, change), xp.vecdot(change, change)
        # without positive curvature a pair would spoil the model; weight 0 leaves it out for that problem
        usable = curvature > 1e-12 * squares
        weight = xp.where(usable, 1.0 / xp.where(usable, curvature, ones), 0.0 * ones)
        # the latest usable pair gives the scale of the model
        scale = xp.where(usable & (squares > 0), curvature / xp.where(squares > 0, squares, ones), scale)
        moves = [*moves[-(_MEMORY - 1) :], (step, change, weight)]
        stuck = ~moved | (value - next_value <= _FLAT * xp.abs(value))
        at, value, slope = next_at, next_value, next_slope
        done = done | stuck | (xp.max(xp.abs(slope), axis=1) <= tolerance)
    if ended:
        ended.append((moving, at, value))
        order = np.argsort(np.concatenate([where for where, _, _ in ended]))
        at, value = (np.concatenate([part[i] for part in ended])[order] for i in (1, 2))
        done = np.concatenate([np.ones(order.size - done.size, dtype=bool), done])[order]
    return Minimum(at, value, steps, done)


def _of_places(objective: LossAndSlope, chosen: HostArray) -> LossAndSlope:
    """Return the objective of the problems in these places, numbered from 0."""

    def of_some(parameters: Array, rows: HostArray | None) -> tuple[Array, Array]:
        return objective(parameters, chosen if rows is None else chosen[rows])

    return of_some


def _direction(slope: Array, moves: list[tuple[Array, Array, Array]], scale: Array, xp: Any) -> Array:
    """Return minus the inverse Hessian model times the slope: the two-loop recursion."""
    direction = -slope
    if not moves:
        # a first step of length 1 at most
        length = xp.sqrt(xp.vecdot(slope, slope))[:, None]
        return direction / xp.where(length > 1.0, length, xp.ones_like(length))
    shares = []
    for step, change, weight in reversed(moves):
        share = weight * xp.vecdot(step, direction)
        shares.append(share)
        direction = direction - share[:, None] * change
    direction = direction * scale[:, None]
    for (step, change, weight), share in zip(moves, reversed(shares), strict=True):
        back = weight * xp.vecdot(change, direction)
        direction = direction + (share - back)[:, None] * step
    return direction


def _line_search(
    objective: LossAndSlope,
    at: Array,
    value: Array,
    slope: Array,
    direction: Array,
    descent: Array,
    done: Array,
    xp: Any,
) -> tuple[Array, Array, Array, Array]:
    """Shorten each step until it decreases its function enough; finished problems do not move."""
    length = xp.ones_like(value)
    none = 0.0 * length
    found_at, found_value, found_slope = at, value, slope
    accepted = done
    moved = done & ~done
    for _ in range(_BACKTRACKS):
        tried = at + xp.where(accepted, none, length)[:, None] * direction
        if xp is np:
            tried_value, tried_slope = _of_those_left(objective, tried, accepted, value, slope)
        else:
            tried_value, tried_slope = objective(tried, None)
        enough = tried_value <= value + _ARMIJO * length * descent
        fresh = enough & ~accepted
        found_at = xp.where(fresh[:, None], tried, found_at)
        found_value = xp.where(fresh, tried_value, found_value)
        found_slope = xp.where(fresh[:, None], tried_slope, found_slope)
        accepted, moved = accepted | fresh, moved | fresh
        if bool(xp.all(accepted)):
            break
        length = xp.where(accepted, length, _SHRINK * length)
    return found_at, found_value, found_slope, moved


def _of_those_left(
    objective: LossAndSlope, tried: Array, accepted: Array, value: Array, slope: Array
) -> tuple[Array, Array]:
    """Evaluate the problems that are not accepted, and no others, which are most of them."""
    rows = (~accepted).nonzero()[0]
    if rows.size == accepted.size:
        return objective(tried, None)
    values, slopes = value.copy(), slope.copy()
    values[rows], slopes[rows] = objective(tried[rows], rows)
    return values, slopes
