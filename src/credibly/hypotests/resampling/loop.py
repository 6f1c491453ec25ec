"""The one resampling loop: statistics bound to rows, label vectors in tiles, sums merged and finished once.

values[0] = T(rows, observed labels),   values[d] = T(rows, labels drawn for replicate d),   d = 1, ..., b

Rows are a sequence of datasets. A replicate's label of row i depends on the seed, the replicate and i alone,
so the same labels are drawn however rows and replicates are cut. Of one dataset in memory every statistic is
bound once and sees whole label vectors; of several, the sums of every replicate are merged, in batches that
fit the memory budget. The one other path, `paired_values`, is for predictions that change with the replicate.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from credibly._arrays.namespace import (
    Array,
    HostArray,
    is_numpy,
    like,
    namespace,
    on_accelerator,
    one_blas_thread,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.progress import Progress, share_of
from credibly._arrays.remembered import is_remembering, keep, recalled
from credibly.hypotests.resampling.choices import bound_to
from credibly.hypotests.resampling.pvalues import settled
from credibly.hypotests.resampling.replicates import Draw, Drawing, LabelSource, rows_at_once
from credibly.predictions import (
    ClassPredictions,
    Dataset,
    Gaussian,
    GroupRows,
    InMemory,
    Labels,
    Predictions,
    Reals,
    Rows,
    Samples,
    as_point,
)
from credibly.predictions.passes import Sums
from credibly.statistics.linear import Linear
from credibly.statistics.over_rows import planned
from credibly.statistics.protocol import Bound, Plan, State, Statistic

_TILE_LABELS = 2**20
_BYTES_PER_LABEL = 32  # a label, its uniform number and the temporaries of a statistic
_KEPT = 1 / 32  # of the memory budget, for sums that another part of an evaluation may ask for
_FEW = 64  # rows that tell settings, notes and sizes of sums


def _finished(bound: Bound, state: State) -> Array:
    return bound.finish(state)


@dataclasses.dataclass(frozen=True)
class Target:
    """What is evaluated on every label vector: a bound statistic, of all rows or of those of a group.

    Attributes
    ----------
    bind : callable
        From predictions of some rows to the bound statistic.
    group : object
        Which group; None for all rows.
    finish : callable
        From the bound statistic and its sums to values (b, ...).
    additive : bool
        Whether sums over parts of the rows add up to those of all.
    plan : Plan or None
        Label-free facts of all rows, where the statistic was planned.
    """

    bind: Callable[[Predictions], Bound]
    group: Any = None
    finish: Callable[[Bound, State], Array] = _finished
    additive: bool = True
    plan: Plan | None = None


@dataclasses.dataclass(frozen=True)
class Resampled:
    """Values of a target on the observed labels and on replicates, and what they rest on.

    Attributes
    ----------
    bound : Bound
        The statistic, bound to all rows or to some: it tells settings, notes and ranges.
    values : ndarray (1 + n_resamples, ...)
        Entry 0 is the observation, computed in the same pass as the replicates; ties are `settled`.
    observed : State or None
        Sums over the observed labels, where sums add up.
    """

    bound: Bound
    values: HostArray
    observed: State | None = None

    def __post_init__(self) -> None:
        if self.values.ndim == 1:
            own = self.bound
            found = settled(self.values, own.term_size, own.n, own.rounding)
            object.__setattr__(self, "values", found)

    @classmethod
    def of(cls, bound: Bound, values: Sequence[HostArray], observed: State | None) -> Resampled:
        """Join the values of tiles."""
        return cls(bound, np.concatenate(values), observed)


def targets_of(
    chosen: Sequence[Statistic],
    rows: Rows,
    groups: Sequence[tuple[Any, int]] = (),
    finish: Callable[[Bound, State], Array] = _finished,
) -> list[Target]:
    """Plan every statistic on all rows, then group by group; of chunks, sums over instances alone."""
    whole = rows.loaded()
    if whole is None:
        parts = [(None, rows), *((level, GroupRows(rows, size, level)) for level, size in groups)]
        return [
            Target(one.bind, level, finish, True, one.plan)
            for level, part in parts
            for one in planned(chosen, part)
        ]
    inside = _rows_of_groups(whole) if groups else {}
    found = []
    for level in (None, *(level for level, _ in groups)):
        part = whole if level is None else whole.take(inside[level])
        for one in chosen:
            plan = one.plan(InMemory(part))
            bind = partial(one.bind, plan=plan)
            found.append(Target(bind, level, finish, one.traits.reduction == "sum", plan))
    return found


def replicated(
    targets: Sequence[Target],
    rows: Rows,
    draws: Sequence[Draw],
    n_resamples: int,
    progress: Progress | None = None,
    *,
    by_members: bool = False,
) -> list[list[Resampled]]:
    """Evaluate every target on the observed labels and on all replicates of every source of labels.

    Parameters
    ----------
    targets : sequence of Target
        What is evaluated; they share the replicates.
    rows : Rows
        The rows.
    draws : sequence of callable
        Where labels come from, one per hypothesis.
    n_resamples : int
        Number of replicates; with 0 the observed labels are evaluated alone.
    progress : callable, optional
        Called with (done, total).
    by_members : bool
        Whether members draw labels, so that sums over rows in memory are taken in parts where the members of
        all of them would not fit the memory budget.

    Returns
    -------
    list of list of Resampled
        One list per source of labels, one entry per target.
    """
    whole = rows.loaded()
    fits = whole is not None and (
        len(whole) <= rows_at_once(whole.predictions, len(targets))
        or not (by_members or isinstance(whole.predictions, (Gaussian, Samples)))
    )
    summed = [at for at, one in enumerate(targets) if one.additive and not fits]
    once = [at for at, one in enumerate(targets) if not one.additive or fits]
    found: list[list[Resampled]] = [[] for _ in draws]
    if summed:
        report = None if once else progress
        found, _ = merged_replicates([targets[at] for at in summed], rows, draws, n_resamples, report)
    if once:
        assert whole is not None  # of chunks only sums are planned
        posed = _posed([targets[at] for at in once], whole, draws, n_resamples)
        for order, (draw, own, jobs) in enumerate(posed):
            drawing = draw(own) if n_resamples else None
            report = share_of(progress, order, len(draws))
            origin = _origin(draw, whole, n_resamples)
            found[order] += _at_once(jobs, own.batch, drawing, n_resamples, report, origin)
    if summed and once:
        back = np.argsort([*summed, *once])
        found = [[own[at] for at in back] for own in found]
    return found


@dataclasses.dataclass(frozen=True)
class _Job:
    """A target bound to the rows of one dataset, and which of its labels it takes; None for all."""

    target: Target
    bound: Bound
    rows: Array | None = None
    place: int = 0
    """Of the target among all."""

    def labels(self, batch: Any) -> Any:
        """Return the labels of its rows."""
        return batch if self.rows is None else _selected(batch, self.rows)


def _jobs(targets: Sequence[Target], dataset: Dataset, n_resamples: int) -> list[_Job]:
    """Bind targets to a dataset; groups without rows there have no job."""
    given = dataset.predictions
    inside = _rows_of_groups(dataset) if any(one.group is not None for one in targets) else {}
    jobs = []
    for place, one in enumerate(targets):
        if one.group is None:
            bound = bound_to(one.bind, given, dataset.batch)
            jobs.append(_Job(one, bound.for_replicates(dataset.batch, n_resamples), None, place))
        elif one.group in inside:
            own = inside[one.group]
            part = like(own, dataset.batch.values)
            labels = _selected(dataset.batch, part)
            bound = bound_to(one.bind, given[own], labels)
            jobs.append(_Job(one, bound.for_replicates(labels, n_resamples), part, place))
    return jobs


def _posed(
    targets: Sequence[Target], rows: Dataset, draws: Sequence[Draw], n_resamples: int
) -> Iterator[tuple[Draw, Dataset, list[_Job]]]:
    """Yield every source with the rows as it sees them, and the targets bound to them."""
    seen: tuple[Any, Dataset, list[_Job]] | None = None
    for draw in draws:
        # sources that differ only in their members see the same rows; draws are pooled by their hypothesis
        pooled = isinstance(rows.predictions, Samples) and getattr(draw, "members", None) is None
        key = (draw.predictions, pooled) if isinstance(draw, LabelSource) else None
        if seen is None or seen[0] != key:
            own = draw.pose(rows) if isinstance(draw, LabelSource) else rows
            seen = key, own, _jobs(targets, own, n_resamples)
        yield draw, seen[1], seen[2]


def _values(target: Target, bound: Bound, state: State) -> HostArray:
    return to_host(target.finish(bound, state))


def _rows_of_groups(dataset: Dataset) -> dict[Any, HostArray]:
    """Return the rows of every group of a dataset, increasing."""
    groups = np.asarray(dataset.groups)
    levels, own = np.unique(groups.astype(str) if groups.dtype == object else groups, return_inverse=True)
    order = np.argsort(own, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(own))[:-1])
    return dict(zip(levels.tolist(), parts, strict=True))


def _selected(labels: Labels, rows: Array) -> Any:
    """Return the same replicates of some instances."""
    xp = namespace(labels.values)
    weights = None if labels.weights is None else xp.take(labels.weights, rows, axis=1)
    return dataclasses.replace(labels, values=xp.take(labels.values, rows, axis=1), weights=weights)


def label_tiles(observed: Any, drawing: Drawing | None, reps: slice) -> Iterator[tuple[slice, Any]]:
    """Yield replicates in tiles, on the host those that stay in cache; the observation before the first."""
    if drawing is None:
        yield slice(0, 0), observed
        return
    with one_blas_thread():  # products of a few columns: starting a second thread costs more than it saves
        for tile in tiles(reps.stop - reps.start, replicates_per_tile(observed.n, drawing)):
            part = slice(reps.start + tile.start, reps.start + tile.stop)
            yield part, with_observed(observed, drawing, part)


def replicates_per_tile(n: int, drawing: Drawing) -> int:
    """Return how many label vectors are drawn at once: on the host those that stay in cache."""
    per_tile = rows_within_budget(_BYTES_PER_LABEL * n, 0.5)
    return per_tile if drawing.on_device else min(per_tile, max(1, _TILE_LABELS // n))


def with_observed(observed: Any, drawing: Drawing, reps: slice) -> Any:
    """Return replicates `reps`, behind the observed labels where they are the first."""
    labels = drawing.labels(reps).values
    if reps.start == 0:
        xp = namespace(labels)
        labels = xp.concat([xp.astype(observed.values, labels.dtype), labels], axis=0)
    return dataclasses.replace(observed, values=labels)


def resampled_values(
    bounds: Sequence[Bound],
    observed: Labels,
    drawing: Drawing,
    n_resamples: int,
    progress: Progress | None = None,
) -> HostArray:
    """Evaluate statistics that are bound already, (s, 1 + n_resamples); see :func:`replicated`."""
    jobs = [_Job(Target(bound.statistic.bind, additive=False), bound) for bound in bounds]
    return np.stack([one.values for one in _at_once(jobs, observed, drawing, n_resamples, progress)])


def _origin(draw: Draw, rows: Dataset, n_resamples: int) -> tuple[Hashable, ...] | None:
    """Return what labels of replicates follow from, while an evaluation keeps sums over them; else None."""
    if not isinstance(draw, LabelSource) or draw.members is not None or draw.predictions is not None:
        return None
    seen = rows.batch
    if not n_resamples or not is_remembering() or seen.weights is not None or not is_numpy(seen.values):
        return None
    digest = hashlib.sha256(np.ascontiguousarray(seen.values).tobytes()).digest()
    return rows.predictions, rows.start, digest, draw.seed, n_resamples


def _at_once(
    jobs: Sequence[_Job],
    observed: Labels,
    drawing: Drawing | None,
    n_resamples: int,
    progress: Progress | None,
    origin: tuple[Hashable, ...] | None = None,
) -> list[Resampled]:
    """Evaluate whole label vectors of one dataset; every tile is finished when it is drawn.

    Parts of one evaluation ask for the same sums over the same labels, named by their `origin`: a test, a
    check, the band of a curve. They are kept where they are small, and nothing is drawn for them again.
    """
    values: list[list[HostArray]] = [[] for _ in jobs]
    first: list[State | None] = [None] * len(jobs)
    sums: dict[int, list[State]] = {}
    wide = [at for at, job in enumerate(jobs) if _meets_in_pairs(job.bound)]
    narrow = [at for at in range(len(jobs)) if at not in wide]
    keys = {} if origin is None else {at: (*origin, *_summed(jobs[at])) for at in narrow if _lasts(jobs[at])}
    for at, key in keys.items():
        known = recalled(key)
        if known is not None:
            narrow.remove(at)
            values[at].append(_values(jobs[at].target, jobs[at].bound, State(known)))
            first[at] = _first(State(known))
    for order, at in enumerate(narrow):
        any(jobs[at].bound.share_with(jobs[before].bound) for before in narrow[:order])
    for reps, batch in label_tiles(observed, drawing, slice(0, n_resamples)) if narrow else ():
        for at in narrow:
            job = jobs[at]
            state = job.bound.state(job.labels(batch))
            values[at].append(_values(job.target, job.bound, state))
            if reps.start == 0 and job.target.additive:
                first[at] = _first(state)
            if at in keys and _is_small(state, n_resamples):
                sums.setdefault(at, []).append(_every_replicate(state, len(batch)))
        if progress is not None and not wide:
            progress(reps.stop, n_resamples)
    for at, parts in sums.items():
        keep(keys[at], _stacked(parts))
    for part, at in enumerate(wide):
        assert drawing is not None
        report = share_of(progress, part, len(wide))
        values[at] = list(_pairwise(jobs[at], observed, drawing, n_resamples, report))
    return [Resampled.of(job.bound, own, sums) for job, own, sums in zip(jobs, values, first, strict=True)]


def _lasts(job: _Job) -> bool:
    """Tell whether other parts of an evaluation may ask for the same sums: those of all rows, that add up."""
    return job.target.additive and job.rows is None


def _summed(job: _Job) -> tuple[Hashable, ...]:
    """Return what tells the sums of a bound statistic from those of others over the same labels."""
    bound = job.bound
    made = (type(bound.terms).sums, type(bound.terms).observed) if isinstance(bound, Linear) else ()
    return type(bound).state, *made, bound.statistic


def _is_small(state: State, n_resamples: int) -> bool:
    """Tell whether the sums of all replicates fit a share of the memory budget."""
    numbers = sum(math.prod(value.shape[1:]) for value in state.values())
    return rows_within_budget(8 * numbers, _KEPT) > n_resamples


def _first(state: State) -> State:
    return State({name: np.asarray(to_host(value[:1, ...])) for name, value in state.items()})


def _meets_in_pairs(bound: Bound) -> bool:
    """Tell whether a statistic costs n^2 however few labels it gets, so that large batches pay."""
    return bound.statistic.traits.reduction in ("pairwise", "smoother")


def _pairwise(
    job: _Job, observed: Labels, drawing: Drawing, n_resamples: int, progress: Progress | None
) -> Iterator[HostArray]:
    """Evaluate a statistic of pairs: all label vectors that fit at once, rows in blocks between reports."""
    bound: Any = job.bound
    k = bound.width
    per_label = 8 if isinstance(observed, Reals) else 1 if observed.n_classes <= 256 else 4
    for reps in tiles(n_resamples, rows_within_budget(observed.n * per_label, 0.25)):
        batch = job.labels(with_observed(observed, drawing, reps))
        blocks = [slice(0, batch.n)]
        if progress is not None:
            blocks = list(tiles(batch.n, _rows_per_report(len(batch), k, batch.values)))
        state = None
        for block in blocks:
            found = bound.state(batch, rows=block)
            state = found if state is None else state + found
            if progress is not None:
                progress(reps.start + (reps.stop - reps.start) * block.stop // batch.n, n_resamples)
        assert state is not None
        yield _values(job.target, bound, state)


def _rows_per_report(n_vectors: int, n_classes: int, labels: Array) -> int:
    """Return how many rows are about half a second of work."""
    rate = 1e13 if on_accelerator(labels) else 2e10
    return max(256, int(rate / (2.0 * labels.shape[1] * n_vectors * n_classes)))


def share_of_replicates(progress: Progress, reps: slice, n_resamples: int, done: int, total: int) -> None:
    """Report a share of a batch of replicates as one of all."""
    progress(reps.start + (reps.stop - reps.start) * done // total, n_resamples)


class _Kept(State):
    """Labels as they are: what follows in the order of rows is put beside them."""

    def __add__(self, other: State) -> _Kept:
        return _Kept({name: np.concatenate([self[name], other[name]], axis=1) for name in self})


@dataclasses.dataclass(frozen=True, eq=False)
class _Work:
    """The work on one dataset: sums of the observed labels (with the first batch) and of `reps`."""

    targets: tuple[Target, ...]
    draws: tuple[Draw, ...]
    reps: slice
    n_resamples: int
    picked: HostArray | None

    def __call__(self, chunk: Dataset) -> Sums:
        most = rows_at_once(chunk.predictions, len(self.targets))
        if len(chunk) <= most:
            return self._part(chunk)
        return reduce(add, (self._part(chunk.rows(rows)) for rows in tiles(len(chunk), most)))

    def _part(self, chunk: Dataset) -> Sums:
        given = chunk.predictions
        notes = as_point(given)[1] if isinstance(given, ClassPredictions) else given.notes
        own = None
        if self.picked is not None:
            begin, end = np.searchsorted(self.picked, [chunk.start, chunk.start + len(chunk)])
            own = self.picked[begin:end] - chunk.start if end > begin else None
        states: dict[str, State] = {}
        posed = _posed(self.targets, chunk, self.draws, self.n_resamples)
        for order, (draw, seen, jobs) in enumerate(posed):
            parts: dict[str, list[State]] = {}
            drawing = draw(seen) if self.reps.stop else None
            for _, batch in label_tiles(seen.batch, drawing, self.reps):
                for job in jobs:
                    found = _every_replicate(job.bound.state(job.labels(batch)), len(batch))
                    parts.setdefault(_name(order, job.place), []).append(found)
                if own is not None:
                    kept = _Kept(labels=to_host(batch.values)[:, own])
                    parts.setdefault(_name(order, None), []).append(kept)
            states |= {name: _stacked(found) for name, found in parts.items()}
        return Sums(states, notes)


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


def merged_replicates(
    targets: Sequence[Target],
    rows: Rows,
    draws: Sequence[Draw],
    n_resamples: int,
    progress: Progress | None = None,
    picked: HostArray | None = None,
) -> tuple[list[list[Resampled]], HostArray | None]:
    """Merge the sums of every replicate over datasets; return labels (1 + b, picked) of some rows as well."""
    sample, part = rows.sample, slice(0, min(_FEW, len(rows.sample)))
    few = Dataset(sample.predictions[part], sample.batch.rows(part))
    alone = [dataclasses.replace(one, group=None) for one in targets]
    shapes = [
        value.shape
        for _, own, jobs in _posed(alone, few, draws[:1], n_resamples)
        for job in jobs
        for value in job.bound.state(own.batch).values()
    ]
    kept = 0 if picked is None else picked.size
    numbers = len(draws) * (kept + sum(math.prod(shape) for shape in shapes))
    values: dict[str, list[HostArray]] = {}
    first: dict[str, State] = {}
    bounds: list[list[Bound]] = []
    drawn: list[HostArray] = []
    batches = list(tiles(n_resamples, rows_within_budget(8 * numbers, 0.25))) or [slice(0, 0)]
    for reps in batches:
        report = None if progress is None else partial(share_of_replicates, progress, reps, n_resamples)
        (total,) = rows.merged([_Work(tuple(targets), tuple(draws), reps, n_resamples, picked)], report)
        noted = dataclasses.replace(few, predictions=_noted(few.predictions, total.notes))
        bounds = [[job.bound for job in jobs] for _, _, jobs in _posed(alone, noted, draws, n_resamples)]
        for order in range(len(draws)):
            for at, (target, bound) in enumerate(zip(targets, bounds[order], strict=True)):
                name = _name(order, at)
                values.setdefault(name, []).append(_values(target, bound, total.states[name]))
                if reps.start == 0:
                    first[name] = _first(total.states[name])
        if picked is not None:
            drawn.append(total.states[_name(0, None)]["labels"])
    found = [
        [
            Resampled.of(bound, values[_name(order, at)], first[_name(order, at)])
            for at, bound in enumerate(bounds[order])
        ]
        for order in range(len(draws))
    ]
    return found, np.concatenate(drawn) if drawn else None


def _noted(predictions: Predictions, notes: tuple[str, ...]) -> Predictions:
    """Return predictions with the notes of all rows; what `mean` adds to them is said by `mean` again."""
    other = predictions.replace_rows()
    said = getattr(predictions, "mean_note", None)
    other._set(notes=tuple(note for note in notes if note != said))
    return other


def paired_values(
    statistics: Sequence[Statistic],
    pairs: Iterable[tuple[Any, Labels]],
    total: int,
    progress: Progress | None = None,
) -> HostArray:
    """Evaluate statistics where predictions change with the replicate, (s, total): bind again for every pair.

    Of the `total` pairs of predictions and labels the first is the observation.
    """
    values = np.empty((len(statistics), total))
    bounds: list[Bound] = []
    for column, (predictions, labels) in enumerate(pairs):
        bounds = [statistic.bind(predictions) for statistic in statistics]
        values[:, column] = [float(bound(labels)[0]) for bound in bounds]
        if progress is not None:
            progress(column + 1, total)
    pairs_of = zip(values, bounds, strict=True)
    return np.stack([settled(row, one.term_size, one.n, one.rounding) for row, one in pairs_of])
