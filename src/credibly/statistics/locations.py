"""What the locations of `ucme` see: kernels of all instances with the predictions and labels of a few.

    g_j = mean over i of k(P_i, T_j) (l(y_i, t_j) - E l(Y_i, t_j))

The place of a prediction given as draws follows from its draws and its label together: it is the mean of f
over the s + 1 numbers, f the features of the label kernel. A residual l(y, t) - mean of l(x, t) is correlated
with the draws it is made of, but not with that mean, because each of the numbers may be the label.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    clip,
    is_numpy,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly.predictions import (
    Counts,
    Gaussian,
    Labels,
    Predictions,
    Quantiles,
    RealPredictions,
    Samples,
    as_point,
)
from credibly.predictions.regression import over_members
from credibly.predictions.samples import Pool
from credibly.results.curves import LocatedEstimate
from credibly.results.estimates import Estimate, cluster_error
from credibly.statistics.kernels import KernelName, as_number, kernel_matrix
from credibly.statistics.label_features import LabelFeatures
from credibly.statistics.protocol import BIASED_UPWARDS, Bound, State, label_values, replicates
from credibly.statistics.real_kernels import RealPlan, cells_of, sides_of


@dataclasses.dataclass(frozen=True)
class LocationPlan(RealPlan):
    """Bandwidths, and the locations: places of predictions (j, g) and labels (j,) on the host.

    `predicted` and `spread` (j,) say what is predicted there: mean and standard deviation, the quantile, or
    the probability of the class; only Gaussians and draws have a spread.
    """

    places: HostArray = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))
    targets: HostArray = dataclasses.field(default_factory=lambda: np.zeros(0))
    predicted: HostArray = dataclasses.field(default_factory=lambda: np.zeros(0))
    spread: HostArray = dataclasses.field(default_factory=lambda: np.zeros(0))


class Views(NamedTuple):
    """What every location sees of some rows, given labels: functions that return (b, j, n), or (1, j, n)."""

    near: Callable[[Labels], Array]  # k(P, T)
    residual: Callable[[Labels], Array]  # l(y, t) - E l(Y, t)
    variance: Callable[[Labels], Array]  # of l(Y, t)


class LocationBound(Bound):
    """Sums over instances of what every location sees, (b, locations)."""

    term_size = 1.0
    statistic: Any  # `ucme`, which is made of this

    def __init__(
        self, statistic: Any, predictions: Predictions, plan: LocationPlan, notes: tuple[str, ...]
    ) -> None:
        super().__init__(statistic, plan.n, notes)
        self.predictions, self.plan = predictions, plan
        self.targets = like(plan.targets, next(iter(predictions.row_arrays().values())))

    @cached_property
    def views(self) -> Views:
        """What every location sees of the bound rows."""
        return views_of(self.predictions, self.plan, self.statistic.kernel)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the views out: functions do not travel, and are made again where they are asked for."""
        return {name: value for name, value in vars(self).items() if name != "views"}

    def of_cells(self, predictions: Quantiles) -> Bound:
        """Return itself: it looks at the cells of labels itself."""
        return self

    def of_pool(self, pool: Pool, weights: Array | None) -> LocationBound:
        """Bind to pools, whose places do not depend on the choice."""
        return LocationBound(self.statistic, pool, self.plan, self.plan.notes)

    def state(self, labels: Labels) -> State:
        """Return the sums, replicates in tiles that stay in cache."""
        step = len(labels)
        if is_numpy(self.targets):
            step = max(1, 16 * CACHE_ELEMENTS // max(1, self.targets.size * labels.n))
        parts = [self._state(replicates(labels, reps)) for reps in tiles(len(labels), step)]
        xp = namespace(self.targets)
        return State({name: xp.concat([part[name] for part in parts], axis=0) for name in parts[0]})

    def _state(self, labels: Labels) -> State:
        xp = namespace(self.targets)
        near, residual = self.views.near(labels), self.views.residual(labels)
        weight = xp.zeros((len(labels),), dtype=xp.float64) + float(labels.n)
        if labels.weights is not None:
            near = near * labels.weights[:, None, :]
            weight = xp.broadcast_to(as_float64(xp.sum(labels.weights, axis=1)), (len(labels),))
        return State(seen=xp.sum(near * residual, axis=2), weight=like(to_host(weight), self.targets))

    def finish(self, state: State) -> Array:
        """Average the squared means."""
        mean = state["seen"] / state["weight"][:, None]
        return namespace(mean).mean(mean * mean, axis=1)

    def observed_sums(self, labels: Labels) -> State:
        """Return the state and the variance of every sum if labels were drawn from the predictions."""
        state, near, xp = self.state(labels), self.views.near(labels), namespace(self.targets)
        if labels.weights is not None:
            near = near * labels.weights[:, None, :]
        return State({**state, "variance": xp.sum(near * near * self.views.variance(labels), axis=2)})

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: squares are above zero even for a calibrated model."""
        return None, BIASED_UPWARDS

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State:
        """Return what the rows of every cluster add at every location, and how many rows are near it."""
        close = self.views.near(labels)[0, ...]  # (j, n)
        seen = to_host(close * self.views.residual(labels)[0, ...]).T
        weight = labels.row_weights()
        near = np.zeros((number, seen.shape[1]))
        total = np.zeros_like(near)
        np.add.at(near, codes, weight[:, None] * to_host(close).T)
        np.add.at(total, codes, weight[:, None] * seen)
        return State(seen=total, near=near, weight=np.bincount(codes, weight, number))

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return 0, which the predictions expect, and what the rows of every cluster add."""
        own = self.cluster_sums(labels, codes, number)
        scatter = to_host(self.observed_sums(labels)["variance"]).sum(axis=1)
        expected = State(seen=np.zeros((1, self.targets.shape[0])), weight=own["weight"].sum()[None])
        return State({**expected, "scatter": scatter}), State(seen=own["seen"])

    def in_clusters(self, found: Estimate, sums: State) -> Estimate:
        """Return the map with errors that leave out each cluster once, and no less than independent rows."""
        assert isinstance(found, LocatedEstimate)
        present = sums["weight"] > 0
        if np.count_nonzero(present) < 2:  # of a group; all rows have two clusters or more
            return dataclasses.replace(found, n_clusters=1)
        weight, seen, near = (sums[name][present] for name in ("weight", "seen", "near"))
        without = (seen.sum(axis=0) - seen) / (weight.sum() - weight)[:, None]  # (c, j)
        errors, degrees = [], []
        for at, (value, independent) in enumerate(
            zip(found.difference, found.difference_stderr, strict=True)
        ):
            one = cluster_error(value, without[:, at], near[:, at], independent)
            errors.append(max(one["stderr"], independent))
            degrees.append(one["degrees_of_freedom"])
        located = dataclasses.replace(
            found,
            difference_stderr=tuple(errors),
            difference_degrees=tuple(degrees),
            n_clusters=int(present.sum()),
            notes=found.notes[:-1],
        )
        return dataclasses.replace(located, notes=(*located.notes, located.worst_words()))

    def witness(self, sums: State) -> tuple[HostArray, HostArray]:
        """Return g of every location and its standard error if calibrated, (j,) each, of `observed_sums`."""
        weight = float(to_host(sums["weight"])[0])
        return to_host(sums["seen"])[0] / weight, np.sqrt(to_host(sums["variance"])[0]) / weight

    def estimate(
        self, sums: State, labels: Labels, notes: tuple[str, ...] = (), n: int | None = None
    ) -> LocatedEstimate:
        """Return the value with its locations, and a note that names the one where labels are most off."""
        plan, given = self.plan, self.predictions
        kind: Literal["mean", "quantile", "probability"] = "probability"
        targets = plan.targets
        if isinstance(given, Quantiles):
            kind, targets = "quantile", to_host(given.levels)[targets.astype(np.int64)]
        elif isinstance(given, RealPredictions):
            kind = "mean"
        difference, error = self.witness(sums)
        found = super().estimate(sums, labels, notes, n)
        located = LocatedEstimate(
            **{field.name: getattr(found, field.name) for field in dataclasses.fields(found)},
            predicts=kind,
            predicted=tuple(plan.predicted.tolist()),
            spread=tuple(plan.spread.tolist()),
            label=tuple(float(one) for one in targets),
            difference=tuple(difference.tolist()),
            difference_stderr=tuple(error.tolist()),
        )
        return dataclasses.replace(located, notes=(*located.notes, located.worst_words()))


def places_of(predictions: Predictions, plan: LocationPlan) -> Array:
    """Return the places of predictions, (n, g)."""
    if isinstance(predictions, RealPredictions):
        return sides_of(predictions, plan).points
    return as_float64(as_point(predictions)[0].probs)


def views_of(predictions: Predictions, plan: LocationPlan, kernel: KernelName) -> Views:
    """Return what locations see of predictions; of pools labels are choices among their numbers."""

    def near_to(points: Array) -> Array:
        found = kernel_matrix(points, like(plan.places, points), kernel, as_number(plan.bandwidth))
        return namespace(found).permute_dims(found, (1, 0))  # (j, n)

    if isinstance(predictions, Pool):
        return _of_pool(predictions, plan, near_to)
    if isinstance(predictions, Samples):
        return _of_draws(predictions, plan, near_to)
    points = places_of(predictions, plan)
    xp, near, targets = namespace(points), near_to(points)[None, ...], like(plan.targets, points)
    at = None if isinstance(predictions, Gaussian) else xp.astype(targets, xp.int64)
    if isinstance(predictions, Gaussian):
        scale = as_number(plan.label_bandwidth)
        mean = _expected_near(predictions, targets, scale)
        # the square of a Gaussian kernel is one of another bandwidth
        square = _expected_near(predictions, targets, scale / math.sqrt(2))

        def seen(labels: Labels) -> Array:
            return _alike(as_float64(labels.values), targets, plan) - mean[None, ...]

    elif isinstance(predictions, Quantiles):
        table, levels = as_float64(predictions.values), as_float64(predictions.levels)
        mean = xp.take(levels, at, axis=0)[:, None] + xp.zeros_like(table[:, 0])[None, :]
        square = mean  # l is 0 or 1

        def seen(labels: Labels) -> Array:
            first, last = cells_of(labels, table)
            level = xp.astype(targets, first.dtype)[None, :, None]
            below = xp.astype(last[:, None, :] <= level, xp.float64) - mean[None, ...]
            open_ = (first[:, None, :] <= level) & (level < last[:, None, :])
            return xp.where(open_, xp.zeros_like(below), below)

    else:
        mean = xp.permute_dims(xp.take(points, at, axis=1), (1, 0))
        square = mean

        def seen(labels: Labels) -> Array:
            return xp.take(label_values(labels, xp, xp.float64), at, axis=1) - mean[None, ...]

    spread = xp.clip(square - mean * mean, 0.0, None)[None, ...]

    def variance(labels: Labels) -> Array:
        if isinstance(labels, Counts):  # the share of independent raters
            return spread / as_float64(xp.sum(labels.values, axis=-1))[:, None, :]
        return spread

    return Views(lambda labels: near, seen, variance)


def _expected_near(predictions: Gaussian, targets: Array, scale: Any) -> Array:
    """Return E exp(-(Y - t)^2 / (2 scale^2)) of every location, (j, n)."""
    xp = namespace(targets)
    mean, std = predictions.members()
    total = xp.sqrt(scale**2 + std * std)  # (n, m)
    gap = (mean[None, ...] - targets[:, None, None]) / total[None, ...]
    return over_members(scale / total[None, ...] * _normal(gap), predictions.shares, axis=2)


def _of_draws(draws: Samples, plan: LocationPlan, near_to: Callable[[Array], Array]) -> Views:
    """Return what locations see of draws; label and draws together are the place of a prediction."""
    values, features = draws.flat(), features_of(plan)
    xp, targets = namespace(values), like(plan.targets, values)
    q = 1.0 / draws.n_draws

    @cache
    def means() -> tuple[Array, Array, Array]:  # of f, (n, width), of l and of l^2 at every location, (j, n)
        return features.mean_over(values), *_mean_alike(values, targets, plan)

    def alike(labels: Labels) -> Array:
        return _alike(as_float64(labels.values), targets, plan)

    def near(labels: Labels) -> Array:
        seen, parts = as_float64(labels.values), []
        b, n = seen.shape
        for rows in tiles(n, max(1, 16 * CACHE_ELEMENTS // (b * features.width))):
            own = xp.permute_dims(features.of(seen[:, rows]), (0, 2, 1))
            places = (q * own + means()[0][rows, :][None, ...]) / (1.0 + q)
            found = near_to(xp.reshape(places, (-1, features.width)))
            parts.append(xp.permute_dims(xp.reshape(found, (found.shape[0], b, -1)), (1, 0, 2)))
        return xp.concat(parts, axis=2)

    def variance(labels: Labels) -> Array:  # if any of the numbers might be the label
        own, (_, mean, square) = alike(labels), means()
        # (1 + q)^2 times the square, and the mean, where each of the 1 + 1 / q numbers counts alike
        second = (q * own * own + square[None, ...]) * (1.0 + q)
        return clip(second - (q * own + mean[None, ...]) ** 2, 0.0)

    return Views(near, lambda labels: alike(labels) - means()[1][None, ...], variance)


def _of_pool(pool: Pool, plan: LocationPlan, near_to: Callable[[Array], Array]) -> Views:
    """Return what locations see of pools; choices leave the places as they are."""
    values, p = pool.values, pool.values.shape[1]
    xp, targets = namespace(values), like(plan.targets, values)
    near = near_to(features_of(plan).mean_over(values))[None, ...]
    mean, square = _mean_alike(values, targets, plan)
    factor = p / (p - 1.0)  # from all numbers to the others
    spread = clip((square - mean**2) * factor**2, 0.0)[None, ...]

    def residual(labels: Labels) -> Array:
        at = xp.astype(labels.values, xp.int64).T
        own = _alike(xp.take_along_axis(values, at, axis=1).T, targets, plan)
        found = (own - mean[None, ...]) * factor
        if pool.moved is None:
            return found
        moved = xp.take_along_axis(pool.moved, at, axis=1).T
        return found + _alike(moved, targets, plan) - own

    return Views(lambda labels: near, residual, lambda labels: spread)


def _alike(values: Array, targets: Array, plan: LocationPlan) -> Array:
    """Return l of numbers (b, n) and the label of every location, (b, j, n)."""
    gap = (values[:, None, :] - targets[None, :, None]) / as_number(plan.label_bandwidth)
    return _normal(gap)


def _normal(gap: Array) -> Array:
    """Return exp(-gap^2 / 2); beyond 40 it is 0, and no square overflows."""
    near = clip(gap, -40.0, 40.0)
    return namespace(gap).exp(-0.5 * near * near)


def _mean_alike(values: Array, targets: Array, plan: LocationPlan) -> tuple[Array, Array]:
    """Return the means of l and of l^2 over numbers (n, p), (j, n)."""
    mean: Any = 0.0
    square: Any = 0.0
    p = values.shape[1]
    for j in range(p):
        one = _alike(values[:, j][None, :], targets, plan)[0, ...]
        mean, square = mean + one / p, square + one * one / p
    return mean, square


def features_of(plan: LocationPlan) -> LabelFeatures:
    """Return the features of the label kernel."""
    return LabelFeatures.over(plan.label_bandwidth, plan.low, plan.high, single=False)
