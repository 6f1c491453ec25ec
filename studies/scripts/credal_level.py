"""How often do credal tests reject where a calibrated combination exists, and where none does?

Draws data sets of 800 instances (J25: 400 to learn on and 400 to test) from the worlds of J25, tests each
with the default, with other learners and settings and with the papers' own algorithms, and writes every
p-value. The worlds with delta = 0 are the control: the truth is on the boundary of the set, so the hypothesis
is true. Beside them stands what a test could do that knows the true point of the set.

    python studies/scripts/credal_level.py --round default --repetitions 500 --out build/credal-level.json
    python studies/scripts/credal_level.py --table build/credal-level.json

Prints the tables of studies/pages/credal-level.md. One process per core; a file that exists is continued.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import credibly as cr
from credibly._arrays.binomial import clopper_pearson
from credibly.results import HypotestResult, WeightsDetails
from credibly_studies import j25, m23
from credibly_studies.simulate import BinaryWorld, MulticlassWorld, World, WorldSample
from credibly_studies.tilting import TiltingLearner

N = 800
RESAMPLES = 99
LEVELS = (0.01, 0.05, 0.10)
SHAPES = ((2, 2), (10, 2), (2, 5), (10, 5))  # members, classes

# Sharper than the printed worlds: one p per data set, weights that differ more, members that leave room
# outside their band (J25's own code has these bounds).
multiclass = functools.partial(MulticlassWorld, prior="dataset", prior_concentration=0.5, sharpness=5.0)
binary = functools.partial(BinaryWorld, bounds=((0.5, 0.7), (0.6, 0.8)))

NULLS: dict[str, World] = {
    "binary H0,1": binary("H0,1"),
    "binary H0,2": binary("H0,2"),
    **{
        f"multiclass {h}, m = {m}, k = {k}": multiclass(h, n_members=m, n_classes=k)
        for h in ("H0,1", "H0,2")
        for m, k in SHAPES
    },
}
CONTROLS: dict[str, World] = {
    "control binary": binary("H1,1", gap=(0.0, 1e-9)),
    "control, one corner": multiclass("H1", delta=0.0),
    "control, closest corner": multiclass("H1", delta=0.0, corner="closest"),
    "control, corner by x": multiclass("H1", delta=0.0, corner="features"),
}
ALTERNATIVES: dict[str, World] = {
    "delta 0.05": multiclass("H1", delta=0.05),
    "delta 0.1": multiclass("H1", delta=0.1),
    "delta 0.2": multiclass("H1", delta=0.2),
    "binary H1,1": binary("H1,1"),
    "binary H1,2": binary("H1,2"),
    "binary H1,3": binary("H1,3"),
}
WORLDS = NULLS | CONTROLS | ALTERNATIVES

TESTS: dict[str, dict[str, Any]] = {
    "default": {},
    "split 0.5": {"split": 0.5},
    "split 0.5, no refit": {"split": 0.5, "refit": False},
    "2 folds, no refit": {"cv": 2, "refit": False},
    "2 folds": {"cv": 2},
    "omnibus": {"statistics": "omnibus"},
    "gating": {"learner": "gating"},
    "tilting": {"learner": TiltingLearner()},
    "constant": {"weights": "constant"},
}
PAPERS: dict[str, Callable[[WorldSample, int], HypotestResult[WeightsDetails]]] = {
    "paper M23, HL": lambda sample, seed: m23.credal_test(sample.predictions, sample.labels, rng=seed),
    "paper M23, classwise ECE": lambda sample, seed: m23.credal_test(
        sample.predictions, sample.labels, statistics="classwise_ece", rng=seed
    ),
    "paper J25": lambda sample, seed: j25.credal_test(
        sample.predictions, sample.labels, features=sample.features, rng=seed
    ),
}
KNOWN: dict[str, tuple[str, int]] = {
    "point known, skce": ("skce", N),
    "point known, kde_ce on 400": ("kde_ce", N // 2),
}
"""Nothing learned: the point of the set where the truth is or set out from, its statistic and instances."""

ROUNDS: dict[str, list[tuple[str, str]]] = {
    "default": [("default", world) for world in (*NULLS, *CONTROLS)],
    "power": [("default", world) for world in ALTERNATIVES],
    "known": [
        (test, world)
        for test in KNOWN
        for world in ("control, one corner", "delta 0.05", "delta 0.1", "delta 0.2")
    ],
    "others": [
        (test, world)
        for test in ("gating", "tilting", "split 0.5", "2 folds", "omnibus", "constant")
        for world in ("binary H0,2", "multiclass H0,2, m = 10, k = 5", *CONTROLS)
    ],
    "papers": [
        (test, world)
        for test in ("paper J25", "paper M23, HL", "paper M23, classwise ECE")
        for world in (
            "binary H0,1",
            "binary H0,2",
            "multiclass H0,1, m = 10, k = 5",
            "multiclass H0,2, m = 10, k = 5",
            *CONTROLS,
            *ALTERNATIVES,
        )
    ],
}


def run(job: tuple[str, str, int]) -> tuple[str, float, float]:
    """Return the key of a job, its p-value and its seconds."""
    test, world, repetition = job
    sample = WORLDS[world].draw(N, rng=np.random.default_rng([7, repetition]))
    if test in KNOWN:
        return f"{test}|{world}|{repetition}", *known_point(test, sample, repetition)
    began = time.perf_counter()
    if test in PAPERS:
        found = PAPERS[test](sample, repetition)
    else:
        settings = {"n_resamples": RESAMPLES, **TESTS[test]}
        found = cr.hypotests.weights_test(
            sample.predictions, sample.labels, features=sample.features, rng=repetition, **settings
        )
    return f"{test}|{world}|{repetition}", found.pvalue, time.perf_counter() - began


def known_point(test: str, sample: WorldSample, repetition: int) -> tuple[float, float]:
    """Return the p-value and the seconds of a calibration test of the true point of the set."""
    statistic, n = KNOWN[test]
    began = time.perf_counter()
    point = cr.Point(sample.truth.in_set[:n])
    found = cr.calibration_test(
        point, sample.labels[:n], statistics=statistic, n_resamples=RESAMPLES, rng=repetition
    )
    return found.pvalue, time.perf_counter() - began


def jobs(given: argparse.Namespace, done: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield what is left to do, repetition by repetition, so that a stopped run has equal shares."""
    for repetition in range(given.first, given.first + given.repetitions):
        for name in given.round:
            for test, world in ROUNDS[name]:
                wanted = (not given.worlds or world in given.worlds) and (
                    not given.tests or test in given.tests
                )
                if wanted and f"{test}|{world}|{repetition}" not in done:
                    yield test, world, repetition


