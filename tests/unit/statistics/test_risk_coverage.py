"""Risk-coverage curves against every order that ties allow, and areas against their definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credibly as cr
from libraries import Library

PROBS = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]


def all_orders(sureness: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Mean over all orders that do not put a less sure instance first of the mean loss of the first j."""
    orders = [
        order
        for order in itertools.permutations(range(len(loss)))
        if all(sureness[a] >= sureness[b] for a, b in itertools.pairwise(order))
    ]
    places = np.arange(1, len(loss) + 1)
    return np.mean([np.cumsum(loss[list(order)]) / places for order in orders], axis=0)


def binary(confidence: np.ndarray) -> np.ndarray:
    return np.stack([confidence, 1 - confidence], axis=1)


def test_by_hand() -> None:
    curve = cr.risk_coverage_curve(PROBS, [0, 1, 0, 1])
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.risk == pytest.approx([0, 1 / 2, 1 / 3, 2 / 4])
    assert float(curve.area) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert curve.best == pytest.approx([0, 0, 1 / 3, 2 / 4])  # the two right answers first
    assert float(curve.excess) == pytest.approx((1 / 2) / 4)
    assert curve.stated == pytest.approx([0.1, 0.3 / 2, 0.6 / 3, 1.0 / 4])
    assert curve.stated_area == pytest.approx((0.1 + 0.15 + 0.2 + 0.25) / 4)
    assert curve.threshold.tolist() == [0.9, 0.8, 0.7, 0.6]
    assert curve.by == "confidence"


@pytest.mark.parametrize("n_points", [1, 2, 3])
def test_the_risk_of_all_is_always_kept(n_points: int) -> None:
    curve = cr.risk_coverage_curve(PROBS, [1, 0, 0, 0], n_points=n_points)
    assert (curve.coverage[-1], curve.risk[-1]) == (1.0, 0.25)
    assert len(curve.coverage) == n_points
    assert "risk 0.25 of all" in str(curve)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.6, 0.75, 0.9]), st.booleans()), min_size=1, max_size=6))
def test_ties_give_the_mean_over_all_orders(rows: list[tuple[float, bool]]) -> None:
    sureness = np.array([sure for sure, _ in rows])
    wrong = np.array([float(miss) for _, miss in rows])
    curve = cr.risk_coverage_curve(binary(sureness), wrong.astype(int))
    assert curve.risk == pytest.approx(all_orders(sureness, wrong))
    assert float(curve.area) == pytest.approx(all_orders(sureness, wrong).mean())
    assert curve.best == pytest.approx(all_orders(-wrong, wrong))
    assert float(curve.excess) >= -1e-12


def test_row_order_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    probs, labels = binary(rng.choice([0.6, 0.8, 0.95], size=50)), rng.integers(0, 2, size=50)
    mixed = rng.permutation(50)
    one, other = cr.risk_coverage_curve(probs, labels), cr.risk_coverage_curve(probs[mixed], labels[mixed])
    assert one.risk == pytest.approx(other.risk)
    assert one.area.stderr == pytest.approx(other.area.stderr)
    assert one.excess.stderr == pytest.approx(other.excess.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
def test_standard_errors_are_those_of_leaving_one_out(ties: bool) -> None:
    # the jackknife estimates the same variance from n areas, each without one instance
    rng = np.random.default_rng(5)
    n = 400
    confidence = rng.uniform(0.5, 1.0, size=n).round(1 if ties else 6)
    labels = (rng.random(n) > confidence).astype(int)
    whole = cr.risk_coverage_curve(binary(confidence), labels)
    left_out = [
        cr.risk_coverage_curve(binary(np.delete(confidence, i)), np.delete(labels, i)) for i in range(n)
    ]
    for name in ("area", "excess"):
        values = np.array([float(getattr(one, name)) for one in left_out])
        jackknife = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
        assert getattr(whole, name).stderr == pytest.approx(jackknife, rel=0.03)


def test_the_best_order_has_no_excess() -> None:
    curve = cr.risk_coverage_curve(PROBS, [0, 0, 0, 1])
    assert float(curve.excess) == pytest.approx(0.0, abs=1e-13)
    assert curve.risk.tolist() == curve.best.tolist()


def test_another_order_can_be_given() -> None:
    curve = cr.risk_coverage_curve(PROBS, [0, 1, 0, 1], confidence=[1, 3, 2, 4], by="a guess")
    assert curve.by == "a guess"
    assert curve.threshold.tolist() == [4, 3, 2, 1]
    assert curve.risk == pytest.approx([1, 1, 2 / 3, 1 / 2])
    assert curve.stated == pytest.approx([0.4, 0.6 / 2, 0.9 / 3, 1.0 / 4])
    assert cr.risk_coverage_curve(PROBS, [0, 1, 0, 1], confidence=[1, 3, 2, 4]).by == "the given order"


def test_of_raters_the_share_that_chose_another_class_is_the_loss() -> None:
    counts = cr.LabelCounts([[3, 1], [2, 2]])
    curve = cr.risk_coverage_curve([[0.9, 0.1], [0.8, 0.2]], counts)
    assert curve.risk == pytest.approx([1 / 4, (1 / 4 + 2 / 4) / 2])


def test_sets_answer_with_their_mean_and_say_so() -> None:
    members = [[[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.4, 0.6]]]
    curve = cr.risk_coverage_curve(cr.Ensemble(members, member_axis=1), [0, 0])
    assert curve.threshold == pytest.approx([0.7, 0.7])
    assert curve.risk == pytest.approx([0.5, 0.5])  # tied, one of two wrong
    assert any("mean" in note for note in curve.notes)


def test_rounding_breaks_no_tie() -> None:
    again = 0.1 + 0.2 + 0.4  # 0.7 but for its last digit
    assert again != 0.7
    curve = cr.risk_coverage_curve([[0.7, 0.3], [again, 1 - again]], [0, 1])
    assert curve.risk == pytest.approx([0.5, 0.5])
    sure = cr.risk_coverage_curve(PROBS, [0, 1, 0, 1], confidence=[np.inf, np.inf, 0, -np.inf])
    assert sure.risk == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 2])


