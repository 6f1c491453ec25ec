"""Consistency resampling of statistics of pairs in chunks: labels are drawn where blocks meet."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import Seed
from credibly._arrays.progress import Progress
from credibly._arrays.tiles import tiles
from credibly.hypotests.resampling.loop import columns_of, with_observed
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes, Labels, Rows
from credibly.statistics.over_rows import Planned
from credibly.statistics.pair_blocks import Block, Pairs


def pairwise_values_over(
    planned: Planned, chunks: Rows, seed: Seed, n_resamples: int, progress: Progress | None = None
) -> tuple[HostArray, tuple[str, ...]]:
    """Evaluate a statistic of pairs on the observed labels and all replicates.

    Parameters
    ----------
    planned : Planned
        The statistic, with the plan of all rows.
    chunks : Rows
        The rows.
    seed : tuple of int
        Key of the counters.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    values : ndarray (1 + n_resamples,)
        Entry 0 is the observation.
    notes : tuple of str
        What rows and bandwidth had to say.
    """
    pairs = Pairs.over(planned, chunks)
    values = np.empty(1 + n_resamples)
    notes: tuple[str, ...] = ()
    for reps in tiles(n_resamples, pairs.vectors_at_once()):
        drawn = reps.stop - reps.start
        report = None if progress is None else partial(_share, progress, reps, n_resamples)
        state, said = pairs.sums(partial(_with_drawn, seed, reps), 1 + drawn, report)
        values[columns_of(reps)] = to_host(pairs.bound.finish(state))
        notes = (*said, *pairs.notes_of(state))
    return values, notes


def _with_drawn(seed: Seed, reps: slice, block: Block) -> Labels:
    """Return observed labels and replicates of a block; a label depends on seed, replicate and row alone."""
    assert isinstance(block.labels, Classes)
    return with_observed(block.labels, Replicates(block.probs, seed, block.start), reps)


def _share(progress: Any, reps: slice, n_resamples: int, done: int, total: int) -> None:
    progress(reps.start + (reps.stop - reps.start) * done // total, n_resamples)
