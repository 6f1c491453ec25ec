"""Means over instances of a loss of a real label: what the scores of regression share.

Errors of one number per instance: of the mean, squared, and of the median, absolute.
rmse  sqrt(mean (y - E F)^2)          mae  mean |y - median F|

Each uses the point that minimises its expectation under the predicted distribution.   Gneiting 2011.

The score of central intervals, from l to u, with the probability `level` = 1 - alpha:
interval_score  mean (u - l) + 2/alpha (l - y)^+ + 2/alpha (y - u)^+            Gneiting and Raftery 2007

The log loss of Gaussian predictions: mean -log density of the label under the mixture of the members.
-log 1/m sum_j N(y; mu_j, s_j^2)            in natural units of the label      Good 1952
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, clip, is_numpy, namespace, to_host
from credibly.predictions import Gaussian, Labels, Predictions, RealPredictions
from credibly.predictions.regression import over_members
from credibly.results.base import require_level
from credibly.statistics.batches import positive, total_of
from credibly.statistics.linear import Linear, LinearStatistic
from credibly.statistics.mixture_tables import Grid, Loss, LossTable
from credibly.statistics.protocol import REAL_LABELS, Plan, State, Story, Traits
from credibly.statistics.terms import Losses

REAL_TRAITS = Traits(tail="two-sided", labels=REAL_LABELS, range=(0.0, math.inf))
"""Of a sum over instances with real labels."""
SCORE_TRAITS = dataclasses.replace(REAL_TRAITS, range=(-math.inf, math.inf), differentiable=True)


@dataclasses.dataclass(frozen=True)
class RealMean(LinearStatistic):
    """A mean over instances of a loss that depends on the predicted distribution and the label."""

    is_skewed: ClassVar[bool] = True
    every_member: ClassVar[bool] = False
    """Whether the loss of a mixture looks at all of its members for every label."""
    term_size: ClassVar[float] = 0.0
    traits: ClassVar[Traits] = REAL_TRAITS

    def terms(self, predictions: Any, plan: Plan) -> Losses:
        """Return the loss as a function of labels."""
        losses = Losses(self.loss(predictions), predictions._leading, partial(self.moments, predictions))
        if self.every_member and isinstance(predictions, Gaussian) and predictions.n_members > 1:
            losses.tabled = partial(TabledLosses, self, predictions, losses.loss)
        return losses

    @abstractmethod
    def loss(self, predictions: Any) -> Loss:
        """Return the loss of labels (b, n), with all that needs no labels computed."""

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return mean and variance of the loss under the predictions, (n,) or one number; none if unknown."""
        return ()

    def loss_but_constant(self, predictions: Any) -> Loss:
        """Return the loss up to a number per instance, which is the same for all of its labels."""
        return self.loss(predictions)

    def loss_on_grid(self, predictions: Gaussian, grid: Grid) -> Array:
        """Return `loss_but_constant` of mixtures at evenly spaced nodes, (number, n)."""
        return self.loss_but_constant(predictions)(grid.nodes)


