"""Weights on the points of a set that depend on the instance, learned for many label vectors at once.

    w_a(x) = softmax over a of ( phi(x) . W_a + psi_a(x) . theta ),   f(x) = sum_a w_a(x) P_a(x)

W_a belongs to one point (member 3), theta to all of them: what it multiplies says what kind of point a is, so
renaming the members renames the weights. Both enter linearly, so the gradient of the log loss is the
responsibilities minus the weights,

    d / d logit_a  of  -log f_y  =  w_a - w_a P_ay / f_y,

times the columns. Labels enter through P_ay alone: one array (n, a, b) holds them for all replicates, which
come last so that sums over the few points run along many replicates.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from credibly._arrays.lbfgs import Minimum, minimise_batch
from credibly._arrays.namespace import Array, as_float64, device, is_numpy, namespace
from credibly._arrays.special import softmax
from credibly._arrays.tiles import CACHE_ELEMENTS, rows_within_budget, tiles

_LEAST = 1e-300  # a label that every point calls impossible: the loss is large, not infinite
_TOLERANCE = 5e-4  # of the mean slope per instance, far below what sampling moves it by


@dataclasses.dataclass(frozen=True)
class Columns:
    """What logits are linear in: `shared` (n, q) with weights per point, `own` (n, a, s) with common ones.

    The first `n_plain` columns of `own` do not depend on features.
    """

    shared: Array
    own: Array
    n_plain: int = 0

    @property
    def n_parameters(self) -> int:
        """Number of weights, q a + s."""
        return int(self.shared.shape[1] * self.own.shape[1] + self.own.shape[2])

    def rows(self, rows: Array) -> Columns:
        """Return the columns of some instances."""
        xp = namespace(self.shared)
        return Columns(xp.take(self.shared, rows, axis=0), xp.take(self.own, rows, axis=0), self.n_plain)

    def weights(self, parameters: Array) -> Array:
        """Return the weights on the points, (b, p) -> (n, a, b)."""
        xp = namespace(parameters)
        b = parameters.shape[0]
        (n, q), a = self.shared.shape, self.own.shape[1]
        per_point = xp.reshape(parameters[:, : q * a].T, (q, a * b))
        logits = xp.reshape(self.shared @ per_point, (n, a, b))
        if self.own.shape[2]:
            flat = xp.reshape(self.own, (n * a, -1)) @ parameters[:, q * a :].T
            logits = logits + xp.reshape(flat, (n, a, b))
        if not is_numpy(logits):
            return softmax(logits, axis=1)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def pulled_back(self, slope: Array) -> Array:
        """Return the gradient in the weights from the one in the logits, (n, a, b) -> (b, p)."""
        xp = namespace(slope)
        n, a, b = slope.shape
        per_point = xp.reshape(self.shared.T @ xp.reshape(slope, (n, a * b)), (-1, b)).T
        s = self.own.shape[2]
        if not s:
            return per_point
        common = xp.reshape(slope, (n * a, b)).T @ xp.reshape(self.own, (n * a, s))
        return xp.concat([per_point, common], axis=1)


class Fit(NamedTuple):
    """Learned parameters (b, p) and how the search ended."""

    parameters: Array
    steps: int
    n_unfinished: int


def likelihoods(points: Array, labels: Array) -> Array:
    """Return P_a(y) of every instance, (n, a, k), (b, n) -> (n, a, b)."""
    xp = namespace(points)
    index = xp.astype(labels.T, xp.int64)  # (n, b)
    n, a, _ = points.shape
    spread = xp.broadcast_to(index[:, None, :], (n, a, index.shape[1]))
    return xp.take_along_axis(as_float64(points), spread, axis=2)


def fit_weights(
    columns: Columns,
    points: Array,
    labels: Array,
    penalty: Array,
    *,
    start: Array | None = None,
    counted: Array | None = None,
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
        Where to begin; equal weights where not given.
    counted : array (b, n), optional
        1 for instances a replicate learns from, 0 for the others.
    max_steps : int
        Largest number of steps.

    Returns
    -------
    Fit
        Parameters, (b, p).
    """
    xp = namespace(points)
    b = max(
        labels.shape[0],
        1 if counted is None else counted.shape[0],
        penalty.shape[0] if penalty.ndim > 1 else 1,
    )
    n, a = points.shape[:2]
    size = columns.n_parameters
    given = xp.zeros((size,), dtype=xp.float64, device=device(points)) if start is None else start
    found, steps, unfinished = [], 0, 0
    per_tile = rows_within_budget(8 * (6 * n * a + 30 * size), 0.5)
    if is_numpy(points):
        per_tile = min(per_tile, max(1, 4 * CACHE_ELEMENTS // (n * a)))
    for reps in tiles(b, per_tile):

        def of(array: Array | None, reps: slice = reps) -> Array | None:
            return array if array is None or array.ndim == 1 or array.shape[0] == 1 else array[reps, ...]

        count = reps.stop - reps.start
        begin = xp.broadcast_to(of(given), (count, size)) + 0.0
        ended = _fit(columns, likelihoods(points, of(labels)), of(penalty), begin, of(counted), max_steps)
        found.append(ended.at)
        steps = max(steps, ended.steps)
        unfinished += int(xp.sum(xp.astype(~ended.converged, xp.int64)))
    return Fit(xp.concat(found, axis=0), steps, unfinished)


def _fit(
    columns: Columns, likely: Array, penalty: Array, start: Array, counted: Array | None, max_steps: int
) -> Minimum:
    xp = namespace(likely)

    def objective(parameters: Array) -> tuple[Array, Array]:
        weights = columns.weights(parameters)
        shares = weights * likely
        total = xp.clip(xp.sum(shares, axis=1), _LEAST, None)
        loss = -xp.log(total)
        slope = _subtracted(weights, shares, total[:, None, :])
        if counted is not None:
            loss, slope = loss * counted.T, slope * counted.T[:, None, :]
        pull = penalty * parameters
        value = xp.sum(loss, axis=0) + 0.5 * xp.vecdot(pull, parameters)
        return value, columns.pulled_back(slope) + pull

    return minimise_batch(objective, start, tolerance=_TOLERANCE * likely.shape[0], max_steps=max_steps)


def _subtracted(weights: Array, shares: Array, total: Array) -> Array:
    """Return weights - shares / total, in place where nothing else needs them."""
    if not is_numpy(weights):
        return weights - shares / total
    np.divide(shares, total, out=shares)
    return np.subtract(weights, shares, out=weights)


def mixed(weights: Array, points: Array) -> Array:
    """Return sum_a w_a P_a, (n, a, b), (n, a, k) -> (b, n, k), rows summing to 1."""
    xp = namespace(points)
    found = xp.matmul(xp.permute_dims(weights, (2, 0, 1))[:, :, None, :], as_float64(points))[:, :, 0, :]
    return found / xp.sum(found, axis=-1, keepdims=True)
