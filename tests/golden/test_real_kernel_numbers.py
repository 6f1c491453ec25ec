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


ONE = exp(-1 / sqrt(2)) * (exp(-1 / 2) - exp(-1 / 4) / sqrt(2)) + exp(-sqrt(5 / 2)) * (
    exp(-1 / 8) - 1 / sqrt(5)
)
OTHER = exp(-sqrt(5) / 2) * (exp(-1 / 8) - exp(-1 / 16) / sqrt(2)) + exp(-sqrt(17) / 2) * (
    exp(-1 / 2) - exp(-9 / 40) / sqrt(5)
)


@pytest.mark.parametrize(
    ("locations", "printed"),
    [
        (((0.5, 0.5, 1.0),), ONE**2 / 4),
        (((0.5, 0.5, 1.0), (-1.0, 1.5, -0.5)), (ONE**2 + OTHER**2) / 8),
    ],
)
def test_ucme(locations: tuple[tuple[float, ...], ...], printed: float) -> None:
    found = cr.statistics.ucme(TWO, [0.0, 0.5], locations=locations, bandwidth=1.0, label_bandwidth=1.0)
    assert found.value == pytest.approx(printed, abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "printed"),
    [
        ([0, 1], 0.0),
        ([0, 0], (exp(-16) + exp(-4) + 1) / 12),
        ([1, 0], (1 - exp(-8)) ** 2 / 6),
        ([1, 1], (exp(-16) + exp(-4) + 1) / 12),
    ],
)
def test_ucme_of_classes(labels: list[int], printed: float) -> None:
    """test/ucme.jl: exp(-(2 d)^2) between predictions, equal or different labels."""
    locations = ((1.0, 0.0, 0), (0.5, 0.5, 0), (0.0, 1.0, 1))
    found = cr.statistics.ucme(
        [[1.0, 0.0], [0.0, 1.0]], labels, locations=locations, kernel="gaussian", bandwidth=1 / sqrt(8)
    )
    assert found.value == pytest.approx(printed, abs=1e-12)


@pytest.mark.parametrize(("predictions", "labels", "label_bandwidth", "printed"), SKCE)
def test_skce(predictions: cr.Gaussian, labels: list[float], label_bandwidth: float, printed: float) -> None:
    found = cr.skce(predictions, labels, bandwidth=1.0, label_bandwidth=label_bandwidth)
    assert found.value == pytest.approx(printed, abs=1e-12)
