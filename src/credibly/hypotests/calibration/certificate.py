"""Upper confidence bounds of calibration errors that hold at calibration too: "within 2 points, 95 % sure".

Let E be an error with the true probabilities of the events in place of the events, and T the same error of
the labels. Binned errors (p = 1), cumulative and smooth errors are convex in the labels, so E[T] >= E:
plug-in errors are biased upwards, and an upper bound needs no correction. One label moves T by at most d / n,
so that (McDiarmid 1989, labels independent given predictions)

    P(T <= E - t) <= exp(-2 n t^2 / d^2),           E <= T + d sqrt(log(1 / alpha) / (2 n)) with 1 - alpha

of clusters n is replaced by n^2 / sum of squared sizes, whatever the labels of a cluster have in common,
with d = 1 for errors of the top label and d = 2 / k for means over k classes. The smooth error s is where
the falling smECE_s meets s: if its value for the truth is s0, then smECE_s0 of the labels is at least s0 - t
with that probability, and so is the point where it meets s.

With one bin the error is the mean confidence gap |accuracy - mean confidence|, and the number of hits is a
sum of independent events, whose tails beyond its mean by one or more are inside those of a binomial
(Hoeffding 1956). At 25 % or less all tails of two or more events are that far out: the exact binomial bounds
of the accuracy hold, and are about half as wide.

No distribution-free upper bound exists for the error without bins or smoothing (Gupta, Podkopaev and Ramdas
2020): bins or bandwidth are part of what is certified.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError, require
from credibly._arrays.namespace import as_float64, namespace
from credibly.predictions import ClassPredictions, Dataset, Rows, as_point, as_rows, has_event
from credibly.predictions.given import require_classes, require_one_label
from credibly.predictions.passes import detached
from credibly.results.base import require_level, require_margin
from credibly.results.certificates import Certificate, EquivalenceDetails
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.binned import BinnedError, ClasswiseECE, ConfidenceECE
from credibly.statistics.proper import ConfidenceGap, top_label
from credibly.statistics.registry import as_statistic
from credibly.statistics.smooth import SmoothECE
from credibly.statistics.walks import Ecce


def certificate(
    predictions: Any,
    labels: Any = None,
    *,
    statistic: str | Statistic = "confidence_ece",
    level: float = 0.95,
) -> Certificate:
    """Compute an upper bound for a calibration error, valid with the given confidence.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions.
    labels : array (n,)
        Observed labels, independent between instances or, for rows with clusters, between clusters. Leave out
        for rows that carry their own.
    statistic : str or Statistic
        A binned error with p = 1 that is not debiased, `smooth_ece` or `ecce`; or `confidence_gap`, whose
        absolute value is the binned error with one bin. The latter has the smallest bound.
    level : float
        Confidence.

    Returns
    -------
    Certificate
        The bound; ``pvalue(margin)`` and ``within(margin)`` test that the error is smaller than a margin.

    Notes
    -----
    The bound is for the error with true probabilities in place of labels, at these instances and bins. It
    holds for every n and every truth, including perfect calibration, where intervals around plug-in errors
    have a coverage of 0.

    References
    ----------
    McDiarmid, *On the method of bounded differences*, 1989; Hoeffding, *On the distribution of the number of
    successes in independent trials*, 1956.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> probs = np.tile([0.8, 0.2], (1000, 1))
    >>> labels = np.arange(1000) % 5 == 0  # right in 4 of 5
    >>> found = cr.hypotests.certificate(probs, labels, statistic="confidence_gap")
    >>> round(found.upper, 4), found.within(0.03), found.within(0.01)
    (0.022, True, False)
    """
    require_level(level)
    chosen = as_statistic(statistic)
    rows = detached(as_rows(predictions, labels))
    predictions = rows.example.predictions
    chosen.require_predictions(predictions)
    assert isinstance(predictions, ClassPredictions)
    require_one_label(rows.example.batch, "a certificate")
    change = _largest_change(chosen, predictions.n_classes)
    codes = rows.cluster_codes()
    if codes is not None:  # a cluster moves the error by its size times as much as a label
        change *= float(np.sqrt(np.mean(np.bincount(codes)[codes])))
    elif _is_gap(chosen):
        hits, confidence = (sum(column) for column in zip(*rows.map(_totals), strict=True))
        mean, notes = confidence / rows.n, as_point(predictions)[1]
        value, settings = abs(hits / rows.n - mean), chosen.settings()
        return Certificate(
            chosen.name, value, level, rows.n, settings, notes, hits=round(hits), confidence=mean
        )
    estimate = chosen(rows)
    return Certificate(
        chosen.name,
        abs(estimate.value),
        level,
        rows.n,
        estimate.settings,
        estimate.notes,
        largest_change=change,
        is_mean=_is_gap(chosen),
    )


def average_gaps(rows: Rows, level: float = 0.95) -> tuple[Certificate, ...]:
    """Return the bound of the average gap and, for two classes, of the error of P(event).

    For two classes, confidence may be right on average while the event is stated many times too often.
    """
    gap = certificate(rows, statistic="confidence_gap", level=level)
    predictions = rows.example.predictions
    if not has_event(predictions):
        return (gap,)
    events, stated = (sum(column) for column in zip(*rows.map(_events), strict=True))
    names = rows.example.classes
    error = Certificate(
        f"error of P({'class 1' if names is None else names[1]})",
        abs(events - stated) / rows.n,
        level,
        rows.n,
        {},
        gap.notes,
        largest_change=gap.largest_change,
        hits=None if rows.clusters is not None else round(events),
        confidence=None if rows.clusters is not None else stated / rows.n,
        is_mean=True,
    )
    return error, gap


def stated_events(rows: Rows) -> float:
    """Return the mean probability of the event, the rarer of two classes; raise for other predictions."""
    predictions = rows.example.predictions
    if not isinstance(predictions, ClassPredictions) or predictions.n_classes != 2:
        kind = type(predictions).__name__
        number = f" of {predictions.n_classes} classes" if isinstance(predictions, ClassPredictions) else ""
        raise UnsupportedError(
            "a margin relative to an event",
            "needs predictions of two classes",
            f"got {kind}{number}",
            "Use a margin in points: 0.02 is two points.",
        )
    second = sum(rows.map(_stated)) / rows.n
    return min(second, 1.0 - second)  # a table may have the event first


def _stated(chunk: Dataset) -> float:
    probs = as_point(chunk.predictions)[0].probs
    return float(namespace(probs).sum(as_float64(probs[:, 1])))


def _events(chunk: Dataset) -> tuple[float, float]:
    """Return the number of events and the sum of their probabilities."""
    xp = namespace(chunk.batch.values)
    return float(xp.sum(xp.astype(chunk.batch.values[0, :] == 1, xp.float64))), _stated(chunk)


def equivalence_test(
    rows: Rows, chosen: Sequence[Statistic] | None, margin: float, notes: tuple[str, ...] = ()
) -> HypotestResult[EquivalenceDetails]:
    """Test that errors are smaller than a margin: jointly, if each of them is. Default: the average gaps."""
    remedy = "No data can show an error of exactly 0; write 0.02 for two points."
    require(require_margin(margin), "must be above 0", remedy, margin=margin)
    if chosen is None:
        advice = "`evaluate` states the fault of real values with an interval to compare with a margin."
        require_classes(rows.example.predictions, "a test against a margin", advice)
    bounds = average_gaps(rows) if chosen is None else [certificate(rows, statistic=name) for name in chosen]
    tests = [_within(bound, margin, notes) for bound in bounds]
    worst = max(tests, key=lambda test: (test.pvalue, test.details.lower(), test.statistic))
    if len(tests) == 1:
        return worst
    return dataclasses.replace(worst, components={test.statistic_name: test for test in tests})


def _within(bound: Certificate, margin: float, notes: tuple[str, ...]) -> HypotestResult[EquivalenceDetails]:
    """Return the test of one error."""
    return HypotestResult(
        name="equivalence test",
        hypothesis=f"the calibration error is {margin:g} or more",
        statistic_name=bound.statistic_name,
        statistic=bound.value,
        pvalue=bound.pvalue(margin),
        tail="less",
        acceptance_region=(max(0.0, margin - (bound.upper - bound.value)), 1.0),
        effect_size=bound.value - margin,
        n=bound.n,
        settings={**bound.settings, "margin": margin},
        notes=(*bound.notes, *notes),
        details=EquivalenceDetails(margin, bound),
    )


def _is_gap(statistic: Statistic) -> bool:
    """Tell whether the error is the size of the mean confidence gap."""
    return isinstance(statistic, ConfidenceGap) or (
        type(statistic) is ConfidenceECE and statistic.n_bins == 1
    )


def _totals(chunk: Dataset) -> tuple[float, float]:
    """Return the number of hits and the sum of confidences."""
    confidence, predicted = top_label(as_point(chunk.predictions)[0])
    xp = namespace(confidence)
    hits = chunk.batch.values[0, :] == predicted
    return float(xp.sum(xp.astype(hits, xp.float64))), float(xp.sum(as_float64(confidence)))


def _largest_change(statistic: Statistic, n_classes: int) -> float:
    """Return by how much one label moves the statistic at most, times n; raise where no bound is known."""
    convex = isinstance(statistic, SmoothECE | Ecce | ConfidenceGap) or (
        isinstance(statistic, BinnedError) and statistic.p == 1 and not statistic.debiased
    )
    if not convex:
        raise UnsupportedError(
            f"a certificate of `{statistic.name}`",
            "needs an error that is convex in the labels and that a single label changes little",
            f"got {statistic.name} with {statistic.settings()}",
            "Use `confidence_gap`, a binned error with p=1, `smooth_ece` or `ecce`.",
        )
    classwise = isinstance(statistic, ClasswiseECE) or statistic.settings().get("target") == "classwise"
    return 2.0 / n_classes if classwise else 1.0
