"""Worlds with exact boundaries: a thousand data sets, against one linear program per instance."""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from harness import Row, best_of
from scipy.optimize import linprog

from credibly_studies.simulate import CalibrationTest, MulticlassWorld, power_study

WORLD = MulticlassWorld("H1", delta=0.1, n_members=10, n_classes=5)
N, COUNT, LIMIT = 400, 1000, 60.0


def rows(threads: int) -> Iterator[Row]:
    """Yield the thousand worlds on one core and on two, and what a general solver takes."""
    seconds = _one_process() if threads == 1 else _two_processes()
    task = f"{COUNT} multiclass worlds with exact boundaries, n = {N}, m = 10, k = 5, {threads} processes"
    yield Row(task, seconds, LIMIT, f"the limit, {LIMIT:g} s on two cores", ">= 1", seconds <= LIMIT, threads)
    if threads == 1:
        yield from _against_linprog(seconds)
        yield from _study()


def draw(seeds: range) -> float:
    """Draw worlds; the sum keeps anything from being left out."""
    return sum(float(WORLD.draw(N, rng=seed).truth.probs[0, 0]) for seed in seeds)


def _one_process() -> float:
    began = time.perf_counter()
    draw(range(COUNT))
    return time.perf_counter() - began


def _two_processes() -> float:
    """Measure with the start of the processes, which a user waits for too."""
    parts = [range(first, first + 50) for first in range(0, COUNT, 50)]
    began = time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(draw, parts))
    return time.perf_counter() - began


def _against_linprog(seconds: float) -> Iterator[Row]:
    # no class near 0: there the general solver's tolerance of 1e-7 is as wide as the hull
    sample = dataclasses.replace(WORLD, prior_concentration=5.0).draw(100, rng=1)
    members = sample.predictions.probs
    corner = int((sample.truth.probs - sample.truth.in_set).argmax(axis=1)[0])
    ours = sample.truth.in_set
    theirs = np.stack([_boundary(one, corner) for one in members])
    assert np.abs(ours - theirs).max() < 1e-7
    spent = best_of(2, theirs=lambda: [_boundary(one, corner) for one in members])["theirs"]
    whole = spent / len(members) * N * COUNT
    task = f"{COUNT} multiclass worlds with exact boundaries, n = {N}, m = 10, k = 5"
    yield Row(
        task, seconds, whole, "linprog per instance (100 timed, scaled)", ">= 10", whole >= 10 * seconds, 1
    )


def _boundary(members: np.ndarray, corner: int) -> np.ndarray:
    """Maximise a subject to mean + a (corner - mean) in the hull, from the definition."""
    m, k = members.shape
    mean = members.mean(axis=0)
    way = np.eye(k)[corner] - mean
    table = np.block([[members.T, -way[:, None]], [np.ones((1, m)), np.zeros((1, 1))]])
    cost = np.append(np.zeros(m), -1.0)
    return mean + linprog(cost, A_eq=table, b_eq=np.append(mean, 1.0), method="highs").x[-1] * way


def _study() -> Iterator[Row]:
    """What a study costs beside its tests: data, addresses, counting."""
    test = CalibrationTest("truth", "brier", n_resamples=199)
    study = functools.partial(power_study, {"brier": test}, [WORLD], repetitions=50, n=N, rng=0)

    def bare() -> None:
        for seed in range(50):
            test(WORLD.draw(N, rng=seed), seed)

    found = best_of(2, ours=study, theirs=bare)
    task = "power_study, 50 repetitions of one test at n = 400"
    close = found["ours"] <= 1.25 * found["theirs"]
    yield Row(task, found["ours"], found["theirs"], "the same loop written out", ">= 0.8", close, 1)
