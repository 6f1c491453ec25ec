"""Distance from labels or label distributions to a set of distributions.

A one-hot label y needs no search: the divergence KL falls with p_y alone, so the nearest distribution has the
upper probability q of y, and the distance is -ln q. Soft targets do: the nearest distribution is inside the
set, and found by convex minimisation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import as_array
from credibly._arrays.errors import InputTypeError
from credibly._arrays.namespace import Array, as_float64, clip, is_numpy, like, namespace, xlogy
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import singleton_bounds
from credibly.credal.filling import nearest_distribution
from credibly.credal.membership import distributions_like
from credibly.credal.newton import nearest_weights, terms, value
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set, require_tolerance
from credibly.predictions import Belief, Classes, Ensemble, LabelCounts, Point, as_labels, as_pair
from credibly.predictions.label_checks import number_of_axes

DISTANCE_TOLERANCE = 1e-9


@takes_rng
def distance(
    predictions: Any,
    labels: Any = None,
    *,
    tolerance: float = DISTANCE_TOLERANCE,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Return how far each label is from the nearest distribution p of the set: KL(label || p).

    Parameters
    ----------
    predictions : Predictions or array
        ...
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets: counts, or rows of probabilities.
    tolerance : float
        Certified error of the divergence, for soft targets in hulls and in beliefs with more than 12
        classes. In all other cases it is exact.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n,)
        One Kullback-Leibler divergence per instance, in natural logarithms; infinite if no distribution in
        the set gives every class of the target a positive probability.

    Notes
    -----
    For labels, one pass over the predictions. For soft targets, Newton's method on all hulls at once,
    certified by the duality gap; water-filling for intervals and beliefs.

    References
    ----------
    Manchingal et al., *A unified evaluation framework for epistemic predictions*, 2025. Fujishige,
    *Lexicographically optimal base of a polymatroid with respect to a weight vector*, 1980 (nearest in
    beliefs).

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])
    >>> cr.credal.distance(ensemble, [0]).round(4)  # -ln 0.75
    array([0.2877])
    >>> cr.credal.distance(ensemble, cr.LabelCounts([[6, 4]])).round(6)  # (0.6, 0.4) is in the hull
    array([0.])
    """
    require_tolerance(tolerance)
    predictions, labels = as_pair(predictions, labels)
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    target = soft_target(credal, labels)
    if target is None:
        checked = as_labels(credal, labels)
        assert isinstance(checked, Classes)
        return _to_label(credal, checked.values[0, :])
    return _to_nearest(credal, target, tolerance)


def soft_target(credal: CredalSet, labels: Any) -> Array | None:
    """Return label distributions (n, k), or None where the labels are classes."""
    if not isinstance(labels, LabelCounts | Point):
        if number_of_axes(labels) != 2:
            return None
        array = as_array(labels, "labels")
        if not namespace(array).isdtype(array.dtype, "real floating"):
            raise InputTypeError(
                "`labels`",
                "must be class indices (n,), probabilities (n, k) or label counts",
                f"got integers of shape {tuple(array.shape)}",
                "Use `LabelCounts(labels)` for counts.",
            )
    return distributions_like(credal, labels, "labels")


def _to_label(credal: CredalSet, labels: Array) -> Array:
    xp = credal.xp
    q = xp.clip(_upper_of_labels(credal, xp.astype(labels, xp.int64)), 0.0, 1.0)
    # log 0 = -inf is meant: -inf as a value, not as a warning.
    logs = xp.log(xp.where(q > 0, q, xp.ones_like(q)))
    return xp.where(q > 0, 0.0 - logs, xp.full_like(q, xp.inf))  # 0 - 0 is 0, and -0 is not


def _upper_of_labels(credal: CredalSet, labels: Array) -> Array:
    """Return the upper probability of each label, (n,), reading only what it depends on."""
    xp = credal.xp
    if isinstance(credal, Ensemble):
        return _over_members(credal.probs, labels)
    if isinstance(credal, Belief):
        by_class = like(np.ascontiguousarray(credal.membership.T), credal.masses)
        return xp.sum(as_float64(credal.masses) * xp.take(by_class, labels, axis=0), axis=-1)
    return xp.take_along_axis(singleton_bounds(credal)[1], labels[:, None], axis=-1)[:, 0]


def _over_members(probs: Array, labels: Array) -> Array:
    """Return the largest entry of the label over the members, (n,), touching no other class."""
    xp = namespace(probs)
    if is_numpy(probs):
        return _over_members_numpy(probs, labels)
    members_first = xp.moveaxis(probs, 1, 0)
    index = xp.broadcast_to(labels[None, :, None], (*members_first.shape[:2], 1))
    return as_float64(xp.max(xp.take_along_axis(members_first, index, axis=2)[:, :, 0], axis=0))


def _over_members_numpy(probs: Array, labels: Array) -> Array:
    n, m, k = probs.shape
    if not probs[:, 0].flags.c_contiguous:
        return as_float64(probs[np.arange(n), :, labels].max(axis=1))
    indices = np.arange(0, n * k, k) + labels
    largest = np.take(probs[:, 0].reshape(-1), indices)
    for member in range(1, m):
        np.maximum(largest, np.take(probs[:, member].reshape(-1), indices), out=largest)
    return as_float64(largest)


def _to_nearest(credal: CredalSet, target: Array, tolerance: float) -> Array:
    if isinstance(credal, Ensemble):
        # in units of each class's largest probability: a share of 5e-324 would be 0, and KL infinite
        members, xp = as_float64(credal.probs), credal.xp
        largest = xp.max(members, axis=1)
        unit = xp.where(largest > 0, largest, xp.ones_like(largest))
        weights = nearest_weights("kl", members, target, tolerance)
        mixed = (weights[:, None, :] @ (members / unit[:, None, :]))[:, 0, :]
        total = xp.sum(terms(mixed, target) - xlogy(target, unit), axis=-1)
        return clip(total, 0.0)
    return value(nearest_distribution(credal, target, "kl", tolerance), target)
