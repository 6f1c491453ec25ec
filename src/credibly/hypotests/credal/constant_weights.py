"""One weight vector for all instances: the smallest value of a statistic over the simplex of weights (M23).

    w* = argmin over w >= 0, sum w = 1 of T(sum_a w_a P_a, y)

Proper scores are convex in w, so one descent finds the minimum. Other differentiable statistics are descended
from the best of several starts; binned ones, which have no slope, by COBYLA.

Tests with one weight vector for all instances: the library's own and M23's Algorithm 1.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, to_host
from credibly._arrays.philox import Stream, Uniforms
from credibly._arrays.tiles import tiles
from credibly.hypotests.credal.combinations import ConstantCombination, Finding
from credibly.hypotests.credal.mixing import mixed
from credibly.hypotests.credal.points import CredalTask
from credibly.hypotests.resampling.loop import paired_values, resampled_values
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes, Point
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic, log_loss
from credibly.statistics.kernels import distances
from credibly.statistics.proper import Brier, LogLoss
from credibly.statistics.skce import Skce

"""Of random weights and starts, apart from the streams of labels and features."""


Slope = Callable[[HostArray], tuple[float, HostArray]]

_RANDOM_STARTS = 4

_DESCENTS = 2

_ENOUGH = 1e-3  # decrease, in units of how much the statistic varies, that is not worth another step

_CONVEX_ENOUGH = 1e-12  # the same for proper scores, whose steps cost little

_LEAST = 1e-300

_TILE = 100  # rows; three squares of them fit into the second-level cache


class Minimiser(NamedTuple):
    """The best weights, the statistic there, and where the search began."""

    weights: HostArray
    value: float
    start: str


class WeightSearch:
    """A statistic as a function of one weight vector, and its minimum.

    Parameters
    ----------
    points : array (n, a, k)
        What is mixed.
    statistic : Statistic
        What to minimise. A bandwidth that follows a rule is settled once, on the equal-weight mean.
    """

    def __init__(self, points: Array, statistic: Statistic) -> None:
        self.points = to_host(points)  # the optimisers live on the host
        a = self.points.shape[1]
        self.centre = np.full(a, 1.0 / a)
        self.statistic = statistic.bind(self.at(self.centre)).statistic

    def at(self, weights: HostArray) -> Point:
        """Return the combination with these weights."""
        return Point._trusted(combined(self.points, weights))

    def minimum(self, observed: Classes, generator: np.random.Generator) -> Minimiser:
        """Return the weights with the smallest statistic, over several starts."""
        labels = on_host(observed)
        likeliest = self._descend(log_loss_slope(self.points, labels), self.centre, 1.0, _CONVEX_ENOUGH)
        if isinstance(self.statistic, LogLoss):
            return Minimiser(likeliest, self.value(likeliest, labels), "the centre (convex)")
        if isinstance(self.statistic, Brier):
            found = self._descend(brier_slope(self.points, labels), self.centre, 1.0, _CONVEX_ENOUGH)
            return Minimiser(found, self.value(found, labels), "the centre (convex)")
        a = self.centre.size
        starts = {"the centre": self.centre, "the largest likelihood": likeliest}
        starts |= {f"corner {j}": row for j, row in enumerate(np.eye(a))}
        drawn = generator.dirichlet(np.ones(a), size=_RANDOM_STARTS)
        starts |= {f"random start {j}": row for j, row in enumerate(drawn)}
        values = {name: self.value(weights, labels) for name, weights in starts.items()}
        best = sorted(values, key=lambda name: values[name])[:_DESCENTS]
        spread = max(values.values()) - values[best[0]]
        ended = [self.local_minimum(labels, starts[name], name, scale=spread) for name in best]
        return min(ended, key=lambda one: one.value)

    def local_minimum(
        self, labels: Classes, start: HostArray, name: str = "the start", *, scale: float | None = None
    ) -> Minimiser:
        """Return what one descent finds; the start itself where it finds nothing smaller.

        Decreases below a thousandth of `scale` end the descent, by default of a corner's value; proper scores
        are followed to their minimum.
        """
        enough = _CONVEX_ENOUGH if isinstance(self.statistic, LogLoss | Brier) else _ENOUGH
        slope = self._slope(labels)
        unit = abs(self.value(np.eye(start.size)[0], labels)) if scale is None else scale
        ended = (
            self._descend(slope, start, unit, enough) if slope is not None else self._search(labels, start)
        )
        candidates = [(self.value(weights, labels), at) for at, weights in enumerate((ended, start))]
        value, at = min(candidates)
        return Minimiser((ended, start)[at], value, name)

    def value(self, weights: HostArray, labels: Classes) -> float:
        """Return the statistic at some weights."""
        return float(to_host(self.statistic.bind(self.at(weights))(labels))[0])

    def _slope(self, labels: Classes) -> Slope | None:
        """Return value and gradient: by formula, by torch where installed, or None."""
        if isinstance(self.statistic, LogLoss):
            return log_loss_slope(self.points, labels)
        if isinstance(self.statistic, Brier):
            return brier_slope(self.points, labels)
        chosen = self.statistic
        if isinstance(chosen, Skce) and (chosen.estimator, chosen.kernel, chosen.norm) == (
            "unbiased",
            "exponential",
            "euclidean",
        ):
            return skce_slope(self.points, labels, float(chosen.bandwidth))
        if chosen.traits.differentiable and importlib.util.find_spec("torch") is not None:
            return torch_slope(self.points, labels, chosen)
        return None

    def _descend(self, slope: Slope, start: HostArray, scale: float, enough: float) -> HostArray:
        """Follow the gradient inside the simplex; values are scaled to the solver's tolerance."""
        from scipy.optimize import minimize

        a, unit = start.size, scale if 0 < scale < np.inf else 1.0

        def scaled(weights: HostArray) -> tuple[float, HostArray]:
            value, gradient = slope(on_weights(weights))
            return value / unit, gradient / unit

        ended = minimize(
            scaled,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * a,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(a)},
            options={"maxiter": 50, "ftol": enough},
        )
        return on_weights(ended.x)

    def _search(self, labels: Classes, start: HostArray) -> HostArray:
        """Search without slopes, the last weight being what the others leave."""
        from scipy.optimize import minimize

        if start.size == 1:
            return start

        def full(free: HostArray) -> HostArray:
            return on_weights(np.append(free, 1.0 - free.sum()))

        ended = minimize(
            lambda free: self.value(full(free), labels),
            start[:-1],
            method="COBYLA",
            bounds=[(0.0, 1.0)] * (start.size - 1),
            constraints={"type": "ineq", "fun": lambda free: 1.0 - free.sum()},
            options={"rhobeg": 0.25, "tol": 1e-3, "maxiter": 40 * start.size},
        )
        return full(ended.x)


