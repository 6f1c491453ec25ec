"""Intervals of the area under risk-coverage curves and of its excess."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(60, 4000)
MANY = 20_000


def population(world: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    confidence = np.clip(rng.beta(4, 1.5, size=MANY), 0.5, 1)
    if world == "ties":
        confidence = confidence.round(1)
    right = confidence if world != "overconfident" else 0.5 + 0.6 * (confidence - 0.5)
    return np.stack([confidence, 1 - confidence], axis=1), (rng.random(MANY) > right).astype(int)


@pytest.mark.parametrize("world", ["distinct", "ties", "overconfident"])
@pytest.mark.parametrize("name", ["area", "excess"])
def test_intervals_hold(world: str, name: str) -> None:
    rng = np.random.default_rng(21)
    probs, labels = population(world, rng)
    truth = float(getattr(cr.risk_coverage_curve(probs, labels), name))
    missed = refused = 0
    for _ in range(REPETITIONS):
        rows = rng.integers(0, MANY, size=600)
        estimate = getattr(cr.risk_coverage_curve(probs[rows], labels[rows]), name)
        try:
            low, high = estimate.interval(0.95)
        except cr.UnsupportedError:
            refused += 1
            continue
        missed += not low <= truth <= high
    assert refused <= 0.1 * REPETITIONS
    low_count, high_count = worlds.bounds(REPETITIONS, 0.055)
    assert low_count <= missed <= high_count
