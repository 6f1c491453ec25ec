"""`credibly report` and `credibly demo`: one self-contained HTML file, and what it says first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credibly._arrays.results import SCHEMA_VERSION
from credibly.cli import options
from credibly.cli.calibrate import METHODS
from credibly.cli.groups import Replication
from credibly.cli.numbers import answers, leave, remarks, run
from credibly.cli.output import Output
from credibly.cli.reading import Reading
from credibly.evaluation import Evaluation, Verdict
from credibly.io import demo as demo_data
from credibly.io import demo_models, require_writable

ReportFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Where to write; default: beside the predictions."),
]
Recalibrate = Annotated[
    list[str] | None,
    typer.Option(
        "--recalibrate", metavar="NAME", help=f"Compare recalibrations; repeat for several: {METHODS}."
    ),
]
SENTENCES = 3
"""What the demo says of its report."""


def _models(incomplete: str) -> list[str]:
    return [name for name in demo_models() if name.startswith(incomplete)]


def report_file(
    reading: Reading,
    *,
    out: ReportFile = None,
    force: options.Force = False,
    statistic: options.Statistics = None,
    recalibrate: Recalibrate = None,
    replication: Replication,
    fail_on: options.FailOn = None,
    output: Output,
) -> None:
    """One self-contained HTML file: verdicts, numbers, figures.

    One FILE, one report; for several files run it once for each.
    """
    target = out or reading.file.with_name(f"{reading.file.stem}-report.html")
    reading.require_elsewhere(target)
    require_writable(target, overwrite=force)
    data = reading.labelled(output)
    words = [*reading.words(), "--out", str(target)]
    evaluation = run(data, "report", words, output, replication, statistic, recalibrate)
    found = answers(evaluation)
    _write(evaluation, found, target, force, output)
    leave(fail_on, (one.word for one in found))


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write.")] = Path(
        "demo-report.html"
    ),
    force: options.Force = False,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Which of the bundled models to evaluate.",
            autocompletion=_models,
        ),
    ] = "ensemble",
    replication: Replication,
    output: Output,
) -> None:
    """The main job on bundled real predictions, no download."""
    require_writable(out, overwrite=force)
    data = demo_data(model)
    output.notes(data.notes)
    words = ["--model", model, "--out", str(out)]
    evaluation = run(data, "demo", words, output, replication)
    _write(evaluation, evaluation.verdicts[:SENTENCES], out, force, output)


def _write(
    evaluation: Evaluation, said: tuple[Verdict, ...], target: Path, force: bool, output: Output
) -> None:
    """Write the report; end with its path and its first sentences."""
    written = evaluation.report(target, overwrite=force)
    if output.as_json:
        output.json(
            {
                "schema_version": SCHEMA_VERSION,
                "type": "ReportWritten",
                "report": str(written),
                "verdicts": [one.to_dict() for one in said],
            }
        )
        return
    output.notes(remarks(evaluation))
    output.line(str(written))
    if not output.quiet:
        output.pairs((one.word, one.sentence) for one in said)
