"""Does coverage depend on features? Regressions learned on other folds, and the worst slab.

    foretold    sum_i g(x_i) (h_i - claimed)      h_i: whether the set of instance i contains its label
                g: ridge regression of h - claimed on features and their squares, learned on the other folds
    slab        a <= <v, x> <= b, between quantiles of every feature and of random directions v

Replicates of h, coins with the claimed probability, are learned and searched in the same way.
Cauchois, Gupta and Duchi 2021 (worst slab).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credibly._arrays.checks import as_real, require_finite
from credibly._arrays.errors import InputError, require_positive
from credibly._arrays.namespace import HostArray, ndtri, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.results.coverage import Slab

_FOLDS = 5
_PENALTY = 1.0
_DIRECTIONS = 200
_CUTS = 20
"""Quantiles of a direction at which slabs begin and end."""


def standardised(features: Any, n: int) -> HostArray:
    """Return features (n, f) with mean 0 and spread 1; a constant one stays 0."""
    table = to_host(as_real(features, "features")).astype(np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[0] != n:
        raise InputError(
            "`features`", f"must be numbers ({n}, f)", f"got {table.shape}", "Give one row per set."
        )
    require_finite(table, "features")
    require_positive("the number of features", table.shape[1], "Give at least one column.")
    spread = table.std(axis=0)
    found: HostArray = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return found


def folds_of(n: int, seed: Seed, codes: HostArray | None = None) -> HostArray:
    """Return the fold of every row; rows of a cluster have the same one."""
    number = n if codes is None else int(codes.max()) + 1
    order = np.argsort(Uniforms(seed, Stream.FOLDS).block(slice(0, 1), slice(0, number))[0])
    found: HostArray = np.argsort(order) % min(_FOLDS, number)
    return found if codes is None else found[codes]


def foretold(table: HostArray, folds: HostArray, claimed: float, every: HostArray) -> HostArray:
    """Return what ridge regressions on other folds foretell of the excess of coins (b, n)."""
    design = np.concatenate([np.ones((table.shape[0], 1)), table, table**2], axis=1)
    excess = every - claimed
    total: HostArray = np.zeros(every.shape[0])
    for fold in np.unique(folds):
        inside = folds == fold
        train = design[~inside]
        gram = train.T @ train + _PENALTY * np.eye(design.shape[1])
        slopes = np.linalg.solve(gram, train.T @ excess[:, ~inside].T)  # (f, b)
        total += np.sum((design[inside] @ slopes).T * excess[:, inside], axis=1)
    return total


class Slabs:
    """Slabs between quantiles of every feature, and of random directions."""

    def __init__(self, table: HostArray, least: float, seed: Seed) -> None:
        n, f = table.shape
        uniform = Uniforms(seed, Stream.DIRECTIONS).block(slice(0, 0 if f == 1 else _DIRECTIONS), slice(0, f))
        drawn = ndtri(np.clip(uniform, 1e-12, None))
        self.directions = np.concatenate([np.eye(f), drawn / np.linalg.norm(drawn, axis=1, keepdims=True)])
        self.table = table
        self.orders = np.argsort(table @ self.directions.T, axis=0, kind="stable").T  # (d, n)
        self.cuts = np.unique(np.round(np.linspace(0, n, min(_CUTS, n) + 1)).astype(np.int64))
        begin, end = np.triu_indices(self.cuts.size, 1)
        enough = self.cuts[end] - self.cuts[begin] >= max(1.0, least * n)
        self.begin, self.end = begin[enough], end[enough]

    def _shares(self, order: HostArray, every: HostArray) -> HostArray:
        """Return the coverage of every slab of one direction, (b, slabs)."""
        sums = np.add.reduceat(every[:, order], self.cuts[:-1], axis=1)
        sums = np.concatenate([np.zeros((every.shape[0], 1)), np.cumsum(sums, axis=1)], axis=1)
        found: HostArray = (sums[:, self.end] - sums[:, self.begin]) / (
            self.cuts[self.end] - self.cuts[self.begin]
        )
        return found

    def shortfall(self, claimed: float, every: HostArray) -> HostArray:
        """Return the claim minus the smallest coverage of all slabs, (b,)."""
        lowest = np.full(every.shape[0], np.inf)
        for order in self.orders:
            lowest = np.minimum(lowest, self._shares(order, every).min(axis=1))
        found: HostArray = claimed - lowest
        return found

    def worst(self, held: HostArray, pvalue: float | None) -> Slab:
        """Return the slab whose labels are held least."""
        every = held[None, :].astype(np.float64)
        shares = [self._shares(order, every)[0] for order in self.orders]
        at = int(np.argmin([one.min() for one in shares]))
        place = int(shares[at].argmin())
        first, last = int(self.cuts[self.begin[place]]), int(self.cuts[self.end[place]])
        along = np.sort(self.table @ self.directions[at])
        return Slab(
            direction=self.directions[at],
            low=float(along[first]),
            high=float(along[last - 1]),
            n=last - first,
            coverage=float(shares[at][place]),
            pvalue=pvalue,
        )
