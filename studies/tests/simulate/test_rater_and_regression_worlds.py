"""Label histograms with known losses, one unknown mean, and the exact posterior of a quadratic."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly_studies.simulate import HistogramWorld, LocationWorld, QuadraticWorld, World

REGRESSION: list[World] = [LocationWorld(), LocationWorld(theta=2.0), QuadraticWorld(n_members=7)]


@pytest.mark.parametrize(
    "world",
    [HistogramWorld(), HistogramWorld(exponent=0.5), HistogramWorld(exponent=2.0, agreement=3.0, n_raters=4)],
    ids=lambda world: world.name,
)
def test_losses_are_what_their_unbiased_estimates_average_to(world: HistogramWorld) -> None:
    gaps = []
    for seed in range(60):
        sample = world.draw(400, rng=seed)
        true = world.losses(sample)
        parts = cr.raters.decompose_loss(sample.predictions, sample.labels)
        gaps.append(
            [parts.epistemic.value - true["epistemic"], parts.irreducible.value - true["irreducible"]]
        )
        assert true["epistemic"] == pytest.approx(true["calibration"] + true["dispersion"], abs=1e-14)
    mean, error = np.mean(gaps, axis=0), np.std(gaps, axis=0, ddof=1) / np.sqrt(60)
    assert (np.abs(mean) < 4 * error).all()


def test_raters_share_what_they_draw_from() -> None:
    """Var q = c (1 - c) / (agreement + 1) around the prediction of a calibrated model."""
    world = HistogramWorld(agreement=4.0)
    sample = world.draw(20_000, rng=1)
    z = sample.predictions.probs
    np.testing.assert_allclose(
        ((sample.truth.probs - z) ** 2).mean(axis=0), (z * (1 - z)).mean(axis=0) / 5, rtol=0.05
    )
    assert world.null
    assert sample.inside.all()


def test_calibration_of_histograms() -> None:
    """z = (0.8, 0.2) and exponent 0.5: sqrt(0.8) / (sqrt(0.8) + sqrt(0.2)) = 2 / 3."""
    world = HistogramWorld(exponent=0.5, n_classes=2)
    np.testing.assert_allclose(world._calibrated(np.array([[0.8, 0.2]])), [[2 / 3, 1 / 3]])
    sample = world.draw(200, rng=2)
    assert not world.null
    assert not sample.inside.any()
    assert sample.distance == pytest.approx(
        0.5 * np.abs(sample.given_instance - sample.predictions.probs).sum(axis=1)
    )
    flat = HistogramWorld(exponent=0, concentration=0.001, n_classes=50).draw(50, rng=3)
    np.testing.assert_allclose(flat.truth.probs, 1 / 50)  # zeros in z too


def test_number_of_raters() -> None:
    totals = HistogramWorld(n_raters=(2, 5)).draw(500, rng=4).labels.totals
    assert set(totals) == {2, 3, 4, 5}
    assert set(HistogramWorld(n_raters=7).draw(20, rng=4).labels.totals) == {7}


def test_one_unknown_mean() -> None:
    fixed = LocationWorld(theta=4.0).draw(5000, rng=5)
    assert fixed.labels.mean() == pytest.approx(4.0, abs=0.06)
    assert fixed.labels.std() == pytest.approx(1.0, abs=0.05)
    assert (fixed.predictions.mean == fixed.predictions.mean[0]).all()
    alone = LocationWorld(independent=True).draw(5000, rng=5)
    assert alone.labels.var() == pytest.approx(2.0, abs=0.2)
    # a variance of 1000 draws has standard error sqrt(2 / 1000) = 0.045; four times that
    drawn = [LocationWorld(n_members=1).draw(1, rng=seed) for seed in range(1000)]
    assert np.var([one.truth.mean[0] for one in drawn]) == pytest.approx(1.0, abs=0.18)
    assert np.var([data.predictions.mean[0, 0] for data in drawn]) == pytest.approx(1.0, abs=0.18)
    assert [LocationWorld().null, LocationWorld(theta=1).null, LocationWorld(independent=True).null] == [
        True,
        None,
        False,
    ]


SMALL = {"coefficients": None, "n_train": 20, "noise": 0.1, "gap": (-0.5, 0.5), "x_range": (-1.0, 1.0)}


def ranks(world: QuadraticWorld) -> np.ndarray:
    """Where the truth at one test place stands among the members, 0 to 19, over many data sets."""
    found = []
    for seed in range(800):
        sample = world.draw(1, rng=seed)
        found.append(int((sample.predictions.mean[0] < sample.truth.mean[0]).sum()))
    return np.array(found)


@pytest.mark.slow
def test_the_truth_is_a_draw_from_the_posterior() -> None:
    counts = np.bincount(ranks(QuadraticWorld(n_members=19, **SMALL)), minlength=20)
    assert scipy.stats.chisquare(counts).pvalue > 0.001
    narrow = np.bincount(ranks(QuadraticWorld(n_members=19, posterior_scale=0.3, **SMALL)), minlength=20)
    assert scipy.stats.chisquare(narrow).pvalue < 1e-6
    assert not QuadraticWorld(posterior_scale=0.3).null


def test_training_data_avoid_the_gap() -> None:
    world = QuadraticWorld(gap=(-0.2, 0.7), x_range=(-1.0, 1.0), n_train=4000)
    places, _ = world.training_data(rng=6)
    assert not ((places > -0.2) & (places < 0.7)).any()
    assert places.min() >= -1
    assert places.max() <= 1
    assert (places < 0).mean() == pytest.approx(0.8 / 1.1, abs=0.03)  # 0.8 of 1.1 lie on the left


def test_the_printed_quadratic() -> None:
    """P21 section 4.1, App. F: x ~ N(0, 1), y ~ N((x - 1)^2, .5), no training data at x in [-1.5, 0]."""
    world = QuadraticWorld()
    x, y = world.training_data(rng=0)
    assert len(x) == 10_000
    assert not ((x > -1.5) & (x < 0)).any()
    assert (y - (x - 1) ** 2).var() == pytest.approx(0.5, rel=0.05)
    # P(x < -1.5) = .0668 of what is left, 1 - (.5 - .0668)
    assert (x < -1.5).mean() == pytest.approx(0.0668 / 0.5668, abs=0.01)
    for test, inside in (("gap", 1.0), ("seen", 0.0), ("all", 0.4332)):
        feature = dataclasses.replace(world, test=test).draw(4000, rng=1).features[:, 0]
        assert ((feature > -1.5) & (feature < 0)).mean() == pytest.approx(inside, abs=0.03)
    assert [world.null, QuadraticWorld(coefficients=None).null] == [None, True]


def test_a_location_of_any_scale() -> None:
    """P21 App. E: theta ~ N(mu, tau^2), y ~ N(theta, sigma^2)."""
    world = LocationWorld(independent=True, prior_mean=3.0, prior_std=2.0, noise=0.5)
    sample = world.draw(20_000, rng=0)
    assert sample.labels.mean() == pytest.approx(3.0, abs=0.05)
    assert sample.labels.var() == pytest.approx(4.25, rel=0.05)  # eq. E.6: sigma^2 + tau^2
    assert float(sample.predictions.std[0, 0]) == 0.5


@pytest.mark.parametrize("world", REGRESSION, ids=lambda world: world.name)
def test_membership_is_refused_in_regression(world: World) -> None:
    sample = world.draw(3, rng=7)
    for ask in ("inside", "distance", "given_instance"):
        with pytest.raises(cr.UnsupportedError, match="membership in a set of distributions"):
            getattr(sample, ask)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: HistogramWorld(exponent=-1.0), "`exponent` must be at least 0"),
        (lambda: HistogramWorld(agreement=0.0), "`agreement` must be at least 1e-100"),
        (lambda: HistogramWorld(n_raters=0), "`n_raters` must be an integer of at least 1"),
        (lambda: HistogramWorld(n_raters=(5, 2)), "`n_raters` must be an integer of at least 5"),
        (lambda: HistogramWorld(n_raters=(1, 2, 3)), "`n_raters` must be a number or a pair"),
        (lambda: HistogramWorld(n_classes=1), "`n_classes` must be an integer of at least 2"),
        (lambda: LocationWorld(theta=float("nan")), "`theta` must be at least"),
        (lambda: LocationWorld(theta=1.0, independent=True), "`theta` is one mean for all"),
        (lambda: QuadraticWorld(noise=0.0), "`noise` must be positive"),
        (
            lambda: QuadraticWorld(gap=(-1.0, 1.0), x_range=(-1.0, 1.0)),
            "`gap` must leave room for training data",
        ),
        (lambda: QuadraticWorld(gap=(-2.0, 0.0), x_range=(-1.0, 1.0)), "`gap` must be at least -1"),
        (lambda: QuadraticWorld(posterior_scale=-1), "`posterior_scale` must be at least 0"),
    ],
)
def test_bad_settings(make: object, match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        make()
