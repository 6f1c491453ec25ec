"""A sequence of datasets that can be read as often as needed; data in memory are a sequence of length one.

Whoever computes sums over instances asks for `map`, which yields one result per dataset in the order of the
rows; where and when they are read is the business of the source.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from credibly._arrays.engines import Engine
from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, is_numpy, like, namespace, to_host
from credibly._arrays.order_statistics import order_statistics
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress
from credibly.predictions.base import ClassPredictions
from credibly.predictions.clusters import Clusters, as_ids, block_ids, clusters_of, ids_of_contents, panel_ids
from credibly.predictions.dataset import Dataset, joined_rows
from credibly.predictions.labels import Classes, Counts

if TYPE_CHECKING:
    from credibly.predictions.passes import Sums

T = TypeVar("T")
Choose = Callable[[Dataset], Dataset | None]


class Rows(ABC):
    """A sequence of datasets that can be read as often as needed."""

    n: int
    """Number of rows."""
    notes: tuple[str, ...] = ()
    """What was found out about the source, or left out of it on purpose."""

    @abstractmethod
    def map(self, work: Callable[[Dataset], T], progress: Progress | None = None) -> Iterator[T]:
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

    engine: Engine = Engine()
    """Where chunks are worked on."""

    def mapped_in_place(self, work: Callable[[Dataset], T]) -> list[Any]:
        """Return ``work(chunk)`` for all chunks as `engine.folds` takes it, kept where it was computed."""
        return list(self.map(work))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of every chunk."""
        return tuple(self.map(len))

    @property
    @abstractmethod
    def example(self) -> Dataset:
        """A few rows: they tell what kind of predictions and labels all of them are."""

    def take(self, rows: HostArray, progress: Progress | None = None) -> Dataset:
        """Return some rows in memory, in one pass.

        Parameters
        ----------
        rows : ndarray of int
            Which rows, increasing.
        progress : callable, optional
            Called with (done, total) rows.

        Returns
        -------
        Dataset
            The rows, one after the other.
        """
        parts = self.map(partial(_rows_inside, rows), progress)
        return joined_rows([part for part in parts if part is not None])

    def loaded(self, most: int = 0) -> Dataset | None:
        """Return all rows in memory; None where they are not there yet and more than `most`.

        Parameters
        ----------
        most : int
            Rows that are taken into memory for this.

        Returns
        -------
        Dataset or None
            All rows.
        """
        return self.take(np.arange(self.n)) if self.n <= most else None

    def changed(self, change: Callable[[Dataset], Dataset]) -> Rows:
        """Return all rows as `change` returns them, chunk by chunk."""
        return RowChoice(self, self.n, change)

    def blocked(self, blocks: int) -> Rows:
        """Return the same rows in blocks of at least so many consecutive ones, within clusters if given."""
        if self.example.clusters is None:
            return self.changed(partial(_blocked, blocks, self.n))
        ids = np.concatenate(list(self.map(_clusters)))
        return self.changed(partial(_of_panel, panel_ids(ids, blocks)))

    @cached_property
    def clusters(self) -> Clusters | None:
        """Which rows belong together; None where all are independent."""
        if self.example.clusters is None:
            return None
        return clusters_of(list(self.map(_clusters)))

    def cluster_codes(self) -> HostArray | None:
        """Return the number of the cluster of every row, (n,); None where all are independent."""
        clusters = self.clusters
        return None if clusters is None else clusters.codes(np.concatenate(list(self.map(_clusters))))

    def of_group(self, group: Any, size: int) -> Rows:
        """Return the `size` rows of a group."""
        return RowChoice(self, size, partial(group_rows, group))

    @abstractmethod
    def with_groups(self, groups: HostArray) -> Rows:
        """Return the same rows with other groups, one entry per row, each chunk with its own."""

    @property
    def arguments(self) -> tuple[Any, Any]:
        """Predictions and labels as public functions take them: these rows, which bring everything."""
        return self, None

    def also(self, *names: str) -> dict[str, Any]:
        """Return further arguments of public functions, such as groups: none, because the rows bring them."""
        return {}

    def merged(
        self, works: Sequence[Callable[[Dataset], Sums]], progress: Progress | None = None
    ) -> tuple[Sums, ...]:
        """Add up what every work finds over all rows.

        Parameters
        ----------
        works : sequence of callable
            Each returns `Sums` over the rows of a dataset.
        progress : callable, optional
            Called with (done, total) rows.

        Returns
        -------
        tuple of Sums
            One per work, on the host.
        """
        from credibly.predictions.passes import merged_leaves  # written against this module

        return merged_leaves(self, works, progress)

    def ranked(
        self, values_of: Callable[[Dataset], Array], ranks: HostArray, *, weighted: bool = False
    ) -> HostArray:
        """Return the numbers of these ranks among the values of all rows, exactly.

        Parameters
        ----------
        values_of : callable
            Returns (n,) or (n, columns) numbers of some rows; made of plain functions and frozen settings.
        ranks : ndarray (r,)
            Ranks from 0, ascending.
        weighted : bool
            Ranks are sums of weights: that of a row is the sum over all rows before it.

        Returns
        -------
        ndarray (r,) or (columns, r)
            What a sort would put there, in every column.
        """
        first = values_of(self.example)
        columns = 1 if first.ndim == 1 else first.shape[1]
        ordered = order_statistics(
            lambda use: self.map(partial(_use, use, values_of, weighted)), ranks, columns
        )
        return ordered[0] if first.ndim == 1 else ordered

    def at_once(self, what: str, why: str = "it is a function of all predictions at once") -> Dataset:
        """Return all rows as one dataset, where they are in memory; raise in the name of `what` elsewhere."""
        raise UnsupportedError(
            f"{what} of rows in chunks",
            "must be a sum over instances",
            why,
            "Gather the mean predictions first: `chunks.gather()`, n k numbers in memory."
            if isinstance(self.example.predictions, ClassPredictions)
            else "Read all rows into memory: `load(path)`, or arrays in place of chunks.",
        )

    def __len__(self) -> int:
        return self.n