class TabledLosses(Losses):
    """The same losses for many label vectors: from tables, moved to be exact for observed labels.

    H_i(y) + f_i(o_i) - H_i(o_i),   H_i the table of the loss f_i,  o_i the observed label

    What is added is the same for all labels, so ranks among label vectors are those of the sums of H.
    """

    def __init__(self, statistic: RealMean, predictions: Gaussian, loss: Loss, observed: Labels) -> None:
        super().__init__(loss, predictions._leading)
        self.labels = observed.values
        self.table = LossTable(predictions, statistic.loss_but_constant, statistic.loss_on_grid)
        self.predictions = predictions

    @property
    def shared(self) -> Hashable:
        """Equal for tables of the same predictions, whose nodes are the same."""
        return TabledLosses, id(self.predictions)

    def _are_observed(self, labels: Labels) -> bool:
        return len(labels) == 1 and bool(namespace(self.labels).all(labels.values == self.labels))

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's loss, (b, n); observed labels need no table."""
        if self._are_observed(labels):
            return self.loss(self.labels)
        return self.table.at(labels.values) + self._moved

    def observed(self, labels: Labels) -> Array:
        """Sum the losses."""
        return self.observed_with((), labels)[0]

    def observed_with(self, others: Sequence[TabledLosses], labels: Labels) -> list[Array]:
        """Sum the losses of all, whose tables have the same nodes."""
        every, weights = (self, *others), labels.weights
        if self._are_observed(labels):
            return [total_of(losses.loss(self.labels), weights) for losses in every]
        sums = self.table.sums(labels, [other.table for other in others])
        if weights is None:
            return [(total + terms._moved_sum)[:, None] for terms, total in zip(every, sums, strict=True)]
        return [
            total[:, None] + total_of(terms._moved, weights) for terms, total in zip(every, sums, strict=True)
        ]

    @cached_property
    def _moved(self) -> Array:
        return self.loss(self.labels) - self.table.at(self.labels)

    @cached_property
    def _moved_sum(self) -> Array:
        """Shift that makes the observed sum exact: sums are rounded differently from single terms."""
        return namespace(self.labels).sum(self._moved, axis=1) + self.table.rounding(self.labels)


def of_one_normal(predictions: RealPredictions, mean: float, variance: float) -> tuple[Array, ...]:
    """Return moments of a loss that is the spread times a function of (y - mu) / sigma, of one normal.

    `mean` and `variance` are those of the function; of mixtures and other predictions nothing is known.
    """
    if not isinstance(predictions, Gaussian) or predictions.n_members > 1:
        return ()
    spread = predictions.members()[1][:, 0]
    return mean * spread, variance * spread**2


def fourth_moment(predictions: Gaussian) -> Array:
    """Return E (y - mu)^4 of normal mixtures, (n,)."""
    mean, std = predictions.members()
    away = (mean - predictions.expectation()[:, None]) ** 2
    return over_members(3.0 * std**4 + 6.0 * std**2 * away + away**2, predictions.shares)


