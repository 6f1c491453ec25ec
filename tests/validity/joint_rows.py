"""Rows of the validity board: joint predictions of several numbers that depend on each other."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

import credibly as cr
from validity.interval_rows import held
from validity.report import REPLICATES, Numbers, Row

Joint = tuple[np.ndarray, np.ndarray]
"""Draws (n, s, d) and labels (n, d)."""


def joint(rng: np.random.Generator, n: int, s: int, stated: float, true: float, d: int = 3) -> Joint:
    """Numbers around a centre of their own, with correlations as stated and as they are."""
    centre = rng.normal(size=(n, 1, d))

    def drawn(number: int, correlation: float) -> np.ndarray:
        together, apart = rng.normal(size=(n, number, 1)), rng.normal(size=(n, number, d))
        return centre + correlation**0.5 * together + (1 - correlation) ** 0.5 * apart

    return drawn(s, stated), drawn(1, true)[:, 0]


def tested(n: int, s: int, stated: float, true: float) -> Callable:
    """P-values of the exchange, each score alone and both together."""

    def run(seed: int) -> Numbers:
        draws, labels = joint(np.random.default_rng([81, n, s, seed]), n, s, stated, true)
        test = cr.hypotests.joint_test(draws, labels, n_resamples=REPLICATES, rng=seed)
        return {
            **{name: component.pvalue for name, component in test.components.items()},
            "both": test.pvalue,
        }

    return run


@functools.cache
def expected(name: str) -> float:
    """The mean score of a right prediction, from many rows."""
    draws, labels = joint(np.random.default_rng(82), 20_000, 20, 0.5, 0.5)
    return float(getattr(cr.statistics, name)(draws, labels))


def covered(name: str, n: int) -> Callable:
    """Whether the interval of a score holds its mean."""

    def run(seed: int) -> Numbers:
        draws, labels = joint(np.random.default_rng([83, n, seed]), n, 20, 0.5, 0.5)
        return {name: held(getattr(cr.statistics, name)(draws, labels), expected(name))}

    return run


JOINT_ROWS = [
    Row("joint_test", "three numbers, right, n = 100, 5 draws", "null", tested(100, 5, 0.5, 0.5)),
    Row("joint_test", "three numbers, right, n = 60, 20 draws", "null", tested(60, 20, 0.8, 0.8)),
    Row("joint_test", "draws depend, labels do not, n = 100", "alternative", tested(100, 20, 0.8, 0.0)),
    Row(
        "energy_score", "three numbers, right, n = 200", "interval", covered("energy_score", 200), slack=0.02
    ),
    Row(
        "variogram_score",
        "three numbers, right, n = 200",
        "interval",
        covered("variogram_score", 200),
        slack=0.03,
    ),
]
