"""Calibration slope and intercept of two classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import credibly as cr

fit = cr.statistics.logistic_calibration


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, size=400)
    odds = 1.5 * (p / (1 - p)) ** 0.6
    return np.stack([1 - p, p], axis=1), (rng.random(400) < odds / (1 + odds)).astype(int)


def loss(parts: np.ndarray, logit: np.ndarray, y: np.ndarray) -> float:
    linear = parts[0] + (parts[1] if len(parts) > 1 else 1.0) * logit
    return float(np.mean(np.logaddexp(0, linear) - y * linear))


def test_it_is_the_largest_likelihood(data: tuple) -> None:
    probs, y = data
    logit = np.log(probs[:, 1] / probs[:, 0])
    found = fit(probs, y)
    both = minimize(loss, [0.0, 1.0], args=(logit, y), tol=1e-12).x
    alone = minimize(loss, [0.0], args=(logit, y), tol=1e-12).x
    assert [found.intercept.value, found.slope.value] == pytest.approx(both, abs=1e-4)
    assert found.in_the_large.value == pytest.approx(alone[0], abs=1e-4)
    # where slope and intercept would be 0.6 and log(1.5)
    low, high = found.slope.interval()
    assert low < 0.6 < high < 1


def test_of_a_constant_prediction_the_intercept_alone_is_the_difference_of_logits() -> None:
    probs = np.tile([0.5, 0.5], (10, 1))
    probs[:5] = [0.4, 0.6]
    probs[5:] = [0.6, 0.4]
    y = np.array([1, 1, 1, 0, 0, 1, 1, 0, 0, 0])  # shares 3/5 and 2/5: as said
    found = fit(probs, y)
    assert found.slope.value == pytest.approx(1.0)
    assert found.intercept.value == pytest.approx(0.0, abs=1e-9)
    assert found.in_the_large.value == pytest.approx(0.0, abs=1e-9)
    # sandwich of in the large: sum of (y - p)^2 over (sum p q)^2 is 2.4 / 2.4^2
    assert found.in_the_large.stderr == pytest.approx((1 / 2.4) ** 0.5)


@pytest.mark.parametrize(
    ("probs", "labels", "match"),
    [
        (np.full((4, 3), 1 / 3), [0, 1, 2, 0], "is for two classes; got 3"),
        ([[1.0, 0.0], [0.4, 0.6]], [0, 1], "1 of 2 rows have a probability of exactly 0"),
        ([[0.8, 0.2], [0.4, 0.6]], [0, 1], "separate the labels"),
        ([[0.4, 0.6], [0.4, 0.6]], [0, 1], "or are all the same"),
        ([[0.4, 0.6], [0.5, 0.5]], cr.LabelCounts(np.ones((2, 2), dtype=int)), "one label per instance"),
    ],
)
def test_what_has_no_slope_is_refused(probs, labels, match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        fit(probs, labels)


def test_errors_of_clusters_are_those_of_their_rows() -> None:
    """Every row ten times, as a cluster: the error is that of one row each, up to n / (n - 1)."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.9, size=300)
    probs, y = np.stack([1 - p, p], axis=1), (rng.random(300) < p).astype(int)
    many = np.repeat(np.arange(300), 10)
    alone, copied = fit(probs, y), fit(probs[many], y[many], clusters=many)
    for name in ("slope", "intercept", "in_the_large"):
        one, ten = getattr(alone, name), getattr(copied, name)
        assert ten.value == pytest.approx(one.value, rel=1e-6)
        assert ten.stderr == pytest.approx(one.stderr, rel=0.02)
        assert ten.n_clusters == 300


