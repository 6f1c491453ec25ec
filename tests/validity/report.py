"""A row of the validity board, and the way from its runs to verdicts and to the page that shows them.

A row is a public name, a world, and what happens there: from a seed to numbers by setting. Where the
hypothesis is true, or false, the numbers are p-values; of intervals they are 1 where the interval holds the
truth, 0 where it misses, and NaN where it is refused.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
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

This page shows how often every test raises a false alarm and finds a real fault, and how often every
interval holds the truth, in simulated worlds whose truth is known. If the hypothesis is true, a test at
level 5 % may reject in 5 % of all data sets: *size* is how often it did. If the hypothesis is false, *power*
is how often it rejected at 5 %. A 95 % interval should hold the truth in 95 % of all data sets:
*coverage* is how often it did, among those in which one was offered.

The table has one row per test or interval: the median over all its worlds and settings, with the smallest
and the largest. Every world and setting is a line of [validity.csv](validity.csv), with the number of data
sets behind it and the CPU seconds of one of them. The seeds of a world are {first} and those that follow.

A line is beyond its bounds if a size is too large or too small, or a coverage too low or too high, for
chance to explain it: outside 99.9 % binomial bounds, plus the slack that an asymptotic test is given in
`tests/validity/board.py`. Of a thousand lines chance alone puts about one beyond. A size that is too large
and a coverage that is too low are in **bold**; tests of discrete statistics, bounds, and tests that hold
for every truth in a set may reject less often than their level, which the file shows.

`make validity` runs the board and writes both files, always from one state of the code;
`tests/validity/test_board.py` runs a small copy of it in every `make test-validity`.
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

    @property
    def is_dangerous(self) -> bool:
        """Whether it rejects too often, or holds too rarely."""
        return self.verdict.startswith(("size too large", "coverage too low"))

    def cells(self) -> list[str]:
        """Return the line of the file."""
        sizes = [f"{self.share(level):.3f}" for level in LEVELS] if self.row.truth == "null" else [""] * 3
        power = f"{self.share(0.05):.3f}" if self.row.truth == "alternative" else ""
        coverage, refused = "", ""
        if self.row.truth == "interval":
            coverage = f"{self.offered.mean():.3f}" if len(self.offered) else ""
            refused = str(len(self.values) - len(self.offered))
        end = [str(len(self.values)), f"{self.seconds:.2g}", self.verdict]
        return [self.row.test, self.setting, self.row.world, *sizes, power, coverage, refused, *end]


COLUMNS = ("test", "setting", "world", "size_1", "size_5", "size_10", "power_5", "coverage", "refused")
COLUMNS += ("data_sets", "seconds", "beyond_bounds")


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


def table(found: Sequence[Line]) -> str:
    """Return every line as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(line.cells() for line in _ordered(found))
    return text.getvalue()


def page(found: Sequence[Line], elsewhere: Mapping[str, str], first: int) -> str:
    """Return the page; `elsewhere` says why some public names have no rows, `first` is the first seed."""
    head = ["test", "worlds", "lines", "size at 5 %", "power at 5 %", "coverage", "beyond bounds"]
    cells = [head, ["---"] * len(head)]
    for test, of_test in itertools.groupby(_ordered(found), key=lambda line: line.row.test):
        group = list(of_test)
        true, false, intervals = (
            [line for line in group if line.row.truth == truth]
            for truth in ("null", "alternative", "interval")
        )
        held = [line for line in intervals if len(line.offered)]
        size = _range([line.share(0.05) for line in true], any(line.is_dangerous for line in true))
        power = _range([line.share(0.05) for line in false])
        coverage = _range([line.offered.mean() for line in held], any(line.is_dangerous for line in held))
        beyond = ", ".join(sorted({line.verdict for line in group} - {""}))
        worlds_of = len({line.row.world for line in group})
        cells.append([f"`{test}`", str(worlds_of), str(len(group)), size, power, coverage, beyond])
    body = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    rest = "\n".join(f"- `{name}`: {why}" for name, why in elsewhere.items())
    wrong = sum(bool(line.verdict) for line in found)
    dangerous = sum(line.is_dangerous for line in found)
    counts = f"{dangerous} reject too often or hold too rarely, and {wrong - dangerous} the other way"
    summary = f"{len(found)} lines; {counts}."
    introduction = INTRODUCTION.format(first=first)
    return f"{introduction}\n{summary}\n\n{body}\n\nWithout rows of their own:\n\n{rest}\n"


def _ordered(found: Sequence[Line]) -> list[Line]:
    return sorted(found, key=lambda line: line.row.test)  # stable: worlds keep the order of the board


def _range(values: Sequence[float], dangerous: bool = False) -> str:
    """Write the median of some numbers, and the smallest and largest if there are several."""
    if not values:
        return ""
    text = f"{np.median(values):.3f}"
    if len(values) > 1:
        text += f" ({min(values):.3f} to {max(values):.3f})"
    return f"**{text}**" if dangerous else text
