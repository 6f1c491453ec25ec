"""How often does `validity_test` reject where the truth is in the set, and where should its null be drawn?

Truths at the places of a set where rejection is easiest: its corners and its edges. The null at the fitted
distribution alone (a plain parametric bootstrap) beside the null of `validity_test`.

    python studies/scripts/validity.py             about twenty minutes

Prints the tables of docs/studies/validity.md.
"""

from __future__ import annotations

import sys

import numpy as np

import credibly as cr
from credibly.credal.distance import nearest_distribution
from credibly.hypotests.credal.validity import TOLERANCE, deviances, draw_counts
from credibly.hypotests.resampling.pvalues import clopper_pearson

Array = np.ndarray
INSTANCES, CLASSES, MEMBERS, REPLICATES = 40, 3, 4, 199


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
    """Return one distribution of every set: the hardest or any corner, halfway between two, the mean."""
    corners = cr.credal_vertices(credal)
    rows = np.arange(len(corners))
    first, second = rng.integers(0, corners.shape[1], size=(2, len(corners)))
    if where == "hardest corner":  # where the deviance is largest on average
        drawn = [
            rng.multinomial(raters, normal(corners[:, v]), size=(60, len(rows)))
            for v in range(corners.shape[1])
        ]
        means = np.stack([deviances(credal, counts).mean(axis=0) for counts in drawn])
        return corners[rows, means.argmax(axis=0)]
    if where == "any corner":
        return corners[rows, first]
    if where == "edge":
        return (corners[rows, first] + corners[rows, second]) / 2
    return credal.mean().probs


def normal(probs: Array) -> Array:
    """Return rows that sum to 1 as exactly as NumPy's multinomial wants."""
    kept = np.clip(probs, 0, None)
    return kept / kept.sum(axis=-1, keepdims=True)


def at_fitted(credal: cr.Ensemble, counts: Array, seed: int) -> float:
    """Return the overall p-value of a parametric bootstrap at the nearest distributions."""
    raters = counts.sum(axis=1)
    fitted = nearest_distribution(credal, counts / raters[:, None], "kl", TOLERANCE)
    drawn = draw_counts(fitted, raters, (seed, 1), slice(0, REPLICATES), 0)
    values = deviances(credal, np.concatenate([counts[None], drawn])).sum(axis=1)
    return float((1 + (values[1:] >= values[0] - 1e-6).sum()) / (1 + REPLICATES))


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print("| set | truth | raters | overall | any adjusted | single instance | overall, null at the fitted |")
    print("|---|---|---|---|---|---|---|")
    for kind in ("Point", "Ensemble", "Intervals", "Belief"):
        for where in ("hardest corner", "any corner", "edge", "mean")[: 1 if kind == "Point" else 4]:
            for raters in (2, 5, 50):
                rng = np.random.default_rng(5)
                overall = single = anywhere = fitted = 0
                for sample in range(samples):
                    credal = world(kind, rng)
                    counts = rng.multinomial(raters, normal(truths(credal, where, raters, rng)))
                    found = cr.validity_test(credal, cr.LabelCounts(counts), n_resamples=REPLICATES, rng=rng)
                    overall += found.rejects(0.05)
                    single += int((found.pvalues <= 0.05).sum())
                    anywhere += len(found.failing(0.05)) > 0
                    fitted += at_fitted(credal, counts, sample) <= 0.05
                low, high = clopper_pearson(overall, samples)
                print(
                    f"| {kind} | {where} | {raters} | {overall / samples:.3f} ({low:.3f} to {high:.3f}) "
                    f"| {anywhere / samples:.3f} | {single / samples / INSTANCES:.4f} "
                    f"| {fitted / samples:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
