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
    fitted = fit(probs, y)
    both = minimize(loss, [0.0, 1.0], args=(logit, y), tol=1e-12).x
    alone = minimize(loss, [0.0], args=(logit, y), tol=1e-12).x
    assert [fitted.intercept.value, fitted.slope.value] == pytest.approx(both, abs=1e-4)
    assert fitted.in_the_large.value == pytest.approx(alone[0], abs=1e-4)
    # where slope and intercept would be 0.6 and log(1.5)
    low, high = fitted.slope.interval()
    assert low < 0.6 < high < 1


def test_of_a_constant_prediction_the_intercept_alone_is_the_difference_of_logits() -> None:
    probs = np.tile([0.5, 0.5], (10, 1))
    probs[:5] = [0.4, 0.6]
    probs[5:] = [0.6, 0.4]
    y = np.array([1, 1, 1, 0, 0, 1, 1, 0, 0, 0])  # shares 3/5 and 2/5: as said
    fitted = fit(probs, y)
    assert fitted.slope.value == pytest.approx(1.0)
    assert fitted.intercept.value == pytest.approx(0.0, abs=1e-9)
    assert fitted.in_the_large.value == pytest.approx(0.0, abs=1e-9)
    # sandwich of in the large: sum of (y - p)^2 over (sum p q)^2 is 2.4 / 2.4^2
    assert fitted.in_the_large.stderr == pytest.approx((1 / 2.4) ** 0.5)


@pytest.mark.parametrize(
    ("probs", "labels", "match"),
    [
        (np.full((4, 3), 1 / 3), [0, 1, 2, 0], "must name the class that is the event; got 3 classes"),
        ([[1.0, 0.0], [0.4, 0.6]], [0, 1], "1 of 2 rows have a probability of exactly 0"),
        ([[0.8, 0.2], [0.4, 0.6]], [0, 1], "separate the labels"),
        ([[0.4, 0.6], [0.4, 0.6]], [0, 1], "or are all the same"),
        (
            [[0.4, 0.6], [0.5, 0.5]],
            cr.LabelCounts(np.ones((2, 2), dtype=int)),
            "one unweighted label per instance",
        ),
    ],
)
def test_what_has_no_slope_is_refused(probs, labels, match: str) -> None:
    with pytest.raises(cr.CrediblyError, match=match):
        fit(probs, labels)


def test_the_event_may_be_any_class() -> None:
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(3), size=400)
    y = (rng.random((400, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    for target in range(3):
        p = probs[:, target]
        fitted, two = fit(probs, y, target=target), fit(np.stack([1 - p, p], axis=1), y == target)
        assert fitted.slope.value == pytest.approx(two.slope.value)
        assert fitted.intercept.stderr == pytest.approx(two.intercept.stderr)
    p = probs[:, 0]
    first = fit(np.stack([p, 1 - p], axis=1), y != 0, target=0)
    assert first.in_the_large.value == pytest.approx(fit(probs, y, target=0).in_the_large.value)
    for target in (3, -1, True, "cat", 0.5):
        with pytest.raises(cr.CrediblyError, match="`target` must be a class from 0 to 2"):
            fit(probs, y, target=target)


def test_errors_of_clusters_are_those_of_their_rows() -> None:
    """Every row ten times, as a cluster: the error is that of one row each, up to n / (n - 1)."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.9, size=300)
    probs, y = np.stack([1 - p, p], axis=1), (rng.random(300) < p).astype(int)
    many = np.repeat(np.arange(300), 10)
    alone, copied = fit(probs, y), fit(probs[many], y[many], clusters=many)
    for name in ("slope", "intercept", "in_the_large"):
        estimate, ten = getattr(alone, name), getattr(copied, name)
        assert ten.value == pytest.approx(estimate.value, rel=1e-6)
        assert ten.stderr == pytest.approx(estimate.stderr, rel=0.02)
        assert ten.n_clusters == 300


def test_a_cluster_without_which_there_is_no_slope_leaves_no_interval() -> None:
    p = np.full(70, 0.5)
    p[:10] = np.linspace(0.2, 0.8, 10)  # the first cluster alone has predictions that differ
    y = np.random.default_rng(0).integers(2, size=70)
    fitted = fit(np.stack([1 - p, p], axis=1), y, clusters=np.arange(70) // 10)
    assert not fitted.slope.has_interval
    assert fitted.in_the_large.has_interval
