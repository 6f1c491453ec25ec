"""Rows of the validity board: sets of distributions, and several labels per instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credibly as cr
from credibly_studies.simulate import EnsembleWorld, MulticlassWorld
from validity import test_validity_test, worlds
from validity.report import REPLICATES, Numbers, Row


def mixed_world(k: int, m: int, digits: int | None = None) -> worlds.World:
    """J25's H0,1: one weight vector for all instances makes the truth. 400 instances."""

    def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = MulticlassWorld("H0,1", n_members=m, n_classes=k).draw(
            400, rng=np.random.default_rng([7, seed])
        )
        members, labels = np.asarray(drawn.predictions.probs), np.asarray(drawn.labels)
        if digits is None:
            return members, labels
        members = np.round(members, digits)
        members /= members.sum(axis=2, keepdims=True)
        assert drawn.truth.weights is not None
        truth = np.einsum("nm,nmk->nk", drawn.truth.weights, members)
        return members, worlds.draw(truth, np.random.default_rng([8, seed]))

    return world


def s1_world(k: int, m: int, n: int = 400) -> worlds.World:
    """M23's S1 with weights over the whole simplex."""

    def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
        made = EnsembleWorld("S1", n_members=m, n_classes=k, spread=0.1, weight_concentration=1.0)
        drawn = made.draw(n, rng=np.random.default_rng([9, seed]))
        return np.asarray(drawn.predictions.probs), np.asarray(drawn.labels)

    return world


def ruled_world(rule: str, k: int = 3, m: int = 5, *, n: int = 400, outside: float = 0.0) -> worlds.World:
    """The truth is a member that a rule picks from the set: cautious, bold, or largest in class 0.

    `outside` moves it that share of the way to the class that the set thinks least of.
    """

    def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([10, seed])
        members = rng.dirichlet(np.full(k, 1.0), size=n)[:, None] * np.exp(0.5 * rng.normal(size=(n, m, k)))
        members /= members.sum(axis=2, keepdims=True)
        largest = members.max(axis=2)
        by_rule = {"cautious": -largest, "bold": largest, "direction": members[:, :, 0]}
        truth = members[np.arange(n), by_rule[rule].argmax(axis=1)]
        least = np.eye(k)[members.max(axis=1).argmin(axis=1)]
        return members, worlds.draw((1 - outside) * truth + outside * least, rng)

    return world


DIRECTIONS = ((0.3, -0.8, 0.5), (1.0, -1.0, 0.0), (1.0, 0.0, 0.0))


def directed_world(direction: tuple[float, ...], n: int = 300, m: int = 5) -> worlds.World:
    """The truth is the member that is largest in a direction: in the set, but no weights learned are it."""

    def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([14, seed])
        members = rng.dirichlet(np.ones(len(direction)), size=(n, m))
        truth = members[np.arange(n), (members @ np.array(direction)).argmax(axis=1)]
        return members, worlds.draw(truth, rng)

    return world


def credal(world: worlds.World) -> Callable[[int], Numbers]:
    """The p-value of the default and that of its witness."""

    def run(seed: int) -> Numbers:
        members, labels = world(seed)
        result = cr.credal_test(cr.Ensemble(members), labels, n_resamples=99, rng=seed)
        return {"both": result.pvalue, "witness": result.details.validity.pvalue}

    return run


def witness(world: worlds.World) -> Callable[[int], Numbers]:
    """The p-value of the witness alone."""

    def run(seed: int) -> Numbers:
        members, labels = world(seed)
        return {"witness": cr.hypotests.witness_test(cr.Ensemble(members), labels, rng=seed).pvalue}

    return run


def weighted(world: worlds.World, **settings: Any) -> Callable[[int], Numbers]:
    """The p-value of weights by the name of their statistic."""

    def run(seed: int) -> Numbers:
        members, labels = world(seed)
        result = cr.hypotests.weights_test(cr.Ensemble(members), labels, rng=seed, **settings)
        return {result.statistic_name: result.pvalue}

    return run


def credal_statistics(world: worlds.World) -> Callable[[int], Numbers]:
    """The smallest value over constant weights of proper scores."""

    def run(seed: int) -> Numbers:
        names = ("brier", "log_loss")
        runs = [weighted(world, weights="constant", statistics=name)(seed) for name in names]
        return {name: value for run in runs for name, value in run.items()}

    return run


def inflated(world: worlds.World) -> Callable[[int], Numbers]:
    """A set that holds the truth needs no larger one: its p-value at radius 0."""

    def run(seed: int) -> Numbers:
        members, labels = world(seed)
        inflation = cr.inflate(cr.Ensemble(members, member_axis=1), labels, rng=seed)
        return {"witness, radius 0": float(inflation.pvalues[0])}

    return run


