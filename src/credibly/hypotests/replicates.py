"""Label vectors drawn from predictions, addressed by counters: no tile, worker or device changes a label.

A label is the number of steps of its distribution that a uniform number u has passed. For few classes u is
taken in two parts, u = (piece + rest) / 2^16: the 16-bit piece decides almost every comparison, at a quarter
of the cost of doubles, and only where it ties with a step is the 53-bit rest drawn. Nothing is rounded.
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import (
    Array,
    as_float64,
    is_numpy,
    is_torch,
    like,
    namespace,
    to_host,
)
from credibly._arrays.philox import Seed, Uniforms, torch_pieces
from credibly._arrays.sums import add_mask
from credibly._arrays.tiles import CACHE_ELEMENTS, tiles
from credibly.predictions import Classes, label_dtype

PIECES, RESTS, ROWS, CHOICES = 0, 1, 2, 3
"""Streams under one seed: leading parts of labels, their rests (or whole uniforms), bootstrapped rows,
choices among draws."""

_FEW_CLASSES = 48
_PIECE_VALUES = 2**16
_TILE = 2 * CACHE_ELEMENTS


class Replicates:
    """Labels y[d, i] ~ probs[i], independent over instances and replicates.

    Parameters
    ----------
    probs : array (n, k)
        The distribution labels are drawn from.
    seed : tuple of int
        Key of the counters.
    first_row : int
        Index of row 0 among all instances, for chunks of a larger whole.
    """

    def __init__(self, probs: Array, seed: Seed, first_row: int = 0) -> None:
        self.probs, self.first_row = probs, first_row
        self.n, self.k = probs.shape
        self.pieces, self.rests = Uniforms(seed, PIECES), Uniforms(seed, RESTS)
        self.on_device = is_torch(probs) and probs.device.type != "cpu"
        self.steps = _steps(as_float64(probs) if self.on_device else to_host(as_float64(probs)))
        if self.k <= _FEW_CLASSES:
            self.steps *= _PIECE_VALUES
            if not self.on_device:
                floors = np.minimum(np.floor(self.steps), _PIECE_VALUES - 1)
                self.floors = floors.astype(np.uint16)

    def labels(self, reps: slice, rows: slice | None = None) -> Classes:
        """Return replicates `reps` of the instances `rows` (all of them where not given)."""
        chosen = slice(0, self.n) if rows is None else rows
        if self.on_device:
            return Classes(self._draw_on_device(reps, chosen), self.k)
        shape = (reps.stop - reps.start, chosen.stop - chosen.start)
        out = np.zeros(shape, dtype=label_dtype(np, self.k))
        width = min(shape[1], _TILE)
        height = max(1, _TILE // width)
        draw = self._draw_few if self.k <= _FEW_CLASSES else self._draw_many
        for part in tiles(shape[0], height):
            for span in tiles(shape[1], width):
                draw(out[part, span], reps.start + part.start, chosen.start + span.start)
        return Classes(like(out, self.probs), self.k)

    def _draw_few(self, out: Array, replicate: int, row: int) -> None:
        """Count passed steps by comparing 16-bit pieces with each of them; `out` starts at zero."""
        pieces = np.empty(out.shape, dtype=np.uint16)
        for j, line in enumerate(pieces):
            self.pieces.fill_pieces(line, replicate + j, self.first_row + row)
        reached = np.zeros_like(out)
        passed = np.empty(out.shape, dtype=bool)
        for floor in self.floors[:, row : row + out.shape[1]]:
            add_mask(out, np.greater(pieces, floor, out=passed))
            add_mask(reached, np.greater_equal(pieces, floor, out=passed))
        rest = np.empty(1)
        tied = np.flatnonzero(out != reached)
        for j, i in zip(*np.divmod(tied, out.shape[1]), strict=True):
            self.rests.fill(rest, replicate + j, self.first_row + row + i)
            steps, piece = self.steps[:, row + i], float(pieces[j, i])
            floor = np.floor(steps)
            out[j, i] = np.count_nonzero((piece > floor) | ((piece == floor) & (rest >= steps - floor)))

    def _draw_many(self, out: Array, replicate: int, row: int) -> None:
        """Find the number of passed steps by bisection."""
        uniform = np.empty(out.shape)
        for j, line in enumerate(uniform):
            self.rests.fill(line, replicate + j, self.first_row + row)
        steps = self.steps[:, row : row + out.shape[1]]
        columns = np.arange(out.shape[1])
        last = steps.shape[0]
        low = np.zeros(out.shape, dtype=np.intp)
        stride = 1 << (last.bit_length() - 1)
        while stride:
            probe = low + stride
            value = steps[np.minimum(probe, last) - 1, columns]
            np.copyto(low, probe, where=(probe <= last) & (uniform >= value))
            stride >>= 1
        out[...] = low

    def _draw_on_device(self, reps: slice, rows: slice) -> Array:
        """Draw the same labels with tensors; the device has time to draw every rest."""
        xp = namespace(self.probs)
        shifted = slice(self.first_row + rows.start, self.first_row + rows.stop)
        rest = self.rests.block(reps, shifted, reference=self.probs)
        if self.k > _FEW_CLASSES:
            steps = self.steps[:, rows].T.contiguous()
            found = xp.searchsorted(steps, rest.T.contiguous(), side="right").T
            return xp.astype(found, label_dtype(xp, self.k))
        piece = xp.astype(torch_pieces(self.pieces, reps, shifted, self.probs.device), xp.float64)
        out = xp.zeros(rest.shape, dtype=label_dtype(xp, self.k), device=rest.device)
        for step in self.steps[:, rows]:
            floor = xp.floor(step)
            out += (piece > floor) | ((piece == floor) & (rest >= step - floor))
        return out


def _steps(probs: Array) -> Array:
    """Return P(label <= c) for all but the last class, (k - 1, n), scaled so that rounding makes no class."""
    if not is_numpy(probs):
        xp = namespace(probs)
        cumulative = xp.cumulative_sum(probs, axis=1)
        return (cumulative[:, :-1] / cumulative[:, -1:]).T.contiguous()
    n, k = probs.shape
    steps = np.empty((k - 1, n))
    for rows in tiles(n, CACHE_ELEMENTS // k):
        cumulative = np.cumsum(np.ascontiguousarray(probs[rows].T), axis=0)
        np.divide(cumulative[:-1], cumulative[-1], out=steps[:, rows])
    return steps
