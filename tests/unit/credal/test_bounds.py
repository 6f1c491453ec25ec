"""Lower and upper probabilities against corner points and linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import credibly as cr
from credibly.credal.bounds import support_of
from credibly.credal.envelope import envelope_of
from unit.credal.oracles import KINDS, corners, every_kind, lower_by_loop, random_intervals, subsets


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_every_event_against_corners(kind: str, k: int) -> None:
    credal = every_kind(np.random.default_rng(k), n=4, k=k)[kind]
    events = subsets(k)
    expected = lower_by_loop(credal)
    assert cr.credal.lower_probability(credal, events) == pytest.approx(expected, abs=1e-12)
    assert envelope_of(credal) == pytest.approx(expected, abs=1e-12)
    # upper(A) = 1 - lower(not A): event number a has the complement 2^k - 1 - a
    assert cr.credal.upper_probability(credal, events) == pytest.approx(1 - expected[:, ::-1], abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_single_classes(kind: str) -> None:
    credal = every_kind(np.random.default_rng(1))[kind]
    points = corners(credal)
    assert cr.credal.lower_probability(credal) == pytest.approx(
        np.array([p.min(axis=0) for p in points]), abs=1e-12
    )
    assert cr.credal.upper_probability(credal) == pytest.approx(
        np.array([p.max(axis=0) for p in points]), abs=1e-12
    )


def test_intervals_against_linear_programs() -> None:
    intervals = random_intervals(np.random.default_rng(2), 5, 5)
    events = [{0}, {1, 3}, {0, 2, 4}]
    expected = [
        [
            linprog(
                [float(j in event) for j in range(5)],
                A_eq=np.ones((1, 5)),
                b_eq=[1.0],
                bounds=list(zip(low, high, strict=True)),
            ).fun
            for event in events
        ]
        for low, high in zip(intervals.lower, intervals.upper, strict=True)
    ]
    assert cr.credal.lower_probability(intervals, events) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_support_against_corners(kind: str, k: int) -> None:
    rng = np.random.default_rng(k)
    credal = every_kind(rng, n=4, k=k)[kind]
    v = rng.normal(size=(3, 4, k))
    v[2] = np.round(v[2])  # ties
    expected = np.array([[(c @ row).max() for c, row in zip(corners(credal), one, strict=True)] for one in v])
    values, best = support_of(credal, v)
    assert values == pytest.approx(expected, abs=1e-12)
    assert (best * v).sum(axis=-1) == pytest.approx(expected, abs=1e-12)
    for one in best:
        assert cr.credal.contains(credal, one, tolerance=1e-9).all()


def test_support_of_events_is_their_upper_probability() -> None:
    credal = every_kind(np.random.default_rng(3), n=5, k=4)["Belief"]
    v = np.broadcast_to([1.0, 0.0, 1.0, 0.0], (5, 4))
    values, _ = support_of(credal, v[None])
    assert values[0] == pytest.approx(cr.credal.upper_probability(credal, {0, 2}))


def test_forms_of_events() -> None:
    ensemble = cr.Ensemble([[[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]])
    values = cr.credal.lower_probability(ensemble, {0, 2})
    assert values.tolist() == [0.75]  # both members give {0, 2} 0.75
    for same in ([0, 2], (2, 0), np.array([True, False, True])):
        assert cr.credal.lower_probability(ensemble, same).tolist() == [0.75]
    several = cr.credal.lower_probability(ensemble, np.array([[True, False, True], [True, False, False]]))
    assert several.tolist() == [[0.75, 0.25]]
    assert cr.credal.lower_probability(ensemble, [set(), {0, 1, 2}]).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ({3}, "class indices from 0 to 2; got 3"),
        ([{0}, {-1}], "got -1"),
        (np.array([True, False]), r"shape \(3,\) or \(e, 3\)"),
        (5, "must be a set of class indices"),
        ("01", "must be a set of class indices"),
        ([{0.5}], "whole class indices"),
        # numbers that mark classes would be read as the classes 0 and 1
        ([1, 0, 1], "each at most once"),
        ([[1, 0, 1]], "each at most once"),
        ([True, False, False], "whole class indices"),
        (np.array([1, 0, 1]), r"must be boolean .*as an array; got int64 of shape \(3,\)"),
        (np.array([[1.0, 0.0, 1.0]]), "must be boolean"),
    ],
)
def test_bad_events(events: object, words: str) -> None:
    with pytest.raises(cr.InputError, match=words):
        cr.credal.lower_probability([[[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]], events)


def test_dirichlet_by_samples_is_reproducible_and_stated() -> None:
    dirichlet = cr.Dirichlet([[2.0, 3.0, 4.0]])
    hull = cr.credal.as_set(dirichlet, n_samples=50, rng=3)
    assert hull.probs.shape == (1, 50, 3)
    assert (
        cr.credal.upper_probability(dirichlet, n_samples=50, rng=3).tolist()
        == hull.probs.max(axis=1).tolist()
    )


def test_intervals_of_an_ensemble_hold_its_hull() -> None:
    ensemble = every_kind(np.random.default_rng(5))["Ensemble"]
    wide = ensemble.to_intervals()
    events = subsets(4)
    # Intervals forget what classes have to do with each other: never tighter, equal on single classes.
    assert (
        cr.credal.lower_probability(wide, events) <= cr.credal.lower_probability(ensemble, events) + 1e-12
    ).all()
    assert cr.credal.upper_probability(wide) == pytest.approx(cr.credal.upper_probability(ensemble))


def test_tightening_does_not_lift_a_zero_by_rounding() -> None:
    # 1.0 + 0.4 - 0.4 = 0.9999999999999999 in floating point, which would lift the 0 to 1e-16
    loose = cr.Intervals([[0.6, 0.0]], [[1.0, 0.4]])
    assert cr.credal.lower_probability(loose).tolist() == [[0.6, 0.0]]


def test_tightening_does_not_lose_tiny_probabilities() -> None:
    # 1 - 1.0 = 0 would make -log upper infinite although the lower bound itself is 1e-20
    saturated = cr.Intervals([[1e-20, 1.0]], [[1e-20, 1.0]])
    assert cr.credal.upper_probability(saturated).tolist() == [[1e-20, 1.0]]
    assert cr.credal.distance(saturated, [0])[0] == pytest.approx(20 * np.log(10))
