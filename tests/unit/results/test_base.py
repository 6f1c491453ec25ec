"""Result objects: intervals, verdicts, and JSON that any reader understands."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly.results.base import SCHEMA_VERSION, jsonable, require_level


def hypotest(**changes):
    values = {
        "name": "calibration_test",
        "hypothesis": "calibrated",
        "statistic_name": "brier",
        "statistic": 0.5,
        "pvalue": 0.2,
        "pvalue_interval": (0.1, 0.3),
        "tail": "greater",
        "null_distribution": np.array([0.4, 0.6]),
        "acceptance_region": (0.0, 0.6),
        "effect_size": 0.0,
        "z_score": 0.0,
        "n": 10,
        "n_resamples": 999,
    }
    return cr.results.HypotestResult(**{**values, **changes})


def test_interval_is_the_normal_one():
    # 0.3 -+ 1.959964 * 0.1
    low, high = cr.results.Estimate("brier", 0.3, 0.1, 50).interval()
    assert (low, high) == pytest.approx((0.3 - 0.1959964, 0.3 + 0.1959964), abs=1e-7)
    # 1.644854 * 0.1 at 90 %
    assert cr.results.Estimate("brier", 0.3, 0.1, 50).interval(0.9)[1] == pytest.approx(0.4644854, abs=1e-7)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (297, 300), (150, 300), (1, 2)])
def test_shares_have_wilsons_interval(hits, n):
    estimate = cr.results.Estimate("accuracy", hits / n, 0.0, n, interval_method="wilson")
    reference = scipy.stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    assert estimate.interval(0.9) == pytest.approx((reference.low, reference.high))


def test_interval_is_refused_with_its_reason():
    with pytest.raises(cr.UnsupportedError, match="no standard error here"):
        cr.results.Estimate("x", 0.3, None, 50).interval()
    with pytest.raises(
        cr.UnsupportedError, match=r"`x` is given only where.*biased upwards.*calibration_test"
    ):
        cr.results.Estimate("x", 0.3, 0.1, 50, interval_refusal="it is biased upwards").interval()


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, math.nan, "0.9", None])
def test_levels_lie_strictly_between_0_and_1(level):
    with pytest.raises(cr.InputError, match=r"`level` must lie strictly between 0 and 1; got .* Write 0.95"):
        require_level(level)
    with pytest.raises(cr.InputError, match="`level`"):
        cr.results.Estimate("x", 0.3, 0.1, 50).interval(level)
    with pytest.raises(cr.InputError, match="`level`"):
        hypotest().rejects(level)


def test_estimate_reads_as_a_number():
    estimate = cr.results.Estimate("brier", 0.25, 0.125, 4)
    assert float(estimate) == 0.25
    assert str(estimate) == "brier 0.25 ± 0.12 (n = 4)"
    assert str(cr.results.Estimate("brier", 0.25, None, 4)) == "brier 0.25 (n = 4)"


def test_the_decision_follows_from_the_pvalue():
    assert hypotest(pvalue=0.05).rejects(0.05)
    assert not hypotest(pvalue=0.0501).rejects(0.05)
    assert hypotest(pvalue=0.0501).rejects(0.06)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"pvalue": 0.01}, "conflict"),
        ({"pvalue": 0.2}, "no conflict found"),
        # the smallest p-value of 9 replicates is 1 / 10, of 19 it is 1 / 20
        ({"n_resamples": 9}, "cannot tell"),
        ({"n_resamples": 19}, "no conflict found"),
        # two-sided it is 2 / 20, and 2 / 40 with 39
        ({"n_resamples": 19, "tail": "two-sided"}, "cannot tell"),
        ({"n_resamples": 39, "tail": "two-sided"}, "no conflict found"),
        # values up to 0.6 of 1 are accepted: more than half
        ({"statistic_range": (0.0, 1.0)}, "cannot tell"),
        ({"statistic_range": (0.0, 2.0)}, "no conflict found"),
        # a test without replicates has no smallest p-value
        ({"n_resamples": 0}, "no conflict found"),
        ({"n_resamples": 9, "pvalue": 0.03}, "conflict"),
        # an adjusted p-value that stays above the level though no replicate is as extreme
        ({"statistic": 0.7, "pvalue": 0.06}, "cannot tell"),
        # the adjusted p-value decides, not the test's own
        ({"pvalue": 0.01, "adjusted_pvalue": 0.06}, "no conflict found"),
        ({"pvalue": 0.01, "adjusted_pvalue": 0.05}, "conflict"),
        ({"statistic": 0.7, "pvalue": 0.01, "adjusted_pvalue": 0.06}, "cannot tell"),
        ({"statistic": 0.3, "pvalue": 0.06}, "no conflict found"),
        ({"statistic": 0.3, "pvalue": 0.06, "tail": "two-sided"}, "cannot tell"),
        ({"statistic": 0.6, "pvalue": 0.06}, "no conflict found"),  # a tie is not beyond
        ({"statistic": 0.7, "pvalue": 0.06, "null_distribution": None}, "no conflict found"),
        # 60 of 999 replicates have the largest value: whatever the labels, nothing is rejected at 5 %
        ({"null_distribution": np.repeat([0.4, 0.6], [939, 60])}, "cannot tell"),
        ({"null_distribution": np.repeat([0.4, 0.6], [949, 50])}, "no conflict found"),
        # two-sided, either end would do: 2 x 30 and 2 x 20 of 999
        (
            {"null_distribution": np.repeat([0.4, 0.5, 0.6], [30, 939, 30]), "tail": "two-sided"},
            "cannot tell",
        ),
        ({"null_distribution": np.repeat([0.4, 0.6], [20, 979]), "tail": "two-sided"}, "no conflict found"),
    ],
)
def test_verdict(changes, verdict):
    assert hypotest(**changes).verdict() == verdict
    assert str(hypotest(**changes)).endswith(f": {verdict}")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"n_clusters": 3}, "3 clusters give no p-value below 0.25"),
        ({"n_resamples": 9}, "9 replicates give no p-value below 0.1; 19 are needed"),
        ({"null_distribution": np.full(999, 0.5)}, "these predictions allow no other value"),
        (
            {"null_distribution": np.repeat([0.4, 0.6], [939, 60])},
            "no labels could give a p-value below 0.06",
        ),
        ({"statistic_range": (0.0, 1.0)}, "this check would accept anything from 0 to 0.6"),
    ],
)
def test_the_reason_why_nothing_could_be_rejected_is_told(changes, reason):
    assert hypotest(**changes).why_not() == reason


def test_a_test_reads_in_one_line():
    line = str(hypotest())
    assert line == (
        "brier 0.5, 95 % acceptance 0 to 0.6, p = 0.2 (Monte-Carlo 0.1 to 0.3): no conflict found"
    )
    assert "to 0.3), adjusted 0.4: no conflict found" in str(hypotest(adjusted_pvalue=0.4))


def test_a_rejection_is_of_the_tests_own_pvalue():
    among = hypotest(pvalue=0.01, adjusted_pvalue=0.06)
    assert among.rejects()
    assert (among.deciding_pvalue, hypotest(pvalue=0.01).deciding_pvalue) == (0.06, 0.01)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.True_, True),
        (True, True),
        (None, None),
        (np.array([[1.0, np.nan]]), [[1.0, "NaN"]]),
        ({1: (2, np.inf)}, {"1": [2, "Infinity"]}),
        (frozenset({4}), [4]),
        (Path("a"), "a"),
    ],
)
def test_jsonable(value, expected):
    found = jsonable(value)
    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found, allow_nan=False)


def test_tensors_are_jsonable(library):
    assert jsonable(library.asarray([1.0, math.inf])) == [1.0, "Infinity"]


def test_dataclasses_are_jsonable():
    @dataclasses.dataclass
    class Pair:
        left: float
        right: np.ndarray

    assert jsonable([Pair(1.0, np.array([2]))]) == [{"left": 1.0, "right": [2]}]


def test_to_dict_round_trips_through_json():
    result = hypotest(
        z_score=math.nan,
        settings={"seed": (np.uint64(3), 4)},
        components={"brier": hypotest(null_distribution=None)},
    )
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["schema_version"] == SCHEMA_VERSION
    assert record["type"] == "HypotestResult"
    assert record["null_distribution"] == [0.4, 0.6]
    assert record["z_score"] == "NaN"
    assert record["settings"]["seed"] == [3, 4]
    assert record["components"]["brier"]["type"] == "HypotestResult"
    assert record["components"]["brier"]["schema_version"] == SCHEMA_VERSION


def test_results_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        cr.results.Estimate("x", 0.3, None, 5).value = 1.0  # type: ignore[misc]


PROBS = np.random.default_rng(3).dirichlet(np.ones(3), size=(400, 3))
CLASSES = np.random.default_rng(4).integers(0, 3, size=400)


def _counted() -> cr.LabelCounts:
    return cr.LabelCounts(np.random.default_rng(5).integers(1, 4, size=(400, 3)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: cr.uncertainty(PROBS),
        lambda: cr.reliability_curve(PROBS, CLASSES, n_resamples=9),
        lambda: cr.risk_coverage_curve(PROBS, CLASSES),
        lambda: cr.raters.decompose_loss(PROBS, _counted()),
        lambda: cr.raters.decompose_disagreement(PROBS, _counted()),
        lambda: cr.decompose_brier(PROBS, CLASSES),
        lambda: cr.predictive_check(PROBS, CLASSES, n_resamples=19).bayesian,
        lambda: cr.calibration_test(PROBS, CLASSES, statistics=("brier", "accuracy"), n_resamples=19),
        lambda: cr.epistemic_score(PROBS, CLASSES, dependences=False),
    ],
)
def test_what_notebooks_and_print_show_is_short(make: Callable[[], Any]) -> None:
    found = make()
    assert len(found._repr_html_()) < 1500
    assert all(len(line) < 200 for line in str(found).splitlines())
    assert repr(found).startswith(f"<{type(found).__name__}: ")
    assert len(repr(found)) < 220
    assert "\n" not in repr(found)


def test_print_shows_arrays_by_their_size() -> None:
    lines = str(cr.uncertainty(np.array([[[0.5, 0.5]] * 2] * 9))).splitlines()
    assert lines[0] == "Uncertainty"
    assert "  total: array (9,), 0.6931 to 0.6931" in lines  # log 2
    assert "  n: 9" in lines


@pytest.mark.parametrize(
    "make",
    [
        lambda: cr.calibration_test(PROBS, CLASSES, statistics="brier", n_resamples=19),
        lambda: cr.predictive_check(PROBS, CLASSES, n_resamples=19),
        lambda: cr.predictive_check(PROBS, CLASSES, n_resamples=19).bayesian,
        lambda: cr.coverage_curve(cr.Gaussian(np.zeros(5), np.ones(5)), np.zeros(5), n_resamples=19),
    ],
)
def test_a_test_is_neither_true_nor_false(make: Callable[[], Any]) -> None:
    found = make()
    with pytest.raises(cr.InputTypeError, match=r"neither true nor false.*Use `.rejects\(level\)`"):
        bool(found)
