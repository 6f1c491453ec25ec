"""From what was typed to data with labels.

Predictions are a file in memory, or chunks of a large one or of many. A pattern in quotes names the files of
one model; several arguments name several models.
"""

from __future__ import annotations

import glob
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from credibly._arrays.errors import CrediblyError, InputError
from credibly._arrays.namespace import memory_budget
from credibly.calls import Call, Option, Verb
from credibly.calls.options import (
    CHUNKS,
    CLUSTERS,
    FAIL_ON,
    FORCE,
    PRINTED,
    READING,
    RELATIVE_MARGIN,
    STREAMING,
)
from credibly.cli.output import Output, with_flags
from credibly.io import is_pattern, is_remote, labels_beside, load, require_target
from credibly.io.column_names import listed_names
from credibly.io.extras import pip, require_module
from credibly.predictions import Dataset, InMemory, Rows, as_rows
from credibly.predictions.clusters import COPIES
from credibly.scale import scan

ANSWERS_WITHIN = "10s"
"""How long to wait for the scheduler that was named."""
_NOT_RECORDED = {row.name for row in (*PRINTED, FAIL_ON, FORCE, RELATIVE_MARGIN)}
"""Options that change no number, and one that is recorded as the margin it gives."""


class Typed:
    """What was typed. An option or argument is an attribute under the keyword of the library.

    Parameters
    ----------
    words : str
        The words that call the verb.
    verb : Verb
        The verb.
    values : mapping of str to object
        Values of its arguments and options.
    """

    def __init__(self, words: str, verb: Verb, values: Mapping[str, Any]) -> None:
        self.words = words
        self.verb = verb
        self.values: dict[str, Any] = {
            name: list(value) or None if isinstance(value, tuple) else value for name, value in values.items()
        }

    def __getattr__(self, keyword: str) -> Any:
        try:
            return self.values[keyword]
        except KeyError:
            raise AttributeError(keyword) from None

    def of(self, rows: Iterable[Option]) -> dict[str, Any]:
        """Return those of some options that were typed, or have a default, as the library takes them."""
        values = {row.name: self.values.get(row.name) for row in rows}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    @property
    def said(self) -> dict[str, Any]:
        """What is said about a file, as `load` and `scan` take it."""
        reading = self.of(row for row in READING if row.name != "blocks")
        if reading.get(CLUSTERS.name) == COPIES:
            del reading[CLUSTERS.name]
        return reading

    def call(self, files: Sequence[str], **instead: Any) -> Call:
        """Return the record of this call; `instead` has what was settled since, such as the margin."""
        reading = self.said
        rest = self.of(row for row in self.verb.rows if row.name not in {*reading, *_NOT_RECORDED})
        rest = {name: str(value) if isinstance(value, Path) else value for name, value in rest.items()}
        return Call(self.words, tuple(files), reading, rest | instead)


def read(file: str, typed: Typed, output: Output) -> Dataset:
    """Read a file; what was inferred or left out is noted on stderr."""
    data = load(file, **typed.said)
    output.notes(map(with_flags, data.notes))
    rows = _together(InMemory(data), typed)
    return data if rows.example.clusters is data.clusters else rows.example


def labelled(file: str, typed: Typed, output: Output) -> Dataset:
    """Read a file and insist on labels."""
    data = read(file, typed, output)
    if data.labels is None:
        unread = f", and columns that were not read: {listed_names(data.others)}" if data.others else ""
        raise InputError(
            f"'{file}'",
            "must come with labels",
            f"it contains only predictions{unread}",
            "Name their file or their column: `--labels FILE` or `--labels NAME`.",
        )
    return data


def _together(rows: Rows, typed: Typed) -> Rows:
    """Return rows in the clusters that no column names: copies, or blocks."""
    copies = COPIES if typed.values.get("clusters") == COPIES else None
    return as_rows(rows, clusters=copies, blocks=typed.values.get("blocks"))


