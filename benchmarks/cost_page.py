"""Measure what `evaluate` costs for data of your size, and write the tables of docs/cost.md.

    python benchmarks/cost_page.py                       # prints the tables
    python benchmarks/cost_page.py --write               # also puts them into docs/cost.md
    python benchmarks/cost_page.py --only grid --write   # one of them: kinds, grid

The grid stops at a size that would take too long; larger ones are extrapolated. Every case runs in a process
of its own. Seconds are processor time without imports, the best of the runs, so other programs on the machine
hardly matter; memory is the peak of the whole process.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cost.md"
SIZES = (1_000, 10_000, 100_000)
KINDS = {
    "probabilities, 2 classes": ("point", 2),
    "probabilities, 10 classes": ("point", 10),
    "five members, 2 classes": ("ensemble", 2),
    "five members, 10 classes": ("ensemble", 10),
    "mean and standard deviation": ("gaussian", 0),
}
RUNS = 2
GRID_SIZES = tuple(10**power for power in range(3, 8))
GRID = tuple((k, m, b) for k in (2, 10, 1000) for m in (1, 10) for b in (99, 999))
LIMITS = LONGEST, _ = 60.0, 1_000.0
"""Seconds and MB that a case of the grid may take; larger ones are extrapolated."""
ROWS, WORKERS, CHUNK_ROWS, ADDING = 10**10, (1, 8, 64, 512), 2**19, 1e-4
"""The plan: rows, workers, rows of a chunk, and seconds in which the client adds the sums of a chunk."""


def main() -> int:
    """Measure all cases; print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/cost.md")
    parser.add_argument(
        "--machine", default="a machine", help="its kind in words, for the line below the table"
    )
    parser.add_argument("--only", choices=("kinds", "grid"), help="measure one of the tables")
    parser.add_argument("--case", nargs=5, metavar=("KIND", "K", "M", "B", "N"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        kind, *numbers = arguments.case
        sys.stdout.write(json.dumps(cost(kind, *map(int, numbers))))
        return 0

    texts = {}
    if arguments.only != "grid":
        found = {
            name: [measured(kind, k, 5, 999, n, RUNS) for n in SIZES] for name, (kind, k) in KINDS.items()
        }
        texts["measured"] = table(found, arguments.machine)
    if arguments.only != "kinds":
        texts["grid"] = grid_table({case: growing(*case) for case in GRID}, arguments.machine)
    sys.stdout.write("\n".join(texts.values()))
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in texts.items():
            mark = re.compile(f"<!-- {name} -->\n.*?<!-- end of {name} -->\n", re.DOTALL)
            page = mark.sub(lambda _, text=text: text, page)
        PAGE.write_text(page, encoding="utf-8")
    return 0


Cost = tuple[float, float]
"""Processor seconds, and megabytes."""


Costs = dict[int, Cost]
"""What sizes cost, by their number of rows."""


def growing(k: int, m: int, b: int) -> Costs:
    """Return what sizes of the grid cost, up to the largest that may be measured; two at least."""
    kind, costs = "point" if m == 1 else "ensemble", Costs()
    for n in GRID_SIZES:
        if len(costs) == 1 and 10 * costs[n // 10][0] > LONGEST / 2:  # a part of it may be in proportion to n
            half = n // 20
            return {half: measured(kind, k, m, b, half, 1)} | costs
        if len(costs) > 1 and any(x > most for x, most in zip(extrapolated(costs, n), LIMITS, strict=True)):
            break
        costs[n] = measured(kind, k, m, b, n, 1)
    return costs


def extrapolated(costs: Costs, n: int) -> Cost:
    """Return the cost of n rows: a fixed part, and a part in proportion to n, from the last two sizes."""
    (small, before), (large, now) = list(costs.items())[-2:]
    share = (n - large) / (large - small)
    seconds, megabytes = (y + share * max(y - x, 0.0) for x, y in zip(before, now, strict=True))
    return seconds, megabytes


def exponents(costs: Costs) -> tuple[float, float]:
    """Return the powers of n with which seconds and megabytes grew over the last two sizes."""
    (small, before), (large, now) = list(costs.items())[-2:]
    seconds, megabytes = (math.log(y / x) / math.log(large / small) for x, y in zip(before, now, strict=True))
    return seconds, megabytes


def grid_table(found: dict[tuple[int, int, int], Costs], machine: str) -> str:
    """Return the grid and the plan as Markdown, between the marks of the page."""
    heads = " | ".join(f"10^{round(math.log10(n))}" for n in GRID_SIZES)
    lines = [
        "<!-- grid -->",
        f"| classes, members, replicates | n = {heads} | time, memory grow like |",
        "|---" * (len(GRID_SIZES) + 2) + "|",
    ]
    for (k, m, b), costs in found.items():
        cells = [said(*costs[n]) if n in costs else f"*{said(*extrapolated(costs, n))}*" for n in GRID_SIZES]
        powers = ", ".join(f"n^{power:.2f}" for power in exponents(costs))
        lines.append(f"| {k}, {m}, {b} | {' | '.join(cells)} | {powers} |")
    lines += ["", f"Figures in italics are extrapolated. {measured_on(machine)}", ""]
    lines += ["| 10^10 rows of 10 classes, 99 replicates | " + " | ".join(map(workers, WORKERS)) + " |"]
    lines.append("|---" * (len(WORKERS) + 1) + "|")
    for m in (1, 10):
        costs = found[10, m, 99]
        per_row = (extrapolated(costs, ROWS)[0] - extrapolated(costs, 0)[0]) / ROWS
        durations = (duration(plan(per_row, number)) for number in WORKERS)
        lines.append(f"| {workers(m, 'member')}, {1e6 * per_row:.0f} µs per row | {' | '.join(durations)} |")
    return "\n".join([*lines, "<!-- end of grid -->", ""])


def plan(per_row: float, number: int) -> float:
    """Return the seconds that so many workers take for all rows; one client adds the sums of their chunks."""
    return ROWS * per_row / number + ROWS / CHUNK_ROWS * ADDING


def workers(number: int, noun: str = "worker") -> str:
    """Return a number of workers or members."""
    return f"{number} {noun}{'s' * (number > 1)}"


def said(seconds: float, megabytes: float) -> str:
    """Return a cost in units that people read."""
    memory = f"{megabytes:.0f} MB" if megabytes < 10_000 else f"{megabytes / 1000:.0f} GB"
    return f"{duration(seconds)}, {memory}"


def duration(seconds: float) -> str:
    """Return seconds in units that people read."""
    minutes = f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
    return f"{seconds:.1f} s" if seconds < 100 else minutes


def measured(kind: str, k: int, m: int, b: int, n: int, n_runs: int) -> Cost:
    """Return the fewest seconds and the smallest peak memory (MB) over fresh processes."""
    command = [sys.executable, __file__, "--case", kind, *map(str, (k, m, b, n))]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    runs = [
        json.loads(subprocess.run(command, env=os.environ | threads, capture_output=True, check=True).stdout)
        for _ in range(n_runs)
    ]
    return min(seconds for seconds, _ in runs), min(peak for _, peak in runs)


def cost(kind: str, k: int, m: int, b: int, n: int) -> Cost:
    """Return processor seconds of one evaluation, and the peak memory of this process in MB."""
    import credibly as cr

    predictions, labels = example(kind, k, m, n)
    start = time.process_time()
    cr.evaluate(predictions, labels, n_resamples=b, rng=0)
    seconds = time.process_time() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def example(kind: str, k: int, m: int, n: int) -> tuple[Any, Any]:
    """Return predictions of one kind and labels that they do not quite fit."""
    import numpy as np

    import credibly as cr

    rng = np.random.default_rng(0)
    if kind == "gaussian":
        mean, std = rng.normal(size=n), rng.uniform(0.5, 2, size=n)
        return cr.Gaussian(mean, std), mean + 1.1 * std * rng.normal(size=n)
    logits = 2 * rng.normal(size=(n, k))
    labels = (logits + rng.gumbel(size=(n, k))).argmax(axis=1)
    if kind == "point":
        return cr.Point.from_logits(1.2 * logits), labels
    noise = 0.5 * rng.normal(size=(n, m, k))
    return cr.Ensemble.from_logits(1.2 * logits[:, None] + noise, member_axis=1), labels


def table(found: dict[str, list[Cost]], machine: str) -> str:
    """Return the table as Markdown, between the marks of the page."""
    heads = " | ".join(f"n = {n:,}".replace(",", " ") for n in SIZES)
    lines = ["<!-- measured -->", f"| predictions | {heads} |", "|---" * (len(SIZES) + 1) + "|"]
    for name, cells in found.items():
        row = " | ".join(f"{seconds:.1f} s, {peak:.0f} MB" for seconds, peak in cells)
        lines.append(f"| {name} | {row} |")
    return "\n".join([*lines, "", measured_on(machine, RUNS), "<!-- end of measured -->", ""])


def measured_on(machine: str, n_runs: int = 1) -> str:
    """Return when and on what it was measured."""
    day = datetime.now(UTC).strftime("%-d %B %Y")
    system = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    best = "one thread" if n_runs == 1 else f"one thread; the better of {n_runs} runs"
    return f"Measured on {day} on {machine} with {system}, Python {platform.python_version()}, {best}."


if __name__ == "__main__":
    sys.exit(main())
