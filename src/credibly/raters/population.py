"""Which rows have enough raters, and how they are read: tile by tile, as often as needed."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np

from credibly._arrays.errors import InputTypeError, UnsupportedError, require_type
from credibly._arrays.namespace import Array, as_float64, namespace, tiles, to_host
from credibly._arrays.notes import counted
from credibly.predictions import (
    ClassPredictions,
    Counts,
    Dataset,
    Dirichlet,
    Ensemble,
    LabelCounts,
    Point,
    Rows,
)
from credibly.raters.moments import instances_last
from credibly.statistics.protocol import State

_TILE_ELEMENTS = 2**16
S = TypeVar("S")


def class_predictions(data: Dataset) -> ClassPredictions:
    """Return the predictions of some rows, or raise where they are not over classes."""
    if isinstance(data.predictions, ClassPredictions):
        return data.predictions
    raise InputTypeError(
        "predictions",
        "must be over classes",
        f"got {type(data.predictions).__name__}",
        "Several labels per instance are supported only for classes.",
    )


def ratings(data: Dataset) -> tuple[Array, Array, Array | None]:
    """Return label frequencies (k, n), numbers of raters (n,) and weights (n,) in double precision."""
    counts, weights = as_float64(instances_last(data.batch.values[0, ...])), data.batch.weights
    raters = _raters(counts, axis=0)
    return counts / raters, raters, None if weights is None else weights[0, :]


def _raters(counts: Array, axis: int) -> Array:
    """Return raters per instance, whole also where soft labels are not."""
    xp = namespace(counts)
    return xp.round(xp.sum(counts, axis=axis))


@dataclasses.dataclass(frozen=True)
class _Survey:
    """What some rows tell before anything is computed."""

    n: int
    n_left_out: int
    raters: tuple[float, float]
    n_classes: int
    notes: tuple[str, ...]
    mean_note: str
    has_members: bool


def _survey(least: int, data: Dataset) -> _Survey:
    """Check rows, and count those with enough raters."""
    require_type(
        isinstance(data.labels, (LabelCounts, Counts)),
        "must be LabelCounts: how many raters gave each label",
        "Wrap them: `LabelCounts(counts)`, or use one of its `from_` constructors.",
        counts=data.labels,
    )
    predictions = class_predictions(data)
    totals = to_host(_raters(data.batch.values[0, ...], axis=-1))
    enough = totals >= least
    ends = (float(totals[enough].min()), float(totals[enough].max())) if enough.any() else (np.inf, 0.0)
    label_notes = data.labels.notes if isinstance(data.labels, LabelCounts) else ()
    return _Survey(
        int(enough.sum()),
        int((~enough).sum()),
        ends,
        predictions.n_classes,
        (*predictions.notes, *label_notes),
        predictions.mean_note,
        isinstance(predictions, (Point, Ensemble, Dirichlet)),
    )


class Population:
    """Rows with at least `least` raters; others do not count.

    Parameters
    ----------
    rows : Rows
        Read several times.
    least : int
        Raters an instance must have.
    mean_noted : bool
        Whether the mean stands for a set of predictions, which the notes then say.
    """

    def __init__(self, rows: Rows, least: int, *, mean_noted: bool) -> None:
        self.rows, self.least = rows, least
        self.n = self.n_left_out = 0
        self.n_classes = 0
        self.reduced_to_mean: str | None = None
        notes: dict[str, None] = {}
        low, high = np.inf, 0.0
        for survey in rows.map(partial(_survey, least)):
            self.n += survey.n
            self.n_left_out += survey.n_left_out
            low, high = min(low, survey.raters[0]), max(high, survey.raters[1])
            self.n_classes = survey.n_classes
            notes.update(dict.fromkeys(survey.notes))
            if not survey.has_members:
                self.reduced_to_mean = self.reduced_to_mean or survey.mean_note
            if mean_noted and survey.mean_note:
                notes[survey.mean_note] = None
        if self.n == 0:
            raise UnsupportedError(
                "a decomposition over raters",
                f"needs instances with at least {least} raters",
                f"none of {counted(self.n_left_out, 'instance')} has",
                "With one label per instance use `decompose_brier`."
                if least == 2
                else "Use a statistic of fewer raters.",
            )
        self.raters = (float(low), float(high))
        if self.n_left_out:
            noun = "row has" if self.n_left_out == 1 else "rows have"
            message = (
                f"{self.n_left_out} of {self.n + self.n_left_out} {noun} fewer than {least} raters, too "
                f"few to show how labels vary; they are left out of all terms"
            )
            notes[message] = None
            warnings.warn(message, UserWarning, stacklevel=3)
        self.notes = tuple(notes)

    def reduce(self, work: Callable[[Iterator[Dataset]], S], *, least: int | None = None) -> Iterator[S]:
        """Yield ``work(tiles)`` for every dataset, given the tiles of its rows with enough raters."""
        if least is None:
            least = self.least if self.n_left_out else 1
        return self.rows.map(partial(_on_tiles, work, least))

    def map(self, function: Callable[[Dataset], S], *, least: int | None = None) -> Iterator[S]:
        """Yield ``function(tile)`` over all tiles of the population, in order."""
        for results in self.reduce(partial(_listed, function), least=least):
            yield from results

    def sum(self, function: Callable[[Dataset], State], *, least: int | None = None) -> State:
        """Add up ``function(tile)`` over all tiles."""
        parts = self.reduce(partial(_summed, function), least=least)
        total = _added(part for part in parts if part is not None)
        assert total is not None
        return total


# Functions of a module and `partial`, no closures: work on a chunk may be sent to another process.


def _on_tiles(work: Callable[[Iterator[Dataset]], S], least: int, data: Dataset) -> S:
    return work(_tiles_of(data, least))


def _listed(function: Callable[[Dataset], S], tiles_of_rows: Iterator[Dataset]) -> list[S]:
    return [function(tile) for tile in tiles_of_rows]


def _summed(function: Callable[[Dataset], State], tiles_of_rows: Iterator[Dataset]) -> State | None:
    return _added(function(tile) for tile in tiles_of_rows)


def _tiles_of(data: Dataset, least: int) -> Iterator[Dataset]:
    """Yield the tiles of some rows without those that have too few raters; none that is empty."""
    width = int(np.prod(data.predictions._leading.shape[1:]))
    rated = None if least == 1 else to_host(_raters(data.batch.values[0, ...], axis=-1)) >= least
    for rows in tiles(len(data), _TILE_ELEMENTS // width):
        tile = data.rows(rows)
        enough = None if rated is None else np.flatnonzero(rated[rows])
        if enough is None or enough.size == len(tile):
            yield tile
        elif enough.size:
            yield tile.take(enough)


def _added(states: Iterable[State]) -> State | None:
    total: State | None = None
    for state in states:
        total = state if total is None else total + state
    return total
