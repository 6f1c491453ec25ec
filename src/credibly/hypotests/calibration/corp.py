"""Reliability by isotonic regression (CORP): no bins, bands, and the split of a proper score.

    r = argmin over increasing r of sum_i (event_i - r(p_i))^2          pool adjacent violators

    mean score = MCB - DSC + UNC,   MCB = S(p) - S(r),   DSC = S(c) - S(r),   UNC = S(c)

with mean scores S and the share c of events. Recalibrated values r are the best increasing ones for every
proper score at once.   Dimitriadis, Gneiting and Jordan 2021.

**Confidence band.** Let the true frequencies R(p) increase with p, and labels be independent. Of m instances
whose largest prediction is x, the number h of events is stochastically no larger than a binomial with m and
R(x), so the exact lower bound of Clopper and Pearson for h of m is one for R(x), and for R of everything
above. Upper bounds are found in the same way from below. The band is the largest lower and the smallest upper
bound over a family of ranges of predictions, each at the level alpha / (2 |family|): it holds everywhere at
once with probability 1 - alpha, for every n. Dimitriadis et al. 2023 take all n^2 / 2 ranges. Here ranges
begin and end between cells of n^(2/3) / 4 neighbours, the scale of an isotonic regression's pieces: those of
1, ..., 8 cells and, on grids of 2, 4, ... cells, of 5, ..., 8 steps. That is 12 ranges per cell, which come
close to every other range and cost less than half the logarithm.

**Clusters.** The consistency band of rows that belong together is that of isotonic regressions of p + s_c
(event - p), one sign per cluster, and nowhere narrower than that of independent rows: at its ends the curve
hangs on a few rows, whose signs vary too little. A confidence band is not offered: Clopper and Pearson's
bounds are those of independent events, and sums of clusters have no bounds at levels of alpha / (2 |family|),
some 1e-4, that would hold for a few dozen of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.special import betaincinv

from credibly._arrays.errors import one_of
from credibly._arrays.namespace import CACHE_ELEMENTS, Array, HostArray, namespace, tiles, to_host
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.standard_errors import mean_error
from credibly.hypotests.calibration.reliability import central_band, require_curves, wider
from credibly.hypotests.resampling.loop import label_tiles
from credibly.hypotests.resampling.replicates import consistent
from credibly.hypotests.resampling.wild import sign_tiles
from credibly.predictions import ClassPredictions, Counts, Dataset, Labels, Point, Rows, as_rows
from credibly.predictions.passes import detached
from credibly.results.curves import CorpCurve
from credibly.results.estimates import Estimate
from credibly.statistics.binned import confidence_ece
from credibly.statistics.over_rows import gathered
from credibly.statistics.proper import top_label

ROUNDING = 1e-12  # means of members in another order differ in their last digits and are still equal
_POINTS = 200  # where bands are kept
_RANGES = 20  # of predictions, whose instances are counted
_CELLS = 4  # times the cube root of n: cells of neighbours, between which ranges of predictions begin and end
_STEPS = 8
_MOST_PASSES = 50  # of pooling neighbours; twenty are enough for a million labels

_BIASED = (
    "the plug-in miscalibration is biased upwards near calibration, where such intervals have a coverage "
    "of 0; `miscalibration_interval` holds for every n"
)

_OPTIMISTIC = (
    "isotonic regression fits noise too, so the plug-in discrimination is too large: its 95 % intervals "
    "contained the truth in 77 to 88 % of simulations with 100 to 2000 instances; `discrimination_interval` "
    "is valid for every n"
)

Score = Callable[[HostArray], tuple[HostArray, HostArray]]
"""From a probability to the loss where the event happens, and where it does not."""

Distance = Callable[[HostArray, HostArray], HostArray]


def _brier(p: HostArray) -> tuple[HostArray, HostArray]:
    return (1.0 - p) ** 2, p**2


def _log_loss(p: HostArray) -> tuple[HostArray, HostArray]:
    with np.errstate(divide="ignore"):
        return -np.log(p), -np.log1p(-p)


SCORES: dict[str, Score] = {"brier": _brier, "log_loss": _log_loss}


@takes_rng
def corp_curve(
    predictions: Any,
    labels: Any = None,
    *,
    target: int | str = "top_label",
    score: Literal["brier", "log_loss"] = "brier",
    level: float | None = 0.95,
    n_resamples: int = 999,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
) -> CorpCurve:
    """Compare predicted probability with observed frequency by isotonic regression, and split a proper score.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions.
    labels : array (n,) or LabelCounts
        ...
    target : "top_label" or int
        The confidence of the predicted class, or the probability of one class.
    score : {"brier", "log_loss"}
        The proper score to split. It refers to the event alone: the Brier score is (p - event)^2, for two
        classes half of `brier`.
    level : float or None
        Coverage of the bands and intervals; None leaves them out.
    n_resamples : int
        Replicates behind the consistency band.
    clusters : array (n,) or "copies", optional
        ... Standard errors and the consistency band then allow for these clusters, and there is no confidence
        band.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    CorpCurve
        The curve, its bands, and miscalibration, discrimination and uncertainty.

    Notes
    -----
    At each prediction, the consistency band contains a share `level` of the curves of labels that are drawn
    from the predictions. The confidence band contains the whole true curve with probability at least `level`,
    for every n, if that curve is increasing and labels are independent; it is wide because this is a strong
    guarantee. The intervals for miscalibration, for discrimination and for the mean gap follow from it and
    hold whenever it does, including at perfect calibration. One isotonic regression per replicate takes about
    as long as sorting it.

    References
    ----------
    Dimitriadis, Gneiting and Jordan, *Stable reliability diagrams for probabilistic classifiers*, PNAS, 2021;
    Dimitriadis et al., *Honest calibration assessment for binary outcome predictions*, Biometrika, 2023.

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]
    >>> curve = cr.corp_curve(probs, [0, 1, 0, 1], level=None)
    >>> curve.high.tolist(), curve.recalibrated.tolist()
    ([0.6, 0.8, 0.9], [0.0, 0.5, 1.0])
    >>> round(float(curve.discrimination), 3)  # 1/4 - (0 + 1/4 + 1/4 + 0) / 4
    0.125
    """
    rows = detached(as_rows(predictions, labels, clusters=clusters, blocks=blocks))
    seed = (0, 0) if level is None else as_seed(rng)
    return corp_curves(rows, [target], level, n_resamples, seed, score=score)[0]


def corp_curves(
    rows: Rows,
    targets: Sequence[int | str],
    level: float | None,
    n_resamples: int,
    seed: Seed,
    *,
    score: Literal["brier", "log_loss"] = "brier",
) -> list[CorpCurve]:
    """Return one curve per target, their bands from the same labels; see :func:`corp_curve`."""
    one_of("`score`", score, tuple(SCORES))
    predictions = rows.example.predictions
    confidence_ece.require_predictions(predictions)
    assert isinstance(predictions, ClassPredictions)
    require_curves(targets, predictions.n_classes, rows.example.batch, level, n_resamples)
    point, batch = gathered(rows)
    codes = rows.cluster_codes()
    every = [_Groups.of(point, target, codes) for target in targets]
    n_drawn = 0 if level is None else n_resamples
    curves_of_targets = []
    drawn = _drawn_curves(every, Dataset(point, batch), seed, n_drawn)
    for target, groups, curves in zip(targets, every, drawn, strict=True):
        events = to_host(groups.events(batch))[0]
        fitted = groups.fits(events[None, :])[0]
        curve = CorpCurve(
            name="top label" if target == "top_label" else f"class {target}",
            **groups.pieces(fitted),
            counts=np.histogram(groups.predicted, bins=_RANGES, range=(0.0, 1.0), weights=groups.size)[0],
            at=groups.predicted[groups.kept],
            score=score,
            gap=groups.mean(np.abs(groups.predicted - fitted)),
            n=groups.n,
            level=level,
            n_resamples=n_drawn,
            target=None if target == "top_label" else int(target),
            **groups.split(events, fitted, score),
            **({} if level is None else groups.bands(events, curves, score, level, seed)),
        )
        curves_of_targets.append(curve)
    return curves_of_targets


@dataclasses.dataclass(frozen=True)
class _Groups:
    """Instances in the order of their predictions; equal predictions are one group.

    Attributes
    ----------
    event : array (n,) or int
        The class whose probability was predicted.
    order : ndarray (n,)
        Instances by increasing prediction.
    starts : ndarray (g,)
        Where groups begin in that order.
    predicted, size : ndarray (g,)
        Prediction and number of instances of every group.
    kept : ndarray
        Groups at which bands are kept, evenly over the instances.
    codes : ndarray (n,) or None
        The cluster of every instance.
    notes : tuple of str
        What is worth knowing about the predictions.
    """

    event: Array | int
    order: HostArray
    starts: HostArray
    predicted: HostArray
    size: HostArray
    kept: HostArray
    codes: HostArray | None
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of instances."""
        return len(self.order)

    @classmethod
    def of(cls, point: Point, target: int | str, codes: HostArray | None) -> _Groups:
        if target == "top_label":
            values, event = top_label(point)
        else:
            values, event = point.probs[:, int(target)], int(target)
        probs = to_host(values).astype(np.float64)
        order = np.argsort(probs, kind="stable")
        ordered = probs[order]
        starts = np.flatnonzero(np.append(True, np.diff(ordered) > ROUNDING))
        size = np.diff(np.append(starts, len(ordered))).astype(np.float64)
        places = np.linspace(0, len(ordered) - 1, min(len(starts), _POINTS)).round()
        kept = np.unique(np.searchsorted(starts, places, side="right") - 1)
        return cls(event, order, starts, ordered[starts], size, kept, codes, point.notes)

    def events(self, labels: Labels) -> Array:
        """Return 1 where the event happened, of counts the share of raters who say so, (b, n)."""
        values = labels.values
        if not isinstance(labels, Counts):
            return values == (self.event if isinstance(self.event, int) else self.event[None, :])
        share = labels.shares()
        if isinstance(self.event, int):
            return share[:, :, self.event]
        chosen = namespace(values).astype(self.event, namespace(values).int64)
        return namespace(values).take_along_axis(share, chosen[None, :, None], axis=2)[:, :, 0]

    def sums(self, events: HostArray) -> HostArray:
        """Return the number of events of every group, (b, n) -> (b, g)."""
        ordered = np.take(events, self.order, axis=1)
        if len(self.starts) == self.n:
            return ordered.astype(np.float64)
        return np.add.reduceat(ordered, self.starts, axis=1, dtype=np.float64)

    def mean(self, values: HostArray) -> float:
        """Return the mean over instances of one number per group."""
        return float(np.sum(self.size * values) / self.n)

    def each(self, values: HostArray) -> HostArray:
        """Return numbers of groups for each of their instances, in order."""
        return np.repeat(values, self.size.astype(np.int64))

    def fits(self, events: HostArray) -> HostArray:
        """Return the recalibrated value of every group, (b, n) -> (b, g)."""
        return isotonic_fits(self.sums(events) / self.size, self.size)

    def pieces(self, fitted: HostArray) -> dict[str, Any]:
        """Return the pieces on which the curve is constant."""
        begin = np.flatnonzero(np.append(True, np.diff(fitted) > 0))
        last = np.append(begin[1:], len(fitted)) - 1
        return {
            "low": self.predicted[begin],
            "high": self.predicted[last],
            "recalibrated": fitted[begin],
            "weight": np.add.reduceat(self.size, begin),
        }

    def split(self, events: HostArray, fitted: HostArray, score: str) -> dict[str, Any]:
        """Return the mean score and its parts, each from one number per instance."""
        happened = events[self.order].astype(np.float64)
        losses = partial(_cost, SCORES[score], happened)
        loss, recalibrated = losses(self.each(self.predicted)), losses(self.each(fitted))
        constant = losses(np.full(self.n, happened.mean()))
        with np.errstate(invalid="ignore"):
            parts = {
                "loss": loss,
                "miscalibration": loss - recalibrated,
                "discrimination": constant - recalibrated,
                "uncertainty": constant,
                "skill": constant - loss,
            }
        codes = None if self.codes is None else self.codes[self.order]
        return {name: _estimate(name, values, score, self.notes, codes) for name, values in parts.items()}

    def bands(
        self, events: HostArray, curves: HostArray, score: str, level: float, seed: Seed
    ) -> dict[str, Any]:
        """Return the bands of a curve and what follows from them, given curves of drawn labels, (b, kept)."""
        band = central_band(curves, level)
        if self.codes is not None:
            signed = central_band(self._signed_curves(events, self.codes, seed, len(curves)), level)
            return {"band": wider(band, signed)}
        low, high = honest_band(self.sums(events[None, :])[0], self.size, level)
        divergence = partial(_divergence, SCORES[score])
        return {
            "band": band,
            "confidence_band": (low[self.kept], high[self.kept]),
            "miscalibration_interval": self._within(low, high, self.predicted, divergence),
            "discrimination_interval": self._apart(low, high, divergence),
            "gap_interval": self._within(low, high, self.predicted, _distance),
        }

    def _signed_curves(self, events: HostArray, codes: HostArray, seed: Seed, n_resamples: int) -> HostArray:
        """Return curves of events whose clusters have drawn signs, (b, kept)."""
        number = int(codes.max()) + 1
        predicted = np.empty(self.n)
        predicted[self.order] = self.each(self.predicted)
        deviation = events - predicted
        curves = []
        for _, drawn in sign_tiles(seed, number, n_resamples, 64 * self.n):
            for some in tiles(len(drawn), 64):
                moved = predicted + drawn[some][:, codes] * deviation
                curves.append(np.clip(self.fits(moved)[:, self.kept], 0.0, 1.0))
        return np.concatenate(curves)

    def _within(
        self, low: HostArray, high: HostArray, p: HostArray, distance: Distance
    ) -> tuple[float, float]:
        """Return the smallest and the largest mean distance of curves inside a band from p."""
        nearest = distance(np.clip(p, low, high), p)
        farthest = np.maximum(distance(low, p), distance(high, p))
        return self.mean(nearest), self.mean(farthest)

    def _apart(self, low: HostArray, high: HostArray, divergence: Distance) -> tuple[float, float]:
        """Return what a band leaves possible for the discrimination of a curve inside.

        That is the mean divergence from the best single prediction m, so its smallest value is the smallest
        over m and curves, and for every m the largest over curves is not below its largest value.
        """
        from scipy.optimize import minimize_scalar

        def best(end: int) -> float:
            ended = minimize_scalar(
                lambda m: self._within(low, high, np.full_like(low, m), divergence)[end],
                bounds=(0.0, 1.0),
                method="bounded",
            )
            return float(ended.fun)

        return best(0), best(1)


