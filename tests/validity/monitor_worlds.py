"""Streams for the monitor: how often right predictions ever raise an alarm, and how late faults are found.

    python tests/validity/monitor_worlds.py --streams 500 --rows 100000 --processes 16

Prints one row per world: the share of streams with an alarm at any time, and the median delay of alarms after
0, 20 000 and 100 000 good rows.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

import credibly as cr

Array = np.ndarray[Any, Any]
FAULTS = (0.8, 1.25)
"""Overconfident and underconfident: the labels have the stated probabilities to this power; real values have
standard deviations divided by it."""


class World(NamedTuple):
    """How a batch is made of (generator, rows, power of the truth), how a monitor is made, and its delays."""

    batch: Callable[[np.random.Generator, int, float], dict[str, Any]]
    settings: tuple[tuple[str, Any], ...] = ()
    rows: int = 1000
    step: int = 32
    lag: int = 0


def probabilities(rng: np.random.Generator, n: int, k: int, spread: float = 1.5) -> Array:
    scores = np.exp(spread * rng.normal(size=(n, k)))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def powered(probs: Array, power: float) -> Array:
    if power == 1.0:
        return probs
    raised = probs**power
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def drawn(rng: np.random.Generator, probs: Array, uniform: Array | None = None) -> Array:
    place = rng.random((len(probs), 1)) if uniform is None else uniform
    return np.minimum((probs.cumsum(axis=1) < place).sum(axis=1), probs.shape[1] - 1)


def classes(k: int) -> Callable[..., dict[str, Any]]:
    def batch(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
        probs = probabilities(rng, n, k)
        return {"predictions": cr.Point(probs), "labels": drawn(rng, powered(probs, power))}

    return batch


def counts(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Seven raters of a row agree more than independent ones: each row has a truth of its own."""
    probs = probabilities(rng, n, 4, 1.0)
    truth = rng.standard_gamma(2.0 * powered(probs, power) + 1e-9) + 1e-12
    truth /= truth.sum(axis=1, keepdims=True)
    return {"predictions": cr.Point(probs), "labels": cr.LabelCounts(rng.multinomial(7, truth))}


def members(rng: np.random.Generator, n: int, k: int = 4, m: int = 5) -> Array:
    scores = np.exp(rng.normal(size=(n, 1, k)) + 0.7 * rng.normal(size=(n, m, k)))
    return np.asarray(scores / scores.sum(axis=2, keepdims=True))


