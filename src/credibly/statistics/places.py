"""Where labels lie among quantiles: what a label adds to shares at many levels.

The outcome is how many quantiles a label has passed, with the probability between neighbouring levels. Draws
pooled with their label know it for every choice; of quantiles only the cell of a label is known, and one that
equals a quantile may lie on either side of it. Ordered classes have a step at every label, of which a part
lies below a level.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    clip,
    device,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.row_search import SortedRows, count_at_most
from credibly._arrays.sums import count_cells
from credibly.predictions import Classes, Labels, Predictions, Quantiles
from credibly.predictions.passes import on_host
from credibly.predictions.quantiles import SAME_LEVEL
from credibly.predictions.samples import LeftOut, Pool
from credibly.statistics.batches import gather, positive
from credibly.statistics.mixture_tables import Loss
from credibly.statistics.protocol import State
from credibly.statistics.terms import POOL_ELEMENTS, Losses, Terms


def _counted(places: Sequence[Array], size: int, weights: Array | None) -> Array:
    """Count labels by two places each, (b, n): one half of `size` cells after the other."""
    first, second = places
    counts = count_cells(first, size, weights)
    others = counts if second is first else count_cells(second, size, weights)
    return namespace(counts).concat([counts, others], axis=1)


def _passed(sums: State) -> tuple[Array, Array]:
    """Return how many labels are up to each cell but the last, (b, cells - 1), by either place."""
    xp, size = namespace(sums["observed"]), sums["observed"].shape[1] // 2
    halves = sums["observed"][:, :size], sums["observed"][:, size:]
    first, second = (xp.cumulative_sum(half, axis=1)[:, :-1] for half in halves)
    return first, second


class LevelTerms(Terms):
    """Shares of labels at many levels."""

    levels: Array
    """What is stated of the shares, (l,)."""

    @abstractmethod
    def shares(self, sums: State) -> Array:
        """Return the share of labels at each level, (b, l)."""

    def _size(self, weights: Array | None) -> Array:
        """Return how many labels there are, (1, 1) or (b, 1): every level is about all of them."""
        xp = namespace(self.reference)
        if weights is not None:
            return xp.sum(weights, axis=1)[:, None]
        return xp.full((1, 1), float(self.n), dtype=xp.float64, device=device(self.reference))


class PlaceTerms(LevelTerms):
    """How many quantiles labels have passed: those below them, and those at most as large.

    The first half of the cells counts the former, the second the latter; they differ for labels on quantiles.

    Parameters
    ----------
    table : array (n, l)
        Quantiles, which rise with their levels.
    heights : array (l,)
        Their levels.
    in_cells : bool
        Whether only the cells of labels are known: one that equals a quantile may lie on either side of it.
    """

    def __init__(self, table: Array, heights: Array, *, in_cells: bool = False) -> None:
        self.rows, self.heights, self.in_cells = SortedRows(table), heights, in_cells
        self.n, self.levels, self.reference = int(table.shape[0]), heights, heights
        self.n_cells = 2 * (int(heights.shape[0]) + 1)

    tables: tuple[Array, ...] | None = None
    """Of pools, how many ends every number of a row passes where it is the label, (n, p) for each count."""

    def passed(self, labels: Labels) -> Sequence[Array]:
        """Return how many quantiles labels passed, (b, n) for each count."""
        if self.tables is None:
            return self.rows.passed(labels.values)
        return [gather(table, labels.values) for table in self.tables]

    def observed(self, labels: Labels) -> Array:
        """Count the labels (or their weights) by the quantiles they passed."""
        return _counted(self.passed(labels), self.n_cells // 2, labels.weights)

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return how many labels there are, and how many are expected between neighbouring quantiles."""
        xp = namespace(self.heights)
        size = self._size(weights)
        edge = xp.zeros_like(self.heights[:1])
        steps = xp.concat([self.heights, edge + 1.0]) - xp.concat([edge, self.heights])
        return State(size=size, expected=size * xp.concat([steps, steps])[None, :])

    def shares(self, sums: State) -> Array:
        """Return the share of labels at most as large as each quantile."""
        return _passed(sums)[0] / sums["size"]

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the usual counts between neighbouring quantiles, and per cluster what labels add to them.

        Of pools, the usual counts are the mean over all choices.
        """
        weight, size = labels.row_weights(), self.n_cells // 2
        expected = on_host(self.fixed(labels.weights, needs))

        def counted(cells: HostArray, weights: HostArray) -> HostArray:
            return np.bincount(cells.ravel(), weights, minlength=number * size).reshape(number, size)

        counts = [counted(codes * size + to_host(place)[0], weight) for place in self.passed(labels)]
        if self.in_cells:
            counts = [_fitting(counts[1], counts[0], to_host(self.heights))] * 2
        if self.tables is None:
            total = np.bincount(codes, weight, minlength=number)
            usual = total[:, None] * (expected["expected"][0] / expected["size"][0])
        else:
            choices = [codes[:, None] * size + to_host(table) for table in self.tables]
            p = choices[0].shape[1]
            usual = np.concatenate([counted(cells, np.repeat(weight / p, p)) for cells in choices], axis=1)
        added = np.concatenate(counts, axis=1) - usual
        return State(expected, observed=usual.sum(axis=0)[None, :]), State(observed=added)

    def of_pool(self, pool: Pool, again: Callable[[Predictions], Any]) -> Terms:
        """Return the same counts where labels are choices from pools."""
        other = copy.copy(self)
        other.tables = _places_in_pools(pool, again)
        return other

    def of_cells(self, predictions: Quantiles, name: str) -> Terms:
        """Return the same counts where only the cells of labels are known."""
        return PlacesInCells(self, predictions, name)


def _places_in_pools(pool: Pool, again: Callable[[Predictions], Any]) -> tuple[Array, ...]:
    """Return how many ends every number of a pool passes where it is the label, (n, p) for each count.

    Ends are draws of a given rank, so it depends only on how many draws are below (or at most) the label.
    """
    n, p = pool.values.shape
    xp = namespace(pool.values)
    row = xp.arange(p, dtype=xp.float64, device=device(pool.values))[None, :]
    passed = again(LeftOut(row)).rows.passed(row)
    tables: tuple[list[Array], ...] = ([], [])
    for rows in tiles(n, max(1, POOL_ELEMENTS // p)):
        numbers, seen = pool.values[rows, :], pool.labels[rows, :]
        ordered = xp.sort(numbers, axis=1)
        for at, strict in enumerate((True, False)):
            fewer = count_at_most(ordered, seen.T, strict=strict).T
            itself = numbers < seen if strict else numbers <= seen
            rank = xp.reshape(fewer - xp.astype(itself, fewer.dtype), (-1,))
            place = xp.take(passed[at][0, :], rank)
            tables[at].append(xp.reshape(xp.astype(place, xp.int32), numbers.shape))
    return tuple(xp.concat(parts, axis=0) for parts in tables)


class Coded(Terms):
    """Counts of labels of quantiles by the first and by the last cell that they may lie in.

    A label that equals a quantile may lie on either side of its level (P(y < Q) <= level <= P(y <= Q)), so
    the share at a level is known up to these labels, and the one nearest to the level is taken. Labels of
    replicates lie in one cell.
    """

    heights: Array
    """All levels that were predicted, (q,)."""

    def observed(self, labels: Labels) -> Array:
        """Count labels by the first and by the last cell they may lie in."""
        xp, size = namespace(labels.values), int(self.heights.shape[0]) + 1
        code = xp.astype(labels.values, xp.int32)
        return _counted((code // size, code % size), size, labels.weights)

    @abstractmethod
    def nearest(self, most: Array, least: Array, levels: Array, size: Array) -> Array:
        """Return the counts that are nearest to what is expected, (b, cells)."""

    def settled(self, sums: State) -> tuple[State, tuple[str, ...]]:
        """Return the counts that are nearest to what is expected, and say if some labels equal a quantile."""
        most, least = _passed(sums)
        levels = like(to_host(self.heights), most)
        observed = self.nearest(most, least, levels, sums["size"])
        equal = bool(namespace(most).any(most > least))
        return State(sums, observed=observed), (EQUAL,) if equal else ()


class InsideCells(Coded):
    """Which labels are inside the interval between two of their quantiles."""

    def __init__(self, predictions: Quantiles, share: float, name: str) -> None:
        self.heights, self.n = as_float64(predictions.levels), len(predictions)
        self.reference = self.heights
        ends = np.array([(1.0 - share) / 2.0, (1.0 + share) / 2.0])
        self.low, self.high = predicted_at(predictions, ends, name)

    def nearest(self, most: Array, least: Array, levels: Array, size: Array) -> Array:
        """Return the number of labels inside."""
        closed = most[:, self.high] - least[:, self.low]
        inside = least[:, self.high] - most[:, self.low]
        return _nearest(size[:, 0] * (levels[self.high] - levels[self.low]), inside, closed)[:, None]


class PlacesInCells(Coded, LevelTerms):
    """Counts of `inner` by the quantiles that labels passed, where only their cells are known."""

    def __init__(self, inner: PlaceTerms, predictions: Quantiles, name: str) -> None:
        self.inner, self.levels, self.n, self.n_cells = inner, inner.levels, inner.n, inner.n_cells
        self.heights = as_float64(predictions.levels)
        self.at = predicted_at(predictions, to_host(inner.heights), name)

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return the fixed sums of `inner`."""
        return self.inner.fixed(weights, needs)

    def shares(self, sums: State) -> Array:
        """Return the shares that `inner` makes of settled counts."""
        return self.inner.shares(sums)

    def nearest(self, most: Array, least: Array, levels: Array, size: Array) -> Array:
        """Return the counts between neighbouring quantiles, twice."""
        xp, counts = namespace(most), _nearest(size * levels[None, :], least, most)
        below = xp.take(counts, like(self.at, counts), axis=1)
        nothing = xp.zeros_like(below[:, :1])
        edges = xp.concat([nothing, below, nothing + size], axis=1)
        between = edges[:, 1:] - edges[:, :-1]
        return xp.concat([between, between], axis=1)


