"""Minimise a sum of convex terms over convex hulls, all instances at once, by a primal-dual Newton method.

    min f(p),  p = sum_m w_m P_m,  w >= 0,  sum w = 1

Certificate: for every w the value is within  w.g - min_m g_m  of the minimum, g_m = sum_j P_mj f'(p_j).

    entropy   f = sum p log p           (its negative is the entropy)
    kl        f = sum t log(t / p)

Both are sums over classes, convex in p, of the form sum_j t_j g(p_j / t_j), with t = 1 for the entropy.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.namespace import (
    Array,
    clip,
    device,
    is_torch,
    like,
    namespace,
    rows_within_budget,
    tiles,
    xlogy,
)
from credibly._arrays.notes import counted
from credibly.credal.sets import uncertified

_MAX_STEPS = 100
_TINY = 1e-290
_SHRINK = 0.1  # how much of the complementarity each step aims to keep
_INTERIOR = 0.99  # how much of the way to the nearest bound a step may go

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


def nearest_weights(kind: Objective, members: Array, target: Array, tolerance: float) -> Array:
    """Return weights (n, m) whose mixture of members (n, m, k) has f within `tolerance` of the minimum.

    Members have to be float64; the result carries no gradient (at the minimum none flows through weights).
    """
    xp = namespace(members)
    if is_torch(members):
        members, target = members.detach(), target.detach()
    n, m, k = members.shape
    members = _rescaled(kind, members)
    limit = rows_within_budget(8 * (4 * m * k + 4 * min(m, k) ** 2), 0.5)
    parts = [_solve(kind, members[rows, ...], target[rows, ...], tolerance) for rows in tiles(n, limit)]
    return xp.concat(parts, axis=0)


def _rescaled(kind: Objective, members: Array) -> Array:
    """Keep squares of the smallest probabilities from vanishing.

    KL does not change, up to a constant, when the probabilities of a class are divided by their largest.
    Terms of the entropy of probabilities below 1e-290 are far below any tolerance, so these are read as 0.
    """
    xp = namespace(members)
    if kind != "kl":
        return xp.where(members > _TINY, members, xp.zeros_like(members))
    largest = xp.max(members, axis=1, keepdims=True)
    return members / xp.where(largest > 0, largest, xp.ones_like(largest))


def _solve(kind: Objective, members: Array, target: Array, tolerance: float) -> Array:
    xp = namespace(members)
    n, m, _ = members.shape
    weights = xp.full((n, m), 1.0 / m, dtype=xp.float64, device=device(members))
    if m == 1:
        return weights
    rows = xp.arange(n, device=device(members))
    gradient = _gradient(kind, members, target, weights)
    level = xp.min(gradient, axis=-1, keepdims=True) - 0.1
    slack = gradient - level
    solved: list[tuple[Array, Array]] = []
    for _ in range(_MAX_STEPS):
        gap = xp.sum(weights * gradient, axis=-1) - xp.min(gradient, axis=-1)
        done = gap <= tolerance
        if bool(xp.any(done)):
            # Solved instances leave the batch; most end within a few steps of each other.
            (ended,), (going,) = xp.nonzero(done), xp.nonzero(~done)
            solved.append((xp.take(rows, ended, axis=0), xp.take(weights, ended, axis=0)))
            rows, members, target, weights, slack, gradient, level = (
                xp.take(array, going, axis=0)
                for array in (rows, members, target, weights, slack, gradient, level)
            )
            if rows.shape[0] == 0:
                order = xp.argsort(xp.concat([index for index, _ in solved], axis=0))
                return xp.take(xp.concat([weights for _, weights in solved], axis=0), order, axis=0)
        weights, slack, level = _step(kind, members, target, weights, slack, gradient, level)
        gradient = _gradient(kind, members, target, weights)
    worst = scalar(xp.max(xp.sum(weights * gradient, axis=-1) - xp.min(gradient, axis=-1)))
    instances = counted(rows.shape[0], "instance is", "instances are")
    evidence = f"{instances} at {worst:.1g} after {_MAX_STEPS} steps"
    raise uncertified("the minimum over the hull", tolerance, evidence)


def _gradient(kind: Objective, members: Array, target: Array, weights: Array) -> Array:
    """g_m = sum_j P_mj f'(p_j), (n, m)."""
    slopes = slope(kind, _mix(weights, members), target)
    return (members @ slopes[:, :, None])[:, :, 0]


def _mix(weights: Array, members: Array) -> Array:
    """P = sum_m w_m P_m, (n, k)."""
    return (weights[:, None, :] @ members)[:, 0, :]


def _step(
    kind: Objective,
    members: Array,
    target: Array,
    weights: Array,
    slack: Array,
    gradient: Array,
    level: Array,
) -> tuple[Array, Array, Array]:
    """One damped Newton step on the relaxed optimality conditions g - level - slack = 0, w slack = mu."""
    xp = namespace(members)
    m = weights.shape[-1]
    mu = _SHRINK * xp.sum(weights * slack, axis=-1, keepdims=True) / m
    bends = curvature(kind, _mix(weights, members), target)
    right = -(gradient - level - mu / weights)
    ones = xp.ones_like(right)
    solved = _kkt_solve(members, bends, slack / weights, xp.stack([right, ones], axis=-1))
    free, lifted = solved[..., 0], solved[..., 1]
    missing = 1.0 - xp.sum(weights, axis=-1, keepdims=True)
    lift = (missing - xp.sum(free, axis=-1, keepdims=True)) / xp.sum(lifted, axis=-1, keepdims=True)
    move = free + lift * lifted
    slack_move = mu / weights - slack - slack / weights * move
    reach = xp.minimum(_reach(weights, move), _reach(slack, slack_move))
    weights = weights + reach * move
    return weights / xp.sum(weights, axis=-1, keepdims=True), slack + reach * slack_move, level + reach * lift


def _kkt_solve(members: Array, bends: Array, diagonal: Array, right: Array) -> Array:
    """Solve (P diag(bends) P' + diag(diagonal)) x = right through the smaller of m x m and k x k systems."""
    xp = namespace(members)
    _, m, k = members.shape
    scaled = members * xp.sqrt(bends)[:, None, :]
    across = xp.matrix_transpose(scaled)
    if m <= k:
        eye = like(np.eye(m), members, dtype=xp.float64)
        return xp.linalg.solve(scaled @ across + eye * diagonal[:, :, None], right)
    eye = like(np.eye(k), members, dtype=xp.float64)
    divided = right / diagonal[:, :, None]
    inner = eye + across @ (scaled / diagonal[:, :, None])
    return divided - (scaled @ xp.linalg.solve(inner, across @ divided)) / diagonal[:, :, None]


def _reach(values: Array, moves: Array) -> Array:
    """Return the largest step in (0, 1] that keeps positive values positive, (n, 1)."""
    xp = namespace(values)
    falling = moves < 0
    ratios = xp.where(falling, values / xp.where(falling, -moves, xp.ones_like(moves)), xp.inf)
    longest = _INTERIOR * xp.min(ratios, axis=-1, keepdims=True)
    return xp.where(longest < 1.0, longest, xp.ones_like(longest))