def test_a_cluster_without_which_there_is_no_slope_leaves_no_interval() -> None:
    p = np.full(70, 0.5)
    p[:10] = np.linspace(0.2, 0.8, 10)  # the first cluster alone has predictions that differ
    y = np.random.default_rng(0).integers(2, size=70)
    found = fit(np.stack([1 - p, p], axis=1), y, clusters=np.arange(70) // 10)
    assert not found.slope.has_interval
    assert found.in_the_large.has_interval


@pytest.mark.parametrize("name", ["calibration_slope", "calibration_in_the_large"])
def test_statistics_of_batches_are_the_coefficients_of_two_classes(data: tuple, name: str) -> None:
    probs, y = data
    found = fit(probs, y)
    expected = abs(float(found.slope if name == "calibration_slope" else found.in_the_large))
    one = cr.statistics.registered()[name]
    assert float(one(probs, y)) == pytest.approx(expected, rel=1e-4)  # the penalty moves the fifth digit
    assert float(one(probs[:, ::-1], 1 - y)) == pytest.approx(float(one(probs, y)), rel=1e-9)


def test_slopes_of_several_classes_are_averaged(data: tuple) -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), size=200)
    labels = rng.integers(0, 3, size=200)
    each = [
        float(fit(np.stack([1 - probs[:, c], probs[:, c]], axis=1), (labels == c).astype(int)).slope)
        for c in range(3)
    ]
    assert float(cr.statistics.calibration_slope(probs, labels)) == pytest.approx(np.mean(each), rel=1e-3)


def test_statistics_stay_finite_where_predictions_separate_the_labels() -> None:
    probs = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
    slope = cr.statistics.calibration_slope
    with pytest.raises(cr.UnsupportedError, match="separate"):
        fit(probs, [0, 0, 1])
    assert 5 < float(slope(probs, [0, 0, 1])) < 50
    assert -50 < float(slope(probs, [1, 1, 0])) < -1
    assert float(slope([[0.5, 0.5]] * 3, [0, 1, 1])) == 1.0  # one prediction says nothing about slopes
    assert float(slope([[0.7, 0.3]] * 6, [0, 1, 1, 1, 1, 1])) == 1.0
    assert np.isfinite(float(slope([[1.0, 0.0], [0.0, 1.0]], [0, 1])))


def test_what_a_penalty_decides_is_said() -> None:
    probs = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
    slope, large = cr.statistics.calibration_slope, cr.statistics.calibration_in_the_large
    why = "the predictions separate the labels, so the likelihood has no maximum"
    said = f"{why}: a weak penalty decides the number"
    assert slope(probs, [0, 0, 1]).notes == (said,)
    assert slope(probs, [1, 1, 0]).notes == (said,)
    assert slope(probs, [0, 1, 0]).notes == ()
    assert cr.calibration_test(probs, [0, 0, 1], statistics=slope, n_resamples=19, rng=0).notes == (said,)
    (never,) = large(probs, [0, 0, 0]).notes
    assert never.startswith("a class never happened, so the likelihood has no maximum:")
    third = [[0.2, 0.3, 0.5], [0.3, 0.4, 0.3], [0.5, 0.2, 0.3], [0.1, 0.6, 0.3]]
    (some,) = slope(third, [2, 1, 0, 0]).notes
    assert "no maximum for 1 of 3 classes" in some
    # a row of weight 0 is none
    assert slope(probs, [0, 1, 1], sample_weight=[1, 0, 1]).notes == (said,)


def test_the_direction_of_two_classes_is_said() -> None:
    probs = np.array([[0.5, 0.5]] * 4)
    large = cr.statistics.calibration_in_the_large
    assert large(probs, [1, 1, 1, 0]).notes == (
        "the second class is predicted too rarely: its intercept is 1.1",  # log(3)
    )
    found = cr.calibration_test(probs, [1, 0, 0, 0], statistics=large, n_resamples=19, rng=0)
    assert found.notes == ("the second class is predicted too often: its intercept is -1.1",)
    assert large(probs, [1, 0, 1, 0]).notes == ()
    assert large(np.full((3, 3), 1 / 3), [0, 1, 2]).notes == ()


def test_the_exact_test_finds_what_is_too_extreme(data: tuple) -> None:
    probs, y = data
    found = cr.calibration_test(probs, y, statistics="calibration_slope", n_resamples=199, rng=0)
    assert found.tail == "two-sided"
    assert found.rejects()
    assert found.effect_size < 0


def test_the_exact_test_finds_frequencies_that_are_off_in_the_large() -> None:
    rng = np.random.default_rng(3)
    p = rng.uniform(0.2, 0.6, size=400)
    y = (rng.random(400) < p + 0.15).astype(int)
    large = "calibration_in_the_large"
    found = cr.calibration_test(np.stack([1 - p, p], axis=1), y, statistics=large, n_resamples=199, rng=0)
    assert found.pvalue == 0.005
    assert found.statistic == pytest.approx(0.65, abs=0.25)  # logit(0.55) - logit(0.4), about
