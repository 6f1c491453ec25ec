"""Where the mean of a score has an interval, and where too few instances decide it."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.standard_errors import Moments, mean_error


def mean_refusal(values: np.ndarray) -> str | None:
    return mean_error(values)["interval_refusal"]


def test_standard_error_by_hand() -> None:
    # mean 2, squares 1 + 0 + 1, variance 2 / 2, over 3 instances
    assert mean_error(np.array([1.0, 2.0, 3.0]))["stderr"] == pytest.approx((1 / 3) ** 0.5)


def test_skewness_against_the_number_of_instances() -> None:
    # one 1 among n: skewness (1 - 2 / n) / sqrt(1 / n (1 - 1 / n)), about sqrt(n), never at most .3 sqrt(n)
    assert "need about" in str(mean_refusal(np.eye(1, 400)[0]))
    # a tenth of them: skewness .8 / .3 = 2.67, (2.67 / .3)^2 = 79.01
    share = np.arange(70) % 10 == 0
    assert "skewness 2.7); intervals need about 80 such instances, and there are 70" in str(
        mean_refusal(share.astype(float))
    )
    assert mean_refusal((np.arange(80) % 10 == 0).astype(float)) is None
    # skew to the left is as bad
    assert mean_refusal((np.arange(70) % 10 != 0).astype(float)) is not None
    # scale plays no part
    assert mean_refusal(1e-9 * (np.arange(80) % 10 == 0)) is None


@pytest.mark.parametrize("value", [2.0, np.inf])
def test_without_weights_the_moments_are_those_of_weights_of_one(value: float) -> None:
    values = np.append(np.random.default_rng(0).gamma(2.0, size=50), value)[None, :]
    with np.errstate(invalid="ignore"):
        plain, weighted = Moments.of(values, None), Moments.of(values, np.ones((1, 51)))
    for name, sums in weighted.items():
        np.testing.assert_allclose(plain[name], sums, rtol=1e-12, atol=1e-14, err_msg=name)


def test_equal_contributions_have_no_interval() -> None:
    certain = np.eye(2)[np.arange(50) % 2]
    estimate = cr.brier(certain, np.arange(50) % 2)
    assert (estimate.value, estimate.stderr) == (0.0, 0.0)
    with pytest.raises(cr.UnsupportedError, match="carries no information about the spread"):
        estimate.interval()


def test_all_right_is_not_certainly_all_right() -> None:
    certain = np.eye(2)[np.arange(50) % 2]
    low, high = cr.accuracy(certain, np.arange(50) % 2).interval()
    # z^2 / (n + z^2) = 3.8415 / 53.8415 of the instances could be wrong
    assert (low, high) == pytest.approx((1 - 3.841459 / 53.841459, 1.0))


def test_weighted_accuracy_keeps_the_normal_interval() -> None:
    probs = np.tile([[0.7, 0.3]], (200, 1))
    labels = (np.arange(200) % 3 == 0).astype(int)
    plain, weighted = cr.accuracy(probs, labels), cr.accuracy(probs, labels, sample_weight=np.ones(200))
    assert (plain.interval_method, weighted.interval_method) == ("wilson", "normal")
    assert weighted.stderr == pytest.approx(plain.stderr)


@pytest.mark.parametrize("name", ["log_loss", "hosmer_lemeshow"])
def test_acceptance_regions_begin_where_values_begin(name: str) -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=50)
    result = cr.calibration_test(probs, rng.integers(0, 3, 50), statistics=name, n_resamples=9, rng=0)
    assert result.statistic_range == (0.0, np.inf)
    assert result.acceptance_region == (0.0, np.inf)  # 9 replicates reject nothing at 5 %


def test_an_estimate_is_a_number_where_numbers_are_expected() -> None:
    quarter = cr.results.Estimate("brier", 0.25, 0.1, 4)
    assert f"{quarter:.3f}" == "0.250"
    assert f"{quarter}" == str(quarter) == "brier 0.25 ± 0.1 (n = 4)"
    assert round(cr.results.Estimate("brier", 0.123456, None, 4), 3) == 0.123
    assert quarter < 0.3
    assert quarter <= 0.25
    assert quarter > 0.2
    assert quarter >= np.float64(0.25)
    assert quarter == 0.25
    assert quarter != 0.3
    assert min(cr.results.Estimate("brier", 0.5, None, 4), quarter) is quarter
    assert hash(quarter) == hash(0.25)
    root = cr.results.RootEstimate.of(quarter, "root")
    assert root == 0.5  # sqrt 0.25
    assert root > quarter


def test_estimates_are_equal_where_all_they_say_is() -> None:
    assert cr.results.Estimate("brier", 0.25, 0.1, 4) == cr.results.Estimate("brier", 0.25, 0.1, 4)
    assert cr.results.Estimate("brier", 0.25, 0.1, 4) != cr.results.Estimate("brier", 0.25, 0.2, 4)
    assert cr.results.Estimate("brier", 0.25, 0.1, 4) != "brier"
    with pytest.raises(TypeError):
        _ = cr.results.Estimate("brier", 0.25, 0.1, 4) < "brier"
