"""`credibly report` and `credibly demo`: one self-contained HTML file, and what it says first."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Annotated

import typer

from credibly._arrays.errors import InputError
from credibly.cli import options
from credibly.cli.calibrate import METHODS
from credibly.cli.comparing import comparison_remarks, require_place, run_comparison
from credibly.cli.numbers import is_shown, leave, margin_of, remarks, require_gate, run
from credibly.cli.output import Output
from credibly.cli.reading import Reading, Replication, Streaming
from credibly.evaluation import Evaluation
from credibly.io import demo as demo_data
from credibly.io import demo_models, is_remote, is_report, require_writable
from credibly.predictions import InMemory
from credibly.results.base import SCHEMA_VERSION

COMPARED = "comparison-report.html"
"""What the report of several files is called, beside the first of them."""

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help=f"Predictions: {options.FORMATS}; a pattern in quotes, or a URL. Several: a comparison.",
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Report file. [default: next to the predictions]"),
]
Recalibrate = Annotated[
    list[str] | None,
    typer.Option(
        "--recalibrate", metavar="NAME", help=f"Recalibration to try; repeat for several: {METHODS}."
    ),
]
"""What the demo says of its report."""


def _models(incomplete: str) -> list[str]:
    return [name for name in demo_models() if name.startswith(incomplete)]


def report_files(
    file: Files,
    *,
    labels: options.Labels = None,
    kind: options.Kind = None,
    member_axis: options.MemberAxis = None,
    drop_invalid: options.DropInvalid = False,
    normalise: options.Normalise = False,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    ignore_label: options.IgnoreLabel = None,
    n_raters: options.NRaters = None,
    id_column: options.IdColumn = None,
    classes: options.Classes = None,
    levels: options.Levels = None,
    member_weights: options.MemberWeights = None,
    claimed: options.Claimed = None,
    clusters: options.Clusters = None,
    blocks: options.Blocks = None,
    by: options.By = None,
    stream: options.Stream = False,
    chunk_rows: options.ChunkRows = None,
    skip_bad_shards: options.SkipBadShards = False,
    engine: options.EngineName = "local",
    scheduler: options.Scheduler = None,
    out: ReportFile = None,
    force: options.Force = False,
    statistic: options.Statistics = None,
    recalibrate: Recalibrate = None,
    n_resamples: options.Resamples = 999,
    n_bins: options.Bins = 15,
    margin: options.Margin = None,
    relative_margin: options.RelativeMargin = None,
    seed: options.Seed = 0,
    fail_on: options.FailOn = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """One self-contained HTML file: verdicts, numbers, figures.

    For several files with predictions for the same instances, writes their comparison, as `credibly compare
    --out` does.
    """
    typed = locals()
    readings = [Reading.typed(typed, file=one) for one in file]
    streaming = Streaming(stream, chunk_rows, skip_bad_shards, engine, scheduler)
    replication = Replication(n_resamples, n_bins, seed)
    output = Output(as_json, quiet)
    if len(file) > 1:
        only_of_one = {
            "by": by,
            "statistic": statistic,
            "recalibrate": recalibrate,
            "margin": margin,
            "relative-margin": relative_margin,
            "fail-on": fail_on,
        }
        for name, given in only_of_one.items():
            if given:
                raise InputError(
                    f"`--{name}`",
                    "is for the report of one file",
                    f"got {len(file)} files, which are compared",
                    "Leave it out, or run `credibly report` once for each file.",
                )
        target = out or _beside(file[0], COMPARED)
        _compared(readings, streaming, target, force, replication, output)
        return
    (reading,) = readings
    require_gate(fail_on, margin, relative_margin)
    target = out or _beside(reading.file)
    reading.require_elsewhere(target)
    require_writable(target, overwrite=force or is_report(target))
    words = [*reading.words(), *streaming.words(), "--out", str(target)]
    with streaming.opened(reading, output) as data:
        limit = margin_of(data, margin, relative_margin)
        evaluation = run(data, "report", words, output, replication, statistic, recalibrate, margin=limit)
    _write(evaluation, target, force, output)
    leave(fail_on, (one.word for one in evaluation.findings), shown=is_shown(evaluation))


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
    ] = "forest",
    n_resamples: options.Resamples = 999,
    n_bins: options.Bins = 15,
    margin: options.Margin = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Report on bundled real predictions; no download."""
    replication = Replication(n_resamples, n_bins, seed)
    output = Output(as_json, quiet)
    require_writable(out, overwrite=force or is_report(out))
    data = demo_data(model)
    output.notes(data.notes)
    words = ["--model", model, "--out", str(out)]
    rows = InMemory(data)
    evaluation = run(rows, "demo", words, output, replication, margin=margin_of(rows, margin, None))
    _write(evaluation, out, force, output)


def _beside(file: str, name: str | None = None) -> Path:
    """Return where a report goes: beside the predictions, of a pattern or a URL where the command runs."""
    if glob.has_magic(file) or is_remote(file):
        folders = [part for part in Path(file).parent.parts[1:] if not glob.has_magic(part)]
        return Path(name or f"{folders[-1] if folders else 'predictions'}-report.html")
    path = Path(file)
    return path.with_name(name or f"{path.stem}-report.html")


def _compared(
    readings: list[Reading],
    streaming: Streaming,
    target: Path,
    force: bool,
    replication: Replication,
    output: Output,
) -> None:
    """Write the comparison of several files; end with its path and its findings."""
    require_place(readings, target, force)
    comparison = run_comparison(
        readings,
        streaming,
        output,
        ("report", ["--out", target, *replication.words()]),
        n_resamples=replication.n_resamples,
        n_bins=replication.n_bins,
        rng=replication.seed,
    )
    written = comparison.report(target, overwrite=force)
    if output.as_json:
        output.json(
            {
                "schema_version": SCHEMA_VERSION,
                "type": "ReportWritten",
                "report": str(written),
                "findings": comparison.findings,
                "recommendations": comparison.recommendations,
            }
        )
        return
    output.notes(one for one in comparison_remarks(comparison) if one not in comparison.findings)
    output.line(str(written))
    if not output.quiet:
        advice = [(f"if {task}", str(one)) for task, one in comparison.recommendations.items()]
        output.pairs([*advice, *(("found", one) for one in comparison.findings)])


def _write(evaluation: Evaluation, target: Path, force: bool, output: Output) -> None:
    """Write the report; end with its path and what was found."""
    written = evaluation.report(target, overwrite=force)
    if output.as_json:
        output.json(
            {
                "schema_version": SCHEMA_VERSION,
                "type": "ReportWritten",
                "report": str(written),
                "findings": [one.to_dict() for one in evaluation.findings],
            }
        )
        return
    output.notes(remarks(evaluation))
    output.line(str(written))
    if not output.quiet:
        output.pairs((one.word, one.text) for one in evaluation.findings)
