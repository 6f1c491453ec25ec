"""One weight vector for all instances: the smallest value of a statistic over the simplex of weights (M23).

    w* = argmin over w >= 0, sum w = 1 of T(sum_a w_a P_a, y)

Proper scores are convex in w, so one descent finds the minimum. Other differentiable statistics are descended
from the best of several starts. Binned ones jump where an instance changes its bin and have no slope: many
weights are compared, then closer and closer ones around the best, beside the published search (COBYLA).

For a fixed w a statistic is bound once and evaluated on many label vectors, and the cells of binned
statistics are counted for many pairs of weights and labels at once. So replicates are searched together
(`smallest_of_many`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, rows_within_budget, tiles, to_host
from credibly._arrays.philox import Stream
from credibly.hypotests.credal.combinations import ConstantCombination
from credibly.hypotests.credal.task import (
    WeightsTask,
    cell_values,
    counted_in_pairs,
    one_of_many,
    values_of_pairs,
)
from credibly.hypotests.resampling.replicates import Replicates
from credibly.learners.mixing import mixed
from credibly.predictions import Classes, Point
from credibly.results.credal import WeightsDetails
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic, log_loss
from credibly.statistics.cells import CellStatistic
from credibly.statistics.proper import Brier, LogLoss
from credibly.statistics.skce import Skce

ValueAndSlope = Callable[[HostArray], tuple[float, HostArray]]

_RANDOM_STARTS = 4

_DESCENTS = 2

MOST_COBYLA = 30
"""Members up to which COBYLA searches: its steps cost a square of their number, minutes for 100 of them."""

_SPREAD = 100  # weights over the whole simplex that are compared where there is no slope

_CHAINS = 16  # how many of the best of them are then improved for the observed labels

_REFIT_CHAINS = 2  # the same for every replicate

_ROUNDS = 200  # how often other weights near the best are tried

_TRIED = 400  # the same where one label vector at a time tries them

_TRIED_PAIRS = 40  # and of statistics of pairs, which cost more

_RADII = (0.5, 0.005)  # first and last share of the way from the best weights to others

_ENOUGH = 1e-3  # decrease, in units of how much the statistic varies, that is not worth another step

_REFIT_ENOUGH = 0.05  # the same for replicates, in standard deviations of their values

_BEND = 60.0  # about the curvature of replicates in these units; the solver first supposes it to be 1

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
        labels = labels_on_host(observed)
        slope = self._slope(labels)
        if slope is not None and isinstance(self.statistic, LogLoss | Brier):
            ended = self._descend(slope, self.centre, 1.0, _CONVEX_ENOUGH)
            return Minimiser(ended, self.value(ended, labels), "the centre (convex)")
        likeliest = self.likeliest(labels)
        published = self.local_minimum(labels, self.centre, "the centre")
        if slope is None:
            known = np.stack([published.weights, likeliest])
            smallest, its_value = smallest_of_many(self, labels, known, _CHAINS, generator)
            compared = Minimiser(smallest[0], float(its_value[0]), "many weights compared")
            return min((published, compared), key=lambda minimiser: minimiser.value)
        a = self.centre.size
        starts = {"the centre": self.centre, "the largest likelihood": likeliest}
        starts |= {f"corner {j}": row for j, row in enumerate(np.eye(a))}
        drawn = generator.dirichlet(np.ones(a), size=_RANDOM_STARTS)
        starts |= {f"random start {j}": row for j, row in enumerate(drawn)}
        values = {name: self.value(weights, labels) for name, weights in starts.items()}
        best = sorted(values, key=lambda name: values[name])[:_DESCENTS]
        spread = max(values.values()) - values[best[0]]
        nearer = [self.local_minimum(labels, starts[name], name, scale=spread) for name in best]
        return min((*nearer, published), key=lambda minimiser: minimiser.value)

    def likeliest(self, labels: Classes) -> HostArray:
        """Return the weights of the largest likelihood: a convex problem."""
        return self._descend(log_loss_slope(self.points, labels), self.centre, 1.0, _CONVEX_ENOUGH)

    def refits(self, labels: Classes, known: HostArray, generator: np.random.Generator) -> HostArray:
        """Return the weights that are smallest for each of many label vectors, (b, n) -> (b, a).

        Where there is a formula for the slope, every vector is descended from the best of its starts, the
        `known` weights, the centre and the corners; elsewhere many weights are compared.
        """
        if self._slope(one_of_many(labels, 0), exact=False) is None:
            return smallest_of_many(self, labels, known, _REFIT_CHAINS, generator)[0]
        convex = isinstance(self.statistic, LogLoss | Brier)
        starts = np.concatenate([known, self.centre[None], np.eye(self.centre.size)])
        values = np.stack([self.values(weights, labels) for weights in starts])  # (starts, b)
        first: HostArray = starts[values.argmin(axis=0)]
        unit, enough = float(np.std(values[0])), _CONVEX_ENOUGH
        if not convex:
            unit, enough = _BEND * unit, _REFIT_ENOUGH / _BEND
        refitted = np.empty_like(first)
        for d in range(len(labels)):
            slope = self._slope(one_of_many(labels, d), exact=False)
            assert slope is not None
            refitted[d] = self._descend(slope, first[d], unit, enough)
        return refitted

    def local_minimum(
        self, labels: Classes, start: HostArray, name: str = "the start", *, scale: float | None = None
    ) -> Minimiser:
        """Return what one descent finds; the start itself where it finds nothing smaller.

        Decreases below a thousandth of `scale` end the descent, by default of a corner's value; proper scores
        are followed to their minimum.
        """
        enough = _CONVEX_ENOUGH if isinstance(self.statistic, LogLoss | Brier) else _ENOUGH
        slope = self._slope(labels)
        if slope is None:
            return self.searched(labels, start, name)
        unit = abs(self.value(np.eye(start.size)[0], labels)) if scale is None else scale
        return self._smaller(labels, self._descend(slope, start, unit, enough), start, name)

    def searched(self, labels: Classes, start: HostArray, name: str = "the start") -> Minimiser:
        """Return what M23's search finds, whether or not there is a slope: COBYLA where members are few."""
        return self._smaller(labels, self._search(labels, start), start, name)

    def _smaller(self, labels: Classes, ended: HostArray, start: HostArray, name: str) -> Minimiser:
        every = (Minimiser(weights, self.value(weights, labels), name) for weights in (ended, start))
        return min(every, key=lambda minimiser: minimiser.value)

    def value(self, weights: HostArray, labels: Classes) -> float:
        """Return the statistic at some weights."""
        return float(self.values(weights, labels)[0])

    def values(self, weights: HostArray, labels: Classes) -> HostArray:
        """Return the statistic at some weights for many label vectors, (b, n) -> (b,)."""
        return to_host(self.statistic.bind(self.at(weights))(labels))

    def _slope(self, labels: Classes, *, exact: bool = True) -> ValueAndSlope | None:
        """Return value and gradient: by formula, by torch where installed, or None.

        Without `exact` by formula only, and in single precision where that is faster: for replicates.
        """
        if isinstance(self.statistic, LogLoss):
            return log_loss_slope(self.points, labels)
        if isinstance(self.statistic, Brier):
            return brier_slope(self.points, labels)
        chosen = self.statistic
        if isinstance(chosen, Skce) and chosen.kernel == "exponential":
            precision = np.float64 if exact else np.float32
            return skce_slope(self.points, labels, float(chosen.bandwidth), precision)
        if exact and chosen.traits.differentiable and importlib.util.find_spec("torch") is not None:
            return torch_slope(self.points, labels, chosen)
        return None

    def _descend(self, slope: ValueAndSlope, start: HostArray, scale: float, enough: float) -> HostArray:
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
        if start.size > MOST_COBYLA:
            generator = np.random.default_rng(start.size)  # the same tries for the same number of weights
            return np.asarray(smallest_of_many(self, labels, start[None], _CHAINS, generator)[0][0])

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


