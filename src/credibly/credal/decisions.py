"""Decisions from sets of distributions: which classes stay, and what a set-valued answer is worth.

    interval dominance   j stays unless some i has lower(i) > upper(j)
    maximality           j stays unless some i has P(i) > P(j) for every P in the set
    E-admissibility      j stays if it is the best class for some P in the set
    maximin              the class with the largest lower probability

E-admissible classes are maximal, and maximal ones are not dominated.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import as_array, require_one_each
from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import Array, as_float64, like, namespace, rows_within_budget, tiles, to_host
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import singleton_bounds
from credibly.credal.filling import nearest_in_belief
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_credal
from credibly.credal.simplex_method import game_values
from credibly.predictions import Belief, Ensemble, Intervals, Point
from credibly.predictions.label_checks import check_classes

Rule = Literal["interval_dominance", "maximality", "e_admissibility", "maximin"]
Reward = Literal["u65", "u80", "discounted_accuracy"]

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
        Class predictions, read as sets by :func:`as_set`.
    rule : {"interval_dominance", "maximality", "e_admissibility", "maximin"}
        Rule by which classes are kept.
    n_samples : int
        Draws per instance, if the predictions are a Dirichlet.
    rng : None, int or Generator
        Seed of these draws.

    Returns
    -------
    array (n, k) of bool
        True for the classes that remain: at least one per instance, and exactly one with ``maximin`` unless
        classes tie.

    Notes
    -----
    For intervals and beliefs maximality is interval dominance: one class can be at its lower and another at
    its upper probability at once. E-admissibility of a hull is the value of a small game per class, a linear
    program on the host, solved only for maximal classes that no member ranks first.

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
    one_of("`rule`", rule, ("interval_dominance", "maximality", "e_admissibility", "maximin"))
    credal = as_credal(predictions, n_samples, rng)
    xp = credal.xp
    lower, upper = singleton_bounds(credal)
    if rule == "maximin":
        return lower >= xp.max(lower, axis=-1, keepdims=True) - _TIE
    kept = upper >= xp.max(lower, axis=-1, keepdims=True) - _TIE
    if rule == "interval_dominance" or isinstance(credal, Point):
        return kept
    if isinstance(credal, Ensemble):
        kept = kept & _maximal(credal)
    if rule == "maximality":
        return kept
    return _admissible(credal, kept, lower, upper)


def discounted_utility(decisions: Any, labels: Any, *, reward: Reward = "u65") -> Array:
    """Return the utility of set-valued answers: 1 for the right class alone, less for larger sets with it.

    Parameters
    ----------
    decisions : array (n, k) of bool
        Classes in the answer, for example from :func:`decision`.
    labels : array (n,)
        The right classes.
    reward : {"u65", "u80", "discounted_accuracy"}
        With x = 1 / (number of classes in the answer) if the right one is among them and 0 otherwise:
        ``u65`` is 1.6 x - 0.6 x^2 (a set of two is worth 0.65), ``u80`` 2.2 x - 1.2 x^2 (0.80), and
        ``discounted_accuracy`` is x.

    Returns
    -------
    array (n,)
        One utility per instance.

    References
    ----------
    Zaffalon, Corani and Maua, Evaluating credal classifiers by utility-discounted predictive accuracy, 2012.

    Examples
    --------
    >>> import credibly as cr
    >>> answers = [[True, True, False], [True, False, False], [False, True, True]]
    >>> cr.credal.discounted_utility(answers, [0, 0, 0]).round(2)
    array([0.65, 1.  , 0.  ])
    """
    one_of("`reward`", reward, ("u65", "u80", "discounted_accuracy"))
    sets = as_array(decisions, "decisions")
    xp = namespace(sets)
    if sets.ndim != 2 or not xp.isdtype(sets.dtype, "bool"):
        raise InputTypeError(
            "`decisions`",
            "must be a boolean array (n, k)",
            f"got dtype {sets.dtype} and shape {tuple(sets.shape)}",
            "Create it with `credal.decision`.",
        )
    given = as_array(labels, "labels")
    given = given if hasattr(labels, "dtype") else like(given, sets)
    namespace(sets, given)
    require_one_each(given.shape, sets.shape[0], "`labels`", "entry per decision")
    chosen = xp.astype(check_classes(given, sets.shape[1]), xp.int64)
    answers = xp.astype(sets, xp.float64)
    size = xp.sum(answers, axis=-1)
    if bool(xp.any(size == 0)):
        raise InputError("`decisions`", "must hold at least one class per row", "a row is empty", "Drop it.")
    x = xp.take_along_axis(answers, chosen[:, None], axis=-1)[:, 0] / size
    if reward == "discounted_accuracy":
        return x
    return 1.6 * x - 0.6 * x**2 if reward == "u65" else 2.2 * x - 1.2 * x**2


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


def _admissible(credal: CredalSet, kept: Array, lower: Array, upper: Array) -> Array:
    if isinstance(credal, Intervals):
        return kept & _admissible_in_intervals(lower, upper)
    if isinstance(credal, Belief):
        return kept & _admissible_in_belief(credal, upper)
    assert isinstance(credal, Ensemble)
    probs = to_host(as_float64(credal.probs))  # the linear programs live on the host
    best = (probs >= probs.max(axis=-1, keepdims=True) - _TIE).any(axis=1)
    candidates = to_host(kept)
    found = best & candidates
    rows, classes = np.nonzero(candidates & ~best)
    for part in tiles(rows.size, rows_within_budget(8 * 3 * probs.shape[1] * probs.shape[2], 0.25)):
        own = probs[rows[part]]
        leads = np.take_along_axis(own, classes[part][:, None, None], axis=2) - own
        found[rows[part], classes[part]] = game_values(leads) >= -_TIE
    return like(found, credal.probs)


def _admissible_in_intervals(lower: Array, upper: Array) -> Array:
    """Give j its upper probability v: the others must hold 1 - v within [l, min(u, v)]."""
    xp = namespace(lower)
    columns = []
    # Bounds whose noise leaves a little less than 1 must not lose every class.
    whole = xp.clip(xp.sum(upper, axis=-1), 0.0, 1.0)
    for j in range(lower.shape[-1]):
        top = upper[:, j][:, None]
        capped = xp.minimum(upper, top)
        fits = xp.all(lower <= top + _TIE, axis=-1)
        columns.append(fits & (xp.sum(capped, axis=-1) >= whole - _TIE))
    return xp.stack(columns, axis=-1)


def _admissible_in_belief(credal: Belief, upper: Array) -> Array:
    """Give j all it can have, Pl(j): the other sets, spread as evenly as can be, must stay below."""
    xp = credal.xp
    masses, table = as_float64(credal.masses), credal.membership
    columns = []
    for j in range(credal.n_classes):
        apart = table[:, j] == 0
        rest = xp.take(masses, like(np.flatnonzero(apart), masses), axis=1)
        total = xp.sum(rest, axis=-1)
        if not apart.any():
            columns.append(total == 0)
            continue
        sets = [members for members, away in zip(credal.focal_sets, apart, strict=True) if away]
        some = (total > 0)[:, None]
        safe = xp.where(some, total[:, None], xp.ones_like(total[:, None]))
        shares = xp.where(some, rest / safe, xp.full_like(rest, 1.0 / len(sets)))
        others = Belief(shares, sets, credal.n_classes)
        ones = xp.ones_like(upper)
        even = nearest_in_belief(others, ones, "entropy", 1e-8)
        columns.append(xp.max(even, axis=-1) * total <= upper[:, j] + _TIE)
    return xp.stack(columns, axis=-1)
