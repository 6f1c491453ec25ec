"""Statistics over rows: plan, one pass of sums, merge, finish.

Rows in memory are one dataset: a statistic is bound to it once, and its sums stay on their device. Rows in
chunks give the values of all rows at once up to the rounding of sums. Statistics that compare pairs of
instances take all rows into memory (of classes the mean predictions, n k numbers), unless chunks of them meet
on an engine: the predictions and labels of each stay where they were read, as a `Dataset`. A task takes a
part of one chunk and all of another, so that two chunks are all a worker holds. Where pairs are symmetric
every two chunks meet once; where a row must see all others before its error is known (KDE errors), one task
follows the other.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, rows_within_budget, tiles, to_host
from credibly._arrays.progress import Progress, tell
from credibly._arrays.standard_errors import ONE_CLUSTER, Moments, cluster_error, standard_error_of
from credibly.predictions import (
    ClassPredictions,
    Counts,
    Dataset,
    InMemory,
    Labels,
    Point,
    Predictions,
    RealPredictions,
    Rows,
    as_point,
)
from credibly.predictions.clusters import Clusters
from credibly.predictions.dataset import joined_rows
from credibly.predictions.labels import one_distribution
from credibly.predictions.passes import Sums, Task, on_host, remembering
from credibly.predictions.rows import RowChoice
from credibly.results.estimates import Estimate
from credibly.statistics.pairwise import BandwidthPlan, ClusterSums, PairBound, PairStatistic, require_pairs
from credibly.statistics.protocol import SECOND_LOOK, Bound, Plan, State, Statistic
from credibly.statistics.real_kernels import with_labels

PAIRS_OF_CLUSTERS = "pairs of rows inside a cluster are left out"


class Planned(NamedTuple):
    """A statistic with the plan of all rows."""

    statistic: Statistic
    plan: Plan


def planned(statistics: Sequence[Statistic], rows: Rows) -> list[Planned]:
    """Return every statistic with its plan; those that are not sums over instances are refused."""
    kept = []
    for statistic in statistics:
        if statistic.traits.reduction != "sum":
            rows.at_once(f"`{statistic.name}`", f"it is {statistic.traits.reduction}")
        require_defined(statistic, rows)
        kept.append(Planned(statistic, statistic._plan(rows)))
    return kept


def require_defined(statistic: Statistic, rows: Rows) -> None:
    """Raise unless the statistic is defined for predictions and labels of this kind."""
    example = rows.example
    statistic.require_predictions(example.predictions)
    batch = statistic.require_labels(example.batch)
    if isinstance(batch, Counts) and isinstance(example.predictions, RealPredictions):
        raise UnsupportedError(
            f"`{statistic.name}` of real-valued predictions",
            "takes reals",
            "got counts",
            "Pass one number per instance.",
            argument="labels",
        )


def notes_of_one(predictions: Predictions) -> tuple[str, ...]:
    """Return the notes of `one_distribution`, which is not made for them."""
    if not isinstance(predictions, Point) and isinstance(predictions, ClassPredictions):
        return (*predictions.notes, predictions.mean_note)
    return predictions.notes


@dataclasses.dataclass(frozen=True)
class StatisticsTask(Task):
    """Statistics that are sums over instances, as a part of one pass.

    Attributes
    ----------
    chosen : tuple of Planned
        The statistics.
    example : Dataset
        A few rows, or all where they are in memory: they tell the kind of predictions and labels.
    clusters : Clusters or None
        Which of them belong together.
    """

    chosen: tuple[Planned, ...]
    example: Dataset
    clusters: Clusters | None = None

    @classmethod
    def of(cls, statistics: Sequence[Statistic], rows: Rows) -> StatisticsTask:
        """Plan the statistics for these rows."""
        example = rows.example
        clusters = None if example.clusters is None else rows.clusters
        return cls(tuple(planned(statistics, rows)), example, clusters)

    def bound_to(self, rows: Dataset) -> tuple[list[Bound], tuple[str, ...]]:
        """Bind every statistic to some rows, and return the notes of these; to the example once."""
        if rows is self.example and "of_example" in self.__dict__:
            known: tuple[list[Bound], tuple[str, ...]] = self.__dict__["of_example"]
            return known
        predictions = remembering(rows.predictions) if len(self.chosen) > 1 else rows.predictions
        # without `bind`, whose checks were made when these statistics were planned
        bounds = [chosen.statistic._bind(predictions, chosen.plan) for chosen in self.chosen]
        bound_and_notes = bounds, notes_of_one(predictions)
        if rows is self.example:
            self.__dict__["of_example"] = bound_and_notes
        return bound_and_notes

    def sums(self, chunk: Dataset) -> Sums:
        """Return the observed sums of every statistic."""
        bounds, notes = self.bound_to(chunk)
        codes = None if self.clusters is None else self.clusters.codes(chunk.clusters)
        states: dict[str, State] = {}
        for bound in bounds:
            states[bound.statistic.name] = bound.observed_sums(chunk.batch)
            if self.clusters is not None and codes is not None:
                by_cluster = bound.cluster_sums(chunk.batch, codes, self.clusters.number)
                states |= {} if by_cluster is None else {of_clusters(bound): by_cluster}
        return Sums(states, notes)

    def finish(self, total: Sums) -> dict[str, Estimate]:
        """Return the value of every statistic, with its standard error where merged sums tell it."""
        estimates = {}
        for bound in self.bound_to(self.example)[0]:
            name = bound.statistic.name
            estimate = bound.estimate(total.states[name], self.example.batch, total.notes)
            if self.clusters is not None:
                estimate = clustered(bound, estimate, total.states.get(of_clusters(bound)))
            estimates[name] = estimate
        return estimates


def of_clusters(bound: Bound) -> str:
    """Return the name of the sums per cluster of a statistic."""
    return f"{bound.statistic.name} of clusters"


def clustered(bound: Bound, estimate: Estimate, sums: State | None) -> Estimate:
    """Return an estimate with the standard error of rows in clusters: each is left out once.

    se^2 = (C - 1) / C sum over clusters of (value without it - value)^2

    The jackknife holds for clusters of unequal sizes too; MacKinnon, Nielsen and Webb 2023.
    """
    if sums is None:
        return estimate
    if estimate.stderr is None and estimate.interval_refusal is not SECOND_LOOK:
        return estimate
    if np.count_nonzero(_sizes(sums)) < 2:  # of a group; all rows have two clusters or more
        return dataclasses.replace(estimate, stderr=None, interval_refusal=ONE_CLUSTER, n_clusters=1)
    value, without, sizes = without_each(bound, sums)
    error = cluster_error(value, without, sizes, estimate.stderr, bound.statistic.term_size)
    return dataclasses.replace(estimate, value=value, **error, interval_method="normal")


def _sizes(sums: State) -> HostArray:
    """Return the rows, or their weight, of every cluster, (c,)."""
    size = next(sums[name] for name in ("weight", "size") if name in sums)
    counts: HostArray = np.asarray(size).reshape(len(size), -1).sum(axis=1)
    return counts


def without_each(bound: Bound, sums: State) -> tuple[float, HostArray, HostArray]:
    """Return the value of all rows, the values without each cluster, (c,), and the sizes of the clusters."""
    sizes = _sizes(sums)
    total = State({name: np.sum(sum_of_each, axis=0, keepdims=True) for name, sum_of_each in sums.items()})
    without = State({name: total[name] - sum_of_each[sizes > 0] for name, sum_of_each in sums.items()})
    return float(to_host(bound.finish(total))[0]), to_host(bound.finish(without)), sizes[sizes > 0]


def _influences(task: StatisticsTask, sums: dict[str, State], chunk: Dataset) -> Sums:
    """Return moments of what every row does to values whose sums are known: the second look at the rows."""
    bounds = {bound.statistic.name: bound for bound in task.bound_to(chunk)[0]}
    moved = {name: bounds[name].influence(total, chunk.batch) for name, total in sums.items()}
    return Sums({name: Moments.of(influence[None, :], None) for name, influence in moved.items()})


def estimates_over(
    statistics: Sequence[Statistic], rows: Rows, progress: Progress | None = None
) -> dict[str, Estimate]:
    """Return the value of every statistic, all sums in one pass over the data after the plans.

    Parameters
    ----------
    statistics : sequence of Statistic
        What to compute.
    rows : Rows
        The rows.
    progress : callable, optional
        Called with (done, total) rows.

    Returns
    -------
    dict
        Estimates by name, in the order of the statistics.
    """
    estimates: dict[str, Estimate] = {}
    sums = [statistic for statistic in statistics if statistic.traits.reduction == "sum"]
    if sums:
        task = StatisticsTask.of(sums, rows)
        (total,) = rows.merged([task.sums], progress)
        estimates = task.finish(total)
        asking = [name for name in estimates if estimates[name].interval_refusal is SECOND_LOOK]
        again = {name: total.states[name] for name in asking}
        looked = rows.merged([partial(_influences, task, again)])[0].states if again else {}
        for name, moments in looked.items():
            error = standard_error_of(moments)[0]
            estimates[name] = dataclasses.replace(estimates[name], stderr=error, interval_refusal=None)
    if len(estimates) == len(statistics):
        return estimates
    for statistic in statistics:
        if statistic.traits.reduction in ("pairwise", "smoother"):
            estimates[statistic.name] = pair_estimate(statistic, rows, progress)
        elif statistic.traits.reduction == "opaque":
            require_defined(statistic, rows)
            estimates[statistic.name] = estimate_at_once(*statistic.bound_at_once(rows))
    return {statistic.name: estimates[statistic.name] for statistic in statistics}


def estimate_at_once(bound: Bound, labels: Labels, codes: HostArray | None = None) -> Estimate:
    """Return the value of a statistic bound to all rows; with `codes` pairs inside a cluster are left out."""
    estimate = bound.estimate(bound.observed_sums(labels), labels)
    if codes is None:
        return estimate
    number = int(codes.max()) + 1
    return _between(estimate, bound, bound.wild_sums(labels, codes, number), number)


def for_pairs(rows: Rows) -> Dataset:
    """Return all rows in memory, as statistics that compare pairs need them: for classes, the means."""
    if isinstance(rows.example.predictions, ClassPredictions):
        return Dataset(*gathered(rows))
    whole = rows.loaded(rows.n)
    assert whole is not None
    return whole


def gathered(rows: Rows) -> tuple[Point, Labels]:
    """Return mean predictions and labels of all rows in memory, for statistics that compare pairs."""
    parts = list(rows.map(_means))
    whole = parts[0] if len(parts) == 1 else joined_rows(parts)  # one part keeps its device and its graph
    assert isinstance(whole.predictions, Point)
    return whole.predictions, whole.batch


def _means(chunk: Dataset) -> Dataset:
    point, notes = as_point(chunk.predictions)
    if notes != point.notes:
        point = copy.copy(point)
        point._set(notes=notes)
    return Dataset(point, chunk.batch)


_LEAST_ROWS, _MOST_ROWS = 128, 4096  # of a part: products of fewer are slow, temporaries of more large


Pose = Callable[[Dataset], Dataset]
"""From rows to rows as a statistic of pairs sees them: of draws, pools with their labels."""
Vectors = Callable[[Dataset], Labels]
"""Returns the label vectors of a chunk: as they are, or drawn; the same ones whatever stands beside a row."""


def meets_in_chunks(statistic: Statistic, chunks: Rows) -> bool:
    """Tell whether pairs are to meet in tasks: in one process they meet in memory."""
    return isinstance(statistic, PairStatistic) and chunks.engine.name != "serial"


class PairPlan(NamedTuple):
    """A statistic of pairs with the plan of all rows."""

    statistic: PairStatistic
    plan: BandwidthPlan

    def bind(self, predictions: Predictions, n: int) -> PairBound:
        """Bind to some rows, as if there were `n` of them."""
        return self.statistic.bound(predictions, dataclasses.replace(self.plan, n=n), ())


@dataclasses.dataclass(frozen=True)
class ChunkPairs:
    """A statistic of pairs over chunks that are held by an engine.

    Parameters
    ----------
    planned : PairPlan
        The statistic, with the plan of all rows.
    rows : Rows
        The rows, as the statistic sees them.
    chunks : list
        What `mapped_in_place` made of them.
    """

    planned: PairPlan
    rows: RowChoice
    chunks: list[Any]

    @classmethod
    def over(cls, statistic: Statistic, rows: Rows, pose: Pose = with_labels) -> ChunkPairs:
        """Plan, and read all chunks once; predictions and labels stay where they were read."""
        require_pairs(statistic.name, rows.n)
        seen = RowChoice(rows, rows.n, pose)
        chunks = rows.mapped_in_place(partial(_for_meetings, pose, rows.clusters))
        plan = statistic.plan(seen)
        assert isinstance(statistic, PairStatistic) and isinstance(plan, BandwidthPlan)
        return cls(PairPlan(statistic, plan), seen, chunks)

    @property
    def bound(self) -> PairBound:
        """The statistic bound to a few rows in place of all: enough to finish sums."""
        few, _ = one_distribution(self.rows.example.predictions)
        return self.planned.bind(few, self.rows.n)

    def vectors_at_once(self) -> int:
        """Return how many label vectors fit: values of the least part, and the labels of a chunk."""
        longest = max(_LEAST_ROWS * self._bytes_per_entry(), 8 * max(self.rows.whole.lengths))
        return rows_within_budget(longest, 0.25)

    def _bytes_per_entry(self) -> int:
        return 3 * 8 * self.bound.width  # what rows got, what they get now, and the sum

    def _part_rows(self, n_vectors: int) -> int:
        """Return the rows of a part: what they get, and the kernel with the longest chunk, fit the budget."""
        fitting = rows_within_budget(self._bytes_per_entry() * n_vectors, 0.25)
        n_columns = rows_within_budget(2 * 8 * max(self.rows.whole.lengths), 0.6)
        return min(_MOST_ROWS, max(_LEAST_ROWS, min(fitting, n_columns)))

    def sums(
        self, vectors: Vectors, n_vectors: int, progress: Progress | None = None
    ) -> tuple[State, tuple[str, ...]]:
        """Return the sums over all pairs for every label vector, and what the rows had to say."""
        chains = list(self._chains(self._part_rows(n_vectors)))
        step, finish = partial(_step, self.planned, vectors), partial(_finish, self.planned, vectors)
        total: State | None = None
        notes: dict[str, None] = {}
        parts = self.rows.engine.folds(step, chains, finish)
        for done, (sums, remarks) in enumerate(parts, start=1):
            total = sums if total is None else total + sums
            notes.update(dict.fromkeys(remarks))
            tell(progress, done, len(chains))
        assert total is not None
        return total, tuple(notes)

    def wild_sums(self, number: int) -> tuple[Bound, State, State]:
        """Return a bound statistic and its `wild_sums` of the observed labels, rows in so many clusters."""
        sums, bound, notes = ClusterSums(number), self.bound, dict[str, None]()
        steps = self.rows.engine.folds(
            partial(_cluster_step, self.planned), self._chains(self._part_rows(1)), tuple
        )
        for between, part in steps:
            for sums_of_pair in between:
                sums.add(*sums_of_pair)
            if part is not None:
                codes, labels, notes_of_part = part
                sums.weigh(codes, labels)
                notes.update(dict.fromkeys(notes_of_part))
        bound.notes = (*notes, *self.planned.plan.notes)
        return bound, *sums.states()

    def _chains(self, size: int) -> Iterator[list[tuple[Any, slice, Any]]]:
        """Yield the steps of every part of every chunk: which part, and which chunk it meets."""
        once = self.bound.symmetric
        for place, length in enumerate(self.rows.whole.lengths):
            here = self.chunks[place]
            for part in tiles(length, size):
                if once:
                    yield from ([(here, part, other)] for other in self.chunks[place:])
                else:
                    yield [(here, part, other) for other in self.chunks]

    def notes_of(self, state: State) -> tuple[str, ...]:
        """Return what the sums of all chunks make worth knowing, as binding all rows at once would."""
        plan = self.planned.plan
        return (*plan.notes, *self.bound.merged_notes(state, plan.n))


def _between(estimate: Estimate, bound: Bound, sums: tuple[State, State], number: int) -> Estimate:
    """Return the estimate of a mean over pairs with the value over pairs of rows of different clusters."""
    values = bound.wild_values(*sums, np.ones((1, number)))
    value, notes = float(to_host(values)[0]), (*estimate.notes, PAIRS_OF_CLUSTERS)
    return dataclasses.replace(estimate, value=value, notes=notes, n_clusters=number)


def pair_estimate(statistic: Statistic, rows: Rows, progress: Progress | None = None) -> Estimate:
    """Return the value of a statistic of pairs: of rows in memory, or of chunks that meet on an engine."""
    require_defined(statistic, rows)
    of_pairs = statistic.traits.reduction == "pairwise"
    if not meets_in_chunks(statistic, rows):
        whole, codes = for_pairs(rows), rows.cluster_codes()
        bound = statistic.bind(whole.predictions, statistic.plan(InMemory(whole)))
        return estimate_at_once(bound, whole.batch, codes if of_pairs else None)
    pairs = ChunkPairs.over(statistic, rows)
    state, notes = pairs.sums(attrgetter("batch"), 1, progress)
    bound = pairs.bound
    bound.notes = (*notes, *pairs.notes_of(state))  # of all rows, in place of the few that it is bound to
    estimate = bound.estimate(state, rows.example.batch)
    if rows.clusters is None or not of_pairs:
        return estimate
    _, expected, added = pairs.wild_sums(rows.clusters.number)
    return _between(estimate, bound, (expected, added), rows.clusters.number)


def _for_meetings(pose: Pose, clusters: Clusters | None, chunk: Dataset) -> Dataset:
    """Return mean predictions of classes, and of draws pools with their labels; clusters become numbers."""
    rows = pose(chunk)
    distributions, notes = one_distribution(rows.predictions)
    codes = None if clusters is None else clusters.codes(chunk.clusters)
    return Dataset(distributions, rows.batch, notes=notes, start=chunk.start, clusters=codes)


def _meeting(
    planned: PairPlan, chunk: Dataset, part: slice, other: Dataset
) -> tuple[Dataset, Dataset, PairBound, PairBound, int | None]:
    """Return a part of a chunk and the rows of another that it meets, both bound, and its place among these.

    Of a symmetric matrix rows meet themselves and those behind them. Other rows have no place: None.
    """
    rows, columns = chunk.rows(part), other
    bound, same = planned.bind(rows.predictions, len(rows)), chunk.start == other.start
    if same and bound.symmetric:
        columns = other.rows(slice(part.start, len(other)))
    column_bound = planned.bind(columns.predictions, len(columns))
    return rows, columns, bound, column_bound, rows.start - columns.start if same else None


def _step(
    planned: PairPlan, vectors: Vectors, before: Any, chunk: Dataset, part: slice, other: Dataset
) -> tuple[Dataset, Any]:
    """Let a part of a chunk meet another chunk, and add what it gets to what it got before."""
    rows, columns, bound, column_bound, first = _meeting(planned, chunk, part, other)
    gained = bound.met(column_bound, vectors(rows), vectors(columns), first)
    return rows, gained if before is None else before[1] + gained


def _finish(planned: PairPlan, vectors: Vectors, sums: tuple[Dataset, Any]) -> tuple[State, tuple[str, ...]]:
    rows, gained = sums
    bound = planned.bind(rows.predictions, len(rows))
    state = bound.settled(gained, slice(0, len(rows)), vectors(rows))
    return on_host(bound.with_counts(state)), rows.notes


def _cluster_step(
    planned: PairPlan, before: None, chunk: Dataset, part: slice, other: Dataset
) -> tuple[list[tuple[HostArray, HostArray, HostArray]], tuple[HostArray, Labels, tuple[str, ...]] | None]:
    """Let a part of a chunk meet another chunk, and return the sums between their clusters.

    With them come clusters, labels and notes of the part, where it has met itself.
    """
    rows, columns, bound, column_bound, first = _meeting(planned, chunk, part, other)
    sums = bound.met_clusters(column_bound, rows.batch, columns.batch, rows.clusters, columns.clusters, first)
    return list(sums), None if first is None else (rows.clusters, rows.batch, rows.notes)
