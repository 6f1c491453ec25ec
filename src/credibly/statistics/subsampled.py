"""A statistic of some of the instances, given predictions and labels of all, or of those instances alone.

A test over pairs costs rows^2 k per replicate, so of many instances it sees a part. It keeps the replicates
of the whole: its labels are rows of theirs, so the tests of all statistics still share every draw, and
p-values stay exact.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, HostArray, like, namespace, tiles
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.predictions import Dataset, InMemory, Labels, Predictions, Rows
from credibly.predictions.samples import Pool
from credibly.results.estimates import Estimate
from credibly.statistics.over_rows import estimate_at_once
from credibly.statistics.protocol import Bound, Plan, Statistic, Story, Traits
from credibly.statistics.seen import SeenBound

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
        return self._seen(self.inner.bind(predictions[self.chosen]), plan.n)

    def _seen(self, inner: Bound, n: int) -> SeenBound:
        """Return the statistic bound to the part that it sees; it takes labels of all `n` rows."""
        chosen = self.chosen

        def see(labels: Labels) -> tuple[Bound, Labels]:
            values, weights = some_rows(labels.values, chosen), some_rows(labels.weights, chosen)
            return inner, dataclasses.replace(labels, values=values, weights=weights)

        def pools(pool: Pool, weights: Array | None) -> Bound:
            return self._seen(inner.of_pool(pool[chosen], some_rows(weights, chosen)), n)

        how = ", in single precision" if getattr(inner.statistic, "_single", False) else ""
        note = (
            f"computed on {inner.n} of {n} instances, drawn at random with the seed{how}: it compares all "
            "pairs (`evaluate(pairwise_rows=)` and naming it in `calibration_test` take more)"
        )
        # the bound statistic knows what a rule such as bandwidth="median" became
        resolved = dataclasses.replace(self, inner=inner.statistic)
        return SeenBound(resolved, inner.n, (*inner.notes, note), see, pools, inner, chosen)

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


def some_rows(values: Array | None, chosen: HostArray) -> Any:
    """Return some columns of (b, n, ...)."""
    return None if values is None else namespace(values).take(values, like(chosen, values), axis=1)