def labels_on_host(labels: Classes) -> Classes:
    """Return labels as NumPy arrays."""
    return Classes(to_host(labels.values), labels.n_classes)


def on_weights(values: HostArray) -> HostArray:
    """Return the nearest weights to what a solver left just outside the simplex."""
    clipped = np.clip(values, 0.0, None)
    return np.asarray(clipped / clipped.sum(axis=-1, keepdims=True))


def combined(points: HostArray, weights: HostArray) -> HostArray:
    """Return sum_a w_a P_a for one weight vector, (n, a, k), (a,) -> (n, k)."""
    spread = np.broadcast_to(weights, (1, *points.shape[:2]))
    return np.asarray(mixed(spread, points)[0])


def log_loss_slope(points: HostArray, labels: Classes) -> ValueAndSlope:
    """-mean log f_y and its gradient, -mean P_ay / f_y."""
    likely = np.take_along_axis(points, labels.values[0].astype(np.int64)[:, None, None], axis=2)[:, :, 0]

    def slope(weights: HostArray) -> tuple[float, HostArray]:
        total = np.maximum(likely @ weights, _LEAST)
        return float(-np.log(total).mean()), -(likely / total[:, None]).mean(axis=0)

    return slope


def brier_slope(points: HostArray, labels: Classes) -> ValueAndSlope:
    """Mean |f - e_y|^2 and its gradient, from its quadratic form."""
    n = points.shape[0]
    onehot = labels.shares()[0]
    quadratic = np.einsum("nak,nbk->ab", points, points) / n
    linear = np.einsum("nak,nk->a", points, onehot) / n

    def slope(weights: HostArray) -> tuple[float, HostArray]:
        along = quadratic @ weights
        return float(weights @ along - 2.0 * linear @ weights + 1.0), 2.0 * (along - linear)

    return slope


