"""Bins: exact edges, one rule for values on an edge, ties kept together.

Bins are [lo, hi) with the last one closed; ``closed="right"`` makes them (lo, hi] with the first one closed.
Every edge is cast to the stored dtype before it is compared: 0.7 in single precision is below 0.7 in double.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, one_of, require_positive
from credibly._arrays.namespace import Array, device, is_numpy, like, namespace
from credibly._arrays.sums import add_mask
from credibly._arrays.tiles import CACHE_ELEMENTS, tiles
from credibly.predictions import Dataset, Rows, as_point

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
