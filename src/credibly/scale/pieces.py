"""Where the rows of a chunk are: in a file of their own, in a part of an array, in predictions in memory.

A piece is small, or holds its own rows only, and can be sent to another process; it reads and checks its rows
only when asked. An array in this process is a piece, or several that come each with its labels.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from credibly._arrays.checks import InvalidRowsError, as_array
from credibly._arrays.errors import InputError, Remedy, require
from credibly._arrays.namespace import as_float64, is_numpy, is_torch, namespace, tiles, to_host
from credibly.io import load, local_copy, map_npy, read_rows, rows_of
from credibly.io.roles import ReadOptions
from credibly.predictions import ClassPredictions, Dataset, LabelCounts, Predictions, as_labels
from credibly.predictions.clusters import as_ids, as_names
from credibly.predictions.dataset import each_attribute
from credibly.predictions.labels import no_weight
from credibly.predictions.point import ROUNDED

T = TypeVar("T")
_SAMPLE_ROWS = 32


@dataclasses.dataclass(frozen=True, eq=False)
class Piece(ABC):
    """Rows `start` to `stop` of all rows; what came as arrays beside them takes precedence."""

    start: int
    stop: int
    weight: Any = dataclasses.field(default=None, kw_only=True)
    groups: Any = dataclasses.field(default=None, kw_only=True)
    clusters: Any = dataclasses.field(default=None, kw_only=True)
    features: Any = dataclasses.field(default=None, kw_only=True)
    options: ReadOptions = dataclasses.field(default=ReadOptions(), kw_only=True)

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
            remedy = "Repair them; `skip_bad_shards=True` leaves out whole files with such rows."
            if isinstance(error.remedy, Remedy) and error.remedy.code == ROUNDED:
                remedy = f"{error.remedy.elsewhere} {remedy}"
            raise InputError(error.subject, error.rule, error.evidence, remedy) from error

    def chunk(self) -> Dataset:
        """Read, check and return the rows."""
        data = self.found()
        if data.labels is None:
            raise InputError(self.name, "must have labels", "it has none", "Give `labels=`.")
        if len(data.predictions) != self.stop - self.start:
            raise InputError(
                self.name,
                f"must keep its {self.stop - self.start} rows while it is used",
                f"it now has {len(data.predictions)}",
                "Do not write to the data during a run.",
            )
        groups = data.groups if self.groups is None else self.groups
        clusters = data.clusters if self.clusters is None else self.clusters
        return dataclasses.replace(
            data,
            labels=as_labels(data.predictions, data.labels, self.weight, some_rows=True),
            groups=each_attribute(plain_names, groups),
            clusters=None if clusters is None else as_ids(clusters, len(data.predictions)),
            features=data.features if self.features is None else self.features,
            start=self.start,
        )


def plain_names(groups: Any) -> np.ndarray[Any, Any]:
    """Return names of groups as an array of numbers or text; objects are written as text."""
    array = as_names(groups, "groups")
    return array if array.dtype != object else array.astype(str)


@dataclasses.dataclass(frozen=True, eq=False)
class FilePiece(Piece):
    """A file, opened again in whatever process this is; a remote one is copied for as long as it is read.

    `offset` tells which of all rows is the first of an .npy file of which these are some rows; None stands
    for a whole file. `options` are those of `load`.
    """

    path: str
    labels: str | None
    offset: int | None = None

    @property
    def name(self) -> str:
        """The path."""
        return f"'{self.path}'"

    def read(self) -> Dataset:
        """Read the file as `load` does."""
        if self.offset is None or self.labels is None:
            with local_copy(self.path) as path, local_copy(self.labels) as labels:
                return load(path, **{**vars(self.options), "labels": labels})
        rows = slice(self.start - self.offset, self.stop - self.offset)
        observed = map_npy(self.labels)[rows]
        array = read_rows(self.path, rows, self.options.member_axis)
        counts = observed if observed.ndim == 1 else LabelCounts(observed)
        return rows_of(array, counts, self.options, name=self.path, first=rows.start)


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

    @property
    def name(self) -> str:
        """The rows."""
        return f"rows {self.start} to {self.stop - 1}"

    def read(self) -> Dataset:
        """Check the rows."""
        if isinstance(self.array, Predictions):
            if self.options.member_weights is not None:
                raise InputError(
                    "`member_weights`",
                    "apply to files and arrays",
                    f"got {self.array!r}",
                    "Give the weights where the predictions are made: `Ensemble(probs, weights=w)`.",
                )
            return Dataset(self.array, self.labels)
        return rows_of(self.array, self.labels, self.options, name="predictions", first=self.start)


_CHUNK_ELEMENTS = 2**22


def array_pieces(
    predictions: Any, labels: Any, weight: Any, options: ReadOptions, chunk_rows: int | None
) -> list[ArrayPiece]:
    """Return the pieces of predictions with their labels, or of a sequence of such parts."""
    parts = [(predictions, labels, weight)]
    if labels is None and weight is None and _is_parts(predictions):
        parts = [(*part, None)[:3] for part in predictions]
    pieces: list[ArrayPiece] = []
    for part in parts:
        pieces += _array_pieces(*part, options, chunk_rows, pieces[-1].stop if pieces else 0)
    _require_weight([piece.weight for piece in pieces])
    return pieces


def _require_weight(weights: Sequence[Any]) -> None:
    """Raise unless all parts have weights, or none, and some row has one that is not 0."""
    known = [weight for weight in weights if weight is not None]
    if len(known) not in (0, len(weights)):
        raise InputError(
            "`sample_weight`",
            "must be given for all parts or for none",
            f"{len(known)} of {len(weights)} have it",
            "Give the others weights of 1.",
        )
    if known and not any(bool(namespace(weight).any(weight != 0)) for weight in known):
        raise no_weight()


def _array_pieces(
    array: Any, labels: Any, weight: Any, options: ReadOptions, chunk_rows: int | None, offset: int
) -> Iterator[ArrayPiece]:
    require_labels(labels)
    labels = labels if isinstance(labels, LabelCounts) else _in_memory(labels, "labels")
    weight = weight if weight is None else _in_memory(weight, "sample_weight")
    n_labels = _length(labels.counts if isinstance(labels, LabelCounts) else labels)
    if isinstance(array, Predictions):
        n, axis, leading = len(array), None, array._leading
    else:
        array = leading = _in_memory(array, "predictions")
        n, axis = rows_and_axis(array, n_labels, options.member_axis, "predictions")
    options = dataclasses.replace(options, member_axis=axis)
    for name, other in (
        ("labels", n_labels),
        ("sample_weight", n if weight is None else _length(weight)),
    ):
        require_one_per_prediction(other, n, name)
    for rows in tiles(n, rows_per_chunk(leading, n, chunk_rows)):
        part, start, stop = cut(array, rows, axis), offset + rows.start, offset + rows.stop
        weights = None if weight is None else weight[rows]
        yield ArrayPiece(start, stop, part, labels[rows], weight=weights, options=options)


def require_one_per_prediction(length: int, n: int, name: str) -> None:
    """Raise unless an array beside the predictions is as long as these."""
    require(length == n, f"must have one entry per prediction ({n})", "Check both.", **{name: length})


def _length(weight: Any) -> int:
    return int(weight.shape[0]) if weight.ndim else 1


def _in_memory(value: Any, name: str) -> Any:
    """Return an array as it is, whatever it holds: its chunks are checked when they are read."""
    return value if is_numpy(value) or is_torch(value) else as_array(value, name)


def _is_parts(value: Any) -> bool:
    """Tell (predictions, labels) or (predictions, labels, sample_weight) from nested lists of numbers."""
    return isinstance(value, Sequence) and bool(value) and all(map(_is_part, value))


def _is_part(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) in (2, 3) and not any(map(np.isscalar, value))


def rows_and_axis(
    array: Any, n_labels: int | None, member_axis: int | None, name: str
) -> tuple[int, int | None]:
    """Return the number of instances and where the members are, decided once for all chunks."""
    if 0 in tuple(array.shape) or array.ndim == 0:
        raise InputError(
            f"`{name}`", "must have at least one row", f"got shape {tuple(array.shape)}", "Check the source."
        )
    if array.ndim != 3:
        return int(array.shape[0]), member_axis
    first, second = int(array.shape[0]), int(array.shape[1])
    if member_axis in (0, 1):
        return (second, 0) if member_axis == 0 else (first, 1)
    if member_axis is not None or first == second or n_labels == second:
        raise InputError(
            f"`{name}`",
            "must say which axis holds the members",
            f"got shape {tuple(array.shape)} and member_axis={member_axis!r}",
            "Pass `member_axis=0` for (members, instances, ...) or `member_axis=1` for the other order.",
        )
    return first, 1


def rows_per_chunk(array: Any, n: int, chunk_rows: int | None) -> int:
    """Return how many rows a chunk has."""
    if chunk_rows is not None:
        return chunk_rows
    fitting = _CHUNK_ELEMENTS // max(1, int(np.prod(array.shape)) // n)
    return int(2 ** max(0, fitting.bit_length() - 1))  # a power of two: chunks end where leaves of sums end


def require_labels(labels: Any) -> None:
    """Raise unless labels were given with arrays."""
    remedy = "Pass `scan(predictions, labels)`."
    require(labels is not None, "must be given with arrays", remedy, labels=labels)


@dataclasses.dataclass(frozen=True)
class ChunkShape:
    """What all chunks must have in common."""

    kind: str
    n_classes: int | None
    n_members: int
    labels: str
    classes: tuple[str, ...] | None
    has_groups: bool
    weights: tuple[float, ...] | Literal["by row"] | None

    @classmethod
    def of(cls, chunk: Dataset) -> ChunkShape:
        """Return the shape of one chunk."""
        predictions = chunk.predictions
        k = predictions.n_classes if isinstance(predictions, ClassPredictions) else None
        weights: Any = getattr(predictions, "weights", None)
        if weights is not None:
            weights = "by row" if weights.ndim == 2 else tuple(to_host(as_float64(weights)).tolist())
        return cls(
            type(predictions).__name__,
            k,
            predictions.n_members,
            type(chunk.batch).__name__,
            chunk.classes,
            chunk.groups is not None,
            weights,
        )

    def __str__(self) -> str:
        classes = "" if self.n_classes is None else f", k={self.n_classes}"
        names = "" if self.classes is None else f" named {', '.join(self.classes[:8])}"
        groups = " and groups" if self.has_groups else ""
        members = f"m={self.n_members}"
        if self.weights == "by row":
            members += ", weights by row"
        elif self.weights is not None:
            members += f", weights {', '.join(f'{weight:.4g}' for weight in self.weights[:8])}"
        return f"{self.kind} ({members}{classes}{names}) with {self.labels.lower()} as labels{groups}"


def first_rows(chunk: Dataset) -> Dataset:
    """Return the first few rows of a chunk."""
    return chunk.rows(slice(0, min(_SAMPLE_ROWS, len(chunk.predictions))))


def work_on(work: Callable[[Dataset], T], expected: ChunkShape, chunk: Dataset, name: str) -> T:
    """See that a chunk is like the first, and work on it."""
    shape = ChunkShape.of(chunk)
    if shape != expected:
        raise InputError(
            name, f"must be like the first chunk, {expected}", f"got {shape}", "Do not mix models in one run."
        )
    return work(chunk)
