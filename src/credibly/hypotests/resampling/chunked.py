"""Replicates of rows that come in chunks: every replicate's sums, merged, then finished.

A replicate's label of row i depends on the seed, the replicate and i alone, so the same labels are drawn
whatever the chunks. Where the sums of all replicates would not fit the memory budget, replicates go in
batches and the data are read once for each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.merging import State
from credibly._arrays.namespace import HostArray, like, to_host
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress
from credibly._arrays.tiles import blas_threads, rows_within_budget, tiles
from credibly.hypotests.resampling.loop import (
    Drawing,
    columns_of,
    replicates_per_tile,
    resampled_values,
    with_observed,
)
from credibly.hypotests.resampling.members import Hypothesis, LabelSource
from credibly.hypotests.resampling.replicates import replicates_of
from credibly.hypotests.resampling.shared import selected
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Counts,
    Dataset,
    Predictions,
    Reals,
    Rows,
    as_point,
)
from credibly.predictions.passes import Sums, merged, on_host
from credibly.statistics import Bound, Statistic, Subsampled
from credibly.statistics.over_rows import planned

Draw = Callable[[int, Predictions], Drawing]
"""From the index of the first row and the predictions of some rows to their labels."""

_PICKED = "labels of picked rows"


@dataclasses.dataclass(frozen=True)
class Counted:
    """What is summed for every replicate: a bound statistic, of all rows or of those of a group.

    Attributes
    ----------
    bind : callable
        From predictions of some rows to the bound statistic.
    group : object
        Which group; None for all rows.
    """

    bind: Callable[[Predictions], Bound]
    group: Any = None

    def rows(self, chunk: Dataset) -> HostArray | None:
        """Return which rows of a chunk it is about; None for all."""
        if self.group is None:
            return None
        assert chunk.groups is not None
        return np.flatnonzero(chunk.groups == self.group)


class Kept(State):
    """Labels as they are: what follows in the order of rows is put beside them."""

    def __add__(self, other: State) -> Kept:
        return Kept({name: np.concatenate([self[name], other[name]], axis=1) for name in self})


def consistent(seed: Seed) -> Draw:
    """Return labels drawn from what is predicted for their row."""
    return partial(_consistent, seed)


def under(hypothesis: Hypothesis, seed: Seed, members: HostArray | None) -> Draw:
    """Return labels under a hypothesis of predictive checks."""
    return partial(_under, hypothesis, seed, members)


def _consistent(seed: Seed, start: int, rows: Predictions) -> Drawing:
    return replicates_of(rows, seed, start)


def _under(
    hypothesis: Hypothesis, seed: Seed, members: HostArray | None, start: int, rows: Predictions
) -> Drawing:
    return LabelSource(rows, hypothesis, seed, members).part(slice(start, start + len(rows)), rows)


def replicated_over(
    counted: Mapping[str, Counted],
    draws: Mapping[str, Draw],
    chunks: Rows,
    n_resamples: int,
    progress: Progress | None = None,
    picked: HostArray | None = None,
) -> Iterator[tuple[slice, Sums]]:
    """Yield batches of replicates with their sums over all rows, the observation in front of the first.

    Parameters
    ----------
    counted : mapping of str to Counted
        What is summed.
    draws : mapping of str to callable
        Where labels come from; the sums of ``name`` under ``source`` are ``states[source + name]``.
    chunks : Rows
        The rows.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).
    picked : ndarray of int, optional
        Rows whose labels are kept as well, increasing.

    Yields
    ------
    tuple of slice and Sums
        Which replicates, and their sums.
    """
    sample = chunks.sample
    states = [on_host(one.bind(sample.predictions).state(sample.labels)) for one in counted.values()]
    numbers = len(draws) * sum(value.size for state in states for value in state.values())
    kept = 0 if picked is None else picked.size
    for reps in tiles(n_resamples, rows_within_budget(8 * (numbers + kept), 0.25)):
        report = None
        if progress is not None:

            def report(done: int, total: int, reps: slice = reps) -> None:
                progress(reps.start + (reps.stop - reps.start) * done // total, n_resamples)

        (total,) = merged(chunks, [_Replicated(dict(counted), dict(draws), reps, picked)], report)
        yield reps, total


@dataclasses.dataclass(frozen=True, eq=False)
class _Replicated:
    """The work on one chunk: sums of the observed labels (with the first batch) and of `reps`."""

    counted: dict[str, Counted]
    draws: dict[str, Draw]
    reps: slice
    picked: HostArray | None

    def __call__(self, chunk: Dataset) -> Sums:
        rows = chunk.predictions
        notes = as_point(rows)[1] if isinstance(rows, ClassPredictions) else rows.notes
        held: list[tuple[str, Bound, Any]] = []
        for name, one in self.counted.items():
            inside = one.rows(chunk)
            if inside is None:
                held.append((name, one.bind(rows), None))
            elif inside.size:
                held.append((name, one.bind(rows[inside]), like(inside, chunk.batch.values)))
        own = None
        if self.picked is not None:
            begin, end = np.searchsorted(self.picked, [chunk.start, chunk.start + len(rows)])
            own = self.picked[begin:end] - chunk.start
        states: dict[str, State] = {}
        for source, draw in self.draws.items():
            parts: dict[str, list[State]] = {name: [] for name, _, _ in held}
            kept: list[HostArray] = []
            drawing = draw(chunk.start, rows)
            assert not isinstance(chunk.batch, Counts)  # counts over raters have no replicates
            with blas_threads(1):
                for tile in tiles(self.reps.stop - self.reps.start, replicates_per_tile(len(rows), drawing)):
                    reps = slice(self.reps.start + tile.start, self.reps.start + tile.stop)
                    batch = with_observed(chunk.batch, drawing, reps)
                    for name, bound, inside in held:
                        state = bound.state(batch if inside is None else selected(batch, inside))
                        parts[name].append(_every_replicate(on_host(state), len(batch)))
                    if own is not None and own.size:
                        kept.append(to_host(batch.values)[:, own])
            for name, found in parts.items():
                states[source + name] = State(
                    {key: np.concatenate([part[key] for part in found]) for key in found[0]}
                )
            if kept:
                states[source + _PICKED] = Kept(labels=np.concatenate(kept))
        return Sums(states, notes)


def _every_replicate(state: State, n_replicates: int) -> State:
    """Give sums that no label changes the leading axis of the others, so that tiles can be joined."""
    return State(
        {
            name: np.broadcast_to(value, (n_replicates, *value.shape[1:])) if len(value) == 1 else value
            for name, value in state.items()
        }
    )


@dataclasses.dataclass(frozen=True)
class Resampled:
    """Values of statistics on the observed labels and on replicates, and what they rest on.

    Attributes
    ----------
    bounds : list of Bound
        Every statistic, bound to some rows: they tell settings, notes and ranges.
    values : ndarray (s, 1 + n_resamples)
        Column 0 is the observation.
    observed : list of State or None
        Sums over the observed labels; None for a statistic of a part of the rows.
    """

    bounds: list[Bound]
    values: HostArray
    observed: list[State | None]


def resampled_values_over(
    chosen: Sequence[Statistic],
    chunks: Rows,
    seed: Seed,
    n_resamples: int,
    progress: Progress | None = None,
) -> Resampled:
    """Evaluate every statistic on the observed labels and all replicates.

    Parameters
    ----------
    chosen : sequence of Statistic
        Sums over instances, or statistics of a part of the rows (`Subsampled`).
    chunks : Rows
        The rows.
    seed : tuple of int
        Key of the counters.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Resampled
        The values, and what they rest on.
    """
    parts = [one for one in chosen if isinstance(one, Subsampled)]
    sums = planned([one for one in chosen if not isinstance(one, Subsampled)], chunks)
    picked = np.unique(np.concatenate([one.chosen for one in parts])) if parts else None
    values = {one.name: np.empty(1 + n_resamples) for one in chosen}
    observed: dict[str, State] = {}
    bounds: dict[str, Bound] = {}
    drawn: list[HostArray] = []
    counted = {one.statistic.name: Counted(one.bind) for one in sums}
    for reps, total in replicated_over(
        counted, {"": consistent(seed)}, chunks, n_resamples, progress, picked
    ):
        sample = noted(chunks.sample.predictions, total.notes)
        for name, one in counted.items():
            bounds[name] = one.bind(sample)
            values[name][columns_of(reps)] = to_host(bounds[name].finish(total.states[name]))
            if reps.start == 0:
                observed[name] = State({key: value[:1] for key, value in total.states[name].items()})
        if picked is not None:
            drawn.append(total.states[_PICKED]["labels"])
    if picked is not None:
        rows, labels = chunks.take(picked), np.concatenate(drawn)
        for part in parts:
            own: HostArray = np.asarray(np.searchsorted(picked, part.chosen))
            chosen_rows = rows.take(own)
            bounds[part.name] = part.bind_part(chosen_rows.predictions, chunks.n)
            seen = chosen_rows.batch
            assert isinstance(seen, Classes)
            drawing = StoredLabels(seen, like(labels[1:, own], seen.values))
            (values[part.name],) = resampled_values([bounds[part.name]], seen, drawing, n_resamples)
    names = [one.name for one in chosen]
    return Resampled(
        [bounds[name] for name in names],
        np.stack([values[name] for name in names]),
        [observed.get(name) for name in names],
    )


@dataclasses.dataclass(frozen=True)
class StoredLabels:
    """Label vectors that were drawn before."""

    observed: Classes | Reals
    drawn: Any
    on_device = False

    def labels(self, reps: slice) -> Classes | Reals:
        """Return replicates `reps`."""
        return dataclasses.replace(self.observed, values=self.drawn[reps, ...])


def noted(predictions: Predictions, notes: tuple[str, ...]) -> Predictions:
    """Return predictions with the notes of all rows; what `mean` adds to them is said by `mean` again."""
    other = predictions.replace_rows()
    said = getattr(predictions, "mean_note", None)
    other._set(notes=tuple(note for note in notes if note != said))
    return other
