"""Distributions of real-valued predictions: mixture CDF and its inverse, draws, interpolated quantiles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import credibly as cr
import strategies
from credibly.predictions.quantiles import positions
from libraries import Library, read

LEVELS = np.arange(1, 20) / 20


def mixture(n: int, m: int, seed: int = 0) -> cr.Gaussian:
    """Members whose widths span two orders of magnitude."""
    rng = np.random.default_rng(seed)
    return cr.Gaussian(3 * rng.normal(size=(n, m)), 10 ** rng.uniform(-1, 1, size=(n, m)), member_axis=1)


def test_mixture_cdf_is_the_integral_of_the_density() -> None:
    members = mixture(6, 4)
    values = np.random.default_rng(1).normal(size=6) * 4
    heights = members.cdf(values)
    for i, value in enumerate(values):
        mean, std = members.mean[i], members.std[i]

        def density(x: float, mean: np.ndarray = mean, std: np.ndarray = std) -> float:
            return float(scipy.stats.norm.pdf(x, mean, std).mean())

        breaks = sorted({*(mean - 3 * std), *mean, *(mean + 3 * std), value})
        ends = [mean.min() - 12 * std.max(), *(one for one in breaks if one <= value)]
        area = sum(
            scipy.integrate.quad(density, low, high, epsabs=1e-13)[0]
            for low, high in itertools.pairwise(ends)
        )
        assert heights[i] == pytest.approx(area, abs=1e-10)


def test_cdf_of_a_batch_is_that_of_its_rows() -> None:
    values = np.random.default_rng(2).normal(size=(5, 6))
    for predictions in (mixture(6, 3), cr.Samples(values.T), cr.Quantiles(np.tile(LEVELS, (6, 1)), LEVELS)):
        together = predictions.cdf(values)
        assert together.shape == (5, 6)
        np.testing.assert_allclose(together, [predictions.cdf(row) for row in values], rtol=1e-14)


MANY_LEVELS = np.arange(1, 100) / 100


@pytest.mark.parametrize("m", [1, 2, 5, 40])
@pytest.mark.parametrize("between", [[0.25, 0.5, 0.75], MANY_LEVELS])
def test_quantiles_invert_the_mixture_cdf(m: int, between: list[float] | np.ndarray) -> None:
    members = mixture(50, m)
    levels = np.array([1e-6, 0.001, *between, 0.999, 1 - 1e-6])
    quantiles = members.quantile(levels)
    assert (np.diff(quantiles, axis=1) > 0).all()
    assert np.abs(members.cdf(quantiles.T) - levels[:, None]).max() < 1e-13


def test_many_levels_have_the_quantiles_of_each_alone() -> None:
    """Polynomials stand for F only where nobody could tell, whatever the shares of the members are."""
    rng = np.random.default_rng(7)
    mean, std = 1e3 + rng.normal(size=(40, 6)), rng.gamma(8.0, 1 / 8, size=(40, 6))
    for shares in (None, rng.dirichlet(np.ones(6))):
        members = cr.Gaussian(mean, std, weights=shares)
        together = members.quantile(MANY_LEVELS)
        alone = np.concatenate([members.quantile([level]) for level in MANY_LEVELS], axis=1)
        # 1e-14 in F is 1e-12 where the density is 0.01; numbers around 1000 end at 1e-13
        np.testing.assert_allclose(together, alone, rtol=0, atol=2e-12)


@pytest.mark.parametrize("levels", [[0.1, 0.25, 0.5, 0.75, 0.9], MANY_LEVELS])
def test_newton_steps_to_and_fro_come_to_an_end(levels: list[float] | np.ndarray) -> None:
    """Inside the bracket steps may alternate between two places for ever: 3 of these rows did."""
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(2000, 10)), 10 ** rng.uniform(-2, 0, size=(2000, 10))
    members = cr.Gaussian(mean[:400], std[:400])
    quantiles = members.quantile(levels)
    assert np.abs(members.cdf(quantiles.T) - np.array(levels)[:, None]).max() < 1e-13


def test_small_levels_are_exact_in_their_own_size() -> None:
    members = mixture(20, 5)
    levels = np.array([1e-300, 1e-15, *MANY_LEVELS])
    for wanted in (levels, levels[:2]):
        heights = members.cdf(members.quantile(wanted).T)
        np.testing.assert_allclose(heights[:2], np.repeat(levels[:2, None], 20, axis=1), rtol=1e-8)


def test_members_far_apart_and_very_unequal() -> None:
    """Between two members the distribution function is flat: Newton steps alone would leave the bracket."""
    members = cr.Gaussian([[-1e4, 0.0, 5.0], [0.0, 0.0, 0.0]], [[1e-3, 1.0, 1e-5], [1e-6, 1.0, 1e6]])
    levels = np.array([0.1, 1 / 3 - 1e-9, 1 / 3 + 1e-9, 0.5, 0.9])
    quantiles = members.quantile(levels)
    assert (np.diff(quantiles, axis=1) > 0).all()
    assert np.abs(members.cdf(quantiles.T) - levels[:, None]).max() < 1e-10
    assert quantiles[0, 1] < -1e3
    assert quantiles[0, 2] > -1e3


@pytest.mark.parametrize("unit", [1e-200, 1e-6, 1e6, 1e200])
def test_quantiles_have_the_unit_of_the_members(unit: float) -> None:
    plain = mixture(5, 3)
    scaled = cr.Gaussian(unit * plain.mean, unit * plain.std)
    assert np.allclose(scaled.quantile(LEVELS) / unit, plain.quantile(LEVELS), rtol=1e-9, atol=1e-9)


def test_a_member_without_width_is_a_step() -> None:
    members = cr.Gaussian([[0.0, 0.0]], [[1.0, 1e-300]])
    low, centre, high = members.quantile([0.2, 0.5, 0.8])[0]
    assert centre == pytest.approx(0.0, abs=1e-12)
    assert low == pytest.approx(scipy.stats.norm.ppf(0.4))  # half of the probability is at 0
    assert high == pytest.approx(scipy.stats.norm.ppf(0.6))


def test_equal_members_are_one_normal() -> None:
    members = cr.Gaussian(np.full((3, 7), 2.0), np.full((3, 7), 0.5))
    expected = scipy.stats.norm.ppf(LEVELS, 2.0, 0.5)
    assert np.allclose(members.quantile(LEVELS), expected, rtol=0, atol=1e-13)


def test_distributions_in_every_library(library: Library) -> None:
    mixed = mixture(7, 3)
    draws, table = mixed.mean, np.sort(np.random.default_rng(3).normal(size=(7, 19)), axis=1)
    values = np.random.default_rng(4).normal(size=7)
    for there, here in (
        (cr.Gaussian(library.asarray(mixed.mean), library.asarray(mixed.std)), mixed),
        (cr.Samples(library.asarray(draws)), cr.Samples(draws)),
        (cr.Quantiles(library.asarray(table), library.asarray(LEVELS)), cr.Quantiles(table, LEVELS)),
    ):
        for found, expected in (
            (there.cdf(library.asarray(values)), here.cdf(values)),
            (there.quantile([0.04, 0.5, 0.9]), here.quantile([0.04, 0.5, 0.9])),
            (there.quantile(MANY_LEVELS.tolist()), here.quantile(MANY_LEVELS)),
            (there.expectation(), here.expectation()),
        ):
            assert library.owns(found)
            assert np.allclose(read(found), expected, rtol=1e-12, atol=1e-12)


def test_draws_by_their_definition() -> None:
    draws = cr.Samples([[4.0, 1.0, 3.0, 2.0, 2.0]])
    assert draws.cdf([2.0]).tolist() == [0.6]  # 1, 2, 2 of five
    assert draws.cdf([1.9]).tolist() == [0.2]
    # smallest draw whose share reaches the level: shares 0.2 (1), 0.6 (2), 0.8 (3), 1 (4)
    assert draws.quantile([0.2, 0.21, 0.6, 0.61, 0.99]).tolist() == [[1.0, 2.0, 2.0, 3.0, 4.0]]
    assert draws.expectation().tolist() == [2.4]


@pytest.mark.parametrize("count", [3, 7, 10, 30, 100])
def test_levels_that_are_multiples_of_the_step_do_not_slip(count: int) -> None:
    """0.7 * 10 is 7.000000000000001: the seventh draw, not the eighth."""
    levels = np.arange(1, count) / count
    draws = cr.Samples(np.arange(1.0, count + 1)[None])
    assert draws.quantile(levels)[0].tolist() == list(range(1, count))


def test_members_of_draws_are_pooled() -> None:
    values = np.random.default_rng(5).normal(size=(4, 3, 6))
    members, flat = cr.Samples(values), cr.Samples(values.reshape(4, 18))
    assert np.array_equal(members.quantile(LEVELS), flat.quantile(LEVELS))
    assert np.array_equal(members.cdf(np.zeros(4)), flat.cdf(np.zeros(4)))


@given(strategies.gaussians() | strategies.samples())
def test_quantiles_and_cdf_belong_together(predictions: cr.Gaussian) -> None:
    levels = np.array([0.05, 0.5, 0.95])
    quantiles = predictions.quantile(levels)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert (predictions.cdf(quantiles.T) >= levels[:, None] - 1e-9).all()  # Q(p) is where F reaches p


# Quantile tables


def dense() -> cr.Quantiles:
    rng = np.random.default_rng(6)
    return cr.Quantiles(np.sort(rng.normal(size=(5, 19)), axis=1), LEVELS)


def test_dense_quantiles_are_linear_between_and_exponential_beyond() -> None:
    table = cr.Quantiles([10 * LEVELS], LEVELS)  # uniform on 0 to 10, apart from the tails
    assert table.quantile([0.475]).tolist() == [[pytest.approx(4.75)]]
    assert table.cdf([4.75]).tolist() == [pytest.approx(0.475)]
    # lower tail: 0.05 exp((y - 0.5) / scale), scale = 0.05 (1 - 0.5) / 0.05 = 0.5
    assert table.cdf([0.0]).tolist() == [pytest.approx(0.05 * np.exp(-1.0))]
    assert table.cdf([10.0]).tolist() == [pytest.approx(1 - 0.05 * np.exp(-1.0))]
    assert table.quantile([0.05 * np.exp(-1.0)]).tolist() == [[pytest.approx(0.0)]]
    assert table.expectation().tolist() == [pytest.approx(5.0)]


def test_dense_quantiles_and_cdf_invert_each_other() -> None:
    table = dense()
    levels = np.array([1e-5, 0.01, 0.05, 0.33, 0.5, 0.95, 0.999])
    assert np.allclose(table.cdf(table.quantile(levels).T), levels[:, None], rtol=1e-9)


@pytest.mark.slow
def test_mean_of_dense_quantiles_is_the_area_under_the_quantile_function() -> None:
    table = dense()[:2]
    for i, mean in enumerate(table.expectation()):
        one = table[i : i + 1]
        breaks = [0.0, *LEVELS, 1.0]
        area = sum(
            scipy.integrate.quad(lambda u, one=one: one.quantile([u])[0, 0], low, high)[0]
            for low, high in itertools.pairwise(breaks)
        )
        assert mean == pytest.approx(area, abs=1e-6)


def test_tied_quantiles_hold_their_probability_in_one_place() -> None:
    table = cr.Quantiles([np.where(LEVELS < 0.5, 1.0, 2.0)], LEVELS)
    assert table.cdf([1.0]).tolist() == [pytest.approx(0.45)]
    assert table.cdf([0.999]).tolist() == [0.0]  # no width to measure a tail by
    assert table.cdf([2.0]).tolist() == [pytest.approx(0.95)]
    assert table.cdf([2.001]).tolist() == [1.0]


@given(st.integers(2, 6), st.floats(1e-12, 1 - 1e-12))
def test_positions_of_two_levels_and_of_many(count: int, uniform: float) -> None:
    levels = np.arange(1, count + 1) / (count + 1)
    cell, position = positions(levels, np.array([uniform]))
    assert 0 <= cell[0] <= count - 2
    assert (0 <= position[0] <= 1) == (levels[0] <= uniform <= levels[-1])


def test_few_quantiles_say_only_what_they_say() -> None:
    few = cr.Quantiles([[-1.0, 0.0, 1.5]], [0.1, 0.5, 0.9])
    assert not few.is_dense
    assert few.quantile([0.9, 0.1]).tolist() == [[1.5, -1.0]]
    for call, what in (
        (lambda: few.quantile([0.3]), "quantile at level 0.3"),
        (lambda: few.cdf([0.0]), "a distribution function"),
        (few.expectation, "a mean"),
    ):
        with pytest.raises(cr.UnsupportedError, match=f"{what} of `Quantiles` needs levels .*got 3 levels"):
            call()


def test_the_border_of_dense() -> None:
    assert cr.Quantiles([LEVELS], LEVELS).is_dense
    assert not cr.Quantiles([LEVELS[:-1]], LEVELS[:-1]).is_dense  # 0.9 to 1 is too far


@pytest.mark.parametrize("predictions", [mixture(3, 2), cr.Samples(np.zeros((3, 2)))], ids=repr)
def test_bad_values_and_levels(predictions: cr.Gaussian) -> None:
    for values in ([0.0], np.zeros((3, 1)), np.zeros((1, 1, 3))):
        with pytest.raises(cr.InputError, match=r"`values` must have shape \(3,\) or \(b, 3\)"):
            predictions.cdf(values)
    for levels in ([], [0.0], [1.0], [np.nan], [[0.5]], 0.5):
        with pytest.raises(cr.InputError, match="`levels` must be a vector of numbers strictly between"):
            predictions.quantile(levels)
    with pytest.raises(cr.InputTypeError, match="`values` must hold numbers"):
        predictions.cdf(["a", "b", "c"])


def test_values_of_another_library_are_refused() -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    with pytest.raises(cr.InputTypeError, match="one array library"):
        mixture(2, 3).cdf(torch.zeros(2))
