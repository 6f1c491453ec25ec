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
    standardised    Wasserstein of mean and s, shape beside it      f(z) - E f,  z = (y - mean) / s
    Samples         MMD between pools of label and draws            f(y) - mean of f over the draws
    Quantiles       Wasserstein between their values                (1[y <= Q_j] - l_j) sqrt(weight_j)

Standardised labels are compared by l(z, z') = g(z - z') + g(z + z') / 2, a Gaussian kernel g that also sees
mirror images, so that errors of spread, which are even in z, weigh as much as errors of location.

Of draws the label is part of the pool that gives a prediction its place: label and draws are exchangeable
under the hypothesis, so the mean of r given the pools is exactly 0, for any number of draws.

Widmann, Lindsten and Zachariah 2021 (calibration tests beyond classification).
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.checks import find_rows
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
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
from credibly.predictions.samples import Pool
from credibly.statistics.kernels import (
    MEDIAN_ROWS,
    KernelName,
    as_number,
    kernel_matrix,
    median,
    median_distance,
    spaced,
    spaced_rows,
    taken,
    tracks_gradient,
)
from credibly.statistics.label_features import LabelFeatures
from credibly.statistics.pairwise import BandwidthPlan, Sides

_SPREAD = 6.5
"""Standard deviations around its mean that stand for all of a predicted distribution."""
_BANDWIDTH_VALUES = 1000
"""Numbers whose pairs make the bandwidth of labels: half a million."""
_NORMAL_OCTILES = (-1.1503493803760079, -0.31863936396437514, 0.31863936396437514, 1.1503493803760079)
"""Quantiles of the standard normal distribution at 1/8, 3/8, 5/8 and 7/8."""
_MOST_OF_A_ROW = 16
_MOST_COPIES = 64
"""Repetitions of all members that stand for their weights."""
_LARGEST = 1e150
"""Size of numbers whose squares, and sums of these, are finite."""
STANDARDISED = "standardised"
_STANDARD_BANDWIDTH = 1.5
"""Bandwidth of standardised labels: wide enough that location and spread weigh more than fine shape."""
_COMMON = 0.2
"""Weight of what all predictions have in common, relative to a centred kernel of about 1 - 0.4."""
_REFERENCES = 200
"""Number of places whose mean stands for the mean of all predictions."""


@dataclasses.dataclass(frozen=True)
class RealPlan(BandwidthPlan):
    """Bandwidths of predictions and labels, and the range that labels were predicted in."""

    label_bandwidth: Any = None
    low: float = 0.0
    high: float = 0.0
    reference: Any = None
    """Places (r, g) whose mean kernel is taken away; None where the kernel is used as it is."""
    single: bool = False
    """Whether products are in single precision, which fewer frequencies of labels suffice for."""

    def features(self) -> LabelFeatures:
        """Return the vectors that labels become; standardised ones are also compared with mirror images."""
        standardised = standardises(self.label_bandwidth)
        bandwidth = _STANDARD_BANDWIDTH if standardised else self.label_bandwidth
        return LabelFeatures.over(bandwidth, self.low, self.high, single=self.single, mirrored=standardised)


def standardises(label_bandwidth: Any) -> bool:
    """Say whether labels are compared in units of what is predicted."""
    return isinstance(label_bandwidth, str) and label_bandwidth == STANDARDISED


def of_gaussian(predictions: Gaussian, plan: RealPlan) -> Sides:
    """Return places and residuals of Gaussians; of several members MMD distances between mixtures.

    Labels may be standardised by mean and spread, and so are the members.
    """
    features, standardised = plan.features(), standardises(plan.label_bandwidth)
    mean, std = predictions.members()
    xp, several = namespace(mean), mean.shape[1] > 1
    centre, spread = xp.zeros_like(mean[:, :1]), xp.ones_like(mean[:, :1])
    points = xp.concat([mean, std], axis=1)
    if standardised:
        centre, spread, mean, std = _standardised(predictions)
        points = xp.concat([centre, spread], axis=1)
    expected = features.expected(mean, std, predictions.shares)
    if several and standardised:  # shapes differ: by how much from the normal one, in units of the label
        normal = features.expected(xp.zeros_like(mean[:1, :1]), xp.ones_like(mean[:1, :1]))
        points = xp.concat([points, spread * (expected - normal)], axis=1)
    elif several:
        points = expected

    def residuals(labels: Labels, rows: slice, dtype: Any) -> Array:
        z = (as_float64(labels.values) - centre[rows, 0]) / spread[rows, 0]
        return xp.astype(_less(features.of(z), expected[rows, :]), dtype, copy=False)

    return Sides(points, features.width, residuals, 3.0 if standardised else 2.0)


def _standardised(predictions: Gaussian) -> tuple[Array, Array, Array, Array]:
    """Return mean and spread of every mixture, (n, 1), and its members in units of these, (n, m)."""
    mean, std = predictions.members()
    if mean.shape[1] == 1:
        xp = namespace(mean)
        return mean, std, xp.zeros_like(mean), xp.ones_like(std)
    centre = predictions.expectation()[:, None]
    spread = namespace(mean).sqrt(predictions.variance())[:, None]
    return centre, spread, (mean - centre) / spread, std / spread


def centred(sides: Sides, plan: RealPlan, kernel: KernelName) -> Sides:
    """Take the mean kernel with the places of reference away, and add a smaller constant.

    What all predictions have in common is one direction among many, which `quantile_calibration_error` tests
    by itself; taken away, the kernel sees how errors change with what is predicted.
    """
    if plan.reference is None:
        return sides
    points = sides.points
    xp = namespace(points)
    # of rows in chunks it is on the host; in memory it has the device, and the graph, of the predictions
    reference = like(plan.reference, points) if is_numpy(plan.reference) else plan.reference
    level_kernel = kernel_matrix(reference, reference, kernel, plan.bandwidth)
    parts = [
        xp.mean(kernel_matrix(points[rows, :], reference, kernel, plan.bandwidth), axis=1)
        for rows in tiles(points.shape[0], max(1, CACHE_ELEMENTS // reference.shape[0]))
    ]
    with_means = xp.concat([points, xp.concat(parts, axis=0)[:, None]], axis=1)
    return dataclasses.replace(sides, points=with_means, level=xp.mean(level_kernel) + _COMMON)


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
        first, last = cells_of(labels, table[rows, :])
        at = xp.arange(q, dtype=first.dtype, device=device(first))[None, :, None]
        # on which side of its level a label lies that equals a quantile is open: there it fits
        below = last[:, None, :] <= at
        gap = xp.astype(below, levels.dtype) - levels[None, :, None]
        gap = xp.where((first[:, None, :] <= at) & ~below, 0.0, gap)
        return xp.astype(gap * root[None, :, None], dtype, copy=False)

    return Sides(points, q, residuals, 1.0)


def cells_of(labels: Labels, table: Array) -> tuple[Array, Array]:
    """Return the first and the last cell between quantiles (n, q) that labels may lie in, (b, n) each.

    They differ where a label equals a quantile. Labels of replicates are numbered: first (q + 1) + last.
    """
    if isinstance(labels, Classes):
        code, size = namespace(table).astype(labels.values, namespace(table).int64), table.shape[1] + 1
        return code // size, code % size
    values = as_float64(labels.values)
    return count_at_most(table, values, strict=True), count_at_most(table, values)


def with_labels(rows: Dataset) -> Dataset:
    """Return rows of draws as pools of label and draws, whose first number is chosen; others as they are."""
    predictions = rows.predictions
    return pooled_with(rows, as_float64(predictions.values)) if isinstance(predictions, Samples) else rows


def pooled_with(rows: Dataset, draws: Array) -> Dataset:
    """Return rows as pools of their label and draws (n, s) or (n, m, s); the label is the first choice."""
    batch, xp, n = rows.batch, namespace(draws), draws.shape[0]
    parts = [xp.reshape(as_float64(batch.values), (n, 1)), xp.reshape(draws, (n, -1))]
    pool = Pool(xp.concat(parts, axis=1), tuple(draws.shape[1:]))
    pool._set(notes=rows.predictions.notes)
    p = pool.values.shape[1]
    first = xp.zeros((1, n), dtype=label_dtype(xp, p), device=device(draws))
    return dataclasses.replace(rows, predictions=pool, labels=Classes(first, p, batch.weights), weights=None)


def of_pool(pool: Pool, plan: RealPlan) -> Sides:
    """Return places and residuals of pools (n, p), of which a choice is the label.

    Everything but the choice is a symmetric function of the pool.
    """
    values, labels, p = pool.values, pool.labels, pool.values.shape[1]
    xp = namespace(values)
    features = plan.features()
    mean = features.mean_over(values)

    def residuals(chosen: Labels, rows: slice, dtype: Any) -> Array:
        at = xp.astype(chosen.values, xp.int64).T
        seen = features.of(xp.take_along_axis(labels[rows, :], at, axis=1).T)
        if labels is values:
            residual = _less(seen, mean[rows, :]) * (p / (p - 1.0))
        else:
            own_features = features.of(xp.take_along_axis(values[rows, :], at, axis=1).T)
            residual = _less(seen + own_features / (p - 1.0), mean[rows, :] * (p / (p - 1.0)))
        return xp.astype(residual, dtype, copy=False)

    return Sides(mean, features.width, residuals)


def _less(values: Array, expected: Array) -> Array:
    """Return (b, r, n) minus (n, r), in place where nothing else holds it."""
    if is_numpy(values):
        values -= expected.T
        return values
    return values - expected.T[None, :, :]


MMD = "maximum mean discrepancy (MMD)"


def _distance(part: Predictions, standardised: bool) -> str:
    """Return what the distance between places of these predictions is called."""
    if isinstance(part, Quantiles) or (isinstance(part, Gaussian) and part.n_members == 1):
        return "Wasserstein distance"
    return "distance between means, spreads and shapes" if standardised else MMD


def plan_of(rows: Rows, bandwidth: Any, label_bandwidth: Any, single: bool = False) -> RealPlan:
    """Plan a kernel error of Gaussians, quantiles or pools; of draws nothing is known without their labels.

    Bandwidths come from evenly spaced rows, as often as their weights say, and the range from all rows: the
    same for rows in memory and in chunks.
    """
    some = rows.example.predictions
    if not isinstance(some, (Gaussian, Samples, Pool, Quantiles)):
        raise InputTypeError(
            "a kernel error of real values",
            "needs Gaussian, Samples or Quantiles predictions",
            f"got {type(some).__name__}",
            "Convert them to one of these.",
        )
    if isinstance(some, Samples):
        return RealPlan(rows.n, None, bandwidth, (), label_bandwidth)
    for _ in rows.map(_require_squares):
        pass
    part = spaced_rows(rows, MEDIAN_ROWS)
    low, high = 0.0, 0.0
    notes: tuple[str, ...] = ()
    if isinstance(part, (Gaussian, Pool)):
        if standardises(label_bandwidth) and isinstance(part, Pool):
            label_bandwidth = "median"
        if isinstance(label_bandwidth, str) and not standardises(label_bandwidth):
            label_bandwidth, notes = _label_bandwidth(part)
        ends = list(rows.map(partial(_extent, standardised=standardises(label_bandwidth))))
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    centres = isinstance(part, Gaussian) and standardises(label_bandwidth)
    reference = None
    if isinstance(bandwidth, str) or centres:
        plan = RealPlan(rows.n, None, None, (), label_bandwidth, low, high, single=single)
        points = sides_of(part, plan).points
        if isinstance(bandwidth, str):
            bandwidth, bandwidth_notes = median_distance(points, _distance(part, centres))
            notes = (*bandwidth_notes, *notes)
        if centres:
            # sorted, so that neither the order of the rows nor how often they occur matters
            _, first = np.unique(to_host(points), axis=0, return_index=True)
            reference = taken(points, first[spaced(first.size, _REFERENCES)])
    return RealPlan(rows.n, None, bandwidth, notes, label_bandwidth, low, high, reference, single)


def sides_of(predictions: Predictions, plan: RealPlan) -> Sides:
    """Return what a kernel error sees of Gaussians, quantiles, and pools of labels and draws."""
    if isinstance(predictions, Gaussian):
        return of_gaussian(predictions, plan)
    if isinstance(predictions, Pool):
        return of_pool(predictions, plan)
    assert isinstance(predictions, Quantiles)
    return of_quantiles(predictions)


def _require_squares(rows: Dataset) -> None:
    """Raise where squares of distances would overflow."""
    predictions = rows.predictions
    for name, values in predictions.row_arrays().items():
        too_far = find_rows((values,), lambda rows: abs(as_float64(rows)) > _LARGEST)
        if too_far:
            far = np.abs(to_host(values[too_far[0], ...]).astype(np.float64)).max()
            raise InputError(
                "`predictions` and labels" if isinstance(predictions, Pool) else f"`{name}`",
                f"must not exceed {_LARGEST:g} in size for a kernel error, which squares distances",
                f"row {rows.start + too_far[0]} has {far:.3g}",
                "Use other units for predictions and labels, or drop such rows.",
            )


def _extent(rows: Dataset, standardised: bool = False) -> tuple[float, float]:
    """Return the range in which some rows predict labels; standardised, one around 0."""
    predictions = rows.predictions
    if isinstance(predictions, Pool):
        xp, low, high = namespace(predictions.values), predictions.values, predictions.values
    else:
        assert isinstance(predictions, Gaussian)
        mean, std = predictions.members()
        if standardised:
            _, _, mean, std = _standardised(predictions)
            farthest = float(to_host(namespace(mean).max(abs(mean) + _SPREAD * std)))
            return -farthest, farthest
        xp, low, high = namespace(mean), mean - _SPREAD * std, mean + _SPREAD * std
    return float(to_host(xp.min(low))), float(to_host(xp.max(high)))


def _label_bandwidth(part: Gaussian | Pool) -> tuple[Any, tuple[str, ...]]:
    """Return the median distance between numbers of pools, or octiles of the members of some rows."""
    if isinstance(part, Pool):
        return _median_label_distance(part.values, "draws")[0], ()
    mean, std = part.members()
    xp = namespace(mean)
    if part.shares is not None:
        again = _repeated(to_host(part.shares))
        again = like(np.broadcast_to(again, (mean.shape[0], again.shape[1])).copy(), mean)
        mean, std = (xp.take_along_axis(part, again, axis=1) for part in (mean, std))
    octiles = like(np.asarray(_NORMAL_OCTILES), mean)
    values = mean[:, :, None] + std[:, :, None] * octiles
    values = xp.reshape(values, (values.shape[0], -1))
    return _median_label_distance(values, "predicted labels")


def _repeated(shares: HostArray) -> HostArray:
    """Return members that stand for mixtures with shares (r, m), (r, t): each as often as its share says.

    Exactly so if the shares are multiples of 1 / t, and t is the smallest number up to 64 for which they are.
    """
    for total in range(1, _MOST_COPIES + 1):
        if (np.abs(shares * total - np.round(shares * total)) < 1e-9 * total).all():
            break
    else:
        total = max(_MOST_COPIES, 4 * shares.shape[1])
    heights = (np.arange(total) + 0.5) / total
    ends = np.cumsum(shares, axis=1)[:, :-1]  # of every member but the last
    return np.stack([np.searchsorted(row, heights, side="right") for row in ends])


def _median_label_distance(values: Array, what: str) -> tuple[Any, tuple[str, ...]]:
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
        distances = xp.abs(numbers[:, None] - numbers[None, :])[np.triu_indices(numbers.shape[0], 1)]
    else:
        ranked = np.sort(to_host(numbers).astype(np.float64))
        distances = np.concatenate([ranked[j + 1 :] - number for j, number in enumerate(ranked)])
    bandwidth = median(distances)
    if not as_number(bandwidth) > 0:
        bandwidth = as_number(namespace(distances).max(distances)) or 1.0
    return bandwidth, (f"label bandwidth {as_number(bandwidth):.4g} is the median distance between {what}",)
