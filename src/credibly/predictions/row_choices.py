"""Some of the rows of chunks as chunks of their own: a group, a random part, or all without their groups."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from credibly._arrays.engines import Engine
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress
from credibly.predictions.chunks import Chunk, Chunks

T = TypeVar("T")
Choose = Callable[[Chunk], Chunk | None]


@dataclasses.dataclass(frozen=True, eq=False)
class RowChoice(Chunks):
    """Chosen rows of other chunks; those without any are passed over.

    Attributes
    ----------
    whole : Chunks
        All rows.
    n : int
        How many rows are chosen.
    """

    whole: Chunks
    n: int

    @property
    @abstractmethod
    def choose(self) -> Choose:
        """A function that returns the chosen rows of a chunk, or None; it is sent to other processes."""

    @property
    def engine(self) -> Engine:  # type: ignore[override]
        """Where chunks are worked on."""
        return self.whole.engine

    @property
    def sample(self) -> Chunk:
        """The first rows of the whole: kinds and sizes are the same everywhere."""
        return self.whole.sample

    def map(self, work: Callable[[Chunk], T], progress: Progress | None = None) -> Iterator[T]:
        """Yield ``work(chosen rows)`` for all chunks that have some."""
        found = self.whole.map(partial(_work_on_chosen, work, self.choose), progress)
        return (one[0] for one in found if one is not None)


def _work_on_chosen(work: Callable[[Chunk], T], choose: Choose, chunk: Chunk) -> tuple[T] | None:
    own = choose(chunk)
    return None if own is None else (work(own),)


@dataclasses.dataclass(frozen=True, eq=False)
class GroupRows(RowChoice):
    """The rows of one group."""

    group: Any

    @property
    def choose(self) -> Choose:
        """Rows of the group."""
        return partial(group_rows, self.group)


def group_rows(group: Any, chunk: Chunk) -> Chunk | None:
    """Return the rows of a group in a chunk; None where there are none."""
    assert chunk.groups is not None
    return _taken(chunk, np.flatnonzero(chunk.groups == group))


@dataclasses.dataclass(frozen=True, eq=False)
class RandomRows(RowChoice):
    """Rows whose uniform number is small: every chunk knows its own, whatever the others are.

    Attributes
    ----------
    seed, stream : tuple of int, int
        Where the uniform numbers come from, one per row.
    most : float
        The largest number that is chosen.
    """

    seed: Seed
    stream: Stream
    most: float

    @property
    def choose(self) -> Choose:
        """Rows whose number is small."""
        return partial(_random_rows, self.seed, self.stream, self.most)


def _random_rows(seed: Seed, stream: Stream, most: float, chunk: Chunk) -> Chunk | None:
    own = slice(chunk.start, chunk.start + len(chunk.predictions))
    return _taken(chunk, np.flatnonzero(Uniforms(seed, stream).block(slice(0, 1), own)[0] <= most))


@dataclasses.dataclass(frozen=True, eq=False)
class Ungrouped(RowChoice):
    """All rows, without their groups."""

    @property
    def choose(self) -> Choose:
        """All rows."""
        return _ungrouped

    @property
    def sample(self) -> Chunk:
        """The first rows, without their groups."""
        return _ungrouped(self.whole.sample)


def _ungrouped(chunk: Chunk) -> Chunk:
    return dataclasses.replace(chunk, groups=None)


def _taken(chunk: Chunk, rows: np.ndarray[Any, Any]) -> Chunk | None:
    return chunk.take(rows) if rows.size else None
