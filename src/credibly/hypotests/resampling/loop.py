"""Statistics on drawn labels: bound to rows, label vectors in tiles, values finished tile by tile.

values[0] = T(rows, observed labels),   values[d] = T(rows, labels drawn for replicate d),   d = 1, ..., b

A replicate's label of row i depends on the seed, the replicate and i alone, so the same labels are drawn
however rows and replicates are cut. There are two loops over replicates: `label_tiles` here, and `sign_tiles`
of clusters (`wild`). What a test wants evaluated is a `Request` (`requests`), where rows that come in chunks,
or in parts, are added up.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.label_kernels import VECTORS
from credibly._arrays.namespace import (
    Array,
    HostArray,
    like,
    namespace,
    on_accelerator,
    one_blas_thread,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.progress import Progress, share_of, tell
from credibly.hypotests.resampling.choices import bound_to
from credibly.hypotests.resampling.pvalues import settled
from credibly.hypotests.resampling.replicates import Draw, Drawing, LabelSource
from credibly.predictions import Classes, Dataset, InMemory, Labels, Predictions, Reals, Rows
from credibly.statistics.over_rows import planned
from credibly.statistics.protocol import Bound, Plan, State, Statistic

_TILE_LABELS = 2**20
_BYTES_PER_LABEL = 32  # a label, its uniform number and the temporaries of a statistic


Finish = Callable[[Bound, State], Array]


def finished(bound: Bound, state: State) -> Array:
    """Return the values of the statistic."""
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
    statistic : Statistic or None
        What is bound; targets with equal statistics share their sums.
    """

    bind: Callable[[Predictions], Bound]
    group: Any = None
    finish: Finish = finished
    additive: bool = True
    plan: Plan | None = None
    statistic: Statistic | None = None

    @property
    def key(self) -> Hashable:
        """Equal for targets whose sums over the same labels are equal."""
        if self.statistic is None or not self.additive:
            return id(self)
        return self.statistic.identity, self.group


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
    expected : State or None
        Of rows in clusters: the sums that the predictions expect.
    """

    bound: Bound
    values: HostArray
    observed: State | None = None
    expected: State | None = None

    def __post_init__(self) -> None:
        if self.values.ndim == 1:
            bound = self.bound
            values_settled = settled(self.values, bound.term_size, bound.n, bound.rounding)
            object.__setattr__(self, "values", values_settled)


def targets_of(
    chosen: Sequence[Statistic],
    rows: Rows,
    groups: Sequence[tuple[Any, int]] = (),
    finish: Finish = finished,
    *,
    in_parts: bool = False,
) -> list[Target]:
    """Plan every statistic on all rows, then group by group.

    Of chunks these are sums over instances; with `in_parts` also those that `comes_in_parts` holds for.
    """
    whole = rows.loaded()
    inside = _rows_of_groups(whole) if groups and whole is not None else {}
    targets = []
    for level, size in ((None, rows.n), *groups):
        if whole is None:
            part = rows if level is None else rows.of_group(level, size)
        else:
            part = InMemory(whole if level is None else whole.take(inside[level]))
        for statistic in chosen:
            additive = statistic.traits.reduction == "sum"
            if whole is None and in_parts and not additive:
                targets.append(Target(statistic.bind, level, finish, False, None, statistic))
                continue
            plan = planned([statistic], part)[0].plan if whole is None else statistic.plan(part)
            bind = partial(statistic.bind, plan=plan)
            targets.append(Target(bind, level, finish, additive, plan, statistic))
    return targets


class Wish:
    """A target of one source of labels, all functions that finish its sums, and what they found."""

    bound: Bound

    def __init__(self, target: Target, *finishes: Finish) -> None:
        self.target, self.finishes = target, list(finishes)
        self.observed: State | None = None
        self.expected: State | None = None
        self.values: list[list[Array]] = []
        """Of every tile and function; they stay on their device until all tiles are under way."""

    def add(self, target: Target) -> int:
        """Have the sums finished as another target wants; return which of the values are its own."""
        self.finishes.append(target.finish)
        return len(self.finishes) - 1

    def see(self, bound: Bound, state: State) -> None:
        """Finish the sums of some replicates; the observed labels come first."""
        if not self.values and self.target.additive:
            first = {name: np.asarray(to_host(value[:1, ...])) for name, value in state.items()}
            self.observed = State(first)
        self.bound = bound
        self.values.append([finish(bound, state) for finish in self.finishes])

    def found(self, which: int = 0) -> Resampled:
        """Return what one of the functions found."""
        values = np.concatenate([to_host(tile[which]) for tile in self.values])
        return Resampled(self.bound, values, self.observed, self.expected)


@dataclasses.dataclass(frozen=True)
class Job:
    """A target bound to the rows of one dataset, and which of its labels it takes; None for all."""

    target: Target
    bound: Bound
    rows: Array | None = None
    place: int = 0
    """Of the target among all."""

    def labels(self, batch: Any) -> Any:
        """Return the labels of its rows."""
        return batch if self.rows is None else batch.take(self.rows)


def jobs_of(
    targets: Sequence[Target],
    dataset: Dataset,
    n_resamples: int,
    known: dict[Hashable, Job],
    *,
    whole: bool = False,
) -> list[Job]:
    """Bind targets to a dataset, unless they are `known`; groups without rows there have no job.

    With `whole`, targets of groups are bound to all rows, too.
    """
    predictions = dataset.predictions
    grouped = not whole and any(target.group is not None for target in targets)
    inside = _rows_of_groups(dataset) if grouped else {}
    jobs = []
    for place, target in enumerate(targets):
        if target.key not in known:
            predicted, labels, part = predictions, dataset.batch, None
            if target.group is not None and not whole:
                if target.group not in inside:
                    continue
                part = like(inside[target.group], labels.values)
                predicted, labels = predictions[inside[target.group]], labels.take(part)
            bound = bound_to(target.bind, predicted, labels)
            known[target.key] = Job(target, bound.for_replicates(labels, n_resamples), part)
        jobs.append(dataclasses.replace(known[target.key], target=target, place=place))
    return jobs


def as_replicates_see(
    sources: Sequence[tuple[Draw, Sequence[Target]]], rows: Dataset, n_resamples: int, *, whole: bool = False
) -> Iterator[tuple[Draw, Dataset, list[Job]]]:
    """Yield every source with the rows as it sees them, and its targets bound to them."""
    seen: tuple[Hashable, Dataset, dict[Hashable, Job]] | None = None
    for draw, targets in sources:
        key = draw.view(rows) if isinstance(draw, LabelSource) else id(draw)
        if seen is None or seen[0] != key:
            seen = key, draw.pose(rows) if isinstance(draw, LabelSource) else rows, {}
        yield draw, seen[1], jobs_of(targets, seen[1], n_resamples, seen[2], whole=whole)


def sharing_work(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return jobs, those side by side whose statistics share work on the same labels."""
    if len(jobs) < 2:
        return [[job] for job in jobs]
    alike: dict[Hashable, list[Job]] = {}
    for job in jobs:
        shared = job.bound.shared
        alike.setdefault(job.place if shared is None else (job.target.group, shared), []).append(job)
    return list(alike.values())


