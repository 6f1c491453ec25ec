"""The continuous ranked probability score, in closed form for every kind of real-valued prediction.

crps = E|X - y| - 1/2 E|X - X'|,  X, X' independent draws from the prediction

Gaussian mixture  E|X - y| = 1/m sum_j A(y - mu_j, s_j),  A(d, s) = d (2 Phi(d/s) - 1) + 2 s phi(d/s)
draws             the same expectations over the draws themselves
quantiles         2/q sum_j (1[y < v_j] - l_j)(v_j - y): twice the mean pinball loss

Matheson and Winkler 1976; Grimit et al. 2006 (mixtures); Laio and Tamea 2007 (quantiles).
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar, Literal

from credibly._arrays.errors import UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64, device, namespace
from credibly._arrays.row_search import count_at_most
from credibly._arrays.special import ndtr
from credibly.predictions import Gaussian, Quantiles, RealPredictions, Samples
from credibly.statistics.protocol import Traits
from credibly.statistics.reals import Loss, RealMean, real_traits

_TWO_DENSITY = 2.0 / math.sqrt(2.0 * math.pi)


@dataclasses.dataclass(frozen=True)
class ContinuousRankedProbabilityScore(RealMean):
    """Mean continuous ranked probability score: the distance between distribution and label, in its unit.

    Parameters
    ----------
    estimator : {"empirical", "fair"}
        For `Samples`: the score of the draws as a distribution of their own, or an unbiased estimate of the
        score of the distribution they were drawn from (Ferro 2014). Other predictions have one score.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.crps(cr.Samples([[0.0, 2.0]]), [1.0]))  # E|X - y| = 1, 1/2 E|X - X'| = 1/2
    0.5
    """

    estimator: Literal["empirical", "fair"] = "empirical"
    name: ClassVar[str] = "crps"
    traits: ClassVar[Traits] = real_traits(differentiable=True, bounds=(-math.inf, math.inf))
    reference: ClassVar[str] = "Matheson and Winkler 1976"

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
        return _of_mixture(*predictions.members())


def _of_mixture(mean: Array, std: Array) -> Loss:
    """Return the score of mixtures of normal members (n, m)."""
    m = mean.shape[1]
    # pairs of a member with itself: A(0, s sqrt(2)) = 2 s / sqrt(pi)
    spread = namespace(std).sum(std, axis=1) * (2.0 / math.sqrt(math.pi))
    for j in range(m - 1):
        gap, scale = mean[:, j + 1 :] - mean[:, j : j + 1], _hypot(std[:, j + 1 :], std[:, j : j + 1])
        spread = spread + 2.0 * namespace(std).sum(_distance(gap, scale), axis=1)
    half = spread / (2.0 * m * m)

    def score(labels: Array) -> Array:
        total = _distance(labels - mean[:, 0], std[:, 0])
        for j in range(1, m):
            total = total + _distance(labels - mean[:, j], std[:, j])
        return total / m - half

    return score


def _distance(gap: Array, scale: Array) -> Array:
    """Return E|gap + scale Z| for a standard normal Z."""
    xp = namespace(gap)
    z = gap / scale
    return gap * (2.0 * ndtr(z) - 1.0) + scale * (_TWO_DENSITY * xp.exp(-0.5 * z * z))


def _hypot(first: Array, second: Array) -> Array:
    return namespace(first).sqrt(first * first + second * second)


def _of_draws(predictions: Samples, estimator: str) -> Loss:
    draws = predictions.pooled()
    xp = namespace(draws)
    s = draws.shape[1]
    pairs = s * s
    if estimator == "fair":
        if predictions.n_members > 1 or s < 2:
            raise UnsupportedError(
                '`crps` with estimator="fair"',
                "needs at least two independent draws per instance",
                f"got {predictions!r}",
                'Use estimator="empirical".',
            )
        pairs = s * (s - 1)
    rank = xp.arange(1, s + 1, dtype=xp.float64, device=device(draws))
    centre = draws[:, s // 2]  # sums of distances lose fewer digits around it
    away = draws - centre[:, None]
    half = xp.sum((2.0 * rank - s - 1.0) * away, axis=1) / pairs
    before = _sums_before(away)
    counts = xp.arange(s + 1, dtype=xp.float64, device=device(draws))
    slopes = (2.0 * counts - s) / s
    heights = (before[:, -1:] - 2.0 * before) / s - half[:, None]
    return _piecewise(draws, centre, slopes, heights)


def _of_quantiles(values: Array, levels: Array) -> Loss:
    xp = namespace(values)
    q = values.shape[1]
    centre = values[:, q // 2]
    away = values - centre[:, None]
    over, under = _sums_before(levels * away), _sums_before((1.0 - levels) * away)
    weight_over, weight_under = _sums_before(levels[None, :]), _sums_before(1.0 - levels[None, :])
    slopes = (2.0 / q) * (weight_over - (weight_under[:, -1:] - weight_under))[0, :]
    heights = (2.0 / q) * ((under[:, -1:] - under) - over)
    return _piecewise(xp.asarray(values), centre, slopes, heights)


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
