"""Curves of an evaluation: reliability of the top label and of every class, and risk against coverage."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np

from credibly._arrays.philox import Seed
from credibly.evaluation.results import Curves
from credibly.evaluation.rows import random_part
from credibly.evaluation.score import ScoreParts
from credibly.evaluation.stages import Progress
from credibly.hypotests import classwise_curves
from credibly.predictions import Rows
from credibly.results.curves import ReliabilityCurve
from credibly.statistics import risk_coverage_curve

MOST_ORDERED = 200_000
"""Instances whose order by confidence is looked at; of more a random part under the seed."""
KEPT_CLASSES = 50
"""Curves of more classes than this would make results of megabytes that nobody reads."""


def mean_gap(curve: ReliabilityCurve) -> float:
    """Return sum over bins of weight / total * |observed - predicted|: the binned error of the curve."""
    filled = curve.weight > 0
    gap = np.abs(curve.observed[filled] - curve.predicted[filled])
    return float(np.sum(curve.weight[filled] * gap) / curve.weight.sum())


def curves(
    rows: Rows,
    classes: Sequence[str],
    *,
    n_bins: int,
    level: float | None,
    n_resamples: int,
    seed: Seed,
    tell: Progress,
    score: ScoreParts | None = None,
) -> Curves:
    """Return the curves; with `level` None they have no bands.

    Of many classes the curves of the worst are kept; of sets whose imprecision is known for all instances,
    risk is also ordered by it.
    """
    targets: list[int | str] = ["top_label", *range(len(classes))]
    top, *each = classwise_curves(
        *rows.arguments,
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
    # instances are ordered, and of very many a random part shows the same curve
    some = random_part(rows, MOST_ORDERED, seed).arguments
    orders = {"confidence": risk_coverage_curve(*some)}
    if score is not None and score.score.n == rows.n:
        imprecision = score.score.imprecision
        orders["imprecision"] = risk_coverage_curve(*some, confidence=-imprecision, by="imprecision")
    return Curves(top, tuple(named[c] for c in kept), errors, orders)


def order_notes(found: Curves | None) -> tuple[str, ...]:
    """Return how many instances the risk-coverage curves are of, where they are not all."""
    if found is None or found.risk_coverage["confidence"].n == found.top_label.n:
        return ()
    some, n = found.risk_coverage["confidence"].n, found.top_label.n
    return (f"risk-coverage curves: {some} of {n} instances, drawn at random under the seed, were ordered",)
