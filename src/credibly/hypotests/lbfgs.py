"""Many small smooth minimisations at once: L-BFGS with backtracking, one tensor program for all of them.

Liu and Nocedal 1989. The problems share their shape, not their data: each has its own step length and memory,
and one that has converged stays where it is while the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from credibly._arrays.namespace import Array, namespace

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


def minimise_batch(
    objective: Callable[[Array], tuple[Array, Array]],
    start: Array,
    *,
    tolerance: float,
    max_steps: int,
) -> Minimum:
    """Minimise b functions of p numbers each.

    Parameters
    ----------
    objective : callable
        (b, p) -> values (b,) and gradients (b, p).
    start : array (b, p)
        Where to begin.
    tolerance : float
        A problem has converged when no entry of its gradient is larger.
    max_steps : int
        Steps after which the rest is left as it is.

    Returns
    -------
    Minimum
        The last point of each, its value, the number of steps and which converged.
    """
    xp = namespace(start)
    at = start
    value, slope = objective(at)
    moves: list[tuple[Array, Array, Array]] = []
    scale = xp.ones_like(value)
    done = xp.max(xp.abs(slope), axis=1) <= tolerance
    steps = 0
    while steps < max_steps and not bool(xp.all(done)):
        steps += 1
        direction = _direction(slope, moves, scale)
        descent = xp.vecdot(slope, direction)
        uphill = descent >= 0
        direction = xp.where(uphill[:, None], -slope, direction)
        descent = xp.where(uphill, -xp.vecdot(slope, slope), descent)
        next_at, next_value, next_slope, moved = _line_search(
            objective, at, value, slope, direction, descent, done
        )
        step, change = next_at - at, next_slope - slope
        curvature, squares = xp.vecdot(step, change), xp.vecdot(change, change)
        # without positive curvature a pair would spoil the model; weight 0 leaves it out for that problem
        usable = curvature > 1e-12 * squares
        weight = xp.where(usable, 1.0 / xp.where(usable, curvature, xp.ones_like(curvature)), 0.0 * curvature)
        # the latest usable pair gives the scale of the model
        scale = xp.where(
            usable & (squares > 0), curvature / xp.where(squares > 0, squares, xp.ones_like(squares)), scale
        )
        moves = [*moves[-(_MEMORY - 1) :], (step, change, weight)]
        stuck = ~moved | (value - next_value <= _FLAT * xp.abs(value))
        at, value, slope = next_at, next_value, next_slope
        done = done | stuck | (xp.max(xp.abs(slope), axis=1) <= tolerance)
    return Minimum(at, value, steps, done)


def _direction(slope: Array, moves: list[tuple[Array, Array, Array]], scale: Array) -> Array:
    """Return minus the inverse Hessian model times the slope: the two-loop recursion."""
    xp = namespace(slope)
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
    objective: Callable[[Array], tuple[Array, Array]],
    at: Array,
    value: Array,
    slope: Array,
    direction: Array,
    descent: Array,
    done: Array,
) -> tuple[Array, Array, Array, Array]:
    """Shorten each step until it decreases its function enough; finished problems do not move."""
    xp = namespace(at)
    length = xp.ones_like(value)
    found_at, found_value, found_slope = at, value, slope
    accepted = done
    moved = xp.zeros_like(done)
    for _ in range(_BACKTRACKS):
        tried = at + xp.where(accepted, xp.zeros_like(length), length)[:, None] * direction
        tried_value, tried_slope = objective(tried)
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
