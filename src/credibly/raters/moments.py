"""Sums over cells and rows from which every term, its calibration part and its standard error follow.

First pass, per cell (a column and a bin of its predicted value): sizes and sums of what was predicted and
observed; they give the calibration loss of the cell, U = mean of d_i d_j over pairs of rows, with
d = observed - predicted. Second pass: first and second moments of each row's contributions to all terms. The
contribution to the calibration loss is its influence function, with the row itself left out of the mean that
it is multiplied by,

    h_i = 2 d_i mean_{j != i} d_j - U,      whose mean over the cell is U again.

With the row left in, d_i^2 would enter h and take spread away from terms that hold d_i^2 themselves: at 100
rows intervals of the dispersion loss would cover 84 %. All sums are linear in the rows, so tiles, files and
workers merge by addition.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, HostArray, is_numpy, like, namespace, to_host
from credibly._arrays.sums import count_cells
from credibly.statistics.protocol import State


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What raters showed and what was predicted about it, for the instances of one tile.

    Instances come last here, so that what belongs to an instance broadcasts along memory.

    Attributes
    ----------
    predicted, observed : array (c, n)
        The predicted value of every column and an unbiased estimate of it from the raters.
    means : tuple of array (c, n)
        Contributions of the instances to the terms that are plain means.
    weight : array (n,) or None
        Weights of the instances.
    variance : array (c, n) or None
        Variance of `observed` if the prediction were true.
    codes : ndarray (n,) or None
        Cluster of every instance, where they belong together.
    n_clusters : int
        Number of clusters of all instances.
    """

    predicted: Array
    observed: Array
    means: tuple[Array, ...]
    weight: Array | None
    variance: Array | None = None
    codes: HostArray | None = None
    n_clusters: int = 0

    def weighted(self, values: Array, power: int = 1) -> Array:
        """Return values (c, n) times the weights to a power."""
        return values if self.weight is None else values * self.weight**power


@dataclasses.dataclass(frozen=True)
class PairMeans:
    """Per cell: sum of the weighted deviations, the mean of d_i d_j over pairs, and two factors of h.

    ``h_i = 2 scale d_i (total - w_i d_i) - shift``, with scale W / (W^2 - sum w^2) and shift the mean;
    all are 0 where a cell has no pairs.
    """

    total: HostArray
    mean: HostArray
    shift: HostArray
    scale: HostArray
    of_clusters: HostArray | None = None
    """Sums of the weighted deviations per cluster and cell, (clusters, cells): left out with the row."""


def instances_last(values: Array) -> Array:
    """Return (n, c) as (c, n), in the order of memory where NumPy is to loop over it."""
    return np.ascontiguousarray(values.T) if is_numpy(values) else values.T


def cell_index(bins: Array, n_bins: int) -> Array:
    """Return column * n_bins + bin of every entry of bins (c, n), as one flat row."""
    xp = namespace(bins)
    columns = like(np.arange(bins.shape[0]) * n_bins, bins)
    return xp.reshape(xp.astype(bins, xp.int64) + xp.astype(columns, xp.int64)[:, None], (1, -1))


def cell_sums(evidence: Evidence, cells: Array, n_cells: int) -> State:
    """Return the sums of the first pass, (n_cells,) each, and the facts of all rows."""
    xp = namespace(evidence.predicted)

    def per_cell(values: Array) -> Array:
        return to_host(count_cells(cells, n_cells, xp.reshape(values, (1, -1))))[0]

    z, mu = evidence.predicted, evidence.observed
    state = State(predicted=per_cell(evidence.weighted(z)), observed=per_cell(evidence.weighted(mu)))
    state["square"] = per_cell(evidence.weighted((mu - z) ** 2, 2))
    if evidence.weight is None:
        size = to_host(count_cells(cells, n_cells))[0]
        state.update(size=size, weight=size, weight2=size)
        rows = float(z.shape[1])
        state.update(rows=np.asarray(rows), total=np.asarray(rows), total2=np.asarray(rows))
    else:
        ones, w = xp.ones_like(z), evidence.weight
        present = xp.astype(w > 0, z.dtype)
        state["size"] = per_cell(ones * present)
        state["weight"] = per_cell(evidence.weighted(ones))
        state["weight2"] = per_cell(evidence.weighted(ones, 2))
        state["rows"] = np.asarray(float(xp.sum(present)))
        state["total"] = np.asarray(float(xp.sum(w)))
        state["total2"] = np.asarray(float(xp.sum(w * w)))
    if evidence.variance is not None:
        state["variance"] = per_cell(evidence.weighted(evidence.variance, 2))
    if evidence.codes is not None:
        flat_cells = to_host(cells)[0]
        place = np.tile(evidence.codes, z.shape[0]) * n_cells + flat_cells
        for name, values in (("cluster_gap", mu - z), ("cluster_weight", xp.ones_like(z))):
            every = to_host(evidence.weighted(values)).ravel()
            sums = np.bincount(place, every, minlength=evidence.n_clusters * n_cells)
            state[name] = sums.reshape(evidence.n_clusters, n_cells)
    return state


