"""Do intervals contain as many labels as they say?

picp  mean 1[l <= y <= u], the central interval of a level
quantile_calibration_error  sum_j (p_j - mean 1[y <= Q(p_j)])^2, levels p_j = j / M; with `strict` y < Q(p_j)

Quantiles are computed once; a label vector is then only compared with them.
Kuleshov, Fenner and Ermon 2018; P21 (a sum over levels, not a mean).

Shares of labels inside central intervals of many levels, ends included: `picp` for a whole curve.

The probability integral transform: where in its predicted distribution every label lies.   Dawid 1984.
For ordered classes a label has a step of its distribution function, and at level t the share of it below t:

    clip((t - F(y - 1)) / (F(y) - F(y - 1)), 0, 1),     with mean t if labels are drawn from F
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    clip,
    device,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.row_search import SortedRows, count_at_most
from credibly._arrays.sums import count_cells
from credibly.predictions import (
    Classes,
    Labels,
    Predictions,
    Quantiles,
    RealPredictions,
    Reals,
    Samples,
    as_labels,
    as_point,
    paired,
)
from credibly.predictions.passes import on_host
from credibly.predictions.quantiles import SAME_LEVEL
from credibly.predictions.samples import LeftOut, Pool
from credibly.results.base import require_level
from credibly.statistics.linear import Linear, LinearStatistic
from credibly.statistics.mixture_tables import Loss
from credibly.statistics.protocol import (
    BIASED_UPWARDS,
    Bound,
    Plan,
    State,
    Story,
    Traits,
)
from credibly.statistics.regression import RealMean, central_interval, real_traits
from credibly.statistics.terms import POOL_ELEMENTS, Losses, Terms, gather

MOST_LEVELS = 10_000


class Inside(Losses):
    """Labels inside intervals between quantiles: one that equals an end may lie on either side of it.

    Parameters
    ----------
    closed, open_ : callable
        1 where a label is inside, or on an end; and only inside.
    share : float
        Which share is expected inside.
    """

    def __init__(self, closed: Loss, open_: Loss, reference: Array, share: float) -> None:
        super().__init__(closed, reference, *_moments_of(share))
        self.open, self.share = open_, share

    def beyond(self, labels: Labels) -> HostArray:
        """Count labels on an end as far as that brings the share nearest to what is expected."""
        weight = labels.row_weights()
        most, least = (to_host(one(labels.values))[0] for one in (self.loss, self.open))
        part = _part(weight.sum() * self.share, weight @ least, weight @ most)
        return np.asarray(least + part * (most - least) - self.share)[:, None]

    def of_cells(self, predictions: Quantiles, name: str) -> Terms:
        """Count labels by cell; the share inside follows."""
        return InsideCells(predictions, self.share, name)


def _moments_of(share: float) -> tuple[HostArray, HostArray]:
    """Return mean and variance of an event that happens with this probability."""
    return np.asarray(share), np.asarray(share * (1.0 - share))


@dataclasses.dataclass(frozen=True)
class IntervalCoverage(RealMean):
    """Share of labels inside the central interval of the predicted distribution, ends included.

    Parameters
    ----------
    level : float
        Stated coverage of the interval.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.picp(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [0.5, 2.0]))  # 90 %: -1.64 to 1.64
    0.5
    """

    level: float = 0.9
    name: ClassVar[str] = "picp"
    is_share: ClassVar[bool] = True
    is_skewed: ClassVar[bool] = False  # counts move in steps
    traits: ClassVar[Traits] = real_traits(bounds=(0.0, 1.0))
    reference: ClassVar[str] = "Khosravi et al. 2011"
    story: ClassVar[Story] = Story(
        title="Interval coverage",
        meaning="Share of labels inside the central interval of the predicted distribution, ends included.",
        formula="mean of 1[l ≤ y ≤ u]",
        above="intervals contain more labels than they say (too wide)",
        below="intervals contain fewer labels than they say (too narrow)",
        citation="Khosravi et al., Comprehensive review of neural network-based prediction intervals, IEEE "
        "Transactions on Neural Networks, 2011.",
        aliases={"coverage": "", "interval_coverage": ""},
    )
    papers: ClassVar[dict[str, dict[str, Any]]] = {"P21": {"level": 0.95}}

    def __post_init__(self) -> None:
        require_level(self.level)

    def terms(self, predictions: Any, plan: Plan) -> Losses:
        """Return whether labels are inside; of quantiles, on which side of an end they lie is open."""
        if not isinstance(predictions, Quantiles):
            return super().terms(predictions, plan)
        low, high = central_interval(predictions, self.level)
        xp = namespace(low)

        def inside(labels: Array) -> Array:
            return xp.astype((labels > low) & (labels < high), xp.float64)

        return Inside(self.loss(predictions), inside, predictions._leading, self.level)

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return what the level says."""
        return _moments_of(self.level)

    def loss(self, predictions: RealPredictions) -> Loss:
        """1 inside the interval."""
        low, high = central_interval(predictions, self.level)
        xp = namespace(low)
        return lambda labels: xp.astype((labels >= low) & (labels <= high), xp.float64)


