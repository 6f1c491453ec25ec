"""An evaluation of rows in chunks is that of all rows at once: every number, p-value, verdict and note."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credibly as cr
from same_numbers import differences

N, M, K = 700, 3, 4
RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet(np.ones(K), size=(N, M))
MEAN = PROBS.mean(axis=1)
LABELS = (RNG.random((N, 1)) > MEAN.cumsum(axis=1)).sum(axis=1)
COUNTS = cr.LabelCounts(RNG.multinomial(5, np.full(K, 1 / K), size=N))
GROUPS = np.array(["b", "a", "c"])[RNG.integers(3, size=N)]
REALS = RNG.normal(size=N)
FEATURES = RNG.normal(size=(N, 2))

CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "point": (cr.Point(MEAN), LABELS, {"groups": GROUPS, "pairwise_rows": 150}),
    "ensemble": (cr.Ensemble(PROBS), LABELS, {"groups": GROUPS, "features": FEATURES, "pairwise_rows": 120}),
    "all pairs": (cr.Point(MEAN), LABELS, {"statistics": ["skce", "brier"]}),
    "raters": (cr.Ensemble(PROBS), COUNTS, {"tests": False}),
    "no tests": (cr.Ensemble(PROBS), LABELS, {"tests": False}),
    "dirichlet": (cr.Dirichlet(5 * PROBS[:100]), LABELS[:100], {"tests": False}),
    "intervals": (cr.Intervals(0.9 * MEAN, np.minimum(1.0, 0.9 * MEAN + 0.1)), LABELS, {"tests": False}),
    "gaussian": (cr.Gaussian(PROBS[:, :, 0], 0.5 + PROBS[:, :, 1]), REALS, {"groups": GROUPS}),
    "quantiles": (
        cr.Quantiles(np.sort(PROBS[:, 0], axis=1), np.array([0.1, 0.4, 0.6, 0.9])),
        REALS,
        {"groups": GROUPS},
    ),
    "draws": (cr.Samples(RNG.normal(size=(N, 60))), REALS, {}),
}


@pytest.fixture(scope="module", params=list(CASES))
def case(request) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    predictions, labels, settings = CASES[request.param]
    whole = cr.evaluate(predictions, labels, n_resamples=39, rng=3, **settings)
    return predictions, labels, settings, whole.to_dict()


@pytest.mark.parametrize("chunks", [1, 7, 100])
def test_every_number_is_that_of_all_rows(case, chunks) -> None:
    predictions, labels, settings, whole = case
    beside = {name: settings[name] for name in ("groups", "features") if name in settings}
    rest = {name: value for name, value in settings.items() if name not in beside}
    source = cr.scan(predictions, labels, chunk_rows=-(-len(predictions) // chunks), **beside)
    cut = cr.evaluate(source, n_resamples=39, rng=3, **rest)
    assert differences(whole, cut.to_dict()) == []
