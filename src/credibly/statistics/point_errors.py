"""Errors of one number per instance: of the mean, squared, and of the median, absolute.

rmse  sqrt(mean (y - E F)^2)          mae  mean |y - median F|

Each uses the point that minimises its expectation under the predicted distribution.   Gneiting 2011.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from credibly._arrays.namespace import Array, namespace, to_host
from credibly.predictions import Labels, Predictions, RealPredictions
from credibly.statistics.protocol import Bound, Plan, State, Traits
from credibly.statistics.reals import Loss, LossBound, RealMean, real_traits


class RootBound(LossBound):
    """The square root of a mean."""

    def finish(self, state: State) -> Array:
        """Divide by the total weight and take the root."""
        mean = super().finish(state)
        return namespace(mean).sqrt(mean)

    def stderr(self, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of the mean square, carried through the root's slope."""
        return self._through_root(*super().stderr(labels), float(to_host(self(labels))[0]))

    def stderr_of(self, spread: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the same from merged sums."""
        mean_square = float(to_host(spread["w1 v1"])[0]) / float(to_host(spread["w1 v0"])[0])
        return self._through_root(*super().stderr_of(spread, labels), math.sqrt(mean_square))

    @staticmethod
    def _through_root(
        error: float | None, refusal: str | None, value: float
    ) -> tuple[float | None, str | None]:
        if error is None:
            return None, refusal
        if value == 0.0:
            return None, "every error is zero, where the root has no slope"
        return error / (2.0 * value), refusal


@dataclasses.dataclass(frozen=True)
class RootMeanSquaredError(RealMean):
    """Root of the mean squared distance between the label and the mean of the predicted distribution.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.rmse(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [3.0, -3.0]))
    3.0
    """

    name: ClassVar[str] = "rmse"
    traits: ClassVar[Traits] = real_traits(differentiable=True, bounds=(0.0, math.inf))
    reference: ClassVar[str] = "Gneiting 2011"

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        return RootBound(self, self.loss(predictions), plan, predictions.notes)

    def loss(self, predictions: RealPredictions) -> Loss:
        """(y - mean)^2."""
        mean = predictions.expectation()
        return lambda labels: (labels - mean) ** 2


@dataclasses.dataclass(frozen=True)
class MeanAbsoluteError(RealMean):
    """Mean distance between the label and the median of the predicted distribution.

    Examples
    --------
    >>> import credibly as cr
    >>> float(cr.mae(cr.Gaussian([0.0, 0.0], [1.0, 1.0]), [3.0, -4.0]))
    3.5
    """

    name: ClassVar[str] = "mae"
    traits: ClassVar[Traits] = real_traits(bounds=(0.0, math.inf))
    reference: ClassVar[str] = "Gneiting 2011"

    def loss(self, predictions: RealPredictions) -> Loss:
        """|y - median|."""
        median = predictions.quantile([0.5])[:, 0]
        xp = namespace(median)
        return lambda labels: xp.abs(labels - median)


rmse = RootMeanSquaredError()
mae = MeanAbsoluteError()
