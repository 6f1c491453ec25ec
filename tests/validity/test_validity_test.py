"""`validity_test` with 2, 5 and 50 raters: the level where the truth is in the set, power where it is not.

Truths lie at the corner of each set where the deviance is largest on average, which is where a test of a set
rejects most often.
"""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.validity import deviances
from validity import worlds

pytestmark = pytest.mark.validity

INSTANCES, REPLICATES = 12, worlds.repetitions(39, 99)
REPETITIONS = worlds.repetitions(6, 2000)
TRIALS = worlds.repetitions(12, 40)  # draws that tell which corner is the hardest
KINDS = ("point", "ensemble", "intervals", "belief")
SETS = [{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}]


def make(kind: str, rng: np.random.Generator) -> cr.Point | cr.Ensemble | cr.Intervals | cr.Belief:
    members = rng.dirichlet(np.ones(3), size=(INSTANCES, 3))
    if kind == "point":
        return cr.Point(members[:, 0])
    if kind == "ensemble":
        return cr.Ensemble(members)
    if kind == "intervals":
        return cr.Intervals(members.min(axis=1), members.max(axis=1))
    return cr.Belief(rng.dirichlet(np.ones(7), size=INSTANCES), SETS)


def normal(probs: np.ndarray) -> np.ndarray:
    kept = np.clip(probs, 0, None)
    return kept / kept.sum(axis=-1, keepdims=True)


def hardest(credal: cr.Ensemble, raters: int, rng: np.random.Generator) -> np.ndarray:
    corners = normal(cr.credal.vertices(credal))
    means = [
        deviances(credal, rng.multinomial(raters, corners[:, v], size=(TRIALS, INSTANCES))).mean(axis=0)
        for v in range(corners.shape[1])
    ]
    return corners[np.arange(INSTANCES), np.argmax(means, axis=0)]


@pytest.mark.parametrize("raters", [2, 5, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_size_at_the_hardest_corner(kind: str, raters: int) -> None:
    rng = np.random.default_rng(raters)
    overall = anywhere = single = 0
    pvalues = []
    for _ in range(REPETITIONS):
        credal = make(kind, rng)
        counts = rng.multinomial(raters, hardest(credal, raters, rng))
        result = cr.validity_test(credal, counts, n_resamples=REPLICATES, rng=rng)
        pvalues.append(result.pvalue)
        overall += result.rejects(0.1)
        anywhere += len(result.details.failing(0.1)) > 0
        single += int((result.details.pvalues <= 0.1).sum())
    low, high = worlds.bounds(REPETITIONS, 0.1)
    assert overall <= high
    assert anywhere <= high
    assert single <= worlds.bounds(REPETITIONS * INSTANCES, 0.1)[1]
    if kind == "point":  # exact, up to ties between the few counts that two raters have
        assert overall >= (low if raters > 2 else 0)
    assert np.mean(pvalues) < 0.8  # conservative with few replicates per corner, not by construction


@pytest.mark.parametrize("where", ["corner", "face"])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_size_elsewhere_on_the_boundary(kind: str, where: str) -> None:
    """Any corner, or where a ray from the mean leaves the set; 50 raters know which side they are on."""
    rng = np.random.default_rng(4)
    pvalues = []
    for _ in range(REPETITIONS):
        credal = make(kind, rng)
        corners = cr.credal.vertices(credal)
        truth = corners[np.arange(INSTANCES), rng.integers(0, corners.shape[1], size=INSTANCES)]
        if where == "face":
            truth = cr.credal.boundary(credal, rng.dirichlet(np.full(3, 0.2), size=INSTANCES))
        counts = rng.multinomial(50, normal(truth))
        pvalues.append(cr.validity_test(credal, counts, n_resamples=REPLICATES, rng=rng).pvalue)
    assert (np.array(pvalues) <= 0.1).sum() <= worlds.bounds(REPETITIONS, 0.1)[1]
    assert np.mean(pvalues) < 0.7  # conservative by a little: the sum of deviances has size 0 here


@pytest.mark.parametrize("kind", KINDS)
def test_power_grows_with_raters_and_with_distance(kind: str) -> None:
    rng = np.random.default_rng(9)
    repetitions = worlds.repetitions(15, 200)
    power = {}
    for raters, share in ((5, 0.25), (50, 0.25), (50, 0.6)):
        rejected = 0
        for _ in range(repetitions):
            credal = make(kind, rng)
            lowest = np.eye(3)[cr.credal.upper_probability(credal).argmin(axis=1)]
            edge = normal(cr.credal.boundary(credal, lowest))
            truth = (1 - share) * edge + share * lowest
            result = cr.validity_test(credal, rng.multinomial(raters, truth), n_resamples=39, rng=rng)
            rejected += result.rejects(0.05)
        power[raters, share] = rejected / repetitions
    assert power[50, 0.6] > 0.9
    assert power[5, 0.25] < 0.9
    assert power[50, 0.6] >= power[50, 0.25] >= power[5, 0.25]
