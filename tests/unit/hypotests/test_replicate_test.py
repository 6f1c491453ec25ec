"""Tests with replicates of one's own: values, p-values, another rule, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests import replicate_test

RNG = np.random.default_rng(2)
PROBS = RNG.dirichlet(np.ones(3), size=60)


def drawn(probs: np.ndarray) -> np.ndarray:
    return (RNG.random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1)


LABELS = drawn(PROBS)
ROWS = [RNG.integers(60, size=60) for _ in range(39)]
PAIRS = [(PROBS[rows], drawn(PROBS[rows])) for rows in ROWS]
VALUES = [float(cr.brier(*pair)) for pair in PAIRS]


def test_values_are_those_of_the_pairs() -> None:
    result = replicate_test(PROBS, LABELS, iter(PAIRS), statistics="brier", settings={"by": "rows"})
    own = float(cr.brier(PROBS, LABELS))
    assert result.statistic == pytest.approx(own)
    assert result.null_distribution == pytest.approx(VALUES)
    # two-sided: twice the smaller share of values at least as far out, the observed one included
    tails = [1 + sum(value >= own for value in VALUES), 1 + sum(value <= own for value in VALUES)]
    assert result.pvalue == pytest.approx(min(1.0, 2 * min(tails) / 40))
    assert (result.name, result.settings["by"]) == ("replicate_test", "rows")


def test_several_statistics_are_one_test() -> None:
    done: list[int] = []
    result = replicate_test(
        PROBS, LABELS, PAIRS, statistics=["brier", "confidence_ece"], hypothesis="mine", progress=done.append
    )
    assert list(result.components) == ["brier", "confidence_ece"]
    assert result.hypothesis == "mine"
    assert done == list(range(1, 41))
    with pytest.raises(cr.InputError, match="`rule` needs one statistic"):
        replicate_test(PROBS, LABELS, PAIRS, statistics=["brier"], rule=lambda observed, null: 1.0)


def test_a_rule_of_your_own() -> None:
    def strictly_below(observed: float, null: np.ndarray) -> float:
        return float((null < observed).mean())  # P21, Algorithm 3

    result = replicate_test(PROBS, LABELS, PAIRS, statistics="brier", rule=strictly_below)
    own = float(cr.brier(PROBS, LABELS))
    assert result.pvalue == sum(value < own for value in VALUES) / 39
    assert result.pvalue_interval is None


def test_one_bandwidth_for_all_pairs() -> None:
    result = replicate_test(PROBS, LABELS, PAIRS[:3], statistics="skce")
    width = result.settings["bandwidth"]
    expected = [float(cr.skce(*pair, bandwidth=width)) for pair in PAIRS[:3]]
    assert result.null_distribution == pytest.approx(expected)


def test_refusals() -> None:
    with pytest.raises(cr.InputError, match="`pairs` must hold at least one pair"):
        replicate_test(PROBS, LABELS, [], statistics="brier")
    with pytest.raises(cr.InputTypeError, match="`rule` must be a function"):
        replicate_test(PROBS, LABELS, PAIRS, statistics="brier", rule=0.05)
