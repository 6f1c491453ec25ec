"""Reliability curves with the band that a calibrated model with the same predictions would show."""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import to_host
from credibly._arrays.philox import as_seed
from credibly._arrays.results import ReliabilityCurve, require_level
from credibly._arrays.tiles import tiles
from credibly.hypotests.calibration import require_resamples
from credibly.hypotests.replicates import Replicates
from credibly.hypotests.resampling import replicates_per_tile
from credibly.predictions import Classes, Labels, as_point, as_predictions, require_order
from credibly.statistics.binned import ClasswiseECE, ConfidenceECE
from credibly.statistics.bins import Binning, Closed


def reliability_curve(
    predictions: Any,
    labels: Any,
    *,
    target: int | str = "top_label",
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
    level: float | None = 0.95,
    n_resamples: int = 999,
    rng: Any = None,
) -> ReliabilityCurve:
    """Compare predicted probability with observed frequency, bin by bin.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions.
    labels : array (n,) or LabelCounts
        What was observed.
    target : "top_label" or int
        The confidence of the predicted class, or the probability of one class.
    n_bins : int
        Number of bins.
    binning : {"equal_width", "equal_mass"}
        How bins are laid.
    closed : {"left", "right"}
        Which end of a bin belongs to it.
    sample_weight : array (n,), optional
        Non-negative weights of the instances.
    level : float or None
        Coverage, per bin, of the consistency band; None leaves it out.
    n_resamples : int
        Replicates behind the band.
    rng : None, int or Generator
        Seed of the band.

    Returns
    -------
    ReliabilityCurve
        Edges, weights, predicted and observed values and the band; empty bins are NaN.

    Examples
    --------
    >>> import credibly as cr
    >>> curve = cr.reliability_curve([[0.9, 0.1], [0.9, 0.1]], [0, 1], n_bins=2, level=None)
    >>> curve.observed.tolist()
    [nan, 0.5]
    """
    return classwise_curves(
        predictions,
        labels,
        targets=[target],
        n_bins=n_bins,
        binning=binning,
        closed=closed,
        sample_weight=sample_weight,
        level=level,
        n_resamples=n_resamples,
        rng=rng,
    )[0]


def classwise_curves(
    predictions: Any,
    labels: Any,
    *,
    targets: list[int | str],
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
    level: float | None = 0.95,
    n_resamples: int = 999,
    rng: Any = None,
) -> list[ReliabilityCurve]:
    """Return one curve per target on shared replicates; see :func:`reliability_curve`."""
    require_order(predictions, labels)
    given = as_predictions(predictions)
    top = ConfidenceECE(n_bins=n_bins, binning=binning, closed=closed)
    each = ClasswiseECE(n_bins=n_bins, binning=binning, closed=closed)
    observed = top.labels(given, labels, sample_weight)
    k = given.n_classes  # type: ignore[attr-defined]
    for target in targets:
        if target != "top_label" and not _is_class(target, k):
            raise InputError(
                "`target`",
                f'must be "top_label" or a class from 0 to {k - 1}',
                f"got {target!r}",
                "Name one class by its index.",
            )
    needed = {("top" if target == "top_label" else "each") for target in targets}
    states, edges = {}, {}
    for name, statistic in (("top", top), ("each", each)):
        if name in needed:
            plan = statistic.plan(given)
            edges[name] = np.asarray(plan.edges)
            bound = statistic.bind(given, plan)
            state = bound.state(observed)
            sums = {key: to_host(value)[0] for key, value in state.items()}
            band = None
            if level is not None:
                _require_single_labels(observed)
                require_level(level)
                require_resamples(n_resamples)
                band = _band(bound, given, observed.weights, level, n_resamples, as_seed(rng))
            states[name] = (sums, band)
    curves = []
    for target in targets:
        name = "top" if target == "top_label" else "each"
        sums, band = states[name]
        cells = slice(None) if name == "top" else slice(int(target) * n_bins, (int(target) + 1) * n_bins)
        own = edges[name] if edges[name].ndim == 1 else edges[name][int(target)]
        size = sums["size"][cells]
        with np.errstate(invalid="ignore", divide="ignore"):
            predicted, frequency = sums["predicted"][cells] / size, sums["observed"][cells] / size
        curves.append(
            ReliabilityCurve(
                name="top label" if name == "top" else f"class {target}",
                edges=own,
                weight=size,
                predicted=predicted,
                observed=frequency,
                band=None if band is None else (band[0][cells], band[1][cells]),
                level=level,
                n=len(given),
            )
        )
    return curves


def _require_single_labels(labels: Labels) -> None:
    """Raise for label counts: how much raters of one instance vary together is not in the predictions."""
    if not isinstance(labels, Classes):
        raise UnsupportedError(
            "the consistency band",
            "is drawn with one label per instance",
            "got label counts",
            "Pass `level=None` for the curve without a band.",
        )


def _is_class(target: object, n_classes: int) -> bool:
    if isinstance(target, bool) or not isinstance(target, (int, np.integer)):
        return False
    return 0 <= int(target) < n_classes


def _band(
    bound: Any, given: Any, weights: Any, level: float, n_resamples: int, seed: tuple[int, int]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return per-cell quantiles of the observed frequency over replicates."""
    replicates = Replicates(as_point(given)[0].probs, seed)
    drawn = []
    for reps in tiles(n_resamples, replicates_per_tile(len(given), replicates)):
        batch = replicates.labels(reps)
        state = bound.state(Classes(batch.values, batch.n_classes, weights))
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn.append(to_host(state["observed"]) / to_host(state["size"]))
    half = (1 - level) / 2
    low, high = np.quantile(np.concatenate(drawn), [half, 1 - half], axis=0)
    return low, high
