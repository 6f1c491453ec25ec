"""Ties by simulation: models that are equal in law are told apart no more often than the level says."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from validity import worlds

pytestmark = pytest.mark.validity

RUNS = worlds.repetitions(40, 1000)
N, MODELS = 300, 4


def world(seed: int, better: float = 0.0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Models with independent noise of one size around the truth; the first has less noise by `better`."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(3), size=N)
    labels = (rng.random((N, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    noise = rng.dirichlet(np.ones(3), size=(MODELS, N))
    share = np.full(MODELS, 0.5)
    share[0] -= better
    models = (1 - share)[:, None, None] * truth + share[:, None, None] * noise
    return {f"model {j}": models[j] for j in range(MODELS)}, labels


def separated(seed: int, better: float = 0.0) -> tuple[bool, bool]:
    """Whether any two models are told apart, and whether the first alone is first."""
    models, labels = world(seed, better)
    standing = cr.rank_models(models, labels, n_resamples=300, rng=seed).at(1.0)
    apart = bool((standing.best_ranks > 1).any())
    return apart, standing.names[0] == "model 0" and not standing.tied_with_first


def test_any_false_difference_is_as_rare_as_said() -> None:
    # 6 pairs: single 95 % intervals would find one in about 20 % of the worlds
    found = sum(separated(seed)[0] for seed in range(RUNS))
    limit = 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / RUNS)  # 99.9 % binomial
    assert found / RUNS <= limit, found


def test_a_better_model_is_found() -> None:
    runs = RUNS // 4
    found = sum(separated(seed, better=0.35)[1] for seed in range(runs))
    assert found / runs > 0.6, found
