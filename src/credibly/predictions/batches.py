"""Batches of label vectors, replicates in front: what a bound statistic is evaluated on."""

from __future__ import annotations

import dataclasses
from typing import Self, TypeAlias

from credibly._arrays.namespace import Array, device, namespace


class _Batch:
    """What all batches share: `values` (b, n, ...) and optional `weights`, (b, n) or (1, n)."""

    values: Array
    weights: Array | None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n(self) -> int:
        """Number of instances."""
        return int(self.values.shape[1])

    def rows(self, rows: slice) -> Self:
        """Return the same replicates of some instances."""
        weights = None if self.weights is None else self.weights[:, rows]
        values = self.values[:, rows, ...]
        return dataclasses.replace(self, values=values, weights=weights)  # type: ignore[type-var]

    def _weighted(self, tile: Array, rows: slice, reps: slice) -> Array:
        """Multiply a tile (reps, rows, k) by the weights of its instances."""
        if self.weights is None:
            return tile
        weights = self.weights[reps, rows] if self.weights.shape[0] > 1 else self.weights[:, rows]
        return tile * weights[:, :, None]


@dataclasses.dataclass(frozen=True)
class Classes(_Batch):
    """A batch of label vectors: `values` (b, n) of small integers."""

    values: Array
    n_classes: int
    weights: Array | None = None

    def block(self, rows: slice, reps: slice) -> Array:
        """Return one-hot labels (reps, rows, k) of one tile, times the weights."""
        xp = namespace(self.values)
        tile = self.values[reps, rows]
        classes = xp.arange(self.n_classes, dtype=tile.dtype, device=device(tile))
        return self._weighted(xp.astype(tile[:, :, None] == classes, xp.float64), rows, reps)


@dataclasses.dataclass(frozen=True)
class Counts(_Batch):
    """A batch of label histograms: `values` (b, n, k)."""

    values: Array
    weights: Array | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.values.shape[2])

    def block(self, rows: slice, reps: slice) -> Array:
        """Return label frequencies (reps, rows, k) of one tile, times the weights."""
        xp = namespace(self.values)
        tile = xp.astype(self.values[reps, rows, :], xp.float64)
        return self._weighted(tile / xp.sum(tile, axis=-1, keepdims=True), rows, reps)


@dataclasses.dataclass(frozen=True)
class Reals(_Batch):
    """A batch of real observations: `values` (b, n)."""

    values: Array
    weights: Array | None = None


Labels: TypeAlias = Classes | Counts | Reals
