"""The two passes over a population: sums of the cells and their calibration loss, then moments and levels.

The calibration loss is a sum over cells of weight share times squared gap. A squared mean is too large by the
variance of the mean; the debiased value replaces it by the mean over pairs of different rows, d_i d_j, which
has no such bias: d_i = mu_i - z_i is the gap between observation and prediction of the row itself. A cell
with one row has no pairs and adds 0.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, HostArray, namespace, to_host
from credibly._arrays.order_statistics import order_statistics
from credibly.predictions import Dataset
from credibly.predictions.clusters import Clusters
from credibly.predictions.rows import weights_of_rows
from credibly.raters.levels import Level, TermFactors, levels, products_of
from credibly.raters.moments import Evidence, PairMeans, as_units, cell_index, cell_sums, row_moments
from credibly.raters.population import Population
from credibly.results.decompositions import RaterBins
from credibly.statistics.cells import (
    Binning,
    Closed,
    bin_index,
    check_bins,
    edge_ranks,
    weight_ranks,
    width_edges,
    with_ends,
)
from credibly.statistics.protocol import State

InCells = tuple[Evidence, Array]
"""Evidence of a tile and the cell of each of its entries."""

_KEPT_ELEMENTS = 2**19


@dataclasses.dataclass(frozen=True)
class Binned:
    """How predicted values are binned."""

    n_bins: int
    binning: Binning
    closed: Closed

    def __post_init__(self) -> None:
        check_bins(self.n_bins, self.binning, self.closed)


@dataclasses.dataclass(frozen=True)
class Summary:
    """Debiased totals and columns, plug-in totals, and the bins behind them."""

    debiased: tuple[Level, Level]
    plugin: Level
    bins: RaterBins


def summarise(
    population: Population,
    evidence: Callable[[Dataset], Evidence],
    cut: Binned,
    terms: Sequence[TermFactors],
    offered: TermFactors,
    settings: Mapping[str, Any],
    *,
    least: int | None = None,
) -> Summary:
    """Read the population twice (small ones once) and return the means behind all terms, with errors."""
    edges = edges_of(population, evidence, cut, least)
    clusters = population.rows.clusters
    read = _reader(population, partial(_in_cells, evidence, edges, cut, clusters), least)
    raw = read(partial(_cell_sums, cut.n_bins))
    sums = as_units(raw)
    pair_means, products = pairs(sums), products_of(terms)
    offers = list(offered.values())
    moments = read(partial(row_moments, pairs=pair_means, products=products, offered=offers))
    n_columns = pair_means.mean.size // cut.n_bins
    rows, columns = levels(sums, moments, n_columns, offered, settings, population.notes)
    floor = least_variance(sums).reshape(n_columns, cut.n_bins)
    # deviations of c classes that share a sum of 0 have squared correlations that add up to c / (c - 1)
    shared = n_columns / (n_columns - 1) if n_columns > 1 else 1.0
    rows, columns = rows.with_floor(floor.ravel(), shared), columns.with_floor(floor, 1.0)
    loss = debiased_loss(sums)
    per_column = loss.reshape(n_columns, cut.n_bins).sum(axis=1)
    return Summary(
        (rows.with_calibration(loss.sum()), columns.with_calibration(per_column)),
        rows.with_calibration(plugin_loss(sums).sum()),
        _bins(raw, edges, cut.n_bins),
    )


def _reader(
    population: Population, locate: Callable[[Dataset], InCells], least: int | None
) -> Callable[[Callable[[Evidence, Array], State]], State]:
    """Return what adds up a function over all tiles; tiles of small populations are kept between passes."""
    if population.n * population.n_classes > _KEPT_ELEMENTS:
        return lambda function: population.sum(partial(_of_cells, function, locate), least=least)
    kept = list(population.map(locate, least=least))
    return lambda function: reduce(operator.add, (function(*entry) for entry in kept))


def edges_of(
    population: Population, evidence: Callable[[Dataset], Evidence], cut: Binned, least: int | None
) -> HostArray:
    """Return the edges of the bins: the same for all columns, or one row per column."""
    if cut.binning == "equal_width":
        return width_edges(cut.n_bins)

    def read(use: Callable[..., Any]) -> Iterator[Any]:
        work = partial(_of_predicted, use, evidence)
        return (part for part in population.reduce(work, least=least) if part is not None)

    n_columns = next(read(_width))
    if population.rows.example.checked_weights is None:
        n = population.n if least is None else population.n + population.n_left_out
        ranks = edge_ranks(n, cut.n_bins, cut.closed)
    else:
        ranks = weight_ranks(sum(read(_total_weight)), cut.n_bins, cut.closed)
    return with_ends(order_statistics(read, ranks, n_columns))


# Functions of a module and `partial`, no closures: work on a chunk may be sent to another process.


def _in_cells(
    evidence: Callable[[Dataset], Evidence],
    edges: HostArray,
    cut: Binned,
    clusters: Clusters | None,
    tile: Dataset,
) -> InCells:
    tile_evidence = evidence(tile)
    if clusters is not None:
        codes = clusters.codes(tile.clusters)
        tile_evidence = dataclasses.replace(tile_evidence, codes=codes, n_clusters=clusters.number)
    return tile_evidence, cell_index(bins_of(tile_evidence.predicted, edges, cut.closed), cut.n_bins)


def _of_cells(
    function: Callable[[Evidence, Array], State], locate: Callable[[Dataset], InCells], tile: Dataset
) -> State:
    return function(*locate(tile))


def _cell_sums(n_bins: int, tile_evidence: Evidence, cells: Array) -> State:
    return cell_sums(tile_evidence, cells, tile_evidence.predicted.shape[0] * n_bins)


def _of_predicted(
    use: Callable[..., Any], evidence: Callable[[Dataset], Evidence], tiles_of_rows: Iterator[Dataset]
) -> Any:
    parts = [(to_host(evidence(tile).predicted.T), tile) for tile in tiles_of_rows]
    if not parts:
        return None
    values = np.concatenate([value for value, _ in parts])
    if parts[0][1].checked_weights is None:
        return use(values)
    return use(values, np.concatenate([weights_of_rows(tile) for _, tile in parts]))


def _width(values: HostArray, weights: HostArray | None = None) -> int:
    return int(values.shape[1])


def _total_weight(values: HostArray, weights: HostArray) -> float:
    return float(weights.sum())


def bins_of(values: Array, edges: HostArray, closed: Closed) -> Array:
    """Return the bin of every value of (c, n); two-dimensional edges have one row per column."""
    if edges.ndim == 1:
        return bin_index(values, edges, closed)
    bins = [bin_index(values[column, :], column_edges, closed) for column, column_edges in enumerate(edges)]
    return namespace(values).stack(bins, axis=0)


def _bins(sums: State, edges: HostArray, n_bins: int) -> RaterBins:
    def shaped(values: HostArray) -> HostArray:
        return values.reshape(-1, n_bins)

    weight = sums["weight"]
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(sums["variance"]) / weight if "variance" in sums else None
        return RaterBins(
            edges=edges,
            count=shaped(sums["size"]).astype(np.int64),
            weight=shaped(weight / sums["total"]),
            predicted=shaped(sums["predicted"] / weight),
            observed=shaped(sums["observed"] / weight),
            sampling_error=None if error is None else shaped(error),
        )


def plugin_loss(state: State) -> HostArray:
    """Return weight share times squared gap, per cell."""
    weight = state["weight"]
    gap = (state["observed"] - state["predicted"]) / np.where(weight > 0, weight, 1.0)
    return np.asarray(weight / state["total"] * gap**2)


def pairs(state: State) -> PairMeans:
    """Return the sums and means over pairs of rows, per cell."""
    weight = state["weight"]
    total = state["observed"] - state["predicted"]
    several = state["size"] > 1
    number = np.where(several, weight**2 - state["weight2"], 1.0)
    mean = np.where(several, (total**2 - state["square"]) / number, 0.0)
    # a cell of two rows has one product, and both rows would share its spread: half of it would be lost
    spread = np.where(state["size"] == 2, math.sqrt(2.0), 1.0)
    scale = np.where(several, spread * weight / number, 0.0)
    return PairMeans(total, mean, spread * mean, scale, state.get("cluster_gap"))


def debiased_loss(state: State) -> HostArray:
    """Return weight share times the mean of d_i d_j over pairs, per cell."""
    return np.asarray(state["weight"] / state["total"] * pairs(state).mean)


def least_variance(state: State) -> HostArray:
    """Return the variance that the debiased loss of a cell has where its gap is zero.

    There the products d_i d_j have no common first-order part, and a standard error from the rows alone is
    small by chance when the estimated gap is: the interval of a single cell would miss zero in 18 % of
    samples. This variance, 2 (|cell| / N)^2 sigma^4 / (m (m - 1)), is the floor.
    """
    weight, weight2, size = state["weight"], state["weight2"], state["size"]
    several = size > 1
    filled, filled2 = np.where(several, weight, 1.0), np.where(several, weight2, 1.0)
    gap = (state["observed"] - state["predicted"]) / filled
    freedom = np.where(several, size / np.where(several, size - 1.0, 1.0), 0.0)
    sigma2 = np.maximum(state["square"] / filled2 - gap**2, 0.0) * freedom
    pairs_left = np.where(several, filled**2 - weight2, 1.0)
    spread = 2.0 * sigma2**2 * (filled2 / filled**2) * (filled2 / pairs_left)
    return np.asarray(np.where(several, (weight / state["total"]) ** 2 * spread, 0.0))
