"""Temperature scaling: p -> softmax(log p / T), T the maximiser of the likelihood.

With b = 1 / T and z the log-probabilities, the mean loss per label

    f(b) = sum_i N_i log sum_k exp(b z_ik) - b sum_ik y_ik z_ik       (over the number of labels)

is convex in b, its slope runs from f'(0) to f'(inf), and both ends are known in advance: where the labels
never leave the most probable class f decreases for ever (T -> 0), and where uniform predictions would be
better it increases from 0 on (T -> inf). Neither is fitted.   Guo et al. 2017.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import CACHE_ELEMENTS, Array, is_numpy, namespace, rows_within_budget, tiles
from credibly.predictions import ClassPredictions
from credibly.recalibrate.additive import Additive, fit_additive, mapped_additively
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, with_scores
from credibly.recalibrate.groups import Groups, checked_groups
from credibly.recalibrate.learned import learned, learned_by_group
from credibly.recalibrate.members import shared_temperature
from credibly.recalibrate.minimum import Convergence, beyond_limits
from credibly.recalibrate.scores import IMPOSSIBLE, scores_of

LIMITS = (1e-12, 1e12)
"""Temperatures beyond these are refused as diverging."""
TOLERANCE = 1e-6
"""Of the last Newton step on log T: the error behind it is of the order of its square."""
_MOST_STEPS = 100
_LEAST_INVERSE = 1e-3  # of a group's temperature
_FARTHEST = 1.5  # a step on log T: beyond, the slope here says which way, and the curvature nothing

Moments = tuple[float, float, float]
"""Loss, slope and curvature in b, per label."""


@dataclasses.dataclass(eq=False)
class TemperatureScaling(Recalibration):
    """One temperature for all instances, or one per group: softmax(log p / T).

    The members of an ensemble share the temperature, which maximises the likelihood of their mean; a
    Dirichlet keeps its concentration and its mean is scaled.

    Attributes
    ----------
    temperature : float
        T, set by `fit`; above 1, the predictions were overconfident.
    temperatures : dict of str to float, or None
        T of every group, if `fit` was given `groups=`.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    Safeguarded Newton steps on log T; cost is linear in the number of instances and classes. Fits that would
    end at T = 0 or T = infinity are refused, with the reason. With groups, 1 / T of a group is shrunk towards
    that of all rows, by more the fewer labels it has; a group that the fit did not see gets the temperature
    of all rows, and a note says so.

    References
    ----------
    Guo et al., *On calibration of modern neural networks*, ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=2000)
    >>> labels = (rng.random((2000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> overconfident = cr.Point.from_logits(2 * np.log(probs))
    >>> scaling = cr.recalibrate.TemperatureScaling().fit(overconfident[:1000], labels[:1000])
    >>> 1.8 < scaling.temperature < 2.2
    True
    >>> scaling.apply(overconfident[1000:])
    Point(n=1000, k=3, dtype=float64, 1 note)
    """

    temperature: float = learned(positive=True)
    temperatures: dict[str, float] | None = learned_by_group(positive=True, shown=True)
    method: ClassVar[str] = "temperature"
    takes_groups: ClassVar[bool] = True

    def describe(self) -> str:
        """Return the temperature in words."""
        if self.temperatures is None:
            return f"temperature {self.temperature:.3g}"
        low, high = min(self.temperatures.values()), max(self.temperatures.values())
        return f"a temperature for each of {len(self.temperatures)} groups, from {low:.3g} to {high:.3g}"

    def _fit(self, data: FitData, seen: Any) -> Convergence:
        self.temperatures = None
        near = self._near
        if data.scores.values.ndim == 3:
            self.temperature, ended = shared_temperature(data)
        else:
            inverse, ended = solve(temperature_objective(data), None if near is None else near.temperature)
            self.temperature = 1.0 / inverse
        return (
            ended if seen is None else self._fit_groups(data, Groups.of(seen, len(data.predictions)), ended)
        )

    def _fit_groups(self, data: FitData, groups: Groups, whole: Convergence) -> Convergence:
        """Fit the inverse temperature of every group as a difference to that of all rows."""
        start = Additive(1.0 / self.temperature, np.zeros(data.predictions.n_classes))
        if self._near is not None and self._near.temperatures is not None:
            start = self._near._inverse()
        fitted, ended = fit_additive(
            data, slope=True, bias=False, groups=groups, start=start, rough=self._near is not None
        )
        assert fitted.by_group is not None
        self.temperature = _above_zero(fitted.slope)
        added = {name: float(row[0]) for name, row in fitted.by_group.items()}
        self.temperatures = {name: _above_zero(fitted.slope + more) for name, more in added.items()}
        return dataclasses.replace(
            ended, loss_before=whole.loss_before, n_iterations=whole.n_iterations + ended.n_iterations
        )

    def _inverse(self) -> Additive:
        """Return inverse temperatures in the form of a linear predictor."""
        slope, none = 1.0 / self.temperature, np.zeros(self.n_classes or 0)
        if self.temperatures is None:
            return Additive(slope, none)
        added = {name: np.r_[1.0 / t - slope, none] for name, t in self.temperatures.items()}
        return Additive(slope, none, added)

    def _map(self, predictions: ClassPredictions, seen: Any) -> ClassPredictions:
        groups = checked_groups(seen, self.temperatures, len(predictions))
        if groups is None:
            return with_scores(
                predictions, scores_of(predictions, self.zero).values / self.temperature, self._note
            )
        values, notes = mapped_additively(predictions, self._inverse(), groups, self.zero)
        return with_scores(predictions, values, self._note, *notes)


def _above_zero(inverse: float) -> float:
    """Return the temperature; a group whose confidence is upside down has the largest."""
    return 1.0 / max(inverse, _LEAST_INVERSE)


def temperature_objective(data: FitData) -> Callable[[float], Moments]:
    """Return the loss per label, its slope and curvature as a function of 1 / T."""
    z = data.scores.values
    xp = namespace(z)
    z = z - xp.max(z, axis=-1, keepdims=True)
    weight = data.totals
    total = scalar(xp.sum(weight))
    linear = scalar(xp.sum(data.counts * z)) / total
    share = weight / total
    _require_interior(z, share, linear)
    n, k = z.shape
    step = max(1, CACHE_ELEMENTS // k) if is_numpy(z) else rows_within_budget(32 * k, 0.5, z)

    def moments(inverse: float) -> Moments:
        loss = slope = curvature = 0.0
        for rows in tiles(n, step):
            part = _host_moments if is_numpy(z) else _array_moments
            sums = part(z[rows, ...], share[rows, ...], inverse)
            loss, slope, curvature = loss + sums[0], slope + sums[1], curvature + sums[2]
        return loss - inverse * linear, slope - linear, curvature

    return moments


def _host_moments(z: Array, share: Array, inverse: float) -> Moments:
    """Sums over rows of share * (log-sum-exp, mean of z, variance of z) under softmax(z / T)."""
    weights = z * inverse
    np.exp(weights, out=weights)
    mass = weights.sum(axis=-1)
    weights *= z
    mean = weights.sum(axis=-1) / mass
    weights *= z
    variance = weights.sum(axis=-1) / mass - mean * mean
    return float(share @ np.log(mass)), float(share @ mean), float(share @ variance)


def _array_moments(z: Array, share: Array, inverse: float) -> Moments:
    xp = namespace(z)
    weights = xp.exp(z * inverse)
    mass = xp.sum(weights, axis=-1)
    mean = xp.sum(weights * z, axis=-1) / mass
    variance = xp.sum(weights * z * z, axis=-1) / mass - mean * mean
    sums = [scalar(xp.sum(share * part)) for part in (xp.log(mass), mean, variance)]
    return sums[0], sums[1], sums[2]


def _require_interior(z: Array, share: Array, linear: float) -> None:
    """Refuse fits whose best temperature is 0 or infinite; both can be seen without searching.

    z has the most probable class of every instance at 0, so that the mean over labels, `linear`, is below 0
    unless all of them are most probable.
    """
    xp = namespace(z)
    if scalar(xp.min(z)) == 0.0:
        raise UnsupportedError(
            "the temperature",
            "cannot change uniform predictions",
            f"all {z.shape[0]} rows are uniform",
            "Check the predictions.",
        )
    if linear == 0.0:
        raise UnsupportedError(
            "the temperature",
            "has no best value: the likelihood keeps increasing as T goes to 0",
            f"all {z.shape[0]} labels are the most probable class of their instance (separable data)",
            "Fit on data that contain errors of the model: more instances, or instances it was not trained "
            "on.",
        )
    centre = xp.mean(z, axis=-1)
    if scalar(xp.min(centre)) < IMPOSSIBLE / z.shape[-1] / 2:
        possible = xp.astype(z > IMPOSSIBLE / 2, xp.float64)
        centre = xp.sum(possible * z, axis=-1) / xp.sum(possible, axis=-1)
    gain = linear - scalar(xp.sum(share * centre))
    if gain <= 0:
        raise UnsupportedError(
            "the temperature",
            "has no best value: the likelihood keeps increasing as T goes to infinity",
            "labels have smaller log-probabilities than the average class (mean difference "
            f"{gain:.3g}), so uniform predictions beat the model at any temperature",
            "Check that predictions and labels are in the same order and use the same class indices.",
        )


def solve(objective: Callable[[float], Moments], start: float | None = None) -> tuple[float, Convergence]:
    """Find the zero of the slope: Newton steps on log b inside a bracket that shrinks at every step.

    They begin at T = 1, or at `start`, the temperature of nearly the same rows.

    Curvature costs one more sum per pass over the data and saves passes: for temperatures between 1/30 and 30
    there are 5 to 8, and 15 to 17 by Brent's method.
    """
    low, high = -math.log(LIMITS[1]), -math.log(LIMITS[0])
    at, before, converged, step = -math.log(start or 1.0), math.nan, False, 0
    while not converged and step < _MOST_STEPS:
        step += 1
        inverse = math.exp(at)
        loss, slope, curvature = objective(inverse)
        before = loss if step == 1 else before
        low, high = (low, at) if slope > 0 else (at, high)
        bend = slope + inverse * curvature
        change = -slope / bend if bend > 0 else math.copysign(_FARTHEST, -slope)
        change = max(-_FARTHEST, min(_FARTHEST, change))
        newton = low < at + change < high
        change = change if newton else (low + high) / 2 - at
        converged = abs(change) < TOLERANCE and (newton or high - low < TOLERANCE)
        at += change
    if abs(at) > math.log(LIMITS[1]) - 1e-3:
        evidence = f"the likelihood still grows at T = {math.exp(-at):.3g}"
        remedy = "Check the scale of the logits, and that labels and predictions belong together."
        raise beyond_limits("the temperature", LIMITS, evidence, remedy)
    after = loss + slope * inverse * change / 2
    return math.exp(at), Convergence(converged, step, abs(slope) * inverse, before, after, "Newton on log T")
