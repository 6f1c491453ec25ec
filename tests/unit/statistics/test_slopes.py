"""Slope of errors on predicted means: formula, standard error, what leaves no slope, what it finds."""

import numpy as np
import pytest

import credibly as cr

RNG = np.random.default_rng(0)
MEAN, STD = RNG.normal(size=80), RNG.uniform(0.5, 1.5, size=80)
GIVEN = cr.Gaussian(MEAN, STD)
Y = 0.7 * MEAN + STD * RNG.normal(size=80)


def test_the_slope_is_that_of_least_squares_with_whites_error() -> None:
    z, x = (Y - MEAN) / STD, (MEAN - MEAN.mean()) / MEAN.std()
    design = np.stack([np.ones(80), x], axis=1)
    line, *_ = np.linalg.lstsq(design, z, rcond=None)
    bread = np.linalg.inv(design.T @ design)
    error = bread @ (design.T * (z - design @ line) ** 2) @ design @ bread
    estimate = cr.statistics.mean_slope(GIVEN, Y)
    assert estimate.value == pytest.approx(line[1], rel=1e-12)
    assert estimate.stderr == pytest.approx(np.sqrt(error[1, 1]), rel=0.01)  # n or n - 1


def test_a_mixture_has_its_own_mean_and_spread() -> None:
    # means 0 and 4; spreads sqrt(1 + 1) and sqrt(1 + 1); z = 1, -1 in units of sqrt 2: slope -1 / sqrt 2
    gaussian = cr.Gaussian([[-1.0, 1.0], [3.0, 5.0]], np.ones((2, 2)), member_axis=1)
    assert cr.statistics.mean_slope(gaussian, [1.0, 3.0]).value == pytest.approx(-1 / np.sqrt(2))


@pytest.mark.parametrize("unit", [1e-140, 1e-9, 1.0, 1e9, 1e140])
def test_units_and_a_far_zero_change_nothing(unit: float) -> None:
    far = unit * 1e6
    gaussian = cr.Gaussian(far + unit * MEAN, unit * STD)
    value = cr.statistics.mean_slope(GIVEN, Y).value
    assert cr.statistics.mean_slope(gaussian, far + unit * Y).value == pytest.approx(value, rel=1e-8)
    parts = cr.statistics.mean_slope(cr.scan(gaussian, far + unit * Y, chunk_rows=7))
    assert parts.value == pytest.approx(value, rel=1e-8)
    assert parts.stderr == pytest.approx(cr.statistics.mean_slope(GIVEN, Y).stderr, rel=1e-8)


def test_weights_are_multiplicities() -> None:
    weight = np.arange(80) % 3
    again = np.repeat(np.arange(80), weight)
    weighted = cr.statistics.mean_slope(GIVEN, Y, sample_weight=weight)
    assert weighted.value == pytest.approx(cr.statistics.mean_slope(GIVEN[again], Y[again]).value)
    assert "weighted instances" in weighted.interval_refusal


def test_one_mean_for_all_has_no_slope() -> None:
    estimate = cr.statistics.mean_slope(cr.Gaussian(np.full(30, 1e7), np.ones(30)), 1e7 + Y[:30])
    assert (estimate.value, estimate.stderr) == (0.0, None)
    assert estimate.notes == ("all instances state the same mean: the slope is 0",)
    evaluated = cr.evaluate(cr.Gaussian(np.zeros(30), STD[:30]), Y[:30], n_resamples=19, rng=0)
    assert "all instances state the same mean" in dict(evaluated.not_run)["mean_slope"]


def test_instances_whose_draws_are_all_equal_are_left_out() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(20, 1)) + rng.normal(size=(20, 6))
    labels = rng.normal(size=20)
    flat = np.concatenate([draws, np.ones((2, 6))])
    estimate = cr.statistics.mean_slope(cr.Samples(flat, member_axis=1), np.append(labels, [1.0, 3.0]))
    expected = cr.statistics.mean_slope(cr.Samples(draws, member_axis=1), labels)
    # the label that equals its draws has the z-score 0, the other one has none
    with_one = cr.statistics.mean_slope(
        cr.Gaussian(np.append(draws.mean(axis=1), 1.0), np.append(draws.std(axis=1, ddof=1), 1.0)),
        np.append(labels, 1.0),
    )
    assert estimate.value == pytest.approx(with_one.value)
    assert estimate.stderr == pytest.approx(with_one.stderr, rel=0.01)  # of 21 instances, not of 22
    assert estimate.value != pytest.approx(expected.value)
    assert "in 2 instances all draws are equal: those with another label were left out" in estimate.notes
    assert any("moves the slope below 0" in note for note in expected.notes)


