"""Intervals cover what they estimate; where they would not, there are none.

Six kinds of instances with known predictions and known truth make every estimand an exact finite sum.
Normal intervals may miss their level by the error of the normal approximation: 1.5 % for means, 3 % for
debiased errors, which are quadratic. At calibration the latter are conservative (statistics/cells.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import credibly as cr
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(40, 4000)
N = 500
KINDS = np.array(
    [
        [0.70, 0.20, 0.10],
        [0.10, 0.60, 0.30],
        [0.25, 0.25, 0.50],
        [0.05, 0.05, 0.90],
        [0.40, 0.35, 0.25],
        [0.15, 0.80, 0.05],
    ]
)
WORLDS = {"calibrated": 1.0, "near": 1.15, "far": 0.5}

Estimator = Callable[[np.ndarray, np.ndarray], cr.results.Estimate]


def population(statistic: cr.statistics.Statistic, truth: np.ndarray) -> float:
    """The exact value over all kinds and labels, weighted with their probabilities."""
    kind, label = np.repeat(np.arange(6), 3), np.tile(np.arange(3), 6)
    return float(statistic(KINDS[kind], label, sample_weight=truth.ravel()))


def coverage(estimator: Estimator, truth: np.ndarray, estimand: float, seed: int) -> int:
    """How many of the 95 % intervals hold the estimand."""
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(REPETITIONS):
        kind = rng.integers(0, 6, size=N)
        low, high = estimator(KINDS[kind], worlds.draw(truth[kind], rng)).interval(0.95)
        covered += low <= estimand <= high
    return covered


def within(covered: int, slack: float, conservative: bool) -> bool:
    low, _ = worlds.bounds(REPETITIONS, 0.95 - slack)
    _, high = worlds.bounds(REPETITIONS, min(0.95 + slack, 0.999))
    return low <= covered and (conservative or covered <= high)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["accuracy", "brier", "log_loss"])
def test_means(name: str, world: str) -> None:
    truth, statistic = worlds.temper(KINDS, WORLDS[world]), cr.statistics.registered()[name]
    covered = coverage(statistic, truth, population(statistic, truth), seed=1)
    assert within(covered, slack=0.015, conservative=False)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "top_label_ece"])
def test_debiased_errors(name: str, world: str) -> None:
    truth, statistic = worlds.temper(KINDS, WORLDS[world]), cr.statistics.registered()[name].with_(p=2)
    estimand = population(statistic, truth) ** 2
    covered = coverage(statistic.with_(debiased=True), truth, estimand, seed=2)
    assert within(covered, slack=0.03, conservative=world in ("calibrated", "near"))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("part", ["calibration", "refinement"])
def test_parts_of_the_brier_score(part: str, world: str) -> None:
    truth = worlds.temper(KINDS, WORLDS[world])
    estimand = 3 * population(cr.classwise_ece.with_(p=2), truth) ** 2
    if part == "refinement":
        estimand = population(cr.brier, truth) - estimand

    def estimator(probs: np.ndarray, labels: np.ndarray) -> cr.results.Estimate:
        return getattr(cr.decompose_brier(probs, labels), part)

    covered = coverage(estimator, truth, estimand, seed=3)
    assert within(covered, slack=0.03, conservative=world in ("calibrated", "near"))


def test_debiased_errors_are_unbiased() -> None:
    rng, truth = np.random.default_rng(4), worlds.temper(KINDS, 0.5)
    statistic = cr.classwise_ece.with_(p=2)
    debiased, plugin = [], []
    for _ in range(REPETITIONS):
        kind = rng.integers(0, 6, size=60)
        probs, labels = KINDS[kind], worlds.draw(truth[kind], rng)
        debiased.append(float(statistic(probs, labels, debiased=True)))
        plugin.append(float(statistic(probs, labels)) ** 2)
    estimand = population(statistic, truth) ** 2
    error = np.std(debiased, ddof=1) / np.sqrt(REPETITIONS)
    assert abs(np.mean(debiased) - estimand) < 4 * error
    assert np.mean(plugin) - estimand > 4 * error  # the plug-in is not


@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "top_label_ece", "hosmer_lemeshow"])
def test_plug_in_errors_have_no_interval(name: str) -> None:
    rng = np.random.default_rng(6)
    probs = KINDS[rng.integers(0, 6, size=N)]
    estimate = cr.statistics.registered()[name](probs, worlds.draw(probs, rng))
    with pytest.raises(cr.UnsupportedError, match="is given only where its coverage was checked"):
        estimate.interval()


@pytest.mark.parametrize("exponent", [1.0, 0.5])
def test_intervals_offered_on_continuous_predictions_cover(exponent: float) -> None:
    """The rule that refuses sparse bins lets through only what covers."""
    rng = np.random.default_rng(9)
    statistic = cr.classwise_ece.with_(p=2)
    many = worlds.predictions(200_000, 3, rng)
    # ten thousand raters per instance, so that the labels' own noise vanishes
    counts = cr.LabelCounts(np.round(worlds.temper(many, exponent) * 10_000).astype(int))
    estimand = float(statistic(many, counts)) ** 2
    covered = 0
    for _ in range(REPETITIONS):
        probs = worlds.predictions(200, 3, rng)
        labels = worlds.draw(worlds.temper(probs, exponent), rng)
        low, high = statistic(probs, labels, debiased=True).interval()
        covered += low <= estimand <= high
    assert within(covered, slack=0.03, conservative=True)
