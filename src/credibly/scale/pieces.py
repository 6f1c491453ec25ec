"""Where the rows of a chunk are: in a file of their own, in a part of an array, in predictions in memory.

A piece is small and can be sent to another process; it reads and checks its rows only when asked.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any

from credibly._arrays.errors import InputError
from credibly.io import checked_rows, load, map_npy, read_rows, rows_of
from credibly.predictions import Chunk, LabelCounts, Predictions, as_labels


@dataclasses.dataclass(frozen=True)
class Piece(ABC):
    """Rows `start` to `stop` of all rows."""

    start: int
    stop: int

    @abstractmethod
    def read(self) -> tuple[Predictions, Any, Any]:
        """Return predictions, labels and sample weights of the rows."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What to call it in errors."""

    def chunk(self) -> Chunk:
        """Read, check and return the rows."""
        predictions, labels, weight = self.read()
        if labels is None:
            raise InputError(self.name, "must have labels", "it has none", "Give `labels=`.")
        if len(predictions) != self.stop - self.start:
            raise InputError(
                self.name,
                f"must keep its {self.stop - self.start} rows while it is used",
                f"it now has {len(predictions)}",
                "Do not write to the data during a run.",
            )
        return Chunk(self.start, predictions, as_labels(predictions, labels, weight))


@dataclasses.dataclass(frozen=True)
class FilePiece(Piece):
    """A whole file."""

    path: str
    labels: str | None
    kind: str | None
    member_axis: int | None

    @property
    def name(self) -> str:
        """The path."""
        return f"'{self.path}'"

    def read(self) -> tuple[Predictions, Any, Any]:
        """Read the file as `load` does."""
        data = load(self.path, kind=self.kind, labels=self.labels, member_axis=self.member_axis)
        return data.predictions, data.labels, None


@dataclasses.dataclass(frozen=True)
class MappedPiece(Piece):
    """Some rows of an .npy file."""

    path: str
    labels: Any
    weight: Any
    kind: str | None
    member_axis: int | None
    offset: int
    """Which of all rows is the file's first."""

    @property
    def name(self) -> str:
        """The path."""
        return f"'{self.path}'"

    def read(self) -> tuple[Predictions, Any, Any]:
        """Read the rows from the file, which is opened anew in whatever process this is."""
        rows = slice(self.start - self.offset, self.stop - self.offset)
        labels = self.labels.read() if isinstance(self.labels, MappedLabels) else self.labels
        taken = read_rows(self.path, rows, self.member_axis)
        found = checked_rows(
            taken, rows, labels, kind=self.kind, member_axis=self.member_axis, name=self.path
        )
        return found.predictions, found.labels, None if self.weight is None else self.weight[rows]


@dataclasses.dataclass(frozen=True)
class MappedLabels:
    """Labels in an .npy file, one or one histogram per row."""

    path: str

    def read(self) -> Any:
        """Return the labels as a memory map, or as counts."""
        array = map_npy(self.path)
        return array if array.ndim == 1 else LabelCounts(array)


@dataclasses.dataclass(frozen=True, eq=False)
class ArrayPiece(Piece):
    """Some rows of an array in this process."""

    array: Any
    labels: Any
    weight: Any
    kind: str | None
    member_axis: int | None

    @property
    def name(self) -> str:
        """The rows."""
        return f"rows {self.start} to {self.stop - 1}"

    def read(self) -> tuple[Predictions, Any, Any]:
        """Take and check the rows."""
        rows = slice(self.start, self.stop)
        weight = None if self.weight is None else self.weight[rows]
        if isinstance(self.array, Predictions):
            return self.array[rows], self.labels[rows], weight
        found = rows_of(
            self.array, rows, self.labels, kind=self.kind, member_axis=self.member_axis, name="predictions"
        )
        return found.predictions, found.labels, weight
