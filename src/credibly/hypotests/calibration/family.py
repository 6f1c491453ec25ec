"""From sums over groups to p-values that hold for all of them, and to the groups that explain the others.

    S_g = sum over the rows of g of (score - its mean),  V_g and K_g its variance and third central moment
    W_g = signed root of the deviance of a Poisson count with this variance and skewness, at S_g
    adjusted p of the j-th largest |W| = (1 + #{replicates: max over it and smaller ones >= |W_j|}) / (1 + b)

Replicates are labels drawn under the hypothesis, or of clusters the same residuals with drawn signs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from credibly._arrays.binomial import clopper_pearson
from credibly._arrays.namespace import CACHE_ELEMENTS, HostArray, rows_within_budget, tiles
from credibly._arrays.progress import Progress
from credibly._arrays.sums import State, group_sums
from credibly.hypotests.calibration.group_scores import Scoring
from credibly.hypotests.calibration.lattice import Lattice
from credibly.hypotests.resampling.loop import share_of_replicates
from credibly.hypotests.resampling.pvalues import acceptance_region
from credibly.hypotests.resampling.wild import sign_tiles
from credibly.predictions import Rows
from credibly.predictions.clusters import Clusters
from credibly.statistics.batches import widening

_TIE = 1e-9  # scores closer than this differ by rounding


@dataclasses.dataclass(frozen=True)
class GroupSums:
    """What was observed in every group (measures, groups), and replicates of it.

    `replicates(reps)` gives the residual sums of some replicates, (measures, groups, b). `cells` are the
    residual sums and variances of cells, (measures, cells), which tell who explains whom.
    """

    residual: HostArray
    variance: HostArray
    skewness: HostArray
    spread: HostArray
    shape: HostArray
    """Standard error of the mean residual, and skewness, as the residuals scatter."""
    score: HostArray
    cells: tuple[HostArray, HostArray]
    replicates: Callable[[int], Iterator[HostArray]]
    one_sided: bool = False
    """Of sets, which bound the scores on one side."""
    n_clusters: int | None = None
    smallest_pvalue: float = 0.0
    notes: tuple[str, ...] = ()
    effects: Callable[[float], tuple[HostArray, HostArray]] | None = None
    """Of clusters: ends of all effects that a test with this critical score would not reject."""
    clusters_of_groups: HostArray | None = None
    """Of clusters: how many of them every group has rows of, (groups,)."""


def drawn_sums(rows: Rows, lattice: Lattice, scoring: Scoring, report: Progress | None) -> GroupSums:
    """Compare with labels that are drawn from the predictions."""
    in_cells = rows.with_groups(lattice.cells)
    cell = reduce(add, in_cells.map(scoring.sums))
    summed = _over_groups(lattice, cell)
    over, expected = lattice.membership, cell["expected"]
    residual, variance, square = (summed[name] for name in ("residual", "variance", "square"))
    mean = residual / lattice.sizes
    centred = square - residual * mean
    scatter = summed["cube"] - 3.0 * mean * square + 2.0 * residual * mean**2
    wider = centred > variance  # where predictions are off, or by chance; never less than they say
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.where(variance > 0, summed["third"] / variance**1.5, 0.0)
        shape = np.where(wider, scatter / centred**1.5, skewness)

    def replicates(n_resamples: int) -> Iterator[HostArray]:
        most = rows_within_budget(16 * expected.size + 24 * variance.size, 0.25)
        for reps in tiles(n_resamples, most):
            share = None if report is None else partial(share_of_replicates, report, reps, n_resamples)
            total = reduce(add, in_cells.map(partial(scoring.replicated, reps), share))
            yield np.stack([over @ (total[:, m] - expected[m]).T for m in range(len(expected))])

    return GroupSums(
        residual,
        variance,
        skewness,
        np.sqrt(np.maximum(variance, centred)) / lattice.sizes,
        shape,
        summed["observed"],
        (cell["residual"], cell["variance"]),
        replicates,
        scoring.as_sets,
    )


def _over_groups(lattice: Lattice, cell: State) -> State:
    """Add cells (measures, cells) up in every group, (measures, groups); residuals join the sums of both."""
    cell["residual"] = cell["observed"] - cell["expected"]
    return State({name: lattice.summed(sums) for name, sums in cell.items()})


def wild_sums(
    rows: Rows, lattice: Lattice, scoring: Scoring, clusters: Clusters, report: Progress | None
) -> GroupSums:
    """Compare with the same residuals, the sign of every cluster drawn."""
    from scipy.sparse import csr_array

    n_clusters, codes = clusters.number, rows.cluster_codes()
    pairs, pair_of_row = np.unique(lattice.cells * n_clusters + codes, return_inverse=True)
    cell_of, cluster_of = np.divmod(pairs, n_clusters)
    by_pair = dataclasses.replace(scoring, n_cells=len(pairs))
    sums = reduce(add, rows.with_groups(pair_of_row.reshape(-1)).map(by_pair.sums))
    shape = (len(pairs), n_clusters)

    def by_cluster(values: HostArray) -> Any:
        """Sums of every group in every cluster, (groups, clusters)."""
        into = csr_array((values, cluster_of, np.arange(len(pairs) + 1)), shape=shape)
        return lattice.membership[:, cell_of] @ into

    every = [by_cluster(residual) for residual in sums["observed"] - sums["expected"]]
    rows_of = by_cluster(sums["size"][0])
    seen = np.stack([np.asarray((residual * residual).sum(axis=1)).ravel() for residual in every])
    shared = np.stack([np.asarray((residual * rows_of).sum(axis=1)).ravel() for residual in every])
    weight = np.asarray((rows_of * rows_of).sum(axis=1)).ravel()
    here = np.diff((rows_of > 0).tocsr().indptr)
    cell = State({name: group_sums(sums, cell_of, lattice.n_cells) for name, sums in sums.items()})
    summed = _over_groups(lattice, cell)
    residual, predicted = summed["residual"], summed["variance"]
    mean = residual / lattice.sizes
    centred = np.maximum(seen - 2.0 * mean * shared + mean**2 * weight, 0.0) * here / np.maximum(here - 1, 1)
    # where none of a few expected events happened, residuals are small and alike: never less than independent
    # rows would scatter, or such groups would set off the test far too often
    variance = np.maximum(seen, predicted)
    spread = np.where(here > 1, np.sqrt(np.maximum(centred, predicted)) / lattice.sizes, np.inf)
    wider = widening(predicted, seen)[..., None]

    def effects(critical: float) -> tuple[HostArray, HostArray]:
        """Return the smallest and largest effect e of every group that its own test would not reject.

        The test of e has the cluster sums S_c - e n_c in place of S_c, so that it does not reject where

            (S - e n)^2 <= q^2 max( sum_c (S_c - e n_c)^2, P ),   q the critical score, P of independent rows:

        the union of the solutions of two quadratic inequalities, both of which hold S / n. Where n^2 is at
        most q^2 sum n_c^2, too few clusters decide and every effect is possible.
        """
        sizes, square = lattice.sizes.astype(np.float64), critical**2
        even = critical * np.sqrt(predicted) / sizes
        lead = np.broadcast_to(sizes**2 - square * weight, residual.shape)
        middle, last = residual * sizes - square * shared, residual**2 - square * seen
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(middle**2 - lead * last, 0.0))
            below, above = (middle - root) / lead, (middle + root) / lead
        low = np.where(lead > 0, np.minimum(mean - even, below), -np.inf)
        return low, np.where(lead > 0, np.maximum(mean + even, above), np.inf)

    def replicates(n_resamples: int) -> Iterator[HostArray]:
        size = 24 * residual.size + 8 * n_clusters
        for _, drawn in sign_tiles(scoring.seed, n_clusters, n_resamples, size, report):
            yield wider * np.stack([residual @ drawn.T for residual in every])

    return GroupSums(
        residual,
        variance,
        np.zeros_like(variance),
        spread,
        np.zeros_like(variance),
        summed["observed"],
        (cell["residual"], cell["variance"]),
        replicates,
        False,
        n_clusters,
        2.0 ** (1 - n_clusters),  # of all signs two give the observation: itself and its mirror image
        clusters.notes,
        effects,
        here,
    )


# P-values


def normal_scores(z: HostArray, skewness: HostArray) -> HostArray:
    """Return standardised sums as normal scores: signed roots of the deviance of a Poisson count.

    The count has the variance and the skewness of the sum: u = skewness z is its excess over its mean, in
    units of the mean 1 / skewness^2. A sum below all that such a count can be goes on with slope 1.
    """
    gamma = np.broadcast_to(skewness, z.shape)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        u = np.maximum(gamma * z, -1.0)
        deviance = 2.0 * (np.where(u > -1.0, (1.0 + u) * np.log1p(u), 0.0) - u)
        root = np.copysign(np.sqrt(np.maximum(deviance, 0.0)) / np.abs(gamma), z)
        near = z * (1.0 - u / 6.0 + 5.0 * u**2 / 72.0)  # where the difference above loses its digits
        beyond = root + np.copysign(np.maximum(np.abs(z) - 1.0 / np.abs(gamma), 0.0), z)
        score = np.where(np.abs(u) < 1e-3, near, np.where(u > -1.0, root, beyond))
    return np.asarray(np.where(np.isfinite(z), score, z))


def standardised(score: HostArray, skewness: HostArray) -> HostArray:
    """Return the standardised sums that have these normal scores, by bisection."""
    score = np.broadcast_to(score, skewness.shape)
    low, high = np.zeros(skewness.shape), 2.0 * np.abs(score) + 1.0
    for _ in range(60):
        short = np.abs(normal_scores(np.copysign(high, score), skewness)) < np.abs(score)
        if not short.any():
            break
        high = np.where(short, 2.0 * high, high)
    for _ in range(40):
        middle = 0.5 * (low + high)
        short = np.abs(normal_scores(np.copysign(middle, score), skewness)) < np.abs(score)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(np.copysign(high, score))


def _scores(source: GroupSums, residual: HostArray) -> HostArray:
    """Return how far off groups are, larger is worse, of residual sums (measures, groups, ...)."""
    axes = (..., *(None,) * (residual.ndim - 2))
    variance, skewness = source.variance[axes], source.skewness[axes]
    # a sum that cannot vary is off by rounding, or beyond all that is possible
    large = np.abs(residual) > 1e-9
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(
            variance > 0, residual / np.sqrt(variance), np.where(large, np.copysign(np.inf, residual), 0.0)
        )
    score = normal_scores(z, skewness)
    return score if source.one_sided else np.abs(score)


@dataclasses.dataclass(frozen=True)
class Adjusted:
    """P-values (measures, groups), the family-wise one, and the score that a group must pass."""

    score: HostArray
    alone: HostArray
    adjusted: HostArray
    critical: float
    pvalue: float
    interval: tuple[float, float]
    multiplicity: int


def adjusted_pvalues(source: GroupSums, n_resamples: int, level: float, *, separate: bool) -> Adjusted:
    """Adjust p-values by stepping down; `separate` families, one per measure, are joined by Bonferroni."""
    score = _scores(source, source.residual)
    n_measures = len(score)
    families = [slice(m, m + 1) for m in range(n_measures)] if separate else [slice(0, n_measures)]
    multiplicity = len(families)
    flat = [score[members].ravel() for members in families]
    orders = [np.argsort(-scores, kind="stable") for scores in flat]
    alone = np.zeros(score.shape)
    stepped = [np.zeros(scores.size) for scores in flat]
    largest: list[list[HostArray]] = [[] for _ in families]
    limit = score - _TIE * np.maximum(1.0, np.abs(np.where(np.isfinite(score), score, 0.0)))
    for sums in _in_cache(source.replicates(n_resamples)):
        drawn = _scores(source, sums)  # (measures, groups, b)
        alone += np.count_nonzero(drawn >= limit[..., None], axis=2)
        for at, members in enumerate(families):
            ranked = drawn[members].reshape(-1, drawn.shape[2])[orders[at]]
            worst = np.maximum.accumulate(ranked[::-1], axis=0)[::-1]  # over this and all that are less off
            stepped[at] += np.count_nonzero(worst >= limit[members].ravel()[orders[at], None], axis=1)
            largest[at].append(worst[0])
    adjusted = np.empty(score.shape)
    criticals, smallest, counts = [], [], []
    for at, members in enumerate(families):
        pvalues = np.maximum.accumulate((1 + stepped[at]) / (1 + n_resamples))
        pvalues = np.maximum(pvalues, source.smallest_pvalue)
        back = np.empty(pvalues.size)
        back[orders[at]] = np.minimum(1.0, multiplicity * pvalues)
        adjusted[members] = back.reshape(adjusted[members].shape)
        smallest.append(pvalues[0])
        counts.append(int(stepped[at][0]))
        # the score beyond which a group alone has an adjusted p-value of at most `level`
        criticals.append(
            acceptance_region(np.concatenate(largest[at]), "greater", None, level / multiplicity)[1]
        )
    best = int(np.argmin(smallest))
    low, high = clopper_pearson(counts[best], n_resamples)
    return Adjusted(
        score,
        np.maximum((1 + alone) / (1 + n_resamples), source.smallest_pvalue),
        adjusted,
        max(criticals),
        float(min(1.0, multiplicity * smallest[best])),
        (min(1.0, multiplicity * low), min(1.0, multiplicity * high)),
        multiplicity,
    )


def _in_cache(every: Iterator[HostArray]) -> Iterator[HostArray]:
    """Yield sums (measures, groups, b) of as many replicates as stay in cache while scores are made."""
    for sums in every:
        for reps in tiles(sums.shape[2], max(1, CACHE_ELEMENTS // max(1, sums[:, :, 0].size))):
            yield np.ascontiguousarray(sums[:, :, reps])


# Who explains whom


def explained_groups(
    source: GroupSums, tested: Adjusted, lattice: Lattice, level: float
) -> dict[tuple[int, int], str | None]:
    """Return which rejected groups others explain: the clearest is listed, its deviation taken out of all.

    Only a group with rows in common explains another one: without them, a group is listed on its own.

    The deviation of a listed group is spread over its cells by their variance, as a common shift of their
    logits would be; a group is listed only while it is still as far off as the least clear rejected one. It
    is listed once, by the clearest measure, and its deviations by all measures are taken out. What is left is
    compared with the spread of the residuals: where predictions are off they scatter more than predicted.
    """
    rejected = tested.adjusted <= level
    if not rejected.any():
        return {}
    deviations, variance = source.cells[0].copy(), source.cells[1]
    over = lattice.membership
    shared = lattice.summed(variance)
    needed = min(tested.critical, float(tested.score[rejected].min()))
    left, listed, score = rejected.copy(), [], tested.score
    variance_seen = (source.spread * lattice.sizes) ** 2
    scattered = dataclasses.replace(source, variance=variance_seen, skewness=source.shape)
    while left.any():
        m, g = (int(at) for at in np.unravel_index(np.where(left, score, -np.inf).argmax(), score.shape))
        if score[m, g] < needed - _TIE:
            break
        listed.append((m, g))
        inside = over[[g], :].indices
        for measure in np.flatnonzero(rejected[:, g] & (shared[:, g] > 0)):
            deviations[measure, inside] -= variance[measure, inside] * (
                deviations[measure, inside].sum() / shared[measure, g]
            )
        left[:, g] = False
        score = _scores(scattered, lattice.summed(deviations))
    explained: dict[tuple[int, int], str | None] = {}
    for m, g in sorted(np.argwhere(rejected).tolist(), key=lambda at: -tested.score[tuple(at)]):
        by = None if (m, g) in listed else _nearest(m, g, listed, lattice, variance)
        explained[m, g] = None if by is None else lattice.names[by]
        if by is None and (m, g) not in listed:
            listed.append((m, g))
    return explained


def _nearest(
    m: int, g: int, listed: Sequence[tuple[int, int]], lattice: Lattice, variance: HostArray
) -> int | None:
    """Return the listed group that shares most with a group, of the same measure where there is one.

    None where no listed group has rows in common with it.
    """
    over = lattice.membership
    cells = set(over[[g], :].indices.tolist())
    near = [other for other in listed if not cells.isdisjoint(over[[other[1]], :].indices.tolist())]
    size = {group: variance[m, over[[group], :].indices].sum() for _, group in near}

    def overlap(other: tuple[int, int]) -> tuple[bool, float]:
        inside = [at for at in over[[other[1]], :].indices if at in cells]
        common = variance[m, inside].sum()
        return other[0] == m, common / np.sqrt(max(size[other[1]], 1e-300))

    return max(near, key=overlap)[1] if near else None
