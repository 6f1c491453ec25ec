"""How often do tests of a set reject where the truth is in the set at every instance, and where it is not?

Every world of `set_worlds.py` draws predictions, a truth and labels. In the first worlds the truth is in the
set at every row, and every rejection of "the set holds the truth" is an error. In the last ones it is outside
by a known share. Beside the tests stands an oracle: the witness that knows the truth.

    python studies/scripts/set_truths.py --runs 500 --processes 16 --out build/set-truths.json
    python studies/scripts/set_truths.py --runs 60 --learned-runs 60 --worlds cautious delta
    python studies/scripts/set_truths.py --runs 500 --processes 16 --out build/newest.json --worlds newest
    python studies/scripts/set_truths.py --table build/set-truths.json

Writes one row per world: shares of rejections at 1, 5 and 10 % of the witness, of its exact e-value, of
learned weights, and of both (p = max), with the seconds of a run and the seed. A witness of 400 rows takes
0.1 to 0.3 s, learned weights seconds; these only run with `--learned-runs`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
from set_worlds import NEWEST, Sample, everything

import credibly as cr
from credibly.hypotests.credal.experts import nearest_to
from credibly.hypotests.credal.witness import worst_tail

Array = np.ndarray
LEVELS = (0.01, 0.05, 0.10)
SEED = 21
LEARNED_RESAMPLES = 99


def labels_of(rng: np.random.Generator, truth: Array) -> Array:
    steps = truth.cumsum(axis=1)[:, :-1]
    return (rng.random((len(truth), 1)) >= steps).sum(axis=1)


def oracle(sample: Sample, labels: Array) -> float:
    """Return the p-value of the witness that knows the truth."""
    from scipy.special import ndtr

    truth = np.maximum(sample.truth, 1e-12)
    near = np.maximum(nearest_to(sample.predictions, truth), 1e-12)
    return float(ndtr(-worst_tail(sample.predictions, np.log(0.5 + 0.5 * truth / near), labels).score))


def run(job: tuple[str, int, bool, float]) -> tuple[str, dict[str, float]]:
    """Return the p-values of one data set, and the seconds; nothing when the time is over."""
    name, repetition, learned, stop = job
    if time.monotonic() > stop:  # of the machine, not of the process
        return name, {}
    world = everything()[name]
    rng = np.random.default_rng([SEED, repetition, *name.encode()])
    sample = world.draw(rng, world.n)
    labels = labels_of(rng, sample.truth) if sample.labels is None else sample.labels
    features = sample.features if sample.given == "features" else None
    began = time.process_time()
    found = cr.hypotests.witness_test(sample.predictions, labels, features=features, rng=repetition)
    row = {"witness": found.pvalue, "seconds": time.process_time() - began}
    row["exact"] = found.details.exact_pvalue
    row["oracle"] = oracle(sample, labels)
    if learned:
        began = time.process_time()
        weights = cr.hypotests.weights_test(
            sample.predictions, labels, features=features, n_resamples=LEARNED_RESAMPLES, rng=repetition
        )
        row |= {"learned": weights.pvalue, "learned seconds": time.process_time() - began}
        row["both"] = max(weights.pvalue, found.pvalue)
    return name, row


def summary(name: str, rows: list[dict[str, float]]) -> dict[str, Any]:
    """Return the row of one world."""
    world = everything()[name]
    shares: dict[str, Any] = {}
    for test in ("witness", "exact", "learned", "both", "oracle"):
        values = np.array([row[test] for row in rows if test in row])
        if values.size:
            counts = {f"{level:g}": int((values <= level).sum()) for level in LEVELS}
            shares[test] = {
                "runs": int(values.size),
                "rejections": counts,
                "shares": {level: count / values.size for level, count in counts.items()},
            }
    seconds = [row["seconds"] for row in rows]
    return {
        "world": name,
        "null": world.null,
        "n": world.n,
        "seed": SEED,
        "seconds": float(np.mean(seconds)),
        "tests": shares,
    }


def bound(level: float, runs: int) -> float:
    """Return the share of rejections that a valid test exceeds with probability at most 0.001."""
    from scipy.stats import binom

    return float(binom.ppf(0.999, runs, level) / runs)


def jobs(given: argparse.Namespace) -> Iterator[tuple[str, int, bool, float]]:
    groups = {"newest": NEWEST}  # a group, or the beginning of names
    asked = [name for one in given.worlds for name in groups.get(one, [one])]
    names = [name for name in everything() if not asked or any(name.startswith(one) for one in asked)]
    stop = time.monotonic() + given.seconds
    for repetition in range(given.first, given.first + given.runs):
        for name in names:
            yield name, repetition, repetition < given.first + given.learned_runs, stop


def merged(files: list[Path]) -> list[dict[str, Any]]:
    """Return the rows of several files, runs of the same world added up."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        for row in json.loads(file.read_text(encoding="utf-8")):
            own = found.setdefault(row["world"], row)
            for test, more in row["tests"].items() if own is not row else ():
                known = own["tests"].setdefault(
                    test, {"runs": 0, "rejections": dict.fromkeys(more["rejections"], 0)}
                )
                known["runs"] += more["runs"]
                for level in more["rejections"]:
                    known["rejections"][level] += more["rejections"][level]
                known["shares"] = {at: count / known["runs"] for at, count in known["rejections"].items()}
    return [found[name] for name in everything() if name in found]


def table(rows: list[dict[str, Any]]) -> None:
    """Print one line per world: shares at 1, 5 and 10 %, of power worlds at 5 %."""
    print(
        "| world | truth in set | witness 1, 5, 10 % | exact 5 % | learned 5 % | both 5 % | oracle 5 % | s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        tests = row["tests"]
        at_five = [
            f"{tests[test]['shares']['0.05']:.3f}" if test in tests else ""
            for test in ("exact", "learned", "both", "oracle")
        ]
        levels = ", ".join(f"{tests['witness']['shares'][f'{level:g}']:.3f}" for level in LEVELS)
        beyond = any(
            tests["witness"]["shares"][f"{level:g}"] > bound(level, tests["witness"]["runs"])
            for level in LEVELS
        )
        told = "yes" if row["null"] else "no"
        mark = " (above the 99.9 % bound)" if row["null"] and beyond else ""
        print(f"| {row['world']} | {told} | {levels}{mark} | {' | '.join(at_five)} | {row['seconds']:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="Data sets per world.")
    parser.add_argument(
        "--learned-runs", type=int, default=0, help="Of these, how many test learned weights."
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument(
        "--worlds", nargs="*", default=[], help="Beginnings of names, or newest; default: all."
    )
    parser.add_argument("--out", type=Path, default=Path("build/set-truths.json"))
    parser.add_argument("--first", type=int, default=0, help="Number of the first data set.")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Begin no data set after these.")
    parser.add_argument(
        "--table", nargs="+", type=Path, help="Print files, runs added up, instead of running."
    )
    given = parser.parse_args()
    if given.table:
        table(merged(given.table))
        return
    collected: dict[str, list[dict[str, float]]] = {}
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        for name, row in pool.imap_unordered(run, jobs(given), chunksize=1):
            if row:
                collected.setdefault(name, []).append(row)
    rows = [summary(name, collected[name]) for name in everything() if name in collected]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    table(rows)


if __name__ == "__main__":
    main()
