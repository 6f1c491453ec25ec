"""A statistic of some of the instances, given predictions and labels of all, or of those instances alone.

A test over pairs costs rows^2 k per replicate, so of many instances it sees a part. It keeps the replicates
of the whole: its labels are rows of theirs, so the tests of all statistics still share every draw, and
p-values stay exact.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, tiles
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.predictions import Dataset, InMemory, Labels, Predictions, Quantiles, Rows
from credibly.predictions.samples import Pool
from credibly.results.estimates import Estimate
from credibly.statistics.over_rows import estimate_at_once
from credibly.statistics.protocol import Bound, Plan, State, Statistic, Story, Traits

_TILE = 2**22


def random_rows(n: int, most: int, seed: Seed) -> HostArray:
    """Return the rows with the `most` smallest of n uniform numbers, increasing."""
    return np.sort(smallest_uniforms(n, most, seed)[1])


def smallest_uniforms(n: int, most: int, seed: Seed) -> tuple[HostArray, HostArray]:
    """Return the `most` smallest of n uniform numbers and their rows, a tile of them at a time."""
    uniforms = Uniforms(seed, stream=Stream.SUBSAMPLE)
    values, rows = np.empty(0), np.empty(0, dtype=np.int64)
    for tile in tiles(n, _TILE):
        values = np.concatenate([values, uniforms.draw(slice(0, 1), tile)[0]])
        rows = np.concatenate([rows, np.arange(tile.start, tile.stop)])
        if values.size > most:
            kept = np.argpartition(values, most - 1)[:most]
            values, rows = values[kept], rows[kept]
    return values, rows


@dataclasses.dataclass(frozen=True, eq=False)
class Subsampled(Statistic):
    """A statistic of some of the instances, given predictions and labels of all."""

    inner: Statistic
    chosen: np.ndarray[Any, Any]
    name: ClassVar[str] = "subsampled"
    reference: ClassVar[str] = ""
    traits: ClassVar[Traits]
    story: ClassVar[Story]

    def __post_init__(self) -> None:
        for attribute in ("name", "reference", "story"):
            object.__setattr__(self, attribute, getattr(self.inner, attribute))
        # sums of a part are no sums of the whole, so chunks of rows cannot be merged
        object.__setattr__(self, "traits", dataclasses.replace(self.inner.traits, reduction="opaque"))

    def settings(self) -> dict[str, Any]:
        """Return the settings of the statistic and the number of instances it sees."""
        return {**self.inner.settings(), "subsample": int(self.chosen.size)}

    def require_predictions(self, predictions: Predictions) -> None:
        """Ask the statistic itself."""
        self.inner.require_predictions(predictions)

    def _bind(self, predictions: Predictions, plan: Plan) -> Bound:
        return PartBound(self, self.inner.bind(predictions[self.chosen]), plan.n)

    def bind_part(self, part: Predictions, n: int) -> Bound:
        """Bind to the chosen instances alone, of `n`; the bound statistic takes labels of these."""
        return dataclasses.replace(self, chosen=np.arange(len(part))).bind(part, Plan(n))

    def bound_at_once(self, rows: Rows) -> tuple[Bound, Labels]:
        """Bind to the chosen instances, the only ones that are read, and return their labels."""
        part = rows.take(self.chosen)
        return self.bind_part(part.predictions, rows.n), part.batch

    def of_part(self, part: Dataset, n: int) -> Estimate:
        """Return the value, given the chosen instances alone, of `n`."""
        bound = self.bind_part(part.predictions, n)
        codes = InMemory(part).cluster_codes() if self.inner.traits.reduction == "pairwise" else None
        return estimate_at_once(bound, part.batch, codes)


_OF_SUMS = (
    "finish",
    "widened_states",
    "wild_values",
    "stderr",
    "interval_method",
    "chi_square",
    "observed_notes",
)
"""What a part does with its sums, which are seen as any others."""


class PartBound(Bound):
    """A statistic that is bound to some of `n` rows and takes the labels of all."""

    statistic: Subsampled

    def __init__(self, statistic: Subsampled, inner: Bound, n: int) -> None:
        how = ", in single precision" if getattr(inner.statistic, "_single", False) else ""
        note = (
            f"computed on {inner.n} of {n} instances, drawn at random with the seed{how}: it compares all "
            "pairs (`evaluate(pairwise_rows=)` and naming it in `calibration_test` take more)"
        )
        # the bound statistic knows what a rule such as bandwidth="median" became
        resolved = dataclasses.replace(statistic, inner=inner.statistic)
        super().__init__(resolved, inner.n, (*inner.notes, note))
        self.inner, self.n_whole, self.chosen = inner, n, statistic.chosen
        self.term_size, self.rounding = inner.term_size, inner.rounding
        for of_sums in _OF_SUMS:
            setattr(self, of_sums, getattr(inner, of_sums))

    def see(self, labels: Labels) -> Labels:
        """Return the labels of the part."""
        return labels.take(like(self.chosen, labels.values))

    def of_pool(self, pool: Pool, weights: Array | None) -> Bound:
        """Bind to the part of pools of all rows."""
        weights = None if weights is None else weights[:, like(self.chosen, weights)]
        return PartBound(self.statistic, self.inner.of_pool(pool[self.chosen], weights), self.n_whole)

    def of_cells(self, predictions: Quantiles) -> Bound:
        """Return itself, where the statistic looks at the cells of labels itself."""
        self.inner.of_cells(predictions)
        return self

    @property
    def shared(self) -> Hashable:
        """Equal where statistics that share work see the same part of the rows."""
        shared = self.inner.shared
        return None if shared is None else (self.chosen.tobytes(), shared)

    def states_with(self, others: Sequence[Any], labels: Labels) -> list[State]:
        """Return the sums of all over the part."""
        return self.inner.states_with([other.inner for other in others], self.see(labels))

    def state(self, labels: Labels) -> State:
        """Return the sums over the part."""
        return self.inner.state(self.see(labels))

    def observed_sums(self, labels: Labels) -> State:
        """Return the sums over the part, with what its standard error and notes need."""
        return self.inner.observed_sums(self.see(labels))

    def wild_sums(self, labels: Labels, codes: HostArray, number: int) -> tuple[State, State]:
        """Return what predictions expect, and what labels add per cluster, of the part."""
        return self.inner.wild_sums(self.see(labels), codes[self.chosen], number)
