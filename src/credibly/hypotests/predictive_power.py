"""The smallest distortion a predictive check would notice.

Predictions stay as they are and so do the replicates of the check; labels are drawn from distorted
predictions, and their statistics are ranked among the replicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, one_of, require_positive
from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import as_seed
from credibly._arrays.progress import Progress
from credibly.hypotests.distortions import AMOUNTS, NEUTRAL, distorted
from credibly.hypotests.members import LabelSource, drawn_members
from credibly.hypotests.pvalues import clopper_pearson, two_sided_pvalues
from credibly.hypotests.shared import Target, shared_values
from credibly.predictions import Classes, Predictions, Reals
from credibly.results.base import require_level
from credibly.results.power import PowerCurve
from credibly.statistics import Statistic


def simulate_power(
    predictions: Predictions,
    observed: Classes | Reals,
    statistics: Sequence[Statistic],
    values: Mapping[Any, HostArray],
    injection: str | Callable[[Any, float], Any],
    grid: Sequence[float] | None,
    *,
    n_repeats: int,
    level: float,
    wanted: float,
    rng: Any,
    progress: Progress | None = None,
) -> PowerCurve:
    """Return how often labels from distorted predictions are rejected; see `PredictiveCheck.power`."""
    require_positive("`n_repeats`", n_repeats, "Try 200.")
    require_level(level)
    require_level(wanted)
    named = isinstance(injection, str)
    if named:
        one_of("`injection`", injection, NEUTRAL)
    elif not callable(injection):
        raise InputTypeError(
            "`injection`",
            "must be a name or a function of predictions and amount",
            f"got {injection!r}",
            'Try "temperature".',
        )
    amounts = _amounts(injection, grid)
    seed = as_seed(rng)
    targets = [Target(one) for one in statistics]
    power = {name: np.empty((len(statistics), amounts.size)) for name in values}
    for place, amount in enumerate(amounts.tolist()):
        changed = distorted(predictions, injection, amount)
        sources = [
            LabelSource(
                changed, name, seed, drawn_members(changed, seed, n_repeats) if name == "bayesian" else None
            )
            for name in values
        ]
        found, _ = shared_values(targets, predictions, observed, sources, n_repeats)
        for name, drawn in zip(values, found, strict=True):
            for at, null in enumerate(values[name]):
                pvalues = two_sided_pvalues(drawn[at, 1:], null[1:])
                power[name][at, place] = float(np.mean(pvalues <= level))
        if progress is not None:
            progress(place + 1, amounts.size)
    curves = {name: {one.name: own[at] for at, one in enumerate(statistics)} for name, own in power.items()}
    intervals = {
        name: {
            one: np.array([clopper_pearson(round(share * n_repeats), n_repeats) for share in shares])
            for one, shares in own.items()
        }
        for name, own in curves.items()
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
        if not isinstance(injection, str):
            raise InputError(
                "`grid`",
                "must be given for a distortion of your own",
                "got none",
                "Pass the amounts; 0 must change nothing.",
            )
        return np.array(AMOUNTS[injection])
    try:
        amounts = np.asarray(grid, dtype=np.float64)
    except (TypeError, ValueError):
        amounts = np.empty(0)
    if amounts.ndim != 1 or not amounts.size or not np.isfinite(amounts).all():
        raise InputError("`grid`", "must be finite numbers", f"got {grid!r}", "Pass a list of amounts.")
    if injection == "temperature" and (amounts <= 0).any():
        raise InputError(
            "`grid`", "must be positive for temperatures", f"got {amounts.min():.6g}", "1 changes nothing."
        )
    return np.sort(amounts)