def exchangeable(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels from the mean of the members."""
    rng = np.random.default_rng([11, seed])
    members = rng.dirichlet(np.ones(3), size=(150, 4))
    return members, worlds.draw(members.mean(axis=1), rng)


def regions(seed: int) -> Numbers:
    """The smallest adjusted p-value of any region."""
    rng = np.random.default_rng([12, seed])
    probs, labels = worlds.tempered(1.0)(seed)
    result = cr.hypotests.weights_test(
        probs, labels, weights="mean", statistics="brier", n_resamples=1, rng=seed
    )
    worst_regions = result.details.regions(
        probs, labels, space=rng.normal(size=(150, 2)), n_resamples=REPLICATES, rng=seed
    )
    return {"any region": next((p for p in (0.01, 0.05, 0.1) if len(worst_regions.failing(p))), 1.0)}


def raters(count: int, *, outside: bool = False) -> Callable[[int], Numbers]:
    """Several labels per instance, from the corner of the set that rejects most; or beyond the set."""

    def run(seed: int) -> Numbers:
        pvalues = {}
        for kind in test_validity_test.KINDS:
            rng = np.random.default_rng([13, seed])
            made = test_validity_test.make(kind, rng)
            if outside:
                lowest = np.eye(3)[cr.credal.upper_probability(made).argmin(axis=1)]
                edge = test_validity_test.normal(cr.credal.boundary(made, lowest))
                truth = 0.5 * edge + 0.5 * lowest
            else:
                truth = test_validity_test.hardest(made, count, rng)
            counts = rng.multinomial(count, truth)
            pvalues[kind] = cr.validity_test(made, counts, n_resamples=REPLICATES, rng=seed).pvalue
        return pvalues

    return run


CONSTANT = [(k, m) for k in (3, 5) for m in (5, 10)]

SET_ROWS = [
    Row(
        "weights_test",
        "weights='constant', S1, n = 80",
        "null",
        weighted(s1_world(3, 3, n=80), weights="constant", n_resamples=39),
        True,
        slack=0.01,
    ),
    Row(
        "credal_test",
        "the truth is the cautious member, n = 80",
        "null",
        credal(ruled_world("cautious", 3, 3, n=80)),
        True,
    ),
    Row(
        "witness_test",
        "the truth is the cautious member, n = 80",
        "null",
        witness(ruled_world("cautious", 3, 3, n=80)),
        True,
    ),
    Row(
        "witness_test",
        "beyond the set, n = 80",
        "alternative",
        witness(ruled_world("cautious", 3, 3, n=80, outside=0.8)),
    ),
    *(
        Row(
            "weights_test",
            f"weights='constant', {name}, k = {k}, m = {m}",
            "null",
            weighted(world(k, m), weights="constant"),
            True,
            slack=0.01,
            share=0.6,
            few=0,
        )
        for name, world in (("H0,1", mixed_world), ("S1", s1_world))
        for k, m in CONSTANT
    ),
    Row(
        "weights_test",
        "weights='constant', H0,1, k = 3, m = 5, other statistics",
        "null",
        credal_statistics(mixed_world(3, 5)),
        True,
        slack=0.01,
        share=0.6,
        few=0,
    ),
    *(
        Row(
            "weights_test",
            f"weights='constant', H0,1, rounded to {digits} digits",
            "null",
            weighted(mixed_world(3, 5, digits), weights="constant"),
            True,
            share=0.4,
            few=0,
        )
        for digits in worlds.DIGITS
    ),
    Row(
        "weights_test",
        "weights='constant', beyond the set",
        "alternative",
        weighted(ruled_world("cautious", outside=0.3), weights="constant"),
        share=0.4,
        few=0,
    ),
    Row(
        "weights_test",
        "weights='mean', labels from the mean",
        "null",
        weighted(exchangeable, weights="mean", n_resamples=REPLICATES),
    ),
    *(
        Row(
            "credal_test",
            f"the truth is the {rule} member",
            "null",
            credal(ruled_world(rule)),
            True,
            share=0.3,
            few=0,
        )
        for rule in ("cautious", "bold", "direction")
    ),
    *(
        Row(
            "witness_test",
            f"the truth is the {rule} member, k = {k}, m = {m}",
            "null",
            witness(ruled_world(rule, k, m)),
            True,
            few=0,
        )
        for rule in ("cautious", "bold", "direction")
        for k, m in ((2, 10), (5, 10))
    ),
    *(
        Row(
            "witness_test",
            f"some combination, rounded to {digits} digits",
            "null",
            witness(mixed_world(3, 5, digits)),
            True,
            few=0,
        )
        for digits in worlds.DIGITS
    ),
    Row(
        "credal_test",
        "beyond the set",
        "alternative",
        credal(ruled_world("cautious", outside=0.3)),
        share=0.3,
        few=0,
    ),
    *(
        Row(
            "weights_test",  # its hypothesis is false there: these weights cannot be learned
            f"learned weights alone, truth in the set: the member largest in {direction}",
            "alternative",
            weighted(directed_world(direction), n_resamples=99),
            share=0.1,
            few=0,
        )
        for direction in DIRECTIONS
    ),
    *(
        Row(
            "credal_test",
            f"the truth is the member largest in {direction}",
            "null",
            credal(directed_world(direction)),
            True,
            share=0.1,
            few=0,
        )
        for direction in DIRECTIONS
    ),
    Row("WeightsDetails.regions", "calibrated", "null", regions, True),
    Row("inflate", "labels from the mean", "null", inflated(exchangeable), True, few=3),
    Row("inflate", "beyond the set", "alternative", inflated(ruled_world("cautious", outside=0.3)), few=2),
    *(
        Row("validity_test", f"the hardest corner, {count} raters", "null", raters(count), True, few=2)
        for count in (2, 5, 50)
    ),
    Row("validity_test", "beyond the set, 20 raters", "alternative", raters(20, outside=True), few=2),
]
