"""Scores of quantiles and of the intervals between them, and the width of these intervals.

    pinball_loss  mean (l - 1[y < Q(l)]) (y - Q(l)), smallest in expectation for the true quantile
    wis           1/(J + 1/2) (1/2 |y - median| + sum_j alpha_j/2 S_j),  S_j the interval score of 1 - alpha_j
    sharpness     mean Q((1 + level)/2) - Q((1 - level)/2), which no label changes

The weighted interval score is twice the mean pinball loss at the ends of all its intervals and the median.
Koenker and Bassett 1978; Bracher et al. 2021; Gneiting, Balabdaoui and Raftery 2007.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from credibly._arrays.errors import UnsupportedError, is_number, require
from credibly._arrays.namespace import Array, as_float64, namespace, to_host
from credibly.predictions import Gaussian, Predictions, Quantiles, RealPredictions
from credibly.predictions.quantiles import SAME_LEVEL
from credibly.results.base import require_level
from credibly.statistics.mixture_tables import Loss
from credibly.statistics.protocol import Story
from credibly.statistics.regression import RealMean, central_interval, of_one_normal

HUB_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""The central intervals of the forecast hubs of Bracher et al., beside the median."""


def _pinball(quantiles: Array, levels: list[float]) -> Loss:
    """Return the mean pinball loss of labels (b, n) at quantiles (n, l)."""
    xp = namespace(quantiles)

    def loss(labels: Array) -> Array:
        total: Any = 0.0
        for at, level in enumerate(levels):
            away = labels - quantiles[:, at]
            total = total + xp.where(away >= 0, level * away, (level - 1.0) * away)
        return total / len(levels)

    return loss


