"""Labels as they come in files: class indices, names, whole floats, counts, one column too many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError, describe_rows
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array
from credibly.predictions import ClassPredictions, LabelCounts, Predictions, as_labels


def resolve_labels(
    beside: Mapping[str, Array], predictions: Predictions, classes: tuple[str, ...] | None, notes: list[str]
) -> Array | LabelCounts | None:
    """Return the labels checked against the predictions; every reading that is not literal is noted."""
    counted = beside.get("label_counts")
    if counted is not None and "y" not in beside:
        counts = LabelCounts(counted)
        _require_class_predictions(predictions)
        as_labels(predictions, counts)
        return counts
    labels = beside.get("y")
    if labels is None:
        return None
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
        _note(notes, "labels came as one column and are read as a vector")
    if labels.dtype.kind == "U":
        labels = _from_names(labels, classes, notes)
    if isinstance(predictions, LabelCounts):
        _check_beside_counts(predictions, labels)
        return labels
    if not isinstance(predictions, ClassPredictions):
        as_labels(predictions, labels)
        return labels
    if labels.ndim == 2:
        return _from_table(predictions, labels, notes)
    if labels.dtype.kind == "f":
        labels = _from_floats(labels, predictions, notes)
    if labels.dtype.kind in "iub":
        if classes is not None and _are_other_numbers(classes):
            labels = _from_names(labels.astype(np.str_), classes, notes)
        elif labels.dtype.kind == "u" and labels.dtype.itemsize == 8:
            _require_signed(labels)
        labels = labels.astype(np.int64)  # small unsigned types wrap when subtracted
    as_labels(predictions, labels)
    return labels


def _note(notes: list[str], note: str) -> None:
    """Add a note once: rows that are dropped make the labels be read again."""
    if note not in notes:
        notes.append(note)


def _from_names(names: Array, classes: tuple[str, ...] | None, notes: list[str]) -> Array:
    words = names.tolist()
    if classes is None:
        if all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            _note(notes, "labels came as text of digits and are read as class indices")
            return np.array([int(word) for word in words])
        raise InputError(
            "`labels`",
            "must be class indices where the file does not name its classes",
            f"the first is {words[0]!r}",
            "Name the columns p_<class>, or add `classes` in the order of the columns.",
        )
    index = {name: j for j, name in enumerate(classes)}
    strange = [row for row, word in enumerate(words) if word not in index]
    if strange:
        raise InvalidRowsError(
            "`labels`",
            f"must be among the classes ({', '.join(classes[:6])}{', ...' if len(classes) > 6 else ''})",
            describe_rows(strange, f"is {words[strange[0]]!r}", len(words)),
            "Correct the names.",
            strange,
        )
    _note(notes, "labels came as class names and are matched with the classes")
    return np.array([index[word] for word in words])


def _are_other_numbers(classes: tuple[str, ...]) -> bool:
    """Tell whether the classes are called by numbers that are not their positions, such as 1 to k."""
    return all(name.isascii() and name.isdigit() for name in classes) and classes != tuple(
        str(j) for j in range(len(classes))
    )


def _from_floats(labels: Array, predictions: Predictions, notes: list[str]) -> Array:
    """Read whole floats as classes; a missing label is a row to name, anything else is not a class."""
    missing = np.flatnonzero(~np.isfinite(labels)).tolist()
    if missing:
        raise InvalidRowsError(
            "`labels`",
            "must be present",
            describe_rows(missing, f"is {labels[missing[0]]}", len(labels)),
            "Drop instances without a label.",
            missing,
        )
    if (labels != np.round(labels)).any() or (np.abs(labels) > 2**31).any():
        raise InputTypeError(
            "`labels`",
            "must be class indices",
            f"the first that is none is {labels[(labels != np.round(labels)) | (np.abs(labels) > 2**31)][0]}",
            "These look like real observations, which belong to kinds gaussian, samples and quantiles.",
        )
    _note(notes, f"labels came as {labels.dtype} whole numbers and are read as class indices")
    return labels.astype(np.int64)


def _from_table(predictions: ClassPredictions, labels: Array, notes: list[str]) -> LabelCounts:
    if (np.asarray(labels).sum(axis=1) == 1).all():
        raise InputError(
            "`labels`",
            "must be one class index per instance",
            f"got shape {tuple(labels.shape)} with one rater per row, as one-hot labels have",
            "Save `labels.argmax(axis=1)`; for counts of one rater name the array `label_counts`.",
        )
    counts = LabelCounts(labels)
    as_labels(predictions, counts)
    _note(notes, f"labels of shape {tuple(labels.shape)} are read as counts over raters")
    return counts


def _require_class_predictions(predictions: Predictions) -> None:
    if not isinstance(predictions, ClassPredictions):
        raise InputTypeError(
            "label counts",
            "belong to class predictions",
            f"got {type(predictions).__name__}",
            "Give real observations as `y`.",
        )


def _require_signed(labels: Array) -> None:
    if (labels > 2**31).any():
        raise InputError(
            "`labels`",
            "must be class indices",
            f"the largest is {int(labels.max())}",
            "A negative label was stored as unsigned: map unlabelled instances out first.",
        )


def _check_beside_counts(counts: LabelCounts, labels: Any) -> None:
    if (
        labels.ndim != 1
        or labels.dtype.kind not in "iub"
        or (labels < 0).any()
        or (labels >= counts.n_classes).any()
    ):
        raise InputError(
            "`labels`",
            f"must be {len(counts)} class indices from 0 to {counts.n_classes - 1}",
            f"got shape {tuple(labels.shape)} of {labels.dtype}",
            "Leave them out, or correct them.",
        )
