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
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, clip, like, namespace, tiles, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.row_search import SortedRows
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
from credibly.predictions.quantiles import SAME_LEVEL
from credibly.results.base import require_level
from credibly.statistics.mixture_tables import Loss
from credibly.statistics.protocol import (
    BIASED_UPWARDS,
    Bound,
    Plan,
    State,
    Statistic,
    Story,
    Traits,
    total_weight,
)
from credibly.statistics.regression import RealMean, central_interval, real_traits
from credibly.statistics.terms import Losses

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

    def moments(self, predictions: Any) -> tuple[Array, Array]:
        """Return what the level says."""
        return _moments_of(self.level)

    def loss(self, predictions: RealPredictions) -> Loss:
        """1 inside the interval."""
        low, high = central_interval(predictions, self.level)
        xp = namespace(low)
        return lambda labels: xp.astype((labels >= low) & (labels <= high), xp.float64)


class LevelShares(Bound):
    """Shares of labels at many levels, before they become one number."""

    term_size = 1.0
    levels: Array
    """What is stated of the shares."""

    @abstractmethod
    def shares(self, state: State) -> Array:
        """Return the share of labels at each level, (b, l)."""

    def finish(self, state: State) -> Array:
        """Sum the squared differences between shares and levels."""
        shares = self.shares(state)
        return namespace(shares).sum((shares - self.levels) ** 2, axis=1)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: squared differences are above zero even for a calibrated model."""
        return None, BIASED_UPWARDS

    def wild_state(self, expected: State, added: State, signs: HostArray) -> State:
        """Return the sums of pseudo-labels with these signs, replicates in front."""
        return State({**expected, **{name: expected[name] + signs @ one for name, one in added.items()}})


class CoverageShares(LevelShares):
    """How many labels have passed how many of the quantiles at many levels, before this becomes shares.

    Parameters
    ----------
    statistic : Statistic
        Whose quantiles they are; counts of the same statistic are the same, whatever shares they become.
    table : array (n, l)
        Quantiles, which rise with their levels.
    heights : array (l,)
        Their levels.
    n : int
        Number of instances, of which the rows of the table may be a part.
    notes : tuple of str
        What is worth knowing about predictions and levels.
    """

    looks: Mapping[str, bool] = {"below": True, "reached": False}
    """Names of the counts in the state; whether quantiles count that are below the label, or at most it."""
    in_cells = False
    """Whether only the cells of labels are known: one that equals a quantile may lie on either side of it."""

    def __init__(
        self, statistic: Statistic, table: Array, heights: Array, n: int, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, n, notes)
        self.rows, self.heights = SortedRows(table), heights
        self.levels = heights

    def places(self, values: Array) -> dict[str, Array]:
        """Return how many quantiles each of the labels (b, n) has passed, by the name of the count."""
        return dict(zip(self.looks, self.rows.passed(values), strict=True))

    def counted(self, places: Mapping[str, Array], weights: Array | None) -> State:
        """Count labels (or their weights) by the quantiles they passed."""
        size = self.heights.shape[0] + 1
        below = count_cells(places["below"], size, weights)
        same = places["reached"] is places["below"]
        reached = below if same else count_cells(places["reached"], size, weights)
        return State(below=below, reached=reached, weight=namespace(below).sum(below, axis=1))

    def state(self, labels: Labels) -> State:
        """Count the labels (or their weights) by the quantiles they passed."""
        return self.counted(self.places(labels.values), labels.weights)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return the expected counts between neighbouring ends, and per cluster what the labels add."""
        weight = labels.row_weights()
        total = np.bincount(codes, weight, minlength=number)
        expected, added = State(weight=np.array([weight.sum()])), State()
        shares = to_host(self.heights)
        steps = np.diff(shares, prepend=0.0, append=1.0)
        counts = {}
        for name, places in self.places(labels.values).items():
            cells = codes * steps.size + to_host(places)[0].astype(np.intp)
            found = np.bincount(cells, weight, minlength=number * steps.size)
            counts[name] = found.reshape(number, steps.size)
        if self.in_cells:
            counts = dict.fromkeys(counts, _fitting(counts["reached"], counts["below"], shares))
        for name, found in counts.items():
            expected[name] = weight.sum() * steps[None, :]
            added[name] = found - total[:, None] * steps
        return expected, added


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


class QuantileErrorBound(CoverageShares):
    """How many labels are at most as large as each quantile, or below it."""

    statistic: QuantileCalibrationError

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return the values of pseudo-labels, on the host."""
        shares = self.shares(self.wild_state(expected, added, signs))
        return np.sum((shares - to_host(self.levels)) ** 2, axis=1)

    def shares(self, state: State) -> Array:
        """Return the share of labels at most as large as each quantile, or below it."""
        counts = state["reached" if self.statistic.strict else "below"]
        return namespace(counts).cumulative_sum(counts, axis=1)[:, :-1] / state["weight"][:, None]


@dataclasses.dataclass(frozen=True)
class QuantileCalibrationError(Statistic):
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

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        table, levels, notes = quantile_grid(predictions, self.levels)
        own = self.with_(levels=tuple(to_host(levels).tolist())) if notes else self
        bound = QuantileErrorBound(own, table, levels, plan.n, (*predictions.notes, *notes))
        bound.in_cells = isinstance(predictions, Quantiles)
        return bound


def quantile_grid(
    predictions: RealPredictions, levels: int | tuple[float, ...]
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return quantiles (n, l), their levels (l,) and what is worth noting about the levels."""
    if isinstance(predictions, Quantiles) and isinstance(levels, int):
        own = as_float64(predictions.levels)
        note = f"uses the {own.shape[0]} levels of the predicted quantiles"
        return as_float64(predictions.values), own, (note,)
    chosen = [j / levels for j in range(1, levels)] if isinstance(levels, int) else list(levels)
    wanted = like(chosen, predictions._leading, predictions.xp.float64)
    return predictions.quantile(wanted), wanted, ()


