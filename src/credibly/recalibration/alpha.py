"""Alpha-calibration: keep the mean, learn how far the raters' distribution spreads around it.

    alpha = alpha0 z,   alpha0 = exp(w . u + b)
    minimise the mean over instances of -log P(y | alpha) + penalty (log alpha0)^2

Mimori et al. 2021 (D21), Dirichlet-multinomial likelihood of an instance's labels; members of an ensemble
become members of a mixture of Dirichlets (eq. 51), and the concentrations of a Dirichlet are multiplied by
alpha0. Finite alpha0 can only lower the predicted disagreement between raters: where a model predicts too
little of it, its mean is recalibrated first (``TemperatureScaling().then(AlphaCalibration())``).
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, one_of
from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, Point
from credibly.recalibration.base import Recalibration
from credibly.recalibration.counts_likelihood import CountsLikelihood
from credibly.recalibration.fitting import Convergence, FitData, checked
from credibly.recalibration.heads import (
    centre_and_scale,
    check_features,
    forward,
    n_parameters,
    standardised,
    train,
)
from credibly.recalibration.optima import minimum
from credibly.recalibration.penalties import (
    Folds,
    check_penalty,
    choose_penalty,
    fold_members,
)
from credibly.recalibration.scores import IMPOSSIBLE, Scores, mean_scores, scores_of

HostArray = np.ndarray[Any, Any]
Head = Literal["scalar", "linear", "neural"]

_NO_SPREAD = "raters scatter no more than independent draws from the mean: the best alpha0 is infinite"


@dataclasses.dataclass(eq=False)
class AlphaCalibration(Recalibration):
    """Learn the concentration of a Dirichlet around predictions that stay as they are.

    Parameters
    ----------
    head : {"scalar", "linear", "neural"}, optional
        How alpha0 depends on the instance: not at all, log-linearly in features, or through a small network
        (needs the torch extra to fit, not to apply). Linear where features are given to `fit`, else scalar.
    penalty : float or "cv"
        Factor of (log alpha0)^2; "cv" chooses from `penalties` by held-out likelihood.
    penalties : tuple of float
        The grid.
    folds : int or "split"
        Folds of the choice; "split" holds out one fifth once.
    hidden : tuple of int
        Units of the hidden layers of the neural head.
    rng : int
        Seed of the folds and of the network.

    Attributes
    ----------
    parameters : ndarray
        Set by `fit`; `alpha0` gives the concentrations.
    chosen_penalty : float
        The penalty of the fit.
    cv_losses : ndarray or None
        Held-out losses of the grid.
    convergence : Convergence
        How the fit ended.

    Notes
    -----
    Linear and neural heads without features use the log-probabilities of the predicted mean. Single labels
    say nothing about alpha0 and are refused.

    References
    ----------
    Mimori et al., *Diagnostic uncertainty calibration*, AISTATS 2021.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.dirichlet(np.ones(3), size=2000)
    >>> truth = cr.Dirichlet(5 * mean).sample(1, rng=1).probs[:, 0]
    >>> counts = cr.LabelCounts(rng.multinomial(10, truth))
    >>> alpha = cr.AlphaCalibration().fit(mean, counts)
    >>> 4.5 < alpha.alpha0(mean)[0] < 5.5
    np.True_
    >>> alpha.apply(mean)  # doctest: +SKIP
    Dirichlet(n=2000, k=3, dtype=float64, 2 notes)
    """

    head: Head | None = None
    penalty: float | Literal["cv"] = 0.005
    penalties: tuple[float, ...] = (0.0005, 0.005, 0.05)
    folds: Folds = 5
    hidden: tuple[int, ...] = (16, 16)
    rng: int = 0
    parameters: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    sizes: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    feature_centre: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    feature_scale: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    own_features: bool | None = dataclasses.field(default=None, init=False, repr=False)
    chosen_penalty: float | None = dataclasses.field(default=None, init=False)
    cv_losses: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    method: ClassVar[str] = "alpha"
    learned: ClassVar[tuple[str, ...]] = (
        "parameters",
        "sizes",
        "feature_centre",
        "feature_scale",
        "own_features",
        "chosen_penalty",
        "cv_losses",
    )
    takes_features: ClassVar[bool] = True
    changes_mean: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of("`head`", self.head, (None, "scalar", "linear", "neural"))
        check_penalty(self.penalty, self.penalties, self.folds)

    def describe(self) -> str:
        """Return the kind of head in words."""
        sizes = self._layers
        if sizes[0] == 0:
            assert self.parameters is not None
            return f"AlphaCalibration, alpha0 = {float(np.exp(self.parameters[0])):.4g}"
        kind = "linear" if len(sizes) == 2 else "neural"
        return f"AlphaCalibration, {kind} in {sizes[0]} features"

    def alpha0(self, predictions: Any, features: Any = None) -> Array:
        """Return the concentration of every instance (the factor, for Dirichlet predictions).

        Parameters
        ----------
        predictions : Predictions or array
            What the model says.
        features : array (n, d), optional
            The features, where the fit had some.

        Returns
        -------
        array (n,)
            alpha0.
        """
        self._require_fitted()
        given = checked(predictions)
        return namespace(given._leading).exp(self._log_alpha0(given, features))

    def _log_alpha0(self, predictions: ClassPredictions, features: Any) -> Array:
        assert self.feature_centre is not None and self.feature_scale is not None
        width = self._layers[0]
        inputs = self._features(predictions, features, width)
        inputs = standardised(inputs, self.feature_centre, self.feature_scale)
        return forward(inputs, like(self.parameters, inputs), self._layers)

    def _features(self, predictions: ClassPredictions, features: Any, width: int | None) -> Array:
        """Return the features given, the log-probabilities of the mean, or none at all."""
        leading = predictions._leading
        if width == 0:
            if features is not None:
                raise InputError(
                    "`features`", "were not used by the fit", "got some", "Leave them out, or fit with them."
                )
            return as_float64(leading).reshape(len(predictions), -1)[:, :0]
        if features is None:
            if self.own_features:
                raise InputError(
                    "`features`",
                    f"must be given: the fit used {width} of them",
                    "got none",
                    "Pass the features of these instances.",
                )
            return _log_probabilities(predictions)
        if width is not None and not self.own_features:
            raise InputError(
                "`features`",
                "were not used by the fit, which took log-probabilities",
                "got some",
                "Leave them out, or fit with them.",
            )
        return check_features(features, leading, width)

    @property
    def _layers(self) -> tuple[int, ...]:
        assert self.sizes is not None
        return tuple(int(size) for size in self.sizes)

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        head = self.head or ("scalar" if features is None else "linear")
        if head == "scalar" and features is not None:
            raise InputError(
                "`features`", 'are not used with head="scalar"', "got some", 'Use head="linear".'
            )
        likelihood, share, rows = _likelihood(data)
        self.own_features = features is not None
        inputs = self._features(data.predictions, features, 0 if head == "scalar" else None)
        self.feature_centre, self.feature_scale = centre_and_scale(inputs)
        host = to_host(standardised(inputs, self.feature_centre, self.feature_scale))[rows]
        hidden = self.hidden if head == "neural" else ()
        self.sizes = np.array([host.shape[1], *hidden, 1])
        fitted = _Head(likelihood, share, host, self._layers, self.rng)
        self.cv_losses = None
        if self.penalty == "cv":
            self.chosen_penalty, self.cv_losses = choose_penalty(
                fitted.held_out, len(host), self.penalties, self.folds, self.rng
            )
        else:
            self.chosen_penalty = float(self.penalty)
        self.parameters, ended = fitted.fit(self.chosen_penalty)
        outputs = forward(host, self.parameters, self._layers)
        before, after = likelihood.limit(), likelihood(outputs)[0]
        return Convergence(loss_before=-float(share @ before), loss_after=-float(share @ after), **ended)

    def _map(self, predictions: ClassPredictions, features: Array | None) -> ClassPredictions:
        _require_equal_weights(predictions)
        base = _base(predictions)
        xp = namespace(base)
        scale = xp.exp(self._log_alpha0(predictions, features))
        alpha = base * (scale[:, None] if base.ndim == 2 else scale[:, None, None])
        alpha = xp.clip(alpha, float(xp.finfo(alpha.dtype).smallest_normal), None)  # 0 is no parameter
        made = Dirichlet(alpha, member_axis=1 if alpha.ndim == 3 else None)
        note = f"spread by {self.describe()} (fitted on {self.n} instances); the mean is as it was"
        made._set(notes=(*predictions.notes, note))
        return made


@dataclasses.dataclass(frozen=True)
class _Head:
    """A head on its way: likelihood, weights and standardised features of some instances."""

    likelihood: CountsLikelihood
    share: HostArray
    features: HostArray
    sizes: tuple[int, ...]
    rng: int

    def part(self, rows: HostArray) -> _Head:
        """Return the same for some of the instances, whose shares sum to 1 again."""
        share = self.share[rows] / self.share[rows].sum()
        return dataclasses.replace(
            self, likelihood=self.likelihood.take(rows), share=share, features=self.features[rows]
        )

    def loss(self, factors: HostArray, penalty: float) -> tuple[float, HostArray]:
        """Return the penalised loss per instance and its derivative in every log alpha0."""
        value, slope = self.likelihood(factors)
        total = float(self.share @ (penalty * factors**2 - value))
        return total, self.share * (2 * penalty * factors - slope)

    def objective(self, parameters: HostArray, penalty: float) -> tuple[float, HostArray]:
        """Return the loss of a constant or linear head and its gradient."""
        loss, slope = self.loss(forward(self.features, parameters, self.sizes), penalty)
        return loss, np.append(self.features.T @ slope, slope.sum())

    def fit(self, penalty: float) -> tuple[HostArray, dict[str, Any]]:
        """Return the parameters and how the fit ended."""
        if len(self.sizes) > 2:
            held = fold_members(len(self.share), "split", self.rng)[0]
            inside, outside = self.part(np.setdiff1d(np.arange(len(self.share)), held)), self.part(held)
            return train(
                (inside.features, lambda outputs: inside.loss(outputs, penalty)),
                (outside.features, lambda outputs: outside.loss(outputs, penalty)),
                self.sizes,
                self.rng,
            )
        return minimum(
            lambda parameters: self.objective(parameters, penalty),
            np.zeros(n_parameters(self.sizes)),
            lambda parameters: forward(self.features, parameters, self.sizes),
            lambda: f"{_NO_SPREAD}; penalty {penalty:g}",
        )

    def held_out(self, penalty: float, kept: HostArray, held: HostArray) -> float:
        """Return the summed loss of rows that were not fitted."""
        parameters, _ = self.part(kept).fit(penalty)
        part = self.part(held)
        outputs = forward(part.features, parameters, self.sizes)
        return float(self.share[held].sum()) * part.loss(outputs, 0.0)[0]


def _likelihood(data: FitData) -> tuple[CountsLikelihood, HostArray, HostArray]:
    """Return the likelihood of the rows with weight, their shares, and which rows these are."""
    _require_equal_weights(data.predictions)
    counts = to_host(data.counts)
    weight = np.ones(len(counts)) if data.weight is None else to_host(data.weight)
    rows = np.flatnonzero(weight > 0)
    counts, weight = counts[rows] / weight[rows, None], weight[rows]
    if counts.sum(axis=1).max() < 2 - 1e-9:
        raise UnsupportedError(
            "`AlphaCalibration`",
            "needs several labels per instance: a single label is as likely under any alpha0",
            f"all {len(counts)} instances have one",
            "Give LabelCounts with at least two raters for some instances.",
        )
    base = to_host(_base(data.predictions))[rows]
    base = base[:, None, :] if base.ndim == 2 else base
    return CountsLikelihood(base, counts), weight / weight.sum(), rows


def _base(predictions: ClassPredictions) -> Array:
    """Return the parameters at alpha0 = 1; stored zeros are read as in `scores_of`."""
    if isinstance(predictions, Dirichlet):
        return as_float64(predictions.alpha)
    assert isinstance(predictions, (Point, Ensemble))
    probs = as_float64(predictions.probs)
    xp = namespace(probs)
    if predictions.logits is None and bool(xp.all(probs > 0)):
        return probs
    scores = scores_of(predictions)
    return xp.where(probs > 0, probs, xp.exp(_bounded(scores)))


def _bounded(scores: Scores) -> Array:
    """Return log-probabilities whose exponentials are positive in double precision."""
    xp = namespace(scores.values)
    return xp.clip(scores.values, -700.0, None)


def _log_probabilities(predictions: ClassPredictions) -> Array:
    """Return the log-probabilities of the mean as features."""
    values = scores_of(predictions).values
    weights = predictions.weights if isinstance(predictions, Ensemble) else None
    values = mean_scores(values, weights) if values.ndim == 3 else values
    if float(namespace(values).min(values)) < IMPOSSIBLE / 2:
        raise UnsupportedError(
            "log-probabilities as features",
            "must be finite",
            "some logits are -inf",
            "Give features of your own, or finite logits.",
        )
    return values


def _require_equal_weights(predictions: ClassPredictions) -> None:
    if isinstance(predictions, Ensemble) and predictions.weights is not None:
        raise UnsupportedError(
            "`AlphaCalibration`",
            "makes a mixture of Dirichlets with equal weights",
            "got an Ensemble with weights",
            "Use `predictions.mean()`, or an Ensemble of equally weighted draws.",
        )
