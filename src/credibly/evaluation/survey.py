"""A survey of the data: what is unusual about predictions and labels and changes how far numbers carry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import namespace, to_host
from credibly._arrays.notes import counted, unsaid
from credibly._arrays.sums import State, count_cells
from credibly.diagnosis import Diagnosis
from credibly.evaluation.rows import has_counts
from credibly.predictions import Classes, ClassPredictions, Confidence, Dataset, Point, Rows, as_point
from credibly.predictions.passes import Sums, on_host
from credibly.results.numbers import joined
from credibly.statistics.proper import top_label

FEW_INSTANCES = 100
FEW_PER_CLASS = 5
FEW_OF_EVENT = 0.25
"""Share of the first of two classes below which it is probably the event that the user looks for."""
_MOST_CLASSES = 2048
_OFFSETS = (-3, -2, -1, 1, 2, 3)
MISREAD = ("swapped classes", "labels off by a row", "inverted")
"""Faults of the reading of data, which the diagnosis names."""

_SHARED_TRUTH = (
    "the curves use the labels of all raters, which are not independent within an instance, so a band for "
    "independent labels would be too narrow; tests use one label per instance"
)


def surveyed(rows: Rows) -> Sums:
    """Count what is unusual about the rows, in one pass; the notes are those of all rows."""
    return rows.merged([count_oddities])[0]


def count_oddities(chunk: Dataset) -> Sums:
    """Count certain and tied predictions and the labels of every class among the rows of a chunk."""
    if not isinstance(chunk.predictions, ClassPredictions):
        return Sums({}, chunk.predictions.notes)
    point, notes = as_point(chunk.predictions)
    xp = namespace(point.probs)
    confidence, _ = top_label(point)
    tied = xp.sum(xp.astype(point.probs == confidence[:, None], xp.int64), axis=-1) > 1
    tied = tied & (not isinstance(point, Confidence))
    counts = State(
        certain=xp.sum(xp.astype(confidence >= 1.0, xp.int64)), tied=xp.sum(xp.astype(tied, xp.int64))
    )
    states = {"predictions": on_host(counts)}
    if isinstance(chunk.batch, Classes):
        counts = count_cells(chunk.batch.values, chunk.batch.n_classes)
        states["labels"] = State(counts=to_host(counts)[0])
        if chunk.batch.n_classes <= _MOST_CLASSES:
            states["confusion"] = _confusion(point, chunk.batch)
    return Sums(states, notes)


def _confusion(point: Point, batch: Classes) -> State:
    """Count predicted against observed classes, also of the rows before and after, and add up confidence."""
    confidence, predicted = (to_host(array) for array in top_label(point))
    predicted, observed = predicted.astype(np.int64), to_host(batch.values)[0].astype(np.int64)
    k = batch.n_classes
    table = np.bincount(predicted * k + observed, minlength=k * k)
    # label i + by beside prediction i
    shifted = [
        int((predicted[:-by] == observed[by:]).sum() if by > 0 else (predicted[-by:] == observed[:by]).sum())
        for by in _OFFSETS
    ]
    return State(table=table, shifted=np.array(shifted), stated=np.array(confidence.sum(dtype=np.float64)))


def data_warnings(
    rows: Rows,
    survey: Sums,
    classes: Sequence[str],
    source: Mapping[str, Any],
    diagnosis: Diagnosis | None,
) -> tuple[str, ...]:
    """Return one sentence per oddity, those of the reading of the file first."""
    is_fault = diagnosis is not None and diagnosis.fault in MISREAD  # then the headline says it
    warnings = [] if is_fault else _misread(survey, rows.n, classes)
    warnings += source_warnings(source)
    warnings += unsaid(rows.notes, warnings)
    if rows.n < FEW_INSTANCES:
        count = f"{'is' if rows.n == 1 else 'are'} only {counted(rows.n, 'instance')}"
        warnings.append(f"There {count}: expect wide intervals and wide acceptance regions.")
    predictions = rows.example.predictions
    if isinstance(predictions, ClassPredictions):
        warnings += _precision(predictions)
        warnings += _probabilities(survey.states["predictions"], rows.n)
        if "labels" in survey.states and not isinstance(predictions, Confidence):
            warnings += _labels(survey.states["labels"]["counts"], classes)
            warnings += _event(survey.states["labels"]["counts"], classes)
    return tuple(warnings)


def _misread(survey: Sums, n: int, classes: Sequence[str]) -> list[str]:
    """Say it where another order of the classes, or labels a few rows off, would explain a poor accuracy.

    Far below what the model states means by a fifth and by six standard errors; explained, that the other
    reading makes up for two thirds of the gap. Each class has to be renamed by at least a few instances.
    """
    if "confusion" not in survey.states or n < FEW_INSTANCES:
        return []
    counts = survey.states["confusion"]
    k = len(classes)
    table = np.asarray(counts["table"]).reshape(k, k)
    accuracy, stated = float(np.trace(table)) / n, float(counts["stated"]) / n
    gap = stated - accuracy
    if gap < max(0.2, 6 * math.sqrt(stated * (1 - stated) / n)):
        return []
    shifted = np.asarray(counts["shifted"]) / n
    best = int(np.argmax(shifted))
    if shifted[best] - accuracy >= 2 / 3 * gap and shifted[best] - accuracy >= 0.2:
        by = _OFFSETS[best]
        where = f"{counted(abs(by), 'row')} {'later' if by > 0 else 'earlier'}"
        offset = (
            f"Check the rows first: the accuracy is {accuracy:.1%} although the model states {stated:.1%}; "
            f"with labels {where} it would be {shifted[best]:.1%}. Labels and predictions seem offset."
        )
        return [offset]
    from scipy.optimize import linear_sum_assignment  # slow to load, and few data need it

    rows, columns = linear_sum_assignment(-table)
    permuted = float(table[rows, columns].sum()) / n
    if n < 10 * k or permuted - accuracy < max(0.2, 2 / 3 * gap):
        return []
    moved = [(classes[i], classes[j]) for i, j in zip(rows, columns, strict=True) if i != j]
    renamed = ", ".join(f"{name} for {other}" for name, other in moved[:4]) + ", ..." * (len(moved) > 4)
    reordered = (
        f"Check the order of the classes first: the accuracy is {accuracy:.1%} although the model states "
        f"{stated:.1%}; with other names it would be {permuted:.1%} (predicted {renamed}). Columns and "
        "labels are probably in a different order."
    )
    return [reordered]


def n_dropped(source: Mapping[str, Any]) -> int:
    """Return how many rows were left out when the data were read."""
    dropped = source.get("dropped") or 0
    return dropped if isinstance(dropped, int) else len(dropped)


def source_warnings(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the reader of the file had to say."""
    rows = n_dropped(source)
    dropped = [f"{counted(rows, 'row was', 'rows were')} dropped when the data were read."] if rows else []
    return (*dropped, *(str(note) for note in source.get("notes") or ()))