def on_host(labels: Classes) -> Classes:
    """Return labels as NumPy arrays."""
    return Classes(to_host(labels.values), labels.n_classes)


def on_weights(values: HostArray) -> HostArray:
    """Return the nearest weights to what a solver left just outside the simplex."""
    clipped = np.clip(values, 0.0, None)
    return np.asarray(clipped / clipped.sum())


def combined(points: HostArray, weights: HostArray) -> HostArray:
    """Return sum_a w_a P_a for one weight vector, (n, a, k), (a,) -> (n, k)."""
    spread = np.broadcast_to(weights, (1, *points.shape[:2]))
    return np.asarray(mixed(spread, points)[0])


def log_loss_slope(points: HostArray, labels: Classes) -> Slope:
    """-mean log f_y and its gradient, -mean P_ay / f_y."""
    likely = np.take_along_axis(points, labels.values[0].astype(np.int64)[:, None, None], axis=2)[:, :, 0]

    def slope(weights: HostArray) -> tuple[float, HostArray]:
        total = np.maximum(likely @ weights, _LEAST)
        return float(-np.log(total).mean()), -(likely / total[:, None]).mean(axis=0)

    return slope


def brier_slope(points: HostArray, labels: Classes) -> Slope:
    """Mean |f - e_y|^2 and its gradient, from its quadratic form."""
    n = points.shape[0]
    onehot = labels.block(slice(None), slice(None))[0]
    quadratic = np.einsum("nak,nbk->ab", points, points) / n
    linear = np.einsum("nak,nk->a", points, onehot) / n

    def slope(weights: HostArray) -> tuple[float, HostArray]:
        along = quadratic @ weights
        return float(weights @ along - 2.0 * linear @ weights + 1.0), 2.0 * (along - linear)

    return slope


