"""M23's search for the smallest value of any statistic over constant weights: without slopes.

Binned statistics jump where an instance changes its bin. COBYLA searches them from the centre; with many
members it would take minutes, and many weights are compared, then closer and closer ones around the best.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.hypotests.credal.constant_weights import Minimiser, WeightSearch, on_weights
from credibly.hypotests.credal.pairs import cell_values, counted_in_pairs
from credibly.predictions import Classes
from credibly.statistics.cells import CellStatistic

MOST_COBYLA = 30
"""Members up to which COBYLA searches: its steps cost a square of their number, minutes for 100 of them."""

_SPREAD = 100  # weights over the whole simplex that are compared first

_CHAINS = 16  # how many of the best of them are then improved

_ROUNDS = 200  # how often other weights near the best are tried

_TRIED = 400  # the same where one label vector at a time tries them

_TRIED_PAIRS = 40  # and of statistics of pairs, which cost more

_RADII = (0.5, 0.005)  # first and last share of the way from the best weights to others


class PublishedSearch(WeightSearch):
    """A statistic as a function of one weight vector, searched as M23 does, whether or not it has a slope."""

    def searched(self, labels: Classes, start: HostArray, name: str = "the start") -> Minimiser:
        """Return what the search finds; the start itself where it finds nothing smaller."""
        return self.smaller(labels, self._search(labels, start), start, name)

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


def smallest_of_many(
    search: PublishedSearch, labels: Classes, known: HostArray, chains: int, generator: np.random.Generator
) -> tuple[HostArray, HostArray]:
    """Compare many weights for each of b label vectors: the best ones (b, a) and their values (b,).

    First the known ones, the centre, the corners and draws from the whole simplex, all of them for all label
    vectors. The best few then move, closer and closer, towards other draws or away from them wherever that
    makes them smaller.
    """
    a, b = search.centre.size, len(labels)
    drawn = generator.dirichlet(np.ones(a), size=_SPREAD)
    tried = np.concatenate([known, search.centre[None], np.eye(a), drawn])
    found = np.stack([search.values(weights, labels) for weights in tried])  # (tried, b)

    def near(chosen: HostArray, radius: float) -> HostArray:
        others = generator.dirichlet(np.full(a, 0.5), size=len(chosen))
        side = generator.choice([-1.0, 1.0], size=(len(chosen), 1))
        return on_weights(chosen + side * radius * (others - chosen))

    chosen = search.statistic
    if not (isinstance(chosen, CellStatistic) and counted_in_pairs(chosen)):
        tries = _TRIED if chosen.traits.reduction == "sum" else _TRIED_PAIRS
        best, values = tried[found.argmin(axis=0)], found.min(axis=0)
        for radius in np.geomspace(*_RADII, tries):
            weights = near(best[generator.integers(b, size=1)], radius)[0]
            moved = search.values(weights, labels)
            best[moved < values], values = weights, np.minimum(moved, values)
        return best, values
    first = found.argsort(axis=0, kind="stable")[:chains].T  # (b, chains)
    best, values = tried[first].reshape(-1, a), np.take_along_axis(found.T, first, axis=1).ravel()
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
