"""Lower and upper probabilities: the least and the greatest P(A) over a set of distributions.

hull        min_m P_m(A)                         max_m P_m(A)
intervals   max(l(A), 1 - u(not A))              1 - lower(not A)
belief      sum of masses of sets inside A       sum of masses of sets that meet A
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, HostArray, as_float64, is_array, like, namespace, to_host
from credibly._arrays.tiles import tiles
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_credal
from credibly.predictions import Belief, Ensemble, Intervals, Point

_ROUNDING = 1e-15
_SPARSE = 10  # a product spends this many classes in the time of one addition
_TILE = 2**16  # doubles of (rows, events) that stay in cache while members pass by


def lower_probability(
    predictions: Any, events: Any = None, *, n_samples: int = DIRICHLET_SAMPLES, rng: Any = None
) -> Array:
    """Return the least probability a set of distributions gives to classes or events.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions, read as sets by :func:`credal_set`; a Dirichlet is the hull of draws.
    events : set of int, sequence of sets, or bool array (k,) or (e, k), optional
        One event, or several; every single class where not given. Rows of 0 and 1 mark classes where they
        cannot be class indices.
    n_samples : int
        Draws per instance where the predictions are a Dirichlet.
    rng : None, int or Generator
        Seed of these draws.

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
    >>> cr.lower_probability(ensemble)
    array([[0.5, 0.1, 0.1]])
    >>> cr.lower_probability(ensemble, {0, 1}).round(6)
    array([0.6])
    """
    credal = as_credal(predictions, n_samples, rng)
    if events is None:
        return singleton_bounds(credal)[0]
    table, single = event_table(events, credal.n_classes)
    bounds = event_bounds(credal, like(table, credal._leading), upper=False)
    return bounds[:, 0] if single else bounds


def upper_probability(
    predictions: Any, events: Any = None, *, n_samples: int = DIRICHLET_SAMPLES, rng: Any = None
) -> Array:
    """Return the greatest probability a set of distributions gives to classes or events.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions, read as sets by :func:`credal_set`; a Dirichlet is the hull of draws.
    events : set of int, sequence of sets, or bool array (k,) or (e, k), optional
        One event, or several; every single class where not given. Rows of 0 and 1 mark classes where they
        cannot be class indices.
    n_samples : int
        Draws per instance where the predictions are a Dirichlet.
    rng : None, int or Generator
        Seed of these draws.

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
    >>> cr.upper_probability(belief)
    array([[1. , 0.4]])
    """
    credal = as_credal(predictions, n_samples, rng)
    if events is None:
        return singleton_bounds(credal)[1]
    table, single = event_table(events, credal.n_classes)
    bounds = event_bounds(credal, like(table, credal._leading), upper=True)
    return bounds[:, 0] if single else bounds


def singleton_bounds(credal: CredalSet) -> tuple[Array, Array]:
    """Return lower and upper probability of every class, (n, k) each."""
    xp = credal.xp
    if isinstance(credal, Point):
        probs = as_float64(credal.probs)
        return probs, probs
    if isinstance(credal, Ensemble):
        return as_float64(xp.min(credal.probs, axis=1)), as_float64(xp.max(credal.probs, axis=1))
    if isinstance(credal, Intervals):
        return tight_bounds(credal)
    masses, table = as_float64(credal.masses), credal.membership
    alone = table * (table.sum(axis=1, keepdims=True) == 1)
    return masses @ like(alone, masses), masses @ like(table, masses)


def tight_bounds(credal: Intervals) -> tuple[Array, Array]:
    """Return the bounds some distribution attains, never outside the given ones.

    Where the lower bounds sum to 1 up to rounding, 1 minus the others would turn a tiny probability into 0
    and a finite divergence into an infinite one.
    """
    xp = credal.xp
    lower, upper = xp.clip(as_float64(credal.lower), 0.0, 1.0), xp.clip(as_float64(credal.upper), 0.0, 1.0)
    rest_lower = xp.sum(lower, axis=-1, keepdims=True) - lower
    rest_upper = xp.sum(upper, axis=-1, keepdims=True) - upper
    # A bound of 0 that tightening lifts by rounding alone stays 0.
    lifted = 1.0 - rest_upper
    lifted = xp.where(lifted > lower + _ROUNDING * lower.shape[-1], lifted, lower)
    return xp.minimum(lifted, upper), xp.maximum(xp.minimum(upper, 1.0 - rest_lower), lower)


def event_table(events: Any, n_classes: int) -> tuple[np.ndarray[Any, Any], bool]:
    """Return events as a table (e, k) of 0 and 1 on the host, and whether it was a single event.

    A flat collection of class indices or a boolean vector is one event, a collection of collections or a
    boolean matrix is several. Rows of 0 and 1, one per class, mark classes where they cannot be indices.
    """
    marks = _marked_classes(events, n_classes)
    if marks is not None:
        return np.atleast_2d(marks), marks.ndim == 1
    if is_array(events) and "bool" in str(events.dtype):
        table = to_host(events).astype(np.float64)
        if table.ndim not in (1, 2) or table.shape[-1] != n_classes:
            raise InputError(
                "`events`",
                f"must have shape ({n_classes},) or (e, {n_classes}) as a boolean array",
                f"got shape {tuple(events.shape)}",
                "Give one column per class.",
            )
        return np.atleast_2d(table), table.ndim == 1
    listed = list(to_host(events) if is_array(events) else _as_collection(events))
    single = all(isinstance(entry, int | np.integer) for entry in listed)
    collections: Iterable[Any] = [listed] if single else listed
    table = np.zeros((1 if single else len(listed), n_classes))
    for row, members in zip(table, collections, strict=True):
        given = [float(member) for member in _as_collection(members)]
        if any(index != int(index) for index in given):
            raise InputError(
                "`events`", "must hold whole class indices", f"got {given}", "Pass sets of class indices."
            )
        indices = [int(index) for index in given]
        outside = [index for index in indices if not 0 <= index < n_classes]
        if outside:
            raise InputError(
                "`events`",
                f"must hold class indices from 0 to {n_classes - 1}",
                f"got {outside[0]}",
                "Count classes from 0, or pass a boolean array.",
            )
        row[indices] = 1.0
    return table, single


def _marked_classes(events: Any, n_classes: int) -> HostArray | None:
    """Return 0 and 1 per class, (k,) or (e, k), where numbers mark classes; None where they are indices."""
    array = is_array(events)
    flat = isinstance(events, list | tuple) and all(isinstance(one, int | float) for one in events)
    nested = isinstance(events, list | tuple) and all(
        isinstance(one, list | tuple) and len(one) == n_classes for one in events
    )
    if (array and "bool" in str(events.dtype)) or not (array or flat or nested):
        return None
    numbers = to_host(events) if array else np.asarray(events)
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != n_classes or not np.isin(numbers, (0, 1)).all():
        return None
    # an event names a class once: a row that repeats a number cannot be a list of classes
    if any(len(set(row)) < n_classes for row in np.atleast_2d(numbers).tolist()):
        return numbers.astype(np.float64)
    if not array:
        return None
    raise InputError(
        "`events`",
        "must say whether its numbers name classes or mark them",
        f"got {numbers.tolist()}: the classes 0 and 1, or a 1 for each class of the event",
        "Pass `[{0, 1}]` to name classes, or `events.astype(bool)` to mark them.",
    )


def _as_collection(value: Any) -> Collection[Any]:
    if isinstance(value, Collection) and not isinstance(value, str):
        return value
    raise InputError(
        "`events`",
        "must be a set of class indices, a sequence of such sets, or a boolean array",
        f"got {value!r}",
        "Write `{0, 2}` for one event or `[{0}, {0, 2}]` for two.",
    )


def event_bounds(credal: CredalSet, events: Array, *, upper: bool) -> Array:
    """Return lower or upper probabilities (n, e) of events (e, k) in the library of the set."""
    xp = credal.xp
    if isinstance(credal, Belief):
        masses = as_float64(credal.masses)
        sets = like(credal.membership, masses)
        overlap = sets @ events.T  # (f, e): classes that the focal set and the event share
        counted = overlap > 0 if upper else overlap == xp.sum(sets, axis=1)[:, None]
        return masses @ xp.astype(counted, xp.float64)
    if isinstance(credal, Intervals):
        lower, high = as_float64(credal.lower), as_float64(credal.upper)
        inside, outside = events.T, (1.0 - events).T
        if upper:
            return xp.clip(xp.minimum(high @ inside, 1.0 - lower @ outside), 0.0, 1.0)
        return xp.clip(xp.maximum(lower @ inside, 1.0 - high @ outside), 0.0, 1.0)
    if isinstance(credal, Point):
        return as_float64(credal.probs) @ events.T
    return _hull_bounds(credal.probs, events, upper=upper)


def _hull_bounds(probs: Array, events: Array, *, upper: bool) -> Array:
    """Min or max over members of P_m(A); rows in tiles, one member at a time."""
    xp = namespace(probs)
    members = [np.flatnonzero(row).tolist() for row in to_host(events)]
    sparse = sum(map(len, members)) * _SPARSE <= events.shape[0] * events.shape[1]
    if sparse and members and all(members):
        return _few_class_bounds(probs, members, upper=upper)
    columns = events.T
    pick = xp.maximum if upper else xp.minimum
    found = []
    for rows in tiles(probs.shape[0], _TILE // max(1, events.shape[0])):
        block = as_float64(probs[rows, ...])
        bound = block[:, 0, :] @ columns
        for m in range(1, block.shape[1]):
            bound = pick(bound, block[:, m, :] @ columns)
        found.append(bound)
    return found[0] if len(found) == 1 else xp.concat(found, axis=0)


def _few_class_bounds(probs: Array, events: list[list[int]], *, upper: bool) -> Array:
    """Return the same for events of few among many classes: adding their columns beats a product."""
    xp = namespace(probs)
    n, m, k = probs.shape
    found = []
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
        found.append(xp.stack(bounds, axis=-1))
    return found[0] if len(found) == 1 else xp.concat(found, axis=0)
