"""`scan`: rows that are larger than memory, in many files, or on a cluster, as one source of chunks.

The next rows are read while these are worked on, by one thread that mostly waits for the disk and copies.
"""

from __future__ import annotations

import dataclasses
import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from credibly._arrays.doors import checked
from credibly._arrays.engines import Engine
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import HostArray
from credibly._arrays.progress import Progress
from credibly.io.extras import pip, require_module
from credibly.io.roles import ReadOptions
from credibly.predictions import Dataset, LabelCounts, Rows
from credibly.predictions.labels import no_weight
from credibly.scale.engines import Cluster, as_engine
from credibly.scale.pieces import (
    ArrayPiece,
    ChunkShape,
    Piece,
    first_rows,
    require_labels,
    require_one_per_prediction,
    rows_and_axis,
    work_on,
)
from credibly.scale.sources import find_pieces
from credibly.statistics.over_rows import gathered


def read_ahead(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Dataset]]:
    """Yield every piece with its rows, in order; at most one is held that is not asked for yet."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="credibly-reader") as reader:
        # the reader sees the caller's memory limit
        waiting = [reader.submit(copy_context().run, piece.chunk) for piece in pieces[:1]]
        for place, piece in enumerate(pieces):
            chunk = waiting.pop().result()
            if place + 1 < len(pieces):
                waiting.append(reader.submit(copy_context().run, pieces[place + 1].chunk))
            yield piece, chunk


T = TypeVar("T")
_READ_OPTIONS = tuple(vars(ReadOptions()).keys() - {"labels", "groups", "clusters"})
"""Options of files under the same name; groups and clusters may be arrays here."""


class _Chunks(Rows):
    """Rows in chunks that are made anew in every pass; each must be like the first."""

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return sum(self.lengths)

    @abstractmethod
    def _results(self, use: Callable[[Dataset, str], T]) -> Iterator[T]:
        """Yield ``use(chunk, its name)`` for all chunks in the order of their rows."""

    def _on_each(self, work: Callable[[Dataset], T]) -> Callable[[Dataset, str], T]:
        return partial(work_on, work, ChunkShape.of(self.example))

    def map(self, work: Callable[[Dataset], T], progress: Progress | None = None) -> Iterator[T]:
        """Yield ``work(chunk)`` for all chunks in the order of their rows."""
        done = 0
        for length, result in zip(self.lengths, self._results(self._on_each(work)), strict=True):
            yield result
            done += length
            if progress is not None:
                progress(done, self.n)


@dataclasses.dataclass(frozen=True, eq=False)
class Scan(_Chunks):
    """A source of rows that is read as often as needed; use `scan` to make one.

    Attributes
    ----------
    pieces : tuple of Piece
        Where the rows are.
    engine : Engine
        Where they are read and worked on.
    notes : tuple of str
        What was inferred, or left out on request.
    source : str
        The path, URL or pattern as given; empty for arrays.
    """

    pieces: tuple[Piece, ...]
    engine: Engine
    notes: tuple[str, ...] = ()
    source: str = ""

    @cached_property
    def example(self) -> Dataset:
        """The first rows, with what is known of all: they tell the kind of predictions and labels."""
        notes = self.notes
        if self.source:
            reading = "is read in chunks; the input hash covers only names and numbers of rows"
            notes = (*notes, f"'{self.source}' {reading}")
        first = first_rows(self.pieces[0].chunk())
        return dataclasses.replace(first, source=self.source, digest=self.digest, dropped=0, notes=notes)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of names and numbers of rows: reading all bytes would be one more pass."""
        total = hashlib.sha256()
        for piece in self.pieces:
            total.update(f"{piece.name}\t{piece.start}\t{piece.stop}\n".encode())
        return total.hexdigest()[:16]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of every chunk."""
        return tuple(piece.stop - piece.start for piece in self.pieces)

    def mapped_in_place(self, work: Callable[[Dataset], T]) -> list[Any]:
        """Return ``work(chunk)`` for all chunks, kept where they are worked on."""
        return self.engine.mapped_in_place(partial(_read_and_use, self._on_each(work)), self.pieces)

    def _results(self, use: Callable[[Dataset, str], T]) -> Iterator[T]:
        if self.engine.name == "serial":
            return (use(chunk, piece.name) for piece, chunk in read_ahead(self.pieces))
        return self.engine.map(partial(_read_and_use, use), self.pieces)

    def with_groups(self, groups: HostArray) -> Rows:
        """Return the same rows with other groups, each piece with its own."""
        pieces = (dataclasses.replace(part, groups=groups[part.start : part.stop]) for part in self.pieces)
        return dataclasses.replace(self, pieces=tuple(pieces))

    def gather(self) -> tuple[Any, Any]:
        """Return mean predictions and labels of all rows in memory, for what compares pairs of instances."""
        return gathered(self)

    def __repr__(self) -> str:
        kind = type(self.example.predictions).__name__
        return f"Scan(n={self.n}, {kind}, {len(self.pieces)} chunks, engine={self.engine.name})"


def _read_and_use(use: Callable[[Dataset, str], T], piece: Piece) -> T:
    return use(piece.chunk(), piece.name)


@dataclasses.dataclass(frozen=True, eq=False)
class DaskScan(_Chunks):
    """Rows of Dask arrays; `scan` makes it.

    Attributes
    ----------
    predictions, labels : dask.array
        All rows, cut at the same places.
    beside : dict of str to dask.array
        ``weight``, ``groups``, ``features`` and ``clusters`` of the rows, where there are some, cut alike.
    options : ReadOptions
        Kind, axis and weights of the members.
    engine : Engine
        A cluster, or Dask's own threads.
    """

    predictions: Any
    labels: Any
    beside: dict[str, Any]
    options: ReadOptions
    engine: Engine

    @property
    def _row_axis(self) -> int:
        return 1 if self.options.member_axis == 0 and self.predictions.ndim == 3 else 0

    @cached_property
    def example(self) -> Dataset:
        """The first rows: they tell what kind of predictions and labels all of them are."""
        return first_rows(next(iter(self._tasks(_itself))).compute())

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of every chunk."""
        return tuple(int(length) for length in self.predictions.chunks[self._row_axis])

    def mapped_in_place(self, work: Callable[[Dataset], T]) -> list[Any]:
        """Return ``work(chunk)`` for all chunks, kept where they are worked on."""
        if not isinstance(self.engine, Cluster):
            return list(self.map(work))
        return [self.engine.client.compute(task) for task in self._tasks(self._on_each(work))]

    def with_groups(self, groups: HostArray) -> Rows:
        """Return the same rows with other groups, cut like the predictions."""
        array = require_module("dask.array", "a Dask array", pip("dask"))
        cut = array.from_array(groups, chunks=(self.lengths,))
        return dataclasses.replace(self, beside={**self.beside, "groups": cut})

    def _results(self, use: Callable[[Dataset, str], T]) -> Iterator[T]:
        tasks = self._tasks(use)
        if isinstance(self.engine, Cluster):
            return self.engine.in_order(self.engine.client.compute(task) for task in tasks)
        return (task.compute() for task in tasks)

    def _tasks(self, use: Callable[[Dataset, str], Any]) -> Iterator[Any]:
        dask = require_module("dask", "a Dask array", pip("dask"))
        run = dask.delayed(_on_chunk, pure=False)
        start = 0
        for place, length in enumerate(self.predictions.chunks[self._row_axis]):
            rows = slice(start, start + length)
            array = self.predictions[:, rows] if self._row_axis else self.predictions[rows]
            beside = {name: source[rows] for name, source in self.beside.items()}
            yield run(use, place, start, array, self.labels[rows], beside, self.options)
            start += length

    def __repr__(self) -> str:
        kind = type(self.example.predictions).__name__
        return (
            f"Scan(n={self.n}, {kind}, {len(self.labels.chunks[0])} Dask chunks, engine={self.engine.name})"
        )


