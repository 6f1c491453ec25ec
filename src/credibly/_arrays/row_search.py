"""Search in sorted rows: every instance has its own table, which the array API's `searchsorted` lacks."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    clip,
    device,
    is_numpy,
    is_torch,
    namespace,
    tiles,
)

_LONG_COLUMN = 64
"""Values per row from which on one library call per row is faster than steps over all rows."""
_GRID_COLUMN = 16
"""Values per row, of all batches so far, from which on a grid of cells pays."""


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
    for rows in tiles(
        table.shape[0], CACHE_ELEMENTS // max(1, values.shape[0])
    ):  # it sees few entries of a row
        counts[:, rows] = _bisect(table[rows], values[:, rows], strict)
    return counts


def _bisect(table: Array, values: Array, strict: bool) -> Array:
    xp = namespace(table)
    last = table.shape[1]
    columns = values.T  # (n, b): rows of the table stay rows
    low = xp.zeros(columns.shape, dtype=xp.int64, device=device(table))
    stride = 1 << (last.bit_length() - 1)
    while stride:
        probe = low + stride
        entry = xp.take_along_axis(table, clip(probe, 1, last) - 1, axis=1)
        passed = entry < columns if strict else entry <= columns
        low = xp.where((probe <= last) & passed, probe, low)
        stride >>= 1
    return low.T


class SortedRows:
    """Rows (n, q) that do not decrease, in which batch after batch of values is looked up.

    Every row has a grid of cells of equal width, which do not decrease with the value: entries in the cells
    before that of a value are below it, and only those in its own cell are compared with it.
    """

    def __init__(self, table: Array) -> None:
        self.table, self.n_values = table, 0

    def passed(self, values: Array) -> tuple[Array, Array]:
        """Return how many entries of its row are below each value (b, n), and how many at most as large.

        Both are the same array where no value equals an entry.
        """
        self.n_values += values.shape[0]
        if not is_numpy(self.table) or self.n_values < _GRID_COLUMN:
            return count_at_most(self.table, values, strict=True), count_at_most(self.table, values)
        below = np.empty(values.shape, dtype=np.int32)
        equal = np.empty(values.shape, dtype=bool)
        for rows in tiles(values.shape[1], max(1, CACHE_ELEMENTS // values.shape[0])):
            below[:, rows], equal[:, rows] = self._of_rows(values[:, rows], rows)
        if not equal.any():
            return below, below
        vectors, instances = np.nonzero(equal)
        at_most = below.copy()
        at_most[vectors, instances] = _bisect(self.table[instances], values[equal][None, :], strict=False)[0]
        return below, at_most

    @cached_property
    def _grid(self) -> tuple[HostArray, HostArray, int]:
        """Return cells per unit, (n,), entries before every cell, flat, and the number of cells."""
        n, q = self.table.shape
        cells = 2 * (q + 1)
        width = self.table[:, -1] - self.table[:, 0]
        with np.errstate(divide="ignore", over="ignore"):
            per_unit = cells / width
        per_unit = np.where(np.isfinite(per_unit), per_unit, 1.0)  # any positive number keeps the order
        before = np.empty((n, cells), dtype=np.uint16 if q >= 256 else np.uint8)
        for rows in tiles(n, max(1, CACHE_ELEMENTS // cells)):
            table = self.table[rows]
            cell = _cells(table - table[:, :1], per_unit[rows, None], cells)
            flat = cell + cells * np.arange(table.shape[0])[:, None]
            counts = np.bincount(flat.ravel(), minlength=table.shape[0] * cells).reshape(-1, cells)
            before[rows] = np.cumsum(counts, axis=1) - counts
        return per_unit, before.ravel(), cells

    def _of_rows(self, values: HostArray, rows: slice) -> tuple[HostArray, HostArray]:
        """Return how many entries are below values of some rows, and whether the next one is equal."""
        per_unit, before, cells = self._grid
        table = self.table[rows]
        number, q = table.shape
        ended = np.full((number, q + 1), np.inf)  # an entry behind the others that no value passes
        ended[:, :q] = table
        entries, first = ended.ravel(), (q + 1) * np.arange(number)
        cell = _cells(values - table[:, 0], per_unit[rows], cells)
        cell += cells * np.arange(rows.start, rows.stop)
        place = before.take(cell) + first
        entry = entries.take(place)
        place += entry < values  # of most values this is the last step
        entry = entries.take(place)
        passed = np.flatnonzero(entry < values)
        if passed.size:
            place, entry, value = place.ravel(), entry.ravel(), values.ravel()
            while passed.size:
                place[passed] += 1
                entry[passed] = entries.take(place[passed])
                passed = passed[entry[passed] < value[passed]]
        below = place.reshape(values.shape) - first
        return below, entry.reshape(values.shape) == values


def _cells(above: HostArray, per_unit: HostArray, cells: int) -> HostArray:
    """Return the cells of numbers this far above the first entry of their row."""
    with np.errstate(over="ignore"):
        place = above * per_unit
    cell: HostArray = np.clip(place, 0, cells - 1, out=place).astype(np.intp)
    return cell
