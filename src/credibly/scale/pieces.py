"""Where the rows of a chunk are: in a file of their own, in a part of an array, in predictions in memory.

A piece is small, or holds its own rows only, and can be sent to another process; it reads and checks its rows
only when asked.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import is_array, to_host
from credibly.io import load, local_copy, map_npy, read_rows, rows_of
from credibly.predictions import Dataset, LabelCounts, Predictions, as_labels


@dataclasses.dataclass(frozen=True, eq=False)
class Piece(ABC):
    """Rows `start` to `stop` of all rows; what came as arrays beside them takes precedence."""

    start: int
    stop: int
    weight: Any = dataclasses.field(default=None, kw_only=True)
    groups: Any = dataclasses.field(default=None, kw_only=True)
    features: Any = dataclasses.field(default=None, kw_only=True)

    @abstractmethod
    def read(self) -> Dataset:
        """Return what is known of the rows."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What to call it in errors."""

    def found(self) -> Dataset:
        """Read the rows; an error about some of them says what can be done about it here."""
        try:
            return self.read()
        except InvalidRowsError as error:
            remedy = "Repair them; whole files that hold such rows are left out with `skip_bad_shards=True`."
            raise InputError(error.subject, error.rule, error.evidence, remedy) from error

    def chunk(self) -> Dataset:
        """Read, check and return the rows."""
        found = self.found()
        if found.labels is None:
            raise InputError(self.name, "must have labels", "it has none", "Give `labels=`.")
        if len(found.predictions) != self.stop - self.start:
            raise InputError(
                self.name,
                f"must keep its {self.stop - self.start} rows while it is used",
                f"it now has {len(found.predictions)}",
                "Do not write to the data during a run.",
            )
        groups = found.groups if self.groups is None else self.groups
        return dataclasses.replace(
            found,
            labels=as_labels(found.predictions, found.labels, self.weight, some_rows=True),
            groups=None if groups is None else plain_names(groups),
            features=found.features if self.features is None else self.features,
            start=self.start,
        )


def plain_names(groups: Any) -> np.ndarray[Any, Any]:
    """Return names of groups as an array of numbers or text; objects are written as text."""
    array = to_host(groups) if is_array(groups) else np.asarray(groups)
    return array if array.dtype != object else array.astype(str)


@dataclasses.dataclass(frozen=True, eq=False)
class FilePiece(Piece):
    """A file, opened anew in whatever process this is; a remote one is copied for as long as it is read.

    `offset` tells which of all rows is the first of an .npy file of which these are some rows; None stands
    for a whole file.
    """

    path: str
    labels: str | None
    kind: str | None
    member_axis: int | None
    offset: int | None = None

    @property
    def name(self) -> str:
        """The path."""
        return f"'{self.path}'"

    def read(self) -> Dataset:
        """Read the file as `load` does."""
        if self.offset is None or self.labels is None:
            with local_copy(self.path) as path, local_copy(self.labels) as labels:
                return load(path, kind=self.kind, labels=labels, member_axis=self.member_axis)
        rows = slice(self.start - self.offset, self.stop - self.offset)
        observed = map_npy(self.labels)[rows]
        return rows_of(
            read_rows(self.path, rows, self.member_axis),
            observed if observed.ndim == 1 else LabelCounts(observed),
            kind=self.kind,
            member_axis=self.member_axis,
            name=self.path,
            first=rows.start,
        )


def cut(array: Any, rows: slice, member_axis: int | None) -> Any:
    """Return a view of some rows of an array, or of predictions."""
    if isinstance(array, Predictions):
        return array[rows]
    return array[:, rows, ...] if array.ndim == 3 and member_axis == 0 else array[rows, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class ArrayPiece(Piece):
    """Rows of an array in this process: a view of them, so that no other rows are sent anywhere."""

    array: Any
    labels: Any
    kind: str | None
    member_axis: int | None

    @property
    def name(self) -> str:
        """The rows."""
        return f"rows {self.start} to {self.stop - 1}"

    def read(self) -> Dataset:
        """Check the rows."""
        if isinstance(self.array, Predictions):
            return Dataset(self.array, self.labels)
        return rows_of(
            self.array,
            self.labels,
            kind=self.kind,
            member_axis=self.member_axis,
            name="predictions",
            first=self.start,
        )
