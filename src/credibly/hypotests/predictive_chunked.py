"""Values of a predictive check on rows that come in chunks: the sums of all replicates in one pass.

Every chunk draws the labels of its own rows, which are addressed by their index among all, so members of
one chunk at a time are in memory and no replicate depends on how rows are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.progress import Progress
from credibly.hypotests.chunked import Counted, noted, replicated_over, under
from credibly.hypotests.grouping import Grouping, grouping_over
from credibly.hypotests.members import LabelSource
from credibly.hypotests.resampling import columns_of
from credibly.predictions import Chunks, GroupRows
from credibly.statistics import Bound, Statistic
from credibly.statistics.chunked import planned


def require_plain(chunks: Chunks, groups: Any, ids: Any, used_ids: Any) -> None:
    """Raise where a check of chunks is asked for what only rows in memory have."""
    if groups is not None:
        raise InputError(
            "`groups`", "come with the chunks", "got them as an argument too", "Give them to `scan`."
        )
    if ids is not None or used_ids is not None:
        raise UnsupportedError(
            "`ids` and `used_ids`",
            "leave out rows in memory",
            "got rows in chunks",
            "Scan files without the rows that were used before.",
        )
    if chunks.sample.labels.weights is not None:
        raise UnsupportedError(
            "`predictive_check`",
            "counts every instance once",
            "the chunks have sample weights",
            "Scan without `sample_weight`.",
        )


def shared_values_over(
    chosen: Sequence[Statistic],
    chunks: Chunks,
    sources: Sequence[LabelSource],
    n_resamples: int,
    progress: Progress | None = None,
) -> tuple[HostArray, list[Bound], Grouping | None]:
    """Evaluate every statistic on the observed labels and on all replicates, on all rows and group by group.

    Parameters
    ----------
    chosen : sequence of Statistic
        Sums over instances.
    chunks : Chunks
        The rows.
    sources : sequence of LabelSource
        One per hypothesis; their predictions only tell the kind.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    values : ndarray (sources, targets, 1 + n_resamples)
        As `shared_values` returns them.
    bounds : list of Bound
        One per target, for notes and settings.
    grouping : Grouping or None
        The groups, where the chunks have some.
    """
    grouping = grouping_over(chunks)
    levels = () if grouping is None else grouping.sizes
    counted = {f"/{one.statistic.name}": Counted(one.bind) for one in planned(chosen, chunks)}
    for level, size in levels:
        own = planned(chosen, GroupRows(chunks, size, level))
        counted |= {f"{level}/{one.statistic.name}": Counted(one.bind, level) for one in own}
    draws = {f"{one.hypothesis}/": under(one.hypothesis, one.seed, one.members) for one in sources}
    values = np.empty((len(sources), len(counted), 1 + n_resamples))
    bounds: list[Bound] = []
    for reps, total in replicated_over(counted, draws, chunks, n_resamples, progress):
        sample = noted(chunks.sample.predictions, total.notes)
        bounds = [one.bind(sample) for one in counted.values()]
        for order, source in enumerate(draws):
            for at, (name, bound) in enumerate(zip(counted, bounds, strict=True)):
                values[order, at, columns_of(reps)] = to_host(bound.finish(total.states[source + name]))
    return values, bounds, grouping
