"""Calibration errors without bins: walks, the smooth error, T-Cal, Spiegelhalter's z; and the largest gap."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import Classes


def two_classes(f: np.ndarray) -> np.ndarray:
    return np.stack([1 - f, f], axis=1)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), size=80).round(2)
    probs[:, 2] = 1 - probs[:, 0] - probs[:, 1]
    return np.clip(probs, 0, 1), rng.integers(0, 3, size=80)


def loop_walk(predicted: np.ndarray, event: np.ndarray) -> list[float]:
    """0, then the sum of residuals of all predictions up to each different one, over n."""
    values = sorted({round(float(p), 9) for p in predicted})
    return [0.0] + [
        sum(float(e) - float(p) for p, e in zip(predicted, event, strict=True) if p <= v + 1e-9)
        / len(predicted)
        for v in values
    ]


def test_ecce_is_the_walk_with_its_start(data: tuple) -> None:
    probs, labels = data
    walk = loop_walk(probs.max(axis=1), probs.argmax(axis=1) == labels)
    assert float(cr.ecce(probs, labels)) == pytest.approx(max(walk) - min(walk), abs=1e-12)
    assert float(cr.ecce(probs, labels, kind="max")) == pytest.approx(max(map(abs, walk)), abs=1e-12)
    walks = [loop_walk(probs[:, c], labels == c) for c in range(3)]
    ranges = [max(walk) - min(walk) for walk in walks]
    assert float(cr.ecce(probs, labels, target="classwise")) == pytest.approx(np.mean(ranges), abs=1e-12)


def test_the_range_of_a_walk_that_only_falls_counts_from_its_start() -> None:
    # confidences .6 and .8, both wrong: W = 0, -.3, -.7; without the start the range is .4, below the maximum
    probs = two_classes(np.array([0.2, 0.4]))
    assert float(cr.ecce(probs, [1, 1])) == pytest.approx(0.7)
    assert float(cr.ecce(probs, [1, 1], kind="max")) == pytest.approx(0.7)


def test_equal_predictions_have_no_order() -> None:
    probs = np.full((6, 2), 0.5)
    # three hits and three misses of the first class at one place: the walk is 0 again
    for labels in ([0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0]):
        assert float(cr.ecce(probs, labels)) == 0.0


def test_range_and_truthful_error_are_the_same_for_either_of_two_classes(data: tuple) -> None:
    rng = np.random.default_rng(0)
    f, labels = rng.random(50), rng.integers(0, 2, size=50)
    walk = loop_walk(f, labels == 1)
    value = float(cr.ecce(two_classes(f), labels, target="classwise"))
    assert value == pytest.approx(max(walk) - min(walk), abs=1e-12)


def test_truthful_error_is_a_sum_over_pairs(data: tuple) -> None:
    probs, labels = data
    onehot = np.eye(3)[labels]
    total = 0.0
    for c in range(3):
        residual = onehot[:, c] - probs[:, c]
        for i, j in itertools.product(range(80), repeat=2):
            total += residual[i] * residual[j] * (1 - abs(probs[i, c] - probs[j, c]))
    assert float(cr.truthful_ce(probs, labels)) == pytest.approx(total / 80**2 / 3, rel=1e-12)


def expectation(statistic: cr.statistics.Statistic, predicted: np.ndarray, truth: np.ndarray) -> float:
    """The mean over all label vectors, each with its probability under the truth."""
    found = 0.0
    for labels in itertools.product((0, 1), repeat=len(truth)):
        chance = np.prod(np.where(np.array(labels) == 1, truth, 1 - truth))
        found += chance * float(statistic(two_classes(predicted), np.array(labels)))
    return found


def test_nothing_has_a_smaller_expected_truthful_error_than_the_truth() -> None:
    truth = np.array([0.2, 0.45, 0.5, 0.7, 0.9])
    lies = [np.full(5, truth.mean()), truth.round(), 0.5 + 0.7 * (truth - 0.5), truth[::-1], truth + 0.01]
    honest = expectation(cr.truthful_ce, truth, truth)
    # the variances of the labels over n^2: (.16 + .2475 + .25 + .21 + .09) / 25
    assert honest == pytest.approx(0.0383)
    # the mean of these five is calibrated too
    assert expectation(cr.truthful_ce, lies[0], truth) == pytest.approx(honest)
    assert all(expectation(cr.truthful_ce, lie, truth) > honest + 1e-5 for lie in lies[1:])
    # the binned error can be lowered by saying the same everywhere
    binned = cr.classwise_ece.with_(n_bins=10)
    assert expectation(binned, lies[0], truth) < expectation(binned, truth, truth)


def direct_smooth(f: np.ndarray, residual: np.ndarray, width: float, points: int = 4000) -> float:
    """The integral by the midpoint rule, with images of every prediction at both walls."""
    t = (np.arange(points) + 0.5) / points
    images = np.concatenate([sign * f + shift for sign in (1, -1) for shift in np.arange(-6, 8, 2)])
    kernel = np.exp(-(((t[:, None] - images) / width) ** 2) / 2) / (width * math.sqrt(2 * math.pi))
    return float(np.abs(kernel @ np.tile(residual, 14)).mean() / len(f))


@pytest.mark.parametrize("width", [0.02, 0.1, 0.8])
def test_smooth_error_is_the_integral_of_smoothed_residuals(width: float) -> None:
    rng = np.random.default_rng(1)
    f = (rng.integers(0, 1024, size=60) + 0.5) / 1024  # centres of cells
    labels = (rng.random(60) < f**2).astype(int)
    value = float(cr.smooth_ece(two_classes(f), labels, target="classwise", bandwidth=width))
    assert value == pytest.approx(direct_smooth(f, labels - f, width), abs=2e-6)


def test_smooth_error_is_its_own_bandwidth() -> None:
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(4), size=300)
    labels = rng.integers(0, 4, size=300)
    value = float(cr.smooth_ece(probs, labels))
    assert value > 0.1
    assert float(cr.smooth_ece(probs, labels, bandwidth=value)) == pytest.approx(value, abs=1e-12)


def test_a_tiny_smooth_error_is_that_at_the_narrowest_bandwidth() -> None:
    # two residuals of 1/4 and -1/4 at one place
    assert float(cr.smooth_ece([[0.75, 0.25]] * 4, [0, 0, 0, 1])) == 0.0
    # |.001| everywhere, below 1/512
    assert float(cr.smooth_ece([[0.999, 0.001]] * 4, [0] * 4)) == pytest.approx(0.001)


def loop_t_cal(p: np.ndarray, event: np.ndarray, most_bins: int) -> float:
    found = []
    for level in range(most_bins.bit_length()):
        bins = np.minimum((p * 2**level).astype(int), 2**level - 1)
        value, variance = 0.0, 0.0
        for b in np.unique(bins):
            inside = np.flatnonzero(bins == b)
            if len(inside) < 2:
                continue
            for i, j in itertools.permutations(inside, 2):
                value += (event[i] - p[i]) * (event[j] - p[j]) / (len(inside) - 1)
                variance += 2 * p[i] * (1 - p[i]) * p[j] * (1 - p[j]) / (len(inside) - 1) ** 2
        found.append(value / math.sqrt(variance))
    return max(found)


def test_t_cal_is_the_largest_over_bin_counts_in_its_spread(data: tuple) -> None:
    probs, labels = data
    p, event = probs.max(axis=1), (probs.argmax(axis=1) == labels).astype(float)
    for most in (1, 8, 16):
        value = float(cr.t_cal(probs, labels, most_bins=most))
        assert value == pytest.approx(loop_t_cal(p, event, most), rel=1e-9)


def test_t_cal_at_one_bin_has_variance_one() -> None:
    p = np.array([0.6, 0.7, 0.9, 0.55])
    values, chances = [], []
    for labels in itertools.product((0, 1), repeat=4):
        chances.append(np.prod(np.where(np.array(labels) == 1, p, 1 - p)))
        values.append(float(cr.t_cal(two_classes(p), np.array(labels), most_bins=1)))
    assert np.dot(chances, values) == pytest.approx(0.0, abs=1e-12)
    assert np.dot(chances, np.square(values)) == pytest.approx(1.0)


def test_t_cal_of_certain_predictions() -> None:
    certain = np.array([[1.0, 0.0]] * 3)
    assert float(cr.t_cal(certain, [0, 0, 0])) == 0.0
    assert float(cr.t_cal(certain, [1, 1, 0])) == math.inf


def test_spiegelhalter_of_two_classes_is_the_printed_formula() -> None:
    rng = np.random.default_rng(3)
    f, y = rng.random(40), rng.integers(0, 2, size=40)
    printed = ((y - f) * (1 - 2 * f)).sum() / math.sqrt(((1 - 2 * f) ** 2 * f * (1 - f)).sum())
    assert float(cr.spiegelhalter_z(two_classes(f), y)) == pytest.approx(printed)


def test_spiegelhalter_has_mean_zero_and_variance_one_for_three_classes() -> None:
    probs = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    values, chances = [], []
    for labels in itertools.product(range(3), repeat=3):
        chances.append(probs[np.arange(3), labels].prod())
        values.append(float(cr.spiegelhalter_z(probs, np.array(labels))))
    assert np.dot(chances, values) == pytest.approx(0.0, abs=1e-12)
    assert np.dot(chances, np.square(values)) == pytest.approx(1.0)


def test_spiegelhalter_of_uniform_and_of_certain_predictions() -> None:
    assert float(cr.spiegelhalter_z(np.full((5, 3), 1 / 3), [0, 0, 0, 0, 0])) == 0.0
    assert float(cr.spiegelhalter_z([[1.0, 0.0]], [0])) == 0.0
    assert float(cr.spiegelhalter_z([[1.0, 0.0]], [1])) == math.inf


def test_the_largest_gap_of_a_bin() -> None:
    # bins of width 1/2: all in the upper one, |1/3 - .8| of the first class
    probs = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]
    assert float(cr.confidence_ece(probs, [0, 1, 1], n_bins=2, p=math.inf)) == pytest.approx(0.8 - 1 / 3)
    # ten bins: the largest of |1 - .9|, |0 - .8|, |0 - .7|
    assert float(cr.confidence_ece(probs, [0, 1, 1], n_bins=10, p=math.inf)) == pytest.approx(0.8)


def loop_lowess(p: np.ndarray, y: np.ndarray, span: float) -> np.ndarray:
    """The local line at every prediction, fitted by weighted least squares to the nearest `span` of them."""
    fit = []
    for at in p:
        distance = np.abs(p - at)
        reach = np.sort(distance)[math.ceil(span * len(p)) - 1]
        weight = np.clip(1 - (distance / reach) ** 3, 0, None) ** 3
        root = np.sqrt(weight)
        design = np.stack([np.ones_like(p), p - at], axis=1)
        fit.append(np.linalg.lstsq(root[:, None] * design, root * y, rcond=None)[0][0])
    return np.array(fit)


@pytest.mark.parametrize("span", [0.4, 1.0])
def test_ici_is_the_mean_distance_from_local_lines(data: tuple, span: float) -> None:
    probs, labels = data
    gaps = [np.mean(np.abs(loop_lowess(probs[:, c], labels == c, span) - probs[:, c])) for c in range(3)]
    assert float(cr.statistics.ici(probs, labels, span=span)) == pytest.approx(np.mean(gaps), abs=1e-10)
    confidence, hit = probs.max(axis=1), probs.argmax(axis=1) == labels
    gap = np.mean(np.abs(loop_lowess(confidence, hit, span) - confidence))
    top = cr.statistics.ici.with_(target="top_label", span=span)
    assert float(top(probs, labels)) == pytest.approx(gap, abs=1e-10)


def test_ici_of_either_of_two_classes_is_the_same_and_of_one_prediction_the_gap() -> None:
    rng = np.random.default_rng(0)
    f = rng.random(60)
    labels = rng.integers(0, 2, size=60)
    swapped = float(cr.statistics.ici(two_classes(1 - f), 1 - labels))
    assert float(cr.statistics.ici(two_classes(f), labels)) == pytest.approx(swapped, abs=1e-13)
    # all at one place, where no line can be fitted: |5/8 - 1/4|
    one = two_classes(np.full(8, 0.25))
    assert float(cr.statistics.ici(one, [1, 1, 1, 1, 1, 0, 0, 0])) == pytest.approx(3 / 8)


def test_ici_does_not_see_signs_that_alternate_within_its_span() -> None:
    # frequencies of p + .3 and p - .3 in turn: obvious to bins of 1/64, and within chance for the curve
    p = 0.3 + 0.4 * np.arange(24) / 23
    rng = np.random.default_rng(0)
    f = np.repeat(p, 40)
    labels = (rng.random(960) < np.repeat(p + np.where(np.arange(24) % 2, 0.3, -0.3), 40)).astype(int)
    result = cr.calibration_test(
        two_classes(f), labels, statistics=[cr.statistics.ici, cr.t_cal], n_resamples=99, rng=0
    )
    assert result.components["ici"].pvalue > 0.05
    assert result.components["t_cal"].pvalue <= 0.05


def test_ici_of_replicates_with_weights_of_their_own_is_that_of_each(data: tuple) -> None:
    probs, labels = data
    weights = np.random.default_rng(1).integers(0, 3, size=(2, 80)).astype(float)
    batch = Classes(np.stack([labels, labels]), 3, weights)
    both = cr.statistics.ici.bind(probs)(batch)
    for value, weight in zip(both, weights, strict=True):
        assert value == pytest.approx(
            float(cr.statistics.ici(probs, labels, sample_weight=weight)), abs=1e-13
        )


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: cr.ecce.with_(kind="mean"), "`kind` must be"),
        (lambda: cr.ecce.with_(target="top"), "`target` must be"),
        (lambda: cr.smooth_ece.with_(target=-1), "`target` must be"),
        (lambda: cr.smooth_ece.with_(bandwidth=0.001), "`bandwidth` must be from 1/512 to 1"),
        (lambda: cr.t_cal.with_(most_bins=15), "must be a power of two"),
        (lambda: cr.t_cal.with_(target="all"), "`target` must be"),
        (lambda: cr.statistics.ici.with_(target="all"), "`target` must be"),
        (lambda: cr.statistics.ici.with_(span=0), "`span` must be above 0 and at most 1"),
        (lambda: cr.statistics.ici.with_(span="wide"), "`span` must be above 0 and at most 1"),
    ],
)
def test_settings_are_checked(call, match: str) -> None:
    with pytest.raises(cr.InputError, match=match):
        call()


@pytest.mark.parametrize("name", ["smooth_ece", "ecce", "truthful_ce", "t_cal", "ici", "spiegelhalter_z"])
def test_no_interval_is_offered(name: str, data: tuple) -> None:
    with pytest.raises(cr.UnsupportedError, match="interval"):
        cr.statistics.registered()[name](*data).interval()


@pytest.mark.parametrize("name", ["ecce", "truthful_ce"])
def test_walks_of_chunks_are_those_of_all_rows(name: str, data: tuple, tmp_path) -> None:
    probs, labels = data
    np.savez(tmp_path / "rows.npz", probs=probs, labels=labels)
    one = cr.statistics.registered()[name]
    rows = cr.scan(tmp_path / "rows.npz", chunk_rows=17)
    assert float(one(rows)) == pytest.approx(float(one(probs, labels)), abs=1e-14)
    here = cr.calibration_test(probs, labels, statistics=name, n_resamples=19, rng=0)
    assert cr.calibration_test(rows, statistics=name, n_resamples=19, rng=0).pvalue == here.pvalue
