"""Raters drawn from many candidate distributions of a set at once, and what the set says about them.

The hypothesis "the truth is somewhere in the set" has one null distribution per distribution of the set.
Counts are drawn from an equal mixture of candidates and reweighted to each of them,

    P_v(deviance >= g)  ~  mean_d w_v(c_d) [deviance_d >= g],    w_v(c) = P_v(c) / mean_u P_u(c),

so that one set of draws, each projected onto the set once, serves all candidates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, namespace, to_host
from credibly._arrays.philox import Seed
from credibly._arrays.special import logsumexp
from credibly._arrays.sums import count_cells
from credibly._arrays.tiles import tiles
from credibly.credal.distance import nearest_distribution
from credibly.credal.objectives import value
from credibly.credal.sets import CredalSet
from credibly.credal.vertices import credal_vertices
from credibly.hypotests.replicates import Replicates
from credibly.predictions import Belief, Ensemble, Intervals, Point

ALL_CORNERS = 4
"""Up to this many classes every corner of intervals and beliefs is a candidate (24), beyond that 2k are."""

TOLERANCE = 1e-9
"""Certified error of a divergence per rater."""

_IMPOSSIBLE = -1e12  # stands for log 0, so that 0 raters times log 0 is 0
_LABELS_AT_ONCE = 2**22


def candidate_number(credal: CredalSet) -> int:
    """Return how many distributions of each set stand for all of it."""
    if isinstance(credal, Point):
        return 1
    if isinstance(credal, Ensemble):
        return credal.n_members + 2
    k = credal.n_classes
    return (math.factorial(k) if k <= ALL_CORNERS else 2 * k) + 2


def candidates(credal: CredalSet, fitted: Array) -> Array:
    """Return corners of each set, its mean and the distribution nearest to the observed labels, (n, c, k).

    Where deviances behave like squared distances the least favourable distribution is a corner: the
    probability of a convex region is log-concave in the centre. For few raters it need not be.
    """
    if isinstance(credal, Point):
        return fitted[:, None, :]
    xp = credal.xp
    few = isinstance(credal, Intervals | Belief) and credal.n_classes <= ALL_CORNERS
    corners = credal_vertices(credal, which="all" if few else "C25")
    middle = credal.mean().probs
    found = xp.concat([corners, xp.astype(middle, xp.float64)[:, None, :], fitted[:, None, :]], axis=1)
    return xp.where(found > 0, found, xp.zeros_like(found))  # rounding below 0 has no logarithm


def deviances(credal: CredalSet, counts: HostArray) -> HostArray:
    """2 n min over the set of KL(counts / n || p), (b, n) from counts (b, n, k).

    Equal counts of one instance are projected once: few raters have few possible counts.
    """
    b, n, k = counts.shape
    rows, table = np.tile(np.arange(n), b), counts.reshape(b * n, k)
    back: Any = slice(None)
    if not isinstance(credal, Point):  # for a point there is nothing to search, and nothing to save
        first, back = _distinct(rows, table)
        rows, table = rows[first], table[first]
    raters = table.sum(axis=1)
    target = like(table / raters[:, None], credal._leading)
    nearest = nearest_distribution(credal[rows], target, "kl", TOLERANCE)
    found = 2.0 * raters * to_host(value("kl", nearest, target))
    return np.asarray(found[back].reshape(b, n))


def _distinct(rows: HostArray, table: HostArray) -> tuple[HostArray, HostArray]:
    """Return where each distinct (row, counts) stands first, and which of them every entry is.

    Sorted by a hash, which is seven times as fast as sorting whole rows; a collision is found and sorted out.
    """
    factors = np.random.default_rng(0).integers(1, 2**63, size=table.shape[1] + 1, dtype=np.uint64) | 1
    keys = rows.astype(np.uint64) * factors[0]
    for column, factor in zip(table.T, factors[1:], strict=True):
        keys ^= (column.astype(np.uint64) + np.uint64(1)) * factor
        keys *= factors[0]
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    same = (rows[first[back]] == rows) & (table[first[back]] == table).all(axis=1)
    if not same.all():
        whole = np.concatenate([rows[:, None], table], axis=1)
        _, first, back = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    return first, back


def draw_counts(probs: Array, raters: HostArray, seed: Seed, reps: slice, first_rater: int) -> HostArray:
    """Draw the raters of every instance, (replicates, n, k) from probs (n, k), on the host.

    A rater's label depends on the seed, its number among all raters and the replicate only.
    """
    xp = namespace(probs)
    n, k = probs.shape
    who = np.repeat(np.arange(n), raters)
    drawn = Replicates(xp.take(probs, like(who, probs), axis=0), seed, first_rater)
    found = np.empty((reps.stop - reps.start, n, k), dtype=np.int64)
    offsets = like(who * k, probs)
    for part in tiles(len(found), max(1, _LABELS_AT_ONCE // who.size)):
        labels = drawn.labels(slice(reps.start + part.start, reps.start + part.stop)).values
        cells = xp.astype(labels, xp.int64) + offsets
        found[part] = to_host(count_cells(cells, n * k)).reshape(-1, n, k)
    return found


def draw_from_candidates(
    points: Array, raters: HostArray, seed: Seed, n_resamples: int, first_rater: int
) -> tuple[HostArray, HostArray]:
    """Draw every candidate's share of the replicates; return counts (b, n, k) and shares (c,)."""
    number = points.shape[1]
    stops = np.arange(1, number + 1) * n_resamples // number
    starts = np.append(0, stops[:-1])
    parts = [
        draw_counts(points[:, c, :], raters, seed, slice(int(start), int(stop)), first_rater)
        for c, (start, stop) in enumerate(zip(starts, stops, strict=True))
    ]
    return np.concatenate(parts), (stops - starts) / n_resamples


def candidate_weights(points: HostArray, shares: HostArray, counts: HostArray) -> HostArray:
    """w_v(c) = P_v(c) / sum_u share_u P_u(c), (b, n, candidates) from points (n, candidates, k)."""
    logs = np.where(points > 0, np.log(np.where(points > 0, points, 1.0)), _IMPOSSIBLE)
    likely = np.moveaxis(np.moveaxis(counts, 1, 0) @ np.moveaxis(logs, 2, 1), 0, 1)
    return np.asarray(np.exp(likely - logsumexp(likely + np.log(shares))[..., None]))
