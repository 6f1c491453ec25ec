"""What every fit starts from: log-probabilities, label counts and weights; and how it ended.

Choose a penalty by held-out loss.

Find a minimum, and tell it from a loss that only creeps towards one at infinity.

Data that can be separated, or a class without labels, leave a loss that falls like exp(-distance): its
gradient is small anywhere far out, but to make it smaller the outputs (logits) must keep moving, by one for
every factor of e. Near a finite minimum they stop.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import reprlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
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
from credibly._arrays.philox import as_seed
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
from credibly.predictions.prediction_sets import remedy_for
from credibly.recalibrate.scores import IMPOSSIBLE, Scores, classes_apart, scores_of, weights_of
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
        Loss on the data of the fit, as predicted and recalibrated: log loss per label; if the spread is
        fitted (`AlphaCalibration`), the negative log-likelihood of all labels of an instance; for real
        values, the CRPS.
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
        return digest_of(self.predictions)

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


@dataclasses.dataclass(frozen=True)
class Groups:
    """Groups of instances: names in order, and the number of each instance's name."""

    names: tuple[str, ...]
    codes: HostArray

    @classmethod
    def of(cls, groups: Any, n: int) -> Groups:
        """Return the groups of n instances; what is such an object already stays as it is."""
        if not isinstance(groups, Groups):
            values = np.asarray(to_host(groups) if hasattr(groups, "__array_namespace__") else groups)
            if values.shape == (n,):
                names, codes = np.unique(values.astype(str), return_inverse=True)
                return cls(tuple(map(str, names)), codes)
            shape = values.shape
        elif len(groups.codes) == n:
            return groups
        else:
            shape = groups.codes.shape
        raise InputError(
            "`groups`",
            f"must have one entry per prediction ({n})",
            f"got shape {shape}",
            "Check that both come from the same split.",
        )

    def take(self, rows: HostArray) -> Groups:
        """Return the groups of some instances; names that none of them has stay."""
        return Groups(self.names, self.codes[rows])


def checked(predictions: Any) -> ClassPredictions:
    """Return predictions that have log-probabilities; others are refused."""
    given = as_predictions(predictions)
    if not isinstance(given, ClassPredictions):
        raise InputTypeError(
            "this recalibration",
            "is defined for class predictions",
            f"got {type(given).__name__}",
            remedy_for(given, "Use `SpreadScaling`, `IsotonicRecalibration` or `QuantileShift`."),
        )
    return given


def fit_data(predictions: Any, labels: Any, sample_weight: Any = None) -> FitData:
    """Check predictions and labels, and bring labels into the form of counts."""
    predictions, labels = paired(predictions, labels)
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


def digest_of(predictions: Predictions) -> str:
    """Return a hash of the numbers in the predictions, whatever library and precision holds them."""
    total = hashlib.sha256(type(predictions).__name__.encode())
    weights = getattr(predictions, "weights", None)
    arrays = predictions.row_arrays() | ({} if weights is None else {"weights": weights})
    for name, own in arrays.items():
        array = np.ascontiguousarray(to_host(as_float64(own)))
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


Folds = int | Literal["split"]

P = TypeVar("P")

PENALTIES = (0.1, 1.0, 10.0)
"""The grid of D21."""


def check_penalty(
    penalty: float | str, penalties: Sequence[float], folds: Folds, subject: str = "`penalty`"
) -> None:
    """Raise unless the penalty is a number or is to be chosen from a grid."""
    several = isinstance(penalty, str) and penalty == "cv"
    numbers = (
        tuple(penalties) if isinstance(penalties, Sequence) and several else () if several else (penalty,)
    )
    if not numbers or not all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and 0 <= one < math.inf for one in numbers
    ):
        raise InputError(
            subject,
            'must be a number of at least 0, or "cv" with such numbers in `penalties`',
            f"got {reprlib.repr(penalty)} with {reprlib.repr(penalties)}",
            "Use 1.0, or leave it out.",
        )
    split = isinstance(folds, str) and folds == "split"
    if not split and (isinstance(folds, bool) or not isinstance(folds, int) or folds < 2):
        raise InputError(
            "`folds`",
            'must be an integer of at least 2, or "split"',
            f"got {folds!r}",
            "Use 5, or leave it out.",
        )


def fold_members(n: int, folds: Folds, rng: Any, clusters: HostArray | None = None) -> list[HostArray]:
    """Return the held-out rows of every fold, clusters whole; "split" holds out one fifth once."""
    if clusters is not None:
        _, codes = np.unique(clusters, return_inverse=True)
        parts = fold_members(int(codes.max()) + 1, folds, rng)
        return [np.flatnonzero(np.isin(codes, part)) for part in parts]
    number = 5 if folds == "split" else min(folds, n)
    if n < 2:
        raise UnsupportedError(
            "a penalty",
            "cannot be chosen from one instance",
            "got 1 instance",
            "Give the penalty as a number.",
        )
    order = np.random.default_rng(as_seed(rng)).permutation(n)
    parts = [np.sort(part) for part in np.array_split(order, number) if part.size]
    return parts[:1] if folds == "split" else parts


