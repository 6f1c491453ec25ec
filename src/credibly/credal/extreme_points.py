"""Corner points of belief and interval sets, for those who want to look at them; no measure needs them.

A set that comes from a 2-monotone lower probability has one corner per order of the classes (Shapley):
each class gets what it adds to the lower probability of those before it.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64, like
from credibly.credal.bounds import event_bounds
from credibly.credal.sets import as_set, members_of
from credibly.predictions import Dirichlet, Ensemble, Point, as_predictions

_MAX_EXACT = 7  # 5040 orders


def vertices(predictions: Any, *, which: Literal["all", "C25"] = "all") -> Array:
    """Return corner points of every set.

    Parameters
    ----------
    predictions : Belief, Intervals, Ensemble, Point or array
        Class predictions. Members of an ensemble are returned unchanged.
    which : {"all", "C25"}
        For belief and interval sets: one point per order of the classes (k! of them, at most 7 classes), or
        the 2k of C25: every class once first and once last in the order.

    Returns
    -------
    array (n, v, k)
        Corner points; several orders may give the same point.

    Notes
    -----
    The 2k points contain the lower and the upper probability of every class, which is all that a distance to
    a label needs. Their other coordinates depend on the numbering of the classes.

    References
    ----------
    de Campos, Huete and Moral, *Probability intervals: a tool for uncertain reasoning*, 1994; Shapley,
    *Cores of convex games*, 1971 (beliefs).

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.vertices(cr.Belief([[0.6, 0.4]], [{0}, {0, 1}]))
    array([[[0.6, 0.4],
            [1. , 0. ]]])
    """
    one_of("`which`", which, ("all", "C25"))
    predictions = as_predictions(predictions)
    if isinstance(predictions, Dirichlet):
        raise UnsupportedError(
            "a Dirichlet", "has no corners", "it is not a set", "Create one with `credal.as_set` first."
        )
    credal = as_set(predictions)
    if isinstance(credal, Point | Ensemble):
        return as_float64(members_of(credal))
    k = credal.n_classes
    if which == "all" and k > _MAX_EXACT:
        raise InputError(
            "`credal.vertices`",
            f'lists all k! orders for at most {_MAX_EXACT} classes with which="all"',
            f"got {k} classes ({math.factorial(k):.3g} orders)",
            'Use which="C25"; distances, entropies and probabilities need no corners.',
        )
    orders = np.array(list(itertools.permutations(range(k)))) if which == "all" else _first_and_last(k)
    return _corners(credal, orders)


def _first_and_last(k: int) -> np.ndarray[Any, Any]:
    """Return 2k orders: class j first (its lower probability), class j last (its upper probability)."""
    others = [[i for i in range(k) if i != j] for j in range(k)]
    return np.array([order for j in range(k) for order in ([j, *others[j]], [*others[j], j])])


def _corners(credal: Any, orders: np.ndarray[Any, Any]) -> Array:
    """lower(first i classes) - lower(first i - 1 classes) is the probability of the i-th class."""
    xp = credal.xp
    v, k = orders.shape
    rank = np.argsort(orders, axis=1)  # place of every class in the order
    chains = (rank[:, None, :] <= np.arange(k)[None, :, None]).astype(np.float64)
    events, back = np.unique(chains.reshape(v * k, k), axis=0, return_inverse=True)
    lower = event_bounds(credal, like(events, credal._leading, dtype=xp.float64), upper=False)
    filled = xp.take(lower, like(back.reshape(-1), lower), axis=1)
    filled = xp.reshape(filled, (-1, v, k))
    gains = xp.concat([filled[:, :, :1], filled[:, :, 1:] - filled[:, :, :-1]], axis=2)
    ranks = like(np.broadcast_to(rank, (1, v, k)).copy(), lower)
    ranks = xp.broadcast_to(ranks, gains.shape)
    return xp.take_along_axis(gains, ranks, axis=2)
