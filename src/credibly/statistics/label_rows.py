"""Label vectors as rows of numbers: what a matrix of pairs is multiplied with."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.namespace import Array, device, is_numpy, namespace
from credibly.predictions import Classes, Counts, Labels


def label_values(labels: Labels, xp: Any, dtype: Any) -> Array:
    """Return one-hot labels or label frequencies as (b, k, n), without weights."""
    if isinstance(labels, Counts):
        counts = xp.astype(labels.values, xp.float64)
        share = counts / xp.sum(counts, axis=-1, keepdims=True)
        return xp.astype(xp.permute_dims(share, (0, 2, 1)), dtype)
    assert isinstance(labels, Classes)
    given = labels.values
    classes = xp.arange(labels.n_classes, dtype=given.dtype, device=device(given))
    if is_numpy(given):
        out = np.empty((given.shape[0], labels.n_classes, given.shape[1]), dtype=dtype)
        return np.equal(given[:, None, :], classes[None, :, None], out=out)
    return xp.astype(given[:, None, :] == classes[None, :, None], dtype)


def replicates(labels: Labels, reps: slice) -> Labels:
    """Return some replicates of a batch."""
    weights = labels.weights
    if weights is not None and weights.shape[0] > 1:
        weights = weights[reps, :]
    return dataclasses.replace(labels, values=labels.values[reps, ...], weights=weights)


def total_weight(labels: Labels, rows: slice, like: Array) -> Array:
    """Return the sum of weights over some rows, (b,), in double precision."""
    xp = namespace(like)
    if labels.weights is None:
        return xp.full((len(labels),), float(rows.stop - rows.start), dtype=xp.float64, device=device(like))
    total = xp.sum(labels.weights[:, rows], axis=1)
    return total + xp.zeros((len(labels),), dtype=xp.float64, device=device(like))
