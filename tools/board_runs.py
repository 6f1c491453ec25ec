"""Run the tasks of a board in processes and keep what they return: in parts, in time, from one code.

A state file has one JSON object per line. Every line holds the digest of the code that it was measured with,
and lines of other code are refused, so a page never mixes two states of the code.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ("src/credibly/**/*.py", "studies/src/**/*.py")


def digest(patterns: Iterable[str]) -> str:
    """Return twelve digits that change with any of the files."""
    found = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern)}):
        found.update(f"{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]


def add_arguments(parser: argparse.ArgumentParser, state: str, out: str) -> None:
    """Add the options that all boards share."""
    parser.add_argument("--jobs", "--processes", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    parser.add_argument("--part", default="0/1", help="i/m: every m-th task, from the i-th")
    parser.add_argument("--minutes", type=float, default=None, help="begin no task after this time")
    parser.add_argument("--state", default=str(ROOT / "build" / state), help="where results are added")
    parser.add_argument("--add", nargs="*", default=[], help="state files of other parts")
    parser.add_argument("--out", default=str(ROOT / "docs" / out))


def results(asked: argparse.Namespace, code: str) -> Iterator[dict[str, Any]]:
    """Yield the results in the state files; half a line, left by an interruption, is none."""
    for path in [Path(asked.state), *map(Path, asked.add)]:
        if path != Path(asked.state) and not path.exists():
            raise SystemExit(f"{path} does not exist.")
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                result = json.loads(line)
            except json.JSONDecodeError:
                continue
            if result.get("code") != code:
                raise SystemExit(
                    f"{path} has results of other code ({result.get('code')}, now {code}). Begin a new file."
                )
            yield result


def run_tasks(
    run: Callable[..., list[dict[str, Any]]],
    tasks: Sequence[tuple[Any, ...]],
    asked: argparse.Namespace,
    code: str,
) -> int:
    """Run tasks and add what they return to the state file; return how many were not begun in time."""
    state = Path(asked.state)
    state.parent.mkdir(parents=True, exist_ok=True)
    begun, done, waiting = time.monotonic(), 0, iter(tasks)
    print(f"{len(tasks)} tasks, code {code}", flush=True)
    with state.open("a") as sink, concurrent.futures.ProcessPoolExecutor(asked.jobs) as pool:
        running: set[concurrent.futures.Future[list[dict[str, Any]]]] = set()
        while True:
            in_time = asked.minutes is None or time.monotonic() - begun < 60 * asked.minutes
            while in_time and len(running) < 2 * asked.jobs and (task := next(waiting, None)) is not None:
                running.add(pool.submit(run, *task))
            if not in_time:
                running -= {future for future in running if future.cancel()}
            if not running:
                break
            finished, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            for future in finished:
                sink.writelines(json.dumps({"code": code, **result}) + "\n" for result in future.result())
                done += 1
                if done % 50 == 0:
                    print(f"{done} of {len(tasks)} tasks, {time.monotonic() - begun:.0f} s", flush=True)
            sink.flush()
    return len(tasks) - done


def part_of(tasks: Sequence[tuple[Any, ...]], part: str) -> Sequence[tuple[Any, ...]]:
    """Return every m-th task from the i-th, for `i/m`."""
    first, step = map(int, part.split("/"))
    return tasks[first::step]
