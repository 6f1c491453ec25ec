"""What every public function returns on fixed inputs, recorded before a restructuring and compared after it.

python tools/record_results.py record before.json
python tools/record_results.py compare before.json after.json

Numbers, arrays and texts are stored by a path: `calibration_test/point/classes/statistic=skce/torch/pvalue`.
Only public names are used (`tools/recorded_inputs.py` has their table), so the same tool runs on both sides.
The comparison exits with 1 where a number differs or a path is missing; texts are counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

import credibly
from recorded_cases import cases
from recorded_inputs import cr
from surface import public_objects

Values = dict[str, Any]
"""Numbers, nested lists of numbers, texts and None by their path."""
SHOWN = 40
"""Rows of a table before the rest is counted only."""
ROUNDING = 1e-14
"""Absolute: sums of order one that nearly cancel carry this much rounding, however small what is left."""


def flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield paths and values of anything a public function returns."""
    if hasattr(value, "to_dict"):
        yield from flat(value.to_dict(), path)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from flat(one, f"{path}/{key}")
    elif dataclasses.is_dataclass(value):
        yield from flat({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, path)
    elif hasattr(value, "detach"):
        yield from flat(value.detach().cpu().numpy(), path)
    elif isinstance(value, np.ndarray | np.generic):
        yield from flat(value.tolist(), path)
    elif value is None or isinstance(value, str | bool | int | float):
        yield path, value
    elif isinstance(value, frozenset | set):
        yield path, sorted(value)
    elif isinstance(value, list | tuple):
        listed = plain(value)
        if is_numeric(listed):
            yield path, listed
        else:
            for place, one in enumerate(listed):
                yield from flat(one, f"{path}/{place}")
    else:
        raise TypeError(f"{path}: no way to record a {type(value).__name__}")


def plain(value: Any) -> Any:
    """Return nested sequences and arrays as nested lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def is_numeric(value: Any) -> bool:
    """Tell whether nested lists hold numbers, and None for numbers that do not exist, only."""
    if isinstance(value, list):
        return all(is_numeric(one) for one in value)
    return value is None or isinstance(value, bool | int | float)


def recorded() -> Iterator[tuple[str, Values]]:
    """Run every case in a directory of its own; yield its path and what it returned, said or refused."""
    import_module("torch").set_num_threads(1)  # sums in one order; only a record needs torch
    with (
        threadpoolctl.threadpool_limits(1),
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
    ):
        for path, call in cases():
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    found: Values = dict(flat(call(), path))
                except (cr.CrediblyError, TypeError, ValueError) as error:
                    found = {f"{path}/error": f"{type(error).__name__}: {error}"}
            found |= {f"{path}/warning/{at}": str(one.message) for at, one in enumerate(said)}
            yield path, found


def record(out: Path) -> int:
    """Write the record, and say what it holds and which public names no case reached."""
    began, processor = time.perf_counter(), time.process_time()
    values: Values = {}
    slow: Counter[str] = Counter()
    last = began
    for path, found in recorded():
        if twice := values.keys() & found.keys():
            raise ValueError(f"two cases have the path {min(twice)}")
        values |= found
        slow[path.partition("/")[0]] += time.perf_counter() - last
        last = time.perf_counter()
    lines = (f"{json.dumps(path)}: {json.dumps(value)}" for path, value in values.items())
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    errors = [path for path in values if path.endswith("/error") and isinstance(values[path], str)]
    meant = sum(path.startswith("refused/") for path in errors)
    print(f"{len(values)} paths, {count(values)} numbers of {Path(credibly.__file__).parent}")
    broken = [path for path in errors if values[path].startswith(("TypeError", "ValueError"))]
    refused = {path.split("/")[1] for path in errors if path.startswith("refused/")}
    accepted = {path.split("/")[1] for path in values if path.startswith("refused/")} - refused
    print(f"{meant} calls refused as they should be, {len(errors) - meant} other errors")
    for path in broken:  # the library's own errors have their own types
        print(f"no such call any more: {path}: {values[path]}")
    for name in sorted(accepted):
        print(f"no longer refused: {name}")
    print(f"{last - began:.0f} s, {time.process_time() - processor:.0f} s of processor time, in {out}")
    print("longest:", ", ".join(f"{name} {seconds:.0f} s" for name, seconds in slow.most_common(6)))
    print("public names that no case called or returned:", ", ".join(sorted(unmet(values))) or "none")
    return 1 if broken or accepted else 0


def unmet(values: Values) -> set[str]:
    """Return public names that no case called, no result is of, and no error has."""
    types = {value for path, value in values.items() if path.endswith(("/type", "/details"))}
    errors = {
        value.partition(":")[0]
        for path, value in values.items()
        if path.endswith("/error") and isinstance(value, str)
    }
    return {dotted.rpartition(".")[2] for dotted, _ in public_objects(credibly)} - cr.reached - types - errors


def count(values: Any) -> int:
    """Count the numbers in values or nested lists."""
    if isinstance(values, dict | list):
        return sum(count(one) for one in (values.values() if isinstance(values, dict) else values))
    return int(isinstance(values, bool | int | float))


def distance(first: Any, second: Any) -> float:
    """Return the largest |a - b| / max(|a|, |b|) in numbers or nested lists, 0 where |a - b| is rounding.

    It is infinite where shapes differ, or where one of two numbers is missing or not finite.
    """
    if isinstance(first, list) and isinstance(second, list):
        if len(first) != len(second):
            return math.inf
        return max((distance(*pair) for pair in zip(first, second, strict=True)), default=0.0)
    if first == second or (first != first and second != second):  # the second: NaN
        return 0.0
    if not all(isinstance(one, bool | int | float) and math.isfinite(one) for one in (first, second)):
        return math.inf
    away = abs(first - second)
    return 0.0 if away <= ROUNDING else away / max(abs(first), abs(second))


def compare(before: Values, after: Values, tolerance: float, *, texts: bool, everything: bool) -> int:
    """Print what differs, and return the exit code."""
    shared = [path for path in before if path in after]
    said = [path for path in shared if isinstance(before[path], str) and isinstance(after[path], str)]
    away = {path: distance(before[path], after[path]) for path in set(shared) - set(said)}
    moved = sorted((path for path in away if away[path] > tolerance), key=lambda path: (-away[path], path))
    tables = {
        f"numbers differ by more than {tolerance:g}": [
            f"{away[path]:9.2g}  {path}  {brief(before[path])} -> {brief(after[path])}" for path in moved
        ],
        "paths are missing": sorted(before.keys() - after.keys()),
        "paths are new": sorted(after.keys() - before.keys()),
        "texts differ": [
            f"{path}\n    - {before[path]}\n    + {after[path]}" if texts else path
            for path in said
            if before[path] != after[path]
        ],
    }
    print(f"{len(shared)} paths are in both, {len(away)} of numbers and {len(said)} of text")
    print(f"largest relative difference: {max(away.values(), default=0.0):.2g}")
    for title, rows in tables.items():
        print(f"\n{len(rows)} {title}")
        most = len(rows) if everything or (texts and title == "texts differ") else SHOWN
        print("\n".join(f"  {row}" for row in rows[:most]), end="\n" if rows else "")
        if len(rows) > most:
            print(f"  ... and {len(rows) - most} more (--all):", by_function(rows[most:], before, after))
    return int(bool(moved or tables["paths are missing"]))


def by_function(rows: list[str], *records: Values) -> str:
    """Count rows by the first part of their path."""
    names = {path.partition("/")[0] for values in records for path in values}
    counts = Counter(
        next((word for word in re.split(r"[/\s]", row) if word in names), "other") for row in rows
    )
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def brief(value: Any) -> str:
    """Write a value in a few characters."""
    return f"{len(value)} numbers" if isinstance(value, list) else repr(value)


def renamed(values: Values, rules: list[str]) -> Values:
    """Apply rules PATTERN=NEW to paths: what was renamed on purpose is compared under its new name."""
    for rule in rules:
        pattern, _, new = rule.rpartition("=")
        values = {re.sub(pattern, new, path): value for path, value in values.items()}
    return values


def main(words: list[str] | None = None) -> int:
    """Record, or compare two records."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("record", help="run every case and write what it returned").add_argument(
        "out", type=Path
    )
    comparing = verbs.add_parser("compare", help="list what differs between two records")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--tolerance", type=float, default=1e-12, help="relative; default: 1e-12")
    comparing.add_argument("--texts", action="store_true", help="show texts that differ in full")
    comparing.add_argument("--all", action="store_true", help="show every row of every table")
    comparing.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="PATTERN=NEW",
        help="rename paths of BEFORE; repeat for several",
    )
    arguments = parser.parse_args(words)
    if arguments.verb == "record":
        return record(arguments.out.resolve())
    before, after = (json.loads(path.read_text()) for path in (arguments.before, arguments.after))
    return compare(
        renamed(before, arguments.rename),
        after,
        arguments.tolerance,
        texts=arguments.texts,
        everything=arguments.all,
    )


if __name__ == "__main__":
    sys.exit(main())