def isotonic_fits(values: HostArray, weights: HostArray, tied: HostArray | None = None) -> HostArray:
    """Return the closest increasing rows, by weighted squares: (b, g), (g,) -> (b, g).

    Neighbours that fall are pooled, in all rows at once, until none do. `tied` (b, g) marks numbers that must
    have the value of the one before them.
    """
    b, g = values.shape
    fitted, unequal = np.empty((b, g)), None if (weights == weights[0]).all() else weights
    for rows in tiles(b, max(1, 4 * CACHE_ELEMENTS // g)):
        fitted[rows] = _pooled(values[rows], unequal, None if tied is None else tied[rows])
    return fitted


def _pooled(values: HostArray, weights: HostArray | None, tied: HostArray | None) -> HostArray:
    """Pool rows of a tile, with equal weights where none are given: their sums are numbers of places."""
    b, g = values.shape
    mean = values.ravel()
    weight = None if weights is None else np.broadcast_to(weights, (b, g)).ravel()
    total = mean if weight is None else mean * weight
    start, first = np.arange(b * g), np.arange(0, b * g, g)  # of the pools, and which of them begin a row
    begins = _begins(mean, first) if tied is None or not tied.any() else ~tied.ravel()
    for _ in range(_MOST_PASSES):
        begin = np.flatnonzero(begins)
        if begin.size == mean.size:
            break
        start, first, total = start[begin], np.searchsorted(begin, first), np.add.reduceat(total, begin)
        weight = None if weight is None else np.add.reduceat(weight, begin)
        mean = total / (np.diff(start, append=b * g) if weight is None else weight)
        begins = _begins(mean, first)
    else:  # something heavy takes in one neighbour after the other, for which a loop is faster
        from scipy.optimize import isotonic_regression  # slow to load

        weight = np.diff(start, append=b * g) if weight is None else weight
        rows = np.split(np.arange(mean.size), first[1:])
        mean = np.concatenate([isotonic_regression(mean[pool], weights=weight[pool]).x for pool in rows])
    return np.repeat(mean, np.diff(start, append=b * g)).reshape(b, g)


def _begins(mean: HostArray, first: HostArray) -> HostArray:
    """Tell which means are above the one before them, or the first of their row."""
    begins = np.empty(mean.size, dtype=bool)
    np.greater(mean[1:], mean[:-1], out=begins[1:])
    begins[first] = True
    return begins


def _estimate(
    name: str, values: HostArray, score: str, notes: tuple[str, ...], codes: HostArray | None
) -> Estimate:
    error = mean_error(values, codes)
    if error["stderr"] is not None:
        why = {"miscalibration": _BIASED, "discrimination": _OPTIMISTIC}.get(name)
        error["interval_refusal"] = why or error["interval_refusal"]
    return Estimate(
        name, float(values.mean()), n=len(values), settings={"score": score}, notes=notes, **error
    )


def _drawn_curves(every: Sequence[_Groups], rows: Dataset, seed: Seed, n_resamples: int) -> list[HostArray]:
    """Return curves of drawn labels at the kept groups, (b, kept), for each of several orders of the rows."""
    if not n_resamples:
        return [np.empty((0, len(groups.kept))) for groups in every]
    curves: list[list[HostArray]] = [[] for _ in every]
    for _, batch in label_tiles(rows.batch, consistent(seed)(rows), slice(0, n_resamples)):
        for parts, groups in zip(curves, every, strict=True):
            events = to_host(groups.events(batch))
            parts += [groups.fits(events[some])[:, groups.kept] for some in tiles(len(events), 64)]
    return [np.concatenate(parts)[1:] for parts in curves]  # the first belongs to the observed labels


def honest_band(hits: HostArray, size: HostArray, level: float) -> tuple[HostArray, HostArray]:
    """Return the confidence band of an increasing curve at g places, from events and instances at each.

    Parameters
    ----------
    hits, size : ndarray (g,)
        Events and instances by increasing prediction.
    level : float
        Probability that the whole curve is inside, at least.

    Returns
    -------
    tuple of ndarray
        Lower and upper end, (g,).
    """
    g = len(size)
    before = np.append(0.0, np.cumsum(size))
    cells = int(np.ceil(_CELLS * before[-1] ** (1 / 3)))
    borders = np.unique(np.searchsorted(before, np.linspace(0, before[-1], cells + 1)))
    first, behind = _ranges(len(borders) - 1)
    first, behind = borders[first], borders[behind]
    happened = np.append(0.0, np.cumsum(hits))
    events, instances = happened[behind] - happened[first], before[behind] - before[first]
    share = (1 - level) / (2 * len(first))
    lower, upper = np.zeros(g), np.ones(g)
    some = events > 0
    bounds = betaincinv(events[some], instances[some] - events[some] + 1, share)
    np.maximum.at(lower, behind[some] - 1, bounds)  # holds from the largest prediction of the range on
    some = events < instances
    bounds = betaincinv(events[some] + 1, instances[some] - events[some], 1 - share)
    np.minimum.at(upper, first[some], bounds)  # holds up to the smallest
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]


def _ranges(cells: int) -> tuple[HostArray, HostArray]:
    """Return first cell and the one behind the last of all ranges that are looked at."""
    first, behind, step = [], [], 1
    while step <= cells:
        for length in range(1 if step == 1 else _STEPS // 2 + 1, _STEPS + 1):
            begin = np.arange(0, cells - length * step + 1, step)
            first.append(begin)
            behind.append(begin + length * step)
        step *= 2
    return np.concatenate(first), np.concatenate(behind)


def _cost(score: Score, share: HostArray, p: HostArray) -> HostArray:
    """Return the mean loss of predicting p where a share of events happens; what never does costs nothing."""
    if_so, if_not = score(p)
    with np.errstate(invalid="ignore"):  # 0 * inf
        return np.where(share > 0, share * if_so, 0.0) + np.where(share < 1, (1.0 - share) * if_not, 0.0)


def _divergence(score: Score, r: HostArray, p: HostArray) -> HostArray:
    """Return what predicting p costs where the frequency is r, beyond predicting r."""
    return _cost(score, r, p) - _cost(score, r, r)


def _distance(r: HostArray, p: HostArray) -> HostArray:
    return np.abs(np.subtract(r, p))