def _are_levels(given: Any) -> bool:
    if not given or not all(isinstance(one, Real) for one in given):
        return False
    steps = (0.0, *map(float, given), 1.0)
    return all(first < second for first, second in itertools.pairwise(steps))


picp = IntervalCoverage()

quantile_calibration_error = QuantileCalibrationError()


class CentralShares(CoverageShares):
    """How many labels lie between the quantiles at two places of the table, (i,) each, the widest first."""

    def __init__(
        self, quantiles: QuantileErrorBound, lower: HostArray, upper: HostArray, levels: Array, *notes: str
    ) -> None:
        own = quantiles.rows.table, quantiles.heights
        super().__init__(quantiles.statistic, *own, quantiles.n, notes)
        self.in_cells = quantiles.in_cells
        self.lower, self.upper, self.levels = lower, upper, levels

    def shares(self, state: State) -> Array:
        """Return 1 minus the shares below and above each interval, ends included, by rising level."""
        xp = namespace(state["below"])
        lower, upper = (like(one, state["below"]) for one in (self.lower, self.upper))
        below = xp.take(xp.cumulative_sum(state["reached"], axis=1), lower, axis=1)
        not_above = xp.take(xp.cumulative_sum(state["below"], axis=1), upper, axis=1)
        return xp.flip(not_above - below, axis=1) / state["weight"][:, None]


_TABLE_ELEMENTS = 2**20


class OrderedShares(LevelShares):
    """Which part of the steps of their distribution functions labels of ordered classes have below levels."""

    def __init__(self, predictions: Predictions, levels: int | tuple[float, ...]) -> None:
        point, notes = as_point(predictions)
        statistic = quantile_calibration_error.with_(levels=levels)
        spread = "classes are taken in their order; each label is spread evenly over its step"
        super().__init__(statistic, len(point), (*notes, spread))
        self.probs = as_float64(point.probs)
        chosen = statistic.levels
        steps = [j / chosen for j in range(1, chosen)] if isinstance(chosen, int) else list(chosen)
        self.levels = like(steps, self.probs, self.probs.dtype)

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

    def state(self, labels: Labels) -> State:
        """Sum the parts below every level, (b, l): one product per tile of rows."""
        assert isinstance(labels, Classes)
        xp, (n, k) = namespace(self.probs), self.probs.shape
        every = slice(0, len(labels))
        total: Any = 0.0
        for rows in tiles(n, max(1, _TABLE_ELEMENTS // (k * (self.levels.shape[0] + len(labels))))):
            table = xp.reshape(self.table(rows), (-1, self.levels.shape[0]))
            seen = xp.astype(labels.block(rows, every), self.probs.dtype)
            total = total + xp.reshape(seen, (len(labels), -1)) @ table
        return State(parts=total, weight=total_weight(labels, slice(0, n), self.probs))

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return the levels, which are expected, and per cluster what the labels add to them."""
        assert isinstance(labels, Classes)
        n, levels = self.n, to_host(self.levels)
        weight = labels.row_weights()
        added = np.zeros((number, levels.size))
        for rows in tiles(n, max(1, _TABLE_ELEMENTS // (self.probs.shape[1] * levels.size))):
            at = to_host(labels.values)[0, rows].astype(np.intp)
            own = to_host(self.table(rows))[np.arange(at.size), at]
            np.add.at(added, codes[rows], weight[rows, None] * (own - levels))
        expected = State(parts=weight.sum() * levels[None, :], weight=np.array([weight.sum()]))
        return expected, State(parts=added)

    def shares(self, state: State) -> Array:
        """Return the mean part below every level."""
        return state["parts"] / state["weight"][:, None]


def symmetric_levels(predictions: Quantiles) -> tuple[HostArray, HostArray]:
    """Return the places of levels l and 1 - l that are both predicted, the widest interval first."""
    own = to_host(as_float64(predictions.levels))
    partner = np.abs(1.0 - own[:, None] - own[None, :]) <= SAME_LEVEL
    low = np.flatnonzero(partner.any(axis=1) & (own < 0.5 - SAME_LEVEL))
    return low, partner[low].argmax(axis=1) if low.size else low


def central_coverage(predictions: RealPredictions, levels: int) -> CentralShares:
    """Bind intervals that hold j / M of the probability, or those between symmetric quantiles.

    Parameters
    ----------
    predictions : RealPredictions
        What the intervals are of.
    levels : int
        M; `Quantiles` have their own levels.

    Returns
    -------
    CentralShares
        Bound shares, by rising level.
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
        quantiles = quantile_calibration_error.bind(predictions)
        assert isinstance(quantiles, QuantileErrorBound)
        held = like(np.ascontiguousarray(1.0 - 2.0 * own[low][::-1]), quantiles.heights)
        note = f"uses the {low.size} intervals between symmetric levels of the predicted quantiles"
        return CentralShares(quantiles, low, high, held, *predictions.notes, note)
    # interval j / M lies between the levels (M - j) / 2M and (M + j) / 2M
    quantiles = quantile_calibration_error.with_(levels=2 * number).bind(predictions)
    assert isinstance(quantiles, QuantileErrorBound)
    held = like([j / number for j in range(1, number)], quantiles.heights, quantiles.heights.dtype)
    lower = np.arange(number - 1)
    return CentralShares(quantiles, lower, 2 * number - 2 - lower, held, *predictions.notes)


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
