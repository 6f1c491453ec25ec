"""Entropy and divergence as sums over classes: value, slope and curvature of every term.

    entropy   sum p log p               (its negative is the entropy)
    kl        sum t log(t / p)

Both are convex in p and of the form sum_j t_j g(p_j / t_j), with t = 1 for the entropy.
"""

from __future__ import annotations

from typing import Literal

from credibly._arrays.namespace import Array, clip, namespace, xlogy

Objective = Literal["entropy", "kl"]


def terms(probs: Array, target: Array) -> Array:
    """Return the summands of kl, inf where p = 0 < t."""
    return xlogy(target, target) - xlogy(target, probs)


def value(probs: Array, target: Array) -> Array:
    """Sum the terms of kl over the classes; rounding below zero is zero."""
    return clip(namespace(probs).sum(terms(probs, target), axis=-1), 0.0)


def slope(kind: Objective, probs: Array, target: Array) -> Array:
    """Return d term / d p; classes of probability 0, which no member supports, get slope 0."""
    xp, possible = namespace(probs), probs > 0
    safe = xp.where(possible, probs, 1.0)
    return xp.where(possible, xp.log(safe) + 1.0 if kind == "entropy" else -target / safe, 0.0)


def curvature(kind: Objective, probs: Array, target: Array) -> Array:
    """Return d^2 term / d p^2, 0 where p is 0."""
    xp, possible = namespace(probs), probs > 0
    safe = xp.where(possible, probs, 1.0)
    return xp.where(possible, 1.0 / safe if kind == "entropy" else target / safe**2, 0.0)
