"""`credibly compare`: several files, one ranking over trade-offs, with ties named."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import is_array, to_host
from credibly.cli import options
from credibly.cli.output import Cell, Output, Table, progress, with_flags
from credibly.cli.reading import Reading, Streaming, command
from credibly.evaluation import (
    Comparison,
    ScoreComparison,
    compare,
    joined,
    score_rows,
    shown,
    shown_range,
    standing_rows,
)
from credibly.evaluation.comparison_words import error_cells
from credibly.io import is_pattern, is_report, require_writable
from credibly.predictions import Dataset, InMemory, LabelCounts, Rows
from credibly.selection.matching import matched

COLUMNS = (
    "tradeoff",
    "model",
    "place_best",
    "place_worst",
    "score",
    "difference",
    "interval",
    "distance",
    "imprecision",
)
TRADEOFFS = [0.0, 0.1, 0.5, 1.0, 2.0]

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help=("Predictions for the same instances: one file, or one pattern in quotes, per model."),
    ),
]
Tradeoffs = Annotated[
    list[float],
    typer.Option("--tradeoff", metavar="X", help="Cost of imprecision, 0 to inf; repeat for several."),
]
MeasureName = Annotated[
    str | None,
    typer.Option(
        "--measure",
        metavar="NAME",
        help="Imprecision: hartley, dubois_prade, koerner, entropy_gap, credal_size, u65 or u80.",
    ),
]
Draws = Annotated[int, typer.Option("--n-resamples", metavar="N", help="Bootstrap draws of instances.")]
Bins = Annotated[
    int | None,
    typer.Option("--n-bins", metavar="N", help="Number of bins of the ECE.  [default: 15]"),
]
OutFile = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Also write the comparison as an HTML file.")
]


def compare_files(
    files: Files,
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
    clusters: options.Clusters = None,
    blocks: options.Blocks = None,
    stream: options.Stream = False,
    chunk_rows: options.ChunkRows = None,
    skip_bad_shards: options.SkipBadShards = False,
    engine: options.EngineName = "local",
    scheduler: options.Scheduler = None,
    tradeoff: Tradeoffs = TRADEOFFS,
    measure: MeasureName = None,
    statistic: options.Statistics = None,
    n_resamples: Draws = 1000,
    n_bins: Bins = None,
    seed: options.Seed = 0,
    out: OutFile = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare models: faults, ranking, ties, paired differences.

    The model with the smallest log loss is the one that others' calibration errors are compared with.
    Mean score = distance to the labels + trade-off x imprecision; smaller is better.
    Every set is also ranked by its mean, as NAME Avg.
    Real values are ranked by CRPS, interval score and log loss, or by --statistic; with it, so are classes
    (--statistic rps for ordered ones).
    """
    typed = locals()
    readings = [Reading.typed(typed, file=one) for one in files]
    streaming = Streaming(stream, chunk_rows, skip_bad_shards, engine, scheduler)
    output = Output(as_json, quiet)
    if out is not None:
        require_place(readings, out, force)
    flags: list[Any] = [flag for one in tradeoff for flag in ("--tradeoff", one)]
    named = {"measure": measure, "n-bins": n_bins, "out": out}
    for name, value in named.items():
        flags += [] if value is None else [f"--{name}", value]
    flags += [flag for one in statistic or () for flag in ("--statistic", one)]
    flags += ["--n-resamples", n_resamples, "--seed", seed]
    comparison = run_comparison(
        readings,
        streaming,
        output,
        ("compare", flags),
        tradeoffs=tradeoff,
        measure=measure,
        statistics=statistic,
        n_resamples=n_resamples,
        n_bins=n_bins,
        rng=seed,
    )
    if out is not None:
        comparison.report(out, overwrite=force)
    _print(comparison, output, out)


def require_place(readings: Sequence[Reading], out: Path, force: bool) -> None:
    """Raise unless a report of these files can be written to `out`, which must not be one of them."""
    for reading in readings:
        reading.require_elsewhere(out)
    require_writable(out, overwrite=force or is_report(out))


def run_comparison(
    readings: Sequence[Reading],
    streaming: Streaming,
    output: Output,
    typed: tuple[str, Sequence[Any]],
    **settings: Any,
) -> Comparison | ScoreComparison:
    """Compare the models in several files, with progress, and record the command that does it again."""
    files = [reading.file for reading in readings]
    names = _names(files)
    verb, flags = typed
    words = [*files[:-1], *readings[-1].words(), *streaming.words()]
    with _models(readings, streaming, output) as models, progress(quiet=output.quiet) as tell:
        samples = [one.sample for one in models]
        notes = _shared_notes(names, samples)
        output.notes(map(with_flags, notes))
        found: Comparison | ScoreComparison = compare(
            {name: _without_clusters(one).arguments[0] for name, one in zip(names, models, strict=True)},
            _without_clusters(models[0]).arguments[1],
            **models[0].also("clusters"),
            progress=tell,
            source={
                "paths": [one.source for one in samples],
                "digests": [one.digest for one in samples],
                "notes": notes,
                "dropped": samples[0].dropped,
                "command": command(verb, *words, *flags),
            },
            **settings,
        )
        return found


def _without_clusters(rows: Rows) -> Rows:
    """Return rows in memory without their clusters, which are those of the first model for all."""
    whole = rows.loaded()
    return rows if whole is None else InMemory(dataclasses.replace(whole, clusters=None))


