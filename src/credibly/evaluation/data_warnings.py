"""What is unusual about predictions and labels and changes how far the numbers carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from credibly._arrays.namespace import namespace, to_host
from credibly._arrays.sums import count_cells
from credibly.evaluation.words import joined
from credibly.predictions import (
    Classes,
    ClassPredictions,
    LabelCounts,
    Labels,
    Point,
    Predictions,
    as_point,
)

FEW_INSTANCES = 100
FEW_PER_CLASS = 5

_ONE_DISTRIBUTION = (
    "there is one distribution per instance; where these are averages of an ensemble, the members are "
    "needed to tell whether their disagreement is credible"
)
_SHARED_TRUTH = (
    "raters of one instance share its truth, so counting them as independent draws would find conflicts "
    "that are not there; choose one rater per instance to test"
)


def data_warnings(
    predictions: Predictions, labels: Labels, classes: Sequence[str], source: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return one sentence per oddity, those of the reading of the file first."""
    found = list(source_warnings(source))
    n = len(predictions)
    if n < FEW_INSTANCES:
        found.append(f"There are only {n} instances: expect wide intervals and wide acceptance regions.")
    if isinstance(predictions, ClassPredictions):
        found += _precision(predictions)
        found += _probabilities(predictions)
        if isinstance(labels, Classes):
            found += _labels(labels, classes)
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


def input_limits(predictions: Predictions, labels: Any) -> tuple[tuple[str, str], ...]:
    """Return what this kind of input leaves untested, and why."""
    found = []
    if isinstance(predictions, Point):
        found.append(("checks of the members", _ONE_DISTRIBUTION))
    if isinstance(labels, LabelCounts):
        found.append(("calibration tests and consistency bands", _SHARED_TRUTH))
    return tuple(found)


def _precision(predictions: ClassPredictions) -> list[str]:
    dtype = str(predictions._leading.dtype)
    if dtype.endswith("float16"):
        return [f"Predictions are stored as {dtype}: probabilities carry about three digits."]
    return []


def _probabilities(predictions: ClassPredictions) -> list[str]:
    probs = as_point(predictions)[0].probs
    xp = namespace(probs)
    found = []
    confidence = xp.max(probs, axis=-1)
    certain = int(xp.sum(xp.astype(confidence >= 1.0, xp.int64)))
    if certain:
        found.append(f"{certain} of {len(predictions)} instances are predicted with probability exactly 1.")
    tied = xp.sum(xp.astype(probs == confidence[:, None], xp.int64), axis=-1) > 1
    ties = int(xp.sum(xp.astype(tied, xp.int64)))
    if ties:
        found.append(
            f"In {ties} of {len(predictions)} instances several classes share the largest probability; the "
            "first of them counts as predicted."
        )
    return found


def _labels(labels: Classes, classes: Sequence[str]) -> list[str]:
    counts = to_host(count_cells(labels.values, len(classes)))[0]
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
