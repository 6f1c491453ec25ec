"""What the locations of `ucme` see: kernels of all instances with the predictions and labels of a few.

    g_j = mean over i of k(P_i, T_j) (l(y_i, t_j) - E l(Y_i, t_j))

The place of a prediction given as draws follows from its draws and its label together: it is the mean of f
over the s + 1 numbers, f the features of the label kernel. A residual l(y, t) - mean of l(x, t) is correlated
with the draws it is made of, but not with that mean, because each of the numbers may be the label. With
weights w of the draws, the label counts as one of 1 + 1 / q numbers, q = sum w^2: the place is
(q f(y) + sum w f(x)) / (1 + q).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    HostArray,
    as_float64,
    is_numpy,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.row_search import count_at_most
from credibly.predictions import (
    Classes,
    Counts,
    Dataset,
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
from credibly.statistics.kernels import kernel_matrix
from credibly.statistics.label_features import LabelFeatures
from credibly.statistics.pairwise import as_number
from credibly.statistics.protocol import Bound, State, label_values, replicates
from credibly.statistics.real_kernels import RealPlan, sides_of, with_labels


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


class LocationBound(Bound):
    """Sums over instances of what every location sees, (b, locations)."""

    term_size = 1.0

    def __init__(
        self,
        statistic: Any,
        predictions: Predictions,
        plan: LocationPlan,
        notes: tuple[str, ...],
    ) -> None:
        super().__init__(statistic, plan.n, notes)
        self.predictions, self.plan = predictions, plan
        points = places_of(predictions, plan)
        xp = namespace(points)
        self.targets = like(plan.targets, points)
        near = kernel_matrix(
            points, like(plan.places, points), statistic.kernel, "euclidean", as_number(plan.bandwidth)
        )
        self.near = xp.permute_dims(near, (1, 0))  # (j, n)
        self.expected = _expected(predictions, self.targets, plan)  # (j, n)

    def residual(self, labels: Labels) -> Array:
        """Return l(y, t) - E l(Y, t) of every location, (b, j, n)."""
        given, xp = self.predictions, namespace(self.near)
        if isinstance(given, Gaussian):
            gap = (as_float64(labels.values)[:, None, :] - self.targets[None, :, None]) / as_number(
                self.plan.label_bandwidth
            )
            return xp.exp(-0.5 * gap * gap) - self.expected[None, ...]
        if isinstance(given, Quantiles):
            table, q = as_float64(given.values), given.values.shape[1]
            if isinstance(labels, Classes):
                code = xp.astype(labels.values, xp.int64)
                first, last = code // (q + 1), code % (q + 1)
            else:
                first = count_at_most(table, as_float64(labels.values), strict=True)
                last = count_at_most(table, as_float64(labels.values))
            at = xp.astype(self.targets, first.dtype)[None, :, None]
            below = xp.astype(last[:, None, :] <= at, xp.float64) - self.expected[None, ...]
            open_ = (first[:, None, :] <= at) & (at < last[:, None, :])
            return xp.where(open_, xp.zeros_like(below), below)
        shares = label_values(labels, xp, xp.float64)  # (b, k, n)
        return xp.take(shares, xp.astype(self.targets, xp.int64), axis=1) - self.expected[None, ...]

    def state(self, labels: Labels) -> State:
        """Return the sums, replicates in tiles that stay in cache."""
        step = len(labels)
        if is_numpy(self.near):
            step = max(1, 16 * CACHE_ELEMENTS // max(1, self.near.size))
        parts = [self._state(replicates(labels, reps)) for reps in tiles(len(labels), step)]
        xp = namespace(self.near)
        return State({name: xp.concat([part[name] for part in parts], axis=0) for name in parts[0]})

    def _state(self, labels: Labels) -> State:
        xp = namespace(self.near)
        residual = self.residual(labels)
        near = self.near[None, ...]
        weight = xp.zeros((len(labels),), dtype=xp.float64) + float(self.near.shape[1])
        if labels.weights is not None:
            near = near * labels.weights[:, None, :]
            weight = xp.broadcast_to(as_float64(xp.sum(labels.weights, axis=1)), (len(labels),))
        return State(seen=xp.sum(near * residual, axis=2), weight=like(to_host(weight), self.near))

    def finish(self, state: State) -> Array:
        """Average the squared means."""
        mean = state["seen"] / state["weight"][:, None]
        return namespace(mean).mean(mean * mean, axis=1)

    def observed_sums(self, labels: Labels) -> State:
        """Return the state and the variance of every sum if labels were drawn from the predictions."""
        state, xp = self.state(labels), namespace(self.near)
        near = self.near[None, ...]
        if labels.weights is not None:
            near = near * labels.weights[:, None, :]
        return State({**state, "variance": xp.sum(near * near * self._variance(labels), axis=2)})

    def _variance(self, labels: Labels) -> Array:
        """Return Var l(Y, t) of every location, (1, j, n)."""
        given, xp, mean = self.predictions, namespace(self.near), self.expected
        square = mean  # l is 0 or 1
        if isinstance(given, Gaussian):  # the square of a Gaussian kernel is one of another bandwidth
            scale = as_number(self.plan.label_bandwidth) / math.sqrt(2)
            square = _expected_near(given, self.targets, scale)
        variance = xp.clip(square - mean * mean, 0.0, None)[None, ...]
        if isinstance(labels, Counts):  # the share of independent raters
            return variance / as_float64(xp.sum(labels.values, axis=-1))[:, None, :]
        return variance

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Refuse: squares are above zero even for a calibrated model."""
        return None, "near calibration this error is biased upwards, and no interval around it can be trusted"

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State:
        """Return what the rows of every cluster add at every location, and how many rows are near it."""
        seen = to_host(self.near * self.residual(labels)[0, ...]).T  # (n, j)
        weight = np.ones(labels.n) if labels.weights is None else to_host(labels.weights)[0]
        near = np.zeros((number, seen.shape[1]))
        total = np.zeros_like(near)
        np.add.at(near, codes, weight[:, None] * to_host(self.near).T)
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
        return sides_of(predictions, plan, "float64").points
    return as_float64(as_point(predictions)[0].probs)


