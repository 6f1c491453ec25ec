"""The lower envelope on all 2^k events and its Moebius inverse, for up to 16 classes.

Event number a holds class j where bit j of a is set. The inverse takes k 2^k steps:
for each bit, m[A] -= m[A without the bit].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import CACHE_ELEMENTS, Array, as_float64, like, namespace, tiles
from credibly.credal.bounds import event_bounds
from credibly.credal.sets import CredalSet

_TILE = 2**18  # doubles of (rows, events)

MAX_CLASSES = 16
"""Beyond this, 2^k events are too many; everything that lists them says so."""


def require_few_classes(n_classes: int, what: str, remedy: str) -> None:
    """Raise where 2^k events cannot be listed."""
    if n_classes > MAX_CLASSES:
        raise InputError(
            what,
            f"lists all 2^k events, for at most {MAX_CLASSES} classes",
            f"got {n_classes} classes",
            remedy,
        )


def all_events(n_classes: int) -> np.ndarray[Any, Any]:
    """Return all subsets of the classes as a table (2^k, k) of 0 and 1."""
    numbers = np.arange(2**n_classes)
    return np.asarray((numbers[:, None] >> np.arange(n_classes)) & 1, dtype=np.float64)


def event_tiles(n: int, n_classes: int) -> Iterator[slice]:
    """Cut n instances so that arrays over all events of some of them stay small."""
    return tiles(n, max(16, _TILE >> n_classes))


def envelope_of(credal: CredalSet) -> Array:
    """Return lower probabilities (n, 2^k) of a set."""
    events = like(all_events(credal.n_classes), credal._leading, dtype=credal.xp.float64)
    return event_bounds(credal, events, upper=False)


def moebius(values: Array) -> Array:
    """Turn a set function (n, 2^k) into its masses: m(A) = sum over B in A of (-1)^|A - B| v(B)."""
    return _sweep(values, -1.0)


def beliefs(masses: Array) -> Array:
    """Bel(A) = sum of m(B) over B inside A."""
    return _sweep(masses, 1.0)


def _sweep(values: Array, sign: float) -> Array:
    """Add `sign` times the half without a bit to the half with it, bit by bit."""
    xp = namespace(values)
    size = values.shape[1]
    swept = []
    for rows in tiles(values.shape[0], CACHE_ELEMENTS // size):
        tile = as_float64(values[rows, :]) + 0.0  # a copy that stays in the graph
        half = 1
        while half < size:
            pairs = xp.reshape(tile, (tile.shape[0], -1, 2, half))  # a view: the sums are made in place
            pairs[:, :, 1, :] += sign * pairs[:, :, 0, :]
            tile = xp.reshape(pairs, tile.shape)
            half *= 2
        swept.append(tile)
    return xp.concat(swept, axis=0)
