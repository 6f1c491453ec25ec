"""The continuous ranked probability score, in closed form for every kind of real-valued prediction.

crps = E|X - y| - 1/2 E|X - X'|,  X, X' independent draws from the prediction

Gaussian mixture  E|X - y| = sum_j w_j A(y - mu_j, s_j),  A(d, s) = d (2 Phi(d/s) - 1) + 2 s phi(d/s)
draws             the same expectations over the draws themselves: with d the draws less the label, in order,
                  mean |d_i| - sum_i (2 i - s - 1) d_i / s^2
quantiles         2/q sum_j (1[y < v_j] - l_j)(v_j - y): twice the mean pinball loss

Matheson and Winkler 1976; Grimit et al. 2006 (mixtures); Laio and Tamea 2007 (quantiles).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    like,
    namespace,
    ndtr,
    tiles,
)
from credibly._arrays.row_search import count_at_most
from credibly.predictions import Gaussian, Predictions, Quantiles, RealPredictions, Samples
from credibly.predictions.regression import over_members
from credibly.predictions.samples import LeftOut
from credibly.predictions.without_member import WithoutNormal
from credibly.statistics.mixture_tables import Grid, Loss, distances_on_grid
from credibly.statistics.protocol import Story, Traits
from credibly.statistics.regression import SCORE_TRAITS, RealMean, members_first, of_one_normal

FEW_LEVELS = 10
"""Quantiles below which the CRPS depends on their levels as much as on the predictions."""
_VARIANCE_OF_NORMAL = 1.0 / 3.0 + (2.0 * math.sqrt(3.0) - 4.0) / math.pi
"""Of the score of a standard normal if the label is drawn from it; its mean is 1 / sqrt(pi)."""
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
    traits: ClassVar[Traits] = SCORE_TRAITS
    reference: ClassVar[str] = "Matheson and Winkler 1976"
    story: ClassVar[Story] = Story(
        title="CRPS",
        meaning="Distance between the predicted distribution and the label, in the label's unit; smaller is "
        "better. For quantiles: twice their mean pinball loss.",
        formula="mean of E|X − y| − ½ E|X − X′|",
        above="labels are further from the predicted distributions than the predictions say",
        below="labels are closer to the predicted distributions than the predictions say",
        citation="Matheson and Winkler, Scoring rules for continuous probability distributions, Management "
        "Science, 1976; Grimit et al., Quarterly Journal of the Royal Meteorological Society, 2006.",
        aliases={"check_score": "which for quantiles is twice their mean pinball loss"},
    )

    def __post_init__(self) -> None:
        one_of("`estimator`", self.estimator, ("empirical", "fair"))

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return 1 / sqrt(pi) and the variance of the score of a standard normal, in units of the spread."""
        return of_one_normal(predictions, 1.0 / math.sqrt(math.pi), _VARIANCE_OF_NORMAL)

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

    def loss_on_grid(self, predictions: Gaussian, grid: Grid) -> Array:
        """Sum up densities instead."""
        return distances_on_grid(predictions, grid)

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """Say what a few quantiles leave of the score."""
        levels = predictions.levels.shape[0] if isinstance(predictions, Quantiles) else FEW_LEVELS
        if levels >= FEW_LEVELS:
            return ()
        few = f"CRPS from {levels} quantile{'s' * (levels > 1)} is twice their mean pinball loss: compare "
        return (few + "it only with predictions at the same levels",)


def crps_and_slope(predictions: Gaussian) -> Callable[[Array], tuple[Array, Array]]:
    """Return the CRPS of labels (b, n) and its derivative in the label, made of the same terms."""
    mean, std = (members_first(part) for part in predictions.members())
    shares, half = predictions.shares, _known_half(predictions)

    def both(labels: Array) -> tuple[Array, Array]:
        loss: Any = 0.0
        slope: Any = 0.0
        for j in range(mean.shape[0]):
            share = 1.0 / mean.shape[0] if shares is None else shares[:, j]
            distance, rise = _distance_and_slope(labels - mean[j, :], std[j, :])
            loss, slope = loss + share * distance, slope + share * rise
        return loss - half, slope

    return both


def _known_half(predictions: Gaussian) -> Array:
    return predictions.once(_half_spread, lambda: _half_spread(predictions))


def _half_spread(predictions: Gaussian) -> Array:
    """Return 1/2 E|X - X'| of mixtures, (n,); without a member, from the distances between all of them."""
    whole, left, share = predictions, None, 0.0
    if isinstance(predictions, WithoutNormal):
        whole, left, share = predictions.whole, predictions.member, predictions.share
    distances = whole.once(_distances, lambda: _distances(whole))
    total = over_members(distances, whole.shares)
    if left is not None:
        itself = (2.0 / math.sqrt(math.pi)) * whole.members()[1][:, left]
        total = total - 2.0 * share * distances[:, left] + share * share * itself
    return total / (2.0 * (1.0 - share) ** 2)


