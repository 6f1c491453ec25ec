"""Kernels between predictions: a shape and a bandwidth.

    exponential  exp(-||p - q|| / bandwidth)          gaussian  exp(-||p - q||^2 / (2 bandwidth^2))

Real values also use the centred kernel of `centred_kernel`.

Distances are euclidean, from differences entry by entry. For rows with many entries |p|^2 + |q|^2 - 2 p.q is
faster, but it puts duplicates 1e-8 apart, so it is used only where rows are far enough from each other.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, one_of
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    device,
    is_array,
    is_numpy,
    is_torch,
    like,
    namespace,
    on_accelerator,
    tiles,
    to_host,
)
from credibly.predictions import ClassPredictions, Dataset, Predictions, Rows, as_point
from credibly.predictions.rows import weights_of_rows
from credibly.statistics.batches import positive

KernelName = Literal["exponential", "gaussian"]
KERNELS = ("exponential", "gaussian")

MEDIAN_ROWS = 1000
"""Rows the median distance is taken over: half a million pairs."""

_MANY_ENTRIES, _FEWEST_ROWS = 32, 32
"""Entries of a row from which on products are faster than differences; rows in a product, at least."""

_NEAR, _MANY_NEAR = 1e-3, 0.05
"""Squared distance, in units of the squared sizes of two rows, below which products have lost digits, and the
share of such pairs from which on differences of all pairs are faster."""

_FEW_CLASSES = 64  # on an accelerator adding up class by class beats one thread block per pair


def check_bandwidth(bandwidth: Any, rule: str, name: str = "`bandwidth`") -> None:
    """Raise unless the bandwidth is a positive number or the name of the rule."""
    if isinstance(bandwidth, str):
        one_of(name, bandwidth, (rule,))
    elif isinstance(bandwidth, bool) or not (np.isfinite(float(bandwidth)) and float(bandwidth) > 0):
        raise InputError(name, f"must be positive or {rule!r}", f"got {bandwidth!r}", "Try 0.1, or the rule.")


def distances(left: Array, right: Array) -> Array:
    """Return ||left_i - right_j||, (n, k), (m, k) -> (n, m); gradients at distance 0 are 0."""
    if is_numpy(left):
        many = left.shape[1] >= _MANY_ENTRIES
        distance = (
            _from_products(as_float64(left), as_float64(right)) if many else _by_differences(left, right)
        )
        return distance.astype(left.dtype, copy=False)
    if is_torch(left) and (not on_accelerator(left) or left.shape[1] > _FEW_CLASSES):
        import torch

        return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist")
    return _class_by_class(left, right)


def _by_differences(left: HostArray, right: HostArray) -> Any:
    from scipy.spatial.distance import cdist  # whose import takes a tenth of a second

    return cdist(left, right)


def _from_products(left: HostArray, right: HostArray) -> HostArray:
    """Return euclidean distances from products, or from differences if rows are near."""
    size, other = np.vecdot(left, left)[:, None], np.vecdot(right, right)
    distance = np.empty((left.shape[0], right.shape[0]))
    for rows in tiles(left.shape[0], max(_FEWEST_ROWS, CACHE_ELEMENTS // max(1, right.shape[0]))):
        sizes = size[rows] + other
        squares = np.matmul(left[rows], right.T, out=distance[rows])
        squares *= -2.0
        squares += sizes
        sizes *= _NEAR
        near, to = np.nonzero(squares <= sizes)
        if near.size > _MANY_NEAR * squares.size:
            distance[rows] = _by_differences(left[rows], right)
            continue
        for part in tiles(near.size, CACHE_ELEMENTS // left.shape[1]):
            gap = np.take(left[rows], near[part], axis=0) - np.take(right, to[part], axis=0)
            squares[near[part], to[part]] = np.vecdot(gap, gap)
        np.sqrt(squares, out=squares)
    return distance


def _class_by_class(left: Array, right: Array) -> Array:
    """Add up the classes one by one: nothing of size (n, m, k) is made."""
    xp = namespace(left)
    total = xp.zeros((left.shape[0], right.shape[0]), dtype=left.dtype, device=device(left))
    for column in range(left.shape[1]):
        gap = left[:, column, None] - right[None, :, column]
        total = total + gap * gap
    return xp.where(total > 0, xp.sqrt(positive(total)), total)  # the root has no derivative at 0


def kernel_matrix(left: Array, right: Array, kernel: KernelName, bandwidth: Any) -> Array:
    """Return the kernel of every pair, (n, k), (m, k) -> (n, m)."""
    distance = distances(left, right)
    if kernel == "gaussian":
        return flushed(exponential(distance * distance * (-0.5 / (bandwidth * bandwidth))))
    return flushed(exponential(scaled(distance, -1.0 / bandwidth)))


def scaled(values: Array, factor: Any) -> Array:
    """Return values times a factor, in place where a large array is written over faster than copied."""
    return np.multiply(values, factor, out=values) if is_numpy(values) else values * factor


def centred_kernel(kernel: Array, left: Array, right: Array, level: Any) -> Array:
    """Return <a_i, b_j> of vectors of length 1 from a kernel (n, m) and means of it, (n,), (m,) or (n, 1).

    A place phi loses the mean place mu and gains a constant: <phi - mu, phi' - mu> + c = k - m - m' + level
    with m = <phi, mu> and level = <mu, mu> + c. Divided by its own length, every k(p, p) stays 1.
    """
    xp = namespace(kernel)
    if is_numpy(kernel):  # which nothing else holds
        kernel -= left
        kernel -= right - level
    else:
        level = xp.astype(level, kernel.dtype)
        kernel = kernel - left - (right - level)
    of_left, of_right = (1.0 / xp.sqrt(1.0 - 2.0 * mean + level) for mean in (left, right))
    return scaled(scaled(kernel, of_left), of_right)


def largest_term(label_kernel: HostArray | None) -> float:
    """Return the largest possible |k_ij r_i' L r_j| for a kernel of at most 1.

    r = e_a - p is a mixture of e_a - e_c, so r' L r is at most max (L_aa + L_cc - 2 L_ac), which is 2 for
    the identity.
    """
    if label_kernel is None:
        return 2.0
    diagonal = np.diag(label_kernel)
    return float(np.max(diagonal[:, None] + diagonal[None, :] - 2.0 * label_kernel))


def distinct_rows(probs: Array, most: int) -> np.ndarray[Any, Any]:
    """Return the indices of distinct predictions among at most `most` evenly spaced rows.

    Without duplicates a bandwidth does not depend on how often a prediction occurs, so multiplicities and
    repeated rows agree; evenly spaced rows need no random numbers.
    """
    n = probs.shape[0]
    chosen = spaced(n, most)
    host = to_host(taken(probs, chosen) if n > most else probs)
    _, first = np.unique(host, axis=0, return_index=True)
    return chosen[np.sort(first)]


def spaced(n: int, most: int) -> np.ndarray[Any, Any]:
    """Return the indices of at most `most` evenly spaced rows of n."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.int64)


