"""Rows that come in pieces: what does not fit into memory, or lies on several machines.

A piece is an ordinary prediction with its labels and the index of its first row among all. Whoever computes
sums over instances asks for `map`, which yields one result per piece in the order of the rows; where and when
the pieces are read is the business of the source.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from credibly._arrays.engines import Engine, Serial
from credibly._arrays.errors import InputError
from credibly._arrays.progress import Progress
from credibly.predictions.base import Predictions
from credibly.predictions.batches import Labels

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some consecutive rows.

    Attributes
    ----------
    start : int
        Index of the first row among all.
    predictions : Predictions
        The predictions of these rows, validated.
    labels : Labels
        What was observed, as a batch of one.
    """

    start: int
    predictions: Predictions
    labels: Labels


class Chunks(ABC):
    """A source of chunks that can be read as often as needed."""

    n: int
    """Number of rows."""

    @abstractmethod
    def map(self, work: Callable[[Chunk], T], progress: Progress | None = None) -> Iterator[T]:
        """Yield ``work(chunk)`` for all chunks in the order of their rows.

        Parameters
        ----------
        work : callable
            Made of plain functions and frozen settings, so that it can be sent to another process.
        progress : callable, optional
            Called with (done, total) rows.

        Yields
        ------
        object
            What `work` returned.
        """

    engine: Engine = Serial()
    """Where chunks are worked on."""

    def held(self, work: Callable[[Chunk], T]) -> list[Any]:
        """Return ``work(chunk)`` for all chunks as `engine.folds` takes it, kept where it was computed."""
        return list(self.map(work))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of every chunk."""
        return tuple(self.map(_length))

    @property
    @abstractmethod
    def sample(self) -> Chunk:
        """A few rows: they tell what kind of predictions and labels all of them are."""

    def __len__(self) -> int:
        return self.n


def _length(chunk: Chunk) -> int:
    return len(chunk.predictions)


def require_no_labels(labels: object, sample_weight: object) -> None:
    """Raise where labels are given beside chunks, which bring their own."""
    if labels is not None or sample_weight is not None:
        raise InputError(
            "`labels` and `sample_weight`",
            "come with the chunks",
            "got them as arguments too",
            "Give them to `scan`, and only the result here.",
        )
