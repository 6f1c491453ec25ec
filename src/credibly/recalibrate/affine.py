"""Vector and matrix scaling: u -> softmax(W u + b), W diagonal or full, u the logits.

    loss per label + Omega                                                                   D21 eq. 45-48
    vector:  Omega = lambda_b mean_c b_c^2 + lambda_w mean_c (w_c - 1)^2       lambda_w = 0 in D21 (eq. 47)
    matrix:  Omega = lambda_b mean_c b_c^2 + lambda_w mean_{c != d} W_cd^2     ODIR, eq. 48

Guo et al. 2017; Kull et al. 2019; Mimori et al. 2021 (D21). Where no logits were given, u are the
log-probabilities. The members of an ensemble share one map, which is fitted to each member's own loss.
"""

from __future__ import annotations

import dataclasses
import itertools
from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    like,
    logsumexp,
    namespace,
    rows_within_budget,
    softmax,
    tiles,
    to_host,
)
from credibly._arrays.philox import made_with_rng
from credibly.predictions import ClassPredictions
from credibly.recalibrate.additive import PRIOR
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, with_scores
from credibly.recalibrate.folds import PENALTIES, Folds, check_penalty, choose_penalty
from credibly.recalibrate.learned import learned, recorded
from credibly.recalibrate.minimum import (
    NEARLY_STILL,
    STILL,
    Convergence,
    Ended,
    Objective,
    diverging,
    minimum,
    newton_minimum,
)
from credibly.recalibrate.scores import require_finite_logits, scores_of, shares_of


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
        logits, observed = z[rows], counts[rows]
        logs = mapped(logits, weights, intercepts)
        logs -= logsumexp(logs)[:, None]
        loss -= float(np.vdot(observed, logs))
        residual = observed.sum(axis=-1, keepdims=True) * np.exp(logs) - observed
        slope_intercepts += residual.sum(axis=0)
        slope_weights += (residual * logits).sum(axis=0) if weights.ndim == 1 else residual.T @ logits
    total = float(counts.sum())
    return loss / total, slope_weights / total, slope_intercepts / total


