"""What is unusual about predictions and labels and changes how far the numbers carry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.merging import State
from credibly._arrays.namespace import namespace, to_host
from credibly._arrays.sums import count_cells
from credibly.evaluation.rows import has_counts
from credibly.evaluation.words import joined
from credibly.predictions import Classes, ClassPredictions, Dataset, Point, Rows, as_point
from credibly.predictions.passes import Sums, merged, on_host

FEW_INSTANCES = 100
FEW_PER_CLASS = 5
_MOST_CLASSES = 2048
_OFFSETS = (-3, -2, -1, 1, 2, 3)

_ONE_DISTRIBUTION = (
    "there is one distribution per instance; where these are averages of an ensemble, the members are "
    "needed to tell whether their disagreement is credible"
)
_SHARED_TRUTH = (
    "the curves show all raters, who share the truth of their instance: a band for independent labels would "
    "be too narrow; tests take one label per instance"
)


def surveyed(rows: Rows) -> Sums:
    """Count what is unusual about the rows, in one pass; the notes are those of all rows."""
    return merged(rows, [count_oddities])[0]


def count_oddities(chunk: Dataset) -> Sums:
    """Count certain and tied predictions and the labels of every class among the rows of a chunk."""
    if not isinstance(chunk.predictions, ClassPredictions):
        return Sums({}, chunk.predictions.notes)
    point, notes = as_point(chunk.predictions)
    xp = namespace(point.probs)
    confidence = xp.max(point.probs, axis=-1)
    tied = xp.sum(xp.astype(point.probs == confidence[:, None], xp.int64), axis=-1) > 1
    counts = State(
        certain=xp.sum(xp.astype(confidence >= 1.0, xp.int64)), tied=xp.sum(xp.astype(tied, xp.int64))
    )
    states = {"predictions": on_host(counts)}
    if isinstance(chunk.batch, Classes):
        counts = count_cells(chunk.batch.values, chunk.batch.n_classes)
        states["labels"] = State(counts=to_host(counts)[0])
        if chunk.batch.n_classes <= _MOST_CLASSES:
            states["confusion"] = _confusion(point.probs, chunk.batch)
    return Sums(states, notes)


def _confusion(probs: Any, batch: Classes) -> State:
    """Count predicted against observed classes, also of the rows before and after, and add up confidence."""
    xp = namespace(probs)
    confidence = to_host(xp.max(probs, axis=-1))
    predicted, observed = to_host(xp.argmax(probs, axis=-1)), to_host(batch.values)[0].astype(np.int64)
    k = batch.n_classes
    table = np.bincount(predicted * k + observed, minlength=k * k)
    # label i + by beside prediction i
    shifted = [
        int((predicted[:-by] == observed[by:]).sum() if by > 0 else (predicted[-by:] == observed[:by]).sum())
        for by in _OFFSETS
    ]
    return State(table=table, shifted=np.array(shifted), stated=float(confidence.sum()))


def data_warnings(
    rows: Rows, survey: Sums, classes: Sequence[str], source: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return one sentence per oddity, those of the reading of the file first."""
    found = list(_misread(survey, rows.n, classes))
    found += source_warnings(source)
    found += [note for note in rows.notes if note not in found]
    if rows.n < FEW_INSTANCES:
        found.append(f"There are only {rows.n} instances: expect wide intervals and wide acceptance regions.")
    some = rows.sample.predictions
    if isinstance(some, ClassPredictions):
        found += _precision(some)
        found += _probabilities(survey.states["predictions"], rows.n)
        if "labels" in survey.states:
            found += _labels(survey.states["labels"]["counts"], classes)
    return tuple(found)