def input_limits(rows: Rows) -> tuple[tuple[str, str], ...]:
    """Return what this kind of input leaves untested, and why."""
    return (("consistency bands", _SHARED_TRUTH),) if has_counts(rows) else ()


def _precision(predictions: ClassPredictions) -> list[str]:
    dtype = str(predictions._leading.dtype)
    if dtype.endswith("float16"):
        return [f"Predictions are stored as {dtype}: probabilities carry about three digits."]
    return []


def _probabilities(counts: State, n: int) -> list[str]:
    certain, ties = int(counts["certain"]), int(counts["tied"])
    warnings = [f"{certain} of {n} instances are predicted with probability exactly 1."] if certain else []
    if ties:
        warnings.append(
            f"In {ties} of {n} instances several classes share the largest probability; the first of these "
            f"counts as predicted."
        )
    return warnings


def _event(counts: Any, classes: Sequence[str]) -> list[str]:
    """Say how to look at the rarer of two classes, where it is the first and has a name."""
    if len(classes) != 2 or classes[0].isdigit() or counts[0] >= FEW_OF_EVENT * sum(counts):
        return []
    first, second = classes
    hint = (
        f"Sentences are about {second}, the second of two classes. If the event is {first}, put its column "
        "second (for a table, `columns=` gives the order)."
    )
    return [hint]


def _labels(counts: Any, classes: Sequence[str]) -> list[str]:
    sizes = list(zip(classes, counts, strict=True))
    few = {
        "no instance": [name for name, count in sizes if count == 0],
        f"fewer than {FEW_PER_CLASS} instances": [name for name, count in sizes if 0 < count < FEW_PER_CLASS],
    }
    return [
        f"{counted(len(names), 'class has', 'classes have')} {how_many}: {joined(names)}."
        for how_many, names in few.items()
        if names
    ]
