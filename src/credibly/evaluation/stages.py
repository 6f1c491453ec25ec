"""The stages of an evaluation: which statistics apply, their values, their groups, their tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import CrediblyError, InputError, InputTypeError
from credibly._arrays.namespace import is_array, like, to_host
from credibly._arrays.philox import Seed
from credibly._arrays.results import Estimate, HypotestResult
from credibly.evaluation.results import PredictionSummary
from credibly.hypotests import calibration_test
from credibly.predictions import ClassPredictions, Counts, Labels, Predictions, RealPredictions, Reals
from credibly.statistics import Statistic, as_statistic, registered

Progress = Callable[[str, int, int], None]
Reasons = list[tuple[str, str]]

MOST_GROUPS = 100
MOST_PAIRED_ROWS = 2500
"""Instances up to which statistics over pairs are computed unasked: beyond, their tests take minutes."""
OMNIBUS = "omnibus"
"""Key of the test of all statistics together."""


def summarise(predictions: Predictions) -> PredictionSummary:
    """Return type and sizes of the predictions."""
    return PredictionSummary(
        kind=type(predictions).__name__,
        n=len(predictions),
        m=predictions.n_members,
        k=predictions.n_classes if isinstance(predictions, ClassPredictions) else None,
        dtype=str(predictions._leading.dtype).removeprefix("torch."),
    )


def class_names(predictions: Predictions, classes: Sequence[str] | None) -> tuple[str, ...]:
    """Return one name per class; the indices where none were given, nothing for real-valued predictions."""
    if not isinstance(predictions, ClassPredictions):
        return ()
    k = predictions.n_classes
    if classes is None:
        return tuple(str(c) for c in range(k))
    if isinstance(classes, str):
        raise InputTypeError("`classes`", "must be a sequence of names", f"got {classes!r}", "Pass a list.")
    names = tuple(str(name) for name in classes)
    if len(names) != k:
        raise InputError(
            "`classes`",
            f"must name every class ({k})",
            f"got {len(names)}",
            "Give the names in the order of the columns.",
        )
    if len(set(names)) < k:
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            "`classes`", "must be distinct", f"{twice!r} stands there twice", "Rename one of them."
        )
    return names


def choose(
    predictions: Predictions,
    labels: Labels,
    statistics: Sequence[str | Statistic] | None,
    n_bins: int,
    tests: bool,
) -> tuple[list[Statistic], Reasons]:
    """Return the statistics that can be computed, and the reasons of those that cannot."""
    if isinstance(statistics, (str, Statistic)):
        raise InputTypeError(
            "`statistics`", "must be a sequence", f"got {statistics!r}", "Pass a list, also for one."
        )
    asked = _of_this_kind(predictions) if statistics is None else list(statistics)
    chosen: list[Statistic] = []
    reasons: Reasons = []
    for one in asked:
        statistic = as_statistic(one)
        if isinstance(one, str) and "n_bins" in statistic.settings():
            statistic = statistic.with_(n_bins=n_bins)
        reason = _why_not(statistic, predictions, labels, tests)
        if reason is None and statistics is None:
            reason = _why_not_unasked(statistic, predictions)
        if reason is None:
            chosen.append(statistic)
        else:
            reasons.append((statistic.name, reason))
    names = [statistic.name for statistic in chosen]
    if OMNIBUS in names:
        raise InputError(
            "`statistics`", f"must leave the name {OMNIBUS!r} free", "got it", "Give `name=` to `statistic`."
        )
    if len(set(names)) < len(names):
        raise InputError("`statistics`", "must be distinct", f"got {names}", "Name each statistic once.")
    return chosen, reasons


def _of_this_kind(predictions: Predictions) -> list[str | Statistic]:
    """Return the names of all statistics of classes, or of all of real values."""
    real = isinstance(predictions, RealPredictions)
    return [name for name, one in registered().items() if ("reals" in one.traits.labels) == real]


def _why_not(statistic: Statistic, predictions: Predictions, labels: Labels, tests: bool) -> str | None:
    if not tests and statistic.traits.reduction in ("pairwise", "smoother"):
        return "it compares pairs of instances, which tests=False leaves out"
    try:
        statistic.require_predictions(predictions)
    except CrediblyError as error:
        return f"it {error.rule}, {error.evidence}"
    kind = "counts" if isinstance(labels, Counts) else "reals" if isinstance(labels, Reals) else "classes"
    if kind not in statistic.traits.labels:
        return f"it takes {' or '.join(sorted(statistic.traits.labels))}, and the labels are {kind}"
    if isinstance(predictions, RealPredictions):
        try:
            statistic.bind(predictions[:1])  # one row tells whether such quantiles have what it needs
        except CrediblyError as error:
            return f"{error.subject} {error.rule}, {error.evidence}"
    return None


def _why_not_unasked(statistic: Statistic, predictions: Predictions) -> str | None:
    """Return why a statistic is computed only where it is named."""
    if statistic.name == "mmd_ce":
        return "with its default label kernel it equals skce; name it with another kernel"
    n = len(predictions)
    if statistic.traits.reduction in ("pairwise", "smoother") and not 2 <= n <= MOST_PAIRED_ROWS:
        return (
            f"it compares all pairs of {n} instances; up to {MOST_PAIRED_ROWS} unasked, beyond if it is named"
        )
    return None


def estimate_all(
    predictions: Predictions, labels: Any, chosen: Sequence[Statistic], tell: Progress
) -> dict[str, Estimate]:
    """Return the value of every statistic."""
    values = {}
    for done, statistic in enumerate(chosen, start=1):
        values[statistic.name] = statistic(predictions, labels)
        tell("estimates", done, len(chosen))
    return values


def estimate_groups(
    predictions: Predictions, labels: Labels, chosen: Sequence[Statistic], groups: Any, tell: Progress
) -> tuple[dict[str, dict[str, Estimate]], Reasons]:
    """Return the statistics that are sums over instances within every group, in order of the names."""
    if groups is None:
        return {}, []
    member = to_host(groups) if is_array(groups) else np.asarray(groups)
    if member.shape != (len(predictions),):
        raise InputError(
            "`groups`",
            f"must have one entry per prediction ({len(predictions)})",
            f"got shape {member.shape}",
            "Check that both come from the same split.",
        )
    names, index = np.unique(member, return_inverse=True)
    if len(names) > MOST_GROUPS:
        return {}, [("estimates per group", f"there are {len(names)} groups, more than {MOST_GROUPS}")]
    cheap = [one for one in chosen if one.traits.reduction == "sum"]
    found = {}
    xp = predictions.xp
    for group, name in enumerate(names):
        rows = like(np.flatnonzero(index == group), predictions._leading)
        observed = dataclasses.replace(labels, values=xp.take(labels.values, rows, axis=1))
        parts = {
            field: xp.take(getattr(predictions, field), rows, axis=0) for field in predictions.row_fields
        }
        part = predictions.replace_rows(**parts)
        found[str(name)] = {one.name: one(part, observed) for one in cheap}
        tell("groups", group + 1, len(names))
    return found, []


def calibration_tests(
    predictions: Predictions,
    labels: Any,
    chosen: Sequence[Statistic],
    n_resamples: int,
    seed: Seed,
    tell: Progress,
) -> dict[str, HypotestResult]:
    """Test every statistic on the same replicates; the omnibus result does not repeat its components."""
    together = calibration_test(
        predictions,
        labels,
        statistic=list(chosen),
        n_resamples=n_resamples,
        rng=seed,
        progress=lambda done, total: tell("tests", done, total),
    )
    results = dict(together.components)
    if len(results) > 1:
        results[OMNIBUS] = dataclasses.replace(together, components={})
    return results
