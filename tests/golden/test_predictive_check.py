"""The four golden rows of the predictive check: P21 eq. 3.1, computed beforehand and checked here.

theta ~ N(0, 1), y ~ N(theta, 1), so that F = N(0, 2); n = 1000, 99 levels, 999 replicates, two-sided 5 %.
The posterior of theta stands as 100 members at its quantiles. Predictions never change, so replicates are
drawn once and many data sets are ranked among them.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

import credibly as cr
from credibly.hypotests.resampling.pvalues import at_least_and_at_most, two_sided_pvalues
from credibly.predictions import Reals
from validity.worlds import bounds

pytestmark = pytest.mark.slow

N, MEMBERS, SETS = 1000, 100, 100
NAME = "quantile_calibration_error"


@pytest.fixture(scope="module")
def given() -> cr.Gaussian:
    theta = ndtri((np.arange(MEMBERS) + 0.5) / MEMBERS)
    return cr.Gaussian(np.tile(theta, (N, 1)), np.ones((N, MEMBERS)))


@pytest.fixture(scope="module")
def check(given: cr.Gaussian) -> cr.results.PredictiveCheck:
    return cr.predictive_check(given, np.zeros(N), statistics=[NAME], rng=0)


def rows(name: str, rng: np.random.Generator) -> np.ndarray:
    noise = rng.normal(size=(SETS, N))
    if name == "theta = 0.5":
        return 0.5 + noise
    if name == "theta ~ N(0, 1)":
        return rng.normal(size=(SETS, 1)) + noise
    if name == "y ~ N(0, 2)":
        return np.sqrt(2.0) * noise
    return 4.0 + noise


# share of rejections under the Bayesian hypothesis and under uniformity (the independent one)
GOLDEN = {
    "theta = 0.5": (0.0, 1.0),
    "theta ~ N(0, 1)": (0.05, 1.0),
    "y ~ N(0, 2)": (1.0, 0.05),
    "theta = 4": (1.0, 1.0),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_row(name: str, given: cr.Gaussian, check: cr.results.PredictiveCheck) -> None:
    labels = rows(name, np.random.default_rng(7))
    values = cr.quantile_calibration_error.bind(given)(Reals(labels))
    for hypothesis, expected in zip(("bayesian", "independent"), GOLDEN[name], strict=True):
        null = check.under(hypothesis).checks[NAME].null_distribution
        rejected = int((two_sided_pvalues(values, null) <= 0.05).sum())
        low, high = bounds(SETS, expected)
        # the level that 999 replicates reach is itself off by a few tenths of a per cent
        assert low - 2 <= rejected <= high + 2, (hypothesis, rejected)
    if name == "y ~ N(0, 2)":  # too good: in the lower tail
        null = check.bayesian.checks[NAME].null_distribution
        assert all(at_least_and_at_most(value, null)[1].mean() < 0.025 for value in values)


@pytest.mark.parametrize(
    ("name", "bayesian", "independent"),
    [
        ("theta = 0.5", "no conflict found", "conflict"),
        ("y ~ N(0, 2)", "conflict", "no conflict found"),
        ("theta = 4", "conflict", "conflict"),
    ],
)
def test_the_whole_check_says_so(name: str, bayesian: str, independent: str, given: cr.Gaussian) -> None:
    labels = rows(name, np.random.default_rng(8))[0]
    check = cr.predictive_check(given, labels, statistics=[NAME], n_resamples=199, rng=1)
    assert check.bayesian.checks[NAME].verdict() == bayesian
    assert check.independent.checks[NAME].verdict() == independent
    if name == "y ~ N(0, 2)":
        assert check.bayesian.checks[NAME].details.direction == "below"


def test_the_level_at_one_adds_nothing(given: cr.Gaussian) -> None:
    given, labels = given[:50], 0.5 + np.random.default_rng(0).normal(size=50)
    levels = tuple(j / 100 for j in range(1, 100))
    named = float(cr.quantile_calibration_error(given, labels, levels=levels))
    assert float(cr.quantile_calibration_error(given, labels, levels=100)) == pytest.approx(named)
