"""Credal measures against their figures: exact and random events, entropies, membership, distances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import Row, best_of, peak_bytes
from scipy.optimize import linprog

import credibly as cr


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of the credal room; the figures are those of one thread."""
    if threads != 1:
        return
    yield from _exact_hartley()
    yield from _many_classes()
    yield from _upper_entropy()
    yield from _membership()
    yield from _label_distance()


def _ensemble(n: int, m: int, k: int, seed: int = 0) -> cr.Ensemble:
    return cr.Ensemble(np.random.default_rng(seed).dirichlet(np.ones(k), size=(n, m)), member_axis=1)


def _limit(task: str, seconds: float, limit: float, met: bool = True) -> Row:
    return Row(task, seconds, limit, f"the limit, {limit:g} s", ">= 1", met and seconds <= limit, 1)


def _exact_hartley() -> Iterator[Row]:
    ensemble = _ensemble(10_000, 10, 10)
    few = ensemble[:50]
    masses = cr.credal.mass_function(few)
    direct = masses.masses @ np.log(masses.sizes)
    assert abs(cr.credal.nonspecificity(few) - direct).max() < 1e-10
    found = best_of(3, ours=lambda: cr.credal.nonspecificity(ensemble))
    yield _limit("exact generalised Hartley, n = 10,000, k = m = 10", found["ours"], 0.5)
    transform = best_of(1, theirs=lambda: cr.credal.mass_function(ensemble))["theirs"]
    task = "exact generalised Hartley, n = 10,000, k = m = 10"
    yield Row(task, found["ours"], transform, "our own Moebius transform", "reported", True, 1)


def _many_classes() -> Iterator[Row]:
    for name, ensemble in (("flat", _ensemble(1000, 10, 1000)), ("peaked", _peaked(1000, 10, 1000))):
        estimates: list[cr.credal.NonspecificityEstimate] = []

        def ours(ensemble=ensemble, estimates=estimates) -> None:
            estimates.append(cr.credal.nonspecificity_estimate(ensemble))

        seconds = best_of(2, ours=ours)["ours"]
        error = float(np.median(estimates[-1].stderr / estimates[-1].values))
        peak = peak_bytes(ours) / 2**20
        task = (
            f"random events, {name} members, n = 1000, k = 1000, m = 10: "
            f"median error {100 * error:.2f} %, peak {peak:.0f} MiB"
        )
        yield _limit(task, seconds, 5.0, met=error < 0.01 and peak < 1024)


def _peaked(n: int, m: int, k: int) -> cr.Ensemble:
    rng = np.random.default_rng(1)
    return cr.Ensemble.from_logits(rng.normal(size=(n, 1, k)) * 4 + rng.normal(size=(n, m, k)), member_axis=1)


def _upper_entropy() -> Iterator[Row]:
    ensemble = _ensemble(10_000, 10, 10)
    found = best_of(3, ours=lambda: cr.credal.upper_entropy(ensemble, tolerance=1e-6))
    yield _limit("upper entropy of hulls, n = 10,000, k = m = 10, gap 1e-6", found["ours"], 1.0)


def _membership() -> Iterator[Row]:
    ensemble = _ensemble(10_000, 10, 10)
    rng = np.random.default_rng(2)
    inside = (rng.dirichlet(np.ones(10), size=10_000)[:, None, :] @ ensemble.probs)[:, 0, :]
    edge = cr.credal.boundary(ensemble, rng.integers(0, 10, size=10_000))
    mean = ensemble.mean().probs
    beyond = np.clip(mean + 1.3 * (edge - mean), 0, None)
    asked = np.where(rng.random((10_000, 1)) < 0.5, inside, beyond / beyond.sum(axis=1, keepdims=True))
    some = slice(0, 200)
    answers = [_by_linprog(*pair) for pair in zip(ensemble.probs[some], asked[some], strict=True)]
    off = np.abs(asked - edge).max(axis=1) > 1e-6  # away from the band of the solver's tolerance
    ours = cr.credal.contains(ensemble, asked)
    assert (ours[some] == np.array(answers))[off[some]].all()

    def theirs() -> None:
        for pair in zip(ensemble.probs[some], asked[some], strict=True):
            _by_linprog(*pair)

    found = best_of(3, ours=lambda: cr.credal.contains(ensemble, asked), theirs=theirs)
    whole = found["theirs"] * 10_000 / 200
    task = "credal.contains, n = 10,000, k = m = 10, half inside"
    against = "scipy.optimize.linprog per row (200 rows, scaled)"
    yield Row(task, found["ours"], whole, against, ">= 50", whole >= 50 * found["ours"], 1)


def _by_linprog(members: np.ndarray, asked: np.ndarray) -> bool:
    table = np.concatenate([members.T, np.ones((1, len(members)))])
    return linprog(np.zeros(len(members)), A_eq=table, b_eq=np.append(asked, 1.0), method="highs").status == 0


def _label_distance() -> Iterator[Row]:
    ensemble = _ensemble(200_000, 10, 10)
    labels = np.random.default_rng(4).integers(0, 10, size=200_000)
    found = best_of(5, ours=lambda: cr.credal.distance(ensemble, labels), theirs=ensemble.probs.sum)
    task = "credal.distance to labels, n = 200,000, k = m = 10"
    fast = found["ours"] <= 3 * found["theirs"]
    yield Row(task, found["ours"], found["theirs"], "reading the array once", ">= 1/3", fast, 1)
