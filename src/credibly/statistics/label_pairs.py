"""Sums of k_ij <r_i, r_j> over pairs of rows for many classes, by looking labels up.

    <r_i, r_j> = [y_i = y_j] - p_j(y_i) - p_i(y_j) + <p_i, p_j>

The last term is the same for all label vectors, the two before it are entries of K p, and pairs of equal
labels are few: at most n^2 numbers are read per label vector, where a product with residuals reads k n^2.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

from credibly._arrays.namespace import Array, as_float64, device, namespace, rows_within_budget
from credibly.predictions import Classes, Labels
from credibly.statistics.batches import gather, total_weight
from credibly.statistics.pairwise import Meeting, PairBound
from credibly.statistics.protocol import State

MANY = 64
"""Classes from which on looking up is faster."""

_LONGEST = 16  # equal labels per row and sixteenth of the columns, up to which pairs are listed


class ManyClasses(PairBound):
    """A kernel error of many classes; residuals of single labels without weights are never made."""

    @cached_property
    def _of_labels(self) -> LabelPairs:
        sides = dataclasses.replace(self.sides, width=1, residuals=_numbers)
        return LabelPairs(self.statistic, sides, self.plan, self.notes)

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Return the sums of some rows against all rows (default: all)."""
        if self.tracked or not isinstance(labels, Classes) or labels.weights is not None:
            return super().state(labels, rows)
        return self._of_labels.state(labels, rows)


class LabelPairs(PairBound):
    """The same sums, where the value of a row is the number of its class."""

    _table: tuple[slice, tuple[Array, Array, Array]] | None = None

    def meet(self, meeting: Meeting) -> Any:
        """Add k_ij <r_i, r_j> over the rows, and the diagonal, which the mean over pairs leaves out."""
        xp, row_values = namespace(meeting.values), self.own_values(meeting)
        if self._table is None or self._table[0] != meeting.rows:
            self._table = meeting.rows, self._expected(meeting)
        of_rows, of_columns, constant = self._table[1]
        pairs = _equal(meeting.tile, row_values, meeting.values) + constant
        for table, labels in ((of_rows, row_values), (of_columns, meeting.values)):
            pairs = pairs - xp.sum(gather(table, xp.astype(labels, xp.int64)), axis=1)
        p = self.exact[meeting.rows, :]
        squares = xp.vecdot(p, p)[None, :]
        diagonal = xp.sum(1.0 - 2.0 * gather(p, xp.astype(row_values, xp.int64)) + squares, axis=1)
        return State(
            pairs=pairs, diagonal=diagonal, weight=total_weight(meeting.labels, meeting.rows, row_values)
        )

    def _expected(self, meeting: Meeting) -> tuple[Array, Array, Array]:
        """Return K p of the rows and of the columns, and the sum of k_ij <p_i, p_j>."""
        xp, tile = namespace(meeting.tile), as_float64(meeting.tile)
        p, others = self.exact[meeting.rows, :], self.exact[self.first_column(meeting.first) :, :]
        of_rows = tile @ others
        return of_rows, tile.T @ p, xp.sum(of_rows * p)

    def _replicates_per_batch(self, columns: int) -> int:
        return rows_within_budget(8 * 6 * columns, 0.25, self.points)


def _numbers(labels: Labels, rows: slice, dtype: Any) -> Array:
    """Return the classes of some rows as numbers, (b, 1, rows)."""
    chosen = labels.values[:, rows]
    return namespace(chosen).astype(chosen, dtype)[:, None, :]


def _equal(tile: Array, row_values: Array, labels: Array) -> Array:
    """Return the sum of a tile over pairs of equal labels, (b,); its rows are the first of its columns."""
    xp, (n_rows, columns) = namespace(tile), tile.shape
    order = xp.argsort(labels, axis=1, stable=True)
    ordered = xp.take_along_axis(labels, order, axis=1)
    most = min(columns - 1, columns // _LONGEST + 1)
    if bool(xp.any(ordered[:, most:] == ordered[:, : columns - most])):
        sums = [
            xp.sum(xp.where(a[:, None] == b[None, :], tile, 0.0))
            for a, b in zip(row_values, labels, strict=True)
        ]
        return as_float64(xp.stack(sums))
    entries = xp.reshape(as_float64(tile), (-1,))
    total = xp.zeros(labels.shape[0], dtype=xp.float64, device=device(tile))
    total = total + xp.sum(entries[: n_rows * columns : columns + 1])  # a row and itself
    for steps in range(1, most):
        i, j = order[:, :-steps], order[:, steps:]
        alike = ordered[:, steps:] == ordered[:, :-steps]
        if not bool(xp.any(alike)):
            break
        # columns among the rows stand in the tile in both orders, others are doubled already
        met = alike & (i < n_rows)
        looked = xp.take(entries, xp.reshape(xp.where(met, i * columns + j, 0), (-1,)))
        factor = xp.where(met, xp.where(j < n_rows, 2.0, 1.0), 0.0)
        total = total + xp.sum(factor * xp.reshape(looked, i.shape), axis=1)
    return total
