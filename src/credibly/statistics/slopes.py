"""Do errors change with what is predicted? Regression lines, which need no bins.

    z = (y - mu) / sigma                                      mu, sigma^2: mean and variance of the prediction
    mean_slope     slope of z on mu, times the standard deviation of mu       0 where means are right
    spread_slope   slope of z^2 on log sigma^2                                0 where spreads are right

Both are 0 on average for a calibrated model, whatever it states. Mean slope below 0: high predictions are too
high and low ones too low. Spread slope below 0: the largest stated variances are too large compared with the
smallest ones.

The mean of s draws is itself uncertain. A right model then has labels that are closer to the average than
its means are, so the mean slope is below 0; tests exchange labels with draws and allow for that.
Mincer and Zarnowitz 1969 (labels on predictions); Pernot 2022 (consistency given the stated spread).
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, namespace, to_host
from credibly.predictions import Labels, Predictions, RealPredictions, Rows, Samples
from credibly.statistics.batches import positive
from credibly.statistics.linear import Linear
from credibly.statistics.protocol import SECOND_LOOK, Plan, State, Story, Traits
from credibly.statistics.regression import REAL_TRAITS
from credibly.statistics.spread import (
    MomentTerms,
    OfSpread,
    mean_and_variance,
    scatter_of_squares,
    squared_z,
    stated_by,
)

_FLAT = 1e-10
"""Variance of log sigma^2, or spread of means in units of their size, that is left by rounding."""

STATED = {"mean_slope": "mean", "spread_slope": "spread"}
"""What slopes are taken on."""


def states_one(predictions: Predictions, what: str) -> bool:
    """Tell whether all rows state the same mean, or the same spread, up to rounding."""
    assert isinstance(predictions, RealPredictions)
    stated = to_host(mean_and_variance(predictions)[what == "spread"])
    return bool(np.ptp(stated) <= 1e-12 * np.abs(stated).max())


class SlopeTerms(MomentTerms):
    """Sums of x, of an outcome, and of their products."""

    usual: float
    """The outcome that predictions expect."""
    n_whole: int
    """Number of all rows, of which these may be a part."""

    @abstractmethod
    def pairs(self, labels: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Return weight, x and outcome of labels (b, n) with means and variances (b, n) or (1, n)."""

    @abstractmethod
    def scatter(self) -> Array:
        """Return the variance of every outcome that predictions expect, (n,)."""

    def floor(self, centre: Array) -> Array:
        """Return the variance of x, around `centre`, that rounding leaves of a constant."""
        return _FLAT * (1.0 + centre * centre)

    def each(self, labels: Array, mean: Array, variance: Array) -> dict[str, Array]:
        """Return what a row adds to the sums that a regression line needs."""
        weight, x, outcome = self.pairs(labels, mean, variance)
        return {"weight": weight, "x": x, "x_x": x * x, "outcome": outcome, "both": x * outcome}

    def settled(self, sums: State) -> tuple[State, tuple[str, ...]]:
        """Return the sums with the variance of x up to which it is flat."""
        return State(sums, floor=self.floor(sums["x"] / positive(sums["weight"]))), ()

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]) -> State:
        """Return the sums of every cluster."""
        terms, weight = self.on_rows(labels)
        return State({name: np.bincount(codes, weight * amount, number) for name, amount in terms.items()})

    def law(self, terms: dict[str, HostArray]) -> dict[str, tuple[HostArray, HostArray]]:
        """Expect the usual outcome in every row."""
        x, scatter = terms["x"], to_host(self.scatter())
        return {"outcome": (0.0 * x + self.usual, scatter), "both": (self.usual * x, scatter * x**2)}

    def wild_state(self, expected: State, added: State, signs: HostArray) -> State:
        """Return the sums with these signs."""
        return self.settled(super().wild_state(expected, added, signs))[0]


class Line(NamedTuple):
    """A regression line, (b,) each: mean of x, its variance, mean of the outcome, and the slope."""

    centre: Array
    spread: Array
    level: Array
    slope: Array


def _line(sums: State) -> Line:
    """Return the line of settled sums; its slope is 0 where x is flat."""
    xp, weight = namespace(sums["weight"]), positive(sums["weight"])
    centre, level = sums["x"] / weight, sums["outcome"] / weight
    spread = sums["x_x"] / weight - centre * centre
    flat = spread <= sums["floor"]
    spread = xp.where(flat, xp.zeros_like(spread), spread)
    finite = xp.isfinite(level)
    both = xp.where(finite, sums["both"] / weight, 0.0)
    mean = xp.where(finite, level, 0.0)
    slope = (both - centre * mean) / xp.where(flat, xp.full_like(spread, xp.inf), spread)
    # the smallest spread of all has the infinite z-score
    return Line(centre, spread, level, xp.where(finite, slope, xp.full_like(slope, -xp.inf)))


