"""Search in sorted rows: every instance has its own table, which the array API's `searchsorted` lacks."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import CACHE_ELEMENTS, Array, device, is_numpy, is_torch, namespace, tiles

_LONG_COLUMN = 64
"""Values per row from which on one library call per row is faster than steps over all rows."""


def count_at_most(table: Array, values: Array, *, strict: bool = False) -> Array:
    """Count, for every value, the entries of its row's table at most as large.

    Parameters
    ----------
    table : array (n, q)
        Rows that do not decrease.
    values : array (b, n)
        Values looked up in the row of the same instance.
    strict : bool
        Count entries below the value only.

    Returns
    -------
    array (b, n) of int64
        Numbers from 0 to q.
    """
    if is_torch(table):
        import torch

        return torch.searchsorted(table.contiguous(), values.T.contiguous(), right=not strict).T
    if not is_numpy(table):
        return _bisect(table, values, strict)
    counts = np.empty(values.shape, dtype=np.int64)
    if values.shape[0] >= _LONG_COLUMN:
        side = "left" if strict else "right"
        for i, (row, column) in enumerate(zip(table, np.ascontiguousarray(values.T), strict=True)):
            counts[:, i] = row.searchsorted(column, side=side)
        return counts
    for rows in tiles(table.shape[0], CACHE_ELEMENTS // table.shape[1]):
        counts[:, rows] = _bisect(table[rows], values[:, rows], strict)
    return counts


def _bisect(table: Array, values: Array, strict: bool) -> Array:
    xp = namespace(table)
    last = table.shape[1]
    wanted = values.T  # (n, b): rows of the table stay rows
    low = xp.zeros(wanted.shape, dtype=xp.int64, device=device(table))
    stride = 1 << (last.bit_length() - 1)
    while stride:
        probe = low + stride
        entry = xp.take_along_axis(table, xp.clip(probe, 1, last) - 1, axis=1)
        passed = entry < wanted if strict else entry <= wanted
        low = xp.where((probe <= last) & passed, probe, low)
        stride >>= 1
    return low.T
