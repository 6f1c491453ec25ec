"""Sums over groups of instances for whole batches: the two loops every binned statistic needs.

Scatter-add is missing from the array API standard and its order is not fixed on CUDA. Fixed groups become
one product with an indicator matrix; groups that depend on the label become a count of whole numbers, which
has one result in any order.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import (
    Array,
    as_float64,
    device,
    is_numpy,
    is_torch,
    like,
    namespace,
    on_accelerator,
    to_host,
)
from credibly._arrays.tiles import CACHE_ELEMENTS, rows_within_budget, tiles


def group_sums(values: Array, groups: Array, n_groups: int) -> Array:
    """Sum values (b, n) over groups (n,) -> (b, n_groups), in double precision."""
    if _on_host(values):
        own = to_host(groups)
        summed = [np.bincount(own, weights=row, minlength=n_groups) for row in to_host(values)]
        return like(np.stack(summed), values)
    values = as_float64(values)
    total = 0.0
    for rows in tiles(values.shape[1], rows_within_budget(8 * n_groups)):
        total = total + values[:, rows] @ indicator(groups[rows], n_groups)
    return total


def add_mask(total: Array, mask: Array) -> None:
    """Add a boolean host mask to whole numbers in place; bytes are added as bytes, not cast in pieces."""
    total += mask.view(np.uint8) if total.dtype == np.uint8 else mask


def _on_host(array: Array) -> bool:
    """Tell whether NumPy sees the memory: adding up in torch has no fixed order on a CPU."""
    return is_numpy(array) or (is_torch(array) and not on_accelerator(array))


def indicator(groups: Array, n_groups: int, dtype: Array = None) -> Array:
    """Return which instance is in which group as an (n, n_groups) matrix of 0 and 1."""
    xp = namespace(groups)
    columns = xp.arange(n_groups, dtype=groups.dtype, device=device(groups))
    return xp.astype(groups[:, None] == columns, dtype or xp.float64)


def count_cells(cells: Array, n_cells: int, weights: Array | None = None) -> Array:
    """Count cells (b, n) of whole numbers -> (b, n_cells); entries of `n_cells` or more count nowhere.

    `weights` (b, n) or (1, n) makes it a weighted count.
    """
    if _on_host(cells):
        held = None if weights is None else to_host(weights)
        return like(_count_numpy(to_host(cells), n_cells, held), cells)
    xp = namespace(cells)
    b = cells.shape[0]
    if is_torch(cells):
        import torch

        if weights is not None and (b == 1 or cells.stride(0) == 0):  # the same cells for all
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
    ones = xp.ones(cells.shape, dtype=xp.float64, device=device(cells))
    spread = ones if weights is None else ones * weights
    columns = [
        xp.sum(xp.where(cells == cell, spread, xp.zeros_like(spread)), axis=1) for cell in range(n_cells)
    ]
    return xp.stack(columns, axis=1)


def _count_numpy(cells: Array, n_cells: int, weights: Array | None) -> Array:
    b, n = cells.shape
    if b == 1:
        spread = None if weights is None else weights[0]
        return np.bincount(cells[0], weights=spread, minlength=n_cells)[None, :n_cells].astype(np.float64)
    counted = np.empty((b, n_cells))
    step = max(1, CACHE_ELEMENTS // n)
    for reps in tiles(b, step):
        offsets = np.arange(reps.stop - reps.start)[:, None] * (n_cells + 1)
        flat = np.minimum(cells[reps], n_cells).astype(np.intp)
        flat += offsets
        spread = None
        if weights is not None:
            spread = np.broadcast_to(weights if len(weights) == 1 else weights[reps], flat.shape)
            spread = spread.ravel()
        size = (reps.stop - reps.start) * (n_cells + 1)
        found = np.bincount(flat.ravel(), weights=spread, minlength=size)
        counted[reps] = found.reshape(-1, n_cells + 1)[:, :n_cells]
    return counted
