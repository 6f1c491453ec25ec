"""Statistics whose instances meet in pairs: row tiles of an (n, n) matrix times all label vectors at once.

The matrix depends on predictions only. Labels become rows of a matrix of values, one row per replicate and
class, so

    values (b k, n) @ tile.T (n, rows)

serves every label vector of a batch with one matrix product per tile. Tiles fit the memory budget; they are
kept where all of them fit and made again otherwise.

Rows that do not fit come in blocks, of which two meet at a time; see `over_rows`.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    device,
    is_array,
    is_numpy,
    is_torch,
    memory_budget,
    namespace,
    on_accelerator,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly.predictions import Dataset, Labels, Predictions, as_point
from credibly.predictions.rows import RowChoice
from credibly.statistics.protocol import Bound, Plan, State, Statistic, replicates

_LEAST_ROWS = 128  # below this a product of a tile is no faster per row
_TRIANGLE_TILES = 8  # tiles of a symmetric matrix: half the work and one part in 16
_BATCH_VALUES = 2**19  # label values that are multiplied at a time, where nothing is lost by few
_ALIGNED = 8  # rows of a tile, a multiple of this: tensor cores read 16 bytes at a time
_GRAPH_ARRAYS = 8  # (n, n) arrays a graph keeps alive


@dataclasses.dataclass(frozen=True)
class BandwidthPlan(Plan):
    """Label-free facts of all rows: number of instances, bandwidth and how it was found."""

    bandwidth: Any = None
    notes: tuple[str, ...] = ()

    @property
    def number(self) -> float:
        """The bandwidth as a number, outside any graph."""
        return as_number(self.bandwidth)


def as_number(value: Any) -> float:
    """Return a number or a one-element array as a float, outside any graph."""
    return float(to_host(value)) if is_array(value) else float(value)


@dataclasses.dataclass(frozen=True)
class PairStatistic(Statistic):
    """Base of the statistics of pairs of rows, whose blocks can be bound each on its own."""

    _single: bool = dataclasses.field(default=False, kw_only=True, repr=False)

    @property
    def meets_in_blocks(self) -> bool:
        """Whether the value follows from blocks that meet two at a time."""
        return True

    @abstractmethod
    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> Bound:
        """Return the statistic bound to some rows, even to a single one."""

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(plan, BandwidthPlan)
        point, notes = as_point(predictions)
        require_pairs(self.name, plan.n)
        return self.bound(point, plan, (*notes, *plan.notes))


def in_single_precision(statistic: PairStatistic) -> PairStatistic:
    """Return the statistic with matrix products in single precision, which take half the time on a host.

    For tests on a part of the rows: all label vectors go through the same product, so p-values are as exact
    as in double precision.
    """
    return dataclasses.replace(statistic, _single=True)


class PairwiseBound(Bound):
    """An (n, n) matrix made in row tiles, and its products with label values.

    Subclasses say what a tile is (`tile`), what labels become (`values`) and what a product adds to the state
    (`contribution`).
    """

    symmetric = False
    """Whether a tile of rows needs only the columns from its first row on."""

    def __init__(self, statistic: PairStatistic, probs: Array, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, plan.n, notes)
        self.tracked = tracks_gradient(probs)
        if self.tracked:
            _require_graph_fits(statistic.name, probs)
        xp = namespace(probs)
        self.dtype = xp.float32 if statistic._single else xp.float64
        self.exact = as_float64(probs)
        self.probs = xp.astype(self.exact, self.dtype)  # (n, k)
        self._kept: dict[tuple[int, bool], Any] = {}

    @property
    def width(self) -> int:
        """Numbers that a label becomes, one per class."""
        return int(self.probs.shape[1])

    @abstractmethod
    def tile(self, rows: slice, weighted: bool) -> Any:
        """Return the matrix of these rows: all columns, or from the first row on where symmetric.

        `weighted` says that instances have multiplicities.
        """

    @abstractmethod
    def values(self, labels: Labels) -> Array:
        """Return what is multiplied, (b k, n), replicates in front."""

    @abstractmethod
    def contribution(self, tile: Any, rows: slice, values: Array, labels: Labels) -> State:
        """Return what these rows add for these replicates, in double precision."""

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Return the sums of a block of rows against all rows (default: all).

        Disjoint blocks that cover all rows add up to the whole, so blocks can be different tasks.
        """
        require_same_n(labels, self.n)
        first, last, _ = slice(None).indices(self.n) if rows is None else rows.indices(self.n)
        # One grid of tiles whatever the block, so that kept tiles serve every call.
        grid = list(tiles(self.n, self._rows_per_tile()))
        blocks = [
            slice(max(first, t.start), min(last, t.stop)) for t in grid if t.start < last and first < t.stop
        ]
        batches = list(tiles(len(labels), self._replicates_per_batch(self.width)))
        keep = self._keeps_tiles()
        # Whichever is dearer to make again stays in the outer loop.
        pairs = (
            [(block, batch) for batch in batches for block in blocks]
            if keep
            else [(block, batch) for block in blocks for batch in batches]
        )
        sums: dict[int, State] = {}
        values_of: tuple[int, Array] | None = None
        tile_of: tuple[int, Any] | None = None
        for block, batch in pairs:
            part = replicates(labels, batch)
            if values_of is None or values_of[0] != batch.start:
                values_of = None  # let go of the old before the new is made
                values_of = batch.start, self.values(part)
            if tile_of is None or tile_of[0] != block.start:
                tile_of = None
                tile_of = block.start, self._tile(block, labels.weights is not None, keep and block in grid)
            found = self.contribution(tile_of[1], block, values_of[1], part)
            before = sums.get(batch.start)
            sums[batch.start] = found if before is None else before + found
        xp = namespace(self.probs)
        parts = [sums[batch.start] for batch in batches]
        return State({name: xp.concat([part[name] for part in parts]) for name in parts[0]})

    @abstractmethod
    def meet(self, before: Any, other: Self, labels: Labels, other_labels: Labels) -> Any:
        """Add what the bound rows get from the rows bound by `other` to what they got `before`.

        For blocks of rows that are bound each on its own. Where symmetric, a pair of blocks meets once, and
        both orders count. `other` may be this one; `before` is None at first.
        """

    @abstractmethod
    def met(self, sums: Any, labels: Labels) -> State:
        """Return the state of the bound rows once they have met all others."""

    def product(self, values: Array, matrix: Array) -> Array:
        """Return values @ matrix.T, (b k, rows)."""
        with _full_products(values):
            if on_accelerator(values):
                # rows of the result are as long as a tile, which is aligned; label vectors come in any number
                return values @ matrix.T
            return (matrix @ values.T).T  # this order multiplies narrow tiles faster

    def _tile(self, rows: slice, weighted: bool, keep: bool) -> Any:
        key = (rows.start, weighted)
        found = self._kept.get(key) if keep else None
        if found is None:
            found = self.tile(rows, weighted)
            if keep:
                self._kept[key] = found
        return found

    def _item_bytes(self) -> int:
        return 8 if self.dtype == self.exact.dtype else 4

    def _keeps_tiles(self) -> bool:
        size = self.n * self.n * self._item_bytes() // (2 if self.symmetric else 1)
        return not self.tracked and size <= memory_budget() // 3

    def _rows_per_tile(self) -> int:
        if self.tracked:
            return self.n
        # A tile and a temporary of its size. The larger the tile, the rarer label values are made again.
        rows = rows_within_budget(2 * self.n * self._item_bytes(), 0.6)
        if self.symmetric:
            rows = min(rows, max(_LEAST_ROWS, -(-self.n // _TRIANGLE_TILES)))
        return rows if rows < _ALIGNED else rows - rows % _ALIGNED

    def _replicates_per_batch(self, n_classes: int) -> int:
        width = self.n + 2 * min(self.n, self._rows_per_tile())  # values, product, its temporary
        fits = rows_within_budget(n_classes * width * self._item_bytes(), 0.25)
        # tiles that are kept are at hand for every batch, so that few label values at a time stay in cache
        few = self.symmetric and self._keeps_tiles() and not on_accelerator(self.probs)
        return min(fits, max(1, _BATCH_VALUES // (n_classes * self.n))) if few else fits


@dataclasses.dataclass(frozen=True)
class Block:
    """Predictions and labels of consecutive rows, of which `start` is the first among all.

    Of classes these are mean predictions, of draws pools with their labels. `codes` are the numbers of the
    clusters.
    """

    start: int
    predictions: Predictions
    labels: Labels
    notes: tuple[str, ...] = ()
    codes: HostArray | None = None

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, rows: slice) -> Block:
        codes = None if self.codes is None else self.codes[rows]
        return Block(
            self.start + rows.start, self.predictions[rows], self.labels.rows(rows), self.notes, codes
        )


Pose = Callable[[Dataset], Dataset]
"""From rows to rows as a statistic of pairs sees them: of draws, pools with their labels."""


@dataclasses.dataclass(frozen=True, eq=False)
class Posed(RowChoice):
    """All rows as a statistic of pairs sees them."""

    pose: Pose

    @property
    def choose(self) -> Pose:
        """All rows."""
        return self.pose

    @property
    def sample(self) -> Dataset:
        """The first rows."""
        return self.pose(self.whole.sample)


def by_clusters(
    terms: Array, codes: HostArray, other_codes: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """Return clusters of rows, clusters of columns, and the sums of terms (rows, columns) between them."""
    found, present = to_host(terms), []
    for own in (other_codes, codes):
        order = np.argsort(own, kind="stable")
        names, starts = np.unique(own[order], return_index=True)
        found = np.add.reduceat(found[:, order], starts, axis=1).T
        present.append(names)
    return present[1], present[0], found


class ClusterSums:
    """Sums of h_ij between clusters: s' B s over the number of pairs is the value of signs s."""

    def __init__(self, number: int) -> None:
        self.between = np.zeros((number, number))  # both orders of a pair may stand in one entry
        self.weight = np.zeros(number)

    def add(self, rows: HostArray, columns: HostArray, sums: HostArray) -> None:
        """Add sums between some clusters, each of which is named once."""
        self.between[np.ix_(rows, columns)] += sums

    def weigh(self, codes: HostArray, labels: Labels) -> None:
        """Add the weights of some rows."""
        own = None if labels.weights is None else to_host(labels.weights)[0]
        self.weight += np.bincount(codes, own, minlength=self.weight.size)

    def states(self) -> tuple[State, State]:
        """Return how many pairs are of different clusters, and the sums between every two of them."""
        np.fill_diagonal(self.between, 0.0)
        own = self.weight
        return State(pairs=np.array([own.sum() ** 2 - own @ own])), State(between=self.between)


def set_diagonal(tile: Array, start: int, value: float) -> Array:
    """Return the tile with the entries (j, start + j) replaced, in place where the library allows it."""
    xp = namespace(tile)
    at = xp.arange(tile.shape[0], device=device(tile))
    if is_numpy(tile) or is_torch(tile):
        tile[at, at + start] = value
        return tile
    columns = xp.arange(tile.shape[1], device=device(tile))
    return xp.where(columns[None, :] == at[:, None] + start, xp.full_like(tile, value), tile)


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


@contextmanager
def _full_products(reference: Array) -> Iterator[None]:
    """Keep torch from rounding single-precision factors further, which a user's own setting may allow."""
    if not is_torch(reference) or reference.dtype != namespace(reference).float32:
        yield
        return
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def require_pairs(name: str, n: int) -> None:
    """Raise unless there are two instances to compare."""
    if n < 2:
        raise InputError(
            f"`{name}`", "compares pairs of instances", "got 1 instance", "Give at least two instances."
        )


def require_same_n(labels: Labels, n: int) -> None:
    """Raise unless the labels are those of all bound rows."""
    if labels.n != n:
        raise InputError(
            "labels",
            f"of a pairwise statistic must cover all {n} bound instances",
            f"got {labels.n}",
            "Bind all rows and name the block: `bound.state(labels, rows=slice(0, 100))`.",
        )


def tracks_gradient(probs: Array) -> bool:
    """Tell whether results must carry a graph back to the predictions."""
    if not is_torch(probs) or not probs.requires_grad:
        return False
    import torch

    return torch.is_grad_enabled()


def _require_graph_fits(name: str, probs: Array) -> None:
    n = probs.shape[0]
    need = _GRAPH_ARRAYS * 8 * n * n
    if need > memory_budget():
        most = int((memory_budget() / (8 * _GRAPH_ARRAYS)) ** 0.5)
        raise UnsupportedError(
            f"the gradient of `{name}`",
            f"keeps about {_GRAPH_ARRAYS} arrays of (n, n) alive; the memory budget holds n = {most}",
            f"got n = {n}",
            f"Use batches of instances, `probs.detach()`, or `with memory_limit({need})`.",
        )