def _distances(predictions: Gaussian) -> Array:
    """Return E|X - X_j|, (n, m): from a draw of the mixture to one of each of its members."""
    mean, std = (members_first(part) for part in predictions.members())
    xp, m, shares = namespace(std), mean.shape[0], predictions.shares
    weight = (
        xp.full_like(std, 1.0 / m) if shares is None else xp.broadcast_to(members_first(shares), std.shape)
    )
    # a member with itself: A(0, s sqrt(2)) = 2 s / sqrt(pi)
    totals = [weight[j, :] * std[j, :] * (2.0 / math.sqrt(math.pi)) for j in range(m)]
    for j in range(m - 1):
        gap, scale = mean[j + 1 :, :] - mean[j, :], xp.hypot(std[j + 1 :, :], std[j, :])
        distance, _ = _distance_and_slope(gap, scale)
        totals[j] = totals[j] + xp.sum(weight[j + 1 :, :] * distance, axis=0)
        for other in range(j + 1, m):
            totals[other] = totals[other] + weight[j, :] * distance[other - j - 1, :]
    return xp.stack(totals, axis=1)


def _of_mixture(predictions: Gaussian, half: Array | float) -> Loss:
    """Return E|X - y| of mixtures of normal members, less `half` (n,)."""
    mean, std = (members_first(part) for part in predictions.members())
    shares, m = predictions.shares, mean.shape[0]

    def distance(labels: Array, j: int) -> Array:
        distances, _ = _distance_and_slope(labels - mean[j, :], std[j, :])
        return distances if shares is None else shares[:, j] * distances

    def each(labels: Array) -> Array:
        total = distance(labels, 0)
        for j in range(1, m):
            total = total + distance(labels, j)
        return (total / float(m) if shares is None else total) - half

    def score(labels: Array) -> Array:
        if not isinstance(predictions, WithoutNormal) or labels.shape[0] == 1:
            return each(labels)
        first = predictions.averaged(_distance, labels[0, :])  # the observed labels
        return namespace(first).concat([(first - half)[None, :], each(labels[1:, :])], axis=0)

    return score


def _distance(label: Array, mean: Array, std: Array) -> Array:
    return _distance_and_slope(label - mean, std)[0]


def _distance_and_slope(gap: Array, scale: Array) -> tuple[Array, Array]:
    """Return E|gap + scale Z| for a standard normal Z, and its derivative in the gap."""
    xp = namespace(gap)
    z = gap / scale
    slope = 2.0 * ndtr(z) - 1.0
    return gap * slope + scale * (_TWO_DENSITY * xp.exp(-0.5 * z * z)), slope


def _of_draws(predictions: Samples, estimator: str) -> Loss:
    """Return the score: of one label vector by sorting, of more from the pieces between draws."""
    if isinstance(predictions, LeftOut):
        return _of_left_out(predictions, estimator)
    draws = predictions.flat()
    pairs = _pairs(predictions, draws.shape[1], estimator)
    pieces = cache(lambda: _between_draws(predictions.pooled(), pairs))

    def score(labels: Array) -> Array:
        return _of_one_label(draws, labels, pairs) if labels.shape[0] == 1 else pieces()(labels)

    return score


def _of_one_label(draws: Array, labels: Array, pairs: int) -> Array:
    """Return the scores (1, n) of one label vector, from draws (n, s) in any order.

    Distances to the label lose fewer digits than the draws themselves.
    """
    n, s = draws.shape
    if not is_numpy(draws):
        xp = namespace(draws)
        away = xp.sort(draws - labels.T, axis=1)
        return (xp.mean(xp.abs(away), axis=1) - away @ like(_ranks(s) / pairs, draws))[None, :]
    share, weight, score = np.full(s, 1.0 / s), _ranks(s) / pairs, np.empty((1, n))
    buffer = np.empty((min(n, 1 + 2 * CACHE_ELEMENTS // s), s))
    for rows in tiles(n, len(buffer)):
        away = buffer[: rows.stop - rows.start]
        np.subtract(draws[rows], labels[0, rows, None], out=away)
        away.sort(axis=1)
        between = away @ weight
        np.subtract(np.abs(away, out=away) @ share, between, out=score[0, rows])
    return score


def _ranks(s: int) -> HostArray:
    """Return 2 i - s - 1: what draw i counts in the sum over pairs i < j of x_j - x_i."""
    return np.arange(1.0 - s, s, 2.0)


def _between_draws(draws: Array, pairs: int) -> Loss:
    """Return the score of many label vectors, from sums over the draws (n, s) in order."""
    xp = namespace(draws)
    s = draws.shape[1]
    centre = draws[:, s // 2]  # sums of distances lose fewer digits around it
    away = draws - centre[:, None]
    half = away @ like(_ranks(s) / pairs, draws)
    before = _sums_before(away)
    counts = xp.arange(s + 1, dtype=xp.float64, device=device(draws))
    slopes = (2.0 * counts - s) / s
    heights = (before[:, -1:] - 2.0 * before) / s - half[:, None]
    return _piecewise(draws, centre, slopes, heights)


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
    between = (away @ like(_ranks(p), pool))[:, None]  # sum over pairs j < k of |z_j - z_k|

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
    """Return a loss that is linear between knots (n, q): slopes (q + 1,), heights (n, q + 1) at `centre`."""
    xp = namespace(knots)

    def score(labels: Array) -> Array:
        cell = count_at_most(knots, labels)
        slope = xp.reshape(xp.take(slopes, xp.reshape(cell, (-1,))), cell.shape)
        return slope * (labels - centre) + xp.take_along_axis(heights, cell.T, axis=1).T

    return score


crps = ContinuousRankedProbabilityScore()
