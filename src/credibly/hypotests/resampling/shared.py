"""Many statistics, on all rows and within groups of them, evaluated on the same replicates.

Sums are taken chunk by chunk of rows, so members of a few rows at a time are in memory; statistics that
need all rows at once (pairs, smoothers, functions) see whole label vectors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, namespace, to_host
from credibly._arrays.progress import Progress
from credibly._arrays.tiles import blas_threads, rows_within_budget, tiles
from credibly.hypotests.resampling.loop import (
    columns_of,
    replicates_per_tile,
    resampled_values,
    share_of,
    with_observed,
)
from credibly.hypotests.resampling.members import LabelSource
from credibly.predictions import Classes, ClassPredictions, Labels, Predictions, Reals
from credibly.statistics import Bound, State, Statistic

_BYTES_PER_NUMBER = 24  # of a member's prediction: itself in double precision, its steps and their floors


@dataclasses.dataclass(frozen=True)
class Target:
    """A statistic, on all rows or on those of a group (increasing indices)."""

    statistic: Statistic
    rows: HostArray | None = None

    def of(self, predictions: Predictions) -> Predictions:
        """Return the predictions it is about."""
        return predictions if self.rows is None else predictions[self.rows]


def shared_values(
    targets: Sequence[Target],
    predictions: Predictions,
    observed: Classes | Reals,
    sources: Sequence[LabelSource],
    n_resamples: int,
    progress: Progress | None = None,
) -> tuple[HostArray, list[Bound]]:
    """Evaluate every target on the observed labels and on all replicates.

    Parameters
    ----------
    targets : sequence of Target
        What to evaluate.
    predictions : Predictions
        What statistics are bound to, also where labels come from others.
    observed : Classes or Reals
        The observed labels, one row.
    sources : sequence of LabelSource
        Where label vectors come from, one source per hypothesis.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    values : ndarray (sources, targets, 1 + n_resamples)
        Column 0 is the observation.
    bounds : list of Bound
        The bound statistics, for their notes and settings; of a chunked one that of its last chunk.
    """
    values = np.empty((len(sources), len(targets), 1 + n_resamples))
    bounds: dict[int, Bound] = {}
    summed = [at for at, target in enumerate(targets) if target.statistic.traits.reduction == "sum"]
    whole = [at for at in range(len(targets)) if at not in summed]
    if summed:
        report = None if whole else progress
        chosen = [targets[at] for at in summed]
        values[:, summed], own = _in_chunks(chosen, predictions, observed, sources, n_resamples, report)
        bounds.update(zip(summed, own, strict=True))
    if whole:
        for at in whole:
            inner = targets[at].statistic.bind(targets[at].of(predictions))
            rows = targets[at].rows
            bounds[at] = inner if rows is None else _Selected(inner, like(rows, observed.values))
        ready = [bounds[at] for at in whole]
        for place, source in enumerate(sources):
            drawing = source.part(slice(0, len(predictions)))
            report = share_of(progress, place, len(sources))
            values[place, whole] = resampled_values(ready, observed, drawing, n_resamples, report)
    return values, [bounds[at] for at in range(len(targets))]


class _Selected(Bound):
    """A statistic of some rows, evaluated on labels of all of them."""

    def __init__(self, inner: Bound, rows: Array) -> None:
        super().__init__(inner.statistic, inner.n, inner.notes)
        self.inner, self.rows = inner, rows

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Return the inner state; blocks of `rows` count all instances, so the first does all the work."""
        if rows is not None and rows.start > 0:
            return State()
        return self.inner.state(selected(labels, self.rows))

    def finish(self, state: State) -> Array:
        """Return the inner values."""
        return self.inner.finish(state)


def selected(labels: Labels, rows: Array) -> Any:
    """Return the same replicates of some instances."""
    taken = namespace(labels.values).take(labels.values, rows, axis=1)
    return dataclasses.replace(labels, values=taken)


def _in_chunks(
    targets: Sequence[Target],
    predictions: Predictions,
    observed: Classes | Reals,
    sources: Sequence[LabelSource],
    n_resamples: int,
    progress: Progress | None,
) -> tuple[HostArray, list[Bound]]:
    """Add up states over chunks of rows; replicates are cut alike in every chunk."""
    plans = [target.statistic.plan(target.of(predictions)) for target in targets]
    chunks = list(tiles(len(predictions), min(_rows_per_chunk(one.predictions) for one in sources)))
    spans: list[slice] = []
    states: dict[tuple[int, int, int], State] = {}
    bounds: dict[int, Bound] = {}
    steps = len(chunks) * len(sources)
    for place, rows in enumerate(chunks):
        part = with_kept_mean(predictions if len(chunks) == 1 else predictions[rows])
        held: list[tuple[int, Bound, Array | None]] = []
        for at, (target, plan) in enumerate(zip(targets, plans, strict=True)):
            local = None
            if target.rows is not None:
                inside = target.rows[(target.rows >= rows.start) & (target.rows < rows.stop)]
                if not inside.size:
                    continue
                local = inside - rows.start
            bounds[at] = target.statistic.bind(part if local is None else part[local], plan)
            held.append((at, bounds[at], None if local is None else like(local, observed.values)))
        seen = observed.rows(rows)
        for order, source in enumerate(sources):
            drawing = source.part(rows, part if source.predictions is predictions else None)
            spans = spans or list(tiles(n_resamples, replicates_per_tile(rows.stop - rows.start, drawing)))
            with blas_threads(1):  # products of a few columns: a second thread costs more than it saves
                for span, reps in enumerate(spans):
                    labels = with_observed(seen, drawing, reps)
                    for at, bound, local in held:
                        found = bound.state(labels if local is None else selected(labels, local))
                        key = (order, at, span)
                        states[key] = states[key] + found if key in states else found
                    if progress is not None:
                        done = (place * len(sources) + order) * n_resamples + reps.stop
                        progress(done // steps, n_resamples)
    values = np.empty((len(sources), len(targets), 1 + n_resamples))
    for (order, at, span), state in states.items():
        values[order, at, columns_of(spans[span])] = to_host(bounds[at].finish(state))
    return values, [bounds[at] for at in range(len(targets))]


def with_kept_mean(predictions: Predictions) -> Predictions:
    """Return the same predictions as an object whose mean is computed once: every statistic asks for it."""
    if not isinstance(predictions, ClassPredictions):
        return predictions
    kept, mean = predictions.replace_rows(), predictions.mean()
    object.__setattr__(kept, "mean", lambda: mean)
    return kept


def _rows_per_chunk(predictions: Predictions) -> int:
    numbers = int(np.prod(predictions._leading.shape[1:], dtype=np.int64)) * len(predictions.row_fields)
    return rows_within_budget(_BYTES_PER_NUMBER * numbers, 0.25)
