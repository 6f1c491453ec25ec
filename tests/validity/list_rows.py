"""Rows of the validity board: lists of the most probable options, as services report them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import credibly as cr
from validity import worlds
from validity.report import REPLICATES, Numbers, Row

N = 300
SIZES = [(k, known) for k in (4, 6, 10, 50) for known in (1, 2, 5, 20) if known < k]


def lists(
    k: int, known: int, sharpness: float, n: int = N
) -> Callable[[int], tuple[cr.Intervals, np.ndarray]]:
    """The most probable of k options, some of which are likelier than others; the truth is p^sharpness."""

    def world(seed: int) -> tuple[cr.Intervals, np.ndarray]:
        rng = np.random.default_rng([15, k, known, seed])
        logits = 1.5 * rng.normal(size=(n, k)) + np.linspace(1.0, -1.0, k)
        probs = np.exp(logits)
        probs /= probs.sum(axis=1, keepdims=True)
        truth = probs**sharpness
        truth /= truth.sum(axis=1, keepdims=True)
        smallest = np.sort(probs, axis=1)[:, [k - known]]
        listed = np.where(probs >= smallest, np.log(probs), np.nan)
        return cr.Intervals.from_top_logprobs(listed), worlds.draw(truth, rng)

    return world


def judged(k: int, known: int, sharpness: float, n: int = N) -> Callable[[int], Numbers]:
    """The p-value of the set, and that of the answer with its probability, which is listed."""

    def run(seed: int) -> Numbers:
        made, labels = lists(k, known, sharpness, n)(seed)
        assert made.listed is not None
        answers = cr.Confidence(np.asarray(made.listed)[:, 1])
        right = labels == np.asarray(made.listed)[:, 0]
        return {
            "set": cr.hypotests.witness_test(made, labels, rng=seed).pvalue,
            "answer": cr.calibration_test(
                answers, right, statistics="confidence_ece", n_resamples=REPLICATES, rng=seed
            ).pvalue,
        }

    return run


LIST_ROWS = [
    Row(
        "Intervals.from_top_logprobs",
        f"{known} of {k} options listed, {name}",
        truth,
        judged(k, known, sharpness),
        frozenset({"set"}),
        few=0 if k == 50 else 2,
    )
    for k, known in SIZES
    for name, truth, sharpness in (
        ("calibrated", "null", 1.0),
        ("overconfident", "alternative", 0.6),
    )
]
LIST_ROWS += [
    Row(
        "Intervals.from_top_logprobs",
        "5 of 50 options listed, calibrated, n = 60",
        "null",
        judged(50, 5, 1.0, 60),
        frozenset({"set"}),
    )
]
