"""Weights on the points of a set that depend on the instance, learned for many label vectors at once.

    w_a(x) = softmax over a of phi(x) . W_a,   f(x) = sum_a w_a(x) P_a(x)

The weights enter linearly, so the gradient of the log loss is the responsibilities minus the weights,

    d / d logit_a  of  -log f_y  =  w_a - w_a P_ay / f_y,

times the columns. Labels enter through P_ay alone: one array (b, n, a) holds them for all replicates. Weights
that are the same for all instances have no array of that size, and both sums are products of matrices.

Many small smooth minimisations at once: L-BFGS with backtracking, one tensor program for all of them.

Liu and Nocedal 1989. The problems share their shape, not their data: each has its own step length and memory,
and one that has converged stays where it is while the others go on.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    namespace,
    rows_within_budget,
    softmax,
    tiles,
    to_host,
)


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
    places, ended = np.arange(at.shape[0]), []  # those that still move; where the others stopped
    while steps < max_steps and not bool(xp.all(done)):
        if xp is np and 2 * np.count_nonzero(done) >= done.size:
            ended.append((places[done], at[done], value[done]))
            places, at, value, slope = places[~done], at[~done], value[~done], slope[~done]
            moves = [(step[~done], change[~done], weight[~done]) for step, change, weight in moves]
            scale, tolerance, done = scale[~done], tolerance[~done], done[~done]
        steps += 1
        ones = xp.ones_like(value)
        direction = _direction(slope, moves, scale, xp)
        descent = xp.vecdot(slope, direction)
        uphill = descent >= 0
        direction = xp.where(uphill[:, None], -slope, direction)
        descent = xp.where(uphill, -xp.vecdot(slope, slope), descent)
        some = _of_places(objective, places) if ended else objective
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
        ended.append((places, at, value))
        order = np.argsort(np.concatenate([where for where, _, _ in ended]))
        at, value = (np.concatenate([part[i] for part in ended])[order] for i in (1, 2))
        done = np.concatenate([np.ones(order.size - done.size, dtype=bool), done])[order]
    return Minimum(at, value, steps, done)


def _of_places(objective: LossAndSlope, places: HostArray) -> LossAndSlope:
    """Return the objective of the problems in these places, numbered from 0."""

    def of_some(parameters: Array, rows: HostArray | None) -> tuple[Array, Array]:
        return objective(parameters, places if rows is None else places[rows])

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


_LEAST = 1e-200  # a label that every point calls impossible: the loss is large, not infinite

_LARGE = 100.0  # logits up to here need no shift before their exponential: exp(100) / _LEAST is finite

_TOLERANCE = 5e-4  # of the mean slope per instance, far below what sampling moves it by


@dataclasses.dataclass(frozen=True)
class Columns:
    """What logits are linear in: columns (n, q) with weights of their own for each of `n_points` points."""

    shared: Array
    n_points: int

    @functools.cached_property
    def xp(self) -> Any:
        """The library of the columns."""
        return library(self.shared)

    @property
    def alike(self) -> bool:
        """Whether all instances get the same weights: the column of ones is the only one."""
        return bool(self.shared.shape[1] == 1)

    @functools.cached_property
    def reach(self) -> float:
        """How far a logit can be from 0, in units of the largest parameter."""
        return float(self.xp.max(self.xp.sum(self.xp.abs(self.shared), axis=1)))

    @property
    def n_parameters(self) -> int:
        """Number of weights, q a."""
        return int(self.shared.shape[1] * self.n_points)

    def rows(self, rows: Array) -> Columns:
        """Return the columns of some instances."""
        return dataclasses.replace(self, shared=self.xp.take(self.shared, rows, axis=0))

    def logits(self, parameters: Array) -> Array:
        """Return the logits of the weights, (b, p) -> (b, n, a)."""
        by_column = self.xp.reshape(parameters, (parameters.shape[0], -1, self.n_points))
        return self.xp.matmul(self.shared, by_column)

    def weights(self, parameters: Array) -> Array:
        """Return the weights on the points, (b, p) -> (b, n, a)."""
        return softmax(self.logits(parameters))

    def pulled_back(self, slope: Array) -> Array:
        """Return the gradient in the weights from the one in the logits, (b, n, a) -> (b, p)."""
        return self.xp.reshape(self.xp.matmul(self.shared.T, slope), (slope.shape[0], -1))


class Fit(NamedTuple):
    """Learned parameters (b, p) and how the search ended."""

    parameters: Array
    steps: int
    n_unfinished: int


def likelihoods(points: Array, labels: Array) -> Array:
    """Return P_a(y) of every instance, (n, a, k), (b, n) -> (b, n, a)."""
    xp = library(points)
    n, a, k = points.shape
    by_class = xp.reshape(xp.permute_dims(as_float64(points), (0, 2, 1)), (n * k, a))
    rows = xp.astype(labels, xp.int64) + k * xp.arange(n, dtype=xp.int64, device=device(points))
    return xp.reshape(xp.take(by_class, xp.reshape(rows, (-1,)), axis=0), (*labels.shape, a))


def fit_weights(
    columns: Columns,
    points: Array,
    labels: Array,
    penalty: Array,
    *,
    start: Array | None = None,
    counted: Array | None = None,
    sizes: Array | None = None,
    max_steps: int = 200,
) -> Fit:
    """Learn weights by penalised maximum likelihood, one set of them per label vector.

    Parameters
    ----------
    columns : Columns
        What logits are linear in.
    points : array (n, a, k)
        The distributions that are mixed.
    labels : array (b, n)
        Label vectors; one row serves all replicates where only `counted` or `penalty` differ.
    penalty : array (p,) or (b, p)
        Half of it times the square of a weight is added to the sum of losses.
    start : array (p,) or (b, p), optional
        Starting point. Default: equal weights.
    counted : array (b, n), optional
        1 for instances a replicate learns from, 0 for the others.
    sizes : array (b,), optional
        Instances per replicate, by which its tolerance is measured. Default: all.
    max_steps : int
        Largest number of steps.

    Returns
    -------
    Fit
        Parameters, (b, p).
    """
    xp = library(points)
    b = max(array.shape[0] for array in (labels, counted, penalty) if array is not None and array.ndim > 1)
    n, a = points.shape[:2]
    size = columns.n_parameters
    begin_at = xp.zeros((size,), dtype=xp.float64, device=device(points)) if start is None else start
    ends, steps, unfinished = [], 0, 0
    per_tile = rows_within_budget(8 * (6 * n * a + 30 * size), 0.5)
    in_cache = max(1, (16 if columns.alike else 4) * CACHE_ELEMENTS // (n * a))
    for reps in tiles(b, per_tile):
        begin = xp.broadcast_to(_of_rows(begin_at, reps), (reps.stop - reps.start, size)) + 0.0
        loss = _loss(columns, points, *(_of_rows(array, reps) for array in (labels, counted, penalty)))
        loss = _tile_by_tile(loss, in_cache) if is_numpy(points) else loss
        tolerance = _TOLERANCE * (n if sizes is None else sizes[reps])
        ended = minimise_batch(loss, begin, tolerance=tolerance, max_steps=max_steps)
        ends.append(ended.at)
        steps = max(steps, ended.steps)
        unfinished += int((~to_host(ended.converged)).sum())
    return Fit(xp.concat(ends, axis=0), steps, unfinished)


def _loss(
    columns: Columns, points: Array, labels: Array, counted: Array | None, penalty: Array
) -> LossAndSlope:
    """Sums of log losses and penalties, and their slopes."""
    xp, alike = columns.xp, columns.alike
    likely = likelihoods(points, labels)

    def loss(parameters: Array, rows: HostArray | None) -> tuple[Array, Array]:
        likely_rows = _of_rows(likely, rows)
        kept = None if counted is None else _of_rows(counted, rows)
        if alike:
            total, slope = _slope_alike(parameters, likely_rows, kept, xp)
        else:
            reach = columns.reach * _largest(parameters, xp)
            total, slope = _slope(columns.logits(parameters), likely_rows, xp, reach)
            slope = columns.pulled_back(slope if kept is None else slope * kept[:, :, None])
        logs = xp.log(total)
        gains = xp.sum(logs, axis=1) if kept is None else xp.vecdot(logs, kept)
        pull = _of_rows(penalty, rows) * parameters
        return 0.5 * xp.vecdot(pull, parameters) - gains, slope + pull

    return loss


def _tile_by_tile(loss: LossAndSlope, most: int) -> LossAndSlope:
    """Return the same, evaluated for at most so many problems at a time; their steps are taken together."""

    def of_tiles(parameters: Array, rows: HostArray | None) -> tuple[Array, Array]:
        if len(parameters) <= most:
            return loss(parameters, rows)
        some = tiles(len(parameters), most)
        parts = [loss(parameters[tile], tile if rows is None else rows[tile]) for tile in some]
        return np.concatenate([value for value, _ in parts]), np.concatenate([slope for _, slope in parts])

    return of_tiles


def _of_rows(array: Array, rows: HostArray | slice | None) -> Array:
    """Return what belongs to some problems; one row, or none, belongs to all of them."""
    alone = array is None or rows is None or array.ndim == 1 or array.shape[0] == 1
    return array if alone else array[rows, ...]


def _largest(values: Array, xp: Any) -> float:
    """Return the largest magnitude; other libraries than NumPy shift all logits and need none."""
    return max(float(values.max()), -float(values.min())) if xp is np else 0.0


def _slope(logits: Array, likely: Array, xp: Any, reach: float) -> tuple[Array, Array]:
    """Return f_y (b, n) and w_a - w_a P_ay / f_y; logits (b, n, a) are overwritten where they can be.

    No logit is further from 0 than `reach`.
    """
    if xp is not np:
        weights = softmax(logits)
        total = xp.clip(xp.vecdot(weights, likely), _LEAST, None)
        return total, weights * (1.0 - likely / total[:, :, None])
    if reach > _LARGE and _largest(logits, xp) > _LARGE:
        logits -= logits.max(axis=2, keepdims=True)
    weights = np.exp(logits, out=logits)
    inverse = 1.0 / (weights @ np.ones(weights.shape[2]))  # a product sums short rows faster than `sum`
    total = np.maximum(np.vecdot(weights, likely) * inverse, _LEAST)
    slope = likely * (inverse / total)[:, :, None]
    slope = np.subtract(inverse[:, :, None], slope, out=slope)
    return total, np.multiply(weights, slope, out=weights)


def _slope_alike(parameters: Array, likely: Array, kept: Array | None, xp: Any) -> tuple[Array, Array]:
    """Return f_y (b, n), and the gradient (b, a) where all instances share their weights."""
    weights = _on_host(parameters) if xp is np else softmax(parameters)
    total = xp.matmul(likely, weights[:, :, None])[:, :, 0]
    total = np.maximum(total, _LEAST) if xp is np else xp.clip(total, _LEAST, None)
    inverse = (1.0 if kept is None else kept) / total
    often = float(total.shape[1]) if kept is None else xp.sum(kept, axis=1, keepdims=True)
    ratios = xp.matmul(inverse[:, None, :], likely)[:, 0, :]  # sum over instances of P_ay / f_y
    return total, weights * (often - ratios)


def _on_host(logits: HostArray) -> HostArray:
    """Return softmax of a few numbers per row, in as few calls as possible: thousands of steps ask for it."""
    raised = np.exp(np.maximum(logits - logits.max(axis=1, keepdims=True), -800.0))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def mixed(weights: Array, points: Array) -> Array:
    """Return sum_a w_a P_a, (b, n, a), (n, a, k) -> (b, n, k), rows summing to 1."""
    xp = library(points)
    if points.shape[1] == 1:  # that member itself: dividing by its sum would move the last digit
        return xp.broadcast_to(as_float64(points[:, 0, :]), (weights.shape[0], *points[:, 0, :].shape))
    mixture = xp.matmul(weights[:, :, None, :], as_float64(points))[:, :, 0, :]
    return mixture / xp.sum(mixture, axis=-1, keepdims=True)
