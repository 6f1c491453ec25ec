"""What tests ask of drawn labels, answered together: one pass over the labels of the same rows.

A test that draws labels is a generator: it yields requests, receives the values of their targets, and
returns its result. `answered` runs one alone. `answers` takes the requests of several: those over the same
rows draw labels once per source, and equal statistics are bound and summed up once, whoever asked.

Of rows that come in chunks, or in parts, sums over instances are merged over the datasets, in batches of
replicates that fit the memory budget. A statistic of some rows is evaluated on the labels that were drawn for
these in the same pass. Of pairs, two chunks of rows meet at a time, and labels are drawn where they meet.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, HostArray, is_numpy, like, rows_within_budget, tiles, to_host
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress, share_of
from credibly.hypotests.resampling.choices import Drawn, bound_to
from credibly.hypotests.resampling.loop import (
    Job,
    Resampled,
    Target,
    Wish,
    as_replicates_see,
    at_once,
    label_tiles,
    share_of_replicates,
    sharing_work,
    states_of,
    with_observed,
)
from credibly.hypotests.resampling.replicates import Draw, LabelSource, consistent, rows_at_once
from credibly.hypotests.resampling.wild import Signs, evaluate_signs
from credibly.predictions import (
    ClassPredictions,
    Dataset,
    Gaussian,
    Labels,
    Predictions,
    RowChoice,
    Rows,
    Samples,
    as_point,
)
from credibly.predictions.passes import Sums, remembering
from credibly.statistics.over_rows import ChunkPairs, meets_in_chunks
from credibly.statistics.protocol import State, Statistic
from credibly.statistics.subsampled import Subsampled

_T = TypeVar("_T")

_MANY_ELEMENTS, _PART_ELEMENTS = 2**20, 2**17  # probabilities that are cut into parts, and those of a part
_FEW = 64  # rows that tell settings, notes and sizes of sums


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """Targets to evaluate on the observed labels and on all replicates of every source of labels.

    Attributes
    ----------
    targets : sequence of Target
        What is evaluated; they share the replicates.
    rows : Rows
        The rows.
    draws : sequence of Draw or Signs
        Where labels come from, one per hypothesis; of rows in clusters, what changes their signs.
    n_resamples : int
        Number of replicates; with 0 the observed labels are evaluated alone.
    progress : callable, optional
        Called with (done, total).
    by_members : bool
        Whether members draw labels, so that sums over rows in memory are taken in parts where the members of
        all of them would not fit the memory budget.
    """

    targets: Sequence[Target]
    rows: Rows
    draws: Sequence[Draw | Signs]
    n_resamples: int
    progress: Progress | None = None
    by_members: bool = False


def calibrated(rows: Rows, seed: Seed) -> Draw | Signs:
    """Return where replicates of calibrated predictions come from: drawn labels, or signs of clusters."""
    return consistent(seed) if rows.example.clusters is None else Signs(seed)


Answer = list[list[Resampled]]
"""One list per source of labels, one entry per target."""

Asking = Generator[Sequence[Request], list[Answer], _T]
"""A computation that yields requests, is sent their answers and returns a result."""


def answered(asking: Asking[_T]) -> _T:
    """Run one computation, answering its requests at once."""
    try:
        requests = next(asking)
        while True:
            requests = asking.send(answers(requests))
    except StopIteration as end:
        result: _T = end.value
        return result


def side_by_side(askings: Sequence[Asking[Any]]) -> Asking[list[Any]]:
    """Run computations, their requests asked together; return results, or why there is none."""
    results: dict[int, Any] = {}
    steps: dict[int, Callable[[], Sequence[Request]]] = {
        place: partial(next, asking) for place, asking in enumerate(askings)
    }
    while steps:
        new_requests: dict[int, Sequence[Request]] = {}
        for place, step in steps.items():
            try:
                new_requests[place] = step()
            except StopIteration as end:
                results[place] = end.value
            except UnsupportedError as error:
                results[place] = error
        all_requests = [request for requests in new_requests.values() for request in requests]
        received = iter((yield all_requests) if new_requests else [])
        steps = {
            place: partial(askings[place].send, [next(received) for _ in requests])
            for place, requests in new_requests.items()
        }
    return [results[place] for place in range(len(askings))]


def answers(requests: Sequence[Request]) -> list[Answer]:
    """Answer requests; those over the same rows, with as many replicates, share labels and sums."""
    alike: dict[tuple[int, int], list[Request]] = {}
    for request in requests:
        alike.setdefault((id(request.rows), request.n_resamples), []).append(request)
    by_request: dict[int, Answer] = {}
    for group in alike.values():
        by_request |= zip(map(id, group), _joint(group), strict=True)
    return [by_request[id(request)] for request in requests]


def _joint(requests: Sequence[Request]) -> list[Answer]:
    """Answer requests over the same rows; the first of them receives the progress."""
    sources: list[tuple[Draw | Signs, dict[Hashable, Wish]]] = []
    parts_of_wishes = []
    for request in requests:
        for draw in request.draws:
            wishes = next((known_wishes for known, known_wishes in sources if _same(known, draw)), None)
            if wishes is None:
                wishes = {}
                sources.append((draw, wishes))
            of_targets = [wishes.setdefault(target.key, Wish(target)) for target in request.targets]
            pairs = zip(of_targets, request.targets, strict=True)
            parts_of_wishes.append([(wish, wish.add(target)) for wish, target in pairs])
    first = requests[0]
    drawn = [(draw, list(wishes.values())) for draw, wishes in sources if not isinstance(draw, Signs)]
    if drawn:
        _evaluate(drawn, first, any(request.by_members for request in requests))
    signed = [(draw, list(wishes.values())) for draw, wishes in sources if isinstance(draw, Signs)]
    for place, (draw, every) in enumerate(signed):
        report = share_of(first.progress, place, len(signed))
        evaluate_signs(every, first.rows, draw, first.n_resamples, report)
    read = iter([[wish.found(at) for wish, at in line] for line in parts_of_wishes])
    return [[next(read) for _ in request.draws] for request in requests]


def _same(draw: Draw | Signs, other: Draw | Signs) -> bool:
    """Tell whether two sources draw the same labels of the same rows."""
    if isinstance(draw, Signs):
        return isinstance(other, Signs) and draw.draws_as(other)
    if not (type(draw) is LabelSource and type(other) is LabelSource):  # subclasses draw for other rows
        return draw is other
    kept = draw.members is None is other.members and draw.predictions is None is other.predictions
    return draw is other or (kept and draw.seed == other.seed)


def _evaluate(sources: Sequence[tuple[Draw, list[Wish]]], first: Request, by_members: bool) -> None:
    """Evaluate everything that sources are asked for."""
    rows, n_resamples, progress = first.rows, first.n_resamples, first.progress
    whole, predictions = rows.loaded(), rows.example.predictions
    # shares of labels at quantiles, which have no statistic of their own, make no tables of mixtures
    tables = max(
        sum(wish.target.statistic is not None or not isinstance(predictions, Gaussian) for wish in wishes)
        for _, wishes in sources
    )
    bounded = by_members or isinstance(predictions, (Gaussian, Samples))
    fits = whole is not None and len(whole) <= _rows_of_part(predictions, tables, bounded=bounded)

    def is_summed(wish: Wish) -> bool:
        return not fits and (wish.target.additive or _is_part(wish))

    summed, rest = (
        [
            (draw, some)
            for draw, wishes in sources
            if (some := [wish for wish in wishes if is_summed(wish) is kind])
        ]
        for kind in (True, False)
    )
    if summed:
        _in_parts(summed, rows, n_resamples, None if rest else progress)
    if whole is None:
        pairs = [(draw, wish) for draw, wishes in rest for wish in wishes]
        for place, (draw, wish) in enumerate(pairs):
            assert isinstance(draw, LabelSource)
            _in_chunks(wish, rows, draw, n_resamples, share_of(progress, place, len(pairs)))
        return
    targets = [(draw, [wish.target for wish in wishes]) for draw, wishes in rest]
    for order, (draw, seen, jobs) in enumerate(as_replicates_see(targets, whole, n_resamples)):
        drawing = draw(seen) if n_resamples else None
        at_once(rest[order][1], jobs, seen.batch, drawing, n_resamples, share_of(progress, order, len(rest)))


def _rows_of_part(predictions: Predictions, n_targets: int, *, bounded: bool = True) -> int:
    """Return how many rows are worked on at a time: many stay in cache, `bounded` ones fit the budget."""
    leading = predictions._leading
    most: int = rows_at_once(predictions, n_targets) if bounded else leading.shape[0]
    k = leading.shape[-1]
    many = isinstance(predictions, ClassPredictions) and leading.shape[0] * k > _MANY_ELEMENTS
    return min(most, max(_FEW, _PART_ELEMENTS // k)) if many and is_numpy(leading) else most


def comes_in_parts(statistic: Statistic, rows: Rows) -> bool:
    """Tell whether a statistic needs no more than a dataset, a part of the rows, or two chunks at a time."""
    additive = statistic.traits.reduction == "sum" or isinstance(statistic, Subsampled)
    return rows.loaded() is not None or additive or meets_in_chunks(statistic, rows)


def _is_part(wish: Wish) -> bool:
    """Tell whether a statistic sees some of the rows, so that their labels are all it needs."""
    return isinstance(wish.target.statistic, Subsampled) and wish.target.group is None


class _Kept(State):
    """Labels as they are; addition appends the labels of the rows that follow."""

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
        most = _rows_of_part(chunk.predictions, max(len(source.targets) for source in self.asked))
        if len(chunk) <= most:
            return self._part(chunk)
        return reduce(add, (self._part(chunk.rows(rows)) for rows in tiles(len(chunk), most)))

    def _part(self, chunk: Dataset) -> Sums:
        predictions = remembering(chunk.predictions)
        chunk = dataclasses.replace(chunk, predictions=predictions)
        notes = as_point(predictions)[1] if isinstance(predictions, ClassPredictions) else predictions.notes
        parts: dict[str, list[State]] = defaultdict(list)
        draws = [(source.draw, source.targets) for source in self.asked]
        every = as_replicates_see(draws, chunk, self.n_resamples)
        for order, (draw, seen, jobs) in enumerate(every):
            drawing = draw(seen) if self.reps.stop else None
            kept_rows, shared = _inside(self.asked[order].picked, chunk), sharing_work(jobs)
            for _, batch in label_tiles(seen.batch, drawing, self.reps):
                for job, state in states_of(shared, batch):
                    parts[_name(order, job.place)].append(_every_replicate(state, len(batch)))
                if kept_rows is not None:
                    parts[_name(order)].append(_Kept(labels=to_host(batch.values)[:, kept_rows]))
        return Sums({name: _stacked(states) for name, states in parts.items()}, notes)


def _inside(picked: HostArray | None, chunk: Dataset) -> HostArray | None:
    """Return which rows of a chunk are among those whose labels are kept."""
    if picked is None:
        return None
    begin, end = np.searchsorted(picked, [chunk.start, chunk.start + len(chunk)])
    return picked[begin:end] - chunk.start if end > begin else None


def _name(order: int, place: int | str = "labels") -> str:
    return f"{order} {place}"


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
    return type(states[0])({key: np.concatenate([state[key] for state in states]) for key in states[0]})


def _in_parts(
    sources: Sequence[tuple[Draw, Sequence[Wish]]], rows: Rows, n_resamples: int, progress: Progress | None
) -> None:
    """Merge the sums of every replicate over datasets; statistics of some rows see the labels drawn there."""
    example, part = rows.example, slice(0, min(_FEW, len(rows.example)))
    few = Dataset(example.predictions[part], example.batch.rows(part))
    sums, rest = (
        [[wish for wish in wishes if _is_part(wish) is kind] for _, wishes in sources]
        for kind in (False, True)
    )
    work = tuple(
        _Asked(draw, tuple(wish.target for wish in wishes), _picked(others))
        for (draw, _), wishes, others in zip(sources, sums, rest, strict=True)
    )
    draws = [(source.draw, source.targets) for source in work]
    numbers = sum(0 if source.picked is None else source.picked.size for source in work) + sum(
        math.prod(value.shape)
        for _, dataset, jobs in as_replicates_see(draws, few, n_resamples, whole=True)
        for job in jobs
        for value in job.bound.state(dataset.batch).values()
    )
    drawn: dict[int, list[HostArray]] = defaultdict(list)
    for reps in list(tiles(n_resamples, rows_within_budget(8 * numbers, 0.25))) or [slice(0, 0)]:
        report = None if progress is None else partial(share_of_replicates, progress, reps, n_resamples)
        (total,) = rows.merged([_Work(work, reps, n_resamples)], report)
        noted = dataclasses.replace(few, predictions=_noted(few.predictions, total.notes))
        for order, (_, _, jobs) in enumerate(as_replicates_see(draws, noted, n_resamples, whole=True)):
            for job in jobs:
                sums[order][job.place].see(job.bound, total.states[_name(order, job.place)])
            if rest[order]:
                drawn[order].append(total.states[_name(order)]["labels"])
    for order, labels in drawn.items():
        draw, picked = work[order].draw, work[order].picked
        assert isinstance(draw, LabelSource) and picked is not None
        # as the labels were drawn: choices of draws, cells
        _of_parts(rest[order], RowChoice(rows, rows.n, draw.pose), picked, np.concatenate(labels))


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
        places: HostArray = np.asarray(np.searchsorted(picked, part.chosen))
        chosen = taken.take(places)
        seen = chosen.batch
        bound = bound_to(partial(part.bind_part, n=rows.n), chosen.predictions, seen)
        drawing = Drawn(partial(_stored, seen, like(drawn[1:, places], seen.values)))
        at_once([wish], [Job(wish.target, bound)], seen, drawing, len(drawn) - 1)


def _stored(observed: Any, drawn: Array, reps: slice) -> Any:
    return dataclasses.replace(observed, values=drawn[reps, ...])


def _noted(predictions: Predictions, notes: tuple[str, ...]) -> Predictions:
    """Return predictions with the notes of all rows, without the note that `mean` adds again."""
    other = predictions.replace_rows()
    mean_note = getattr(predictions, "mean_note", None)
    other._set(notes=tuple(note for note in notes if note != mean_note))
    return other


def _in_chunks(
    wish: Wish, rows: Rows, draw: LabelSource, n_resamples: int, progress: Progress | None
) -> None:
    """Evaluate a statistic of pairs whose chunks meet on an engine; labels are drawn where they meet."""
    assert wish.target.statistic is not None
    pairs = ChunkPairs.over(wish.target.statistic, rows, draw.pose)
    bound = pairs.bound
    for reps in tiles(n_resamples, pairs.vectors_at_once()):
        report = None if progress is None else partial(share_of_replicates, progress, reps, n_resamples)
        state, notes = pairs.sums(partial(_drawn_for, draw, reps), 1 + reps.stop - reps.start, report)
        wish.see(bound, state)
        bound.notes = (*notes, *pairs.notes_of(state))  # of all rows, in place of the few that it is bound to


def _drawn_for(draw: LabelSource, reps: slice, chunk: Dataset) -> Labels:
    drawn: Labels = with_observed(chunk.batch, draw(chunk), reps)
    return drawn
