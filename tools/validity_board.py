"""Run the validity board and write docs/validity.md, with all lines in docs/validity.csv.

    python tools/validity_board.py --processes 16 --runs 500
    python tools/validity_board.py --runs 100 --only credal_test

Results are added to the file of `--state` as they come: an interrupted run goes on where it ended, and a
larger `--runs` adds to what is there. After a change of the code under test begin with a new file. The page
shows all results.
Ends with status 1 where a test rejects more often, or an interval holds less often, than the bounds allow.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is loaded: processes are the threads here

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / one) for one in ("src", "studies/src", "tests", "tests/helpers")]

from validity import board, report  # noqa: E402, the path comes first

CHUNK = 20  # seeds of one task


def main() -> int:
    """Run what is missing, write the page."""
    asked = arguments()
    rows = [row for row in board.ROWS if asked.only in row.key]
    state = Path(asked.state)
    state.parent.mkdir(parents=True, exist_ok=True)
    known = read(state)
    waiting = [task for row in rows for task in missing(row, asked.runs, known)]
    print(f"{len(rows)} rows, {len(waiting)} tasks of at most {CHUNK} runs", flush=True)
    begun = time.monotonic()
    with state.open("a") as sink, concurrent.futures.ProcessPoolExecutor(asked.processes) as pool:
        tasks = [pool.submit(run, key, seeds) for key, seeds in waiting]
        for done, task in enumerate(concurrent.futures.as_completed(tasks), start=1):
            sink.write(json.dumps(task.result()) + "\n")
            sink.flush()
            if done % 50 == 0:
                print(f"{done} of {len(waiting)} tasks, {time.monotonic() - begun:.0f} s", flush=True)
    lines = report.lines(board.ROWS, records(read(state)))
    Path(asked.out).write_text(report.page(lines, board.ELSEWHERE))
    Path(asked.out).with_suffix(".csv").write_text(report.table(lines))
    wrong = [line for line in lines if line.verdict]
    for line in wrong:
        print(f"{line.verdict}: {line.row.key} | {line.setting}")
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500, help="runs of a row; slow rows take a share of them")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    parser.add_argument("--state", default=str(ROOT / "build" / "validity.jsonl"))
    parser.add_argument("--out", default=str(ROOT / "docs" / "validity.md"))
    return parser.parse_args()


def read(state: Path) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the tasks that were done, by row and first seed; half a line, of an interruption, is none."""
    found: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for line in state.read_text().splitlines() if state.exists() else ():
        try:
            one = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[one["row"]][one["seeds"][0]] = one
    return found


def records(known: dict[str, dict[int, dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return the tasks of every row."""
    return {key: list(tasks.values()) for key, tasks in known.items()}


def missing(
    row: report.Row, runs: int, known: dict[str, dict[int, dict[str, Any]]]
) -> Iterator[tuple[str, list[int]]]:
    """Yield the tasks of a row that were not done before."""
    wanted = max(1, round(runs * row.share))
    for first in range(0, wanted, CHUNK):
        if first not in known.get(row.key, {}):
            yield row.key, list(range(first, min(first + CHUNK, wanted)))


def run(key: str, seeds: list[int]) -> dict[str, Any]:
    """Run some seeds of a row."""
    row = next(row for row in board.ROWS if row.key == key)
    begun = time.process_time()
    found = [dict(row.run(seed)) for seed in seeds]
    values = {name: [float(one[name]) for one in found] for name in found[0]}
    return {"row": key, "seeds": seeds, "seconds": time.process_time() - begun, "values": values}


if __name__ == "__main__":
    sys.exit(main())
