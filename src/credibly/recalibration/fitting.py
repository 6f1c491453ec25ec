"""What every fit starts from: log-probabilities, label counts and weights; and how it ended."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import warnings
from typing import Any

import numpy as np

from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, is_numpy, is_torch, namespace, to_host
from credibly._arrays.special import softmax
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Counts,
    Dirichlet,
    Ensemble,
    Predictions,
    as_labels,
    as_predictions,
    require_order,
)
from credibly.recalibration.scores import IMPOSSIBLE, Scores, classes_apart, scores_of
from credibly.results.base import Result


@dataclasses.dataclass(frozen=True)
class Convergence(Result):
    """How a fit ended.

    Attributes
    ----------
    converged : bool
        Whether the optimality condition holds to the tolerance.
    n_iterations : int
        Steps of the optimiser.
    gradient : float
        Largest entry of the gradient of the objective, per label, at the end.
    loss_before, loss_after : float
        Loss on the data of the fit, as predicted and recalibrated: log loss per label, or where the spread is
        fitted (`AlphaCalibration`) the negative log-likelihood of all labels of an instance.
    message : str
        What the optimiser said.
    """

    converged: bool
    n_iterations: int
    gradient: float
    loss_before: float
    loss_after: float
    message: str

    def warn(self, name: str) -> None:
        """Warn where the optimiser stopped early; the attributes keep the state it stopped in."""
        if not self.converged:
            warnings.warn(
                f"{name} did not converge after {self.n_iterations} steps ({self.message}; largest gradient "
                f"{self.gradient:.2g}): its parameters are not the optimum",
                UserWarning,
                stacklevel=3,
            )


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
        What was read into the data.
    """

    predictions: ClassPredictions
    scores: Scores
    counts: Array
    weight: Array | None
    notes: tuple[str, ...]

    @property
    def totals(self) -> Array:
        """Weight of all labels of an instance, (n,)."""
        return namespace(self.counts).sum(self.counts, axis=-1)

    @property
    def member_weights(self) -> Array | None:
        """Weights of the members; None where they are equal."""
        return self.predictions.weights if isinstance(self.predictions, Ensemble) else None


def checked(predictions: Any) -> ClassPredictions:
    """Return predictions that have log-probabilities; others are refused."""
    given = as_predictions(predictions)
    if not isinstance(given, ClassPredictions):
        raise InputTypeError(
            "recalibration",
            "is defined for class predictions",
            f"got {type(given).__name__}",
            "There is no recalibration of real-valued predictions in this version.",
        )
    return given


def fit_data(predictions: Any, labels: Any, sample_weight: Any = None) -> FitData:
    """Check predictions and labels, and bring labels into the form of counts."""
    require_order(predictions, labels)
    given = checked(predictions)
    scores = scores_of(given)
    if is_torch(scores.values):  # parameters are plain numbers: nothing goes backward through a fit
        scores = dataclasses.replace(scores, values=scores.values.detach())
    batch = as_labels(given, labels, sample_weight)
    assert isinstance(batch, (Classes, Counts))
    xp = namespace(batch.values)
    weight = None if batch.weights is None else batch.weights[0, :]
    if isinstance(batch, Classes) and is_numpy(batch.values):
        counts = np.zeros((batch.n, batch.n_classes), order="F")
        counts[np.arange(batch.n), batch.values[0]] = 1.0 if weight is None else weight
    elif isinstance(batch, Classes):
        counts = batch.block(slice(None), slice(None))[0, ...]
    else:
        counts = xp.astype(batch.values[0, ...], xp.float64)
        counts = counts if weight is None else counts * weight[:, None]
    counts = classes_apart(counts)
    _require_possible(scores, counts)
    return FitData(given, scores, counts, weight, (*given.notes, *scores.notes))


def _require_possible(scores: Scores, counts: Array) -> None:
    """Refuse labels of impossible classes; warn of labels whose probability is stored as 0."""
    values = scores.values
    xp = namespace(values)
    best = values if values.ndim == 2 else xp.max(values, axis=1)
    lowest = xp.min(best)
    if float(lowest) > max(scores.floor, IMPOSSIBLE / 2):
        return
    labelled = counts > 0
    if bool(xp.any(labelled & (best < IMPOSSIBLE / 2))):
        rows = int(xp.sum(xp.astype(xp.any(labelled & (best < IMPOSSIBLE / 2), axis=-1), xp.int64)))
        raise UnsupportedError(
            "recalibration",
            "cannot make an impossible class possible: its loss is infinite whatever the parameters",
            f"{rows} instances have a label whose logit is -inf, or 1e99 below the largest",
            "Drop these instances, or give finite logits.",
        )
    hidden = int(xp.sum(xp.astype(xp.any(labelled & (best <= scores.floor), axis=-1), xp.int64)))
    if hidden:
        warnings.warn(
            f"{hidden} instances have a label whose probability is stored as 0; it is read as "
            f"{math.exp(scores.floor):.2g}, and the fit depends on that number. Fit from logits instead: "
            "`from_logits` keeps them",
            UserWarning,
            stacklevel=4,
        )


def dense(data: FitData) -> tuple[HostArray, HostArray]:
    """Return log-probabilities and counts on the host: scipy's optimisers live there."""
    return to_host(data.scores.values), to_host(data.counts)


def digest_of(predictions: Predictions) -> str:
    """Return a hash of the numbers in the predictions, whatever library and precision holds them."""
    total = hashlib.sha256(type(predictions).__name__.encode())
    for name in predictions.row_fields:
        array = np.ascontiguousarray(to_host(as_float64(getattr(predictions, name))))
        total.update(f"{name}{array.shape}".encode())
        total.update(array.data)
    return total.hexdigest()[:16]


def with_scores(predictions: ClassPredictions, values: Array, note: str) -> ClassPredictions:
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
        made: ClassPredictions = Dirichlet(moved, member_axis=1 if moved.ndim == 3 else None)
    else:
        made = predictions.replace_rows(probs=probs, logits=values)
    made._set(notes=(*predictions.notes, note))
    return made
