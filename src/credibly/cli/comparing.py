"""`credibly compare`: several files, one ranking over trade-offs, with ties named."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import is_array, to_host
from credibly._arrays.notes import unsaid
from credibly.calls.options import DRAWS, MEASURE, STATISTIC, TRADEOFF
from credibly.cli.output import Cell, Output, TextTable, progress, row_of, with_flags
from credibly.cli.reading import Typed, engine, in_chunks, read, require_elsewhere, scanned
from credibly.evaluation import Comparison, compare, joined, shown, shown_range, standing_rows
from credibly.evaluation.comparison_words import error_cells
from credibly.io import is_pattern, is_report, require_writable
from credibly.predictions import Confidence, Dataset, InMemory, LabelCounts, Rows
from credibly.selection.matching import matched

COLUMNS = (
    "criterion",
    "model",
    "place_best",
    "place_worst",
    "score",
    "difference",
    "interval",
    "distance",
    "imprecision",
)


def compare_files(typed: Typed, output: Output) -> None:
    """Compare models: faults, ranking, ties, paired differences."""
    out = typed.out
    if out is not None:
        require_place(typed, out, *typed.files)
    settings = typed.of((TRADEOFF, MEASURE, STATISTIC, *DRAWS))
    comparison = run_comparison(typed, output, settings)
    if out is not None:
        comparison.report(out, overwrite=typed.overwrite)
    _print(comparison, output, out)


def require_place(typed: Typed, out: Path, *files: str) -> None:
    """Raise unless a report of these files can be written to `out`, which must not be one of them."""
    require_elsewhere(out, *files, typed.values.get("labels"))
    require_writable(out, overwrite=typed.overwrite or is_report(out))


def run_comparison(typed: Typed, output: Output, settings: dict[str, Any], **settled: Any) -> Comparison:
    """Compare the models in several files, with progress, and record the call."""
    names = _names(typed.files)
    with _models(typed, output) as models, progress(quiet=output.quiet) as tell:
        samples = [rows.example for rows in models]
        notes = _shared_notes(names, samples)
        output.notes(map(with_flags, notes))
        answers = all(isinstance(sample.predictions, Confidence) for sample in samples)  # labels of their own
        asked = [(rows, None) if answers else _alone(rows).arguments for rows in models]
        if any(labels is None for _, labels in asked):  # rows with names of classes bring their labels
            asked = [
                (model if labels is None else _alone(rows).loaded(), None)
                for rows, (model, labels) in zip(models, asked, strict=True)
            ]
        comparison: Comparison = compare(
            {name: model for name, (model, _) in zip(names, asked, strict=True)},
            asked[0][1],
            **({} if answers else models[0].also("clusters")),
            progress=tell,
            source={
                "paths": [sample.source for sample in samples],
                "digests": [sample.digest for sample in samples],
                "notes": notes,
                "dropped": samples[0].dropped,
                "call": typed.call(typed.files, models=names, **settled).to_dict(),
            },
            **settings,
        )
        return comparison


def _alone(rows: Rows) -> Rows:
    """Return rows in memory without clusters, which are those of the first model, and without notes."""
    whole = rows.loaded()
    return rows if whole is None else InMemory(dataclasses.replace(whole, clusters=None, notes=()))


@contextmanager
def _models(typed: Typed, output: Output) -> Iterator[list[Rows]]:
    """Open all models, in chunks where one of them has to be; their notes are said together."""
    output = dataclasses.replace(output, quiet=True)
    if any(in_chunks(file, typed) for file in typed.files):
        with engine(typed) as workers:
            yield [scanned(file, typed, workers, output) for file in typed.files]
    else:
        first, *others = [read(file, typed, output) for file in typed.files]
        data = [first, *(matched(model, first, Path(model.source).name) for model in others)]
        if not all(isinstance(model.predictions, Confidence) for model in data):
            labels = _common_labels(typed.files, data)
            data = [dataclasses.replace(model, labels=labels) for model in data]
        yield [InMemory(model) for model in data]


def comparison_remarks(comparison: Comparison) -> Iterator[str]:
    """Yield what is to be said beside the findings and the notes on reading."""
    yield from map(with_flags, unsaid(comparison.warnings, comparison.source["notes"]))
    yield from map(with_flags, unsaid(comparison.notes, comparison.warnings))


def _print(comparison: Comparison, output: Output, out: Path | None) -> None:
    if output.as_json:
        output.json({**comparison.to_dict(), "report": None if out is None else str(out)})
        return
    if not output.terminal:
        output.table(_table(comparison))
    else:
        if not comparison.by_scores:
            output.table(_leading(comparison))
            output.table(_errors(comparison))
        if comparison.by_scores or comparison.has_imprecision:
            output.table(_standings(comparison))
        output.pairs((task, str(advice)) for task, advice in comparison.recommendations.items())
    output.notes([*map(with_flags, comparison.findings), *comparison_remarks(comparison)])
    if out is not None:
        output.notes([f"report written to {out}"])


def _leading(comparison: Comparison) -> TextTable:
    """Return accuracy, log loss and calibration gap as a person reads them, each with its interval."""
    numbers = comparison.leading()
    columns = ("model", *next(iter(numbers.values())))
    rows: list[tuple[Cell, ...]] = []
    for model, row in numbers.items():
        cells = [(_beside(number.value, number.interval), number.standing) for number in row.values()]
        rows.append((model, *("\n".join(filter(None, parts)) for parts in cells)))
    return TextTable(columns, rows)


def _errors(comparison: Comparison) -> TextTable:
    """Return calibration errors with what chance would give, and paired differences to the best model."""
    columns, rows = error_cells(comparison.calibration, comparison.differences)
    return TextTable(columns, list(rows))


def _beside(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def _standings(comparison: Comparison) -> TextTable:
    """Return the places by every criterion as a person reads them, each difference with its interval."""
    rows: list[tuple[Cell, ...]] = []
    for standing in comparison.ranking.standings:
        for at, name in enumerate(standing.names):
            behind = standing.behind(name)
            distance = "" if behind is None else _beside(shown(behind[0]), shown_range(behind[1]))
            rows.append(
                (standing.criterion, standing.place(name), name, float(standing.scores[at]), distance)
            )
    criterion = "score" if comparison.by_scores else "tradeoff"
    return TextTable((criterion, "place", "model", "mean score", "behind the first by"), rows)


def _table(comparison: Comparison) -> TextTable:
    """Return a row per model and criterion, as a program reads them."""
    return TextTable(COLUMNS, [row_of(COLUMNS, row) for row in standing_rows(comparison.ranking)])


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
    labelled = [(file, rows) for file, rows in zip(files, data, strict=True) if rows.labels is not None]
    if not labelled:
        raise InputError(
            f"'{files[0]}'",
            "must come with labels",
            "none of the files has any",
            "Name their file: `--labels FILE`.",
        )
    first_file, first = labelled[0]
    for file, rows in zip(files, data, strict=True):
        if rows.dropped != data[0].dropped:
            raise InputError(
                "the files",
                "must keep the same rows",
                f"'{files[0]}' and '{file}' have different invalid rows",
                "Drop these rows from all files first.",
            )
        if rows.labels is not None and not _same(first.observed, rows.observed):
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
    for name, sample in zip(names, data, strict=True):
        for note in sample.notes:
            whose.setdefault(note, []).append(name)
    return [f"{joined(models)}: {note}" for note, models in whose.items()]


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, LabelCounts) != isinstance(second, LabelCounts):
        return False
    arrays = [labels.counts if isinstance(labels, LabelCounts) else labels for labels in (first, second)]
    left, other = (to_host(array) if is_array(array) else np.asarray(array) for array in arrays)
    return bool(np.array_equal(left, other))
