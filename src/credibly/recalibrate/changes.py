"""Statistics before and after a recalibration: one instance, two predictions, so differences are paired."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from credibly._arrays.errors import CrediblyError
from credibly._arrays.namespace import Array, HostArray, namespace, to_host
from credibly._arrays.notes import without_warnings
from credibly._arrays.standard_errors import mean_error
from credibly.predictions import Dataset, LabelCounts, Predictions, RealPredictions, as_labels
from credibly.raters import decompose_disagreement, decompose_loss
from credibly.raters.disagreement import overall_evidence
from credibly.raters.loss import loss_evidence
from credibly.results.estimates import Estimate
from credibly.results.recalibration import Change
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.linear import Linear

_UNPAIRED = (
    "the interval adds the standard errors before and after instead of using the pairing, so it is never "
    "too short"
)

_ROOT = "it is a difference of square roots; look at the squared errors, whose difference has an interval"


def statistic_changes(
    before: Predictions,
    after: Predictions,
    labels: Any,
    chosen: list[Statistic],
    tests_before: Mapping[str, HypotestResult],
    tests_after: Mapping[str, HypotestResult],
    codes: HostArray | None = None,
) -> list[Change]:
    """Return the statistics that take these labels, before and after."""
    counted = isinstance(labels, LabelCounts)
    changes = []
    for statistic in chosen:
        if counted and "counts" not in statistic.traits.labels:
            continue
        if isinstance(after, RealPredictions) and not says_enough(statistic, after):
            continue  # a Gaussian has become quantiles, which have no density
        old, new = (statistic(predictions, labels, clusters=codes) for predictions in (before, after))
        difference = _paired(statistic, before, after, labels, new.value - old.value, codes)
        if difference is None:
            reason = old.interval_refusal or new.interval_refusal or "it has no standard error here"
            difference = _difference(statistic.name, old, new, refusal=reason)
        name = statistic.name
        changes.append(Change(name, old, new, difference, tests_before.get(name), tests_after.get(name)))
    return changes


def _paired(
    statistic: Statistic,
    before: Predictions,
    after: Predictions,
    labels: Any,
    value: float,
    codes: HostArray | None,
) -> Estimate | None:
    """Return the mean difference of contributions where the statistic is a mean over instances."""
    first, second = statistic.bind(before), statistic.bind(after)
    if not (
        isinstance(first, Linear)
        and isinstance(second, Linear)
        and first.terms.is_mean
        and math.isfinite(value)
    ):
        return None
    batch = as_labels(before, labels)
    terms = first.contributions(batch)[0, :]
    xp = namespace(terms)
    size = max(statistic.term_size, float(to_host(xp.max(xp.abs(terms)))))
    return _mean_difference(statistic.name, second.contributions(batch)[0, :] - terms, value, codes, size)


def _mean_difference(
    name: str, change: Array, value: float, codes: HostArray | None, size: float = 1.0
) -> Estimate:
    n = int(change.shape[0])
    xp = namespace(change)
    if not bool(xp.any(change != 0.0)):
        return Estimate(name, value, 0.0, n, notes=("no instance changed",))
    return Estimate(name, value, n=n, **mean_error(change, codes, size))


def says_enough(statistic: Statistic, predictions: RealPredictions) -> bool:
    """Tell whether such predictions say what the statistic needs: quantiles have no density."""
    try:
        statistic.bind(predictions[:1])
    except CrediblyError:
        return False
    return True


def rater_changes(
    before: Predictions,
    after: Predictions,
    counts: LabelCounts,
    n_bins: int,
    codes: HostArray | None = None,
) -> list[Change]:
    """Return losses over raters and disagreement between them, before and after."""
    if int(namespace(counts.totals).max(counts.totals)) < 2:
        return []  # nobody to disagree with
    both = (before, after)
    with without_warnings():  # rows with one rater stand in the notes of the decompositions
        settings: dict[str, Any] = {"n_bins": n_bins, "clusters": codes}
        losses = [decompose_loss(predictions, counts, **settings) for predictions in both]
        pairs = [decompose_disagreement(predictions, counts, **settings) for predictions in both]
    keep = counts.totals >= 2
    kept = [Dataset(predictions[keep], counts[keep]) for predictions in both]
    of_loss, of_pairs = (
        namespace(keep).sum(evidence(kept[1]).means[0] - evidence(kept[0]).means[0], axis=0)
        for evidence in (loss_evidence, overall_evidence)
    )
    kept_codes = None if codes is None else codes[to_host(keep)]

    def change(name: str, parts: list[Any], part: str, rows: Array | None) -> Change:
        value, moved = (getattr(decomposition, part) for decomposition in parts)
        if rows is None:
            return Change(name, value, moved, _unpaired(name, value, moved))
        return Change(name, value, moved, _mean_difference(name, rows, moved.value - value.value, kept_codes))

    root, name = (pairs[0].calibration_error, pairs[1].calibration_error), "disagreement_calibration_error"
    return [
        # irreducible loss is the same before and after
        change("expected_loss", losses, "expected", of_loss),
        change("epistemic_loss", losses, "epistemic", of_loss),
        change("calibration_loss", losses, "calibration", None),
        change("dispersion_loss", losses, "dispersion", None),
        change("disagreement_loss", pairs, "expected", of_pairs),
        change("disagreement_calibration_loss", pairs, "calibration", None),
        Change(name, *root, _difference(name, *root, refusal=_ROOT)),
    ]


def _unpaired(name: str, before: Estimate, after: Estimate) -> Estimate:
    refusal = before.interval_refusal or after.interval_refusal
    stderr = None
    if refusal is None and before.stderr is not None and after.stderr is not None:
        stderr = before.stderr + after.stderr
    return _difference(name, before, after, stderr, refusal, (_UNPAIRED,))


def _difference(
    name: str,
    before: Estimate,
    after: Estimate,
    stderr: float | None = None,
    refusal: str | None = None,
    notes: tuple[str, ...] = (),
) -> Estimate:
    degrees = [side.degrees_of_freedom for side in (before, after) if side.degrees_of_freedom is not None]
    return Estimate(
        name,
        after.value - before.value,
        stderr,
        before.n,
        notes=notes,
        interval_refusal=refusal,
        n_clusters=before.n_clusters,
        degrees_of_freedom=min(degrees, default=None),
    )
