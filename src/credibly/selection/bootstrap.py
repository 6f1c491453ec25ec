"""Means on bootstrapped instances, the same instances for all models."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress
from credibly._arrays.sums import count_cells
from credibly._arrays.tiles import rows_within_budget, tiles

_TILE = 64


def bootstrap_means(
    values: HostArray, n_resamples: int, seed: Seed, progress: Progress | None = None
) -> HostArray:
    """Return column means (b, c) of values (n, c) over rows drawn with replacement.

    Row counts times values is one product per tile of draws. An infinite entry makes the means of the draws
    that hold its row infinite.
    """
    n = len(values)
    infinite = np.isinf(values)
    finite = np.where(infinite, 0.0, values)
    lost = infinite.any(axis=0)
    uniforms = Uniforms(seed, Stream.MODELS)
    means = np.empty((n_resamples, values.shape[1]))
    for reps in tiles(n_resamples, min(_TILE, rows_within_budget(32 * n, 0.5))):
        rows = (uniforms.block(reps, slice(0, n)) * n).astype(np.int64)
        counts = count_cells(rows, n)
        means[reps] = counts @ finite / n
        if lost.any():
            hit = counts @ infinite[:, lost].astype(np.float64) > 0
            means[reps, lost] = np.where(hit, np.inf, means[reps][:, lost])
        if progress is not None:
            progress(reps.stop, n_resamples)
    return means
