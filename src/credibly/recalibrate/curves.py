"""Curves of one probability: of the event for two classes, of the most probable class for more.

    curve      logit p' = x + b + a x + sum_j c_j max(x - t_j, 0)    x = logit p, t_j its quantiles in the fit
    beta       logit p' = a log p - b log(1 - p) + c                 a, b >= 0
    isotonic   p' = the increasing step function nearest to the labels
    Venn-Abers [p0, p1]: isotonic fits with the instance added as a non-event and as an event

The other classes keep their proportions.   Zadrozny and Elkan 2002; Kull, Silva Filho and Flach 2017; Vovk,
Petej and Fedorova 2015.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, like, logsumexp, namespace, to_host
from credibly.predictions import ClassPredictions, Intervals, Point
from credibly.recalibrate.additive import FREE
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, with_scores
from credibly.recalibrate.learned import learned
from credibly.recalibrate.minimum import Convergence, diverging
from credibly.recalibrate.scores import scores_of

FEWEST_PARTS, MOST_PARTS, LABELS_PER_PART = 5, 24, 300
"""Parts of the labels between bends, all of one size."""
NEVER = 1e-10
"""Distance of isotonic probabilities from 0 and 1: a class that did not occur is not impossible."""
_STEPS, _HALVINGS = 100, 30
_ENOUGH, _WARM = 1e-9, 1e-3  # nats that the last Newton step may gain, and beside a warm start
_SEPARATED = 0.01


@dataclasses.dataclass(frozen=True)
class Event:
    """One class of every instance against the others: class 1 of two, else the most probable.

    Attributes
    ----------
    is_event : array (n, k) of bool
        Which class it is.
    logit : array (n,)
        Of its probability.
    others : array (n,)
        Log-probability of all other classes together.
    values : array (n, k)
        All log-probabilities.
    """

    is_event: Array
    logit: Array
    others: Array
    values: Array

    @classmethod
    def of(cls, values: Array) -> Event:
        """Return the event of log-probabilities (n, k)."""
        if values.ndim != 2:
            rule, remedy = (
                "needs one distribution per instance",
                "Use the mean prediction, `predictions.mean()`.",
            )
            raise UnsupportedError("a curve of probabilities", rule, f"got {values.shape[1]}", remedy)
        xp = namespace(values)
        k = values.shape[1]
        index = xp.argmax(values, axis=1) if k > 2 else xp.full_like(values[:, 0], 1.0)
        number = xp.astype(like(np.arange(k), values), values.dtype)
        is_event = number[None, :] == xp.astype(index, values.dtype)[:, None]
        log_probability = xp.max(values, axis=1) if k > 2 else values[:, 1]
        if k == 2:
            others = values[:, 0]
        else:
            others = logsumexp(xp.where(is_event, xp.full_like(values, -math.inf), values))
        return cls(is_event, log_probability - others, others, values)

    def counts(self, labels: HostArray) -> tuple[HostArray, HostArray]:
        """Return how many labels are the event, and how many there are, (n,) each."""
        return (to_host(self.is_event) * labels).sum(axis=1), labels.sum(axis=1)

    def moved(self, logit: Array) -> Array:
        """Return log-probabilities with another logit of the event, the others in proportion."""
        xp = namespace(logit)
        zero = xp.zeros_like(logit)
        event, rest = -xp.logaddexp(zero, -logit), -xp.logaddexp(zero, logit)
        return xp.where(self.is_event, event[:, None], self.values + (rest - self.others)[:, None])


def event_losses(event: Event, labels: HostArray, logit: HostArray) -> tuple[float, float]:
    """Return the log loss per label as predicted, and with another logit of the event."""
    values = to_host(event.values)
    before = -float(np.vdot(labels, values)) / float(labels.sum())
    success, total = event.counts(labels)
    change = [float(total @ np.logaddexp(0.0, x) - success @ x) for x in (to_host(event.logit), logit)]
    return before, before + (change[1] - change[0]) / float(labels.sum())


def fit_logistic(
    offset: HostArray,
    columns: HostArray,
    counts: tuple[HostArray, HostArray],
    ridge: HostArray,
    start: HostArray | None = None,
) -> tuple[HostArray, int, float]:
    """Fit logit p = offset + columns . theta to counts of events; return theta, steps and the last gain."""
    success, total = counts
    theta = np.zeros(columns.shape[1]) if start is None else start.copy()

    def penalised(at: HostArray) -> tuple[float, HostArray]:
        logit = offset + columns @ at
        loss = float(total @ np.logaddexp(0.0, logit) - success @ logit)
        return loss + 0.5 * float(ridge @ at**2), logit

    value, logit = penalised(theta)
    gain, steps = math.inf, 0
    while steps < _STEPS:
        steps += 1
        p = 0.5 * (1.0 + np.tanh(0.5 * logit))
        gradient = columns.T @ (total * p - success) + ridge * theta
        weighted = columns * (total * p * (1.0 - p))[:, None]
        step = np.linalg.solve(weighted.T @ columns + np.diag(ridge), gradient)
        gain = 0.5 * float(gradient @ step)
        if gain < (_ENOUGH if start is None else _WARM):
            theta = theta - step
            break
        for _ in range(_HALVINGS):
            new, logit = penalised(theta - step)
            if new <= value + 1e-9:
                break
            step = 0.5 * step
        theta, value = theta - step, new
    if value < _SEPARATED < float(total.sum()) * math.log(2.0):
        raise diverging(
            "the event can be told from the predictions without error", gain, float(np.abs(step).max())
        )
    return theta, steps, gain


class EventRecalibration(Recalibration):
    """What curves of the event's logit share: fit and map."""

    kinds: ClassVar[tuple[str, ...]] = ("Point", "Dirichlet")

    @abstractmethod
    def _fit_curve(self, logit: HostArray, counts: tuple[HostArray, HostArray]) -> tuple[int, float]:
        """Set what was learned; return the steps and the last gain in nats."""

    @abstractmethod
    def _curve(self, logit: Array) -> Array:
        """Return new logits."""

    def _fit(self, data: FitData, seen: Any) -> Convergence:
        labels = to_host(data.counts)
        event = Event.of(to_host(data.scores.values))
        counts = event.counts(labels)
        used = counts[1] > 0
        steps, gain = self._fit_curve(event.logit[used], (counts[0][used], counts[1][used]))
        losses = event_losses(event, labels, to_host(self._curve(event.logit)))
        return Convergence(steps < _STEPS, steps, 2.0 * gain / float(labels.sum()), *losses, "Newton steps")

    def _map(self, predictions: ClassPredictions, seen: Any) -> ClassPredictions:
        event = Event.of(scores_of(predictions, self.zero).values)
        return with_scores(predictions, event.moved(self._curve(event.logit)), self._note)


