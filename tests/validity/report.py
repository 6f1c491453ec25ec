"""A row of the validity board, and the way from its runs to verdicts and to the page that shows them.

A row is a public name, a world, and what happens there: from a seed to numbers by setting. Where the
hypothesis is true, or false, the numbers are p-values; of intervals they are 1 where the interval holds the
truth, 0 where it misses, and NaN where it is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from validity import worlds

Numbers = Mapping[str, float]
Truth = Literal["null", "alternative", "interval"]

REPLICATES = 199
"""1, 5 and 10 % are possible p-values of one- and two-sided tests."""

LEVELS = (0.01, 0.05, 0.1)
COVERAGE = 0.95

INTRODUCTION = """# Error rates, measured

Every public test and every interval, in worlds whose truth is known. Where the hypothesis is true, a test
at level 5 % may reject in 5 % of all data sets: *size* is how often it did. Where the hypothesis is false,
*power* is how often it rejected at 5 %. A 95 % interval should hold the truth in 95 % of all data sets:
*coverage* is how often it did, among those in which one was offered.

A size is in **bold** where it is above what chance allows (99.9 % binomial bounds of each number, plus the
slack that an asymptotic test is given in `tests/validity/board.py`), a coverage where it is below. Of a
thousand such numbers chance alone puts about one beyond its bounds. Tests of discrete statistics, bounds, and
tests that hold for every truth in a set may reject less often than their level; that is shown, not marked.
Seconds are the CPU time of one run of the row, all its settings together. The seeds of a row are 0, 1, 2, and
so on, as many as it has runs.

`make validity` runs the board and writes this page; `tests/validity/test_board.py` runs a small copy of it in
every `make test-validity`.
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """A test, or an interval, in a world.

    Attributes
    ----------
    test : str
        The public name.
    world : str
        Where predictions and labels come from.
    truth : {"null", "alternative", "interval"}
        What the numbers are: p-values under a true or a false hypothesis, or whether intervals hold.
    run : callable
        From a seed to numbers by setting.
    conservative : bool or set of str
        Settings that may reject less often, or hold more often, than the level says.
    slack : float
        By how much an asymptotic test may exceed its level, or an interval fall short of 95 %.
    share : float
        Share of the runs asked for: less than 1 for rows that take long.
    few : int
        Runs of the small copy; 0 for rows that take long, which have a smaller world beside them.
    """

    test: str
    world: str
    truth: Truth
    run: Callable[[int], Numbers]
    conservative: bool | frozenset[str] = False
    slack: float = 0.0
    share: float = 1.0
    few: int = 3

    @property
    def key(self) -> str:
        """The name of the row, which its results are kept under."""
        return f"{self.test} | {self.world} | {self.truth}"

    def may_be_low(self, setting: str) -> bool:
        """Tell whether a setting may reject less often than the level."""
        return self.conservative if isinstance(self.conservative, bool) else setting in self.conservative


@dataclasses.dataclass(frozen=True)
class Line:
    """One setting of a row: its numbers over all runs, the seconds of one, and what is wrong with it."""

    row: Row
    setting: str
    values: np.ndarray
    seconds: float

    def share(self, level: float) -> float:
        """Return the share of p-values at or below a level."""
        return float((self.values <= level + 1e-12).mean())

    @property
    def offered(self) -> np.ndarray:
        """The runs in which there was an interval."""
        return self.values[np.isfinite(self.values)]

    @property
    def verdict(self) -> str:
        """What is beyond the bounds; empty where nothing is."""
        if self.row.truth == "interval":
            n = len(self.offered)
            low, _ = worlds.bounds(max(n, 1), COVERAGE - self.row.slack)
            _, high = worlds.bounds(max(n, 1), min(COVERAGE + self.row.slack, 0.999))
            if n and self.offered.sum() < low:
                return "coverage too low"
            too_high = n and self.offered.sum() > high and not self.row.may_be_low(self.setting)
            return "coverage too high" if too_high else ""
        if self.row.truth == "alternative":
            return ""
        n = len(self.values)
        for level in LEVELS:
            rejected = (self.values <= level + 1e-12).sum()
            if rejected > worlds.bounds(n, level + self.row.slack)[1]:
                return f"size too large at {level:g}"
            if not self.row.may_be_low(self.setting) and rejected < worlds.bounds(n, level)[0]:
                return f"size too small at {level:g}"
        return ""

    def cells(self) -> list[str]:
        """Return the row of the table."""
        sizes, power, coverage = "", "", ""
        if self.row.truth == "null":
            sizes = " / ".join(f"{self.share(level):.3f}" for level in LEVELS)
            sizes = f"**{sizes}**" if "too large" in self.verdict else sizes
        elif self.row.truth == "alternative":
            power = f"{self.share(0.05):.2f}"
        elif len(self.offered):
            coverage = f"{self.offered.mean():.3f}"
            coverage = f"**{coverage}**" if "too low" in self.verdict else coverage
            refused = len(self.values) - len(self.offered)
            coverage += f" ({refused} refused)" if refused else ""
        else:
            coverage = "refused"
        return [
            f"`{self.row.test}`",
            self.setting,
            self.row.world,
            sizes,
            power,
            coverage,
            str(len(self.values)),
            f"{self.seconds:.2g}",
        ]


def lines(rows: Sequence[Row], records: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Line]:
    """Join the tasks of every row, `records` by its name: seeds, seconds and values by setting."""
    found = []
    for row in rows:
        tasks = sorted(records.get(row.key, ()), key=lambda task: task["seeds"][0])
        runs = sum(len(task["seeds"]) for task in tasks)
        seconds = sum(task["seconds"] for task in tasks) / max(runs, 1)
        for setting in tasks[0]["values"] if tasks else ():
            values = np.concatenate([task["values"][setting] for task in tasks])
            found.append(Line(row, setting, values, seconds))
    return found


def page(found: Sequence[Line], elsewhere: Mapping[str, str]) -> str:
    """Return the page; `elsewhere` says why some public names have no rows."""
    head = ["test", "setting", "world", "size at 1 / 5 / 10 %", "power", "coverage", "runs", "s"]
    ordered = sorted(found, key=lambda line: line.row.test)  # stable: worlds keep the order of the board
    table = [head, ["---"] * len(head), *(line.cells() for line in ordered)]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
    rest = "\n".join(f"- `{name}`: {why}" for name, why in elsewhere.items())
    wrong = sum(bool(line.verdict) for line in found)
    summary = f"{len(found)} lines, {wrong} beyond their bounds."
    return f"{INTRODUCTION}\n{summary}\n\n{body}\n\nWithout rows of their own:\n\n{rest}\n"