@dataclasses.dataclass(frozen=True)
class PinballLoss(RealMean):
    """Mean pinball loss of one quantile of the predicted distribution.

    Parameters
    ----------
    level : float
        Level of the quantile; `Quantiles` must hold it.

    Notes
    -----
    Half of `mae` at level 0.5. The mean over the levels of `Quantiles` is half of their `crps`.

    Examples
    --------
    >>> import credibly as cr
    >>> quantiles = cr.Quantiles([[-1.0, 1.0]], [0.1, 0.9])
    >>> round(float(cr.statistics.pinball_loss(quantiles, [1.5], level=0.9)), 6)  # 0.9 * 0.5
    0.45
    """

    level: float = 0.5
    name: ClassVar[str] = "pinball_loss"
    reference: ClassVar[str] = "Koenker and Bassett 1978"
    story: ClassVar[Story] = Story(
        title="Pinball loss",
        meaning="Mean distance of the label from one predicted quantile, weighted by the level above it "
        "and by one minus the level below; smaller is better.",
        formula="mean of (l − 1[y < Q(l)]) (y − Q(l))",
        above="labels are further from the predicted quantile than the predictions say",
        below="labels are closer to the predicted quantile than the predictions say",
        citation="Koenker and Bassett, Regression quantiles, Econometrica, 1978.",
        aliases=dict.fromkeys(("quantile_loss", "quantile_score", "mean_pinball_loss", "check_loss"), ""),
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_level(self.level)

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return the density at the quantile of a standard normal, and the variance of the loss there."""
        end, level = float(ndtri(self.level)), self.level
        density = math.exp(-0.5 * end * end) / math.sqrt(2.0 * math.pi)
        above = (1.0 + end * end) * (1.0 - level) - end * density
        below = (1.0 + end * end) * level + end * density
        square = level**2 * above + (1.0 - level) ** 2 * below
        return of_one_normal(predictions, density, square - density**2)

    def loss(self, predictions: RealPredictions) -> Loss:
        """(l - 1[y < q]) (y - q)."""
        return _pinball(predictions.quantile([self.level]), [self.level])


@dataclasses.dataclass(frozen=True)
class WeightedIntervalScore(RealMean):
    """Weighted interval score: interval scores of several central intervals and the error of the median.

    Parameters
    ----------
    levels : tuple of float, optional
        Stated coverages of the central intervals. Default: those of the forecast hubs, from 0.1 to 0.98;
        `Quantiles` have their own, which must come in pairs l and 1 - l.

    Notes
    -----
    It approaches `crps` as levels are added. Quantiles without a median are scored by their intervals alone.

    Examples
    --------
    >>> import credibly as cr
    >>> quantiles = cr.Quantiles([[-1.0, 0.0, 1.0]], [0.1, 0.5, 0.9])
    >>> round(float(cr.statistics.wis(quantiles, [1.5])), 6)  # 2/3 (0.1 2.5 + 0.5 1.5 + 0.9 0.5)
    0.966667
    """

    levels: tuple[float, ...] | None = None
    name: ClassVar[str] = "wis"
    reference: ClassVar[str] = "Bracher et al. 2021"
    story: ClassVar[Story] = Story(
        title="Weighted interval score",
        meaning="Weighted mean of the scores of several central intervals and the error of the median.",
        formula="mean of 1/(J + ½) (½ |y − median| + Σ_j α_j/2 S_j), S_j the interval score of level 1 − α_j",
        above="labels lie further from the predicted intervals than the predictions say",
        below="labels lie closer to the predicted intervals than the predictions say",
        citation="Bracher, Ray, Gneiting and Reich, Evaluating epidemic forecasts in an interval format, "
        "PLOS Computational Biology, 2021.",
        aliases={"weighted_interval_score": ""},
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        levels: Any = self.levels
        if levels is not None:
            known = isinstance(levels, (tuple, list)) and bool(levels)
            known = known and all(is_number(level) and 0 < level < 1 for level in levels)
            known = known and len(set(levels)) == len(levels)
            remedy = "Try (0.5, 0.9)."
            require(known, "must be different coverages strictly between 0 and 1", remedy, levels=levels)
            object.__setattr__(self, "levels", tuple(map(float, levels)))

    def loss(self, predictions: RealPredictions) -> Loss:
        """Twice the mean pinball loss at the median and the ends of all intervals."""
        if self.levels is None and isinstance(predictions, Quantiles):
            quantiles, levels = as_float64(predictions.values), to_host(as_float64(predictions.levels))
            _require_pairs(levels)
        else:
            half = np.sort(np.asarray(self.levels or HUB_LEVELS)) / 2.0
            levels = np.concatenate([0.5 - half[::-1], [0.5], 0.5 + half])
            quantiles = predictions.quantile(levels.tolist())
        pinball = _pinball(quantiles, levels.tolist())
        return lambda labels: 2.0 * pinball(labels)


def _require_pairs(levels: Any) -> None:
    """Raise unless the levels (l,), which rise, are those of central intervals."""
    if not np.allclose(levels + levels[::-1], 1.0, atol=SAME_LEVEL):
        raise UnsupportedError(
            "`wis` of `Quantiles`",
            "needs levels in pairs l and 1 - l",
            f"got levels {', '.join(f'{level:g}' for level in levels[:8])}",
            "Pass `levels`, the coverages of intervals whose ends are predicted, or use `crps`.",
        )


@dataclasses.dataclass(frozen=True)
class Sharpness(RealMean):
    """Mean width of the central interval: how much the predictions commit themselves, whatever the labels.

    Parameters
    ----------
    level : float
        Stated coverage of the interval.

    Notes
    -----
    Small is good only if the intervals hold what they say (`picp`); `interval_score` weighs both. Labels do
    not change it, so a test can reject only where they are exchanged with draws.

    Examples
    --------
    >>> import credibly as cr
    >>> round(
    ...     float(cr.statistics.sharpness(cr.Gaussian([0.0, 5.0], [1.0, 2.0]), [0.0, 0.0])), 4
    ... )  # 3.2897 1.5
    4.9346
    """

    level: float = 0.9
    name: ClassVar[str] = "sharpness"
    reference: ClassVar[str] = "Gneiting et al. 2007"
    story: ClassVar[Story] = Story(
        title="Sharpness",
        meaning="Mean width of the central interval, which no label changes; smaller is sharper.",
        formula="mean of u − l",
        above="intervals of the draws are wider than if labels were among the draws",
        below="intervals of the draws are narrower than if labels were among the draws",
        citation="Gneiting, Balabdaoui and Raftery, Probabilistic forecasts, calibration and sharpness, "
        "JRSS B, 2007.",
        aliases=dict.fromkeys(("mpiw", "mean_width", "mean_interval_width", "pinaw"), ""),
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_level(self.level)

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """Say that no label changes it."""
        return ("sharpness depends on the predictions alone; read it beside the coverage of the intervals",)

    def moments(self, predictions: Any) -> tuple[Array, ...]:
        """Return the width, which does not vary."""
        if not isinstance(predictions, Gaussian):
            return ()
        low, high = central_interval(predictions, self.level)
        return high - low, 0.0 * low

    def loss(self, predictions: RealPredictions) -> Loss:
        """Width, for every label."""
        low, high = central_interval(predictions, self.level)
        xp = namespace(low)
        return lambda labels: xp.broadcast_to(high - low, labels.shape)


pinball_loss = PinballLoss()
wis = WeightedIntervalScore()
sharpness = Sharpness()
