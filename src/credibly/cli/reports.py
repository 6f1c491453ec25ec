"""`credibly report` and `credibly demo`: one self-contained HTML file, and what it says first."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from credibly._arrays.errors import InputError
from credibly.calls.options import BY, DRAWS, FAIL_ON, MARGIN, RECALIBRATE, RELATIVE_MARGIN, STATISTIC
from credibly.cli.comparing import comparison_remarks, require_place, run_comparison
from credibly.cli.numbers import is_shown, leave, remarks, require_gate, run, words_at_gate
from credibly.cli.output import Output
from credibly.cli.reading import Typed, opened
from credibly.evaluation import Evaluation
from credibly.io import demo as demo_data
from credibly.io import is_remote
from credibly.predictions import InMemory
from credibly.results.base import SCHEMA_VERSION

COMPARED = "comparison-report.html"
"""What the report of several files is called, beside the first of them."""

_OF_ONE_FILE = (BY, STATISTIC, RECALIBRATE, MARGIN, RELATIVE_MARGIN, FAIL_ON)
"""Options that a comparison has no use for."""


def report_files(typed: Typed, output: Output) -> None:
    """One self-contained HTML file: verdicts, numbers, figures."""
    files = typed.files
    if len(files) > 1:
        for row in _OF_ONE_FILE:
            if typed.of([row]):
                raise InputError(
                    f"`{row.flag}`",
                    "is for the report of one file",
                    f"got {len(files)} files, which are compared",
                    "Leave it out, or run `credibly report` once for each file.",
                )
        _compared(typed, typed.out or _beside(files[0], COMPARED), output)
        return
    (file,) = files
    require_gate(typed)
    target = typed.out or _beside(file)
    require_place(typed, target, file)
    with opened(file, typed, output) as data:
        evaluation = run(data, typed, output, files, out=str(target))
    _write(evaluation, target, typed.overwrite, output)
    leave(typed.fail_on, words_at_gate(evaluation, typed), shown=is_shown(evaluation))


def demo(typed: Typed, output: Output) -> None:
    """Report on bundled real predictions; no download."""
    out = typed.out
    require_place(typed, out)
    data = demo_data(typed.model)
    output.notes(data.notes)
    evaluation = run(InMemory(data), typed, output, out=str(out))
    _write(evaluation, out, typed.overwrite, output)


def _beside(file: str, name: str | None = None) -> Path:
    """Return where a report goes: beside the predictions, of a pattern or a URL where the command runs."""
    if glob.has_magic(file) or is_remote(file):
        folders = [part for part in Path(file).parent.parts[1:] if not glob.has_magic(part)]
        return Path(name or f"{folders[-1] if folders else 'predictions'}-report.html")
    path = Path("standard-input" if file == "-" else file)
    return path.with_name(name or f"{path.stem}-report.html")


def _compared(typed: Typed, target: Path, output: Output) -> None:
    """Write the comparison of several files; end with its path and its findings."""
    require_place(typed, target, *typed.files)
    comparison = run_comparison(typed, output, typed.of(DRAWS), out=str(target))
    written = comparison.report(target, overwrite=typed.overwrite)
    if output.as_json:
        _print_written(
            output, written, findings=comparison.findings, recommendations=comparison.recommendations
        )
        return
    output.notes(comparison_remarks(comparison))
    output.line(str(written))
    if not output.quiet:
        advice = [(f"if {task}", str(text)) for task, text in comparison.recommendations.items()]
        output.pairs([*advice, *(("found", finding) for finding in comparison.findings)])


def _print_written(output: Output, report: Path, **parts: Any) -> None:
    head = {"schema_version": SCHEMA_VERSION, "type": "ReportWritten", "report": str(report)}
    output.json(head | parts)


def _write(evaluation: Evaluation, target: Path, force: bool, output: Output) -> None:
    """Write the report; end with its path and what was found."""
    written = evaluation.report(target, overwrite=force)
    if output.as_json:
        _print_written(output, written, findings=[finding.to_dict() for finding in evaluation.findings])
        return
    output.notes(remarks(evaluation))
    output.line(str(written))
    if not output.quiet:
        output.pairs((finding.word, finding.text) for finding in evaluation.findings)
