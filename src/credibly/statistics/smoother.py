"""What labels follow a prediction, learned from the labels of its neighbours.

    E[y | f_j] = sum_{i != j} w_ji onehot(y_i),   w_j = softmax over i != j of log K(f_j; f_i)

Popordanoska, Sayer and Blaschko 2022. The weights do not depend on labels. Blocks of rows that are bound each
on its own carry the largest log-weight of a row along with its sums, and scale both when a larger one comes.

The Dirichlet kernel on the simplex and its bandwidth.

    log K(f_j; f_i) = sum_c (f_ic / h) log f_jc - log B(f_i / h + 1)

is the log-density at f_j of a Dirichlet distribution around f_i. It is not symmetric. As a product it reads
queries [log f_j, 1] times keys [f_i / h, -log B].   Ouimet and Tolosana-Delgado 2022; Popordanoska et al.
2022.

At the boundary of the simplex the density is exact: 0 log 0 = 0, and f_jc = 0 < f_ic is a density of 0. So a
row with zeros learns from rows with these zeros only, none of which can draw a label it calls impossible.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    as_float64,
    device,
    gammaln,
    is_numpy,
    is_torch,
    namespace,
    softmax,
    tiles,
    to_host,
)
from credibly._arrays.notes import counted
from credibly.predictions import Labels
from credibly.statistics.kernels import distinct_rows, taken
from credibly.statistics.pairwise import (
    BandwidthPlan,
    PairwiseBound,
    exponential,
    flushed,
    set_diagonal,
)
from credibly.statistics.protocol import State, label_values, total_weight

if TYPE_CHECKING:
    from credibly.statistics.kde import SmoothedError


BANDWIDTHS = np.logspace(-4, 0, 25)
"""Candidates of the likelihood rule, six per factor of ten."""

LIKELIHOOD_ROWS = 1000


_VANISHED = -45.0
"""Logarithm of what changes no sum of up to a thousand terms, the largest of which is 1."""

NOTHING = float(np.finfo(np.float64).eps)
"""Probabilities up to this are 0 beside a sum of 1: a row that has them may stand beside one with zeros."""


def safe_log(probs: Array) -> Array:
    """Return log f, with f at least the smallest normal number of its dtype."""
    xp = namespace(probs)
    least = float(xp.finfo(probs.dtype).smallest_normal)
    return xp.log(xp.where(probs < least, xp.full_like(probs, least), probs))


def log_normaliser(probs: Array, bandwidth: float) -> Array:
    """Return log B(f / h + 1), (n,)."""
    xp = namespace(probs)
    alpha = probs / bandwidth + 1.0
    return xp.sum(gammaln(alpha), axis=-1) - gammaln(xp.sum(alpha, axis=-1))


def kernel_logs(probs: Array) -> tuple[Array, Array | None]:
    """Return log f with 0 in place of log 0, and 1 where f is 0 and 0 elsewhere; None if f is never 0.

    A zero adds nothing to the product with a row that is 0 there too; all other rows are `barred`.
    """
    xp = namespace(probs)
    zeros = probs == 0
    if not bool(xp.any(zeros)):
        return safe_log(probs), None
    filled = xp.where(zeros, xp.ones_like(probs), probs)
    return safe_log(filled), xp.astype(zeros, probs.dtype)


def barred(logs: Array, zeros: Array, support: Array) -> Array:
    """Return the log-densities, minus infinity where a row is positive at a zero of the other.

    (r, n), zeros (r, k) of the rows, support (n, k) of the columns.
    """
    xp = namespace(logs)
    return xp.where(zeros @ support.T > 0, xp.full_like(logs, -float("inf")), logs)


def supported(probs: Array) -> Array:
    """Return 1 where predictions are positive and 0 elsewhere."""
    return namespace(probs).astype(probs > NOTHING, probs.dtype)


def kernel_keys(probs: Array, bandwidth: float) -> Array:
    """Return [f / h, -log B], (n, k + 1)."""
    xp = namespace(probs)
    return xp.concat([probs / bandwidth, -log_normaliser(probs, bandwidth)[:, None]], axis=1)


def with_one(logs: Array) -> Array:
    """Return [log f, 1], (n, k + 1)."""
    xp = namespace(logs)
    return xp.concat([logs, xp.ones_like(logs[:, :1])], axis=1)


def likelihood_bandwidth(probs: Array) -> tuple[float, tuple[str, ...]]:
    """Return the bandwidth of the largest leave-one-out likelihood over a grid, and the note that reports it.

    Uses predictions only. Duplicates count once: with them the likelihood grows without bound as h falls.
    """
    chosen = distinct_rows(probs, LIKELIHOOD_ROWS)
    if chosen.size < 2:
        return float(BANDWIDTHS[-1]), ("all predictions are equal, so the bandwidth does not matter",)
    points = to_host(taken(probs, chosen)).astype(np.float64, copy=False)
    scores = _likelihoods(points.tobytes(), points.shape[1])
    if not np.isfinite(scores).any():
        return float(BANDWIDTHS[-1]), (
            "no two predictions have the same zeros, so no bandwidth is better than another",
        )
    best = int(np.argmax(scores))
    found = float(BANDWIDTHS[best])
    of = f"{chosen.size} distinct predictions"
    notes = [f"bandwidth {found:.4g} has the largest leave-one-out likelihood of {of}"]
    if best in (0, BANDWIDTHS.size - 1):
        end = "smallest" if best == 0 else "largest"
        notes.append(f"it is the {end} of the grid {BANDWIDTHS[0]:g} to {BANDWIDTHS[-1]:g}")
    return found, tuple(notes)


@lru_cache(maxsize=4)
def _likelihoods(points: bytes, n_classes: int) -> Any:
    """Return the likelihoods of the grid; several errors, and their tests, ask for those of one matrix."""
    return leave_one_out_likelihoods(np.frombuffer(points).reshape(-1, n_classes), BANDWIDTHS)


def leave_one_out_likelihoods(points: np.ndarray[Any, Any], grid: np.ndarray[Any, Any]) -> Any:
    """Return the mean log-density of every point given all others, one value per bandwidth.

    Points that no other one has a positive density at are left out, whatever the bandwidth.
    """
    n = points.shape[0]
    logs_of, zeros = kernel_logs(points)
    cross = logs_of @ points.T  # log f_j . f_i, shared by all bandwidths
    if zeros is not None:
        cross = barred(cross, zeros, supported(points))
    np.fill_diagonal(cross, -np.inf)
    cross = cross[np.isfinite(cross).any(axis=1)]
    if not len(cross):
        return np.full(grid.size, -np.inf)
    normalisers = [log_normaliser(points, bandwidth) for bandwidth in grid]
    scores = np.zeros(grid.size)
    for rows in tiles(len(cross), max(1, CACHE_ELEMENTS // n)):
        logs = np.empty_like(cross[rows])
        for at, (bandwidth, normaliser) in enumerate(zip(grid, normalisers, strict=True)):
            np.multiply(cross[rows], 1.0 / bandwidth, out=logs)
            logs -= normaliser
            top = logs.max(axis=1)
            logs -= top[:, None]
            near = logs > _VANISHED  # a few in a hundred, and exponentials are what takes time here
            starts = np.cumsum(near.sum(axis=1)) - near.sum(axis=1)
            scores[at] += float(np.sum(np.log(np.add.reduceat(np.exp(logs[near]), starts)) + top))
    return scores / len(cross) - np.log(n - 1)


_SMOOTHED = (
    "smoothing and resampling noise bias it upwards near calibration, where no interval for it can be trusted"
)


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
    term_size = 1.0  # frequencies, of which predictions are subtracted

    def __init__(
        self, statistic: SmoothedError, probs: Array, plan: BandwidthPlan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, probs, plan, notes)
        # exponents keep every digit, which costs little compared with the product
        logs, self.zeros = kernel_logs(self.exact)
        self.queries, self.keys = with_one(logs), kernel_keys(self.exact, plan.number)
        self.n_zeros = 0 if self.zeros is None else int(namespace(logs).sum(as_float64(self.zeros)))
        self.notes = (*self.notes, *self.zeros_notes(self.n_zeros, probs.shape[0]))
        self.others: tuple[
            SmootherBound, ...
        ] = ()  # whose deviations from the same estimates are summed, too

    @property
    def shared(self) -> Hashable:
        """Equal for statistics that smooth with the same kernel."""
        same = SmootherBound, self.statistic.bandwidth, str(self.dtype)
        return same if is_numpy(self.probs) and not self.tracked else None

    def states_with(self, others: Sequence[Any], labels: Labels) -> list[State]:
        """Return the sums of all, from estimates that are made once."""
        if not others:
            return [self.state(labels)]
        both = copy.copy(self)
        both.others = tuple(others)
        sums = both.state(labels)
        return [
            State({name: sums[f"{at} {name}"] for name in ("deviation", "weight", "alone")})
            for at in range(1 + len(others))
        ]

    def zeros_notes(self, n_zeros: int, n: int) -> tuple[str, ...]:
        """Say how many probabilities of n rows are zero, and what that means for their neighbours."""
        if not n_zeros:
            return ()
        note = (
            f"{n_zeros} of {n * self.probs.shape[1]} probabilities are 0: such an instance learns only from"
        )
        return (f"{note} instances with the same zeros, and is left out if there are none",)

    @cached_property
    def support(self) -> Array:
        """Where the bound predictions are positive, (n, k)."""
        return supported(self.exact)

    def _item_bytes(self) -> int:
        return 8  # exponents and weights before they are cast

    def log_kernel(self, rows: slice, other: Self) -> Array:
        """Return log K of these rows with the rows bound by `other`, (rows, n)."""
        logs = self.queries[rows, :] @ other.keys.T
        return logs if self.zeros is None else barred(logs, self.zeros[rows, :], other.support)

    def tile(self, rows: slice, weighted: bool) -> SmootherTile:
        """Return exp(log K - largest) of these rows, each row without itself."""
        xp = namespace(self.probs)
        logs = self.log_kernel(rows, self)
        own = None
        if weighted:
            own = xp.vecdot(self.queries[rows, :], self.keys[rows, :])
        logs = set_diagonal(logs, rows.start, -float("inf"))
        top = xp.max(logs, axis=1)
        if own is not None:
            top = xp.maximum(top, own)
            own = xp.exp(own - top)
        weights = flushed(exponential(_shifted(logs, _finite(top))))
        if weights.dtype == self.dtype:
            return SmootherTile(weights, xp.sum(weights, axis=1), own)
        if own is not None:
            narrow = xp.astype(weights, self.dtype)
            return SmootherTile(narrow, xp.sum(narrow, axis=1), xp.astype(own, self.dtype))
        narrow = xp.astype(_on_grid(weights), self.dtype)
        return SmootherTile(narrow, xp.sum(narrow, axis=1), None)

    def values(self, labels: Labels) -> Array:
        """Return label frequencies times multiplicities, (b k, n)."""
        xp = namespace(self.probs)
        values = label_values(labels, xp, self.dtype)
        if labels.weights is not None:
            values = values * xp.astype(labels.weights, self.dtype)[:, None, :]
        return xp.reshape(values, (-1, values.shape[-1]))

    def smoothed(self, tile: SmootherTile, rows: slice, values: Array, labels: Labels) -> tuple[Array, Array]:
        """Return E[y | f_j] for these rows, (b, k, rows), and which have neighbours, (1 or b, rows)."""
        xp = namespace(values)
        b = len(labels)
        shape = (b, self.probs.shape[1], rows.stop - rows.start)
        found = xp.reshape(self.product(values, tile.weights), shape)
        if labels.weights is None:
            totals = tile.totals[None, :]
            return _divided(found, _positive(totals)[:, None, :]), totals > 0
        assert tile.own is not None
        # one copy of a row is left out; its other copies stay
        counted = xp.astype(labels.weights, self.dtype)
        others = xp.clip(counted[:, rows] - 1.0, 0.0, None) * tile.own[None, :]
        found = found + others[:, None, :] * label_values(labels.rows(rows), xp, self.dtype)
        totals = self.product(counted, tile.weights) + others
        return self._rescued(found / _positive(totals)[:, None, :], totals, rows, labels)

    def _rescued(self, found: Array, totals: Array, rows: slice, labels: Labels) -> tuple[Array, Array]:
        """Fill in rows whose weights all vanished next to that of instances with weight zero."""
        xp = namespace(found)
        counted = labels.weights
        assert counted is not None
        present = counted[:, rows] > 0
        lost = (totals <= 0) & present
        if not bool(xp.any(lost)):
            return found, totals > 0
        parts, known = [], []
        at = xp.arange(self.n, device=device(found))
        for d in range(found.shape[0]):
            columns, seen = [], []
            weights = counted[d if counted.shape[0] > 1 else 0, :]
            onehot = label_values(labels, xp, xp.float64)[d, :, :]
            for j in range(found.shape[2]):
                one = d if totals.shape[0] > 1 else 0
                columns.append(found[d, :, j])
                seen.append(bool(totals[one, j] > 0))
                if not bool(lost[one, j]):
                    continue
                row = rows.start + j
                left = xp.where(at == row, xp.clip(weights - 1.0, 0.0, None), weights)
                logs = as_float64(self.log_kernel(slice(row, row + 1), self)[0, :]) + _log(left)
                if bool(xp.any(logs > -xp.inf)):
                    columns[-1], seen[-1] = xp.astype(onehot @ softmax(logs), found.dtype), True
            parts.append(xp.stack(columns, axis=1))
            known.append(seen)
        return xp.stack(parts, axis=0), xp.asarray(known, device=device(found))

    def contribution(self, tile: SmootherTile, rows: slice, values: Array, labels: Labels) -> State:
        """Add the deviation of every row's estimate from its prediction."""
        estimate, known = self.smoothed(tile, rows, values, labels)
        if not self.others:
            return self._deviations(estimate, known, rows, labels)
        sums = State()
        for at, one in enumerate((self, *self.others)):  # a deviation may overwrite its estimates
            own = one._deviations(np.array(estimate), known, rows, labels)
            sums |= {f"{at} {name}": value for name, value in own.items()}
        return sums

    def _deviations(self, estimate: Array, known: Array, rows: slice, labels: Labels) -> State:
        """Sum up deviations of the rows that are `known` by neighbours; the others are not there."""
        xp = namespace(estimate)
        deviation = as_float64(self.statistic.deviation(estimate, self.probs[rows, :].T))  # (b, rows)
        weight = total_weight(labels, rows, deviation)
        counted = None if labels.weights is None else as_float64(labels.weights[:, rows])
        alone = xp.zeros_like(weight)
        if not bool(xp.all(known)):
            there = xp.astype(known, xp.float64)
            present = 1.0 if counted is None else xp.astype(counted > 0, xp.float64)
            alone = alone + xp.sum(present * (1.0 - there), axis=1)
            counted = there if counted is None else counted * there
            weight = xp.sum(counted, axis=1) + xp.zeros_like(weight)
        if counted is not None:
            # an instance of weight zero is not there, also where its deviation would be infinite
            deviation = xp.where(counted > 0, counted * deviation, xp.zeros_like(deviation))
        return State(deviation=xp.sum(deviation, axis=1), weight=weight, alone=alone)

    def meet(
        self, before: Neighbours | None, other: Self, labels: Labels, other_labels: Labels
    ) -> Neighbours:
        """Add the labels of another block, weighted by the kernel, to what these rows got before."""
        xp = namespace(self.probs)
        logs = self.log_kernel(slice(0, self.n), other)
        counted = other_labels.weights
        if counted is not None:
            assert counted.shape[0] == 1  # weights are those of instances, whatever the replicate
            logs = logs + xp.astype(_log(counted), logs.dtype)
        if other is self:
            # a row is left out once; its other copies stay
            kept = None if counted is None else _log(counted[0, :] - 1.0)
            logs = _left_out(logs, kept, xp.vecdot(self.queries, self.keys))
        top = xp.max(logs, axis=1)
        if before is not None:
            top = xp.maximum(top, before.top)
        level = _finite(top)
        weights = xp.astype(flushed(exponential(_shifted(logs, level))), self.dtype)
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
        totals = sums.totals[None, :]
        estimate = _divided(sums.found, _positive(totals)[:, None, :])
        return self._with_counts(self._deviations(estimate, totals > 0, slice(0, totals.shape[1]), labels))

    def observed_sums(self, labels: Labels) -> State:
        """Return the state, with the number of probabilities that are 0."""
        return self._with_counts(self.state(labels))

    def _with_counts(self, state: State) -> State:
        """Add what all rows together must be able to say."""
        xp = namespace(self.probs)
        return State(state, zeros=xp.full_like(state["weight"], float(self.n_zeros)))

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Say how many instances were left out."""
        alone = int(to_host(sums["alone"])[0])
        have = counted(alone, "instance has", "instances have")
        return (f"left out: {have} no neighbour with the same zeros",) if alone else ()

    def finish(self, state: State) -> Array:
        """Average over instances."""
        if bool(namespace(state["weight"]).any(state["weight"] <= 0)):
            raise InputError(
                f"`{self.statistic.name}`",
                "learns the labels of a prediction from other instances",
                "none has a neighbour: only one instance has a positive weight, or no two have the same "
                "zeros",
                "Give more instances, or probabilities with more digits.",
            )
        return self.statistic.error(state["deviation"] / state["weight"])

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: rows share their neighbours, and the estimate is biased near calibration."""
        return None, _SMOOTHED


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


def _finite(top: Array) -> Array:
    """Return the largest log-weight of every row, 0 for a row that has met nobody."""
    xp = namespace(top)
    return xp.where(top > -xp.inf, top, xp.zeros_like(top))


def _on_grid(weights: Array) -> Array:
    """Return the weights of every row divided by their sum, in whole multiples of 2^-23.

    Their sums over any rows, in any order, are then exact in single precision: replicates with equal
    frequencies of labels near every prediction have equal estimates, as in double precision.
    """
    xp = namespace(weights)
    shares = xp.round(weights * (2.0**23 / _positive(xp.sum(weights, axis=1)))[:, None])
    return shares * 2.0**-23


def _positive(totals: Array) -> Array:
    """Return sums of weights that can be divided by."""
    xp = namespace(totals)
    return xp.where(totals > 0, totals, xp.ones_like(totals))


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