def test_many_rows_keep_few_points_and_the_whole_area() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1.0, size=5000)
    labels = (rng.random(5000) > confidence).astype(int)
    few = cr.risk_coverage_curve(binary(confidence), labels, n_points=10)
    whole = cr.risk_coverage_curve(binary(confidence), labels, n_points=5000)
    assert len(few.coverage) == 10
    assert (few.coverage[-1], few.risk[-1]) == (1.0, whole.risk[-1])
    assert float(few.area) == float(whole.area) == pytest.approx(whole.risk.mean())
    assert few.stated_area == pytest.approx(whole.stated.mean())


def test_one_instance_and_none_wrong_have_no_interval() -> None:
    one = cr.risk_coverage_curve([[0.9, 0.1]], [1])
    assert (one.risk.tolist(), float(one.area), one.area.stderr) == ([1.0], 1.0, None)
    with pytest.raises(cr.UnsupportedError, match="one instance"):
        one.area.interval()
    right = cr.risk_coverage_curve(PROBS, [0, 0, 0, 0])
    assert float(right.area) == 0.0
    with pytest.raises(cr.UnsupportedError, match="contribute the same"):
        right.area.interval()


def test_every_library_gives_the_same(library: Library) -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), size=40).round(1)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = rng.integers(0, 3, size=40)
    here = cr.risk_coverage_curve(library.asarray(probs), library.asarray(labels))
    there = cr.risk_coverage_curve(probs, labels)
    assert here.risk == pytest.approx(there.risk, abs=1e-13)
    assert float(here.area) == pytest.approx(float(there.area), abs=1e-13)
    ordered = cr.risk_coverage_curve(
        library.asarray(probs), library.asarray(labels), confidence=library.asarray(-probs[:, 0])
    )
    assert ordered.threshold == pytest.approx(np.sort(-probs[:, 0])[::-1])


@pytest.mark.parametrize(
    ("confidence", "said"),
    [
        ([0.1, 0.2], r"one number per prediction \(4\)"),
        ([[0.1], [0.2], [0.3], [0.4]], "shape"),
        ([0.1, np.nan, 0.3, 0.4], "row 1 is NaN"),
        (["a", "b", "c", "d"], "one number per prediction"),
    ],
)
def test_other_orders_are_refused(confidence: Any, said: str) -> None:
    with pytest.raises(cr.InputError, match=said):
        cr.risk_coverage_curve(PROBS, [0, 1, 0, 1], confidence=confidence)


def test_real_values_and_no_points_are_refused() -> None:
    with pytest.raises(cr.InputTypeError, match="class probabilities"):
        cr.risk_coverage_curve(cr.Gaussian([0.0], [1.0]), [0.5])
    with pytest.raises(cr.InputError, match="n_points"):
        cr.risk_coverage_curve(PROBS, [0, 1, 0, 1], n_points=0)
