"""Predictions with labels as a verb takes them: a file in memory, or chunks of a large one or of many.

A pattern in quotes names the files of one model; several arguments name several models.
"""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from credibly._arrays.engines import Engine, Serial, connected
from credibly._arrays.errors import InputError
from credibly._arrays.tiles import memory_budget
from credibly.cli import options
from credibly.cli.output import Output
from credibly.cli.reading import Reading
from credibly.cli.wording import with_flags
from credibly.io import is_remote
from credibly.predictions import Dataset, InMemory, Rows
from credibly.scale import scan


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
    def opened(self, reading: Reading, output: Output) -> Iterator[Rows]:
        """Open one file, or the files of one pattern, and insist on labels."""
        if not self.takes(reading):
            yield InMemory(reading.labelled(output))
            return
        with self.running() as engine:
            yield self.scanned(reading, engine, output)

    def scanned(self, reading: Reading, engine: Engine, output: Output) -> Rows:
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
        output.notes(map(with_flags, rows.sample.notes))
        return rows


def in_memory(rows: Rows, what: str, rule: str, remedy: str) -> Dataset:
    """Return all rows; raise in the name of `what` where they come in chunks."""
    whole = rows.loaded()
    if whole is None:
        raise InputError(what, rule, f"'{rows.sample.source}' is read in chunks", remedy)
    return whole


def _is_large(file: str) -> bool:
    """Tell whether a file is an .npy above the memory limit, which is mapped in any case."""
    path = Path(file)
    if is_remote(file) or path.suffix != ".npy" or not path.is_file():
        return False
    return path.stat().st_size > memory_budget()
