"""Statistics of pairs of rows: one loop over tiles of a matrix, for all label vectors at once.

    sum over i != j of  k_ij <r_i, r_j>,   r the residual of a label: one-hot minus prediction, say

The matrix k depends on predictions only. Residuals become rows of a matrix, one per replicate and class, so

    values (b k, columns) @ tile.T (columns, rows)

serves every label vector of a batch with one product per tile. Rows in memory are one chunk, which meets
itself; of rows that do not fit two chunks meet at a time (`over_rows`). Both are `PairBound.meetings`: tiles
of rows with all columns, under the memory budget. What a meeting adds is said by whoever asks: sums for label
vectors, sums between clusters, sums under random signs. Tiles are kept where all of them fit and made again
otherwise.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    is_numpy,
    is_torch,
    memory_budget,
    namespace,
    on_accelerator,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly.predictions import Labels, Predictions, Quantiles, as_point
from credibly.statistics.batches import replicates, stacked, total_weight
from credibly.statistics.kernels import KernelName, as_number, centred_kernel, kernel_matrix, tracks_gradient
from credibly.statistics.protocol import Bound, Plan, State, Statistic

_LEAST_ROWS = 128  # below this a product of a tile is no faster per row
_TRIANGLE_TILES = 8  # tiles of a symmetric matrix: half the work and one part in 16
_BATCH_VALUES = 2**19  # label values that are multiplied at a time, where nothing is lost by few
_ALIGNED = 8  # rows of a tile, a multiple of this: tensor cores read 16 bytes at a time
_GRAPH_ARRAYS = 8  # (n, n) arrays a graph keeps alive

DEGENERATE = (
    "a quadratic estimate has no normal limit under calibration, so no normal interval can be trusted there"
)


@dataclasses.dataclass(frozen=True)
class BandwidthPlan(Plan):
    """Label-free facts of all rows: number of instances, bandwidth and how it was found."""

    bandwidth: Any = None
    notes: tuple[str, ...] = ()

    @property
    def number(self) -> float:
        """The bandwidth as a number, outside any graph."""
        return as_number(self.bandwidth)


@dataclasses.dataclass(frozen=True)
class PairStatistic(Statistic):
    """Base of the statistics of pairs of rows, whose chunks can be bound each on its own."""

    _single: bool = dataclasses.field(default=False, kw_only=True, repr=False)

    @abstractmethod
    def bound(self, predictions: Predictions, plan: BandwidthPlan, notes: tuple[str, ...]) -> PairBound:
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


@dataclasses.dataclass(frozen=True, eq=False)
class Sides:
    """What a statistic of pairs sees: places of predictions, residuals of labels.

    Parameters
    ----------
    points : array (n, g)
        Places of the predictions, double precision.
    width : int
        Numbers per residual.
    residuals : callable
        From labels of some rows, these rows and a dtype to (b, width, rows).
    largest : float
        Largest possible <r, r'>.
    level : float or array, optional
        What a centred kernel adds to all pairs; the last column of `points` is then the mean kernel of each.
    """

    points: Array
    width: int
    residuals: Callable[[Labels, slice, Any], Array]
    largest: float = 2.0
    level: Any = None

    def kernel(self, left: Array, right: Array, kernel: KernelName, bandwidth: Any) -> Array:
        """Return the kernel of places (n, g) and (m, g), (n, m)."""
        if self.level is None:
            return kernel_matrix(left, right, kernel, bandwidth)
        plain = kernel_matrix(left[:, :-1], right[:, :-1], kernel, bandwidth)
        return centred_kernel(plain, left[:, -1:], right[:, -1][None, :], self.level)


class Meeting:
    """Some rows and the columns they meet, for some label vectors.

    The loop changes the same object, so that whoever holds it does not hold a tile while the next is made.
    """

    rows: slice  # of the bound rows
    reps: slice  # of the label vectors
    labels: Labels  # of all bound rows, these replicates
    tile: Any  # the matrix, (rows, columns)
    values: Array  # of the columns, (b k, columns)
    first: int | None  # which row of the others is the first of these; None where they are not among them


class PairBound(Bound):
    """A statistic of pairs, bound to rows: sums of k_ij <r_i, r_j>, from tiles on and above the diagonal.

    Subclasses say what a tile is (`tile`), what rows get from columns (`meet`) and what that adds to the
    state once they have met all (`settled`).
    """

    symmetric = True
    """Whether rows meet only the columns from themselves on, and both orders of a pair count."""
    tile_has_weights = False
    refusal = DEGENERATE
    statistic: Any

    def __init__(
        self, statistic: PairStatistic, sides: Sides, plan: BandwidthPlan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, plan.n, notes)
        self.plan, self.sides, self.bandwidth, self.term_size = plan, sides, plan.bandwidth, sides.largest
        self.tracked = tracks_gradient(sides.points)
        if self.tracked:
            _require_graph_fits(statistic.name, sides.points)
        xp = namespace(sides.points)
        self.dtype = xp.float32 if statistic._single else xp.float64
        self.exact = as_float64(sides.points)
        self.points = xp.astype(self.exact, self.dtype)  # (n, g)
        self._kept: dict[tuple[int, int, int], tuple[Any, Any]] = {}
        if statistic._single and self.symmetric:
            # Values of label vectors that differ only in the order of equal predictions were found up to
            # 90 eps / n apart, neighbours among a thousand replicates some 5000 eps / n.
            self.rounding = 200 * float(np.finfo(np.float32).eps) / plan.n**1.5

    @property
    def width(self) -> int:
        """Numbers that a label becomes, one per class."""
        return self.sides.width

    def of_cells(self, predictions: Quantiles) -> Bound:
        """Return itself: it looks at the cells of labels itself."""
        return self

    # what is added

    def tile(self, rows: slice, other: PairBound, first: int | None, weights: Array | None) -> Any:
        """Return the kernel of these rows with themselves, where they are columns, and twice with others."""
        at = self.first_column(first)
        points, others = self.points[rows, :], other.points[at:, :]
        values = self.sides.kernel(points, others, self.statistic.kernel, self.bandwidth)
        return _doubled(values, 0 if first is None else rows.stop - rows.start)

    def values(self, labels: Labels, rows: slice = slice(None), weighted: bool = True) -> Array:
        """Return residuals of some rows, times their weights, (b k, rows)."""
        xp, chosen = namespace(self.points), labels.rows(rows)
        residual = self.sides.residuals(chosen, rows, self.dtype)
        if weighted and chosen.weights is not None:
            residual = residual * xp.astype(chosen.weights, self.dtype)[:, None, :]
        return xp.reshape(residual, (-1, residual.shape[-1]))

    def own_values(self, meeting: Meeting) -> Array:
        """Return the values of the rows of a meeting, (b k, rows)."""
        if meeting.first is None:
            return self.values(meeting.labels, meeting.rows)
        begin = meeting.first - self.first_column(meeting.first)
        return meeting.values[:, begin : begin + meeting.rows.stop - meeting.rows.start]

    def meet(self, meeting: Meeting) -> Any:
        """Add <r_i, (K r)_i> over the rows, and the diagonal, which the mean over pairs leaves out."""
        values = self.own_values(meeting)
        pairs = self._inner(values, product(meeting.values, meeting.tile), meeting)
        if meeting.first is None:  # the rest is counted where a chunk meets itself
            nothing = namespace(pairs).zeros_like(pairs)
            return State(pairs=pairs, diagonal=nothing, weight=nothing)
        # k(p, p) = 1; a row of weight w stands for w rows, which differ from each other
        labels, rows = meeting.labels, meeting.rows
        plain = values if labels.weights is None else self.values(labels, rows, weighted=False)
        diagonal = self._inner(values, plain, meeting)
        return State(pairs=pairs, diagonal=diagonal, weight=total_weight(labels, rows, values))

    def _inner(self, left: Array, right: Array, meeting: Meeting) -> Array:
        xp = namespace(left)
        return xp.sum(xp.reshape(as_float64(xp.vecdot(left, right)), (len(meeting.labels), -1)), axis=1)

    def settled(self, gained: Any, rows: slice, labels: Labels) -> Any:
        """Return the state of rows that have met all others, from what they got; disjoint rows add up."""
        return gained

    def with_counts(self, state: State) -> State:
        """Return the state with what all rows together must be able to say."""
        return state

    def merged_notes(self, state: State, n: int) -> tuple[str, ...]:
        """Return what merged states of n rows make worth knowing, as binding all of them would."""
        return ()

    def terms(self, meeting: Meeting) -> Array:
        """Return h_ij of one label vector, (rows, columns); pairs with other rows count twice."""
        return as_float64(meeting.tile * (self.own_values(meeting).T @ meeting.values))

    # the loop

    def meetings(
        self,
        labels: Labels,
        other: PairBound | None = None,
        other_labels: Labels | None = None,
        first: int | None = 0,
        rows: slice | None = None,
        arrays: int = 2,
    ) -> Iterator[Meeting]:
        """Yield tiles of these rows with the rows of `other`, by default themselves, and batches of labels.

        Parameters
        ----------
        labels : Labels
            Of the bound rows.
        other : PairBound, optional
            Rows that are met.
        other_labels : Labels, optional
            Theirs.
        first : int or None
            Which row of `other` is the first bound one; None where they are different rows.
        rows : slice, optional
            Which of the bound rows are met; default: all.
        arrays : int
            Arrays of the size of a tile that there are at a time.
        """
        other, other_labels = other or self, labels if other_labels is None else other_labels
        begin, end, _ = (rows or slice(None)).indices(self.n)
        # One grid of tiles whatever the rows, so that kept tiles serve every call.
        # Where a row must see all others, its chunk was made to be one tile: so sums of tiles always add.
        whole = other is not self and not self.symmetric
        grid = list(tiles(self.n, self.n if whole else self._rows_per_tile(other.n, arrays, first)))
        parts = [
            slice(max(begin, t.start), min(end, t.stop)) for t in grid if t.start < end and begin < t.stop
        ]
        batches = list(tiles(len(labels), self._replicates_per_batch(other.n)))
        keep = other is self and self._keeps_tiles()
        # Whichever is dearer to make again stays in the outer loop.
        order = [(part, batch) for part in parts for batch in batches]
        if keep:
            order = [(part, batch) for batch in batches for part in parts]
        meeting = Meeting()
        values: Array = None
        for at, (part, batch) in enumerate(order):
            meeting.values = None
            if not at or meeting.reps != batch:
                values = None  # let go of the old before the new is made
                meeting.reps, meeting.labels = batch, replicates(labels, batch)
                values = other.values(replicates(other_labels, batch))
            if not at or meeting.rows != part:
                meeting.rows, meeting.tile = part, None
                meeting.first = None if first is None else first + part.start
                meeting.tile = self._tile(
                    part, other, meeting.first, other_labels.weights, keep and part in grid
                )
            meeting.values = values[:, self.first_column(meeting.first) :]
            yield meeting

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Return the sums of some rows against all rows (default: all).

        Disjoint parts that cover all rows add up to the whole, so parts can be different tasks.
        """
        require_same_n(labels, self.n)
        meetings = self.meetings(labels, rows=rows)
        sums: State = self._joined(
            meetings, lambda meeting: self.settled(self.meet(meeting), meeting.rows, meeting.labels)
        )
        return sums

    def met(self, other: PairBound, labels: Labels, other_labels: Labels, first: int | None) -> Any:
        """Return what these rows get from the rows of `other`, for chunks that are bound separately.

        Where symmetric, a pair of chunks meets once, and both orders count.
        """
        return self._joined(self.meetings(labels, other, other_labels, first), self.meet)

    def _joined(self, meetings: Iterator[Meeting], add: Callable[[Meeting], Any]) -> Any:
        """Add up tiles, and put batches of label vectors behind each other."""
        sums: dict[int, Any] = {}
        for meeting in meetings:
            start, gained = meeting.reps.start, add(meeting)
            sums[start] = sums[start] + gained if start in sums else gained
        return joined_batches([sums[start] for start in sorted(sums)])

    def _tile(
        self, rows: slice, other: PairBound, first: int | None, weights: Array | None, keep: bool
    ) -> Any:
        weights = weights if self.tile_has_weights else None
        key = (rows.start, rows.stop, id(weights))
        if keep and key in self._kept:
            return self._kept[key][0]
        tile = self.tile(rows, other, first, weights)
        if keep:
            self._kept[key] = tile, weights  # whose name stays its own while it is held
        return tile

    def first_column(self, first: int | None) -> int:
        """Return the first column that rows meet which begin at this one."""
        return first if self.symmetric and first is not None else 0

    def _item_bytes(self) -> int:
        return 8 if self.dtype == self.exact.dtype else 4

    def _keeps_tiles(self) -> bool:
        size = self.n * self.n * self._item_bytes() // (2 if self.symmetric else 1)
        return not self.tracked and size <= memory_budget(self.points) // 3

    def _rows_per_tile(self, columns: int, arrays: int = 2, first: int | None = 0) -> int:
        if self.tracked:
            return self.n
        # The larger the tile, the rarer label values are made again.
        rows = rows_within_budget(arrays * columns * self._item_bytes(), 0.6, self.points)
        if self.symmetric and first is not None:
            rows = min(rows, max(_LEAST_ROWS, -(-self.n // _TRIANGLE_TILES)))
        return rows if rows < _ALIGNED else rows - rows % _ALIGNED

    def _replicates_per_batch(self, columns: int) -> int:
        length = columns + 2 * min(self.n, self._rows_per_tile(columns))  # values, product, its temporary
        fits = rows_within_budget(self.width * length * self._item_bytes(), 0.25, self.points)
        # tiles that are kept are at hand for every batch, so that few label values at a time stay in cache
        few = self.symmetric and self._keeps_tiles() and not on_accelerator(self.points)
        return min(fits, max(1, _BATCH_VALUES // (self.width * self.n))) if few else fits

    # clusters

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return how many pairs are of different clusters, and the sums of h_ij between every two of them."""
        sums = ClusterSums(number)
        for between in self.met_clusters(self, labels, labels, codes, codes, 0):
            sums.add(*between)
        sums.weigh(codes, labels)
        return sums.states()

    def met_clusters(
        self,
        other: PairBound,
        labels: Labels,
        other_labels: Labels,
        codes: HostArray,
        other_codes: HostArray,
        first: int | None,
    ) -> Iterator[tuple[HostArray, HostArray, HostArray]]:
        """Yield clusters of these rows, clusters of rows of `other`, and the sums of h_ij between them."""
        for meeting in self.meetings(labels, other, other_labels, first, arrays=4):
            columns = other_codes[self.first_column(meeting.first) :]
            yield by_clusters(self.terms(meeting), codes[meeting.rows], columns)

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return s' B s over the number of pairs."""
        return np.einsum("bc,bc->b", signs @ added["between"], signs) / expected["pairs"]

    def finish(self, state: State) -> Array:
        """Divide by the number of pairs."""
        weight = state["weight"]
        xp = namespace(weight)
        if bool(xp.any(weight <= 1)):
            raise InputError(
                "`sample_weight`",
                f"counts occurrences; `{self.statistic.name}` needs a sum above 1",
                f"got a sum of {float(xp.min(weight)):.6g}",
                "Give multiplicities.",
            )
        return (state["pairs"] - state["diagonal"]) / (weight * (weight - 1.0))


def joined_batches(parts: list[Any]) -> Any:
    """Return the states of batches of label vectors as one."""
    if len(parts) == 1:
        return parts[0]
    return stacked(parts) if isinstance(parts[0], State) else type(parts[0]).concatenated(parts)


def product(values: Array, matrix: Array) -> Array:
    """Return values @ matrix.T, (b k, rows)."""
    with _full_products(values):
        if on_accelerator(values):
            # rows of the result are as long as a tile, which is aligned; label vectors come in any number
            return values @ matrix.T
        return (matrix @ values.T).T  # this order multiplies narrow tiles faster


def by_clusters(
    terms: Array, codes: HostArray, other_codes: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """Return clusters of rows, clusters of columns, and the sums of terms (rows, columns) between them."""
    sums, present = to_host(terms), []
    for axis_codes in (other_codes, codes):
        order = np.argsort(axis_codes, kind="stable")
        names, starts = np.unique(axis_codes[order], return_index=True)
        sums = np.add.reduceat(sums[:, order], starts, axis=1).T
        present.append(names)
    return present[1], present[0], sums


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
        weight = None if labels.weights is None else to_host(labels.weights)[0]
        self.weight += np.bincount(codes, weight, minlength=self.weight.size)

    def states(self) -> tuple[State, State]:
        """Return how many pairs are of different clusters, and the sums between every two of them."""
        np.fill_diagonal(self.between, 0.0)
        weight = self.weight
        if np.count_nonzero(weight) < 2:
            raise InputError(
                "`sample_weight`",
                "must be positive in at least two clusters, because pairs inside a cluster are left out",
                f"it is positive in {np.count_nonzero(weight)} of {weight.size}",
                "Leave the weights or the clusters out.",
            )
        return State(pairs=np.array([weight.sum() ** 2 - weight @ weight])), State(between=self.between)


def _doubled(tile: Array, n_rows: int) -> Array:
    """Return the tile with everything right of the first columns counted twice."""
    if is_numpy(tile):
        tile[:, n_rows:] *= 2.0
        return tile
    xp = namespace(tile)
    return xp.concat([tile[:, :n_rows], 2.0 * tile[:, n_rows:]], axis=1)


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
        rule, remedy = "compares pairs of instances", "Give at least two instances."
        raise InputError(f"`{name}`", rule, "got 1 instance", remedy)


def require_same_n(labels: Labels, n: int) -> None:
    """Raise unless there is a label for every bound row."""
    if labels.n != n:
        raise InputError(
            "labels",
            f"of a pairwise statistic must cover all {n} bound instances",
            f"got {labels.n}",
            "Bind all rows and name the rows: `bound.state(labels, rows=slice(0, 100))`.",
        )


def _require_graph_fits(name: str, probs: Array) -> None:
    n = probs.shape[0]
    need = _GRAPH_ARRAYS * 8 * n * n
    if need > memory_budget(probs):
        most = int((memory_budget(probs) / (8 * _GRAPH_ARRAYS)) ** 0.5)
        raise UnsupportedError(
            f"the gradient of `{name}`",
            f"keeps about {_GRAPH_ARRAYS} arrays of (n, n) alive; the memory budget holds n = {most}",
            f"got n = {n}",
            f"Use batches of instances, `probs.detach()`, or `with memory_limit({need})`.",
        )