def spaced_rows(rows: Rows, most: int) -> Predictions:
    """Return at most `most` evenly spaced rows for choosing a bandwidth; class predictions are averaged.

    Rows with weights are spaced as if each were listed as often as its weight says: one of weight 0 is not.
    """
    chosen = spaced(rows.n, most)
    if rows.example.checked_weights is not None:
        chosen = _spaced_by_weight(np.concatenate(list(rows.map(weights_of_rows))), most)
    first, *others = (part for part in rows.map(partial(_rows_among, chosen)) if part is not None)
    if not others:  # on its device, with its graph
        return first
    arrays = [part.row_arrays() for part in (first, *others)]
    together = {name: np.concatenate([to_host(part[name]) for part in arrays]) for name in arrays[0]}
    return first.replace_rows(**together)


def spaced_probs(rows: Rows, most: int) -> Array:
    """Return the mean predictions of evenly spaced rows, (most, k), in double precision."""
    return as_float64(as_point(spaced_rows(rows, most))[0].probs)


def _spaced_by_weight(weights: np.ndarray[Any, Any], most: int) -> np.ndarray[Any, Any]:
    total = float(weights.sum())
    if total > most:
        heights = spaced(round(total), most)
        return np.unique(np.searchsorted(np.cumsum(weights), heights, side="right"))
    present = np.flatnonzero(weights > 0)
    return np.asarray(present[spaced(present.size, most)])


