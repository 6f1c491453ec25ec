"""Losses of normal mixtures, for many label vectors: cubics between nodes instead of one term per member.

H_i(y) = c_0 + c_1 t + c_2 t^2 + c_3 t^3,   t the place of y in its cell, (y - node) / step

H_i is a cubic Hermite interpolant of the loss, up to a number per row that no label changes. Nodes reach 5
widths beyond every member, 2 to a width of the narrowest. Labels beyond, and rows that would need more than
256 cells, have the loss itself. All losses of the same predictions have the same nodes, so a label is looked
up once for all of them.

Cubics miss their loss by 1e-5 and more. Single precision adds about 1e-7 of the loss, the same for observed
and drawn labels, and takes half the time and memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    device,
    is_numpy,
    like,
    namespace,
    put_back,
    tiles,
    to_host,
)
from credibly.predictions import Gaussian, Labels
from credibly.statistics.batches import replicates, total_of

Loss = Callable[[Array], Array]
"""From labels (b, n) to contributions (b, n)."""

_REACH, _CELLS_PER_WIDTH, _MOST_CELLS = 5.0, 2.0, 256
_GROUPS, _LEAST_ROWS = 32, 64
"""Groups of rows, by how many cells they need, whose tables are made together; rows of a group at least."""
_TILE_ROWS = 256
"""Rows that are looked up at once on the host, so that their tables stay in cache."""
_SINGLE = 1e-30, 1e30
"""Range of the steps for which single precision can hold the losses."""
TABLE_BYTES = 8 * 4 * _MOST_CELLS // 8
"""Of a row, on average over targets: few of them are losses, and few rows need all cells they may have."""


class Grid(NamedTuple):
    """Nodes of some rows, with the density there."""

    nodes: Array
    """(number, rows)."""
    step: Array
    """Distance of neighbours, (rows,)."""
    density: Array
    """The density in units of the step, also at two more nodes on each side, (number + 4, rows)."""


OnGrid = Callable[[Gaussian, Grid], Array]
"""From some rows and their grid to losses at the nodes, (number, rows)."""


class _Nodes(NamedTuple):
    """Where the nodes of every row are, (n,) each."""

    low: Array
    """First node."""
    step: Array
    """Distance of neighbours."""
    per_unit: Array
    """One over it."""
    used: Array
    """Number of cells; 0 where there would be too many."""
    start: Array
    """Place of the first cell in the table."""
    order: Array
    """The rows, those with few cells first."""

    @property
    def dtype(self) -> Any:
        """The precision that tables of losses on these nodes need."""
        xp, (least, most) = namespace(self.step), _SINGLE
        fits = (self.step > least) & (self.step < most) | (self.used == 0.0)
        return xp.float32 if bool(xp.all(fits)) else self.step.dtype


class _Places(NamedTuple):
    """Where labels of some rows are in the table."""

    rows: slice
    cell: Array
    """Rows of the table, (b, rows)."""
    powers: Array
    """1, t, t^2, t^3, (b, rows, 4), in the precision of the table; zeros outside of it."""
    outside: Array
    """Which labels have no cell, (b, rows)."""


class LossTable:
    """One loss of all rows of a mixture.

    Parameters
    ----------
    predictions : Gaussian
        Mixtures of several members.
    loss_of : callable
        From some rows of the predictions to their loss, up to a number per row.
    on_grid : callable
        The same on the nodes, where that is cheaper than one by one.
    """

    def __init__(self, predictions: Gaussian, loss_of: Callable[[Gaussian], Loss], on_grid: OnGrid) -> None:
        self.predictions, self.loss_of, self.on_grid = predictions, loss_of, on_grid

    def at(self, labels: Array) -> Array:
        """Return H of labels (b, n), (b, n)."""
        return namespace(labels).concat(
            [self._of(labels, located) for located in self._places(labels)], axis=1
        )

    def sums(self, labels: Labels, others: Sequence[LossTable] = ()) -> list[Array]:
        """Return the (weighted) sums of H over rows, (b,), of this table and others with the same nodes.

        The sum of a label vector does not depend on those beside it.
        """
        _make([self, *others])
        b, on_host = len(labels), is_numpy(labels.values)
        batches = tiles(b, CACHE_ELEMENTS // _TILE_ROWS if on_host else b)
        batches_of_sums = [self._sums(replicates(labels, reps), (self, *others)) for reps in batches]
        return [namespace(labels.values).concat(parts) for parts in zip(*batches_of_sums, strict=True)]

    def _sums(self, labels: Labels, tables: Sequence[LossTable]) -> list[Array]:
        values, weights = labels.values, labels.weights
        totals = [namespace(values).zeros_like(values[:, 0]) for _ in tables]
        for located in self._places(values):
            for j, table in enumerate(tables):
                if weights is None:
                    totals[j] = totals[j] + table._sum(values, located)
                else:
                    weights_of_tile = weights[:, located.rows]
                    totals[j] = totals[j] + total_of(table._of(values, located), weights_of_tile)[:, 0]
        return totals

    def _of(self, labels: Array, located: _Places) -> Array:
        """Return H of the labels of some rows, (b, rows)."""
        xp = namespace(labels)
        inside = xp.sum(self._cubics_at(located) * located.powers, axis=2, dtype=labels.dtype)
        return xp.where(located.outside, self._exact(labels, located), inside)

    def _sum(self, labels: Array, located: _Places, *, exact: bool = True) -> Array:
        """Return the sum of H over some rows, (b,); without `exact`, of the labels inside alone."""
        xp, b = namespace(labels), labels.shape[0]
        cubics, powers = (xp.reshape(table, (b, -1)) for table in (self._cubics_at(located), located.powers))
        if is_numpy(labels):  # few rows: a sum in single precision has lost nothing
            total = xp.vecdot(cubics, powers)
        else:
            total = xp.sum(cubics * powers, axis=1, dtype=labels.dtype)
        if exact and bool(xp.any(located.outside)):
            total = total + xp.sum(xp.where(located.outside, self._exact(labels, located), 0.0), axis=1)
        return total

    def rounding(self, labels: Array) -> Array:
        """Return how far H of labels (b, n), added one by one, is above its sums, (b,)."""
        xp = namespace(labels)
        lost = xp.zeros_like(labels[:, 0])
        for located in self._places(labels):
            terms = self._cubics_at(located) * located.powers
            one_by_one = xp.sum(terms, axis=(1, 2), dtype=labels.dtype)
            lost = lost + one_by_one - self._sum(labels, located, exact=False)
        return lost

    @cached_property
    def _nodes(self) -> _Nodes:
        return _nodes(self.predictions)

    @cached_property
    def _table(self) -> Array:
        """All cubics, (., 4), in single precision where that holds them."""
        return next(_tables([self]))

    def _places(self, labels: Array) -> Iterator[_Places]:
        """Yield where labels (b, n) are, rows in tiles whose table stays in cache."""
        nodes, dtype = self._nodes, self._nodes.dtype
        xp, n = namespace(labels), labels.shape[1]
        for rows in tiles(n, _TILE_ROWS if is_numpy(labels) else n):
            place = labels[:, rows] - nodes.low[rows]
            place *= nodes.per_unit[rows]
            outside = (place < 0.0) | (place >= nodes.used[rows])
            missed = bool(xp.any(outside))
            if missed:
                place = xp.where(outside, 0.0, place)
            cell = xp.astype(place, xp.int64)
            powers = _powers(xp.astype(place - xp.astype(cell, place.dtype), dtype))
            if missed:
                powers = xp.where(outside[:, :, None], 0.0, powers)
            yield _Places(rows, cell + nodes.start[rows], powers, outside)

    def _cubics_at(self, located: _Places) -> Array:
        """Return the coefficients at labels, (b, rows, 4)."""
        xp = namespace(self._table)
        cubics = xp.take(self._table, xp.reshape(located.cell, (-1,)), axis=0)
        return xp.reshape(cubics, (*located.cell.shape, 4))

    def _exact(self, labels: Array, located: _Places) -> Array:
        """Return the loss itself in rows where some label has no cell, (b, rows); elsewhere any number."""
        xp, labels_of_tile = namespace(labels), labels[:, located.rows]
        missed = xp.any(located.outside, axis=0)
        if not bool(xp.any(missed)):
            return labels_of_tile
        (rows,) = xp.nonzero(missed)
        loss = self.loss_of(self.predictions[to_host(rows) + located.rows.start])
        return put_back(loss(xp.take(labels_of_tile, rows, axis=1)), missed, axis=1)


def _make(tables: Sequence[LossTable]) -> None:
    """Make the tables of losses of the same predictions that are not there yet."""
    left = [table for table in tables if "_table" not in table.__dict__]
    for table in left:
        table._nodes = tables[0]._nodes
    for table, new_table in zip(left, _tables(left), strict=True):
        table._table = new_table


def _tables(tables: Sequence[LossTable]) -> Iterator[Array]:
    """Yield the cubics of losses with the same nodes, from densities that they share."""
    if not tables:
        return
    predictions, nodes = tables[0].predictions, tables[0]._nodes
    cells, order = np.ceil(to_host(nodes.used)).astype(np.int64), to_host(nodes.order)
    cubics: list[list[Array]] = [[] for _ in tables]
    for rows in (order[part] for part in _groups(order.size)):
        some = predictions[rows]
        grid = _grid(some, nodes, rows, _most(cells, rows) + 5)
        for parts, table in zip(cubics, tables, strict=True):
            parts.append(_cubics(table.on_grid(some, grid).T, nodes.dtype))
    while cubics:  # one table at a time, so that its parts and the whole fit in memory
        yield namespace(nodes.low).concat(cubics.pop(0), axis=0)


def _grid(predictions: Gaussian, nodes: _Nodes, rows: HostArray, number: int) -> Grid:
    """Return the nodes of some rows of all, and the density of their `predictions` there."""
    xp, at = namespace(nodes.low), like(rows, nodes.low)
    step = xp.take(nodes.step, at)
    # two nodes more on each side: slopes are differences of four neighbours; and again two, for densities
    place = xp.arange(-4, number, dtype=step.dtype, device=device(step))[:, None]
    beyond = xp.take(nodes.low, at) + place * step
    return Grid(beyond[2:-2, :], step, _density(predictions, beyond, step))


def _groups(n: int) -> Iterator[slice]:
    """Yield rows, in the order of their numbers of cells, whose tables are made together."""
    return tiles(n, max(_LEAST_ROWS, -(-n // _GROUPS)))


def _most(cells: HostArray, rows: HostArray) -> int:
    """Return how many cells each row of a group has in the table."""
    return max(1, int(cells[rows[-1]]))


def _nodes(predictions: Gaussian) -> _Nodes:
    """Return the nodes of every row, which do not depend on other rows."""
    mean, std = predictions.members()
    xp = namespace(mean)
    low, high = xp.min(mean - _REACH * std, axis=1), xp.max(mean + _REACH * std, axis=1)
    step = xp.min(std, axis=1) / _CELLS_PER_WIDTH
    n_nodes = (high - low) / step
    used = xp.where(n_nodes <= _MOST_CELLS, n_nodes, xp.zeros_like(n_nodes))
    cells = np.ceil(to_host(used)).astype(np.int64)
    order, start, total = np.argsort(cells, kind="stable"), np.zeros(cells.size, dtype=np.int64), 0
    for part in _groups(cells.size):
        rows = order[part]
        most = _most(cells, rows)
        start[rows] = total + most * np.arange(rows.size)
        total += most * rows.size
    return _Nodes(low, step, 1.0 / step, used, like(start, low), like(order, low))


def _cubics(f: Array, dtype: Any) -> Array:
    """Return the coefficients of the cubics of some rows, (rows cells, 4), from losses (rows, cells + 5)."""
    slope = (8.0 * (f[:, 3:-1] - f[:, 1:-3]) - (f[:, 4:] - f[:, :-4])) / 12.0
    first, last, rise = slope[:, :-1], slope[:, 1:], f[:, 3:-2] - f[:, 2:-3]
    cubic = (f[:, 2:-3], first, 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise)
    return namespace(f).reshape(_on_last_axis(cubic, dtype), (-1, 4))


def _density(predictions: Gaussian, values: Array, step: Array) -> Array:
    """Return the density of mixtures at values (l, rows), in units of the step."""
    mean, std = predictions.members()
    xp, shares, m = namespace(mean), predictions.shares, mean.shape[1]
    density: Any = 0.0
    for j in range(m):
        inverse = 1.0 / std[:, j]
        z = (values - mean[:, j]) * inverse
        term = xp.exp(-0.5 * z * z) * (inverse * step)
        density = density + (term if shares is None else shares[:, j] * term)
    return density / (math.sqrt(2.0 * math.pi) * (m if shares is None else 1.0))


def distances_on_grid(predictions: Gaussian, grid: Grid) -> Array:
    """Return E|X - y| of mixtures at their nodes, (number, rows): twice the area below F, plus E X - y.

    Its second derivative is 2 f, f the density, which costs a third of it: S_k-1 - 2 S_k + S_k+1 is h^2 (f +
    d2 f / 12 - d4 f / 240) with differences d2 and d4 of f, up to h^8, and below the first node S is 0.
    """
    xp, density = namespace(grid.density), grid.density
    second = density[:-2, :] - 2.0 * density[1:-1, :] + density[2:, :]
    fourth = second[:-2, :] - 2.0 * second[1:-1, :] + second[2:, :]
    bends = density[2:-2, :] + second[1:-1, :] / 12.0 - fourth / 240.0
    slopes = xp.cumulative_sum(bends, axis=0)
    area = xp.cumulative_sum(slopes, axis=0) - slopes  # of F below every node, in units of the step
    return 2.0 * grid.step * area + (predictions.expectation() - grid.nodes)


def _powers(t: Array) -> Array:
    """Return 1, t, t^2, t^3 on a last axis."""
    square = t * t
    return _on_last_axis((namespace(t).ones_like(t), t, square, square * t), t.dtype)


def _on_last_axis(parts: Sequence[Array], dtype: Any) -> Array:
    """Return arrays of one shape side by side on a new last axis."""
    xp = namespace(parts[0])
    if not is_numpy(parts[0]):
        return xp.astype(xp.stack(parts, axis=-1), dtype)
    stacked = np.empty((*parts[0].shape, len(parts)), dtype)
    for j, part in enumerate(parts):
        stacked[..., j] = part
    return stacked
