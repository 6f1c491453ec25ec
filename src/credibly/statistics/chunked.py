"""Statistics of rows that come in chunks: plan, one pass of states, merge, finish.

Values are those of all rows at once up to the rounding of sums. Statistics that compare pairs of instances
take the mean predictions of all rows into memory, n k numbers, and go on as if nothing were cut.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import to_host
from credibly._arrays.progress import Progress
from credibly._arrays.results import Estimate
from credibly.predictions import Chunk, Chunks, ClassPredictions, Counts, Predictions, as_point
from credibly.statistics.protocol import Bound, Plan, State, Statistic


@dataclasses.dataclass(frozen=True)
class Planned:
    """A statistic with the plan of all rows."""

    statistic: Statistic
    plan: Plan

    def bind(self, predictions: Predictions) -> Bound:
        """Bind to the rows of one chunk."""
        return self.statistic.bind(predictions, self.plan)


def planned(statistics: Sequence[Statistic], chunks: Chunks) -> list[Planned]:
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
        statistic.labels(chunks.sample.predictions, chunks.sample.labels)
        kept.append(Planned(statistic, statistic.plan_over(chunks)))
    return kept


def one_distribution(predictions: Predictions) -> tuple[Predictions, tuple[str, ...]]:
    """Return what sums over instances need: the mean of class predictions, made once for all statistics."""
    if isinstance(predictions, ClassPredictions):
        return as_point(predictions)
    return predictions, predictions.notes


def estimates_over(
    statistics: Sequence[Statistic], chunks: Chunks, progress: Progress | None = None
) -> dict[str, Estimate]:
    """Return the value of every statistic, all in one pass over the data after the plans.

    Parameters
    ----------
    statistics : sequence of Statistic
        Sums over instances.
    chunks : Chunks
        The rows.
    progress : callable, optional
        Called with (done, total) rows.

    Returns
    -------
    dict
        Estimates by name.
    """
    chosen = planned(statistics, chunks)
    total, notes = merged(chunks, _sums(chosen), progress)
    sample = chunks.sample
    point, _ = one_distribution(sample.predictions)
    found = {}
    for one in chosen:
        bound, name = one.bind(point), one.statistic.name
        state, spread = total[name], total.get(f"{name} spread")
        stderr: float | None = None
        refusal: str | None = bound.spread_refusal
        said: tuple[str, ...] = ()
        if spread is not None:
            stderr, refusal = bound.stderr_of(spread, sample.labels)
            said = bound.notes_of(spread)
        if isinstance(sample.labels, Counts):
            said = (*said, one.statistic.counts_meaning)
        found[name] = Estimate(
            name=name,
            value=float(to_host(bound.finish(state))[0]),
            stderr=stderr,
            n=chunks.n,
            settings=bound.statistic.settings(),
            notes=(*notes, *said),
            interval_refusal=refusal,
            interval_method=bound.interval_method(sample.labels),
        )
    return found


def merged(
    chunks: Chunks,
    work: Callable[[Chunk], tuple[dict[str, State], tuple[str, ...]]],
    progress: Progress | None = None,
) -> tuple[dict[str, State], tuple[str, ...]]:
    """Add up named states over all chunks, in pairs: rounding grows with the logarithm of their number."""
    notes: dict[str, None] = {}
    levels: list[dict[str, State] | None] = []
    for states, said in chunks.map(work, progress):
        notes.update(dict.fromkeys(said))
        carry: dict[str, State] = states
        for level, waiting in enumerate(levels):
            if waiting is None:
                levels[level] = carry
                break
            carry, levels[level] = _added(waiting, carry), None
        else:
            levels.append(carry)
    total: dict[str, State] | None = None
    for waiting in levels:
        if waiting is not None:
            total = waiting if total is None else _added(waiting, total)
    assert total is not None
    return total, tuple(notes)


def _added(first: dict[str, State], second: dict[str, State]) -> dict[str, State]:
    return {name: first[name] + second[name] for name in first}


def _sums(chosen: Sequence[Planned]) -> Callable[[Chunk], tuple[dict[str, State], tuple[str, ...]]]:
    def work(chunk: Chunk) -> tuple[dict[str, State], tuple[str, ...]]:
        predictions, notes = one_distribution(chunk.predictions)
        states: dict[str, State] = {}
        for one in chosen:
            bound = one.bind(predictions)
            states[one.statistic.name] = on_host(bound.state(chunk.labels))
            spread = bound.spread(chunk.labels)
            if spread is not None:
                states[f"{one.statistic.name} spread"] = on_host(spread)
        return states, notes

    return work


def on_host(state: State) -> State:
    """Return the sums as NumPy arrays: small, and the same for every library and device."""
    return State({name: np.asarray(to_host(value)) for name, value in state.items()})


def gathered(chunks: Chunks) -> tuple[Any, Any]:
    """Return mean predictions and labels of all rows in memory, for statistics that compare pairs."""

    def work(chunk: Chunk) -> tuple[Any, Any, Any, tuple[str, ...]]:
        point, notes = as_point(chunk.predictions)
        return to_host(point.probs), to_host(chunk.labels.values), _host(chunk.labels.weights), notes

    parts = list(chunks.map(work))
    sample = chunks.sample
    point = type(as_point(sample.predictions)[0])._trusted(np.concatenate([part[0] for part in parts]))
    point._set(notes=tuple(dict.fromkeys(note for part in parts for note in part[3])))
    weights = None if parts[0][2] is None else np.concatenate([part[2] for part in parts], axis=1)
    values = np.concatenate([part[1] for part in parts], axis=1)
    return point, dataclasses.replace(sample.labels, values=values, weights=weights)


def _host(array: Any) -> Any:
    return None if array is None else to_host(array)
