"""How often does `validity_test` reject where the truth is in the set, and how often where it is not?

Truths on the boundary of the set (the corner where the deviance is largest on average, any corner, a point
of a face), at its mean, and outside. Beside the raters' evidence, which `validity_test` sums, stands the sum
of deviances with its null at the candidate of the largest mean, and at the fitted distribution (a plain
parametric bootstrap).

    python studies/scripts/validity.py             150 samples per row, about half an hour
    python studies/scripts/validity.py 600 8       on 8 processes

Prints the tables of studies/pages/validity.md.
"""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import credibly as cr
from credibly._arrays.binomial import clopper_pearson
from credibly.credal.distances import nearest_distribution
from credibly.hypotests.credal.validity import TOLERANCE, _Part, deviances, draw_counts

Array = np.ndarray
INSTANCES, CLASSES, MEMBERS, REPLICATES = 40, 3, 4, 199
KINDS = ("Point", "Ensemble", "Intervals", "Belief")
INSIDE = ("hardest corner", "any corner", "face", "mean")
OUTSIDE = ("0.1 outside", "0.25 outside", "too sharp")
RATERS = (2, 5, 10, 50)


def world(kind: str, rng: np.random.Generator) -> cr.Point | cr.Ensemble | cr.Intervals | cr.Belief:
    """Return random sets of one kind."""
    members = rng.dirichlet(np.ones(CLASSES), size=(INSTANCES, MEMBERS))
    if kind == "Point":
        return cr.Point(members[:, 0])
    if kind == "Ensemble":
        return cr.Ensemble(members)
    if kind == "Intervals":
        return cr.Intervals(members.min(axis=1), members.max(axis=1))
    sets = [{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}]
    return cr.Belief(rng.dirichlet(np.ones(7), size=INSTANCES), sets)


def truths(credal: cr.Ensemble, where: str, raters: int, rng: np.random.Generator) -> Array:
    """Return one distribution per set: on its boundary, at its mean, or outside."""
    corners = credal.probs[:, None] if isinstance(credal, cr.Point) else cr.credal.vertices(credal)
    rows = np.arange(len(corners))
    if where == "hardest corner":  # where the deviance is largest on average
        drawn = [
            rng.multinomial(raters, normal(corners[:, v]), size=(60, len(rows)))
            for v in range(corners.shape[1])
        ]
        means = np.stack([deviances(credal, counts).mean(axis=0) for counts in drawn])
        return corners[rows, means.argmax(axis=0)]
    any_corner = corners[rows, rng.integers(0, corners.shape[1], size=len(corners))]
    if where == "any corner":
        return any_corner
    if where == "face":  # the ray from the mean through a random distribution, as far as the set goes
        return cr.credal.boundary(credal, rng.dirichlet(np.full(CLASSES, 0.2), size=len(rows)))
    if where == "mean":
        return credal.mean().probs
    if where == "too sharp":
        return normal(any_corner) ** 2
    lowest = np.eye(CLASSES)[cr.credal.upper_probability(credal).argmin(axis=1)]
    share = float(where.split()[0])
    return (1 - share) * cr.credal.boundary(credal, lowest) + share * lowest


def normal(probs: Array) -> Array:
    """Return rows that sum to 1 as exactly as NumPy's multinomial wants."""
    kept = np.clip(probs, 0, None)
    return kept / kept.sum(axis=-1, keepdims=True)


def at_fitted(credal: cr.Ensemble, counts: Array, seed: int) -> float:
    """Return the p-value of the sum of deviances, by a parametric bootstrap at the nearest distributions."""
    raters = counts.sum(axis=1)
    fitted = nearest_distribution(credal, counts / raters[:, None], "kl", TOLERANCE)
    drawn = draw_counts(fitted, raters, (seed, 1), slice(0, REPLICATES), 0)
    values = deviances(credal, np.concatenate([counts[None], drawn])).sum(axis=1)
    return float((1 + (values[1:] >= values[0] - 1e-6).sum()) / (1 + REPLICATES))


def at_largest_mean(credal: cr.Ensemble, counts: Array, seed: int) -> float:
    """Return the p-value of the sum of deviances, each drawn where its mean is largest."""
    part = _Part(credal, counts, (seed, 2), REPLICATES, (0, 0))
    sums = part.replicates().sum(axis=1)
    return float((1 + (sums >= part.deviance.sum() - 1e-6).sum()) / (1 + REPLICATES))


def row(task: tuple[str, str, int, int]) -> str:
    """Return one line of the table."""
    kind, where, raters, samples = task
    rng = np.random.default_rng(5)
    rejected = np.zeros(5)
    for sample in range(samples):
        credal = world(kind, rng)
        counts = rng.multinomial(raters, normal(truths(credal, where, raters, rng)))
        found = cr.validity_test(credal, cr.LabelCounts(counts), n_resamples=REPLICATES, rng=rng)
        rejected += (
            found.rejects(0.05),
            at_largest_mean(credal, counts, sample) <= 0.05,
            at_fitted(credal, counts, sample) <= 0.05,
            len(found.details.failing(0.05)) > 0,
            (found.details.pvalues <= 0.05).mean(),
        )
    low, high = clopper_pearson(int(rejected[0]), samples)
    shares = rejected / samples
    return (
        f"| {kind} | {where} | {raters} | {shares[0]:.3f} ({low:.3f} to {high:.3f}) | {shares[1]:.3f} "
        f"| {shares[2]:.3f} | {shares[3]:.3f} | {shares[4]:.4f} |"
    )


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(
        "| set | truth | raters | evidence | deviances, hardest | deviances, fitted | any adjusted | single |"
    )
    print("|---|---|---|---|---|---|---|---|")
    tasks = [
        (kind, where, raters, samples)
        for kind, where, raters in itertools.product(KINDS, (*INSIDE, *OUTSIDE), RATERS)
        if kind != "Point" or where in ("mean", *OUTSIDE)
    ]
    with ProcessPoolExecutor(processes) as pool:
        for line in pool.map(row, tasks):
            print(line, flush=True)


if __name__ == "__main__":
    main()