def skce_slope(
    points: HostArray, labels: Classes, bandwidth: float, precision: type = np.float64
) -> ValueAndSlope:
    """The unbiased `skce` with an exponential Euclidean kernel and its gradient.

    With r = e_y - f, k_ij = exp(-d_ij / h), m_ij = k_ij <r_i, r_j> / d_ij,

        d S / d f_i = 2 sum_{j != i} ( -m_ij (f_i - f_j) / h - k_ij r_j ).

    Both sums are symmetric: rows meet themselves and all later rows, in tiles that stay in the cache.
    """
    n, a, k = points.shape
    flat: HostArray = np.ascontiguousarray(np.moveaxis(points, 1, 0).reshape(a, n * k), dtype=precision)
    onehot = labels.shares()[0].astype(precision)
    pairs, least = n * (n - 1), np.finfo(precision).eps
    scale, inverse = precision(-1.0 / bandwidth), precision(1.0 / bandwidth**2)

    def slope(weights: HostArray) -> tuple[float, HostArray]:
        probs: HostArray = (weights.astype(precision) @ flat).reshape(n, k)
        residual = onehot - probs
        squares, twice = np.vecdot(probs, probs), -2.0 * probs
        extended = np.concatenate([probs, np.ones((n, 1), precision)], axis=1)
        total, moved = 0.0, np.zeros_like(probs)
        for rows in tiles(n, _TILE):
            square, later = slice(0, rows.stop - rows.start), slice(rows.stop, n)
            others = slice(rows.start, n)
            # no smaller than their rounding: equal predictions do not pull, since f_i - f_j is 0
            distances = twice[rows] @ probs[others].T
            distances += squares[rows, None]
            distances += squares[others]
            np.sqrt(np.maximum(distances, least, out=distances), out=distances)
            distances *= scale
            kernel = np.exp(distances)
            np.fill_diagonal(kernel[:, square], 0.0)
            terms = residual[rows] @ residual[others].T
            terms *= kernel
            total += 2.0 * float(terms.sum()) - float(terms[:, square].sum())
            terms /= distances  # which holds -d / h by now: what is left of m / h is a factor -1 / h^2
            moved[rows] -= _pulled(terms, extended[others], probs[rows]) * inverse + kernel @ residual[others]
            back, across = terms[:, square.stop :].T, kernel[:, square.stop :].T
            moved[later] -= _pulled(back, extended[rows], probs[later]) * inverse + across @ residual[rows]
        return total / pairs, 2.0 * (flat @ moved.reshape(-1)).astype(np.float64) / pairs

    return slope


def _pulled(pull: HostArray, others: HostArray, rows_probs: HostArray) -> HostArray:
    """Return sum_j pull_ij (f_j - f_i); the last column of `others` is 1."""
    summed = pull @ others
    return np.asarray(summed[:, :-1] - summed[:, -1:] * rows_probs)


def torch_slope(points: HostArray, labels: Classes, statistic: Statistic) -> ValueAndSlope:
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


