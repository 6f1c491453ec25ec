"""Regions that fail by chance: the probability of any is at most the level."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(100, 2000)


def test_any_region_fails_by_chance_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(4)
    failed = 0
    for _ in range(REPETITIONS):
        probs = worlds.predictions(120, 3, rng)
        labels = worlds.draw(probs, rng)
        result = cr.hypotests.weights_test(
            probs, labels, weights="mean", statistics="brier", n_resamples=1, rng=rng
        )
        worst_regions = result.details.regions(
            probs, labels, space=rng.normal(size=(120, 2)), n_resamples=99, rng=rng
        )
        failed += len(worst_regions.failing(0.1)) > 0
    low, high = worlds.bounds(REPETITIONS, 0.1)
    assert low <= failed <= high