def simulate(given: argparse.Namespace, done: dict[str, Any]) -> None:
    """Run jobs on all cores until they are done or the time is up."""
    if "paper J25" in {test for name in given.round for test, _ in ROUNDS[name]}:
        import torch

        torch.set_num_threads(1)
    began = time.monotonic()
    left = jobs(given, done)
    with multiprocessing.Pool(given.processes) as pool:
        for key, pvalue, seconds in pool.imap_unordered(run, left):
            done[key] = [pvalue, seconds]
            if time.monotonic() - began > given.seconds:
                pool.terminate()
                break


def rates(done: dict[str, Any]) -> dict[tuple[str, str], np.ndarray]:
    """Return all p-values by test and world."""
    found: dict[tuple[str, str], list[float]] = {}
    for key, (pvalue, _) in done.items():
        test, world, _ = key.split("|")
        found.setdefault((test, world), []).append(pvalue)
    return {key: np.array(values) for key, values in found.items()}


def bounds(trials: int, level: float) -> tuple[float, float]:
    """Return the shares between which a binomial falls with 99.9 %."""
    import scipy.stats

    low, high = scipy.stats.binom.ppf([0.0005, 0.9995], trials, level)
    return low / trials, high / trials


def table(done: dict[str, Any], worlds: dict[str, World], say: Callable[[str], None] = print) -> None:
    """Print rejection rates of every test, with exact 95 % intervals at 5 %; '!' is outside 99.9 % bounds."""
    found = rates(done)
    say("| world | test | runs | 1 % | 5 % | 95 % interval | 10 % |\n|---|---|---|---|---|---|---|")
    for world in worlds:
        for test in (*TESTS, *KNOWN):
            values = found.get((test, world))
            if values is None:
                continue
            cells = []
            for level in LEVELS:
                share = float((values <= level + 1e-12).mean())
                low, high = bounds(values.size, level)
                outside = "!" if world not in ALTERNATIVES and not low <= share <= high else ""
                cells.append(f"{share:.3f}{outside}")
            interval = clopper_pearson(int((values <= 0.05 + 1e-12).sum()), values.size)
            shown = f"{interval[0]:.2f} to {interval[1]:.2f}"
            say(f"| {world} | {test} | {values.size} | {cells[0]} | {cells[1]} | {shown} | {cells[2]} |")
    say("")


def main() -> None:
    """Simulate, save, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--round", nargs="*", default=[], choices=list(ROUNDS))
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--processes", type=int)
    parser.add_argument("--worlds", nargs="*", choices=list(WORLDS), help="only these")
    parser.add_argument("--tests", nargs="*", choices=[*TESTS, *KNOWN], help="only these")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    done: dict[str, Any] = {}
    for path in [*given.table, *([given.out] if given.out and given.out.exists() else [])]:
        done |= json.loads(path.read_text())
    if given.round:
        simulate(given, done)
        if given.out:
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(done))
    for worlds in (NULLS, CONTROLS, ALTERNATIVES):
        table(done, worlds)


if __name__ == "__main__":
    main()
