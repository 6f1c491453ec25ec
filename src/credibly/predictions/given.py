"""What a public function was given, as rows: arrays, predictions, data that were read, a path, a data frame.

Labels are read as people keep them (`read_labels`); where nothing else says which axis holds the members, the
number of labels does. Every reading that is not literal stands in the notes of the predictions.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import read_sequence
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, brief, require, require_type
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly.predictions.base import ClassPredictions, Predictions, RealPredictions
from credibly.predictions.clusters import COPIES, as_ids, as_names
from credibly.predictions.convert import (
    as_predictions,
    column_names,
    is_frame,
    is_source,
    loaded,
    require_no_confidence,
    require_order,
)
from credibly.predictions.dataset import Dataset, named
from credibly.predictions.ensemble import is_list_of_members
from credibly.predictions.joining import aligned
from credibly.predictions.label_checks import number_of_axes
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.label_reading import label_values
from credibly.predictions.labels import Classes, Labels, read_labels
from credibly.predictions.prediction_sets import remedy_without_probs
from credibly.predictions.rows import InMemory, Rows, with_copies_together

ROUTINE = "routine"
"""Code of the notes that every reading has, which are not repeated with a number."""


def as_rows(
    predictions: Any,
    labels: Any = None,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    features: Any = None,
    classes: Sequence[str] | None = None,
    clusters: Any = None,
    blocks: int | None = None,
) -> Rows:
    """Return what a public function was given as a sequence of datasets.

    Parameters
    ----------
    predictions : Predictions, array, Dataset, path, data frame or Rows
        Predictions in memory, or what `load` and `scan` returned, which bring everything else.
    labels, sample_weight, groups, features : optional
        What belongs to predictions in memory.
    classes : sequence of str, optional
        Names of the classes in order: labels may be such names.
    clusters, blocks : optional
        Which rows belong together: ids, "copies" for rows with the same predictions and label, the length of
        blocks of consecutive rows, or both for blocks of rows of one id.

    Returns
    -------
    Rows
        The rows.
    """
    copies = isinstance(clusters, str) and clusters == COPIES
    arguments = {"groups": groups, "features": features, "weights": sample_weight}
    rows = _rows_of(predictions, labels, arguments | {"clusters": None if copies else clusters}, classes)
    rows = rows.changed(with_copies_together) if copies else rows
    return rows if blocks is None else rows.blocked(blocks)


def _rows_of(predictions: Any, labels: Any, arguments: dict[str, Any], classes: Sequence[str] | None) -> Rows:
    require_type(
        classes is None
        or (
            not isinstance(classes, str)
            and getattr(classes, "shape", (0,)) != ()
            and hasattr(classes, "__len__")
        ),
        "must be a sequence of names",
        "Pass a list.",
        classes=classes,
    )
    if isinstance(predictions, Dataset):
        return _of_dataset(predictions, labels, arguments)
    if isinstance(predictions, Rows):
        require_no_labels(labels, arguments["weights"])
        for name, value in arguments.items():
            if value is not None:
                remedy = "Give them to `scan`."
                raise InputError(f"`{name}`", "come with the chunks", f"got {brief(value)}", remedy)
        return predictions
    if not isinstance(predictions, Predictions) and is_source(predictions):
        columns = {
            name: names
            for name in ("groups", "clusters")
            if (names := _columns_of(name, arguments[name])) is not None
        }
        arguments |= dict.fromkeys(columns)
        return _of_dataset(loaded(predictions, labels, classes=classes, **columns), None, arguments)
    notes: tuple[str, ...] = ()
    if getattr(predictions, "ndim", None) == 4 and is_array(predictions):
        predictions, labels, arguments, notes = pixels(predictions, labels, arguments)
    predictions, labels = as_pair(predictions, labels)
    if classes is not None and predictions.classes is None:
        predictions = named(predictions, tuple(str(name) for name in classes))
    new, reading_notes = _read(predictions, labels, arguments, ordered=classes is not None)
    own_names = {"classes": predictions.classes, "index": predictions.index}
    plain = named(predictions, None)
    if notes or reading_notes:
        plain = with_notes(plain, (*notes, *reading_notes))
    return InMemory(Dataset(plain, new.pop("labels", None), **own_names, **new))


def as_pair(predictions: Any, labels: Any) -> tuple[Predictions, Any]:
    """Return predictions and their labels; data that were read bring their own, and labels tell the members.

    Parameters
    ----------
    predictions : Predictions, array, Dataset, path or data frame
        What the model said.
    labels : array, LabelCounts or None
        What was observed; None takes what the data bring.

    Returns
    -------
    predictions : Predictions
        Validated; the notes say what was read.
    labels : object
        As given, or as they were read.
    """
    if isinstance(predictions, Predictions) and not isinstance(predictions, LabelCounts):
        return predictions, labels
    require_order(predictions, labels)
    if is_source(predictions):
        predictions, labels = loaded(predictions, labels), None
    if isinstance(predictions, Dataset):
        if labels is None:
            return predictions.predictions, predictions.labels
        return named(predictions.predictions, predictions.classes, predictions.index), labels
    if number_of_axes(predictions) == number_of_axes(labels) == 2:
        require_one_class(predictions, labels)
    if isinstance(predictions, Predictions) or number_of_axes(predictions) != 3:
        if is_array(predictions) and (predictions.ndim == 1 or predictions.shape[1:] == (1,)):
            require_no_confidence(predictions, labels)
        return as_predictions(predictions), labels
    shape = _shape(predictions)
    if is_list_of_members(predictions) or shape is None or not hasattr(labels, "__len__"):
        return as_predictions(predictions), labels
    n = len(labels)
    if shape[0] != n == shape[1] > 1:
        note = (
            f"{n} labels show that axis 1 of shape {tuple(shape)} holds the instances and axis 0 the members"
        )
        return with_notes(as_predictions(predictions, member_axis=0), (note,)), labels
    return as_predictions(predictions, member_axis=1 if shape[0] == n != shape[1] else None), labels


def require_one_class(predictions: Any, labels: Any) -> None:
    """Raise where every column is a question of its own: probabilities of any sum, labels 0 and 1."""
    if isinstance(predictions, Predictions) or isinstance(labels, LabelCounts):
        return
    probs, marks = (
        to_host(table) if is_array(table) else _as_table(table, "labels") for table in (predictions, labels)
    )
    if probs.shape != marks.shape or probs.dtype.kind != "f" or marks.dtype.kind not in "fiub":
        return
    if not ((probs >= 0) & (probs <= 1)).all() or not np.isin(marks, (0, 1)).all():
        return
    one_each = bool((np.abs(probs.sum(axis=1) - 1) < 0.01).all()) or bool((marks.sum(axis=1) == 1).all())
    if not one_each:
        n, k = probs.shape
        raise InputError(
            "predictions and labels",
            "must be about one class per row",
            f"probabilities {probs.shape} do not sum to 1, and rows of the labels hold several 1 or none, as "
            f"if each of the {k} columns were a question of its own",
            "Evaluate them as binary predictions that belong together by row: `evaluate(probs.ravel(), "
            f"labels.ravel(), clusters=numpy.repeat(numpy.arange({n}), {k}), "
            f"groups=numpy.tile(numpy.arange({k}), {n}))`.",
        )


def paired(predictions: Any, labels: Any) -> tuple[Predictions, Any]:
    """Return predictions and labels that are read, of what a function that needs both was given."""
    predictions, labels = as_pair(predictions, labels)
    require(
        labels is not None,
        f"must be given unless the predictions include them, as {type(predictions).__name__} do not",
        "Pass `f(predictions, labels)`, or what `load` returned.",
        labels=labels,
    )
    labels, notes = read_labels(predictions, labels)
    return with_notes(named(predictions, None), notes), labels


def pixels(
    predictions: Any, labels: Any, arguments: dict[str, Any]
) -> tuple[Any, Any, dict[str, Any], tuple[str, ...]]:
    """Return the pixels of images (b, h, w, k) as rows, each image as a cluster, and the note that says so.

    Those with labels of fewer axes are returned as they are.
    """
    shape = tuple(int(length) for length in predictions.shape)
    b, n, k = shape[0], shape[0] * shape[1] * shape[2], shape[3]
    label_shape = None if labels is None else _shape(labels)
    if label_shape is not None and len(label_shape) < 3:
        return predictions, labels, arguments, ()  # refused as four axes are, with what images need
    if label_shape is not None and label_shape not in (shape[:3], (*shape[:3], 1)):
        swapped = label_shape == shape[:1] + shape[2:]
        raise InputError(
            "`labels`",
            f"must have one class per pixel, shape {shape[:3]}",
            f"got shape {label_shape} with predictions {shape}",
            "Put the classes last: `numpy.moveaxis(probs, 1, -1)`." if swapped else "Check both shapes.",
        )

    def per_row(value: Any) -> Any:
        """Return one value per pixel, or the value of its image for each."""
        if value is None or isinstance(value, Mapping) or is_frame(value):
            return value
        array = as_names(value, "groups") if not is_array(value) else value
        if tuple(array.shape) == (b,):
            return np.repeat(to_host(array), n // b)
        return array.reshape(n) if tuple(array.shape) == shape[:3] else array

    rows: dict[str, Any] = {
        name: value if name == "features" else per_row(value) for name, value in arguments.items()
    }
    note = f"shape {shape} is read as {n} pixels of {b} images with {k} classes"
    if rows["clusters"] is None:
        rows["clusters"] = np.repeat(np.arange(b), n // b)
        note += "; each image is one cluster"
    flat = None if labels is None else label_values(labels).reshape(n)
    return predictions.reshape(n, k), flat, rows, (note,)


def _columns_of(name: str, columns: Any) -> Any:
    """Return the columns that are named, as `load` takes them; None where one value per row is given."""
    if name == "clusters" or columns is None:
        return columns if isinstance(columns, str) else None
    names = [columns] if isinstance(columns, str) else columns
    words = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    return list(names) if words and len(set(names)) == len(names) else None


def _plain(name: str, value: Any, n: int) -> Any:
    """Return groups and clusters on the host, features as an array; weights are checked elsewhere."""
    if name == "clusters":
        return as_ids(value, n)
    if name == "groups" and is_frame(value):
        value = {str(column): value[column] for column in column_names(value)}
    if name == "groups" and isinstance(value, Mapping):  # factors come as a mapping
        return {column: as_names(values, f"groups[{column!r}]") for column, values in value.items()}
    if name == "groups":
        require_type(
            not isinstance(value, str),
            "must have one entry per prediction, or name a column of a data frame or file",
            "Pass the frame in place of the predictions, or the column itself.",
            groups=value,
        )
        return as_names(value, "groups")
    return _as_table(value) if name == "features" and not is_array(value) else value


def _as_table(values: Any, name: str = "features") -> HostArray:
    words = "must be a table (n, d)", "Give every row the same length."
    return np.asarray(read_sequence(values, name, words, words))


def _shape(value: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(value) if getattr(value, "shape", None) is None else value.shape)
    except ValueError:  # lists of different lengths, which the checks of predictions name
        return None


def with_notes(predictions: Predictions, notes: Sequence[str]) -> Predictions:
    """Return the same predictions with more to say about how they were read."""
    if not set(notes) - set(predictions.notes):
        return predictions
    copied = copy.copy(predictions)
    copied._set(notes=tuple(dict.fromkeys((*predictions.notes, *notes))))
    return copied


def _of_dataset(data: Dataset, labels: Any, arguments: Mapping[str, Any]) -> Rows:
    """Return data that were read; what is passed along with them replaces their own."""
    notes = [note for note in data.notes if getattr(note, "code", "") != ROUTINE]
    predictions = named(with_notes(data.predictions, notes), data.classes, data.index)
    new, reading_notes = _read(predictions, labels, arguments, ordered=data.classes_ordered)
    plain = with_notes(named(predictions, None), reading_notes)
    return InMemory(dataclasses.replace(data, predictions=plain, **new))


def _read(
    predictions: Predictions, labels: Any, arguments: Mapping[str, Any], *, ordered: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return labels and the other arguments as a dataset holds them, by name, and how they were read."""
    new: dict[str, Any] = {}
    notes: list[str] = []
    if labels is not None:
        new["labels"], reading_notes = read_labels(predictions, labels, ordered=ordered)
        notes += reading_notes
    for name, value in arguments.items():
        if value is not None:
            rows_in_order, reading_notes = aligned(value, predictions.index, name)
            new[name] = _plain(name, rows_in_order, len(predictions))
            notes += reading_notes
    if "features" in new and is_frame(arguments["features"]):
        new["feature_names"] = tuple(str(name) for name in arguments["features"].columns)
    elif "features" in new:
        new["feature_names"] = None
    return new, notes