@dataclasses.dataclass(eq=False)
class CurveScaling(EventRecalibration):
    """A smooth curve of P(event), or of the confidence: logistic, with bends at quantiles of its logit.

    Attributes
    ----------
    knots : ndarray (r,)
        Quantiles of the logit in the fit: those of five parts, more if there are many labels.
    coefficients : ndarray (2 + r,)
        What is added to the logit x: intercept, factor of x, and factors of max(x - knot, 0).
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    For predictions that are off in a range only. Two classes are about P(class 1); for more, the curve maps
    the probability of the most probable class, and the others keep their proportions. The penalty (half a nat
    per squared bend) does not grow with the data. Unlike isotonic regression the curve is smooth, needs fewer
    labels and never returns 0 or 1, but it may fall.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> labels = (rng.random(4000) < np.where(p > 0.6, 0.6, p)).astype(int)  # too high above 0.6
    >>> curve = cr.recalibrate.CurveScaling().fit(np.column_stack([1 - p, p]), labels)
    >>> bool(curve.apply(cr.Point([[0.1, 0.9]])).probs[0, 1] < 0.7)
    True
    """

    knots: HostArray = learned("r")
    coefficients: HostArray = learned("r+2")
    method: ClassVar[str] = "curve"

    def describe(self) -> str:
        """Return how many bends the curve has."""
        return f"a curve with {len(self.knots)} bends"

    def _fit_curve(self, logit: HostArray, counts: tuple[HostArray, HostArray]) -> tuple[int, float]:
        order = np.argsort(logit)
        share = np.cumsum(counts[1][order])
        parts = int(np.clip(share[-1] // LABELS_PER_PART, FEWEST_PARTS, MOST_PARTS))
        at = np.searchsorted(share, np.arange(1, parts) / parts * share[-1])
        self.knots = np.unique(logit[order[np.minimum(at, len(order) - 1)]])
        ridge = np.r_[0.01, 0.01, np.ones(len(self.knots))]
        near = None if self._near is None else self._near.coefficients
        start = near if near is not None and len(near) == len(ridge) else None
        self.coefficients, steps, gain = fit_logistic(logit, self._columns(logit), counts, ridge, start)
        return steps, gain

    def _columns(self, logit: Array) -> Array:
        xp = namespace(logit)
        bends = xp.clip(logit[:, None] - like(self.knots, logit)[None, :], 0.0, None)
        return xp.concat([xp.stack([xp.ones_like(logit), logit], axis=1), bends], axis=1)

    def _curve(self, logit: Array) -> Array:
        return logit + self._columns(logit) @ like(self.coefficients, logit)


@dataclasses.dataclass(eq=False)
class BetaScaling(EventRecalibration):
    """Beta calibration: logit p' = a log p - b log(1 - p) + c, for P(event) or the confidence.

    Attributes
    ----------
    a, b : float
        Slopes towards 0 and towards 1, at least 0; both 1 and c = 0 leave predictions as they are.
    c : float
        The intercept.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    Two classes are about P(class 1); for more, the map is that of the most probable class, and the others
    keep their proportions. If the best a or b is negative, it is 0 and the others are fitted again, as by
    Kull et al.

    References
    ----------
    Kull, Silva Filho and Flach, *Beta calibration*, AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> labels = (rng.random(4000) < p**2 / (p**2 + (1 - p) ** 0.5)).astype(int)
    >>> beta = cr.recalibrate.BetaScaling().fit(np.column_stack([1 - p, p]), labels)
    >>> 1.8 < beta.a < 2.2, 0.4 < beta.b < 0.6
    (True, True)
    """

    a: float = learned()
    b: float = learned()
    c: float = learned()
    method: ClassVar[str] = "beta"

    def describe(self) -> str:
        """Return the parameters in words."""
        return f"beta calibration with a = {self.a:.3g}, b = {self.b:.3g}, c = {self.c:.3g}"

    def _fit_curve(self, logit: HostArray, counts: tuple[HostArray, HostArray]) -> tuple[int, float]:
        columns = np.column_stack([-np.logaddexp(0.0, -logit), np.logaddexp(0.0, logit), np.ones(len(logit))])
        free, start, total = np.array([True, True, True]), None, 0
        if self._near is not None and self._near.a and self._near.b:
            start = np.array([self._near.a, self._near.b, self._near.c], dtype=float)
        while True:
            begin = None if start is None else start[free]
            fitted, steps, gain = fit_logistic(
                np.zeros(len(logit)), columns[:, free], counts, np.full(int(free.sum()), FREE), begin
            )
            total += steps
            theta = np.zeros(3)
            theta[free] = fitted
            if (theta[:2] >= 0).all():
                self.a, self.b, self.c = map(float, theta)
                return total, gain
            free[int(np.argmin(theta[:2]))] = False

    def _curve(self, logit: Array) -> Array:
        xp = namespace(logit)
        zero = xp.zeros_like(logit)
        return -self.a * xp.logaddexp(zero, -logit) + self.b * xp.logaddexp(zero, logit) + self.c


def event_probabilities(predictions: ClassPredictions) -> Array:
    """Return P(class 1) of two classes, or the largest probability, (n,)."""
    probs = as_float64(predictions.mean().probs)
    return probs[:, 1] if probs.shape[1] == 2 else namespace(probs).max(probs, axis=1)


def _summed(at: HostArray, success: HostArray, total: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return distinct values in order, with the events and the labels at each."""
    used = total > 0
    values, place = np.unique(at[used], return_inverse=True)
    return values, np.bincount(place, success[used]), np.bincount(place, total[used])


def isotonic_steps(data: FitData) -> tuple[HostArray, HostArray, Convergence]:
    """Return where the isotonic regression of events bends, its values there, and how the fit ended."""
    from scipy.optimize import isotonic_regression  # slow to load

    labels = to_host(data.counts)
    event = Event.of(to_host(data.scores.values))
    at = to_host(event_probabilities(data.predictions))
    values, success, total = _summed(at, *event.counts(labels))
    share = np.asarray(isotonic_regression(success / total, weights=total).x)
    # the ends of every plateau; straight lines between them are those between all points
    bends = np.r_[True, share[1:] != share[:-1]] | np.r_[share[1:] != share[:-1], True]
    before, after = values[bends], share[bends]
    losses = event_losses(event, labels, to_host(isotonic_logit(at, before, after)))
    return before, after, Convergence(True, 1, 0.0, *losses, "pooled adjacent violators")


def isotonic_logit(at: HostArray, before: HostArray, after: HostArray) -> HostArray:
    """Return the logit of the interpolated curve, which ends where the fit ended."""
    p = np.interp(at, before, after).clip(NEVER, 1.0 - NEVER)
    logit: HostArray = np.log(p) - np.log1p(-p)
    return logit


def isotonic_map(
    predictions: ClassPredictions, before: HostArray, after: HostArray, zero: float | None
) -> Array:
    """Return log-probabilities whose event follows the curve."""
    event = Event.of(scores_of(predictions, zero).values)
    at = to_host(event_probabilities(predictions))
    return event.moved(like(isotonic_logit(at, before, after), event.logit))


@dataclasses.dataclass(eq=False)
class VennAbers(Recalibration):
    """Inductive Venn-Abers predictors of two classes: an interval of P(event) for every instance.

    Attributes
    ----------
    at : ndarray (r,)
        Probabilities in the fit, in increasing order.
    lower, upper : ndarray (r,)
        P(event) by isotonic regression if one more instance there is a non-event, or an event.
    convergence : Convergence
        How the fit ended; the loss is that of the merged probability, p1 / (1 - p0 + p1).

    Notes
    -----
    One of the two probabilities is perfectly calibrated if instances are exchangeable, whatever the model.
    The result is `Intervals`, which the tests of sets can judge; their width shows how few labels there are
    nearby. All isotonic regressions together cost one sort.

    References
    ----------
    Vovk, Petej and Fedorova, *Large-scale probabilistic predictors with and without guarantees of validity*,
    NeurIPS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> labels = (rng.random(2000) < p**2).astype(int)
    >>> venn = cr.recalibrate.VennAbers().fit(np.column_stack([1 - p, p]), labels)
    >>> venn.apply(cr.Point([[0.5, 0.5]]))
    Intervals(n=1, k=2, dtype=float64, 1 note)
    """

    at: HostArray = learned("r")
    lower: HostArray = learned("r")
    upper: HostArray = learned("r")
    method: ClassVar[str] = "venn_abers"
    can_lead: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("Point",)

    def describe(self) -> str:
        """Return the mean width in words."""
        return f"Venn-Abers intervals at {len(self.at)} probabilities"

    def _fit(self, data: FitData, seen: Any) -> Convergence:
        if data.predictions.n_classes != 2:
            evidence = f"got {data.predictions.n_classes}"
            remedy = "Use IsotonicRecalibration or CurveScaling, which map the confidence."
            raise UnsupportedError("`VennAbers`", "is defined for two classes", evidence, remedy)
        labels = to_host(data.counts)
        event = Event.of(to_host(data.scores.values))
        at = to_host(event_probabilities(data.predictions))
        values, success, total = _summed(at, *event.counts(labels))
        upper = with_one_event(success, total)
        lower = 1.0 - with_one_event((total - success)[::-1], total[::-1])[::-1]
        # what neither neighbour needs
        needed = np.r_[True, lower[1:] != lower[:-1]] | np.r_[upper[1:] != upper[:-1], True]
        self.at, self.lower, self.upper = values[needed], lower[needed], upper[needed]
        low, high = self._bounds(at)
        merged = (high / (1.0 - low + high)).clip(NEVER, 1.0 - NEVER)
        losses = event_losses(event, labels, np.log(merged) - np.log1p(-merged))
        return Convergence(True, 1, 0.0, *losses, "one sort and two sweeps")

    def _bounds(self, at: HostArray) -> tuple[HostArray, HostArray]:
        """Return p0 and p1: those of the next probability below, and of the next above."""
        low = np.r_[0.0, self.lower][np.searchsorted(self.at, at, side="right")]
        high = np.r_[self.upper, 1.0][np.searchsorted(self.at, at, side="left")]
        return low, np.maximum(low, high)

    def _map(self, predictions: ClassPredictions, seen: Any) -> Intervals:
        assert isinstance(predictions, Point)
        low, high = self._bounds(to_host(event_probabilities(predictions)))
        lower, upper = np.column_stack([1.0 - high, low]), np.column_stack([1.0 - low, high])
        leading = as_float64(predictions.probs)
        made = Intervals(like(lower, leading), like(upper, leading))
        made._set(notes=(*predictions.notes, self._note, *made.notes))
        return made


def with_one_event(success: HostArray, total: HostArray) -> HostArray:
    """Return, for every place, the isotonic regression there with one more event at this place, (r,).

    The regression is the slope of the lower convex hull of cumulated labels and events. One more event at
    place i shifts all points before it by (1, 1) to the left and down; from place to place one point of the
    hull changes (Vovk et al. 2015, algorithms 1 and 2).
    """
    x, y = np.cumsum(np.r_[0.0, total]).tolist(), np.cumsum(np.r_[0.0, success]).tolist()
    points = [(-1.0, -1.0), *zip(x, y, strict=True)]

    def turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0

    hull: list[tuple[float, float]] = []
    for point in points:
        while len(hull) > 1 and not turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    hull.reverse()
    slopes = np.empty(len(total))
    for i in range(len(total)):
        first, second = hull[-1], hull[-2]
        slopes[i] = (second[1] - first[1]) / (second[0] - first[0])
        # the point at i, shifted
        shifted = (points[i + 2][0] - 1.0, points[i + 2][1] - 1.0)
        if turns_left(first, shifted, second):
            hull.pop()
            while len(hull) > 1 and not turns_left(shifted, hull[-1], hull[-2]):
                hull.pop()
            hull.append(shifted)
    return slopes
