"""Run the validity board and write docs/validity.md, with all lines in docs/validity.csv.

    python tools/validity_board.py --jobs 16 --runs 500
    python tools/validity_board.py --runs 100 --only credal_test
    python tools/validity_board.py --runs 500 --part 0/2 --minutes 8 --state a.jsonl     # and 1/2 elsewhere
    python tools/validity_board.py --runs 500 --state a.jsonl --add b.jsonl              # both together
    python tools/validity_board.py --runs 200 --first 10000      # data sets that nobody has looked at yet

Results are added to the file of `--state` as they come: an interrupted run goes on where it ended, and a
larger `--runs` adds to what is there. The page shows all results, of one state of the code.
Ends with status 1 where a test rejects more often, or an interval holds less often, than the bounds allow,
and with status 3 where `--minutes` left tasks for a next call.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is loaded: processes are the threads here

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / name) for name in ("src", "studies/src", "tests", "tests/helpers", "tools")]

import board_runs  # noqa: E402, the path comes first
from validity import board, report  # noqa: E402

CHUNK = 20  # seeds of one task
CODE = (*board_runs.LIBRARY, "tests/validity/*_rows.py", "tests/validity/*worlds.py")


def main() -> int:
    """Run what is missing, write the page."""
    asked = arguments()
    code = board_runs.digest(CODE)
    known = read(asked, code)
    rows = [row for row in board.ROWS if asked.only in row.key]
    if not rows:
        sys.exit(f"No row has {asked.only!r} in its name.")
    tasks = [task for row in rows for task in tasks_of(row, asked.first, asked.runs)]
    waiting = [task for task in board_runs.part_of(tasks, asked.part) if is_missing(task, known)]
    left = board_runs.run_tasks(run, waiting, asked, code)
    done = {key: list(of_row.values()) for key, of_row in read(asked, code).items()}
    lines = report.lines(board.ROWS, done)
    Path(asked.out).write_text(report.page(lines, board.ELSEWHERE, asked.first))
    Path(asked.out).with_suffix(".csv").write_text(report.table(lines))
    wrong = [line for line in lines if line.verdict]
    for line in wrong:
        print(f"{line.verdict}: {line.row.key} | {line.setting}")
    if left:
        print(f"{left} tasks are left: run the same command again.")
        return 3
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500, help="runs of a row; slow rows take a share of them")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    board_runs.add_arguments(parser, "validity.jsonl", "validity.md")
    return parser.parse_args()


def read(asked: argparse.Namespace, code: str) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the tasks that were done, by row and first seed."""
    found: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for result in board_runs.results(asked, code):
        tasks, first = found[result["row"]], result["seeds"][0]
        if first not in tasks or len(tasks[first]["seeds"]) < len(result["seeds"]):
            tasks[first] = result
    return found


def tasks_of(row: report.Row, first: int, runs: int) -> list[tuple[str, list[int]]]:
    """Return the seeds of a row, in tasks."""
    seeds = range(first, first + max(1, round(runs * row.share)))
    return [(row.key, list(seeds[begin : begin + CHUNK])) for begin in range(0, len(seeds), CHUNK)]


def is_missing(task: tuple[str, list[int]], known: dict[str, dict[int, dict[str, Any]]]) -> bool:
    """Tell whether some seeds of a task were not run."""
    key, seeds = task
    done = known[key].get(seeds[0])
    return done is None or len(done["seeds"]) < len(seeds)


def run(key: str, seeds: list[int]) -> list[dict[str, Any]]:
    """Run some seeds of a row."""
    row = next(row for row in board.ROWS if row.key == key)
    begun = time.process_time()
    found = [dict(row.run(seed)) for seed in seeds]
    values = {name: [float(one[name]) for one in found] for name in found[0]}
    return [{"row": key, "seeds": seeds, "seconds": time.process_time() - begun, "values": values}]


if __name__ == "__main__":
    sys.exit(main())
