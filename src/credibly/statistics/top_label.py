"""The most probable class of every row and its probability; the lowest index wins ties."""

from __future__ import annotations

import numpy as np

from credibly._arrays.namespace import Array, is_numpy, namespace
from credibly._arrays.sums import add_mask
from credibly._arrays.tiles import CACHE_ELEMENTS, tiles
from credibly.predictions import label_dtype


def top_label(probs: Array) -> tuple[Array, Array]:
    """Return (confidence, predicted class) from probabilities (n, k)."""
    if is_numpy(probs):
        return _top_label_numpy(probs)
    xp = namespace(probs)
    predicted = xp.argmax(probs, axis=-1)
    return xp.max(probs, axis=-1), xp.astype(predicted, label_dtype(xp, probs.shape[1]))


def _top_label_numpy(probs: Array) -> tuple[Array, Array]:
    """Reduce column by column on tiles that stay in cache.

    NumPy reduces a short last axis row by row, several times slower than memory allows.
    """
    n, k = probs.shape
    if k > 64:
        return probs.max(axis=1), probs.argmax(axis=1).astype(label_dtype(np, k))
    confidence = np.empty(n, dtype=probs.dtype)
    predicted = np.zeros(n, dtype=label_dtype(np, k))
    for rows in tiles(n, 2 * CACHE_ELEMENTS // k):
        columns = np.ascontiguousarray(probs[rows].T)
        best, label = confidence[rows], predicted[rows]
        np.max(columns, axis=0, out=best)
        earlier = np.ones(best.shape, dtype=bool)  # no column so far holds the maximum
        for column in columns[:-1]:
            earlier &= column != best
            add_mask(label, earlier)
    return confidence, predicted
