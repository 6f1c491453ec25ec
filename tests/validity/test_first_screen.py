"""A right model is in conflict anywhere on the first screen in at most 5 % of data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import credibly as cr
from credibly.predictions import Intervals

pytestmark = pytest.mark.validity
N, RUNS = 200, 100


def right_model(kind: str, rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    """Return predictions, labels that were drawn from them, and more that is given."""
    probs = rng.dirichlet(np.ones(3), size=N)
    labels = (rng.random((N, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    if kind == "groups":
        return probs, labels, {"groups": rng.integers(0, 8, size=N).astype(str)}
    if kind == "raters":
        return probs, cr.LabelCounts(np.stack([rng.multinomial(3, row) for row in probs])), {}
    if kind == "intervals":
        return Intervals(np.clip(probs - 0.1, 0, 1), np.clip(probs + 0.1, 0, 1)), labels, {}
    if kind == "Gaussian":
        mean, std = rng.normal(size=N), np.exp(0.4 * rng.normal(size=N))
        return cr.Gaussian(mean, std), mean + std * rng.normal(size=N), {}
    return probs, labels, {}


@pytest.mark.parametrize("kind", ["point", "groups", "raters", "intervals", "Gaussian"])
def test_one_error_rate_for_all_that_is_said(kind: str) -> None:
    conflicts = 0
    for seed in range(RUNS):
        predictions, labels, more = right_model(kind, np.random.default_rng([seed, len(kind)]))
        statistics = ["crps"] if kind == "Gaussian" else ["brier", "accuracy"]
        evaluation = cr.evaluate(
            predictions, labels, statistics=statistics, n_resamples=99, recalibrate=[], rng=seed, **more
        )
        conflicts += any(finding.word == "conflict" for finding in evaluation.findings)
    assert conflicts <= binom.ppf(0.999, RUNS, 0.05)  # 13 of 100
