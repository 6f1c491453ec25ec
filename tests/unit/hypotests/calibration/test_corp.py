"""Isotonic reliability curves, their bands, and the split of proper scores."""

from __future__ import annotations

import dataclasses
import math
import re
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation.words import crps_in_words
from credibly.hypotests.calibration.corp import _ranges, honest_band, isotonic_fits
from credibly.plots.curves import widest_departure


def two_classes(f: np.ndarray) -> np.ndarray:
    return np.stack([1 - f, f], axis=1)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    f = rng.beta(2, 1, size=200).round(2)
    return f, (rng.random(200) < f**2).astype(int)


@pytest.fixture(scope="module")
def many() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    f = rng.beta(2, 1, size=2000)
    return f, (rng.random(2000) < f**3).astype(int)


def loop_pav(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Pool neighbours in the wrong order until there are none."""
    blocks = [[float(v), float(w), 1] for v, w in zip(values, weights, strict=True)]
    at = 0
    while at + 1 < len(blocks):
        (left, own, count), (right, other, more) = blocks[at : at + 2]
        if left >= right:
            blocks[at : at + 2] = [[(left * own + right * other) / (own + other), own + other, count + more]]
            at = max(0, at - 1)
        else:
            at += 1
    return np.concatenate([np.full(count, value) for value, _, count in blocks])


def recalibrated(f: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loop's curve at every instance."""
    group = np.unique(f, return_inverse=True)[1]
    size = np.bincount(group)
    return loop_pav(np.bincount(group, weights=y) / size, size)[group]


def test_many_rows_are_fitted_as_by_the_loop() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.random((5, 40)), rng.integers(1, 4, size=40).astype(float)
    for row, fit in zip(values, isotonic_fits(values, weights), strict=True):
        assert np.allclose(fit, loop_pav(row, weights), atol=1e-12)


def test_ties_have_one_value_that_is_not_pooled_before_them() -> None:
    values = np.array([[0.0, 1.0, 0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]])
    tied = np.zeros(values.shape, dtype=bool)
    tied[0, 1] = tied[1, 3] = tied[1, 5] = True
    fitted = isotonic_fits(values, np.ones(6), tied)
    first = loop_pav(np.array([0.5, 0.0, 1.0, 1.0, 0.0]), np.array([2, 1, 1, 1, 1]))
    second = loop_pav(np.array([1.0, 0.0, 0.0, 1.0]), np.array([1, 1, 2, 2]))
    assert np.allclose(fitted[0], np.repeat(first, [2, 1, 1, 1, 1]))
    assert np.allclose(fitted[1], np.repeat(second, [1, 1, 2, 2]))


@pytest.mark.parametrize(("end", "weight"), [(0.0, 1e4), (-1e4, 1.0)], ids=["heavy", "far below"])
def test_such_an_end_takes_in_all_that_is_above_it(end: float, weight: float) -> None:
    values = np.stack([np.append(np.linspace(0.0, 1.0, 300), end), np.linspace(0.0, 1.0, 301)])
    weights = np.append(np.ones(300), weight)  # one neighbour at a time: more passes than are made
    for row, fit in zip(values, isotonic_fits(values, weights), strict=True):
        assert np.allclose(fit, loop_pav(row, weights), atol=1e-12)


def test_the_curve_and_its_pieces(data: tuple) -> None:
    f, y = data
    curve = cr.corp_curve(two_classes(f), y, target=1, level=None)
    fit = recalibrated(f, y)
    assert np.allclose(curve.recalibrated, np.unique(fit.round(12)), atol=1e-9)
    assert curve.weight.sum() == curve.n == 200
    for low, high, value, weight in zip(curve.low, curve.high, curve.recalibrated, curve.weight, strict=True):
        inside = (f >= low - 1e-9) & (f <= high + 1e-9)
        assert inside.sum() == weight
        assert y[inside].mean() == pytest.approx(value)
    assert np.allclose(curve.values, [fit[np.abs(f - p).argmin()] for p in curve.at])


@pytest.mark.parametrize("score", ["brier", "log_loss"])
def test_the_parts_are_mean_scores_and_add_up(data: tuple, score: str) -> None:
    f, y = data
    f = f.clip(0.01, 0.99)
    curve = cr.corp_curve(two_classes(f), y, target=1, score=score, level=None)

    def mean(p: np.ndarray) -> float:
        if score == "brier":
            return float(np.mean((p - y) ** 2))
        with np.errstate(divide="ignore"):
            return float(-np.mean(np.log(np.where(y == 1, p, 1 - p))))

    fit, constant = recalibrated(f, y), np.full(200, y.mean())
    assert curve.loss.value == pytest.approx(mean(f))
    assert curve.miscalibration.value == pytest.approx(mean(f) - mean(fit))
    assert curve.discrimination.value == pytest.approx(mean(constant) - mean(fit))
    assert curve.uncertainty.value == pytest.approx(mean(constant))
    total = curve.miscalibration.value - curve.discrimination.value + curve.uncertainty.value
    assert total == pytest.approx(curve.loss.value)
    assert curve.skill.value == pytest.approx(curve.discrimination.value - curve.miscalibration.value)
    assert curve.gap == pytest.approx(np.abs(f - fit).mean())


# model-diagnostics 1.5.0, `decompose(y_obs=y, y_pred=f, scoring_function=SquaredError())` and `LogLoss()`
# (isotonic regression of the mean) on `data`, f clipped to [0.01, 0.99]: miscalibration, discrimination,
# uncertainty, score
MODEL_DIAGNOSTICS = {
    "brier": (0.03282772141295395, 0.07808272141295397, 0.24960000000000002, 0.204345),
    "log_loss": (0.10548454651528544, 0.19397723745836332, 0.6923469670899616, 0.6038542761468837),
}


@pytest.mark.parametrize("score", MODEL_DIAGNOSTICS)
def test_the_split_is_that_of_model_diagnostics(data: tuple, score: str) -> None:
    f, y = data
    curve = cr.corp_curve(two_classes(f.clip(0.01, 0.99)), y, target=1, score=score, level=None)
    parts = curve.miscalibration, curve.discrimination, curve.uncertainty, curve.loss
    assert [part.value for part in parts] == pytest.approx(MODEL_DIAGNOSTICS[score], rel=1e-9)


def test_an_impossible_label_makes_the_loss_and_miscalibration_infinite() -> None:
    probs = [[1.0, 0.0], [0.6, 0.4], [0.3, 0.7]]
    curve = cr.corp_curve(probs, [1, 0, 1], score="log_loss", target=1, level=None)
    assert curve.loss.value == curve.miscalibration.value == math.inf
    assert math.isfinite(curve.discrimination.value)
    with pytest.raises(cr.UnsupportedError, match="infinite"):
        curve.loss.interval()


def test_top_label_and_class_are_what_they_say() -> None:
    rng = np.random.default_rng(4)
    probs, labels = rng.dirichlet(np.ones(3), size=90), rng.integers(0, 3, size=90)
    top = cr.corp_curve(probs, labels, level=None)
    hits = (probs.argmax(axis=1) == labels).astype(float)
    assert top.name == "top label"
    assert top.loss.value == pytest.approx(np.mean((probs.max(axis=1) - hits) ** 2))
    second = cr.corp_curve(probs, labels, target=2, level=None)
    assert second.name == "class 2"
    assert second.loss.value == pytest.approx(np.mean((probs[:, 2] - (labels == 2)) ** 2))


def test_the_consistency_band_is_that_of_labels_drawn_from_the_predictions(data: tuple) -> None:
    f, y = data
    curve = cr.corp_curve(two_classes(f), y, target=1, n_resamples=400, rng=0)
    rng = np.random.default_rng(1)
    drawn = [recalibrated(f, (rng.random(200) < f).astype(int)) for _ in range(400)]
    places = [int(np.abs(f - p).argmin()) for p in curve.at]
    low, high = np.quantile(np.stack(drawn)[:, places], [0.025, 0.975], axis=0)
    assert curve.band is not None
    assert np.abs(curve.band[0] - low).mean() < 0.02
    assert np.abs(curve.band[1] - high).mean() < 0.02
    # the truth is f^2, far below the predictions: the curve leaves the band
    assert (curve.values < curve.band[0]).mean() > 0.2


def test_the_confidence_band_is_the_best_of_all_its_ranges() -> None:
    from scipy.stats import beta

    hits, size = np.array([0, 1, 0, 2, 3, 1.0]), np.array([2, 2, 1, 3, 3, 1.0])
    first, behind = _ranges(6)  # 4 12^(1/3) = 9.2 cells, more than there are places
    share = 0.1 / 2 / len(first)
    low, high = np.zeros(6), np.ones(6)
    for start, end in zip(first, behind, strict=True):
        h, m = hits[start:end].sum(), size[start:end].sum()
        if h > 0:
            low[end - 1 :] = np.maximum(low[end - 1 :], beta.ppf(share, h, m - h + 1))
        if h < m:
            high[: start + 1] = np.minimum(high[: start + 1], beta.ppf(1 - share, h + 1, m - h))
    found = honest_band(hits, size, 0.9)
    assert np.allclose(found[0], low)
    assert np.allclose(found[1], high)


def test_ranges_come_within_an_eighth_of_every_range() -> None:
    first, behind = _ranges(100)
    assert len(first) < 12 * 100
    for start, end in [(3, 4), (10, 90), (0, 100), (37, 58)]:
        inside = (first >= start) & (behind <= end)
        assert (behind - first)[inside].max() >= 3 / 4 * (end - start)


def test_intervals_hold_the_band_of_possible_curves(many: tuple) -> None:
    f, y = many
    curve = cr.corp_curve(two_classes(f), y, target=1, n_resamples=19, rng=0)
    assert curve.gap_interval is not None
    assert curve.miscalibration_interval is not None
    # the truth, f^3, is inside the band: its mean gap and squared gap are in the intervals
    assert curve.gap_interval[0] <= np.mean(f - f**3) <= curve.gap_interval[1]
    assert curve.miscalibration_interval[0] <= np.mean((f - f**3) ** 2) <= curve.miscalibration_interval[1]
    assert curve.gap_interval[0] > 0.02
    with pytest.raises(cr.UnsupportedError, match="miscalibration_interval"):
        curve.miscalibration.interval()
    with pytest.raises(cr.UnsupportedError, match="discrimination_interval"):
        curve.discrimination.interval()
    assert curve.skill.has_interval


def test_counts_of_raters_have_a_curve_without_bands() -> None:
    probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    counts = cr.LabelCounts(np.array([[3, 1], [1, 3], [2, 2]]))
    curve = cr.corp_curve(probs, counts, level=None)
    # shares of the predicted class by confidence .6, .8, .9: .5, .75, .75
    assert curve.recalibrated.tolist() == [0.5, 0.75]
    assert curve.loss.value == pytest.approx(
        np.mean([0.5 * 0.16 + 0.5 * 0.36, 0.75 * 0.04 + 0.25 * 0.64, 0.75 * 0.01 + 0.25 * 0.81])
    )
    with pytest.raises(cr.UnsupportedError, match="a band needs one label per instance"):
        cr.corp_curve(probs, counts)


def test_bad_settings() -> None:
    probs = [[0.9, 0.1], [0.4, 0.6]]
    with pytest.raises(cr.InputError, match="`score` must be"):
        cr.corp_curve(probs, [0, 1], score="crps")
    with pytest.raises(cr.InputError, match="`target` must be"):
        cr.corp_curve(probs, [0, 1], target=2)


def test_rows_in_chunks_give_the_same(data: tuple, tmp_path) -> None:
    f, y = data
    np.savez(tmp_path / "rows.npz", probs=two_classes(f), labels=y)
    rows = cr.scan(tmp_path / "rows.npz", chunk_rows=33)
    settings = {"target": 1, "n_resamples": 19, "rng": 2}
    there, here = cr.corp_curve(rows, **settings), cr.corp_curve(two_classes(f), y, **settings)
    assert there.to_dict() == here.to_dict()


def test_it_is_drawn_and_says_what_it_shows(many: tuple) -> None:
    f, y = many
    curve = cr.corp_curve(two_classes(f), y, target=1, n_resamples=19, rng=0)
    display = cr.plots.picture(curve)
    assert re.match(
        r"At predicted probability 0\.\d+ to 0\.\d+ the observed frequency is below its 95 % band of chance; "
        r"of a Brier score of .*, recalibration would remove .*; the mean gap to the curve is .* \(95 % sure",
        display.finding,
    )
    drawn = cr.plots.reliability(two_classes(f), y, target=1, rng=0, n_resamples=19)
    for ax in (curve.plot(), cr.plots.reliability(curve), drawn):
        (line,) = [line for line in ax.lines if line.get_label() == "observed, isotonic"]
        x, height = line.get_data()
        assert np.allclose(x[::2], curve.low)
        assert np.allclose(height[::2], curve.recalibrated)
    both = cr.plots.reliability({"one": curve, "two": curve})
    assert [line.get_label() for line in both.lines][-2:] == ["one", "two"]
    assert len(display.table().rows) == len(curve.recalibrated)
    plain = cr.corp_curve(two_classes(f), y, target=1, level=None)
    assert re.match(
        r"Of a Brier score of \S+, recalibration would remove \S+\.$", cr.plots.picture(plain).finding
    )


def test_the_curve_beyond_chance_is_what_leaves_the_band(many: tuple) -> None:
    f, y = many
    curve = cr.corp_curve(two_classes(f), y, target=1, n_resamples=19, rng=0)
    low, high = curve.band
    assert np.array_equal(curve.beyond, np.sign(curve.values - np.clip(curve.values, low, high)).astype(int))
    assert set(curve.beyond) == {-1, 0}  # the truth is f^3, below the diagonal
    assert curve.counts.tolist() == np.histogram(f, bins=20, range=(0, 1))[0].tolist()
    first, last, side = widest_departure(curve)
    run = (curve.at >= first) & (curve.at <= last)
    assert (curve.beyond[run] == -1).all()
    assert side == "below"
    right = cr.corp_curve(two_classes(f[:50]), np.arange(50) % 2, target=1, n_resamples=19, rng=0)
    inside = dataclasses.replace(right, band=(np.zeros_like(right.at), np.ones_like(right.at)))
    assert widest_departure(inside) is None
    assert cr.plots.picture(inside).finding.startswith("The curve stays inside its 95 % band of chance")


def test_bins_are_an_option_of_the_diagram(many: tuple) -> None:
    f, y = many
    ax = cr.plots.reliability(two_classes(f), y, n_bins=5, target=1, rng=0, n_resamples=19)
    curve = cr.reliability_curve(two_classes(f), y, n_bins=5, target=1, rng=0, n_resamples=19)
    marks = [line for line in ax.lines if line.get_marker() in "oD"]
    assert sorted(x for line in marks for x in line.get_xdata()) == pytest.approx(sorted(curve.predicted))
    assert len(cr.plots.reliability(curve).lines) == len(ax.lines)


def crps_by_thresholds(predictions, labels):
    """The loss of F(t) for y <= t, integrated by brute force."""
    grid = np.linspace(-30.0, 30.0, 6001)
    stated = predictions.cdf(np.repeat(grid[:, None], len(labels), axis=1))
    return np.trapezoid(((labels[None, :] <= grid[:, None]) - stated) ** 2, grid, axis=0).mean()


def test_the_parts_of_the_crps_add_up() -> None:
    rng = np.random.default_rng(2)
    mean = rng.normal(size=120)
    labels = mean + rng.normal(size=120)
    gaussian = cr.Gaussian(mean, np.full(120, 4.0))
    parts = cr.hypotests.decompose_crps(gaussian, labels)
    assert parts.loss.value == pytest.approx(crps_by_thresholds(gaussian, labels), abs=1e-4)
    low, high = parts.miscalibration_interval
    assert parts.miscalibration.stderr is None  # it is too large in-sample
    assert f"= miscalibration {parts.miscalibration.value:.4g} (95 %: {low:.4g} to {high:.4g}) - " in str(
        parts
    )
    assert str(parts).startswith(f"CRPS {parts.loss.value:.4g} ± {parts.loss.stderr:.2g} = ")
    total = parts.miscalibration.value - parts.discrimination.value + parts.uncertainty.value
    assert total == pytest.approx(parts.loss.value, abs=1e-12)
    # the CRPS of the labels' own distribution is half the mean distance of two of them
    assert parts.uncertainty.value == pytest.approx(
        0.5 * np.abs(labels[:, None] - labels[None, :]).mean(), rel=1e-12
    )
    assert parts.discrimination.value > 0
    assert parts.miscalibration_interval[0] > 0  # a spread of 4 instead of 1
    assert parts.skill.interval()[0] < parts.skill.value < parts.skill.interval()[1]
    with pytest.raises(cr.UnsupportedError, match="too large"):
        parts.miscalibration.interval()


def test_the_parts_of_quantiles_are_those_of_the_distribution_that_joins_them() -> None:
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(40, 1))
    levels = np.array([0.03, *np.arange(0.05, 0.96, 0.05), 0.98])
    table = mean + 2.0 * np.log(levels / (1 - levels))  # logistic, whose tails are exponential
    table[0, 3] = table[0, 4]  # a cell without width
    table[1, 0], table[2, -1] = table[1, 1], table[2, -2]  # tails without one
    labels = mean[:, 0] + rng.logistic(scale=2.0, size=40)
    labels[3], labels[4] = table[3, 0] - 4.0, table[4, -1] + 4.0
    quantiles = cr.Quantiles(table, levels)
    parts = cr.hypotests.decompose_crps(quantiles, labels)
    assert parts.loss.value == pytest.approx(crps_by_thresholds(quantiles, labels), rel=2e-4)
    total = parts.miscalibration.value - parts.discrimination.value + parts.uncertainty.value
    assert total == pytest.approx(parts.loss.value, abs=1e-12)


