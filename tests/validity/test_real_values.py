"""Tests and intervals of real values keep their level: both hypotheses, Gaussians, draws and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly.hypotests.resampling.pvalues import monte_carlo_pvalue
from credibly.hypotests.resampling.replicates import RealReplicates, drawn_members
from credibly.predictions import Reals
from kinds import REAL_STATISTICS
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(30, 5000)
FEWER = worlds.repetitions(15, 5000)
N, M, REPLICATES = 40, 3, worlds.repetitions(39, 99)
LEVEL = 0.1  # 4 of 40 ranks, 2 on either side
DISCRETE = {"picp"}
WITHOUT_INTERVAL = {"quantile_calibration_error", "skce", "ence", "hsic"}
"""Biased near calibration, or without a normal limit: their intervals are refused."""


def members(rng: np.random.Generator, n: int = N, m: int = M) -> cr.Gaussian:
    return cr.Gaussian(rng.normal(size=(n, m)), rng.uniform(0.5, 1.5, size=(n, m)))


def labels_of(predictions: cr.Gaussian, rng: np.random.Generator, *, shared: bool = False) -> np.ndarray:
    """Draw labels with NumPy alone: a member for every instance, or one for all of them."""
    n, m = predictions.mean.shape
    chosen = np.full(n, rng.integers(m)) if shared else rng.integers(m, size=n)
    rows = np.arange(n)
    return predictions.mean[rows, chosen] + predictions.std[rows, chosen] * rng.normal(size=n)


@pytest.fixture(scope="module")
def pvalues() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    found: dict[str, list[float]] = {name: [] for name in (*REAL_STATISTICS, "omnibus")}
    for _ in range(REPETITIONS):
        ensemble = members(rng)
        result = cr.calibration_test(
            ensemble, labels_of(ensemble, rng), statistics=REAL_STATISTICS, n_resamples=REPLICATES, rng=rng
        )
        found["omnibus"].append(result.pvalue)
        for name, component in result.components.items():
            found[name].append(component.pvalue)
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("name", [*REAL_STATISTICS, "omnibus"])
def test_size(name: str, pvalues: dict[str, np.ndarray]) -> None:
    rejected = int((pvalues[name] <= LEVEL + 1e-12).sum())
    low, high = worlds.bounds(REPETITIONS, LEVEL)
    assert (0 if name in DISCRETE else low) <= rejected <= high


@pytest.mark.parametrize("hypothesis", ["independent", "bayesian"])
@pytest.mark.parametrize("test", [cr.pit_test, cr.coverage_curve], ids=["pit", "coverage"])
def test_size_of_the_envelope(test, hypothesis: str) -> None:
    """As many curves are rejected as the level says, and no other leaves its envelope."""
    rng = np.random.default_rng(2)
    rejected = outside = 0
    for _ in range(REPETITIONS):
        ensemble = members(rng)
        labels = labels_of(ensemble, rng, shared=hypothesis == "bayesian")
        curve = test(ensemble, labels, levels=10, hypothesis=hypothesis, level=LEVEL, n_resamples=99, rng=rng)
        rejected += curve.rejects(LEVEL)
        outside += bool(curve.outside.any())
        assert curve.rejects(LEVEL) or not curve.outside.any()
    low, high = worlds.bounds(REPETITIONS, LEVEL)
    assert low <= rejected <= high
    assert outside >= 0.9 * rejected  # the others tie with the edge


def test_one_drawn_member_is_no_mixture() -> None:
    """Labels that share a member are rejected by the envelope of independent ones far too often."""
    rng = np.random.default_rng(3)
    trials, rejected = REPETITIONS // 5, 0
    for _ in range(trials):
        gaussian = cr.Gaussian(np.tile(rng.normal(size=5), (200, 1)), np.ones((200, 5)))
        curve = cr.pit_test(
            gaussian, labels_of(gaussian, rng, shared=True), levels=20, n_resamples=99, rng=rng
        )
        rejected += curve.rejects(0.05)
    assert rejected > trials / 2


@pytest.mark.parametrize("name", ["picp", "quantile_calibration_error", "crps", "rmse", "mae", "skce"])
def test_draws_and_labels_of_one_distribution_are_not_told_apart(name: str) -> None:
    """A perfect sampler with 20 draws. Labels drawn from the draws themselves would reject it."""
    rng = np.random.default_rng(4)
    n, draws, rejected, naive = 200, 20, 0, 0
    statistic = cr.statistics.registered()[name]
    for _ in range(FEWER):
        centre = rng.normal(size=(n, 1))
        samples = cr.Samples(centre + rng.normal(size=(n, draws)))
        labels = centre[:, 0] + rng.normal(size=n)
        result = cr.calibration_test(samples, labels, statistics=name, n_resamples=REPLICATES, rng=rng)
        rejected += result.rejects(LEVEL)
        if name != "picp":
            continue
        picked = rng.integers(draws, size=(REPLICATES, n))
        null = statistic.bind(samples)(Reals(samples.values[np.arange(n), picked]))
        naive += monte_carlo_pvalue(result.statistic, null, result.tail)[0] <= LEVEL
    low, high = worlds.bounds(FEWER, LEVEL)
    assert (0 if name in DISCRETE else low) <= rejected <= high
    if name == "picp":  # a label that is one of the draws is never beyond all of them
        assert naive > 2 * high


@pytest.mark.parametrize("name", ["picp", "quantile_calibration_error", "skce"])
def test_size_with_dense_quantiles(name: str) -> None:
    rng = np.random.default_rng(5)
    levels = np.arange(1, 100) / 100
    table = scipy.stats.norm.ppf(levels)
    rejected = 0
    for _ in range(FEWER):
        centre = rng.normal(size=(80, 1))
        quantiles = cr.Quantiles(centre + table, levels)
        labels = centre[:, 0] + rng.normal(size=80)
        rejected += cr.calibration_test(quantiles, labels, statistics=name, n_resamples=99, rng=rng).rejects(
            LEVEL
        )
    low, high = worlds.bounds(FEWER, LEVEL)
    assert (0 if name in DISCRETE else low) <= rejected <= high


def test_a_kernel_error_sees_the_unfocused_forecaster() -> None:
    """Its PIT is uniform although it never predicts the truth.   Gneiting et al. 2007, example 1."""
    rng = np.random.default_rng(9)
    n, trials, seen, overlooked = 600, worlds.repetitions(6, 500), 0, 0
    for _ in range(trials):
        centre, side = rng.normal(size=n), rng.choice([-1.0, 1.0], size=n)
        labels = centre + rng.normal(size=n)
        gaussian = cr.Gaussian(np.stack([centre, centre + side], axis=1), np.ones((n, 2)))
        result = cr.calibration_test(gaussian, labels, statistics="skce", n_resamples=99, rng=rng)
        seen += result.rejects(0.05)
        overlooked += not cr.pit_test(gaussian, labels, n_resamples=99, rng=rng).rejects(0.05)
    assert seen >= 0.7 * trials
    assert overlooked >= 0.6 * trials


@pytest.mark.parametrize("name", REAL_STATISTICS)
def test_power_in_both_directions(name: str) -> None:
    """Labels twice as spread as predicted, and half as spread, are noticed by statistics of the labels."""
    rng = np.random.default_rng(6)
    for spread in (2.0, 0.5):
        gaussian = cr.Gaussian(np.zeros(400), np.ones(400))
        labels = spread * rng.normal(size=400)
        result = cr.calibration_test(gaussian, labels, statistics=name, n_resamples=99, rng=rng)
        # slopes and HSIC ask what varies with the width, which is one number here; sharpness has no label
        if name.endswith("_slope") or name in ("hsic", "sharpness"):
            assert result.pvalue == 1.0
            continue
        assert result.rejects(0.05)


@pytest.mark.parametrize("name", sorted(set(REAL_STATISTICS) - WITHOUT_INTERVAL))
@pytest.mark.parametrize("n", [50, 300])
def test_intervals_cover(name: str, n: int) -> None:
    """Of the 95 % intervals that are handed out, those that miss are about 5 %, and at most 8 %."""
    rng = np.random.default_rng(7)
    statistic = cr.statistics.registered()[name]
    many = members(rng, n=10_000)
    truth = float(statistic(many, 1.3 * labels_of(many, rng)))
    missed = handed = 0
    for _ in range(FEWER):
        ensemble = members(rng, n=n)
        estimate = statistic(ensemble, 1.3 * labels_of(ensemble, rng))
        if estimate.interval_refusal is None:
            low, high = estimate.interval(0.95)
            missed, handed = missed + (not low <= truth <= high), handed + 1
    assert handed > (0 if n == 50 else 0.5 * FEWER)  # skewed means of few instances are refused
    assert missed <= worlds.bounds(FEWER, 0.08)[1]


# P21 eq. 3.1: theta ~ N(0, 1), y ~ N(theta, 1), prediction N(0, 2), n = 1000, 99 levels, 999 replicates,
# two-sided 0.05. Shares of rejections: Bayesian hypothesis, independent hypothesis.
GOLDEN = {
    "theta = 0.5": (lambda rng: 0.5 + rng.normal(size=1000), 0.0, 1.0),
    "theta ~ N(0, 1)": (lambda rng: rng.normal() + rng.normal(size=1000), 0.05, 1.0),
    "y ~ N(0, 2)": (lambda rng: np.sqrt(2) * rng.normal(size=1000), 1.0, 0.05),
    "theta = 4": (lambda rng: 4.0 + rng.normal(size=1000), 1.0, 1.0),
}


@pytest.fixture(scope="module")
def golden_nulls() -> tuple:
    """400 members at the quantiles of N(0, 1): their mixture is N(0, 2) to three digits."""
    grid = scipy.stats.norm.ppf((np.arange(400) + 0.5) / 400)
    levels = np.arange(1, 100) / 100
    table = cr.Gaussian(grid[None], np.ones((1, 400))).quantile(levels)
    gaussian = cr.Gaussian(np.tile(grid, (1000, 1)), np.ones((1000, 400)))
    bound = cr.quantile_calibration_error.bind(cr.Quantiles(np.tile(table, (1000, 1)), levels))
    nulls = [
        bound(RealReplicates(gaussian, (5, 6), members=members).labels(slice(0, 999)))
        for members in (drawn_members(gaussian, (5, 6), 999), None)
    ]
    return bound, *nulls


@pytest.mark.parametrize("data", GOLDEN)
def test_golden_case_of_p21(data: str, golden_nulls: tuple) -> None:
    bound, bayesian, independent = golden_nulls
    draw, *expected = GOLDEN[data]
    rng = np.random.default_rng(8)
    trials = worlds.repetitions(60, 2000)
    observed = bound(Reals(np.stack([draw(rng) for _ in range(trials)])))
    for null, share in zip((bayesian, independent), expected, strict=True):
        pvalues = [monte_carlo_pvalue(value, null, "two-sided")[0] for value in observed]
        rejected = int((np.array(pvalues) <= 0.05).sum())
        if share in (0.0, 1.0):
            assert abs(rejected / trials - share) <= 0.02
        else:
            # one null serves all data, whose own Monte-Carlo error widens the bounds a little
            low, high = worlds.bounds(trials, share)
            assert 0.5 * low <= rejected <= 1.5 * high


def test_size_of_mixtures_with_weights_by_row() -> None:
    """A mixture density network that is right: every row has its own weights, and labels follow them."""
    rng = np.random.default_rng(12)
    names = ("crps", "gaussian_log_loss", "quantile_calibration_error", "skce", "spread_ratio")
    found: dict[str, list[float]] = {name: [] for name in (*names, "omnibus", "pit_test")}
    swapped = []
    runs = worlds.repetitions(150, 2000)
    for _ in range(runs):
        ensemble = members(rng)
        weights = rng.dirichlet(np.full(M, 0.5), size=N)
        chosen = (rng.random((N, 1)) > np.cumsum(weights, axis=1)).sum(axis=1).clip(max=M - 1)
        labels = ensemble.mean[np.arange(N), chosen] + ensemble.std[np.arange(N), chosen] * rng.normal(size=N)
        mixed = cr.Gaussian(ensemble.mean, ensemble.std, weights=weights)
        result = cr.calibration_test(mixed, labels, statistics=names, n_resamples=REPLICATES, rng=rng)
        found["omnibus"].append(result.pvalue)
        for name, component in result.components.items():
            found[name].append(component.pvalue)
        found["pit_test"].append(cr.pit_test(mixed, labels, n_resamples=REPLICATES, rng=rng).pvalue)
        turned = cr.Gaussian(ensemble.mean, ensemble.std, weights=np.roll(weights, 1, axis=1))
        swapped.append(
            cr.calibration_test(turned, labels, statistics="crps", n_resamples=REPLICATES, rng=rng).pvalue
        )
    low, high = worlds.bounds(runs, LEVEL)
    for name, values in found.items():
        assert low <= (np.array(values) <= LEVEL + 1e-12).sum() <= high, name
    assert (np.array(swapped) <= LEVEL + 1e-12).sum() > 2 * high  # the weights of other members are noticed


LOSSES = ("rmse", "mae", "crps", "gaussian_log_loss", "interval_score")


@pytest.mark.parametrize(("n_clusters", "size", "correlation"), [(40, 5, 0.6), (15, 10, 0.3)])
def test_losses_of_normals_in_clusters_keep_their_level(
    n_clusters: int, size: int, correlation: float
) -> None:
    """Errors of a cluster share a part; tests of skewed losses may reject less often than the level says."""
    runs = worlds.repetitions(40, 1000)
    rejected, noticed = dict.fromkeys(LOSSES, 0), dict.fromkeys(LOSSES, 0)
    for seed in range(runs):
        rng = np.random.default_rng([seed, n_clusters])
        ids = np.repeat(np.arange(n_clusters), size)
        mean, std = rng.normal(size=ids.size), np.exp(0.4 * rng.normal(size=ids.size))
        shared, own = rng.normal(size=n_clusters)[ids], rng.normal(size=ids.size)
        labels = mean + std * (np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own)
        for stated, counts in ((std, rejected), (0.5 * std, noticed)):
            gaussian = cr.Gaussian(mean, stated)
            test = cr.calibration_test(
                gaussian, labels, statistics=list(LOSSES), clusters=ids, n_resamples=99, rng=seed
            )
            for name in LOSSES:
                counts[name] += test.components[name].pvalue <= 0.1
    _, high = worlds.bounds(runs, 0.1)
    assert max(rejected.values()) <= high
    assert min(noticed.values()) >= 0.8 * runs  # spreads of half the size