def skce_slope(points: HostArray, labels: Classes, bandwidth: float) -> Slope:
    """The unbiased `skce` with an exponential Euclidean kernel and its gradient.

    With r = e_y - f, k_ij = exp(-d_ij / h), m_ij = k_ij <r_i, r_j> / d_ij (0 where d is),

        d S / d f_i = 2 sum_{j != i} ( -m_ij (f_i - f_j) / h - k_ij r_j ).

    Both sums are symmetric: tiles on and above the diagonal serve both sides, and stay in the cache.
    """
    n = points.shape[0]
    onehot = labels.block(slice(None), slice(None))[0]
    pairs = n * (n - 1)
    corners = [
        (rows, columns)
        for rows in tiles(n, _TILE)
        for columns in tiles(n, _TILE)
        if rows.start <= columns.start
    ]

    def slope(weights: HostArray) -> tuple[float, HostArray]:
        probs = combined(points, weights)
        residual = onehot - probs
        total, moved = 0.0, np.zeros_like(probs)
        for rows, columns in corners:
            kernel, own, pull = _skce_tile(probs, residual, rows, columns, bandwidth)
            moved[rows] += pull @ probs[columns] - pull.sum(axis=1)[:, None] * probs[rows]
            moved[rows] -= kernel @ residual[columns]
            if rows == columns:
                total += own
                continue
            total += 2.0 * own
            moved[columns] += pull.T @ probs[rows] - pull.sum(axis=0)[:, None] * probs[columns]
            moved[columns] -= kernel.T @ residual[rows]
        return total / pairs, 2.0 * np.einsum("nak,nk->a", points, moved) / pairs

    return slope


def _skce_tile(
    probs: HostArray, residual: HostArray, rows: slice, columns: slice, bandwidth: float
) -> tuple[HostArray, float, HostArray]:
    """Return k, the sum of k <r, r> and m / h of one tile of pairs."""
    apart = distances(probs[rows], probs[columns], "euclidean")
    kernel = np.multiply(apart, -1.0 / bandwidth)
    np.exp(kernel, out=kernel)
    if rows == columns:
        np.fill_diagonal(kernel, 0.0)
    terms = residual[rows] @ residual[columns].T
    terms *= kernel
    total = float(terms.sum())
    apart *= bandwidth
    apart[apart == 0] = np.inf  # equal predictions do not pull
    return kernel, total, np.divide(terms, apart, out=terms)


def torch_slope(points: HostArray, labels: Classes, statistic: Statistic) -> Slope:
    """Any differentiable statistic and its gradient by automatic differentiation."""
    import torch

    tensor = torch.tensor(points)
    batch = Classes(torch.from_numpy(labels.values.astype(np.int64)), labels.n_classes)

    def slope(weights: HostArray) -> tuple[float, HostArray]:
        free = torch.from_numpy(np.array(weights)).requires_grad_(True)
        probs = torch.einsum("nak,a->nk", tensor, free)
        value = statistic.bind(Point._trusted(probs))(batch)[0]
        (gradient,) = torch.autograd.grad(value, free)
        return float(value.detach()), np.nan_to_num(gradient.numpy())

    return slope


