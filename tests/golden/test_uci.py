"""Real values on public data: Bayesian linear regression on the UCI sets that P21 uses.

Origin: Gal's splits, read from CREDIBLY_DATA and never shipped. The posterior is in closed form, so the test
needs no other package: weights ~ N(0, 1) on standardised features, noise at its value on the training part.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr

pytestmark = pytest.mark.data
M = 60


@pytest.fixture(scope="module", params=["power-plant", "wine-quality-red"])
def fitted(request: pytest.FixtureRequest, data_dir: Path) -> tuple[cr.Gaussian, np.ndarray]:
    path = data_dir / "uci" / request.param / "data.npz"
    if not path.is_file():
        pytest.skip(f"needs {path} under CREDIBLY_DATA")
    with np.load(path) as held:
        x, y = held["data"][:, held["features"]], held["data"][:, int(held["target"])]
        train, test = held["train_0"], held["test_0"][:400]
    x = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
    y = (y - y[train].mean()) / y[train].std()
    design = np.column_stack([np.ones(len(x)), x])
    residual = y[train] - design[train] @ np.linalg.lstsq(design[train], y[train], rcond=None)[0]
    noise = residual.var()
    precision = design[train].T @ design[train] / noise + np.eye(design.shape[1])
    mean = np.linalg.solve(precision, design[train].T @ y[train] / noise)
    rng = np.random.default_rng(0)
    weights = rng.multivariate_normal(mean, np.linalg.inv(precision), size=M)
    means = design[test] @ weights.T
    return cr.Gaussian(means, np.full_like(means, np.sqrt(noise))), y[test]


@pytest.mark.slow
def test_scores_equal_other_ways_to_compute_them(fitted: tuple[cr.Gaussian, np.ndarray]) -> None:
    predictions, labels = fitted
    sr = pytest.importorskip("scoringrules", reason="needs scoringrules (extra `dev`)")
    assert float(cr.crps(predictions, labels)) == pytest.approx(
        sr.crps_mixnorm(labels, predictions.mean, predictions.std).mean(), rel=1e-10
    )
    low, high = predictions.quantile([0.05, 0.95]).T
    expected = sr.interval_score(labels, low, high, 0.1)
    assert float(cr.interval_score(predictions, labels)) == pytest.approx(expected.mean(), rel=1e-10)
    # a posterior this narrow is nearly one member: coverage of 90 % intervals is near 90 %
    assert 0.87 <= float(cr.picp(predictions, labels)) <= 0.95


@pytest.mark.slow
def test_noise_half_as_large_is_found_by_every_statistic(fitted: tuple[cr.Gaussian, np.ndarray]) -> None:
    predictions, labels = fitted
    sharp = cr.Gaussian(predictions.mean, predictions.std / 2)
    evaluation = cr.evaluate(sharp, labels, n_resamples=199)
    # slopes compare rows that state more with rows that state less, and all are off alike
    slopes = ("mean_slope", "spread_slope")
    words = {verdict.word for verdict in evaluation.verdicts if verdict.statistic not in slopes}
    assert words == {"conflict"}
    for hypothesis in ("independent", "bayesian"):
        assert cr.pit_test(sharp, labels, hypothesis=hypothesis, n_resamples=199, rng=0).rejects(0.01)
