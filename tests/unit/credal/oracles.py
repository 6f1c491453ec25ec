"""Slow and obvious answers: corner points by enumeration, events by loops, optima by general solvers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize

import credibly as cr


def random_ensemble(rng: np.random.Generator, n: int, m: int, k: int, spread: float = 1.0) -> cr.Ensemble:
    return cr.Ensemble(rng.dirichlet(np.full(k, spread), size=(n, m)), member_axis=1)


def random_intervals(rng: np.random.Generator, n: int, k: int) -> cr.Intervals:
    """Bounds around a distribution; not reachable in general."""
    inside = rng.dirichlet(np.ones(k), size=n)
    lower = inside * rng.random((n, k))
    return cr.Intervals(lower, np.minimum(inside + rng.random((n, k)) * 0.4, 1.0))


def random_belief(rng: np.random.Generator, n: int, k: int, f: int = 8) -> cr.Belief:
    """Masses on single classes, all classes and random sets."""
    sets = [{j} for j in range(k)] + [set(range(k))]
    while len(sets) < k + 1 + f and len(sets) < 2**k - 1:
        drawn = set(rng.choice(k, size=rng.integers(2, k + 1), replace=False).tolist())
        if drawn not in sets:
            sets.append(drawn)
    return cr.Belief(rng.dirichlet(np.full(len(sets), 0.6), size=n), sets, k)


def every_kind(rng: np.random.Generator, n: int = 6, k: int = 4) -> dict[str, Any]:
    return {
        "Point": cr.Point(rng.dirichlet(np.ones(k), size=n)),
        "Ensemble": random_ensemble(rng, n, 5, k),
        "few members": random_ensemble(rng, n, 2, k),
        "Intervals": random_intervals(rng, n, k),
        "Belief": random_belief(rng, n, k),
    }


KINDS = ("Point", "Ensemble", "few members", "Intervals", "Belief")


def subsets(k: int) -> list[frozenset[int]]:
    """All events; event number a holds class j where bit j of a is set."""
    return [frozenset(j for j in range(k) if a >> j & 1) for a in range(2**k)]


def corners(credal: Any) -> list[np.ndarray]:
    """Points per instance whose hull is the set."""
    if isinstance(credal, cr.Point):
        return [row[None, :] for row in credal.probs]
    if isinstance(credal, cr.Ensemble):
        return list(credal.probs)
    if isinstance(credal, cr.Belief):
        return [np.array(list(_belief_corners(row, credal))) for row in credal.masses]
    pairs = zip(credal.lower, credal.upper, strict=True)
    return [np.array(list(_interval_corners(low, high))) for low, high in pairs]


def _belief_corners(masses: np.ndarray, credal: cr.Belief) -> Iterator[np.ndarray]:
    """For every order of the classes each focal set gives its mass to its last class."""
    for order in itertools.permutations(range(credal.n_classes)):
        point = np.zeros(credal.n_classes)
        for mass, members in zip(masses, credal.focal_sets, strict=True):
            point[max(members, key=order.index)] += mass
        yield point


def _interval_corners(low: np.ndarray, high: np.ndarray) -> Iterator[np.ndarray]:
    """All but one class at a bound, that one at what is left, where it fits."""
    k = len(low)
    for free in range(k):
        others = [j for j in range(k) if j != free]
        for ends in itertools.product((0, 1), repeat=k - 1):
            point = np.zeros(k)
            point[others] = [high[j] if end else low[j] for j, end in zip(others, ends, strict=True)]
            point[free] = 1.0 - point.sum()
            if low[free] - 1e-12 <= point[free] <= high[free] + 1e-12:
                yield point


def lower_by_loop(credal: Any) -> np.ndarray:
    """min over corners of P(A), event by event, (n, 2^k)."""
    events = subsets(credal.n_classes)
    return np.array(
        [
            [min(point[list(event)].sum() for point in points) for event in events]
            for points in corners(credal)
        ]
    )


def moebius_by_definition(lower: np.ndarray, k: int) -> np.ndarray:
    """m(A) = sum over B in A of (-1)^|A - B| lower(B)."""
    events = subsets(k)
    masses = np.zeros_like(lower)
    for a, big in enumerate(events):
        for b, small in enumerate(events):
            if small <= big:
                masses[:, a] += (-1) ** len(big - small) * lower[:, b]
    return masses


def entropy(p: np.ndarray) -> float:
    held = p[p > 0]
    return float(-(held * np.log(held)).sum())


def kl(t: np.ndarray, p: np.ndarray) -> float:
    inside = t > 0
    with np.errstate(divide="ignore"):
        return float((t[inside] * (np.log(t[inside]) - np.log(p[inside]))).sum())


def js(t: np.ndarray, p: np.ndarray) -> float:
    middle = (t + p) / 2
    return 0.5 * kl(t, middle) + 0.5 * kl(p, middle)


def best_over_hull(
    objective: Callable[[np.ndarray], float], points: np.ndarray, rng: np.random.Generator, starts: int = 4
) -> float:
    """Minimise over mixtures of points with SLSQP from several starts (and the points themselves)."""
    best = min(objective(point) for point in points)
    m = len(points)
    constraint = {"type": "eq", "fun": lambda w: w.sum() - 1}
    for start in range(starts):
        begin = np.full(m, 1 / m) if start == 0 else rng.dirichlet(np.ones(m))
        optimum = minimize(
            lambda w: objective(np.maximum(w @ points, 1e-300)),
            begin,
            bounds=[(0, 1)] * m,
            constraints=[constraint],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        weights = np.clip(optimum.x, 0, None)
        best = min(best, objective(weights / weights.sum() @ points))
    return best


def distance_to_hull(points: np.ndarray, asked: np.ndarray) -> float:
    """Least sum of absolute deviations between mixtures of points and a distribution: one linear program."""
    m, k = points.shape
    cost = np.concatenate([np.zeros(m), np.ones(2 * k)])
    table = np.concatenate([points.T, np.eye(k), -np.eye(k)], axis=1)
    sums = np.concatenate([np.ones(m), np.zeros(2 * k)])[None, :]
    return float(linprog(cost, A_eq=np.concatenate([table, sums]), b_eq=np.append(asked, 1.0)).fun)


def ray_by_program(points: np.ndarray, start: np.ndarray, direction: np.ndarray) -> float:
    """Largest a with start + a direction a mixture of points: one linear program."""
    m = len(points)
    table = np.concatenate([points.T, -direction[:, None]], axis=1)
    sums = np.append(np.ones(m), 0.0)[None, :]
    cost = np.append(np.zeros(m), -1.0)
    return float(-linprog(cost, A_eq=np.concatenate([table, sums]), b_eq=np.append(start, 1.0)).fun)
