"""The stages of an evaluation: which statistics apply, their values, their groups, their tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from credibly._arrays.errors import CrediblyError, InputError, InputTypeError
from credibly._arrays.philox import Seed
from credibly.evaluation.results import PredictionSummary
from credibly.evaluation.rows import compares_pairs
from credibly.hypotests import calibration_test
from credibly.hypotests.predictive.groups import group_sizes
from credibly.predictions import (
    ClassPredictions,
    Counts,
    Dataset,
    Predictions,
    RealPredictions,
    Reals,
    Rows,
    group_rows,
)
from credibly.predictions.passes import Sums, Task, one_pass
from credibly.results.base import jsonable
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic, Subsampled, as_statistic, registered
from credibly.statistics.over_rows import StatisticsTask, estimates_over

Progress = Callable[[str, int, int], None]
Reasons = list[tuple[str, str]]

MOST_GROUPS = 100
OMNIBUS = "omnibus"
"""Key of the test of all statistics together."""


def silent(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""


def origin(source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a JSON-safe copy: a result holds values, not the caller's objects."""
    return {} if source is None else {str(name): jsonable(value) for name, value in source.items()}


def version() -> str:
    """Return the version of the package."""
    # The version is written once, in the package itself, which is loaded when anything here runs.
    # tach-ignore(the version is a constant of the package)
    from credibly import __version__

    return __version__


def summarise(rows: Rows) -> PredictionSummary:
    """Return type and sizes of the predictions."""
    predictions = rows.sample.predictions
    return PredictionSummary(
        kind=type(predictions).__name__,
        n=rows.n,
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
    rows: Rows,
    statistics: Sequence[str | Statistic] | None,
    n_bins: int,
    tests: bool,
) -> tuple[list[Statistic], Reasons]:
    """Return the statistics that can be computed, and the reasons of those that cannot."""
    if isinstance(statistics, (str, Statistic)):
        raise InputTypeError(
            "`statistics`", "must be a sequence", f"got {statistics!r}", "Pass a list, also for one."
        )
    asked = _of_this_kind(rows.sample.predictions) if statistics is None else list(statistics)
    chosen: list[Statistic] = []
    reasons: Reasons = []
    for one in asked:
        statistic = as_statistic(one)
        if isinstance(one, str) and "n_bins" in statistic.settings():
            statistic = statistic.with_(n_bins=n_bins)
        reason = _why_not(statistic, rows, tests)
        if reason is None and statistics is None:
            reason = _why_not_unasked(statistic, rows.n)
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


def _why_not(statistic: Statistic, rows: Rows, tests: bool) -> str | None:
    predictions, labels = rows.sample.predictions, rows.sample.batch
    if statistic.traits.reduction == "opaque" and rows.loaded() is None:
        return "it is a function of all rows at once, and these come in chunks; `load` them"
    if not tests and compares_pairs(statistic):
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


def _why_not_unasked(statistic: Statistic, n: int) -> str | None:
    """Return why a statistic is computed only where it is named."""
    if statistic.name == "mmd_ce":
        return "with its default label kernel it equals skce; name it with another kernel"
    if compares_pairs(statistic) and n < 2:
        return "it compares pairs, and there is one instance"
    return None


def estimate_all(rows: Rows, chosen: Sequence[Statistic], tell: Progress) -> dict[str, Estimate]:
    """Return sums over instances in one pass; statistics over pairs see their part, or all of few rows."""
    report = partial(tell, "estimates")
    sums = [one for one in chosen if one.traits.reduction == "sum"]
    found = estimates_over(sums, rows, report) if sums else {}
    parts: dict[bytes, Dataset] = {}
    for one in chosen:
        if isinstance(one, Subsampled):
            key = one.chosen.tobytes()
            if key not in parts:
                parts[key] = rows.take(one.chosen, report)
            found[one.name] = one.of_part(parts[key].predictions, parts[key].batch, rows.n)
        elif one.traits.reduction != "sum":
            whole = rows.loaded(rows.n)
            assert whole is not None
            found[one.name] = one(whole.predictions, whole.labels)
    return {one.name: found[one.name] for one in chosen}


def estimate_groups(
    rows: Rows, chosen: Sequence[Statistic], tell: Progress
) -> tuple[dict[str, dict[str, Estimate]], Reasons]:
    """Return the statistics that are sums over instances within every group, in order of the names."""
    if rows.sample.groups is None:
        return {}, []
    sizes = group_sizes(rows)
    if len(sizes) > MOST_GROUPS:
        return {}, [("estimates per group", f"there are {len(sizes)} groups, more than {MOST_GROUPS}")]
    cheap = [one for one in chosen if one.traits.reduction == "sum"]
    tasks = [GroupTask.of(cheap, rows, level, size) for level, size in sizes]
    every = one_pass(rows, tasks, partial(tell, "groups")) if cheap else [{} for _ in tasks]
    return {str(level): own for (level, _), own in zip(sizes, every, strict=True)}, []


@dataclasses.dataclass(frozen=True)
class GroupTask(Task):
    """Statistics of the rows of one group, as a part of one pass."""

    task: StatisticsTask
    group: Any

    @classmethod
    def of(cls, statistics: Sequence[Statistic], chunks: Rows, group: Any, size: int) -> GroupTask:
        """Plan the statistics for the rows of a group."""
        return cls(StatisticsTask.of(statistics, chunks.of_group(group, size)), group)

    def sums(self, chunk: Dataset) -> Sums:
        """Return the sums over the rows of the group; none where there are no such rows."""
        own = group_rows(self.group, chunk)
        return Sums({}) if own is None else self.task.sums(own)

    def finish(self, total: Sums) -> dict[str, Estimate]:
        """Return the estimates of the group."""
        return self.task.finish(total)


def calibration_tests(
    rows: Rows, chosen: Sequence[Statistic], n_resamples: int, seed: Seed, tell: Progress
) -> dict[str, HypotestResult]:
    """Test every statistic on the same replicates; the omnibus result does not repeat its components."""
    together = calibration_test(
        *rows.arguments,
        statistic=list(chosen),
        n_resamples=n_resamples,
        rng=seed,
        progress=lambda done, total: tell("tests", done, total),
    )
    results = dict(together.components)
    if len(results) > 1:
        results[OMNIBUS] = dataclasses.replace(together, components={})
    return results