@contextmanager
def _models(readings: Sequence[Reading], streaming: Streaming, output: Output) -> Iterator[list[Rows]]:
    """Open all models, in chunks where one of them has to be; their notes are said together."""
    output = dataclasses.replace(output, quiet=True)
    if any(streaming.takes(reading) for reading in readings):
        with streaming.running() as engine:
            yield [streaming.scanned(reading, engine, output) for reading in readings]
    else:
        first, *others = [reading.dataset(output) for reading in readings]
        data = [first, *(matched(one, first, Path(one.source).name) for one in others)]
        labels = _common_labels([reading.file for reading in readings], data)
        yield [InMemory(dataclasses.replace(one, labels=labels)) for one in data]


def comparison_remarks(comparison: Comparison | ScoreComparison) -> Iterator[str]:
    """Yield what was found, and what is worth knowing beside it, unless it was said when files were read."""
    said = set(comparison.source["notes"])
    yield from (with_flags(one) for one in (*comparison.findings, *comparison.warnings) if one not in said)
    yield from (with_flags(one) for one in comparison.notes if one not in comparison.warnings)


def _print(comparison: Comparison | ScoreComparison, output: Output, out: Path | None) -> None:
    if output.as_json:
        output.json({**comparison.to_dict(), "report": None if out is None else str(out)})
        return
    if isinstance(comparison, ScoreComparison):
        columns = ("statistic", "model", "place_best", "place_worst", "score", "interval")
        output.table(_score_table(comparison), shown=columns)
    elif not output.terminal:
        output.table(_table(comparison))
    else:
        output.table(_leading(comparison))
        output.table(_errors(comparison))
        if comparison.has_imprecision:
            output.table(_places(comparison))
        output.pairs((task, str(one)) for task, one in comparison.recommendations.items())
    output.notes(comparison_remarks(comparison))
    if out is not None:
        output.notes([f"report written to {out}"])


def _leading(comparison: Comparison) -> Table:
    """Return accuracy, log loss and calibration gap as a person reads them, each with its interval."""
    found = comparison.leading()
    columns = ("model", *next(iter(found.values())))
    rows: list[tuple[Cell, ...]] = [
        (
            model,
            *(
                "\n".join(filter(None, (_beside(one.value, one.interval), one.standing)))
                for one in own.values()
            ),
        )
        for model, own in found.items()
    ]
    return Table(columns, rows)


def _errors(comparison: Comparison) -> Table:
    """Return calibration errors with what chance would give, and paired differences to the best model."""
    columns, rows = error_cells(comparison.calibration, comparison.differences)
    return Table(columns, list(rows))


def _beside(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def _places(comparison: Comparison) -> Table:
    """Return the places at every trade-off as a person reads them, each difference with its interval."""
    rows: list[tuple[Cell, ...]] = []
    for tradeoff in comparison.ranking.tradeoffs:
        standing = comparison.ranking.at(tradeoff)
        for at, name in enumerate(standing.names):
            behind = standing.behind(name)
            said = "" if behind is None else _beside(shown(behind[0]), shown_range(behind[1]))
            rows.append((tradeoff, standing.place(name), name, float(standing.scores[at]), said))
    return Table(("tradeoff", "place", "model", "score", "behind the first by"), rows)


def _score_table(comparison: ScoreComparison) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one.statistic,
            one.model,
            one.place_best,
            one.place_worst,
            one.score,
            one.difference,
            None if one.low is None or one.high is None else (one.low, one.high),
        )
        for one in score_rows(comparison.ranking)
    ]
    return Table(("statistic", *COLUMNS[1:7]), rows, frozenset({"interval"}))


def _table(comparison: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one.tradeoff,
            one.model,
            one.place_best,
            one.place_worst,
            one.score,
            one.difference,
            None if one.low is None or one.high is None else (one.low, one.high),
            one.distance,
            one.imprecision,
        )
        for one in standing_rows(comparison.ranking)
    ]
    return Table(COLUMNS, rows, frozenset({"interval"}))


def _names(files: Sequence[str]) -> list[str]:
    """Return the files' names without ending; whole paths of patterns, and where names are not distinct."""
    stems = [file if is_pattern(file) else Path(file).stem for file in files]
    names = stems if len(set(stems)) == len(stems) else list(files)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            "the files", "must be distinct", f"'{twice}' is given twice", "Name every model once."
        )
    return names


def _common_labels(files: Sequence[str], data: Sequence[Dataset]) -> Any:
    """Return the labels of all files; those that hold some must agree."""
    held = [(file, one) for file, one in zip(files, data, strict=True) if one.labels is not None]
    if not held:
        raise InputError(
            f"'{files[0]}'",
            "must come with labels",
            "none of the files has any",
            "Name their file: `--labels FILE`.",
        )
    first_file, first = held[0]
    for file, one in zip(files, data, strict=True):
        if one.dropped != data[0].dropped:
            raise InputError(
                "the files",
                "must keep the same rows",
                f"'{files[0]}' and '{file}' have different invalid rows",
                "Drop these rows from all files first.",
            )
        if one.labels is not None and not _same(first.observed, one.observed):
            raise InputError(
                "the files",
                "must have the same labels in the same order",
                f"those of '{first_file}' and '{file}' differ",
                "Predict one test set with all models, or name the labels: `--labels FILE`.",
            )
    return first.observed


def _shared_notes(names: Sequence[str], data: Sequence[Dataset]) -> list[str]:
    """Return every note once, after the names of the models it is about."""
    whose: dict[str, list[str]] = {}
    for name, one in zip(names, data, strict=True):
        for note in one.notes:
            whose.setdefault(note, []).append(name)
    return [f"{joined(own)}: {note}" for note, own in whose.items()]


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, LabelCounts) != isinstance(second, LabelCounts):
        return False
    arrays = [one.counts if isinstance(one, LabelCounts) else one for one in (first, second)]
    one, other = (to_host(array) if is_array(array) else np.asarray(array) for array in arrays)
    return bool(np.array_equal(one, other))
