"""Distances to labels in closed form, to soft targets against general solvers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from credibly.credal.filling import _sweep
from credibly_studies.set_draws import sample
from unit.credal.oracles import (
    KINDS,
    best_over_hull,
    corners,
    every_kind,
    kl,
    random_belief,
    random_ensemble,
    random_intervals,
)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_by_all_corners(kind: str) -> None:
    rng = np.random.default_rng(0)
    credal = every_kind(rng, n=8, k=4)[kind]
    labels = rng.integers(0, 4, size=8)
    values = [
        [kl(np.eye(4)[y], np.clip(p, 0, 1)) for p in points]
        for y, points in zip(labels, corners(credal), strict=True)
    ]
    nearest = cr.credal.distance(credal, labels)
    assert nearest == pytest.approx([min(row) for row in values], abs=1e-9)


def targets(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Soft targets; the first half with zeros."""
    drawn = rng.dirichlet(np.full(k, 0.7), size=n)
    drawn[: n // 2] *= np.arange(k) > 0
    return drawn / drawn.sum(axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_soft_targets_by_slsqp_and_corners(kind: str) -> None:
    rng = np.random.default_rng(1)
    credal = every_kind(rng, n=6, k=3)[kind]
    target = targets(rng, 6, 3)
    nearest = cr.credal.distance(credal, target)
    for row, listed in enumerate(corners(credal)):
        points = np.unique(np.clip(listed, 0, 1).round(12), axis=0)
        best = best_over_hull(lambda p, row=row: kl(target[row], p), points, rng)
        assert nearest[row] <= best + 1e-8
        assert nearest[row] == pytest.approx(best, abs=2e-6)


def test_closed_form_is_the_soft_answer_for_one_hot_targets() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, size=6)
    for kind, credal in every_kind(rng, n=6, k=4).items():
        hard = cr.credal.distance(credal, labels)
        soft = cr.credal.distance(credal, np.eye(4)[labels])
        assert soft == pytest.approx(hard, abs=1e-7), kind


def test_values_by_hand() -> None:
    ensemble = cr.Ensemble([[[0.5, 0.5], [0.25, 0.75]]])
    assert cr.credal.distance(ensemble, [0]).tolist() == pytest.approx([math.log(2)])
    never = cr.Ensemble([[[1.0, 0.0], [1.0, 0.0]]])
    assert cr.credal.distance(never, [1]).tolist() == [math.inf]
    assert cr.credal.distance(never, cr.LabelCounts([[1, 1]])).tolist() == [math.inf]
    assert cr.credal.distance(never, cr.LabelCounts([[3, 0]])).tolist() == [0.0]


def test_zeros_in_the_target_leave_no_root_in_narrow_intervals() -> None:
    # t = (1, 0, 0), u_0 = 0.4: all other mass goes to classes the target does not have; KL = -ln 0.4
    narrow = cr.Intervals([[0.1, 0.1, 0.1]], [[0.4, 0.9, 0.9]])
    assert cr.credal.distance(narrow, np.array([[1.0, 0.0, 0.0]])) == pytest.approx([-math.log(0.4)])
    # The same within a belief: 0.6 is stuck on {1, 2}
    stuck = cr.Belief([[0.4, 0.6]], [{0, 1, 2}, {1, 2}])
    assert cr.credal.distance(stuck, np.array([[1.0, 0.0, 0.0]])) == pytest.approx([-math.log(0.4)])


def test_targets_inside_have_distance_zero() -> None:
    rng = np.random.default_rng(3)
    for credal in (random_ensemble(rng, 10, 5, 4), random_intervals(rng, 10, 4), random_belief(rng, 10, 4)):
        inside = sample(credal, 1, method="hit_and_run", rng=0, n_steps=5).probs[:, 0]
        assert cr.credal.distance(credal, inside) == pytest.approx(np.zeros(10), abs=2e-9)


def test_soft_targets_need_more_than_the_nearest_member() -> None:
    ensemble = cr.Ensemble([[[0.9, 0.1], [0.1, 0.9]]])
    middle = np.array([[0.5, 0.5]])
    nearest_member = min(kl(middle[0], p) for p in ensemble.probs[0])
    assert nearest_member > 0.5
    assert cr.credal.distance(ensemble, middle)[0] == pytest.approx(0, abs=1e-9)


def test_beliefs_with_many_classes_are_the_same_problem() -> None:
    rng = np.random.default_rng(4)
    belief = random_belief(rng, 12, 5)
    target = targets(rng, 12, 5)
    exact = cr.credal.distance(belief, target)
    found = _sweep(belief, target, "kl", 1e-10)
    assert [kl(t, p) for t, p in zip(target, found, strict=True)] == pytest.approx(exact, abs=1e-8)


def test_soft_targets_beyond_16_classes() -> None:
    # Class 0 may take all of the 0.3 that it shares with class 17.
    sets = [{j} for j in range(18)] + [{0, 17}]
    masses = np.append(np.full(18, 0.7 / 18), 0.3)[None, :]
    belief = cr.Belief(masses, sets)
    target = np.zeros((1, 18))
    target[0, 0] = 1.0
    assert cr.credal.distance(belief, target) == pytest.approx([-math.log(0.7 / 18 + 0.3)])


@pytest.mark.parametrize(
    ("labels", "settings", "words"),
    [
        ([0], {}, r"one entry per prediction \(2\); got 1"),
        ([0, 5], {}, "must lie between 0 and 1"),
        (np.array([[1, 0], [0, 1]]), {}, r"got integers of shape \(2, 2\)\. Use `LabelCounts"),
        (np.array([[0.5, 0.6], [0.5, 0.5]]), {}, r"row 0 sums to 1\.1"),
        (np.array([[0.5, 0.5]]), {}, r"must have shape \(2, 2\) like the predictions; got shape \(1, 2\)"),
        ([0, 1], {"tolerance": 0}, "`tolerance` must be a positive number"),
    ],
)
def test_bad_input(labels: object, settings: dict, words: str) -> None:
    with pytest.raises(cr.CrediblyError, match=words):
        cr.credal.distance([[[0.5, 0.5]], [[0.2, 0.8]]], labels, **settings)


def test_swapped_and_foreign_arguments() -> None:
    with pytest.raises(cr.InputTypeError, match="Swap them"):
        cr.credal.distance([0, 1], [[0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(cr.InputTypeError, match="must be class predictions"):
        cr.credal.distance(cr.Gaussian([0.0], [1.0]), [0])


@pytest.mark.parametrize("classes", [2, 13])  # listed events, and levelled sets
@pytest.mark.parametrize("mass", [1e-17, 1e-16, 1e-15, 1e-12])
def test_tiny_masses_of_beliefs_are_kept(mass: float, classes: int) -> None:
    belief = cr.Belief([[1 - mass, mass]], [[0], [0, 1]], n_classes=classes)
    target = np.zeros((1, classes))
    target[0, :2] = 0.9, 0.1
    # class 1 can have no more than the mass, class 0 has the rest
    expected = 0.9 * np.log(0.9 / (1 - mass)) + 0.1 * np.log(0.1 / mass)
    assert cr.credal.distance(belief, target) == pytest.approx([expected], abs=1e-9)


def test_shares_that_shrink_leave_no_rounding_behind() -> None:
    """Both ways to the nearest distribution of a belief, one set of 13 classes and one of 4."""
    masses = [
        [1.2161356736517532e-14, 1.4605497088735346e-04, 9.9985394502910041e-01, 2.8171511770522253e-17]
    ]
    sets = [{0}, {3}, {0, 1, 2}, {0, 1, 2, 3}]
    target = np.array([[1.4910473059705083e-06, 1.2304923904178168e-17, 9.9999850307968075e-01, 5.87301e-09]])
    target[0, 2] = 1 - target[0, [0, 1, 3]].sum()
    few = cr.credal.distance(cr.Belief(masses, sets, n_classes=4), target)
    many = cr.credal.distance(cr.Belief(masses, sets, n_classes=13), np.pad(target, ((0, 0), (0, 9))))
    # class 3 has at least its own mass; the others share the rest as the target does
    least = 1.4605497088735346e-04
    expected = (1 - target[0, 3]) * np.log((1 - target[0, 3]) / (1 - least))
    expected += target[0, 3] * np.log(target[0, 3] / least)
    assert few == pytest.approx([expected], abs=1e-9)
    assert many == pytest.approx([expected], abs=1e-9)


def test_tiny_targets_in_intervals_are_kept() -> None:
    intervals = cr.Intervals([[0.085, 0.25, 0.62, 0.0]], [[0.10, 0.27, 0.64, 0.013]])
    target = np.array([[0.97, 0.03, 1e-15, 3e-17]])
    # classes 0 and 1 are full, class 2 keeps its least, class 3 gets what is left: 1 - 0.1 - 0.27 - 0.62
    nearest = cr.Point([[0.10, 0.27, 0.62, 0.01]])
    expected = cr.credal.distance(nearest, target)
    assert cr.credal.distance(intervals, target) == pytest.approx(expected, abs=1e-9)


def test_a_class_that_only_a_denormal_supports() -> None:
    hull = cr.Ensemble([[[1.0, 0.0, 0.0], [0.5, 0.5, 5e-324]]])
    # p = (1 - w / 2, w / 2, 5e-324 w): the least of KL over w, here on a fine grid
    w = np.linspace(1e-4, 1, 20001)
    t = np.array([0.5, 0.4, 0.1])
    logs = np.log(np.stack([1 - w / 2, w / 2, w])) + np.array([[0.0], [0.0], [np.log(5e-324)]])
    expected = (t @ np.log(t)) - (t @ logs).max()
    assert cr.credal.distance(hull, t[None])[0] == pytest.approx(expected, abs=1e-6)
