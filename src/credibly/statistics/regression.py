"""Means over instances of a loss of a real label: what the scores of regression share.

Errors of one number per instance: of the mean, squared, and of the median, absolute.
rmse  sqrt(mean (y - E F)^2)          mae  mean |y - median F|

Each uses the point that minimises its expectation under the predicted distribution.   Gneiting 2011.

The log loss of Gaussian predictions: mean -log density of the label under the mixture of the members.
-log 1/m sum_j N(y; mu_j, s_j^2)            in natural units of the label      Good 1952

The continuous ranked probability score, in closed form for every kind of real-valued prediction.

crps = E|X - y| - 1/2 E|X - X'|,  X, X' independent draws from the prediction

Gaussian mixture  E|X - y| = 1/m sum_j A(y - mu_j, s_j),  A(d, s) = d (2 Phi(d/s) - 1) + 2 s phi(d/s)
draws             the same expectations over the draws themselves
quantiles         2/q sum_j (1[y < v_j] - l_j)(v_j - y): twice the mean pinball loss

Matheson and Winkler 1976; Grimit et al. 2006 (mixtures); Laio and Tamea 2007 (quantiles).
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputTypeError, UnsupportedError, one_of
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    namespace,
    ndtr,
    to_host,
)
from credibly._arrays.remembered import remembered
from credibly._arrays.row_search import count_at_most
from credibly.predictions import Gaussian, Labels, Predictions, Quantiles, RealPredictions, Samples
from credibly.predictions.samples import LeftOut
from credibly.results.base import Tail, require_level
from credibly.results.estimates import scale_and_skewness, skewed
from credibly.statistics.mixture_tables import (
    MANY_REPLICATES,
    Loss,
    LossTable,
    distances_on_grid,
    nodes_of,
)
from credibly.statistics.proper import MeanBound
from credibly.statistics.protocol import REAL_LABELS, Bound, Plan, State, Statistic, Story, Traits


class LossBound(MeanBound):
    """A mean over instances of `loss(y)[:, i]`."""

    def __init__(self, statistic: Statistic, loss: Loss, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, None, plan, notes)
        self.loss = loss

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's loss, (b, n)."""
        return self.loss(labels.values)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Refuse: what a prediction expects of the loss is not known in closed form."""
        return Bound.wild_sums(self, labels, codes, number)

    def widened(self, expected: State, added: State) -> tuple[State, State]:
        """Return widened sums, with scale and skewness of what clusters add: losses are skewed."""
        expected, added = super().widened(expected, added)
        return State({**expected, "shape": scale_and_skewness(added["total"])}), added

    def wild_values(self, expected: State, added: State, signs: HostArray) -> Array:
        """Return values with these signs; replicates get the skewness that a sum of losses has."""
        moved = skewed(signs @ added["total"], *expected.get("shape", (1.0, 0.0)))
        return self.finish(State(weight=expected["weight"], total=expected["total"] + moved))


@dataclasses.dataclass(frozen=True)
class RealMean(Statistic):
    """A mean over instances of a loss that depends on the predicted distribution and the label."""

    every_member: ClassVar[bool] = False
    """Whether the loss of a mixture looks at all of its members for every label."""

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        if self.every_member and isinstance(predictions, Gaussian) and predictions.n_members > 1:
            return MixtureLossBound(self, predictions, plan)
        return LossBound(self, self.loss(predictions), plan, predictions.notes)

    @abstractmethod
    def loss(self, predictions: Any) -> Loss:
        """Return the loss of labels (b, n), with all that needs no labels computed."""

    def loss_but_constant(self, predictions: Any) -> Loss:
        """Return the loss up to a number per instance, which is the same for all of its labels."""
        return self.loss(predictions)

    def loss_on_grid(self, predictions: Gaussian, low: Array, step: Array, number: int) -> Array:
        """Return the loss of mixtures at evenly spaced numbers, less one per row, (number, n)."""
        return self.loss_but_constant(predictions)(nodes_of(low, step, number))


class MixtureLossBound(LossBound):
    """A mean over instances of a loss of normal mixtures, which costs as much as there are members."""

    def __init__(self, statistic: RealMean, predictions: Gaussian, plan: Plan) -> None:
        super().__init__(statistic, statistic.loss(predictions), plan, predictions.notes)
        self.predictions = predictions

    def for_replicates(self, observed: Labels, n_resamples: int) -> Bound:
        """Return the mean of tabulated losses, where there are so many label vectors that tables pay."""
        return self if n_resamples < MANY_REPLICATES else TabledLossBound(self, observed)


class TabledLossBound(LossBound):
    """The same mean for many label vectors: tabled losses, moved to be exact for observed labels.

    H_i(y) + f_i(o_i) - H_i(o_i),   H_i the table of the loss f_i,  o_i the observed label

    What is added is the same for all labels, so ranks among label vectors are those of the sums of H.
    """

    def __init__(self, exact: MixtureLossBound, observed: Labels) -> None:
        super().__init__(exact.statistic, exact.loss, Plan(exact.n), exact.notes)
        assert isinstance(exact.statistic, RealMean)
        self.observed = observed.values
        own = exact.statistic
        self.table = LossTable(exact.predictions, own, own.loss_but_constant, own.loss_on_grid)
        self._first: TabledLossBound | None = None  # who looks labels up for this one too
        self._others: list[TabledLossBound] = []
        self._last: tuple[Labels, Array] | None = None  # what was found for it

    def share_with(self, other: Bound) -> bool:
        """Let `other` look labels up, where it has a loss of the same predictions."""
        same = isinstance(other, TabledLossBound) and other.table.predictions is self.table.predictions
        if same:
            assert isinstance(other, TabledLossBound)
            self._first = other if other._first is None else other._first
            if self not in self._first._others:
                self._first._others.append(self)
        return same

    def _is_observed(self, labels: Labels) -> bool:
        return len(labels) == 1 and bool(namespace(self.observed).all(labels.values == self.observed))

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's loss, (b, n); of the observed labels nothing is looked up."""
        if self._is_observed(labels):
            return self.loss(self.observed)
        return self.table.at(labels.values) + self._moved

    def state(self, labels: Labels) -> State:
        """Sum weights and losses."""
        if self._is_observed(labels):
            return self._state(labels)
        total, weights = self._looked_up(labels), labels.weights
        xp = namespace(total)
        if weights is None:
            return State(
                weight=xp.zeros_like(total) + float(labels.n), total=total + xp.sum(self._moved, axis=1)
            )
        moved = weights * xp.where(weights > 0, self._moved, xp.zeros_like(self._moved))
        return State(weight=xp.sum(weights, axis=1), total=total + xp.sum(moved, axis=1))

    def _looked_up(self, labels: Labels) -> Array:
        """Return the sums of H; the first of several losses finds those of all."""
        last, self._last = self._last, None
        if last is not None and last[0] is labels:
            return last[1]
        own, *rest = self.table.sums(labels, [one.table for one in self._others])
        for one, found in zip(self._others, rest, strict=True):
            one._last = labels, found
        return own

    @cached_property
    def _moved(self) -> Array:
        return self.loss(self.observed) - self.table.at(self.observed)


