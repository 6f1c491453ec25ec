"""The log loss of Gaussian predictions: mean -log density of the label under the mixture of the members.

-log 1/m sum_j N(y; mu_j, s_j^2)            in natural units of the label      Good 1952
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from credibly._arrays.errors import InputTypeError
from credibly._arrays.namespace import Array, namespace
from credibly.predictions import Gaussian, Predictions
from credibly.statistics.protocol import Traits
from credibly.statistics.reals import Loss, RealMean, real_traits

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclasses.dataclass(frozen=True)
class GaussianLogLoss(RealMean):
    """Mean negative logarithm of the predicted density at the label; a density has no lowest value.

    Examples
    --------
    >>> import credibly as cr
    >>> round(float(cr.gaussian_log_loss(cr.Gaussian([0.0], [1.0]), [0.0])), 6)  # log(2 pi) / 2
    0.918939
    """

    name: ClassVar[str] = "gaussian_log_loss"
    traits: ClassVar[Traits] = real_traits(differentiable=True, bounds=(-math.inf, math.inf))
    reference: ClassVar[str] = "Good 1952"

    def require_predictions(self, predictions: Predictions) -> None:
        """Raise unless predictions have a Gaussian density."""
        super().require_predictions(predictions)
        if not isinstance(predictions, Gaussian):
            raise InputTypeError(
                f"`{self.name}`",
                "needs a density, which only Gaussian predictions have",
                f"got {type(predictions).__name__}",
                "Use `crps`, which needs none.",
            )

    def loss(self, predictions: Gaussian) -> Loss:
        """Return -log of the mixture's density, shifted by the largest member so that nothing underflows."""
        mean, std = predictions.members()
        xp = namespace(mean)
        constant = xp.log(std) + _HALF_LOG_TWO_PI
        m = mean.shape[1]

        def exponent(labels: Array, j: int) -> Array:
            z = (labels - mean[:, j]) / std[:, j]
            return -0.5 * z * z - constant[:, j]

        def score(labels: Array) -> Array:
            if m == 1:
                return -exponent(labels, 0)
            top = exponent(labels, 0)
            for j in range(1, m):
                top = xp.maximum(top, exponent(labels, j))
            total = xp.exp(exponent(labels, 0) - top)
            for j in range(1, m):
                total = total + xp.exp(exponent(labels, j) - top)
            return math.log(m) - top - xp.log(total)

        return score


gaussian_log_loss = GaussianLogLoss()
