"""How often do tests of a set reject where the truth is in the set at every instance, and where it is not?

Every world draws predictions, a truth and labels. In the first worlds the truth is in the set at every row:
by rules that depend on the set (its most cautious member, its boldest, the one with most of a class), by
gates, at its boundary, or inside. Every rejection of "the set holds the truth" is an error there. In the last
ones it is outside by a known share. Beside the tests stands an oracle: the witness that knows the truth.

    python studies/scripts/set_truths.py --runs 500 --processes 16 --out build/set-truths.json
    python studies/scripts/set_truths.py --runs 60 --learned-runs 60 --worlds cautious delta
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np

import credibly as cr
from credibly.hypotests.credal.witness import nearest_to, worst_tail

Array = np.ndarray
LEVELS = (0.01, 0.05, 0.10)
SEED = 21
LEARNED_RESAMPLES = 99


class Sample(NamedTuple):
    """Predictions, the truth at every row, features, and whether the witness is given these."""

    predictions: Any
    truth: Array
    features: Array | None
    given: str = "predictions"


class World(NamedTuple):
    """A name, whether the truth is in the set at every row, the number of rows, and what draws a sample."""

    null: bool
    n: int
    draw: Callable[[np.random.Generator, int], Sample]


def softmax(z: Array) -> Array:
    raised = np.exp(z - z.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def entropy(p: Array) -> Array:
    return -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)


def chosen(members: Array, index: Array) -> Array:
    return members[np.arange(len(members)), index]


def mixed(weights: Array, members: Array) -> Array:
    return np.einsum("nm,nmk->nk", weights, members)


def drawn_members(
    rng: np.random.Generator,
    n: int,
    k: int,
    m: int,
    *,
    spread: float = 0.6,
    own: bool = False,
    sharpness: float = 1.0,
) -> tuple[Array, Array]:
    """Return features (n, 2) and members (n, m, k): logits around a centre that depends on the features.

    `own`: every member has a temperature and a bias of its own.
    """
    x = rng.normal(size=(n, 2))
    centre = x @ rng.normal(size=(2, k)) + 0.6 * rng.normal(size=(n, k))
    logits = centre[:, None, :] + spread * rng.normal(size=(n, m, k))
    if own:
        logits = logits * np.exp(0.4 * rng.normal(size=(m, 1))) + 0.5 * rng.normal(size=(m, k))
    return x, softmax(sharpness * logits)


def boundary(members: Array, goal: Array) -> Array:
    return np.asarray(cr.credal_boundary(cr.Ensemble(members, member_axis=1), goal))


Rule = Callable[[np.random.Generator, Array, Array], Array]
RULES: dict[str, Rule] = {
    "cautious": lambda r, x, e: chosen(e, entropy(e).argmax(axis=1)),
    "bold": lambda r, x, e: chosen(e, entropy(e).argmin(axis=1)),
    "direction": lambda r, x, e: chosen(e, e[:, :, 0].argmax(axis=1)),
    "inside": lambda r, x, e: e.mean(axis=1),
    "rough weights": lambda r, x, e: mixed(r.dirichlet(np.full(e.shape[1], 0.3), size=len(e)), e),
    "hard gates": lambda r, x, e: chosen(e, ((x[:, 0] > 0) + 2 * (x[:, 1] > 0)) % e.shape[1]),
    "soft gates": lambda r, x, e: mixed(softmax(2 * x @ r.normal(size=(2, e.shape[1]))), e),
    "constant": lambda r, x, e: mixed(np.tile(r.dirichlet(np.ones(e.shape[1])), (len(e), 1)), e),
    "one member": lambda r, x, e: e[:, 0],
    "ray": lambda r, x, e: boundary(e, np.zeros(len(e), dtype=int)),
    "ray to the top class": lambda r, x, e: boundary(e, e.mean(axis=1).argmax(axis=1)),
}


def hull(rule: str, k: int, m: int, n: int, given: str = "predictions", **how: Any) -> World:
    """Return a world of hulls whose truth follows a rule."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m, **how)
        return Sample(cr.Ensemble(members, member_axis=1), RULES[rule](rng, x, members), x, given)

    return World(True, n, draw)


