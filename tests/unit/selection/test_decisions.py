"""What decisions cost: sums by hand, coverage by simulation, Murphy curves against the Brier score."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr

COSTS = np.array([[0.0, 5.0, 9.0], [1.0, 0.0, 4.0], [2.0, 2.0, 0.0], [1.5, 1.5, 1.5]])
VALUE = cr.selection.decision_costs
MURPHY = cr.selection.murphy_curve


def world(n: int, seed: int, power: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(3), size=n)
    labels = np.minimum((rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1), 2)
    stated = truth**power
    return stated / stated.sum(axis=1, keepdims=True), labels


def test_every_number_is_the_loop_over_instances() -> None:
    probs, labels = world(60, 1)
    paid, stated, fixed, least, taken = [], [], [], [], []
    for p, y in zip(probs, labels, strict=True):
        expected = [sum(p[c] * COSTS[a, c] for c in range(3)) for a in range(4)]
        a = int(np.argmin(expected))
        taken.append(a)
        paid.append(COSTS[a, y])
        stated.append(expected[a])
        fixed.append(COSTS[:, y])
        least.append(COSTS[:, y].min())
    found = VALUE(probs, labels, costs=COSTS, actions=["a", "b", "c", "d"])
    best = np.mean(fixed, axis=0)
    assert found.cost.value == pytest.approx(np.mean(paid))
    assert found.cost.stderr == pytest.approx(np.std(paid, ddof=1) / 60**0.5)
    assert found.stated.value == pytest.approx(np.mean(stated))
    assert found.gap.value == pytest.approx(np.mean(stated) - np.mean(paid))
    assert found.best_fixed == "abcd"[int(best.argmin())]
    assert found.net_benefit.value == pytest.approx(best.min() - np.mean(paid))
    assert found.regret.value == pytest.approx(np.mean(paid) - np.mean(least))
    assert found.chosen == {name: taken.count(place) for place, name in enumerate("abcd")}
    rows = np.array(taken) == 2
    assert found.gap_by_action["c"].value == pytest.approx(np.mean(np.subtract(stated, paid)[rows]))
    assert found.gap_by_action["c"].n == rows.sum()
    assert str(found).startswith("decisions cost ")


def test_an_action_that_is_taken_seldom_has_no_interval() -> None:
    probs = np.tile([0.5, 0.5], (40, 1))
    probs[:3] = [0.99, 0.01]
    found = VALUE(probs, np.arange(40) % 2, costs=[[0, 9], [2, 1]])
    assert found.chosen == {"0": 3, "1": 37}
    with pytest.raises(cr.UnsupportedError, match="intervals need 30 instances; got 3"):
        found.gap_by_action["0"].interval()
    assert found.gap_by_action["1"].has_interval


def test_decisions_of_a_calibrated_model_cost_what_they_say() -> None:
    """95 % intervals of the gap hold 0 in 95 % of 120 data sets, give or take 3 standard errors."""
    held = missed = 0
    for seed in range(120):
        low, high = VALUE(*world(200, seed), costs=COSTS).gap.interval()
        held += low <= 0 <= high
        missed += VALUE(*world(200, seed, power=3.0), costs=COSTS).gap.interval()[1] < 0
    assert 0.89 <= held / 120 <= 1.0
    assert missed / 120 > 0.9  # a model that is too sure pays more than it says


def test_the_area_of_the_murphy_curve_is_half_the_brier_score() -> None:
    probs, labels = world(300, 3)
    curve = MURPHY(probs, labels, target=1, n_points=9999)
    event = labels == 1
    assert 2 * curve.cost.mean() == pytest.approx(np.mean((probs[:, 1] - event) ** 2), abs=2e-4)
    share = event.mean()
    assert 2 * curve.constant.mean() == pytest.approx(share * (1 - share), abs=2e-4)


def test_costs_at_a_threshold_are_the_loop_over_instances() -> None:
    probs, labels = world(50, 4)
    probs = np.round(probs, 1) / np.round(probs, 1).sum(axis=1, keepdims=True)  # some at a threshold
    curve = MURPHY(probs, labels, target=2, n_points=9)
    for place, t in enumerate(curve.thresholds):
        costs = [
            (t if p > t else 0.0) if y != 2 else (0.0 if p > t else 1 - t)
            for p, y in zip(probs[:, 2], labels, strict=True)
        ]
        assert curve.cost[place] == pytest.approx(np.mean(costs))
        assert curve.stderr[place] == pytest.approx(np.std(costs, ddof=1) / 50**0.5)
    low, high = curve.band
    assert np.allclose(high - curve.cost, 1.959964 * curve.stderr)
    assert (low >= 0).all()


def test_it_is_drawn_and_says_what_it_shows() -> None:
    probs, labels = world(200, 5)
    curve = MURPHY(probs, labels)
    display = cr.plots.picture(curve)
    assert display.finding.startswith(
        "Acting on these predictions costs less than one prediction for all at "
    )
    (line,) = [line for line in curve.plot().lines if line.get_label() == "these predictions"]
    assert np.array_equal(line.get_ydata(), curve.cost)
    both = cr.plots.murphy({"a": probs, "b": probs[:, ::-1]}, labels)
    assert [line.get_label() for line in both.lines] == ["one prediction for all", "a", "b"]
    assert len(display.table().rows) == 11
    assert str(curve).startswith("Murphy curve of class 1 (n = 200): largest cost")


def test_rows_in_chunks_give_the_same(tmp_path) -> None:
    probs, labels = world(100, 6)
    np.savez(tmp_path / "rows.npz", probs=probs, labels=labels)
    rows = cr.scan(tmp_path / "rows.npz", chunk_rows=33)
    assert VALUE(rows, costs=COSTS).to_dict() == VALUE(probs, labels, costs=COSTS).to_dict()
    assert MURPHY(rows).to_dict() == MURPHY(probs, labels).to_dict()


def test_bad_input() -> None:
    probs, labels = world(10, 7)
    with pytest.raises(cr.InputError, match=r"a column per class \(3\); got shape \(2, 2\)"):
        VALUE(probs, labels, costs=[[0, 1], [1, 0]])
    with pytest.raises(cr.InputError, match="`actions` must name each of the 4 rows"):
        VALUE(probs, labels, costs=COSTS, actions=["a", "a", "b", "c"])
    with pytest.raises(cr.InputError, match="`target` must be a class from 0 to 2"):
        MURPHY(probs, labels, target=3)
    counts = cr.LabelCounts(np.ones((10, 3), dtype=int))
    with pytest.raises(cr.UnsupportedError, match="takes one unweighted label per instance"):
        VALUE(probs, counts, costs=COSTS)
    with pytest.raises(cr.InputTypeError, match="needs class predictions"):
        MURPHY(cr.Gaussian(np.zeros(3), np.ones(3)), np.zeros(3))


def test_errors_are_those_of_clusters() -> None:
    """Every row twice, as a cluster: the error is that of half as many rows."""
    probs, labels = world(200, 8)
    twice = np.repeat(np.arange(200), 2)
    rows = cr.Dataset(cr.Point(probs[twice]), labels[twice], clusters=twice)
    once, found = VALUE(probs, labels, costs=COSTS), VALUE(rows, costs=COSTS)
    assert found.gap.stderr == pytest.approx(once.gap.stderr, rel=0.02)
    assert found.gap.n_clusters == 200
    assert VALUE(probs[twice], labels[twice], costs=COSTS, clusters=twice).gap == found.gap
    alone, both = MURPHY(probs, labels, n_points=9), MURPHY(rows, n_points=9)
    assert both.stderr == pytest.approx(alone.stderr, rel=0.02)
    assert both.n_clusters == 200
    assert both.degrees_of_freedom == pytest.approx(np.full(9, 199.0))
    # of 5 clusters no interval is told
    assert np.isnan(MURPHY(probs, labels, n_points=9, clusters=np.arange(200) % 5).stderr).all()


def test_costs_that_are_not_finite_are_named() -> None:
    with pytest.raises(cr.InputError, match="got NaN or infinity"):
        VALUE([[0.5, 0.5]], [0], costs=[[0, np.nan], [1, 1]])