def _misread(survey: Sums, n: int, classes: Sequence[str]) -> tuple[str, ...]:
    """Say it where another order of the classes, or labels a few rows off, would explain a poor accuracy.

    Far below what the model states means by a fifth and by six standard errors; explained, that the other
    reading makes up for two thirds of the gap. Of classes each has to be renamed by at least a few instances.
    """
    if "confusion" not in survey.states or n < FEW_INSTANCES:
        return ()
    counts = survey.states["confusion"]
    k = len(classes)
    table = np.asarray(counts["table"]).reshape(k, k)
    accuracy, stated = float(np.trace(table)) / n, float(counts["stated"]) / n
    gap = stated - accuracy
    if gap < max(0.2, 6 * math.sqrt(stated * (1 - stated) / n)):
        return ()
    shifted = np.asarray(counts["shifted"]) / n
    best = int(np.argmax(shifted))
    if shifted[best] - accuracy >= 2 / 3 * gap and shifted[best] - accuracy >= 0.2:
        by = _OFFSETS[best]
        where = f"{abs(by)} row{'s' * (abs(by) > 1)} {'later' if by > 0 else 'earlier'}"
        words = (
            f"Check the rows first: the accuracy is {accuracy:.1%} where the model states {stated:.1%}, and "
            f"with labels {where} it would be {shifted[best]:.1%}. Labels and predictions seem offset."
        )
        return (words,)
    from scipy.optimize import linear_sum_assignment  # slow to load, and few data need it

    rows, columns = linear_sum_assignment(-table)
    permuted = float(table[rows, columns].sum()) / n
    if n < 10 * k or permuted - accuracy < max(0.2, 2 / 3 * gap):
        return ()
    moved = [(classes[i], classes[j]) for i, j in zip(rows, columns, strict=True) if i != j]
    shown = ", ".join(f"{one} for {other}" for one, other in moved[:4]) + (", ..." if len(moved) > 4 else "")
    words = (
        f"Check the order of the classes first: the accuracy is {accuracy:.1%} where the model states "
        f"{stated:.1%}, and with other names it would be {permuted:.1%} (predicted {shown}). Columns and "
        "labels are probably in a different order."
    )
    return (words,)


def n_dropped(source: Mapping[str, Any]) -> int:
    """Return how many rows were left out when the data were read."""
    dropped = source.get("dropped") or 0
    return dropped if isinstance(dropped, int) else len(dropped)


def source_warnings(source: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the reader of the file had to say."""
    rows = n_dropped(source)
    found = [f"{rows} rows were dropped when the data were read."] if rows else []
    return (*found, *(str(note) for note in source.get("notes") or ()))


def input_limits(rows: Rows) -> tuple[tuple[str, str], ...]:
    """Return what this kind of input leaves untested, and why."""
    found = []
    if isinstance(rows.sample.predictions, Point):
        found.append(("checks of the members", _ONE_DISTRIBUTION))
    if has_counts(rows):
        found.append(("consistency bands", _SHARED_TRUTH))
    return tuple(found)


def _precision(predictions: ClassPredictions) -> list[str]:
    dtype = str(predictions._leading.dtype)
    if dtype.endswith("float16"):
        return [f"Predictions are stored as {dtype}: probabilities carry about three digits."]
    return []


def _probabilities(counts: State, n: int) -> list[str]:
    found = []
    certain, ties = int(counts["certain"]), int(counts["tied"])
    if certain:
        found.append(f"{certain} of {n} instances are predicted with probability exactly 1.")
    if ties:
        found.append(
            f"In {ties} of {n} instances several classes share the largest probability; the "
            "first of them counts as predicted."
        )
    return found


def _labels(counts: Any, classes: Sequence[str]) -> list[str]:
    found = []
    absent = [name for name, count in zip(classes, counts, strict=True) if count == 0]
    if absent:
        found.append(f"{_number(absent, 'class has', 'classes have')} no instance: {joined(absent)}.")
    rare = [name for name, count in zip(classes, counts, strict=True) if 0 < count < FEW_PER_CLASS]
    if rare:
        found.append(
            f"{_number(rare, 'class has', 'classes have')} fewer than {FEW_PER_CLASS} instances: "
            f"{joined(rare)}."
        )
    return found


def _number(names: Sequence[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"