class LevelTerms(Terms):
    """Shares of labels at many levels."""

    levels: Array
    """What is stated of the shares, (l,)."""

    @abstractmethod
    def shares(self, sums: State) -> Array:
        """Return the share of labels at each level, (b, l)."""

    def _size(self, weights: Array | None) -> Array:
        """Return how many labels there are, (1, 1) or (b, 1): every level is about all of them."""
        xp = namespace(self.reference)
        if weights is not None:
            return xp.sum(weights, axis=1)[:, None]
        return xp.full((1, 1), float(self.n), dtype=xp.float64, device=device(self.reference))

    def added(self, labels: Labels) -> Array:
        """Refuse: a row adds to as many cells as there are levels."""
        raise NotImplementedError


class Places(LevelTerms):
    """How many quantiles labels have passed: those below them, and those at most as large.

    The first block of cells counts the former, the second the latter; they differ for labels on quantiles.

    Parameters
    ----------
    table : array (n, l)
        Quantiles, which rise with their levels.
    heights : array (l,)
        Their levels.
    in_cells : bool
        Whether only the cells of labels are known: one that equals a quantile may lie on either side of it.
    """

    def __init__(self, table: Array, heights: Array, *, in_cells: bool = False) -> None:
        self.rows, self.heights, self.in_cells = SortedRows(table), heights, in_cells
        self.n, self.levels = int(table.shape[0]), heights
        self.n_cells = 2 * (int(heights.shape[0]) + 1)

    @property
    def reference(self) -> Array:
        """The levels."""
        return self.heights

    def places(self, labels: Labels) -> tuple[Array, Array]:
        """Return how many quantiles are below each of the labels (b, n), and how many at most as large."""
        below, reached = self.rows.passed(labels.values)
        return below, reached

    def observed(self, labels: Labels) -> Array:
        """Count the labels (or their weights) by the quantiles they passed."""
        size = self.n_cells // 2
        below, reached = self.places(labels)
        counts = count_cells(below, size, labels.weights)
        others = counts if reached is below else count_cells(reached, size, labels.weights)
        return namespace(counts).concat([counts, others], axis=1)

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return how many labels there are, and how many are expected between neighbouring quantiles."""
        xp = namespace(self.heights)
        size = self._size(weights)
        edge = xp.zeros_like(self.heights[:1])
        steps = xp.concat([self.heights, edge + 1.0]) - xp.concat([edge, self.heights])
        return State(size=size, expected=size * xp.concat([steps, steps])[None, :])

    def passed(self, sums: State) -> tuple[Array, Array]:
        """Return how many labels are at most each quantile, and how many are below it, (b, l) each."""
        xp, size = namespace(sums["observed"]), self.n_cells // 2
        blocks = sums["observed"][:, :size], sums["observed"][:, size:]
        below, reached = (xp.cumulative_sum(one, axis=1)[:, :-1] for one in blocks)
        return below, reached

    def shares(self, sums: State) -> Array:
        """Return the share of labels at most as large as each quantile."""
        return self.passed(sums)[0] / sums["size"]

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the expected counts between neighbouring quantiles, and per cluster what the labels add."""
        weight, size = labels.row_weights(), self.n_cells // 2
        total = np.bincount(codes, weight, minlength=number)
        expected = on_host(self.fixed(labels.weights, needs))
        counts = []
        for place in self.places(labels):
            cells = codes * size + to_host(place)[0].astype(np.intp)
            counts.append(np.bincount(cells, weight, minlength=number * size).reshape(number, size))
        if self.in_cells:
            counts = [_fitting(counts[1], counts[0], to_host(self.heights))] * 2
        steps = expected["expected"][0] / expected["size"][0]
        added = np.concatenate(counts, axis=1) - total[:, None] * steps
        return State(expected, observed=expected["expected"]), State(observed=added)

    def of_pool(self, pool: Pool, again: Callable[[Predictions], Any]) -> Terms:
        """Return the same counts where labels are choices from pools."""
        return PooledPlaces(self, pool, again)

    def of_cells(self, predictions: Quantiles, name: str) -> Terms:
        """Return the same counts where only the cells of labels are known."""
        return PlacesInCells(self, predictions, name)