def central_interval(predictions: RealPredictions, level: float) -> tuple[Array, Array]:
    """Return the ends, (n,) each, of the central interval that holds `level` of the probability."""
    require_level(level)
    ends = predictions.quantile([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return ends[:, 0], ends[:, 1]


@dataclasses.dataclass(frozen=True)
class IntervalScore(RealMean):
    """Mean width of the central interval, plus a penalty for labels outside: 2 / (1 - level) per unit.

    Parameters
    ----------
    level : float
        Stated coverage of the interval.

    Examples
    --------
    >>> import credibly as cr
    >>> quantiles = cr.Quantiles([[-1.0, 1.0]], [0.1, 0.9])
    >>> round(float(cr.interval_score(quantiles, [1.5], level=0.8)), 6)  # 2 + 2 / 0.2 * 0.5
    7.0
    """

    level: float = 0.9
    name: ClassVar[str] = "interval_score"
    reference: ClassVar[str] = "Gneiting and Raftery 2007"
    story: ClassVar[Story] = Story(
        title="Interval score",
        meaning="Mean width of the central interval, plus a penalty for labels outside; smaller is better.",
        formula="mean of (u − l) + 2/α (l − y)⁺ + 2/α (y − u)⁺",
        above="labels lie further outside the intervals than the predictions say",
        below="labels lie less far outside the intervals than the predictions say",
        citation="Gneiting and Raftery, Strictly proper scoring rules, prediction, and estimation, JASA "
        "2007.",
        aliases={"winkler": "", "winkler_score": ""},
    )

    def __post_init__(self) -> None:
        require_level(self.level)

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return the width plus what a normal label is expected to lie outside, and its variance."""
        end = float(ndtri((1.0 + self.level) / 2.0))
        density = math.exp(-0.5 * end * end) / math.sqrt(2.0 * math.pi)
        beyond = (1.0 - self.level) / 2.0
        once = 2.0 * (density - end * beyond)
        twice = 2.0 * ((1.0 + end * end) * beyond - end * density)
        penalty = 2.0 / (1.0 - self.level)
        return of_one_normal(predictions, 2.0 * end + penalty * once, penalty**2 * (twice - once * once))

    def loss(self, predictions: RealPredictions) -> Loss:
        """Width and penalty."""
        low, high = central_interval(predictions, self.level)
        xp = namespace(low)
        penalty = 2.0 / (1.0 - self.level)

        def score(labels: Array) -> Array:
            outside = xp.maximum(low - labels, labels - high)
            return (high - low) + penalty * clip(outside, 0.0)

        return score


_NO_SLOPE = "every squared error is zero, or too small to tell, where the square root has no derivative"


@dataclasses.dataclass(frozen=True)
class RootMeanSquaredError(RealMean):
    """Root of the mean squared distance between the label and the mean of the predicted distribution.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.rmse(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [3.0, -3.0]))
    3.0
    """

    name: ClassVar[str] = "rmse"
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, differentiable=True)
    reference: ClassVar[str] = "Gneiting 2011"
    story: ClassVar[Story] = Story(
        title="RMSE",
        meaning="Root of the mean squared distance between the label and the mean of the predicted "
        "distribution.",
        formula="√(mean of (y − E F)²)",
        above="labels are further from the predicted means than the predictions say",
        below="labels are closer to the predicted means than the predictions say",
        citation="Gneiting, Making and evaluating point forecasts, JASA 2011.",
        aliases={"root_mean_squared_error": "", "mse": "which is the root of it"},
    )

    def value(self, sums: State) -> Array:
        """Return the root of the mean; signs of clusters may leave less than nothing."""
        mean = super().value(sums)
        xp = namespace(mean)
        return xp.sqrt(xp.clip(mean, 0.0, None))

    def stderr(self, bound: Linear, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Carry the standard error of the mean square through the slope of the root."""
        stderr, refusal = super().stderr(bound, sums, labels)
        if stderr is None:
            return None, refusal
        value = float(to_host(self.value(sums))[0])
        return (None, _NO_SLOPE) if value == 0.0 else (stderr / (2.0 * value), refusal)

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return the variance of the prediction, and the variance of squared errors of normal mixtures."""
        if not isinstance(predictions, Gaussian):
            return ()
        variance = predictions.variance()
        return variance, fourth_moment(predictions) - variance**2

    def loss(self, predictions: RealPredictions) -> Loss:
        """(y - mean)^2; refused if these are no numbers, or all 0 although the labels differ."""
        mean = predictions.expectation()

        def square(labels: Array) -> Array:
            apart = labels - mean
            with np.errstate(over="ignore", under="ignore"):
                squares = apart * apart
            if labels.shape[0] == 1:  # the observed labels
                _require_squares(apart, squares)
            return squares

        return square


def _require_squares(apart: Array, square: Array) -> None:
    xp = namespace(apart)
    far, most = (float(to_host(xp.max(part))) for part in (xp.abs(apart), square))
    if math.isfinite(far) and (most == 0.0 < far or math.isinf(most)):
        raise UnsupportedError(
            "`rmse`",
            "squares errors, and their squares must be numbers of this precision",
            f"the largest error is {far:.3g}",
            "Use another unit, or `mae`.",
        )


@dataclasses.dataclass(frozen=True)
class MeanAbsoluteError(RealMean):
    """Mean distance between the label and the median of the predicted distribution.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.mae(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [3.0, -4.0]))
    3.5
    """

    name: ClassVar[str] = "mae"
    reference: ClassVar[str] = "Gneiting 2011"
    story: ClassVar[Story] = Story(
        title="Mean absolute error",
        meaning="Mean distance between the label and the median of the predicted distribution.",
        formula="mean of |y − median F|",
        above="labels are further from the predicted medians than the predictions say",
        below="labels are closer to the predicted medians than the predictions say",
        citation="Gneiting, Making and evaluating point forecasts, JASA 2011.",
        aliases={"mean_absolute_error": ""},
    )

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return sqrt(2 / pi) and 1 - 2 / pi, the moments of the distance of a normal label."""
        return of_one_normal(predictions, math.sqrt(2.0 / math.pi), 1.0 - 2.0 / math.pi)

    def loss(self, predictions: RealPredictions) -> Loss:
        """|y - median|."""
        median = predictions.quantile([0.5])[:, 0]
        xp = namespace(median)
        return lambda labels: xp.abs(labels - median)