def example_two(epsilon: float, n: int, given: str) -> World:
    """J25, Appendix B, example 2: constant members of opposite opinion, one of them right at each x."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x = rng.integers(0, 2, size=n)
        members = np.array([[epsilon, 1 - epsilon], [1 - epsilon, epsilon]])
        sets = cr.Ensemble(np.broadcast_to(members, (n, 2, 2)).copy(), member_axis=1)
        return Sample(sets, members[x], 2.0 * x[:, None] - 1.0, given)

    return World(True, n, draw)


def coarse(k: int, m: int, n: int, given: str) -> World:
    """A calibrated model that ignores a feature: its mean is the mean truth given the predictions."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        _, members = drawn_members(rng, n, k, m, spread=0.3)
        sign = rng.choice([-1.0, 1.0], size=n)
        mean = members.mean(axis=1)
        step = 0.6 * np.minimum(mean[:, 0], mean[:, 1])
        truth = mean.copy()
        truth[:, 0] += sign * step
        truth[:, 1] -= sign * step
        return Sample(cr.Ensemble(members, member_axis=1), truth, sign[:, None], given)

    return World(given == "predictions", n, draw)


def as_intervals(members: Array) -> cr.Intervals:
    return cr.Intervals(members.min(axis=1), members.max(axis=1))


def as_belief(members: Array) -> cr.Belief:
    """Masses on single classes, on pairs of neighbours and on everything that lie around the members."""
    k = members.shape[2]
    low = members.min(axis=1)
    rest = 1.0 - low.sum(axis=1, keepdims=True)
    pairs = [{j, (j + 1) % k} for j in range(k)] if k > 2 else []
    shares = np.full((1, len(pairs) + 1), 1.0 / (len(pairs) + 1))
    return cr.Belief(np.hstack([low, rest * shares]), [*({j} for j in range(k)), *pairs, set(range(k))], k)


def other_sets(make: Callable[[Array], Any], where: str, k: int, n: int) -> World:
    """Intervals or beliefs; the truth is at a corner, at the least certain point, or at the mean."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, 4)
        sets = make(members)
        if where == "direction":
            goal = np.tile(np.eye(k)[0], (n, 1))
        elif where == "random corner":
            goal = rng.normal(size=(n, k))
        elif where == "bold corner":
            goal = np.asarray(sets.mean().probs)
        elif where == "cautious":
            return Sample(sets, nearest_to(sets, np.full((n, k), 1.0 / k)), x)
        else:
            return Sample(sets, np.asarray(sets.mean().probs), x)
        return Sample(sets, cr.credal_support(sets, goal, return_maximiser=True)[1], x)

    return World(True, n, draw)


def moved(delta: float, k: int, m: int, n: int, make: Callable[[Array], Any] | None = None) -> World:
    """The truth beyond the boundary of the set, a share `delta` of the way to class 0."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m)
        sets = cr.Ensemble(members, member_axis=1) if make is None else make(members)
        edge = np.asarray(cr.credal_boundary(sets, np.zeros(n, dtype=int)))
        return Sample(sets, (1 - delta) * edge + delta * np.eye(k)[0], x)

    return World(False, n, draw)