class OfPlaces(LevelTerms):
    """The counts of `inner`, made in another way."""

    def __init__(self, inner: Places) -> None:
        self.inner, self.levels, self.n, self.n_cells = inner, inner.levels, inner.n, inner.n_cells

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return the fixed sums of `inner`."""
        return self.inner.fixed(weights, needs)

    def shares(self, sums: State) -> Array:
        """Return the shares that `inner` makes of settled counts."""
        return self.inner.shares(sums)


class PooledPlaces(OfPlaces):
    """How many ends every number of a pool passes where it is the label, (n, p) for each count.

    Ends are draws of a given rank, so it depends only on how many draws are below (or at most) the label.
    """

    def __init__(self, inner: Places, pool: Pool, again: Callable[[Predictions], Any]) -> None:
        super().__init__(inner)
        n, p = pool.values.shape
        xp = namespace(pool.values)
        row = xp.arange(p, dtype=xp.float64, device=device(pool.values))[None, :]
        passed = again(LeftOut(row)).places(Reals(row))
        found: tuple[list[Array], ...] = ([], [])
        for rows in tiles(n, max(1, POOL_ELEMENTS // p)):
            own, seen = pool.values[rows, :], pool.labels[rows, :]
            ordered = xp.sort(own, axis=1)
            for at, strict in enumerate((True, False)):
                fewer = count_at_most(ordered, seen.T, strict=strict).T
                itself = own < seen if strict else own <= seen
                rank = xp.reshape(fewer - xp.astype(itself, fewer.dtype), (-1,))
                place = xp.take(passed[at][0, :], rank)
                found[at].append(xp.reshape(xp.astype(place, xp.int32), own.shape))
        self.tables = tuple(xp.concat(parts, axis=0) for parts in found)

    def observed(self, labels: Labels) -> Array:
        """Count the chosen labels by the ends they pass."""
        size = self.n_cells // 2
        counts = [count_cells(gather(one, labels.values), size, labels.weights) for one in self.tables]
        return namespace(counts[0]).concat(counts, axis=1)

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the mean counts over all choices, and per cluster what the label adds to them."""
        weight, size = labels.row_weights(), self.n_cells // 2
        usual, seen = [], []
        for table in self.tables:
            at = to_host(table)  # (n, p)
            cells, p = codes[:, None] * size + at, at.shape[1]
            usual.append(np.bincount(cells.ravel(), np.repeat(weight / p, p), number * size))
            seen.append(np.bincount(cells[:, 0], weight, number * size))
        mean, own = (
            np.concatenate([one.reshape(number, size) for one in parts], axis=1) for parts in (usual, seen)
        )
        expected = State(on_host(self.fixed(labels.weights, needs)), observed=mean.sum(axis=0)[None, :])
        return expected, State(observed=own - mean)


