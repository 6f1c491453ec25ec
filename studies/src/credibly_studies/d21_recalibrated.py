"""Predictions for instances with many raters, and their recalibration by fits on other folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from credibly.predictions import ClassPredictions, Ensemble, LabelCounts, Point
from credibly.recalibrate import (
    AlphaCalibration,
    MatrixScaling,
    Recalibration,
    TemperatureScaling,
    VectorScaling,
)
from credibly.recalibrate.folds import fold_members, stitched
from credibly_studies.inputs import public_arrays

PENALTIES = (0.1, 1.0, 10.0)

KINDS = {
    "CIFAR-10H": ("one network", "mean of 15", "3 models, sampled"),
    "ChaosNLI-SNLI": ("one network", "mean of 5", "5 networks, sampled"),
}
"""Kinds of predictions per data set: the first is one network, the last has members."""


def _scaled(kind: type[VectorScaling] | type[MatrixScaling]) -> Recalibration:
    """Return vector or matrix scaling with the penalties of D21 and its choice by one split."""
    return kind(penalty="cv", penalties=PENALTIES, folds="split")


MEANS: dict[str, Callable[[], Recalibration] | None] = {
    "raw": None,
    "ts": TemperatureScaling,
    "vs": lambda: _scaled(VectorScaling),
    "ms": lambda: _scaled(MatrixScaling),
}
"""What is done to the mean."""

SPREADS: dict[str, Callable[[], Recalibration] | None] = {
    "": None,
    "alpha": lambda: AlphaCalibration(head="scalar"),
    "alpha, linear": lambda: AlphaCalibration(head="linear"),
}
"""What is done to the spread: nothing, one concentration, one that follows the log-probabilities."""


def predictions_of(data: str, rows: int) -> tuple[dict[str, ClassPredictions], LabelCounts]:
    """Return kinds of predictions for one data set, and the counts of its raters.

    Raw predictions come from one network or are a stored mean. Sampled ones are members: the five networks on
    SNLI; of CIFAR-10 only three different models are public, and they stand for samples.
    """
    made: tuple[ClassPredictions, ...]
    if data == "CIFAR-10H":
        counts, ddu, snn, mean = (
            public_arrays(f"cifar10/{name}.npy")[0][:rows]
            for name in ("cifar10h_counts", "ddu", "snn", "de_avg")
        )
        pool = np.stack([ddu, snn, mean], axis=1).astype(np.float64)
        made = Point(ddu), Point(mean), Ensemble(pool / pool.sum(axis=-1, keepdims=True))
    else:
        logits, counts = (
            array[:rows] for array in public_arrays("snli/chaosnli_snli.npz", "logits", "counts")
        )
        ensemble = Ensemble.from_logits(logits)
        made = Point.from_logits(logits[:, 0]), ensemble.mean(), ensemble
    return dict(zip(KINDS[data], made, strict=True)), LabelCounts(counts.astype(int))


def recalibrated(
    predictions: ClassPredictions, counts: LabelCounts, mean: str, folds: int, seed: Any
) -> tuple[dict[str, ClassPredictions], tuple[str, ...]]:
    """Return all predictions by what was done to their spread, and what the fits warned of.

    Each fold is recalibrated by fits on the others; the spread is fitted on what the mean has become.
    """
    parts = fold_members(len(predictions), folds, seed)
    moved: dict[str, list[ClassPredictions]] = {spread: [] for spread in SPREADS}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for held_out in parts:
            kept = np.setdiff1d(np.arange(len(predictions)), held_out)
            fit, new = _mean_step(MEANS[mean], predictions[kept], counts[kept], predictions[held_out])
            for spread, make in SPREADS.items():
                moved[spread].append(new if make is None else make().fit(fit, counts[kept]).apply(new))
    warned = tuple(str(warning.message) for warning in caught if "did not converge" in str(warning.message))
    return {
        spread: stitched(recalibrated_parts, parts) for spread, recalibrated_parts in moved.items()
    }, warned


def _mean_step(
    make: Callable[[], Recalibration] | None,
    fit: ClassPredictions,
    counts: LabelCounts,
    new: ClassPredictions,
) -> tuple[ClassPredictions, ClassPredictions]:
    """Fit a recalibration of the mean and apply it to both parts."""
    if make is None:
        return fit, new
    method = make()
    method.fit(fit, counts)
    return method.apply(fit), method.apply(new)
