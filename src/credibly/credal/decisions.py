"""Decisions from sets of distributions: which classes stay.

    interval dominance   j stays unless some i has lower(i) > upper(j)
    maximality           j stays unless some i has P(i) > P(j) for every P in the set
    maximin              the class with the largest lower probability

Maximal classes are not dominated.
"""

from __future__ import annotations

from typing import Any, Literal

from credibly._arrays.errors import one_of
from credibly._arrays.namespace import Array, as_float64, rows_within_budget, tiles
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import singleton_bounds
from credibly.credal.sets import DIRICHLET_SAMPLES, as_set
from credibly.predictions import Ensemble

Rule = Literal["interval_dominance", "maximality", "maximin"]

_TIE = 1e-9  # classes this close are tied, and ties keep a class


@takes_rng
def decision(
    predictions: Any,
    *,
    rule: Rule = "maximality",
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Return which classes remain reasonable answers under each set of distributions.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    rule : {"interval_dominance", "maximality", "maximin"}
        Rule by which classes are kept.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n, k) of bool
        True for the classes that remain: at least one per instance, and exactly one with ``maximin`` unless
        classes tie.

    Notes
    -----
    For intervals and beliefs maximality is interval dominance: one class can be at its lower and another at
    its upper probability at once.

    References
    ----------
    Troffaes, Decision making under uncertainty using imprecise probabilities, 2007.

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.5, 0.4, 0.1], [0.3, 0.6, 0.1]]])
    >>> cr.credal.decision(ensemble)
    array([[ True,  True, False]])
    >>> cr.credal.decision(ensemble, rule="maximin")
    array([[False,  True, False]])
    """
    one_of("`rule`", rule, ("interval_dominance", "maximality", "maximin"))
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    xp = credal.xp
    lower, upper = singleton_bounds(credal)
    if rule == "maximin":
        return lower >= xp.max(lower, axis=-1, keepdims=True) - _TIE
    kept = upper >= xp.max(lower, axis=-1, keepdims=True) - _TIE
    if rule == "maximality" and isinstance(credal, Ensemble):
        kept = kept & _maximal(credal)
    return kept


def _maximal(credal: Ensemble) -> Array:
    """J stays unless some i has P_mi > P_mj for every member m."""
    xp = credal.xp
    n, m, k = credal.probs.shape
    kept = []
    for rows in tiles(n, rows_within_budget(16 * m * k, 0.25)):
        probs = as_float64(credal.probs[rows, ...])
        columns = []
        for j in range(k):
            ahead = xp.min(probs - probs[:, :, j][:, :, None], axis=1)  # (r, k): least lead of i over j
            columns.append(xp.max(ahead, axis=-1) <= _TIE)
        kept.append(xp.stack(columns, axis=-1))
    return xp.concat(kept, axis=0)