def overconfident(power: float, k: int, m: int, n: int) -> World:
    """The truth is the mean of the members with its logits times `power`, below 1: all are too sure."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        x, members = drawn_members(rng, n, k, m)
        return Sample(cr.Ensemble(members, member_axis=1), softmax(power * np.log(members.mean(axis=1))), x)

    return World(False, n, draw)


SHAPES = ((2, 2), (3, 5), (2, 10), (5, 10), (10, 5), (3, 50))  # classes, members

WORLDS: dict[str, World] = {
    **{f"cautious, k={k}, m={m}": hull("cautious", k, m, 400) for k, m in SHAPES},
    **{f"bold, k={k}, m={m}": hull("bold", k, m, 400) for k, m in SHAPES[1:4]},
    **{f"direction, k={k}, m={m}": hull("direction", k, m, 400) for k, m in SHAPES[:5]},
    **{f"{rule}, n=150": hull(rule, 3, 5, 150) for rule in ("cautious", "bold", "direction", "one member")},
    **{f"{rule}, n=2000": hull(rule, 3, 5, 2000) for rule in ("cautious", "direction")},
    "direction, k=10, m=50, n=2000": hull("direction", 10, 50, 2000),
    **{f"{rule}, k=3, m=5": hull(rule, 3, 5, 400) for rule in ("ray", "ray to the top class", "inside")},
    **{
        f"{rule}, own temperature and bias": hull(rule, 3, 5, 400, own=True)
        for rule in ("cautious", "hard gates", "soft gates", "constant", "one member", "rough weights")
    },
    "hard gates, with features": hull("hard gates", 3, 5, 400, given="features", own=True),
    "nearly equal members, direction": hull("direction", 3, 5, 400, spread=0.02),
    "nearly equal members, k=10, n=150": hull("direction", 10, 5, 150, spread=0.02),
    "a single member, k=5": hull("one member", 5, 1, 400),
    **{f"App. B 2, eps={e:g}": example_two(e, 400, "predictions") for e in (0.0, 0.05)},
    **{f"App. B 2, eps={e:g}, features": example_two(e, 400, "features") for e in (0.0, 0.01, 0.05, 0.1)},
    "calibrated but coarse": coarse(3, 5, 400, "predictions"),
    **{
        f"intervals, {where}, k={k}": other_sets(as_intervals, where, k, 400)
        for where, k in (("direction", 3), ("cautious", 5), ("random corner", 3), ("bold corner", 2))
    },
    **{
        f"beliefs, {where}, k={k}": other_sets(as_belief, where, k, 400)
        for where, k in (("direction", 3), ("cautious", 3), ("random corner", 5), ("mean", 4))
    },
}

ALTERNATIVES: dict[str, World] = {
    **{
        f"delta={d:g}, k={k}, m={m}": moved(d, k, m, 400)
        for d in (0.05, 0.1, 0.2)
        for k, m in ((3, 5), (2, 10), (5, 10))
    },
    **{
        f"delta=0.1, {name}": moved(0.1, 3, 4, 400, make)
        for name, make in (("intervals", as_intervals), ("beliefs", as_belief))
    },
    **{f"overconfident, k={k}, m={m}": overconfident(0.6, k, m, 400) for k, m in ((3, 5), (2, 10), (5, 10))},
    "overconfident, n=2000": overconfident(0.6, 3, 5, 2000),
    "coarse, given its feature": coarse(3, 5, 400, "features"),
}


def labels_of(rng: np.random.Generator, truth: Array) -> Array:
    steps = truth.cumsum(axis=1)[:, :-1]
    return (rng.random((len(truth), 1)) >= steps).sum(axis=1)


def oracle(sample: Sample, labels: Array) -> float:
    """Return the p-value of the witness that knows the truth."""
    from scipy.special import ndtr

    truth = np.maximum(sample.truth, 1e-12)
    near = np.maximum(nearest_to(sample.predictions, truth), 1e-12)
    return float(ndtr(-worst_tail(sample.predictions, np.log(0.5 + 0.5 * truth / near), labels).score))


def run(job: tuple[str, int, bool]) -> tuple[str, dict[str, float]]:
    """Return the p-values of one data set, and the seconds."""
    name, repetition, learned = job
    world = everything()[name]
    rng = np.random.default_rng([SEED, repetition, *name.encode()])
    sample = world.draw(rng, world.n)
    labels = labels_of(rng, sample.truth)
    features = sample.features if sample.given == "features" else None
    began = time.process_time()
    found = cr.credal_test(
        sample.predictions, labels, features, method="witness", given=sample.given, rng=repetition
    )
    row = {"witness": found.pvalue, "seconds": time.process_time() - began}
    row["exact"] = found.validity.exact_pvalue
    row["oracle"] = oracle(sample, labels)
    if learned:
        began = time.process_time()
        weights = cr.credal_test(
            sample.predictions,
            labels,
            features,
            method="weights",
            n_resamples=LEARNED_RESAMPLES,
            rng=repetition,
        )
        row |= {"learned": weights.pvalue, "learned seconds": time.process_time() - began}
        row["both"] = max(weights.pvalue, found.pvalue)
    return name, row


def everything() -> dict[str, World]:
    return WORLDS | ALTERNATIVES


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
                "largest null share, 99.9 %": {f"{level:g}": bound(level, values.size) for level in LEVELS},
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


def jobs(given: argparse.Namespace) -> Iterator[tuple[str, int, bool]]:
    names = [
        name for name in everything() if not given.worlds or any(name.startswith(one) for one in given.worlds)
    ]
    for repetition in range(max(given.runs, given.learned_runs)):
        for name in names:
            yield name, repetition, repetition < given.learned_runs


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
    parser.add_argument("--worlds", nargs="*", default=[], help="Beginnings of names; all where not given.")
    parser.add_argument("--out", type=Path, default=Path("build/set-truths.json"))
    parser.add_argument("--table", type=Path, help="Print a file instead of running.")
    given = parser.parse_args()
    if given.table:
        table(json.loads(given.table.read_text(encoding="utf-8")))
        return
    collected: dict[str, list[dict[str, float]]] = {}
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        for name, row in pool.imap_unordered(run, jobs(given), chunksize=8):
            collected.setdefault(name, []).append(row)
    rows = [summary(name, collected[name]) for name in everything() if name in collected]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    table(rows)


if __name__ == "__main__":
    main()