def test_calibrated_quantiles_pay_nothing_for_the_levels_that_they_leave_out() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=2000)
    levels = np.arange(1, 20) / 20
    normal = np.array([NormalDist().inv_cdf(level) for level in levels])
    labels = mean + rng.normal(size=2000)
    parts = cr.hypotests.decompose_crps(cr.Quantiles(mean[:, None] + normal, levels), labels)
    assert parts.miscalibration_interval[0] == 0.0  # 0.018 if the loss is twice the mean pinball loss
    whole = cr.hypotests.decompose_crps(cr.Gaussian(mean, np.ones(2000)), labels)
    assert parts.loss.value == pytest.approx(whole.loss.value, rel=0.005)  # pinball loss: 0.05 larger
    assert "of the CRPS of 0.564 (95 %, with quantiles joined" in crps_in_words(parts, 2000)


def test_the_parts_of_the_crps_see_all_of_a_heavy_tail() -> None:
    """One hundred thresholds against one between every two labels; recalibration removes no less than 0."""
    rng = np.random.default_rng(10)
    mean = rng.standard_t(2, size=1000)
    draws = cr.Samples(mean[:, None] + rng.standard_t(2, size=(1000, 30)))
    labels = mean + rng.standard_t(2, size=1000)
    gain = 0.0
    for low, high in pairwise(np.sort(labels)):
        stated, event = draws.cdf(np.full(1000, 0.5 * (low + high))), (labels <= low).astype(float)
        _, which = np.unique(stated.round(9), return_inverse=True)
        size = np.bincount(which)
        fitted = loop_pav(np.bincount(which, event) / size, size)[which]
        gain += (high - low) * (np.var(event) - np.mean((event - fitted) ** 2))
    parts = cr.hypotests.decompose_crps(draws, labels)
    # thresholds between hundredths of the labels missed 0.043 of the loss, and MCB was -0.009
    assert parts.discrimination.value == pytest.approx(gain, abs=0.01 * parts.loss.value)
    assert parts.miscalibration.value > 0


