"""Credal measures on data that every clone holds: linear programmes, minimisers, loops over events.

The counterpart of test_credal_data.py, on five networks for the remainder of a digit by 3, labels of 100
raters, and three models on digits with 30 focal sets.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import rel_entr

import credibly as cr
from credibly_studies import c25
from golden.shipped import MODELS, arrays, ensemble, focal_sets

EVENTS = [
    frozenset(combination) for size in (1, 2, 3) for combination in itertools.combinations(range(3), size)
]


@pytest.fixture(scope="module")
def remainders() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    members, labels = ensemble()
    return np.asarray(members.probs, dtype=float), labels, arrays("remainders")["counts"]


def inside(members: np.ndarray, target: np.ndarray) -> bool:
    """Whether a mixture of the members is the target: a linear programme without an objective."""
    equal = np.vstack([members.T, np.ones(len(members))])
    return linprog(np.zeros(len(members)), A_eq=equal, b_eq=[*target, 1.0]).status == 0


def nearest(members: np.ndarray, target: np.ndarray) -> float:
    """Least KL(target || mixture of the members), by SciPy from the equal mixture."""
    m = len(members)
    optimum = minimize(
        lambda weights: rel_entr(target, np.clip(weights @ members, 1e-12, None)).sum(),
        np.full(m, 1 / m),
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-13},
    )
    return float(optimum.fun)


def test_distances_to_labels(remainders: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    probs, labels, _ = remainders
    rows, ensemble = np.arange(len(labels)), cr.Ensemble(probs)
    # KL(label || q) = -log q_y, least where a member has the most of it: mixtures have no more
    best = [-math.log(max(p[y] for p in members)) for members, y in zip(probs, labels, strict=True)]
    np.testing.assert_allclose(cr.credal.distance(ensemble, labels), best, atol=1e-8)
    np.testing.assert_allclose(
        cr.credal.distance(ensemble.mean(), labels), -np.log(probs.mean(axis=1)[rows, labels]), rtol=1e-9
    )


def test_soft_targets(remainders: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    probs, _, counts = remainders
    # where members differ, so that targets lie inside, outside and on the border
    chosen = np.argsort(-probs.var(axis=1).sum(axis=1))[:12]
    members, raters = cr.Ensemble(probs[chosen]), cr.LabelCounts(counts[chosen])
    target = counts[chosen] / counts[chosen].sum(axis=1, keepdims=True)
    found, contained = cr.credal.distance(members, raters), cr.credal.contains(members, raters)
    pairs = list(zip(probs[chosen], target, strict=True))
    np.testing.assert_allclose(found, [nearest(*pair) for pair in pairs], atol=2e-6)
    assert contained.tolist() == [inside(*pair) for pair in pairs]
    assert 0 < contained.sum() < len(chosen)
    # the set of intervals is wider, so it comes nearer
    assert (cr.credal.distance(members.to_intervals(), raters) <= found + 1e-8).all()


def test_nonspecificity_by_events(remainders: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Generalised Hartley: masses are the Moebius inverse of the lower probabilities of all seven events."""
    probs, _, _ = remainders
    expected = []
    for members in probs:
        lower = {a: min(sum(p[j] for j in a) for p in members) for a in EVENTS}
        masses = {a: sum((-1) ** len(a - b) * lower[b] for b in EVENTS if b <= a) for a in EVENTS}
        expected.append(sum(mass * math.log(len(a)) for a, mass in masses.items()))
    np.testing.assert_allclose(cr.credal.nonspecificity(cr.Ensemble(probs)), expected, atol=1e-10)
    score = cr.epistemic_score(cr.Ensemble(probs), remainders[1], dependences=False)
    assert score.summary["imprecision"]["all"].mean == pytest.approx(np.mean(expected), abs=1e-10)


def test_budget_of_thirty_sets() -> None:
    """C25's pipeline, focal set after focal set: clamped masses on the budget, the rest on all classes."""
    held, budget = arrays("digits"), [frozenset(one) for one in focal_sets()]
    chosen = slice(0, 60)
    members = np.stack([held[name][chosen].astype(float) for name in MODELS], axis=1)
    members /= members.sum(axis=-1, keepdims=True)
    labels, full = held["labels"][chosen], frozenset(range(10))
    parts = {a: [b for b in budget if b <= a] for a in budget}
    distance, imprecision = [], []
    for p, label in zip(members, labels, strict=True):
        lower = {a: p[:, sorted(a)].sum(axis=1).min() for a in budget}
        masses = {a: max(0.0, sum((-1) ** len(a - b) * lower[b] for b in parts[a])) for a in budget}
        masses[full] = max(0.0, 1.0 - sum(masses.values()))
        total = sum(masses.values())
        distance.append(-math.log(max(sum(m for a, m in masses.items() if label in a) / total, 1e-10)))
        imprecision.append(sum(m * math.log(len(a)) for a, m in masses.items()) / total)
    ensemble = cr.Ensemble(members)
    score = c25.score(ensemble, labels, budget=budget)
    np.testing.assert_allclose(score.distance, distance, atol=1e-9)
    np.testing.assert_allclose(score.imprecision, imprecision, atol=1e-9)
    # the budget overstates what is left open, single classes alone overstate it most
    singles = cr.credal.nonspecificity(ensemble, measure="dubois_prade", budget=[{j} for j in range(10)])
    assert singles.mean() > np.mean(imprecision) > cr.credal.nonspecificity(ensemble).mean()
