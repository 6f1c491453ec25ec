"""Whether a distribution lies in a set, and where a ray from its middle leaves it."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import as_real, require_distributions
from credibly._arrays.errors import require
from credibly._arrays.namespace import Array, HostArray, as_float64, beside, like, namespace, to_host
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import singleton_bounds
from credibly.credal.rays import hull_ray_lengths, on_simplex, ray_lengths
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set, require_tolerance
from credibly.predictions import Classes, Ensemble, Intervals, LabelCounts, Point, as_labels
from credibly.predictions.label_checks import number_of_axes

MEMBERSHIP_TOLERANCE = 1e-7


@takes_rng
def contains(
    predictions: Any,
    probs: Any,
    *,
    tolerance: float = MEMBERSHIP_TOLERANCE,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Tell whether distributions lie in the sets.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    probs : Point, LabelCounts or array (n, k)
        One distribution per instance.
    tolerance : float
        How far outside a distribution may be and still count as inside; this allows for rounding, not for
        sampling error.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n,) of bool
        True if the distribution is in the set.

    Notes
    -----
    Hulls: the ray from the mean through the distribution must not leave the hull before it; one small linear
    program per instance, all pivoted together on the host. Distributions outside the class-wise bounds need
    none, and what the ray denies is settled by non-negative least squares.

    References
    ----------
    Augustin et al. (editors), *Introduction to imprecise probabilities*, 2014.

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]], [[0.75, 0.25], [0.5, 0.5]]], member_axis=1)
    >>> cr.credal.contains(ensemble, [[0.6, 0.4], [0.8, 0.2]])
    array([ True, False])
    """
    require_tolerance(tolerance)
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    points = distributions_like(credal, probs, "probs")
    xp = credal.xp
    lower, upper = singleton_bounds(credal)
    near = xp.all((points >= lower - tolerance) & (points <= upper + tolerance), axis=-1)
    if isinstance(credal, Point | Intervals):
        return near
    if isinstance(credal, Ensemble):
        host = to_host(near)  # the linear programs live on the host
        rows = np.flatnonzero(host)
        members = to_host(on_simplex(credal.probs))[rows]
        inside = host.copy()
        inside[rows] = _hull_contains(members, to_host(on_simplex(points))[rows], tolerance)
        return like(inside, credal.probs)
    start, points = on_simplex(credal.mean().probs), on_simplex(points)
    return near & _not_beyond(ray_lengths(credal, start, points - start), points - start, tolerance)


@takes_rng
def boundary(
    predictions: Any,
    towards: Any,
    *,
    return_fraction: bool = False,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Any:
    """Return where the ray from the mean prediction of each set towards a distribution leaves the set.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    towards : Point, LabelCounts, array (n, k) or array (n,) of int
        Where the ray goes: a distribution per instance, or a class, meaning its corner of the simplex.
    return_fraction : bool
        Whether to return the distance travelled as well.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n, k)
        The last point of the ray in the set.
    array (n,), optional
        Its distance from the mean as a fraction of the distance to `towards`: at least 1 if `towards` is in
        the set, and infinite if `towards` is the mean itself, which is then returned.

    Notes
    -----
    Exact, not a line search: one linear program per instance for hulls (all pivoted together, on the host),
    closed forms for intervals and, up to 16 classes, beliefs. A hull of few members is flat, so a ray that
    leaves its plane ends where it starts.

    References
    ----------
    Jürgens et al., *A calibration test for evaluating set-based epistemic uncertainty representations*,
    2025.

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.25, 0.75]]])
    >>> cr.credal.boundary(ensemble, [0])
    array([[0.75, 0.25]])
    """
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    goal = on_simplex(_corner_or_distribution(credal, towards))
    begin = on_simplex(credal.mean().probs)
    xp = credal.xp
    fraction = ray_lengths(credal, begin, goal - begin)
    finite = xp.isfinite(fraction)
    points = begin + xp.where(finite, fraction, xp.zeros_like(fraction))[:, None] * (goal - begin)
    points = xp.clip(points, 0.0, 1.0)
    return (points, fraction) if return_fraction else points


def distributions_like(credal: CredalSet, probs: Any, name: str) -> Array:
    """Return one checked distribution per instance, (n, k), in double precision."""
    if isinstance(probs, Point):
        array = probs.probs
    elif isinstance(probs, LabelCounts):
        array = probs.frequencies()
    else:
        array = beside(as_real(probs, name), probs, credal._leading, what=f"predictions and `{name}`")
    expected = (len(credal), credal.n_classes)
    require(
        tuple(array.shape) == expected,
        f"must have shape {expected} like the predictions",
        "Give one distribution per instance.",
        **{name: array},
    )
    namespace(credal._leading, array, what=f"predictions and `{name}`")
    if not isinstance(probs, Point | LabelCounts):
        remedy = "Use `Point.from_scores` to normalise on purpose."
        array, _ = require_distributions(array, name, lambda _: remedy)
    return as_float64(array)


def _corner_or_distribution(credal: CredalSet, towards: Any) -> Array:
    """Read class labels as corners of the simplex."""
    if not isinstance(towards, Point | LabelCounts) and number_of_axes(towards) == 1:
        labels = as_labels(credal, towards)
        assert isinstance(labels, Classes)
        return labels.shares()[0, ...]
    return distributions_like(credal, towards, "towards")


def _not_beyond(lengths: Array, direction: Array, tolerance: float) -> Array:
    """The ray may end before the goal by no more than the tolerance, measured on the most changed class."""
    xp = namespace(lengths)
    short = xp.where(lengths < 1.0, 1.0 - lengths, xp.zeros_like(lengths))
    return short * xp.max(xp.abs(direction), axis=-1) <= tolerance


def _hull_contains(members: HostArray, points: HostArray, tolerance: float) -> HostArray:
    start = members.mean(axis=1)
    direction = points - start
    lengths = hull_ray_lengths(members, start, direction)
    inside = np.asarray(_not_beyond(lengths, direction, tolerance))
    # rounding turns rays out of hulls that are thin or have nearly equal corners: look twice at denials
    for row in np.flatnonzero(~inside):
        inside[row] = _residual(members[row], points[row]) <= tolerance
    return inside


def _residual(members: HostArray, points: HostArray) -> float:
    """Return the Euclidean distance between a distribution and the mixtures of members."""
    from scipy.optimize import nnls

    table = np.concatenate([members.T, np.ones((1, members.shape[0]))])
    try:
        return float(nnls(table, np.append(points, 1.0), maxiter=50 * members.shape[0])[1])
    except RuntimeError:  # it did not end: the ray's answer stands
        return np.inf
