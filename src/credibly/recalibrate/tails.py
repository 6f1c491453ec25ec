"""Recalibrations of real values by the shape of their errors: heavier tails, or one longer side.

F' = R(F), by normal scores z = ndtri(F(y)) of the labels. Tails: z follows a t distribution, whose degrees of
freedom are chosen from a short list. Skew: z follows a sinh-arcsinh distribution (Jones and Pewsey 2009).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtrit

from credibly._arrays.namespace import Array, HostArray, to_host
from credibly.predictions import Gaussian, RealPredictions
from credibly.recalibrate.learned import learned
from credibly.recalibrate.levels import LevelRecalibration, label_levels
from credibly.recalibrate.location import moments_of
from credibly.recalibrate.minimum import Convergence
from credibly.recalibrate.reals import RealData, mean_losses

_FARTHEST, _LARGEST, _MOST_SKEW = 38.0, 30.0, 4.0
_DEGREES = (2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 30.0)
"""Degrees of freedom of tails that are tried."""
_KNOTS, _LEAST_SCALE = 999, 1e-6


def fit_tails(z: HostArray, weight: HostArray) -> tuple[float, float]:
    """Return degrees of freedom and scale of the t distribution that standardised labels follow."""
    best = (np.inf, _DEGREES[-1], 1.0)
    for degrees in _DEGREES:
        scale = 0.8
        for _ in range(30):  # the scale of the likelihood is a fixed point
            share = (degrees + 1.0) * z**2 / (degrees + z**2 / scale**2)
            scale = max(float(np.sqrt(weight @ share / weight.sum())), _LEAST_SCALE)
        loss = float(weight @ student_loss(z, degrees, scale))
        best = min(best, (loss, degrees, scale))
    return best[1], best[2]


def student_loss(z: HostArray, degrees: float, scale: float) -> HostArray:
    """Return minus the log density of standardised labels under a scaled t distribution."""
    constant = gammaln((degrees + 1.0) / 2.0) - gammaln(degrees / 2.0) - 0.5 * np.log(degrees * np.pi)
    tail = (degrees + 1.0) / 2.0 * np.log1p((z / scale) ** 2 / degrees)
    return np.asarray(tail - constant + np.log(scale))


@dataclasses.dataclass(eq=False)
class TailScaling(LevelRecalibration):
    """Give predictions the tails of a t distribution: F' = R(F), R(u) = T(ndtri(u) / s).

    Parameters
    ----------
    levels : int
        Gaussian predictions and draws are returned as quantiles at the levels j / M, with M given here;
        `Quantiles` keep their own levels.

    Attributes
    ----------
    degrees, scale : float
        Degrees of freedom and scale of the t distribution, set by `fit`.

    Notes
    -----
    For extreme errors that are more common than stated. The result is `Quantiles`, as for
    `IsotonicRecalibration`, which learns R without an assumption and needs more data.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.standard_t(3, size=4000)
    >>> tails = cr.recalibrate.TailScaling().fit(cr.Gaussian(np.zeros(4000), np.ones(4000)), labels)
    >>> tails.degrees <= 5
    True
    """

    degrees: float = learned(positive=True)
    scale: float = learned(positive=True)
    method: ClassVar[str] = "tails"

    def describe(self) -> str:
        """Return the tails in words."""
        return f"a t distribution ({self.degrees:g} degrees of freedom, a scale of {self.scale:.3g})"

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        self.degrees, self.scale = fit_tails(scores_in(data.predictions, data.labels), data.host_weight)
        degrees, scale = self.degrees, self.scale
        return _warped(self, data, lambda level: scale * stdtrit(degrees, level))


def _warped(
    made: LevelRecalibration, data: RealData, scores: Callable[[HostArray], HostArray]
) -> Convergence:
    """Set R of a recalibration from the normal scores of its levels."""
    level = np.arange(1, _KNOTS + 1) / (_KNOTS + 1)
    made.before, made.after = np.r_[0.0, ndtr(scores(level)), 1.0], np.r_[0.0, level, 1.0]
    losses = mean_losses(data, lambda rows: made._mapped(data.predictions[rows]))
    return Convergence(True, 1, 0.0, *losses, "maximum likelihood")


def scores_in(predictions: RealPredictions, labels: Array) -> HostArray:
    """Return ndtri(F(y)) of labels."""
    if isinstance(predictions, Gaussian) and predictions.n_members == 1:
        mu, sd = moments_of(predictions)
        return np.asarray((to_host(labels) - mu) / sd)
    return np.asarray(np.clip(ndtri(label_levels(predictions, labels)), -_FARTHEST, _FARTHEST))


def fit_skew(z: HostArray, weight: HostArray) -> tuple[float, float, float]:
    """Return centre c, scale s and skewness e for which sinh(asinh((z - c) / s) - e) is standard normal."""
    from scipy.optimize import minimize

    total = float(weight.sum())

    def objective(at: HostArray) -> tuple[float, HostArray]:
        s = np.exp(at[1])
        x = (z - at[0]) / s
        score, root = _skewed(x, at[2]), np.sqrt(1.0 + x * x)
        slope = score * np.sqrt(1.0 + score * score) - score / np.sqrt(1.0 + score * score)
        inner = slope / root + x / (1.0 + x * x)
        loss = float(weight @ skew_loss(z, float(at[0]), float(s), float(at[2])))
        each = (-inner / s, 1.0 - x * inner, -slope)
        # one row as stated keeps few rows from a skewness without end
        return (loss + 0.5 * float(at @ at)) / total, (np.array([weight @ row for row in each]) + at) / total

    bounds = [(-_MOST_SKEW, _MOST_SKEW)] * 3
    at = minimize(objective, np.zeros(3), jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(at[0]), float(np.exp(at[1])), float(at[2])


def _skewed(x: HostArray, skew: float) -> HostArray:
    return np.asarray(np.sinh(np.clip(np.arcsinh(x) - skew, -_LARGEST, _LARGEST)))


def skew_quantiles(level: HostArray, centre: float, scale: float, skew: float) -> HostArray:
    """Return quantiles of a sinh-arcsinh distribution."""
    return np.asarray(centre + scale * np.sinh(np.arcsinh(ndtri(level)) + skew))


def skew_cdf(z: HostArray, centre: float, scale: float, skew: float) -> HostArray:
    """Return the distribution function of a sinh-arcsinh distribution."""
    return np.asarray(ndtr(_skewed((z - centre) / scale, skew)))


def skew_loss(z: HostArray, centre: float, scale: float, skew: float) -> HostArray:
    """Return minus the log density of standardised labels under a sinh-arcsinh distribution."""
    x = (z - centre) / scale
    score = _skewed(x, skew)
    constant = np.log(scale) + 0.5 * np.log(2.0 * np.pi)
    return np.asarray(0.5 * (score * score - np.log1p(score * score) + np.log1p(x * x)) + constant)


@dataclasses.dataclass(eq=False)
class SkewScaling(LevelRecalibration):
    """Make predictions longer on one side: F' = R(F), R a sinh-arcsinh distribution of normal scores.

    Parameters
    ----------
    levels : int
        Gaussian predictions and draws are returned as quantiles at the levels j / M, with M given here;
        `Quantiles` keep their own levels.

    Attributes
    ----------
    centre, scale, skew : float
        sinh(asinh((z - centre) / scale) - skew) is standard normal, z = ndtri(F(y)); set by `fit`. A skew
        above 0 lengthens the upper side.

    Notes
    -----
    For errors that are larger than stated on one side. The result is `Quantiles`, as for
    `IsotonicRecalibration`, which learns R without an assumption and needs more data.

    References
    ----------
    Jones and Pewsey, *Sinh-arcsinh distributions*, Biometrika 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.exponential(size=4000) - 1.0
    >>> skew = cr.recalibrate.SkewScaling().fit(cr.Gaussian(np.zeros(4000), np.ones(4000)), labels)
    >>> skew.skew > 0.5
    True
    """

    centre: float = learned()
    scale: float = learned(positive=True)
    skew: float = learned()
    method: ClassVar[str] = "skew"

    def describe(self) -> str:
        """Return the scales of both sides in words: those of 90 % intervals, from the median."""
        ends = skew_quantiles(np.array([0.05, 0.5, 0.95]), self.centre, self.scale, self.skew)
        below, above = np.diff(ends) / ndtri(0.95)
        return f"a scale of {below:.3g} below the median and {above:.3g} above it"

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        parameters = fit_skew(scores_in(data.predictions, data.labels), data.host_weight)
        self.centre, self.scale, self.skew = parameters
        return _warped(self, data, lambda level: skew_quantiles(level, *parameters))
