"""Rows that come in pieces: what does not fit into memory, or lies on several machines.

A piece is an ordinary prediction with its labels and the index of its first row among all. Whoever computes
sums over instances asks for `map`, which yields one result per piece in the order of the rows; where and when
the pieces are read is the business of the source.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from credibly._arrays.engines import Engine, Serial
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray, like, namespace
from credibly._arrays.progress import Progress
from credibly.predictions.base import Predictions
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.labels import Counts, Labels

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
    groups, features : ndarray (n,), array (n, d) or None
        Group and features of the rows, where the source has them.
    classes : tuple of str or None
        Names of the classes, where the source has them.
    """

    start: int
    predictions: Predictions
    labels: Labels
    groups: HostArray | None = None
    features: Any = None
    classes: tuple[str, ...] | None = None

    def rows(self, rows: slice) -> Chunk:
        """Return some consecutive rows of these."""
        return dataclasses.replace(
            self,
            start=self.start + rows.start,
            predictions=self.predictions[rows],
            labels=self.labels.rows(rows),
            groups=None if self.groups is None else self.groups[rows],
            features=None if self.features is None else self.features[rows, ...],
        )

    def take(self, rows: HostArray) -> Chunk:
        """Return the rows at these places, counted from the first of these; `start` stays."""

        def taken(array: Any, axis: int) -> Any:
            return None if array is None else namespace(array).take(array, like(rows, array), axis=axis)

        labels = self.labels
        own = dataclasses.replace(labels, values=taken(labels.values, 1), weights=taken(labels.weights, 1))
        groups = None if self.groups is None else self.groups[rows]
        return dataclasses.replace(
            self,
            predictions=self.predictions[rows],
            labels=own,
            groups=groups,
            features=taken(self.features, 0),
        )

    @property
    def observed(self) -> Any:
        """The labels as a user would pass them: (n,), or counts over raters."""
        values = self.labels.values[0, ...]
        return LabelCounts(values) if isinstance(self.labels, Counts) else values


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Return the rows of several chunks as one, in their order."""
    first = chunks[0]

    def together(arrays: Sequence[Any], axis: int) -> Any:
        return None if arrays[0] is None else namespace(*arrays).concat(list(arrays), axis=axis)

    given = [chunk.predictions for chunk in chunks]
    fields = {name: together([getattr(one, name) for one in given], 0) for name in given[0].row_fields}
    predictions = given[0].replace_rows(**fields)
    predictions._set(notes=tuple(dict.fromkeys(note for one in given for note in one.notes)))
    labels = dataclasses.replace(
        first.labels,
        values=together([chunk.labels.values for chunk in chunks], 1),
        weights=together([chunk.labels.weights for chunk in chunks], 1),
    )
    return dataclasses.replace(
        first,
        predictions=predictions,
        labels=labels,
        groups=together([chunk.groups for chunk in chunks], 0),
        features=together([chunk.features for chunk in chunks], 0),
    )


class Chunks(ABC):
    """A source of chunks that can be read as often as needed."""

    n: int
    """Number of rows."""
    notes: tuple[str, ...] = ()
    """What was found out about the source, or left out of it on purpose."""

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

    def take(self, rows: HostArray, progress: Progress | None = None) -> Chunk:
        """Return some rows in memory, in one pass.

        Parameters
        ----------
        rows : ndarray of int
            Which rows, increasing.
        progress : callable, optional
            Called with (done, total) rows.

        Returns
        -------
        Chunk
            The rows, one after the other.
        """
        found = self.map(partial(_rows_inside, rows), progress)
        return joined([part for part in found if part is not None])

    def __len__(self) -> int:
        return self.n


def _rows_inside(rows: HostArray, chunk: Chunk) -> Chunk | None:
    begin, end = np.searchsorted(rows, [chunk.start, chunk.start + len(chunk.predictions)])
    return chunk.take(rows[begin:end] - chunk.start) if begin < end else None


def _length(chunk: Chunk) -> int:
    return len(chunk.predictions)


def require_no_labels(labels: object, sample_weight: object = None) -> None:
    """Raise where labels are given beside chunks, which bring their own."""
    if labels is not None or sample_weight is not None:
        raise InputError(
            "`labels` and `sample_weight`",
            "come with the chunks",
            "got them as arguments too",
            "Give them to `scan`, and only the result here.",
        )
