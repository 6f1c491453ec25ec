"""Entropy and divergences as sums over classes: value, slope and curvature of every term.

    entropy   sum p log p               (its negative is the entropy)
    kl        sum t log(t / p)
    js        1/2 sum [t log(2t / (t + p)) + p log(2p / (t + p))]

All are convex in p and of the form sum_j t_j g(p_j / t_j), with t = 1 for the entropy: on sets that share
out mass (intervals, beliefs) one and the same distribution is therefore nearest to t for all of them.
"""

from __future__ import annotations

from typing import Literal

from credibly._arrays.namespace import Array, clip, namespace, xlogy

Objective = Literal["entropy", "kl", "js"]
PlainDivergence = Literal["kl", "js"]


def terms(kind: PlainDivergence, probs: Array, target: Array) -> Array:
    """Return the summands of a divergence, inf where kl has p = 0 < t."""
    if kind == "kl":
        return xlogy(target, target) - xlogy(target, probs)
    middle = 0.5 * (target + probs)
    return 0.5 * (xlogy(target, target) - xlogy(target, middle) + xlogy(probs, probs) - xlogy(probs, middle))


def value(kind: PlainDivergence, probs: Array, target: Array) -> Array:
    """Sum the terms over the classes; rounding below zero is zero."""
    return clip(namespace(probs).sum(terms(kind, probs, target), axis=-1), 0.0)


def slope(kind: Objective, probs: Array, target: Array) -> Array:
    """Return d term / d p; classes of probability 0, which no member supports, get slope 0."""
    xp = namespace(probs)
    held = probs > 0
    safe = xp.where(held, probs, xp.ones_like(probs))
    if kind == "entropy":
        slopes = xp.log(safe) + 1.0
    elif kind == "kl":
        slopes = -target / safe
    else:
        slopes = 0.5 * xp.log(2.0 * safe / (safe + target))
    return xp.where(held, slopes, xp.zeros_like(slopes))


def curvature(kind: Objective, probs: Array, target: Array) -> Array:
    """Return d^2 term / d p^2, 0 where p is 0."""
    xp = namespace(probs)
    held = probs > 0
    safe = xp.where(held, probs, xp.ones_like(probs))
    if kind == "entropy":
        bends = 1.0 / safe
    elif kind == "kl":
        bends = target / safe**2
    else:
        bends = 0.5 * target / (safe * (safe + target))
    return xp.where(held, bends, xp.zeros_like(bends))
