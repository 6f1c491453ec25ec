"""Tests of sets whose rows come in clusters: which of them keep their level where weights are learned.

Labels are drawn through ranks that share a normal part inside a cluster, from a combination of four members
whose weights are equal for all rows or depend on a feature: the set holds the truth and a calibrated
combination. Compared at 5 %:

    refits       `weights_test` of learned weights that takes rows for independent and learns again
    rows         weights learned on the clusters of other folds and held fixed, labels drawn row by row
    signs        weights learned on the clusters of other folds and held fixed; SKCE of the tested rows with
                 one sign per cluster, pairs inside a cluster left out
    signs, folds the same fold by fold, p-values of folds combined by twice the median one (Rueger)
    signs, truth the same with the true combination: what learning adds is the difference
    witness      `witness_test(clusters=)`: sums of a witness learned from other clusters
    e-value      its exact e-value

The last worlds have a truth outside the set. It writes a table to standard output.

python studies/scripts/credal_clusters.py [repetitions] [first seed]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

import credibly as cr
from credibly.learners.basis import check_features
from credibly.learners.linear import BoundaryLearner, Lesson
from credibly.learners.points import points_of

LEVEL, FOLDS, REPLICATES, MEMBERS = 0.05, 4, 199, 4
PATIENTS = [25] * 40
UNEQUAL = [int(6 * 1.2**step) for step in range(1, 18)] + [4] * 13
SEED = (1, 2)
NAMES = ("refits", "rows", "signs", "signs, folds", "signs, truth", "witness", "e-value")


def world(
    sizes: Sequence[int], correlation: float, kind: str, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return members (n, m, k), the truth (n, k), labels, ids and one feature."""
    rng = np.random.default_rng([61, seed])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    n = ids.size
    x = rng.normal(size=n)
    centre = rng.normal(size=(n, 1, 3))
    logits = centre + 0.8 * rng.normal(size=(n, MEMBERS, 3))
    members = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    scores = np.tile([1.0, 0.3, -0.4, -0.4], (n, 1))
    if kind == "by feature":
        scores = np.stack([x, -x, 0.5 * x, 0.0 * x], axis=1)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    truth = np.einsum("nm,nmk->nk", weights, members)
    if kind == "outside":
        truth = truth**1.8 / (truth**1.8).sum(axis=1, keepdims=True)
    shared, own = rng.standard_normal(len(sizes))[ids], rng.standard_normal(n)
    rank = ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    labels = (rank[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return members, truth, labels, ids, x[:, None]


def cross_fitted(
    members: np.ndarray, labels: np.ndarray, ids: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return every row's combination, learned on the clusters of other folds, and its fold."""
    ensemble, learner = cr.Ensemble(members), BoundaryLearner()
    points = learner.points(points_of(ensemble, 100, SEED))
    made = check_features(x, ensemble)
    fold = np.random.default_rng(0).permutation(ids.max() + 1)[ids] % FOLDS
    combined = np.empty((len(labels), members.shape[2]))
    for at in range(FOLDS):
        fit = learner.learn(Lesson(points, made, labels, SEED), np.flatnonzero(fold != at))
        weights = fit.weights(points, made)
        combined[fold == at] = np.einsum("na,nak->nk", weights, points.probs)[fold == at]
    return combined / combined.sum(axis=1, keepdims=True), fold


def signed(probs: np.ndarray, labels: np.ndarray, ids: np.ndarray, seed: int) -> float:
    return cr.calibration_test(
        probs, labels, statistics="skce", clusters=ids, n_resamples=REPLICATES, rng=seed
    ).pvalue


def rejected(sizes: Sequence[int], correlation: float, kind: str, seed: int) -> list[bool]:
    members, truth, labels, ids, x = world(sizes, correlation, kind, seed)
    refits = cr.hypotests.weights_test(
        cr.Ensemble(members), labels, features=x, n_resamples=99, rng=seed
    ).pvalue
    combined, fold = cross_fitted(members, labels, ids, x)
    rows = cr.calibration_test(combined, labels, statistics="skce", n_resamples=REPLICATES, rng=seed).pvalue
    every = sorted(
        signed(combined[own], labels[own], ids[own], seed) for own in (fold == at for at in range(FOLDS))
    )
    witness = cr.hypotests.witness_test(cr.Ensemble(members), labels, clusters=ids, rng=seed)
    pvalues = (
        refits,
        rows,
        signed(combined, labels, ids, seed),
        min(1.0, 2 * every[FOLDS // 2 - 1]),
        signed(truth, labels, ids, seed),
        witness.pvalue,
        witness.details.exact_pvalue,
    )
    return [one <= LEVEL for one in pvalues]


def main(repetitions: int, first: int) -> None:
    """Print rejection rates."""
    print("| world | runs | " + " | ".join(NAMES) + " |\n" + "|---" * (2 + len(NAMES)) + "|")
    for words, sizes in (("40 clusters of 25", PATIENTS), ("30 unequal clusters", UNEQUAL)):
        for kind in ("constant", "by feature", "outside"):
            for correlation in (0.0, 0.3) if kind != "outside" else (0.3,):
                runs = range(first, first + repetitions)
                found = np.mean([rejected(sizes, correlation, kind, seed) for seed in runs], axis=0)
                cells = " | ".join(f"{rate:.3f}" for rate in found)
                print(f"| {words}, {kind}, correlation {correlation} | {repetitions} | {cells} |", flush=True)


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(given[0] if given else 400, given[1] if len(given) > 1 else 0)
