"""Dask arrays as chunks: every block of rows becomes one task that ends in small sums."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from credibly._arrays.engines import Engine
from credibly._arrays.errors import InputError, InputTypeError, require
from credibly._arrays.namespace import HostArray
from credibly._arrays.progress import Progress
from credibly.io.extras import pip, require_module
from credibly.io.roles import ReadOptions
from credibly.predictions import Dataset, LabelCounts, Rows
from credibly.predictions.labels import no_weight
from credibly.scale.engines import Cluster
from credibly.scale.pieces import ArrayPiece, Shape, first_rows, require_labels, rows_and_axis, work_on

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, eq=False)
class DaskScan(Rows):
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

    @property
    def n(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return int(self.predictions.shape[self._row_axis])

    @cached_property
    def example(self) -> Dataset:
        """The first rows: they tell what kind of predictions and labels all of them are."""
        return first_rows(next(iter(self._tasks(_itself))).compute())

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of every block."""
        return tuple(int(length) for length in self.predictions.chunks[self._row_axis])

    def mapped_in_place(self, work: Callable[[Dataset], T]) -> list[Any]:
        """Return ``work(chunk)`` for all blocks, kept where they are worked on."""
        if not isinstance(self.engine, Cluster):
            return list(self.map(work))
        expected = Shape.of(self.example)
        tasks = self._tasks(lambda chunk, name: work_on(work, expected, chunk, name))
        return [self.engine.client.compute(task) for task in tasks]

    def map(self, work: Callable[[Dataset], T], progress: Progress | None = None) -> Iterator[T]:
        """Yield ``work(chunk)`` for all blocks in the order of their rows."""
        expected = Shape.of(self.example)
        done = 0
        rows = self.predictions.chunks[self._row_axis]
        tasks = self._tasks(lambda chunk, name: work_on(work, expected, chunk, name))
        for length, result in zip(rows, self._run(tasks), strict=True):
            yield result
            done += length
            if progress is not None:
                progress(done, self.n)

    def with_groups(self, groups: HostArray) -> Rows:
        """Return the same rows with other groups, cut like the predictions."""
        array = require_module("dask.array", "a Dask array", pip("dask"))
        cut = array.from_array(groups, chunks=(self.lengths,))
        return dataclasses.replace(self, beside={**self.beside, "groups": cut})

    def _run(self, tasks: Iterator[Any]) -> Iterator[Any]:
        if isinstance(self.engine, Cluster):
            return self.engine.in_order(self.engine.client.compute(task) for task in tasks)
        return (task.compute() for task in tasks)

    def _tasks(self, use: Callable[[Dataset, str], Any]) -> Iterator[Any]:
        dask = require_module("dask", "a Dask array", pip("dask"))
        run = dask.delayed(_on_block, pure=False)
        start = 0
        for place, length in enumerate(self.predictions.chunks[self._row_axis]):
            rows = slice(start, start + length)
            block = self.predictions[:, rows] if self._row_axis else self.predictions[rows]
            beside = {name: array[rows] for name, array in self.beside.items()}
            yield run(use, place, start, block, self.labels[rows], beside, self.options)
            start += length

    def __repr__(self) -> str:
        kind = type(self.example.predictions).__name__
        return (
            f"Scan(n={self.n}, {kind}, {len(self.labels.chunks[0])} Dask blocks, engine={self.engine.name})"
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
                "must know the lengths of its blocks",
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
        fits, rule = len(array_of_rows) == n, f"must have one entry per prediction ({n})"
        require(fits, rule, "Check both.", **{name: len(array_of_rows)})
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


def _on_block(
    use: Callable[[Dataset, str], Any],
    place: int,
    start: int,
    block: Any,
    labels: Any,
    beside: dict[str, Any],
    options: ReadOptions,
) -> Any:
    """Check one block, in the process that holds it, and work on it."""
    observed = labels if labels.ndim == 1 else LabelCounts(labels)
    piece = ArrayPiece(start, start + len(labels), block, observed, options=options, **beside)
    return use(piece.chunk(), f"block {place} of the predictions")
