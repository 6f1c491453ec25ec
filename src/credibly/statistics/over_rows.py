"""Statistics over rows: plan, one pass of sums, merge, finish.

Rows in memory are one dataset: a statistic is bound to it once, and its sums stay on their device. Rows in
chunks give the values of all rows at once up to the rounding of sums. Statistics that compare pairs of
instances take the mean predictions of all rows into memory, n k numbers, unless blocks of them meet on an
engine (`pair_blocks`).
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.merging import State
from credibly._arrays.namespace import to_host
from credibly._arrays.progress import Progress
from credibly.predictions import ClassPredictions, Dataset, Labels, Point, Predictions, Rows, as_point
from credibly.predictions.passes import Sums, Task, with_one_mean
from credibly.results.estimates import Estimate, Moments, standard_error_of
from credibly.statistics.protocol import SECOND_LOOK, Bound, Plan, Statistic


@dataclasses.dataclass(frozen=True)
class Planned:
    """A statistic with the plan of all rows."""

    statistic: Statistic
    plan: Plan

    def bind(self, predictions: Predictions) -> Bound:
        """Bind to some of the rows."""
        return self.statistic.bind(predictions, self.plan)


def planned(statistics: Sequence[Statistic], rows: Rows) -> list[Planned]:
    """Return every statistic with its plan; those that are no sums over instances are refused."""
    kept = []
    for statistic in statistics:
        if statistic.traits.reduction != "sum":
            raise UnsupportedError(
                f"`{statistic.name}` of rows in chunks",
                "must be a sum over instances",
                f"it is {statistic.traits.reduction}",
                "Gather the mean predictions first: `chunks.gather()`, n k numbers in memory.",
            )
        require_rows(statistic, rows)
        kept.append(Planned(statistic, statistic.plan(rows)))
    return kept


def require_rows(statistic: Statistic, rows: Rows) -> None:
    """Raise unless the statistic is defined for predictions and labels of this kind."""
    sample = rows.sample
    statistic.require_predictions(sample.predictions)
    statistic.require_labels(sample.batch)


def one_distribution(predictions: Predictions) -> tuple[Predictions, tuple[str, ...]]:
    """Return what sums over instances need: the mean of class predictions, made once for all statistics."""
    if isinstance(predictions, ClassPredictions):
        return as_point(predictions)
    return predictions, predictions.notes


def notes_of_one(predictions: Predictions) -> tuple[str, ...]:
    """Return the notes of `one_distribution`, which is not made for them."""
    if isinstance(predictions, ClassPredictions) and not isinstance(predictions, Point):
        return (*predictions.notes, predictions.mean_note)
    return predictions.notes


@dataclasses.dataclass(frozen=True)
class StatisticsTask(Task):
    """Statistics that are sums over instances, as a part of one pass.

    Attributes
    ----------
    chosen : tuple of Planned
        The statistics.
    sample : Dataset
        A few rows, or all where they are in memory: they tell the kind of predictions and labels.
    n : int
        Number of all rows.
    """

    chosen: tuple[Planned, ...]
    sample: Dataset
    n: int

    @classmethod
    def of(cls, statistics: Sequence[Statistic], rows: Rows) -> StatisticsTask:
        """Plan the statistics for these rows."""
        return cls(tuple(planned(statistics, rows)), rows.sample, rows.n)

    @cached_property
    def _of_sample(self) -> tuple[list[Bound], tuple[str, ...]]:
        return self._bound(self.sample)

    def _bound(self, rows: Dataset) -> tuple[list[Bound], tuple[str, ...]]:
        several = len(self.chosen) > 1
        given = with_one_mean(rows.predictions) if several else rows.predictions
        return [one.bind(given) for one in self.chosen], notes_of_one(given)

    def bound_to(self, rows: Dataset) -> tuple[list[Bound], tuple[str, ...]]:
        """Bind every statistic to some rows, and return the notes of these; to rows in memory once."""
        return self._of_sample if rows is self.sample else self._bound(rows)

    def sums(self, chunk: Dataset) -> Sums:
        """Return the observed sums of every statistic."""
        bounds, notes = self.bound_to(chunk)
        return Sums({bound.statistic.name: bound.observed_sums(chunk.batch) for bound in bounds}, notes)

    def finish(self, total: Sums) -> dict[str, Estimate]:
        """Return the value of every statistic, with its standard error where merged sums tell it."""
        labels = self.sample.batch
        return {
            bound.statistic.name: bound.estimate(total.states[bound.statistic.name], labels, total.notes)
            for bound in self.bound_to(self.sample)[0]
        }


@dataclasses.dataclass(frozen=True)
class _Influence:
    """The work of the second look: moments of what every row does to values whose sums are known."""

    task: StatisticsTask
    sums: dict[str, State]

    def __call__(self, chunk: Dataset) -> Sums:
        found: dict[str, State] = {}
        for bound in self.task.bound_to(chunk)[0]:
            name = bound.statistic.name
            if name in self.sums:
                influence = bound.influence(self.sums[name], chunk.batch)
                found[name] = Moments.of(influence[None, :], None)
        return Sums(found)


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
    sums = [one for one in statistics if one.traits.reduction == "sum"]
    found = _sums_over(sums, rows, progress) if sums else {}
    for one in statistics:
        if one.traits.reduction in ("pairwise", "smoother"):
            from credibly.statistics.pair_blocks import pair_estimate  # written against this module

            found[one.name] = pair_estimate(one, rows, progress)
        elif one.traits.reduction == "opaque":
            require_rows(one, rows)
            found[one.name] = estimate_at_once(*one.bound_at_once(rows))
    return {one.name: found[one.name] for one in statistics}


def _sums_over(statistics: Sequence[Statistic], rows: Rows, progress: Progress | None) -> dict[str, Estimate]:
    task = StatisticsTask.of(statistics, rows)
    (total,) = rows.merged([task.sums], progress)
    found = task.finish(total)
    again = {name: total.states[name] for name, one in found.items() if one.interval_refusal is SECOND_LOOK}
    if again:
        (moments,) = rows.merged([_Influence(task, again)])
        for name, state in moments.states.items():
            stderr, _ = standard_error_of(state)
            found[name] = dataclasses.replace(found[name], stderr=stderr, interval_refusal=None)
    return found


def estimate_at_once(bound: Bound, labels: Labels) -> Estimate:
    """Return the value of a statistic bound to all rows."""
    return bound.estimate(bound.observed_sums(labels), labels)


def gathered(rows: Rows) -> tuple[Point, Labels]:
    """Return mean predictions and labels of all rows in memory, for statistics that compare pairs."""
    parts = list(rows.map(_mean_and_labels))
    if len(parts) == 1:  # on its device, with its graph
        return parts[0]
    point = type(parts[0][0])._trusted(np.concatenate([to_host(part.probs) for part, _ in parts]))
    point._set(notes=tuple(dict.fromkeys(note for part, _ in parts for note in part.notes)))
    first = parts[0][1]
    values, weights = (
        None
        if getattr(first, name) is None
        else np.concatenate([to_host(getattr(own, name)) for _, own in parts], axis=1)
        for name in ("values", "weights")
    )
    return point, dataclasses.replace(first, values=values, weights=weights)


def _mean_and_labels(chunk: Dataset) -> tuple[Point, Labels]:
    point, notes = as_point(chunk.predictions)
    if notes != point.notes:
        point = copy.copy(point)
        point._set(notes=notes)
    return point, chunk.batch