def _rows_among(chosen: np.ndarray[Any, Any], rows: Dataset) -> Predictions | None:
    """Return the chosen rows that are in a dataset; None if there are none."""
    first, last = np.searchsorted(chosen, [rows.start, rows.start + len(rows)])
    if first == last:
        return None
    part = rows.predictions[chosen[first:last] - rows.start]
    return as_point(part)[0] if isinstance(part, ClassPredictions) else part


def taken(probs: Array, rows: np.ndarray[Any, Any]) -> Array:
    """Return some rows, by host indices."""
    return namespace(probs).take(probs, like(rows, probs), axis=0)


def median_distance(probs: Array, distance: str = "euclidean distance") -> tuple[Any, tuple[str, ...]]:
    """Return the median distance between distinct predictions, and the note that reports it.

    `distance` names it where `probs` are places of real-valued predictions.
    """
    chosen = distinct_rows(probs, MEDIAN_ROWS)
    if chosen.size < 2:
        return 1.0, ("all predictions are equal, so the bandwidth does not matter; 1 is used",)
    points = taken(probs, chosen)
    if not tracks_gradient(probs):
        points = as_float64(to_host(points))
    bandwidth = median(distances(points, points)[np.triu_indices(chosen.size, 1)])
    what = f"the median {distance} of {chosen.size} distinct predictions"
    return bandwidth, (f"bandwidth {as_number(bandwidth):.4g} is {what}",)


def median(values: Array) -> Any:
    """Return the median; its own gradient belongs to the gradient of the number that is returned."""
    if not tracks_gradient(values):
        return float(np.median(values))
    ordered, middle = namespace(values).sort(values), values.shape[0] // 2
    return ordered[middle] if values.shape[0] % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


def as_number(value: Any) -> float:
    """Return a number or a one-element array as a float, outside any graph."""
    return float(to_host(value)) if is_array(value) else float(value)


def tracks_gradient(probs: Array) -> bool:
    """Tell whether results must carry a graph back to the predictions."""
    if not is_torch(probs) or not probs.requires_grad:
        return False
    import torch

    return torch.is_grad_enabled()


def set_diagonal(tile: Array, start: int, value: Array | float) -> Array:
    """Return the tile with the entries (j, start + j) replaced, in place where the library allows it.

    All get the same value, or each its own, (rows,).
    """
    xp = namespace(tile)
    at = xp.arange(tile.shape[0], device=device(tile))
    if is_numpy(tile) or is_torch(tile):
        tile[at, at + start] = value
        return tile
    columns = xp.arange(tile.shape[1], device=device(tile))
    new = xp.full_like(tile, value) if isinstance(value, float) else value[:, None]
    return xp.where(columns[None, :] == at[:, None] + start, new, tile)


def flushed(values: Array) -> Array:
    """Return non-negative values with those near the denormal range set to 0, which changes no sum.

    Denormal numbers make a matrix product several times slower. The bound stands 1/eps above the smallest
    normal number, so that products with label values cannot fall below it either.
    """
    xp = namespace(values)
    facts = xp.finfo(values.dtype)
    least = float(facts.smallest_normal) / float(facts.eps)
    if is_numpy(values):
        np.putmask(values, values < least, 0)
        return values
    if is_torch(values):
        import torch

        return torch.nn.functional.threshold(values, least, 0.0, inplace=not values.requires_grad)
    return xp.where(values < least, xp.zeros_like(values), values)


def exponential(values: Array) -> Array:
    """Return exp(values), in place where nothing else needs them."""
    if is_numpy(values):
        with np.errstate(under="ignore"):
            return np.exp(values, out=values)
    if is_torch(values) and not values.requires_grad:
        return values.exp_()
    return namespace(values).exp(values)