def as_units(state: State) -> State:
    """Return the sums of the first pass with clusters in place of rows, where rows belong together."""
    if "cluster_gap" not in state:
        return state
    gap, weight = state["cluster_gap"], state["cluster_weight"]
    return State(
        state,
        square=np.sum(gap**2, axis=0),
        weight2=np.sum(weight**2, axis=0),
        size=np.count_nonzero(weight, axis=0).astype(np.float64),
    )


def row_moments(
    evidence: Evidence,
    cells: Array,
    pairs: PairMeans,
    products: Iterable[tuple[int, int]],
    offered: Sequence[tuple[float, ...]],
) -> State:
    """Return the sums of the second pass: moments of the contributions per cell and of their row sums.

    The contributions are those of `evidence.means`, then h. With t of them: ``first`` and ``first2`` (sums
    with weights w and w^2) are (t, n_cells), ``second`` (with w^2) is (t, t, n_cells), filled for `products`
    only; the same of the row sums over columns under ``rows_...``. ``third`` (s, 3, c) and ``rows_third``
    (s, 3) hold sums of w^3 v, w^3 v^2 and w^3 v^3, v the combinations `offered` of the contributions: they
    tell how skewed they are.
    """
    xp = namespace(evidence.predicted)
    shape, n_cells = evidence.predicted.shape, pairs.mean.size

    def of_cell(values: HostArray) -> Array:
        return xp.reshape(xp.take(like(values, evidence.predicted), cells[0, :], axis=0), shape)

    deviation = evidence.observed - evidence.predicted
    others = of_cell(pairs.total)
    if evidence.codes is None or pairs.of_clusters is None:
        others = others - evidence.weighted(deviation)
    else:
        inside = pairs.of_clusters[np.tile(evidence.codes, shape[0]), to_host(cells)[0]]
        others = others - like(inside.reshape(shape), deviation)
    basis = (*evidence.means, of_cell(2.0 * pairs.scale) * deviation * others - of_cell(pairs.shift))

    def per_cell(values: Array) -> Any:
        return to_host(count_cells(cells, n_cells, xp.reshape(values, (1, -1))))[0]

    once = [evidence.weighted(values) for values in basis]
    twice = once if evidence.weight is None else [evidence.weighted(values, 2) for values in basis]
    t = len(basis)
    second = np.zeros((t, t, n_cells))
    for a, b in products:
        second[a, b] = second[b, a] = per_cell(twice[a] * basis[b])
    first = np.stack([per_cell(values) for values in once])
    first2 = first if evidence.weight is None else np.stack([per_cell(values) for values in twice])

    rows = xp.stack([xp.sum(values, axis=0) for values in basis])  # (t, n)
    w = xp.ones_like(rows[0, :]) if evidence.weight is None else evidence.weight
    third = np.empty((len(offered), 3, shape[0]))
    rows_third = np.empty((len(offered), 3))
    for place, coefficients in enumerate(offered):
        used = [(a, factor) for a, factor in enumerate(coefficients) if factor]
        third[place] = _powers(sum(factor * basis[a] for a, factor in used), evidence.weight)
        rows_third[place] = _powers(sum(factor * rows[a, :] for a, factor in used), evidence.weight)
    more = State() if evidence.codes is None else _cluster_sums(basis, evidence)
    return State(
        more,
        third=third,
        rows_third=rows_third,
        total3=np.asarray(float(xp.sum(w * w * w))),
        first=first,
        first2=first2,
        second=second,
        rows_first=to_host(rows @ w),
        rows_first2=to_host(rows @ (w * w)),
        rows_second=to_host((rows * (w * w)[None, :]) @ rows.T),
    )


def _cluster_sums(basis: Sequence[Array], evidence: Evidence) -> State:
    """Return sums of all contributions per column and cluster, (t, c, clusters), and sizes of clusters."""
    codes, number = evidence.codes, evidence.n_clusters
    assert codes is not None
    every = [to_host(evidence.weighted(values)) for values in basis]
    sums = [[np.bincount(codes, row, minlength=number) for row in values] for values in every]
    weight = np.ones(codes.size) if evidence.weight is None else to_host(evidence.weight)
    return State(
        clusters=np.array(sums),
        clusters_weight=np.bincount(codes, weight, minlength=number),
        clusters_size=np.bincount(codes, minlength=number).astype(np.float64),
    )


def _powers(values: Array, weight: Array | None) -> HostArray:
    """Return the sums of w^3 v, w^3 v^2 and w^3 v^3 over the instances, (3, ...)."""
    xp = namespace(values)
    square = values * values
    first = values if weight is None else values * weight**3
    second = square if weight is None else square * weight**3
    sums = [xp.sum(part, axis=-1) for part in (first, second, second * values)]
    return np.stack([to_host(part) for part in sums])