class Coded(Terms):
    """Counts of labels of quantiles by the first and by the last cell that they may lie in.

    A label that equals a quantile may lie on either side of its level (P(y < Q) <= level <= P(y <= Q)), so
    the share at a level is known up to these labels, and the one nearest to the level is taken. Labels of
    replicates lie in one cell.
    """

    settles = True
    heights: Array
    """All levels that were predicted, (q,)."""

    def observed(self, labels: Labels) -> Array:
        """Count labels by the first and by the last cell they may lie in."""
        xp, size = namespace(labels.values), int(self.heights.shape[0]) + 1
        code = xp.astype(labels.values, xp.int32)
        both = [count_cells(one, size, labels.weights) for one in (code // size, code % size)]
        return xp.concat(both, axis=1)

    def added(self, labels: Labels) -> Array:
        """Refuse: which cell a label adds to is not settled row by row."""
        raise NotImplementedError

    def passed(self, sums: State) -> tuple[Array, Array, Array]:
        """Return how many labels are at most as large as each quantile, and below it, and the levels."""
        xp, size = namespace(sums["observed"]), int(self.heights.shape[0]) + 1
        blocks = sums["observed"][:, :size], sums["observed"][:, size:]
        most, least = (xp.cumulative_sum(one, axis=1)[:, :-1] for one in blocks)
        return most, least, like(to_host(self.heights), most)

    def notes_of(self, sums: State) -> tuple[str, ...]:
        """Say that some labels equal a quantile."""
        most, least, _ = self.passed(sums)
        return (EQUAL,) if bool(namespace(most).any(most > least)) else ()


class InsideCells(Coded):
    """Which labels are inside the interval between two of their quantiles."""

    def __init__(self, predictions: Quantiles, share: float, name: str) -> None:
        self.heights, self.n = as_float64(predictions.levels), len(predictions)
        ends = np.array([(1.0 - share) / 2.0, (1.0 + share) / 2.0])
        self.low, self.high = predicted_at(predictions, ends, name)

    @property
    def reference(self) -> Array:
        """The levels."""
        return self.heights

    def settled(self, sums: State) -> State:
        """Return the number of labels inside that is nearest to what is expected."""
        most, least, levels = self.passed(sums)
        closed = most[:, self.high] - least[:, self.low]
        inside = least[:, self.high] - most[:, self.low]
        wanted = sums["size"][:, 0] * (levels[self.high] - levels[self.low])
        return State(sums, observed=_nearest(wanted, inside, closed)[:, None])


class PlacesInCells(OfPlaces, Coded):
    """Counts by the quantiles that labels passed, where only their cells are known."""

    def __init__(self, inner: Places, predictions: Quantiles, name: str) -> None:
        super().__init__(inner)
        self.heights = as_float64(predictions.levels)
        self.at = predicted_at(predictions, to_host(inner.heights), name)

    def settled(self, sums: State) -> State:
        """Return the counts that are nearest to what is expected."""
        most, least, levels = self.passed(sums)
        xp, size = namespace(most), sums["size"]
        counts = _nearest(size * levels[None, :], least, most)
        below = xp.take(counts, like(self.at, counts), axis=1)
        nothing = xp.zeros_like(below[:, :1])
        edges = xp.concat([nothing, below, nothing + size], axis=1)
        between = edges[:, 1:] - edges[:, :-1]
        return State(sums, observed=xp.concat([between, between], axis=1))


EQUAL = (
    "some labels equal a quantile, so they could count on either side of it: they count where they fit best"
)


def _nearest(wanted: Array, least: Array, most: Array) -> Array:
    xp = namespace(wanted)
    return xp.minimum(xp.maximum(wanted, least), most)


def predicted_at(predictions: Quantiles, levels: HostArray, name: str) -> HostArray:
    """Return which of the predicted quantiles have these levels; raise where one of them is missing."""
    own = to_host(as_float64(predictions.levels))
    nearest: HostArray = np.abs(own[None, :] - levels[:, None]).argmin(axis=1)
    missing = levels[np.abs(own[nearest] - levels) > SAME_LEVEL]
    if missing.size:
        raise UnsupportedError(
            f"a test of `{name}`",
            "compares labels with quantiles at levels that were predicted",
            f"level {missing[0]:g} is not among the {own.size} levels",
            "Predict it, or name levels that were predicted.",
        )
    return nearest


def _fitting(least: HostArray, most: HostArray, shares: HostArray) -> HostArray:
    """Return counts (clusters, l + 1) between two, in which labels on quantiles count where they fit best.

    Where some of them on either side make the share right, every cluster has what is expected: if it had
    its own part of them, signs would move a share that is fitted.
    """
    low, high = (np.cumsum(one, axis=1)[:, :-1] for one in (least, most))
    total = least.sum(axis=1)[:, None]
    part = _part(total.sum() * shares, low.sum(axis=0), high.sum(axis=0))
    found = np.where(part > 0.0, np.where(part < 1.0, total * shares, high), low)
    return np.diff(found, axis=1, prepend=0.0, append=total)


def _part(wanted: Any, least: Any, most: Any) -> HostArray:
    """Return which part of the labels between two counts makes the one nearest to what is wanted."""
    between = np.asarray(most - least)
    part = (wanted - least) / np.where(between > 0, between, 1.0)
    return np.asarray(np.clip(part, 0.0, between > 0))


@dataclasses.dataclass(frozen=True)
class QuantileCalibrationError(LinearStatistic):
    """Squared difference between levels and shares of labels below their quantiles, summed over levels.

    Parameters
    ----------
    levels : int or tuple of float
        M for the levels j / M, or the levels themselves. `Quantiles` have their own levels, which replace M.
    strict : bool
        Count only labels strictly below a quantile, F(y) < p, as in P21 eq. 2.4. That makes a difference if
        labels equal quantiles, as exchanged draws do.

    Examples
    --------
    >>> import credibly as cr
    >>> quantiles = cr.Quantiles([[-1.0, 1.0], [-1.0, 1.0]], [0.25, 0.75])
    >>> float(cr.quantile_calibration_error(quantiles, [0.0, 5.0]))  # (0.25 - 0)^2 + (0.75 - 0.5)^2
    0.125
    """

    levels: int | tuple[float, ...] = 100
    strict: bool = False
    has_moments: ClassVar[bool] = False
    refusal: ClassVar[str | None] = BIASED_UPWARDS
    name: ClassVar[str] = "quantile_calibration_error"
    traits: ClassVar[Traits] = real_traits(tail="greater", bounds=(0.0, math.inf))
    reference: ClassVar[str] = "Kuleshov, Fenner and Ermon 2018"
    story: ClassVar[Story] = Story(
        title="Quantile calibration error",
        meaning="Squared differences between levels and shares of labels below their quantiles, summed over "
        "levels.",
        formula="Σ_j (p_j − mean of 1[y ≤ Q(p_j)])²",
        above="shares of labels below quantiles differ from their levels by more than chance explains",
        citation="Kuleshov, Fenner and Ermon, Accurate uncertainties for deep learning using calibrated "
        "regression, ICML 2018.",
        aliases={"qce": "", "regression_ece": ""},
    )
    papers: ClassVar[dict[str, dict[str, Any]]] = {"P21": {"strict": True}}

    def __post_init__(self) -> None:
        given: Any = self.levels
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and 2 <= given <= MOST_LEVELS:
            object.__setattr__(self, "levels", int(given))
        elif isinstance(given, (tuple, list)) and _are_levels(given):
            object.__setattr__(self, "levels", tuple(map(float, given)))
        else:
            raise InputError(
                "`levels`",
                f"must be an integer from 2 to {MOST_LEVELS} or increasing numbers strictly between 0 and 1",
                f"got {given!r}",
                "Write 100 for 0.01, 0.02, ..., 0.99.",
            )

    def terms(self, predictions: Any, plan: Plan) -> Places:
        """Return how many quantiles labels have passed."""
        table, levels = quantile_grid(predictions, self.levels)
        return Places(table, levels, in_cells=isinstance(predictions, Quantiles))

    def value(self, sums: State) -> Array:
        """Sum the squared differences between shares of labels below quantiles and their levels."""
        xp, size = namespace(sums["observed"]), sums["observed"].shape[1] // 2
        block = slice(size, None) if self.strict else slice(0, size)
        away = xp.cumulative_sum(sums["observed"][:, block] - sums["expected"][:, block], axis=1)[:, :-1]
        return xp.sum((away / sums["size"]) ** 2, axis=1)

    def size_of_terms(self, n: int, n_cells: int) -> float:
        """Return that of shares."""
        return 1.0

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        if not (isinstance(predictions, Quantiles) and isinstance(self.levels, int)):
            return super()._bind(predictions, plan)
        levels = tuple(to_host(as_float64(predictions.levels)).tolist())
        bound = self.with_(levels=levels)._bind(predictions, plan)
        bound.notes = (*bound.notes, f"uses the {len(levels)} levels of the predicted quantiles")
        return bound


def quantile_grid(predictions: RealPredictions, levels: int | tuple[float, ...]) -> tuple[Array, Array]:
    """Return quantiles (n, l) and their levels (l,); those of `Quantiles` where only a number is given."""
    if isinstance(predictions, Quantiles) and isinstance(levels, int):
        return as_float64(predictions.values), as_float64(predictions.levels)
    chosen = [j / levels for j in range(1, levels)] if isinstance(levels, int) else list(levels)
    wanted = like(chosen, predictions._leading, predictions.xp.float64)
    return predictions.quantile(wanted), wanted


def _are_levels(given: Any) -> bool:
    if not given or not all(isinstance(one, Real) for one in given):
        return False
    steps = (0.0, *map(float, given), 1.0)
    return all(first < second for first, second in itertools.pairwise(steps))


picp = IntervalCoverage()

quantile_calibration_error = QuantileCalibrationError()


class CentralPlaces(Places):
    """How many labels lie between the quantiles at two places of the table, (i,) each, the widest first."""

    def __init__(self, quantiles: Places, lower: HostArray, upper: HostArray, levels: Array) -> None:
        super().__init__(quantiles.rows.table, quantiles.heights, in_cells=quantiles.in_cells)
        self.lower, self.upper, self.levels = lower, upper, levels

    def shares(self, sums: State) -> Array:
        """Return 1 minus the shares below and above each interval, ends included, by rising level."""
        xp = namespace(sums["observed"])
        at_most, below = self.passed(sums)
        lower, upper = (like(one, at_most) for one in (self.lower, self.upper))
        inside = xp.take(at_most, upper, axis=1) - xp.take(below, lower, axis=1)
        return xp.flip(inside, axis=1) / sums["size"]


_TABLE_ELEMENTS = 2**20


class OrderedSteps(LevelTerms):
    """Which part of the steps of their distribution functions labels of ordered classes have below levels."""

    def __init__(self, probs: Array, levels: int | tuple[float, ...]) -> None:
        self.probs, self.n = as_float64(probs), int(probs.shape[0])
        steps = [j / levels for j in range(1, levels)] if isinstance(levels, int) else list(levels)
        self.levels = like(steps, self.probs, self.probs.dtype)
        self.n_cells = len(steps)

    def table(self, rows: slice) -> Array:
        """Return the part below every level were the label of some rows each of the classes, (rows, k, l)."""
        own = self.probs[rows, :]
        xp = namespace(own)
        start = (xp.cumulative_sum(own, axis=1) - own)[:, :, None]
        height = own[:, :, None]
        wide = height > 0
        part = (self.levels - start) / xp.where(wide, height, xp.ones_like(height))
        # a step of no height is passed at once
        part = xp.where(wide, part, xp.astype(self.levels >= start, own.dtype))
        return clip(part, 0.0, 1.0)

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return how many labels there are."""
        return State(size=self._size(weights))

    @property
    def reference(self) -> Array:
        """The probabilities."""
        return self.probs

    def observed(self, labels: Labels) -> Array:
        """Sum the parts below every level, (b, l): one product per tile of rows."""
        assert isinstance(labels, Classes)
        xp, (n, k) = namespace(self.probs), self.probs.shape
        every = slice(0, len(labels))
        total: Any = 0.0
        for rows in tiles(n, max(1, _TABLE_ELEMENTS // (k * (self.n_cells + len(labels))))):
            table = xp.reshape(self.table(rows), (-1, self.n_cells))
            seen = xp.astype(labels.block(rows, every), self.probs.dtype)
            total = total + xp.reshape(seen, (len(labels), -1)) @ table
        return total

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the levels, which are expected, and per cluster what the labels add to them."""
        assert isinstance(labels, Classes)
        levels, weight = to_host(self.levels), labels.row_weights()
        added = np.zeros((number, levels.size))
        for rows in tiles(self.n, max(1, _TABLE_ELEMENTS // (self.probs.shape[1] * levels.size))):
            at = to_host(labels.values)[0, rows].astype(np.intp)
            own = to_host(self.table(rows))[np.arange(at.size), at]
            np.add.at(added, codes[rows], weight[rows, None] * (own - levels))
        expected = on_host(self.fixed(labels.weights, needs))
        return State(expected, observed=expected["size"] * levels[None, :]), State(observed=added)

    def shares(self, sums: State) -> Array:
        """Return the mean part below every level."""
        return sums["observed"] / sums["size"]


def ordered_steps(predictions: Predictions, levels: int | tuple[float, ...]) -> Linear:
    """Bind shares of the steps of ordered classes below levels."""
    point, notes = as_point(predictions)
    statistic = quantile_calibration_error.with_(levels=levels)
    spread = "classes are taken in their order; each label is spread evenly over its step"
    terms = OrderedSteps(point.probs, statistic.levels)
    return Linear(statistic, terms, Plan(len(point)), (*notes, spread))


def symmetric_levels(predictions: Quantiles) -> tuple[HostArray, HostArray]:
    """Return the places of levels l and 1 - l that are both predicted, the widest interval first."""
    own = to_host(as_float64(predictions.levels))
    partner = np.abs(1.0 - own[:, None] - own[None, :]) <= SAME_LEVEL
    low = np.flatnonzero(partner.any(axis=1) & (own < 0.5 - SAME_LEVEL))
    return low, partner[low].argmax(axis=1) if low.size else low


def central_coverage(predictions: RealPredictions, levels: int) -> Linear:
    """Bind intervals that hold j / M of the probability, or those between symmetric quantiles.

    Parameters
    ----------
    predictions : RealPredictions
        What the intervals are of.
    levels : int
        M; `Quantiles` have their own levels.

    Returns
    -------
    Linear
        Counts whose terms have the shares, by rising level.
    """
    number = require_integer(levels, "levels", 2)
    if 2 * number > MOST_LEVELS:
        raise InputError("`levels`", f"must be at most {MOST_LEVELS // 2}", f"got {number}", "Try 50.")
    if isinstance(predictions, Quantiles):
        own = to_host(as_float64(predictions.levels))
        low, high = symmetric_levels(predictions)
        if not low.size:
            raise UnsupportedError(
                "central intervals of `Quantiles`",
                "need two levels l and 1 - l",
                f"got levels {', '.join(f'{one:g}' for one in own[:8])}",
                "Predict symmetric levels, for example 0.05 and 0.95.",
            )
        held: Any = np.ascontiguousarray(1.0 - 2.0 * own[low][::-1])
        counts = quantile_calibration_error.bind(predictions)
        note = f"uses the {low.size} intervals between symmetric levels of the predicted quantiles"
        counts.notes = (*predictions.notes, note)
    else:
        # interval j / M lies between the levels (M - j) / 2M and (M + j) / 2M
        held = [j / number for j in range(1, number)]
        counts = quantile_calibration_error.with_(levels=2 * number).bind(predictions)
        low = np.arange(number - 1)
        high = 2 * number - 2 - low
    assert isinstance(counts, Linear)
    heights = counts.terms.heights
    return counts.with_terms(CentralPlaces(counts.terms, low, high, like(held, heights, heights.dtype)))


@takes_rng
def pit(predictions: Any, labels: Any = None, *, randomised: bool | None = None, rng: Any = None) -> Array:
    """Return F(y) of every label under its predicted distribution.

    Parameters
    ----------
    predictions : Gaussian, Samples, dense Quantiles, or predictions of ordered classes
        Members are represented by their mixture, sets of distributions by their mean. Classes are taken in
        the order of their columns: grades, or counts from 0.
    labels : array (n,)
        Observed numbers, or classes.
    randomised : bool, optional
        Place labels at random inside a step of F, so that the result is uniform if labels are drawn from the
        predictions. Default: only for ordered classes. For `Samples`, the place is chosen among the label and
        the s draws, which is exact for every s.
    rng : None, int or Generator
        Seed of the random places.

    Returns
    -------
    array (n,)
        Probabilities in the caller's array library, uniform if labels are drawn from the predictions (for
        `Samples` without randomisation: shares of draws at most as large, so multiples of 1 / s).

    References
    ----------
    Dawid, *Statistical theory: the prequential approach*, 1984; Czado, Gneiting and Held, *Predictive model
    assessment for count data*, Biometrics 2009.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.pit(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [0.0, 1.0]).round(4)
    array([0.5   , 0.8413])
    """
    given, labels = paired(predictions, labels)
    batch = as_labels(given, labels)
    if not isinstance(batch, (Reals, Classes)):
        raise InputTypeError(
            "`labels`",
            "must be one number, or class, per instance",
            f"got {type(labels).__name__}",
            "Pass an array (n,).",
        )
    values = batch.values[0, :]
    if randomised is None:
        randomised = isinstance(batch, Classes)
    if isinstance(given, RealPredictions) and not (randomised and isinstance(given, Samples)):
        return given.cdf(values)  # nowhere a step, or the height behind it
    if isinstance(given, Samples):
        number = given.n_draws
        seen = as_float64(values)[None, :]
        low, high = (given.share_below(seen, strict=one)[0, :] * number for one in (True, False))
        low, high = low / (number + 1.0), (high + 1.0) / (number + 1.0)
    else:
        point, _ = as_point(given)
        probs = as_float64(point.probs)
        xp = namespace(probs)
        below = xp.cumulative_sum(probs, axis=1)
        at = xp.astype(values, xp.int64)[:, None]
        high = xp.take_along_axis(below, at, axis=1)[:, 0]
        low = high - xp.take_along_axis(probs, at, axis=1)[:, 0]
        if not randomised:
            return high
    place = like(np.random.default_rng(as_seed(rng)).random(len(given)), high)
    return low + place * (high - low)