def test_a_constant_prediction_discriminates_nothing() -> None:
    rng = np.random.default_rng(3)
    labels = rng.normal(size=80)
    parts = cr.hypotests.decompose_crps(cr.Gaussian(np.zeros(80), np.ones(80)), labels)
    assert parts.discrimination.value == pytest.approx(0.0, abs=1e-12)
    assert parts.miscalibration_interval[0] == 0.0


def test_the_parts_of_draws_keep_ties_together() -> None:
    rng = np.random.default_rng(4)
    mean = rng.normal(size=60)
    draws = cr.Samples(mean[:, None] + rng.normal(size=(60, 4)))
    parts = cr.hypotests.decompose_crps(draws, mean + rng.normal(size=60))
    assert (
        0 <= parts.discrimination_interval[0] < parts.discrimination.value < parts.discrimination_interval[1]
    )
    with pytest.raises(cr.UnsupportedError, match=r"at most 0.05 apart"):
        cr.hypotests.decompose_crps(cr.Quantiles(draws.quantile([0.1, 0.9]), [0.1, 0.9]), mean)
    with pytest.raises(cr.UnsupportedError, match=r"at most 0.05 apart"):
        cr.hypotests.decompose_crps(cr.Quantiles([[0.0]], [0.5]), [1.0])


