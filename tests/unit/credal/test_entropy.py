"""Upper and lower entropies against general solvers and all corners."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from credibly.credal.entropy import least_over_intervals, least_over_orders
from credibly.credal.filling import _sweep
from credibly.credal.newton import _gradient, nearest_weights
from unit.credal.oracles import (
    KINDS,
    best_over_hull,
    corners,
    entropy,
    every_kind,
    random_belief,
    random_ensemble,
    random_intervals,
)


def negative_entropy(p: np.ndarray) -> float:
    return -entropy(p)


@pytest.mark.parametrize("kind", KINDS)
def test_upper_entropy_by_slsqp(kind: str) -> None:
    rng = np.random.default_rng(0)
    credal = every_kind(rng, n=4, k=3)[kind]
    expected = [
        -best_over_hull(negative_entropy, np.unique(p.round(12), axis=0), rng) for p in corners(credal)
    ]
    found = cr.credal.upper_entropy(credal)
    # Ours is certified within 1e-6 below the maximum; SLSQP is never above it.
    assert (found <= np.array(expected) + 1e-7).all()
    assert (found >= np.array(expected) - 1e-6).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 4, 5])
def test_lower_entropy_by_all_corners(kind: str, k: int) -> None:
    credal = every_kind(np.random.default_rng(k), n=6, k=k)[kind]
    expected = [min(entropy(np.maximum(p, 0)) for p in points) for points in corners(credal)]
    assert cr.credal.lower_entropy(credal) == pytest.approx(expected, abs=1e-9)


def test_values_by_hand() -> None:
    vacuous = cr.Intervals([[0.0, 0.0, 0.0]], [[1.0, 1.0, 1.0]])
    assert cr.credal.upper_entropy(vacuous, base=3).tolist() == pytest.approx([1.0])
    assert cr.credal.lower_entropy(vacuous).tolist() == [0.0]
    # p = clip(c, l, u): 0.5 is forced on class 0, the rest is shared evenly
    shared = cr.Intervals([[0.5, 0.0, 0.0]], [[0.9, 1.0, 1.0]])
    assert cr.credal.upper_entropy(shared).tolist() == pytest.approx([entropy(np.array([0.5, 0.25, 0.25]))])
    # Bel({0}) / 1 = 0.6 is the largest belief per class; the rest goes to class 1
    belief = cr.Belief([[0.6, 0.4]], [{0}, {0, 1}])
    assert cr.credal.upper_entropy(belief).tolist() == pytest.approx([entropy(np.array([0.6, 0.4]))])
    assert cr.credal.lower_entropy(belief).tolist() == [0.0]


def test_greedy_filling_in_class_order_is_wrong_and_not_what_is_done() -> None:
    rng = np.random.default_rng(1)
    intervals = random_intervals(rng, 200, 6).reachable()
    greedy = []
    for low, high in zip(intervals.lower, intervals.upper, strict=True):
        p, left = low.copy(), 1 - low.sum()
        for j in range(6):
            step = min(left, high[j] - low[j])
            p[j] += step
            left -= step
        greedy.append(entropy(p))
    found = cr.credal.lower_entropy(intervals)
    assert (found <= np.array(greedy) + 1e-9).all()
    assert (found < np.array(greedy) - 1e-6).mean() > 0.5


@pytest.mark.parametrize("k", [3, 7, 10])
def test_branch_and_bound_is_the_shortest_path(k: int) -> None:
    intervals = random_intervals(np.random.default_rng(k), 30, k).reachable()
    low, high = intervals.lower, intervals.upper
    bounded = least_over_intervals(low, high, 1e-9)
    path = least_over_orders(intervals)
    assert bounded == pytest.approx(path, abs=2e-9)


def test_branch_and_bound_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    intervals = random_intervals(np.random.default_rng(2), 40, 8)
    expected = cr.credal.lower_entropy(intervals, tolerance=1e-9)
    monkeypatch.setattr("credibly.credal.entropy._NODE_ELEMENTS", 1)
    assert cr.credal.lower_entropy(intervals, tolerance=1e-9) == pytest.approx(expected, abs=2e-9)
    monkeypatch.setattr("credibly.credal.entropy._NODES_PER_ROW", 0)
    with pytest.raises(cr.UnsupportedError, match="certified within 1e-06; instances are still open"):
        cr.credal.lower_entropy(intervals)


def test_many_classes_stay_certified() -> None:
    rng = np.random.default_rng(3)
    wide = random_intervals(rng, 5, 60)
    low, high = cr.credal.lower_entropy(wide), cr.credal.upper_entropy(wide)
    assert (low < high).all()
    belief = random_belief(rng, 3, 20, f=10)
    upper = cr.credal.upper_entropy(belief, tolerance=1e-8)
    assert (upper >= entropy_of(belief.pignistic().probs) - 1e-8).all()


def entropy_of(probs: np.ndarray) -> np.ndarray:
    return np.array([entropy(p) for p in probs])


def test_levelling_sets_in_turn_is_the_greedy_algorithm() -> None:
    belief = random_belief(np.random.default_rng(4), 20, 5)
    exact = cr.credal.upper_entropy(belief)
    levelled = _sweep(belief, np.ones((20, 5)), "entropy", 1e-10)
    assert entropy_of(levelled) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("m", "k"), [(2, 3), (10, 10), (40, 4), (6, 50), (3, 3)])
@pytest.mark.parametrize("kind", ["entropy", "kl"])
def test_newton_closes_the_duality_gap(m: int, k: int, kind: str) -> None:
    rng = np.random.default_rng(m)
    members = rng.dirichlet(np.full(k, 0.3), size=(50, m))
    members[:10] = np.eye(k)[rng.integers(0, k, size=(10, m))]  # zero-one members
    members[10:20] = members[10:20, :1]  # all members the same
    target = rng.dirichlet(np.full(k, 0.3), size=50)
    target[20:30] = np.eye(k)[rng.integers(0, k, size=10)]
    weights = nearest_weights(kind, members, target, 1e-8)
    assert weights.sum(axis=1) == pytest.approx(np.ones(50))
    assert weights.min() >= 0
    gradient = _gradient(kind, members, target, weights)
    assert ((weights * gradient).sum(axis=1) - gradient.min(axis=1)).max() <= 1e-8


@pytest.mark.parametrize("kind", ["entropy", "kl"])
def test_saturated_members(kind: str) -> None:
    # Two members that each leave class 1 about 1e-200 and 1e-300: squares of that are 0 in double precision.
    members = np.array([[[1.0, 1e-200, 1e-12], [1.0 - 1e-12, 1e-300, 1e-12], [0.5, 0.0, 0.5]]])
    target = np.array([[0.5, 0.3, 0.2]])
    weights = nearest_weights(kind, members, target, 1e-9)
    assert weights.sum() == pytest.approx(1.0)
    if kind == "kl":
        # Only member 0 has class 1 to speak of: minimise -0.3 ln w_0 - 0.5 ln(1 - w_2 / 2) - 0.2 ln(w_2 / 2)
        # along w_0 + w_2 = 1 (member 1 is member 0 without class 1).
        grid = np.linspace(0.01, 0.99, 9801)
        values = -0.3 * np.log(1 - grid) - 0.5 * np.log(1 - grid / 2) - 0.2 * np.log(grid / 2)
        assert weights[0, 2] == pytest.approx(grid[np.argmin(values)], abs=2e-4)
        assert weights[0, 1] == pytest.approx(0.0, abs=1e-6)


def test_a_tolerance_out_of_reach_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credibly.credal.newton._MAX_STEPS", 2)
    monkeypatch.setattr("credibly.credal.filling._MAX_SWEEPS", 1)
    rng = np.random.default_rng(7)
    for credal in (random_ensemble(rng, 3, 4, 5), random_belief(rng, 3, 17, f=20)):
        with pytest.raises(cr.UnsupportedError, match=r"must be certified within 1e-09; .*Pass a larger"):
            cr.credal.upper_entropy(credal, tolerance=1e-9)
    for call in (cr.credal.upper_entropy, cr.credal.lower_entropy):
        with pytest.raises(cr.InputError, match="`tolerance` must be a positive number"):
            call([[0.5, 0.5]], tolerance=0.0)


@pytest.mark.parametrize("base", [0, -2, 1, math.nan, "2"])
def test_bad_base(base: float) -> None:
    with pytest.raises(cr.InputError, match="`base` must "):
        cr.credal.upper_entropy([[0.5, 0.5]], base=base)


def test_graph_of_tensors_goes_through_the_maximum() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    probs = torch.tensor(random_ensemble(np.random.default_rng(8), 2, 3, 4).probs, requires_grad=True)
    value = cr.credal.upper_entropy(cr.Ensemble(probs), tolerance=1e-10).sum()
    value.backward()
    # By the envelope theorem the gradient is that of H at fixed weights: compare with a finite difference.
    step = torch.zeros_like(probs)
    step[0, 1, 0], step[0, 1, 1] = 1e-5, -1e-5
    with torch.no_grad():
        up, down = (
            cr.credal.upper_entropy(cr.Ensemble(probs + s * step), tolerance=1e-12).sum() for s in (1, -1)
        )
    slope = (probs.grad * step).sum()
    assert float((up - down) / 2) == pytest.approx(float(slope), abs=1e-8)
