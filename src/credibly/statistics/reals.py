"""Means over instances of a loss of a real label: what the scores of regression share."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from credibly._arrays.namespace import Array
from credibly.predictions import Labels, Predictions, RealPredictions
from credibly.results.base import Tail, require_level
from credibly.statistics.proper import MeanBound
from credibly.statistics.protocol import REAL_LABELS, Bound, Plan, Statistic, Traits

Loss = Callable[[Array], Array]
"""From labels (b, n) to contributions (b, n)."""


class LossBound(MeanBound):
    """A mean over instances of `loss(y)[:, i]`."""

    def __init__(self, statistic: Statistic, loss: Loss, plan: Plan, notes: tuple[str, ...]) -> None:
        super().__init__(statistic, None, plan, notes)
        self.loss = loss

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's loss, (b, n)."""
        return self.loss(labels.values)


@dataclasses.dataclass(frozen=True)
class RealMean(Statistic):
    """A mean over instances of a loss that depends on the predicted distribution and the label."""

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        assert isinstance(predictions, RealPredictions)
        return LossBound(self, self.loss(predictions), plan, predictions.notes)

    @abstractmethod
    def loss(self, predictions: Any) -> Loss:
        """Return the loss of labels (b, n), with all that needs no labels computed."""


def real_traits(
    *,
    tail: Tail = "two-sided",
    differentiable: bool = False,
    bounds: tuple[float, float] | None = None,
) -> Traits:
    """Return the traits of a sum over instances with real labels."""
    return Traits(
        reduction="sum",
        tail=tail,
        labels=REAL_LABELS,
        differentiable=differentiable,
        multiplicities=True,
        duplicate_invariant=True,
        range=bounds,
    )


def central_interval(predictions: RealPredictions, level: float) -> tuple[Array, Array]:
    """Return the ends, (n,) each, of the central interval that holds `level` of the probability."""
    require_level(level)
    ends = predictions.quantile([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return ends[:, 0], ends[:, 1]
