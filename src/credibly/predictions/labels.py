"""What was observed, checked against predictions, as a batch of label vectors, replicates in front.

A bound statistic is evaluated on such batches.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Self, TypeAlias

import numpy as np

from credibly._arrays.checks import as_array, as_real, require_finite
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, require, require_type
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    beside,
    device,
    is_numpy,
    is_torch,
    like,
    namespace,
    to_host,
)
from credibly.predictions.base import ClassPredictions, OverClasses, Predictions
from credibly.predictions.confidence import Confidence, outcomes_of
from credibly.predictions.joining import aligned
from credibly.predictions.label_checks import (
    NAMED_CLASSES,
    NUMBERS,
    check_classes,
    require_label_vector,
    require_same_length,
    whole_numbers,
)
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.label_reading import (
    from_table,
    label_values,
    named_classes,
    numbered_classes,
    truth_values,
    without_axis,
    without_signs,
)
from credibly.predictions.point import Point


class _Batch:
    """What all batches share: `values` (b, n, ...) and optional `weights`, (b, n) or (1, n)."""

    values: Array
    weights: Array | None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n(self) -> int:
        """Number of instances."""
        return int(self.values.shape[1])

    def rows(self, rows: slice) -> Self:
        """Return the same replicates of some instances."""
        weights = None if self.weights is None else self.weights[:, rows]
        values = self.values[:, rows, ...]
        return dataclasses.replace(self, values=values, weights=weights)  # type: ignore[type-var]

    def take(self, rows: Array) -> Self:
        """Return the labels of some rows, by their numbers."""
        xp = namespace(self.values)
        weights = None if self.weights is None else xp.take(self.weights, rows, axis=1)
        values = xp.take(self.values, rows, axis=1)
        return dataclasses.replace(self, values=values, weights=weights)  # type: ignore[type-var]

    def row_weights(self) -> HostArray:
        """Return the weights of the instances of one label vector, (n,), on the host; 1 without weights."""
        return np.ones(self.n) if self.weights is None else np.asarray(to_host(self.weights)[0])

    def _weighted(self, tile: Array, rows: slice, reps: slice) -> Array:
        """Multiply a tile (reps, rows, k) by the weights of its instances."""
        if self.weights is None:
            return tile
        weights = self.weights[reps, rows] if self.weights.shape[0] > 1 else self.weights[:, rows]
        return tile * weights[:, :, None]


@dataclasses.dataclass(frozen=True)
class Classes(_Batch):
    """A batch of label vectors: `values` (b, n) of small integers."""

    values: Array
    n_classes: int
    weights: Array | None = None

    def shares(self, rows: slice = slice(None), reps: slice = slice(None)) -> Array:
        """Return one-hot labels (reps, rows, k) of one tile, times the weights."""
        xp = namespace(self.values)
        tile = self.values[reps, rows]
        classes = xp.arange(self.n_classes, dtype=tile.dtype, device=device(tile))
        return self._weighted(xp.astype(tile[:, :, None] == classes, xp.float64), rows, reps)


@dataclasses.dataclass(frozen=True)
class Counts(_Batch):
    """A batch of label histograms: `values` (b, n, k)."""

    values: Array
    weights: Array | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.values.shape[2])

    def shares(self, rows: slice = slice(None), reps: slice = slice(None)) -> Array:
        """Return label frequencies (reps, rows, k) of one tile, times the weights."""
        xp = namespace(self.values)
        tile = xp.astype(self.values[reps, rows, :], xp.float64)
        return self._weighted(tile / xp.sum(tile, axis=-1, keepdims=True), rows, reps)


@dataclasses.dataclass(frozen=True)
class Reals(_Batch):
    """A batch of real observations: `values` (b, n)."""

    values: Array
    weights: Array | None = None


Labels: TypeAlias = Classes | Counts | Reals


def as_labels(
    predictions: Predictions, labels: Any, sample_weight: Any = None, *, some_rows: bool = False
) -> Labels:
    """Check labels against predictions and return them as a batch of one (or of the given rows).

    With `some_rows`, all weights may be 0, since other chunks may have positive ones.
    """
    if isinstance(labels, (Classes, Counts, Reals)):
        return labels
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, predictions)
        if not some_rows and not bool(namespace(weights).any(weights > 0)):
            raise no_weight()
    if isinstance(labels, LabelCounts):
        require_same_length(predictions, labels.counts, "label counts")
        if not isinstance(predictions, OverClasses):
            raise UnsupportedError(
                "label counts",
                "are about classes",
                f"got predictions of a real value, {type(predictions).__name__}",
                "Pass one number per instance.",
            )
        if labels.n_classes != predictions.n_classes:
            raise InputError(
                "label counts",
                f"must have {predictions.n_classes} classes like the predictions",
                f"got {labels.n_classes}",
                "Add empty columns for classes no rater chose.",
            )
        namespace(predictions._leading, labels.counts)
        return Counts(labels.counts[None, ...], weights)
    require_type(
        not isinstance(labels, Predictions),
        "must be what was observed",
        "Pass predictions first, then labels: `f(predictions, labels)`.",
        labels=labels,
    )
    k = predictions.n_classes if isinstance(predictions, OverClasses) else None
    array = labels
    if not _is_literal(predictions, labels):
        labels, _ = read_labels(predictions, labels)
        if isinstance(labels, LabelCounts):
            return as_labels(predictions, labels, sample_weight, some_rows=some_rows)
        array = beside(_numbers(labels, k), labels, predictions._leading)
    require_label_vector(predictions, array)
    if k is not None:
        return Classes(check_classes(array, k)[None, :], k, weights)
    reals = as_real(array, "labels")
    require_finite(reals, "labels")
    return Reals(as_float64(reals)[None, :], weights)


def read_labels(
    predictions: Predictions, labels: Any, *, columns: Any = None, ordered: bool = False
) -> tuple[Any, tuple[str, ...]]:
    """Return labels as class indices, counts or numbers, and in words every reading that is not literal.

    Parameters
    ----------
    predictions : Predictions
        With the names of their classes and rows, where they have some.
    labels : array, series, categories, list, LabelCounts or Labels
        What was observed, as a user keeps it; batches and counts are returned as they are.
    columns : sequence of str, optional
        Names of the columns of labels that are a table.
    ordered : bool
        Whether the names of the classes were given in the order of the labels.

    Returns
    -------
    labels : array or LabelCounts
        Not yet checked against the number of rows and classes.
    notes : tuple of str
        What was read.
    """
    if isinstance(labels, (Classes, Counts, Reals, Predictions)):
        return labels, ()
    if _is_literal(predictions, labels):
        return labels, ()
    labels, notes_on_ids = aligned(labels, predictions.index, "labels")
    if isinstance(predictions, Confidence):
        labels = outcomes_of(labels)
    notes, values = [*notes_on_ids], label_values(labels)
    if is_torch(values) and is_numpy(predictions._leading):
        values = to_host(as_array(values, "labels"))
    if not isinstance(predictions, OverClasses):
        return _beside(without_axis(values, None, notes), predictions), tuple(notes)
    k, names = predictions.n_classes, predictions.classes
    text = is_numpy(values) and values.dtype.kind == "U"
    array = values if text else _numbers(values, k)
    array = without_axis(array, k, notes)
    if array.ndim == 2 and is_numpy(array) and array.shape[0] == len(predictions):
        array = from_table(array, columns, k, names, notes)
    if isinstance(array, LabelCounts) or array.ndim != 1 or array.shape[0] == 0:
        return array, tuple(notes)
    if text and names is None:
        array = truth_values(array, notes)
        text = array.dtype.kind == "U"
    if text:
        return _beside(named_classes(array, names, notes), predictions), tuple(notes)
    if k > 2 and namespace(array).isdtype(array.dtype, "bool"):
        raise InputTypeError(
            "`labels`",
            f"must be classes from 0 to {k - 1}",
            "got True and False, as if they say whether each prediction was right",
            "Pass the observed classes.",
        )
    array = whole_numbers(array, notes)
    if k == 2 and names is None:
        array = without_signs(array, notes)
    if is_numpy(array) and array.dtype.kind == "b" and set(names or ()) == {"True", "False"}:
        array = named_classes(array.astype(np.str_), names, notes)
    elif is_numpy(array):
        array = numbered_classes(array, names, notes, ordered=ordered)
    return _beside(array, predictions), tuple(notes)


def _numbers(labels: Any, k: int | None) -> Array:
    """Return labels that are no text as an array of numbers."""
    remedy = NUMBERS if k is None else NAMED_CLASSES
    if labels is None:
        remedy = "Pass what was observed, or the name of its column or file: `f(predictions, labels)`."
    return as_array(labels, "labels", remedy)


def _is_literal(predictions: Predictions, labels: Any) -> bool:
    """Tell whether both are NumPy arrays, and labels of the type that is counted or compared."""
    if type(labels) is not np.ndarray or labels.ndim != 1 or predictions.classes is not None:
        return False
    literal = np.int64 if isinstance(predictions, OverClasses) else np.float64
    if labels.dtype != literal or not is_numpy(predictions._leading):
        return False
    two = isinstance(predictions, OverClasses) and predictions.n_classes == 2
    return not (two and labels.size and labels.min() < 0)  # -1 and 1 are a reading


def _beside(labels: Any, predictions: Predictions) -> Any:
    """Return labels where the predictions are: NumPy labels of tensors, labels on another device."""
    leading = predictions._leading
    if is_numpy(labels) and labels.dtype.kind in "fiub" and not is_numpy(leading):
        return like(labels, leading)
    if is_torch(labels) and is_torch(leading) and labels.device != leading.device:
        return labels.to(leading.device)
    return labels


def check_sample_weight(sample_weight: Any, predictions: Predictions) -> Array:
    """Return instance weights as (1, n), finite and non-negative."""
    weights = as_real(aligned(sample_weight, predictions.index, "sample_weight")[0], "sample_weight")
    weights = beside(weights, sample_weight, predictions._leading, what="predictions and `sample_weight`")
    require(weights.ndim == 1, "must have shape (n,)", "Flatten it.", sample_weight=weights)
    require_same_length(predictions, weights, "`sample_weight`")
    require_finite(weights, "sample_weight")
    xp = namespace(weights)
    if bool(xp.any(weights < 0)):
        raise _wrong_weight(f"got minimum {float(xp.min(weights)):.6g}")
    weights = as_float64(weights)
    largest = float(xp.max(weights)) if weights.shape[0] else 1.0
    if largest > 1e100 or 0 < largest < 1e-100:  # sums of them would overflow, or their products vanish
        weights = weights / largest
    return weights[None, :]


def no_weight() -> InputError:
    """Return the error if all weights are 0."""
    return _wrong_weight("all are 0")


def _wrong_weight(got: str) -> InputError:
    return InputError(
        "`sample_weight`",
        "must be non-negative with a positive sum",
        got,
        "Drop the instances that must not count.",
    )


def one_distribution(predictions: Predictions) -> tuple[Predictions, tuple[str, ...]]:
    """Return what sums over instances need: the mean of class predictions, others as they are; and notes."""
    return (
        as_point(predictions)
        if isinstance(predictions, ClassPredictions)
        else (predictions, predictions.notes)
    )


def as_point(predictions: Predictions) -> tuple[Point, tuple[str, ...]]:
    """Return the one distribution per instance and the note that says how it was made."""
    if isinstance(predictions, Point):
        return predictions, predictions.notes
    if isinstance(predictions, ClassPredictions):
        return predictions.mean(), (*predictions.notes, predictions.mean_note)
    raise InputTypeError(
        "predictions",
        "must be over classes",
        f"got {type(predictions).__name__}",
        "Use a statistic for real-valued predictions.",
    )
