"""Under the hypothesis `calibration_test` rejects as often as its level says, with each statistic.

79 replicates make 5 % a possible p-value of one- and two-sided tests alike (4 / 80 and 2 * 2 / 80), and so do
199.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from kinds import CLASS_STATISTICS
from validity import worlds

pytestmark = pytest.mark.validity

NAMES = CLASS_STATISTICS
DISCRETE = {"accuracy", "net_benefit"}  # ties make the test conservative
REPETITIONS = worlds.repetitions(50, 5000)
N, K, REPLICATES = 60, 3, worlds.repetitions(79, 199)


@pytest.fixture(scope="module")
def pvalues() -> dict[str, np.ndarray]:
    """The p-values of all statistics and of the omnibus test, over data that follow the predictions."""
    rng = np.random.default_rng(20240)
    found: dict[str, list[float]] = {name: [] for name in (*NAMES, "omnibus")}
    for _ in range(REPETITIONS):
        probs = worlds.predictions(N, K, rng)
        labels = worlds.draw(probs, rng)
        result = cr.calibration_test(probs, labels, statistics=NAMES, n_resamples=REPLICATES, rng=rng)
        found["omnibus"].append(result.pvalue)
        for name, component in result.components.items():
            found[name].append(component.pvalue)
    return {name: np.array(values) for name, values in found.items()}


def test_both_tails_are_covered() -> None:
    assert {statistic.traits.tail for statistic in cr.statistics.registered().values()} == {
        "greater",
        "two-sided",
    }


@pytest.mark.parametrize("level", [0.05, 0.2])
@pytest.mark.parametrize("name", [*NAMES, "omnibus"])
def test_size(name: str, level: float, pvalues: dict[str, np.ndarray]) -> None:
    rejected = int((pvalues[name] <= level + 1e-12).sum())
    low, high = worlds.bounds(REPETITIONS, level)
    assert rejected <= high
    # the smallest p-value of several is a little discrete too, but at these levels hardly
    assert rejected >= (0 if name in DISCRETE else low)


@pytest.mark.parametrize("name", [*NAMES, "omnibus"])
def test_p_values_are_uniform(name: str, pvalues: dict[str, np.ndarray]) -> None:
    if name in DISCRETE:
        for level in np.arange(1, 20) / 20:
            assert (pvalues[name] <= level + 1e-12).sum() <= worlds.bounds(REPETITIONS, level)[1]
        return
    # p-values are multiples of 1/80: ten bins of equally many possible values
    steps = REPLICATES + 1
    tenth = np.ceil(np.round(pvalues[name] * steps) / (steps // 10)).astype(int) - 1
    counts = np.bincount(tenth, minlength=10)
    assert scipy.stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize(
    "statistic",
    [
        cr.confidence_ece.with_(p=2, debiased=True),
        cr.classwise_ece.with_(binning="equal_mass", n_bins=5),
        cr.statistic(lambda predictions, labels: (labels == 0).mean(), tail="two-sided", name="share of 0"),
    ],
    ids=["debiased", "equal mass", "user"],
)
def test_size_with_other_settings_and_weights(statistic: cr.statistics.Statistic) -> None:
    rng = np.random.default_rng(7)
    weighted = statistic.traits.multiplicities
    rejected = 0
    for _ in range(REPETITIONS):
        probs = worlds.predictions(40, 4, rng)
        labels = worlds.draw(probs, rng)
        weights = rng.exponential(size=40) if weighted else None
        result = cr.calibration_test(
            probs, labels, statistics=statistic, sample_weight=weights, n_resamples=39, rng=rng
        )
        rejected += result.rejects(0.2)
    low, high = worlds.bounds(REPETITIONS, 0.2)
    discrete = statistic.name == "share of 0"
    assert (0 if discrete else low) <= rejected <= high


def test_an_ensemble_is_tested_against_its_mean() -> None:
    rng = np.random.default_rng(8)
    rejected = 0
    for _ in range(REPETITIONS):
        members = rng.dirichlet(np.ones(3), size=(30, 4))
        labels = worlds.draw(members.mean(axis=1), rng)
        result = cr.calibration_test(members, labels, statistics="brier", n_resamples=39, rng=rng)
        rejected += result.rejects(0.2)  # 2 * 4 / 40
    low, high = worlds.bounds(REPETITIONS, 0.2)
    assert low <= rejected <= high