@pytest.mark.parametrize("unit", [1e-160, 1e160])
@pytest.mark.parametrize("name", ["mean_slope", "spread_ratio", "spread_slope", "ence"])
def test_units_whose_squares_are_no_numbers_are_refused(name: str, unit: float) -> None:
    gaussian = cr.Gaussian(unit * MEAN, unit * STD)
    with pytest.raises(cr.UnsupportedError, match=r"the variance of predictions must be between .* row 0"):
        cr.statistics.registered()[name](gaussian, unit * Y)


@pytest.mark.parametrize("name", ["mean_slope", "spread_ratio", "spread_slope", "ence"])
def test_units_of_draws_whose_squares_are_no_numbers_are_refused(name: str) -> None:
    draws = np.random.default_rng(4).normal(size=(len(Y), 12))
    statistic = cr.statistics.registered()[name]
    for arguments in ((cr.Samples(1e160 * draws), Y), (cr.scan(cr.Samples(1e160 * draws), Y, chunk_rows=2),)):
        with pytest.raises(
            cr.UnsupportedError, match=r"the variance of predictions must be below 1e300 .* row"
        ):
            statistic(*arguments)


@pytest.mark.parametrize("name", ["mean_slope", "spread_ratio", "spread_slope", "ence"])
def test_narrow_draws_count_wherever_they_stand(name: str) -> None:
    """At first, in a chunk of their own, or last: numbers are of all rows."""
    draws, labels = np.random.default_rng(4).normal(size=(len(Y), 12)), Y.copy()
    draws[:3], labels[:3] = 1e-40 * draws[:3], 0.0
    statistic = cr.statistics.registered()[name]
    value = statistic(cr.Samples(draws), labels).value
    assert statistic(cr.Samples(draws[::-1]), labels[::-1]).value == pytest.approx(value)
    assert statistic(cr.scan(cr.Samples(draws), labels, chunk_rows=3)).value == pytest.approx(value)


def test_the_default_test_finds_predictions_that_are_too_extreme() -> None:
    """Right on average, with the right spread of errors: quantiles and coverage see nothing."""
    rng = np.random.default_rng(2)
    truth, noise = rng.normal(size=(2, 400))
    mean = truth + 0.5 * rng.normal(size=400)  # of which a right one states 0.8
    gaussian = cr.Gaussian(mean, np.full(400, np.sqrt(1.25)))
    result = cr.calibration_test(gaussian, truth + noise, n_resamples=199, rng=0)
    assert set(result.components) == {"skce", "quantile_calibration_error", "mean_slope"}
    assert result.components["mean_slope"].statistic < 0
    assert result.components["mean_slope"].pvalue == 0.01  # both tails of 199
    assert result.rejects(0.05)
    headline = cr.evaluate(gaussian, truth + noise, n_resamples=199, rng=0).headline
    start = (
        "Too extreme (high predictions are too high and low ones too low): for every 1 that predictions rise"
    )
    assert headline.sentence.startswith(start)
    assert headline.finding.facts["observed"] < 1  # how much labels rise with them
    assert headline.steps[0][1] == 'cr.recalibration_report(predictions, labels, ["linear"])'
    timid = cr.evaluate(cr.Gaussian(0.6 * truth, np.full(400, np.sqrt(1.16))), truth + noise, rng=0).headline
    assert timid.sentence.startswith(
        "Too timid (high predictions are too low and low ones too high): for every"
    )
    low, high = timid.interval
    assert low < 1 - 1 / 0.6 < high  # the size is 1 minus the slope, which is 1 / 0.6
    assert timid.steps[0][1] == 'cr.recalibration_report(predictions, labels, ["linear"])'


def test_the_default_family_has_no_slope_where_there_is_none() -> None:
    levels = np.arange(1, 20) / 20
    quantiles = cr.Quantiles(GIVEN.quantile(levels), levels)
    for predictions in (
        quantiles,
        cr.Gaussian(np.zeros(80), STD),
        cr.Samples(MEAN[:, None] + np.zeros((80, 3))),
    ):
        result = cr.calibration_test(predictions, Y, n_resamples=19, rng=0)
        assert set(result.components) == {"skce", "quantile_calibration_error"}
