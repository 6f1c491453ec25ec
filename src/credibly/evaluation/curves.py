"""Reliability curves of the top label and of every class, the worst classes kept where there are many."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np

from credibly._arrays.philox import Seed
from credibly._arrays.results import ReliabilityCurve
from credibly.evaluation.data import Data
from credibly.evaluation.results import Curves
from credibly.evaluation.stages import Progress
from credibly.hypotests import classwise_curves

KEPT_CLASSES = 50
"""Curves of more classes than this would make results of megabytes that nobody reads."""


def mean_gap(curve: ReliabilityCurve) -> float:
    """Return sum over bins of weight / total * |observed - predicted|: the binned error of the curve."""
    filled = curve.weight > 0
    gap = np.abs(curve.observed[filled] - curve.predicted[filled])
    return float(np.sum(curve.weight[filled] * gap) / curve.weight.sum())


def curves(
    data: Data,
    classes: Sequence[str],
    *,
    n_bins: int,
    level: float | None,
    n_resamples: int,
    seed: Seed,
    tell: Progress,
) -> Curves:
    """Return the curves; with `level` None they have no bands."""
    targets: list[int | str] = ["top_label", *range(len(classes))]
    top, *each = classwise_curves(
        *data.given,
        targets=targets,
        n_bins=n_bins,
        level=level,
        n_resamples=n_resamples,
        rng=seed,
        progress=partial(tell, "curves"),
    )
    named = [
        dataclasses.replace(curve, name=f"class {name}") for curve, name in zip(each, classes, strict=True)
    ]
    errors = np.array([mean_gap(curve) for curve in named])
    kept = np.sort(np.argsort(-errors, kind="stable")[:KEPT_CLASSES])
    return Curves(top, tuple(named[c] for c in kept), errors)
