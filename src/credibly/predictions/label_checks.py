"""Labels as users give them, checked against the number of classes and rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import as_real, require_rows
from credibly._arrays.errors import InputError, InputTypeError, Remedy, require
from credibly._arrays.namespace import Array, HostArray, is_numpy, namespace, to_host
from credibly.predictions.base import OverClasses, Predictions

_UNLABELLED = (-1, -100, 255)
NAMED_CLASSES = "Pass one class index from 0 to k - 1 per entry; map class names to indices first."
NUMBERS = "Pass one observed number per entry, or give class probabilities for these classes."


def require_same_length(predictions: Predictions, labels: Array, what: str) -> None:
    """Raise unless there is one label per prediction; name the keyword that fits another axis order."""
    n, number = len(predictions), int(labels.shape[0])
    if n == number:
        return
    shape = tuple(predictions._leading.shape)
    if len(shape) == 3 and shape[1] == number:
        remedy = f"Axis 1 has {number} entries: for members-first input pass `member_axis=0`."
    elif len(shape) == 2 and shape[1] == number:
        remedy = "The predictions look transposed: instances come first."
    else:
        remedy = "Check that both come from the same split."
    raise InputError(what, f"must have one entry per prediction ({n})", f"got {number}", remedy)


def require_label_vector(predictions: Predictions, labels: Array) -> None:
    """Raise unless `labels` is one vector as long as the predictions; one-hot and swapped input is named."""
    n, shape = len(predictions), tuple(labels.shape)
    if shape == (n,):
        return
    require(
        not isinstance(predictions, OverClasses) or shape != (n, predictions.n_classes),
        "must be one class index per instance",
        "For one-hot labels use `labels.argmax(axis=1)`; for counts `LabelCounts(labels)`.",
        labels=labels,
    )
    require(
        labels.ndim == 1,
        "must have shape (n,)",
        "Flatten them: `labels.reshape(-1)`."
        if shape == (n, 1)
        else "Pass predictions first, then labels: `f(predictions, labels)`.",
        labels=labels,
    )
    require_same_length(predictions, labels, "labels")


def check_classes(labels: Array, n_classes: int) -> Array:
    """Return whole class labels in range; foreign values are refused."""
    xp = namespace(labels)
    host = is_numpy(labels)
    # Small types cannot be compared with a large number of classes: torch wraps it around.
    wide = labels if host and labels.dtype != bool else xp.astype(labels, xp.int64)
    if host and wide.dtype == np.int64:
        most = wide.view(np.uint64).max()  # where negative numbers are the largest
        inside = int(most) < n_classes
    else:
        inside = 0 <= int(xp.min(wide)) <= int(xp.max(wide)) < n_classes
    if not inside:
        require_rows(
            (wide,),
            lambda rows: (rows < 0) | (rows >= n_classes),
            name="labels",
            rule=f"must lie between 0 and {n_classes - 1} for {n_classes} classes",
            fact=lambda value: f"is {value}",
            remedy=lambda table: _remedy_for(to_host(table), n_classes),
        )
    small = label_dtype(xp, n_classes)
    return labels.astype(small) if host else xp.astype(labels, small)


def whole_numbers(labels: Array, notes: list[str]) -> Array:
    """Return whole floats as integers; a missing label is a row to name, a fraction is not a class."""
    xp = namespace(labels)
    if xp.isdtype(labels.dtype, ("integral", "bool")):
        return labels
    # half precision cannot be compared with large numbers
    values = to_host(as_real(labels, "labels")).astype(np.float64)
    require_rows(
        (values,),
        lambda rows: ~np.isfinite(rows),
        name="labels",
        rule="must be present",
        fact=lambda value: f"is {value}",
        remedy="Drop instances without a label.",
    )
    strange = values[(values != np.round(values)) | (np.abs(values) > 2**31)]
    if strange.size:
        raise InputTypeError(
            "`labels`",
            "must be class indices",
            f"the first that is not one is {strange[0]}",
            "These look like real observations, which belong to kinds gaussian, samples and quantiles.",
        )
    dtype = str(labels.dtype).removeprefix("torch.")
    notes.append(f"labels came as {dtype} whole numbers and are read as class indices")
    return xp.astype(labels, xp.int64)


def _remedy_for(labels: HostArray, n_classes: int) -> str:
    """Word what to do about labels that are no classes."""
    value = labels[(labels < 0) | (labels >= n_classes)][0]
    if value == n_classes and labels.min() >= 1:
        return "Labels seem to start at 1: subtract 1."
    if value not in _UNLABELLED:
        return "Remove unlabelled instances first."
    means = f"If {value} means unlabelled,"
    return Remedy(
        f"{means} leave these instances out; `load` does so with `ignore_label={value}`.",
        f"{means} pass `ignore_label={value}`.",
    )


def label_dtype(xp: Any, n_classes: int) -> Any:
    """Return the smallest integer type that holds the labels: batches of replicates are large."""
    return xp.uint8 if n_classes <= 256 else xp.int32


def number_of_axes(value: Any) -> int | None:
    """Return how many axes an array, table or nested sequence has; None for anything else."""
    if not isinstance(value, (list, tuple)):
        shape = getattr(value, "shape", None)
        return None if shape is None else len(shape)
    inner = number_of_axes(value[0]) if value else 0
    return 1 if inner is None else 1 + inner
