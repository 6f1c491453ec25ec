"""Worlds whose truth is known, and how large the simulations are.

The default is small enough for every `make test`; CREDIBLY_VALIDITY=full is for `make validity`.
"""

from __future__ import annotations

import os

import numpy as np
import scipy.stats

FULL = os.environ.get("CREDIBLY_VALIDITY") == "full"


def repetitions(default: int, full: int) -> int:
    """Return how often to simulate."""
    return full if FULL else default


def predictions(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draw predictions uniformly from the simplex, (n, k)."""
    return rng.dirichlet(np.ones(k), size=n)


def temper(probs: np.ndarray, exponent: float) -> np.ndarray:
    """Return p^exponent, normalised: below 1 the truth is flatter than the model says, above 1 sharper."""
    powered = probs**exponent
    return powered / powered.sum(axis=1, keepdims=True)


def draw(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one label per row of the true probabilities."""
    passed = rng.random((len(truth), 1)) > truth.cumsum(axis=1)
    return np.minimum(passed.sum(axis=1), truth.shape[1] - 1)


def bounds(trials: int, probability: float) -> tuple[float, float]:
    """Return the counts between which a binomial falls with 99.9 %."""
    low, high = scipy.stats.binom.ppf([0.0005, 0.9995], trials, probability)
    return float(low), float(high)
