"""What is unusual about predictions and labels and changes how far the numbers carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from credibly._arrays.merging import State
from credibly._arrays.namespace import namespace, to_host
from credibly._arrays.sums import count_cells
from credibly.evaluation.rows import has_counts
from credibly.evaluation.words import joined
from credibly.predictions import Classes, ClassPredictions, Dataset, Point, Rows, as_point
from credibly.predictions.passes import Sums, merged, on_host

FEW_INSTANCES = 100
FEW_PER_CLASS = 5

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
    return Sums(states, notes)


def data_warnings(
    rows: Rows, survey: Sums, classes: Sequence[str], source: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return one sentence per oddity, those of the reading of the file first."""
    found = list(source_warnings(source))
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
