"""How large a distortion must be before a predictive check notices it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.predictive.power import distorted
from unit.hypotests.predictive.test_predictive_check import BOTH, draw


def members_and_labels() -> tuple[np.ndarray, np.ndarray]:
    """Members that agree on most instances: their mean is sharp enough to be blurred."""
    rng = np.random.default_rng(6)
    logits = 2.0 * rng.normal(size=(300, 1, 3)) + 0.3 * rng.normal(size=(300, 10, 3))
    members = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    return members, draw(members.mean(axis=1), rng)


@pytest.fixture(scope="module")
def check() -> cr.results.PredictiveCheck:
    members, labels = members_and_labels()
    return cr.predictive_check(members, labels, statistics=["brier", "accuracy"], rng=0)


def test_power_is_the_level_where_nothing_changes_and_grows_from_there(
    check: cr.results.PredictiveCheck,
) -> None:
    curve = check.power(grid=[0.1, 1.0, 4.0], n_repeats=300, rng=1)
    for hypothesis in BOTH:
        weak, none, strong = curve.power[hypothesis]["brier"]
        assert none <= 0.12  # 0.05 within 99.9 % of 300 trials and 999 replicates
        assert weak >= 0.9
        assert strong >= 0.9
        low, high = curve.interval[hypothesis]["brier"].T
        assert (low <= curve.power[hypothesis]["brier"]).all()
        assert (curve.power[hypothesis]["brier"] <= high).all()
    assert (curve.neutral, curve.level, curve.n_repeats) == (1.0, 0.05, 300)


def test_power_is_the_share_of_rejected_data_sets(check: cr.results.PredictiveCheck) -> None:
    members, _ = members_and_labels()
    curve = check.power(grid=[2.0], n_repeats=300, rng=1)
    tempered = members**0.5
    tempered /= tempered.sum(axis=2, keepdims=True)
    rng = np.random.default_rng(5)
    result = check.independent.checks["brier"]
    low, high = result.acceptance_region
    values = np.array([float(cr.brier(members, draw(tempered.mean(axis=1), rng))) for _ in range(300)])
    rejected = np.mean((values < low) | (values > high))
    assert curve.power["independent"]["brier"][0] == pytest.approx(rejected, abs=0.12)


def test_the_smallest_noticed_distortion(check: cr.results.PredictiveCheck) -> None:
    curve = check.power(n_repeats=60)
    below, above = curve.smallest("brier", "independent")
    power = dict(zip(curve.grid.tolist(), curve.power["independent"]["brier"], strict=True))
    assert below < 1 < above
    assert all(share >= 0.8 for amount, share in power.items() if amount <= below or amount >= above)
    assert power[min(amount for amount in power if amount > below)] < 0.8
    assert power[max(amount for amount in power if amount < above)] < 0.8
    nothing = check.power(grid=[0.99, 1.0, 1.01], n_repeats=20)
    assert nothing.smallest("brier") == (None, None)


def test_progress_counts_amounts(check: cr.results.PredictiveCheck) -> None:
    told = []
    curve = check.power(n_repeats=20, grid=[0.5, 1.0, 2.0], progress=lambda *done: told.append(done))
    assert len(curve.grid) == 3
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_without_a_hypothesis_the_one_that_was_checked_answers(check: cr.results.PredictiveCheck) -> None:
    curve = check.power(n_repeats=60)
    assert curve.smallest("brier") == curve.smallest("brier", "independent")
    only = dataclasses.replace(curve, power={"bayesian": curve.power["bayesian"]})
    assert only.smallest("brier") == curve.smallest("brier", "bayesian")


def test_a_distortion_of_ones_own(check: cr.results.PredictiveCheck) -> None:
    def blur(predictions: cr.Ensemble, amount: float) -> cr.Ensemble:
        return cr.Ensemble((1 - amount) * predictions.probs + amount / 3, member_axis=1)

    curve = check.power(blur, grid=[0.0, 1.0], n_repeats=50)
    assert curve.injection == "blur"
    assert curve.power["independent"]["brier"][0] < 0.3 < curve.power["independent"]["brier"][1]


def test_distorted_predictions() -> None:
    gaussian = cr.Gaussian([[0.0, 1.0]], [[1.0, 2.0]])
    assert distorted(gaussian, "temperature", 2.0).std.tolist() == [[2.0, 4.0]]
    assert distorted(gaussian, "bias", 0.5).mean.tolist() == [[0.5, 2.0]]
    samples = cr.Samples([[[0.0, 2.0]]])  # mean 1, standard deviation 1
    assert distorted(samples, "temperature", 3.0).values.tolist() == [[[-2.0, 4.0]]]
    assert distorted(samples, "bias", 1.0).values.tolist() == [[[1.0, 3.0]]]
    joint = cr.Samples([[[0.0], [2.0]]])  # one draw per member: the spread is between them
    assert distorted(joint, "bias", 1.0).values.tolist() == [[[1.0], [3.0]]]
    point = distorted(cr.Point([[0.8, 0.2, 0.0]]), "temperature", 0.5)
    assert point.probs[0, 0] == pytest.approx([0.64 / 0.68, 0.04 / 0.68, 0.0])  # squares, normalised
    weighted = cr.Ensemble([[[0.5, 0.5], [0.8, 0.2]]], weights=[0.25, 0.75])
    assert distorted(weighted, "temperature", 1.0).weights.tolist() == [0.25, 0.75]


REFUSED = {
    "name": ({"injection": "heat"}, "temperature"),
    "number": ({"injection": 3}, "name or a function"),
    "no grid": ({"injection": lambda p, a: p}, "must be given"),
    "negative": ({"grid": [-1.0, 1.0]}, "positive"),
    "nan": ({"grid": [float("nan")]}, "finite"),
    "empty": ({"grid": []}, "finite numbers"),
    "words": ({"grid": "strong"}, "finite numbers"),
    "bias of classes": ({"injection": "bias"}, "real values"),
    "no repeats": ({"n_repeats": 0}, "positive integer"),
    "level": ({"level": 2}, "level"),
    "other type": ({"injection": lambda p, a: p.mean(), "grid": [0.0]}, "Keep type and shape"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, check: cr.results.PredictiveCheck) -> None:
    settings, message = REFUSED[case]
    with pytest.raises(cr.CrediblyError, match=message):
        check.power(**settings)


def test_unknown_names_are_refused(check: cr.results.PredictiveCheck) -> None:
    curve = check.power(grid=[1.0], n_repeats=5)
    with pytest.raises(cr.InputError, match="Did you mean 'brier'"):
        curve.smallest("briar")
    with pytest.raises(cr.InputError, match="hypothesis"):
        curve.smallest("brier", "both")


def test_a_curve_says_what_would_be_noticed(check: cr.results.PredictiveCheck) -> None:
    curve = check.power(grid=[0.1, 1.0, 4.0], n_repeats=50, rng=1)
    lines = str(curve).splitlines()
    assert lines[0] == "Power of temperature (level 0.05, 50 data sets per amount)"
    assert "  independent, brier: power 0.8 from 0.1 or less and 4 or more" in lines
    nothing = check.power(grid=[1.0], n_repeats=20, rng=1)
    assert "nothing on the grid" in str(nothing)
