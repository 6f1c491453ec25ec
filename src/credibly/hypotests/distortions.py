"""Predictions made wrong by a known amount, to see whether a check notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly._arrays.special import softmax
from credibly.hypotests.members import member_probs
from credibly.predictions import (
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Gaussian,
    Predictions,
    Quantiles,
    Samples,
    as_point,
)

NEUTRAL = {"temperature": 1.0, "bias": 0.0}
"""The amount of every named distortion that changes nothing."""
AMOUNTS = {
    "temperature": (0.25, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 2.0, 2.8, 4.0),
    "bias": (-1.0, -0.7, -0.5, -0.35, -0.25, -0.15, -0.05, 0.0, 0.05, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0),
}


def distorted(
    predictions: Predictions, injection: str | Callable[[Any, float], Any], amount: float
) -> Predictions:
    """Return predictions that labels are drawn from instead."""
    if not isinstance(injection, str):
        changed = injection(predictions, amount)
        if type(changed) is not type(predictions) or changed._leading.shape != predictions._leading.shape:
            raise InputTypeError(
                "`injection`",
                f"must return {predictions!r} with other numbers",
                f"got {changed!r}",
                "Keep type and shape.",
            )
        return changed
    if isinstance(predictions, ClassPredictions):
        if injection == "bias":
            raise InputError(
                '`injection="bias"`', "shifts real values", "got class predictions", 'Use "temperature".'
            )
        return _tempered(predictions, amount)
    scale, shift = (amount, 0.0) if injection == "temperature" else (1.0, amount)
    if isinstance(predictions, Gaussian):
        return Gaussian(predictions.mean + shift * predictions.std, scale * predictions.std)
    if isinstance(predictions, (Samples, Quantiles)):
        values = as_float64(predictions.values)
        return dataclasses.replace(predictions, values=_moved(values, scale, shift))
    raise InputTypeError(
        f"`injection={injection!r}`",
        "is known for classes, Gaussian, Samples and Quantiles",
        f"got {type(predictions).__name__}",
        "Pass a function.",
    )


def _tempered(predictions: ClassPredictions, temperature: float) -> Ensemble:
    """Return p^(1 / T), normalised, of every member; without members of the one prediction."""
    if isinstance(predictions, (Ensemble, Dirichlet)):
        probs = as_float64(member_probs(predictions))
    else:
        probs = as_float64(as_point(predictions)[0].probs)[:, None, :]
    xp = namespace(probs)
    possible = probs > 0
    logs = xp.log(xp.where(possible, probs, xp.ones_like(probs)))
    changed = softmax(xp.where(possible, logs, -xp.inf * xp.ones_like(logs)) / temperature)
    return Ensemble(changed, weights=getattr(predictions, "weights", None), member_axis=1)


def _moved(values: Array, scale: float, shift: float) -> Array:
    """Scale values (n, ...) about the mean of each row and shift them by its standard deviations."""
    xp = namespace(values)
    # of one draw per member the spread is that between members
    axes = tuple(range(1, values.ndim)) if values.shape[-1] == 1 else (values.ndim - 1,)
    centre = xp.mean(values, axis=axes, keepdims=True)
    spread = xp.std(values, axis=axes, keepdims=True)
    return centre + scale * (values - centre) + shift * spread
