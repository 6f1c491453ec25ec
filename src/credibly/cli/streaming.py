"""Predictions with labels as a verb takes them: a file in memory, or chunks of a large one or of many.

A pattern in quotes names the files of one model; several arguments name several models.
"""

from __future__ import annotations

import dataclasses
import glob
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from credibly._arrays.engines import Engine, Serial, connected
from credibly._arrays.errors import InputError
from credibly._arrays.tiles import memory_budget
from credibly.cli import options
from credibly.cli.output import Output
from credibly.cli.reading import Reading
from credibly.cli.wording import with_flags
from credibly.io import is_remote
from credibly.predictions import Counts, Dataset, LabelCounts, Predictions, Rows
from credibly.scale import scan


@dataclasses.dataclass(frozen=True)
class Opened:
    """What a verb works on.

    Attributes
    ----------
    predictions : Predictions or Rows
        All rows.
    labels : array, LabelCounts or None
        What was observed; chunks bring their own.
    some : Predictions
        All predictions, or of chunks a few: they tell the kind.
    has_counts : bool
        Whether labels are counts over raters.
    features, groups, ids, classes, notes, source, digest, dropped
        As in a `Dataset`; chunks bring their own features and groups.
    """

    predictions: Predictions | Rows
    labels: Any
    some: Predictions
    has_counts: bool
    features: Any
    groups: Any
    ids: Any
    classes: tuple[str, ...] | None
    notes: tuple[str, ...]
    source: str
    digest: str
    dropped: int

    @property
    def in_chunks(self) -> bool:
        """Whether rows come in chunks."""
        return isinstance(self.predictions, Rows)

    @classmethod
    def in_memory(cls, data: Dataset) -> Opened:
        """Return a file that was read whole."""
        return cls(
            data.predictions,
            data.labels,
            data.predictions,
            isinstance(data.labels, LabelCounts),
            data.features,
            data.groups,
            data.ids,
            data.classes,
            data.notes,
            data.source,
            data.digest,
            data.dropped,
        )

    @classmethod
    def chunks(cls, rows: Rows, file: str) -> Opened:
        """Return what is read chunk by chunk."""
        sample = rows.sample
        notes = (*rows.notes, f"'{file}' is read in chunks; the input hash is of names and numbers of rows")
        return cls(
            rows,
            None,
            sample.predictions,
            isinstance(sample.batch, Counts),
            None,
            None,
            None,
            sample.classes,
            notes,
            file,
            _digest(rows),
            0,
        )


@dataclasses.dataclass(frozen=True)
class Streaming:
    """How rows that do not fit into memory are read, and where they are worked on."""

    stream: options.Stream = False
    chunk_rows: options.ChunkRows = None
    skip_bad_shards: options.SkipBadShards = False
    engine: options.EngineName = "local"
    scheduler: options.Scheduler = None

    def words(self) -> list[str]:
        """Return these options as they are typed."""
        typed = ["--stream"] if self.stream else []
        typed += [] if self.chunk_rows is None else ["--chunk-rows", str(self.chunk_rows)]
        typed += ["--skip-bad-shards"] if self.skip_bad_shards else []
        typed += [] if self.engine == "local" else ["--engine", self.engine]
        return typed if self.scheduler is None else [*typed, "--scheduler", self.scheduler]

    def takes(self, reading: Reading) -> bool:
        """Tell whether a file is read in chunks: where that was asked for, of patterns, and of large .npy."""
        return self != Streaming() or glob.has_magic(reading.file) or _is_large(reading.file)

    @contextmanager
    def running(self) -> Iterator[Engine]:
        """Give where chunks are worked on, for as long as they are."""
        if self.engine == "dask":
            with connected(self.scheduler) as cluster:
                yield cluster
            return
        if self.scheduler is not None:
            raise InputError(
                "`--scheduler`",
                "is the address of a Dask cluster",
                "the engine is local",
                "Add `--engine dask`.",
            )
        yield Serial()

    @contextmanager
    def opened(self, reading: Reading, output: Output) -> Iterator[Opened]:
        """Open one file, or the files of one pattern, and insist on labels."""
        if not self.takes(reading):
            yield Opened.in_memory(reading.labelled(output))
            return
        with self.running() as engine:
            yield self.scanned(reading, engine, output)

    def scanned(self, reading: Reading, engine: Engine, output: Output) -> Opened:
        """Make chunks of a file or pattern; what was left out is noted on stderr."""
        if reading.drop_invalid:
            raise InputError(
                "`--drop-invalid`",
                "leaves out rows of files that are read whole",
                f"'{reading.file}' is read in chunks",
                "Leave it out; `--skip-bad-shards` leaves out whole files.",
            )
        rows = scan(
            reading.file,
            reading.labels,
            kind=reading.kind,
            member_axis=reading.member_axis,
            chunk_rows=self.chunk_rows,
            engine=engine,
            skip_bad_shards=self.skip_bad_shards,
        )
        found = Opened.chunks(rows, reading.file)
        output.notes(map(with_flags, found.notes))
        return found


def _is_large(file: str) -> bool:
    """Tell whether a file is an .npy above the memory limit, which is mapped in any case."""
    path = Path(file)
    if is_remote(file) or path.suffix != ".npy" or not path.is_file():
        return False
    return path.stat().st_size > memory_budget()


def _digest(rows: Rows) -> str:
    """Return 16 hexadecimal digits of names and numbers of rows: reading all bytes would be one more pass."""
    total = hashlib.sha256()
    for piece in getattr(rows, "pieces", ()):
        total.update(f"{piece.name}\t{piece.start}\t{piece.stop}\n".encode())
    return total.hexdigest()[:16]