def _use(use: Callable[..., T], values_of: Callable[[Dataset], Array], weighted: bool, chunk: Dataset) -> T:
    values = to_host(values_of(chunk))
    return use(values.reshape(len(values), -1), weights_of_rows(chunk) if weighted else None)


def weights_of_rows(chunk: Dataset) -> HostArray:
    """Return the weights of the rows, (n,), on the host; 1 without weights."""
    weights = chunk.checked_weights
    return np.ones(len(chunk)) if weights is None else np.asarray(to_host(weights)[0], dtype=np.float64)


def _rows_inside(rows: HostArray, chunk: Dataset) -> Dataset | None:
    begin, end = np.searchsorted(rows, [chunk.start, chunk.start + len(chunk.predictions)])
    return chunk.take(rows[begin:end] - chunk.start) if begin < end else None


def _clusters(chunk: Dataset) -> HostArray:
    return as_ids(chunk.clusters, len(chunk.predictions))


@dataclasses.dataclass(frozen=True, eq=False)
class InMemory(Rows):
    """All rows at once: a sequence of one dataset, on its device and with its graph."""

    whole: Dataset

    @property
    def n(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self.whole.predictions)

    @property
    def example(self) -> Dataset:
        """All rows: they are there."""
        return self.whole

    def map(self, work: Callable[[Dataset], T], progress: Progress | None = None) -> Iterator[T]:
        """Yield ``work(all rows)``."""
        yield work(self.whole)
        if progress is not None:
            progress(self.n, self.n)

    def take(self, rows: HostArray, progress: Progress | None = None) -> Dataset:
        """Return some of the rows."""
        return self.whole.take(rows)

    def loaded(self, most: int = 0) -> Dataset:
        """Return all rows, however many."""
        return self.whole

    def changed(self, change: Callable[[Dataset], Dataset]) -> Rows:
        """Return all rows as `change` returns them."""
        return InMemory(change(self.whole))

    def with_groups(self, groups: HostArray) -> Rows:
        """Return the same rows with other groups."""
        return InMemory(dataclasses.replace(self.whole, groups=groups))

    def of_group(self, group: Any, size: int) -> Rows:
        """Return the rows of a group."""
        rows_of_group = group_rows(group, self.whole)
        assert rows_of_group is not None
        return InMemory(rows_of_group)

    @property
    def arguments(self) -> tuple[Any, Any]:
        """Predictions and labels as public functions take them; with clusters or names, rows bring both."""
        if self.whole.clusters is not None or self.whole.classes is not None:
            return dataclasses.replace(self.whole, notes=()), None  # which the predictions have by now
        return self.whole.predictions, self.whole.labels

    def also(self, *names: str) -> dict[str, Any]:
        """Return further arguments of public functions by name: groups, clusters."""
        return {name: getattr(self.whole, name) for name in names}

    def merged(
        self, works: Sequence[Callable[[Dataset], Sums]], progress: Progress | None = None
    ) -> tuple[Sums, ...]:
        """Let every work see all rows as they are: on their device, with their graph, in one piece."""
        sums = [work(self.whole) for work in works]
        if progress is not None:
            progress(self.n, self.n)
        return tuple(sums)

    def ranked(
        self, values_of: Callable[[Dataset], Array], ranks: HostArray, *, weighted: bool = False
    ) -> HostArray:
        """Sort the values where they are."""
        if weighted:
            return super().ranked(values_of, ranks, weighted=True)
        values = values_of(self.whole)
        if is_numpy(values):
            return np.moveaxis(np.sort(values, axis=0)[ranks], 0, -1)
        xp = namespace(values)
        ordered = xp.take(xp.sort(values, axis=0), like(ranks, values), axis=0)
        return np.moveaxis(to_host(ordered), 0, -1)

    def at_once(self, what: str, why: str = "") -> Dataset:
        """Return all rows."""
        return self.whole