EQUAL = (
    "some labels equal a quantile, so they could count on either side of it: they count where they fit best"
)


def _nearest(aims: Array, least: Array, most: Array) -> Array:
    xp = namespace(aims)
    return xp.minimum(xp.maximum(aims, least), most)


def predicted_at(predictions: Quantiles, levels: HostArray, name: str) -> HostArray:
    """Return which of the predicted quantiles have these levels; raise where one of them is missing."""
    heights = to_host(as_float64(predictions.levels))
    nearest: HostArray = np.abs(heights[None, :] - levels[:, None]).argmin(axis=1)
    missing = levels[np.abs(heights[nearest] - levels) > SAME_LEVEL]
    if missing.size:
        raise UnsupportedError(
            f"a test of `{name}`",
            "compares labels with quantiles at levels that were predicted",
            f"level {missing[0]:g} is not among the {heights.size} levels",
            "Predict it, or name levels that were predicted.",
        )
    return nearest


def _fitting(least: HostArray, most: HostArray, shares: HostArray) -> HostArray:
    """Return counts (clusters, l + 1) between two, in which labels on quantiles count where they fit best.

    Where some of them on either side make the share right, every cluster has what is expected: if it had
    its own part of them, signs would move a share that is fitted.
    """
    low, high = (np.cumsum(counts, axis=1)[:, :-1] for counts in (least, most))
    total = least.sum(axis=1)[:, None]
    part = part_of(total.sum() * shares, low.sum(axis=0), high.sum(axis=0))
    fitting = np.where(part > 0.0, np.where(part < 1.0, total * shares, high), low)
    return np.diff(fitting, axis=1, prepend=0.0, append=total)


