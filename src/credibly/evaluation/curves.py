"""Curves of an evaluation: reliability of the top label and of every class, and risk against coverage."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.philox import Seed
from credibly._arrays.results import ReliabilityCurve
from credibly.evaluation.results import Curves
from credibly.evaluation.score import ScoreParts
from credibly.hypotests import classwise_curves
from credibly.predictions import ClassPredictions
from credibly.statistics import risk_coverage_curve

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
    score: ScoreParts | None = None,
) -> Curves:
    """Return the curves; with `level` None they have no bands.

    Of many classes the curves of the worst are kept; of sets whose imprecision is known for all instances,
    risk is also ordered by it.
    """
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
    orders = {"confidence": risk_coverage_curve(predictions, labels)}
    if score is not None and score.score.n == len(predictions):
        imprecision = score.score.imprecision
        orders["imprecision"] = risk_coverage_curve(
            predictions, labels, confidence=-imprecision, by="imprecision"
        )
    return Curves(top, tuple(named[c] for c in kept), errors, orders)