@dataclasses.dataclass(frozen=True, eq=False)
class RowChoice(Rows):
    """Chosen rows of other chunks, or all of them as something sees them; empty chunks are passed over.

    Attributes
    ----------
    whole : Rows
        All rows.
    n : int
        How many rows are chosen.
    choose : callable
        Returns the chosen rows of a chunk, or None; it is sent to other processes.
    """

    whole: Rows
    n: int
    choose: Choose

    @property
    def engine(self) -> Engine:  # type: ignore[override]
        """Where chunks are worked on."""
        return self.whole.engine

    @property
    def example(self) -> Dataset:
        """The first rows of the whole: kinds and sizes are the same everywhere."""
        some = self.whole.example
        return (self.choose(some) or some) if self.n == self.whole.n else some

    def with_groups(self, groups: HostArray) -> Rows:
        """Return the same rows with other groups; only for a choice of all rows."""
        assert self.n == self.whole.n
        return dataclasses.replace(self, whole=self.whole.with_groups(groups))

    def map(self, work: Callable[[Dataset], T], progress: Progress | None = None) -> Iterator[T]:
        """Yield ``work(chosen rows)`` for all chunks that have some."""
        results = self.whole.map(partial(_work_on_chosen, work, self.choose), progress)
        return (result[0] for result in results if result is not None)


def _work_on_chosen(work: Callable[[Dataset], T], choose: Choose, chunk: Dataset) -> tuple[T] | None:
    chosen = choose(chunk)
    return None if chosen is None else (work(chosen),)


def group_rows(group: Any, chunk: Dataset) -> Dataset | None:
    """Return the rows of a group in a chunk; None where there are none."""
    assert chunk.groups is not None
    return _taken(chunk, np.flatnonzero(chunk.groups == group))


def rows_up_to(seed: Seed, stream: Stream, most: float, chunk: Dataset) -> Dataset | None:
    """Return the rows whose uniform number is at most `most`; every chunk knows its own numbers."""
    numbers = slice(chunk.start, chunk.start + len(chunk.predictions))
    return _taken(chunk, np.flatnonzero(Uniforms(seed, stream).draw(slice(0, 1), numbers)[0] <= most))


def _taken(chunk: Dataset, rows: HostArray) -> Dataset | None:
    return chunk.take(rows) if rows.size else None


def with_copies_together(chunk: Dataset) -> Dataset:
    """Return all rows, those with equal predictions and label in one cluster."""
    if chunk.labels is None:
        raise InputError(
            '`clusters="copies"`',
            "needs labels: copies are rows with the same predictions and label",
            "got predictions alone",
            "Give the labels too, or ids that say which rows belong together.",
        )
    ids = ids_of_contents([*predicted_parts(chunk), observed_part(chunk)])
    return dataclasses.replace(chunk, clusters=ids)


def predicted_parts(chunk: Dataset) -> list[HostArray]:
    """Return what is predicted of every row, (n, ...) each, on the host."""
    return [to_host(part) for part in chunk.predictions.row_arrays().values()]


def observed_part(chunk: Dataset) -> HostArray:
    """Return what was observed, (n, ...), on the host."""
    return np.asarray(to_host(chunk.batch.values)[0])


def _of_panel(ids: HostArray, chunk: Dataset) -> Dataset:
    """Return all rows in the clusters that `ids` of the rows of all chunks name."""
    return dataclasses.replace(chunk, clusters=ids[chunk.start : chunk.start + len(chunk.predictions)])


def _blocked(blocks: int, n: int, chunk: Dataset) -> Dataset:
    """Return all rows, in clusters of at least `blocks` consecutive ones."""
    return dataclasses.replace(chunk, clusters=block_ids(blocks, chunk.start, len(chunk.predictions), n))


def one_rater(rows: Rows, seed: Seed) -> tuple[Rows, tuple[str, ...]]:
    """Return rows with one label per instance, and a note where it was drawn from several raters."""
    if not isinstance(rows.example.batch, Counts):
        return rows, ()
    note = (
        "one label per instance was tested, drawn from its raters with the seed of the test, because "
        "labels of one instance are not independent"
    )
    if isinstance(rows.example.predictions, ClassPredictions):  # which sets without probabilities are not
        note += "; `validity_test` uses all of them"
    return rows.changed(partial(_one_rater, seed)), (note,)


def _one_rater(seed: Seed, chunk: Dataset) -> Dataset:
    """Return all rows with the label of one rater each, which the seed and the row's number decide."""
    counts = chunk.batch
    assert isinstance(counts, Counts)
    table = to_host(counts.values)[0].astype(np.float64)
    numbers = slice(chunk.start, chunk.start + len(table))
    place = Uniforms(seed, Stream.RATERS).draw(slice(0, 1), numbers)[0] * table.sum(axis=1)
    # the last class that anybody gave, where the place rounds up to the number of raters
    last = counts.n_classes - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
    drawn = np.minimum((place[:, None] >= np.cumsum(table, axis=1)).sum(axis=1), last)
    batch = Classes(like(drawn[None], counts.values), counts.n_classes, counts.weights)
    return dataclasses.replace(chunk, labels=batch, weights=None)