def real_traits(
    *,
    tail: Tail = "two-sided",
    differentiable: bool = False,
    bounds: tuple[float, float] | None = None,
) -> Traits:
    """Return the traits of a sum over instances with real labels."""
    return Traits(
        reduction="sum",
        tail=tail,
        labels=REAL_LABELS,
        differentiable=differentiable,
        multiplicities=True,
        duplicate_invariant=True,
        range=bounds,
    )


def central_interval(predictions: RealPredictions, level: float) -> tuple[Array, Array]:
    """Return the ends, (n,) each, of the central interval that holds `level` of the probability."""
    require_level(level)
    ends = predictions.quantile([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return ends[:, 0], ends[:, 1]


class RootBound(LossBound):
    """The square root of a mean."""

    def finish(self, state: State) -> Array:
        """Divide by the total weight and take the root."""
        mean = super().finish(state)
        xp = namespace(mean)
        return xp.sqrt(xp.clip(mean, 0.0, None))  # signs of clusters may leave less than nothing

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of the mean square, carried through the root's slope."""
        error, refusal = super().stderr(sums, labels)
        value = float(to_host(self.finish(sums))[0])
        if error is None:
            return None, refusal
        if value == 0.0:
            return None, "every error is zero, where the square root has no derivative"
        return error / (2.0 * value), refusal


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
    traits: ClassVar[Traits] = real_traits(differentiable=True, bounds=(0.0, math.inf))
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

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        return RootBound(self, self.loss(predictions), plan, predictions.notes)

    def loss(self, predictions: RealPredictions) -> Loss:
        """(y - mean)^2."""
        mean = predictions.expectation()
        return lambda labels: (labels - mean) ** 2


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
    traits: ClassVar[Traits] = real_traits(bounds=(0.0, math.inf))
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

    def loss(self, predictions: RealPredictions) -> Loss:
        """|y - median|."""
        median = predictions.quantile([0.5])[:, 0]
        xp = namespace(median)
        return lambda labels: xp.abs(labels - median)


rmse = RootMeanSquaredError()

mae = MeanAbsoluteError()

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
    name: ClassVar[str] = "gaussian_log_loss"
    traits: ClassVar[Traits] = real_traits(differentiable=True, bounds=(-math.inf, math.inf))
    reference: ClassVar[str] = "Good 1952"
    story: ClassVar[Story] = Story(
        title="Gaussian log loss",
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

    def loss(self, predictions: Gaussian) -> Loss:
        """Return -log of the mixture's density, shifted by the largest member so that nothing underflows."""
        mean, std = (_members_first(one) for one in predictions.members())
        shares = predictions.shares
        xp = namespace(mean)
        constant = xp.log(std) + _HALF_LOG_TWO_PI
        m = mean.shape[0]
        if shares is not None:  # a weight is a factor of its member's density
            constant = constant - xp.log(shares)[:, None]

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


gaussian_log_loss = GaussianLogLoss()

FEW_LEVELS = 10
"""Quantiles below which the CRPS depends on their levels as much as on the predictions."""
_TWO_DENSITY = 2.0 / math.sqrt(2.0 * math.pi)


@dataclasses.dataclass(frozen=True)
class ContinuousRankedProbabilityScore(RealMean):
    """Mean continuous ranked probability score: distance between distribution and label, in its unit.

    Parameters
    ----------
    estimator : {"empirical", "fair"}
        For `Samples`: the score of the draws treated as the distribution itself, or an unbiased estimate of
        the score of the distribution they were drawn from (Ferro 2014). For other predictions it makes no
        difference.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.crps(cr.Samples([[0.0, 2.0]]), [1.0]))  # E|X - y| = 1, 1/2 E|X - X'| = 1/2
    0.5
    """

    estimator: Literal["empirical", "fair"] = "empirical"
    every_member: ClassVar[bool] = True
    name: ClassVar[str] = "crps"
    traits: ClassVar[Traits] = real_traits(differentiable=True, bounds=(-math.inf, math.inf))
    reference: ClassVar[str] = "Matheson and Winkler 1976"
    story: ClassVar[Story] = Story(
        title="CRPS",
        meaning="Distance between the predicted distribution and the label, in the label's unit; smaller is "
        "better. For quantiles: twice their mean pinball loss.",
        formula="mean of E|X − y| − ½ E|X − X′|",
        above="labels are further from the predicted distributions than these say",
        below="labels are closer to the predicted distributions than these say",
        citation="Matheson and Winkler, Scoring rules for continuous probability distributions, Management "
        "Science, 1976; Grimit et al., Quarterly Journal of the Royal Meteorological Society, 2006.",
        aliases={
            "pinball_loss": "which for quantiles is twice their mean pinball loss",
        },
    )

    def __post_init__(self) -> None:
        one_of("`estimator`", self.estimator, ("empirical", "fair"))

    def loss(self, predictions: RealPredictions) -> Loss:
        """Return the score of labels (b, n) by the closed form of the prediction's kind."""
        if isinstance(predictions, Samples):
            return _of_draws(predictions, self.estimator)
        if self.estimator == "fair":
            raise UnsupportedError(
                '`crps` with estimator="fair"',
                "corrects for a finite number of draws",
                f"got {type(predictions).__name__}, which has none",
                "Leave `estimator` out.",
            )
        if isinstance(predictions, Quantiles):
            return _of_quantiles(as_float64(predictions.values), as_float64(predictions.levels))
        assert isinstance(predictions, Gaussian)
        return _of_mixture(predictions, _known_half(predictions))

    def loss_but_constant(self, predictions: RealPredictions) -> Loss:
        """Leave out 1/2 E|X - X'| of mixtures: it takes all pairs of members."""
        return _of_mixture(predictions, 0.0) if isinstance(predictions, Gaussian) else self.loss(predictions)

    def loss_on_grid(self, predictions: Gaussian, low: Array, step: Array, number: int) -> Array:
        """Sum up densities instead."""
        return distances_on_grid(predictions, low, step, number)

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        bound = super()._bind(predictions, plan)
        if isinstance(predictions, Quantiles) and predictions.levels.shape[0] < FEW_LEVELS:
            levels = predictions.levels.shape[0]
            few = (
                f"CRPS from {levels} quantile{'s' * (levels > 1)} is twice their mean pinball loss: compare "
                "it only with predictions at the same levels"
            )
            bound.notes = (*bound.notes, few)
        return bound


def crps_and_slope(predictions: Gaussian) -> Callable[[Array], tuple[Array, Array]]:
    """Return the CRPS of labels (b, n) and its derivative in the label, made of the same terms."""
    mean, std = (_members_first(one) for one in predictions.members())
    shares, half = predictions.shares, _known_half(predictions)

    def both(labels: Array) -> tuple[Array, Array]:
        loss: Any = 0.0
        slope: Any = 0.0
        for j in range(mean.shape[0]):
            share = 1.0 / mean.shape[0] if shares is None else shares[j]
            own, rise = _distance_and_slope(labels - mean[j, :], std[j, :])
            loss, slope = loss + share * own, slope + share * rise
        return loss - half, slope

    return both


def _known_half(predictions: Gaussian) -> Array:
    return remembered((predictions, _half_spread), lambda: (_half_spread(predictions),))[0]


def _half_spread(predictions: Gaussian) -> Array:
    """Return 1/2 E|X - X'| of mixtures, (n,)."""
    mean, std = (_members_first(one) for one in predictions.members())
    shares = predictions.shares
    xp, m = namespace(std), mean.shape[0]
    weight = xp.ones_like(std[:, :1]) if shares is None else shares[:, None]
    whole = float(m) if shares is None else 1.0
    # pairs of a member with itself: A(0, s sqrt(2)) = 2 s / sqrt(pi)
    spread = xp.sum(weight * weight * std, axis=0) * (2.0 / math.sqrt(math.pi))
    for j in range(m - 1):
        gap, scale = mean[j + 1 :, :] - mean[j, :], xp.hypot(std[j + 1 :, :], std[j, :])
        spread = spread + 2.0 * weight[j, 0] * xp.sum(weight[j + 1 :, :] * _distance(gap, scale), axis=0)
    return spread / (2.0 * whole * whole)


def _of_mixture(predictions: Gaussian, half: Array | float) -> Loss:
    """Return E|X - y| of mixtures of normal members, less `half` (n,)."""
    mean, std = (_members_first(one) for one in predictions.members())
    shares, m = predictions.shares, mean.shape[0]

    def distance(labels: Array, j: int) -> Array:
        own = _distance(labels - mean[j, :], std[j, :])
        return own if shares is None else shares[j] * own

    def score(labels: Array) -> Array:
        total = distance(labels, 0)
        for j in range(1, m):
            total = total + distance(labels, j)
        return (total / float(m) if shares is None else total) - half

    return score


def _members_first(values: Array) -> Array:
    """Return (m, n) of (n, m), every member next to itself in memory."""
    return np.ascontiguousarray(values.T) if is_numpy(values) else values.T


def _distance(gap: Array, scale: Array) -> Array:
    """Return E|gap + scale Z| for a standard normal Z."""
    return _distance_and_slope(gap, scale)[0]


def _distance_and_slope(gap: Array, scale: Array) -> tuple[Array, Array]:
    """Return E|gap + scale Z| and its derivative in the gap."""
    xp = namespace(gap)
    z = gap / scale
    slope = 2.0 * ndtr(z) - 1.0
    return gap * slope + scale * (_TWO_DENSITY * xp.exp(-0.5 * z * z)), slope


def _of_draws(predictions: Samples, estimator: str) -> Loss:
    if isinstance(predictions, LeftOut):
        return _of_left_out(predictions, estimator)
    if predictions.weights is not None:
        return _of_weighted_draws(predictions, estimator)
    draws = predictions.pooled()
    xp = namespace(draws)
    s = draws.shape[1]
    pairs = _pairs(predictions, s, estimator)
    rank = xp.arange(1, s + 1, dtype=xp.float64, device=device(draws))
    centre = draws[:, s // 2]  # sums of distances lose fewer digits around it
    away = draws - centre[:, None]
    half = xp.sum((2.0 * rank - s - 1.0) * away, axis=1) / pairs
    before = _sums_before(away)
    counts = xp.arange(s + 1, dtype=xp.float64, device=device(draws))
    slopes = (2.0 * counts - s) / s
    heights = (before[:, -1:] - 2.0 * before) / s - half[:, None]
    return _piecewise(draws, centre, slopes, heights)


def _of_weighted_draws(predictions: Samples, estimator: str) -> Loss:
    """Return sum_k w_k |x_k - y| - sum_{j < k} w_j w_k (x_k - x_j), the second over 1 - sum w^2 if fair."""
    draws, reached = predictions.steps()
    s = draws.shape[1]
    _pairs(predictions, s, estimator)
    xp = namespace(draws)
    centre = draws[:, s // 2]
    away = (draws - centre[:, None]) * (reached[:, 1:] - reached[:, :-1])
    half = xp.sum((reached[:, 1:] + reached[:, :-1] - 1.0) * away, axis=1)
    if estimator == "fair":
        half = half / (1.0 - 1.0 / predictions.n_effective)
    before = _sums_before(away)
    return _piecewise(draws, centre, 2.0 * reached - 1.0, before[:, -1:] - 2.0 * before - half[:, None])


def _pairs(predictions: Samples, s: int, estimator: str) -> int:
    """Return what sums over pairs of s draws are divided by."""
    if estimator != "fair":
        return s * s
    if predictions.n_members > 1 or s < 2:
        raise UnsupportedError(
            '`crps` with estimator="fair"',
            "needs at least two independent draws per instance",
            f"got {predictions!r}",
            'Use estimator="empirical".',
        )
    return s * (s - 1)


def _of_left_out(predictions: LeftOut, estimator: str) -> Loss:
    """Return the score of one label for every number that is left out, from sums over whole rows."""
    pool, ordered = predictions.pool, predictions.ordered
    xp = namespace(pool)
    n, p = pool.shape
    pairs = _pairs(predictions, p - 1, estimator)
    centre = ordered[:, p // 2][:, None]
    away = ordered - centre
    before = _sums_before(away)
    rank = xp.arange(1, p + 1, dtype=xp.float64, device=device(pool))
    between = xp.sum((2.0 * rank - p - 1.0) * away, axis=1)[:, None]  # sum over pairs j < k of |z_j - z_k|

    def distances(values: Array) -> Array:
        """Return sum_k |z_k - v| for values (n, p)."""
        cell = count_at_most(ordered, values.T).T
        counts = 2.0 * xp.astype(cell, xp.float64) - p
        return counts * (values - centre) + before[:, -1:] - 2.0 * xp.take_along_axis(before, cell, axis=1)

    half = (between - distances(pool)) / pairs

    def score(labels: Array) -> Array:
        values = xp.reshape(labels, (n, p))
        return xp.reshape((distances(values) - xp.abs(pool - values)) / (p - 1) - half, (1, n * p))

    return score


def _of_quantiles(values: Array, levels: Array) -> Loss:
    q = values.shape[1]
    centre = values[:, q // 2]
    away = values - centre[:, None]
    over, under = _sums_before(levels * away), _sums_before((1.0 - levels) * away)
    weight_over, weight_under = _sums_before(levels[None, :]), _sums_before(1.0 - levels[None, :])
    slopes = (2.0 / q) * (weight_over - (weight_under[:, -1:] - weight_under))[0, :]
    heights = (2.0 / q) * ((under[:, -1:] - under) - over)
    return _piecewise(values, centre, slopes, heights)


def _sums_before(values: Array) -> Array:
    """Return sums of the first 0, 1, ..., q entries of every row, (n, q + 1)."""
    xp = namespace(values)
    return xp.concat([xp.zeros_like(values[:, :1]), xp.cumulative_sum(values, axis=1)], axis=1)


def _piecewise(knots: Array, centre: Array, slopes: Array, heights: Array) -> Loss:
    """Return a loss that is linear between knots (n, q): heights (n, q + 1) at `centre`.

    Slopes are (q + 1,), or (n, q + 1) where they differ between rows.
    """
    xp = namespace(knots)

    def score(labels: Array) -> Array:
        cell = count_at_most(knots, labels)
        if slopes.ndim == 2:
            slope = xp.take_along_axis(slopes, cell.T, axis=1).T
        else:
            slope = xp.reshape(xp.take(slopes, xp.reshape(cell, (-1,))), cell.shape)
        return slope * (labels - centre) + xp.take_along_axis(heights, cell.T, axis=1).T

    return score


crps = ContinuousRankedProbabilityScore()
