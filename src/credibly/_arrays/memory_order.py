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


def rows_in_memory(array: Array) -> Array | None:
    """Return the rows (r, k) of a NumPy array as a view in the order of memory; None where there is none."""
    if not is_numpy(array) or array.ndim < 2:
        return None
    order = sorted(range(array.ndim - 1), key=lambda axis: -array.strides[axis])
    ordered = array.transpose(*order, array.ndim - 1)
    return ordered.reshape(-1, array.shape[-1]) if ordered.flags.c_contiguous else None


def summary_of_rows(array: Array) -> tuple[float, float] | None:
    """Return smallest entry and largest |row sum - 1| in one pass; None where it takes a closer look."""
    rows = rows_in_memory(array)
    if rows is None or rows.dtype not in (np.float32, np.float64):
        return None
    ones = np.ones(rows.shape[1])
    lowest, worst = np.inf, 0.0
    with np.errstate(invalid="ignore"):
        for tile in tiles(len(rows), CACHE_ELEMENTS // rows.shape[1]):
            block = rows[tile].astype(np.float64, copy=False)
            off = float(np.abs(block @ ones - 1.0).max())
            if not math.isfinite(off):  # as is every row with an entry that is not finite
                return None
            lowest, worst = min(lowest, float(block.min())), max(worst, off)
    return lowest, worst


def entropy_of_rows(probs: Array) -> Array:
    """Return -sum p log p along the last axis in double precision, 0 log 0 = 0."""
    rows = rows_in_memory(probs)
    if rows is None:
        wide = as_float64(probs)
        return -namespace(wide).sum(xlogy(wide, wide), axis=-1)
    ones, found = np.ones(rows.shape[1]), np.empty(len(rows))
    for tile in tiles(len(rows), CACHE_ELEMENTS // rows.shape[1]):
        block = rows[tile].astype(np.float64)
        logs = np.log(np.maximum(block, _LEAST_POSITIVE))
        np.matmul(np.multiply(logs, block, out=logs), ones, out=found[tile])
    order = sorted(range(probs.ndim - 1), key=lambda axis: -probs.strides[axis])
    shaped = (0.0 - found).reshape([probs.shape[axis] for axis in order])
    return np.transpose(shaped, np.argsort(order))


def mean_of_members(values: Array) -> Array:
    """Average (n, m, ...) over the members in double precision, a tile of instances at a time."""
    if not is_numpy(values):
        return namespace(values).mean(as_float64(values), axis=1)
    n, m = values.shape[:2]
    total = np.zeros((n, *values.shape[2:]))
    for tile in tiles(n, CACHE_ELEMENTS // max(1, total.size // n)):
        block = total[tile]
        for member in range(m):
            block += values[tile, member]
    total /= m
    return total