def choose_penalty(
    held_out_loss: Callable[[P, HostArray, HostArray], float],
    n: int,
    penalties: Sequence[P],
    folds: Folds,
    rng: Any,
    clusters: HostArray | None = None,
) -> tuple[P, HostArray]:
    """Return the penalty, or the tuple of them, with the smallest loss on held-out rows, and all losses.

    `held_out_loss(penalty, rows to fit, rows held out)` returns the summed loss over the labels held out; a
    fit that diverges counts as infinite.
    """
    parts = fold_members(n, folds, rng, clusters)
    losses = np.zeros(len(penalties))
    last = ""
    for held_out in parts:
        kept = np.setdiff1d(np.arange(n), held_out)
        for at, penalty in enumerate(penalties):
            try:
                losses[at] += held_out_loss(penalty, kept, held_out)
            except UnsupportedError as error:
                losses[at], last = math.inf, error.evidence
    if not np.isfinite(losses).any():
        raise UnsupportedError(
            "the penalty",
            "must keep the fit finite",
            f"with each of {tuple(penalties)!r} {last}",
            "Use more data, or a method with fewer parameters.",
        )
    return penalties[int(np.argmin(losses))], losses


Objective = Callable[[HostArray], tuple[float, HostArray]]

Outputs = Callable[[HostArray], HostArray]

_COARSE, _FINE = 1e-5, 1e-8  # largest entries of the gradient, between which outputs may move by

_MOVED = 1.0  # at most this much: a loss that creeps needs log 1000

_FLAT, _CREEPS = 1e-9, 0.05  # the same for Newton steps: gradient, and the last move

STILL, NEARLY_STILL = 1e-6, 1e-3  # a move this small ends the search; beside a warm start

_STEPS, _NEWTON_STEPS = 2000, 60

_SHORTEST = 1e-8

_LEAST_CURVATURE = 1e-30


def minimum(
    objective: Objective, start: HostArray, outputs: Outputs, reason: Callable[[], str]
) -> tuple[HostArray, dict[str, Any]]:
    """Minimise with L-BFGS; `reason` says why a fit may diverge."""
    from scipy.optimize import minimize

    def run(begin: HostArray, gradient: float) -> Any:
        options = {"gtol": gradient, "ftol": 0.0, "maxiter": _STEPS, "maxcor": 20, "maxls": 40}
        return minimize(objective, begin, jac=True, method="L-BFGS-B", options=options)

    coarse = run(start, _COARSE)
    fine = run(coarse.x, _FINE)
    moved = float(np.abs(outputs(fine.x) - outputs(coarse.x)).max())
    gradient = float(np.abs(fine.jac).max())
    if moved > _MOVED:
        raise diverging(reason(), gradient, moved)
    return fine.x, {
        "converged": gradient < 10 * _FINE,  # rounding may end the line search just above
        "n_iterations": int(coarse.nit + fine.nit),
        "gradient": gradient,
        "message": str(fine.message),
    }


def newton_minimum(
    objective: Objective,
    hessian: Callable[[HostArray], HostArray],
    start: HostArray,
    outputs: Outputs,
    reason: Callable[[], str],
    still: float = STILL,
) -> tuple[HostArray, dict[str, Any]]:
    """Minimise a convex function by Newton steps, halved until the loss falls; L-BFGS where none does.

    A step that moves outputs by less than `still` is the last.
    """
    at = start
    loss, gradient = objective(at)
    now = outputs(at)
    moved, step, steepest = np.inf, 0, float(np.abs(gradient).max())
    while step < _NEWTON_STEPS and moved > still:
        step += 1
        change = -_solved(hessian(at), gradient)
        slope = float(gradient @ change)
        share = 1.0
        new = objective(at + change)
        # near the minimum rounding alone may keep the loss from falling
        while not new[0] <= loss + 1e-4 * share * slope + 1e-15 * abs(loss):
            share /= 2
            if share < _SHORTEST:  # a saturated loss has no curvature to go by
                return minimum(objective, at, outputs, reason)
            new = objective(at + share * change)
        at = at + share * change
        loss, gradient = new
        before, now = now, outputs(at)
        moved, steepest = float(np.abs(now - before).max()), float(np.abs(gradient).max())
        if steepest < _FLAT and moved > _CREEPS:
            raise diverging(reason(), steepest, moved)
    if steepest > _COARSE and moved <= still:
        return minimum(objective, at, outputs, reason)
    return at, {
        "converged": steepest < 10 * _FINE,
        "n_iterations": step,
        "gradient": steepest,
        "message": "Newton steps",
    }


def _solved(hessian: HostArray, gradient: HostArray) -> HostArray:
    """Solve for the step; directions without curvature (a constant added to all logits) are left alone.

    Parameters are measured in units of their own curvature: one that creeps away has little of it left, and
    would be taken for a direction without any.
    """
    unit = np.sqrt(np.maximum(np.diag(hessian), _LEAST_CURVATURE))
    values, vectors = np.linalg.eigh(hessian / unit[:, None] / unit[None, :])
    curved = values > 1e-12
    along = vectors.T @ (gradient / unit)
    step: HostArray = vectors[:, curved] @ (along[curved] / values[curved]) / unit
    return step


def diverging(reason: str, gradient: float, moved: float) -> UnsupportedError:
    """Return the error about a fit without a finite optimum."""
    return UnsupportedError(
        "the fit",
        "must have a finite optimum",
        f"it diverges ({reason}): its gradient is {gradient:.1g} and its output still moves by {moved:.3g}",
        "Use a positive penalty, a method with fewer parameters, or more data.",
    )
