"""Rows in the order in which memory holds them: what is read once need not be read against the grain.

Members-first predictions are kept as views (n, m, k); slicing them by instance touches m distant places.
Where rows along the last axis are all that matters, they can be taken in the order of memory instead.
"""

from __future__ import annotations

import math

import numpy as np

from credibly._arrays.namespace import Array, as_float64, is_numpy, namespace
from credibly._arrays.special import xlogy
from credibly._arrays.tiles import CACHE_ELEMENTS, tiles

_LEAST_POSITIVE = 1e-300


def rows_in_memory(array: Array) -> list[Array] | None:
    """Return the rows of a NumPy array as views (r, k) in the order of memory; None where there are none.

    One view holds all rows; of a slice of members-first predictions there is one for every member.
    """
    if not is_numpy(array) or array.ndim < 2:
        return None
    axes = _memory_axes(array)
    ordered = array.transpose(*axes, array.ndim - 1)
    if ordered.flags.c_contiguous:
        return [ordered.reshape(-1, array.shape[-1])]
    if axes == [1, 0] and ordered[0].flags.c_contiguous:
        return list(ordered)
    return None


def _memory_axes(array: Array) -> list[int]:
    """Return the axes but the last, the one with the longest steps first."""
    return sorted(range(array.ndim - 1), key=lambda axis: -array.strides[axis])


def summary_of_rows(array: Array) -> tuple[float, float] | None:
    """Return smallest entry and largest |row sum - 1| in one pass; None where it takes a closer look."""
    views = rows_in_memory(array)
    if views is None or array.dtype not in (np.float32, np.float64):
        return None
    ones = np.ones(array.shape[-1])
    rows_of_tile = max(1, CACHE_ELEMENTS // len(ones))
    wide = np.empty((rows_of_tile, len(ones)))
    lowest, worst = np.inf, 0.0
    with np.errstate(invalid="ignore"):
        for rows in views:
            for tile in tiles(len(rows), rows_of_tile):
                block = wide[: tile.stop - tile.start]
                block[...] = rows[tile]
                sums = block @ ones
                off = max(float(sums.max()) - 1.0, 1.0 - float(sums.min()))
                if not math.isfinite(off):  # as is every row with an entry that is not finite
                    return None
                lowest, worst = min(lowest, float(rows[tile].min())), max(worst, off)
    return lowest, worst


def entropy_of_rows(probs: Array) -> Array:
    """Return -sum p log p along the last axis in double precision, 0 log 0 = 0."""
    views = rows_in_memory(probs)
    if views is None:
        wide = as_float64(probs)
        return 0.0 - namespace(wide).sum(xlogy(wide, wide), axis=-1)
    axes, ones = _memory_axes(probs), np.ones(probs.shape[-1])
    found = np.empty([probs.shape[axis] for axis in axes])
    rows_of_tile = _rows_of_tile(len(ones))
    wide, terms = np.empty((2, rows_of_tile, len(ones)))
    for rows, out in zip(views, found.reshape(len(views), -1), strict=True):
        for tile in tiles(len(rows), rows_of_tile):
            length = tile.stop - tile.start
            np.matmul(_p_log_p(rows[tile], wide[:length], terms[:length]), ones, out=out[tile])
    return np.transpose(np.subtract(0.0, found, out=found), np.argsort(axes))


def mean_entropy_of_members(probs: Array) -> Array:
    """Average the entropies of (n, m, k) over the members, (n,), in double precision."""
    n, m, k = probs.shape
    if not is_numpy(probs):
        return namespace(probs).mean(entropy_of_rows(probs), axis=1)
    if probs.flags.c_contiguous:
        return entropy_of_rows(probs.reshape(n, m * k)) / m
    ones, found, rows_of_tile = np.ones(k), np.empty(n), _rows_of_tile(k)
    buffers = np.empty((3, rows_of_tile, k))
    for tile in tiles(n, rows_of_tile):
        wide, terms, total = buffers[:, : tile.stop - tile.start]
        _p_log_p(probs[tile, 0], wide, total)
        for member in range(1, m):
            total += _p_log_p(probs[tile, member], wide, terms)
        np.matmul(total, ones, out=found[tile])
    return (0.0 - found) / m


def _p_log_p(block: Array, wide: Array, out: Array) -> Array:
    """Write p log p into `out` in double precision, 0 log 0 = 0; `wide` is overwritten."""
    wide[...] = block
    np.add(wide, _LEAST_POSITIVE, out=out)  # changes no bit of what matters, and log 0 is never asked for
    np.log(out, out=out)
    return np.multiply(out, wide, out=out)


def mean_of_members(values: Array) -> Array:
    """Average (n, m, ...) over the members in double precision, a tile of instances at a time."""
    if not is_numpy(values):
        return namespace(values).mean(as_float64(values), axis=1)
    n, m, *rest = values.shape
    total, rows_of_tile = np.empty((n, *rest)), _rows_of_tile(math.prod(rest))
    buffer = np.empty((rows_of_tile, *rest))
    for tile in tiles(n, rows_of_tile):
        block, wide = total[tile], buffer[: tile.stop - tile.start]
        block[...] = values[tile, 0]
        for member in range(1, m):
            wide[...] = values[tile, member]  # a cast and an addition are faster than both at once
            block += wide
        block /= m
    return total


def _rows_of_tile(elements: int) -> int:
    """Return how many rows of so many elements make a tile of which three copies stay in cache."""
    return max(1, CACHE_ELEMENTS // 2 // max(1, elements))
