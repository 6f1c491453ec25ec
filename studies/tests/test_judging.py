"""From means with intervals to outcomes, and the picture of values with intervals."""

from __future__ import annotations

import numpy as np
import pytest

from credibly.results.estimates import Estimate
from credibly_studies.judging import (
    above,
    below,
    denied,
    dominance,
    holds,
    mean_interval,
    normal_interval,
    offered_interval,
    student_interval,
    told,
)
from credibly_studies.pictures import intervals_picture


def test_an_interval_decides_where_it_lies_on_one_side() -> None:
    assert (above((0.1, 0.2)), above((-0.2, -0.1)), above((-0.1, 0.1))) == (
        "confirmed",
        "not confirmed",
        "cannot tell",
    )
    assert above((0.1, 0.2), 0.3) == "not confirmed"
    assert (below((0.1, 0.2)), below((-0.2, -0.1)), below((-0.1, 0.1))) == (
        "not confirmed",
        "confirmed",
        "cannot tell",
    )
    assert above(None) == below(None) == "cannot tell"
    assert above((np.nan, np.nan)) == "cannot tell"
    assert [denied(name) for name in ("confirmed", "not confirmed", "cannot tell")] == [
        "not confirmed",
        "confirmed",
        "cannot tell",
    ]
    assert (holds([True, True]), holds([True, False])) == ("confirmed", "not confirmed")


def test_intervals() -> None:
    assert normal_interval(1.0, 0.5) == pytest.approx((1 - 0.979982, 1 + 0.979982), abs=1e-6)
    values = np.arange(100.0)
    low, high = mean_interval(values) or (np.nan, np.nan)
    assert (low + high) / 2 == pytest.approx(49.5)
    assert (high - low) / 2 == pytest.approx(1.959964 * values.std(ddof=1) / 10)
    one_decides = np.zeros(100)
    one_decides[0] = 1.0
    assert mean_interval(one_decides) is None
    assert mean_interval(np.array([1.0])) is None
    assert mean_interval(np.array([1.0, np.inf] * 20)) is None


def test_few_runs_have_students_interval() -> None:
    runs = np.arange(10.0)
    low, high = student_interval(runs, 0.9) or (np.nan, np.nan)
    assert (high - low) / 2 == pytest.approx(1.833113 * runs.std(ddof=1) / np.sqrt(10))  # t with 9 degrees
    assert student_interval(np.array([1.0])) is None
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4000, 10))
    holds_zero = [ends[0] <= 0 <= ends[1] for ends in (student_interval(draw, 0.9) for draw in draws) if ends]
    assert np.mean(holds_zero) == pytest.approx(0.9, abs=0.015)  # the normal one: 0.866


def test_numbers_in_words() -> None:
    assert told(0.5, (0.25, 0.75)) == "0.5 (0.25 to 0.75)"
    assert told(0.5, None) == "0.5 (no interval holds here)"
    assert offered_interval(Estimate("x", 1.0, None, 3)) is None
    assert offered_interval(Estimate("x", 1.0, 0.5, 3)) == normal_interval(1.0, 0.5)


def test_the_picture_draws_what_it_is_given() -> None:
    series = {"a": {"x": (1.0, (0.5, 1.5)), "y": (2.0, None)}, "b": {"y": (0.5, (0.4, 0.6))}}
    picture = intervals_picture("Title", "size", series, zero=True)
    assert picture.columns["name"] == ["x", "y"]
    np.testing.assert_array_equal(picture.columns["a"], [1.0, 2.0])
    np.testing.assert_array_equal(picture.columns["b"], [np.nan, 0.5])
    assert picture.finding == "size is smallest for y, b: 0.5."
    ax = picture.draw()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"a", "b"}
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["x", "y"]


def test_dominance_by_hand() -> None:
    # 1 beats 0 and ties with 1; 2 beats both: (1 + 0.5 + 2) / 4
    assert dominance(np.array([1.0, 2.0]), np.array([0.0, 1.0])) == (pytest.approx(0.875), None)
    rng = np.random.default_rng(0)
    _, ends = dominance(rng.normal(size=300) + 1, rng.normal(size=200))
    assert ends is not None
    assert ends[0] < 0.7602 < ends[1]  # Phi(1 / sqrt(2))
    assert (ends[1] - ends[0]) / 2 == pytest.approx(1.96 * 0.0216, rel=0.15)  # Hanley and McNeil 1982
    assert dominance(np.exp(20 * np.arange(20.0)), np.zeros(20))[0] == 1.0  # whatever the scale