def part_of(aims: Any, least: Any, most: Any) -> HostArray:
    """Return which part of the labels between two counts makes the one nearest to `aims`."""
    between = np.asarray(most - least)
    part = (aims - least) / np.where(between > 0, between, 1.0)
    return np.asarray(np.clip(part, 0.0, between > 0))


class Inside(Losses):
    """Labels inside intervals between quantiles: one that equals an end may lie on either side of it.

    Parameters
    ----------
    closed, open_ : callable
        1 where a label is inside, or on an end; and only inside.
    share : float
        Which share is expected inside.
    """

    def __init__(self, closed: Loss, open_: Loss, reference: Array, share: float) -> None:
        super().__init__(closed, reference, partial(moments_of_share, share))
        self.open, self.share = open_, share

    def beyond(self, labels: Labels) -> HostArray:
        """Count labels on an end as far as that brings the share nearest to what is expected."""
        weight = labels.row_weights()
        most, least = (to_host(loss(labels.values))[0] for loss in (self.loss, self.open))
        part = part_of(weight.sum() * self.share, weight @ least, weight @ most)
        return np.asarray(least + part * (most - least) - self.share)[:, None]

    def of_cells(self, predictions: Quantiles, name: str) -> Terms:
        """Count labels by cell; the share inside follows."""
        return InsideCells(predictions, self.share, name)


