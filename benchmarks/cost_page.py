"""Measure what `evaluate` costs for data of your size, and write the table of docs/cost.md.

    python benchmarks/cost_page.py            # prints the table
    python benchmarks/cost_page.py --write    # also puts it into docs/cost.md

Every case runs in a process of its own. Seconds are processor time without imports, the best of the runs, so
other programs on the machine hardly matter; memory is the peak of the whole process.
"""

from __future__ import annotations

import argparse
import json
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
TABLE = re.compile(r"<!-- measured -->\n.*?<!-- end of measured -->\n", re.DOTALL)


def main() -> int:
    """Measure all cases; print the table, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/cost.md")
    parser.add_argument(
        "--machine", default="a machine", help="its kind in words, for the line below the table"
    )
    parser.add_argument("--case", nargs=3, metavar=("KIND", "K", "N"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        kind, k, n = arguments.case
        sys.stdout.write(json.dumps(cost(kind, int(k), int(n))))
        return 0

    found = {name: [measured(*case, n) for n in SIZES] for name, case in KINDS.items()}
    text = table(found, arguments.machine)
    sys.stdout.write(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(TABLE.sub(lambda _: text, page), encoding="utf-8")
    return 0


def measured(kind: str, k: int, n: int) -> tuple[float, float]:
    """Return the fewest seconds and the smallest peak memory (MB) over fresh processes."""
    command = [sys.executable, __file__, "--case", kind, str(k), str(n)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    runs = [
        json.loads(subprocess.run(command, env=os.environ | threads, capture_output=True, check=True).stdout)
        for _ in range(RUNS)
    ]
    return min(seconds for seconds, _ in runs), min(peak for _, peak in runs)


def cost(kind: str, k: int, n: int) -> tuple[float, float]:
    """Return processor seconds of one evaluation, and the peak memory of this process in MB."""
    import credibly as cr

    predictions, labels = example(kind, k, n)
    start = time.process_time()
    cr.evaluate(predictions, labels, rng=0)
    seconds = time.process_time() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def example(kind: str, k: int, n: int) -> tuple[Any, Any]:
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
    noise = 0.5 * rng.normal(size=(n, 5, k))
    return cr.Ensemble.from_logits(1.2 * logits[:, None] + noise, member_axis=1), labels


def table(found: dict[str, list[tuple[float, float]]], machine: str) -> str:
    """Return the table as Markdown, between the marks of the page."""
    heads = " | ".join(f"n = {n:,}".replace(",", " ") for n in SIZES)
    lines = ["<!-- measured -->", f"| predictions | {heads} |", "|---" * (len(SIZES) + 1) + "|"]
    for name, cells in found.items():
        row = " | ".join(f"{seconds:.1f} s, {peak:.0f} MB" for seconds, peak in cells)
        lines.append(f"| {name} | {row} |")
    day = datetime.now(UTC).strftime("%-d %B %Y")
    system = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    python = f"Python {platform.python_version()}, one thread; the better of {RUNS} runs."
    lines += ["", f"Measured on {day} on {machine} with {system}, {python}", "<!-- end of measured -->", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
