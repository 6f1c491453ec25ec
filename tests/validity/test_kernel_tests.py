"""Kernel and KDE errors: unbiased where they say so, tests of the right size by every method, power that
grows.

CREDIBLY_VALIDITY=full runs n = 100 and 400 with k = 2, 5, 10; the default is one slice of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.resampling.replicates import Replicates
from credibly_studies.kernel_estimators import linear_skce
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(30, 1000)
REPLICATES = 199  # 1 %, 5 % and 10 % are possible p-values: 2, 10 and 20 of 200
LEVELS = (0.01, 0.05, 0.1)
CASES = [(n, k) for n in (100, 400) for k in (2, 5, 10)] if worlds.FULL else [(100, 5)]
FAMILY = ("skce", "kl_ce", "log_loss")
# The likelihood rule takes most of the time at this n; the full run keeps it.
TESTED = FAMILY if worlds.FULL else ("skce", cr.kl_ce.with_(bandwidth=0.1), "log_loss")

# method -> how it is called
METHODS: dict[str, dict[str, Any]] = {
    "linear": {"statistics": linear_skce, "n_resamples": REPLICATES},
    "ordinal": {"statistics": cr.mmd_ce.with_(label_kernel="ordinal"), "n_resamples": REPLICATES},
    "narrow kde": {"statistics": cr.kde_ce.with_(bandwidth=0.01), "n_resamples": REPLICATES},
}
RESAMPLED = ("skce", "kl_ce", "log_loss", "omnibus", "linear", "ordinal", "narrow kde")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"n{case[0]}k{case[1]}")
def pvalues(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    """The p-values of every method over data that follow the predictions."""
    n, k = request.param
    rng = np.random.default_rng([20251, n, k])
    found: dict[str, list[float]] = {name: [] for name in (*FAMILY, "omnibus", *METHODS)}
    for _ in range(REPETITIONS):
        probs = worlds.predictions(n, k, rng)
        labels = worlds.draw(probs, rng)
        family = cr.calibration_test(probs, labels, statistics=TESTED, n_resamples=REPLICATES, rng=rng)
        found["omnibus"].append(family.pvalue)
        for name in FAMILY:
            found[name].append(family.components[name].pvalue)
        for name, settings in METHODS.items():
            found[name].append(cr.calibration_test(probs, labels, rng=rng, **settings).pvalue)
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", RESAMPLED)
def test_size(name: str, level: float, pvalues: dict[str, np.ndarray]) -> None:
    rejected = int((pvalues[name] <= level + 1e-12).sum())
    low, high = worlds.bounds(REPETITIONS, level)
    assert rejected <= high
    assert rejected >= low


@pytest.mark.parametrize("digits", worlds.DIGITS)
def test_size_with_rounded_predictions(digits: int) -> None:
    world = worlds.rounded(digits, n=60, k=4)
    repetitions = worlds.repetitions(25, 1000)
    tests = cr.kl_ce.with_(bandwidth=0.1), cr.kde_ce.with_(bandwidth=0.1), "skce", "log_loss"
    found = [
        cr.calibration_test(*world(seed), statistics=tests, n_resamples=99, rng=seed).components
        for seed in range(repetitions)
    ]
    for name in found[0]:
        for level in (0.05, 0.1):
            rejected = sum(one[name].pvalue <= level + 1e-12 for one in found)
            low, high = worlds.bounds(repetitions, level)
            assert low <= rejected <= high, (name, level)


def test_power_with_rounded_predictions_is_that_of_all_digits() -> None:
    runs = worlds.repetitions(6, 200)
    statistic = cr.kl_ce.with_(bandwidth=0.1)
    power = {}
    for digits in (None, *worlds.DIGITS):
        world = worlds.rounded(digits, n=200, overconfidence=2.0)
        power[digits] = np.mean(
            [
                cr.calibration_test(*world(seed), statistics=statistic, n_resamples=99, rng=seed).rejects()
                for seed in range(runs)
            ]
        )
    assert min(power.values()) >= 0.9, power


# Unbiasedness


@pytest.mark.parametrize("statistic", [cr.skce, linear_skce])
def test_unbiased_estimates_of_a_calibrated_model_average_zero(statistic: cr.Statistic) -> None:
    rng = np.random.default_rng(1)
    probs = worlds.predictions(30, 3, rng)
    values = statistic.bind(probs)(Replicates(probs, (1, 2)).labels(slice(0, 20_000)))
    assert abs(values.mean()) < 3.3 * values.std() / np.sqrt(20_000)  # 99.9 %


def test_unbiased_estimates_of_another_truth_agree() -> None:
    """Small samples average what the pairs of predictions and truths say: k_ij <q_i - p_i, q_j - p_j>."""
    rng = np.random.default_rng(2)
    probs = worlds.predictions(12, 3, rng)
    truth = worlds.temper(probs, 0.3)
    drawn = Replicates(truth, (3, 4)).labels(slice(0, 40_000))
    gap = truth - probs
    kernel = np.exp(-np.linalg.norm(probs[:, None] - probs[None], axis=-1) / 0.5)
    terms = kernel * (gap @ gap.T)
    expected = {
        cr.skce: (terms.sum() - np.trace(terms)) / (12 * 11),
        linear_skce: np.mean([terms[i, i + 1] for i in range(0, 12, 2)]),
    }
    for statistic, value in expected.items():
        values = statistic.bind(probs, bandwidth=0.5)(drawn)
        assert abs(values.mean() - value) < 3.3 * values.std() / 200


# Power


@pytest.mark.parametrize("name", ["skce", "kde_ce", "kl_ce"])
def test_power_grows(name: str) -> None:
    """With the number of instances, and with the temperature that was put in."""
    settings = METHODS.get(name, {"statistics": name, "n_resamples": 99})
    repetitions, large = worlds.repetitions(12, 400), 400 if worlds.FULL else 300

    def power(n: int, exponent: float) -> float:
        rng = np.random.default_rng([6, n])
        rejected = 0
        for _ in range(repetitions):
            probs = worlds.predictions(n, 3, rng)
            labels = worlds.draw(worlds.temper(probs, exponent), rng)
            rejected += cr.calibration_test(probs, labels, rng=rng, **settings).rejects(0.05)
        return rejected / repetitions

    weak, strong, many = power(100, 0.6), power(100, 0.15), power(large, 0.6)
    assert strong > weak + 0.15
    assert many > weak + 0.15
    assert strong > 0.6
