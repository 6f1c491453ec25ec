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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add, attrgetter
from typing import Any

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, as_float64, rows_within_budget, tiles, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress, tell
from credibly.hypotests.resampling.choices import Bind, as_pools, bound_to, drawing_notes, is_stratified
from credibly.hypotests.resampling.loop import Target, Wish, finished
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
    seed: Seed, number: int, n_resamples: int, bytes_per_replicate: int, progress: Progress | None = None
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


@dataclasses.dataclass(frozen=True, eq=False)
class Signs:
    """Where replicates of rows in clusters come from, in place of drawn labels.

    Attributes
    ----------
    seed : tuple of int
        Key of the counters.
    members : ndarray (n_resamples,), optional
        The member that is taken to have drawn the labels, by replicate. Default: the mean prediction.
    pose : callable, optional
        From a dataset to what replicates see of it. Default: the dataset.
    """

    seed: Seed
    members: HostArray | None = None
    pose: Callable[[Dataset], Dataset] | None = None

    def draws_as(self, other: Signs) -> bool:
        """Tell whether both are the same replicates."""
        plain = all(part is None for part in (self.members, other.members, self.pose, other.pose))
        return self is other or (plain and self.seed == other.seed)


@dataclasses.dataclass(frozen=True, eq=False)
class _Signed:
    """A wish, and the sums that its replicates are made of."""

    wish: Wish
    bound: Bound
    expected: State
    added: State
    by_member: Mapping[int, State]

    def values(self, signs: HostArray) -> list[HostArray]:
        """Return the values of the labels with these signs, (b, ...), one for each way to finish them."""
        return self._finished(self.expected, self.added, signs)

    def replicated(self, signs: HostArray, members: HostArray | None) -> list[HostArray]:
        """Return the values of replicates, which scatter no less than independent rows would."""
        if members is None:
            return self._finished(*self.bound.widened_states(self.expected, self.added), signs)
        values = [np.empty(len(signs)) for _ in self.wish.finishes]
        for member, drew in self.by_member.items():
            at = members == member
            moved = {key: self.expected[key] + sums.sum(axis=0) for key, sums in drew.items()}
            expected = State({**self.expected, **moved})
            added = State({key: sums - drew[key] for key, sums in self.added.items()})
            of_member = self._finished(*self.bound.widened_states(expected, added), signs[at])
            for every, part in zip(values, of_member, strict=True):
                every[at] = part
        return values

    def _finished(self, expected: State, added: State, signs: HostArray) -> list[HostArray]:
        bound = self.bound
        return [
            to_host(
                bound.wild_values(expected, added, signs)
                if finish is finished
                else finish(bound, bound.terms.wild_state(expected, added, signs))  # type: ignore[attr-defined]
            )
            for finish in self.wish.finishes
        ]


def evaluate_signs(
    wishes: Sequence[Wish], rows: Rows, source: Signs, n_resamples: int, progress: Progress | None = None
) -> None:
    """Evaluate wishes on the observed labels and on wild replicates, all on the same signs.

    Every row has one class or number as label; chunks may split a cluster.
    """
    clusters = rows.clusters
    assert clusters is not None
    by_group: dict[Any, list[Wish]] = {}
    for wish in wishes:
        by_group.setdefault(wish.target.group, []).append(wish)
    signed: list[_Signed] = []
    for group, some in by_group.items():
        plan = some[0].target.plan
        assert group is None or plan is not None
        part = rows if plan is None or group is None else rows.of_group(group, plan.n)
        seen = part if source.pose is None else part.changed(source.pose)
        signed += _sums_of(some, seen, clusters, source)
    for each in signed:
        each.wish.bound, each.wish.expected = each.bound, each.expected
        each.wish.values.append(each.values(np.ones((1, clusters.number))))
    per_replicate = 160 * clusters.number
    for reps, signs in sign_tiles(source.seed, clusters.number, n_resamples, per_replicate, progress):
        members = None if source.members is None else source.members[reps]
        for each in signed:
            each.wish.values.append(each.replicated(signs, members))


def _sums_of(wishes: Sequence[Wish], rows: Rows, clusters: Clusters, source: Signs) -> list[_Signed]:
    """Return the sums of all wishes about these rows: in one pass if they add up, else one by one."""
    members = () if source.members is None else tuple(np.unique(source.members).tolist())
    chosen = [wish.target.statistic for wish in wishes if wish.target.statistic is not None]
    if members:
        _require_linear(chosen, rows)
    for statistic in chosen:
        require_defined(statistic, rows)
    sums = [wish for wish in wishes if wish.target.additive]
    signed = []
    if sums:
        binds = tuple(wish.target.bind for wish in sums)
        (total,) = rows.merged([WildSums(binds, clusters, source.seed, members)])
        for at, (wish, bind) in enumerate(zip(sums, binds, strict=True)):
            bound, _ = bound_in_clusters(bind, rows.example, source.seed)
            expected, added = (total.states[f"{at} {name}"] for name in ("expected", "added"))
            by_member = {member: total.states[f"{at} of {member}"] for member in members}
            signed.append(_Signed(wish, bound, expected, added, by_member))
    others = [wish for wish in wishes if not wish.target.additive]
    return signed + [_Signed(wish, *_all_at_once(wish.target, rows, clusters), {}) for wish in others]


def _all_at_once(target: Target, rows: Rows, clusters: Clusters) -> tuple[Bound, State, State]:
    """Bind a statistic that is no sum over rows, and return its sums."""
    statistic = target.statistic
    assert statistic is not None
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
        else statistic.bind(part.predictions, target.plan or statistic.plan(InMemory(part)))
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
