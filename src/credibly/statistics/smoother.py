"""What labels follow a prediction, learned from the labels of its neighbours.

    E[y | f_j] = sum_{i != j} w_ji onehot(y_i),   w_j = softmax over i != j of log K(f_j; f_i)

Popordanoska, Sayer and Blaschko 2022. The weights do not depend on labels. Blocks of rows that are bound each
on its own carry the largest log-weight of a row along with its sums, and scale both when a larger one comes.

The Dirichlet kernel on the simplex and its bandwidth.

    log K(f_j; f_i) = sum_c (f_ic / h) log f_jc - log B(f_i / h + 1)

is the log-density at f_j of a Dirichlet distribution around f_i. It is not symmetric. As a product it reads
queries [log f_j, 1] times keys [f_i / h, -log B].   Ouimet and Tolosana-Delgado 2022; Popordanoska et al.
2022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, as_float64, device, is_numpy, is_torch, namespace, to_host
from credibly._arrays.special import gammaln, logsumexp, softmax
from credibly.predictions import Labels
from credibly.statistics.kernels import distinct_rows, taken
from credibly.statistics.label_rows import label_values, total_weight
from credibly.statistics.pairwise import (
    BandwidthPlan,
    PairwiseBound,
    exponential,
    flushed,
    matrix_product_precision,
    set_diagonal,
)
from credibly.statistics.protocol import State

if TYPE_CHECKING:
    from credibly.statistics.kde import SmoothedError


BANDWIDTHS = np.logspace(-4, 0, 25)
"""Candidates of the likelihood rule, six per factor of ten."""

LIKELIHOOD_ROWS = 1000


def safe_log(probs: Array, dtype: Any) -> tuple[Array, int]:
    """Return log f, clipped at the smallest normal number of `dtype`, and how many entries that touched."""
    xp = namespace(probs)
    least = float(xp.finfo(dtype).smallest_normal)
    low = probs < least
    touched = int(xp.sum(xp.astype(low, xp.int64)))
    if touched:
        probs = xp.where(low, xp.full_like(probs, least), probs)
    return xp.log(probs), touched


def log_normaliser(probs: Array, bandwidth: float) -> Array:
    """Return log B(f / h + 1), (n,)."""
    xp = namespace(probs)
    alpha = probs / bandwidth + 1.0
    return xp.sum(gammaln(alpha), axis=-1) - gammaln(xp.sum(alpha, axis=-1))


def queries_and_keys(probs: Array, bandwidth: float, dtype: Any) -> tuple[Array, Array, int]:
    """Return (n, k + 1) queries and keys whose product is log K, and how many zeros the logarithm met."""
    xp = namespace(probs)
    exact = as_float64(probs)
    logs, touched = safe_log(exact, dtype)
    one = xp.ones_like(exact[:, :1])
    queries = xp.concat([logs, one], axis=1)
    keys = xp.concat([exact / bandwidth, -log_normaliser(exact, bandwidth)[:, None]], axis=1)
    return xp.astype(queries, dtype), xp.astype(keys, dtype), touched


def likelihood_bandwidth(probs: Array) -> tuple[float, tuple[str, ...]]:
    """Return the bandwidth of the largest leave-one-out likelihood over a grid, and the note that reports it.

    Uses predictions only. Duplicates count once: with them the likelihood grows without bound as h falls.
    """
    chosen = distinct_rows(probs, LIKELIHOOD_ROWS)
    if chosen.size < 2:
        return float(BANDWIDTHS[-1]), ("all predictions are equal: every bandwidth gives one estimate",)
    points = to_host(taken(probs, chosen)).astype(np.float64, copy=False)
    scores = leave_one_out_likelihoods(points, BANDWIDTHS)
    best = int(np.argmax(scores))
    found = float(BANDWIDTHS[best])
    of = f"{chosen.size} distinct predictions"
    notes = [f"bandwidth {found:.4g} has the largest leave-one-out likelihood of {of}"]
    if best in (0, BANDWIDTHS.size - 1):
        end = "smallest" if best == 0 else "largest"
        notes.append(f"it is the {end} of the grid {BANDWIDTHS[0]:g} to {BANDWIDTHS[-1]:g}")
    return found, tuple(notes)


def leave_one_out_likelihoods(points: np.ndarray[Any, Any], grid: np.ndarray[Any, Any]) -> Any:
    """Return the mean log-density of every point given all others, one value per bandwidth."""
    n = points.shape[0]
    cross = safe_log(points, np.float64)[0] @ points.T  # log f_j . f_i, shared by all bandwidths
    scores = np.empty(grid.size)
    for at, bandwidth in enumerate(grid):
        logs = cross / bandwidth
        logs -= log_normaliser(points, bandwidth)[None, :]
        np.fill_diagonal(logs, -np.inf)
        scores[at] = float(np.mean(logsumexp(logs, axis=1))) - np.log(n - 1)
    return scores


_SMOOTHED = "smoothing and resampling noise bias it upwards near calibration, where no interval of it covers"


class SmootherTile(NamedTuple):
    """Kernel weights of some rows, largest 1, their sums, and the weight a row would give itself."""

    weights: Array  # (rows, n), zero on the diagonal
    totals: Array  # (rows,)
    own: Array | None  # (rows,), where instances have multiplicities


class Neighbours(NamedTuple):
    """What rows got from the blocks they have met: the largest log-weight, and sums relative to it."""

    top: Array  # (rows,)
    totals: Array  # (rows,), of weights
    found: Array  # (b, k, rows), of labels times weights


class SmootherBound(PairwiseBound):
    """Kernel weights in tiles, and the estimate of E[y | f] for all label vectors."""

    statistic: SmoothedError

    def __init__(
        self, statistic: SmoothedError, probs: Array, plan: BandwidthPlan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, probs, plan, statistic.precision, notes)
        self.queries, self.keys, self.touched = queries_and_keys(self.exact, plan.number, self.dtype)
        self.notes = (*self.notes, *self.zeros_notes(self.touched, probs.shape[0]))

    def zeros_notes(self, touched: int, n: int) -> tuple[str, ...]:
        """Say how many probabilities of n rows the logarithm could not read."""
        if not touched:
            return ()
        least = float(namespace(self.probs).finfo(self.dtype).smallest_normal)
        note = f"{touched} of {n * self.probs.shape[1]} probabilities are read as {least:.2g}"
        return (f"{note} inside the logarithm of the kernel",)

    def tile(self, rows: slice, weighted: bool) -> SmootherTile:
        """Return exp(log K - largest) of these rows, each row without itself."""
        xp = namespace(self.probs)
        with matrix_product_precision("float32", self.keys):  # exponents need every digit, also for TF32
            logs = self.queries[rows, :] @ self.keys.T
        own = None
        if weighted:
            own = xp.vecdot(self.queries[rows, :], self.keys[rows, :])
        logs = set_diagonal(logs, rows.start, -float("inf"))
        top = xp.max(logs, axis=1)
        if own is not None:
            top = xp.maximum(top, own)
            own = xp.exp(own - top)
        weights = flushed(exponential(_shifted(logs, top)))
        return SmootherTile(weights, xp.sum(weights, axis=1), own)

    def values(self, labels: Labels) -> Array:
        """Return label frequencies times multiplicities, (b k, n)."""
        xp = namespace(self.probs)
        values = label_values(labels, xp, self.dtype)
        if labels.weights is not None:
            values = values * xp.astype(labels.weights, self.dtype)[:, None, :]
        return xp.reshape(values, (-1, values.shape[-1]))

    def smoothed(self, tile: SmootherTile, rows: slice, values: Array, labels: Labels) -> Array:
        """Return E[y | f_j] for these rows, (b, k, rows)."""
        xp = namespace(values)
        b = len(labels)
        shape = (b, self.probs.shape[1], rows.stop - rows.start)
        found = xp.reshape(self.product(values, tile.weights), shape)
        if labels.weights is None:
            return _divided(found, tile.totals[None, None, :])
        assert tile.own is not None
        # one copy of a row is left out; its other copies stay
        counted = xp.astype(labels.weights, self.dtype)
        others = xp.clip(counted[:, rows] - 1.0, 0.0, None) * tile.own[None, :]
        found = found + others[:, None, :] * label_values(labels.rows(rows), xp, self.dtype)
        totals = self.product(counted, tile.weights) + others
        filled = xp.where(totals > 0, totals, xp.ones_like(totals))
        return self._rescued(found / filled[:, None, :], totals, rows, labels)

    def _rescued(self, found: Array, totals: Array, rows: slice, labels: Labels) -> Array:
        """Fill in rows whose weights all vanished next to that of instances with weight zero."""
        xp = namespace(found)
        counted = labels.weights
        assert counted is not None
        present = counted[:, rows] > 0
        lost = (totals <= 0) & present
        if not bool(xp.any(lost)):
            return found
        parts = []
        at = xp.arange(self.n, device=device(found))
        for d in range(found.shape[0]):
            columns = []
            weights = counted[d if counted.shape[0] > 1 else 0, :]
            onehot = label_values(labels, xp, xp.float64)[d, :, :]
            for j in range(found.shape[2]):
                if not bool(lost[d if lost.shape[0] > 1 else 0, j]):
                    columns.append(found[d, :, j])
                    continue
                row = rows.start + j
                left = xp.where(at == row, xp.clip(weights - 1.0, 0.0, None), weights)
                if not bool(xp.any(left > 0)):
                    raise _lonely(self.statistic.name)
                logs = as_float64(self.keys @ self.queries[row, :])
                logs = xp.where(
                    left > 0, logs + xp.log(xp.where(left > 0, left, xp.ones_like(left))), -xp.inf
                )
                columns.append(xp.astype(onehot @ softmax(logs), found.dtype))
            parts.append(xp.stack(columns, axis=1))
        return xp.stack(parts, axis=0)

    def contribution(self, tile: SmootherTile, rows: slice, values: Array, labels: Labels) -> State:
        """Add the deviation of every row's estimate from its prediction."""
        return self._deviations(self.smoothed(tile, rows, values, labels), rows, labels)

    def _deviations(self, estimate: Array, rows: slice, labels: Labels) -> State:
        xp = namespace(estimate)
        deviation = self.statistic.deviation(estimate, self.probs[rows, :].T)  # (b, rows)
        if labels.weights is not None:
            weights = labels.weights[:, rows]
            # an instance of weight zero is not there, also where its deviation would be infinite
            deviation = xp.where(weights > 0, weights * as_float64(deviation), xp.zeros_like(weights))
        return State(
            deviation=xp.sum(as_float64(deviation), axis=1), weight=total_weight(labels, rows, deviation)
        )

    def meet(
        self, before: Neighbours | None, other: Self, labels: Labels, other_labels: Labels
    ) -> Neighbours:
        """Add the labels of another block, weighted by the kernel, to what these rows got before."""
        xp = namespace(self.probs)
        with matrix_product_precision("float32", self.keys):
            logs = self.queries @ other.keys.T
        counted = other_labels.weights
        if counted is not None:
            assert counted.shape[0] == 1  # weights are those of instances, whatever the replicate
            logs = logs + xp.astype(_log(counted), self.dtype)
        if other is self:
            # a row is left out once; its other copies stay
            kept = None if counted is None else _log(counted[0, :] - 1.0)
            logs = _left_out(logs, kept, xp.vecdot(self.queries, self.keys))
        top = xp.max(logs, axis=1)
        if before is not None:
            top = xp.maximum(top, before.top)
        level = xp.where(top > -xp.inf, top, xp.zeros_like(top))  # a row that has met nobody yet
        weights = flushed(exponential(_shifted(logs, level)))
        values = label_values(other_labels, xp, self.dtype)
        shape = (values.shape[0], values.shape[1], top.shape[0])
        found = xp.reshape(self.product(xp.reshape(values, (-1, values.shape[-1])), weights), shape)
        totals = xp.sum(weights, axis=1)
        if before is not None:
            scale = xp.exp(before.top - level)
            found, totals = found + before.found * scale, totals + before.totals * scale
        return Neighbours(top, totals, found)

    def met(self, sums: Neighbours, labels: Labels) -> State:
        """Compare what the neighbours of every row were with its prediction."""
        xp = namespace(self.probs)
        alone = sums.totals <= 0
        if labels.weights is not None:
            alone = alone & (labels.weights[0, :] > 0)
        if bool(xp.any(alone)):
            raise _lonely(self.statistic.name)
        totals = xp.where(sums.totals > 0, sums.totals, xp.ones_like(sums.totals))
        state = self._deviations(
            _divided(sums.found, totals[None, None, :]), slice(0, totals.shape[0]), labels
        )
        return self._with_counts(state)

    def observed_sums(self, labels: Labels) -> State:
        """Return the state, with the numbers of probabilities that the logarithm cannot read."""
        return self._with_counts(self.state(labels))

    def _with_counts(self, state: State) -> State:
        """Add what all rows together must be able to say."""
        xp = namespace(self.probs)
        count = xp.ones_like(state["weight"])
        zeros = float(xp.sum(xp.astype(self.probs == 0, xp.int64)))
        return State(state, touched=count * float(self.touched), zeros=count * zeros)

    def finish(self, state: State) -> Array:
        """Average over instances."""
        return self.statistic.error(state["deviation"] / state["weight"])

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: rows share their neighbours, and the estimate is biased near calibration."""
        return None, _SMOOTHED


def _lonely(name: str) -> InputError:
    return InputError(
        f"`{name}`",
        "learns the labels of a prediction from other instances",
        "only one instance has a positive weight",
        "Give at least two.",
    )


def _log(counted: Array) -> Array:
    """Return the logarithm of multiplicities, minus infinity where there is none."""
    xp = namespace(counted)
    there = counted > 0
    return xp.where(there, xp.log(xp.where(there, counted, xp.ones_like(counted))), -xp.inf)


def _left_out(logs: Array, copies: Array | None, own: Array) -> Array:
    """Replace what every row gets from itself by what it gets from its copies, of which there may be none."""
    if copies is None:
        return set_diagonal(logs, 0, -float("inf"))
    xp = namespace(logs)
    at = xp.arange(logs.shape[0], device=device(logs))
    return xp.where(at[:, None] == at[None, :], (own + xp.astype(copies, own.dtype))[:, None], logs)


def _shifted(logs: Array, top: Array) -> Array:
    """Return logs - top, in place where nothing else needs them."""
    if is_numpy(logs):
        return np.subtract(logs, top[:, None], out=logs)
    if is_torch(logs) and not logs.requires_grad:
        return logs.sub_(top[:, None])
    return logs - top[:, None]


def _divided(found: Array, totals: Array) -> Array:
    if is_numpy(found):
        return np.divide(found, totals, out=found)
    return found / totals
