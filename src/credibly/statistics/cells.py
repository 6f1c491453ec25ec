"""Labels counted over cells: what every binned statistic shares.

A cell collects events "the label is c" whose probability was predicted. Given predictions, cells, their
sizes and their predicted sums are fixed, and a label vector only decides the observed counts: a whole batch
of label vectors costs one count.

The debiased squared error has a standard error. Its estimand is sum over cells of P(cell) g^2, g = E[event -
predicted | cell]. Its influence function at an instance with deviation d in a cell is 2 g d - g^2, so the
standard error is that of the mean of these numbers. With g estimated this doubles the variance at exact
calibration, where the first-order term vanishes: intervals are conservative there and keep their level away
from it (checked by simulation). Where cells are sparse they do not: instances alone in a cell add nothing to
the estimate and hide its spread (coverage of 95 % intervals down to .66 with 30 classes and 300 instances),
so they are refused.

Bins have exact edges, and ties stay together. They are [lo, hi) with the last one closed;
``closed="right"`` makes them (lo, hi] with the first one closed.
Every edge is cast to the stored dtype before it is compared: 0.7 in single precision is below 0.7 in double.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from functools import cache, partial
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import is_whole, one_of, require, require_positive
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    as_float64,
    clip,
    device,
    is_numpy,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.notes import alternatives
from credibly.predictions import Classes, Dataset, Labels, Rows, as_point, label_dtype
from credibly.predictions.rows import weights_of_rows
from credibly.statistics.batches import positive
from credibly.statistics.events import Events
from credibly.statistics.linear import Linear, LinearStatistic
from credibly.statistics.proper import top_label
from credibly.statistics.protocol import CLASS_LABELS, SECOND_LOOK, Plan, State, Traits

PLUGIN_REFUSAL = (
    "the plug-in error is biased upwards near calibration, where such intervals have a coverage of 0"
)

_FEW = 10

SPARSE_REFUSAL = (
    f"half of the non-empty bins contain fewer than {_FEW} instances, where intervals do not "
    f"reach their coverage"
)

Binning = Literal["equal_width", "equal_mass"]
Closed = Literal["left", "right"]

MOST_BINS = 10_000
_FEW_BINS = 64


def check_bins(n_bins: int, binning: str, closed: str) -> None:
    """Raise unless the three settings describe bins."""
    require_positive("`n_bins`", n_bins, "Try 15.")
    require(n_bins <= MOST_BINS, f"must be at most {MOST_BINS}", "Try 15.", n_bins=n_bins)
    one_of("`binning`", binning, ("equal_width", "equal_mass"))
    one_of("`closed`", closed, ("left", "right"))


@cache
def width_edges(n_bins: int) -> np.ndarray[Any, Any]:
    """Return the correctly rounded j / n_bins; `linspace` is off by one unit in the last place."""
    edges = np.arange(n_bins + 1) / n_bins
    edges.flags.writeable = False  # every caller gets the same array
    return edges


def _binned(values_of: Callable[[Any], Array], rows: Dataset) -> Array:
    return values_of(as_point(rows.predictions)[0])


def edge_ranks(n: int, n_bins: int, closed: Closed) -> np.ndarray[Any, Any]:
    """Return which of the ordered values are inner edges.

    An edge is the first value of the bin above it; with bins closed on the right, the last of the one below.
    """
    cuts = np.arange(1, n_bins) * n
    return cuts // n_bins if closed == "left" else -(-cuts // n_bins) - 1


def inner_edges(
    rows: Rows, values_of: Callable[[Dataset], Array], n_bins: int, closed: Closed
) -> np.ndarray[Any, Any]:
    """Return the edges between bins of equal mass, (n_bins - 1,) or (columns, n_bins - 1).

    Rows with weights count as if they were repeated.
    """
    if rows.example.checked_weights is None:
        return rows.ranked(values_of, edge_ranks(rows.n, n_bins, closed))
    total = sum(float(part) for part in rows.map(_total_weight))
    return rows.ranked(values_of, weight_ranks(total, n_bins, closed), weighted=True)


def weight_ranks(total: float, n_bins: int, closed: Closed) -> np.ndarray[Any, Any]:
    """Return the sums of weights at inner edges, moved beyond their rounding error to the right side."""
    slack = 1e-12 if closed == "left" else -1e-12
    return (np.arange(1, n_bins) / n_bins + slack) * total


def _total_weight(chunk: Dataset) -> float:
    return float(weights_of_rows(chunk).sum())


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
        if closed == "left" and edges.tobytes() == _edges_of_product(n_bins, values.dtype):
            # counts read native integers and would convert others every time
            return _product_numpy(values, n_bins, np.intp if values.ndim == 1 else small)
        return _bin_index_numpy(values, edges[1:-1].astype(values.dtype, copy=False), closed, small)
    xp = namespace(values)
    out = xp.zeros(values.shape, dtype=getattr(xp, np.dtype(small).name), device=device(values))
    for edge in like(edges[1:-1], values, dtype=values.dtype):
        out = out + xp.astype(values >= edge if closed == "left" else values > edge, out.dtype)
    return out


@cache
def _edges_of_product(n_bins: int, dtype: np.dtype[Any]) -> bytes:
    """Return the edges of equal widths if the bin of a value is floor(value * n_bins); nothing otherwise.

    The rounded product never falls as the value grows, so only an edge and the number below it can be wrong:
    for 15 bins of double precision none is, for 10 bins some are.
    """
    edges, bins = width_edges(n_bins), np.arange(1, n_bins)
    inner = edges[1:-1].astype(dtype)
    exact = np.floor(inner * n_bins) == bins
    exact &= np.floor(np.nextafter(inner, inner.dtype.type(0)) * n_bins) == bins - 1
    return edges.tobytes() if exact.all() else b""


def _product_numpy(values: Array, n_bins: int, dtype: Any) -> Array:
    """Return floor(value * n_bins), 1 in the last bin, on tiles that stay in cache."""
    out = np.empty(values.shape, dtype=dtype)
    per_row = 1 if values.ndim == 1 else values.shape[1]
    for rows in tiles(values.shape[0], CACHE_ELEMENTS // per_row):
        scaled = values[rows] * n_bins
        out[rows] = np.minimum(scaled, n_bins - 1, out=scaled)
    return out


def _bin_index_numpy(values: Array, inner: Array, closed: Closed, dtype: Any) -> Array:
    """Count the inner edges at or below each value: by comparison for few bins, else by bisection."""
    out = np.empty(values.shape, dtype=dtype)
    if inner.size >= _FEW_BINS:
        out[...] = np.searchsorted(inner, values, side="right" if closed == "left" else "left")
        return out
    passed = np.greater_equal if closed == "left" else np.greater
    per_row = 1 if values.ndim == 1 else values.shape[1]
    above = inner.reshape(-1, *(1,) * values.ndim)
    for rows in tiles(values.shape[0], 4 * CACHE_ELEMENTS // (per_row * max(1, inner.size))):
        np.add.reduce(passed(values[rows], above).view(np.uint8), axis=0, dtype=dtype, out=out[rows])
    return out


TargetName = Literal["top_label", "classwise"] | int
"""Whose probability is compared with its frequency: the predicted class, every class, or one class."""


def check_target(statistic: Any, *words: str) -> None:
    """Keep a target that is one of these words, or a whole number that could be a class; raise otherwise."""
    target = statistic.target
    known = target in words if isinstance(target, str) else is_whole(target) and target >= 0
    named = alternatives([*(repr(word).replace("'", '"') for word in words), "the index of a class"])
    require(known, f"must be {named}", "Use 1 for the second class.", target=target)
    object.__setattr__(statistic, "target", target if isinstance(target, str) else int(target))


def require_class(target: Any, k: int) -> None:
    """Refuse what is no index of a class."""
    known = is_whole(target) and 0 <= target < k
    require(known, f"must be a class from 0 to {k - 1}", "Name one class by its index.", target=target)


def event_of(probs: Array, target: int) -> tuple[Array, Array]:
    """Return the probability of one class, (n,), and its index for every row."""
    xp, (n, k) = namespace(probs), probs.shape
    require_class(target, k)
    return probs[:, target], xp.full((n,), target, dtype=label_dtype(xp, k), device=device(probs))


def events_of(predictions: Any, target: TargetName) -> tuple[Array, Array | None]:
    """Return the chances of events, (n,), and the class that each label must be; of every class (n, k)."""
    if target == "classwise":
        return predictions.probs, None
    return event_of(predictions.probs, target) if isinstance(target, int) else top_label(predictions)


def events_in_bins(chance: Array, event: Array | None, bins: Array, n_bins: int) -> Events:
    """Return events in their bins; without `event` every class has bins of its own."""
    return class_cells(chance, bins, n_bins) if event is None else Events(chance, bins, n_bins, event)


def dyadic_cells(predictions: Any, n_cells: int, target: TargetName) -> Events:
    """Return events in `n_cells`, a power of two, cells of equal width [j / n_cells, (j + 1) / n_cells)."""
    chance, event = events_of(predictions, target)
    xp = namespace(chance)
    place = xp.floor(as_float64(chance) * n_cells)  # exact, of a power of two
    cells = xp.astype(clip(place, 0.0, n_cells - 1.0), xp.int32)
    return events_in_bins(chance, event, cells, n_cells)


def class_cells(probs: Array, bins: Array, n_bins: int) -> Events:
    """Return every class as an event, in a cell for its pair of class and bin, (n, k) or (n, 1)."""
    xp = namespace(probs)
    columns = xp.arange(probs.shape[1], dtype=xp.int32, device=device(probs)) * n_bins
    return Events(probs, xp.astype(bins, xp.int32) + columns[None, :], n_bins * probs.shape[1])


CELL_TRAITS = Traits(tail="greater", labels=CLASS_LABELS, range=(0.0, 1.0))
"""Of an error over cells."""


@dataclasses.dataclass(frozen=True)
class CellStatistic(LinearStatistic):
    """Base of errors that compare observed with expected counts cell by cell."""

    traits: ClassVar[Traits] = CELL_TRAITS
    needs: ClassVar[frozenset[str]] = frozenset({"expected"})
    refusal: ClassVar[str | None] = PLUGIN_REFUSAL
    has_moments: ClassVar[bool] = False

    @abstractmethod
    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return which events are counted, and where."""

    def stderr(self, bound: Linear, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse, or ask for the influence of every row on the debiased squared error."""
        if not isinstance(labels, Classes) or labels.weights is not None or bound.n < 2:
            return None, "the standard error is known only for two or more unweighted single labels"
        sizes = to_host(sums["size"])[0]
        sparse = np.median(sizes[sizes > 0]) < _FEW
        return None, SPARSE_REFUSAL if sparse else SECOND_LOOK

    def influence(self, terms: Events, sums: State, labels: Labels) -> Array:
        """Return 2 g d - g^2 of every row, averaged over its cells, (n,); g is the mean gap of a cell."""
        mean = terms.mean
        xp = namespace(mean)
        size, gap = sums["size"][0, :], sums["observed"][0, :] - sums["expected"][0, :]
        gap = like(gap / positive(size), mean)
        cell: Any = terms.cell
        added, (n, m) = terms.added(labels)[0, ...], mean.shape

        def of_rows(rows: slice) -> Array:
            cells = xp.astype(xp.reshape(cell[rows, :], (-1,)), xp.int64)
            row_gap = xp.reshape(xp.take(gap, cells, axis=0), (-1, m))
            return xp.mean(row_gap * (2.0 * (added[rows, :] - mean[rows, :]) - row_gap), axis=1)

        step = max(1, CACHE_ELEMENTS // m) if is_numpy(mean) else n
        return xp.concat([of_rows(rows) for rows in tiles(n, step)])


@dataclasses.dataclass(frozen=True)
class BinnedStatistic(CellStatistic):
    """Base of errors whose cells are bins of predictions."""

    n_bins: int = 15
    binning: Binning = "equal_width"
    closed: Closed = "left"

    def __post_init__(self) -> None:
        check_bins(self.n_bins, self.binning, self.closed)

    @abstractmethod
    def binned_values(self, predictions: Any) -> Array:
        """Return the numbers that are binned, (n,) or (n, k)."""

    def _plan(self, rows: Rows) -> Plan:
        """Return the number of instances and the bin edges."""
        if self.binning == "equal_width":
            return Plan(rows.n, width_edges(self.n_bins))
        inner = inner_edges(rows, partial(_binned, self.binned_values), self.n_bins, self.closed)
        return Plan(rows.n, with_ends(inner))
