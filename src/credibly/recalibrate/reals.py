"""What recalibrations of real values share: data of a fit, losses before and after, and how to scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import InputTypeError, Remedy, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly.predictions import (
    Gaussian,
    Quantiles,
    RealPredictions,
    Samples,
    as_labels,
    as_predictions,
    paired,
)
from credibly.predictions.prediction_sets import remedy_without_probs
from credibly.predictions.quantiles import in_common_terms
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import digest_of_predictions
from credibly.statistics.crps import crps

MOST_SCORED = 10_000
"""Instances whose CRPS stands in `convergence` where quantiles have to be made for it."""
OWN = 0.5
"""Penalty on what a group has of its own, in observations."""


@dataclasses.dataclass(frozen=True)
class RealData:
    """Predictions and labels of a fit.

    Attributes
    ----------
    predictions : RealPredictions
        What the model said.
    labels : array (n,)
        What was observed, double precision.
    weight : array (n,) or None
        Weights of the instances; None where all are 1.
    notes : tuple of str
        How the data were interpreted.
    """

    predictions: RealPredictions
    labels: Array
    weight: Array | None
    notes: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """A hash of the predictions, computed once for all methods that are fitted to them."""
        return digest_of_predictions(self.predictions)

    def take(self, rows: HostArray) -> RealData:
        """Return some instances."""
        at = like(rows, self.labels)
        xp = namespace(self.labels)
        weight = None if self.weight is None else xp.take(self.weight, at)
        return dataclasses.replace(
            self, predictions=self.predictions[rows], labels=xp.take(self.labels, at), weight=weight
        )

    def moved(self, predictions: RealPredictions) -> RealData:
        """Return the same labels with other predictions, as the next step of a chain sees them."""
        return dataclasses.replace(self, predictions=predictions)

    @property
    def host_weight(self) -> HostArray:
        """Weights on the host, 1 where there are none."""
        return np.ones(len(self.predictions)) if self.weight is None else to_host(self.weight)


class RealRecalibration(Recalibration):
    """What recalibrations of real values share: which predictions they take, and what a fit starts from."""

    kinds: ClassVar[tuple[str, ...]] = ("Gaussian", "Samples", "Quantiles")

    def predict_proba(self, predictions: Any, *, features: Any = None, groups: Any = None) -> Array:
        """Refuse: real values have no probabilities of classes."""
        raise InputTypeError(
            "`predict_proba`",
            "returns probabilities of classes",
            f"got {type(self).__name__}, which recalibrates real values",
            "Use `apply`.",
        )

    def _checked(self, predictions: Any) -> RealPredictions:
        readable = as_predictions(predictions)
        if not isinstance(readable, RealPredictions):
            raise InputTypeError(
                f"`{type(self).__name__}`",
                "is defined for Gaussian, Samples and Quantiles predictions",
                f"got {type(readable).__name__}",
                remedy_without_probs(readable, "Use `TemperatureScaling` for classes."),
            )
        return readable

    def _data(self, predictions: Any, labels: Any, sample_weight: Any) -> RealData:
        predictions, labels = paired(predictions, labels)
        readable = self._checked(predictions)
        batch = as_labels(readable, labels, sample_weight)
        weight = None if batch.weights is None else batch.weights[0, :]
        return RealData(readable, as_float64(batch.values[0, :]), weight, readable.notes)

    def _require_like_the_fit(self, predictions: Any) -> None:
        """Levels of a distribution function are those of every model."""

    def _without(self, name: str) -> str:
        if name != "groups" or "Point" in self.kinds:
            return super()._without(name)
        return Remedy(
            "Leave them out, or use SpreadScaling or LocationScaling, which take groups.",
            "Leave out `--by`, or use shift, scale or shift+scale.",
        )

    def _noted(self, made: RealPredictions, before: RealPredictions, *more: str) -> RealPredictions:
        made._set(notes=(*before.notes, self._note, *more))
        return made


def mean_losses(data: RealData, mapped: Callable[[HostArray], RealPredictions]) -> tuple[float, float]:
    """Return the mean CRPS before and after; of very many instances, of some that are evenly spaced.

    `mapped` gives the recalibrated predictions of some rows.
    """
    n = len(data.predictions)
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_SCORED)).round().astype(int))
    weight = data.host_weight[rows]
    if not weight.any():
        weight = np.ones(len(rows))
    some, labels = data.predictions[rows], like(to_host(data.labels)[rows], data.labels)[None, :]
    both, _ = in_common_terms([some, mapped(rows)])
    before, after = (float(weight @ to_host(crps.loss(predictions)(labels)[0, :])) for predictions in both)
    return before / weight.sum(), after / weight.sum()


def no_spread(subject: str) -> UnsupportedError:
    """Return the error about predictions that nothing can stretch."""
    rule, evidence = "needs predictions with a spread", "all of them put all probability on a single number"
    return UnsupportedError(subject, rule, evidence, "Use `QuantileShift`, or predict a spread.")


def centre_of(predictions: RealPredictions) -> Array:
    """Return the mean of every instance; for quantiles the median, interpolated between its neighbours."""
    if not isinstance(predictions, Quantiles):
        return predictions.expectation()
    table, levels = as_float64(predictions.values), to_host(as_float64(predictions.levels))
    if len(levels) == 1:
        return table[:, 0]
    above = int(np.clip(np.searchsorted(levels, 0.5), 1, len(levels) - 1))
    share = float(np.clip((0.5 - levels[above - 1]) / (levels[above] - levels[above - 1]), 0.0, 1.0))
    return (1.0 - share) * table[:, above - 1] + share * table[:, above]


def scaled(predictions: RealPredictions, scale: Array | float) -> RealPredictions:
    """Stretch every distribution around its centre; a mixture keeps its members and its mean."""
    centre = centre_of(predictions)
    if isinstance(predictions, Gaussian):
        mean, std = as_float64(predictions.mean), as_float64(predictions.std)
        if mean.ndim == 1:
            return predictions.replace_rows(mean=mean, std=std * scale)
        wide = scale[:, None] if not isinstance(scale, float) else scale
        moved = centre[:, None] + wide * (mean - centre[:, None])
        return predictions.replace_rows(mean=moved, std=std * wide)
    assert isinstance(predictions, (Samples, Quantiles))
    values = as_float64(predictions.values)
    shape = (-1,) + (1,) * (values.ndim - 1)
    xp = namespace(values)
    middle = xp.reshape(centre, shape)
    wide = scale if isinstance(scale, float) else xp.reshape(scale, shape)
    return predictions.replace_rows(values=middle + wide * (values - middle))
