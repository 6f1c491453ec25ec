"""Kernel errors of normal distributions: the numbers of the Julia package CalibrationErrors.

Its tests (test/distributions/normal.jl) take the kernel exp(-W) of Wasserstein distances W between normal
distributions and exp(-(y - y')^2 / 2) between labels, once with labels halved.
"""

from __future__ import annotations

from math import exp, sqrt

import pytest

import credibly as cr

TWICE = cr.Gaussian([0.0, 0.0], [1.0, 1.0])
TWO = cr.Gaussian([0.0, 1.0], [1.0, 2.0])  # W = sqrt(1 + 1)
SKCE = [
    (TWICE, [0, 0], 1.0, 1 - sqrt(2) + 1 / sqrt(3)),
    (TWO, [1, 0], 1.0, exp(-sqrt(2)) * (exp(-1 / 2) - 1 / sqrt(2) - 1 / sqrt(5) + exp(-1 / 12) / sqrt(6))),
    (
        TWO,
        [0, 1],
        1.0,
        exp(-sqrt(2))
        * (exp(-1 / 2) - exp(-1 / 4) / sqrt(2) - exp(-1 / 10) / sqrt(5) + exp(-1 / 12) / sqrt(6)),
    ),
    (TWICE, [0, 0], 2.0, 1 - 2 / sqrt(1.25) + 1 / sqrt(1.5)),
    (
        TWO,
        [1, 0],
        2.0,
        exp(-sqrt(2)) * (exp(-1 / 8) - 1 / sqrt(1.25) - 1 / sqrt(2) + exp(-1 / 18) / sqrt(2.25)),
    ),
    (
        TWO,
        [0, 1],
        2.0,
        exp(-sqrt(2))
        * (exp(-1 / 8) - exp(-1 / 10) / sqrt(1.25) - exp(-1 / 16) / sqrt(2) + exp(-1 / 18) / sqrt(2.25)),
    ),
]


@pytest.mark.parametrize(("predictions", "labels", "label_bandwidth", "printed"), SKCE)
def test_skce(predictions: cr.Gaussian, labels: list[float], label_bandwidth: float, printed: float) -> None:
    estimate = cr.skce(predictions, labels, bandwidth=1.0, label_bandwidth=label_bandwidth)
    assert estimate.value == pytest.approx(printed, abs=1e-12)
