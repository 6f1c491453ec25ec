"""Locations of `ucme` for draws: the place of a prediction follows from its draws and its label together.

    residual_i(t) = l(y_i, t) - mean over draws of l(x, t)
    place_i       = mean of f over the s + 1 numbers,      f the features of the label kernel

A residual is correlated with the draws it is made of, but not with the mean of all s + 1 numbers, of which
each may be the label. With weights w of the draws, the label counts as one of 1 + 1 / q numbers, q = sum w^2:
place_i = (q f(y_i) + sum w f(x)) / (1 + q). Bandwidths and locations come from the draws.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from credibly._arrays.namespace import Array, HostArray, as_float64, device, like, namespace, to_host
from credibly.predictions import Classes, Dataset, Labels, Rows, Samples, label_dtype
from credibly.statistics.kernels import MEDIAN_ROWS, chosen_rows, kernel_matrix, median_distance, spaced
from credibly.statistics.pairwise import as_number
from credibly.statistics.protocol import Bound, State, replicates
from credibly.statistics.real_kernels import LabelFeatures, joined_part, pool_bandwidth, rows_inside
from credibly.statistics.ucme import LocationBound, LocationPlan, levels_of


class DrawnLocations(LocationBound):
    """Bound to draws; takes labels, each of which joins its draws."""

    def __init__(self, statistic: Any, predictions: Samples, plan: LocationPlan) -> None:
        Bound.__init__(self, statistic, plan.n, (*predictions.notes, *plan.notes))
        self.predictions, self.plan = predictions, plan
        self.draws, self.shares = predictions.flat(), predictions.shares

    def of_pool(self, values: Array, labels: Array | None = None, weights: Array | None = None) -> Bound:
        """Bind to pools (n, p), of which a choice is the label, or what `labels` (n, p) has in its place."""
        return PoolLocations(
            self.statistic, values, values if labels is None else labels, self.shares, self.plan
        )

    def _with_labels(self, labels: Labels) -> tuple[LocationBound, Labels]:
        xp, n = namespace(self.draws), self.draws.shape[0]
        pool = xp.concat([xp.reshape(as_float64(labels.values), (n, 1)), self.draws], axis=1)
        first = xp.zeros((1, n), dtype=label_dtype(xp, pool.shape[1]), device=device(pool))
        bound = self.of_pool(pool, None, labels.weights)
        assert isinstance(bound, LocationBound)
        return bound, Classes(first, pool.shape[1], labels.weights)

    def state(self, labels: Labels) -> State:
        """Return the sums of every label vector, each with the places that it gives the predictions."""
        states = []
        for at in range(len(labels)):
            bound, choice = self._with_labels(replicates(labels, slice(at, at + 1)))
            states.append(bound.state(choice))
        xp = namespace(self.draws)
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

    def __init__(
        self, statistic: Any, values: Array, labels: Array, shares: Array | None, plan: LocationPlan
    ) -> None:
        Bound.__init__(self, statistic, plan.n, plan.notes)
        self.values, self.labels, self.plan = values, labels, plan
        xp, p = namespace(values), values.shape[1]
        self.square = 1.0 / (p - 1) if shares is None else float(to_host(xp.sum(shares * shares)))
        own = np.full(p - 1, 1.0 / (p - 1)) if shares is None else to_host(shares)
        self.chances = np.append(self.square, own) / (1.0 + self.square)
        self.targets = like(plan.targets, values)
        points = _places(values, plan, self.chances)
        near = kernel_matrix(
            points, like(plan.places, points), statistic.kernel, "euclidean", as_number(plan.bandwidth)
        )
        self.near = xp.permute_dims(near, (1, 0))
        mean: Any = 0.0
        square: Any = 0.0
        for j, chance in enumerate(self.chances.tolist()):
            one = self._alike(values[:, j][None, :])[0, ...]
            mean, square = mean + chance * one, square + chance * one * one
        self.expected, self.scatter = mean, (square - mean * mean) * (1.0 + self.square) ** 2

    def _alike(self, values: Array) -> Array:
        """Return l of numbers (b, n) and the label of every location, (b, j, n)."""
        gap = (values[:, None, :] - self.targets[None, :, None]) / as_number(self.plan.label_bandwidth)
        return namespace(values).exp(-0.5 * gap * gap)

    def residual(self, labels: Labels) -> Array:
        """Return l(y, t) less the mean over the other numbers, (b, j, n)."""
        xp = namespace(self.values)
        at = xp.astype(labels.values, xp.int64).T
        own = self._alike(xp.take_along_axis(self.values, at, axis=1).T)
        found = (own - self.expected[None, ...]) * (1.0 + self.square)
        if self.labels is self.values:
            return found
        return found + self._alike(xp.take_along_axis(self.labels, at, axis=1).T) - own

    def _variance(self, labels: Labels) -> Array:
        return namespace(self.near).clip(self.scatter, 0.0, None)[None, ...]


def plan_of_draws(statistic: Any, rows: Rows) -> LocationPlan:
    """Return bandwidths and locations: the draws of some rows, with a normal quantile of their moments."""
    ends = list(rows.map(_extent))
    low, high = min(one[0] for one in ends), max(one[1] for one in ends)
    part = joined_part(list(rows.map(partial(rows_inside, chosen_rows(rows, MEDIAN_ROWS)))))
    assert isinstance(part, Samples)
    draws, shares = to_host(part.flat()), None if part.shares is None else to_host(part.shares)
    label_bandwidth = statistic.label_bandwidth
    if isinstance(label_bandwidth, str):
        label_bandwidth = pool_bandwidth(draws, None)
    plan = LocationPlan(rows.n, None, statistic.bandwidth, (), label_bandwidth, low, high)
    chances = np.full(draws.shape[1], 1.0 / draws.shape[1]) if shares is None else shares
    if shares is None:  # neither the order of the draws nor how often a row occurs matters
        draws = np.sort(draws, axis=1)
    draws = np.unique(draws, axis=0)
    points = _places(draws, plan, chances)
    if isinstance(plan.bandwidth, str):
        found, notes = median_distance(points, "euclidean")
        plan = dataclasses.replace(plan, bandwidth=found, notes=notes)
    located = spaced(len(draws), statistic.locations)
    mean = draws[located] @ chances
    spread = np.sqrt((draws[located] - mean[:, None]) ** 2 @ chances)
    level = np.clip(levels_of(located.size), 0.05, 0.95)
    return dataclasses.replace(
        plan, places=points[located], targets=mean + spread * ndtri(level), predicted=mean, spread=spread
    )


def _places(values: Array, plan: LocationPlan, chances: HostArray) -> Array:
    """Return the mean features of pools (n, p), (n, width)."""
    features = LabelFeatures.over(plan.label_bandwidth, plan.low, plan.high, "float64")
    total: Any = 0.0
    for j, chance in enumerate(chances.tolist()):
        total = total + chance * features.of(values[:, j : j + 1].T)[0, ...]
    return total.T


def _extent(rows: Dataset) -> tuple[float, float]:
    """Return the smallest and the largest draw of some rows; rows of weight 0 are not there."""
    given, weights = rows.predictions, rows.checked_weights
    assert isinstance(given, Samples)
    draws = to_host(given.flat())
    if weights is not None:
        draws = draws[to_host(weights)[0] > 0]
    return (float(draws.min()), float(draws.max())) if draws.size else (np.inf, -np.inf)
