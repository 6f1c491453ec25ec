"""Which rows have enough raters, and how they are read: in tiles, in chunks, as often as needed."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, as_float64, like, namespace, to_host
from credibly._arrays.tiles import tiles
from credibly.annotators.moments import instances_last
from credibly.predictions import (
    ClassPredictions,
    Counts,
    Dirichlet,
    Ensemble,
    LabelCounts,
    Point,
    Rows,
    as_labels,
    as_predictions,
    require_order,
)
from credibly.statistics import State

_TILE_ELEMENTS = 2**16
S = TypeVar("S")


@dataclasses.dataclass(frozen=True)
class RatedRows:
    """Checked predictions of some rows, their label counts (n, k), rater numbers (n,) and weights (n,)."""

    predictions: ClassPredictions
    counts: Array
    totals: Array
    weight: Array | None
    notes: tuple[str, ...] = ()

    def tile(self, rows: slice, least: int) -> RatedRows | None:
        """Return the rows of a slice with at least `least` raters; None where there are none."""
        weight = None if self.weight is None else self.weight[rows]
        part = RatedRows(self.predictions[rows], self.counts[rows, :], self.totals[rows], weight)
        enough = np.flatnonzero(to_host(part.totals) >= least)
        if enough.size == part.totals.shape[0]:
            return part
        if enough.size == 0:
            return None

        def taken(array: Array) -> Array:
            return namespace(array).take(array, like(enough, array), axis=0)

        weight = None if weight is None else taken(weight)
        return RatedRows(part.predictions[enough], taken(part.counts), taken(part.totals), weight)

    @property
    def frequencies(self) -> tuple[Array, Array]:
        """Return label frequencies (k, n) and numbers of raters (n,), in double precision."""
        totals = as_float64(self.totals)
        return as_float64(instances_last(self.counts)) / totals, totals


@dataclasses.dataclass(frozen=True)
class _Survey:
    """What one chunk tells before anything is computed."""

    n: int
    n_left_out: int
    raters: tuple[float, float]
    n_classes: int
    notes: tuple[str, ...]
    mean_note: str
    has_members: bool


def survey(chunk: RatedRows, least: int) -> _Survey:
    """Count the rows of a chunk with enough raters."""
    totals = to_host(chunk.totals)
    enough = totals >= least
    ends = (float(totals[enough].min()), float(totals[enough].max())) if enough.any() else (np.inf, 0.0)
    given = chunk.predictions
    spread = isinstance(given, (Point, Ensemble, Dirichlet))
    return _Survey(
        int(enough.sum()),
        int((~enough).sum()),
        ends,
        given.n_classes,
        chunk.notes,
        given.mean_note or "",
        spread,
    )


def from_piece(piece: Any) -> RatedRows:
    """Return a chunk of a scan as a chunk over raters."""
    if not isinstance(piece.batch, Counts):
        raise InputTypeError(
            "the labels of the chunks",
            "must be LabelCounts: how many raters gave each label",
            f"got {type(piece.batch).__name__.lower()}",
            "Scan with `labels=LabelCounts(counts)`, or files that hold `label_counts`.",
        )
    weights = piece.batch.weights
    chunk = check_chunk(piece.predictions, LabelCounts(piece.batch.values[0, ...]))
    return chunk if weights is None else dataclasses.replace(chunk, weight=weights[0, :])


def check_chunk(predictions: Any, counts: Any, sample_weight: Any = None) -> RatedRows:
    """Return predictions and counts as a chunk, or raise with what is wrong."""
    require_order(predictions, counts)
    given = as_predictions(predictions)
    if not isinstance(counts, LabelCounts):
        raise InputTypeError(
            "`counts`",
            "must be LabelCounts: how many raters gave each label",
            f"got {type(counts).__name__}",
            "Wrap them: `LabelCounts(counts)`, or use one of its `from_` constructors.",
        )
    if not isinstance(given, ClassPredictions):
        raise InputTypeError(
            "predictions",
            "must be over classes",
            f"got {type(given).__name__}",
            "Several labels per instance are known for classes only.",
        )
    batch = as_labels(given, counts, sample_weight)
    weight = None if batch.weights is None else batch.weights[0, :]
    return RatedRows(given, counts.counts, counts.totals, weight, (*given.notes, *counts.notes))


class Population:
    """Rows of rows, of which only those with at least `least` raters count.

    Parameters
    ----------
    rows : Rows or RatedRows
        Read several times.
    least : int
        Raters an instance must have.
    mean_noted : bool
        Whether the mean stands for a set of predictions, which the notes then say.
    """

    def __init__(self, rows: Rows | RatedRows, least: int, *, mean_noted: bool) -> None:
        self._rows, self.least = rows, least
        self.n = self.n_left_out = 0
        self.n_classes = 0
        self.reduced_to_mean: str | None = None
        notes: dict[str, None] = {}
        low, high = np.inf, 0.0
        for found in self._each(partial(survey, least=least)):
            self.n += found.n
            self.n_left_out += found.n_left_out
            low, high = min(low, found.raters[0]), max(high, found.raters[1])
            self.n_classes = found.n_classes
            notes.update(dict.fromkeys(found.notes))
            if not found.has_members:
                self.reduced_to_mean = self.reduced_to_mean or found.mean_note
            if mean_noted and found.mean_note:
                notes[found.mean_note] = None
        if self.n == 0:
            raise UnsupportedError(
                "a decomposition over raters",
                f"needs instances with at least {least} raters",
                f"none of {self.n_left_out} instances has",
                "With one label per instance use `decompose_brier`."
                if least == 2
                else "Use a statistic of fewer raters.",
            )
        self.raters = (float(low), float(high))
        if self.n_left_out:
            noun = "row has" if self.n_left_out == 1 else "rows have"
            message = (
                f"{self.n_left_out} of {self.n + self.n_left_out} {noun} fewer than {least} raters and "
                "cannot show how labels spread; they are left out of all terms"
            )
            notes[message] = None
            warnings.warn(message, UserWarning, stacklevel=4)
        self.notes = tuple(notes)

    def _each(self, work: Callable[[RatedRows], S]) -> Iterator[S]:
        """Yield ``work(chunk)`` for every chunk; a scan works on them where they are read."""
        if isinstance(self._rows, Rows):
            return self._rows.map(partial(_on_piece, work))
        return iter([work(self._rows)])

    def reduce(self, work: Callable[[Iterator[RatedRows]], S], *, least: int | None = None) -> Iterator[S]:
        """Yield ``work(tiles)`` for every chunk, given the tiles of its rows with enough raters."""
        return self._each(partial(_on_tiles, work, self.least if least is None else least))

    def map(self, function: Callable[[RatedRows], S], *, least: int | None = None) -> Iterator[S]:
        """Yield ``function(tile)`` over all tiles of the population, in order."""
        for found in self.reduce(partial(_listed, function), least=least):
            yield from found

    def sum(self, function: Callable[[RatedRows], State], *, least: int | None = None) -> State:
        """Add up ``function(tile)`` over all tiles."""
        parts = self.reduce(partial(_summed, function), least=least)
        total = _added(part for part in parts if part is not None)
        assert total is not None
        return total


# Functions of a module and `partial`, no closures: work on a chunk may be sent to another process.


def _on_piece(work: Callable[[RatedRows], S], piece: Any) -> S:
    return work(from_piece(piece))


def _on_tiles(work: Callable[[Iterator[RatedRows]], S], least: int, chunk: RatedRows) -> S:
    return work(_tiles_of(chunk, least))


def _listed(function: Callable[[RatedRows], S], own: Iterator[RatedRows]) -> list[S]:
    return [function(tile) for tile in own]


def _summed(function: Callable[[RatedRows], State], own: Iterator[RatedRows]) -> State | None:
    return _added(function(tile) for tile in own)


def _tiles_of(chunk: RatedRows, least: int) -> Iterator[RatedRows]:
    """Yield the tiles of one chunk that have rows with enough raters."""
    width = int(np.prod(chunk.predictions._leading.shape[1:]))
    for rows in tiles(len(chunk.predictions), _TILE_ELEMENTS // width):
        tile = chunk.tile(rows, least)
        if tile is not None:
            yield tile


def _added(states: Iterable[State]) -> State | None:
    total: State | None = None
    for state in states:
        total = state if total is None else total + state
    return total
