"""What a kernel error sees of real values: a place for every prediction, a vector for every label.

    h_ij = k(P_i, P_j) <r_i, r_j>,   r_i = f(y_i) - E f(Y_i),  Y_i drawn from P_i

Labels are compared by a Gaussian kernel, l(y, y') = exp(-(y - y')^2 / (2 c^2)) = <f(y), f(y')>, where f holds
the cosines and sines of its Fourier integral. The trapezoidal rule over J frequencies is exact to rounding
once the period is longer than the range of the labels by eight bandwidths, so all label vectors meet in one
matrix product, as classes do, and every expectation has a closed form:

    E cos(w Y) = mean over members of exp(-(w s)^2 / 2) cos(w mu),  and the same for sines

    kind            distance between predictions                    r_i
    Gaussian        Wasserstein, sqrt((mu - mu')^2 + (s - s')^2)    f(y) - E f
    several members MMD, |E f - E f'|                               f(y) - E f of the mixture
    Samples         MMD between pools of label and draws            f(y) - mean of f over the draws
    Quantiles       Wasserstein between their values                (1[y <= Q_j] - l_j) sqrt(weight_j)

Of draws the label is part of the pool that gives a prediction its place: label and draws are exchangeable
under the hypothesis, so the mean of r given the pools is exactly 0, for any number of draws.

Widmann, Lindsten and Zachariah 2021 (calibration tests beyond classification).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.errors import InputTypeError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    clip,
    device,
    is_numpy,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.row_search import count_at_most
from credibly.predictions import (
    Classes,
    Dataset,
    Gaussian,
    Labels,
    Predictions,
    Quantiles,
    Rows,
    Samples,
    label_dtype,
)
from credibly.predictions.regression import over_members
from credibly.predictions.samples import Pool
from credibly.statistics.kernels import Norm, chosen_rows, median_distance, spaced, taken
from credibly.statistics.pairwise import BandwidthPlan, as_number, tracks_gradient

_REACH = {"float64": 8.0, "float32": 5.5, "tf32": 5.5}
"""Bandwidths, and standard normal frequencies, beyond which the Gaussian kernel is 0 to rounding."""
_SPREAD = 6.5
"""Standard deviations around its mean that stand for all of a predicted distribution."""
_MOST_NODES = 1024
_BANDWIDTH_VALUES = 1000
"""Numbers whose pairs make the bandwidth of labels: half a million."""
_NORMAL_OCTILES = (-1.1503493803760079, -0.31863936396437514, 0.31863936396437514, 1.1503493803760079)
"""Quantiles of the standard normal distribution at 1/8, 3/8, 5/8 and 7/8."""
_MOST_OF_A_ROW = 16
_MOST_COPIES = 64
"""Repetitions of all members, or draws, that stand for their weights."""


@dataclasses.dataclass(frozen=True)
class RealPlan(BandwidthPlan):
    """Bandwidths of predictions and labels, and the range that labels were predicted in."""

    label_bandwidth: Any = None
    low: float = 0.0
    high: float = 0.0


@dataclasses.dataclass(frozen=True)
class LabelFeatures:
    """The Gaussian kernel on labels as an inner product of `width` numbers.

    Labels outside [low, high] count as if they were at its ends.

    Attributes
    ----------
    bandwidth : float or array
        Standard deviation of the kernel.
    low, high : float
        Range of the labels.
    step : float
        Distance of the frequencies, in units of 1 / bandwidth.
    nodes : int
        Number of frequencies.
    """

    bandwidth: Any
    low: float
    high: float
    step: float
    nodes: int

    @classmethod
    def over(cls, bandwidth: Any, low: float, high: float, precision: str) -> LabelFeatures:
        """Choose frequencies for labels between `low` and `high`."""
        reach = _REACH[precision]
        period = (high - low) / as_number(bandwidth) + reach
        nodes = min(_MOST_NODES, max(1, math.ceil(reach * period / (2.0 * math.pi))))
        # beyond the largest number of frequencies the kernel repeats, and is a kernel still
        step = 2.0 * math.pi / period if nodes < _MOST_NODES else reach / nodes
        return cls(bandwidth, low, high, step, nodes)

    @property
    def width(self) -> int:
        """Numbers per label; the constant term is the same for all labels and left out."""
        return 2 * self.nodes

    def _amplitudes(self) -> HostArray:
        at = self.step * np.arange(1, self.nodes + 1)
        found: HostArray = np.sqrt(2.0 * self.step / math.sqrt(2.0 * math.pi) * np.exp(-0.5 * at * at))
        return found

    def _angle(self, values: Array) -> Array:
        return (values - 0.5 * (self.low + self.high)) * (self.step / self.bandwidth)

    def of(self, values: Array) -> Array:
        """Return f of labels (b, n), (b, width, n)."""
        xp = namespace(values)
        angle = self._angle(clip(as_float64(values), self.low, self.high))
        cosine, sine = xp.cos(angle), xp.sin(angle)
        amplitudes = self._amplitudes()
        if not is_numpy(angle):
            c, s = cosine[:, None, :], sine[:, None, :]
            while (done := c.shape[1]) < self.nodes:  # up to twice as many multiples of the angle
                more, last_c, last_s = min(done, self.nodes - done), c[:, -1:, :], s[:, -1:, :]
                first_c, first_s = c[:, :more, :], s[:, :more, :]
                c = xp.concat([c, first_c * last_c - first_s * last_s], axis=1)
                s = xp.concat([s, first_s * last_c + first_c * last_s], axis=1)
            return xp.concat([c, s], axis=1) * like(np.tile(amplitudes, 2), angle)[None, :, None]
        out = np.empty((angle.shape[0], self.width, angle.shape[1]))
        c, s = cosine, sine
        for j, amplitude in enumerate(amplitudes.tolist()):
            if j:  # the next multiple of the angle, without another cosine
                c, s = c * cosine - s * sine, s * cosine + c * sine
            np.multiply(c, amplitude, out=out[:, j, :])
            np.multiply(s, amplitude, out=out[:, self.nodes + j, :])
        return out

    def expected(self, mean: Array, std: Array, shares: Array | None = None) -> Array:
        """Return E f under mixtures of normal members (n, m), (n, width)."""
        xp = namespace(mean)
        angle = self._angle(mean)[:, :, None]
        spread = (std * (self.step / self.bandwidth))[:, :, None]
        amplitudes = self._amplitudes()
        cosines, sines = [], []
        for block in tiles(self.nodes, max(1, CACHE_ELEMENTS // max(1, angle.shape[0] * angle.shape[1]))):
            at = like(np.arange(block.start + 1.0, block.stop + 1.0), mean)
            damped = like(amplitudes[block], mean) * xp.exp(-0.5 * (at * spread) ** 2)
            cosines.append(over_members(damped * xp.cos(at * angle), shares))
            sines.append(over_members(damped * xp.sin(at * angle), shares))
        return xp.concat([*cosines, *sines], axis=1)

    def covariances(self, mean: Array, std: Array, shares: Array | None = None) -> Covariances:
        """Return the covariances of f under mixtures of normal members (n, m)."""
        scale = self.step / as_number(self.bandwidth)
        at = np.arange(2 * self.nodes + 1)[:, None, None]
        damped = np.exp(-0.5 * (at * to_host(std) * scale) ** 2)
        angle = at * (to_host(mean) - 0.5 * (self.low + self.high)) * scale
        given = None if shares is None else to_host(shares)
        cosine, sine = (  # (n, 2 J + 1)
            over_members(damped * one(angle), given, axis=2).T for one in (np.cos, np.sin)
        )
        each = slice(1, self.nodes + 1)
        weights = np.tile(self._amplitudes(), 2)
        first = np.concatenate([cosine[:, each], sine[:, each]], axis=1) * weights
        # products of cosines and sines are cosines and sines of sums and differences
        unit = np.eye(2 * self.nodes + 1)
        one, other = np.meshgrid(np.arange(1, self.nodes + 1), np.arange(1, self.nodes + 1), indexing="ij")
        apart, both = 0.5 * unit[:, np.abs(one - other)], 0.5 * unit[:, one + other]
        mixed, none = both - np.sign(one - other) * apart, np.zeros_like(both)
        maps = np.concatenate(
            [
                np.block([[apart + both, none], [none, apart - both]]),
                np.block([[none, mixed], [mixed.transpose(0, 2, 1), none]]),
            ]
        )
        return Covariances(np.concatenate([cosine, sine], axis=1), maps * np.outer(weights, weights), first)


@dataclasses.dataclass(frozen=True)
class Covariances:
    """Covariances of n residuals, sum_q table[i, q] maps[q] - first[i] first[i]'.

    Attributes
    ----------
    table : ndarray (n, q)
        Weights of the maps.
    maps : ndarray (q, r, r)
        Second moments.
    first : ndarray (n, r)
        Means.
    """

    table: HostArray
    maps: HostArray
    first: HostArray

    def mean(self) -> HostArray:
        """Return their mean, (r, r)."""
        n = self.first.shape[0]
        found: HostArray = np.tensordot(self.table.mean(axis=0), self.maps, 1) - self.first.T @ self.first / n
        return found

    def on(self, axes: HostArray) -> HostArray:
        """Return them on axes (r, d), (n, d, d)."""
        first = self.first @ axes
        second = np.tensordot(self.table, axes.T @ self.maps @ axes, 1)
        found: HostArray = second - first[:, :, None] * first[:, None, :]
        return found


class PoolCovariances(Covariances):
    """Covariances of a choice among vectors (n, p, r), with equal or given probabilities (p,)."""

    def __init__(self, vectors: HostArray, chances: HostArray | None = None) -> None:
        if chances is None:
            away = vectors - vectors.mean(axis=1, keepdims=True)
        else:  # squares are averaged over p
            away = vectors - np.einsum("npr,p->nr", vectors, chances)[:, None, :]
            away *= np.sqrt(chances * chances.size)[None, :, None]
        object.__setattr__(self, "vectors", away)

    vectors: HostArray

    def mean(self) -> HostArray:
        """Return their mean, (r, r)."""
        flat = self.vectors.reshape(-1, self.vectors.shape[2])
        found: HostArray = flat.T @ flat / flat.shape[0]
        return found

    def on(self, axes: HostArray) -> HostArray:
        """Return them on axes (r, d), (n, d, d)."""
        seen = self.vectors @ axes
        found: HostArray = seen.transpose(0, 2, 1) @ seen / seen.shape[1]
        return found


class Sides:
    """What a kernel error sees: places of predictions, residuals of labels.

    Parameters
    ----------
    points : array (n, g)
        Places of the predictions, double precision.
    width : int
        Numbers per residual.
    residuals : callable
        From labels of some rows, these rows and a dtype to (b, width, rows).
    largest : float
        Largest possible <r, r'>.
    covariances : callable, optional
        Returns the covariance of every residual under the hypothesis; classes have their own formulas.
    """

    def __init__(
        self,
        points: Array,
        width: int,
        residuals: Callable[[Labels, slice, Any], Array],
        largest: float = 2.0,
        covariances: Callable[[], Covariances] | None = None,
    ) -> None:
        self.points, self.width, self.residuals, self.largest = points, width, residuals, largest
        self.covariances = covariances


def of_gaussian(predictions: Gaussian, plan: RealPlan, precision: str) -> Sides:
    """Return places and residuals of Gaussians; of several members MMD distances between mixtures."""
    features = LabelFeatures.over(plan.label_bandwidth, plan.low, plan.high, precision)
    mean, std = predictions.members()
    shares = predictions.shares
    expected = features.expected(mean, std, shares)
    xp = namespace(mean)
    points = xp.concat([mean, std], axis=1) if mean.shape[1] == 1 else expected

    def residuals(labels: Labels, rows: slice, dtype: Any) -> Array:
        return xp.astype(_less(features.of(labels.values), expected[rows, :]), dtype, copy=False)

    return Sides(
        points, features.width, residuals, covariances=lambda: features.covariances(mean, std, shares)
    )


def of_quantiles(predictions: Quantiles) -> Sides:
    """Return places and residuals of quantiles, which need no more of a label than its cell."""
    table, levels = as_float64(predictions.values), as_float64(predictions.levels)
    xp, q = namespace(table), table.shape[1]
    heights = to_host(levels)
    gaps = np.diff(heights, prepend=0.0, append=1.0)
    weights = 0.5 * (gaps[1:] + gaps[:-1])
    root = like(np.sqrt(weights), table)
    points = table * like(np.sqrt(weights / weights.sum()), table)

    def residuals(labels: Labels, rows: slice, dtype: Any) -> Array:
        if isinstance(labels, Classes):  # first (q + 1) + last cell
            code = xp.astype(labels.values, xp.int64)
            first, last = code // (q + 1), code % (q + 1)
        else:
            values = as_float64(labels.values)
            first = count_at_most(table[rows, :], values, strict=True)
            last = count_at_most(table[rows, :], values)
        at = xp.arange(q, dtype=first.dtype, device=device(first))[None, :, None]
        # on which side of its level a label lies that equals a quantile is open: there it fits
        below = xp.where(last[:, None, :] <= at, xp.ones_like(levels[0]), xp.zeros_like(levels[0]))
        level = levels[None, :, None]
        gap = xp.where(
            (first[:, None, :] <= at) & (at < last[:, None, :]), xp.zeros_like(level), below - level
        )
        return xp.astype(gap * root[None, :, None], dtype, copy=False)

    # E 1[y <= Q_j] 1[y <= Q_k] is the smaller level, the same for all rows
    second = np.minimum.outer(heights, heights) * np.sqrt(np.outer(weights, weights))
    mean = np.broadcast_to(heights * np.sqrt(weights), (table.shape[0], q))
    one = np.ones((table.shape[0], 1))
    return Sides(points, q, residuals, 1.0, lambda: Covariances(one, second[None, ...], mean))


def with_labels(rows: Dataset) -> Dataset:
    """Return rows of draws as pools of label and draws, whose first number is chosen; others as they are."""
    given = rows.predictions
    if not isinstance(given, Samples):
        return rows
    draws, batch = given.flat(), rows.batch
    xp, n = namespace(draws), len(given)
    values = xp.concat([xp.reshape(as_float64(batch.values), (n, 1)), draws], axis=1)
    pool, p = Pool(values, tuple(given.values.shape[1:]), shares=given.shares), values.shape[1]
    pool._set(notes=given.notes)
    first = xp.zeros((1, n), dtype=label_dtype(xp, p), device=device(values))
    return dataclasses.replace(rows, predictions=pool, labels=Classes(first, p, batch.weights), weights=None)


def of_pool(pool: Pool, plan: RealPlan, precision: str) -> Sides:
    """Return places and residuals of pools (n, p), of which a choice is the label.

    Everything but the choice is a symmetric function of the pool.
    """
    values, labels, p = pool.values, pool.labels, pool.values.shape[1]
    xp = namespace(values)
    features = LabelFeatures.over(plan.label_bandwidth, plan.low, plan.high, precision)
    if pool.shares is not None:
        return _of_weighted(values, pool.shares, features)
    # the features of every number of the pool, some columns at a time
    total: Any = 0.0
    for block in tiles(p, max(1, CACHE_ELEMENTS // (features.width * values.shape[0]))):
        total = total + xp.sum(features.of(values[:, block].T), axis=0)
    mean = (total / p).T

    def residuals(chosen: Labels, rows: slice, dtype: Any) -> Array:
        at = xp.astype(chosen.values, xp.int64).T
        seen = features.of(xp.take_along_axis(labels[rows, :], at, axis=1).T)
        if labels is values:
            return xp.astype(_less(seen, mean[rows, :]) * (p / (p - 1.0)), dtype, copy=False)
        own = features.of(xp.take_along_axis(values[rows, :], at, axis=1).T)
        found = _less(seen + own / (p - 1.0), mean[rows, :] * (p / (p - 1.0)))
        return xp.astype(found, dtype, copy=False)

    def covariances() -> Covariances:
        every = np.stack([to_host(features.of(values[:, j : j + 1].T)[0, ...].T) for j in range(p)], axis=1)
        return PoolCovariances(every * (p / (p - 1.0)))

    return Sides(mean, features.width, residuals, covariances=covariances)


def _of_weighted(values: Array, shares: Array, features: LabelFeatures) -> Sides:
    """Return places and residuals of labels (the first column) and draws with shares.

    The draws count as 1 / sum w^2: residual and place of calibrated draws are then uncorrelated.
    """
    label = features.of(values[:, :1].T)[0, ...]
    xp = namespace(values)
    mean = xp.zeros_like(label)
    for j in range(shares.shape[0]):
        mean = mean + shares[j] * features.of(values[:, j + 1 : j + 2].T)[0, ...]
    square = xp.sum(shares * shares)
    residual = label - mean

    def residuals(chosen: Labels, rows: slice, dtype: Any) -> Array:
        return xp.astype(residual[:, rows][None, ...], dtype, copy=False)

    def covariances() -> Covariances:
        every = [to_host(features.of(values[:, j : j + 1].T)[0, ...].T) for j in range(values.shape[1])]
        q = float(to_host(square))
        chances = np.append(q, to_host(shares)) / (1.0 + q)  # the label counts as one of 1 + 1 / q numbers
        return PoolCovariances(np.stack(every, axis=1) * (1.0 + q), chances)

    places = (mean + residual * (square / (1.0 + square))).T
    return Sides(places, features.width, residuals, covariances=covariances)


def _less(values: Array, expected: Array) -> Array:
    """Return (b, r, n) minus (n, r), in place where nothing else holds it."""
    if is_numpy(values):
        values -= expected.T
        return values
    return values - expected.T[None, :, :]


def plan_of(rows: Rows, bandwidth: Any, label_bandwidth: Any, norm: Norm, precision: str) -> RealPlan:
    """Plan a kernel error of Gaussians, quantiles or pools; of draws nothing is known without their labels.

    Bandwidths come from evenly spaced rows, as often as their weights say, and the range from all rows: the
    same for rows in memory and in chunks.
    """
    some = rows.sample.predictions
    require_kind(some)
    if isinstance(some, Samples):
        return RealPlan(rows.n, None, bandwidth, (), label_bandwidth)
    chosen = chosen_rows(rows, _BANDWIDTH_VALUES)
    part = joined_part(list(rows.map(partial(rows_inside, chosen))))
    low, high = 0.0, 0.0
    notes: tuple[str, ...] = ()
    if isinstance(part, (Gaussian, Pool)):
        if isinstance(label_bandwidth, str):
            label_bandwidth, notes = _label_bandwidth(part)
        ends = list(rows.map(_extent))
        low, high = min(one[0] for one in ends), max(one[1] for one in ends)
    if isinstance(bandwidth, str):
        plan = RealPlan(rows.n, None, None, (), label_bandwidth, low, high)
        points = sides_of(part, plan, precision).points
        bandwidth, told = median_distance(points, norm, part)
        notes = (*told, *notes)
    return RealPlan(rows.n, None, bandwidth, notes, label_bandwidth, low, high)


def sides_of(predictions: Predictions, plan: RealPlan, precision: str) -> Sides:
    """Return what a kernel error sees of Gaussians, quantiles, and pools of labels and draws."""
    if isinstance(predictions, Gaussian):
        return of_gaussian(predictions, plan, precision)
    if isinstance(predictions, Pool):
        return of_pool(predictions, plan, precision)
    assert isinstance(predictions, Quantiles)
    return of_quantiles(predictions)


def require_kind(predictions: Predictions) -> None:
    """Raise unless kernels know this kind of real-valued prediction."""
    if not isinstance(predictions, (Gaussian, Samples, Pool, Quantiles)):
        raise InputTypeError(
            "a kernel error of real values",
            "needs Gaussian, Samples or Quantiles predictions",
            f"got {type(predictions).__name__}",
            "Convert them to one of these.",
        )


def rows_inside(chosen: HostArray, rows: Dataset) -> Predictions | None:
    """Return those of some rows that are in a dataset; None where none is."""
    first, last = np.searchsorted(chosen, [rows.start, rows.start + len(rows)])
    return rows.predictions[chosen[first:last] - rows.start] if last > first else None


def joined_part(parts: list[Predictions | None]) -> Predictions:
    """Return the rows of several parts as one; of one dataset on its device, with its graph."""
    found = [one for one in parts if one is not None]
    if len(found) == 1:
        return found[0]
    together = {
        name: np.concatenate([to_host(getattr(one, name)) for one in found]) for name in found[0].row_fields
    }
    return found[0].replace_rows(**together)


def _extent(rows: Dataset) -> tuple[float, float]:
    """Return the range in which some rows predict labels."""
    given = rows.predictions
    if isinstance(given, Pool):
        xp, low, high = namespace(given.values), given.values, given.values
    else:
        assert isinstance(given, Gaussian)
        mean, std = given.members()
        xp, low, high = namespace(mean), mean - _SPREAD * std, mean + _SPREAD * std
    return float(to_host(xp.min(low))), float(to_host(xp.max(high)))


def _label_bandwidth(part: Gaussian | Pool) -> tuple[Any, tuple[str, ...]]:
    """Return the median distance between numbers of pools, or octiles of the members of some rows."""
    if isinstance(part, Pool):
        values = part.values
        if part.shares is not None:  # the first number is the label
            own = np.append(0, 1 + repeated(to_host(part.shares)))
            values = namespace(values).take(values, like(own, values), axis=1)
        return median_label_distance(values, "draws")[0], ()
    mean, std = part.members()
    xp = namespace(mean)
    if part.shares is not None:
        again = like(repeated(to_host(part.shares)), mean)
        mean, std = xp.take(mean, again, axis=1), xp.take(std, again, axis=1)
    octiles = like(np.asarray(_NORMAL_OCTILES), mean)
    values = mean[:, :, None] + std[:, :, None] * octiles
    values = xp.reshape(values, (values.shape[0], -1))
    return median_label_distance(values, "predicted labels")


def repeated(shares: HostArray) -> HostArray:
    """Return which of the members or draws stand for all of them, each about as often as its share says.

    Exactly so where the shares are multiples of 1 / 64 or more.
    """
    for total in range(1, _MOST_COPIES + 1):
        if (np.abs(shares * total - np.round(shares * total)) < 1e-9 * total).all():
            break
    else:
        total = max(_MOST_COPIES, 4 * shares.size)
    return np.repeat(np.arange(shares.size), np.round(shares * total).astype(np.int64))


def median_label_distance(values: Array, what: str) -> tuple[Any, tuple[str, ...]]:
    """Return the median distance between numbers of different and the same rows (n, p)."""
    xp = namespace(values)
    ordered = xp.sort(values, axis=1)
    p = ordered.shape[1]
    if p > _MOST_OF_A_ROW:
        at = np.linspace(0, p - 1, _MOST_OF_A_ROW).round().astype(np.int64)
        ordered = xp.take(ordered, like(at, ordered), axis=1)
    # sorted, so that neither the order of the rows nor how often they occur matters
    _, rows = np.unique(to_host(ordered), axis=0, return_index=True)
    rows = rows[spaced(rows.size, max(2, _BANDWIDTH_VALUES // ordered.shape[1]))]
    numbers = xp.reshape(taken(ordered, rows), (-1,))
    if tracks_gradient(values):
        apart = xp.abs(numbers[:, None] - numbers[None, :])[np.triu_indices(numbers.shape[0], 1)]
        sorted_, middle = xp.sort(apart), apart.shape[0] // 2
        found = sorted_[middle] if apart.shape[0] % 2 else 0.5 * (sorted_[middle - 1] + sorted_[middle])
        largest = as_number(sorted_[-1])
    else:
        ranked = np.sort(to_host(numbers).astype(np.float64))
        apart = np.concatenate([ranked[j + 1 :] - one for j, one in enumerate(ranked)])
        found, largest = float(np.median(apart)), float(ranked[-1] - ranked[0])
    if not as_number(found) > 0:
        found = largest if largest > 0 else 1.0
    return found, (f"bandwidth {as_number(found):.4g} of labels is the median distance of {what}",)
