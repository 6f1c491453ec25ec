"""Recalibrations of real values: scales recovered, exact coverage, files, refusals, report and headline."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

import credibly as cr
from credibly.plots import picture
from credibly.predictions.quantiles import in_common_terms
from credibly.recalibrate.comparison import REAL_REPAIRS
from credibly.recalibrate.files import named_recalibration
from credibly.recalibrate.levels import _with_tails
from credibly.recalibrate.reals import centre_of, scaled
from recalibrations import narrow, real_kinds

MEAN, FEATURES, LABELS = narrow(600)
KINDS = real_kinds(MEAN)


def brute_scale(predictions, labels) -> float:
    """The best scale on a fine grid, by the CRPS of the scaled predictions themselves."""
    grid = np.exp(np.linspace(0.0, 1.0, 101))
    losses = [float(cr.crps(scaled(predictions, float(one)), labels)) for one in grid]
    return float(grid[int(np.argmin(losses))])


@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_minimises_the_crps(kind: str) -> None:
    some, labels = KINDS[kind][:60], LABELS[:60]
    fitted = cr.recalibrate.SpreadScaling().fit(some, labels)
    assert fitted.scale == pytest.approx(brute_scale(some, labels), rel=0.011)  # grid steps of 1 %
    after = float(cr.crps(scaled(some, float(fitted.scale)), labels))
    assert fitted.convergence.loss_after == pytest.approx(after, rel=1e-9)
    assert fitted.convergence.loss_before == pytest.approx(float(cr.crps(some, labels)), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_scaling_keeps_the_kind_and_the_centre(kind: str) -> None:
    given = KINDS[kind]
    made = cr.recalibrate.SpreadScaling().fit(given[:500], LABELS[:500]).apply(given[500:])
    assert type(made) is type(given)
    assert np.allclose(centre_of(made), centre_of(given[500:]), atol=1e-12)
    wide, before = (np.diff(one.quantile([0.25, 0.75])) for one in (made, given[500:]))
    ratio = float(np.median(wide / before))
    assert 1.3 < ratio < 1.9  # labels have about 1.6 times the spread


def test_a_scale_per_group_and_its_refusals(tmp_path) -> None:
    given = KINDS["Gaussian"]
    groups = np.where(FEATURES[:, 0] > 0, "high", "low")
    groups[:5] = "rare"
    fitted = cr.recalibrate.SpreadScaling().fit(given, LABELS, groups=groups)
    assert fitted.fitted_by_group
    alone = {
        name: cr.recalibrate.SpreadScaling().fit(given[groups == name], LABELS[groups == name]).scale
        for name in ("high", "low", "rare")
    }
    kept = {
        name: math.log(fitted.scales[name] / fitted.scale) / math.log(alone[name] / fitted.scale)
        for name in alone
    }
    assert 0.9 < kept["high"] < 1.0  # 300 instances keep their scale, five are pulled towards that of all
    assert 0.9 < kept["low"] < 1.0
    assert 0.0 < kept["rare"] < 0.7
    assert fitted.scales["low"] < fitted.scale < fitted.scales["high"]
    again = cr.recalibrate.load(fitted.save(tmp_path / "groups.json"))
    first, second = (method.apply(given[10:50], groups=groups[10:50]) for method in (fitted, again))
    assert np.array_equal(first.std, second.std)
    other = fitted.apply(given[:2], groups=["other", "low"])
    assert np.allclose(other.std, [fitted.scale, fitted.scales["low"]])
    assert (
        "1 instance of 1 group that the fit did not see (other): they get the scale of all" in other.notes[-1]
    )
    with pytest.raises(cr.InputError, match="must be given: the fit used some"):
        fitted.apply(given[:2])
    with pytest.raises(cr.InputError, match="must be left out: the fit used none"):
        cr.recalibrate.SpreadScaling().fit(given, LABELS).apply(given[:2], groups=groups[:2])
    with pytest.raises(cr.InputError, match=r"uses no groups; .*make them features"):
        cr.recalibrate.SpreadScaling(by="features").fit(given, LABELS, features=FEATURES, groups=groups)
    with pytest.raises(cr.InputError, match=r"uses no groups.*SpreadScaling or LocationScaling, which"):
        cr.recalibrate.TailScaling().fit(given, LABELS, groups=groups)
    with pytest.raises(cr.InputError, match="uses no groups"):
        cr.recalibrate.IsotonicRecalibration().fit(given, LABELS, groups=groups)
    with pytest.raises(cr.InputError, match="one entry per prediction"):
        cr.recalibrate.SpreadScaling().fit(given, LABELS, groups=groups[:7])
    damaged = json.loads((tmp_path / "groups.json").read_text())
    damaged["learned"]["scales"]["low"] = -1.0
    (tmp_path / "damaged.json").write_text(json.dumps(damaged))
    with pytest.raises(cr.FileError, match="a finite number above 0 per group"):
        cr.recalibrate.load(tmp_path / "damaged.json")


@pytest.mark.parametrize("kind", KINDS)
def test_a_scale_learned_from_features_follows_them(kind: str) -> None:
    fitted = cr.recalibrate.SpreadScaling(by="features", penalty=0.0).fit(
        KINDS[kind], LABELS, features=FEATURES
    )
    assert fitted.coefficients[0] / fitted.spread[0] == pytest.approx(
        0.4, abs=0.12
    )  # as the labels were made
    assert fitted.coefficients[1] == pytest.approx(0.0, abs=0.12)
    held_back = cr.recalibrate.SpreadScaling(by="features", penalty=100.0)
    held_back.fit(KINDS[kind], LABELS, features=FEATURES)
    assert np.abs(held_back.coefficients).max() < 0.02


def test_shares_of_levels_are_their_own_isotonic_regression() -> None:
    given = KINDS["Gaussian"]
    fitted = cr.recalibrate.IsotonicRecalibration().fit(given[:200], LABELS[:200])
    level = np.sort(given[:200].cdf(LABELS[:200]))
    share = np.arange(1, 201) / 201
    assert np.array_equal(fitted.before[1:-1], level)
    assert np.allclose(fitted.after[1:-1], isotonic_regression(share).x, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_isotonic_levels_are_uniform_on_the_data_of_the_fit(kind: str) -> None:
    fitted = cr.recalibrate.IsotonicRecalibration().fit(KINDS[kind], LABELS)
    with pytest.warns(UserWarning, match="fitted on"):
        made = fitted.apply(KINDS[kind])
    levels = np.asarray(made.levels)
    shares = (LABELS[:, None] <= made.values).mean(axis=0)
    assert np.abs(shares - levels).max() <= 0.01  # straight lines between the points of R


@pytest.mark.parametrize("kind", KINDS)
def test_shifted_quantiles_have_the_ranks_they_promise(kind: str) -> None:
    fitted = cr.recalibrate.QuantileShift().fit(KINDS[kind][:99], LABELS[:99])
    with pytest.warns(UserWarning, match="fitted on"):
        made = fitted.apply(KINDS[kind][:99])
    below = (LABELS[:99, None] < made.values - 1e-9).sum(axis=0)
    if not any("crossed" in note for note in made.notes):
        expected = np.round(100 * fitted.at)  # ranks l (n + 1) of 99 labels: the label itself is not below
        assert np.array_equal(below + 1, expected)


def test_coverage_after_a_shift_is_exact_on_average() -> None:
    """Over draws of both parts: an interval of 80 % from 19 labels holds (18 - 2) / 20 = 0.8 exactly."""
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(100):
        labels = rng.exponential(size=24)
        biased = cr.Quantiles(np.tile([-3.0, 7.0], (24, 1)), [0.1, 0.9])
        made = cr.recalibrate.QuantileShift().fit(biased[:19], labels[:19]).apply(biased[19:])
        inside.append(np.mean((labels[19:] >= made.values[:, 0]) & (labels[19:] <= made.values[:, 1])))
    assert np.mean(inside) == pytest.approx(0.8, abs=3 * np.std(inside) / 10)


def test_shifts_may_follow_the_width_of_a_row() -> None:
    """The upper of two quantiles is too low by a third of the width of its row."""
    rng = np.random.default_rng(6)
    width = np.repeat([1.0, 10.0], 1000) * rng.uniform(0.9, 1.1, 2000)
    truth = width[:, None] * ndtri([0.1, 0.9]) / (2 * ndtri(0.9))  # about 1 and 10 wide
    labels = width * rng.normal(size=2000) / (2 * ndtri(0.9))
    low = cr.Quantiles(truth * [1.0, 0.5], [0.1, 0.9])  # 0.75 of the width, so that 0.25 / 0.75 is missing
    fitted = cr.recalibrate.QuantileShift(relative=True).fit(low[::2], labels[::2])
    assert fitted.shifts == pytest.approx([0.0, 1 / 3], abs=0.06)
    made = fitted.apply(low[1::2])
    for rows in (slice(0, 500), slice(500, 1000)):
        assert (labels[1::2][rows] <= made.values[rows, 1]).mean() == pytest.approx(0.9, abs=0.04)
    with pytest.raises(cr.UnsupportedError, match="equal in 1 instance"):
        cr.recalibrate.QuantileShift(relative=True).fit(cr.Quantiles([[1, 2], [3, 3]], [0.1, 0.9]), [1, 2])


def test_refusals_name_the_remedy() -> None:
    few = cr.Quantiles(np.tile([0.0, 1.0], (30, 1)), [0.1, 0.9])
    point = cr.Gaussian(np.zeros(30), np.ones(30))
    labels = np.random.default_rng(0).normal(size=30)
    with pytest.raises(cr.UnsupportedError, match=r"level 0.01 needs at least 99 instances"):
        cr.recalibrate.QuantileShift(levels=100).fit(point, labels)
    with pytest.raises(cr.UnsupportedError, match=r"at most 0.05 apart"):
        cr.recalibrate.IsotonicRecalibration().fit(few, labels)
    with pytest.raises(cr.UnsupportedError, match="at least two draws"):
        cr.recalibrate.IsotonicRecalibration().fit(cr.Samples(labels[:, None], member_axis=1), labels)
    with pytest.raises(cr.UnsupportedError, match="needs predictions with a spread"):
        cr.recalibrate.SpreadScaling().fit(cr.Samples(np.ones((30, 4))), labels)
    with pytest.raises(cr.UnsupportedError, match="the CRPS still falls"):
        cr.recalibrate.SpreadScaling().fit(point, np.zeros(30))
    with pytest.raises(cr.InputTypeError, match=r"class predictions; got Gaussian.*SpreadScaling"):
        cr.recalibrate.TemperatureScaling().fit(point, labels)
    with pytest.raises(cr.InputTypeError, match=r"Gaussian, Samples and Quantiles.*got Point"):
        cr.recalibrate.SpreadScaling().fit(np.full((30, 2), 0.5), np.zeros(30, dtype=int))
    shift = cr.recalibrate.QuantileShift().fit(few, labels)
    with pytest.raises(cr.InputError, match="the 2 levels of the fit; got 3"):
        shift.apply(cr.Quantiles([[0.0, 1.0, 2.0]], [0.1, 0.5, 0.9]))
    with pytest.raises(cr.InputTypeError, match="probabilities of classes"):
        shift.predict_proba(few)
    with pytest.raises(cr.InputError, match="names joined by"):
        named_recalibration("scaling")


def test_a_damaged_map_is_not_loaded(tmp_path) -> None:
    fitted = cr.recalibrate.IsotonicRecalibration().fit(KINDS["Gaussian"], LABELS)
    values = fitted.to_dict()
    values["learned"]["after"][3] = 2.0
    path = tmp_path / "map.json"
    path.write_text(json.dumps(values))
    with pytest.raises(cr.FileError, match="increase from 0 to 1 as 'after'"):
        cr.recalibrate.load(path)


def test_predictions_of_several_kinds_are_scored_in_the_same_terms() -> None:
    one, draws, quantiles = KINDS["Gaussian"], KINDS["Samples"], KINDS["Quantiles"]
    same, note = in_common_terms([one, draws])
    assert same == [one, draws]
    assert note is None
    both, note = in_common_terms([one, quantiles])
    assert np.allclose(both[0].values, quantiles.values)
    assert "19 levels" in note
    fewer = cr.Quantiles(quantiles.quantile([0.05, 0.5]), [0.05, 0.5])
    shared, _ = in_common_terms([quantiles, fewer])
    assert np.allclose(shared[0].levels, [0.05, 0.5])
    odd = cr.Quantiles(one.quantile([0.33]), [0.33])
    with pytest.raises(cr.UnsupportedError, match="must share a level"):
        in_common_terms([fewer, odd])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Gaussian", "Quantiles"])
def test_the_report_compares_methods_in_the_same_terms(kind: str) -> None:
    report = cr.recalibration_report(
        KINDS[kind], LABELS, ["scale", "isotonic", "levels"], cv=3, n_resamples=39
    )
    before = {method.changes["crps"].before.value for method in report.methods.values()}
    assert len(before) == 1  # quantiles of 19 levels, which all methods have
    for one in report.methods.values():
        assert one.changes["crps"].difference.interval()[1] < 0
        assert abs(one.changes["picp"].after.value - 0.9) < abs(one.changes["picp"].before.value - 0.9)
        assert one.changes["picp"].test_before.pvalue == 2 / 40
        assert one.curve.pvalue > report.curve.pvalue
    assert report.best() in report.methods
    assert "between stated and observed coverage" in picture(report, "curves").finding
    assert picture(report, "curves").table().columns == ("curve", "level", "observed")
    assert picture(report, "changes").finding.startswith("CRPS")
    assert report.plot(kind="curves").get_xlabel() == "stated coverage"
    cut = cr.recalibration_report(KINDS[kind], LABELS, ["scale"], cv=3, n_resamples=0)
    assert cut.curve is None
    assert cut.methods["scale"].changes["picp"].test_after is None


def test_groups_and_features_reach_the_methods_of_a_report() -> None:
    groups = np.where(FEATURES[:, 0] > 0, "high", "low")
    report = cr.recalibration_report(
        KINDS["Gaussian"],
        LABELS,
        ["scale", cr.recalibrate.SpreadScaling(by="features")],
        features=FEATURES,
        groups=groups,
        n_resamples=0,
    )
    unasked = cr.recalibration_report(
        KINDS["Gaussian"], LABELS, features=FEATURES, groups=groups, n_resamples=0
    ).methods
    grouped = ("shift by group", "scale by group", "shift+scale by group")
    assert list(unasked) == [*REAL_REPAIRS, "scale_by_features", *grouped]
    after = {name: method.changes["crps"].after.value for name, method in report.methods.items()}
    without = cr.recalibration_report(KINDS["Gaussian"], LABELS, ["scale"], n_resamples=0).methods["scale"]
    assert after["scale_by_features"] < after["scale"] < without.changes["crps"].after.value


def test_the_headline_says_what_a_scale_would_do() -> None:
    labels = MEAN + 1.6 * np.random.default_rng(5).normal(size=600)
    evaluation = cr.evaluate(KINDS["Gaussian"], labels, statistics=["crps", "picp"], n_resamples=99)
    assert evaluation.headline.remedy.startswith("A scale of 1.")
    assert "fitted on other folds, leaves" in evaluation.headline.remedy
    assert '"scale"' in evaluation.headline.steps[0][1]
    right = cr.evaluate(KINDS["Gaussian"], MEAN, statistics=["crps"], n_resamples=99, recalibrate=[])
    assert right.recalibration is None


def test_the_map_of_a_bias_helps_where_a_scale_does_not() -> None:
    rng = np.random.default_rng(3)
    labels = MEAN + 2.0 + rng.normal(size=600)
    tried = ["scale", "isotonic", "levels"]
    report = cr.recalibration_report(KINDS["Gaussian"], labels, tried, cv=3, n_resamples=0)
    assert report.best() in ("isotonic", "levels")
    gains = {name: method.changes["crps"].difference.value for name, method in report.methods.items()}
    assert gains["isotonic"] < 3 * gains["scale"]


def test_tails_of_draws_are_measured_by_several_of_them() -> None:
    draws = np.array([[0.0, 1.0, 5.0, 6.0, 7.0, 7.1, 7.2, 9.0, 9.0, 9.0]])  # k = 3
    table, levels = _with_tails(draws, np.arange(1, 11) / 11)
    assert table[0, 0] == pytest.approx(-0.01 * (6.0 - 2.0))  # (0 + 1 + 5) / 3 = 2
    assert table[0, -1] == pytest.approx(9.0 + 0.01 * (9.0 - 7.2))
    scale = levels[0] / (levels[1] - levels[0]) * (table[0, 1] - table[0, 0])
    assert scale == pytest.approx(4.0, rel=0.006)  # of the tail that this cell measures


def test_isotonic_levels_of_few_draws_help_where_they_are_too_narrow() -> None:
    """With single gaps as scales of tails, intervals were 1.9 times as wide as right ones."""
    rng = np.random.default_rng(5)
    mean, labels = rng.normal(size=800), rng.normal(size=800)
    samples, labels = cr.Samples(mean[:, None] + rng.normal(size=(800, 10))), mean + 2.0 * labels
    fitted = cr.recalibrate.IsotonicRecalibration(levels=20).fit(samples[:400], labels[:400])
    before, after = samples[400:], fitted.apply(samples[400:])
    assert cr.interval_score(after, labels[400:]).value < 0.9 * cr.interval_score(before, labels[400:]).value
    low, high = np.asarray(after.quantile([0.05, 0.95])).T
    assert np.mean(high - low) < 1.8 * 2 * 1.645 * 2.0


@pytest.mark.parametrize("kind", ["Gaussian", "Samples"])
def test_isotonic_levels_count_labels_beyond_every_level(kind: str) -> None:
    """Labels 400 spreads away on both sides: half of them are below all that F can tell, half above."""
    rng = np.random.default_rng(0)
    mean, sides = rng.normal(size=100), np.where(np.arange(100) % 2, 400.0, -400.0)
    draws = mean[:, None] + np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    given = {"Gaussian": cr.Gaussian(mean, np.ones(100)), "Samples": cr.Samples(draws)}[kind]
    fitted = cr.recalibrate.IsotonicRecalibration(levels=20).fit(given, mean + sides)
    made = fitted.apply(given[:50])
    away = made.values - mean[:50, None]
    assert (away[:, :9] < -30.0).all()  # levels up to 0.45; they were those of the model
    assert (away[:, 10:] > 8.0).all()
    assert "quantiles would be so far out" in made.notes[-1]
    scaled = cr.recalibrate.SpreadScaling().then(fitted.unfitted()).fit(given, mean + sides)
    assert "so far out" not in "".join(scaled.apply(given[:50]).notes)


@pytest.mark.parametrize("kind", ["Samples", "Quantiles"])
def test_isotonic_levels_leave_right_counts_as_they_are(kind: str) -> None:
    """Rain: labels at the upper end of the step at 0 would all seem to be too high."""
    rng = np.random.default_rng(0)
    levels, n = np.arange(1, 40) / 40, 1000
    dry, size = rng.uniform(0.2, 0.8, size=(2 * n, 1)), rng.uniform(1.0, 3.0, size=(2 * n, 1))
    wet = np.maximum(levels - dry, 0.0) / (1 - dry)
    shape = {"Samples": (2 * n, 101), "Quantiles": (2 * n, 1)}[kind]
    drawn = np.where(rng.random(shape) < dry, 0.0, size * rng.exponential(size=shape))
    labels = drawn[:, 0]
    given = {
        "Samples": lambda: cr.Samples(drawn[:, 1:]),
        "Quantiles": lambda: cr.Quantiles(-size * np.log1p(-wet), levels),
    }[kind]()
    fitted = cr.recalibrate.IsotonicRecalibration(levels=40).fit(given[:n], labels[:n])
    assert np.abs(fitted.after - fitted.before).max() < 0.05  # it was 0.27
    made = fitted.apply(given[n:])
    raw = cr.Quantiles(given[n:].quantile(levels), levels)
    assert float(cr.crps(made, labels[n:])) < 1.01 * float(cr.crps(raw, labels[n:]))


@pytest.mark.parametrize(
    ("levels", "centre"),
    [
        ([0.2, 0.7], 3.0),  # 0 + 5 (0.5 - 0.2) / 0.5
        ([0.5, 0.9], 0.0),
        ([0.6, 0.8], 0.0),  # beyond the outermost level: its quantile
        ([0.1, 0.3], 5.0),
    ],
)
def test_the_centre_of_quantiles_is_their_median(levels: list[float], centre: float) -> None:
    quantiles = cr.Quantiles([[0.0, 5.0]], levels)
    assert centre_of(quantiles).tolist() == pytest.approx([centre])
    assert scaled(quantiles, 2.0).values[0].tolist() == pytest.approx([-centre, 10.0 - centre])
