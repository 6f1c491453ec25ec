"""Reliability curves of the top label and of every class, the worst classes kept where there are many."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.philox import Seed
from credibly._arrays.results import ReliabilityCurve
from credibly.evaluation.results import Curves
from credibly.hypotests import classwise_curves
from credibly.predictions import ClassPredictions

KEPT_CLASSES = 50
"""Curves of more classes than this would make results of megabytes that nobody reads."""


def mean_gap(curve: ReliabilityCurve) -> float:
    """Return sum over bins of weight / total * |observed - predicted|: the binned error of the curve."""
    filled = curve.weight > 0
    gap = np.abs(curve.observed[filled] - curve.predicted[filled])
    return float(np.sum(curve.weight[filled] * gap) / curve.weight.sum())


def curves(
    predictions: ClassPredictions,
    labels: Any,
    classes: Sequence[str],
    *,
    n_bins: int,
    level: float | None,
    n_resamples: int,
    seed: Seed,
) -> Curves:
    """Return the curves; with `level` None they have no bands."""
    k = predictions.n_classes
    targets: list[int | str] = ["top_label", *range(k)]
    top, *each = classwise_curves(
        predictions,
        labels,
        targets=targets,
        n_bins=n_bins,
        level=level,
        n_resamples=n_resamples,
        rng=seed,
    )
    named = [
        dataclasses.replace(curve, name=f"class {name}") for curve, name in zip(each, classes, strict=True)
    ]
    errors = np.array([mean_gap(curve) for curve in named])
    kept = np.sort(np.argsort(-errors, kind="stable")[:KEPT_CLASSES])
    return Curves(top, tuple(named[c] for c in kept), errors)
