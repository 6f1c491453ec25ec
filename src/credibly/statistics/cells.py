"""Labels counted over cells: what every binned statistic shares.

A cell collects events "the label is c" whose probability was predicted. Given predictions, cells, their
sizes and their predicted sums are fixed, and a label vector only decides the observed counts: a whole batch
of label vectors costs one count.

Standard error of the debiased squared binned error.

The estimand is sum over cells of P(cell) g^2, g = E[event - predicted | cell]. Its influence function at an
instance with deviation d in a cell is 2 g d - g^2, so the standard error is that of the mean of these
numbers. With g estimated this doubles the variance at exact calibration, where the first-order term vanishes:
intervals are conservative there and keep their level away from it (checked by simulation). Where cells are
sparse they do not: instances alone in a cell add nothing to the estimate and hide its spread (coverage of
95 % intervals down to .66 with 30 classes and 300 instances), so they are refused.

Bins have exact edges, and ties stay together. They are [lo, hi) with the last one closed;
``closed="right"`` makes them (lo, hi] with the first one closed.
Every edge is cast to the stored dtype before it is compared: 0.7 in single precision is below 0.7 in double.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, one_of, require_positive
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    clip,
    device,
    is_numpy,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.sums import add_mask, count_cells, group_sums, indicator
from credibly.predictions import Classes, Counts, Dataset, Labels, Predictions, Rows, as_point
from credibly.predictions.passes import on_host
from credibly.statistics.proper import gather, top_label
from credibly.statistics.protocol import (
    CLASS_LABELS,
    SECOND_LOOK,
    Bound,
    LabelKind,
    Plan,
    State,
    Statistic,
    Traits,
)

Binning = Literal["equal_width", "equal_mass"]
Closed = Literal["left", "right"]

MOST_BINS = 10_000
_FEW_BINS = 64


def check_bins(n_bins: int, binning: str, closed: str) -> None:
    """Raise unless the three settings describe bins."""
    require_positive("`n_bins`", n_bins, "Try 15.")
    if n_bins > MOST_BINS:
        raise InputError("`n_bins`", f"must be at most {MOST_BINS}", f"got {n_bins}", "Try 15.")
    one_of("`binning`", binning, ("equal_width", "equal_mass"))
    one_of("`closed`", closed, ("left", "right"))


def width_edges(n_bins: int) -> np.ndarray[Any, Any]:
    """Return the correctly rounded j / n_bins; `linspace` is off by one unit in the last place."""
    return np.arange(n_bins + 1) / n_bins


def bin_edges(
    rows: Rows, values_of: Callable[[Array], Array], n_bins: int, binning: Binning, closed: Closed
) -> np.ndarray[Any, Any]:
    """Return edges (n_bins + 1,), or (k, n_bins + 1) for equal masses in the columns of (n, k).

    `values_of` takes probabilities (n, k) to what is binned.
    """
    if binning == "equal_width":
        return width_edges(n_bins)
    return with_ends(rows.ranked(partial(_binned, values_of), edge_ranks(rows.n, n_bins, closed)))


def _binned(values_of: Callable[[Array], Array], rows: Dataset) -> Array:
    return values_of(as_point(rows.predictions)[0].probs)


def edge_ranks(n: int, n_bins: int, closed: Closed) -> np.ndarray[Any, Any]:
    """Return which of the ordered values are inner edges.

    An edge is the first value of the bin above it; with bins closed on the right, the last of the one below.
    """
    cuts = np.arange(1, n_bins) * n
    return cuts // n_bins if closed == "left" else -(-cuts // n_bins) - 1


def with_ends(inner: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Put 0 before and 1 after the inner edges (..., n_bins - 1)."""
    ends = (*inner.shape[:-1], 1)
    return np.concatenate([np.zeros(ends), inner.astype(np.float64), np.ones(ends)], axis=-1)


def bin_index(values: Array, edges: Array, closed: Closed) -> Array:
    """Return the bin of every value, shaped like them; two-dimensional edges have one row per column."""
    if edges.ndim == 2:
        xp = namespace(values)
        columns = [bin_index(values[:, c], edges[c], closed) for c in range(edges.shape[0])]
        return xp.stack(columns, axis=1)
    n_bins = edges.shape[0] - 1
    small = np.uint8 if n_bins <= 256 else np.int32
    if is_numpy(values):
        return _bin_index_numpy(values, edges[1:-1].astype(values.dtype), closed, small)
    xp = namespace(values)
    out = xp.zeros(values.shape, dtype=getattr(xp, np.dtype(small).name), device=device(values))
    for edge in like(edges[1:-1], values, dtype=values.dtype):
        out = out + xp.astype(values >= edge if closed == "left" else values > edge, out.dtype)
    return out


