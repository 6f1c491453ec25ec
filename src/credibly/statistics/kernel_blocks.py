"""Kernel errors over blocks of rows, whose terms are independent.

    mean over blocks of  sum_{i != j in block} k_ij <r_i, r_j> / (s (s - 1)),   s = 2 for "linear"

So there is a normal limit and a standard error. Widmann et al. 2019 (linear); Zaremba et al. 2013 (blocks).
Rows that fill no block are left out and counted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import (
    Array,
    as_float64,
    device,
    namespace,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.notes import counted
from credibly.predictions import Labels, Quantiles
from credibly.statistics.kernels import centred_kernel
from credibly.statistics.pairwise import BandwidthPlan, require_same_n, set_diagonal
from credibly.statistics.protocol import Bound, State, replicates
from credibly.statistics.real_kernels import Sides

if TYPE_CHECKING:
    from credibly.statistics.skce import KernelError

_FEWEST_BLOCKS = 50  # the normal interval was checked from here on


class BlockBound(Bound):
    """Kernels of every block, and the mean of the blocks' unbiased estimates."""

    statistic: KernelError

    def __init__(
        self,
        statistic: KernelError,
        sides: Sides,
        plan: BandwidthPlan,
        label_kernel: Array | None,
        notes: tuple[str, ...],
    ) -> None:
        self.size = statistic.block_size or 2
        self.n_blocks = plan.n // self.size
        if not self.n_blocks:
            raise InputError(
                "`block_size`",
                f"must be at most the number of instances ({plan.n})",
                f"got {self.size}",
                "Make it smaller.",
            )
        left = plan.n - self.n_blocks * self.size
        if left:
            rest = counted(left, "row, which does", "rows, which do")
            notes = (*notes, f"left out: {rest} not fill a block of {self.size}")
        super().__init__(statistic, plan.n, notes)
        self.probs = as_float64(sides.points)
        self.bandwidth, self.label_kernel, self.sides = plan.bandwidth, label_kernel, sides
        self.width, self.term_size = sides.width, sides.largest
        self.kernels = self._kernels()  # (blocks, size, size), zero diagonal

    def of_cells(self, predictions: Quantiles) -> Bound:
        """Return itself: it looks at the cells of labels itself."""
        return self

    def _kernels(self) -> Array:
        xp = namespace(self.probs)
        statistic, size = self.statistic, self.size
        if size == 2:
            # one kernel per pair needs no matrix of pairs
            first, second = self.probs[0 : 2 * self.n_blocks : 2, :], self.probs[1 : 2 * self.n_blocks : 2, :]
            pair = _rowwise_kernel(first, second, statistic, self.bandwidth, self.sides.level)
            zero = xp.zeros_like(pair)
            return xp.stack([xp.stack([zero, pair], axis=-1), xp.stack([pair, zero], axis=-1)], axis=-2)
        made = []
        for block in range(self.n_blocks):
            rows = self.probs[block * size : (block + 1) * size, :]
            kernel = self.sides.kernel(rows, rows, statistic.kernel, statistic.norm, self.bandwidth)
            made.append(set_diagonal(kernel, 0, 0.0))
        return xp.stack(made, axis=0)

    def block_values(self, labels: Labels, rows: slice | None = None) -> Array:
        """Return the unbiased estimate in every block, (b, blocks); blocks belong to their first row."""
        require_same_n(labels, self.n)
        if labels.weights is not None:
            raise UnsupportedError(
                "`sample_weight`",
                "has no meaning if rows are paired by their order",
                f"got estimator={self.statistic.estimator!r}",
                'Use estimator="unbiased" or "biased".',
            )
        first, last, _ = slice(None).indices(self.n) if rows is None else rows.indices(self.n)
        blocks = slice(-(-first // self.size), min(self.n_blocks, -(-last // self.size)))
        per_replicate = 4 * self.n * self.width * 8
        parts = [
            self._values(replicates(labels, reps), blocks)
            for reps in tiles(len(labels), rows_within_budget(per_replicate, 0.5))
        ]
        return namespace(self.probs).concat(parts, axis=0)

    def _values(self, labels: Labels, blocks: slice) -> Array:
        xp = namespace(self.probs)
        count, size, k = max(0, blocks.stop - blocks.start), self.size, self.width
        rows = slice(blocks.start * size, (blocks.start + count) * size)
        residual = self.sides.residuals(labels.rows(rows), rows, self.probs.dtype)
        residual = xp.reshape(residual, (len(labels), k, count, size))
        apart = xp.permute_dims(residual, (2, 0, 1, 3))  # (blocks, b, k, size)
        flat = xp.reshape(apart, (count, len(labels) * k, size))
        product = xp.reshape(xp.matmul(flat, self.kernels[blocks, :, :]), apart.shape)
        if self.label_kernel is not None:
            product = xp.matmul(self.label_kernel, product)
        pairs = xp.sum(apart * product, axis=(2, 3))  # (blocks, b)
        return pairs.T / (size * (size - 1.0))

    def state(self, labels: Labels, rows: slice | None = None) -> State:
        """Sum the estimates of the blocks that start in these rows."""
        values = self.block_values(labels, rows)
        xp = namespace(values)
        count = xp.full((len(labels),), float(values.shape[1]), dtype=xp.float64, device=device(values))
        return State(total=xp.sum(values, axis=1), blocks=count)

    def finish(self, state: State) -> Array:
        """Average over blocks."""
        return state["total"] / state["blocks"]

    def observed_sums(self, labels: Labels) -> State:
        """Return the state, with the squared deviations of the blocks from their mean."""
        values = self.block_values(labels)
        xp = namespace(values)
        count = xp.full((len(labels),), float(values.shape[1]), dtype=xp.float64, device=device(values))
        squares = xp.sum((values - xp.mean(values, axis=1, keepdims=True)) ** 2, axis=1)
        return State(total=xp.sum(values, axis=1), blocks=count, squares=squares)

    def stderr(self, sums: State, labels: Labels) -> tuple[float | None, str | None]:
        """Return the standard error of a mean of independent blocks."""
        if self.n_blocks < _FEWEST_BLOCKS:
            return None, f"{self.n_blocks} blocks are too few for a normal interval ({_FEWEST_BLOCKS})"
        squares = float(to_host(sums["squares"])[0])
        return math.sqrt(squares / (self.n_blocks - 1) / self.n_blocks), None


def _rowwise_kernel(
    first: Array, second: Array, statistic: KernelError, bandwidth: float, level: Any
) -> Array:
    """Return the kernel between matching rows, (m, k), (m, k) -> (m,); centred where there is a level."""
    xp = namespace(first)
    if level is not None:
        plain = _rowwise_kernel(first[:, :-1], second[:, :-1], statistic, bandwidth, None)
        return centred_kernel(plain, first[:, -1], second[:, -1], level)
    gap = first - second
    if statistic.norm == "euclidean":
        square = xp.sum(gap * gap, axis=-1)
        apart = square > 0
        distance = xp.where(apart, xp.sqrt(xp.where(apart, square, xp.ones_like(square))), square)
    else:
        distance = xp.sum(xp.abs(gap), axis=-1) * (0.5 if statistic.norm == "tv" else 1.0)
    if statistic.kernel == "gaussian":
        return xp.exp(distance * distance * (-0.5 / (bandwidth * bandwidth)))
    return xp.exp(distance * (-1.0 / bandwidth))