def average(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    probs = members(rng, n)
    return {"predictions": cr.Ensemble(probs), "labels": drawn(rng, powered(probs.mean(axis=1), power))}


def one_member(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Member 3 draws all labels; its probabilities differ from those of the others by more than chance."""
    probs = members(rng, n)
    return {"predictions": cr.Ensemble(probs), "labels": drawn(rng, powered(probs[:, 2], power))}


def cautious(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """The member that is least sure of its answer is right; with a fault all are too sure, or too unsure."""
    probs = members(rng, n)
    order = probs.max(axis=2).argsort(axis=1)
    truth = probs[np.arange(n), order[:, -1 if power > 1 else 0]]
    return {"predictions": cr.Ensemble(probs), "labels": drawn(rng, powered(truth, power**4))}


def intervals(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """The truth fills class 0 as far as the bounds allow, then class 1, and so on."""
    probs = members(rng, n)
    sets = cr.Ensemble(probs).to_intervals()
    lower, upper = sets.lower, sets.upper
    left, truth = 1.0 - lower.sum(axis=1), lower.copy()
    for column in range(truth.shape[1]):
        taken = np.minimum(left, upper[:, column] - lower[:, column])
        truth[:, column] += taken
        left -= taken
    return {"predictions": sets, "labels": drawn(rng, powered(truth, power**7 if power < 1 else power**3))}


def beliefs(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Every mass goes to the first class of its set."""
    focal = [{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}]
    masses = rng.dirichlet([2.0, 2.0, 2.0, 1.0, 1.0, 0.5], size=n)
    truth = np.stack([masses[:, [0, 3, 5]].sum(axis=1), masses[:, [1, 4]].sum(axis=1), masses[:, 2]], axis=1)
    if power != 1:  # some mass goes where no set allows it
        truth = 0.7 * truth + 0.3 * np.eye(3)[2 if power < 1 else 0]
    return {"predictions": cr.Belief(masses, focal), "labels": drawn(rng, truth)}


def gaussian(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    mean, std = rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    return {"predictions": cr.Gaussian(mean, std), "labels": mean + std / power * rng.normal(size=n)}


def draws(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    mean = rng.normal(size=n)
    values = mean[:, None] + rng.standard_t(4, size=(n, 15))
    return {
        "predictions": cr.Samples(values, member_axis=1),
        "labels": mean + rng.standard_t(4, size=n) / power,
    }


def ties(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Draws of counts: labels often equal draws."""
    rate = np.exp(rng.normal(size=n))
    values = rng.poisson(rate[:, None], size=(n, 15)).astype(float)
    labels = rng.poisson(rate / power**2).astype(float)
    return {"predictions": cr.Samples(values, member_axis=1), "labels": labels}


def mixture(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Draws of three members; a member is drawn for every label."""
    centre = rng.normal(size=(n, 3, 1))
    own = centre[np.arange(n), rng.integers(0, 3, n), 0]
    values = centre + rng.normal(size=(n, 3, 8))
    return {"predictions": cr.Samples(values, member_axis=1), "labels": own + rng.normal(size=n) / power**2}


def quantiles(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    mean, std = rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    table = mean[:, None] - std[:, None] * np.log(1.0 / levels - 1.0)
    labels = mean + std / power * rng.logistic(size=n)
    return {"predictions": cr.Quantiles(table, levels), "labels": labels}


def sales(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Quantiles of counts of which 30 % are 0 for another reason: several quantiles often equal the label."""
    levels, counts, rates = np.array([0.05, 0.25, 0.5, 0.75, 0.95]), np.arange(40), np.array([0.5, 2.0, 6.0])
    chances = 0.7 * np.exp(counts * np.log(rates[:, None]) - rates[:, None] - gammaln(counts + 1.0))
    chances[:, 0] += 0.3
    table = np.array([np.searchsorted(row.cumsum(), levels) for row in chances], dtype=float)
    kind = rng.integers(0, 3, n)
    sold = rng.poisson(rates[kind] / power**2) * (rng.random(n) < 0.7)
    return {"predictions": cr.Quantiles(table[kind], levels), "labels": sold.astype(float)}


def coverage(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Sets of 5 classes that hold their label with a chance of 0.9, whatever their size."""
    sets = rng.random((n, 5)) < 0.5
    sets[:, 0], sets[:, 4] = True, False
    inside = rng.random(n) < 0.9 ** (1.0 / power**2 if power > 1 else 1.0 / power**3)
    scores = rng.random((n, 5)) + 10.0 * (sets == inside[:, None])
    return {"predictions": cr.PredictionSets(sets, 0.9), "labels": scores.argmax(axis=1)}


def shared(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Twenty rows share one uniform number, from which each makes its label."""
    probs = probabilities(rng, n, 5)
    clusters = np.arange(n) // 20
    uniform = rng.random(clusters[-1] + 1)[clusters][:, None]
    labels = drawn(rng, powered(probs, power**2), uniform)
    return {"predictions": cr.Point(probs), "labels": labels, "clusters": clusters}


def grouped(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """The fault is in one of six groups."""
    probs, groups = probabilities(rng, n, 5), rng.integers(0, 6, n)
    truth = np.where((groups == 0)[:, None], powered(probs, power**3), probs)
    return {"predictions": cr.Point(probs), "labels": drawn(rng, truth), "groups": groups}


def late(rng: np.random.Generator, n: int, power: float) -> dict[str, Any]:
    """Four batches that wait together share their uniform numbers, row by row (see `run`)."""
    probs = probabilities(rng, n, 5)
    return {"predictions": cr.Point(probs), "labels": powered(probs, power)}


WORLDS: dict[str, World] = {
    "ten classes": World(classes(10)),
    "two classes": World(classes(2)),
    "label counts": World(counts),
    "ensemble, independent": World(average),
    "ensemble, bayesian": World(one_member, (("hypothesis", "bayesian"),)),
    "ensemble, set": World(cautious, (("hypothesis", "set"),)),
    "intervals, set": World(intervals),
    "beliefs, set": World(beliefs),
    "gaussian": World(gaussian),
    "draws": World(draws),
    "draws with ties": World(ties),
    "draws of members": World(mixture),
    "quantiles": World(quantiles),
    "prediction sets": World(coverage),
    "clusters of 20": World(shared, step=160),
    "six groups": World(grouped),
    "late, dependent": World(late, (("processes", 4),), 250, 64, 4),
    "quantiles of counts": World(sales),
}


class Feed:
    """Feeds batches of a world to a monitor: at once, or late, when `lag` more have been predicted."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.rng, self.number = world, np.random.default_rng(seed), 0
        self.uniform: Array = np.empty(0)
        self.held: list[tuple[list[int], Array]] = []

    def send(self, monitor: cr.Monitor, n: int, power: float) -> None:
        batch = self.world.batch(self.rng, n, power)
        if not self.world.lag:
            monitor.update(**batch)
            return
        if self.number % self.world.lag == 0 or len(self.uniform) != n:
            self.uniform = self.rng.random((n, 1))
        if len(self.held) == self.world.lag:
            monitor.observe(*self.held.pop(0))
        ids = list(range(self.number * 10_000, self.number * 10_000 + n))
        monitor.expect(batch["predictions"], ids=ids)
        self.held.append((ids, drawn(self.rng, batch["labels"], self.uniform)))
        self.number += 1

    def flush(self, monitor: cr.Monitor) -> None:
        while self.held:
            monitor.observe(*self.held.pop(0))


def run(name: str, seed: int, rows: int, marks: tuple[int, ...], most: int) -> dict[str, Any]:
    """Return whether one stream of right rows ever alarms, and the delays after some of these rows."""
    world = WORLDS[name]
    began = time.process_time()
    feed = Feed(world, seed)
    monitor = cr.Monitor(**dict(world.settings))
    delays: dict[tuple[int, float], float] = {}
    seen = 0
    while True:
        if seen in marks and not monitor.alarm:
            for power in FAULTS:
                delays[seen, power] = delay(world, monitor, seed + 1, power, most)
        if seen >= rows:
            break
        feed.send(monitor, world.rows, 1.0)
        seen += world.rows
        if seen in marks or seen >= rows:
            feed.flush(monitor)
    ever = monitor.alarm
    return {"ever": ever, "delays": delays, "seconds": time.process_time() - began, "n": monitor.n}


def delay(world: World, monitor: cr.Monitor, seed: int, power: float, most: int) -> float:
    """Return the rows with a fault until the alarm; infinity without one."""
    other = cr.Monitor.from_state(copy.deepcopy(monitor.state()))
    start, feed = other.n, Feed(world, seed)
    while not other.alarm and other.n - start < most:
        feed.send(other, world.step, power)
    row = other.result().alarm_row
    return float("inf") if row is None else row - start


def task(arguments: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    return arguments[0], run(*arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--faulty", type=int, default=100, help="streams whose delays are measured")
    parser.add_argument("--marks", default="0,20000,100000", help="good rows before the fault")
    parser.add_argument("--most", type=int, default=10_000, help="rows with a fault at most")
    parser.add_argument("--only", default="", help="worlds, separated by ;")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    typed = parser.parse_args()
    marks = tuple(int(one) for one in typed.marks.split(","))
    names = [text.strip() for text in typed.only.split(";") if text.strip()] or list(WORLDS)
    tasks = [
        (name, 1000 * typed.seed + 2 * stream + 10**7 * list(WORLDS).index(name), typed.rows,
         marks if stream < typed.faulty else (), typed.most)
        for name in names for stream in range(typed.streams)
    ]  # fmt: skip
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    columns = " | ".join(f"after {mark}, power {power}" for power in FAULTS for mark in marks)
    print(f"| world | streams | ever alarm | {columns} | largest ratio | missed | CPU s |", flush=True)
    with ProcessPoolExecutor(typed.processes) as pool:
        results = pool.map(task, tasks, chunksize=4) if typed.processes > 1 else map(task, tasks)
        for name, result in results:
            found[name].append(result)
            if len(found[name]) == typed.streams:
                print(row(name, found[name], marks), flush=True)


def row(name: str, results: list[dict[str, Any]], marks: tuple[int, ...]) -> str:
    ever = sum(result["ever"] for result in results)
    cells, ratios, missed, tried = [], [], 0, 0
    for power in FAULTS:
        medians = []
        for mark in marks:
            values = [
                result["delays"][mark, power] for result in results if (mark, power) in result["delays"]
            ]
            missed += sum(np.isinf(values))
            tried += len(values)
            medians.append(float(np.median(values)) if values else np.nan)
        cells += [f"{median:.0f}" for median in medians]
        ratios += [one / medians[0] for one in medians[1:]]
    seconds = sum(result["seconds"] for result in results)
    share = f"{ever} ({100 * ever / len(results):.1f} %)"
    parts = (name, len(results), share, *cells, f"{max(ratios, default=1.0):.2f}", f"{missed} of {tried}")
    return f"| {' | '.join(map(str, parts))} | {seconds:.0f} |"


if __name__ == "__main__":
    sys.exit(main())
