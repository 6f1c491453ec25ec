"""Pairs of instances in chunks: tasks of (rows, columns, label vectors) on an engine, whose sums add up.

A chunk becomes a block, its mean predictions and labels, and stays where it was read. A task takes a part of
one block and all of another, so that two blocks are all a worker holds. Where pairs are symmetric every two
blocks meet once; where a row must see all others before its error is known (KDE errors), one task follows the
other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from credibly._arrays.namespace import Array, moved
from credibly._arrays.progress import Progress
from credibly._arrays.tiles import rows_within_budget, tiles
from credibly.predictions import Dataset, InMemory, Labels, Rows, as_point
from credibly.predictions.passes import on_host
from credibly.results.estimates import Estimate
from credibly.statistics.over_rows import Planned, estimate_at_once, gathered, require_rows
from credibly.statistics.pairwise import BandwidthPlan, PairwiseBound, require_pairs
from credibly.statistics.protocol import State, Statistic
from credibly.statistics.smoother import SmootherBound

_LEAST_ROWS, _MOST_ROWS = 128, 4096  # of a part: products of fewer are slow, temporaries of more large


@dataclasses.dataclass(frozen=True)
class Block:
    """Mean predictions and labels of consecutive rows, of which `start` is the first among all."""

    start: int
    probs: Array
    labels: Labels
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.probs.shape[0])

    def __getitem__(self, rows: slice) -> Block:
        return Block(self.start + rows.start, self.probs[rows, :], self.labels.rows(rows), self.notes)

    def on(self, where: Any) -> Block:
        """Return the same rows on a device."""
        weights = None if self.labels.weights is None else moved(self.labels.weights, where)
        labels = dataclasses.replace(self.labels, values=moved(self.labels.values, where), weights=weights)
        return Block(self.start, moved(self.probs, where), labels, self.notes)


Vectors = Callable[[Block], Labels]
"""Returns the label vectors of a block: as they are, or drawn; the same ones whatever stands beside a row."""


def meets_in_blocks(statistic: Statistic, chunks: Rows) -> bool:
    """Tell whether pairs are to meet in tasks: in one process they meet in memory."""
    return chunks.engine.name != "serial" and bool(getattr(statistic, "meets_in_blocks", False))


@dataclasses.dataclass(frozen=True)
class Pairs:
    """A statistic of pairs over blocks that are held by an engine.

    Parameters
    ----------
    planned : Planned
        The statistic, with the plan of all rows.
    chunks : Rows
        The rows.
    blocks : list
        What `chunks.held` made of them.
    """

    planned: Planned
    chunks: Rows
    blocks: list[Any]

    @classmethod
    def over(cls, planned: Planned, chunks: Rows) -> Pairs:
        """Read all chunks once; mean predictions and labels stay where they were read."""
        require_pairs(planned.statistic.name, chunks.n)
        return cls(planned, chunks, chunks.held(_block))

    @property
    def bound(self) -> PairwiseBound:
        """The statistic bound to a few rows: enough to finish sums."""
        point, _ = as_point(self.chunks.sample.predictions)
        return _bound(self.planned, point.probs, ())

    def vectors_at_once(self) -> int:
        """Return how many label vectors the least part of rows can take within the memory budget."""
        return rows_within_budget(self._bytes_per_entry() * _LEAST_ROWS, 0.25)

    def _bytes_per_entry(self) -> int:
        # label values of rows and columns and their product, one number per class
        return 3 * 8 * int(self.bound.probs.shape[1])

    def sums(
        self, vectors: Vectors, n_vectors: int, progress: Progress | None = None
    ) -> tuple[State, tuple[str, ...]]:
        """Return the sums over all pairs for every label vector, and what the rows had to say."""
        fitting = rows_within_budget(self._bytes_per_entry() * n_vectors, 0.25)
        size = min(_MOST_ROWS, max(_LEAST_ROWS, fitting))
        chains = list(self._chains(size))
        step, finish = partial(_step, self.planned, vectors, size), partial(_finish, self.planned, vectors)
        total: State | None = None
        notes: dict[str, None] = {}
        for done, (found, said) in enumerate(self.chunks.engine.folds(step, chains, finish), start=1):
            total = found if total is None else total + found
            notes.update(dict.fromkeys(said))
            if progress is not None:
                progress(done, len(chains))
        assert total is not None
        return total, tuple(notes)

    def _chains(self, size: int) -> Iterator[list[tuple[Any, slice, Any]]]:
        """Yield the steps of every part of every block: which part, and which block it meets."""
        once = self.bound.symmetric
        for place, length in enumerate(self.chunks.lengths):
            here = self.blocks[place]
            for part in tiles(length, size):
                if once:
                    yield from ([(here, part, other)] for other in self.blocks[place:])
                else:
                    yield [(here, part, other) for other in self.blocks]

    def notes_of(self, state: State) -> tuple[str, ...]:
        """Return what the sums of all blocks make worth knowing, as binding all rows at once would."""
        plan = self.planned.plan
        assert isinstance(plan, BandwidthPlan)
        bound = self.bound
        if not isinstance(bound, SmootherBound):
            return plan.notes
        return (
            *plan.notes,
            *bound.zeros_notes(int(state["zeros"][0]), plan.n),
            *bound.observed_notes(state),
        )


def pair_estimate(statistic: Statistic, rows: Rows, progress: Progress | None = None) -> Estimate:
    """Return the value of a statistic of pairs: of rows in memory, or of blocks that meet on an engine."""
    require_rows(statistic, rows)
    if not meets_in_blocks(statistic, rows):
        point, labels = gathered(rows)
        plan = statistic.plan(InMemory(Dataset(point, labels)))
        return estimate_at_once(statistic.bind(point, plan), labels)
    pairs = Pairs.over(Planned(statistic, statistic.plan(rows)), rows)
    state, said = pairs.sums(_observed, 1, progress)
    bound = pairs.bound
    bound.notes = (*said, *pairs.notes_of(state))  # of all rows, in place of the few that it is bound to
    return bound.estimate(state, rows.sample.batch, n=rows.n)


def _observed(block: Block) -> Labels:
    return block.labels


@dataclasses.dataclass(frozen=True)
class _Sums:
    """What a part of a block has got so far."""

    rows: Block
    found: Any


def _block(chunk: Dataset) -> Block:
    point, notes = as_point(chunk.predictions)
    return Block(chunk.start, point.probs, chunk.batch, notes)


def _bound(planned: Planned, probs: Array, notes: tuple[str, ...]) -> PairwiseBound:
    plan = dataclasses.replace(planned.plan, n=int(probs.shape[0]))
    bound = planned.statistic.bound(probs, plan, notes)  # type: ignore[attr-defined]
    assert isinstance(bound, PairwiseBound)
    return bound


def _step(
    planned: Planned,
    vectors: Vectors,
    size: int,
    before: _Sums | None,
    block: Block,
    part: slice,
    other: Block,
) -> _Sums:
    """Let a part of a block meet another block, in tiles of its columns."""
    rows = block[part]
    bound, labels = _bound(planned, rows.probs, ()), vectors(rows)
    found = None if before is None else before.found
    drawn = vectors(other)
    for tile in tiles(len(other), size):
        first = other.start + tile.start
        if bound.symmetric and first < rows.start:
            continue  # met when that part was the row
        if first == rows.start:
            found = bound.meet(found, bound, labels, labels)
        else:
            columns = _bound(planned, other.probs[tile, :], ())
            found = bound.meet(found, columns, labels, drawn.rows(tile))
    return _Sums(rows, found)


def _finish(planned: Planned, vectors: Vectors, sums: _Sums) -> tuple[State, tuple[str, ...]]:
    rows = sums.rows
    state = _bound(planned, rows.probs, ()).met(sums.found, vectors(rows))
    return on_host(state), rows.notes
