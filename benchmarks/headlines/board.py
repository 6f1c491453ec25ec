"""Run worlds with known faults and write docs/headlines.md: is the first sentence of a report true?

    python benchmarks/headlines/board.py --seeds 20 --calm 400 --jobs 16
    python benchmarks/headlines/board.py --part 0/2 --minutes 8 --state a.jsonl     # and 1/2 elsewhere
    python benchmarks/headlines/board.py --state a.jsonl --add b.jsonl              # both together

Results are added to the file of `--state` as they come: an interrupted run goes on where it ended, and
larger `--seeds` add to what is there. The page shows all results, of one state of the code. Ends with status
1 if a total misses what is wanted, and with status 3 where `--minutes` left tasks for a next call.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import functools
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import known
import later
import latest
import numpy as np
from scipy.special import stdtr
from scipy.stats import binom
from worlds import LEVELS, Draw, Truth, World

import credibly as cr
from credibly.diagnosis import Claim, Diagnosis
from credibly.predictions import as_point
from credibly.recalibrate.files import named_recalibration
from credibly.recalibrate.reals import centre_of

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools"))

import board_runs  # noqa: E402, the path comes first

WORLDS = [*known.WORLDS, *later.WORLDS, *latest.WORLDS]
CHUNK = 10  # data sets of one task
CODE = (*board_runs.LIBRARY, "benchmarks/headlines/[!b]*.py")
FRESH = 20_000
"""Rows on which gains are measured; a fifth of them for 50 classes and more."""
FOR_SIZES = 5
"""Times as many for the true sizes of classes, which must be known far better than from one data set."""
WANTED = {"right": 0.95, "direction": 0.97, "covered": 0.93, "gain": 0.9}
WANTED_EACH = 0.9
LEVEL, SURE = 0.05, 0.999
BEYOND_REPAIR = ("inverted", "no skill", "labels off by a row")


def run(world: World, seed: int) -> dict[str, Any]:
    """Diagnose one data set of a world and mark the answer."""
    drawn = world.make(np.random.default_rng([seed, world.n, sum(map(ord, world.name))]), world.n)
    began = time.process_time()
    found = cr.diagnose(drawn.rows(), groups=drawn.groups, rng=seed)
    cpu = time.process_time() - began
    right = 1.0 if found.fault in world.right else 0.5 if found.fault in world.half else 0.0
    row = {"fault": found.fault, "alarm": found.word == "conflict", "right": right, "cpu": cpu}
    if world.calibrated or world.right[0] in BEYOND_REPAIR:
        return row
    row["direction"] = right * _points(world, found)
    if found.fault not in ("none", *BEYOND_REPAIR):
        low, high = found.effect.interval
        size = true_size(_fresh(world, 1 if world.real else FOR_SIZES), found.effect.claim)
        row["covered"] = float(low - 1e-9 <= size <= high + 1e-9)
    gain = _gained(world, drawn, found)
    return row if np.isnan(gain) else row | {"gain": max(gain, -1.0)}


def _points(world: World, found: Diagnosis) -> bool:
    """Tell whether direction, class and group are right."""
    claim = found.effect.claim
    where = str(claim.label) if claim.group is None else claim.group[1]
    vague = claim.group is None and claim.label is None
    placed = world.where is None or where == world.where or (vague and not world.right[0].startswith("group"))
    return placed and world.direction in (None, found.direction)


@functools.lru_cache(maxsize=2)
def _fresh(world: World, times: int = 1) -> Draw:
    """Return rows that no diagnosis has seen."""
    few = world.make(np.random.default_rng(1), 60).predictions
    wide = not world.real and as_point(few)[0].n_classes >= 50
    return world.make(np.random.default_rng([987, world.n]), times * (FRESH // 5 if wide else FRESH))


def true_size(fresh: Draw, claim: Claim) -> float:
    """Return how large an effect is, from what is true of fresh rows."""
    keep = np.ones(len(fresh.predictions), dtype=bool)
    if claim.group is not None:
        assert fresh.groups is not None
        keep &= np.asarray(fresh.groups[claim.group[0]]).astype(str) == claim.group[1]
    if isinstance(fresh.truth, Truth):
        return _true_real_size(fresh, claim, keep)
    probs = np.asarray(as_point(fresh.predictions)[0].probs)
    column = probs.argmax(axis=1) if claim.label is None else np.full(len(probs), claim.label)
    rows = np.arange(len(probs))
    says, happens = probs[rows, column], fresh.truth[rows, column]
    if claim.between is not None:
        keep &= (says >= claim.between[0]) & (says <= claim.between[1])
    return float((says - happens)[keep].mean()) if keep.any() else float("nan")


def _true_real_size(fresh: Draw, claim: Claim, keep: Any) -> float:
    truth, stated = fresh.truth, fresh.predictions[np.flatnonzero(keep)]
    m, s = truth.centre[keep], truth.spread[keep]
    mu = np.asarray(centre_of(stated))
    y = m[:, None] + s[:, None] * truth.shape  # equally likely values of every row
    if claim.measure == "mean":
        return float((mu - y.mean(axis=1)).mean())
    if claim.measure in ("coverage", "tail", "skew", "quantile"):
        assert claim.level is not None
        labels = np.asarray(fresh.labels)[keep]
        if claim.measure == "quantile":
            return float((labels <= np.asarray(stated.quantile([claim.level]))[:, 0]).mean() - claim.level)
        low, high = (1.0 - claim.level) / 2.0, (1.0 + claim.level) / 2.0
        if isinstance(stated, cr.Samples) and claim.measure == "tail":
            return _missed_in_tails(stated, labels, low, high)
        if isinstance(stated, cr.Samples):
            return _missed_by_draws(stated, labels, low, high, claim.measure)
        ends = np.asarray(stated.quantile([low, high]))
        if claim.measure == "tail":  # beyond the levels of the shape
            return float(claim.level - ((labels >= ends[:, 0]) & (labels <= ends[:, 1])).mean())
        places = np.interp((ends - m[:, None]) / s[:, None], truth.shape, LEVELS, 0.0, 1.0)
        if claim.measure == "skew":
            return float((places[:, 0] - (1.0 - places[:, 1])).mean())
        return float(claim.level - (places[:, 1] - places[:, 0]).mean())
    sd = np.asarray(stated.quantile([0.75]) - stated.quantile([0.25]))[:, 0] / 1.349
    if claim.measure == "slope":
        weight = 1.0 / sd**2
        x = mu - np.average(mu, weights=weight)
        return 1.0 - float((weight * x * m).sum() / (weight * x * x).sum())
    log = np.log(sd) - np.log(sd).mean()
    return 1.0 - float((log * np.log(s)).sum() / (log * log).sum())


def _missed_by_draws(stated: Any, labels: Any, low: float, high: float, measure: str) -> float:
    """Return how much more of the places among all draws lie between two levels than of those of labels.

    For skewness, how much more places of labels lie below the levels than above.
    """
    drawn = np.asarray(stated.values)
    each = (np.arange(drawn.shape[1] + 1) + 0.5) / (drawn.shape[1] + 1)
    places = each[(drawn < labels[:, None]).sum(axis=1)]
    if measure == "skew":
        return float((places < low).mean() - (places > high).mean())
    return float(((each >= low) & (each <= high)).mean() - ((places >= low) & (places <= high)).mean())


def _missed_in_tails(stated: Any, labels: Any, low: float, high: float) -> float:
    """Return how many labels lie outside far levels of normal draws, of which a few show mean and spread."""
    drawn = np.asarray(stated.values)
    m = drawn.shape[1]
    z = (labels - drawn.mean(axis=1)) / (drawn.std(axis=1, ddof=1) * np.sqrt(1.0 + 1.0 / m))
    places = stdtr(m - 1, z)
    return float(high - low - ((places >= low) & (places <= high)).mean())


def _gained(world: World, drawn: Draw, found: Diagnosis) -> float:
    """Return what the repair gains on fresh rows, as a share of what the truth would gain."""
    if found.repair is None:
        return 0.0
    fresh, by = _fresh(world), found.repair.by
    given, asked = (
        (one.predictions if world.real else as_point(one.predictions)[0]) for one in (drawn, fresh)
    )
    groups = [{} if by is None else {"groups": np.asarray(one.groups[by])} for one in (drawn, fresh)]  # type: ignore[index]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = named_recalibration(found.repair.method)
        method.fit(given, drawn.labels, sample_weight=drawn.weights, **groups[0])
        after = method.apply(asked, **groups[1])
    if world.real:
        return _gained_pinball(fresh, asked, after)
    loss = [_log_loss(fresh.truth, np.asarray(one)) for one in (asked.probs, after.probs, fresh.truth)]
    return (loss[0] - loss[1]) / max(loss[0] - loss[2], 1e-9)


def _log_loss(truth: Any, probs: Any) -> float:
    held = probs[probs > 0]
    least = min(float(held.min()), 1e-6) / 2.0  # a stored 0 is half of the last decimal
    return -float((truth * np.log(np.maximum(probs, least))).sum(axis=1).mean())


def _gained_pinball(fresh: Draw, before: Any, after: Any) -> float:
    named = [one.levels for one in (after, before) if isinstance(one, cr.Quantiles)]
    levels = np.asarray(named[0]) if named else LEVELS
    truth, y = fresh.truth, np.asarray(fresh.labels)[:, None]
    shape = np.interp(levels, LEVELS, truth.shape)
    ideal = truth.centre[:, None] + truth.spread[:, None] * shape
    if truth.ideal is not None:
        ideal = truth.ideal.quantile(levels)

    def loss(values: Any) -> float:
        apart = y - np.asarray(values)
        return float(np.maximum(levels * apart, (levels - 1.0) * apart).mean())

    lost = loss(before.quantile(levels)), loss(after.quantile(levels)), loss(ideal)
    if lost[2] >= lost[0]:  # quantiles of few draws gain nothing by the right spread
        return float("nan")
    return (lost[0] - lost[1]) / max(lost[0] - lost[2], 1e-9)


# --------------------------------------------------------------------------------------------- the page


@dataclasses.dataclass(frozen=True)
class Line:
    """What the runs of a world show."""

    world: World
    runs: list[dict[str, Any]]

    def mean(self, key: str) -> float:
        """Return the mean of a figure over the runs that have it."""
        values = [row[key] for row in self.runs if key in row]
        if not values:
            return float("nan")
        return float(np.median(values) if key == "gain" else np.mean(values))

    @property
    def alarms(self) -> int:
        """Number of runs in conflict."""
        return sum(row["alarm"] for row in self.runs)

    @property
    def misses(self) -> list[str]:
        """Return the figures that are below what is wanted, or alarms beyond chance."""
        if self.world.impossible:
            return []
        if self.world.calibrated:
            return ["false alarms"] if too_many(self.alarms, len(self.runs)) else []
        wanted = {"right": WANTED_EACH, "direction": WANTED_EACH, "gain": WANTED["gain"]}
        missed = [key for key, least in wanted.items() if self.mean(key) < least - 1e-9]
        covered = [row["covered"] for row in self.runs if "covered" in row]
        if binom.cdf(sum(covered), len(covered), WANTED["covered"]) < LEVEL:  # some intervals miss by chance
            missed.append("covered")
        return missed


def too_many(alarms: int, runs: int) -> bool:
    """Tell whether 5 % of false alarms, or fewer, would give as many with a probability below 0.0005."""
    return bool(binom.sf(alarms - 1, runs, LEVEL) < (1.0 - SURE) / 2.0)


def read(asked: argparse.Namespace, code: str) -> dict[str, dict[int, dict[str, Any]]]:
    """Return what was run before, by world and seed."""
    found: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for row in board_runs.results(asked, code):
        found[row["world"]][row["seed"]] = row
    return found


def totals(lines: Sequence[Line]) -> dict[str, float]:
    """Return the means over worlds that are not impossible."""
    counted = [line for line in lines if not line.world.impossible]
    faulty = [line for line in counted if not line.world.calibrated]
    found = {key: float(np.nanmean([line.mean(key) for line in faulty])) for key in WANTED} if faulty else {}
    calm = [line for line in counted if line.world.calibrated]
    runs = sum(len(line.runs) for line in calm)
    return found | ({"alarms": sum(line.alarms for line in calm) / runs} if runs else {})


PARTS: dict[str, Callable[[World], bool]] = {
    "classes": lambda world: not world.real and not world.fresh,
    "classes, worlds drawn after the method was settled": lambda world: not world.real and world.fresh,
    "real values": lambda world: world.real and not world.fresh,
    "real values, worlds drawn after the method was settled": lambda world: world.real and world.fresh,
}

INTRODUCTION = """# Is the headline true?