def require_elsewhere(target: Path, *read_from: str | Path | None) -> None:
    """Raise if `target` is one of the files that are read: `--force` must not destroy the data."""
    for source in (str(file) for file in read_from if file is not None):
        if any(_same_file(Path(path), target) for path in [source, *glob.glob(source)]):  # noqa: PTH207
            raise InputError(
                f"'{target}'",
                "must not be a file that is read",
                f"it is '{source}'",
                "Choose another name to write to.",
            )


def require_new_file(typed: Typed, *read_from: str | Path | None) -> None:
    """Raise unless `save` can write what is read from these files to the file that was named."""
    beside = [labels_beside(typed.out)] if typed.out.suffix.lower() == ".npy" else []
    for target in (typed.out, *beside):
        require_elsewhere(target, *read_from, typed.labels)
    require_target(typed.out, overwrite=typed.overwrite)


def in_chunks(file: str, typed: Typed) -> bool:
    """Tell whether a file is read in chunks: where that was asked for, of patterns, and of large .npy."""
    return bool(typed.of(STREAMING)) or is_pattern(file) or _is_large(file)


@contextmanager
def engine(typed: Typed) -> Iterator[Any]:
    """Give the `engine` of `scan`, for as long as chunks are worked on."""
    if typed.scheduler is not None and typed.engine != "dask":
        raise InputError(
            "`--scheduler`",
            "is the address of a Dask cluster",
            "the engine is local",
            "Add `--engine dask`.",
        )
    with dask_client(typed.scheduler) if typed.engine == "dask" else nullcontext("serial") as workers:
        yield workers


@contextmanager
def opened(file: str, typed: Typed, output: Output) -> Iterator[Rows]:
    """Open one file, or the files of one pattern, and insist on labels."""
    if not in_chunks(file, typed):
        yield InMemory(labelled(file, typed, output))
        return
    with engine(typed) as workers:
        yield scanned(file, typed, workers, output)


def scanned(file: str, typed: Typed, workers: Any, output: Output) -> Rows:
    """Make chunks of a file or pattern; what was left out is noted on stderr."""
    how = {name: value for name, value in typed.of(CHUNKS).items() if name != "stream"}
    rows = scan(file, engine=workers, **how, **typed.said)
    output.notes(map(with_flags, rows.example.notes))
    return _together(rows, typed)


@contextmanager
def dask_client(scheduler: str | None) -> Iterator[Any]:
    """Open a client of the Dask cluster at an address, or of new workers on this machine."""
    client_type = require_module("distributed", "`--engine dask`", pip("dask")).Client
    try:
        if scheduler is None:
            # what these workers log of a failed task is raised in this process as well; the dashboard takes
            # any port, because several runs may share a machine
            client = client_type(silence_logs=logging.CRITICAL, dashboard_address=":0")
        else:
            client = client_type(scheduler, timeout=ANSWERS_WITHIN)
    except (OSError, ValueError) as error:
        raise CrediblyError(
            f"the scheduler {scheduler!r}",
            "must answer",
            str(error),
            "Give the address that `dask scheduler` printed, such as tcp://127.0.0.1:8786.",
        ) from error
    with client:
        yield client


def in_memory(rows: Rows, what: str, rule: str, remedy: str) -> Dataset:
    """Return all rows; raise in the name of `what` where they come in chunks."""
    whole = rows.loaded()
    if whole is None:
        raise InputError(what, rule, f"'{rows.example.source}' is read in chunks", remedy)
    return whole


def _is_large(file: str) -> bool:
    """Tell whether a file is an .npy above the memory limit, which is mapped in any case."""
    path = Path(file)
    if is_remote(file) or path.suffix != ".npy" or not path.is_file():
        return False
    return path.stat().st_size > memory_budget()


def _same_file(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except (OSError, ValueError):  # one of them is not there, or no name of a file at all
        return False
