"""Vector and matrix scaling: p -> softmax(W log p + b), W diagonal or full.

    loss per label + penalty * Omega
    vector:  Omega = mean_c (w_c - 1)^2 + mean_c b_c^2
    matrix:  Omega = mean_{c != d} W_cd^2 + mean_c b_c^2        off-diagonals and intercepts (ODIR)

Guo et al. 2017; Kull et al. 2019; Mimori et al. 2021 (D21). Acting on log-probabilities, the map depends
neither on a constant added to the logits of an instance nor on whether logits or probabilities were stored.

The log loss of softmax(W z + b) per label, with its gradient and Hessian.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import (
    Array,
    HostArray,
    blas_threads,
    like,
    logsumexp,
    namespace,
    rows_within_budget,
    tiles,
)
from credibly._arrays.philox import made_with_rng
from credibly.predictions import ClassPredictions
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fitting import (
    PENALTIES,
    Convergence,
    FitData,
    Folds,
    Objective,
    check_penalty,
    choose_penalty,
    dense,
    diverging,
    minimum,
    newton_minimum,
    with_scores,
)
from credibly.recalibrate.scores import IMPOSSIBLE, scores_of


def mapped(z: Array, weights: Array, intercepts: Array) -> Array:
    """Return W z + b for rows (n, k), W a vector of the diagonal or a matrix."""
    moved = z * weights if weights.ndim == 1 else z @ namespace(weights).permute_dims(weights, (1, 0))
    return moved + intercepts


def loss_and_gradient(
    z: HostArray, counts: HostArray, weights: HostArray, intercepts: HostArray
) -> tuple[float, HostArray, HostArray]:
    """Return the loss per label and its gradients in weights and intercepts."""
    loss, slope_weights, slope_intercepts = 0.0, np.zeros(weights.shape), np.zeros(intercepts.shape)
    for rows in tiles(len(z), rows_within_budget(32 * z.shape[1], 0.25)):
        own, observed = z[rows], counts[rows]
        logs = mapped(own, weights, intercepts)
        logs -= logsumexp(logs)[:, None]
        loss -= float(np.vdot(observed, logs))
        residual = observed.sum(axis=-1, keepdims=True) * np.exp(logs) - observed
        slope_intercepts += residual.sum(axis=0)
        slope_weights += (residual * own).sum(axis=0) if weights.ndim == 1 else residual.T @ own
    total = float(counts.sum())
    return loss / total, slope_weights / total, slope_intercepts / total


def curvature(z: HostArray, counts: HostArray, weights: HostArray, intercepts: HostArray) -> HostArray:
    """Return the second derivatives of the loss per label in (weights, intercepts).

    The logit of class a has the derivatives phi = (z_a, 1), or (z, 1) with a matrix, so the Hessian is the
    sum over instances of N (diag(p) - p p') between classes times phi phi' between their parameters.
    """
    k = z.shape[1]
    size = weights.size + k
    total = np.zeros((size, size))
    for rows in tiles(len(z), rows_within_budget(8 * (size + 8 * k), 0.25)):
        own, number = z[rows], counts[rows].sum(axis=-1)
        logs = mapped(own, weights, intercepts)
        p = np.exp(logs - logsumexp(logs)[:, None])
        if weights.ndim == 1:
            slopes = np.concatenate([p * own, p], axis=1)
            for i, first in enumerate((own, 1.0)):
                for j, second in enumerate((own, 1.0)):
                    diagonal = (number[:, None] * p * first * second).sum(axis=0)
                    total[i * k : (i + 1) * k, j * k : (j + 1) * k] += np.diag(diagonal)
        else:
            slopes = np.concatenate([(p[:, :, None] * own[:, None, :]).reshape(len(own), -1), p], axis=1)
            whole = np.concatenate([own, np.ones((len(own), 1))], axis=1)
            for c in range(k):
                block = (whole * (number * p[:, c])[:, None]).T @ whole
                at = np.append(np.arange(c * k, (c + 1) * k), k * k + c)
                total[np.ix_(at, at)] += block
        total -= (slopes * number[:, None]).T @ slopes
    return total / float(counts.sum())


def why_diverging(counts: HostArray, penalty: float) -> str:
    """Say what makes a fit diverge."""
    absent = np.flatnonzero(counts.sum(axis=0) == 0)
    if absent.size:
        which = ", ".join(map(str, absent[:5])) + (", ..." if absent.size > 5 else "")
        return f"no label is of class {which}, penalty {penalty:g}"
    return f"the classes can be separated, penalty {penalty:g}"


_LARGEST_HESSIAN = 500
"""Parameters up to which Newton steps are taken: 21 classes of a matrix, 250 of a vector."""

_NO_LOSS = 1e-9


@dataclasses.dataclass(eq=False)
class AffineScaling(Recalibration):
    """What vector and matrix scaling share: settings, fit and map."""

    penalty: float | Literal["cv"] = "cv"
    penalties: tuple[float, ...] = PENALTIES
    folds: Folds = 5
    rng: int = 0
    weights: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    intercepts: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    chosen_penalty: float | None = dataclasses.field(default=None, init=False)
    cv_losses: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    learned: ClassVar[tuple[str, ...]] = ("weights", "intercepts", "chosen_penalty", "cv_losses")
    kinds: ClassVar[tuple[str, ...]] = ("Point", "Dirichlet")

    def __post_init__(self) -> None:
        check_penalty(self.penalty, self.penalties, self.folds)
        self.rng = require_integer(self.rng, "rng", 0)  # a setting that files can hold

    def describe(self) -> str:
        """Return the penalty in words."""
        return f"{type(self).__name__}, penalty {self.chosen_penalty:.3g}"

    @abstractmethod
    def _split(self, parameters: HostArray, k: int) -> tuple[HostArray, HostArray]:
        """Return weights and intercepts as views of the parameters."""

    @abstractmethod
    def _start(self, k: int) -> HostArray:
        """Return the parameters of the identity."""

    @abstractmethod
    def _penalty(self, weights: HostArray, intercepts: HostArray) -> tuple[float, HostArray, HostArray]:
        """Return Omega and its gradients in weights and intercepts."""

    @abstractmethod
    def _penalty_curvature(self, k: int) -> HostArray:
        """Return the second derivatives of Omega, one per parameter."""

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        k = self.n_classes or 0
        weights, intercepts = self._split(self._start(k), k)
        return {"weights": weights.shape, "intercepts": intercepts.shape}

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        z, counts = dense(data)
        if z.ndim == 3:
            raise UnsupportedError(
                f"`{type(self).__name__}`",
                "takes one distribution per instance",
                "got a Dirichlet with members",
                "Use TemperatureScaling, or `predictions.mean()`.",
            )
        if float(z.min()) < IMPOSSIBLE / 2:
            raise UnsupportedError(
                f"`{type(self).__name__}`",
                "needs finite logits",
                "some are -inf",
                "Use TemperatureScaling, which leaves impossible classes alone.",
            )
        self.cv_losses = None
        if self.penalty == "cv":
            self.chosen_penalty, self.cv_losses = choose_penalty(
                lambda penalty, kept, held: self._held_out(z, counts, penalty, kept, held),
                len(z),
                self.penalties,
                self.folds,
                self.rng,
            )
        else:
            self.chosen_penalty = float(self.penalty)
        found, ended = self._minimise(z, counts, self.chosen_penalty)
        k = z.shape[1]
        self.weights, self.intercepts = (part.copy() for part in self._split(found, k))
        losses = [loss_and_gradient(z, counts, *self._split(at, k))[0] for at in (self._start(k), found)]
        return Convergence(loss_before=losses[0], loss_after=losses[1], **ended)

    def _minimise(self, z: HostArray, counts: HostArray, penalty: float) -> tuple[HostArray, dict[str, Any]]:
        """Minimise by Newton steps, or by L-BFGS where the Hessian would be too large."""
        k = z.shape[1]
        objective, start = self.objective(z, counts, penalty), self._start(k)

        def logits(parameters: HostArray) -> HostArray:
            found = mapped(z, *self._split(parameters, k))
            centred: HostArray = found - found.max(axis=-1, keepdims=True)
            return centred

        def reason() -> str:
            return why_diverging(counts, penalty)

        def hessian(parameters: HostArray) -> HostArray:
            found = curvature(z, counts, *self._split(parameters, k))
            return found + penalty * np.diag(self._penalty_curvature(k))

        with blas_threads(1):  # many small products: threads would wait for each other
            if start.size > _LARGEST_HESSIAN:
                found, ended = minimum(objective, start, logits, reason)
            else:
                found, ended = newton_minimum(objective, hessian, start, logits, reason)
        held = penalty * self._penalty_curvature(k)[: start.size - k].min() > 0
        if not held and loss_and_gradient(z, counts, *self._split(found, k))[0] < _NO_LOSS:
            raise diverging(reason(), ended["gradient"], np.inf)  # larger weights would still lower the loss
        return found, ended

    def objective(self, z: HostArray, counts: HostArray, penalty: float) -> Objective:
        """Return the penalised loss per label and its gradient as a function of the parameters."""
        k = z.shape[1]

        def value(parameters: HostArray) -> tuple[float, HostArray]:
            weights, intercepts = self._split(parameters, k)
            loss, slope_weights, slope_intercepts = loss_and_gradient(z, counts, weights, intercepts)
            cost, cost_weights, cost_intercepts = self._penalty(weights, intercepts)
            slopes = (slope_weights + penalty * cost_weights, slope_intercepts + penalty * cost_intercepts)
            return loss + penalty * cost, np.concatenate([part.ravel() for part in slopes])

        return value

    def _held_out(
        self, z: HostArray, counts: HostArray, penalty: float, kept: HostArray, held: HostArray
    ) -> float:
        found, _ = self._minimise(z[kept], counts[kept], penalty)
        loss, _, _ = loss_and_gradient(z[held], counts[held], *self._split(found, z.shape[1]))
        return loss * float(counts[held].sum())

    def _map(self, predictions: ClassPredictions, features: Array | None) -> ClassPredictions:
        values = scores_of(predictions).values
        weights, intercepts = like(self.weights, values), like(self.intercepts, values)
        note = f"recalibrated by {self.describe()} (fitted on {self.n} instances)"
        return with_scores(predictions, mapped(values, weights, intercepts), note)


@made_with_rng
@dataclasses.dataclass(eq=False)
class VectorScaling(AffineScaling):
    """A weight and an intercept per class: softmax(w * log p + b).

    Parameters
    ----------
    penalty : float or "cv"
        Factor of the squared distance to the identity; "cv" chooses from `penalties` by held-out loss.
    penalties : tuple of float
        The grid.
    folds : int or "split"
        Folds of the choice; "split" holds out one fifth once, as D21 does.
    rng : int
        Seed of the folds.

    Attributes
    ----------
    weights, intercepts : ndarray (k,)
        Set by `fit`.
    chosen_penalty : float
        The penalty of the fit.
    cv_losses : ndarray or None
        Held-out losses of the grid.
    convergence : Convergence
        How the fit ended.

    References
    ----------
    Guo et al., *On calibration of modern neural networks*, ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=2000)
    >>> labels = (rng.random((2000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> biased = cr.Point.from_logits(np.log(probs) + [1.0, 0.0, 0.0])
    >>> scaling = cr.recalibrate.VectorScaling(penalty=0.001).fit(biased, labels)
    >>> bool(scaling.intercepts[0] < -0.3)
    True
    """

    method: ClassVar[str] = "vector"

    def _split(self, parameters: HostArray, k: int) -> tuple[HostArray, HostArray]:
        return parameters[:k], parameters[k:]

    def _start(self, k: int) -> HostArray:
        return np.concatenate([np.ones(k), np.zeros(k)])

    def _penalty(self, weights: HostArray, intercepts: HostArray) -> tuple[float, HostArray, HostArray]:
        off, k = weights - 1.0, len(weights)
        return float(off @ off + intercepts @ intercepts) / k, 2 * off / k, 2 * intercepts / k

    def _penalty_curvature(self, k: int) -> HostArray:
        return np.full(2 * k, 2.0 / k)


@made_with_rng
@dataclasses.dataclass(eq=False)
class MatrixScaling(AffineScaling):
    """A full matrix and intercepts: softmax(W log p + b), off-diagonals and intercepts penalised (ODIR).

    Parameters
    ----------
    penalty : float or "cv"
        Factor of the mean squares of off-diagonals and intercepts; "cv" chooses from `penalties`.
    penalties : tuple of float
        The grid.
    folds : int or "split"
        Folds of the choice; "split" holds out one fifth once, as D21 does.
    rng : int
        Seed of the folds.

    Attributes
    ----------
    weights : ndarray (k, k)
        Set by `fit`.
    intercepts : ndarray (k,)
        Set by `fit`.
    chosen_penalty : float
        The penalty of the fit.
    cv_losses : ndarray or None
        Held-out losses of the grid.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    The diagonal is free, so a class without labels has no finite best weight: such fits are refused.

    References
    ----------
    Kull et al., *Beyond temperature scaling*, NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=2000)
    >>> labels = (rng.random((2000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> scaling = cr.recalibrate.MatrixScaling(penalty=0.1).fit(
    ...     cr.Point.from_logits(2 * np.log(probs)), labels
    ... )
    >>> scaling.weights.shape
    (3, 3)
    """

    method: ClassVar[str] = "matrix"

    def _split(self, parameters: HostArray, k: int) -> tuple[HostArray, HostArray]:
        return parameters[: k * k].reshape(k, k), parameters[k * k :]

    def _start(self, k: int) -> HostArray:
        return np.concatenate([np.eye(k).ravel(), np.zeros(k)])

    def _penalty(self, weights: HostArray, intercepts: HostArray) -> tuple[float, HostArray, HostArray]:
        k = len(intercepts)
        off = weights - np.diag(np.diag(weights))
        pairs = k * (k - 1)
        cost = float((off * off).sum()) / pairs + float(intercepts @ intercepts) / k
        return cost, 2 * off / pairs, 2 * intercepts / k

    def _penalty_curvature(self, k: int) -> HostArray:
        off = (1.0 - np.eye(k)) * 2 / (k * (k - 1))
        return np.append(off.ravel(), np.full(k, 2.0 / k))