class Slope(OfSpread):
    """What both slopes share."""

    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, range=(-math.inf, math.inf))
    has_moments: ClassVar[bool] = False

    def value(self, sums: State) -> Array:
        """Return the slope."""
        return _line(sums).slope

    def stderr(self, bound: Linear, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Look again, for the residuals of the line."""
        if labels.weights is not None:
            return None, "with weighted instances the slope has no standard error"
        if float(to_host(sums["weight"])[0]) < 3:
            return None, "a line through two instances leaves no residuals"
        if float(to_host(_line(bound.terms.settled(sums)[0]).spread)[0]) == 0.0:
            stated = STATED[self.name]
            return None, f"all instances state the same {stated}, and a line needs two different ones"
        if not math.isfinite(float(to_host(bound.finish(sums))[0])):
            return None, "the slope is infinite"
        return None, SECOND_LOOK

    def influence(self, terms: SlopeTerms, sums: State, labels: Labels) -> Array:
        """Return slope + (x - mean x) residual / variance of x, whose mean has the error of the slope."""
        line = _line(terms.settled(sums)[0])
        numbers = (*line, sums["weight"])
        centre, spread, level, slope, total = (
            like(to_host(number), terms.stated[1])[0] for number in numbers
        )
        weight, x, outcome = terms.pairs(labels.values, *terms.stated)
        away = (x - centre)[0, :]
        share = terms.n_whole / total
        return slope + (weight * away * (outcome - level - slope * away) / spread)[0, :] * share

    def observed_notes(self, sums: State) -> tuple[str, ...]:
        """Say where a slope has no meaning."""
        notes = super().observed_notes(sums)
        if float(to_host(_line(sums).spread)[0]) != 0.0:
            return notes
        return (*notes, f"all instances state the same {STATED[self.name]}: the slope is 0")


class MeanSlopeTerms(SlopeTerms):
    """z-scores against predicted means, both in units of their spread."""

    usual = 0.0

    def __init__(self, predictions: RealPredictions, plan: Plan) -> None:
        super().__init__(predictions)
        low, self.centre, high = to_host(plan.edges).tolist()
        self.unit = max(high - self.centre, self.centre - low) or 1.0
        self.n_whole = plan.n

    def pairs(self, labels: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Return where means are between all, and z-scores; infinite ones, of equal draws, have no weight."""
        xp, x = namespace(variance), (mean - self.centre) / self.unit
        if not isinstance(self.predictions, Samples):
            return xp.ones_like(mean), x, (labels - mean) / xp.sqrt(variance)
        square = squared_z(labels, mean, variance, drawn=True)
        known = xp.isfinite(square)
        weight = xp.astype(known, variance.dtype)
        z = xp.where(known, (labels - mean) / xp.sqrt(variance), xp.zeros_like(square))
        return weight, weight * x, z

    def scatter(self) -> Array:
        """Return 1."""
        return namespace(self.stated[1]).ones_like(self.stated[1][0, :])

    def floor(self, centre: Array) -> Array:
        """Return what rounding leaves of the means, in units of their range."""
        return namespace(centre).zeros_like(centre) + _FLAT * _FLAT * (self.centre / self.unit) ** 2


@dataclasses.dataclass(frozen=True)
class MeanSlope(Slope):
    """Slope of z-scores on predicted means, for one standard deviation of these: 0 if means are right.

    Notes
    -----
    Needs no bins. Below 0, predictions are too extreme: high ones are too high and low ones too low, as those
    of an overfitted model are. Above 0, they are too close to their average.

    Examples
    --------
    >>> import credibly as cr
    >>> given = cr.Gaussian([-1.0, -1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0])
    >>> float(cr.statistics.mean_slope(given, [0.0, -1.0, 1.0, 0.0]))  # z is 1/2, 0, 0, -1/2
    -0.25
    """

    of_equal_draws: ClassVar[str] = "those with another label were left out"
    name: ClassVar[str] = "mean_slope"
    reference: ClassVar[str] = "Mincer and Zarnowitz 1969"
    story: ClassVar[Story] = Story(
        title="Mean slope",
        meaning=(
            "Change of the error, in units of the stated spread, if the predicted mean rises by one standard "
            "deviation of all predicted means; 0 if means are right."
        ),
        formula="slope of (y − μ) / σ on μ, times the standard deviation of μ",
        above="high predictions are too low, or low ones too high (too close to their average)",
        below="high predictions are too high, or low ones too low (too extreme)",
        citation="Mincer and Zarnowitz, The evaluation of economic forecasts, NBER, 1969.",
        aliases={"mincer_zarnowitz": "which is the slope of errors, so 0 if predictions are right"},
    )

    def _plan(self, rows: Rows) -> Plan:
        """Return the smallest, the middle and the largest mean, so that sums of squares lose no digits."""
        self.require_predictions(rows.example.predictions)
        return Plan(rows.n, rows.ranked(partial(stated_by, which=0), np.array([0, rows.n // 2, rows.n - 1])))

    def terms(self, predictions: Any, plan: Plan) -> SlopeTerms:
        """Return sums of z-scores and means."""
        return MeanSlopeTerms(predictions, plan)

    def of_few_draws(self, number: int) -> str:
        """Return what so few draws do to their means."""
        words = f"the mean of {number} draws is itself uncertain, which moves the slope below 0 "
        return words + "even if the draws are right; tests allow for that, intervals do not"

    def value(self, sums: State) -> Array:
        """Return the change of z for one standard deviation of the means."""
        line = _line(sums)
        return line.slope * namespace(line.spread).sqrt(line.spread)

    def influence(self, terms: SlopeTerms, sums: State, labels: Labels) -> Array:
        """Return the same in standard deviations of the means, which are given."""
        spread = float(to_host(_line(terms.settled(sums)[0]).spread)[0])
        return super().influence(terms, sums, labels) * math.sqrt(spread)


class SpreadSlopeTerms(SlopeTerms):
    """Squared z-scores against log sigma^2, measured from the middle one."""

    usual = 1.0

    def __init__(self, predictions: RealPredictions, plan: Plan) -> None:
        super().__init__(predictions)
        (self.middle,) = np.log(to_host(plan.edges)).tolist()
        self.n_whole = plan.n

    def pairs(self, labels: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Return log sigma^2, from the middle one, and squared z-scores."""
        xp = namespace(variance)
        log = xp.log(variance) - self.middle
        return (
            xp.ones_like(log),
            log,
            squared_z(labels, mean, variance, isinstance(self.predictions, Samples)),
        )

    def scatter(self) -> Array:
        """Return the variance of squared z-scores."""
        return scatter_of_squares(self.predictions)


@dataclasses.dataclass(frozen=True)
class SpreadSlope(Slope):
    """Slope of squared z-scores on the logarithm of the stated variance: 0 if it is right everywhere.

    Notes
    -----
    Needs no bins. Below 0, the spread is overstated where it is large or understated where it is small.

    Examples
    --------
    >>> import credibly as cr
    >>> given = cr.Gaussian([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 2.0, 2.0])
    >>> round(float(cr.statistics.spread_slope(given, [1.5, -1.5, 1.5, -1.5])), 6)  # (9/16 - 9/4) / log 4
    -1.217274
    """

    name: ClassVar[str] = "spread_slope"
    reference: ClassVar[str] = "Pernot 2022"
    story: ClassVar[Story] = Story(
        title="Spread slope",
        meaning=(
            "Slope of squared errors, in units of the stated variance, on the logarithm of that "
            "variance; 0 if the spread is right for all stated values."
        ),
        formula="slope of ((y − μ) / σ)² on log σ²",
        above="the spread is understated where it is large, or overstated where it is small",
        below="the spread is overstated where it is large, or understated where it is small",
        citation="Pernot, The long road to calibrated prediction uncertainty in computational chemistry, "
        "Journal of Chemical Physics, 2022.",
    )

    def _plan(self, rows: Rows) -> Plan:
        """Return the middle variance: measured from it, sums do not depend on the unit of the labels."""
        self.require_predictions(rows.example.predictions)
        return Plan(rows.n, rows.ranked(partial(stated_by, which=1), np.array([rows.n // 2])))

    def terms(self, predictions: Any, plan: Plan) -> SlopeTerms:
        """Return sums of squared z-scores and log variances."""
        return SpreadSlopeTerms(predictions, plan)


mean_slope = MeanSlope()
spread_slope = SpreadSlope()
