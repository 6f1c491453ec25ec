"""Label vectors drawn from predictions, addressed by counters: no tile, worker or device changes a label."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import Array, as_float64, is_torch, like, namespace, to_host
from credibly._arrays.philox import Seed, Uniforms
from credibly._arrays.tiles import CACHE_ELEMENTS, tiles
from credibly.predictions import Classes, label_dtype

LABELS, ROWS = 0, 1
"""Streams of uniforms: labels, and bootstrapped rows."""

_FEW_CLASSES = 48  # up to here comparing with every step of the distribution beats bisection


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
        self.uniforms = Uniforms(seed, stream=LABELS)
        self.on_device = is_torch(probs) and probs.device.type != "cpu"
        steps = _steps(as_float64(probs) if self.on_device else to_host(as_float64(probs)))
        self.steps = steps  # (k - 1, n): P(label <= c)

    def labels(self, reps: slice, rows: slice | None = None) -> Classes:
        """Return replicates `reps` of the instances `rows` (all of them where not given)."""
        chosen = slice(0, self.n) if rows is None else rows
        if self.on_device:
            return Classes(self._draw_on_device(reps, chosen), self.k)
        drawn = self._draw(reps, chosen)
        return Classes(like(drawn, self.probs), self.k)

    def _draw(self, reps: slice, rows: slice) -> Array:
        out = np.zeros((reps.stop - reps.start, rows.stop - rows.start), dtype=label_dtype(np, self.k))
        n_tile = min(out.shape[1], CACHE_ELEMENTS)
        reps_tile = max(1, CACHE_ELEMENTS // n_tile)
        buffer = np.empty((reps_tile, n_tile))
        for part in tiles(out.shape[0], reps_tile):
            for span in tiles(out.shape[1], n_tile):
                uniform = buffer[: part.stop - part.start, : span.stop - span.start]
                start = rows.start + span.start
                for row, d in zip(uniform, range(part.start, part.stop), strict=True):
                    self.uniforms.fill(row, reps.start + d, self.first_row + start)
                steps = self.steps[:, start : rows.start + span.stop]
                _invert(uniform, steps, out[part, span])
        return out

    def _draw_on_device(self, reps: slice, rows: slice) -> Array:
        xp = namespace(self.probs)
        shifted = slice(self.first_row + rows.start, self.first_row + rows.stop)
        uniform = self.uniforms.block(reps, shifted, reference=self.probs)
        if self.k > _FEW_CLASSES:
            steps = self.steps[:, rows].T.contiguous()
            found = xp.searchsorted(steps, uniform.T.contiguous(), right=True).T
            return xp.astype(found, label_dtype(xp, self.k))
        out = xp.zeros(uniform.shape, dtype=label_dtype(xp, self.k), device=uniform.device)
        for step in self.steps[:, rows]:
            out += uniform >= step
        return out


def _steps(probs: Array) -> Array:
    """Return P(label <= c) for all but the last class, (k - 1, n), scaled so that rounding makes no class."""
    xp = namespace(probs)
    cumulative = xp.cumulative_sum(probs, axis=1)
    steps = (cumulative[:, :-1] / cumulative[:, -1:]).T
    return np.ascontiguousarray(steps) if isinstance(steps, np.ndarray) else steps.contiguous()


def _invert(uniform: Array, steps: Array, out: Array) -> None:
    """Write the number of steps at or below each uniform number into `out`, which starts at zero."""
    if steps.shape[0] < _FEW_CLASSES:
        for step in steps:
            out += uniform >= step
        return
    k1, n = steps.shape
    columns = np.arange(n)
    low = np.zeros(uniform.shape, dtype=np.intp)
    stride = 1 << (k1.bit_length() - 1)
    while stride:
        probe = low + stride
        inside = probe <= k1
        value = steps[np.minimum(probe, k1) - 1, columns]
        np.copyto(low, probe, where=inside & (uniform >= value))
        stride >>= 1
    out[...] = low
