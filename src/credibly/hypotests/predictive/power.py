"""The smallest distortion a predictive check would notice.

Predictions stay as they are and so do the replicates of the check; labels are drawn from distorted
predictions, wrong by a known amount, and their statistics are ranked among the replicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.binomial import clopper_pearson
from credibly._arrays.errors import (
    InputError,
    InputTypeError,
    one_of,
    require,
    require_positive,
    require_type,
)
from credibly._arrays.namespace import Array, HostArray, as_float64, namespace, softmax
from credibly._arrays.philox import as_seed
from credibly._arrays.progress import Progress, tell
from credibly.hypotests.resampling.loop import targets_of
from credibly.hypotests.resampling.pvalues import two_sided_pvalues
from credibly.hypotests.resampling.replicates import LabelSource, member_probs
from credibly.hypotests.resampling.requests import Request, answers
from credibly.predictions import (
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Gaussian,
    Predictions,
    Quantiles,
    Rows,
    Samples,
    as_point,
)
from credibly.results.base import require_level
from credibly.results.power import PowerCurve
from credibly.statistics import Statistic

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
                f"must return predictions like {predictions!r}, with other numbers",
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
        return predictions.replace_rows(
            mean=predictions.mean + shift * predictions.std, std=scale * predictions.std
        )
    if isinstance(predictions, (Samples, Quantiles)):
        return predictions.replace_rows(values=_moved(predictions, scale, shift))
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


def _moved(predictions: Samples | Quantiles, scale: float, shift: float) -> Array:
    """Scale values (n, ...) about the mean of each row and shift them by its standard deviations."""
    values = as_float64(predictions.values)
    # of one draw per member the spread is that between members
    draws = values[..., 0] if values.ndim == 3 and values.shape[-1] == 1 else values
    xp = namespace(values)
    centre = xp.mean(draws, axis=-1, keepdims=True)
    spread = xp.mean((draws - centre) ** 2, axis=-1, keepdims=True) ** 0.5
    return xp.reshape(centre + scale * (draws - centre) + shift * spread, values.shape)


def simulate_power(
    rows: Rows,
    statistics: Sequence[Statistic],
    values: Mapping[Any, Sequence[Sequence[HostArray]]],
    injection: str | Callable[[Any, float], Any],
    grid: Sequence[float] | None,
    *,
    n_repeats: int,
    level: float,
    wanted: float,
    rng: Any,
    progress: Progress | None = None,
) -> PowerCurve:
    """Return how often labels from distorted predictions are rejected; see `PredictiveCheck.power`.

    `values` are those of the check: under every hypothesis, for every source of labels with which it has to
    be rejected, of every statistic. Rows are in memory: a distortion of the caller's own sees all of them.
    """
    require_positive("`n_repeats`", n_repeats, "Try 200.")
    require_level(level)
    require_level(wanted)
    named = isinstance(injection, str)
    if named:
        one_of("`injection`", injection, NEUTRAL)
    rule = "must be a name or a function of predictions and amount"
    require_type(named or callable(injection), rule, 'Try "temperature".', injection=injection)
    amounts = _amounts(injection, grid)
    seed = as_seed(rng)
    targets, predictions = targets_of(statistics, rows), rows.example.predictions
    if isinstance(predictions, Quantiles):
        predictions._require_dense("the power of a check")
    power = {name: np.empty((len(statistics), amounts.size)) for name in values}
    for place, amount in enumerate(amounts.tolist()):
        changed = distorted(predictions, injection, amount)
        sources = [LabelSource.under(name, seed, n_repeats, changed, changed) for name in values]
        (answer,) = answers([Request(targets, rows, sources, n_repeats, by_members=True)])
        for name, drawn in zip(values, answer, strict=True):
            for at, resampled in enumerate(drawn):
                observed = resampled.values[1:]
                pvalues = [two_sided_pvalues(observed, nulls[at][1:]) for nulls in values[name]]
                power[name][at, place] = float(np.mean(np.max(pvalues, axis=0) <= level))
        tell(progress, place + 1, amounts.size)
    names = [statistic.name for statistic in statistics]
    curves = {name: dict(zip(names, shares, strict=True)) for name, shares in power.items()}
    intervals = {
        name: {
            name_of_statistic: np.array(
                [clopper_pearson(round(share * n_repeats), n_repeats) for share in shares]
            )
            for name_of_statistic, shares in curve.items()
        }
        for name, curve in curves.items()
    }
    return PowerCurve(
        injection=injection if isinstance(injection, str) else getattr(injection, "__name__", "injection"),
        neutral=NEUTRAL[injection] if isinstance(injection, str) else 0.0,
        grid=amounts,
        power=curves,
        interval=intervals,
        n_repeats=int(n_repeats),
        level=float(level),
        wanted=float(wanted),
    )


def _amounts(injection: Any, grid: Sequence[float] | None) -> HostArray:
    if grid is None:
        rule, remedy = "must be given for your own distortion", "Pass the amounts; 0 must change nothing."
        require(isinstance(injection, str), rule, remedy, grid=grid)
        return np.array(AMOUNTS[injection])
    try:
        amounts = np.asarray(grid, dtype=np.float64)
    except (TypeError, ValueError):
        amounts = np.empty(0)
    fits = amounts.ndim == 1 and amounts.size and np.isfinite(amounts).all()
    require(fits, "must be finite numbers", "Pass a list of amounts.", grid=grid)
    fits = injection != "temperature" or (amounts > 0).all()
    require(fits, "must be positive for temperatures", "1 changes nothing.", grid=grid)
    return np.sort(amounts)
