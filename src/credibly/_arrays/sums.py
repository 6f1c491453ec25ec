"""Sums over groups of instances for whole batches, and sums over rows that come in pieces.

Scatter-add is missing from the array API standard and its order is not fixed on CUDA. Fixed groups become
one product with an indicator matrix; groups that depend on the label become a count of whole numbers, which
has one result in any order.

Pieces are added in an order that the index of the row alone decides: rows are cut into leaves of a power of
two by their index among all rows, and leaves are added in pairs, pairs of pairs, and so on. Pieces that end
where leaves end give the same sums bit by bit, however many there are; others differ by the rounding of a few
additions.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import numpy as np

from credibly._arrays import label_kernels
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    device,
    like,
    namespace,
    on_accelerator,
    rows_within_budget,
    tiles,
    to_host,
)

_MOST_COLUMNS = 2**13  # of a product with an indicator


def group_sums(values: Array, groups: Array, n_groups: int) -> Array:
    """Sum values (b, n) over groups (n,) -> (b, n_groups), in double precision."""
    if not on_accelerator(values):  # adding up in torch has no fixed order on a CPU
        return like(sums_of_rows(to_host(values), to_host(groups), n_groups), values)
    values = as_float64(values)
    if n_groups > _MOST_COLUMNS:
        return count_cells(namespace(values).broadcast_to(groups[None, :], values.shape), n_groups, values)
    total = 0.0
    for rows in tiles(values.shape[1], rows_within_budget(8 * n_groups)):
        total = total + values[:, rows] @ indicator(groups[rows], n_groups)
    return total


def sums_of_rows(values: HostArray, groups: HostArray, n_groups: int) -> HostArray:
    """Sum values (b, n) of the host over groups (n,), one vector at a time -> (b, n_groups)."""
    summed = [np.bincount(groups, row, n_groups) for row in values]
    return summed[0][None, :] if len(summed) == 1 else np.array(summed)


def sums_in_order(events: Array, ends: Array) -> Array:
    """Count events (b, n) in groups of rows on a device, (b, groups), whole numbers in any order of adding.

    Parameters
    ----------
    events : torch.Tensor of bool (b, n)
        What happened, the rows of one group after the other.
    ends : torch.Tensor (groups,)
        Rows of the groups up to each.

    Returns
    -------
    torch.Tensor of int32 (b, groups)
        One running sum over all replicates, read where groups end.
    """
    import torch

    b, n = events.shape
    running = torch.cumsum(events.reshape(-1), dim=0, dtype=torch.int32)
    ends_of_all = (
        torch.cat([ends.new_zeros(1), ends])[None, :] + n * torch.arange(b, device=ends.device)[:, None]
    )
    before = torch.where(ends_of_all > 0, running[torch.clamp(ends_of_all - 1, min=0)], 0)
    return torch.diff(before, dim=1)  # right even where the running sum has wrapped around


def add_mask(total: Array, mask: Array) -> None:
    """Add a boolean host mask to whole numbers in place; bytes are added as bytes, not cast in pieces."""
    total += mask.view(np.uint8) if total.dtype == np.uint8 else mask


def indicator(groups: Array, n_groups: int, dtype: Array = None) -> Array:
    """Return which instance is in which group as an (n, n_groups) matrix of 0 and 1."""
    xp = namespace(groups)
    columns = xp.arange(n_groups, dtype=groups.dtype, device=device(groups))
    return xp.astype(groups[:, None] == columns, dtype or xp.float64)


def count_cells(cells: Array, n_cells: int, weights: Array | None = None) -> Array:
    """Count cells (b, n) of whole numbers -> (b, n_cells); entries of `n_cells` or more count nowhere.

    `weights` (b, n) or (1, n) makes it a weighted count.
    """
    if not on_accelerator(cells):
        host_weights = None if weights is None else to_host(weights)
        return like(_count_numpy(to_host(cells), n_cells, host_weights), cells)
    if weights is None and label_kernels.usable(cells):
        return as_float64(label_kernels.cell_counts(cells, n_cells))
    import torch

    b = cells.shape[0]
    if weights is not None and b == 1:
        return sums_in_runs(as_float64(weights[0, :]), cells[0, :], n_cells)[None, :]
    alike = cells.stride(0) == 0  # the same cells for all: one product, if they are not many
    if weights is not None and alike and n_cells <= _MOST_COLUMNS:
        return group_sums(torch.broadcast_to(weights, cells.shape), cells[0, :], n_cells)
    offsets = torch.arange(b, device=cells.device)[:, None] * (n_cells + 1)
    flat = (torch.clamp(cells.to(torch.int64), max=n_cells) + offsets).reshape(-1)
    size = b * (n_cells + 1)
    if weights is None:
        counted = torch.bincount(flat, minlength=size).to(torch.float64)
    else:
        spread = torch.broadcast_to(weights, cells.shape).reshape(-1)
        counted = torch.zeros(size, dtype=torch.float64, device=cells.device)
        # sorts, so that equal cells are added in one order
        counted = counted.index_put((flat,), spread.to(torch.float64), accumulate=True)
    return counted.reshape(b, n_cells + 1)[:, :n_cells]


def sums_in_runs(values: Array, cells: Array, n_cells: int) -> Array:
    """Sum values (n,) per cell, (n_cells,): rows of one cell next to each other have one order."""
    import torch

    ordered, order = torch.sort(torch.clamp(cells, max=n_cells), stable=True)
    ends = torch.searchsorted(
        ordered, torch.arange(n_cells + 1, dtype=cells.dtype, device=cells.device), right=True
    )
    lengths = torch.diff(ends, prepend=ends.new_zeros(1))
    return torch.segment_reduce(values[order], "sum", lengths=lengths)[:n_cells]


def _count_numpy(cells: HostArray, n_cells: int, weights: HostArray | None) -> HostArray:
    if len(cells) == 1:  # of one label vector, whose cost is that of the calls
        count = np.bincount(cells[0], None if weights is None else weights[0], n_cells)
        return count[None, :n_cells].astype(np.float64, copy=False)
    spread = itertools.repeat(None) if weights is None else np.broadcast_to(weights, cells.shape)
    counts = [np.bincount(row, weight, n_cells)[:n_cells] for row, weight in zip(cells, spread, strict=False)]
    return np.array(counts, dtype=np.float64).reshape(len(cells), n_cells)


T = TypeVar("T")


class State(dict[str, Array]):
    """Named sums with the replicates on the leading axis; addition merges disjoint rows."""

    def __add__(self, other: State) -> State:
        if self.keys() != other.keys():
            raise InputError(
                "states",
                "must come from one statistic to be added",
                f"got fields {sorted(self)} and {sorted(other)}",
                "Merge the states of one bound statistic at a time.",
            )
        return State({name: self[name] + other[name] for name in self})


@dataclasses.dataclass(frozen=True)
class Span(Generic[T]):
    """The sum over rows `start` to `stop`."""

    start: int
    stop: int
    value: T


class RowSums(Generic[T]):
    """Adds spans that are pushed in the order of their rows.

    Parameters
    ----------
    leaf : int
        Rows of a leaf.
    add : callable
        Adds the values of two spans that follow each other.
    """

    def __init__(self, leaf: int, add: Callable[[T, T], T]) -> None:
        self.leaf, self.add = leaf, add
        self.spans: list[Span[T]] = []
        """What is added up so far: no two of these may be added before more rows are known."""

    def push(self, span: Span[T]) -> None:
        """Add the next rows."""
        while self.spans and self._together(self.spans[-1], span):
            before = self.spans.pop()
            span = Span(before.start, span.stop, self.add(before.value, span.value))
        self.spans.append(span)

    def _together(self, left: Span[T], right: Span[T]) -> bool:
        """Tell whether two spans are parts of one leaf, or the halves of one larger node."""
        if left.start // self.leaf == (right.stop - 1) // self.leaf:
            return True
        size = right.stop - right.start
        return size % self.leaf == 0 and left.stop - left.start == size and left.start % (2 * size) == 0

    def total(self) -> T:
        """Return the sum of all rows, the shortest spans first."""
        *rest, last = self.spans
        total = last.value
        for span in reversed(rest):
            total = self.add(span.value, total)
        return total


def leaves(start: int, stop: int, leaf: int) -> Iterator[slice]:
    """Cut rows `start` to `stop` of all rows where leaves end; slices count from `start`."""
    edge = start
    while edge < stop:
        following = min(stop, (edge // leaf + 1) * leaf)
        yield slice(edge - start, following - start)
        edge = following
