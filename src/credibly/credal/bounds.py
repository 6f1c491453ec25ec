"""Lower and upper probabilities: the least and the greatest P(A) over a set of distributions.

hull        min_m P_m(A)                         max_m P_m(A)
intervals   max(l(A), 1 - u(not A))              1 - lower(not A)
belief      sum of masses of sets inside A       sum of masses of sets that meet A

And the support function h(v) = max over the set of <v, p>, the greatest mean of a function v of the classes:

hull        max_m <v, P_m>
intervals   lower bounds first, what is left in the order of v, largest first
belief      sum_A m(A) max_{c in A} v_c: every mass goes to the best class of its set
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, is_whole, require
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    is_array,
    like,
    namespace,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.philox import takes_rng
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set, members_of
from credibly.predictions import Belief, Ensemble, Intervals, Point
from credibly.predictions.intervals import tightened

_SPARSE = 10  # a product spends this many classes in the time of one addition
_TILE = 2**16  # doubles of (rows, events) that stay in cache while members pass by


@takes_rng
def lower_probability(
    predictions: Any, events: Any = None, *, n_samples: int = DIRICHLET_SAMPLES, rng: Any = None
) -> Array:
    """Return the smallest probability that a set of distributions gives to classes or events.

    Parameters
    ----------
    predictions : Predictions or array
        ... A Dirichlet is the hull of draws.
    events : set of int, sequence of sets, or bool array (k,) or (e, k), optional
        One event, or several. Default: every single class.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n, k), (n, e) or (n,)
        One column per class, per event, or none for a single event.

    Notes
    -----
    Closed form for every representation: no vertices, no linear program.

    References
    ----------
    Walley, *Statistical reasoning with imprecise probabilities*, 1991.

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]]])
    >>> cr.credal.lower_probability(ensemble)
    array([[0.5, 0.1, 0.1]])
    >>> cr.credal.lower_probability(ensemble, {0, 1}).round(6)
    array([0.6])
    """
    return _probability(as_set(predictions, n_samples=n_samples, rng=rng), events, upper=False)


@takes_rng
def upper_probability(
    predictions: Any, events: Any = None, *, n_samples: int = DIRICHLET_SAMPLES, rng: Any = None
) -> Array:
    """Return the largest probability that a set of distributions gives to classes or events.

    Parameters
    ----------
    predictions : Predictions or array
        ... A Dirichlet is the hull of draws.
    events : set of int, sequence of sets, or bool array (k,) or (e, k), optional
        One event, or several. Default: every single class.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n, k), (n, e) or (n,)
        One column per class, per event, or none for a single event.

    References
    ----------
    Walley, *Statistical reasoning with imprecise probabilities*, 1991.

    Examples
    --------
    >>> import credibly as cr
    >>> belief = cr.Belief([[0.6, 0.4]], [{0}, {0, 1}])
    >>> cr.credal.upper_probability(belief)
    array([[1. , 0.4]])
    """
    return _probability(as_set(predictions, n_samples=n_samples, rng=rng), events, upper=True)


def _probability(credal: CredalSet, events: Any, *, upper: bool) -> Array:
    if events is None:
        return singleton_bounds(credal)[1 if upper else 0]
    table, single = event_table(events, credal.n_classes)
    bounds = event_bounds(credal, like(table, credal._leading), upper=upper)
    return bounds[:, 0] if single else bounds


def singleton_bounds(credal: CredalSet) -> tuple[Array, Array]:
    """Return lower and upper probability of every class, (n, k) each."""
    xp = credal.xp
    if isinstance(credal, Point):
        return (as_float64(credal.probs),) * 2
    if isinstance(credal, Ensemble):
        return as_float64(xp.min(credal.probs, axis=1)), as_float64(xp.max(credal.probs, axis=1))
    if isinstance(credal, Intervals):
        return tight_bounds(credal)
    masses, table = as_float64(credal.masses), credal.membership
    alone = table * (table.sum(axis=1, keepdims=True) == 1)
    return masses @ like(alone, masses), masses @ like(table, masses)


def tight_bounds(credal: Intervals) -> tuple[Array, Array]:
    """Return the bounds some distribution attains, never outside the given ones."""
    xp = credal.xp
    return tightened(*(xp.clip(as_float64(bound), 0.0, 1.0) for bound in (credal.lower, credal.upper)))


def event_table(events: Any, n_classes: int) -> tuple[np.ndarray[Any, Any], bool]:
    """Return events as a table (e, k) of 0 and 1 on the host, and whether it was a single event.

    A collection of class indices or a boolean vector is one event, a collection of collections or a boolean
    matrix is several.
    """
    if is_array(events):
        table = to_host(events)
        if table.dtype != bool or table.ndim not in (1, 2) or table.shape[-1] != n_classes:
            raise InputError(
                "`events`",
                f"must be boolean of shape ({n_classes},) or (e, {n_classes}) as an array",
                f"got {events.dtype} of shape {tuple(events.shape)}",
                "Give one column per class, or pass sets of class indices such as `[{0}, {0, 2}]`.",
            )
        return np.atleast_2d(table).astype(np.float64), table.ndim == 1
    listed = _as_collection(events)
    single = not any(isinstance(entry, Collection) for entry in listed)
    table = np.zeros((1 if single else len(listed), n_classes))
    for row, members in zip(table, [listed] if single else listed, strict=True):
        row[_checked_event(_as_collection(members), n_classes)] = 1.0
    return table, single


def _checked_event(members: list[Any], n_classes: int) -> list[int]:
    """Return the classes of an event; numbers that mark classes instead of naming them are refused."""
    require(
        all(map(is_whole, members)) and len(set(members)) == len(members),
        "must hold whole class indices, each at most once",
        "Pass sets of class indices, or a boolean array that marks classes.",
        events=members,
    )
    outside = [j for j in members if not 0 <= j < n_classes]
    if outside:
        rule, evidence = f"must hold class indices from 0 to {n_classes - 1}", f"got {outside[0]}"
        raise InputError("`events`", rule, evidence, "Count classes from 0, or pass a boolean array.")
    return members


def _as_collection(value: Any) -> list[Any]:
    require(
        isinstance(value, Collection) and not isinstance(value, str),
        "must be a set of class indices, a sequence of such sets, or a boolean array",
        "Write `{0, 2}` for one event or `[{0}, {0, 2}]` for two.",
        events=value,
    )
    return list(value)


def event_bounds(credal: CredalSet, events: Array, *, upper: bool) -> Array:
    """Return lower or upper probabilities (n, e) of events (e, k) in the library of the set."""
    xp = credal.xp
    if isinstance(credal, Belief):
        return mass_bounds(credal.masses, credal.membership, events, upper=upper)
    if isinstance(credal, Intervals):
        lower, high = as_float64(credal.lower), as_float64(credal.upper)
        inside, outside = events.T, (1.0 - events).T
        if upper:
            return xp.clip(xp.minimum(high @ inside, 1.0 - lower @ outside), 0.0, 1.0)
        return xp.clip(xp.maximum(lower @ inside, 1.0 - high @ outside), 0.0, 1.0)
    return _hull_bounds(members_of(credal), events, upper=upper)


def mass_bounds(masses: Array, membership: HostArray, events: Array, *, upper: bool) -> Array:
    """Return the masses (n, f) of sets inside events (e, k), or of sets that meet them, (n, e)."""
    xp, sets = namespace(masses), like(membership, events)
    overlap = sets @ events.T  # (f, e): classes that the focal set and the event share
    counted = overlap > 0 if upper else overlap == xp.sum(sets, axis=1)[:, None]
    return as_float64(masses) @ xp.astype(counted, xp.float64)


def _hull_bounds(probs: Array, events: Array, *, upper: bool) -> Array:
    """Min or max over members of P_m(A); rows in tiles, one member at a time."""
    xp = namespace(probs)
    members = [np.flatnonzero(row).tolist() for row in to_host(events)]
    sparse = sum(map(len, members)) * _SPARSE <= events.shape[0] * events.shape[1]
    if sparse and members and all(members):
        return _few_class_bounds(probs, members, upper=upper)
    columns = events.T
    pick = xp.maximum if upper else xp.minimum
    bounds = []
    for rows in tiles(probs.shape[0], _TILE // max(1, events.shape[0])):
        tile = as_float64(probs[rows, ...])
        bound = tile[:, 0, :] @ columns
        for m in range(1, tile.shape[1]):
            bound = pick(bound, tile[:, m, :] @ columns)
        bounds.append(bound)
    return bounds[0] if len(bounds) == 1 else xp.concat(bounds, axis=0)


def _few_class_bounds(probs: Array, events: list[list[int]], *, upper: bool) -> Array:
    """Return the same for events of few among many classes: adding their columns beats a product."""
    xp = namespace(probs)
    n, m, k = probs.shape
    parts = []
    for rows in tiles(n, _TILE // (8 * m)):
        turned = xp.permute_dims(as_float64(probs[rows, ...]), (2, 1, 0))
        # through a vector: a copy that is contiguous in the new order
        classes = xp.reshape(xp.reshape(turned, (-1,)), (k, m, -1))
        bounds = []
        for first, *rest in events:
            total = classes[first, ...]
            for j in rest:
                total = total + classes[j, ...]
            bounds.append(xp.max(total, axis=0) if upper else xp.min(total, axis=0))
        parts.append(xp.stack(bounds, axis=-1))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)


def support_of(credal: CredalSet, directions: Array) -> tuple[Array, Array]:
    """Return h(v) and where it is attained, (b, n) and (b, n, k), of directions (b, n, k) in float64."""
    xp = credal.xp
    if isinstance(credal, Point | Ensemble):
        point = _best_members(members_of(credal), directions)
    else:
        order = xp.argsort(-directions, axis=-1)
        orders = [order[j, ...] for j in range(order.shape[0])]
        if isinstance(credal, Intervals):
            bounds = tight_bounds(credal)
            shares = [filled_in_order(*bounds, places) for places in orders]
        else:
            shares = [_masses_in_order(credal, places) for places in orders]
        point = xp.take_along_axis(xp.stack(shares, axis=0), xp.argsort(order, axis=-1), axis=-1)
    return xp.sum(point * directions, axis=-1), point


def _best_members(probs: Array, directions: Array) -> Array:
    """Return the member with the largest <v, P_m>, (b, n, k)."""
    xp = namespace(probs)
    b, n, k = directions.shape
    m = probs.shape[1]
    parts = []
    for rows in tiles(n, rows_within_budget(8 * (m * k + m * b), 0.25)):
        tile = as_float64(probs[rows, ...])
        means = tile @ xp.permute_dims(directions[:, rows, :], (1, 2, 0))  # (rows, m, b)
        best = xp.permute_dims(xp.argmax(means, axis=1), (1, 0))[:, :, None, None]
        index = xp.broadcast_to(best, (b, tile.shape[0], 1, k))
        members = xp.broadcast_to(tile[None, ...], (b, *tile.shape))
        parts.append(xp.take_along_axis(members, index, axis=2)[:, :, 0, :])
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)


def filled_in_order(lower: Array, upper: Array, order: Array) -> Array:
    """Give every class its lower bound and what is left to the first classes of the order; sorted, (n, k)."""
    xp = namespace(lower)
    lower, upper = (xp.take_along_axis(bound, order, axis=-1) for bound in (lower, upper))
    room = upper - lower
    taken = xp.cumulative_sum(room, axis=-1) - room
    left = 1.0 - xp.sum(lower, axis=-1, keepdims=True) - taken
    return lower + xp.minimum(room, xp.where(left > 0, left, xp.zeros_like(left)))


def _masses_in_order(credal: Belief, order: Array) -> Array:
    """Let the first class of the order take all masses it can, then the second, ...; sorted, (n, k)."""
    xp = credal.xp
    left = as_float64(credal.masses)
    holds = like(np.ascontiguousarray(credal.membership.T), left, dtype=xp.float64)  # (k, f)
    shares = []
    for place in range(credal.n_classes):
        taken = left * xp.take(holds, order[:, place], axis=0)
        shares.append(xp.sum(taken, axis=-1))
        left = left - taken
    return xp.stack(shares, axis=-1)
