"""Moebius masses, budgets and corner points."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import credibly as cr
from credibly.credal.envelope import envelope_of, moebius
from unit.credal.oracles import (
    KINDS,
    corners,
    every_kind,
    moebius_by_definition,
    random_belief,
    random_ensemble,
    subsets,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_fast_moebius_is_the_definition(kind: str, k: int) -> None:
    lower = envelope_of(every_kind(np.random.default_rng(k), n=3, k=k)[kind])
    masses = moebius(lower)
    assert masses == pytest.approx(moebius_by_definition(lower, k), abs=1e-12)
    events = subsets(k)
    inside = np.array([[small <= large for small in events] for large in events])
    assert masses @ inside.T == pytest.approx(lower, abs=1e-12)


def test_masses_of_a_belief_come_back_from_its_envelope() -> None:
    belief = random_belief(np.random.default_rng(1), 4, 4)
    again = moebius(envelope_of(belief))
    for mass, members in zip(belief.masses.T, belief.focal_sets, strict=True):
        assert again[:, sum(2**j for j in members)] == pytest.approx(mass, abs=1e-12)


def test_mass_function_reads_as_belief_and_plausibility() -> None:
    ensemble = random_ensemble(np.random.default_rng(2), 4, 4, 4)
    masses = cr.credal.mass_function(ensemble)
    events = subsets(4)[1:]
    assert masses.belief(events) == pytest.approx(cr.credal.lower_probability(ensemble, events), abs=1e-12)
    assert masses.plausibility(events) == pytest.approx(
        cr.credal.upper_probability(ensemble, events), abs=1e-12
    )
    assert masses.plausibility() == pytest.approx(cr.credal.upper_probability(ensemble), abs=1e-12)
    assert masses.pignistic().probs.sum(axis=1) == pytest.approx(np.ones(4))
    assert repr(masses) == "MassFunction(n=4, f=15, k=4)"


def test_negative_masses_say_that_an_envelope_is_no_belief() -> None:
    # Members at (1/2, 1/2, 0, 0) and (0, 0, 1/2, 1/2): the pairs {0,2}, {0,3}, {1,2}, {1,3} have lower
    # probability 1/2 and nothing else below three classes has any, so a triple has mass 1/2 - 2 * 1/2 < 0.
    ensemble = cr.Ensemble([[[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]])
    masses = cr.credal.mass_function(ensemble)
    found = dict(zip(masses.focal_sets, masses.masses[0], strict=True))
    assert found[frozenset({0, 2})] == 0.5
    assert found[frozenset({0, 1, 2})] == -0.5
    with pytest.raises(cr.UnsupportedError, match=r"must not be negative.*the lowest is -0\.5"):
        masses.to_belief()
    clamped = cr.credal.mass_function(ensemble, negative="clamp").to_belief()
    assert clamped.masses.sum() == pytest.approx(1.0)
    assert clamped.masses.min() >= 0


def test_budget_by_hand() -> None:
    # lower: {0} 0.5, {1} 0.2, {0,1} 0.8, so m({0,1}) = 0.8 - 0.5 - 0.2 = 0.1; the rest, 0.2, is on all
    ensemble = cr.Ensemble([[[0.6, 0.2, 0.2], [0.5, 0.3, 0.2]]])
    masses = cr.credal.mass_function(ensemble, budget=[{0, 1}, {0}, {1}])
    assert [sorted(members) for members in masses.focal_sets] == [[0, 1], [0], [1], [0, 1, 2]]
    assert masses.masses[0] == pytest.approx([0.1, 0.5, 0.2, 0.2])
    assert "a budget of 4 sets" in masses.notes[0]


def test_clamped_budget_is_the_one_of_beliefs() -> None:
    ensemble = random_ensemble(np.random.default_rng(3), 20, 6, 5)
    budget = cr.credal.focal_budget(ensemble, 12)
    ours = cr.credal.mass_function(ensemble, budget=budget, negative="clamp").to_belief()
    theirs = cr.Belief.from_beliefs(
        cr.credal.lower_probability(ensemble, budget), budget, n_classes=5, negative="clamp"
    )
    columns = [theirs.focal_sets.index(members) for members in ours.focal_sets]
    assert ours.masses == pytest.approx(theirs.masses[:, columns], abs=1e-12)


def test_budgets_hold_single_classes_everything_and_what_belongs_together() -> None:
    rng = np.random.default_rng(4)
    groups = np.repeat([0, 1, 2], 2)  # classes 0-1, 2-3 and 4-5 are confused with each other
    scores = 0.02 + 0.5 * (groups[rng.integers(0, 6, size=300)][:, None] == groups) * rng.uniform(
        0.5, 1, (300, 6)
    )
    point = cr.Point.from_scores(scores)
    budget = cr.credal.focal_budget(point, 10)
    assert budget[:6] == tuple(frozenset({j}) for j in range(6))
    assert budget[6] == frozenset(range(6))
    assert set(budget[7:10]) == {frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})}
    assert len(cr.credal.focal_budget(point, 20)) == len(set(cr.credal.focal_budget(point, 20))) == 20


@pytest.mark.parametrize("size", [3, 100])
def test_budgets_that_cannot_be(size: int) -> None:
    with pytest.raises(cr.InputError, match="`n_sets` must lie between 4 and 7 for 3 classes"):
        cr.credal.focal_budget([[0.2, 0.3, 0.5], [0.1, 0.5, 0.4]], size)


def test_all_events_are_refused_beyond_16_classes() -> None:
    wide = cr.Point(np.full((1, 17), 1 / 17))
    belief = cr.Belief([[1.0]], [set(range(17))])
    for call in (
        lambda: cr.credal.mass_function(wide),
        lambda: cr.credal.lower_entropy(belief),
        lambda: cr.uncertainty(belief, decomposition="credal"),
    ):
        with pytest.raises(cr.InputError, match="at most 16 classes; got 17 classes"):
            call()
    assert cr.credal.mass_function(wide, budget=[{0, 1}]).masses[0] == pytest.approx([2 / 17, 15 / 17])


@pytest.mark.parametrize("kind", ["Intervals", "Belief"])
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_vertices_span_the_set(kind: str, k: int) -> None:
    credal = every_kind(np.random.default_rng(k), n=3, k=k)[kind]
    values = cr.credal.vertices(credal)
    assert values.shape == (3, math.factorial(k), k)
    for ours, theirs in zip(values, corners(credal), strict=True):
        rounded = [np.unique(points.round(9), axis=0) for points in (ours, theirs)]
        # Both lists have the same extreme points; compare them through all events and a random direction.
        for direction in [*itertools.product((0, 1), repeat=k), np.random.default_rng(0).normal(size=k)]:
            first, second = (points @ np.array(direction) for points in rounded)
            assert first.min() == pytest.approx(second.min(), abs=1e-8)


def test_vertices_of_c25_hold_the_bounds_of_every_class() -> None:
    belief = random_belief(np.random.default_rng(6), 3, 9)
    corners = cr.credal.vertices(belief, which="C25")
    assert corners.shape == (3, 18, 9)
    assert corners.sum(axis=2) == pytest.approx(np.ones((3, 18)))
    for j in range(9):
        assert corners[:, 2 * j, j] == pytest.approx(cr.credal.lower_probability(belief)[:, j])
        assert corners[:, 2 * j + 1, j] == pytest.approx(cr.credal.upper_probability(belief)[:, j])
    with pytest.raises(cr.InputError, match=r"at most 7 classes.*got 9 classes \(3\.63e\+05 orders\)"):
        cr.credal.vertices(belief)
    with pytest.raises(cr.UnsupportedError, match=r"`credal\.as_set`"):
        cr.credal.vertices(cr.Dirichlet([[2.0, 3.0]]))


def test_members_are_the_corners_of_a_hull() -> None:
    ensemble = random_ensemble(np.random.default_rng(7), 2, 3, 4)
    assert cr.credal.vertices(ensemble).tolist() == ensemble.probs.tolist()
    assert cr.credal.vertices(ensemble.mean()).shape == (2, 1, 4)
