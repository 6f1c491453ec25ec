"""One pass over rows that come in chunks: several things are summed up at once, and the sums are merged.

Every chunk is cut into leaves that stay in a core's cache, by the index of the row: all sums of a leaf are
taken while it is there, and chunks that end where leaves end change no bit of a result.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.namespace import is_numpy, is_torch, keep_freed_memory, to_host
from credibly._arrays.progress import Progress
from credibly._arrays.sums import RowSums, Span, State, leaves
from credibly.predictions.base import ClassPredictions, Predictions
from credibly.predictions.dataset import Dataset
from credibly.predictions.point import Point
from credibly.predictions.regression import Gaussian
from credibly.predictions.rows import InMemory, Rows
from credibly.predictions.samples import Samples
from credibly.results.estimates import Estimate

_LEAF_ELEMENTS = 2**17
_DEVICE_ELEMENTS = 2**24


@dataclasses.dataclass(frozen=True)
class Sums:
    """Named sums over some rows.

    Attributes
    ----------
    states : dict of str to State
        The sums.
    notes : tuple of str
        What is worth knowing about these rows; each is kept once.
    """

    states: dict[str, State]
    notes: tuple[str, ...] = ()

    def on_host(self) -> Sums:
        """Return the sums as NumPy arrays: small, and the same for every library and device."""
        return Sums({name: on_host(state) for name, state in self.states.items()}, self.notes)

    def __add__(self, other: Sums) -> Sums:
        states = {**other.states, **self.states}  # a group may have no rows in one of them
        for name in self.states.keys() & other.states.keys():
            states[name] = self.states[name] + other.states[name]
        return Sums(states, tuple(dict.fromkeys((*self.notes, *other.notes))))


class Task(ABC):
    """What a pass sums up, and what the sums mean."""

    @abstractmethod
    def sums(self, chunk: Dataset) -> Sums:
        """Return sums over the rows of a chunk."""

    @abstractmethod
    def finish(self, total: Sums) -> dict[str, Estimate]:
        """Turn the sums over all rows into estimates."""


def one_pass(
    chunks: Rows, tasks: Sequence[Task], progress: Progress | None = None
) -> list[dict[str, Estimate]]:
    """Read all rows once for several tasks.

    Parameters
    ----------
    chunks : Rows
        The rows.
    tasks : sequence of Task
        What to sum up.
    progress : callable, optional
        Called with (done, total) rows.

    Returns
    -------
    list of dict
        The estimates of every task, by name.
    """
    totals = chunks.merged([task.sums for task in tasks], progress)
    return [task.finish(total) for task, total in zip(tasks, totals, strict=True)]


def merged_leaves(
    chunks: Rows, works: Sequence[Callable[[Dataset], Sums]], progress: Progress | None
) -> tuple[Sums, ...]:
    """Add up what every work finds in the leaves of chunks; rounding grows with the log of their number."""
    leaf = leaf_rows(chunks.example)
    sums = RowSums(leaf, _added)
    for spans in chunks.map(partial(_in_leaves, works, leaf), progress):
        for span in spans:
            sums.push(span)
    return sums.total()


def leaf_rows(example: Dataset) -> int:
    """Return the rows of a leaf, a power of two: on the host what stays in cache, elsewhere far more.

    It follows from the shape of a row, so that chunks of any size are cut at the same places.
    """
    predictions = example.predictions
    k = predictions.n_classes if isinstance(predictions, ClassPredictions) else 1
    elements = _LEAF_ELEMENTS if is_numpy(predictions._leading) else _DEVICE_ELEMENTS
    per_row = max(k, k * predictions.n_members // 8)  # members are read in tiles, their mean is kept
    return int(2 ** max(0, (elements // per_row).bit_length() - 1))


def _in_leaves(
    works: Sequence[Callable[[Dataset], Sums]], leaf: int, chunk: Dataset
) -> list[Span[tuple[Sums, ...]]]:
    """Apply work to the leaves of a chunk and add up what may be added."""
    keep_freed_memory()
    sums = RowSums(leaf, _added)
    for rows in leaves(chunk.start, chunk.start + len(chunk), leaf):
        rows_of_leaf = chunk.rows(rows)
        part = dataclasses.replace(rows_of_leaf, predictions=remembering(rows_of_leaf.predictions))
        sums_of_leaf = tuple(work(part).on_host() for work in works)
        sums.push(Span(part.start, chunk.start + rows.stop, sums_of_leaf))
    return sums.spans


def remembering(predictions: Predictions) -> Predictions:
    """Return the same predictions, which compute what several statistics ask for once.

    That is the mean of members, quantiles and spreads of normal mixtures, and the order of draws. The copy
    lives as long as one computation: arrays of the caller may change later.
    """
    mixed = isinstance(predictions, Gaussian) and predictions.n_members > 1
    averaged = isinstance(predictions, ClassPredictions) and not isinstance(predictions, Point)
    drawn = isinstance(predictions, Samples)
    if predictions.memo is not None or not (mixed or averaged or drawn):
        return predictions
    kept = copy.copy(predictions)
    kept._set(memo={})
    return kept


def forget(rows: Rows) -> None:
    """Let go of what predictions in memory remember: results may hold the rows."""
    whole = rows.loaded()
    if whole is not None and whole.predictions.memo is not None:
        whole.predictions.memo.clear()


def detached(rows: Rows) -> Rows:
    """Return rows in memory outside any graph, for one computation; chunks as they are.

    A test never goes backward through its replicates, and every statistic asks for the mean.
    """
    whole = rows.loaded()
    if whole is None:
        return rows
    predictions = remembering(without_graph(whole.predictions))
    if predictions is whole.predictions:
        return rows
    return InMemory(dataclasses.replace(whole, predictions=predictions))


def without_graph(predictions: Any) -> Any:
    """Return the predictions outside any graph."""
    if not is_torch(predictions._leading):
        return predictions
    weights = getattr(predictions, "weights", None)
    arrays = predictions.row_arrays() | ({} if weights is None else {"weights": weights})
    return predictions.replace_rows(**{name: array.detach() for name, array in arrays.items()})


def _added(first: tuple[Sums, ...], second: tuple[Sums, ...]) -> tuple[Sums, ...]:
    return tuple(sums + other for sums, other in zip(first, second, strict=True))


def on_host(state: State) -> State:
    """Return the sums as NumPy arrays: small, and the same for every library and device."""
    return type(state)({name: np.asarray(to_host(value)) for name, value in state.items()})