def test_rows_in_clusters_have_a_wider_band_and_no_confidence_band() -> None:
    """Twenty rows of a cluster share one rank: the curve of a calibrated model strays further."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(40), 20)
    p = rng.choice([0.3, 0.5, 0.7], size=800)
    rows = cr.Dataset(cr.Point(two_classes(p)), (rng.random(40)[ids] < p).astype(int), clusters=ids)
    curve = cr.corp_curve(rows, target=1, n_resamples=99, rng=0)
    plain = cr.corp_curve(two_classes(p), rows.labels, target=1, n_resamples=99, rng=0)
    assert curve.skill.n_clusters == 40
    assert curve.recalibrated == pytest.approx(plain.recalibrated)
    assert np.mean(np.subtract(*curve.band[::-1])) > 2 * np.mean(np.subtract(*plain.band[::-1]))
    assert curve.confidence_band is curve.gap_interval is curve.miscalibration_interval is None
    assert curve.discrimination_interval is None
    assert cr.plots.picture(curve).draw() is not None


def test_the_parts_of_the_crps_keep_clusters_whole() -> None:
    """Every row twice, as a cluster: errors are those of half as many rows, and no fold knows a copy."""
    rng = np.random.default_rng(5)
    mean, twice = rng.normal(size=100), np.repeat(np.arange(100), 2)
    labels = mean + rng.normal(size=100)
    given = cr.Gaussian(mean, np.ones(100)), cr.Gaussian(mean[twice], np.ones(200))
    once = cr.hypotests.decompose_crps(given[0], labels)
    both = cr.hypotests.decompose_crps(given[1], labels[twice], clusters=twice)
    assert both.loss.stderr == pytest.approx(once.loss.stderr, rel=0.01)
    assert both.loss.n_clusters == 100
    length = once.discrimination_interval[1] - once.discrimination_interval[0]
    assert both.discrimination_interval == pytest.approx(once.discrimination_interval, abs=0.02 * length)
    few = cr.hypotests.decompose_crps(given[1], labels[twice], clusters=twice % 5)
    assert few.discrimination_interval == (0.0, np.inf)


@pytest.mark.parametrize("score", ["brier", "log_loss"])
def test_the_interval_of_discrimination_holds_every_curve_inside_the_band(data: tuple, score: str) -> None:
    f, y = data
    curve = cr.corp_curve(two_classes(f), y, target=1, score=score, n_resamples=19, rng=0)
    low, high = (np.interp(f, curve.at, end) for end in curve.confidence_band)  # all 88 places are kept
    entropy = {
        "brier": lambda r: r * (1 - r),
        "log_loss": lambda r: -(r * np.log(r) + (1 - r) * np.log(1 - r)),
    }[score]
    rng = np.random.default_rng(0)
    found = []
    middle = (low + high) / 2
    cut = np.linspace(0, 1, 41)
    inside = [low + share * (high - low) for share in rng.random(20)]
    inside += [np.where(f < at, low, high) for at in cut] + [np.clip(at, low, high) for at in cut]
    for one in (middle, *inside):
        r = np.clip(one, 1e-9, 1 - 1e-9)
        found.append(entropy(r.mean()) - entropy(r).mean())
    least, most = curve.discrimination_interval
    assert least - 1e-6 <= min(found) <= max(found) <= most + 1e-6
    # curves that are nearly flat, and that jump from one end of the band to the other, come close to the ends
    assert min(found) <= least + 2e-3
    assert max(found) >= most - 2e-2
