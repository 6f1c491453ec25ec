"""Statistics of rows that come in chunks: plan, one pass of states, merge, finish.

Values are those of all rows at once up to the rounding of sums. Statistics that compare pairs of instances
take the mean predictions of all rows into memory, n k numbers, and go on as if nothing were cut.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.merging import State
from credibly._arrays.namespace import to_host
from credibly._arrays.progress import Progress
from credibly.predictions import ClassPredictions, Counts, Dataset, Predictions, Rows, as_point
from credibly.predictions.passes import Sums, Task, on_host, one_pass
from credibly.results.estimates import Estimate
from credibly.statistics.protocol import Bound, Plan, Statistic


@dataclasses.dataclass(frozen=True)
class Planned:
    """A statistic with the plan of all rows."""

    statistic: Statistic
    plan: Plan

    def bind(self, predictions: Predictions) -> Bound:
        """Bind to the rows of one chunk."""
        return self.statistic.bind(predictions, self.plan)


def planned(statistics: Sequence[Statistic], chunks: Rows) -> list[Planned]:
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
        statistic.labels(chunks.sample.predictions, chunks.sample.batch)
        kept.append(Planned(statistic, statistic.plan_over(chunks)))
    return kept


def one_distribution(predictions: Predictions) -> tuple[Predictions, tuple[str, ...]]:
    """Return what sums over instances need: the mean of class predictions, made once for all statistics."""
    if isinstance(predictions, ClassPredictions):
        return as_point(predictions)
    return predictions, predictions.notes


@dataclasses.dataclass(frozen=True)
class StatisticsTask(Task):
    """Statistics that are sums over instances, as a part of one pass.

    Attributes
    ----------
    chosen : tuple of Planned
        The statistics.
    sample : Dataset
        A few rows: they tell the kind of predictions and labels.
    n : int
        Number of all rows.
    """

    chosen: tuple[Planned, ...]
    sample: Dataset
    n: int

    @classmethod
    def of(cls, statistics: Sequence[Statistic], chunks: Rows) -> StatisticsTask:
        """Plan the statistics for these rows."""
        return cls(tuple(planned(statistics, chunks)), chunks.sample, chunks.n)

    def sums(self, chunk: Dataset) -> Sums:
        """Return state and spread of every statistic."""
        predictions, notes = one_distribution(chunk.predictions)
        states: dict[str, State] = {}
        for one in self.chosen:
            bound = one.bind(predictions)
            state, spread = bound.observed_sums(chunk.batch)
            states[one.statistic.name] = on_host(state)
            if spread is not None:
                states[_spread_of(one)] = on_host(spread)
        return Sums(states, notes)

    def finish(self, total: Sums) -> dict[str, Estimate]:
        """Return the value of every statistic, with its standard error where merged sums tell it."""
        labels = self.sample.batch
        point, _ = one_distribution(self.sample.predictions)
        found = {}
        for one in self.chosen:
            bound, name = one.bind(point), one.statistic.name
            spread = total.states.get(_spread_of(one))
            stderr: float | None = None
            refusal: str | None = bound.spread_refusal
            said: tuple[str, ...] = ()
            if spread is not None:
                stderr, refusal = bound.stderr_of(spread, labels)
                said = bound.notes_of(spread)
            if isinstance(labels, Counts):
                said = (*said, one.statistic.counts_meaning)
            found[name] = Estimate(
                name=name,
                value=float(to_host(bound.finish(total.states[name]))[0]),
                stderr=stderr,
                n=self.n,
                settings=bound.statistic.settings(),
                notes=tuple(dict.fromkeys((*total.notes, *bound.notes, *said))),
                interval_refusal=refusal,
                interval_method=bound.interval_method(labels),
            )
        return found


def _spread_of(one: Planned) -> str:
    return f"{one.statistic.name} spread"


def estimates_over(
    statistics: Sequence[Statistic], chunks: Rows, progress: Progress | None = None
) -> dict[str, Estimate]:
    """Return the value of every statistic, all in one pass over the data after the plans.

    Parameters
    ----------
    statistics : sequence of Statistic
        Sums over instances.
    chunks : Rows
        The rows.
    progress : callable, optional
        Called with (done, total) rows.

    Returns
    -------
    dict
        Estimates by name.
    """
    return one_pass(chunks, [StatisticsTask.of(statistics, chunks)], progress)[0]


def gathered(chunks: Rows) -> tuple[Any, Any]:
    """Return mean predictions and labels of all rows in memory, for statistics that compare pairs."""
    parts = list(chunks.map(_mean_and_labels))
    sample = chunks.sample
    point = type(as_point(sample.predictions)[0])._trusted(np.concatenate([part[0] for part in parts]))
    point._set(notes=tuple(dict.fromkeys(note for part in parts for note in part[3])))
    weights = None if parts[0][2] is None else np.concatenate([part[2] for part in parts], axis=1)
    values = np.concatenate([part[1] for part in parts], axis=1)
    return point, dataclasses.replace(sample.batch, values=values, weights=weights)


def _mean_and_labels(chunk: Dataset) -> tuple[Any, Any, Any, tuple[str, ...]]:
    point, notes = as_point(chunk.predictions)
    return to_host(point.probs), to_host(chunk.batch.values), _host(chunk.batch.weights), notes


def _host(array: Any) -> Any:
    return None if array is None else to_host(array)
