"""Curves of an evaluation: reliability of the top label and of every class, and risk against coverage."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly.evaluation.rows import has_counts, random_part
from credibly.evaluation.stages import Part, Stage, Work, to_classes
from credibly.hypotests.calibration.reliability import classwise_curves
from credibly.predictions import Rows
from credibly.results.curves import ReliabilityCurve, RiskCoverageCurve
from credibly.statistics import risk_coverage_curve

MOST_ORDERED = 200_000
"""Instances whose order by confidence is looked at; of more a random part under the seed."""
KEPT_CLASSES = 50
"""Curves of more classes than this would make results of megabytes that nobody reads."""


@dataclasses.dataclass(frozen=True)
class Curves(Part):
    """Reliability and risk-coverage curves of one evaluation.

    Attributes
    ----------
    top_label : ReliabilityCurve
        Confidence against accuracy.
    per_class : tuple of ReliabilityCurve
        One curve per class, in class order; of many classes only those with the largest error.
    class_errors : ndarray (k,)
        Binned calibration error of every class; their mean is the class-wise ECE.
    risk_coverage : mapping of str to RiskCoverageCurve
        Share of wrong answers among the surest instances, by ``"confidence"`` and, of sets, also by
        ``"imprecision"``.
    """

    drawn_as = ("top_label",)

    top_label: ReliabilityCurve
    per_class: tuple[ReliabilityCurve, ...]
    class_errors: np.ndarray[Any, Any]
    risk_coverage: Mapping[str, RiskCoverageCurve]

    def told(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return how many instances the risk-coverage curves are of, where they are not all."""
        some, n = self.risk_coverage["confidence"].n, self.top_label.n
        if some == n:
            return ()
        return (
            f"risk-coverage curves: {some} of {n} instances, drawn at random under the seed, were ordered",
        )


def mean_gap(curve: ReliabilityCurve) -> float:
    """Return sum over bins of weight / total * |observed - predicted|: the binned error of the curve."""
    filled = curve.weight > 0
    gap = np.abs(curve.observed[filled] - curve.predicted[filled])
    return float(np.sum(curve.weight[filled] * gap) / curve.weight.sum())


def _run(rows: Rows, work: Work) -> Curves:
    """Return the curves, with bands where labels can be drawn.

    Of many classes the curves of the worst are kept; of sets whose imprecision is known for all instances,
    risk is also ordered by it.
    """
    top, *each = classwise_curves(
        *rows.arguments,
        targets=["top_label", *range(len(work.classes))],
        n_bins=work.n_bins,
        level=1 - work.level if work.tests and not has_counts(rows) else None,
        **work.drawn,
        progress=partial(work.tell, "curves"),
    )
    named = [
        dataclasses.replace(curve, name=f"class {name}")
        for curve, name in zip(each, work.classes, strict=True)
    ]
    errors = np.array([mean_gap(curve) for curve in named])
    kept = np.sort(np.argsort(-errors, kind="stable")[:KEPT_CLASSES])
    if len(named) > KEPT_CLASSES:
        work.leave_out(
            f"reliability curves of {len(named) - KEPT_CLASSES} classes",
            f"of {len(named)} classes the {KEPT_CLASSES} with the largest error are kept; "
            "`cr.reliability_curve` with `target=` gives any other",
        )
    # instances are ordered, and of very many a random part shows the same curve
    some = random_part(rows, MOST_ORDERED, work.seed).arguments
    orders = {"confidence": risk_coverage_curve(*some)}
    score = work.found["score"]
    if score is not None and score.score.n == rows.n:
        imprecision = score.score.imprecision
        orders["imprecision"] = risk_coverage_curve(*some, confidence=-imprecision, by="imprecision")
    work.tell("curves", 1, 1)
    return Curves(top, tuple(named[c] for c in kept), errors, orders)


CURVES = Stage("curves", _run, to_classes)
