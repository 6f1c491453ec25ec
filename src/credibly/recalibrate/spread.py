"""The scale of the predicted spread: one factor for all instances, by group or by features.

Y' = c + s (Y - c)            c the centre of the prediction, s > 0 the minimiser of the CRPS

The CRPS of the scaled distribution is s C(r / s), C the score of the prediction as it is and r = y - c. It is
convex in s for every kind of prediction: E|s D - r| - s / 2 E|D - D'| is.
Laves et al. 2020.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import require_positive_number, scalar
from credibly._arrays.errors import InputError, Remedy, one_of
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly._arrays.row_search import count_at_most
from credibly.predictions import Gaussian, Quantiles, RealPredictions
from credibly.recalibrate.groups import Groups, checked_groups, unseen_note, variance_between
from credibly.recalibrate.heads import features_of_width, standardised
from credibly.recalibrate.learned import learned, learned_by_group
from credibly.recalibrate.minimum import Convergence, beyond_limits
from credibly.recalibrate.reals import OWN, RealData, RealRecalibration, centre_of, no_spread, scaled
from credibly.statistics.crps import crps, crps_and_slope

LIMITS = (1e-9, 1e9)
"""Scales beyond these are refused as diverging."""
_STEP = 0.1
"""First step of a search for log s, after which every step is twice as long."""
_REACH, _HALVINGS = 3.0, 30
"""How far log s of a group may be from that of all, and how often the bracket between is halved."""
_CLOSE = 1e-10
"""Length of a bracket of log s in which a search ends."""


class _Stretch:
    """The CRPS of every instance, and its derivative, as a function of the logarithm of the scale."""

    def __init__(self, data: RealData) -> None:
        predictions = data.predictions
        self.centre = centre_of(predictions)
        self.away = data.labels - self.centre
        self.score = _score_and_slope(predictions)

    def __call__(self, scale: Array | float) -> tuple[Array, Array]:
        v = self.away / scale
        loss, slope = (values[0, :] for values in self.score((self.centre + v)[None, :]))
        return scale * loss, scale * (loss - v * slope)


def _score_and_slope(predictions: RealPredictions) -> Callable[[Array], tuple[Array, Array]]:
    """Return the CRPS of labels (b, n), and its derivative in the label."""
    if isinstance(predictions, Gaussian):
        return crps_and_slope(predictions)
    loss, slope = crps.loss(predictions), _slope(predictions)
    return lambda labels: (loss(labels), slope(labels))


def _slope(predictions: RealPredictions) -> Callable[[Array], Array]:
    if not isinstance(predictions, Quantiles):
        return lambda labels: 2.0 * predictions.cdf(labels) - 1.0
    table, levels = as_float64(predictions.values), to_host(as_float64(predictions.levels))
    over, under = np.append(0.0, np.cumsum(levels)), np.append(0.0, np.cumsum(1.0 - levels))
    slopes = like((2.0 / len(levels)) * (over - (under[-1] - under)), table)
    xp = namespace(table)

    def slope(labels: Array) -> Array:
        cell = count_at_most(table, labels)
        return xp.reshape(xp.take(slopes, xp.reshape(cell, (-1,))), cell.shape)

    return slope


_PASS_FEATURES = Remedy(
    "Pass `features=`, or leave out `by`.",
    "Call the columns that hold the features `x0`, `x1` and so on, or choose another method.",
)


@dataclasses.dataclass(eq=False)
class SpreadScaling(RealRecalibration):
    """Stretch or shrink predicted distributions around their centre: one factor, by group or by features.

    Parameters
    ----------
    by : {"all", "features"}
        One scale for all instances, or one per group if `fit` is given `groups=`; or log-linear in features
        (`features=` of `fit` and `apply`).
    penalty : float
        Penalty on the squared coefficients of standardised features, in units of the loss with one scale.

    Attributes
    ----------
    scale : float
        s for all instances, set by `fit`; above 1, the predictions were too narrow.
    scales : dict of str to float, or None
        s for every group, if `fit` was given `groups=`.
    coefficients, centre, spread : ndarray (d,), or None
        log s = log of `intercept` + coefficients . (features - centre) / spread.
    intercept : float or None
        Geometric mean of the learned scales at the mean features.

    Notes
    -----
    The scale minimises the CRPS, which is convex in it and defined for every kind of prediction; the
    likelihood (mean z^2 for one Gaussian) needs a density and is dominated by a few outliers. Predictions
    keep their kind. Means do not change; for quantiles, the median does not change. With groups,
    log s of a group is shrunk towards that of all instances, by more the fewer instances it has and the less
    groups differ; a group that the fit did not see gets the scale of all instances, and a note says so.

    References
    ----------
    Laves et al., *Well-calibrated regression uncertainty in medical imaging with deep learning*, MIDL 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=2000)
    >>> labels = mean + 2.0 * rng.normal(size=2000)
    >>> narrow = cr.Gaussian(mean, np.ones(2000))
    >>> scaling = cr.recalibrate.SpreadScaling().fit(narrow[:1000], labels[:1000])
    >>> 1.8 < scaling.scale < 2.2
    True
    >>> scaling.apply(narrow[1000:])
    Gaussian(n=1000, m=1, dtype=float64, 1 note)
    """

    by: Literal["all", "features"] = "all"
    penalty: float = 0.001
    scale: float = learned(positive=True)
    scales: dict[str, float] | None = learned_by_group(positive=True, shown=True)
    coefficients: HostArray = learned("d")
    intercept: float = learned(positive=True, shown=False)
    centre: HostArray = learned("d")
    spread: HostArray = learned("d", positive=True)
    method: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        one_of("`by`", self.by, ("all", "features"))
        if not (isinstance(self.penalty, (int, float)) and self.penalty == 0):
            require_positive_number(self.penalty, "penalty", "Use 0.001.")

    @property
    def name(self) -> str:
        """The name with what the scale depends on."""
        return "scale" if self.by == "all" else "scale_by_features"

    @property
    def takes_features(self) -> bool:  # type: ignore[override]
        """Whether the scale depends on features."""
        return self.by == "features"

    @property
    def takes_groups(self) -> bool:  # type: ignore[override]
        """Whether there may be a scale per group: features say more."""
        return self.by == "all"

    def _without(self, name: str) -> str:
        if name == "features":
            return 'Write `SpreadScaling(by="features")` for a scale that depends on them, or leave them out.'
        return "Leave them out, or make them features."

    def describe(self) -> str:
        """Return the scale in words."""
        if self.scales is not None:
            low, high = min(self.scales.values()), max(self.scales.values())
            return f"a scale for each of {len(self.scales)} groups, from {low:.3g} to {high:.3g}"
        if self.by == "features":
            return (
                f"a scale of {self.intercept:.3g} on average, learned from {len(self.coefficients)} features"
            )
        return f"a scale of {self.scale:.3g}"

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return super()._shapes() if self.by == "features" else {"scale": (), "scales": ()}

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        stretch, self.scales = _Stretch(data), None
        xp = namespace(data.labels)
        weight = xp.ones_like(data.labels) if data.weight is None else data.weight
        self.scale, ended = _best_scale(stretch, weight)
        if self.by == "features":
            return self._fit_features(data, stretch, _features(seen, data.predictions), ended)
        if seen is None:
            return ended
        return self._fit_groups(data, stretch, Groups.of(seen, len(data.predictions)), ended)

    def _fit_groups(
        self, data: RealData, stretch: _Stretch, groups: Groups, whole: Convergence
    ) -> Convergence:
        """Fit log s of every group by halving a bracket of all at once, then pull it towards that of all."""
        names, codes, weight = groups.names, groups.codes, data.host_weight
        size, middle = np.bincount(codes, weight, len(names)), math.log(self.scale)

        def slopes(at: HostArray | float) -> HostArray:
            scale = np.exp(np.broadcast_to(at, len(names)))[codes]
            return to_host(stretch(like(scale, data.labels))[1])

        bend = float(weight @ (slopes(middle + _STEP / 2) - slopes(middle - _STEP / 2))) / _STEP / size.sum()
        low, high = (np.full(len(names), middle + end) for end in (-_REACH, _REACH))
        for _ in range(_HALVINGS):
            at = 0.5 * (low + high)
            rise = np.bincount(codes, weight * slopes(at), len(names)) + OWN * bend * (at - middle)
            low, high = np.where(rise < 0, at, low), np.where(rise < 0, high, at)
        at = 0.5 * (low + high)
        noise = float(weight @ slopes(at) ** 2) / size.sum() / max(bend, np.finfo(float).tiny) ** 2
        precision = size / max(noise, np.finfo(float).tiny)
        between = variance_between(at - middle, precision)
        at = middle + (at - middle) * between * precision / (1.0 + between * precision)
        self.scales = {name: float(np.exp(log_scale)) for name, log_scale in zip(names, at, strict=True)}
        each = like(np.exp(at)[codes], data.labels)
        after = _mean(stretch(each)[0], like(weight, data.labels))
        steps = whole.n_iterations + _HALVINGS
        return Convergence(True, steps, whole.gradient, whole.loss_before, after, whole.message)

    def _fit_features(
        self, data: RealData, stretch: _Stretch, features: Array, whole: Convergence
    ) -> Convergence:
        from scipy.optimize import minimize

        share = data.host_weight / data.host_weight.sum()
        inputs = to_host(features)
        self.centre = share @ inputs
        spread = np.sqrt(share @ (inputs - self.centre) ** 2)
        self.spread = np.where(spread > 0, spread, 1.0)
        columns = np.column_stack([np.ones(len(inputs)), (inputs - self.centre) / self.spread])
        unit = whole.loss_after if whole.loss_after > 0 else 1.0

        def objective(parameters: HostArray) -> tuple[float, HostArray]:
            scale = np.exp(np.clip(columns @ parameters, -20.0, 20.0))
            loss, slope = (to_host(values) for values in stretch(like(scale, data.labels)))
            free = np.append(0.0, parameters[1:])
            return (
                float(share @ loss) / unit + self.penalty * float(free @ free),
                columns.T @ (share * slope) / unit + 2.0 * self.penalty * free,
            )

        start = np.append(math.log(self.scale), np.zeros(columns.shape[1] - 1))
        ended = minimize(objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-13, "gtol": 1e-8})
        self.intercept, self.coefficients = float(np.exp(ended.x[0])), ended.x[1:]
        gradient = float(np.abs(ended.jac).max())
        after = float(share @ to_host(stretch(like(np.exp(columns @ ended.x), data.labels))[0]))
        # scores of draws and quantiles are made of straight lines, whose kinks are 1 / n apart
        settled = gradient < 1e-5 + 10.0 / len(columns)
        return Convergence(settled, int(ended.nit), gradient, whole.loss_before, after, str(ended.message))

    def _map(self, predictions: RealPredictions, seen: Any) -> RealPredictions:
        if self.by == "features":
            inputs = _features(seen, predictions, len(self.coefficients))
            outputs = standardised(inputs, self.centre, self.spread) @ like(self.coefficients, inputs)
            scales = self.intercept * namespace(inputs).exp(outputs)
            return self._noted(scaled(predictions, scales), predictions)
        groups = checked_groups(seen, self.scales, len(predictions))
        if groups is None or self.scales is None:
            return self._noted(scaled(predictions, self.scale), predictions)
        scales = np.array([self.scales.get(name, self.scale) for name in groups.names])[groups.codes]
        more = unseen_note(groups, self.scales, "the scale")
        return self._noted(scaled(predictions, like(scales, predictions._leading)), predictions, *more)


def _features(features: Any, predictions: RealPredictions, width: int | None = None) -> Array:
    if features is None:
        rule = 'must be given to a scale with by="features"'
        raise InputError("`features`", rule, "got none", _PASS_FEATURES)
    return features_of_width(features, predictions, width)


def _mean(values: Array, weight: Array) -> float:
    xp = namespace(values)
    return scalar(xp.sum(weight * values)) / scalar(xp.sum(weight))


def _best_scale(stretch: _Stretch, weight: Array) -> tuple[float, Convergence]:
    """Return the scale with the smallest mean CRPS: where its derivative in log s changes sign."""

    @cache  # ends of brackets are asked for more than once
    def along(at: float) -> tuple[float, float]:
        loss, slopes = stretch(math.exp(at))
        return _mean(loss, weight), _mean(slopes, weight)

    def slope(at: float) -> float:
        return along(at)[1]

    before, first = along(0.0)
    flat = 1e-12 * before  # of a distribution without spread the score does not depend on the scale
    if abs(first) <= flat and abs(slope(_STEP)) <= flat:
        raise no_spread("a scale")
    least, most = map(math.log, LIMITS)
    sign, steps, reach, end = math.copysign(1.0, first), 1, _STEP, 0.0
    while sign * slope(end) > 0 and least < end < most:
        end, steps, reach = min(max(end - sign * reach, least), most), steps + 1, 2.0 * reach
    if sign * slope(end) > 0:
        evidence = f"the CRPS still falls at {math.exp(end):.3g}"
        remedy = "Check the units, and that labels and predictions belong together."
        raise beyond_limits("the scale", LIMITS, evidence, remedy)
    at = 0.0
    if first != 0.0:
        at, more = _root_of_slope(slope, min(0.0, end), max(0.0, end))
        steps += more
    loss, last = along(at)
    return math.exp(at), Convergence(True, steps, abs(last), before, loss, "secants on log s")


def _root_of_slope(slope: Callable[[float], float], low: float, high: float) -> tuple[float, int]:
    """Return where a slope turns positive in a bracket, and the steps to there.

    Secants through the last two points, midpoints where those do not shorten the bracket enough: scores of
    draws and quantiles have a slope that jumps.
    """
    last, at, steps, before = low, high, 0, high - low
    while high - low > _CLOSE:
        rise = slope(at) - slope(last)
        trial = at - slope(at) * (at - last) / rise if rise else low
        if steps % 3 == 2:  # three steps must halve the bracket
            if high - low > 0.5 * before:
                trial = 0.5 * (low + high)
            before = high - low
        # a step ends beyond the zero, or within this distance of it
        trial = min(max(trial, low + 0.5 * _CLOSE), high - 0.5 * _CLOSE)
        last, at, steps = at, trial, steps + 1
        if slope(at) == 0.0:
            return at, steps
        low, high = (at, high) if slope(at) < 0.0 else (low, at)
    return min((low, high), key=lambda end: abs(slope(end))), steps
