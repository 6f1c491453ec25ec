"""Whether a distribution lies in a set, and where a ray from its middle leaves it.

Both ask how far a ray from inside the set goes before it leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import as_real, require_distributions
from credibly._arrays.errors import require
from credibly._arrays.namespace import Array, HostArray, as_float64, beside, clip, like, namespace, to_host
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import singleton_bounds
from credibly.credal.envelope import MAX_CLASSES, all_events, envelope_of, event_tiles
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set, members_of, require_tolerance
from credibly.credal.simplex_method import least_total
from credibly.predictions import Belief, Classes, Ensemble, Intervals, LabelCounts, Point, as_labels
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


_FLAT = 1e-9  # a direction this far out of the hull's plane (relative to its length) leaves at once

_POINT = 1e-12  # members this close to each other are one point: rounding of probabilities near 1


def on_simplex(array: Array) -> Array:
    """Divide by the sum along the last axis: rounding must not lift a distribution off the plane of all."""
    array = as_float64(array)
    return array / namespace(array).sum(array, axis=-1, keepdims=True)


def ray_lengths(credal: CredalSet, start: Array, direction: Array) -> Array:
    """Return the largest a >= 0 with start + a direction in the set, (n,); start has to be in it.

    inf where the direction is 0. Start and goal have to sum to 1 (:func:`on_simplex`).
    """
    if isinstance(credal, Point | Ensemble):
        members = to_host(on_simplex(members_of(credal)))  # the linear programs live on the host
        lengths = hull_ray_lengths(members, to_host(start), to_host(direction))
        return like(lengths, start)
    if isinstance(credal, Belief):
        return _belief_ray_lengths(credal, start, direction)
    lower, upper = singleton_bounds(credal)
    xp = credal.xp
    return _shortest_way(xp.where(direction > 0, upper - start, start - lower), xp.abs(direction), 0.0)


def _shortest_way(room: Array, speed: Array, least: float) -> Array:
    """Min over what moves faster than `least` of room / speed, inf where nothing does; (n, ...) -> (n,)."""
    xp = namespace(room)
    moving = speed > least
    room = clip(room, 0.0)
    ways = xp.where(moving, room / xp.where(moving, speed, xp.ones_like(speed)), xp.inf)
    return xp.min(ways, axis=-1)


def _belief_ray_lengths(credal: Belief, start: Array, direction: Array) -> Array:
    """Min over events that lose probability of (start(A) - Bel(A)) / loss."""
    xp, k = credal.xp, credal.n_classes
    if k > MAX_CLASSES:
        # Corners of the set would do, but there are too many: each focal set's shares are the unknowns.
        lengths = [
            _allocation_ray(masses, credal.membership, begin, step)
            for masses, begin, step in zip(
                to_host(as_float64(credal.masses)), to_host(start), to_host(direction), strict=True
            )  # the linear programs live on the host
        ]
        return like(np.array(lengths), start)
    events = like(np.ascontiguousarray(all_events(k).T), start, dtype=xp.float64)
    shortest = []
    for rows in event_tiles(len(credal), k):
        loss = -(direction[rows, :] @ events)
        shortest.append(_shortest_way(start[rows, :] @ events - envelope_of(credal[rows]), loss, 1e-15))
    return xp.concat(shortest, axis=0)


def _allocation_ray(
    masses: HostArray, membership: HostArray, start: HostArray, direction: HostArray
) -> float:
    """Maximise a subject to start + a direction = sum over sets of shares, by one sparse linear program."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    if not np.abs(direction).max() > 0:
        return np.inf
    owner, classes = np.nonzero(membership)
    k, f, count = membership.shape[1], membership.shape[0], owner.size
    ones = np.ones(count)
    to_class = csr_array((ones, (classes, np.arange(count))), shape=(k, count))
    to_set = csr_array((ones, (owner, np.arange(count))), shape=(f, count))
    table = vstack([hstack([to_class, csr_array(-direction[:, None])]), hstack([to_set, csr_array((f, 1))])])
    cost = np.zeros(count + 1)
    cost[-1] = -1.0
    solved = linprog(cost, A_eq=table, b_eq=np.concatenate([start, masses]), method="highs")
    return float(max(solved.x[-1], 0.0)) if solved.status == 0 else 0.0


def hull_ray_lengths(members: HostArray, start: HostArray, direction: HostArray) -> HostArray:
    """1 / min sum(u) subject to sum_m u_m (P_m - start) = direction, u >= 0, (n,).

    Hulls of fewer members than classes are looked at in their own plane; what leaves it has length 0. Classes
    of very different size (0.5 and 1e-9 in one hull) are scaled to one size first: pivots of the smaller ones
    would be taken for rounding, or rounding for pivots.
    """
    shifted = members - start[:, None, :]
    length = np.sqrt((direction**2).sum(axis=-1))
    extent = np.abs(shifted).max(axis=(1, 2))
    lengths = np.where(length == 0, np.inf, 0.0)
    usable = np.flatnonzero((length > 0) & (extent > _POINT))
    if usable.size:
        rows = np.swapaxes(shifted[usable], 1, 2) / extent[usable, None, None]
        aim = direction[usable] / length[usable, None]
        rows, aim, leaves = _equations(rows, aim)
        totals = least_total(rows, aim)
        ways = np.full(usable.size, np.inf)  # a direction that is rounding asks for nothing: nothing ends it
        with np.errstate(over="ignore"):
            np.divide(extent[usable] / length[usable], totals, out=ways, where=totals > 0)
        lengths[usable] = np.where(leaves, 0.0, ways)
    return lengths


def _equations(rows: HostArray, aim: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return well scaled equations without repetition, and which rays leave the hull's plane at once.

    `rows` (n, k, m) are classes by members, `aim` (n, k); both sum to 0 over the classes.
    """
    _, k, m = rows.shape
    width = np.abs(rows).max(axis=2)
    # The widest class follows from the others, and eliminating it with them would leave nothing but rounding.
    np.put_along_axis(width, width.argmax(axis=1)[:, None], np.inf, axis=1)
    leaves = ((width <= _FLAT) & (np.abs(aim) > _FLAT)).any(axis=1)
    width = np.where(width <= _FLAT, np.inf, width)
    rows, aim = rows / width[:, :, None], aim / width
    if m <= k:
        size = np.where(np.isinf(width), 0.0, width)  # from scaled classes back to probabilities
        plane, _ = np.linalg.qr(rows)  # (n, k, m)
        inner = (aim[:, None, :] @ plane)[:, 0, :]
        off = aim - (plane @ inner[:, :, None])[:, :, 0]
        leaves |= (np.abs(off) * size > _FLAT).any(axis=1)
        rows, aim = np.swapaxes(plane, 1, 2) @ rows, inner
        width = np.abs(rows).max(axis=2)
        thin = width <= _FLAT
        reach = np.abs(plane * size[:, :, None]).max(axis=1) * np.abs(aim)
        leaves |= (thin & (reach > _FLAT)).any(axis=1)
        width = np.where(thin, np.inf, width)
        rows, aim = rows / width[:, :, None], aim / width
    return np.ascontiguousarray(rows), aim, leaves