def smallest_of_many(
    search: WeightSearch, labels: Classes, known: HostArray, chains: int, generator: np.random.Generator
) -> tuple[HostArray, HostArray]:
    """Compare many weights for each of b label vectors: the best ones (b, a) and their values (b,).

    First the known ones, the centre, the corners and draws from the whole simplex, all of them for all label
    vectors. The best few then move, closer and closer, towards other draws or away from them wherever that
    makes them smaller.
    """
    a, b = search.centre.size, len(labels)
    drawn = generator.dirichlet(np.ones(a), size=_SPREAD)
    tried = np.concatenate([known, search.centre[None], np.eye(a), drawn])
    values_of_tried = np.stack([search.values(weights, labels) for weights in tried])  # (tried, b)

    def near(chosen: HostArray, radius: float) -> HostArray:
        others = generator.dirichlet(np.full(a, 0.5), size=len(chosen))
        side = generator.choice([-1.0, 1.0], size=(len(chosen), 1))
        return on_weights(chosen + side * radius * (others - chosen))

    chosen = search.statistic
    if not (isinstance(chosen, CellStatistic) and counted_in_pairs(chosen)):
        tries = _TRIED if chosen.traits.reduction == "sum" else _TRIED_PAIRS
        best, values = tried[values_of_tried.argmin(axis=0)], values_of_tried.min(axis=0)
        for radius in np.geomspace(*_RADII, tries):
            weights = near(best[generator.integers(b, size=1)], radius)[0]
            moved = search.values(weights, labels)
            best[moved < values], values = weights, np.minimum(moved, values)
        return best, values
    first = values_of_tried.argsort(axis=0, kind="stable")[:chains].T  # (b, chains)
    best, values = tried[first].reshape(-1, a), np.take_along_axis(values_of_tried.T, first, axis=1).ravel()
    repeated = Classes(np.repeat(labels.values, chains, axis=0), labels.n_classes)
    for radius in np.geomspace(*_RADII, _ROUNDS):
        weights = near(best, radius)
        moved = cell_values(chosen, mixed_pairs(search.points, weights), repeated)
        best[moved < values], values = weights[moved < values], np.minimum(moved, values)
    ended = values.reshape(b, chains)
    at = ended.argmin(axis=1)
    return best.reshape(b, chains, a)[np.arange(b), at], ended.min(axis=1)


def mixed_pairs(points: HostArray, weights: HostArray) -> HostArray:
    """Return sum_a w_a P_a for every weight vector, (n, a, k), (b, a) -> (b, n, k)."""
    n, a, k = points.shape
    flat = weights @ np.moveaxis(points, 1, 0).reshape(a, n * k)
    return np.asarray(flat.reshape(len(weights), n, k))


def constant_test(task: WeightsTask, refit: bool) -> HypotestResult[WeightsDetails]:
    """Minimise over the weights, and compare with labels drawn from a combination with constant weights.

    Several statistics have no one minimum, so the log loss is minimised for them.

    With `refit`, labels are drawn from the likeliest combination and every replicate is minimised as well.
    Not from the minimiser: it is fitted to the noise that the statistic sees, and ends at the edge of the
    simplex more often than the truth does, where replicates have fewer ways to become small. Without `refit`
    labels are drawn from the minimiser and its weights serve all replicates, which is conservative: the
    observed value was minimised and theirs were not.
    """
    objective = log_loss if task.several else task.statistics[0]
    search = WeightSearch(task.points.probs, objective)
    generator = np.random.default_rng([*task.seed, Stream.WEIGHTS])
    best = search.minimum(task.observed, generator)
    probs = like(search.at(best.weights).probs, task.points.probs)
    tested = Point._trusted(probs)
    statistics = task.statistics if task.several else (search.statistic,)
    bounds = [statistic.bind(tested) for statistic in statistics]
    notes: tuple[str, ...] = (f"{objective.name} {best.value:.4g} is the smallest found, from {best.start}",)
    if not refit:
        values = task.values(bounds, tested, task.observed)
        notes = (*notes, "weights were learned on the tested labels and kept in replicates: conservative")
    else:
        values = values_of_pairs(
            bounds, _refitted_pairs(task, search, best, generator), task.n_resamples + 1, task.progress
        )
        notes = (*notes, "replicates are drawn from the likeliest combination and minimised as well")
    return constant_finding(task, task.result(bounds, values), best, notes)


def _refitted_pairs(
    task: WeightsTask, search: WeightSearch, best: Minimiser, generator: np.random.Generator
) -> Iterator[tuple[HostArray, Classes]]:
    """Yield the observation, then labels of replicates with the weights that are smallest for them."""
    observed = labels_on_host(task.observed)
    yield search.at(best.weights).probs[None], observed
    likeliest = search.likeliest(observed)
    drawn = Replicates(search.at(likeliest).probs, task.seed).labels(slice(0, task.n_resamples))
    weights_of_replicates = search.refits(drawn, np.stack([likeliest, best.weights]), generator)
    n, _, k = search.points.shape
    for reps in tiles(task.n_resamples, rows_within_budget(16 * n * k, 0.25)):
        probs = np.stack([combined(search.points, weights) for weights in weights_of_replicates[reps]])
        yield probs, Classes(drawn.values[reps, :], drawn.n_classes)


def constant_finding(
    task: WeightsTask, result: HypotestResult, best: Minimiser, notes: tuple[str, ...]
) -> HypotestResult[WeightsDetails]:
    """Return a test together with the weights that were tested."""
    combination = ConstantCombination(
        task.points.names, task.predictions.n_classes, task.n_draws, task.seed, weights=best.weights
    )
    rows = np.arange(len(task.predictions))
    notes = (*task.points.notes, *notes)
    return task.with_weights(result, combination, best.weights, task.points.names, rows, notes)
