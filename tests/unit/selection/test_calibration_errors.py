"""Differences of calibration errors: values against double loops, intervals that allow for chance."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import Dataset, Point
from credibly.selection.calibration_errors import MOST_BIAS, _modulus, error_differences, parts_of_error

ERRORS = (cr.confidence_ece, cr.classwise_ece, cr.smooth_ece, cr.truthful_ce)


def _data(n: int = 400, k: int = 3, power: float = 1.0, clusters: np.ndarray | None = None) -> Dataset:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(k), size=n)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    said = truth**power
    return Dataset(Point(said / said.sum(axis=1, keepdims=True)), labels, clusters=clusters)


def test_the_mean_of_the_modulus_is_close_to_the_true_one() -> None:
    x = np.linspace(-12, 12, 24_001)
    for t in np.linspace(0, 6, 61):
        density = np.exp(-((x - t) ** 2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
        assert abs(density @ _modulus(x).size - t) < MOST_BIAS + 0.005, t
    for t in (4.5, 6.0):  # far from 0 there is nothing to allow for
        density = np.exp(-((x - t) ** 2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
        assert abs(density @ _modulus(x).size - t) < 0.02


def test_the_truthful_error_is_its_quadratic_form() -> None:
    data = _data(60)
    probs = np.asarray(data.predictions.probs)
    parts = parts_of_error(cr.truthful_ce, data, None)
    terms = np.zeros(60)
    for c in range(3):
        residual = (np.asarray(data.labels) == c) - probs[:, c]
        for i in range(60):
            for j in range(60):
                near = 1 - abs(probs[i, c] - probs[j, c])
                terms[i] += residual[i] * residual[j] * near / 60 / 3
    assert parts.value == pytest.approx(terms.mean())
    assert parts.value == pytest.approx(float(cr.truthful_ce(*(data.predictions, data.labels))))
    np.testing.assert_allclose(parts.influence[:, 0], 2 * terms, atol=1e-12)


def test_a_large_error_is_the_plain_one() -> None:
    """One bin, far from chance: e(x) = |x| up to 0.065 / x, so the error is |accuracy - confidence|."""
    labels = np.repeat([0, 1], [500, 500])
    data = Dataset(Point(np.tile([0.9, 0.1], (1000, 1))), labels)
    for error in (cr.confidence_ece, cr.smooth_ece):
        parts = parts_of_error(error, data, None)
        assert parts.value == pytest.approx(0.4, abs=2e-4), error.name  # 0.9 - 0.5
        assert parts.bias == 0.0
        # the residual is 0.1 or -0.9: its standard deviation is that of the labels
        assert parts.influence.std(axis=0)[0] == pytest.approx(0.5, rel=0.1)


def test_intervals_hold_the_difference_and_are_joint_over_models() -> None:
    models = {"truth": _data(2000), "sure": _data(2000, power=2.5)}
    alone = error_differences(models, ERRORS, "truth", 0.95)
    more = error_differences({**models, "third": _data(2000, power=0.5)}, ERRORS, "truth", 0.95)
    for estimate, other in zip(alone, [each for each in more if each.model == "sure"], strict=True):
        assert estimate.value == other.value > 0
        assert estimate.is_clear
        assert estimate.interval[0] < estimate.value < estimate.interval[1]
        assert other.interval[1] - other.interval[0] > estimate.interval[1] - estimate.interval[0]
    (same,) = error_differences({"a": _data(), "b": _data()}, (cr.smooth_ece,), "a", 0.95)
    assert same.interval == (0.0, 0.0)


def test_clusters_count_once() -> None:
    """Every row four times: with clusters the standard error is that of single rows."""
    ids = np.tile(np.arange(400), 4)

    def often(power: float, clusters: np.ndarray | None) -> Dataset:
        data = _data(power=power)
        return Dataset(
            Point(np.tile(np.asarray(data.predictions.probs), (4, 1))),
            np.tile(np.asarray(data.labels), 4),
            clusters=clusters,
        )

    single = error_differences({"a": _data(), "b": _data(power=2.5)}, ERRORS, "a", 0.95)
    whole = error_differences({"a": often(1.0, ids), "b": often(2.5, ids)}, ERRORS, "a", 0.95)
    apart = error_differences({"a": often(1.0, None), "b": often(2.5, None)}, ERRORS, "a", 0.95)
    for estimate, together, alone in zip(single, whole, apart, strict=True):
        assert together.value == pytest.approx(estimate.value)
        assert together.stderr == pytest.approx(estimate.stderr, rel=0.01)
        assert alone.stderr < 0.7 * together.stderr
