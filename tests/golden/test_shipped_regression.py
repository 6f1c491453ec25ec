"""Real values on data that every clone holds: scores of other packages, and of the definitions.

The counterpart of test_uci.py: 20 draws from the posterior of a Bayesian ridge regression, on the 142
patients of scikit-learn's diabetes data that it was not fitted to (make_golden_data.py).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import norm

import credibly as cr
from golden.shipped import arrays


@pytest.fixture(scope="module")
def fitted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    held = arrays("diabetes")
    return held["mean"].astype(float), held["std"].astype(float), held["labels"].astype(float)


@pytest.fixture(scope="module")
def quantiles(fitted: tuple) -> dict[float, np.ndarray]:
    """Quantiles of every mixture at 5, 10, ..., 95 %: roots of the mean of SciPy's distribution functions."""
    means, stds, _ = fitted
    return {
        level: np.array(
            [
                brentq(lambda x, m=m, s=s, level=level: ndtr((x - m) / s).mean() - level, -20, 20, xtol=1e-13)
                for m, s in zip(means[::5], stds[::5], strict=True)
            ]
        )
        for level in (0.05, 0.25, 0.5, 0.75, 0.95)
    }


def test_crps(fitted: tuple) -> None:
    means, stds, labels = fitted
    value = float(cr.crps(cr.Gaussian(means, stds), labels))
    sr = pytest.importorskip("scoringrules", reason="needs scoringrules (extra `dev`)")
    assert value == pytest.approx(sr.crps_mixnorm(labels, means, stds).mean(), rel=1e-10)
    # int (F(x) - 1[y <= x])^2 dx over a grid; the step at y costs half a cell at most
    grid = np.linspace(-8, 8, 4001)
    first = slice(0, 10)
    integrals = [
        trapezoid((norm.cdf(grid[:, None], m, s).mean(axis=1) - (grid >= y)) ** 2, grid)
        for m, s, y in zip(means[first], stds[first], labels[first], strict=True)
    ]
    some = float(cr.crps(cr.Gaussian(means[first], stds[first]), labels[first]))
    assert some == pytest.approx(np.mean(integrals), abs=16 / 4000)


def test_interval_score_and_coverage(fitted: tuple, quantiles: dict[float, np.ndarray]) -> None:
    means, stds, labels = (one[::5] for one in fitted)
    gaussian = cr.Gaussian(means, stds)
    low, high = quantiles[0.05], quantiles[0.95]
    np.testing.assert_allclose(gaussian.quantile([0.05, 0.95]), np.stack([low, high], axis=1), atol=1e-9)
    sr = pytest.importorskip("scoringrules", reason="needs scoringrules (extra `dev`)")
    expected = sr.interval_score(labels, low, high, 0.1).mean()
    assert float(cr.interval_score(gaussian, labels)) == pytest.approx(expected, rel=1e-8)
    assert float(cr.picp(gaussian, labels)) == pytest.approx(((low <= labels) & (labels <= high)).mean())


def test_quantile_calibration_error(fitted: tuple, quantiles: dict[float, np.ndarray]) -> None:
    """P21: the sum over levels of the squared gap between level and share of labels below the quantile."""
    means, stds, labels = (one[::5] for one in fitted)
    expected = sum((level - (labels <= quantile).mean()) ** 2 for level, quantile in quantiles.items())
    estimate = cr.quantile_calibration_error(cr.Gaussian(means, stds), labels, levels=tuple(quantiles))
    assert float(estimate) == pytest.approx(expected, rel=1e-9)


def test_densities_and_point_errors(fitted: tuple) -> None:
    means, stds, labels = fitted
    gaussian = cr.Gaussian(means, stds)
    density = norm.pdf(labels[:, None], means, stds).mean(axis=1)
    assert float(cr.gaussian_log_loss(gaussian, labels)) == pytest.approx(-np.log(density).mean(), rel=1e-10)
    np.testing.assert_allclose(
        cr.pit(gaussian, labels), norm.cdf(labels[:, None], means, stds).mean(axis=1), atol=1e-12
    )
    expected = np.linalg.norm(labels - means.mean(axis=1)) / len(labels) ** 0.5
    assert float(cr.rmse(gaussian, labels)) == pytest.approx(expected, rel=1e-10)


def test_noise_half_as_large_is_found_by_every_statistic(fitted: tuple) -> None:
    means, stds, labels = fitted[0][:, :10], fitted[1][:, :10], fitted[2]
    sharp = cr.Gaussian(means, stds / 2)
    # the standardised residuals then have twice the spread they claim: 142 of them leave no doubt
    residual = (labels - means.mean(axis=1)) / (stds[:, 0] / 2)
    assert 1.7 < residual.std() < 2.3
    evaluation = cr.evaluate(sharp, labels, n_resamples=399)
    # slopes compare rows that state more with rows that state less, and all are off alike
    slopes = ("mean_slope", "spread_slope")
    words = {verdict.word for verdict in evaluation.verdicts if verdict.statistic not in slopes}
    assert words == {"conflict"}
    for hypothesis in ("independent", "bayesian"):
        assert cr.pit_test(sharp, labels, hypothesis=hypothesis, n_resamples=199, rng=0).rejects(0.01)
