"""The unified score against a plain loop over focal sets, and a ranking of ten models.

Everything here runs on one thread, so seconds are processor time: a machine that others use changes it less.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator

import numpy as np
from harness import Row, best_of, peak_bytes

import credibly as cr
from credibly_studies import c25

SECONDS = "wanted seconds"
CLIP = 1e-10
CLOCK = time.process_time


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of the score."""
    if threads > 1:
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="E depends on")
        yield from _pipeline(threads)
        yield from _many_classes(threads)
        yield from _ranking(threads)


def _ensemble(n: int, k: int, m: int, seed: int = 0) -> tuple[cr.Ensemble, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, 1, k)) + rng.normal(size=(n, m, k))
    probs = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    labels = (rng.random((n, 1)) > probs.mean(axis=1).cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    return cr.Ensemble(probs), labels


def _budget(k: int) -> list[frozenset[int]]:
    """Three sets per class, as in C25: all single classes and two pairs for each."""
    singles = [frozenset({j}) for j in range(k)]
    return singles + [frozenset({j, (j + step) % k}) for step in (1, 3) for j in range(k)]


def plain_scores(
    probs: list[list[list[float]]], labels: list[int], budget: list[frozenset[int]]
) -> list[tuple[float, float, float]]:
    """Score one instance after the other, one focal set after the other, as the paper describes it.

    Lower probability of every listed set, masses by the printed alternating sum, negative ones set to 0, the
    remainder to the set of all classes, division by the sum; then the distance of the label to the nearest
    corner (the largest probability it can get) and the non-specificity.
    """
    everything = frozenset(range(len(probs[0][0])))
    found = []
    for members, label in zip(probs, labels, strict=True):
        lower = {}
        for events in budget:
            lower[events] = min(sum(member[j] for j in events) for member in members)
        masses = {}
        for events in budget:
            mass = 0.0
            for part in budget:
                if part <= events:
                    mass += (-1) ** len(events - part) * lower[part]
            masses[events] = max(mass, 0.0)
        masses[everything] = max(1.0 - sum(masses.values()), 0.0)
        total = sum(masses.values())
        plausibility = sum(mass for events, mass in masses.items() if label in events) / total
        distance = -math.log(max(plausibility, CLIP))
        imprecision = sum(mass * math.log(len(events)) for events, mass in masses.items()) / total
        found.append((distance, imprecision, distance + imprecision))
    return found


def _pipeline(threads: int) -> Iterator[Row]:
    ensemble, labels = _ensemble(10_000, 10, 15)
    budget = _budget(10)
    listed, given = ensemble.probs.tolist(), labels.tolist()
    began = CLOCK()
    plain = np.array(plain_scores(listed, given, budget))
    theirs = CLOCK() - began

    def ours() -> cr.results.EpistemicScore:
        return c25.score(ensemble, labels, budget=budget)

    score = ours()
    error = np.abs(np.stack([score.distance, score.imprecision, score.total], axis=1) - plain).max()
    assert error < 1e-9, error
    taken = best_of(5, clock=CLOCK, ours=ours)
    task = "C25 pipeline, n = 10,000, k = 10, m = 15, 30 sets"
    against = "plain loop over focal sets"
    fast = theirs >= 100 * taken["ours"]
    yield Row(f"{task} (error {error:.0e})", taken["ours"], theirs, against, ">= 100", fast, threads)


def _many_classes(threads: int) -> Iterator[Row]:
    ensemble, labels = _ensemble(10_000, 100, 15)
    budget = _budget(100)

    def ours() -> cr.results.EpistemicScore:
        return c25.score(ensemble, labels, budget=budget)

    taken = best_of(3, clock=CLOCK, ours=ours)["ours"]
    yield Row(
        "C25 pipeline, n = 10,000, k = 100, m = 15, 300 sets",
        taken,
        0.5,
        SECONDS,
        ">= 1",
        taken <= 0.5,
        threads,
    )
    peak = peak_bytes(ours)
    yield Row("the same, peak memory in GiB", peak / 2**30, 1.0, "1 GiB", ">= 1", peak <= 2**30, threads)


def _ranking(threads: int) -> Iterator[Row]:
    first, labels = _ensemble(10_000, 10, 10)
    sets: dict[str, object] = {
        f"ensemble {seed}": _ensemble(10_000, 10, 10, seed)[0] for seed in range(1, 10)
    }
    unlike: dict[str, object] = {
        "ensemble": first,
        "wider ensemble": sets["ensemble 1"],
        "third ensemble": sets["ensemble 2"],
        "intervals": first.to_intervals(),
        "belief": cr.credal.mass_function(first, budget=_budget(10), negative="clamp").to_belief(),
        **{f"point {m}": first.probs[:, m] for m in range(5)},
    }
    for name, models in (
        ("ten unlike models (3 ensembles, intervals, belief, 5 points)", unlike),
        ("ten ensembles of 10 members", {"ensemble": first, **sets}),
    ):

        def ours(models: dict[str, object] = models) -> cr.selection.Ranking:
            return cr.rank_models(models, labels)

        taken = best_of(3, clock=CLOCK, ours=ours)["ours"]
        yield Row(
            f"ranking of {name}, n = 10,000, k = 10, 1000 draws",
            taken,
            2.0,
            SECONDS,
            ">= 1",
            taken <= 2.0,
            threads,
        )
