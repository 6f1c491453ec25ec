"""`credibly evaluate`: the numbers with their intervals and verdicts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from click.exceptions import Exit

from credibly._arrays.errors import InputError
from credibly._arrays.notes import unsaid
from credibly.calls.options import DEFAULT_MARGIN, DRAWS, RECALIBRATE, STATISTIC
from credibly.cli import codes
from credibly.cli.output import Cell, Output, TextTable, progress, row_of, with_flags
from credibly.cli.reading import Typed, opened
from credibly.evaluation import Evaluation, Headline, NumberRow, evaluate, number_rows
from credibly.evaluation.survey import MISREAD
from credibly.evaluation.words import crps_in_words
from credibly.hypotests.calibration.certificate import stated_events
from credibly.predictions import Rows
from credibly.results.decompositions import CrpsDecomposition
from credibly.results.tests import HypotestResult
from credibly.statistics import registered

LEVEL = 0.05
CONFLICT, NOT_SHOWN = "conflict", "not-shown"
_OF_ONE_TEST = ("headline", "coverage", "where", "stated")
"""What the findings are about that rest on the test of the headline."""

ESTIMATE_COLUMNS = (
    "group",
    "statistic",
    "value",
    "stderr",
    "interval",
    "n",
    "acceptance",
    "pvalue",
    "adjusted_pvalue",
    "verdict",
)
SPLIT = ("brier", "crps")
"""Losses that are split into parts."""


def evaluate_file(typed: Typed, output: Output) -> None:
    """Findings, and all numbers with intervals."""
    require_gate(typed)
    with opened(typed.file, typed, output) as data:
        evaluation = run(data, typed, output, [typed.file])
    if output.as_json:
        output.json(evaluation.to_dict())
    else:
        table = _estimates(evaluation)
        show = ("statistic", "value", "interval")
        if table.rows or not output.terminal:  # a program gets its columns, a person no empty table
            output.table(table, shown=("group", *show) if evaluation.groups else show)
        if output.terminal:  # a program finds them in the table's last column
            output.pairs((finding.word, finding.text) for finding in evaluation.findings)
        if not table.rows:
            output.instead(_why_nothing(evaluation))
        parts = evaluation.decomposition
        n = evaluation.predictions.n
        words = [crps_in_words(parts, n)] if isinstance(parts, CrpsDecomposition) else []
        output.notes([*([] if output.terminal else _misread(evaluation)), *words, *remarks(evaluation)])
    leave(typed.fail_on, words_at_gate(evaluation, typed), shown=is_shown(evaluation))


def run(data: Rows, typed: Typed, output: Output, files: Sequence[str] = (), **settled: Any) -> Evaluation:
    """Evaluate a data set, with progress, and record the call."""
    margin = margin_of(data, typed)
    source = {
        "path": data.example.source,
        "digest": data.example.digest,
        "dropped": data.example.dropped,
        "notes": data.example.notes,
        "call": typed.call(files, margin=margin, **settled).to_dict(),
    }
    with progress(quiet=output.quiet) as tell:
        return evaluate(
            data,
            **typed.of((STATISTIC, *DRAWS, RECALIBRATE)),
            level=LEVEL,
            margin=margin,
            progress=tell,
            source=source,
        )


def remarks(evaluation: Evaluation) -> Iterator[str]:
    """Yield what is worth knowing beside the numbers and was not said when the file was read."""
    sentences = (*evaluation.warnings, *evaluation.notes)
    yield from map(with_flags, unsaid(sentences, evaluation.source["notes"]))
    left_out: dict[str, list[str]] = {}
    for what, reason in evaluation.not_run:
        left_out.setdefault(reason, []).append(what)
    for reason, names in left_out.items():
        each = "each " if len(names) > 1 else ""
        yield f"not run: {', '.join(names)}, {each}because {with_flags(reason)}"


def _misread(evaluation: Evaluation) -> Iterator[str]:
    """Yield the headline where columns, labels or rows are mixed up: no number means anything before that."""
    diagnosis, headline = evaluation.diagnosis, evaluation.headline
    if (
        diagnosis is not None
        and headline is not None
        and headline.word == "conflict"
        and diagnosis.fault in MISREAD
    ):
        yield headline.sentence


def test_cells(result: HypotestResult[Any], columns: Iterable[str], **beside: Cell) -> tuple[Cell, ...]:
    """Return the row of a test: what columns are called after, of the test or else of its details."""
    named: dict[str, Cell] = {
        "statistic": result.statistic_name,
        "value": result.statistic,
        "acceptance": result.acceptance_region,
        "verdict": result.verdict(LEVEL),
    }
    return row_of(columns, result, result.details, **(named | beside))


def require_gate(typed: Typed) -> None:
    """Raise unless a gate that asks what was shown has a margin, and that margin one meaning."""
    margin, relative = typed.margin, typed.values.get("relative_margin")
    if margin is not None and relative is not None:
        raise InputError(
            "`--margin` and `--relative-margin`", "are alternatives", "got both", "Leave one of them out."
        )
    if typed.fail_on == NOT_SHOWN and margin is None and relative is None:
        raise InputError(
            "`--fail-on not-shown`", "needs a margin", "got none", "Add `--margin 0.02` for two points."
        )


def margin_of(data: Rows, typed: Typed) -> float:
    """Return the margin in points; a relative one is a share of what is stated of the event on average."""
    relative = typed.values.get("relative_margin")
    if relative is None:
        return DEFAULT_MARGIN if typed.margin is None else float(typed.margin)
    if not 0.0 < relative < 1.0:
        raise InputError(
            "`--relative-margin`",
            "must be above 0 and below 1",
            f"got {relative:g}",
            "Write 0.2 for a fifth of the stated frequency.",
        )
    return float(relative * stated_events(data))


def words_at_gate(evaluation: Evaluation, typed: Typed) -> list[str]:
    """Return the verdicts that a gate looks at: without those that the typed margin allows.

    A fault of shares that is not shown to be beyond the margin is no conflict; for `not-shown` it is one
    unless it is shown to be within. So are the parts of real values that rest on the same test.
    """
    asked = typed.margin is not None or typed.values.get("relative_margin") is not None
    allowed = asked and evaluation.headline is not None and _is_allowed(evaluation.headline, typed.fail_on)
    left_out = _OF_ONE_TEST if allowed else ()
    return [finding.word for finding in evaluation.findings if finding.about not in left_out]


def _is_allowed(headline: Headline, fail_on: str | None) -> bool:
    """Tell whether the margin allows the fault of a headline."""
    facts = headline.finding.facts
    if facts.get("measure") not in ("confidence", "class", "coverage") or not facts.get("is_clear"):
        return False
    nearest, farthest = sorted(map(abs, facts["interval"]))
    return bool((farthest if fail_on == NOT_SHOWN else nearest) < headline.margin)


def is_shown(evaluation: Evaluation) -> bool:
    """Tell whether the data show that the average gap is within the margin of an evaluation."""
    headline = evaluation.headline
    return headline is not None and headline.bound is not None and headline.bound <= headline.margin


def leave(fail_on: str | None, words: Iterable[str], *, shown: bool = True) -> None:
    """Exit with 1 where `--fail-on` asks for that: a conflict, or a margin that was not shown to hold."""
    conflict = CONFLICT in set(words)
    if (fail_on is not None and conflict) or (fail_on == NOT_SHOWN and not shown):
        raise Exit(codes.CONFLICT)


def _estimates(evaluation: Evaluation) -> TextTable:
    """One row per statistic, parts of Brier score or CRPS below it, then groups, score, set and raters."""
    numbers = number_rows(evaluation)
    below = _parts_of_loss(numbers)
    rows = []
    for number in numbers:
        part, _, group = number.part.partition(".")
        if part in ("estimates", "groups"):
            rows.append(_number(number, group or None))
            if part == "estimates" and number.statistic in SPLIT:
                rows += [_number(each, None) for each in below]
    rows += [_number(number, None) for number in numbers if number.part == "score.all"]
    others = {
        f"{number.part}.{number.statistic}": number
        for number in numbers
        if number.part in ("tests", "credal", "validity")
    }
    others.pop("tests.omnibus", None)
    names = {"credal.validity": "witness", "validity.test": "validity_test"}
    for place, number in others.items():
        titled = number.statistic if evaluation.claims is not None else f"{number.statistic}, one rater"
        name = names.get(place, titled)
        rows.append(_number(dataclasses.replace(number, statistic=name), None))
    return TextTable(ESTIMATE_COLUMNS, rows)


def _parts_of_loss(numbers: Iterable[NumberRow]) -> list[NumberRow]:
    """Return the parts of a loss; the loss comes again only where it is that of some random rows."""
    sizes = {number.statistic: number.n for number in numbers if number.part == "estimates"}
    rows = []
    for number in numbers:
        if number.part != "decomposition" or number.statistic == "skill":
            continue
        if number.statistic not in SPLIT:
            rows.append(number)
        elif number.n < sizes.get(number.statistic, 0):
            rows.append(dataclasses.replace(number, statistic=f"{number.statistic} of {number.n} rows"))
    return rows


def _number(number: NumberRow, group: str | None) -> tuple[Cell, ...]:
    return row_of(ESTIMATE_COLUMNS, number, group=group, acceptance=number.acceptance_region)


def _why_nothing(evaluation: Evaluation) -> str:
    """Say what kept every statistic from being computed."""
    reasons = dict.fromkeys(with_flags(reason) for name, reason in evaluation.not_run if name in registered())
    return f"nothing was computed: every statistic was left out, because {', or because '.join(reasons)}."
