"""`credibly test`: of a prediction, a set, or with several labels per instance the truth; `credibly plan`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from credibly._arrays.errors import InputError
from credibly._arrays.notes import replicates_note
from credibly.calls.options import AIMS, SETS
from credibly.cli.numbers import LEVEL, leave, margin_of, require_gate, test_cells
from credibly.cli.output import Output, TextTable, progress, stage, with_flags
from credibly.cli.reading import Typed, in_memory, opened, read
from credibly.hypotests import (
    calibration_test,
    credal_test,
    plan_labels,
    validity_test,
    weights_test,
    witness_test,
)
from credibly.hypotests.calibration.calibration_test import CLASS_DEFAULT, REAL_OMNIBUS
from credibly.hypotests.credal.credal_test import NO_DRAWS
from credibly.hypotests.credal.weights_test import SET_STATISTIC
from credibly.hypotests.resampling.pvalues import fewest_resamples
from credibly.predictions import ClassPredictions, Counts, Point, Rows
from credibly.results.certificates import EquivalenceDetails
from credibly.results.credal import CredalDetails, ValidityDetails, WeightsDetails
from credibly.results.tests import HypotestResult
from credibly.results.witness import WitnessDetails
from credibly.statistics import Statistic
from credibly.statistics.registry import with_bins

RESAMPLES = 999
COLUMNS = (
    "statistic",
    "value",
    "acceptance",
    "tail",
    "pvalue",
    "pvalue_interval",
    "adjusted_pvalue",
    "effect_size",
    "n",
    "m",
    "n_resamples",
    "verdict",
)
BOUND_COLUMNS = ("statistic", "value", "upper", "margin", "pvalue", "n", "m", "verdict")
_MOST_LISTED = 20
_IN_WORDS = (WitnessDetails, WeightsDetails, EquivalenceDetails)
_OF_WEIGHTS = ("weights", "learner", "refit", "split", "cv")
_IN_MEMORY = "needs all rows in memory"
_SMALLER = "Test a file that fits into memory, or use `--weights mean` to test the mean of the set."


def test_file(typed: Typed, output: Output) -> None:
    """Test calibration: could chance explain the gap?"""
    require_gate(typed)
    with opened(typed.file, typed, output) as data:
        if typed.margin is None and typed.relative_margin is None:
            result = _tested(data, typed, output)
        else:
            _refuse(_of_sets(typed), "`--margin` tests the error of a single prediction")
            limit = margin_of(data, typed)
            result = calibration_test(data, statistics=_statistics(typed), margin=limit, rng=typed.rng)
    results, answers = _rows_and_answers(result)
    if output.as_json:
        output.json(result.to_dict())
    else:
        members = data.example.predictions.n_members
        details = result.details
        bounded = isinstance(details, EquivalenceDetails)
        output.table(_bounds(results, members) if bounded else _table(results, answers, members))
        sentences = [result.sentence(LEVEL, data.example.classes)] if isinstance(details, _IN_WORDS) else []
        if isinstance(details, CredalDetails) and details.validity is not None:
            sentences = [f"hypothesis: {details.validity.hypothesis}", *sentences]
        notes = [
            f"hypothesis: {result.hypothesis}",
            *sentences,
            *map(with_flags, result.notes),
            *_failing(result),
        ]
        output.notes(list(dict.fromkeys(notes)))
    words = [answer.verdict(LEVEL) for answer in answers]
    leave(typed.fail_on, words, shown=set(words) == {"no conflict found"})


def plan_file(typed: Typed, output: Output) -> None:
    """Say how many labels are needed, from predictions alone."""
    data = read(typed.file, typed, output)
    plan = plan_labels(data, level=1 - LEVEL, **typed.of(AIMS))
    if output.as_json:
        output.json(plan.to_dict())
        return
    rows = [(name, getattr(plan, name), instances) for name, instances in plan.aims.items()]
    output.table(TextTable(("aim", "size", "instances"), rows))
    output.notes([plan.sentence(), *map(with_flags, plan.notes)])


def _of_sets(typed: Typed) -> dict[str, Any]:
    """Return the options about sets that were typed."""
    values = {row.name: typed.values[row.name] for row in SETS}
    return {name: value for name, value in values.items() if value is not None}


def _enough(n_resamples: int | None, n_statistics: int, output: Output) -> int | None:
    """Return as many replicates as can show a conflict among so many statistics, and note it."""
    needed = fewest_resamples(LEVEL / n_statistics)
    if n_resamples is None or not 0 < n_resamples < needed:
        return n_resamples
    output.notes([replicates_note(needed, n_resamples)])
    return needed


def _rows_and_answers(result: HypotestResult) -> tuple[list[HypotestResult], list[HypotestResult]]:
    """Return the rows of the table, and those that answer a question.

    Only answers have a verdict, which is printed and decides the exit code: one list for both. A set has two:
    that of the witness (does it hold the truth?), then that of both together (is some combination
    calibrated?). The weights alone are evidence for the second.
    """
    rows, details = [*result.components.values(), result], result.details
    if isinstance(details, EquivalenceDetails):  # which is the worst of its parts
        rows = list(result.components.values()) or [result]
    if not isinstance(details, CredalDetails) or details.validity is None or details.calibration is None:
        return rows, rows
    together = dataclasses.replace(result, statistic_name="both", components={})
    parts = details.calibration.components.values()
    return [details.validity, *parts, details.calibration, together], [details.validity, together]


def _tested(data: Rows, typed: Typed, output: Output) -> HypotestResult:
    options, names, n_resamples = _of_sets(typed), typed.statistics, typed.n_resamples
    with progress(quiet=output.quiet) as tell:
        drawn: dict[str, Any] = {"rng": typed.rng, "progress": stage(tell, "tests")}
        some = data.example.predictions
        raters = isinstance(data.example.batch, Counts) and not names and not options
        if raters and data.example.clusters is None:  # of clusters, one rater per instance is tested
            whole = in_memory(data, "the test of raters' labels", _IN_MEMORY, _SMALLER)
            drawn["n_resamples"] = _resamples(n_resamples)
            return validity_test(whole.predictions, whole.labels, **drawn)
        if isinstance(some, Point) or not isinstance(some, ClassPredictions):
            _refuse(options, "the predictions are not sets")
            default = CLASS_DEFAULT if isinstance(some, Point) else None
            n_tested = len(names or ([default] if default else REAL_OMNIBUS))
            drawn["n_resamples"] = _resamples(_enough(n_resamples, n_tested, output))
            return calibration_test(*data.arguments, statistics=_statistics(typed, default), **drawn)
        return _set_test(data, options, typed, drawn)


def _resamples(typed: int | None) -> int:
    return RESAMPLES if typed is None else typed


def _set_test(data: Rows, options: dict[str, Any], typed: Typed, drawn: dict[str, Any]) -> HypotestResult:
    method = options.get("method", "weights" if any(name in options for name in _OF_WEIGHTS) else "both")
    settings = {name: value for name, value in options.items() if name != "method"}
    n_resamples = typed.n_resamples
    mean_alone = options == {"weights": "mean"}
    if mean_alone and (data.loaded() is None or data.example.clusters is not None):
        drawn |= {"statistics": _statistics(typed, SET_STATISTIC), "n_resamples": _resamples(n_resamples)}
        return calibration_test(data, **drawn)
    whole = in_memory(data, "the test of a set", _IN_MEMORY, _SMALLER)
    sets: tuple[Any, Any] = whole.predictions, whole.labels
    shared: dict[str, Any] = {"clusters": whole.clusters, **drawn}
    if method == "witness":
        seen = whole.features if settings.pop("given", None) == "features" else None
        _refuse([*settings, *(["statistic"] if typed.statistics else [])], "a witness has no weights to test")
        alone = witness_test(*sets, features=seen, **shared)
        return alone if n_resamples is None else dataclasses.replace(alone, notes=(*alone.notes, NO_DRAWS))
    _refuse(settings if method == "both" else set(settings) - set(_OF_WEIGHTS), f"the method is {method}")
    shared |= {"statistics": _statistics(typed), "n_resamples": n_resamples}
    features = whole.features if settings.get("weights", "learned") == "learned" else None
    if method == "weights":
        return weights_test(sets[0], sets[1], features=features, **shared, **settings)
    return credal_test(*sets, features=features, **shared)


def _statistics(typed: Typed, default: str | None = None) -> Statistic | list[Statistic] | None:
    """Return one statistic, several, or None if none was named; `--n-bins` reaches those that have bins."""
    names = typed.statistics or ([default] if default else [])
    chosen = [with_bins(name, typed.n_bins) for name in names]
    return chosen if len(chosen) > 1 else next(iter(chosen), None)


def _refuse(names: Iterable[str], why: str) -> None:
    """Raise if an option was given that has no meaning here."""
    for name in names:
        raise InputError(f"`--{name}`", "has no meaning here", why, "Leave it out.")


def _failing(result: HypotestResult) -> list[str]:
    if not isinstance(result.details, ValidityDetails):
        return []
    rows = result.details.failing(LEVEL)
    if not len(rows):
        return ["no single instance stands out after adjustment for all instances"]
    few = ", ".join(map(str, rows[:_MOST_LISTED]))
    more = f" and {len(rows) - _MOST_LISTED} more" if len(rows) > _MOST_LISTED else ""
    return [f"instances that stand out after adjustment, worst first: {few}{more}"]


def _bounds(results: Iterable[HypotestResult], members: int) -> TextTable:
    """One row per error that was compared with a margin."""
    rows = [
        test_cells(result, BOUND_COLUMNS, m=members, upper=result.details.upper(LEVEL))
        for result in results
        if isinstance(result.details, EquivalenceDetails)
    ]
    return TextTable(BOUND_COLUMNS, rows)


def _table(results: Iterable[HypotestResult], answers: list[HypotestResult], members: int) -> TextTable:
    """One row per test; everything that belongs to a verdict stands beside it."""
    answering = {id(answer) for answer in answers}
    no_verdict = {"verdict": None}
    rows = [
        test_cells(result, COLUMNS, m=members, **({} if id(result) in answering else no_verdict))
        for result in results
    ]
    return TextTable(COLUMNS, rows)
