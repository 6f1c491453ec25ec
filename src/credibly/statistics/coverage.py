"""Do intervals contain as many labels as they say?

picp  mean 1[l <= y <= u], the central interval of a level
quantile_calibration_error  sum_j (p_j - mean 1[y <= Q(p_j)])^2, levels p_j = j / M; with `strict` y < Q(p_j)

Quantiles are computed once; a label vector is then only compared with them.
Kuleshov, Fenner and Ermon 2018; P21 (a sum over levels, not a mean).

Curves take many levels: shares of labels inside central intervals, ends included, or below quantiles. The
probability integral transform is where in its predicted distribution every label lies. Dawid 1984. For
ordered classes a label has a step of its distribution function, and at level t the share of it below t:

    clip((t - F(y - 1)) / (F(y) - F(y - 1)), 0, 1),     with mean t if labels are drawn from F
"""

from __future__ import annotations

import dataclasses
import itertools
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError, is_whole, require, require_type
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly.predictions import (
    Classes,
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
from credibly.statistics.linear import Linear, LinearStatistic
from credibly.statistics.mixture_tables import Loss
from credibly.statistics.places import CentralPlaces, Inside, OrderedSteps, PlaceTerms, moments_of_share
from credibly.statistics.protocol import BIASED_UPWARDS, Bound, Plan, State, Story, Traits
from credibly.statistics.regression import REAL_TRAITS, RealMean, central_interval
from credibly.statistics.terms import Losses

MOST_LEVELS = 10_000


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
    term_size: ClassVar[float] = 1.0
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, range=(0.0, 1.0))
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
        return moments_of_share(self.level)

    def loss(self, predictions: RealPredictions) -> Loss:
        """1 inside the interval."""
        low, high = central_interval(predictions, self.level)
        xp = namespace(low)
        return lambda labels: xp.astype((labels >= low) & (labels <= high), xp.float64)


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
    traits: ClassVar[Traits] = dataclasses.replace(REAL_TRAITS, tail="greater")
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

    def __post_init__(self) -> None:
        levels: Any = self.levels
        counted = is_whole(levels) and 2 <= levels <= MOST_LEVELS
        require(
            counted or (isinstance(levels, (tuple, list)) and _are_levels(levels)),
            f"must be an integer from 2 to {MOST_LEVELS} or increasing numbers strictly between 0 and 1",
            "Write 100 for 0.01, 0.02, ..., 0.99.",
            levels=levels,
        )
        object.__setattr__(self, "levels", int(levels) if counted else tuple(map(float, levels)))

    def terms(self, predictions: Any, plan: Plan) -> PlaceTerms:
        """Return how many quantiles labels have passed."""
        table, levels = quantile_grid(predictions, self.levels)
        return PlaceTerms(table, levels, in_cells=isinstance(predictions, Quantiles))

    def value(self, sums: State) -> Array:
        """Sum the squared differences between shares of labels below quantiles and their levels."""
        xp, size = namespace(sums["observed"]), sums["observed"].shape[1] // 2
        passed = slice(size, None) if self.strict else slice(0, size)
        away = xp.cumulative_sum(sums["observed"][:, passed] - sums["expected"][:, passed], axis=1)[:, :-1]
        return xp.sum((away / sums["size"]) ** 2, axis=1)

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        if not (isinstance(predictions, Quantiles) and isinstance(self.levels, int)):
            return super()._bind(predictions, plan)
        levels = tuple(to_host(as_float64(predictions.levels)).tolist())
        bound = self.with_(levels=levels)._bind(predictions, plan)
        bound.notes = (*bound.notes, f"uses the {len(levels)} levels of the predicted quantiles")
        return bound


def quantile_grid(predictions: RealPredictions, levels: int | tuple[float, ...]) -> tuple[Array, Array]:
    """Return quantiles (n, l) and their levels (l,); `Quantiles` keep their own if only a number is given."""
    if isinstance(predictions, Quantiles) and isinstance(levels, int):
        return as_float64(predictions.values), as_float64(predictions.levels)
    chosen = [j / levels for j in range(1, levels)] if isinstance(levels, int) else list(levels)
    level_array = like(chosen, predictions._leading, predictions.xp.float64)
    return predictions.quantile(level_array), level_array


