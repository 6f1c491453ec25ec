"""Alpha-calibration: keep the mean, learn how far the raters' distribution spreads around it.

    alpha = alpha0 z,   alpha0 = exp(w . u + b)
    minimise the mean over instances of -log P(y | alpha) + penalty (log alpha0)^2

The likelihood P of an instance's labels is Dirichlet-multinomial (`CountsLikelihood`). Members of an
ensemble become members of a mixture of Dirichlets (eq. 51 of D21 is what such a mixture predicts), each with
an alpha0 of its own if features differ by pass; the concentrations of a Dirichlet are multiplied by alpha0.
Finite alpha0 can only lower the predicted disagreement between raters: where a model predicts too little of
it, its mean is recalibrated first (``TemperatureScaling().then(AlphaCalibration())``).   Mimori et al. 2021.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import betaln, digamma, gammaln

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError, one_of, require, require_type
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly._arrays.philox import made_with_rng
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, Point
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, checked
from credibly.recalibrate.folds import Folds, check_penalty, choose_penalty, fold_members
from credibly.recalibrate.heads import (
    centre_and_scale,
    features_by_pass,
    forward,
    n_parameters,
    standardised,
    train,
)
from credibly.recalibrate.learned import learned, recorded, require_saved
from credibly.recalibrate.minimum import Convergence, Ended, minimum
from credibly.recalibrate.scores import mean_scores, require_finite_logits, scores_of, shares_of, weights_of

_NO_SPREAD = "raters vary no more than independent draws from the mean would: the best alpha0 is infinite"
_ALL_SPREAD = "the raters of every instance agree: the best alpha0 is 0"
_LEAVE_OUT = "Leave them out, or fit with them."
_FAR = 20.0

_LEAST_LOG = -700.0  # of a positive number in double precision


@dataclasses.dataclass(frozen=True)
class Head:
    """A head on its way: likelihood, weights and standardised features, (n, d) or (n, m, d)."""

    likelihood: CountsLikelihood
    share: HostArray
    features: HostArray
    sizes: tuple[int, ...]
    rng: int
    clusters: HostArray | None = None

    def part(self, rows: HostArray) -> Head:
        """Return the same for some of the instances, whose shares sum to 1 again."""
        share = self.share[rows] / self.share[rows].sum()
        together = None if self.clusters is None else self.clusters[rows]
        return dataclasses.replace(
            self,
            likelihood=self.likelihood.take(rows),
            share=share,
            features=self.features[rows],
            clusters=together,
        )

    def loss(self, factors: HostArray, penalty: float) -> tuple[float, HostArray]:
        """Return the penalised loss per instance and its derivative in every log alpha0."""
        value, slope = self.likelihood(factors)
        if factors.ndim == 1:
            total = float(self.share @ (penalty * factors**2 - value))
            return total, self.share * (2 * penalty * factors - slope)
        of_members = self.likelihood.shares
        total = float(self.share @ (penalty * factors**2 @ of_members - value))
        return total, self.share[:, None] * (2 * penalty * factors * of_members - slope)

    def objective(self, parameters: HostArray, penalty: float) -> tuple[float, HostArray]:
        """Return the loss of a constant or linear head and its gradient."""
        loss, slope = self.loss(forward(self.features, parameters, self.sizes), penalty)
        flat = self.features.reshape(slope.size, self.features.shape[-1])
        return loss, np.append(flat.T @ slope.ravel(), slope.sum())

    def ending(self) -> str:
        """Return which end of alpha0 the likelihood grows towards, in words."""
        near, far = (self.loss(np.full(self.likelihood.n, at), 0.0)[0] for at in (-_FAR, _FAR))
        return _ALL_SPREAD if near < far else _NO_SPREAD

    def fit(self, penalty: float) -> tuple[HostArray, Ended]:
        """Return the parameters and how the fit ended."""
        if len(self.sizes) > 2:
            rest = fold_members(len(self.share), "split", self.rng, self.clusters)[0]
            inside, outside = self.part(np.setdiff1d(np.arange(len(self.share)), rest)), self.part(rest)
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
            lambda: f"{self.ending()}; penalty {penalty:g}",
        )

    def held_out(self, penalty: float, kept: HostArray, left_out: HostArray) -> float:
        """Return the summed loss of rows that were not fitted."""
        parameters, _ = self.part(kept).fit(penalty)
        part = self.part(left_out)
        outputs = forward(part.features, parameters, self.sizes)
        return float(self.share[left_out].sum()) * part.loss(outputs, 0.0)[0]


def likelihood_of(data: FitData) -> tuple[CountsLikelihood, HostArray, HostArray, HostArray]:
    """Return the likelihood of rows and members with weight, shares of the rows, which rows and members."""
    counts = to_host(data.counts)
    weight = np.ones(len(counts)) if data.weight is None else to_host(data.weight)
    rows = np.flatnonzero(weight > 0)
    counts, weight = counts[rows] / weight[rows, None], weight[rows]
    if counts.sum(axis=1).max() < 2 - 1e-9:
        raise UnsupportedError(
            "`AlphaCalibration`",
            "needs several labels per instance: a single label is equally likely under any alpha0",
            f"all {len(counts)} instances have one",
            "Give LabelCounts with at least two raters for some instances.",
        )
    base = to_host(base_of(data.predictions))[rows]
    base = base[:, None, :] if base.ndim == 2 else base
    shares = shares_of(data.member_weights, base.shape[1])
    counted = shares > 0  # a member of weight 0 may be the likeliest
    likelihood = CountsLikelihood(base[:, counted], counts, shares[counted])
    return likelihood, weight / weight.sum(), rows, np.flatnonzero(counted)


def base_of(predictions: ClassPredictions, zero: float | None = None) -> Array:
    """Return the parameters at alpha0 = 1; stored zeros are read as in `scores_of`."""
    if isinstance(predictions, Dirichlet):
        return as_float64(predictions.alpha)
    assert isinstance(predictions, (Point, Ensemble))
    probs = as_float64(predictions.probs)
    xp = namespace(probs)
    if predictions.logits is None and bool(xp.all(probs > 0)):
        return probs
    logs = xp.clip(scores_of(predictions, zero).values, _LEAST_LOG, None)
    if predictions.logits is None:
        return xp.exp(logs)
    return xp.where(probs > 0, probs, xp.exp(logs))


def log_probabilities(predictions: ClassPredictions, zero: float | None = None) -> Array:
    """Return the log-probabilities of the mean as features."""
    values = scores_of(predictions, zero).values
    values = mean_scores(values, weights_of(predictions)) if values.ndim == 3 else values
    require_finite_logits(values, "a head of log-probabilities", "Give your own features, or finite logits.")
    return values


Kind = Literal["scalar", "linear", "neural"]


@made_with_rng
@dataclasses.dataclass(eq=False)
class AlphaCalibration(Recalibration):
    """Learn the concentration of a Dirichlet around predictions that stay unchanged.

    Parameters
    ----------
    head : {"scalar", "linear", "neural"}, optional
        How alpha0 depends on the instance: not at all, log-linearly in features, or through a small network
        (needs the torch extra to fit, not to apply). Default: linear if features are given to `fit`, else
        scalar.
    penalty : float or "cv"
        Factor of (log alpha0)^2; "cv" chooses from `penalties` by held-out likelihood.
    penalties : tuple of float
        The grid.
    folds : int or "split"
        Folds for choosing the penalty; "split" holds out one fifth once.
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
    Without features, linear and neural heads use the log-probabilities of the predicted mean. Features
    (n, m, d), such as those of dropout passes, give every member of an instance its own alpha0 (D21 eq. 51).
    Single labels carry no information about alpha0 and are refused.

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
    >>> alpha = cr.recalibrate.AlphaCalibration().fit(mean, counts)
    >>> 4.5 < alpha.alpha0(mean)[0] < 5.5
    np.True_
    >>> alpha.apply(mean[:100])
    Dirichlet(n=100, k=3, dtype=float64, 1 note)
    """

    head: Kind | None = None
    penalty: float | Literal["cv"] = 0.005
    penalties: tuple[float, ...] = (0.0005, 0.005, 0.05)
    folds: Folds = 5
    hidden: tuple[int, ...] = (16, 16)
    rng: int = 0
    parameters: HostArray = learned("p")
    sizes: HostArray = learned("l")
    feature_centre: HostArray = learned("d")
    feature_scale: HostArray = learned("d")
    own_features: bool | None = recorded()
    chosen_penalty: float | None = recorded(shown=True)
    cv_losses: HostArray | None = recorded()
    method: ClassVar[str] = "alpha"
    takes_features: ClassVar[bool] = True
    changes_mean: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of("`head`", self.head, (None, "scalar", "linear", "neural"))
        check_penalty(self.penalty, self.penalties, self.folds)
        self.rng = require_integer(self.rng, "rng", 0)
        several = isinstance(self.hidden, (tuple, list))
        require_type(several, "must be a tuple of layer sizes", "Try (16, 16).", hidden=self.hidden)
        self.hidden = tuple(require_integer(units, "hidden", 1) for units in self.hidden)

    def describe(self) -> str:
        """Return the kind of head in words."""
        sizes = self._layers
        if sizes[0] == 0:
            return f"AlphaCalibration, alpha0 = {float(np.exp(self.parameters[0])):.4g}"
        kind = "linear" if len(sizes) == 2 else "neural"
        return f"AlphaCalibration, {kind} in {sizes[0]} features"

    def alpha0(self, predictions: Any, *, features: Any = None) -> Array:
        """Return the concentration of every instance (for Dirichlet predictions, the factor).

        Parameters
        ----------
        predictions : Predictions or array
            What the model says.
        features : array (n, d) or (n, m, d), optional
            The features, if the fit used some.

        Returns
        -------
        array (n,) or (n, m)
            Positive numbers, by member if the features are.
        """
        self._require_fitted()
        class_predictions = checked(predictions)
        return namespace(class_predictions._leading).exp(self._log_alpha0(class_predictions, features))

    def _log_alpha0(self, predictions: ClassPredictions, features: Any) -> Array:
        width = self._layers[0]
        inputs = self._features(predictions, features, width)
        inputs = standardised(inputs, self.feature_centre, self.feature_scale)
        return forward(inputs, like(self.parameters, inputs), self._layers)

    def _features(self, predictions: ClassPredictions, features: Any, width: int | None) -> Array:
        """Return the features given, the log-probabilities of the mean, or none at all."""
        leading = predictions._leading
        if width == 0:
            require(features is None, "were not used by the fit", _LEAVE_OUT, features=features)
            return predictions.xp.reshape(as_float64(leading), (len(predictions), -1))[:, :0]
        if features is None:
            rule, remedy = (
                f"must be given: the fit used {width} features",
                "Pass the features of these instances.",
            )
            require(not self.own_features, rule, remedy, features=features)
            return log_probabilities(predictions, self.zero)
        used = width is None or self.own_features
        require(used, "were not used by the fit, which took log-probabilities", _LEAVE_OUT, features=features)
        return features_by_pass(features, predictions, width)

    @property
    def _layers(self) -> tuple[int, ...]:
        return tuple(int(size) for size in self.sizes)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        sizes = np.atleast_1d(np.asarray(self.sizes))
        sound = sizes.dtype.kind in "iuf" and sizes.size > 1 and sizes[0] >= 0 and (sizes[1:] >= 1).all()
        require_saved(sound, "the sizes of at least two layers", "sizes", self.sizes)
        width = (self._layers[0],)
        parameters = (n_parameters(self._layers),)
        return super()._shapes() | {"parameters": parameters, "feature_centre": width, "feature_scale": width}

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        head = self.head or ("scalar" if features is None else "linear")
        used = head != "scalar" or features is None
        require(used, 'are not used with head="scalar"', 'Use head="linear".', features=features)
        likelihood, share, rows, members = likelihood_of(data)
        self.own_features = features is not None
        inputs = self._features(data.predictions, features, 0 if head == "scalar" else None)
        self.feature_centre, self.feature_scale = centre_and_scale(inputs)
        host = to_host(standardised(inputs, self.feature_centre, self.feature_scale))[rows]
        host = host[:, members] if host.ndim == 3 else host
        hidden = self.hidden if head == "neural" else ()
        self.sizes = np.array([host.shape[-1], *hidden, 1])
        together = None if data.clusters is None else data.clusters[rows]
        fitted = Head(likelihood, share, host, self._layers, self.rng, together)
        self.cv_losses = None
        if self.penalty == "cv":
            grid = tuple(map(float, self.penalties))
            chosen, self.cv_losses = choose_penalty(
                fitted.held_out, len(host), grid, self.folds, self.rng, together
            )
        else:
            chosen = float(self.penalty)
        self.chosen_penalty = chosen
        self.parameters, ended = fitted.fit(chosen)
        outputs = forward(host, self.parameters, self._layers)
        before, after = likelihood.limit(), likelihood(outputs)[0]
        return ended.with_losses(-float(share @ before), -float(share @ after))

    def _map(self, predictions: ClassPredictions, features: Array | None) -> ClassPredictions:
        base = base_of(predictions, self.zero)
        xp = namespace(base)
        scale = xp.exp(self._log_alpha0(predictions, features))
        alpha = base * xp.reshape(scale, (*scale.shape, *(1,) * (base.ndim - scale.ndim)))
        alpha = xp.clip(alpha, float(xp.finfo(alpha.dtype).smallest_normal), None)  # 0 is no parameter
        made = Dirichlet(alpha, member_axis=1 if alpha.ndim == 3 else None, weights=weights_of(predictions))
        note = f"spread by {self.describe()} (fitted on {self.n} instances); the mean is unchanged"
        made._set(notes=(*predictions.notes, *made.notes, note))
        return made


_LARGE = 1e4


class CountsLikelihood:
    """Log-likelihood of label counts as a function of the log concentration factor of every instance.

        log P(y) = log G(A) - log G(A + N) + sum_k log G(a_k + y_k) - log G(a_k)
        a = exp(s) base,  A = sum_k a_k,  N = sum_k y_k

    and log of the mean over members if there are several (D21 App. D.2). The constant of the multinomial is
    left out. Differences of gammas are taken in forms that lose no digits for huge and for tiny parameters.

    Parameters
    ----------
    base : ndarray (n, m, k)
        Parameters at factor 1: probabilities, or the concentrations of Dirichlets.
    counts : ndarray (n, k)
        Labels of every instance, at least one each.
    shares : ndarray (m,)
        Weights of the members, positive and summing to 1.
    """

    def __init__(self, base: HostArray, counts: HostArray, shares: HostArray) -> None:
        self.n, self.shares = len(base), shares
        row, column = np.nonzero(counts)
        self.starts = np.searchsorted(row, np.arange(self.n))
        self.owner = row
        self.label_base, self.label_counts = base[row, :, column], counts[row, column][:, None]
        self.sums, self.totals = base.sum(axis=-1), counts.sum(axis=-1)[:, None]

    def __call__(self, factors: HostArray) -> tuple[HostArray, HostArray]:
        """Return log-likelihoods (n,) and their derivatives in the log factors s, (n,) or (n, m)."""
        scale = np.exp(factors).reshape(self.n, -1)
        whole = scale * self.sums
        labelled = scale[self.owner] * self.label_base
        value = np.add.reduceat(rise(labelled, self.label_counts), self.starts, axis=0)
        value -= rise(whole, self.totals)
        slope = np.add.reduceat(rise_slope(labelled, self.label_counts), self.starts, axis=0)
        slope -= rise_slope(whole, self.totals)
        top = value.max(axis=1, keepdims=True)
        shares = self.shares * np.exp(value - top)
        mass = shares.sum(axis=1, keepdims=True)
        slope = shares / mass * slope
        return top[:, 0] + np.log(mass[:, 0]), slope.sum(axis=1) if factors.ndim == 1 else slope

    def limit(self) -> HostArray:
        """Return the log-likelihoods without any spread, s -> infinity: raters draw from the mean itself."""
        logs = self.label_counts * np.log(self.label_base / self.sums[self.owner])
        value = np.add.reduceat(logs, self.starts, axis=0)
        top = value.max(axis=1, keepdims=True)
        mixed: HostArray = top[:, 0] + np.log(np.exp(value - top) @ self.shares)
        return mixed

    def take(self, rows: HostArray) -> CountsLikelihood:
        """Return the likelihood of some instances."""
        part = object.__new__(CountsLikelihood)
        part.n, part.shares = len(rows), self.shares
        ends = np.append(self.starts[1:], len(self.owner))
        lengths = (ends - self.starts)[rows]
        part.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
        part.owner = np.repeat(np.arange(len(rows)), lengths)
        entries = np.repeat(self.starts[rows] - part.starts, lengths) + np.arange(lengths.sum())
        part.label_base, part.label_counts = self.label_base[entries], self.label_counts[entries]
        part.sums, part.totals = self.sums[rows], self.totals[rows]
        return part


def rise(a: HostArray, y: HostArray) -> HostArray:
    """Return log G(a + y) - log G(a)."""
    value: HostArray = gammaln(y) - betaln(a, y)
    return value


def rise_slope(a: HostArray, y: HostArray) -> HostArray:
    """Return a (psi(a + y) - psi(a)), the derivative of `rise` in log a."""
    small = np.minimum(a, _LARGE)
    exact = 1.0 + small * (digamma(small + y) - digamma(small + 1.0))
    large = np.maximum(a, _LARGE)
    return np.where(a < _LARGE, exact, large * np.log1p(y / (large - 0.5)))
