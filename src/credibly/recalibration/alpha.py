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

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly.predictions import ClassPredictions, Dirichlet
from credibly.recalibration.alpha_fit import (
    Head,
    base_of,
    likelihood_of,
    log_probabilities,
    require_equal_weights,
)
from credibly.recalibration.base import Recalibration
from credibly.recalibration.fitting import Convergence, FitData, checked
from credibly.recalibration.heads import (
    centre_and_scale,
    features_of_width,
    forward,
    n_parameters,
    standardised,
)
from credibly.recalibration.penalties import Folds, check_penalty, choose_penalty

Kind = Literal["scalar", "linear", "neural"]


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
    >>> alpha.apply(mean[:100])
    Dirichlet(n=100, k=3, dtype=float64, 1 note)
    """

    head: Kind | None = None
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
        self.rng = require_integer(self.rng, "rng", 0)
        if not isinstance(self.hidden, (tuple, list)):
            raise InputTypeError(
                "`hidden`", "must be a tuple of layer sizes", f"got {self.hidden!r}", "Try (16, 16)."
            )
        self.hidden = tuple(require_integer(units, "hidden", 1) for units in self.hidden)

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
            Positive numbers.
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
            return predictions.xp.reshape(as_float64(leading), (len(predictions), -1))[:, :0]
        if features is None:
            if self.own_features:
                raise InputError(
                    "`features`",
                    f"must be given: the fit used {width} of them",
                    "got none",
                    "Pass the features of these instances.",
                )
            return log_probabilities(predictions)
        if width is not None and not self.own_features:
            raise InputError(
                "`features`",
                "were not used by the fit, which took log-probabilities",
                "got some",
                "Leave them out, or fit with them.",
            )
        return features_of_width(features, predictions, width)

    @property
    def _layers(self) -> tuple[int, ...]:
        assert self.sizes is not None
        return tuple(int(size) for size in self.sizes)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        given = np.atleast_1d(np.asarray(self.sizes))
        if given.dtype.kind not in "iuf" or given.size < 2 or (given[1:] < 1).any() or given[0] < 0:
            raise InputError(
                "a recalibration",
                "must hold the sizes of at least two layers as 'sizes'",
                f"got {self.sizes!r}",
                "Save it again, or fit again.",
            )
        width = self._layers[0]
        return {
            "sizes": given.shape,
            "parameters": (n_parameters(self._layers),),
            "feature_centre": (width,),
            "feature_scale": (width,),
        }

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        head = self.head or ("scalar" if features is None else "linear")
        if head == "scalar" and features is not None:
            raise InputError(
                "`features`", 'are not used with head="scalar"', "got some", 'Use head="linear".'
            )
        likelihood, share, rows = likelihood_of(data)
        self.own_features = features is not None
        inputs = self._features(data.predictions, features, 0 if head == "scalar" else None)
        self.feature_centre, self.feature_scale = centre_and_scale(inputs)
        host = to_host(standardised(inputs, self.feature_centre, self.feature_scale))[rows]
        hidden = self.hidden if head == "neural" else ()
        self.sizes = np.array([host.shape[1], *hidden, 1])
        fitted = Head(likelihood, share, host, self._layers, self.rng)
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
        require_equal_weights(predictions)
        base = base_of(predictions)
        xp = namespace(base)
        scale = xp.exp(self._log_alpha0(predictions, features))
        alpha = base * (scale[:, None] if base.ndim == 2 else scale[:, None, None])
        alpha = xp.clip(alpha, float(xp.finfo(alpha.dtype).smallest_normal), None)  # 0 is no parameter
        made = Dirichlet(alpha, member_axis=1 if alpha.ndim == 3 else None)
        note = f"spread by {self.describe()} (fitted on {self.n} instances); the mean is as it was"
        made._set(notes=(*predictions.notes, note))
        return made