rmse = RootMeanSquaredError()

mae = MeanAbsoluteError()


def members_first(values: Array) -> Array:
    """Return (m, n) of (n, m), every member next to itself in memory."""
    return np.ascontiguousarray(values.T) if is_numpy(values) else values.T


_THINNEST = 1e-280
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclasses.dataclass(frozen=True)
class GaussianLogLoss(RealMean):
    """Mean negative logarithm of the predicted density at the label; it has no lower bound.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.gaussian_log_loss(cr.Gaussian([0.0], [1.0]), [0.0])), 6)  # log(2 pi) / 2
    0.918939
    """

    every_member: ClassVar[bool] = True
    term_size: ClassVar[float] = 1.0
    name: ClassVar[str] = "gaussian_log_loss"
    traits: ClassVar[Traits] = SCORE_TRAITS
    reference: ClassVar[str] = "Good 1952"
    story: ClassVar[Story] = Story(
        title="Gaussian log loss",
        begins_with_name=True,
        meaning="Mean negative natural logarithm of the density at the label, of the mixture of all members.",
        formula="mean of −log 1/m Σ_j N(y; μ_j, σ_j²)",
        above="labels that it called improbable occur too often",
        below="labels that it called improbable occur too rarely",
        citation="Good, Rational decisions, Journal of the Royal Statistical Society B, 1952.",
        aliases={
            **dict.fromkeys(("nll", "log_score", "negative_log_likelihood"), "for real values"),
            "gaussian_nll": "",
        },
    )

    def require_predictions(self, predictions: Predictions) -> None:
        """Raise unless predictions have a Gaussian density."""
        super().require_predictions(predictions)
        if not isinstance(predictions, Gaussian):
            raise InputTypeError(
                f"`{self.name}`",
                "needs a density, which only Gaussian predictions have",
                f"got {type(predictions).__name__}",
                "Use `crps`, which needs none.",
            )

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return log sigma + log sqrt(2 pi e) and 1/2 of one normal."""
        if predictions.n_members > 1:
            return ()
        std = predictions.members()[1][:, 0]
        xp = namespace(std)
        return xp.log(std) + _HALF_LOG_TWO_PI + 0.5, xp.full_like(std, 0.5)

    def loss(self, predictions: Gaussian) -> Loss:
        """Return -log of the mixture's density, shifted by the largest member so that nothing underflows."""
        mean, std = (members_first(part) for part in predictions.members())
        shares = predictions.shares
        xp = namespace(mean)
        constant = xp.log(std) + _HALF_LOG_TWO_PI
        m = mean.shape[0]
        if shares is not None:  # a weight is a factor of its member's density, which 0 takes away
            weight = members_first(shares)
            constant = constant - xp.where(weight > 0, xp.log(positive(weight)), -math.inf)

        def exponent(labels: Array, j: int) -> Array:
            z = (labels - mean[j, :]) / std[j, :]
            return -0.5 * z * z - constant[j, :]

        def score(labels: Array) -> Array:
            if m == 1:
                return -exponent(labels, 0)
            top = exponent(labels, 0)
            for j in range(1, m):
                top = xp.maximum(top, exponent(labels, j))
            total = xp.exp(exponent(labels, 0) - top)
            for j in range(1, m):
                total = total + xp.exp(exponent(labels, j) - top)
            return (math.log(m) if shares is None else 0.0) - top - xp.log(total)

        return score

    def loss_on_grid(self, predictions: Gaussian, grid: Grid) -> Array:
        """Take logarithms of the densities, unless some are so small that they have lost digits."""
        xp, density = namespace(grid.density), grid.density[2:-2, :]
        if bool(xp.min(density) < _THINNEST):
            return super().loss_on_grid(predictions, grid)
        return xp.log(grid.step) - xp.log(density)


gaussian_log_loss = GaussianLogLoss()
interval_score = IntervalScore()
