"""The CRPS split as a proper score is: the Brier score of F(t) for y <= t, recalibrated at every threshold t.

    CRPS = MCB - DSC + UNC,   each the integral over t of that of the Brier score

Arnold, Walz, Ziegel and Gneiting 2024.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credibly._arrays.namespace import CACHE_ELEMENTS, HostArray, like, tiles, to_host
from credibly._arrays.standard_errors import FEWEST_CLUSTERS, factor, mean_error
from credibly.hypotests.calibration.corp import ROUNDING, isotonic_fits
from credibly.predictions import Quantiles, RealPredictions, as_rows
from credibly.predictions.passes import detached
from credibly.results.base import require_level
from credibly.results.decompositions import CrpsDecomposition
from credibly.results.estimates import Estimate
from credibly.statistics.crps import crps

_THRESHOLDS = 100
_FOLDS = 5


def decompose_crps(
    predictions: Any,
    labels: Any = None,
    *,
    level: float = 0.95,
    clusters: Any = None,
    blocks: int | None = None,
) -> CrpsDecomposition:
    """Split the CRPS into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    predictions : Gaussian, Samples, dense Quantiles or Rows
        Members are represented by their mixture.
    labels : array (n,)
        ...
    level : float
        Coverage of the intervals of miscalibration and discrimination.
    clusters : array (n,) or "copies", optional
        ... Folds then keep clusters whole, and errors allow for them.
    blocks : int, optional
        ...

    Returns
    -------
    CrpsDecomposition
        CRPS = miscalibration - discrimination + uncertainty, exactly.

    Notes
    -----
    The CRPS is the integral over thresholds t of the Brier score of F(t) for the event y <= t. At each of up
    to 100 thresholds between the labels, more of them where these are many or far apart, F(t) is recalibrated
    by isotonic regression. If fitted and measured on the same rows, miscalibration and discrimination come
    out too large; if fitted on other folds, too small. Their intervals therefore extend from the lower limit
    of the cross-fitted number to the upper limit of the other.

    For `Quantiles` the loss is that of F itself, which joins them by straight lines. The statistic `crps`,
    twice their mean pinball loss, leaves the tails out and is larger, by 5 % with 19 levels, which would all
    count as miscalibration.

    References
    ----------
    Arnold, Walz, Ziegel and Gneiting, *Decompositions of the mean continuous ranked probability score*,
    Electronic Journal of Statistics, 2024; Dimitriadis, Gneiting and Jordan, PNAS, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=500)
    >>> parts = cr.hypotests.decompose_crps(cr.Gaussian(mean, np.full(500, 3.0)), mean + rng.normal(size=500))
    >>> parts.miscalibration.value > 0.1
    True
    """
    require_level(level)
    rows = detached(as_rows(predictions, labels, clusters=clusters, blocks=blocks))
    data = rows.at_once("a decomposition of the CRPS")
    predictions, batch = data.predictions, data.batch
    crps.require_predictions(predictions)
    assert isinstance(predictions, RealPredictions)
    crps.require_labels(batch)
    y = to_host(batch.values)[0].astype(np.float64)
    n = len(y)
    if isinstance(predictions, Quantiles):
        loss, settings = _joined_loss(predictions, y), {"quantiles": "joined"}
    else:
        loss, settings = to_host(crps.loss(predictions)(batch.values))[0], {}
    climate, codes = _climate(y), rows.cluster_codes()
    whole, gains = _gains(predictions, y, codes, _places(y, loss, codes))
    parts = {
        "loss": (loss, None),
        "miscalibration": (loss - climate + whole, _BIASED_CRPS),
        "discrimination": (whole, _BIASED_CRPS),
        "uncertainty": (climate, None),
        "skill": (climate - loss, None),
    }
    estimates = {
        part: Estimate(
            crps.name if part == "loss" else part,
            float(values.mean()),
            n=n,
            settings=settings if part == "loss" else {},
            notes=predictions.notes,
            **_error(values, codes, why),
        )
        for part, (values, why) in parts.items()
    }
    return CrpsDecomposition(
        **estimates,
        miscalibration_interval=_bracket(loss - climate + gains, loss - climate + whole, level, codes),
        discrimination_interval=_bracket(gains, whole, level, codes),
        level=float(level),
        n=n,
    )


_BIASED_CRPS = (
    "isotonic regression fits noise too, so the plug-in number is too large; "
    "`miscalibration_interval` and `discrimination_interval` allow for that"
)


def _error(values: HostArray, codes: HostArray | None, why: str | None) -> dict[str, Any]:
    """Return the error of a mean, as fields of an Estimate, with a reason of its own against an interval."""
    error = mean_error(values, codes, size=0.0)
    if why is not None:  # next to a number that is too large, a standard error would mislead
        error["stderr"] = None
    return {**error, "interval_refusal": why or error["interval_refusal"]}


def _joined_loss(quantiles: Quantiles, y: HostArray) -> HostArray:
    """Return the integral of (F(t) - 1[y <= t])^2, F straight between quantiles and exponential beyond them.

    Of a cell from a to b, where F rises from l to h, with m = F(c) and c the label, or the end next to it:

        (c - a) (l^2 + l m + m^2) / 3 + (b - c) ((1 - m)^2 + (1 - m) (1 - h) + (1 - h)^2) / 3

    Of a tail with the probability p and the scale s, d the distance of a label inside it, else 0:

        d - 2 s p (1 - exp(-d / s)) + s p^2 / 2
    """
    quantiles.cdf(like(y, quantiles.values))  # refused unless dense
    table, levels = (to_host(array).astype(np.float64) for array in (quantiles.values, quantiles.levels))
    a, b, low, high = table[:, :-1], table[:, 1:], levels[:-1], levels[1:]
    c = np.clip(y[:, None], a, b)
    m = low + (high - low) * (c - a) / np.where(b > a, b - a, 1.0)
    below = low * low + low * m + m * m
    above = (1 - m) ** 2 + (1 - m) * (1 - high) + (1 - high) ** 2
    loss = ((c - a) * below + (b - c) * above).sum(axis=1) / 3.0
    for p, end, cell, gap in (
        (levels[0], table[:, 0] - y, b[:, 0] - a[:, 0], high[0] - low[0]),
        (1.0 - levels[-1], y - table[:, -1], b[:, -1] - a[:, -1], high[-1] - low[-1]),
    ):
        d, s = np.maximum(end, 0.0), p / gap * cell
        left = np.exp(-d / np.where(s > 0, s, 1.0))
        loss += d - 2.0 * s * p * (1.0 - left) + 0.5 * s * p * p
    return np.asarray(loss)


def _climate(y: HostArray) -> HostArray:
    """Return the CRPS of the distribution of all labels, at every label."""
    order = np.argsort(y)
    n, ordered = len(y), y[order]
    before = np.cumsum(ordered) - ordered
    rank = np.arange(n)
    away = (
        rank * ordered - before + (before[-1] + ordered[-1] - before - ordered) - (n - 1 - rank) * ordered
    ) / n
    climate = np.empty(n)
    climate[order] = away
    return np.asarray(climate - 0.5 * climate.mean())


def _edges(y: HostArray) -> HostArray:
    """Return labels between which a threshold stands for all: cells with as many labels and as much of UNC.

    UNC is the integral of share (1 - share). Of heavy tails the outermost hundredth of the labels has much of
    it, and one threshold there would say little.
    """
    ordered, share = np.sort(y), np.arange(1, len(y)) / len(y)
    weight = share * (1.0 - share) * np.diff(ordered)
    if len(y) <= _THRESHOLDS + 1 or weight.sum() == 0:
        return np.unique(ordered)
    place = np.append(0.0, np.cumsum(weight / weight.sum() + 1.0 / len(weight)) / 2.0)
    nearest = np.searchsorted(0.5 * (place[1:] + place[:-1]), np.linspace(0.0, 1.0, _THRESHOLDS + 1))
    return np.unique(ordered[nearest])


def _places(y: HostArray, loss: HostArray, codes: HostArray | None) -> HostArray:
    """Return rows, or clusters, in the order of their labels and losses."""
    if codes is not None:
        counts = np.maximum(np.bincount(codes), 1)
        y, loss = (np.bincount(codes, values) / counts for values in (y, loss))
    return np.lexsort((loss, y))


def _gains(
    predictions: RealPredictions, y: HostArray, codes: HostArray | None, places: HostArray
) -> tuple[HostArray, HostArray]:
    """Return what recalibrated F(t) gain over one number for all, per instance, fitted with it and without.

    Integrals over t of (event - share)^2 - (event - r(F(t)))^2; outside the labels both are 0. Folds keep
    clusters whole. `places` orders them by what is in them: their order in the data decides nothing.
    """
    n = len(y)
    edges = _edges(y)
    middle, width = 0.5 * (edges[:-1] + edges[1:]), np.diff(edges)
    gains = np.zeros((2, n))
    number = n if codes is None else int(codes.max()) + 1
    fold = np.random.default_rng(0).permutation(number) % _FOLDS  # whichever: they need no seed
    fold = fold[np.argsort(places)]
    fold = fold if codes is None else fold[codes]
    for some in tiles(len(middle), max(1, CACHE_ELEMENTS // n)):
        at = middle[some, None]
        cdf = to_host(predictions.cdf(like(np.repeat(at, n, axis=1), predictions._leading)))
        order = np.argsort(cdf, axis=1)  # once: folds keep this order, so they need no sorting of their own
        stated, parts = np.take_along_axis(cdf, order, axis=1), fold[order]
        events = (y[order] <= at).astype(np.float64)
        plain = (events - events.mean(axis=1, keepdims=True)) ** 2
        together, alone = plain - (events - _recalibrated(stated, events)) ** 2, np.zeros_like(plain)
        for part in range(min(_FOLDS, n)):
            held_out = parts == part
            kept = ~held_out
            if not held_out.any() or not kept.any():
                continue
            known, seen = _by_row(stated, kept), _by_row(stated, held_out)
            curves = zip(seen, known, _recalibrated(known, _by_row(events, kept)), strict=True)
            fitted = np.concatenate([np.interp(*curve) for curve in curves])
            alone[held_out] = plain[held_out] - (events[held_out] - fitted) ** 2
        placed = np.empty_like(plain)
        for j, gain in enumerate((together, alone)):
            np.put_along_axis(placed, order, gain, axis=1)
            gains[j] += width[some] @ placed
    return gains[0], gains[1]


def _by_row(values: HostArray, chosen: HostArray) -> HostArray:
    """Return the chosen values of every row, the same number of each."""
    return values[chosen].reshape(len(values), -1)


def _recalibrated(stated: HostArray, events: HostArray) -> HostArray:
    """Return the isotonic regression of events on what was stated, which increases; rows are thresholds."""
    tied = np.zeros(stated.shape, dtype=bool)
    np.less_equal(np.diff(stated, axis=1), ROUNDING, out=tied[:, 1:])
    return isotonic_fits(events, np.ones(stated.shape[1]), tied)


def _bracket(low: HostArray, high: HostArray, level: float, codes: HostArray | None) -> tuple[float, float]:
    """Return the lower limit of a mean that tends to be too small, and the upper of one too large."""
    if len(low) < 2 or (codes is not None and codes.max() + 1 < FEWEST_CLUSTERS):
        return 0.0, math.inf
    lower, upper = (_half(values, level, codes) for values in (low, high))
    return max(0.0, float(low.mean()) - lower), max(0.0, float(high.mean()) + upper)


def _half(values: HostArray, level: float, codes: HostArray | None) -> float:
    """Return half the length of the interval of a mean."""
    error = mean_error(values, codes)
    return float(factor(level, error.get("degrees_of_freedom"))) * float(error["stderr"])
