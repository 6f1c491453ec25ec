"""Decision sets against all corners and linear programs; utilities by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import credibly as cr
from unit.credal.oracles import KINDS, corners, every_kind, random_ensemble


def admissible(points: np.ndarray) -> list[bool]:
    """Is there a mixture of points in which class j is a best one? One linear program per class."""
    m, k = points.shape
    kept = []
    for j in range(k):
        leads = points[:, [j]] - points
        found = linprog(
            np.append(np.zeros(m), -1.0),
            A_ub=np.concatenate([-leads.T, np.ones((k, 1))], axis=1),
            b_ub=np.zeros(k),
            A_eq=np.append(np.ones(m), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * m + [(None, None)],
        )
        kept.append(-found.fun >= -1e-9)
    return kept


def maximal(points: np.ndarray) -> list[bool]:
    k = points.shape[1]
    return [not any((points[:, i] > points[:, j] + 1e-9).all() for i in range(k)) for j in range(k)]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_rules_by_brute_force(kind: str, seed: int) -> None:
    credal = every_kind(np.random.default_rng(seed), n=10, k=4)[kind]
    points = [np.unique(p.round(12), axis=0) for p in corners(credal)]
    assert cr.credal.decision(credal, rule="e_admissibility").tolist() == [admissible(p) for p in points]
    assert cr.credal.decision(credal, rule="maximality").tolist() == [maximal(p) for p in points]
    lower, upper = cr.credal.lower_probability(credal), cr.credal.upper_probability(credal)
    dominance = upper >= lower.max(axis=1, keepdims=True) - 1e-9
    assert cr.credal.decision(credal, rule="interval_dominance").tolist() == dominance.tolist()
    assert (cr.credal.decision(credal, rule="maximin").argmax(axis=1) == lower.argmax(axis=1)).all()


def test_rules_are_nested() -> None:
    ensemble = random_ensemble(np.random.default_rng(2), 300, 4, 6, spread=3.0)
    rules = ("e_admissibility", "maximality", "interval_dominance")
    kept = [cr.credal.decision(ensemble, rule=rule) for rule in rules]
    for smaller, larger in itertools.pairwise(kept):
        assert (smaller <= larger).all()
        assert smaller.sum() < larger.sum()
    assert kept[0].any(axis=1).all()


def test_a_compromise_can_be_maximal_without_being_best_anywhere() -> None:
    # Class 2 is second for both members: no mixture puts it first, no single class beats it for all of them.
    ensemble = cr.Ensemble([[[0.6, 0.1, 0.3], [0.1, 0.6, 0.3]]])
    assert cr.credal.decision(ensemble, rule="maximality").tolist() == [[True, True, True]]
    assert cr.credal.decision(ensemble, rule="e_admissibility").tolist() == [[True, True, False]]
    assert cr.credal.decision(ensemble, rule="maximin").tolist() == [[False, False, True]]
    # With (0.5, 0.1, 0.4) and (0.1, 0.5, 0.4) their middle, (0.3, 0.3, 0.4), puts class 2 first.
    closer = cr.Ensemble([[[0.5, 0.1, 0.4], [0.1, 0.5, 0.4]]])
    assert cr.credal.decision(closer, rule="e_admissibility").tolist() == [[True, True, True]]


def test_a_point_decides_for_its_best_class_and_ties_keep_both() -> None:
    point = cr.Point([[0.2, 0.8], [0.5, 0.5]])
    for rule in ("interval_dominance", "maximality", "e_admissibility", "maximin"):
        assert cr.credal.decision(point, rule=rule).tolist() == [[False, True], [True, True]]


def test_utilities_by_hand() -> None:
    answers = np.array([[True, False, False], [True, True, False], [True, True, True], [False, True, True]])
    labels = [0, 0, 0, 0]
    assert cr.credal.discounted_utility(answers, labels, reward="discounted_accuracy") == pytest.approx(
        [1, 1 / 2, 1 / 3, 0]
    )
    assert cr.credal.discounted_utility(answers, labels, reward="u65") == pytest.approx(
        [1, 0.65, 1.6 / 3 - 0.6 / 9, 0]
    )
    assert cr.credal.discounted_utility(answers, labels, reward="u80") == pytest.approx(
        [1, 0.80, 2.2 / 3 - 1.2 / 9, 0]
    )


@pytest.mark.parametrize(
    ("decisions", "labels", "words"),
    [
        ([[1, 0]], [0], "must be a boolean array"),
        ([[True, False]], [0, 1], r"one entry per decision \(1\)"),
        ([[False, False]], [0], "at least one class per row"),
        ([[True, False]], [2], "must lie between 0 and 1"),
    ],
)
def test_bad_decisions(decisions: list, labels: list, words: str) -> None:
    with pytest.raises(cr.CrediblyError, match=words):
        cr.credal.discounted_utility(decisions, labels)


def test_bad_rule() -> None:
    with pytest.raises(cr.InputError, match="Did you mean 'maximality'"):
        cr.credal.decision([[0.5, 0.5]], rule="maximal")
