"""What a prediction says about two or more raters of one instance.

Raters draw labels from one distribution p, which is known (a point), one of several (an ensemble) or spread
around a mean (a Dirichlet, or an ensemble of them). With S2 = sum p^2 and S3 = sum p^3, two raters disagree
with probability 1 - E S2, and the fraction of disagreeing pairs among n raters has variance

    E D^2 - phi^2 + 2 / (n (n - 1)) (2 (n - 2) (E S3 - E S2^2) + E D - E D^2),      D = 1 - S2, phi = E D.

Disagreement about one class is the same with p and 1 - p in place of p.   D21 eq. 51; Hoeffding 1948.
"""

from __future__ import annotations

import dataclasses

from credibly._arrays.namespace import Array, as_float64, namespace
from credibly.annotators.moments import instances_last
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, as_point
from credibly.predictions.ensemble import weighted_mean


@dataclasses.dataclass(frozen=True)
class PairMoments:
    """E S2, E S3 and E S2^2 under the prediction, (c, n)."""

    s2: Array
    s3: Array
    s2_squared: Array

    @property
    def disagreement(self) -> Array:
        """Return the probability that two raters disagree."""
        return 1.0 - self.s2

    def variance(self, raters: Array) -> Array:
        """Return the variance of the fraction of disagreeing pairs among raters (n,)."""
        square = 1.0 - 2.0 * self.s2 + self.s2_squared
        noise = 2.0 * (raters - 2.0) * (self.s3 - self.s2_squared) + self.disagreement - square
        return square - self.disagreement**2 + 2.0 * noise / (raters * (raters - 1.0))


def pair_moments(predictions: ClassPredictions, *, per_class: bool) -> PairMoments:
    """Return the moments over all classes (1, n), or of every class against the rest (k, n)."""
    return PairMoments(*map(instances_last, _moments(predictions, per_class)))


def _moments(predictions: ClassPredictions, per_class: bool) -> tuple[Array, ...]:
    if isinstance(predictions, Dirichlet):
        alpha = as_float64(predictions.alpha)
        moments = _class_moments(alpha) if per_class else _dirichlet_moments(alpha)
        if alpha.ndim == 2:
            return moments
        return tuple(weighted_mean(part, None) for part in moments)
    weights = None
    if isinstance(predictions, Ensemble):
        probs, weights = as_float64(predictions.probs), predictions.weights
    else:
        probs = as_float64(as_point(predictions)[0].probs)
    s2, s3 = _power_sums(probs, per_class)
    if probs.ndim == 2:
        return s2, s3, s2 * s2
    return tuple(weighted_mean(part, weights) for part in (s2, s3, s2 * s2))


def _power_sums(probs: Array, per_class: bool) -> tuple[Array, Array]:
    """Return sum p^2 and sum p^3 over the classes (..., 1), or over a class and the rest (..., k)."""
    xp = namespace(probs)
    square = probs * probs
    if not per_class:
        return xp.sum(square, axis=-1, keepdims=True), xp.sum(square * probs, axis=-1, keepdims=True)
    rest = 1.0 - probs
    return square + rest * rest, square * probs + rest * rest * rest


def _dirichlet_moments(alpha: Array) -> tuple[Array, Array, Array]:
    """E sum p^2, E sum p^3 and E (sum p^2)^2 = E (sum p^4 + sum over a != b of p_a^2 p_b^2), (..., 1)."""
    xp = namespace(alpha)
    total = xp.sum(alpha, axis=-1, keepdims=True)

    def summed(power: int) -> Array:
        return xp.sum(_rising(alpha, total, power), axis=-1, keepdims=True)

    pairs = alpha / total * (alpha + 1.0) / (total + 1.0)  # E p_a^2
    both = xp.sum(pairs, axis=-1, keepdims=True) ** 2 - xp.sum(pairs**2, axis=-1, keepdims=True)
    # E p_a^2 p_b^2 divides by (A)_4 where the product of the two means divides by (A)_2^2
    both = both * (total / (total + 2.0)) * ((total + 1.0) / (total + 3.0))
    return summed(2), summed(3), summed(4) + both


def _class_moments(alpha: Array) -> tuple[Array, Array, Array]:
    """The same for every class against the rest: two parameters, a and A - a, (..., k)."""
    xp = namespace(alpha)
    total = xp.sum(alpha, axis=-1, keepdims=True)
    rest = total - alpha
    a2, b2 = _rising(alpha, total, 2), _rising(rest, total, 2)
    cross = 2.0 * a2 * b2 * (total / (total + 2.0)) * ((total + 1.0) / (total + 3.0))
    third = _rising(alpha, total, 3) + _rising(rest, total, 3)
    return a2 + b2, third, _rising(alpha, total, 4) + _rising(rest, total, 4) + cross


def _rising(alpha: Array, total: Array, power: int) -> Array:
    """E p^power of a Dirichlet: a (a + 1) ... / (A (A + 1) ...), factor by factor against overflow."""
    value = alpha / total
    for step in range(1, power):
        value = value * ((alpha + step) / (total + step))
    return value
