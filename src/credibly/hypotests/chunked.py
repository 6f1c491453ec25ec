"""Consistency resampling of rows that come in chunks: every replicate's sums, merged, then finished.

A replicate's label of row i depends on the seed, the replicate and i alone, so the same labels are drawn
whatever the chunks. Where the sums of all replicates would not fit the memory budget, replicates go in
batches and the data are read once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import to_host
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress
from credibly._arrays.tiles import blas_threads, rows_within_budget, tiles
from credibly.hypotests.replicates import replicates_of
from credibly.hypotests.resampling import columns_of, replicates_per_tile, with_observed
from credibly.predictions import Chunk, Chunks
from credibly.predictions.passes import Sums, merged, on_host
from credibly.statistics import State
from credibly.statistics.chunked import Planned, one_distribution

HostArray = np.ndarray[Any, Any]


def resampled_values_over(
    chosen: Sequence[Planned],
    chunks: Chunks,
    seed: Seed,
    n_resamples: int,
    progress: Progress | None = None,
) -> tuple[HostArray, tuple[str, ...]]:
    """Evaluate every statistic on the observed labels and all replicates.

    Parameters
    ----------
    chosen : sequence of Planned
        Statistics that are sums over instances.
    chunks : Chunks
        The rows.
    seed : tuple of int
        Key of the counters.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    values : ndarray (s, 1 + n_resamples)
        Column 0 is the observation.
    notes : tuple of str
        What the chunks had to say.
    """
    sample = chunks.sample
    rows, _ = one_distribution(sample.predictions)
    bounds = [one.bind(rows) for one in chosen]
    one_vector = sum(np.size(value) for bound in bounds for value in bound.state(sample.labels).values())
    values = np.empty((len(chosen), 1 + n_resamples))
    notes: tuple[str, ...] = ()
    for reps in tiles(n_resamples, rows_within_budget(8 * one_vector, 0.25)):
        report = None
        if progress is not None:

            def report(done: int, total: int, reps: slice = reps) -> None:
                progress(reps.start + (reps.stop - reps.start) * done // total, n_resamples)

        (total,) = merged(chunks, [_replicated(chosen, seed, reps)], report)
        notes = total.notes
        for row, (one, bound) in enumerate(zip(chosen, bounds, strict=True)):
            values[row, columns_of(reps)] = to_host(bound.finish(total.states[one.statistic.name]))
    return values, notes


def _replicated(chosen: Sequence[Planned], seed: Seed, reps: slice) -> Callable[[Chunk], Sums]:
    """Return the work on one chunk: sums of the observed labels (with the first batch) and of `reps`."""

    def work(chunk: Chunk) -> Sums:
        rows, notes = one_distribution(chunk.predictions)
        bounds = [one.bind(rows) for one in chosen]
        replicates = replicates_of(rows, seed, chunk.start)
        parts: list[list[State]] = [[] for _ in bounds]
        with blas_threads(1):
            for tile in tiles(reps.stop - reps.start, replicates_per_tile(len(rows), replicates)):
                own = slice(reps.start + tile.start, reps.start + tile.stop)
                batch = with_observed(chunk.labels, replicates, own)  # type: ignore[arg-type]
                for bound, found in zip(bounds, parts, strict=True):
                    found.append(_every_replicate(on_host(bound.state(batch)), len(batch)))
        states = {
            one.statistic.name: State({name: np.concatenate([s[name] for s in found]) for name in found[0]})
            for one, found in zip(chosen, parts, strict=True)
        }
        return Sums(states, notes)

    return work


def _every_replicate(state: State, n_replicates: int) -> State:
    """Give sums that no label changes the leading axis of the others, so that tiles can be joined."""
    return State(
        {
            name: np.broadcast_to(value, (n_replicates, *value.shape[1:])) if len(value) == 1 else value
            for name, value in state.items()
        }
    )
