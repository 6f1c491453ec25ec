"""Batches of label vectors, replicates in front: what a bound statistic is evaluated on."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from credibly._arrays.namespace import Array, device, namespace


@dataclasses.dataclass(frozen=True)
class Classes:
    """A batch of label vectors: `values` (b, n) of small integers, optional `weights` (b, n) or (1, n)."""

    values: Array
    n_classes: int
    weights: Array | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n(self) -> int:
        """Number of instances."""
        return int(self.values.shape[1])

    def rows(self, rows: slice) -> Classes:
        """Return the same replicates of some instances."""
        weights = None if self.weights is None else self.weights[:, rows]
        return Classes(self.values[:, rows], self.n_classes, weights)

    def block(self, rows: slice, reps: slice) -> Array:
        """Return one-hot labels (reps, rows, k) of one tile, times the weights."""
        xp = namespace(self.values)
        tile = self.values[reps, rows]
        classes = xp.arange(self.n_classes, dtype=tile.dtype, device=device(tile))
        onehot = xp.astype(tile[:, :, None] == classes, xp.float64)
        if self.weights is None:
            return onehot
        weights = self.weights[reps, rows] if self.weights.shape[0] > 1 else self.weights[:, rows]
        return onehot * weights[:, :, None]


@dataclasses.dataclass(frozen=True)
class Counts:
    """A batch of label histograms: `values` (b, n, k), optional `weights` (b, n) or (1, n)."""

    values: Array
    weights: Array | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n(self) -> int:
        """Number of instances."""
        return int(self.values.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.values.shape[2])

    def rows(self, rows: slice) -> Counts:
        """Return the same replicates of some instances."""
        weights = None if self.weights is None else self.weights[:, rows]
        return Counts(self.values[:, rows, :], weights)

    def block(self, rows: slice, reps: slice) -> Array:
        """Return label frequencies (reps, rows, k) of one tile, times the weights."""
        xp = namespace(self.values)
        tile = xp.astype(self.values[reps, rows, :], xp.float64)
        tile = tile / xp.sum(tile, axis=-1, keepdims=True)
        if self.weights is None:
            return tile
        weights = self.weights[reps, rows] if self.weights.shape[0] > 1 else self.weights[:, rows]
        return tile * weights[:, :, None]


@dataclasses.dataclass(frozen=True)
class Reals:
    """A batch of real observations: `values` (b, n), optional `weights` (b, n) or (1, n)."""

    values: Array
    weights: Array | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n(self) -> int:
        """Number of instances."""
        return int(self.values.shape[1])

    def rows(self, rows: slice) -> Reals:
        """Return the same replicates of some instances."""
        weights = None if self.weights is None else self.weights[:, rows]
        return Reals(self.values[:, rows], weights)


Labels: TypeAlias = Classes | Counts | Reals
