"""Events that are counted in cells: a hit or a miss of every row, or the class of its label."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from credibly._arrays import label_kernels
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    namespace,
    on_accelerator,
    to_host,
)
from credibly._arrays.sums import count_cells, group_sums, indicator, sums_in_order, sums_of_rows
from credibly.predictions import Classes, Counts, Labels
from credibly.statistics.batches import gather, in_cache, looked_up, rater_shares
from credibly.statistics.protocol import State
from credibly.statistics.terms import Terms

_IN_CACHE = 3 * 2**18  # entries up to which a product with an indicator beats adding up row by row
_ROWS_PER_CELL = 2**10  # from which on hits are counted cell by cell
_MANY_VECTORS = 32  # of labels, from which on it pays to find the cells that several terms have in common
_MOST_ENTRIES = 2**21  # of a table of rows and classes, up to which hits are looked up in it, too
_MOST_PAIRS = 2**21  # of cells, up to which they are counted to find those that rows are in

Common = tuple["Events", dict[int, HostArray]]
"""Events in finest cells, and for some of several terms, by their places, the cell that each lies in."""


class Events(Terms):
    """Events that are counted in cells: the label is a given class, or every class has its own cell.

    Parameters
    ----------
    chance : array (n,) or (n, k)
        Predicted probability of the event.
    cell : array shaped like `chance`, or None
        Where it is counted. None: every class in a cell of its own, and one event per row in the only one.
    n_cells : int
        Number of cells.
    event : array (n,), optional
        With one event per row: the class that the label must be. Otherwise column c is "the label is c".
    """

    of_parts: ClassVar[tuple[str, ...]] = ("_known", "ends", "_indicator", "_in_order", "_common")

    def __init__(
        self, chance: Array, cell: Array | None = None, n_cells: int = 1, event: Array | None = None
    ) -> None:
        self.n, self.chance, self.reference, self.event = int(chance.shape[0]), chance, chance, event
        self.n_cells = int(chance.shape[1]) if cell is None and event is None else n_cells
        self.cell = cell[:, None] if cell is not None and cell.ndim == 1 else cell

    @property
    def is_mean(self) -> bool:
        """Whether one event per row is counted in a single cell."""
        return self.event is not None and self.cell is None

    @cached_property
    def mean(self) -> Array:
        """The chances, (n, m)."""
        p = as_float64(self.chance)
        return p[:, None] if p.ndim == 1 else p

    @property
    def variance(self) -> Array:
        """Return p (1 - p)."""
        return self.mean * (1.0 - self.mean)

    @property
    def third(self) -> Array:
        """Return p (1 - p) (1 - 2 p)."""
        return self.variance * (1.0 - 2.0 * self.mean)

    @property
    def place(self) -> Array | None:
        """The only cell of every row, (n,)."""
        return self.part if self.cell is None else self.cells_of_parts()[:, 0]

    @cached_property
    def _indicator(self) -> Array:
        return indicator(self.place, self.n_parts * self.n_cells, np.float32)

    @cached_property
    def ends(self) -> Array | None:
        """On a device: how many rows the parts up to each hold, if rows come in the order of their parts."""
        if self.part is None or self.cell is not None or not on_accelerator(self.part):
            return None
        xp = namespace(self.part)
        if bool(xp.any(self.part[1:] < self.part[:-1])):
            return None
        return xp.searchsorted(self.part, xp.arange(self.n_parts, device=device(self.part)), side="right")

    @cached_property
    def _in_order(self) -> tuple[HostArray, HostArray]:
        """The rows, those of one cell after the other, and where every cell but the last ends."""
        place: Any = self.place
        counts = np.bincount(place, minlength=self.n_parts * self.n_cells)
        return np.argsort(place, kind="stable"), np.cumsum(counts)[:-1]

    def for_replicates(self, observed: Labels, n_resamples: int) -> Self:
        """Return the same; of many rows in few cells it is known which rows each cell holds."""
        n_cells = self.n_parts * self.n_cells
        few = n_resamples and self.event is not None and 1 < n_cells <= self.n // _ROWS_PER_CELL
        if few and is_numpy(self.place) and self.n * n_cells > _IN_CACHE:
            _ = self._in_order
        return self

    @property
    def is_lean(self) -> bool:
        """Whether a kernel counts events."""
        return label_kernels.usable(self.reference)

    @property
    def shared(self) -> Hashable:
        """Equal for events of rows on the host, which one look at the labels counts."""
        if self.part is not None or not is_numpy(self.chance) or (self.event is None and self.cell is None):
            return None
        return Events, self.n

    def observed_with(self, others: Sequence[Events], labels: Labels) -> list[Array]:
        """Sum the events per cell of all, by counting in the cells that they have in common."""
        every = (self, *others)
        if not isinstance(labels, Classes) or labels.weights is not None or len(labels) < _MANY_VECTORS:
            return super().observed_with(others, labels)
        known = self.__dict__.get("_common")
        if known is None or known[0] != every:
            known = self.__dict__["_common"] = every, _in_common(every)
        sums: dict[int, Array] = {}
        for finest, cells in known[1]:
            counts = finest.observed(labels)
            for place, cell in cells.items():
                size = every[place].n_cells
                sums[place] = sums_of_rows(counts, cell, size + 1)[:, :size]
        return [sums[place] if place in sums else terms.observed(labels) for place, terms in enumerate(every)]

    def added(self, labels: Labels) -> Array:
        """Return 1 where the event happened, or the share of raters who saw it, (b, n, m)."""
        if isinstance(labels, Counts):
            frequency = rater_shares(labels)
            if self.event is None:
                return frequency
            xp = namespace(frequency)
            classes = xp.arange(frequency.shape[2], device=device(frequency))
            chosen = xp.astype(xp.astype(self.event, classes.dtype)[:, None] == classes, frequency.dtype)
            return xp.sum(chosen * frequency, axis=-1, keepdims=True)
        assert isinstance(labels, Classes)
        values = labels.values
        xp = namespace(values)
        if self.event is not None:
            return xp.astype(values == self.event[None, :], xp.float64)[:, :, None]
        columns = xp.arange(labels.n_classes, dtype=values.dtype, device=device(values))
        return xp.astype(values[:, :, None] == columns, xp.float64)

    def contributions(self, labels: Labels) -> Array:
        """Return what labels add, (b, n), where a row counts in one cell."""
        return self.added(labels)[:, :, 0]

    def observed(self, labels: Labels) -> Array:
        """Sum the events per cell."""
        return self._count(labels) if isinstance(labels, Classes) else super().observed(labels)

    def square(self, labels: Labels) -> Array:
        """Return the sum per cell of event (1 - 2 p) where an event is 0 or 1."""
        if not isinstance(labels, Classes):
            return super().square(labels)
        return self._count(labels, 1.0 - 2.0 * as_float64(self.chance))

    def _count(self, labels: Classes, slope: Array | None = None) -> Array:
        """Sum events per cell, each times its `slope` (shaped like the chances), (b, cells)."""
        weights = labels.weights
        if slope is not None:
            factor = gather(slope, labels.values) if self.event is None else slope[None, :]
            weights = factor if weights is None else factor * weights
        if weights is None and label_kernels.usable(labels.values):
            return self._counted_at_once(labels.values)
        if self.event is not None:
            return self._hits(labels.values == self.event[None, :], weights)
        if weights is None and self.ends is not None:
            counts = [sums_in_order(labels.values == c, self.ends) for c in range(self.n_cells)]
            return namespace(self.ends).reshape(namespace(self.ends).stack(counts, axis=2), (len(labels), -1))
        if weights is None and self.cell is not None and is_numpy(labels.values):
            cells, n_cells = looked_up(self.cells_of_parts(), labels.values), self.n_parts * self.n_cells
            return np.concatenate([count_cells(some, n_cells) for some in cells])
        return in_cache(self._by_class, dataclasses.replace(labels, weights=weights))["observed"]

    def _counted_at_once(self, values: Array) -> Array:
        cell = self.cell if self.cell is None or self.event is None else self.cell[:, 0]
        part = None if self.part is None else self.n_cells * self.part
        n_cells = self.n_parts * self.n_cells
        return as_float64(label_kernels.cell_counts(values, n_cells, cell=cell, event=self.event, part=part))

    def _by_class(self, labels: Labels) -> State:
        cells = labels.values if self.cell is None else gather(self.cell, labels.values)
        if self.part is not None:
            cells = cells + self.n_cells * self.part[None, :]
        return State(observed=count_cells(cells, self.n_parts * self.n_cells, labels.weights))

    def _hits(self, hits: Array, weights: Array | None) -> Array:
        if weights is None and is_numpy(hits):
            return self._whole_numbers(hits)
        if weights is None and self.ends is not None:
            return sums_in_order(hits, self.ends)
        xp, place = namespace(hits), self.place
        values = xp.astype(hits, xp.float64) * (1.0 if weights is None else weights)
        if place is None:
            return xp.sum(values, axis=1)[:, None]
        return group_sums(values, place, self.n_parts * self.n_cells)

    def _whole_numbers(self, hits: HostArray) -> HostArray:
        place, n_cells = self.place, self.n_parts * self.n_cells
        if place is None:
            return np.array([[float(np.count_nonzero(row))] for row in hits])
        if "_in_order" in self.__dict__:
            order, ends = self._in_order
            counts = [[np.count_nonzero(part) for part in np.split(row.take(order), ends)] for row in hits]
            return np.array(counts, dtype=np.float64)
        if len(hits) == 1 or self.n * n_cells > _IN_CACHE:
            return sums_of_rows(hits, place, n_cells)
        # Whole numbers: single precision is exact and halves the cost.
        return np.asarray(hits.astype(np.float32) @ self._indicator, dtype=np.float64)


def _in_common(every: Sequence[Events]) -> list[Common]:
    """Return what counts for several terms at once; terms in none of it count for themselves."""
    tables = [terms for terms in every if terms.event is None]
    if tables and tables[0].chance.size <= _MOST_ENTRIES:
        common = _refined(dict(enumerate(every)), tables[0])
        if common is not None:
            return [common]
    alike: dict[Hashable, dict[int, Events]] = {}
    for place, terms in enumerate(every):
        event = None if terms.event is None else to_host(terms.event).tobytes()
        alike.setdefault(event, {})[place] = terms
    several = [group for group in alike.values() if len(group) > 1]
    found = [_refined(group, next(iter(group.values()))) for group in several]
    return [common for common in found if common is not None]


def _refined(every: dict[int, Events], like: Events) -> Common | None:
    """Return the events of `like` in the cells that no cell of all terms divides.

    None where nearly every row would have a cell of its own, or pairs of cells are too many to count.
    """
    cells = {place: _as_table(terms, like) for place, terms in every.items()}
    finest, number = np.zeros(next(iter(cells.values())).shape, dtype=np.intp), 1
    for place, cell in cells.items():
        size = every[place].n_cells + 1
        if number * size > _MOST_PAIRS:
            return None
        pairs = finest * size + cell
        present = np.flatnonzero(np.bincount(pairs.ravel()))
        number = len(present)
        if 2 * number > like.n:
            return None
        rank = np.empty(present[-1] + 1, dtype=np.intp)
        rank[present] = np.arange(number)
        finest = rank[pairs]
    of_finest = {}
    for place, cell in cells.items():
        of_finest[place] = np.empty(number, dtype=np.intp)
        of_finest[place][finest.ravel()] = cell.ravel()
    return Events(like.chance, finest, number, like.event), of_finest


def _as_table(terms: Events, like: Events) -> HostArray:
    """Return the cells as those of `like` are: a hit is a class in its cell, others are in one behind all."""
    cell = np.zeros((terms.n, 1), dtype=np.intp) if terms.cell is None else terms.cell
    if terms.event is None or like.event is not None:
        return cell
    table = np.full(like.chance.shape, terms.n_cells, dtype=np.intp)
    np.put_along_axis(table, terms.event[:, None].astype(np.intp), cell, axis=1)
    return table