def _are_levels(levels: Any) -> bool:
    if not levels or not all(isinstance(level, Real) for level in levels):
        return False
    return all(low < high for low, high in itertools.pairwise((0.0, *map(float, levels), 1.0)))


picp = IntervalCoverage()

quantile_calibration_error = QuantileCalibrationError()


def ordered_steps(predictions: Predictions, levels: int | tuple[float, ...]) -> Linear:
    """Bind shares of the steps of ordered classes below levels."""
    point, notes = as_point(predictions)
    statistic = quantile_calibration_error.with_(levels=levels)
    spread = "classes are taken in their order; each label is spread evenly over its step"
    terms = OrderedSteps(point.probs, statistic.levels)
    return Linear(statistic, terms, Plan(len(point)), (*notes, spread))


def symmetric_levels(predictions: Quantiles) -> tuple[HostArray, HostArray]:
    """Return the places of levels l and 1 - l that are both predicted, the widest interval first."""
    heights = to_host(as_float64(predictions.levels))
    partner = np.abs(1.0 - heights[:, None] - heights[None, :]) <= SAME_LEVEL
    low = np.flatnonzero(partner.any(axis=1) & (heights < 0.5 - SAME_LEVEL))
    return low, partner[low].argmax(axis=1) if low.size else low


def central_coverage(levels: int, predictions: RealPredictions) -> Linear:
    """Bind intervals that hold j / M of the probability, or those between symmetric quantiles.

    Parameters
    ----------
    levels : int
        M; `Quantiles` have their own levels.
    predictions : RealPredictions
        What the intervals are of.

    Returns
    -------
    Linear
        Counts whose terms have the shares, by rising level.
    """
    number = require_integer(levels, "levels", 2)
    require(2 * number <= MOST_LEVELS, f"must be at most {MOST_LEVELS // 2}", "Try 50.", levels=number)
    if isinstance(predictions, Quantiles):
        stated_levels = to_host(as_float64(predictions.levels))
        low, high = symmetric_levels(predictions)
        if not low.size:
            raise UnsupportedError(
                "central intervals of `Quantiles`",
                "need two levels l and 1 - l",
                f"got levels {', '.join(f'{height:g}' for height in stated_levels[:8])}",
                "Predict symmetric levels, for example 0.05 and 0.95.",
            )
        stated: Any = np.ascontiguousarray(1.0 - 2.0 * stated_levels[low][::-1])
        counts = quantile_calibration_error.bind(predictions)
        note = f"uses the {low.size} intervals between symmetric levels of the predicted quantiles"
        counts.notes = (*predictions.notes, note)
    else:
        # interval j / M lies between the levels (M - j) / 2M and (M + j) / 2M
        stated = [j / number for j in range(1, number)]
        counts = quantile_calibration_error.with_(levels=2 * number).bind(predictions)
        low = np.arange(number - 1)
        high = 2 * number - 2 - low
    assert isinstance(counts, Linear)
    heights = counts.terms.heights
    return counts.with_terms(CentralPlaces(counts.terms, low, high, like(stated, heights, heights.dtype)))


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
        ...

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
    predictions, labels = paired(predictions, labels)
    batch = as_labels(predictions, labels)
    single = isinstance(batch, (Reals, Classes))
    require_type(single, "must be one number, or class, per instance", "Pass an array (n,).", labels=labels)
    values = batch.values[0, :]
    if randomised is None:
        randomised = isinstance(batch, Classes)
    if isinstance(predictions, RealPredictions) and not (randomised and isinstance(predictions, Samples)):
        return predictions.cdf(values)  # nowhere a step, or the height behind it
    if isinstance(predictions, Samples):
        number = predictions.n_draws
        seen = as_float64(values)[None, :]
        low, high = (predictions.share_below(seen, strict=strict)[0, :] * number for strict in (True, False))
        low, high = low / (number + 1.0), (high + 1.0) / (number + 1.0)
    else:
        point, _ = as_point(predictions)
        probs = as_float64(point.probs)
        xp = namespace(probs)
        below = xp.cumulative_sum(probs, axis=1)
        at = xp.astype(values, xp.int64)[:, None]
        high = xp.take_along_axis(below, at, axis=1)[:, 0]
        low = high - xp.take_along_axis(probs, at, axis=1)[:, 0]
        if not randomised:
            return high
    place = like(np.random.default_rng(as_seed(rng)).random(len(predictions)), high)
    return low + place * (high - low)
