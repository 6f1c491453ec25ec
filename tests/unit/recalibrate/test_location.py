"""Shifts, slopes, exponents of the spread, tails and skewness of real values; groups that share strength."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri

import credibly as cr
from credibly.recalibrate.groups import variance_between
from credibly.recalibrate.location import moments_of, working_spread
from credibly.recalibrate.tails import fit_skew, skew_cdf, skew_loss, skew_quantiles

N = 2000
RNG = np.random.default_rng(3)
MEAN, SPREAD, ERROR = 2 * RNG.normal(size=N), np.exp(0.4 * RNG.normal(size=N)), RNG.normal(size=N)
LABELS = MEAN + SPREAD * ERROR
LEVELS = np.arange(1, 20) / 20


def kinds(mean: np.ndarray, spread: np.ndarray) -> list[cr.predictions.RealPredictions]:
    draws = np.random.default_rng(1).normal(size=(len(mean), 300))
    return [
        cr.Gaussian(mean, spread),
        cr.Samples(mean[:, None] + spread[:, None] * draws),
        cr.Quantiles(mean[:, None] + spread[:, None] * ndtri(LEVELS), LEVELS),
    ]


@pytest.mark.parametrize("unit", [1.0, 1e-18, 1e18])
def test_all_terms_are_found_together_in_every_unit(unit: float) -> None:
    """centre = 1.25 m + 0.5 and spread = 0.6 s^1.5 must become m and s."""
    for kind in kinds(unit * (1.25 * MEAN + 0.5), unit * 0.6 * SPREAD**1.5):
        found = cr.recalibrate.LocationScaling(("shift", "slope", "scale", "spread"))
        made = found.fit(kind[:1999], unit * LABELS[:1999]).apply(kind)
        mean, spread = moments_of(made)
        assert np.abs(mean / unit - MEAN).mean() < 0.1
        assert np.abs(np.log(spread / unit / SPREAD)).mean() < 0.1
        assert type(made) is type(kind)


@pytest.mark.parametrize("follows", [0.0, 1.0])
def test_shifts_follow_the_spread_where_that_explains_more(follows: float, tmp_path: Path) -> None:
    groups = np.array(["a", "b", "c", "d"])[np.arange(N) % 4]
    shift = np.where(groups == "a", 0.8, 0.3) * SPREAD**follows
    for kind in kinds(MEAN + shift, SPREAD):
        fitted = cr.recalibrate.LocationScaling(("shift",)).fit(
            kind[:1999], LABELS[:1999], groups=groups[:1999]
        )
        assert fitted.follows == follows
        assert ("stated spreads" in fitted.describe()) == bool(follows)
        again = cr.recalibrate.load(fitted.save(tmp_path / f"{type(kind).__name__}.json"))
        left = moments_of(again.apply(kind, groups=groups))[0] - MEAN
        assert np.abs(left / SPREAD**follows).mean() < 0.08  # draws state their mean within 0.06 spreads


def test_quantiles_are_moved_around_their_mean() -> None:
    """A log-normal has its mean above its median: moving the median there would be wrong."""
    table = MEAN[:, None] + np.exp(0.6 * ndtri(LEVELS))
    quantiles = cr.Quantiles(table, LEVELS)
    mean, spread = moments_of(quantiles)
    assert mean - MEAN == pytest.approx(np.exp(0.18), abs=0.02)  # exp(s^2 / 2)
    assert spread == pytest.approx(np.sqrt((np.exp(0.36) - 1) * np.exp(0.36)), rel=0.12)
    labels = MEAN + np.exp(0.6 * ERROR)
    fitted = cr.recalibrate.LocationScaling(("shift",)).fit(quantiles[:1999], labels[:1999])
    assert abs(fitted.centre[0]) < 0.06
    moved = fitted.apply(quantiles)
    assert np.allclose(np.asarray(moved.values) - table, fitted.centre[0])


def test_what_groups_have_of_their_own_is_pulled_as_far_as_chance_explains_it() -> None:
    groups = np.arange(N) % 200
    shifts = 0.3 * np.random.default_rng(0).normal(size=200)
    gaussian = cr.Gaussian(MEAN, np.ones(N))
    for between, bound in ((0.0, 0.005), (1.0, 0.055)):  # 0.3^2 / 10 / (0.3^2 + 1 / 10) = 0.047
        labels = MEAN + between * shifts[groups] + ERROR
        fitted = cr.recalibrate.LocationScaling(("shift",)).fit(gaussian, labels, groups=groups)
        values = fitted.centre[0] + fitted.centre[1:]
        truth = between * shifts[[int(level) for level in fitted.levels]]
        assert np.mean((values - truth) ** 2) < bound
        scale = cr.recalibrate.SpreadScaling().fit(
            gaussian, MEAN + np.exp(between * shifts[groups]) * ERROR, groups=groups
        )
        logs = np.log([scale.scales[level] for level in fitted.levels])
        assert np.mean((logs - truth) ** 2) < bound


def test_the_variance_between_groups_is_what_chance_leaves() -> None:
    apart, precision = np.array([2.0, -2.0, 0.0]), np.full(3, 1.0)
    found = variance_between(apart, precision)
    assert found == pytest.approx(3.0)  # 8 / (v + 1) = 2
    assert variance_between(0.1 * apart, precision) == pytest.approx(0.0, abs=1e-12)
    assert variance_between(np.zeros(3), precision) == 0.0


def test_groups_of_the_fit_and_others() -> None:
    groups = np.where(np.arange(N) % 4 == 0, "a", "b")
    gaussian = cr.Gaussian(MEAN + 2.0 * (groups == "a"), SPREAD)
    fitted = cr.recalibrate.LocationScaling(("shift",)).fit(gaussian, LABELS, groups=groups)
    assert fitted.fitted_by_group
    made = fitted.apply(gaussian[:4], groups=["a", "b", "new", "newer"])
    moved = np.asarray(made.mean) - np.asarray(gaussian.mean)[:4]
    assert moved[0] == pytest.approx(-2.0, abs=0.15)
    assert moved[1] == pytest.approx(0.0, abs=0.1)
    assert moved[2] == moved[3] == pytest.approx(float(fitted.centre[0]))
    assert "2 instances of 2 groups that the fit did not see" in made.notes[-1]
    with pytest.raises(cr.InputError, match="must be given: the fit used some"):
        fitted.apply(gaussian[:4])
    plain = cr.recalibrate.LocationScaling(("shift",)).fit(gaussian, LABELS)
    with pytest.raises(cr.InputError, match="must be left out: the fit used none"):
        plain.apply(gaussian[:4], groups=groups[:4])
    chain = plain.unfitted().then(cr.recalibrate.IsotonicRecalibration()).fit(gaussian, LABELS, groups=groups)
    with pytest.raises(cr.InputError, match="must be given: the fit used some"):
        chain.apply(gaussian[:4])


def test_degenerate_predictions() -> None:
    constant = cr.Gaussian(np.zeros(N), np.ones(N))
    fitted = cr.recalibrate.LocationScaling(("shift", "slope")).fit(constant, 0.5 + ERROR)
    assert fitted.centre[1] == 0.0  # nothing rises
    points = cr.Samples(np.repeat(MEAN[:, None], 5, axis=1))
    shift = cr.recalibrate.LocationScaling(("shift",)).fit(points, LABELS + 0.5)
    assert shift.centre[0] == pytest.approx(float(np.mean(LABELS + 0.5 - MEAN)))
    with pytest.raises(cr.UnsupportedError, match="needs predictions with a spread"):
        cr.recalibrate.LocationScaling(("shift", "scale")).fit(points, LABELS)
    samples = cr.Samples(MEAN[:, None])
    assert moments_of(samples)[1].tolist() == [0.0] * N
    spreads = working_spread(cr.Samples(np.zeros((2, 5))), np.array([0.0, 3.0]))
    assert spreads == pytest.approx([3.0 * np.sqrt(0.5), 3.0])  # (4 + 4 z^2) / 8 of the typical 3


def test_a_sinh_arcsinh_distribution_is_one() -> None:
    law = (0.3, 0.5, 0.8)
    levels = np.linspace(0.001, 0.999, 99)
    assert skew_cdf(skew_quantiles(levels, *law), *law) == pytest.approx(levels)
    assert quad(lambda z: float(np.exp(-skew_loss(np.array(z), *law))), -20, 60)[0] == pytest.approx(1.0)
    z = skew_quantiles(np.random.default_rng(0).random(20_000), *law)
    assert fit_skew(z, np.ones(z.size)) == pytest.approx(law, abs=0.05)


@pytest.mark.parametrize("sign", [1, -1])
def test_skewness_is_repaired_for_every_kind(sign: int) -> None:
    errors = sign * (np.random.default_rng(8).gamma(3.0, size=N) - 3.0) / np.sqrt(3.0)
    labels = MEAN + SPREAD * errors
    for kind in kinds(MEAN, SPREAD):
        fitted = cr.recalibrate.SkewScaling().fit(kind[:1000], labels[:1000])
        assert np.sign(fitted.skew) == sign
        made = fitted.apply(kind[1000:])
        low, high = np.asarray(made.quantile([0.05, 0.95])).T
        assert (labels[1000:] < low).mean() == pytest.approx(0.05, abs=0.02)
        assert (labels[1000:] > high).mean() == pytest.approx(0.05, abs=0.02)
        before = np.asarray(kind[1000:].quantile([0.05, 0.95]))
        assert abs((labels[1000:] < before[:, 0]).mean() - (labels[1000:] > before[:, 1]).mean()) > 0.04


def test_tails_are_those_of_the_own_distribution() -> None:
    """Draws of t(3) are right for such labels: there is nothing to repair, though they are not normal."""
    draws = MEAN[:, None] + SPREAD[:, None] * np.random.default_rng(1).standard_t(3, size=(N, 400))
    labels = MEAN + SPREAD * np.random.default_rng(2).standard_t(3, size=N)
    right = cr.recalibrate.TailScaling().fit(cr.Samples(draws), labels)
    assert right.degrees >= 15
    wrong = cr.recalibrate.TailScaling().fit(cr.Gaussian(MEAN, SPREAD), labels)
    assert wrong.degrees <= 4


def test_named_groups_are_read_back(tmp_path: Path) -> None:
    gaussian, groups = cr.Gaussian(MEAN, SPREAD), np.where(ERROR > 0, "north", "south")
    fitted = cr.recalibrate.LocationScaling().fit(gaussian, LABELS, groups=groups)
    again = cr.recalibrate.load(fitted.save(tmp_path / "location.json"))
    assert again.levels == fitted.levels == ("north", "south")
    assert again.fitted_by_group
    first, second = (one.apply(gaussian[:50], groups=groups[:50]) for one in (fitted, again))
    assert np.array_equal(first.mean, second.mean)
    assert np.array_equal(first.std, second.std)


@pytest.mark.parametrize("method", [cr.recalibrate.TailScaling, cr.recalibrate.SkewScaling])
def test_shapes_of_errors_are_those_of_real_values(method: type[cr.recalibrate.Recalibration]) -> None:
    with pytest.raises(cr.InputTypeError, match="defined for Gaussian, Samples and Quantiles"):
        method().fit(cr.Point([[0.3, 0.7], [0.6, 0.4]]), [0, 1])
