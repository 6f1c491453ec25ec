"""Under the hypothesis credal tests reject about as often as their level says; outside the set they reject.

Refits make a test asymptotic, so its size is held to the upper 99.9 % bound of the level plus 2 points; the
large study behind the default is studies/pages/credal-level.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly_studies import m23
from credibly_studies.simulate import EnsembleWorld, MulticlassWorld, World
from validity import worlds

pytestmark = pytest.mark.validity

REPETITIONS = worlds.repetitions(3, 300)  # three rejections of three are more than chance allows at 5 and 7 %
N = 120 if worlds.FULL else 80
REPLICATES = 39 if worlds.FULL else 19  # 5 % is 1 of 20


def results(
    test: Callable[..., Any], world: World, repetitions: int = REPETITIONS, **settings: object
) -> list[Any]:
    found = []
    for repetition in range(repetitions):
        sample = world.draw(N, rng=np.random.default_rng([5, repetition]))
        given = {"features": sample.features} if test is cr.credal_test else {}
        result = test(
            sample.predictions, sample.labels, rng=repetition, n_resamples=REPLICATES, **given, **settings
        )
        found.append(result)
    return found


def pvalues(
    test: Callable[..., Any], world: World, repetitions: int = REPETITIONS, **settings: object
) -> np.ndarray:
    return np.array([one.pvalue for one in results(test, world, repetitions, **settings)])


@pytest.mark.parametrize(
    "world",
    [
        MulticlassWorld("H0,1", n_members=3, n_classes=3),
        MulticlassWorld("H0,2", n_members=3, n_classes=3),
        MulticlassWorld("H0,1", n_members=10, n_classes=2),  # most noise in what is learned
        MulticlassWorld("H1", delta=0.0, n_members=4, n_classes=3),
    ],
    ids=lambda world: f"{world.name}, {world.n_members} members",
)
def test_size_of_the_default(world: World) -> None:
    """Weights and witness keep the level each: the larger of two p-values would hide that one does not."""
    found = results(cr.credal_test, world)
    parts = np.array([[one.details.calibration.pvalue, one.details.validity.pvalue] for one in found])
    assert [one.pvalue for one in found] == parts.max(axis=1).tolist()
    for level in (0.05, 0.2):
        rejected = (parts <= level + 1e-12).sum(axis=0)
        assert (rejected <= worlds.bounds(REPETITIONS, level + 0.02)[1]).all()


def drawn_set(rng: np.random.Generator, rule: str, k: int, m: int) -> tuple[cr.Ensemble, np.ndarray]:
    """Members of one instance around a centre, and labels from the member that a rule picks at each row."""
    logits = 1.2 * rng.normal(size=(N, 1, k)) + 0.6 * rng.normal(size=(N, m, k))
    probs = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    entropy = -(probs * np.log(probs)).sum(axis=2)
    index = {"cautious": entropy.argmax(axis=1), "bold": entropy.argmin(axis=1)}
    index["direction"] = probs[:, :, 0].argmax(axis=1)
    truth = probs[np.arange(N), index[rule if rule != "outside" else "direction"]]
    if rule == "outside":
        truth = 0.7 * truth + 0.3 * np.eye(k)[0]
    labels = (rng.random((N, 1)) >= truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return cr.Ensemble(probs, member_axis=1), labels


@pytest.mark.parametrize("rule", ["cautious", "bold", "direction"])
@pytest.mark.parametrize(("k", "m"), [(3, 5), (2, 10)])
def test_the_witness_keeps_its_level_for_truths_that_no_learner_follows(rule: str, k: int, m: int) -> None:
    found = []
    for repetition in range(REPETITIONS):
        sets, labels = drawn_set(np.random.default_rng([9, repetition]), rule, k, m)
        result = cr.hypotests.witness_test(sets, labels, rng=repetition)
        found.append((result.pvalue, result.details.exact_pvalue))
    for level in (0.05, 0.2):
        for rejected in (np.array(found) <= level).sum(axis=0):
            assert rejected <= worlds.bounds(REPETITIONS, level)[1]


def test_power_of_the_witness() -> None:
    found = [
        cr.hypotests.witness_test(
            *drawn_set(np.random.default_rng([9, repetition]), "outside", 3, 5), rng=0
        ).pvalue
        for repetition in range(REPETITIONS)
    ]
    assert (np.array(found) <= 0.05).mean() > 0.5


@pytest.mark.parametrize("rule", ["cautious", "bold", "direction"])
def test_learned_weights_follow_a_rule_that_picks_members(rule: str) -> None:
    """Weights on members by name and boundary points rejected .97, .34 and .61 of these at 5 %."""
    runs = worlds.repetitions(3, 200)
    world = worlds.ruled(rule)
    rejected = 0
    for seed in range(runs):
        members, labels = world(seed)
        found = cr.hypotests.weights_test(
            cr.Ensemble(members, member_axis=1), labels, n_resamples=19, rng=seed
        )
        rejected += found.rejects(0.05)
    assert rejected <= worlds.bounds(runs, 0.07)[1]


def test_power_of_the_default() -> None:
    world = MulticlassWorld("H1", delta=0.4, n_members=4, n_classes=3)
    assert (pvalues(cr.credal_test, world) <= 0.05 + 1e-12).mean() > 0.5


@pytest.mark.parametrize("statistic", ["hosmer_lemeshow", "classwise_ece", "confidence_ece"])
def test_m23_is_conservative_in_s1_for_errors_bounded_below_by_zero(statistic: str) -> None:
    world = EnsembleWorld("S1", n_members=5, n_classes=4, spread=0.1)
    found = pvalues(m23.credal_test, world, statistics=statistic)
    for level in (0.05, 0.2):
        assert (found <= level + 1e-12).sum() <= worlds.bounds(REPETITIONS, level)[1]


def test_constant_weights_are_conservative_without_refits() -> None:
    world = EnsembleWorld("S1", n_members=4, n_classes=3, spread=0.1, weight_concentration=1.0)
    kept = pvalues(
        cr.hypotests.weights_test, world, worlds.repetitions(8, 300), weights="constant", refit=False
    )
    assert (kept <= 0.2 + 1e-12).sum() <= worlds.bounds(kept.size, 0.2)[1]
    assert kept.mean() > 0.5  # uniform p-values have mean 0.5


def test_weights_by_member_alone_fail_the_control() -> None:
    """Why "boundary" is the default: the truth on the boundary is in the set, but not in reach of gating."""
    world = MulticlassWorld(
        "H1",
        corner="closest",
        n_members=10,
        n_classes=5,
        prior="dataset",
        prior_concentration=0.5,
        sharpness=5.0,
    )
    rejected = [
        cr.hypotests.weights_test(
            sample.predictions,
            sample.labels,
            features=sample.features,
            learner=learner,
            split=0.5,
            refit=False,
            rng=repetition,
            n_resamples=19,
        ).rejects(0.05)
        for learner in ("gating", "boundary")
        for repetition in range(4)
        for sample in [world.draw(800, rng=np.random.default_rng([9, repetition]))]
    ]
    assert sum(rejected[:4]) >= sum(rejected[4:]) + 2
