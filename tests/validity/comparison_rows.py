"""Rows of the validity board: paired intervals for differences of calibration errors between two models."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy.special import softmax

import credibly as cr
from credibly.predictions import Dataset, Point
from credibly.selection.calibration_errors import error_differences
from validity.report import Numbers, Row

ERRORS = (cr.confidence_ece, cr.classwise_ece, cr.smooth_ece, cr.truthful_ce)
PAIRS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "both calibrated, one coarse": ((1.0, 0.0), (0.0, 0.0)),
    "calibrated and 1.2 times too sure": ((1.0, 0.0), (1.2, 0.0)),
    "calibrated and a class too often": ((1.0, 0.0), (1.0, 0.3)),
    "calibrated and twice too sure": ((1.0, 0.0), (2.0, 0.0)),
    "1.5 times too sure and too unsure": ((1.5, 0.0), (1 / 1.5, 0.0)),
    "too sure and a class too often": ((1.3, 0.0), (1.0, 0.5)),
    "1.5 and 1.6 times too sure": ((1.5, 0.0), (1.6, 0.0)),
}
"""Factor of the true logits and shift of the first class; factor 0: the truth averaged over fifths."""


def _truth(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    return softmax(rng.normal(size=(n, k)) * (1.5 if k == 2 else 2.0), axis=1)


@functools.cache
def _fifths(k: int) -> np.ndarray:
    truth = _truth(400_000, k, np.random.default_rng(60))
    part = np.minimum(5 * truth[:, 0], 4).astype(int)
    return np.stack([truth[part == one].mean(axis=0) for one in range(5)])


def _said(truth: np.ndarray, factor: float, shift: float) -> np.ndarray:
    if factor == 0.0:
        return _fifths(truth.shape[1])[np.minimum(5 * truth[:, 0], 4).astype(int)]
    logits = factor * np.log(truth)
    logits[:, 0] += shift
    return softmax(logits, axis=1)


@functools.cache
def _estimands(pair: str, k: int) -> dict[str, float]:
    """Return the differences of the errors with the true probabilities in place of labels."""
    truth = _truth(300_000, k, np.random.default_rng(61))
    # a million raters per instance who see the truth
    counts = cr.LabelCounts(np.round(1e6 * truth).astype(np.int64))
    first, second = (_said(truth, *one) for one in PAIRS[pair])
    return {one.name: float(one(second, counts)) - float(one(first, counts)) for one in ERRORS}


def differences(pair: str, n: int, k: int) -> Callable[[int], Numbers]:
    def run(seed: int) -> Numbers:
        rng = np.random.default_rng([62, n, k, seed])
        truth = _truth(n, k, rng)
        labels = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, k - 1)
        models = {
            name: Dataset(Point(_said(truth, *one)), labels)
            for name, one in zip(("first", "second"), PAIRS[pair], strict=True)
        }
        truths = _estimands(pair, k)
        return {
            difference.statistic: float(
                difference.interval[0] <= truths[difference.statistic] <= difference.interval[1]
            )
            for difference in error_differences(models, ERRORS, "first", 0.95)
        }

    return run


COMPARISON_ROWS = [
    Row(
        "compare",
        f"{pair}, n = {n}, k = {k}",
        "interval",
        differences(pair, n, k),
        True,
        slack=0.03,
        few=3 if n == 300 and k == 2 else 0,
    )
    for pair in PAIRS
    for n in (300, 2000)
    for k in (2, 4)
]
