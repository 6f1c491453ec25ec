"""Wild replicates of rows that belong together: every cluster keeps its residuals and changes their sign.

pseudo-labels  p + s_c (e_y - p),   one s_c per cluster: -1 or 1, below 12 clusters one of Webb's six points

H0: every row is calibrated given its prediction, clusters are independent, inside a cluster anything goes.
Then the residuals of a cluster have mean zero however they depend on each other, and sums of them over
clusters vary as their signed versions do: sizes measured in docs/theory/clusters.md. Statistics that are
linear or quadratic in one-hot labels need the sums of every cluster once, so a replicate costs what the
number of clusters costs. Pairs inside a cluster are left out: their products have a mean of their own.

Of draws, what a label adds beyond the mean over all numbers of its pool (itself and its draws) has mean 0.

No p-value is below 2^(1 - C), the smallest that signs alone can reach with C clusters.

Where member j drew the labels, residuals are those from its predictions: p_j + s_c (e_y - p_j). Sums that are
linear in one-hot labels need beside the others what p_j adds to them in every cluster.

Cameron, Gelbach and Miller 2008; Webb 2023; MacKinnon, Nielsen and Webb 2023.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from operator import add, attrgetter

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, as_float64, rows_within_budget, tiles, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress, tell
from credibly.hypotests.resampling.choices import Bind, as_pools, bound_to, drawing_notes, is_stratified
from credibly.hypotests.resampling.loop import Finish, Resampled
from credibly.hypotests.resampling.replicates import member_probs
from credibly.predictions import ClassPredictions, Dataset, InMemory, Labels, Predictions, Rows, Samples
from credibly.predictions.clusters import Clusters
from credibly.predictions.passes import Sums
from credibly.predictions.without_member import WithoutMember
from credibly.statistics.linear import Linear
from credibly.statistics.over_rows import ChunkPairs, for_pairs, meets_in_chunks, require_defined
from credibly.statistics.protocol import Bound, State, Statistic
from credibly.statistics.subsampled import Subsampled

FEW_CLUSTERS = 12
"""Below this the signs alone have few values, and six points give the replicates more."""

_SIX = np.sqrt(np.array([0.5, 1.0, 1.5]))
_POINTS = np.concatenate([-_SIX[::-1], _SIX])


def signs(seed: Seed, reps: slice, number: int) -> HostArray:
    """Return the factor of every cluster in replicates `reps`, (b, number), of mean 0 and variance 1."""
    uniform: HostArray = Uniforms(seed, Stream.SIGNS).draw(reps, slice(0, number))
    if number < FEW_CLUSTERS:
        return _POINTS[(uniform * _POINTS.size).astype(np.intp)]
    return 2.0 * (uniform >= 0.5).astype(np.float64) - 1.0


def sign_tiles(
    seed: Seed,
    number: int,
    n_resamples: int,
    bytes_per_replicate: int,
    progress: Progress | None = None,
) -> Iterator[tuple[slice, HostArray]]:
    """Yield the `signs` of all replicates, (b, number), in tiles that fit the memory budget."""
    for reps in tiles(n_resamples, rows_within_budget(bytes_per_replicate, 0.25)):
        yield reps, signs(seed, reps, number)
        tell(progress, reps.stop, n_resamples)


def bound_in_clusters(bind: Bind, rows: Dataset, seed: Seed) -> tuple[Bound, Labels]:
    """Bind to rows in clusters, and return their labels as the bound statistic takes them.

    What draws expect of a loss, of the spread, or of shares of labels if draws repeat themselves, is known of
    pools alone: the mean over all choices. Pairs have expectations of their own.
    """
    bound = bind(rows.predictions)
    if not (isinstance(rows.predictions, Samples) and isinstance(bound, Linear)):
        return bound, rows.batch
    chosen = as_pools(rows, seed, shared=False)
    bound_to_pools = bound_to(bind, chosen.predictions, chosen.batch)
    bound_to_pools.notes = (*bound_to_pools.notes, *taken_notes(rows.predictions))
    return bound_to_pools, chosen.batch


def taken_notes(predictions: Predictions) -> tuple[str, ...]:
    """Say where a statistic is computed from a part of the draws, those that are exchanged with the label."""
    return drawing_notes(predictions) if is_stratified(predictions) else ()


@dataclasses.dataclass(frozen=True, eq=False)
class WildSums:
    """The sums of one dataset, by number: expected ones, and what its labels add to them per cluster."""

    binds: tuple[Bind, ...]
    clusters: Clusters
    seed: Seed
    members: tuple[int, ...] = ()

    def __call__(self, chunk: Dataset) -> Sums:
        """Return the sums."""
        codes = self.clusters.codes(chunk.clusters)
        states: dict[str, State] = {}
        for at, bind in enumerate(self.binds):
            bound, labels = bound_in_clusters(bind, chunk, self.seed)
            expected, added = bound.wild_sums(labels, codes, self.clusters.number)
            states |= {f"{at} expected": expected, f"{at} added": added}
            for member in self.members:
                states[f"{at} of {member}"] = self._of_member(chunk, bound, codes, member)
        return Sums(states)

    def _of_member(self, chunk: Dataset, bound: Bound, codes: HostArray, member: int) -> State:
        """Return what a member's probabilities, taken as shares of labels, add in every cluster."""
        assert isinstance(chunk.predictions, ClassPredictions)
        batch, predictions = chunk.batch, chunk.predictions
        if isinstance(predictions, WithoutMember):
            probs = predictions.left_out
        else:
            probs = member_probs(predictions)[:, member, :]
        every = (
            dataclasses.replace(batch, values=0 * batch.values + c, weights=as_float64(probs[:, c])[None, :])
            for c in range(predictions.n_classes)
        )
        return reduce(add, (bound.wild_sums(labels, codes, self.clusters.number)[1] for labels in every))


