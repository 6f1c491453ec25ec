"""The words of a verdict: three answers, size and limit beside each, and no praise."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation import PredictionSummary, shown, shown_range, title
from credibly.evaluation.effect_sentences import group_of, range_of
from credibly.evaluation.words import verdicts
from credibly.results.numbers import joined
from credibly.results.tests import HypotestResult

FORBIDDEN = re.compile(r"\b(calibrated|passed|passes|valid|good|fine|ok)\b", re.IGNORECASE)
POINT = PredictionSummary("Point", 10, 1, 3, "float64")


def result(**changes: Any) -> HypotestResult:
    """ECE 0.3 against 99 replicates 0.01, 0.02, ... 0.99: by hand, 70 of them are at least 0.3."""
    made = HypotestResult(
        name="calibration_test",
        hypothesis="h",
        statistic_name="confidence_ece",
        statistic=0.3,
        pvalue=0.71,  # (1 + 70) / (1 + 99)
        pvalue_interval=(0.6, 0.8),
        tail="greater",
        null_distribution=np.arange(1, 100) / 100,
        acceptance_region=(0.0, 0.95),
        effect_size=-0.2,
        z_score=-0.7,
        n=10,
        n_resamples=99,
    )
    return dataclasses.replace(made, **changes)


def one(level: float = 0.05, kind: PredictionSummary = POINT, **changes: Any) -> Any:
    (verdict,) = verdicts({"confidence_ece": result(**changes)}, kind, level)
    return verdict


def test_no_conflict_shows_what_would_be_accepted() -> None:
    verdict = one()
    # 5 of 99 replicates may be as extreme: the region ends at the fifth largest, 0.95
    assert verdict.limit == (-np.inf, 0.95)
    assert verdict.finding == "Confidence ECE 0.3: no conflict found, but this check would accept up to 0.95."


def test_a_verdict_reads_as_its_sentence() -> None:
    assert str(one()) == one().sentence


def test_acceptance_region_belongs_to_the_level() -> None:
    assert one(level=0.2).limit == (-np.inf, 0.8)  # twenty of them: the twentieth largest


def test_conflict_has_value_limit_pvalue_interval_tail_size_and_scope() -> None:
    verdict = one(
        statistic=0.97, pvalue=0.04, pvalue_interval=(0.01, 0.1), effect_size=0.47, adjusted_pvalue=0.05
    )
    assert verdict.word == "conflict"
    assert verdict.sentence == (
        "Confidence ECE 0.97 is above what would be expected if these predictions were right "
        "(95 % acceptance up to 0.95): stated confidence and observed accuracy differ by more than chance "
        "explains. "
        "p = 0.04 (95 % Monte-Carlo interval 0.01 to 0.1, upper tail); "
        "0.47 above the mean of the replicates; n = 10, m = 1, 99 replicates."
    )
    ensemble = dataclasses.replace(POINT, kind="Ensemble", m=5)
    said = one(kind=ensemble, statistic=0.97, pvalue=0.04, effect_size=0.47).sentence
    assert "m = 5" in said


def test_the_adjusted_pvalue_decides_and_the_sentence_explains() -> None:
    tests = {
        "confidence_ece": result(statistic=0.97, pvalue=0.04, adjusted_pvalue=0.15),
        "brier": result(statistic_name="brier", adjusted_pvalue=0.9),
    }
    first, _ = verdicts(tests, POINT, 0.05)
    assert (first.statistic, first.word) == ("confidence_ece", "no conflict found")
    assert "outside its own 95 % acceptance region" in first.finding
    assert "adjusted for 2 statistics 0.15" in first.evidence


def test_too_few_replicates_cannot_tell() -> None:
    verdict = one(
        null_distribution=np.array([0.1, 0.2]), n_resamples=2, statistic=0.9, pvalue=1 / 3, effect_size=0.75
    )
    assert verdict.word == "cannot tell"
    assert "2 replicates give no p-value below 0.333" in verdict.finding


def test_beyond_all_replicates_but_too_few_for_a_family_cannot_tell() -> None:
    tests = {
        "accuracy": result(statistic_name="accuracy", statistic=1.5, pvalue=0.02, adjusted_pvalue=0.06),
        "brier": result(statistic_name="brier", adjusted_pvalue=0.9),
    }
    first, _ = verdicts(tests, POINT, 0.05)
    assert (first.statistic, first.word) == ("accuracy", "cannot tell")
    assert "It lies beyond all 99 replicates" in first.finding
    assert first.finding.endswith("could still be chance among 2 statistics; 79 are enough.")  # 2 * 2 / 0.05


def test_a_region_that_accepts_most_values_cannot_tell() -> None:
    verdict = one(statistic_range=(0.0, 1.0))  # 0 to 0.95 of 0 to 1
    assert verdict.word == "cannot tell"
    assert verdict.finding == (
        "Confidence ECE 0.3: cannot tell, because this check would accept anything from 0 to 0.95."
    )


def test_worst_first() -> None:
    cases = {
        "accuracy": {"pvalue": 0.5, "adjusted_pvalue": 0.9},
        "brier": {"pvalue": 0.02, "adjusted_pvalue": 0.04, "z_score": 9.0, "statistic": 0.99},
        "log_loss": {"pvalue": 0.01, "adjusted_pvalue": 0.03, "z_score": 3.0, "statistic": 0.99},
        "confidence_ece": {"pvalue": 0.01, "adjusted_pvalue": 0.03, "z_score": 5.0, "statistic": 0.99},
        "classwise_ece": {"pvalue": 0.4, "adjusted_pvalue": 0.4},
        "top_label_ece": {"pvalue": 0.9, "adjusted_pvalue": 1.0, "statistic_range": (0.0, 1.0)},
    }
    made = verdicts(
        {name: result(statistic_name=name, **changes) for name, changes in cases.items()}, POINT, 0.05
    )
    # conflicts (beyond all replicates by distance, then by p), cannot tell, no conflict by p
    assert [verdict.statistic for verdict in made] == [
        "confidence_ece",
        "log_loss",
        "brier",
        "top_label_ece",
        "classwise_ece",
        "accuracy",
    ]


def test_infinite_effects_are_words() -> None:
    far = one(statistic=np.inf, pvalue=0.01, effect_size=np.inf, z_score=np.nan)
    assert "Confidence ECE infinite is above" in far.finding
    assert "infinitely far above the mean" in far.evidence
    assert "effect size not defined" in one(effect_size=np.nan).evidence
    some = np.where(np.arange(99) < 3, np.inf, 0.5)
    assert "below the median of the replicates" in one(null_distribution=some).evidence


@pytest.mark.slow
def test_no_verdict_praises() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), size=200)
    labels = (rng.random((200, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    for power in (1.0, 4.0, 0.3):
        said = probs**power / (probs**power).sum(axis=1, keepdims=True)
        for n_resamples in (9, 99):
            for verdict in cr.evaluate(said, labels, n_resamples=n_resamples).verdicts:
                assert verdict.word in ("conflict", "no conflict found", "cannot tell")
                assert not FORBIDDEN.search(verdict.sentence)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (12.345, "12.3"),
        (1234.5, "1234"),
        (3070728216651629.0, "3.07e+15"),
        (0.0, "0"),
        (-0.0, "0"),
        (2.53e-5, "2.5e-05"),
        (2e-9, "2.0e-09"),
        (-0.5, "-0.5"),
        (np.inf, "infinite"),
        (-np.inf, "minus infinite"),
        (np.nan, "not defined"),
    ],
)
def test_numbers_as_people_read_them(value: float, text: str) -> None:
    assert shown(value) == text


def test_ranges_leave_out_what_is_no_limit() -> None:
    assert shown_range((0.1, 0.2)) == "0.1 to 0.2"
    assert shown_range((-np.inf, 0.2)) == "up to 0.2"
    assert shown_range((0.1, np.inf)) == "0.1 or more"
    assert shown_range((-np.inf, np.inf)) == "any value"


def test_names_of_statistics_and_lists() -> None:
    assert title("classwise_ece") == "Class-wise ECE"
    assert title("my_own") == "my own"
    assert joined(["a", "b"]) == "a, b"
    assert joined(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"


def test_a_level_is_named_once_and_a_range_ends_at_100() -> None:
    assert group_of({"group": ("store", "Store 3")}) == " for Store 3"
    assert group_of({"group": ("store", "north")}) == " for store north"
    assert range_of({"between": (0.88, 0.999998)}) == "88 % to 100 %"
    assert range_of({"between": (0.88, 0.99)}) == "88 % to 99.0 %"