def _expected(predictions: Predictions, targets: Array, plan: LocationPlan) -> Array:
    """Return E l(Y, t) of every location, (j, n)."""
    xp = namespace(targets)
    if isinstance(predictions, Gaussian):
        return _expected_near(predictions, targets, as_number(plan.label_bandwidth))
    at = xp.astype(targets, xp.int64)
    if isinstance(predictions, Quantiles):
        levels = xp.take(as_float64(predictions.levels), at, axis=0)
        return levels[:, None] + xp.zeros_like(as_float64(predictions.values)[:, 0])[None, :]
    return xp.permute_dims(xp.take(as_float64(as_point(predictions)[0].probs), at, axis=1), (1, 0))


def _expected_near(predictions: Gaussian, targets: Array, scale: Any) -> Array:
    """Return E exp(-(Y - t)^2 / (2 scale^2)) of every location, (j, n)."""
    xp = namespace(targets)
    mean, std = predictions.members()
    total = xp.sqrt(scale**2 + std * std)  # (n, m)
    gap = (mean[None, ...] - targets[:, None, None]) / total[None, ...]
    return over_members(scale / total[None, ...] * xp.exp(-0.5 * gap * gap), predictions.shares, axis=2)


class DrawnLocations(LocationBound):
    """Bound to draws; takes labels, each of which joins its draws."""

    def __init__(self, statistic: Any, predictions: Samples, plan: LocationPlan) -> None:
        Bound.__init__(self, statistic, plan.n, (*predictions.notes, *plan.notes))
        self.predictions, self.plan = predictions, plan

    def of_pool(self, pool: Pool, weights: Array | None = None) -> PoolLocations:
        """Bind to pools, of which a choice is the label."""
        return PoolLocations(self.statistic, pool, self.plan)

    def _with_labels(self, labels: Labels) -> tuple[PoolLocations, Labels]:
        rows = with_labels(Dataset(self.predictions, labels))
        assert isinstance(rows.predictions, Pool)
        return self.of_pool(rows.predictions), rows.batch

    def state(self, labels: Labels) -> State:
        """Return the sums of every label vector, each with the places that it gives the predictions."""
        states = []
        for at in range(len(labels)):
            bound, choice = self._with_labels(replicates(labels, slice(at, at + 1)))
            states.append(bound.state(choice))
        xp = namespace(states[0]["seen"])
        return State({name: xp.concat([one[name] for one in states], axis=0) for name in states[0]})

    def observed_sums(self, labels: Labels) -> State:
        """Return the state, and the variance of every sum if any of its numbers might be the label."""
        bound, choice = self._with_labels(labels)
        return bound.observed_sums(choice)

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int) -> State:
        """Return what the rows of every cluster add, each at the place that its label gives it."""
        bound, choice = self._with_labels(labels)
        return bound.cluster_sums(choice, codes, number)

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return 0, which the draws expect, and what the rows of every cluster add."""
        bound, choice = self._with_labels(labels)
        return bound.wild_sums(choice, codes, number)


class PoolLocations(LocationBound):
    """Bound to pools; labels are choices among their numbers."""

    def __init__(self, statistic: Any, pool: Pool, plan: LocationPlan) -> None:
        Bound.__init__(self, statistic, plan.n, plan.notes)
        self.pool, self.plan = pool, plan
        values, shares = pool.values, pool.shares
        xp, p = namespace(values), values.shape[1]
        own = np.full(p - 1, 1.0 / (p - 1)) if shares is None else to_host(shares)
        self.square = float(own @ own)
        chances = np.append(self.square, own) / (1.0 + self.square)
        self.targets = like(plan.targets, values)
        points = sides_of(pool, plan, "float64").points
        near = kernel_matrix(
            points, like(plan.places, points), statistic.kernel, "euclidean", as_number(plan.bandwidth)
        )
        self.near = xp.permute_dims(near, (1, 0))
        mean: Any = 0.0
        square: Any = 0.0
        for j, chance in enumerate(chances.tolist()):
            one = self._alike(values[:, j][None, :])[0, ...]
            mean, square = mean + chance * one, square + chance * one * one
        self.expected, self.scatter = mean, (square - mean * mean) * (1.0 + self.square) ** 2

    def _alike(self, values: Array) -> Array:
        """Return l of numbers (b, n) and the label of every location, (b, j, n)."""
        gap = (values[:, None, :] - self.targets[None, :, None]) / as_number(self.plan.label_bandwidth)
        return namespace(values).exp(-0.5 * gap * gap)

    def residual(self, labels: Labels) -> Array:
        """Return l(y, t) less the mean over the other numbers, (b, j, n)."""
        pool, xp = self.pool, namespace(self.near)
        at = xp.astype(labels.values, xp.int64).T
        own = self._alike(xp.take_along_axis(pool.values, at, axis=1).T)
        found = (own - self.expected[None, ...]) * (1.0 + self.square)
        if pool.moved is None:
            return found
        return found + self._alike(xp.take_along_axis(pool.moved, at, axis=1).T) - own

    def _variance(self, labels: Labels) -> Array:
        return namespace(self.near).clip(self.scatter, 0.0, None)[None, ...]


def mean_features(values: Array, plan: LocationPlan, chances: HostArray) -> Array:
    """Return the mean of the label kernel's features over numbers (n, p) with these weights, (n, width)."""
    features = LabelFeatures.over(plan.label_bandwidth, plan.low, plan.high, "float64")
    total: Any = 0.0
    for j, chance in enumerate(chances.tolist()):
        total = total + chance * features.of(values[:, j : j + 1].T)[0, ...]
    return total.T
