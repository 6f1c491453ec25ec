"""Weights on the points of a set that depend on the instance, learned for many label vectors at once.

    w_a(x) = softmax over a of phi(x) . W_a,   f(x) = sum_a w_a(x) P_a(x)

The weights enter linearly, so the gradient of the log loss is the responsibilities minus the weights,

    d / d logit_a  of  -log f_y  =  w_a - w_a P_ay / f_y,

times the columns. Labels enter through P_ay alone: one array (b, n, a) holds them for all replicates. Weights
that are the same for all instances have no array of that size, and both sums are products of matrices.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    rows_within_budget,
    softmax,
    tiles,
    to_host,
)
from credibly.learners.minimisation import LossAndSlope, library, minimise_batch

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
