"""Wild replicates of rows that belong together: every cluster keeps its residuals and changes their sign.

pseudo-labels  p + s_c (e_y - p),   one s_c per cluster: -1 or 1, below 12 clusters one of Webb's six points

H0: every row is calibrated given its prediction, clusters are independent, inside a cluster anything goes.
Then the residuals of a cluster have mean zero however they depend on each other, and sums of them over
clusters vary as their signed versions do: sizes measured in docs/theory/clusters.md. Statistics that are
linear or quadratic in one-hot labels need the sums of every cluster once, so a replicate costs what the
number of clusters costs. Pairs inside a cluster are left out: their products have a mean of their own.

No p-value is below 2^(1 - C), the smallest that signs alone can reach with C clusters.

Cameron, Gelbach and Miller 2008; Webb 2023; MacKinnon, Nielsen and Webb 2023.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from credibly._arrays.namespace import Array, HostArray, rows_within_budget, tiles, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress
from credibly.hypotests.resampling.loop import Resampled
from credibly.predictions import Dataset, Rows
from credibly.predictions.clusters import Clusters
from credibly.predictions.passes import Sums, merged
from credibly.statistics.over_rows import Planned, gathered, require_rows
from credibly.statistics.protocol import Bound, State, Statistic
from credibly.statistics.subsampled import Subsampled

FEW_CLUSTERS = 12
"""Below this the signs alone have few values, and six points give the replicates more."""

_SIX = np.sqrt(np.array([0.5, 1.0, 1.5]))
_POINTS = np.concatenate([-_SIX[::-1], _SIX])


def signs(seed: Seed, reps: slice, number: int) -> HostArray:
    """Return the factor of every cluster in replicates `reps`, (b, number), of mean 0 and variance 1."""
    uniform = Uniforms(seed, Stream.SIGNS).block(reps, slice(0, number))
    if number < FEW_CLUSTERS:
        return np.asarray(_POINTS[(uniform * _POINTS.size).astype(np.intp)])
    return np.where(uniform < 0.5, -1.0, 1.0)


Values = Callable[[Bound, State, State, HostArray], Array]
"""From a bound statistic, its sums and signs to numbers (b, ...)."""


def _values(bound: Bound, expected: State, added: State, drawn: HostArray) -> Array:
    return bound.wild_values(expected, added, drawn)


@dataclasses.dataclass(frozen=True, eq=False)
class _Work:
    """The sums of one dataset: expected ones, and what its labels add to them per cluster."""

    chosen: tuple[Planned, ...]
    clusters: Clusters

    def __call__(self, chunk: Dataset) -> Sums:
        codes = self.clusters.codes(chunk.clusters)
        states: dict[str, State] = {}
        for one in self.chosen:
            bound = one.bind(chunk.predictions)
            expected, added = bound.wild_sums(chunk.batch, codes, self.clusters.number)
            states |= {f"{one.statistic.name} expected": expected, f"{one.statistic.name} added": added}
        return Sums(states)


def _ids(chunk: Dataset) -> HostArray:
    return np.asarray(chunk.clusters)


def wild(
    chosen: Sequence[Statistic],
    rows: Rows,
    clusters: Clusters,
    seed: Seed,
    n_resamples: int,
    progress: Progress | None = None,
    values: Values | None = None,
) -> list[Resampled]:
    """Evaluate statistics on the observed labels and on wild replicates, all on the same signs.

    Parameters
    ----------
    chosen : sequence of Statistic
        What to evaluate.
    rows : Rows
        The rows, with one class or number as label; chunks may split a cluster.
    clusters : Clusters
        Which of them belong together.
    seed : tuple of int
        Key of the counters.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).
    values : callable, optional
        From a bound statistic, its `wild_sums` and signs to numbers (b, ...). Default: its `wild_values`.

    Returns
    -------
    list of Resampled
        One per statistic; entry 0 of the values is the observation.
    """
    sums = [one for one in chosen if one.traits.reduction == "sum"]
    states: dict[str, tuple[Bound, State, State]] = {}
    if sums:
        for one in sums:
            require_rows(one, rows)
        planned = tuple(Planned(one, one.plan(rows)) for one in sums)
        (total,) = merged(rows, [_Work(planned, clusters)])
        few = rows.sample
        for each in planned:
            name = each.statistic.name
            bound = each.bind(few.predictions)
            states[name] = bound, total.states[f"{name} expected"], total.states[f"{name} added"]
    for one in chosen:
        if one in sums:
            continue
        part = rows.take(one.chosen) if isinstance(one, Subsampled) else rows.loaded()
        if part is None:  # of chunks the mean predictions are gathered
            part = Dataset(*gathered(rows), clusters=np.concatenate(list(rows.map(_ids))))
        bound = (
            one.bind_part(part.predictions, rows.n)
            if isinstance(one, Subsampled)
            else one.bind(part.predictions)
        )
        one.require_labels(part.batch)
        codes = clusters.codes(part.clusters)
        states[one.name] = bound, *bound.wild_sums(part.batch, codes, clusters.number)
    found: dict[str, list[HostArray]] = {name: [] for name in states}
    evaluate = values or _values
    for reps in tiles(n_resamples, rows_within_budget(64 * clusters.number, 0.1)):
        drawn = signs(seed, reps, clusters.number)
        if reps.start == 0:
            drawn = np.concatenate([np.ones((1, clusters.number)), drawn])
        for name, (bound, expected, added) in states.items():
            found[name].append(to_host(evaluate(bound, expected, added, drawn)))
        if progress is not None:
            progress(reps.stop, n_resamples)
    return [Resampled(states[one.name][0], np.concatenate(found[one.name])) for one in chosen]
