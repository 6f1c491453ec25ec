"""What every fit of classes starts from: log-probabilities, label counts and weights."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import warnings
from typing import Any

import numpy as np

from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    is_numpy,
    is_torch,
    like,
    namespace,
    softmax,
    to_host,
)
from credibly._arrays.notes import counted
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Counts,
    Dirichlet,
    Predictions,
    as_labels,
    as_predictions,
    paired,
)
from credibly.predictions.prediction_sets import remedy_without_probs
from credibly.recalibrate.scores import IMPOSSIBLE, Scores, classes_apart, scores_of, weights_of


@dataclasses.dataclass(frozen=True)
class FitData:
    """Predictions and labels of a fit.

    Attributes
    ----------
    predictions : ClassPredictions
        Point, Ensemble or Dirichlet.
    scores : Scores
        Their log-probabilities.
    counts : array (n, k)
        Labels as counts, times the instance's weight, in double precision.
    weight : array (n,) or None
        Weights of the instances; None where all are 1.
    notes : tuple of str
        How the data were interpreted.
    clusters : ndarray (n,) or None
        Number of the cluster of every instance; None where all are independent.
    """

    predictions: ClassPredictions
    scores: Scores
    counts: Array
    weight: Array | None
    notes: tuple[str, ...]
    clusters: HostArray | None = None

    @property
    def totals(self) -> Array:
        """Weight of all labels of an instance, (n,)."""
        return namespace(self.counts).sum(self.counts, axis=-1)

    @property
    def member_weights(self) -> Array | None:
        """Weights of the members; None where they are equal."""
        return weights_of(self.predictions)

    @functools.cached_property
    def digest(self) -> str:
        """A hash of the predictions, computed once for all methods that are fitted to them."""
        return digest_of_predictions(self.predictions)

    def moved(self, predictions: ClassPredictions) -> FitData:
        """Return the same labels with other predictions, as the next step of a chain sees them."""
        return dataclasses.replace(self, predictions=predictions, scores=scores_of(predictions))

    def take(self, rows: HostArray) -> FitData:
        """Return some instances."""
        return dataclasses.replace(
            self,
            predictions=self.predictions[rows],
            scores=dataclasses.replace(self.scores, values=_taken(self.scores.values, rows)),
            counts=_taken(self.counts, rows),
            weight=None if self.weight is None else _taken(self.weight, rows),
            clusters=None if self.clusters is None else self.clusters[rows],
        )


def _taken(array: Array, rows: HostArray) -> Array:
    if is_numpy(array):
        return array.T[..., rows].T if array.ndim == 2 else array[rows]  # classes stay apart
    return namespace(array).take(array, like(rows, array), axis=0)


def checked(predictions: Any) -> ClassPredictions:
    """Return predictions that have log-probabilities; others are refused."""
    readable = as_predictions(predictions)
    if not isinstance(readable, ClassPredictions):
        raise InputTypeError(
            "this recalibration",
            "is defined for class predictions",
            f"got {type(readable).__name__}",
            remedy_without_probs(
                readable, "Use `SpreadScaling`, `IsotonicRecalibration` or `QuantileShift`."
            ),
        )
    return readable


def fit_data(predictions: Any, labels: Any, sample_weight: Any = None) -> FitData:
    """Check predictions and labels, and bring labels into the form of counts."""
    predictions, labels = paired(predictions, labels)
    readable = checked(predictions)
    scores = scores_of(readable)
    if is_torch(scores.values):  # parameters are plain numbers: nothing goes backward through a fit
        scores = dataclasses.replace(scores, values=scores.values.detach())
    batch = as_labels(readable, labels, sample_weight)
    assert isinstance(batch, (Classes, Counts))
    xp = namespace(batch.values)
    weight = None if batch.weights is None else batch.weights[0, :]
    if isinstance(batch, Classes) and is_numpy(batch.values):
        counts = np.zeros((batch.n, batch.n_classes), order="F")
        counts[np.arange(batch.n), batch.values[0]] = 1.0 if weight is None else weight
    elif isinstance(batch, Classes):
        counts = batch.shares()[0, ...]
    else:
        counts = xp.astype(batch.values[0, ...], xp.float64)
        counts = counts if weight is None else counts * weight[:, None]
    counts = classes_apart(counts)
    _require_possible(scores, counts)
    return FitData(readable, scores, counts, weight, (*readable.notes, *scores.notes))


def _require_possible(scores: Scores, counts: Array) -> None:
    """Refuse labels of impossible classes; warn of labels whose probability is stored as 0."""
    values = scores.values
    xp = namespace(values)
    best = values if values.ndim == 2 else xp.max(values, axis=1)
    lowest = xp.min(best)
    stored = scores.floor + 0.1  # rows sum to 1 up to rounding; a number that was stored is twice as large
    if float(lowest) > max(stored, IMPOSSIBLE / 2):
        return
    labelled = counts > 0
    if bool(xp.any(labelled & (best < IMPOSSIBLE / 2))):
        rows = int(xp.sum(xp.astype(xp.any(labelled & (best < IMPOSSIBLE / 2), axis=-1), xp.int64)))
        raise UnsupportedError(
            "recalibration",
            "cannot make an impossible class possible: the loss is infinite for all parameters",
            f"{counted(rows, 'instance has', 'instances have')} a label whose logit is -inf, or 1e99 below "
            "the largest",
            "Drop these instances, or give finite logits.",
        )
    hidden = int(xp.sum(xp.astype(xp.any(labelled & (best <= stored), axis=-1), xp.int64)))
    if hidden:
        warnings.warn(
            f"{counted(hidden, 'instance has', 'instances have')} a label whose probability is stored as 0; "
            f"it is read as {scores.zero:.2g}, and the fit depends on this number. Fit from "
            "logits instead: `from_logits` keeps them",
            UserWarning,
            stacklevel=4,
        )


def dense(data: FitData) -> tuple[HostArray, HostArray]:
    """Return log-probabilities and counts on the host: scipy's optimisers live there."""
    return to_host(data.scores.values), to_host(data.counts)


def digest_of_predictions(predictions: Predictions) -> str:
    """Return a hash of the numbers in the predictions, whatever library and precision holds them."""
    total = hashlib.sha256(type(predictions).__name__.encode())
    weights = getattr(predictions, "weights", None)
    arrays = predictions.row_arrays() | ({} if weights is None else {"weights": weights})
    for name, values in arrays.items():
        array = np.ascontiguousarray(to_host(as_float64(values)))
        total.update(f"{name}{array.shape}".encode())
        total.update(array.data)
    return total.hexdigest()[:16]


def with_scores(predictions: ClassPredictions, values: Array, *notes: str) -> ClassPredictions:
    """Return the same kind of prediction with other log-probabilities, which it keeps as logits.

    A Dirichlet keeps its concentration: only its mean moves.
    """
    if is_numpy(values):
        values = np.ascontiguousarray(values)  # as predictions are stored
    probs = softmax(values)
    if isinstance(predictions, Dirichlet):
        alpha = as_float64(predictions.alpha)
        xp = namespace(alpha)
        moved = probs * xp.sum(alpha, axis=-1, keepdims=True)
        moved = xp.clip(moved, float(xp.finfo(moved.dtype).smallest_normal), None)  # 0 is no parameter
        axis = 1 if moved.ndim == 3 else None
        made: ClassPredictions = Dirichlet(moved, member_axis=axis, weights=predictions.weights)
    else:
        made = predictions.replace_rows(probs=probs, logits=values)
    made._set(notes=(*predictions.notes, *notes))
    return made