def _bin_index_numpy(values: Array, inner: Array, closed: Closed, dtype: Any) -> Array:
    """Count the inner edges at or below each value: by comparison for few bins, else by bisection."""
    out = np.zeros(values.shape, dtype=dtype)
    if inner.size >= _FEW_BINS:
        out[...] = np.searchsorted(inner, values, side="right" if closed == "left" else "left")
        return out
    passed = np.greater_equal if closed == "left" else np.greater
    per_row = 1 if values.ndim == 1 else values.shape[1]
    for rows in tiles(values.shape[0], CACHE_ELEMENTS // per_row):
        tile, found = values[rows], out[rows]
        for edge in inner:
            add_mask(found, passed(tile, edge))
    return out


_FEW = 10

SPARSE_REFUSAL = (
    f"half of the non-empty bins contain fewer than {_FEW} instances, where intervals do not "
    f"reach their coverage"
)


def are_sparse(sizes: np.ndarray[Any, Any]) -> bool:
    """Tell whether the median filled cell holds too few instances for a standard error."""
    return bool(np.median(sizes[sizes > 0]) < _FEW)


PLUGIN_REFUSAL = (
    "the plug-in error is biased upwards near calibration, where such intervals have a coverage of 0"
)

_EXACT_IN_SINGLE = 2**24

_FEW_CELLS = 64


@dataclasses.dataclass(frozen=True)
class Cells:
    """Where every instance counts.

    Attributes
    ----------
    groups : array (n,) or (n, k)
        The cell of the instance, or of each of its classes.
    probs : array, shaped like `groups`
        Predicted probability of the event the cell counts.
    n_cells : int
        Number of cells.
    predicted : array (n,) or None
        With one group per instance the event is "the label is `predicted`"; with one group per class
        (None) it is "the label is this class".
    """

    groups: Array
    probs: Array
    n_cells: int
    predicted: Array | None = None


def dyadic_cells(probs: Array, n_cells: int, target: str) -> Cells:
    """Return `n_cells`, a power of two, cells of equal width of the confidence, or of every class."""
    if target == "top_label":
        confidence, predicted = top_label(probs)
        return Cells(_dyadic_index(confidence, n_cells), confidence, n_cells, predicted)
    xp = namespace(probs)
    columns = xp.arange(probs.shape[1], dtype=xp.int32, device=device(probs)) * n_cells
    return Cells(_dyadic_index(probs, n_cells) + columns[None, :], probs, n_cells * probs.shape[1])


def _dyadic_index(values: Array, n_cells: int) -> Array:
    """Return the cell [j / n_cells, (j + 1) / n_cells) of every value; a power of two makes it exact."""
    xp = namespace(values)
    return xp.astype(clip(xp.floor(as_float64(values) * n_cells), 0.0, n_cells - 1.0), xp.int32)


def cell_traits(
    bounds: tuple[float, float] | None = (0.0, 1.0),
    *,
    labels: frozenset[LabelKind] = CLASS_LABELS,
    multiplicities: bool = True,
    duplicate_invariant: bool = True,
) -> Traits:
    """Return the traits of an error over cells."""
    return Traits(
        reduction="sum",
        tail="greater",
        labels=labels,
        differentiable=False,
        multiplicities=multiplicities,
        duplicate_invariant=duplicate_invariant,
        range=bounds,
    )


@dataclasses.dataclass(frozen=True)
class CellStatistic(Statistic):
    """Base of statistics that compare observed with predicted counts cell by cell."""

    @property
    def needs_squares(self) -> bool:
        """Whether `error` reads sums of squared deviations."""
        return False

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return CellBound(self, self.cells(point.probs, plan), plan, notes)

    @abstractmethod
    def cells(self, probs: Array, plan: Plan) -> Cells:
        """Return where every instance counts."""

    @abstractmethod
    def error(self, state: State) -> Array:
        """Return the value of every replicate from the sums per cell, (b,)."""


class CellBound(Bound):
    """Cells with their fixed sums; `state` adds the observed ones."""

    statistic: CellStatistic
    term_size = 1.0  # shares of labels and mean predictions, of which an error is the difference

    def __init__(self, statistic: CellStatistic, cells: Cells, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, plan.n, notes)
        self.cells = cells
        self._fixed: State | None = None
        self._indicator: Array | None = None

    def state(self, labels: Labels) -> State:
        """Return per cell: size, predicted and observed sums, and squared deviations where needed."""
        state = State(self.fixed_sums(labels.weights))
        state["observed"] = self._observed(labels)
        if self.statistic.needs_squares:
            state["square"] = state["square"] + self._square_excess(labels)
        return state

    def finish(self, state: State) -> Array:
        """Return the error of every replicate."""
        return self.statistic.error(state)

    def fixed_sums(self, weights: Array | None) -> State:
        """Return sizes and sums over the predictions per cell, (b, n_cells); kept for unweighted labels."""
        if weights is None and self._fixed is not None:
            return self._fixed
        probs = as_float64(self.cells.probs)
        xp = namespace(probs)
        spread = (probs[:, None] if probs.ndim == 1 else probs)[None, ...]
        if weights is None:
            groups = xp.reshape(self.cells.groups, (1, -1))
            sums = State(size=count_cells(groups, self.cells.n_cells))
        else:
            weight = weights[:, :, None]
            sums = State(size=self._per_cell(xp.broadcast_to(weight, (weights.shape[0], *spread.shape[1:]))))
        sums["predicted"] = self._per_cell(spread if weights is None else weight * spread)
        if self.statistic.needs_squares:
            sums["square"] = self._per_cell(spread**2 if weights is None else weight * spread**2)
        if weights is None:
            self._fixed = sums
        return sums

    def _per_cell(self, values: Array) -> Array:
        """Sum values (b, n, 1 or k) over the cells they belong to."""
        xp = namespace(values)
        flat = xp.reshape(values, (values.shape[0], -1))
        groups = xp.broadcast_to(xp.reshape(self.cells.groups, (1, -1)), flat.shape)
        return count_cells(groups, self.cells.n_cells, flat)

    def _observed(self, labels: Labels, slope: Array | None = None) -> Array:
        """Sum the events per cell, each times `slope` where given (single labels only), (b, n_cells)."""
        if isinstance(labels, Counts):
            return self._per_cell(self._event_frequency(labels))
        assert isinstance(labels, Classes)
        weights = labels.weights
        if self.cells.predicted is not None:
            hits = labels.values == self.cells.predicted[None, :]
            return self._hits_per_cell(hits, weights, slope)
        if slope is not None:
            factor = gather(slope, labels.values)
            weights = factor if weights is None else factor * weights
        return count_cells(gather(self.cells.groups, labels.values), self.cells.n_cells, weights)

    def _square_excess(self, labels: Labels) -> Array:
        """Return the sum per cell of (event - p)^2 - p^2, (b, n_cells)."""
        probs = as_float64(self.cells.probs)
        if isinstance(labels, Counts):
            frequency = self._event_frequency(Counts(labels.values))
            spread = probs[:, None] if probs.ndim == 1 else probs
            excess = frequency * (frequency - 2.0 * spread[None, ...])
            return self._per_cell(excess if labels.weights is None else excess * labels.weights[:, :, None])
        # event (1 - 2 p) for an event of 0 or 1
        return self._observed(labels, 1.0 - 2.0 * probs)

    def _hits_per_cell(self, hits: Array, weights: Array | None, slope: Array | None) -> Array:
        groups, n_cells, xp = self.cells.groups, self.cells.n_cells, namespace(hits)
        if is_numpy(hits) and weights is None and slope is None:
            if len(hits) > 1 and n_cells <= _FEW_CELLS and hits.shape[1] < _EXACT_IN_SINGLE:
                # Whole numbers: single precision is exact and halves the cost.
                return (hits.astype(np.float32) @ self._members(np.float32)).astype(np.float64)
            found = [np.bincount(groups[row], minlength=n_cells) for row in hits]
            return np.stack(found).astype(np.float64)
        values = xp.astype(hits, xp.float64)
        values = values if slope is None else values * slope[None, :]
        values = values if weights is None else values * weights
        return group_sums(values, groups, n_cells)

    def _members(self, dtype: Any) -> Array:
        """Return the indicator of the cells, made once for all batches."""
        if self._indicator is None:
            self._indicator = indicator(self.cells.groups, self.cells.n_cells, dtype)
        return self._indicator

    def _event_frequency(self, labels: Counts) -> Array:
        """Return the share of raters who saw the event, times the weights, (b, n, 1 or k)."""
        frequency = labels.block(slice(None), slice(None))  # (b, n, k)
        if self.cells.predicted is None:
            return frequency
        xp = namespace(frequency)
        classes = xp.arange(frequency.shape[2], device=device(frequency))
        chosen = xp.astype(self.cells.predicted, classes.dtype)[:, None] == classes
        event = xp.where(chosen[None, ...], frequency, xp.zeros_like(frequency))
        return xp.sum(event, axis=-1, keepdims=True)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return the sums that the predictions expect, and what events add to them, by cluster and cell."""
        expected = on_host(self.fixed_sums(labels.weights))
        expected["observed"] = expected["predicted"]
        probs = to_host(as_float64(self.cells.probs))
        weight = labels.row_weights()
        expected["scatter"] = np.array([np.sum(weight**2 @ (probs * (1.0 - probs)))])
        return expected, State(observed=self._by_cluster(labels, codes, number)[1])

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values of pseudo-labels; debiased ones leave out pairs inside a cluster."""
        state = State(expected, observed=expected["observed"] + signs @ added["observed"])
        if self.statistic.needs_squares:
            state["square"] = signs**2 @ added["observed"] ** 2
        return self.finish(state)

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State | None:
        """Return the sums per cell of every cluster, for debiased errors: the only ones with an interval."""
        if not self.statistic.needs_squares:
            return None
        size, added, predicted = self._by_cluster(labels, codes, number)
        return State(size=size, predicted=predicted, observed=predicted + added, square=added**2)

    def _by_cluster(
        self, labels: Labels, codes: HostArray, number: int
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Return sizes, sums of event minus prediction and sums of predictions, (number, n_cells)."""
        assert isinstance(labels, Classes)
        probs, groups = to_host(as_float64(self.cells.probs)), to_host(self.cells.groups).astype(np.intp)
        weight = labels.row_weights()
        n_cells = self.cells.n_cells
        place = (codes if probs.ndim == 1 else codes[:, None]) * n_cells + groups
        spread = np.broadcast_to(weight if probs.ndim == 1 else weight[:, None], probs.shape)

        def summed(values: HostArray) -> HostArray:
            found = np.bincount(place.ravel(), (spread * values).ravel(), minlength=number * n_cells)
            return found.reshape(number, n_cells)

        return summed(np.ones(probs.shape)), summed(to_host(self._events(labels)) - probs), summed(probs)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse, or ask for the influence of every row on the debiased squared error.

        The plug-in error has no standard error to trust.
        """
        if not self.statistic.needs_squares:
            return None, PLUGIN_REFUSAL
        if not isinstance(labels, Classes) or labels.weights is not None or self.n < 2:
            return None, "the standard error is known only for two or more unweighted single labels"
        return None, SPARSE_REFUSAL if are_sparse(to_host(sums["size"])[0]) else SECOND_LOOK

    def influence(self, sums: State, labels: Labels) -> Array:
        """Return 2 g d - g^2 of every instance, averaged over its cells, (n,); g is the gap of a cell."""
        assert isinstance(labels, Classes)
        probs = as_float64(self.cells.probs)
        xp = namespace(probs)
        size, gap = sums["size"][0, :], sums["observed"][0, :] - sums["predicted"][0, :]
        gap = like(gap / namespace(size).where(size > 0, size, namespace(size).ones_like(size)), probs)
        deviation = self._events(labels) - probs
        groups = xp.astype(xp.reshape(self.cells.groups, (-1,)), xp.int64)
        own = xp.reshape(xp.take(gap, groups, axis=0), deviation.shape)
        values = own * (2.0 * deviation - own)
        return xp.mean(values, axis=1) if values.ndim == 2 else values

    def _events(self, labels: Classes) -> Array:
        """Return 1 where the counted event happened, of the shape of the groups."""
        values = labels.values[0, :]
        xp = namespace(values)
        if self.cells.predicted is not None:
            return xp.astype(values == self.cells.predicted, xp.float64)
        columns = xp.arange(labels.n_classes, dtype=values.dtype, device=device(values))
        return xp.astype(values[:, None] == columns, xp.float64)
