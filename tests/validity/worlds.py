"""Worlds whose truth is known, and how large the simulations are.

The default is small enough for every `make test-validity`; CREDIBLY_VALIDITY=full is for
`make simulations`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import scipy.stats

from credibly_studies.simulate import MulticlassWorld

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


SIZES = tuple((n, k, 3 if n == 100 else 0) for n in (100, 400, 2000) for k in (2, 5, 10))
"""Instances, classes, and runs of the small copy."""

World = Callable[[int], tuple[np.ndarray, np.ndarray]]
"""From a seed to predictions (n, k) and labels (n,)."""


def ruled(rule: str, *, n: int = 400, k: int = 3, m: int = 5) -> World:
    """Members of J25's multiclass world (n, m, k), labels from one that a rule picks at every instance."""

    def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
        members = MulticlassWorld(n_members=m, n_classes=k).draw(n, rng=seed).predictions.probs
        entropy = -(members * np.log(np.maximum(members, 1e-300))).sum(axis=2)
        score = {"cautious": entropy, "bold": -entropy, "direction": members[:, :, 0]}[rule]
        truth = members[np.arange(n), score.argmax(axis=1)]
        return members, draw(truth, np.random.default_rng([seed, 1]))

    return world


DIGITS = (2, 3, 4, 6)
"""To which predictions in files are rounded."""


def rounded(digits: int | None, *, n: int = 300, k: int = 5, overconfidence: float = 1.0) -> World:
    """Predictions with so many digits after the point (None: all), rows divided by their sum.

    With `overconfidence` 1 the labels follow the rounded predictions, so the model is calibrated and what it
    calls impossible does not happen; else the model's logits are that many times those of the truth.
    """

    def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        truth = temper(np.exp(rng.normal(scale=2.0, size=(n, k))), 1.0)
        model = temper(truth, overconfidence)
        if digits is not None:
            model = temper(np.round(model, digits), 1.0)
        return model, draw(model if overconfidence == 1.0 else truth, rng)

    return world


def tempered(exponent: float, *, n: int = 150, k: int = 3) -> World:
    """Predictions over the whole simplex; the truth is p^exponent, flatter below 1 and sharper above."""

    def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([1, seed])
        probs = predictions(n, k, rng)
        return probs, draw(temper(probs, exponent), rng)

    return world


def bounds(trials: int, probability: float) -> tuple[float, float]:
    """Return the counts between which a binomial falls with 99.9 %."""
    low, high = scipy.stats.binom.ppf([0.0005, 0.9995], trials, probability)
    return float(low), float(high)
