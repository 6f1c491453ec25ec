"""Statistics of rows that come in chunks, or in parts: sums, those of some rows, and pairs in blocks.

Sums over instances are merged over the datasets, in batches of replicates that fit the memory budget. A
statistic of some rows is evaluated on the labels that were drawn for these in the same pass. Of pairs, two
blocks of rows meet at a time, and labels are drawn where they meet.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, rows_within_budget, tiles, to_host
from credibly._arrays.progress import Progress, share_of
from credibly.hypotests.resampling.choices import Drawn, bound_to
from credibly.hypotests.resampling.loop import (
    Resampled,
    Target,
    Wish,
    first_of,
    label_tiles,
    posed,
    resampled_values,
    share_of_replicates,
    states_of,
    together,
    with_observed,
)
from credibly.hypotests.resampling.replicates import Draw, LabelSource, rows_at_once
from credibly.predictions import ClassPredictions, Dataset, Labels, Predictions, RowChoice, Rows, as_point
from credibly.predictions.passes import Sums, remembering
from credibly.statistics.over_rows import Block, Pairs, meets_in_blocks
from credibly.statistics.protocol import Bound, State, Statistic
from credibly.statistics.subsampled import Subsampled

_FEW = 64  # rows that tell settings, notes and sizes of sums


def comes_in_parts(statistic: Statistic, rows: Rows) -> bool:
    """Tell whether a statistic needs no more than a dataset, a part of the rows, or two blocks at a time."""
    additive = statistic.traits.reduction == "sum" or isinstance(statistic, Subsampled)
    return rows.loaded() is not None or additive or meets_in_blocks(statistic, rows)


def is_part(wish: Wish) -> bool:
    """Tell whether a statistic sees some of the rows, so that their labels are all it needs."""
    return isinstance(wish.target.statistic, Subsampled) and wish.target.group is None


def pair_by_pair(
    wishes: Sequence[Wish], rows: Rows, draw: LabelSource, n_resamples: int, progress: Progress | None
) -> None:
    """Evaluate statistics whose blocks meet on an engine."""
    for place, wish in enumerate(wishes):
        assert wish.target.statistic is not None
        report = share_of(progress, place, len(wishes))
        wish.found = [_in_blocks(wish.target.statistic, rows, draw, n_resamples, report)]


class _Kept(State):
    """Labels as they are: what follows in the order of rows is put beside them."""

    def __add__(self, other: State) -> _Kept:
        return _Kept({name: np.concatenate([self[name], other[name]], axis=1) for name in self})


@dataclasses.dataclass(frozen=True, eq=False)
class _Asked:
    """What one source of labels is asked for: sums of targets, and its labels of some rows."""

    draw: Draw
    targets: tuple[Target, ...]
    picked: HostArray | None


@dataclasses.dataclass(frozen=True, eq=False)
class _Work:
    """The work on one dataset: sums of the observed labels (with the first batch) and of `reps`."""

    asked: tuple[_Asked, ...]
    reps: slice
    n_resamples: int

    def __call__(self, chunk: Dataset) -> Sums:
        most = rows_at_once(chunk.predictions, max(len(one.targets) for one in self.asked))
        if len(chunk) <= most:
            return self._part(chunk)
        return reduce(add, (self._part(chunk.rows(rows)) for rows in tiles(len(chunk), most)))

    def _part(self, chunk: Dataset) -> Sums:
        given = remembering(chunk.predictions)
        chunk = dataclasses.replace(chunk, predictions=given)
        notes = as_point(given)[1] if isinstance(given, ClassPredictions) else given.notes
        states: dict[str, State] = {}
        every = posed([(one.draw, one.targets) for one in self.asked], chunk, self.n_resamples)
        for order, (draw, seen, jobs) in enumerate(every):
            parts: dict[str, list[State]] = {}
            drawing = draw(seen) if self.reps.stop else None
            own = _inside(self.asked[order].picked, chunk)
            shared = together(jobs, range(len(jobs)))
            for _, batch in label_tiles(seen.batch, drawing, self.reps):
                for places in shared:
                    states_found = states_of([jobs[at] for at in places], batch)
                    for at, state in zip(places, states_found, strict=True):
                        name = _name(order, jobs[at].place)
                        parts.setdefault(name, []).append(_every_replicate(state, len(batch)))
                if own is not None:
                    kept = _Kept(labels=to_host(batch.values)[:, own])
                    parts.setdefault(_name(order, None), []).append(kept)
            states |= {name: _stacked(found) for name, found in parts.items()}
        return Sums(states, notes)


def _inside(picked: HostArray | None, chunk: Dataset) -> HostArray | None:
    """Return which rows of a chunk are among those whose labels are kept."""
    if picked is None:
        return None
    begin, end = np.searchsorted(picked, [chunk.start, chunk.start + len(chunk)])
    return picked[begin:end] - chunk.start if end > begin else None


def _name(order: int, place: int | None) -> str:
    return f"{order} {'labels' if place is None else place}"


def _every_replicate(state: State, n_vectors: int) -> State:
    """Give sums that no label changes the leading axis of the others, so that tiles can be joined."""
    on_host = {name: np.asarray(to_host(value)) for name, value in state.items()}
    return State(
        {
            name: np.broadcast_to(value, (n_vectors, *value.shape[1:])) if len(value) == 1 else value
            for name, value in on_host.items()
        }
    )


def _stacked(states: Sequence[State]) -> State:
    return type(states[0])({key: np.concatenate([one[key] for one in states]) for key in states[0]})


def in_parts(
    asked: Sequence[tuple[Draw, Sequence[Wish]]],
    rows: Rows,
    n_resamples: int,
    progress: Progress | None = None,
) -> None:
    """Merge the sums of every replicate over datasets; statistics of some rows see the labels drawn there."""
    sample, part = rows.sample, slice(0, min(_FEW, len(rows.sample)))
    few = Dataset(sample.predictions[part], sample.batch.rows(part))
    sums = [[wish for wish in wishes if not is_part(wish)] for _, wishes in asked]
    rest = [[wish for wish in wishes if is_part(wish)] for _, wishes in asked]
    work = tuple(
        _Asked(draw, tuple(wish.target for wish in own), _picked(others))
        for (draw, _), own, others in zip(asked, sums, rest, strict=True)
    )
    wanted = [(one.draw, one.targets) for one in work]
    numbers = sum(0 if one.picked is None else one.picked.size for one in work) + sum(
        math.prod(value.shape)
        for _, own, jobs in posed(wanted, few, n_resamples, whole=True)
        for job in jobs
        for value in job.bound.state(own.batch).values()
    )
    values: dict[str, list[list[HostArray]]] = {}
    first: dict[str, State] = {}
    bounds: list[list[Bound]] = []
    drawn: dict[int, list[HostArray]] = {}
    batches = list(tiles(n_resamples, rows_within_budget(8 * numbers, 0.25))) or [slice(0, 0)]
    for reps in batches:
        report = None if progress is None else partial(share_of_replicates, progress, reps, n_resamples)
        (total,) = rows.merged([_Work(work, reps, n_resamples)], report)
        noted = dataclasses.replace(few, predictions=_noted(few.predictions, total.notes))
        bounds = [[job.bound for job in jobs] for *_, jobs in posed(wanted, noted, n_resamples, whole=True)]
        for order, own in enumerate(sums):
            for at, (wish, bound) in enumerate(zip(own, bounds[order], strict=True)):
                name = _name(order, at)
                values.setdefault(name, []).append(wish.values(bound, total.states[name]))
                if reps.start == 0:
                    first[name] = first_of(total.states[name])
            if rest[order]:
                drawn.setdefault(order, []).append(total.states[_name(order, None)]["labels"])
    for order, own in enumerate(sums):
        for at, (wish, bound) in enumerate(zip(own, bounds[order], strict=True)):
            wish.take(bound, values[_name(order, at)], first[_name(order, at)])
        if rest[order]:
            draw, picked = work[order].draw, work[order].picked
            assert isinstance(draw, LabelSource) and picked is not None
            # as the labels were drawn: choices of draws, cells
            _of_parts(rest[order], RowChoice(rows, rows.n, draw.pose), picked, np.concatenate(drawn[order]))


def _picked(wishes: Sequence[Wish]) -> HostArray | None:
    """Return the rows, increasing, that statistics of some rows see."""
    chosen = [
        wish.target.statistic.chosen for wish in wishes if isinstance(wish.target.statistic, Subsampled)
    ]
    return np.unique(np.concatenate(chosen)) if chosen else None


def _of_parts(wishes: Sequence[Wish], rows: Rows, picked: HostArray, drawn: HostArray) -> None:
    """Evaluate statistics of some rows on the labels that were drawn for them, (1 + b, picked)."""
    taken = rows.take(picked)
    for wish in wishes:
        part = wish.target.statistic
        assert isinstance(part, Subsampled)
        own: HostArray = np.asarray(np.searchsorted(picked, part.chosen))
        chosen = taken.take(own)
        seen = chosen.batch
        bound = bound_to(partial(part.bind_part, n=rows.n), chosen.predictions, seen)
        drawing = Drawn(partial(_stored, seen, like(drawn[1:, own], seen.values)))
        values = resampled_values([bound], seen, drawing, len(drawn) - 1)
        wish.found = [Resampled.of(bound, list(values), None)]


def _stored(observed: Any, drawn: Array, reps: slice) -> Any:
    return dataclasses.replace(observed, values=drawn[reps, ...])


def _noted(predictions: Predictions, notes: tuple[str, ...]) -> Predictions:
    """Return predictions with the notes of all rows; what `mean` adds to them is said by `mean` again."""
    other = predictions.replace_rows()
    said = getattr(predictions, "mean_note", None)
    other._set(notes=tuple(note for note in notes if note != said))
    return other


def _in_blocks(
    statistic: Statistic, rows: Rows, draw: LabelSource, n_resamples: int, progress: Progress | None
) -> Resampled:
    """Evaluate a statistic of pairs whose blocks meet on an engine; labels are drawn where they meet."""
    pairs = Pairs.over(statistic, rows, draw.pose)
    bound = pairs.bound
    values: list[HostArray] = []
    for reps in tiles(n_resamples, pairs.vectors_at_once()):
        report = None if progress is None else partial(share_of_replicates, progress, reps, n_resamples)
        state, said = pairs.sums(partial(_drawn_for, draw, reps), 1 + reps.stop - reps.start, report)
        values.append(to_host(bound.finish(state)))
        bound.notes = (*said, *pairs.notes_of(state))  # of all rows, in place of the few that it is bound to
    return Resampled(bound, np.concatenate(values))


def _drawn_for(draw: LabelSource, reps: slice, block: Block) -> Labels:
    rows = Dataset(block.predictions, block.labels, start=block.start)
    drawn: Labels = with_observed(block.labels, draw(rows), reps)
    return drawn
