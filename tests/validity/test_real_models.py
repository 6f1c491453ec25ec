"""Models of real values: equal ones are tied, parts of the CRPS lie in their intervals, repairs hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from validity import worlds

pytestmark = pytest.mark.validity


@pytest.mark.parametrize("n", [100, 400])
def test_equal_models_are_rarely_told_apart(n: int) -> None:
    runs = worlds.repetitions(40, 2000)
    rng = np.random.default_rng(n)
    apart = 0
    for run in range(runs):
        mean = rng.normal(size=n)
        labels = mean + rng.normal(size=n)
        off = 0.5 * rng.normal(size=(3, n))
        models = {str(j): cr.Gaussian(mean + off[j], np.full(n, 1.1)) for j in range(3)}
        ranking = cr.rank_models(models, labels, statistics=["crps"], n_resamples=200, rng=run)
        apart += bool((ranking.at("crps").best_ranks > 1).any())
    assert apart <= worlds.bounds(runs, 0.065)[1]  # a bootstrap of 100 rows is approximate


@pytest.mark.parametrize("n", [100, 400])
def test_recalibrated_intervals_hold_what_they_promise(n: int) -> None:
    """Fitted on n instances, 90 % intervals of new ones: over both draws, shifts are exact by their ranks."""
    runs = worlds.repetitions(20, 1000)
    rng = np.random.default_rng(n)
    methods = {
        "scale": (cr.recalibrate.SpreadScaling(), 0.02),
        "isotonic": (cr.recalibrate.IsotonicRecalibration(), 0.01),
        "levels": (cr.recalibrate.QuantileShift(), 0.01),
    }
    held: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(runs):
        mean = rng.normal(size=n + 200)
        labels = mean + 1.5 * rng.normal(size=n + 200)
        gaussian = cr.Gaussian(mean, np.ones(n + 200))
        for name, (method, _) in methods.items():
            made = method.unfitted().fit(gaussian[:n], labels[:n]).apply(gaussian[n:])
            held[name].append(float(cr.picp(made, labels[n:])))
    for name, (_, slack) in methods.items():
        mean_held, error = np.mean(held[name]), np.std(held[name]) / math.sqrt(runs)
        assert abs(mean_held - 0.9) <= slack + 3 * error + (2 / (n + 1) if name == "levels" else 0.0)
