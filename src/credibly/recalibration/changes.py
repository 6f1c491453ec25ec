"""Paired differences of statistics: one instance, two predictions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from credibly._arrays.namespace import Array, namespace
from credibly.annotators import decompose_disagreement, decompose_loss
from credibly.annotators.disagreement import overall_evidence
from credibly.annotators.loss import loss_evidence
from credibly.annotators.population import check_chunk
from credibly.predictions import ClassPredictions, LabelCounts, as_labels
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate, mean_refusal, standard_error
from credibly.results.recalibration import Change
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.proper import MeanBound

_UNPAIRED = (
    "the standard errors before and after are added, which is never too short: the pairing is not used"
)
_ROOT = "it is a difference of roots; look at the squared errors, whose difference has an interval"


def statistic_changes(
    before: ClassPredictions,
    after: ClassPredictions,
    labels: Any,
    chosen: list[Statistic],
    tests_before: Mapping[str, HypotestResult],
    tests_after: Mapping[str, HypotestResult],
) -> list[Change]:
    """Return the statistics that take these labels, before and after."""
    counted = isinstance(labels, LabelCounts)
    found = []
    for statistic in chosen:
        if counted and "counts" not in statistic.traits.labels:
            continue
        own, moved = statistic(before, labels), statistic(after, labels)
        difference = _paired(statistic, before, after, labels, moved.value - own.value)
        if difference is None:
            reason = own.interval_refusal or moved.interval_refusal or "it has no standard error here"
            difference = _difference(statistic.name, own, moved, None, reason)
        name = statistic.name
        found.append(Change(name, own, moved, difference, tests_before.get(name), tests_after.get(name)))
    return found


def _paired(
    statistic: Statistic, before: ClassPredictions, after: ClassPredictions, labels: Any, value: float
) -> Estimate | None:
    """Return the mean difference of contributions where the statistic is a mean over instances."""
    first, second = statistic.bind(before), statistic.bind(after)
    if not isinstance(first, MeanBound) or not isinstance(second, MeanBound) or not math.isfinite(value):
        return None
    batch = as_labels(before, labels)
    change = second.contributions(batch)[0, :] - first.contributions(batch)[0, :]
    return _mean_difference(statistic.name, change, value)


def _mean_difference(name: str, change: Array, value: float) -> Estimate:
    n = int(change.shape[0])
    xp = namespace(change)
    if not bool(xp.any(change != 0.0)):
        return Estimate(name, value, 0.0, n, notes=("no instance changed",))
    return Estimate(name, value, standard_error(change), n, interval_refusal=mean_refusal(change))


def rater_changes(
    before: ClassPredictions, after: ClassPredictions, counts: LabelCounts, n_bins: int
) -> list[Change]:
    """Return losses over raters and disagreement between them, before and after."""
    if int(namespace(counts.totals).max(counts.totals)) < 2:
        return []  # nobody to disagree with
    with warnings.catch_warnings():  # rows with one rater stand in the notes of the decompositions
        warnings.simplefilter("ignore", UserWarning)
        losses = [decompose_loss(one, counts, n_bins=n_bins) for one in (before, after)]
        pairs = [decompose_disagreement(one, counts, n_bins=n_bins) for one in (before, after)]
    keep = counts.totals >= 2
    kept = [check_chunk(one[keep], counts[keep]) for one in (before, after)]
    moved = [
        evidence(kept[1]).means[0] - evidence(kept[0]).means[0]
        for evidence in (loss_evidence, overall_evidence)
    ]
    rows = [namespace(one).sum(one, axis=0) for one in moved]
    return [
        *_loss_changes(losses[0], losses[1], rows[0]),
        *_disagreement_changes(pairs[0], pairs[1], rows[1]),
    ]


def _loss_changes(before: LossDecomposition, after: LossDecomposition, change: Array) -> list[Change]:
    found = []
    for name in ("expected", "epistemic"):  # irreducible loss is the same before and after
        own, moved = getattr(before, name), getattr(after, name)
        difference = _mean_difference(f"{name}_loss", change, moved.value - own.value)
        found.append(Change(f"{name}_loss", own, moved, difference))
    found += [
        _unpaired(f"{name}_loss", getattr(before, name), getattr(after, name))
        for name in ("calibration", "dispersion")
    ]
    return found


def _disagreement_changes(
    before: DisagreementDecomposition, after: DisagreementDecomposition, change: Array
) -> list[Change]:
    value = after.expected.value - before.expected.value
    loss = Change(
        "disagreement_loss",
        before.expected,
        after.expected,
        _mean_difference("disagreement_loss", change, value),
    )
    squared = _unpaired("disagreement_calibration_loss", before.calibration, after.calibration)
    roots = before.calibration_error, after.calibration_error
    error = Change(
        "disagreement_calibration_error",
        *roots,
        _difference("disagreement_calibration_error", *roots, None, _ROOT),
    )
    return [loss, squared, error]


def _unpaired(name: str, before: Estimate, after: Estimate) -> Change:
    refusal = before.interval_refusal or after.interval_refusal
    stderr = None
    if refusal is None and before.stderr is not None and after.stderr is not None:
        stderr = before.stderr + after.stderr
    return Change(name, before, after, _difference(name, before, after, stderr, refusal, (_UNPAIRED,)))


def _difference(
    name: str,
    before: Estimate,
    after: Estimate,
    stderr: float | None,
    refusal: str | None,
    notes: tuple[str, ...] = (),
) -> Estimate:
    value = after.value - before.value
    return Estimate(name, value, stderr, before.n, notes=notes, interval_refusal=refusal)