def wild(
    chosen: Sequence[Statistic],
    rows: Rows,
    clusters: Clusters,
    seed: Seed,
    n_resamples: int,
    progress: Progress | None = None,
    finish: Finish | None = None,
    members: HostArray | None = None,
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
    finish : callable, optional
        From a bound statistic and the sums of pseudo-labels to numbers (b, ...). Default: its `wild_values`.
    members : ndarray (n_resamples,), optional
        The member that is taken to have drawn the labels, by replicate. Default: the mean prediction.

    Returns
    -------
    list of Resampled
        One per statistic; entry 0 of the values is the observation.
    """
    drawing = () if members is None else tuple(np.unique(members).tolist())
    if drawing:
        _require_linear(chosen, rows)
    for statistic in chosen:
        require_defined(statistic, rows)
    sums = [statistic for statistic in chosen if statistic.traits.reduction == "sum"]
    states: dict[str, tuple[Bound, State, State]] = {}
    if sums:
        binds = tuple(partial(statistic.bind, plan=statistic.plan(rows)) for statistic in sums)
        (total,) = rows.merged([WildSums(binds, clusters, seed, drawing)])
        for at, (statistic, bind) in enumerate(zip(sums, binds, strict=True)):
            bound, _ = bound_in_clusters(bind, rows.example, seed)
            states[statistic.name] = bound, total.states[f"{at} expected"], total.states[f"{at} added"]
    for statistic in chosen:
        if statistic not in sums:
            states[statistic.name] = _all_at_once(statistic, rows, clusters)
    values: dict[str, list[HostArray]] = {name: [] for name in states}

    def evaluate(bound: Bound, expected: State, added: State, drawn: HostArray) -> HostArray:
        if finish is None:
            return to_host(bound.wild_values(expected, added, drawn))
        assert isinstance(bound, Linear)
        return to_host(finish(bound, bound.terms.wild_state(expected, added, drawn)))

    order = {statistic.name: at for at, statistic in enumerate(sums)}
    for reps, drawn in sign_tiles(seed, clusters.number, n_resamples, 160 * clusters.number, progress):
        for name, (bound, expected, added) in states.items():
            if reps.start == 0:
                values[name].append(evaluate(bound, expected, added, np.ones((1, clusters.number))))
            if members is None:
                values[name].append(evaluate(bound, *bound.widened_states(expected, added), drawn))
                continue
            values_of_members = np.empty(len(drawn))
            for member in np.unique(members[reps]).tolist():
                at = members[reps] == member
                drew = total.states[f"{order[name]} of {member}"]
                moved = State(
                    {**expected, **{key: expected[key] + sums.sum(axis=0) for key, sums in drew.items()}}
                )
                deviations = State({key: sums - drew[key] for key, sums in added.items()})
                values_of_members[at] = evaluate(bound, *bound.widened_states(moved, deviations), drawn[at])
            values[name].append(values_of_members)
    names = [statistic.name for statistic in chosen]
    return [Resampled(states[name][0], np.concatenate(values[name])) for name in names]


def _all_at_once(statistic: Statistic, rows: Rows, clusters: Clusters) -> tuple[Bound, State, State]:
    """Bind a statistic that is no sum over rows, and return its sums."""
    if statistic.traits.reduction == "pairwise" and meets_in_chunks(statistic, rows):
        return ChunkPairs.over(statistic, rows).wild_sums(clusters.number)
    part = rows.take(statistic.chosen) if isinstance(statistic, Subsampled) else rows.loaded()
    if part is None:
        part = dataclasses.replace(
            for_pairs(rows), clusters=np.concatenate(list(rows.map(attrgetter("clusters"))))
        )
    bound = (
        statistic.bind_part(part.predictions, rows.n)
        if isinstance(statistic, Subsampled)
        # weights count for the plan, too
        else statistic.bind(part.predictions, statistic.plan(InMemory(part)))
    )
    return bound, *bound.wild_sums(part.batch, clusters.codes(part.clusters), clusters.number)


def _require_linear(chosen: Sequence[Statistic], rows: Rows) -> None:
    """Raise where the draws of a member cannot be recovered from sums that are linear in one-hot labels."""
    if not isinstance(rows.example.predictions, ClassPredictions):
        raise UnsupportedError(
            "a member that drew all labels of rows in clusters",
            "is tested for class predictions",
            f"got {type(rows.example.predictions).__name__}",
            'Pass `hypothesis="independent"`.',
        )
    for statistic in chosen:
        if statistic.traits.reduction != "sum" or "square" in getattr(statistic, "needs", ()):
            raise UnsupportedError(
                f"`{statistic.name}` of labels that a member drew, of rows in clusters,",
                "must be a sum over instances that is linear in the labels",
                "this one compares pairs",
                'Use accuracy, brier or confidence_ece, or pass `hypothesis="independent"`.',
            )
