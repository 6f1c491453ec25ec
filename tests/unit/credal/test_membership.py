"""Membership and boundary against linear programs, on and just off the boundary."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.credal.membership import hull_ray_lengths
from credibly.credal.simplex_method import least_total
from credibly_studies.set_draws import sample
from unit.credal.oracles import (
    corners,
    distance_to_hull,
    every_kind,
    random_belief,
    random_ensemble,
    ray_by_program,
)

SETS = ("Ensemble", "few members", "Intervals", "Belief")


@pytest.mark.parametrize("kind", SETS)
def test_on_and_just_off_the_boundary(kind: str) -> None:
    rng = np.random.default_rng(0)
    credal = every_kind(rng, n=12, k=4)[kind]
    # towards a corner point, so that the ray stays in the plane of a flat hull
    goal = np.array([points[rng.integers(len(points))] for points in corners(credal)])
    goal = np.clip(goal, 0, 1)
    edge, fraction = cr.credal.boundary(credal, goal / goal.sum(axis=1, keepdims=True), return_fraction=True)
    mean = credal.mean().probs
    assert (fraction >= 1 - 1e-9).all()
    assert cr.credal.contains(credal, edge).all()
    outward = edge - mean
    away = np.abs(outward).max(axis=1) > 1e-3
    for step, inside in ((-1e-3, True), (1e-3, False)):
        moved = mean + (1 + step) * outward
        fits = (moved >= 0).all(axis=1) & away
        assert fits.any()
        assert (cr.credal.contains(credal, np.clip(moved, 0, 1))[fits] == inside).all()


@pytest.mark.parametrize("kind", SETS)
def test_against_linear_programs(kind: str) -> None:
    rng = np.random.default_rng(1)
    credal = every_kind(rng, n=20, k=4)[kind]
    asked = np.concatenate(
        [
            sample(credal[:10], 1, method="hit_and_run", rng=0).probs[:, 0],
            rng.dirichlet(np.ones(4), 10),
        ]
    )
    values = cr.credal.contains(credal, asked)
    away = [distance_to_hull(points, p) for points, p in zip(corners(credal), asked, strict=True)]
    assert values.tolist() == [far < 1e-7 for far in away]
    assert values[:10].all()


@pytest.mark.parametrize(("m", "k"), [(6, 3), (12, 5), (5, 5), (3, 6), (8, 8), (30, 4)])
def test_boundary_is_the_linear_program(m: int, k: int) -> None:
    rng = np.random.default_rng(m * k)
    ensemble = random_ensemble(rng, 15, m, k)
    start = ensemble.mean().probs
    goal = np.einsum("nm,nmk->nk", rng.dirichlet(np.full(m, 0.2), size=15), ensemble.probs)
    points, fraction = cr.credal.boundary(ensemble, goal, return_fraction=True)
    rows = zip(ensemble.probs, start, goal, strict=True)
    expected = [ray_by_program(members, begin, end - begin) for members, begin, end in rows]
    assert fraction == pytest.approx(expected, rel=1e-5)  # the solver's own feasibility tolerance is 1e-7
    assert points == pytest.approx(start + fraction[:, None] * (goal - start), abs=1e-12)


def test_flat_hulls_are_left_at_once() -> None:
    ensemble = cr.Ensemble([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]])
    points, fraction = cr.credal.boundary(ensemble, [2], return_fraction=True)
    assert fraction.tolist() == [0.0]
    assert points == pytest.approx(np.array([[0.45, 0.45, 0.1]]))
    assert cr.credal.boundary(ensemble, [[0.9, 0.0, 0.1]]) == pytest.approx(np.array([[0.8, 0.1, 0.1]]))


def test_a_point_and_a_ray_without_direction() -> None:
    point = cr.Point([[0.3, 0.7]])
    assert cr.credal.boundary(point, [0]).tolist() == [[0.3, 0.7]]
    where, fraction = cr.credal.boundary(point, [[0.3, 0.7]], return_fraction=True)
    assert (where.tolist(), fraction.tolist()) == ([[0.3, 0.7]], [np.inf])
    assert cr.credal.contains(point, [[0.3 + 5e-8, 0.7 - 5e-8]]).tolist() == [True]
    assert cr.credal.contains(point, [[0.31, 0.69]]).tolist() == [False]


def test_boundary_towards_a_corner_inside_goes_on() -> None:
    everything = cr.Ensemble(np.eye(3)[None])
    _, fraction = cr.credal.boundary(everything, [1], return_fraction=True)
    assert fraction == pytest.approx([1.0])


def test_thin_hulls_and_repeated_members() -> None:
    rng = np.random.default_rng(2)
    thin = np.array([0.3, 0.3, 0.4]) + 1e-9 * rng.normal(size=(1, 6, 3))
    thin /= thin.sum(axis=-1, keepdims=True)
    assert cr.credal.contains(cr.Ensemble(thin), [[0.3, 0.3, 0.4]]).tolist() == [True]
    long = np.repeat(rng.dirichlet(np.ones(4), size=(20, 2)), 4, axis=1)
    long[:, :, 0] += 1e-12
    long /= long.sum(axis=-1, keepdims=True)
    inside = np.einsum("nm,nmk->nk", rng.dirichlet(np.ones(8), size=20), long)
    assert cr.credal.contains(cr.Ensemble(long), inside).all()
    zero_one = cr.Ensemble(np.eye(5)[rng.integers(0, 5, size=(50, 7))])
    mixed = np.einsum("nm,nmk->nk", rng.dirichlet(np.ones(7), size=50), zero_one.probs)
    assert cr.credal.contains(zero_one, mixed).all()


def test_beliefs_with_many_classes() -> None:
    rng = np.random.default_rng(3)
    belief = random_belief(rng, 3, 18, f=6)
    inside = belief.pignistic().probs
    assert cr.credal.contains(belief, inside).all()
    edge = cr.credal.boundary(belief, [0, 1, 2])
    assert edge[range(3), range(3)] == pytest.approx(
        cr.credal.upper_probability(belief)[range(3), range(3)], abs=0.5
    )
    assert cr.credal.contains(belief, edge).all()
    beyond = np.clip(inside + 1.01 * (edge - inside), 0, 1)
    assert not cr.credal.contains(belief, beyond / beyond.sum(axis=1, keepdims=True)).any()


def test_simplex_method_by_hand() -> None:
    # u_1 (1, 0) + u_2 (0, 1) + u_3 (1, 1) = (2, 3): u_3 = 2, u_2 = 1 has the least sum, 3
    columns = np.array([[[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]] * 2)
    assert least_total(columns, np.array([[2.0, 3.0], [-1.0, 0.0]])).tolist() == [3.0, np.inf]


def test_a_cycle_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    members = rng.dirichlet(np.ones(4), size=(10, 6))
    start = members.mean(axis=1)
    expected = hull_ray_lengths(members, start, members[:, 0] - start)
    monkeypatch.setattr("credibly.credal.simplex_method._STEPS_PER_ROW", 0)
    with pytest.raises(cr.UnsupportedError, match="must end within 0 pivots"):
        hull_ray_lengths(members, start, members[:, 0] - start)
    assert (expected >= 1 - 1e-9).all()


@pytest.mark.parametrize(
    ("probs", "words"),
    [
        ([[0.5, 0.6]], r"row 0 sums to 1\.1"),
        ([[0.2, 0.3, 0.5]], r"must have shape \(1, 2\)"),
        ([[np.nan, 0.5]], "must be finite"),
    ],
)
def test_bad_distributions(probs: list, words: str) -> None:
    for call in (cr.credal.contains, cr.credal.boundary):
        with pytest.raises(cr.InputError, match=words):
            call([[[0.5, 0.5], [0.1, 0.9]]], probs)


def test_mixtures_of_nearly_equal_corners_are_inside() -> None:
    corners = np.zeros((6, 7))
    corners[0, 6] = corners[3, 2] = corners[4, 5] = corners[5, 0] = 1.0
    corners[1, [1, 3, 4]] = 3e-4, 0.7779, 0.2218
    corners[2, [0, 2]] = 2.7e-9, 1 - 2.7e-9
    weights = np.random.default_rng(0).dirichlet(np.ones(6), size=200)
    assert cr.credal.contains(np.tile(corners, (200, 1, 1)), weights @ corners).all()
    outside = weights @ corners
    outside[:, 1] += 0.01
    assert not cr.credal.contains(
        np.tile(corners, (200, 1, 1)), outside / outside.sum(1, keepdims=True)
    ).any()
