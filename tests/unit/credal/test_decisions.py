"""Decision sets against all corners."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from unit.credal.oracles import KINDS, corners, every_kind, random_ensemble


def maximal(points: np.ndarray) -> list[bool]:
    k = points.shape[1]
    return [not any((points[:, i] > points[:, j] + 1e-9).all() for i in range(k)) for j in range(k)]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_rules_by_brute_force(kind: str, seed: int) -> None:
    credal = every_kind(np.random.default_rng(seed), n=10, k=4)[kind]
    points = [np.unique(p.round(12), axis=0) for p in corners(credal)]
    assert cr.credal.decision(credal, rule="maximality").tolist() == [maximal(p) for p in points]
    lower, upper = cr.credal.lower_probability(credal), cr.credal.upper_probability(credal)
    dominance = upper >= lower.max(axis=1, keepdims=True) - 1e-9
    assert cr.credal.decision(credal, rule="interval_dominance").tolist() == dominance.tolist()
    assert (cr.credal.decision(credal, rule="maximin").argmax(axis=1) == lower.argmax(axis=1)).all()


def test_rules_are_nested() -> None:
    ensemble = random_ensemble(np.random.default_rng(2), 300, 4, 6, spread=3.0)
    maximal_classes, undominated = (
        cr.credal.decision(ensemble, rule=rule) for rule in ("maximality", "interval_dominance")
    )
    assert (maximal_classes <= undominated).all()
    assert maximal_classes.sum() < undominated.sum()
    assert maximal_classes.any(axis=1).all()


def test_a_compromise_can_be_maximal_without_being_best_anywhere() -> None:
    # Class 2 is second for both members: no mixture puts it first, no single class beats it for all of them.
    ensemble = cr.Ensemble([[[0.6, 0.1, 0.3], [0.1, 0.6, 0.3]]])
    assert cr.credal.decision(ensemble, rule="maximality").tolist() == [[True, True, True]]
    assert cr.credal.decision(ensemble, rule="maximin").tolist() == [[False, False, True]]


def test_a_point_decides_for_its_best_class_and_ties_keep_both() -> None:
    point = cr.Point([[0.2, 0.8], [0.5, 0.5]])
    for rule in ("interval_dominance", "maximality", "maximin"):
        assert cr.credal.decision(point, rule=rule).tolist() == [[False, True], [True, True]]


def test_bad_rule() -> None:
    with pytest.raises(cr.InputError, match="Did you mean 'maximality'"):
        cr.credal.decision([[0.5, 0.5]], rule="maximal")
