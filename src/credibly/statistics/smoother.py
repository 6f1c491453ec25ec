"""What labels follow a prediction, learned from the labels of its neighbours.

    E[y | f_j] = sum_{i != j} w_ji onehot(y_i),   w_j = softmax over i != j of log K(f_j; f_i)

Popordanoska, Sayer and Blaschko 2022. The weights do not depend on labels. Chunks of rows that are bound each
on its own carry the largest log-weight of a row along with its sums, and scale both when a larger one comes.

K is the Dirichlet kernel on the simplex:

    log K(f_j; f_i) = sum_c (f_ic / h) log f_jc - log B(f_i / h + 1)

is the log-density at f_j of a Dirichlet distribution around f_i. It is not symmetric. As a product it reads
queries [log f_j, 1] times keys [f_i / h, -log B].   Ouimet and Tolosana-Delgado 2022; Popordanoska et al.
2022.

At the boundary of the simplex the density is exact: 0 log 0 = 0, and f_jc = 0 < f_ic is a density of 0. So a
row with zeros learns from rows with these zeros only, none of which can draw a label it calls impossible.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    as_float64,
    gammaln,
    is_numpy,
    is_torch,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.notes import counted
from credibly.predictions import Labels
from credibly.statistics.batches import one_hot, positive, replicates, stacked, total_weight, weighted
from credibly.statistics.kernels import as_number, distinct_rows, exponential, flushed, set_diagonal, taken
from credibly.statistics.pairwise import BandwidthPlan, Meeting, PairBound, Sides, product
from credibly.statistics.protocol import Bound, State

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
    return xp.log(xp.where(probs < least, least, probs))


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
    return safe_log(xp.where(zeros, 1.0, probs)), xp.astype(zeros, probs.dtype)


def barred(logs: Array, zeros: Array, support: Array) -> Array:
    """Return the log-densities, minus infinity where a row is positive at a zero of the other.

    (r, n), zeros (r, k) of the rows, support (n, k) of the columns.
    """
    return namespace(logs).where(zeros @ support.T > 0, -math.inf, logs)


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
        note = "no two predictions have the same zeros, so no bandwidth is better than another"
        return float(BANDWIDTHS[-1]), (note,)
    best = int(np.argmax(scores))
    bandwidth = float(BANDWIDTHS[best])
    of = f"{chosen.size} distinct predictions"
    notes = [f"bandwidth {bandwidth:.4g} has the largest leave-one-out likelihood of {of}"]
    if best in (0, BANDWIDTHS.size - 1):
        end = "smallest" if best == 0 else "largest"
        notes.append(f"it is the {end} of the grid {BANDWIDTHS[0]:g} to {BANDWIDTHS[-1]:g}")
    return bandwidth, tuple(notes)


@lru_cache(maxsize=4)
def _likelihoods(points: bytes, n_classes: int) -> Any:
    """Return the likelihoods of the grid, kept because several errors and tests ask for the same ones."""
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
    """Kernel weights of some rows relative to the largest, their sums, and the log of the largest."""

    weights: Array  # (rows, columns), no row with itself
    totals: Array  # (rows,)
    top: Array  # (rows,)


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbours:
    """What rows got from the rows they have met: the largest log-weight, and sums relative to it."""

    top: Array  # (rows,)
    totals: Array  # (rows,), of weights
    shares: Array  # (b, k, rows), of labels times weights

    def __add__(self, other: Neighbours) -> Neighbours:
        """Return what the same rows got from both, relative to the larger of the largest weights."""
        xp = namespace(self.top)
        top = xp.maximum(self.top, other.top)
        a, b = (xp.exp(each.top - _finite(top)) for each in (self, other))
        return Neighbours(top, self.totals * a + other.totals * b, self.shares * a + other.shares * b)

    @staticmethod
    def concatenated(parts: list[Neighbours]) -> Neighbours:
        """Return batches of label vectors behind each other."""
        sums = namespace(parts[0].shares).concat([part.shares for part in parts], axis=0)
        return Neighbours(parts[0].top, parts[0].totals, sums)


class SmootherBound(PairBound):
    """Kernel weights in tiles, and the estimate of E[y | f] for all label vectors.

    A weight of an instance is part of its kernel weight: a row of weight 2 is two rows.
    """

    symmetric = False
    tile_has_weights = True
    refusal = _SMOOTHED

    def __init__(
        self, statistic: SmoothedError, probs: Array, plan: BandwidthPlan, notes: tuple[str, ...]
    ) -> None:
        xp, exact = namespace(probs), as_float64(probs)
        sides = Sides(exact, probs.shape[1], lambda labels, rows, dtype: one_hot(labels, xp, dtype))
        super().__init__(statistic, sides, plan, notes)
        # exponents keep every digit, which costs little compared with the product
        logs, self.zeros = kernel_logs(self.exact)
        self.queries, self.keys = with_one(logs), kernel_keys(self.exact, plan.number)
        self.term_size = statistic.size_of_terms(logs)
        self.n_zeros = 0 if self.zeros is None else int(namespace(logs).sum(as_float64(self.zeros)))
        self.notes = (*self.notes, *self.zeros_notes(self.n_zeros, probs.shape[0]))
        self.others: tuple[SmootherBound, ...] = ()
        """Whose deviations from the same estimates are summed up, too."""

    @property
    def shared(self) -> Hashable:
        """Equal for statistics that smooth with the same kernel."""
        return (SmootherBound, self.statistic.bandwidth, str(self.dtype)) if is_numpy(self.points) else None

    def states_with(self, others: Sequence[Any], labels: Labels) -> list[State]:
        """Return the sums of all, from estimates that are made once."""
        if not others:
            return [self.state(labels)]
        both = copy.copy(self)
        both.others = tuple(others)
        sums = both.state(labels)
        names = {name.partition(" ")[2] for name in sums}
        return [State({name: sums[f"{at} {name}"] for name in names}) for at in range(1 + len(others))]

    def zeros_notes(self, n_zeros: int, n: int) -> tuple[str, ...]:
        """Say how many probabilities of n rows are zero, and what that means for their neighbours."""
        if not n_zeros:
            return ()
        note = f"{n_zeros} of {n * self.width} probabilities are 0: such an instance learns only from"
        return (f"{note} instances with the same zeros, and is left out if there are none",)

    @cached_property
    def support(self) -> Array:
        """Where the bound predictions are positive, (n, k)."""
        return supported(self.exact)

    def _item_bytes(self) -> int:
        return 8  # exponents and weights before they are cast

    def tile(self, rows: slice, other: PairBound, first: int | None, weights: Array | None) -> SmootherTile:
        """Return exp(log K - largest) of these rows, times the weights of the columns; no row with itself."""
        assert isinstance(other, SmootherBound)
        xp = namespace(self.exact)
        keys = other.keys
        if weights is not None:
            last = keys[:, -1] + as_float64(_log(weights[0, :]))
            keys = xp.concat([keys[:, :-1], last[:, None]], axis=1)
        logs = self.queries[rows, :] @ keys.T
        if self.zeros is not None:
            logs = barred(logs, self.zeros[rows, :], other.support)
        if first is not None:
            alone: Array | float = -float("inf")
            if weights is not None:  # a row is left out once; its other copies stay
                copies = weights[0, first : first + rows.stop - rows.start] - 1.0
                alone = xp.vecdot(self.queries[rows, :], self.keys[rows, :]) + as_float64(_log(copies))
            logs = set_diagonal(logs, first, alone)
        top = xp.max(logs, axis=1)
        kernel = flushed(exponential(_shifted(logs, _finite(top))))
        if kernel.dtype != self.dtype:
            exact = other is self and weights is None
            kernel = xp.astype(_on_grid(kernel) if exact else kernel, self.dtype)
        return SmootherTile(kernel, xp.sum(kernel, axis=1), top)

    def values(self, labels: Labels, rows: slice = slice(None), weighted: bool = False) -> Array:
        """Return label frequencies, (b k, rows): weights are in the kernel."""
        return super().values(labels, rows, weighted=False)

    def meet(self, meeting: Meeting) -> Neighbours:
        """Return the labels of other rows, weighted by the kernel."""
        shape = (len(meeting.labels), self.width, meeting.rows.stop - meeting.rows.start)
        sums = namespace(meeting.values).reshape(product(meeting.values, meeting.tile.weights), shape)
        return Neighbours(meeting.tile.top, meeting.tile.totals, sums)

    def settled(self, neighbours: Neighbours, rows: slice, labels: Labels) -> State:
        """Sum up how far labels near every row are from its prediction, for rows that have neighbours."""
        if not self.others:
            return self._deviations(neighbours, rows, labels)
        sums = State()
        for at, bound in enumerate((self, *self.others)):
            kept = neighbours
            if at < len(self.others):  # a deviation may overwrite its estimates
                kept = dataclasses.replace(neighbours, shares=np.array(neighbours.shares))
            deviations = bound._deviations(kept, rows, labels)
            sums |= {f"{at} {name}": total for name, total in deviations.items()}
        return sums

    def _deviations(self, neighbours: Neighbours, rows: slice, labels: Labels) -> State:
        totals = neighbours.totals[None, :]
        xp, known = namespace(totals), totals > 0
        estimate, sums = neighbours.shares, positive(totals)[:, None, :]
        estimate = np.divide(estimate, sums, out=estimate) if is_numpy(estimate) else estimate / sums
        deviation = as_float64(self.statistic.deviation(estimate, self.points[rows, :].T))  # (b, rows)
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
            deviation = weighted(counted, deviation)
        return State(deviation=xp.sum(deviation, axis=1), weight=weight, alone=alone)

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Return the sums; replicates with weights of their own have kernels of their own, one by one."""
        if labels.weights is None or labels.weights.shape[0] == 1:
            return super().state(labels, rows)
        each = (replicates(labels, slice(at, at + 1)) for at in range(len(labels)))
        return stacked([super(SmootherBound, self).state(vector, rows) for vector in each])

    def observed_sums(self, labels: Labels) -> State:
        """Return the state, with the number of probabilities that are 0."""
        return self.with_counts(self.state(labels))

    def with_counts(self, state: State) -> State:
        """Add what all rows together must be able to say."""
        xp = namespace(self.points)
        return State(state, zeros=xp.full_like(state["weight"], float(self.n_zeros)))

    def merged_notes(self, state: State, n: int) -> tuple[str, ...]:
        """Say how many probabilities of all n rows are zero, and what the sums make worth knowing."""
        return (*self.zeros_notes(int(state["zeros"][0]), n), *self.observed_notes(state))

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Say how many instances were left out, and why the error is infinite where it is."""
        alone = int(to_host(sums["alone"])[0])
        have = counted(alone, "instance has", "instances have")
        notes = (f"left out: {have} no neighbour with the same zeros",) if alone else ()
        if math.isfinite(as_number(self.finish(sums)[0])):
            return notes
        zeros = int(to_host(sums["zeros"])[0])
        cause = f"{zeros} predicted probabilities are 0 and an instance with such a prediction had that label"
        return (*notes, f"infinite: {cause}; `clip` replaces them by a small number")

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
        error: Array = self.statistic.error(state["deviation"] / state["weight"])
        return error

    wild_sums = Bound.wild_sums  # refuses: an estimate of frequencies is no function of residuals


def _log(counted: Array) -> Array:
    """Return the logarithm of multiplicities, minus infinity where there is none."""
    xp = namespace(counted)
    return xp.where(counted > 0, xp.log(positive(counted)), -xp.inf)


def _finite(top: Array) -> Array:
    """Return the largest log-weight of every row, 0 for a row without neighbours."""
    return namespace(top).where(top > -math.inf, top, 0.0)


def _on_grid(weights: Array) -> Array:
    """Return the weights of every row divided by their sum, in whole multiples of 2^-23.

    Their sums over any rows, in any order, are then exact in single precision: replicates with equal
    frequencies of labels near every prediction have equal estimates, as in double precision.
    """
    xp = namespace(weights)
    return xp.round(weights * (2.0**23 / positive(xp.sum(weights, axis=1)))[:, None]) * 2.0**-23


def _shifted(logs: Array, top: Array) -> Array:
    """Return logs - top, in place where nothing else needs them."""
    if is_numpy(logs):
        return np.subtract(logs, top[:, None], out=logs)
    if is_torch(logs) and not logs.requires_grad:
        return logs.sub_(top[:, None])
    return logs - top[:, None]