This page shows how often the first sentence of a report is right, on models with a known fault. Written by
`make headlines`, from one state of the code.

- **Right**: share of data sets whose fault is named; a part of a double fault counts half.
- **Direction**: the fault is right, and so are its direction, class and group.
- **Size covered**: the interval of the effect holds its true size.
- **Gain**: what the advised repair gains on fresh rows, as a share of what the true probabilities gain
  (log loss; pinball loss for real values); the median over data sets.
- **False alarms**: share of calibrated data sets in conflict; the level of the test is 5 %.

A figure below what is wanted is **bold**; for the intervals of a single world, if chance does not explain
it (5 %). Every world should reach {each} for the fault, and false alarms should stay within the 99.9 %
bounds of 5 %. Every world is a line of [headlines.csv](headlines.csv), with what was named how often.
"""


def page(lines: Sequence[Line]) -> str:
    """Return the page in Markdown."""
    text = [INTRODUCTION.format(each=WANTED_EACH)]
    text += [
        "| | worlds | right | direction | size covered | gain | false alarms |",
        "|---|---|---|---|---|---|---|",
    ]
    text.append(f"| wanted | | {' | '.join(f'{one:.2f}' for one in WANTED.values())} | 0.05 |")
    for title, belongs in PARTS.items():
        part = [line for line in lines if belongs(line.world)]
        if part:
            found = totals(part)
            figures = [
                _figure(found.get(key, float("nan")), found.get(key, 1.0) < least)
                for key, least in WANTED.items()
            ]
            alarms = _figure(found.get("alarms", float("nan")), False, 3)
            text.append(f"| {title} | {len(part)} | {' | '.join(figures)} | {alarms} |")
    missing = [line for line in lines if line.misses]
    if missing:
        text += ["", "## Worlds with a figure below what is wanted", ""]
        text.append("| world | n | runs | right | direction | size covered | gain | false alarms | named |")
        text.append("|---|---|---|---|---|---|---|---|---|")
        text += [f"| {' | '.join(map(str, _cells(line)))} |" for line in missing]
    impossible = [line.world for line in lines if line.world.impossible]
    if impossible:
        text += ["", "## Worlds that no method can meet", ""]
        text += [f"- {world.name} (n = {world.n}): {world.impossible}." for world in impossible]
    return "\n".join(text) + "\n"


def _figure(value: float, low: bool, digits: int = 2) -> str:
    if np.isnan(value):
        return ""
    return f"**{value:.{digits}f}**" if low else f"{value:.{digits}f}"


def _named(line: Line) -> str:
    counts = Counter(row["fault"] for row in line.runs)
    return ", ".join(f"{name} {number}" for name, number in counts.most_common(3))


def _cells(line: Line) -> list[Any]:
    """Return a row of the page: figures that are missed are bold."""
    figures = [_figure(line.mean(key), key in line.misses) for key in WANTED]
    alarms = _figure(line.alarms / len(line.runs), bool(line.misses), 3) if line.world.calibrated else ""
    return [line.world.name, line.world.n, len(line.runs), *figures, alarms, _named(line)]


def table(lines: Sequence[Line]) -> Iterator[list[Any]]:
    """Yield the rows of the file with all worlds."""
    yield ["part", "world", "n", "runs", *WANTED, "false_alarms", "cpu_seconds", "named", "impossible"]
    for title, belongs in PARTS.items():
        for line in lines:
            if belongs(line.world):
                name, n, runs, *figures, alarms, named = _cells(line)
                plain = [str(cell).strip("*") for cell in (*figures, alarms)]
                yield [title, name, n, runs, *plain, f"{line.mean('cpu'):.2f}", named, line.world.impossible]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--seeds", type=int, default=20, help="data sets per world")
    parser.add_argument("--calm", type=int, default=None, help="data sets per calibrated world")
    board_runs.add_arguments(parser, "headlines.jsonl", "headlines.md")
    return parser.parse_args()


def run_seeds(name: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Run some data sets of a world."""
    world = next(world for world in WORLDS if world.name == name)
    return [{"world": name, "seed": seed, **run(world, seed)} for seed in seeds]


def main() -> int:
    """Run what is missing, write the page."""
    asked = arguments()
    code = board_runs.digest(CODE)
    known, tasks = read(asked, code), []
    for world in [world for world in WORLDS if asked.only in world.name]:
        number = asked.calm if world.calibrated and asked.calm is not None else asked.seeds
        tasks += [(world.name, range(first, min(first + CHUNK, number))) for first in range(0, number, CHUNK)]
    missing = [
        (name, [seed for seed in seeds if seed not in known[name]])
        for name, seeds in board_runs.part_of(tasks, asked.part)
    ]
    left = board_runs.run_tasks(run_seeds, [task for task in missing if task[1]], asked, code)
    known = read(asked, code)
    lines = [Line(world, list(known[world.name].values())) for world in WORLDS if known[world.name]]
    Path(asked.out).write_text(page(lines))
    with Path(asked.out).with_suffix(".csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table(lines))
    for line in lines:
        if line.misses:
            print(f"{line.world.name}: {', '.join(line.misses)}")
    if left:
        print(f"{left} tasks are left: run the same command again.")
        return 3
    wanting = [key for key, value in totals(lines).items() if value < WANTED.get(key, 0.0)]
    return 1 if wanting else 0


if __name__ == "__main__":
    sys.exit(main())