def constant_test(task: CredalTask, refit: bool) -> Finding:
    """Minimise over the weights, then compare with labels drawn from the minimiser.

    Several statistics have no one minimum, so the log loss is minimised for them. Without `refit` the weights
    of the observed labels serve all replicates, which is conservative: the observed value was minimised and
    theirs were not.
    """
    objective = log_loss if task.several else task.statistics[0]
    search = WeightSearch(task.points.probs, objective)
    best = search.minimum(task.observed, np.random.default_rng([*task.seed, Stream.WEIGHTS]))
    probs = like(search.at(best.weights).probs, task.points.probs)
    tested = Point._trusted(probs)
    statistics = task.statistics if task.several else (search.statistic,)
    bounds = [one.bind(tested) for one in statistics]
    replicates = Replicates(probs, task.seed)
    notes: tuple[str, ...] = (f"{objective.name} {best.value:.4g} is the smallest found, from {best.start}",)
    if not refit:
        values = resampled_values(bounds, task.observed, replicates, task.n_resamples, task.progress)
        notes = (*notes, "weights were learned on the tested labels and kept in replicates: conservative")
    else:
        settled = [bound.statistic for bound in bounds]
        pairs = _refitted_pairs(task, search, best, replicates)
        values = paired_values(settled, pairs, task.n_resamples + 1, task.progress)
    return _finding(task, task.result(bounds, values), best, notes)


def _refitted_pairs(
    task: CredalTask, search: WeightSearch, best: Minimiser, replicates: Replicates
) -> Iterator[tuple[Point, Classes]]:
    """Yield the observation, then labels of replicates with the weights that are smallest for them."""
    yield Point._trusted(like(search.at(best.weights).probs, task.points.probs)), task.observed
    for d in range(task.n_resamples):
        drawn = replicates.labels(slice(d, d + 1))
        weights = search.local_minimum(on_host(drawn), best.weights).weights
        yield Point._trusted(like(search.at(weights).probs, task.points.probs)), drawn


def m23_test(task: CredalTask) -> Finding:
    """Compare the minimum with bootstrapped instances labelled by combinations with random known weights."""
    statistic = task.statistics[0]
    search = WeightSearch(task.points.probs, statistic)
    best = search.local_minimum(on_host(task.observed), search.centre, "the centre")
    pairs = _random_pairs(task, search, best)
    values = paired_values([search.statistic], pairs, task.n_resamples + 1, task.progress)
    bound = search.statistic.bind(search.at(best.weights))
    notes = (f"{statistic.name} {best.value:.4g} is the smallest found, from {best.start}",)
    return _finding(task, task.result([bound], values), best, notes)


def _random_pairs(task: CredalTask, search: WeightSearch, best: Minimiser) -> Iterator[tuple[Point, Classes]]:
    n, a, _ = search.points.shape
    yield search.at(best.weights), on_host(task.observed)
    weights = np.random.default_rng([*task.seed, Stream.WEIGHTS]).dirichlet(np.ones(a), size=task.n_resamples)
    rows_of = Uniforms(task.seed, Stream.ROWS)
    for d in range(task.n_resamples):
        rows = (rows_of.block(slice(d, d + 1), slice(0, n))[0] * n).astype(np.int64)
        probs = combined(search.points[rows], weights[d])
        yield Point._trusted(probs), Replicates(probs, task.seed).labels(slice(d, d + 1))


def _finding(task: CredalTask, result: HypotestResult, best: Minimiser, notes: tuple[str, ...]) -> Finding:
    combination = ConstantCombination(
        task.statistics,
        task.points.names,
        task.given.n_classes,
        task.n_draws,
        task.seed,
        weights=best.weights,
    )
    rows = np.arange(len(task.given))
    return Finding(result, combination, best.weights, task.points.names, rows, (*task.points.notes, *notes))