def scan_dask(
    predictions: Any,
    labels: Any,
    beside: dict[str, Any],
    options: ReadOptions,
    engine: Engine,
) -> DaskScan:
    """Return Dask arrays as chunks; labels and weights are cut where the predictions are."""
    array = require_module("dask.array", "a Dask array", pip("dask"))
    require_labels(labels)

    def lazy(source: Any, name: str) -> Any:
        if hasattr(source, "to_dask_array"):  # a table: its lengths have to be counted
            source = source.to_dask_array(lengths=True)
        if not hasattr(source, "__dask_graph__"):
            return array.from_array(np.asarray(source), chunks=-1)
        if not isinstance(source, array.Array):
            rule, evidence = "must be an array or a table of Dask", f"got {type(source).__name__}"
            remedy = "Make one: `dask.array.from_delayed`, or `to_dask_array(lengths=True)`."
            raise InputTypeError(f"`{name}`", rule, evidence, remedy)
        if any(length != length for length in source.shape):
            raise InputError(
                f"`{name}`",
                "must know the lengths of its chunks",
                "some are unknown",
                f"Call `{name}.compute_chunk_sizes()` first.",
            )
        return source

    predictions = lazy(predictions, "predictions")
    labels = lazy(labels.counts if isinstance(labels, LabelCounts) else labels, "labels")
    n, axis = rows_and_axis(predictions, len(labels), options.member_axis, "predictions")
    row_axis = 1 if axis == 0 and predictions.ndim == 3 else 0
    whole = {other: -1 for other in range(predictions.ndim) if other != row_axis}
    predictions = predictions.rechunk(whole)

    def cut(array_of_rows: Any, name: str) -> Any:
        require_one_per_prediction(len(array_of_rows), n, name)
        return array_of_rows.rechunk({0: predictions.chunks[row_axis]})

    names = {"weight": "sample_weight"}
    beside_rows = {
        name: cut(lazy(source, names.get(name, name)), names.get(name, name))
        for name, source in beside.items()
        if source is not None
    }
    if "weight" in beside_rows and not bool((beside_rows["weight"] != 0).any().compute()):
        raise no_weight()
    options = dataclasses.replace(options, member_axis=axis)
    return DaskScan(predictions, cut(labels, "labels"), beside_rows, options, engine)


