"""Integrated calibration index: the mean distance of predictions from a smooth curve of observed frequencies.

    ICI = (1 / n) sum_i |f(p_i) - p_i|,    f = local linear regression of the events on the predictions

    E50, E90, Emax   quantiles of |f(p_i) - p_i| over the instances, the last the largest

f weighs the nearest `span` of all instances by (1 - (distance / largest)^3)^3: lowess without robust steps. A
local line reproduces p itself, so f(p) - p is the same smoother applied to the residuals: linear in the
labels, and a batch of label vectors costs one product.   Austin and Steyerberg 2019; Cleveland 1979.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

from credibly._arrays.errors import is_number, require
from credibly._arrays.namespace import Array, namespace
from credibly.predictions import Predictions, as_point
from credibly.statistics.cells import CELL_TRAITS, CellStatistic, TargetName, check_target, dyadic_cells
from credibly.statistics.events import Events
from credibly.statistics.linear import Linear
from credibly.statistics.protocol import Bound, Plan, State, Story, Traits

_CELLS = 1024
_ROUNDING = 1e-12  # sums of weights in another order
_FLAT = 1e-3  # of the range of predictions: those closer together carry no slope, as in lowess


@dataclasses.dataclass(frozen=True)
class CalibrationIndex(CellStatistic):
    """Integrated calibration index (ICI) of every class: mean gap between predictions and a smooth curve.

    Parameters
    ----------
    span : float
        ...
    target : {"classwise", "top_label"} or int
        The mean over the indices of all classes (for two classes both are the same), the index of the
        confidence of the predicted class, or that of the probability of one class.

    Notes
    -----
    A sum over instances: 1024 cells of predictions are kept for any n. If different predictions fall into
    different cells, this is the mean of ``|lowess(p) - p|``, `Eavg` of `rms::val.prob` except for the
    interpolation there. Austin and Steyerberg smooth by `loess`: local parabolas over three quarters of the
    instances. As in their method, the curve is not clipped to [0, 1]. Gaps that change their sign within the
    span cancel, and by chance alone the index of a calibrated model is above 0. `corp_curve(...).gap` is the
    index of an isotonic curve, with an interval.

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    >>> float(cr.statistics.ici(probs, [0, 1, 0, 1], span=0.5))  # half of either pair: |1/2 - 1/4|
    0.25
    """

    span: float = 2 / 3
    target: TargetName = "classwise"
    name: ClassVar[str] = "ici"
    traits: ClassVar[Traits] = dataclasses.replace(CELL_TRAITS, range=(0.0, math.inf))
    reference: ClassVar[str] = "Austin and Steyerberg 2019"
    story: ClassVar[Story] = Story(
        title="Integrated calibration index",
        meaning="Mean distance between predicted probabilities and a smooth curve of observed frequencies.",
        formula="1/n Σ |f(p) − p|, f = local linear regression of the events on p",
        above="a smooth curve of observed frequencies is further from the predictions than chance explains",
        notion="classwise",
        citation="Austin and Steyerberg, The integrated calibration index (ICI) and related metrics for "
        "quantifying the calibration of logistic regression models, Statistics in Medicine, 2019.",
        aliases={"integrated_calibration_index": "", "eavg": "by lowess", "loess_ece": "by local lines"},
    )
    in_evaluations: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_target(self, "top_label", "classwise")
        inside = is_number(self.span) and 0 < self.span <= 1
        require(inside, "must be above 0 and at most 1", "Leave it out: it is then 2/3.", span=self.span)

    def terms(self, predictions: Any, plan: Plan) -> Events:
        """Return events in the 1024 cells of every class, of one class, or of the confidence."""
        return dyadic_cells(predictions, _CELLS, self.target)

    def value(self, sums: State) -> Array:
        """Return the index of every replicate, the mean over classes."""
        return _indices(sums, self, [])

    def summary(self, gaps: Array, weight: Array) -> Array:
        """Summarise gaps (b, m) of cells that hold shares (m,) of the instances."""
        return gaps @ weight

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        point, notes = as_point(predictions)
        return IndexBound(self, self.terms(point, plan), plan, notes)


class _LocalLines(NamedTuple):
    """The local lines of one class: a matrix from sums of residuals to gaps between curve and predictions."""

    cells: Array  # (m,), which cells hold instances
    lines: Array  # (m, m)
    weight: Array  # (m,), shares of the instances


_Known = tuple[Array, Array, list[_LocalLines]]


class IndexBound(Linear):
    """Keeps the smoothers of its cells, which all label vectors share: they take longer than the rest."""

    statistic: CalibrationIndex

    def __init__(
        self, statistic: CalibrationIndex, terms: Events, plan: Plan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, terms, plan, notes)
        self._known: list[_Known] = []

    def finish(self, state: State) -> Array:
        """Return the index of every replicate; smoothers are made again only if predictions changed."""
        return _indices(state, self.statistic, self._known)


def _indices(state: State, statistic: CalibrationIndex, known: list[_Known]) -> Array:
    """Return the indices (b,) from sums per cell; `known` remembers the last smoothers."""
    size, predicted = state["size"], state["expected"]
    xp = namespace(size)
    if not bool(xp.all(size == size[:1, :])):  # weights or predictions differ between replicates
        single_rows = (slice(at, at + 1) for at in range(len(size)))
        rows = [State({name: sums[at, :] for name, sums in state.items()}) for at in single_rows]
        return xp.concat([_indices(row, statistic, []) for row in rows])
    if not (known and bool(xp.all(known[0][0] == size[:1, :]) & xp.all(known[0][1] == predicted[:1, :]))):
        smoothers = [
            _smoother(size[0, at : at + _CELLS], predicted[0, at : at + _CELLS], statistic.span, at)
            for at in range(0, size.shape[1], _CELLS)
        ]
        known[:] = [(size[:1, :], predicted[:1, :], smoothers)]
    residual = state["observed"] - predicted
    smoothers = known[0][2]
    indices = [
        statistic.summary(xp.abs(xp.take(residual, fit.cells, axis=1) @ fit.lines.T), fit.weight)
        for fit in smoothers
    ]
    return sum(indices[1:], indices[0]) / len(indices)


def _smoother(size: Array, predicted: Array, span: float, start: int) -> _LocalLines:
    """Fit local lines to the residuals of the cells, (cells,) each; the first has the number `start`."""
    xp = namespace(size)
    (filled,) = xp.nonzero(size > 0)
    n = xp.take(size, filled)
    x = xp.take(predicted, filled) / n
    total = xp.sum(n)
    distance = xp.abs(x[:, None] - x[None, :])
    order = xp.argsort(distance, axis=1)
    within = xp.cumulative_sum(xp.reshape(xp.take(n, xp.reshape(order, (-1,))), distance.shape), axis=1)
    fewer = xp.astype(within < span * total * (1.0 - _ROUNDING), xp.int32)
    last = xp.sum(fewer, axis=1, keepdims=True)  # of the nearest cells, in their order
    reach = xp.take_along_axis(distance, xp.take_along_axis(order, last, axis=1), axis=1)
    scaled = xp.where(reach > 0, distance / xp.where(reach > 0, reach, 1.0), xp.astype(distance > 0, n.dtype))
    weight = n[None, :] * xp.clip(1.0 - scaled**3, 0.0, None) ** 3
    weight = weight / xp.sum(weight, axis=1, keepdims=True)
    centred = x[None, :] - (weight @ x)[:, None]
    spread = xp.sum(weight * centred**2, axis=1)
    sloped = spread > (_FLAT * (xp.max(x) - xp.min(x))) ** 2
    slope = xp.where(sloped, (x - weight @ x) / xp.where(sloped, spread, 1.0), 0.0)
    lines = weight * (1.0 + slope[:, None] * centred)
    return _LocalLines(filled + start, lines / n[None, :], n / total)


@dataclasses.dataclass(frozen=True)
class GapQuantile(CalibrationIndex):
    """Base of the quantiles of the gap between predictions and the smooth curve of `ici`."""

    share: ClassVar[float]

    def summary(self, gaps: Array, weight: Array) -> Array:
        """Return the gap that `share` of the instances do not exceed; halfway where two gaps qualify."""
        xp = namespace(gaps)
        order = xp.argsort(gaps, axis=1)
        shape, flat = gaps.shape, xp.reshape(order, (-1,))
        within = xp.cumulative_sum(xp.reshape(xp.take(weight, flat), shape), axis=1)
        ordered, last = xp.take_along_axis(gaps, order, axis=1), shape[1] - 1
        ends = []
        for border in (self.share - _ROUNDING, self.share + _ROUNDING):
            place = xp.sum(xp.astype(within < border, xp.int64), axis=1, keepdims=True)
            ends.append(xp.take_along_axis(ordered, xp.clip(place, 0, last), axis=1)[:, 0])
        return 0.5 * (ends[0] + ends[1])


def _story(title: str, what: str, formula: str, *aliases: str) -> Story:
    """Return the story of a quantile of the gap, which is that of the index but for these words."""
    return dataclasses.replace(
        CalibrationIndex.story,
        title=title,
        meaning=f"{what} distance between predicted probabilities and a smooth curve of observed "
        "frequencies.",
        formula=f"{formula} of |f(p) − p|, f = local linear regression of the events on p",
        aliases=dict.fromkeys(aliases, "by lowess"),
    )


@dataclasses.dataclass(frozen=True)
class MedianGap(GapQuantile):
    """Median distance of predictions from the smooth curve of observed frequencies (E50).

    Parameters
    ----------
    span : float
        ...
    target : {"classwise", "top_label"} or int
        ...

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    >>> float(cr.statistics.e50(probs, [0, 1, 1, 1], span=0.5))  # 1/4 in either pair
    0.25
    """

    name: ClassVar[str] = "e50"
    share: ClassVar[float] = 0.5
    story: ClassVar[Story] = _story("E50", "Median", "median", "median_calibration_error")


@dataclasses.dataclass(frozen=True)
class NinetyPercentGap(GapQuantile):
    """Distance from the smooth curve of observed frequencies that 90 % of predictions do not exceed (E90).

    Parameters
    ----------
    span : float
        ...
    target : {"classwise", "top_label"} or int
        ...

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    >>> float(cr.statistics.e90(probs, [0, 1, 1, 1], span=0.5))  # 1/4 in either pair
    0.25
    """

    name: ClassVar[str] = "e90"
    share: ClassVar[float] = 0.9
    story: ClassVar[Story] = _story("E90", "90 % quantile of the", "90 % quantile")


@dataclasses.dataclass(frozen=True)
class LargestGap(GapQuantile):
    """Largest distance of predictions from the smooth curve of observed frequencies (Emax).

    Parameters
    ----------
    span : float
        ...
    target : {"classwise", "top_label"} or int
        ...

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    >>> float(cr.statistics.emax(probs, [0, 1, 0, 1], span=0.5))  # 1/4 in either pair
    0.25
    """

    name: ClassVar[str] = "emax"
    share: ClassVar[float] = 1.0
    story: ClassVar[Story] = _story("Emax", "Largest", "maximum", "maximum_smooth_calibration_error")


ici = CalibrationIndex()
e50 = MedianGap()
e90 = NinetyPercentGap()
emax = LargestGap()