def require_single(some: Dataset, what: str, *, weighted: bool = False) -> None:
    """Raise in the name of `what` unless these are distributions, and rows count once if not `weighted`."""
    if not isinstance(some.predictions, (ClassPredictions, RealPredictions)):
        raise InputTypeError(
            what,
            "needs predicted probabilities or distributions",
            f"got {type(some.predictions).__name__}",
            remedy_without_probs(some.predictions, "Pass predictions first, then labels."),
        )
    if not weighted:
        require_unweighted(some.batch, what)


def require_unweighted(labels: Labels, what: str) -> None:
    """Raise in the name of `what` if instances have weights."""
    if labels.weights is not None:
        evidence, remedy = "these have sample weights", "Leave them out; single statistics take weights."
        raise UnsupportedError(what, "counts every instance once", evidence, remedy)


def require_classes(predictions: Predictions, what: str, remedy: str) -> ClassPredictions:
    """Return class predictions; raise in the name of `what` for others."""
    if isinstance(predictions, ClassPredictions):
        return predictions
    raise InputTypeError(what, "needs class predictions", f"got {type(predictions).__name__}", remedy)


def require_one_label(labels: Labels, what: str) -> Classes:
    """Return one class per instance, without weights; raise in the name of `what` for other labels."""
    if isinstance(labels, Classes) and labels.weights is None:
        return labels
    rule = "takes one unweighted label per instance"
    remedy = "Draw labels first, `counts.draw(rng=0)`, or leave weights out."
    raise UnsupportedError(what, rule, "got label counts or weights", remedy)


FEWER_ROWS = "Keep one row of every cluster, or use `calibration_test`, which allows for clusters."


def require_independent(source: Any, what: str, remedy: str = FEWER_ROWS) -> None:
    """Raise in the name of `what` where rows belong together, which it does not allow for."""
    some = source.example if isinstance(source, Rows) else source
    if isinstance(some, Dataset) and some.clusters is not None:
        raise UnsupportedError(what, "needs independent rows", "these come in clusters", remedy)


def cluster_codes(predictions: Any, clusters: Any = None, blocks: int | None = None) -> HostArray | None:
    """Return the number of the cluster of every row, from the arguments or from the data.

    None where all rows are independent.
    """
    brings = isinstance(predictions, Dataset) or is_source(predictions)
    if clusters is None and blocks is None and not brings:
        return None
    source = predictions if brings else as_predictions(predictions)
    return as_rows(source, clusters=clusters, blocks=blocks).cluster_codes()


def require_no_labels(labels: object, sample_weight: object = None) -> None:
    """Raise if labels are given with chunks, which bring their own."""
    if labels is not None or sample_weight is not None:
        raise InputError(
            "`labels` and `sample_weight`",
            "come with the chunks",
            "got them as arguments too",
            "Give them to `scan`, and only the result here.",
        )
