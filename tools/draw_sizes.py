"""How often are perfect draws and perfect quantiles rejected, at 1 to 100 draws and 1 to 39 levels?

    python tools/draw_sizes.py --runs 500 --processes 16 --out build/draw-sizes.json
    python tools/draw_sizes.py --table build/draw-sizes.json --write studies/pages/draw-sizes.md

Worlds are those of `tests/validity/draw_worlds.py` (Laplace noise), 199 replicates; seeds are 0, 1, 2, and so
on. `--write` puts the tables between the two marks in a page. One run of 20 000 rows with 100 draws takes
seconds, all other runs less; `--large-runs` says how many data sets of 20 000 rows are tested.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is loaded: processes are the threads here

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from scipy.stats import binom  # noqa: E402, the path comes first

from validity import draw_worlds  # noqa: E402

LEVELS = (0.01, 0.05, 0.10)
COUNTS = {"draws": draw_worlds.DRAW_COUNTS, "quantiles": draw_worlds.LEVEL_COUNTS}
LARGE = 10_000
MARKS = ("<!-- draw sizes: begin -->", "<!-- draw sizes: end -->")

Job = tuple[str, int, int, int]
Rejections = dict[str, list[int]]
"""By test: data sets, and how many of them are rejected at each level."""


def run(job: Job) -> tuple[Job, dict[str, float]]:
    """Return the p-values of one data set."""
    kind, n, number, seed = job
    if kind == "draws":
        return job, draw_worlds.draws(seed, n=n, s=number)
    return job, draw_worlds.quantiles(seed, n=n, q=number)


def jobs(given: argparse.Namespace) -> list[Job]:
    """Return all data sets, the longest first."""
    return [
        (kind, n, number, seed)
        for n in sorted(given.sizes, reverse=True)
        for kind, counts in COUNTS.items()
        for number in sorted(counts, reverse=True)
        for seed in range(given.runs if n < LARGE else min(given.runs, given.large_runs))
    ]


def counted(found: Mapping[str, Sequence[float]]) -> Rejections:
    """Return how many p-values are at most each level."""
    # p-values are multiples of 1 / 200: rounding must not move one beyond its level
    return {
        test: [len(values), *(sum(value <= level + 1e-12 for value in values) for level in LEVELS)]
        for test, values in found.items()
    }


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables: a row per number of draws or levels, in each cell one share per n, at 5 %."""
    lines, sizes = [], sorted({row["n"] for row in rows})
    for kind, unit in (("draws", "draws"), ("quantiles", "levels")):
        own = {(row["number"], row["n"]): row["rejections"] for row in rows if row["kind"] == kind}
        tests = list(dict.fromkeys(test for one in own.values() for test in one))
        lines += ["", f"| {unit} | {' | '.join(tests)} |", "|---" * (len(tests) + 1) + "|"]
        for number in sorted({number for number, _ in own}):
            cells = [
                " ".join(_share(own.get((number, n), {}).get(test)) for n in sizes if (number, n) in own)
                for test in tests
            ]
            lines.append(f"| {number} | {' | '.join(cells)} |")
    return "\n".join([_summary(rows, sizes), *lines])


def _share(counts: Sequence[int] | None) -> str:
    return "-" if counts is None else f"{counts[2] / counts[0]:.3f}".removeprefix("0")


def _summary(rows: Sequence[Mapping[str, Any]], sizes: Sequence[int]) -> str:
    every = [(row, test, one) for row in rows for test, one in row["rejections"].items()]
    runs = {one[0] for _, _, one in every}
    told = []
    for at, level in enumerate(LEVELS, start=1):
        largest = max(one[at] / one[0] for _, _, one in every)
        beyond = [
            f"{test} of {row['number']} {row['kind']}, n = {row['n']}: {one[at] / one[0]:.3f}"
            for row, test, one in every
            if one[at] > binom.ppf(0.999, one[0], level)
        ]
        listed = f" ({'; '.join(beyond)})" if beyond else ""
        told.append(f"at {100 * level:g} % at most {largest:.3f}, {len(beyond)} beyond{listed}")
    return (
        f"Rejections of perfect predictions, {min(runs)} to {max(runs)} data sets each, 199 replicates, "
        f"Laplace noise\n(`tools/draw_sizes.py`). In every cell the shares at 5 % for n = "
        f"{', '.join(map(str, sizes))}. Of {len(every)} shares, against the 99.9 % binomial bound of each: "
        f"{'; '.join(told)}."
    )


def written(page: Path, table: str) -> None:
    """Put the tables between the marks of a page."""
    head, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    _, mark, tail = rest.partition(MARKS[1])
    if not mark:
        raise SystemExit(f"{page} must hold {MARKS[0]} and {MARKS[1]}")
    page.write_text(f"{head}{MARKS[0]}\n{table}\n{MARKS[1]}{tail}", encoding="utf-8")


def main() -> None:
    """Run, or read what was run, and show the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="Data sets per cell.")
    parser.add_argument("--large-runs", type=int, default=200, help="The same with 10 000 rows or more.")
    parser.add_argument("--sizes", type=int, nargs="+", default=draw_worlds.SIZES, help="Numbers of rows.")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path("build/draw-sizes.json"))
    parser.add_argument("--table", type=Path, help="Print a file instead of running.")
    parser.add_argument("--write", type=Path, help="Page whose tables are replaced.")
    arguments = parser.parse_args()
    if arguments.table:
        rows = json.loads(arguments.table.read_text(encoding="utf-8"))
    else:
        values: dict[tuple[str, int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
            for (kind, n, number, _), found in pool.imap_unordered(run, jobs(arguments)):
                for test, pvalue in found.items():
                    values[kind, n, number][test].append(pvalue)
        rows = [
            {"kind": kind, "n": n, "number": number, "rejections": counted(found)}
            for (kind, n, number), found in sorted(values.items())
        ]
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(text(rows))
    if arguments.write:
        written(arguments.write, text(rows))


if __name__ == "__main__":
    main()
