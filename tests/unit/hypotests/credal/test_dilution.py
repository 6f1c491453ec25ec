"""How much of a learned spread is noise: the share by brute force, and a spread that is known."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.learned_weights import held_out_share


def test_the_share_has_the_largest_likelihood() -> None:
    rng = np.random.default_rng(0)
    learned, mean = rng.uniform(0.2, 1.0, 200), rng.uniform(0.2, 1.0, 200)
    grid = np.linspace(0, 1, 10001)
    likelihood = np.log(grid[:, None] * learned + (1 - grid[:, None]) * mean).sum(axis=1)
    best = grid[likelihood.argmax()]
    assert 0.1 < best < 0.9
    assert held_out_share(learned, mean) == pytest.approx(best, abs=1e-4)


def test_ends_of_the_share() -> None:
    low, high = np.full(10, 0.2), np.full(10, 0.6)
    assert held_out_share(high, low) == 1.0
    assert held_out_share(low, high) == 0.0
    assert held_out_share(low, low) == 1.0
    assert held_out_share(np.zeros(10), low) == 0.0  # labels that the learned combination calls impossible
    assert held_out_share(np.zeros(10), np.zeros(10)) == 1.0


def test_the_kept_spread_is_that_of_the_truth() -> None:
    """Truth and error have equal spread: labels follow half of what was learned, replicates 1 / sqrt(2)."""
    rng = np.random.default_rng(1)
    n = 200_000
    signal, error = 0.1 * rng.standard_normal((2, n)).clip(-2, 2)
    labels = rng.random(n) < 0.5 + signal
    learned = 0.5 + signal + error
    kept = np.sqrt(held_out_share(np.where(labels, learned, 1 - learned), np.full(n, 0.5)))
    # standard error of the slope: sqrt(0.25 / (n 0.02)) = 0.008, of its root 0.006
    assert kept == pytest.approx(np.sqrt(0.5), abs=0.03)
    assert np.std(kept * (signal + error)) == pytest.approx(np.std(signal), rel=0.05)


@pytest.mark.slow
def test_the_result_says_how_far_replicates_were_moved() -> None:
    rng = np.random.default_rng(2)
    members = rng.dirichlet([1.0, 1.0], size=(100, 8))
    # labels from the mean itself: all that is learned beyond it is noise
    labels = (rng.random(100) > members.mean(axis=1)[:, 0]).astype(int)
    moved = cr.hypotests.weights_test(cr.Ensemble(members), labels, learner="gating", n_resamples=9, rng=0)
    assert any("labels of replicates are drawn" in note for note in moved.notes)
    kept = cr.hypotests.weights_test(
        cr.Ensemble(members), labels, learner="gating", refit=False, n_resamples=9, rng=0
    )
    assert not any("labels of replicates are drawn" in note for note in kept.notes)
    sure = np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (100, 2, 2))
    first = cr.hypotests.weights_test(  # every label is the first class, of which the first member is surest
        cr.Ensemble(sure), np.zeros(100, dtype=int), learner="gating", n_resamples=9, rng=0
    )
    assert not any("labels of replicates are drawn" in note for note in first.notes)