def curvature(z: HostArray, counts: HostArray, weights: HostArray, intercepts: HostArray) -> HostArray:
    """Return the second derivatives of the loss per label in (weights, intercepts).

    The logit of class a has the derivatives phi = (z_a, 1), or (z, 1) with a matrix, so the Hessian is the
    sum over instances of N (diag(p) - p p') between classes times phi phi' between their parameters. With a
    matrix, phi is the same for all classes: one product of all pairs of classes with all pairs of entries.
    """
    k = z.shape[1]
    matrix = weights.ndim == 2
    (first_class, second_class), entries = np.triu_indices(k), np.triu_indices(k + 1)
    total = np.zeros((len(first_class), len(entries[0])) if matrix else (2 * k, 2 * k))
    for rows in tiles(len(z), max(1, 2 * CACHE_ELEMENTS // sum(total.shape))):
        logits, number = z[rows], counts[rows].sum(axis=-1)
        p = softmax(mapped(logits, weights, intercepts))
        if matrix:
            p, phi = p.T.copy(), np.concatenate([logits.T, np.ones((1, len(logits)))])
            between = -p[first_class] * p[second_class]
            between[first_class == second_class] += p
            total += (number * between) @ (phi[entries[0]] * phi[entries[1]]).T
            continue
        slopes = np.concatenate([p * logits, p], axis=1)
        for i, first in enumerate((logits, 1.0)):
            for j, second in enumerate((logits, 1.0)):
                diagonal = (number[:, None] * p * first * second).sum(axis=0)
                total[i * k : (i + 1) * k, j * k : (j + 1) * k] += np.diag(diagonal)
        total -= (slopes * number[:, None]).T @ slopes
    if matrix:
        hessian = np.empty((k, k, k + 1, k + 1))
        for first, second in ((first_class, second_class), (second_class, first_class)):
            for entry, another in (entries, entries[::-1]):
                hessian[first[:, None], second[:, None], entry, another] = total
        at = np.concatenate([np.arange(k * k).reshape(k, k), k * k + np.arange(k)[:, None]], axis=1)
        order = np.argsort(at.ravel())
        total = hessian.transpose(0, 2, 1, 3).reshape(order.size, -1)[np.ix_(order, order)]
    return total / float(counts.sum())


def why_diverging(counts: HostArray, penalties: tuple[float, float]) -> str:
    """Say what makes a fit diverge."""
    penalty = f"penalty {penalties[0]:g} of intercepts and {penalties[1]:g} of weights"
    absent = np.flatnonzero(counts.sum(axis=0) == 0)
    if absent.size:
        which = ", ".join(map(str, absent[:5])) + (", ..." if absent.size > 5 else "")
        return f"no label is of class {which}, {penalty}"
    return f"the classes can be separated, {penalty}"


_LARGEST_HESSIAN = 500
"""Parameters up to which Newton steps are taken: 21 classes of a matrix, 250 of a vector."""

_NO_LOSS = 1e-9

Penalties = tuple[float, float]
"""lambda_b of the intercepts and lambda_w of the weights."""


def inputs_of(predictions: ClassPredictions, zero: float | None = None) -> Array:
    """Return what the map acts on: logits where they were given, else log-probabilities."""
    logits = getattr(predictions, "logits", None)
    return scores_of(predictions, zero).values if logits is None else as_float64(logits)


def pooled(u: HostArray, counts: HostArray, shares: HostArray) -> tuple[HostArray, HostArray]:
    """Return members (n, m, k) as rows of their own, (n m, k), that carry their shares of the labels."""
    labels = counts[:, None, :] * shares[None, :, None]
    return u.reshape(-1, u.shape[-1]), labels.reshape(-1, u.shape[-1])


@dataclasses.dataclass(eq=False)
class AffineScaling(Recalibration):
    """What vector and matrix scaling share: settings, fit and map."""

    penalty: float | Literal["cv"] | None = "cv"
    weight_penalty: float | Literal["cv"] | None = None
    penalties: tuple[float, ...] = PENALTIES
    folds: Folds = 5
    rng: int = 0
    weights: HostArray = learned("k")
    intercepts: HostArray = learned("k")
    chosen_penalty: float | None = recorded(shown=True)
    chosen_weight_penalty: float | None = recorded(shown=True)
    cv_losses: HostArray | None = recorded()

    def __post_init__(self) -> None:
        check_penalty("cv" if self.penalty is None else self.penalty, self.penalties, self.folds)
        if self.weight_penalty is not None:
            check_penalty(self.weight_penalty, self.penalties, self.folds, "`weight_penalty`")
        self.rng = require_integer(self.rng, "rng", 0)  # a setting that files can hold

    def describe(self) -> str:
        """Return the penalties in words."""
        return (
            f"{type(self).__name__}, penalty {self.chosen_penalty:.3g} of intercepts and "
            f"{self.chosen_weight_penalty:.3g} of weights"
        )

    @abstractmethod
    def _identity(self, k: int) -> HostArray:
        """Return the weights that change nothing."""

    @abstractmethod
    def _penalised(self, k: int) -> HostArray:
        """Return 1 for every weight whose distance from the identity is penalised, and 0 for others."""

    def _split(self, parameters: HostArray, k: int) -> tuple[HostArray, HostArray]:
        """Return weights and intercepts as views of the parameters."""
        return parameters[:-k].reshape(self._identity(k).shape), parameters[-k:]

    def _start(self, k: int) -> HostArray:
        """Return the parameters of the identity."""
        return np.append(self._identity(k).ravel(), np.zeros(k))

    def _bends(self, k: int, penalties: Penalties) -> HostArray:
        """Return the second derivatives of Omega, one per parameter: it is quadratic around the identity."""
        of_intercepts, of_weights = penalties
        penalised = self._penalised(k).ravel()
        return np.append(penalised * 2 * of_weights / penalised.sum(), np.full(k, 2 * of_intercepts / k))

    @abstractmethod
    def _candidates(self, k: int, total: float) -> list[Penalties]:
        """Return the penalties to choose from, given the numbers of classes and labels."""

    def _grid(self, penalty: float | str) -> tuple[float, ...]:
        return tuple(map(float, self.penalties)) if penalty == "cv" else (float(penalty),)

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        remedy = "Use TemperatureScaling, which leaves impossible classes alone."
        require_finite_logits(data.scores.values, f"`{type(self).__name__}`", remedy)
        u, counts = to_host(inputs_of(data.predictions)), to_host(data.counts)
        m = 1 if u.ndim == 2 else u.shape[1]
        shares = shares_of(data.member_weights, m)
        candidates = self._candidates(u.shape[-1], float(counts.sum()))
        self.cv_losses, chosen = None, candidates[0]
        if len(candidates) > 1:
            fitted: tuple[HostArray | None, HostArray | None] = None, None

            def held_out(penalties: Penalties, kept: HostArray, left_out: HostArray) -> float:
                nonlocal fitted
                # the optimum of the last penalty on the same rows is near
                begin = fitted[1] if fitted[0] is kept else None
                parameters, _ = self._minimise(*pooled(u[kept], counts[kept], shares), penalties, begin)
                fitted = kept, parameters
                rows, labels = pooled(u[left_out], counts[left_out], shares)
                loss, _, _ = loss_and_gradient(rows, labels, *self._split(parameters, u.shape[-1]))
                return loss * float(labels.sum())

            chosen, self.cv_losses = choose_penalty(
                held_out, len(u), candidates, self.folds, self.rng, data.clusters
            )
        self.chosen_penalty, self.chosen_weight_penalty = chosen
        rows, labels = pooled(u, counts, shares)
        near, still = None, STILL
        if self._near is not None:
            near, still = np.concatenate([self._near.weights.ravel(), self._near.intercepts]), NEARLY_STILL
        best, ended = self._minimise(rows, labels, chosen, near, still)
        k = u.shape[-1]
        self.weights, self.intercepts = (part.copy() for part in self._split(best, k))
        losses = [loss_and_gradient(rows, labels, *self._split(at, k))[0] for at in (self._start(k), best)]
        return ended.with_losses(*losses)

    def _minimise(
        self,
        u: HostArray,
        counts: HostArray,
        penalties: Penalties,
        begin: HostArray | None = None,
        still: float = STILL,
    ) -> tuple[HostArray, Ended]:
        """Minimise by Newton steps, or by L-BFGS where the Hessian would be too large."""
        k = u.shape[1]
        objective, bends = self.objective(u, counts, penalties), self._bends(k, penalties)
        start = self._start(k) if begin is None else begin

        def logits(parameters: HostArray) -> HostArray:
            moved = mapped(u, *self._split(parameters, k))
            centred: HostArray = moved - moved.max(axis=-1, keepdims=True)
            return centred

        def reason() -> str:
            return why_diverging(counts, penalties)

        def hessian(parameters: HostArray) -> HostArray:
            bend: HostArray = curvature(u, counts, *self._split(parameters, k)) + np.diag(bends)
            return bend

        if start.size > _LARGEST_HESSIAN:
            optimum, ended = minimum(objective, start, logits, reason)
        else:
            optimum, ended = newton_minimum(objective, hessian, start, logits, reason, still)
        penalised = bends[: start.size - k].min() > 0
        if not penalised and loss_and_gradient(u, counts, *self._split(optimum, k))[0] < _NO_LOSS:
            raise diverging(reason(), ended.gradient, np.inf)  # larger weights would still lower the loss
        return optimum, ended

    def objective(self, u: HostArray, counts: HostArray, penalties: Penalties) -> Objective:
        """Return the penalised loss per label and its gradient as a function of the parameters."""
        k = u.shape[1]
        start, bends = self._start(k), self._bends(k, penalties)

        def value(parameters: HostArray) -> tuple[float, HostArray]:
            loss, slope_weights, slope_intercepts = loss_and_gradient(u, counts, *self._split(parameters, k))
            off = parameters - start
            slope = np.concatenate([slope_weights.ravel(), slope_intercepts])
            return loss + float(bends @ off**2) / 2, slope + bends * off

        return value

    def _map(self, predictions: ClassPredictions, features: Array | None) -> ClassPredictions:
        values = inputs_of(predictions, self.zero)
        k = values.shape[-1]
        xp = namespace(values)
        weights, intercepts = like(self.weights, values), like(self.intercepts, values)
        moved = mapped(xp.reshape(values, (-1, k)), weights, intercepts)
        known = getattr(predictions, "logits", None) is not None
        note = self._note if known else f"{self._note}; no logits were given, so it acts on log-probabilities"
        return with_scores(predictions, xp.reshape(moved, values.shape), note)


@made_with_rng
@dataclasses.dataclass(eq=False)
class VectorScaling(AffineScaling):
    """A weight and an intercept per class: softmax(w * u + b), u the logits.

    Parameters
    ----------
    penalty : float or "cv", optional
        Factor lambda_b of the mean squared intercept, per label (D21 eq. 47); "cv" chooses from `penalties`
        by held-out loss. Default: a quarter of a nat per squared intercept of all labels together, which does
        not grow with the data: intercepts of rare classes are free if there are enough labels.
    weight_penalty : float or "cv", optional
        Factor of the mean squared distance of the weights from 1. Default: 0 if `penalty` is given, so the
        weights are free, as in D21; else half a nat per squared distance.
    penalties : tuple of float
        The grid.
    folds : int or "split"
        Folds for choosing the penalty; "split" holds out one fifth once, as D21 does.
    rng : int
        Seed of the folds.

    Attributes
    ----------
    weights, intercepts : ndarray (k,)
        Set by `fit`.
    chosen_penalty, chosen_weight_penalty : float
        The penalties of the fit.
    cv_losses : ndarray or None
        Held-out losses of the grid.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    Predictions without logits are mapped by their log-probabilities, and a note says so. The result differs,
    because a constant added to all logits of an instance is neutral only if all weights are equal. Members of
    an ensemble share one map, which is fitted to the loss of each member. Free weights have no finite optimum
    if a class has no labels: give a `weight_penalty` in that case.

    References
    ----------
    Guo et al., *On calibration of modern neural networks*, ICML 2017.
    Mimori et al., *Diagnostic uncertainty calibration*, 2021, eq. 45-47.

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

    penalty: float | Literal["cv"] | None = None
    method: ClassVar[str] = "vector"

    def _identity(self, k: int) -> HostArray:
        return np.ones(k)

    def _penalised(self, k: int) -> HostArray:
        return np.ones(k)

    def _candidates(self, k: int, total: float) -> list[Penalties]:
        unit = 0.5 * k / total  # one unit of ridge, shared by all labels, as a factor of a mean of squares
        penalty = PRIOR * unit if self.penalty is None else self.penalty
        free = unit if self.penalty is None else 0.0
        weight = free if self.weight_penalty is None else self.weight_penalty
        return list(itertools.product(self._grid(penalty), self._grid(weight)))


@made_with_rng
@dataclasses.dataclass(eq=False)
class MatrixScaling(AffineScaling):
    """A full matrix and intercepts: softmax(W u + b), off-diagonals and intercepts penalised (ODIR).

    Parameters
    ----------
    penalty : float or "cv"
        Factor lambda_b of the mean squared intercept (D21 eq. 48); "cv" chooses from `penalties`.
    weight_penalty : float or "cv", optional
        Factor lambda_w of the mean squared off-diagonal entry. Default: the same as `penalty`; if that is
        "cv", all pairs of the grid are tried.
    penalties : tuple of float
        The grid for both penalties.
    folds : int or "split"
        Folds for choosing the penalty; "split" holds out one fifth once, as D21 does.
    rng : int
        Seed of the folds.

    Attributes
    ----------
    weights : ndarray (k, k)
        Set by `fit`.
    intercepts : ndarray (k,)
        Set by `fit`.
    chosen_penalty, chosen_weight_penalty : float
        The penalties of the fit.
    cv_losses : ndarray or None
        Held-out losses of the pairs of penalties, that of intercepts first.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    The diagonal is not penalised, so the weight of a class without labels has no finite optimum: such fits
    are refused. Logits and members are treated as in `VectorScaling`.

    References
    ----------
    Kull et al., *Beyond temperature scaling*, NeurIPS 2019.
    Mimori et al., *Diagnostic uncertainty calibration*, 2021, eq. 45, 46 and 48.

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

    penalty: float | Literal["cv"] = "cv"
    weights: HostArray = learned("k", "k")
    method: ClassVar[str] = "matrix"

    def __post_init__(self) -> None:
        check_penalty(self.penalty, self.penalties, self.folds)
        super().__post_init__()

    def _identity(self, k: int) -> HostArray:
        return np.eye(k)

    def _penalised(self, k: int) -> HostArray:
        return 1.0 - np.eye(k)

    def _candidates(self, k: int, total: float) -> list[Penalties]:
        weight = self.penalty if self.weight_penalty is None else self.weight_penalty
        return list(itertools.product(self._grid(self.penalty), self._grid(weight)))