def _itself(chunk: Dataset, name: str) -> Dataset:
    return chunk


def _on_chunk(
    use: Callable[[Dataset, str], Any],
    place: int,
    start: int,
    predictions: Any,
    labels: Any,
    beside: dict[str, Any],
    options: ReadOptions,
) -> Any:
    """Check one chunk, in the process that holds it, and work on it."""
    observed = labels if labels.ndim == 1 else LabelCounts(labels)
    piece = ArrayPiece(start, start + len(labels), predictions, observed, options=options, **beside)
    return use(piece.chunk(), f"chunk {place} of the predictions")


@checked
def scan(
    predictions: Any,
    labels: Any = None,
    *,
    kind: str | None = None,
    member_axis: int | None = None,
    member_weights: Sequence[float] | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    features: Any = None,
    clusters: Any = None,
    chunk_rows: int | None = None,
    engine: Any = None,
    skip_bad_shards: bool = False,
    drop_invalid: bool = False,
    normalise: bool = False,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    ignore_label: Any = None,
    n_raters: int | None = None,
    id: str | None = None,
    classes: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    claimed: float | None = None,
    words: Mapping[str, float | None] | None = None,
) -> Rows:
    """Return a source of chunks that `evaluate`, statistics, tests and decompositions take like predictions.

    Parameters
    ----------
    predictions : path, URL, pattern, sequence of them, array, Predictions or sequence of tuples
        Files (a pattern such as ``"runs/*.parquet"`` names several, in the order of their names; URLs such as
        ``"s3://bucket/*.npz"`` need the extra `remote`), a memory map or another array, an array or table of
        Dask, predictions, or parts, one after the other: (predictions, labels) or (predictions, labels,
        sample_weight).
    labels : path, sequence of paths, str, array or LabelCounts, optional
        What was observed; not needed if every file includes its own. A name refers to an array in the files.
    kind : str, optional
        What the numbers are, as for `load`.
    member_axis : {0, 1}, optional
        ...
    member_weights : sequence of float, optional
        Weights of the members, the same for all rows, as for `load`.
    sample_weight : array (n,), optional
        ...
    groups : array (n,) or sequence of str, optional
        Group of every instance, if the files do not include them; or the columns of the files with attributes
        that form groups, as for `load`.
    features : array (n, d), optional
        Features of the instances, if the files do not include them.
    clusters : array (n,) or str, optional
        Ids that say which rows belong together, if the files do not include them; chunks may split a cluster.
        A name refers to a column or array in the files.
    chunk_rows : int, optional
        Rows per chunk. Default: a power of two with 2^21 to 2^22 numbers. Files other than .npy and chunks of
        Dask arrays are one chunk each.
    engine : None, "serial", concurrent.futures.Executor or distributed.Client
        Where chunks are processed. Default: the current `distributed.Client` if there is one, else this
        process.
    skip_bad_shards : bool
        Leave out files that cannot be read or break a rule; the notes count and name them.
    drop_invalid, normalise, columns, exclude, ignore_label, n_raters, id, classes : optional
        How each file is read, as for `load`. Files that need one of these are read whole, each as one chunk.
    levels, claimed, words : optional
        The same.

    Returns
    -------
    Rows
        Rows in pieces; each piece is checked whenever it is read.

    Notes
    -----
    Values equal those of all rows in memory up to the rounding of sums, and p-values with a seed are the
    same: neither depends on chunks, workers or devices.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=1000)
    >>> labels = rng.integers(3, size=1000)
    >>> pieces = cr.scan(probs, labels, chunk_rows=300)
    >>> abs(float(cr.brier(pieces)) - float(cr.brier(probs, labels))) < 1e-15
    True
    """
    exclude = tuple(() if exclude is None else exclude)
    arguments = locals()
    options = ReadOptions(**{name: arguments[name] for name in _READ_OPTIONS})
    chosen = as_engine(engine)
    beside = {"groups": groups, "features": features, "clusters": clusters}
    if hasattr(predictions, "__dask_graph__") and not options.of_files_only:
        return scan_dask(predictions, labels, beside | {"weight": sample_weight}, options, chosen)
    pieces, notes = find_pieces(
        predictions, labels, sample_weight, beside, options, chunk_rows, chosen, skip_bad_shards
    )
    source = str(predictions) if isinstance(predictions, (str, PurePath)) else ""
    return Scan(tuple(pieces), chosen, tuple(notes), source)
