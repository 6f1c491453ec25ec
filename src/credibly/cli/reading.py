"""From the options of a verb to data with labels, and to the command that would do it again.

Predictions are a file in memory, or chunks of a large one or of many. A pattern in quotes names the files of
one model; several arguments name several models.
"""

from __future__ import annotations

import csv
import dataclasses
import glob
import logging
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from credibly._arrays.errors import CrediblyError, InputError
from credibly._arrays.namespace import memory_budget
from credibly.cli.output import Output, with_flags
from credibly.io import is_pattern, is_remote, load
from credibly.io.extras import pip, require_module
from credibly.predictions import Dataset, InMemory, Rows
from credibly.predictions.clusters import COPIES
from credibly.scale import scan

ANSWERS_WITHIN = "10s"
"""How long to wait for the scheduler that was named."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """How one file is to be read."""

    file: str
    labels: str | None = None
    kind: str | None = None
    member_axis: int | None = None
    drop_invalid: bool = False
    normalise: bool = False
    columns: str | None = None
    exclude: str | None = None
    ignore_label: str | None = None
    n_raters: int | None = None
    id_column: str | None = None
    classes: str | None = None
    levels: str | None = None
    member_weights: str | None = None
    claimed: float | None = None
    clusters: str | None = None
    blocks: int | None = None
    by: str | None = None

    @classmethod
    def typed(cls, given: Mapping[str, Any], **instead: Any) -> Reading:
        """Take from the options of a verb, `locals()` where it begins, those that say how a file is read."""
        own = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in given.items() if name in own} | instead)

    @property
    def said(self) -> dict[str, Any]:
        """What is said about the file, as `load` and `inspect` take it."""
        return {
            "kind": self.kind,
            "labels": self.labels,
            "member_axis": self.member_axis,
            "normalise": self.normalise,
            "columns": None if self.columns is None else names_of(self.columns),
            "exclude": () if self.exclude is None else names_of(self.exclude),
            "ignore_label": self.ignore_label,
            "n_raters": self.n_raters,
            "id": self.id_column,
            "classes": None if self.classes is None else names_of(self.classes),
            "levels": _numbers(self.levels, "--levels", "0.05,0.95"),
            "member_weights": _numbers(self.member_weights, "--member-weights", "0.5,0.3,0.2"),
            "claimed": self.claimed,
            "clusters": None if self.clusters == COPIES else self.clusters,
        }

    @property
    def attributes(self) -> list[str] | None:
        """The columns that form groups."""
        return None if self.by is None else names_of(self.by)

    def dataset(self, output: Output) -> Dataset:
        """Read the file; what was inferred or left out is noted on stderr."""
        data = load(self.file, drop_invalid=self.drop_invalid, groups=self.attributes, **self.said)
        output.notes(map(with_flags, data.notes))
        rows = self.together(InMemory(data))
        return data if rows.sample.clusters is data.clusters else rows.sample

    def together(self, rows: Rows) -> Rows:
        """Return rows in the clusters that no column names: copies, or blocks."""
        if self.clusters == COPIES:
            rows = rows.copied()
        return rows if self.blocks is None else rows.blocked(self.blocks)

    def labelled(self, output: Output) -> Dataset:
        """Read the file and insist on labels."""
        data = self.dataset(output)
        if data.labels is None:
            raise InputError(
                f"'{self.file}'",
                "must come with labels",
                "it contains only predictions",
                "Name their file or their column: `--labels FILE` or `--labels NAME`.",
            )
        return data

    def require_elsewhere(self, target: Path, *others: Path | None) -> None:
        """Raise if `target` is one of the files that are read: `--force` must not destroy the data."""
        read = [self.file, self.labels, *(None if one is None else str(one) for one in others)]
        for source in (one for one in read if one is not None):
            if any(_same_file(Path(path), target) for path in [source, *glob.glob(source)]):  # noqa: PTH207
                raise InputError(
                    f"'{target}'",
                    "must not be a file that is read",
                    f"it is '{source}'",
                    "Choose another name to write to.",
                )

    def words(self) -> list[str]:
        """Return these options as they are typed."""
        typed = [self.file]
        if self.labels is not None:
            typed += ["--labels", self.labels]
        if self.kind is not None:
            typed += ["--kind", self.kind]
        if self.member_axis is not None:
            typed += ["--member-axis", str(self.member_axis)]
        return [*typed, *(["--drop-invalid"] if self.drop_invalid else []), *self._special(), *self._blocks()]

    def _special(self) -> list[str]:
        """Return the options that few files need, as they are typed."""
        typed = ["--normalise"] if self.normalise else []
        for name in (
            "columns",
            "exclude",
            "ignore_label",
            "n_raters",
            "id_column",
            "classes",
            "levels",
            "member_weights",
            "claimed",
            "clusters",
            "by",
        ):
            value = getattr(self, name)
            flag = "--id" if name == "id_column" else f"--{name.replace('_', '-')}"
            typed += [] if value is None else [flag, str(value)]
        return typed

    def _blocks(self) -> list[str]:
        return [] if self.blocks is None else ["--blocks", str(self.blocks)]


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


@dataclasses.dataclass(frozen=True)
class Streaming:
    """How rows that do not fit into memory are read, and where they are worked on."""

    stream: bool = False
    chunk_rows: int | None = None
    skip_bad_shards: bool = False
    engine: Literal["local", "dask"] = "local"
    scheduler: str | None = None

    def words(self) -> list[str]:
        """Return these options as they are typed."""
        typed = ["--stream"] if self.stream else []
        typed += [] if self.chunk_rows is None else ["--chunk-rows", str(self.chunk_rows)]
        typed += ["--skip-bad-shards"] if self.skip_bad_shards else []
        typed += [] if self.engine == "local" else ["--engine", self.engine]
        return typed if self.scheduler is None else [*typed, "--scheduler", self.scheduler]

    def takes(self, reading: Reading) -> bool:
        """Tell whether a file is read in chunks: where that was asked for, of patterns, and of large .npy."""
        return self != Streaming() or is_pattern(reading.file) or _is_large(reading.file)

    @contextmanager
    def running(self) -> Iterator[Any]:
        """Give the `engine` of `scan`, for as long as chunks are worked on."""
        if self.engine == "dask":
            with dask_client(self.scheduler) as client:
                yield client
            return
        if self.scheduler is not None:
            raise InputError(
                "`--scheduler`",
                "is the address of a Dask cluster",
                "the engine is local",
                "Add `--engine dask`.",
            )
        yield "serial"

    @contextmanager
    def opened(self, reading: Reading, output: Output) -> Iterator[Rows]:
        """Open one file, or the files of one pattern, and insist on labels."""
        if not self.takes(reading):
            yield InMemory(reading.labelled(output))
            return
        with self.running() as engine:
            yield self.scanned(reading, engine, output)

    def scanned(self, reading: Reading, engine: Any, output: Output) -> Rows:
        """Make chunks of a file or pattern; what was left out is noted on stderr."""
        rows = scan(
            reading.file,
            chunk_rows=self.chunk_rows,
            engine=engine,
            skip_bad_shards=self.skip_bad_shards,
            drop_invalid=reading.drop_invalid,
            groups=reading.attributes,
            **reading.said,
        )
        output.notes(map(with_flags, rows.sample.notes))
        return reading.together(rows)


@dataclasses.dataclass(frozen=True)
class Replication:
    """How often labels are drawn again, how many bins statistics have, and where random numbers begin."""

    n_resamples: int
    n_bins: int
    seed: int

    def words(self) -> list[str]:
        """Return these options as they are typed."""
        return [
            "--n-resamples",
            str(self.n_resamples),
            "--n-bins",
            str(self.n_bins),
            "--seed",
            str(self.seed),
        ]


def command(verb: str, *words: Any) -> str:
    """Return the command line that makes the same numbers again."""
    return shlex.join(["credibly", verb, *map(str, words)])


def in_memory(rows: Rows, what: str, rule: str, remedy: str) -> Dataset:
    """Return all rows; raise in the name of `what` where they come in chunks."""
    whole = rows.loaded()
    if whole is None:
        raise InputError(what, rule, f"'{rows.sample.source}' is read in chunks", remedy)
    return whole


def names_of(text: str) -> list[str]:
    """Return names that are separated by commas; one with a comma in it stands in quotes."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def _numbers(text: str | None, flag: str, example: str) -> list[float] | None:
    """Return numbers that are separated by commas."""
    try:
        return None if text is None else [float(one) for one in names_of(text)]
    except ValueError:
        raise InputError(
            f"`{flag}`", "must be numbers", f"got {text!r}", f"Write `{flag} {example}`."
        ) from None


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