def states_of(shared: Sequence[Sequence[Job]], batch: Any) -> Iterator[tuple[Job, State]]:
    """Yield the sums of all jobs; some share their work."""
    for jobs in shared:
        first, *others = (job.bound for job in jobs)
        yield from zip(jobs, first.states_with(others, jobs[0].labels(batch)), strict=True)


def _rows_of_groups(dataset: Dataset) -> dict[Any, HostArray]:
    """Return the rows of every group of a dataset, increasing."""
    groups = np.asarray(dataset.groups)
    levels, group = np.unique(groups.astype(str) if groups.dtype == object else groups, return_inverse=True)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group))[:-1])
    return dict(zip(levels.tolist(), parts, strict=True))


def label_tiles(
    observed: Any, drawing: Drawing | None, reps: slice, *, lean: bool = False
) -> Iterator[tuple[slice, Any]]:
    """Yield replicates in tiles, on the host those that stay in cache; the observation before the first.

    Whoever is `lean` makes nothing of the size of the labels.
    """
    if drawing is None or not reps.stop:
        yield slice(0, 0), observed
        return
    with one_blas_thread():  # products of a few columns: starting a second thread costs more than it saves
        size, begin = replicates_per_tile(observed, drawing, lean), reps.start
        while begin < reps.stop:
            # where labels are all there is, the first tile leaves room for its copy behind the observed ones
            fits = max(1, size // 2) if lean and begin == 0 else size
            part = slice(begin, min(begin + fits, reps.stop))
            begin = part.stop
            yield part, with_observed(observed, drawing, part)


def replicates_per_tile(observed: Labels, drawing: Drawing, lean: bool = False) -> int:
    """Return how many label vectors are drawn at once: on the host those that stay in cache."""
    n = observed.n
    if not drawing.on_device:
        return min(rows_within_budget(_BYTES_PER_LABEL * n, 0.5), max(1, _TILE_LABELS // n))
    if not lean:
        return rows_within_budget(_BYTES_PER_LABEL * n, 0.5, observed.values)
    wide = 4 if isinstance(observed, Classes) and observed.n_classes > 256 else 1
    fits = rows_within_budget(wide * n, 0.9, observed.values)
    return fits - fits % VECTORS if fits > 4 * VECTORS else fits


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
    """Evaluate statistics that are bound already, (s, 1 + n_resamples)."""
    targets = [Target(bound.statistic.bind, additive=False) for bound in bounds]
    wishes = [Wish(target, target.finish) for target in targets]
    jobs = [
        Job(target, bound, None, at) for at, (target, bound) in enumerate(zip(targets, bounds, strict=True))
    ]
    at_once(wishes, jobs, observed, drawing, n_resamples, progress)
    return np.stack([wish.found().values for wish in wishes])


def at_once(
    wishes: Sequence[Wish],
    jobs: Sequence[Job],
    observed: Labels,
    drawing: Drawing | None,
    n_resamples: int,
    progress: Progress | None = None,
) -> None:
    """Evaluate whole label vectors of one dataset; every tile is finished when it is drawn."""
    wide = [job for job in jobs if _meets_in_pairs(job.bound)]
    narrow = sharing_work([job for job in jobs if not _meets_in_pairs(job.bound)])
    lean = drawing is not None and drawing.on_device and all(map(_is_lean, itertools.chain(*narrow)))
    for reps, batch in label_tiles(observed, drawing, slice(0, n_resamples), lean=lean) if narrow else ():
        for job, state in states_of(narrow, batch):
            wishes[job.place].see(job.bound, state)
        if progress is not None and not wide:
            progress(reps.stop, n_resamples)
    for part, job in enumerate(wide):
        assert drawing is not None
        report = share_of(progress, part, len(wide))
        for state in _pairwise(job, observed, drawing, n_resamples, report):
            wishes[job.place].see(job.bound, state)


def _is_lean(job: Job) -> bool:
    return job.rows is None and job.bound.is_lean


def _meets_in_pairs(bound: Bound) -> bool:
    """Tell whether a statistic costs n^2 however few labels it gets, so that large batches pay."""
    return bound.statistic.traits.reduction in ("pairwise", "smoother")


def _pairwise(
    job: Job, observed: Labels, drawing: Drawing, n_resamples: int, progress: Progress | None
) -> Iterator[State]:
    """Sum up a statistic of pairs: all label vectors that fit at once, rows in blocks between reports."""
    bound: Any = job.bound
    per_label = 8 if isinstance(observed, Reals) else 1 if observed.n_classes <= 256 else 4
    for reps in tiles(n_resamples, rows_within_budget(observed.n * per_label, 0.25, observed.values)):
        batch = job.labels(with_observed(observed, drawing, reps))
        blocks = [slice(0, batch.n)]
        if progress is not None:
            blocks = list(tiles(batch.n, _rows_per_report(len(batch), bound.width, batch.values)))
        state = None
        for block in blocks:
            added = bound.state(batch, rows=block)
            state = added if state is None else state + added
            tell(progress, reps.start + (reps.stop - reps.start) * block.stop // batch.n, n_resamples)
        assert state is not None
        yield state


def _rows_per_report(n_vectors: int, n_classes: int, labels: Array) -> int:
    """Return how many rows are about half a second of work."""
    rate = 1e13 if on_accelerator(labels) else 2e10
    return max(256, int(rate / (2.0 * labels.shape[1] * n_vectors * n_classes)))


def share_of_replicates(progress: Progress, reps: slice, n_resamples: int, done: int, total: int) -> None:
    """Report a share of a batch of replicates as one of all."""
    progress(reps.start + (reps.stop - reps.start) * done // total, n_resamples)
