"""Recalibrations of real values: what they share, and the scale of the predicted spread.

Y' = c + s (Y - c)            c the centre of the prediction, s > 0 the minimiser of the CRPS

The CRPS of the scaled distribution is s C(r / s), C the score of the prediction as it is and r = y - c. It is
convex in s for every kind of prediction: E|s D - r| - s / 2 E|D - D'| is.
Laves et al. 2020.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.errors import InputError, InputTypeError, Remedy, UnsupportedError, one_of
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly._arrays.row_search import count_at_most
from credibly.credal.sets import require_positive_number
from credibly.predictions import (
    Gaussian,
    Quantiles,
    RealPredictions,
    Samples,
    as_labels,
    as_predictions,
    paired,
)
from credibly.predictions.prediction_sets import remedy_for
from credibly.predictions.quantiles import in_common_terms
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import digest_of
from credibly.recalibrate.groups import (
    Groups,
    checked_groups,
    require_positive_by_group,
    unseen_note,
    variance_between,
)
from credibly.recalibrate.heads import features_of_width, standardised
from credibly.recalibrate.minimum import Convergence
from credibly.statistics.crps import crps, crps_and_slope

LIMITS = (1e-9, 1e9)
"""Scales beyond these are refused as diverging."""
MOST_SCORED = 10_000
"""Instances whose CRPS stands in `convergence` where quantiles have to be made for it."""
_STEP = 0.1
"""First step of a search for log s, after which every step is twice as long."""
OWN, _REACH, _HALVINGS = 0.5, 3.0, 30
"""Penalty on what a group has of its own, in observations; how far log s of a group may be from all."""
_CLOSE = 1e-10
"""Length of a bracket of log s in which a search ends."""


@dataclasses.dataclass(frozen=True)
class RealData:
    """Predictions and labels of a fit.

    Attributes
    ----------
    predictions : RealPredictions
        What the model said.
    labels : array (n,)
        What was observed, double precision.
    weight : array (n,) or None
        Weights of the instances; None where all are 1.
    notes : tuple of str
        How the data were interpreted.
    """

    predictions: RealPredictions
    labels: Array
    weight: Array | None
    notes: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """A hash of the predictions, computed once for all methods that are fitted to them."""
        return digest_of(self.predictions)

    def take(self, rows: HostArray) -> RealData:
        """Return some instances."""
        at = like(rows, self.labels)
        xp = namespace(self.labels)
        weight = None if self.weight is None else xp.take(self.weight, at)
        return dataclasses.replace(
            self, predictions=self.predictions[rows], labels=xp.take(self.labels, at), weight=weight
        )

    def moved(self, predictions: RealPredictions) -> RealData:
        """Return the same labels with other predictions, as the next step of a chain sees them."""
        return dataclasses.replace(self, predictions=predictions)

    @property
    def host_weight(self) -> HostArray:
        """Weights on the host, 1 where there are none."""
        return np.ones(len(self.predictions)) if self.weight is None else to_host(self.weight)


class RealRecalibration(Recalibration):
    """What recalibrations of real values share: which predictions they take, and what a fit starts from."""

    kinds: ClassVar[tuple[str, ...]] = ("Gaussian", "Samples", "Quantiles")

    def predict_proba(self, predictions: Any, *, features: Any = None, groups: Any = None) -> Array:
        """Refuse: real values have no probabilities of classes."""
        raise InputTypeError(
            "`predict_proba`",
            "returns probabilities of classes",
            f"got {type(self).__name__}, which recalibrates real values",
            "Use `apply`.",
        )

    def _checked(self, predictions: Any) -> RealPredictions:
        given = as_predictions(predictions)
        if not isinstance(given, RealPredictions):
            raise InputTypeError(
                f"`{type(self).__name__}`",
                "is defined for Gaussian, Samples and Quantiles predictions",
                f"got {type(given).__name__}",
                remedy_for(given, "Use `TemperatureScaling` for classes."),
            )
        return given

    def _data(self, predictions: Any, labels: Any, sample_weight: Any) -> RealData:
        predictions, labels = paired(predictions, labels)
        given = self._checked(predictions)
        batch = as_labels(given, labels, sample_weight)
        weight = None if batch.weights is None else batch.weights[0, :]
        return RealData(given, as_float64(batch.values[0, :]), weight, given.notes)

    def _require_like_the_fit(self, predictions: Any) -> None:
        """Levels of a distribution function are those of every model."""

    def _noted(self, made: RealPredictions, before: RealPredictions, *more: str) -> RealPredictions:
        note = f"recalibrated by {self.describe()} (fitted on {self.n} instances)"
        made._set(notes=(*before.notes, note, *more))
        return made


def mean_losses(data: RealData, mapped: Callable[[HostArray], RealPredictions]) -> tuple[float, float]:
    """Return the mean CRPS before and after; of very many instances, of some that are evenly spaced.

    `mapped` gives the recalibrated predictions of some rows.
    """
    n = len(data.predictions)
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_SCORED)).round().astype(int))
    weight = data.host_weight[rows]
    if not weight.any():
        weight = np.ones(len(rows))
    some, labels = data.predictions[rows], like(to_host(data.labels)[rows], data.labels)[None, :]
    both, _ = in_common_terms([some, mapped(rows)])
    before, after = (float(weight @ to_host(crps.loss(one)(labels)[0, :])) for one in both)
    return before / weight.sum(), after / weight.sum()


def centre_of(predictions: RealPredictions) -> Array:
    """Return the mean of every instance; for quantiles the median, interpolated between its neighbours."""
    if not isinstance(predictions, Quantiles):
        return predictions.expectation()
    table, levels = as_float64(predictions.values), to_host(as_float64(predictions.levels))
    if len(levels) == 1:
        return table[:, 0]
    above = int(np.clip(np.searchsorted(levels, 0.5), 1, len(levels) - 1))
    share = float(np.clip((0.5 - levels[above - 1]) / (levels[above] - levels[above - 1]), 0.0, 1.0))
    return (1.0 - share) * table[:, above - 1] + share * table[:, above]


def scaled(predictions: RealPredictions, scale: Array | float) -> RealPredictions:
    """Stretch every distribution around its centre; a mixture keeps its members and its mean."""
    centre = centre_of(predictions)
    if isinstance(predictions, Gaussian):
        mean, std = as_float64(predictions.mean), as_float64(predictions.std)
        if mean.ndim == 1:
            return predictions.replace_rows(mean=mean, std=std * scale)
        wide = scale[:, None] if not isinstance(scale, float) else scale
        moved = centre[:, None] + wide * (mean - centre[:, None])
        return predictions.replace_rows(mean=moved, std=std * wide)
    assert isinstance(predictions, (Samples, Quantiles))
    values = as_float64(predictions.values)
    shape = (-1,) + (1,) * (values.ndim - 1)
    xp = namespace(values)
    middle = xp.reshape(centre, shape)
    wide = scale if isinstance(scale, float) else xp.reshape(scale, shape)
    return predictions.replace_rows(values=middle + wide * (values - middle))


class _Stretch:
    """The CRPS of every instance, and its derivative, as a function of the logarithm of the scale."""

    def __init__(self, data: RealData) -> None:
        given = data.predictions
        self.centre = centre_of(given)
        self.away = data.labels - self.centre
        self.score = _score_and_slope(given)

    def __call__(self, scale: Array | float) -> tuple[Array, Array]:
        v = self.away / scale
        loss, slope = (one[0, :] for one in self.score((self.centre + v)[None, :]))
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


_IN_A_FILE = "Call the columns that hold the features `x0`, `x1` and so on, or choose another method."


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
    scale: float | None = dataclasses.field(default=None, init=False)
    scales: dict[str, float] | None = dataclasses.field(default=None, init=False)
    coefficients: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    intercept: float | None = dataclasses.field(default=None, init=False, repr=False)
    centre: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    spread: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    method: ClassVar[str] = "scale"
    learned: ClassVar[tuple[str, ...]] = (
        "scale",
        "scales",
        "coefficients",
        "intercept",
        "centre",
        "spread",
    )
    positive: ClassVar[tuple[str, ...]] = ("scale", "intercept", "spread")

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

    @property
    def fitted_by_group(self) -> bool:
        """Whether `fit` was given groups."""
        return self.scales is not None

    def _without(self, name: str) -> str:
        if name == "features":
            return 'Write `SpreadScaling(by="features")` for a scale that depends on them, or leave them out.'
        return "Leave them out, or make them features."

    def describe(self) -> str:
        """Return the scale in words."""
        if self.scales is not None:
            low, high = min(self.scales.values()), max(self.scales.values())
            return f"scales from {low:.3g} to {high:.3g} in {len(self.scales)} groups"
        if self.coefficients is not None:
            return (
                f"a scale of {self.intercept:.3g} on average, learned from {len(self.coefficients)} features"
            )
        return f"a scale of {self.scale:.3g}"

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {"scale": ()}
        if self.by == "features":
            width = (len(self.coefficients) if self.coefficients is not None else -1,)
            found |= {"coefficients": width, "intercept": (), "centre": width, "spread": width}
        return found

    def _require_sound(self) -> None:
        super()._require_sound()
        require_positive_by_group(self.scales, "scales")

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        stretch, self.scales = _Stretch(data), None
        xp = namespace(data.labels)
        weight = xp.ones_like(data.labels) if data.weight is None else data.weight
        self.scale, ended = _best_scale(stretch, weight)
        if self.by == "features":
            return self._fit_features(data, stretch, features_of_width(_given(seen), data.predictions), ended)
        if seen is None:
            return ended
        return self._fit_groups(data, stretch, Groups.of(seen, len(data.predictions)), ended)

    def _fit_groups(
        self, data: RealData, stretch: _Stretch, groups: Groups, whole: Convergence
    ) -> Convergence:
        """Fit log s of every group by halving a bracket of all at once, then pull it towards that of all."""
        assert self.scale is not None
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
        self.scales = {name: float(np.exp(own)) for name, own in zip(names, at, strict=True)}
        each = like(np.exp(at)[codes], data.labels)
        after = _mean(stretch(each)[0], like(weight, data.labels))
        steps = whole.n_iterations + _HALVINGS
        return Convergence(True, steps, whole.gradient, whole.loss_before, after, whole.message)

    def _fit_features(
        self, data: RealData, stretch: _Stretch, features: Array, whole: Convergence
    ) -> Convergence:
        from scipy.optimize import minimize

        assert self.scale is not None
        share = data.host_weight / data.host_weight.sum()
        given = to_host(features)
        self.centre = share @ given
        spread = np.sqrt(share @ (given - self.centre) ** 2)
        self.spread = np.where(spread > 0, spread, 1.0)
        columns = np.column_stack([np.ones(len(given)), (given - self.centre) / self.spread])
        unit = whole.loss_after if whole.loss_after > 0 else 1.0

        def objective(parameters: HostArray) -> tuple[float, HostArray]:
            scale = np.exp(np.clip(columns @ parameters, -20.0, 20.0))
            loss, slope = (to_host(one) for one in stretch(like(scale, data.labels)))
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
        assert self.scale is not None
        if self.by == "features":
            return self._noted(scaled(predictions, self._by_features(predictions, _given(seen))), predictions)
        groups = checked_groups(seen, self.scales, len(predictions))
        if groups is None or self.scales is None:
            return self._noted(scaled(predictions, self.scale), predictions)
        own = np.array([self.scales.get(name, self.scale) for name in groups.names])[groups.codes]
        more = unseen_note(groups, self.scales, "the scale")
        return self._noted(scaled(predictions, like(own, predictions._leading)), predictions, *more)

    def _by_features(self, predictions: RealPredictions, seen: Any) -> Array:
        assert self.coefficients is not None and self.centre is not None and self.spread is not None
        inputs = features_of_width(seen, predictions, len(self.coefficients))
        xp = namespace(inputs)
        outputs = standardised(inputs, self.centre, self.spread) @ like(self.coefficients, inputs)
        return float(self.intercept or 1.0) * xp.exp(outputs)


def _given(features: Any) -> Any:
    if features is None:
        raise InputError(
            "`features`",
            'must be given to a scale with by="features"',
            "got none",
            Remedy("Pass `features=`, or leave out `by`.", _IN_A_FILE),
        )
    return features


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
        raise UnsupportedError(
            "a scale",
            "needs predictions with a spread",
            "all of them put all probability on a single number",
            "Use `QuantileShift`, or predict a spread.",
        )
    least, most = map(math.log, LIMITS)
    sign, steps, reach, end = math.copysign(1.0, first), 1, _STEP, 0.0
    while sign * slope(end) > 0 and least < end < most:
        end, steps, reach = min(max(end - sign * reach, least), most), steps + 1, 2.0 * reach
    if sign * slope(end) > 0:
        raise UnsupportedError(
            "the scale",
            f"must lie between {LIMITS[0]:g} and {LIMITS[1]:g}",
            f"the CRPS still falls at {math.exp(end):.3g}",
            "Check the units, and that labels and predictions belong together.",
        )
    at = 0.0
    if first != 0.0:
        at, more = _zero(slope, min(0.0, end), max(0.0, end))
        steps += more
    loss, last = along(at)
    return math.exp(at), Convergence(True, steps, abs(last), before, loss, "secants on log s")


def _zero(slope: Callable[[float], float], low: float, high: float) -> tuple[float, int]:
    """Return where a slope turns positive in a bracket, and the steps to there.

    Secants through the last two points, midpoints where those do not shorten the bracket enough: scores of
    draws and quantiles have a slope that jumps.
    """
    last, at, steps, before = low, high, 0, high - low
    while high - low > _CLOSE:
        rise = slope(at) - slope(last)
        found = at - slope(at) * (at - last) / rise if rise else low
        if steps % 3 == 2:  # three steps must halve the bracket
            if high - low > 0.5 * before:
                found = 0.5 * (low + high)
            before = high - low
        # a step ends beyond the zero, or within this distance of it
        found = min(max(found, low + 0.5 * _CLOSE), high - 0.5 * _CLOSE)
        last, at, steps = at, found, steps + 1
        if slope(at) == 0.0:
            return at, steps
        low, high = (at, high) if slope(at) < 0.0 else (low, at)
    return min((low, high), key=lambda end: abs(slope(end))), steps