def moments_of_share(share: float) -> tuple[HostArray, HostArray]:
    """Return mean and variance of an event that happens with this probability."""
    return np.asarray(share), np.asarray(share * (1.0 - share))


class CentralPlaces(PlaceTerms):
    """How many labels lie between the quantiles at two places of the table, (i,) each, the widest first."""

    def __init__(self, quantiles: PlaceTerms, lower: HostArray, upper: HostArray, levels: Array) -> None:
        super().__init__(quantiles.rows.table, quantiles.heights, in_cells=quantiles.in_cells)
        self.lower, self.upper, self.levels = lower, upper, levels

    def shares(self, sums: State) -> Array:
        """Return 1 minus the shares below and above each interval, ends included, by rising level."""
        xp = namespace(sums["observed"])
        at_most, below = _passed(sums)
        lower, upper = (like(places, at_most) for places in (self.lower, self.upper))
        inside = xp.take(at_most, upper, axis=1) - xp.take(below, lower, axis=1)
        return xp.flip(inside, axis=1) / sums["size"]


_TABLE_ELEMENTS = 2**20


class OrderedSteps(LevelTerms):
    """Which part of the steps of their distribution functions labels of ordered classes have below levels."""

    def __init__(self, probs: Array, levels: int | tuple[float, ...]) -> None:
        self.probs, self.n = as_float64(probs), int(probs.shape[0])
        self.reference = self.probs
        steps = [j / levels for j in range(1, levels)] if isinstance(levels, int) else list(levels)
        self.levels = like(steps, self.probs, self.probs.dtype)
        self.n_cells = len(steps)

    def table(self, rows: slice) -> Array:
        """Return the part below every level were the label of some rows each of the classes, (rows, k, l)."""
        probs = self.probs[rows, :]
        xp = namespace(probs)
        start = (xp.cumulative_sum(probs, axis=1) - probs)[:, :, None]
        height = probs[:, :, None]
        part = (self.levels - start) / positive(height)
        # a step of no height is passed at once
        return clip(xp.where(height > 0, part, xp.astype(self.levels >= start, probs.dtype)), 0.0, 1.0)

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return how many labels there are."""
        return State(size=self._size(weights))

    def observed(self, labels: Labels) -> Array:
        """Sum the parts below every level, (b, l): one product per tile of rows."""
        assert isinstance(labels, Classes)
        xp, (n, k) = namespace(self.probs), self.probs.shape
        every = slice(0, len(labels))
        total: Any = 0.0
        for rows in tiles(n, max(1, _TABLE_ELEMENTS // (k * (self.n_cells + len(labels))))):
            table = xp.reshape(self.table(rows), (-1, self.n_cells))
            seen = xp.astype(labels.shares(rows, every), self.probs.dtype)
            total = total + xp.reshape(seen, (len(labels), -1)) @ table
        return total

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the levels, which are expected, and per cluster what the labels add to them."""
        assert isinstance(labels, Classes)
        levels, weight = to_host(self.levels), labels.row_weights()
        added = np.zeros((number, levels.size))
        for rows in tiles(self.n, max(1, _TABLE_ELEMENTS // (self.probs.shape[1] * levels.size))):
            at = to_host(labels.values)[0, rows].astype(np.intp)
            parts_below = to_host(self.table(rows))[np.arange(at.size), at]
            np.add.at(added, codes[rows], weight[rows, None] * (parts_below - levels))
        expected = on_host(self.fixed(labels.weights, needs))
        return State(expected, observed=expected["size"] * levels[None, :]), State(observed=added)

    def shares(self, sums: State) -> Array:
        """Return the mean part below every level."""
        return sums["observed"] / sums["size"]
