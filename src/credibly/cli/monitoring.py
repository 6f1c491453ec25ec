"""`credibly monitor`: takes the new rows of a file into a monitor; state, page and metrics are files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from click.exceptions import Exit

from credibly._arrays.errors import CrediblyError, InputError
from credibly.calls.options import LEVEL, MONITORED
from credibly.cli import codes
from credibly.cli.output import Cell, Output, TextTable, with_flags
from credibly.cli.reading import Typed, labelled, require_elsewhere
from credibly.io import is_remote, write_text_atomically
from credibly.monitor import Monitor
from credibly.predictions import Dataset
from credibly.predictions.clusters import ids_of_contents
from credibly.predictions.rows import observed_part, predicted_parts
from credibly.report import write_report
from credibly.results.monitor import MonitorResult

AT_ONCE = 10_000
"""Rows after which the state is saved."""
COLUMNS = ("what", "stated", "observed", "interval")


def monitor_file(typed: Typed, output: Output) -> None:
    """Is it still right? Watch a growing file."""
    for target in (typed.state, typed.out, typed.metrics):
        if target is not None:
            require_elsewhere(target, typed.file, typed.labels)
    state = _StateFile(typed.state)
    monitor = _opened(typed)
    size = -1
    while True:
        if not typed.follow or _has_grown(typed.file, size):
            size = _size(typed.file) if typed.follow else size
            data = _settled(typed, output if not monitor.n else Output(quiet=True), size)
            if data is not None:
                _take_new_rows(monitor, data, typed, state)
                _write(monitor.result(), typed)
        if not typed.follow or (typed.fail_on is not None and monitor.alarm):
            break
        time.sleep(typed.every)
    result = monitor.result()
    if output.as_json:
        output.json(result.to_dict())
    else:
        _show(result, output)
    if typed.fail_on is not None and result.alarm:
        raise Exit(codes.CONFLICT)


class _StateFile:
    """Where the state is saved, by one run at a time."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._seen = self._written()

    def save(self, monitor: Monitor) -> None:
        """Save the state, unless another run has done so since this one read or saved it."""
        if self.path is None:
            return
        if self._written() != self._seen:
            remedy = "Run it again: it goes on from there. Two runs at a time need a state each."
            raise InputError(f"'{self.path}'", "must belong to one run", "another has just saved it", remedy)
        monitor.save(self.path)
        self._seen = self._written()

    def _written(self) -> tuple[int, int] | None:
        if self.path is None or not self.path.exists():
            return None
        stat = self.path.stat()
        return stat.st_ino, stat.st_mtime_ns


def _opened(typed: Typed) -> Monitor:
    """Return the monitor that the state holds, or a new one."""
    settings = typed.of((LEVEL, *MONITORED))
    if typed.state is None or not typed.state.exists():
        return Monitor(**settings)
    monitor = Monitor.load(typed.state)
    known = monitor.state()["settings"]
    for name, value in settings.items():
        if known[name] != value:
            raise InputError(
                f"`{name}`",
                "must be as when the state began",
                f"got {value!r}, and {known[name]!r} in '{typed.state}'",
                "Leave it out, or begin another state.",
            )
    return monitor


def _settled(typed: Typed, output: Output, size: int) -> Dataset | None:
    """Return what the file holds; if it grew while it was read, without what may be half written."""
    try:
        data = labelled(typed.file, typed, output)
    except CrediblyError:
        if typed.follow and _size(typed.file) != size:
            return None
        raise
    if not typed.follow or _size(typed.file) == size:
        return data
    # a file that always grows is read as well, but a cluster is never cut
    return data.rows(slice(0, len(data) - 1)) if data.clusters is None and len(data) > 1 else None


def _take_new_rows(monitor: Monitor, data: Dataset, typed: Typed, state: _StateFile) -> None:
    """Pay the rows that this file had not when it was last read; save after every batch."""
    kept = typed.file != "-"
    name = typed.file if is_remote(typed.file) else str(Path(typed.file).resolve())
    start, digest = monitor.positions.get(name, (0, "")) if kept else (0, "")
    if start and (len(data) < start or _digest(data, start - 1) != digest):
        seen = f"it has {len(data)} rows" if len(data) < start else f"row {start - 1} is another one"
        raise InputError(
            f"'{typed.file}'",
            f"must only grow: {start} rows of it were read before",
            seen,
            "Give other rows a file of their own; the state takes them as well.",
        )
    # whole clusters belong to one batch
    step = AT_ONCE if data.clusters is None else max(1, len(data) - start)
    for first in range(start, len(data), step):
        rows = slice(first, min(first + step, len(data)))
        monitor.update(data.rows(rows))
        if kept:
            monitor.positions[name] = [rows.stop, _digest(data, rows.stop - 1)]
        state.save(monitor)


def _digest(data: Dataset, row: int) -> str:
    part = data.rows(slice(row, row + 1))
    return str(ids_of_contents([*predicted_parts(part), observed_part(part)])[0])


def _size(file: str) -> int:
    return Path(file).stat().st_size


def _has_grown(file: str, size: int) -> bool:
    """Tell whether a file has changed and, if it is text, has rows and ends with a whole line."""
    path = Path(file)
    if _size(file) in (0, size):
        return False
    text = path.suffix.lower()
    if text not in (".csv", ".tsv", ".jsonl"):
        return True
    with path.open("rb") as opened:
        rows = text == ".jsonl" or bool(opened.readline() and opened.read(1))  # more than a header
        opened.seek(-1, 2)
        return rows and opened.read(1) == b"\n"


def _write(result: MonitorResult, typed: Typed) -> None:
    if typed.metrics is not None:
        write_text_atomically(typed.metrics, result.metrics(), overwrite=True)
    if typed.out is not None:
        write_report(result, typed.out, overwrite=typed.overwrite)


def _show(result: MonitorResult, output: Output) -> None:
    rows: list[tuple[Cell, ...]] = [
        (mean.name, mean.stated, mean.observed, (mean.low, mean.high)) for mean in result.tracked
    ]
    if output.terminal:
        changed: list[tuple[str, str]] = [
            ("changed", f"{suspect.words} ({100 * suspect.share:.0f} %)") for suspect in result.where
        ]
        output.pairs([(result.verdict(), result.sentence()), *changed])
    else:
        facts: list[tuple[str, Any]] = [
            ("rows", result.n),
            ("e-value", result.evalue),
            ("alarm", result.alarm),
            ("onset", result.since),
        ]
        rows = [*((name, None, value, None) for name, value in facts), *rows]
    rows += [(f"e-value of group {group.name}", None, group.evalue, None) for group in result.groups]
    output.table(TextTable(COLUMNS, rows))
    output.notes(map(with_flags, result.notes))
