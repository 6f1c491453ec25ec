"""The statistics of an evaluation: which apply, their values, also within groups, and their tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.errors import CrediblyError, InputError, UnsupportedError
from credibly._arrays.progress import StageProgress
from credibly.evaluation.rows import compares_pairs
from credibly.evaluation.work import NOT_ASKED, Reasons, Stage, Work
from credibly.hypotests import audit, decompose_crps
from credibly.hypotests.calibration.calibration_test import asking_consistency, omnibus_of
from credibly.hypotests.predictive.outcomes import group_sizes
from credibly.hypotests.resampling.choices import require_drawable, require_sides
from credibly.hypotests.resampling.loop import Resampled
from credibly.hypotests.resampling.requests import Asking
from credibly.hypotests.resampling.wild import bound_in_clusters
from credibly.predictions import (
    ClassPredictions,
    Confidence,
    Counts,
    Dataset,
    PredictionIntervals,
    Predictions,
    PredictionSets,
    RealPredictions,
    Reals,
    Rows,
    group_rows,
)
from credibly.predictions.passes import Sums, Task, one_pass
from credibly.results.audit import AuditResult
from credibly.results.decompositions import CrpsDecomposition
from credibly.results.estimates import Estimate
from credibly.results.tests import HypotestResult
from credibly.statistics import BrierDecomposition, Statistic, decompose_brier, registered
from credibly.statistics.over_rows import StatisticsTask, estimates_over, planned
from credibly.statistics.pairwise import PairStatistic, in_single_precision
from credibly.statistics.registry import require_listed, with_bins
from credibly.statistics.slopes import STATED, states_one
from credibly.statistics.subsampled import Subsampled, random_rows

MOST_GROUPS = 100
FEWEST_IN_GROUP = 5
"""Rows below which the estimates of a group are not listed: they tell of single rows."""
MOST_SPLIT = 2000
"""Rows on which the CRPS is split: six isotonic regressions at each of 100 thresholds take 0.1 s."""
_OF_CLASSES = ("classwise_ece", "top_label_ece")
OMNIBUS = "omnibus"
"""Key of the test of all statistics together."""


def choose(
    rows: Rows,
    statistics: Sequence[str | Statistic] | None,
    n_bins: int,
    tests: bool,
    *,
    single_precision: bool = False,
) -> tuple[list[Statistic], Reasons]:
    """Return the statistics that can be computed, and the reasons of those that cannot.

    With `single_precision`, statistics given by name compare pairs in single precision; instances of
    `Statistic` are used as they are.
    """
    require_listed(statistics)
    asked = _of_this_kind(rows.example.predictions) if statistics is None else list(statistics)
    chosen: list[Statistic] = []
    reasons: Reasons = []
    for choice in asked:
        statistic = with_bins(choice, n_bins)
        if isinstance(choice, str) and single_precision and isinstance(statistic, PairStatistic):
            statistic = in_single_precision(statistic)
        reason = _why_not(statistic, rows, tests)
        if reason is None and statistics is None:
            reason = _why_not_unasked(statistic, rows)
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
    """Return the names of the statistics of classes, or of real values, that need not be asked for.

    Sets with a claimed coverage state no probabilities and have none.
    """
    if isinstance(predictions, (PredictionSets, PredictionIntervals)):
        return []
    kind = "reals" if isinstance(predictions, RealPredictions) else "classes"
    unasked = ((name, statistic) for name, statistic in registered().items() if statistic.in_evaluations)
    return [name for name, statistic in unasked if kind in statistic.traits.labels]


def _why_not(statistic: Statistic, rows: Rows, tests: bool) -> str | None:
    predictions, labels = rows.example.predictions, rows.example.batch
    if statistic.traits.reduction == "opaque" and rows.loaded() is None:
        return "it needs all rows at once, and these come in chunks; read them with `load`"
    if not tests and compares_pairs(statistic):
        return "it compares pairs of instances, which tests=False leaves out"
    try:
        statistic.require_predictions(predictions)
    except CrediblyError as error:
        return f"it {error.rule}, {error.evidence}"
    kind = "counts" if isinstance(labels, Counts) else "reals" if isinstance(labels, Reals) else "classes"
    if kind not in statistic.traits.labels:
        return f"it takes {' or '.join(sorted(statistic.traits.labels))}, and the labels are {kind}"
    if isinstance(predictions, RealPredictions) and not compares_pairs(statistic):
        try:
            statistic.bind(predictions[:1])  # one row tells whether such quantiles have what it needs
        except CrediblyError as error:
            return f"{error.subject} {error.rule}, {error.evidence}"
    return None


def _why_not_unasked(statistic: Statistic, rows: Rows) -> str | None:
    """Return why a statistic is computed only where it is named."""
    if statistic.name == "mmd_ce":
        return "with its default label kernel it equals skce; name it with another `label_kernel`"
    if statistic.name in _OF_CLASSES and isinstance(rows.example.predictions, Confidence):
        return "for answers that are right or wrong it equals confidence_ece"
    what = STATED.get(statistic.name)
    if what is not None and states_one(rows.example.predictions, what):
        return f"all instances state the same {what}, and a slope needs two different ones"
    if compares_pairs(statistic) and rows.n < 2:
        return "it compares pairs, and there is one instance"
    return None


def estimate_all(rows: Rows, chosen: Sequence[Statistic], tell: StageProgress) -> dict[str, Estimate]:
    """Return sums over instances in one pass; statistics over pairs see their part, or all of few rows."""
    report = partial(tell, "estimates")
    sums = [statistic for statistic in chosen if statistic.traits.reduction == "sum"]
    estimates = estimates_over(sums, rows, report) if sums else {}
    parts: dict[bytes, Dataset] = {}
    for statistic in chosen:
        if isinstance(statistic, Subsampled):
            key = statistic.chosen.tobytes()
            if key not in parts:
                parts[key] = rows.take(statistic.chosen, report)
            estimates[statistic.name] = statistic.of_part(parts[key], rows.n)
        elif statistic.traits.reduction != "sum":
            whole = rows.loaded(rows.n)
            assert whole is not None
            estimates[statistic.name] = statistic(whole.predictions, whole.labels, clusters=whole.clusters)
    return {statistic.name: estimates[statistic.name] for statistic in chosen}


@dataclasses.dataclass(frozen=True)
class GroupTask(Task):
    """Statistics of the rows of one group, as a part of one pass."""

    task: StatisticsTask
    group: Any

    @classmethod
    def of(cls, statistics: Sequence[Statistic], chunks: Rows, group: Any, size: int) -> GroupTask:
        """Plan the statistics for the rows of a group; which belong together is known of all rows."""
        rows = chunks.of_group(group, size)
        task = StatisticsTask(tuple(planned(statistics, rows)), rows.example, chunks.clusters)
        return cls(task, group)

    def sums(self, chunk: Dataset) -> Sums:
        """Return the sums over the rows of the group; none where there are no such rows."""
        rows = group_rows(self.group, chunk)
        return Sums({}) if rows is None else self.task.sums(rows)

    def finish(self, total: Sums) -> dict[str, Estimate]:
        """Return the estimates of the group."""
        return self.task.finish(total)


def _estimates(rows: Rows, work: Work) -> dict[str, Estimate]:
    if work.results["claims"] is not None:
        return dict(work.results["claims"].estimates)
    return estimate_all(rows, work.statistics, work.tell)


def _has_groups(rows: Rows, work: Work) -> str | None:
    return None if rows.example.groups is not None and work.statistics else NOT_ASKED


def _groups(rows: Rows, work: Work) -> dict[str, dict[str, Estimate]]:
    """Return the statistics that are sums over instances within every group, in order of the names."""
    sizes = group_sizes(rows)
    if len(sizes) > MOST_GROUPS:
        work.leave_out("estimates per group", f"there are {len(sizes)} groups, more than {MOST_GROUPS}")
        return {}
    small = [level for level, size in sizes if size < FEWEST_IN_GROUP]
    if small:
        count = f"{len(small)} of {len(sizes)} groups have" if len(small) > 1 else f"group {small[0]} has"
        work.leave_out("estimates of small groups", f"{count} fewer than {FEWEST_IN_GROUP} rows")
        sizes = tuple((level, size) for level, size in sizes if size >= FEWEST_IN_GROUP)
    cheap = [statistic for statistic in work.statistics if statistic.traits.reduction == "sum"]
    tasks = [GroupTask.of(cheap, rows, level, size) for level, size in sizes]
    every = one_pass(rows, tasks, partial(work.tell, "groups")) if cheap else [{} for _ in tasks]
    return {str(level): estimates for (level, _), estimates in zip(sizes, every, strict=True)}


def _audited(rows: Rows, work: Work) -> str | None:
    if rows.example.groups is None or not work.tests or work.results["claims"] is not None:
        return NOT_ASKED
    if not isinstance(rows.example.predictions, (ClassPredictions, RealPredictions)):
        return "the rows are not predictions"
    return None


def _audit(rows: Rows, work: Work) -> AuditResult:
    """Audit the attributes that were given, or the groups of the rows."""
    return audit(
        *work.single.arguments,
        groups=work.attributes,
        level=work.level,
        **work.drawn,
        progress=partial(work.tell, "audit of groups"),
    )


def _splits(rows: Rows, work: Work) -> str | None:
    """Apply to predictions of classes and of real values."""
    predictions = rows.example.predictions
    return None if isinstance(predictions, (ClassPredictions, RealPredictions)) else NOT_ASKED


def _decomposition(rows: Rows, work: Work) -> BrierDecomposition | CrpsDecomposition:
    parts: BrierDecomposition | CrpsDecomposition
    if isinstance(rows.example.predictions, ClassPredictions):
        parts = decompose_brier(*rows.arguments, n_bins=work.n_bins)
    else:
        part = rows.take(random_rows(rows.n, min(rows.n, MOST_SPLIT), work.seed))
        parts = decompose_crps(part)  # a few quantiles have a CRPS and no distribution function
    work.tell("decomposition", 1, 1)
    return parts


def _tested(rows: Rows, work: Work) -> str | None:
    return None if work.tests and (work.statistics or work.results["claims"] is not None) else NOT_ASKED


def _tests(rows: Rows, work: Work) -> Asking[dict[str, HypotestResult]]:
    """Test every statistic on the same replicates; the omnibus result does not repeat its components."""
    if work.results["claims"] is not None:
        return dict(work.results["claims"].tests)
    testable = [statistic for statistic in work.statistics if _is_drawable(statistic, rows, work)]
    work.testable.extend(testable)
    report = partial(work.tell, "tests")
    drawn: list[Resampled] = []
    together = None
    while testable and together is None:
        try:
            if not drawn:
                drawn = yield from asking_consistency(
                    work.single, testable, work.n_resamples, work.seed, report
                )
            together = omnibus_of(work.single, drawn, work.seed)
        except UnsupportedError as error:
            # only replicates show that one of them is infinite too often; the others can be tested
            refused = [statistic for statistic in testable if statistic.name == error.argument]
            if not refused:
                work.leave_out("calibration tests", error)
                return {}
            work.leave_out(f"test of {refused[0].name}", error, "it")
            drawn = [
                result for statistic, result in zip(testable, drawn, strict=False) if statistic not in refused
            ]
            testable = [statistic for statistic in testable if statistic not in refused]
    if together is None:
        return {}
    components = dict(together.components)
    if len(components) > 1:
        components[OMNIBUS] = dataclasses.replace(together, components={})
    return components


def _is_drawable(statistic: Statistic, rows: Rows, work: Work) -> bool:
    """Tell whether labels can be drawn for a statistic; where not, the reason is left."""
    try:
        require_sides(work.single, [statistic])
        if rows.example.clusters is None:
            require_drawable(rows.example.predictions, [statistic])
        else:  # two rows tell
            few = work.single.example.rows(slice(0, min(2, len(rows.example))))
            whole = statistic.inner if isinstance(statistic, Subsampled) else statistic
            bound, labels = bound_in_clusters(whole.bind, few, (0, 0))
            bound.wild_sums(labels, np.arange(len(few)), len(few))
    except UnsupportedError as error:
        work.leave_out(f"test of {statistic.name}", error, "it")
        return False
    return True


ESTIMATES = Stage("estimates", _estimates)
GROUPS = Stage("groups", _groups, _has_groups)
DECOMPOSITION = Stage("decomposition", _decomposition, _splits, "parts of the CRPS", UnsupportedError)
TESTS = Stage("tests", _tests, _tested)
AUDIT = Stage("audit", _audit, _audited, "audit of groups", UnsupportedError)
