"""Labels as they come in files: class indices, names, whole floats, counts, one column too many."""

from __future__ import annotations

import numpy as np

from credibly._arrays.checks import InvalidRowsError, describe_rows
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array
from credibly.io.roles import Content
from credibly.predictions import ClassPredictions, LabelCounts, Predictions, as_labels


def resolve_labels(content: Content, predictions: Predictions) -> Array | LabelCounts | None:
    """Return the labels checked against the predictions; every reading that is not literal is noted."""
    labels, counted = content.arrays.get("y"), content.arrays.get("label_counts")
    if labels is None:
        return None if counted is None else _checked_counts(predictions, counted)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
        content.note("labels came as one column and are read as a vector")
    if labels.dtype.kind == "U":
        labels = _from_names(labels, content)
    if isinstance(predictions, LabelCounts):
        return _checked_beside_counts(predictions, labels)
    if isinstance(predictions, ClassPredictions):
        if labels.ndim == 2:
            return _from_table(predictions, labels, content)
        if labels.dtype.kind == "f":
            labels = _from_floats(labels, content)
        if labels.dtype.kind in "iub":
            labels = _from_integers(labels, content)
    as_labels(predictions, labels)
    return labels


def _from_names(names: Array, content: Content) -> Array:
    words, classes = names.tolist(), content.classes
    if classes is None:
        if all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            content.note("labels came as text of digits and are read as class indices")
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
    content.note("labels came as class names and are matched with the classes")
    return np.array([index[word] for word in words])


def _from_integers(labels: Array, content: Content) -> Array:
    """Read numbers as names of classes where classes are called by other numbers than 0 to k - 1."""
    classes = content.classes or ()
    numbered = all(name.isascii() and name.isdigit() for name in classes)
    if numbered and classes != tuple(str(j) for j in range(len(classes))):
        return _from_names(labels.astype(np.str_), content)
    if labels.dtype.kind == "u" and labels.dtype.itemsize == 8 and (labels > 2**31).any():
        raise InputError(
            "`labels`",
            "must be class indices",
            f"the largest is {int(labels.max())}",
            "A negative label was stored as unsigned: map unlabelled instances out first.",
        )
    return labels.astype(np.int64)  # small unsigned types wrap when subtracted


def _from_floats(labels: Array, content: Content) -> Array:
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
    strange = labels[(labels != np.round(labels)) | (np.abs(labels) > 2**31)]
    if strange.size:
        raise InputTypeError(
            "`labels`",
            "must be class indices",
            f"the first that is none is {strange[0]}",
            "These look like real observations, which belong to kinds gaussian, samples and quantiles.",
        )
    content.note(f"labels came as {labels.dtype} whole numbers and are read as class indices")
    return labels.astype(np.int64)


def _from_table(predictions: ClassPredictions, labels: Array, content: Content) -> LabelCounts:
    if (np.asarray(labels).sum(axis=1) == 1).all():
        raise InputError(
            "`labels`",
            "must be one class index per instance",
            f"got shape {tuple(labels.shape)} with one rater per row, as one-hot labels have",
            "Save `labels.argmax(axis=1)`; for counts of one rater name the array `label_counts`.",
        )
    counts = _checked_counts(predictions, labels)
    content.note(f"labels of shape {tuple(labels.shape)} are read as counts over raters")
    return counts


def _checked_counts(predictions: Predictions, table: Array) -> LabelCounts:
    counts = LabelCounts(table)
    if not isinstance(predictions, ClassPredictions):
        raise InputTypeError(
            "label counts",
            "belong to class predictions",
            f"got {type(predictions).__name__}",
            "Give real observations as `y`.",
        )
    as_labels(predictions, counts)
    return counts


def _checked_beside_counts(counts: LabelCounts, labels: Array) -> Array:
    whole = labels.ndim == 1 and labels.dtype.kind in "iub"
    if not whole or (labels < 0).any() or (labels >= counts.n_classes).any():
        raise InputError(
            "`labels`",
            f"must be {len(counts)} class indices from 0 to {counts.n_classes - 1}",
            f"got shape {tuple(labels.shape)} of {labels.dtype}",
            "Leave them out, or correct them.",
        )
    return labels
