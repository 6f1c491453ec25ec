"""Statistics over pairs of instances on a stated random part of large data.

A test over pairs costs rows^2 k per replicate. Beyond `pairwise_rows` instances the statistic sees a
part drawn without replacement.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, require_positive
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.tiles import tiles
from credibly.evaluation.data import Data
from credibly.predictions import RandomRows
from credibly.statistics import Statistic, Subsampled

MOST_ROWS_ASKED = 20_000
"""Instances that a statistic over pairs sees at most where it is named."""

MOST_ROWS_UNASKED = 2500
"""And where nobody named it, at ten classes: its test then takes seconds, not minutes."""

_CLASSES = 10
_TILE = 2**22


def compares_pairs(statistic: Statistic) -> bool:
    """Tell whether a statistic costs n^2."""
    return statistic.traits.reduction in ("pairwise", "smoother")


def rows_for_pairs(given: int | None, *, asked: bool, n_classes: int) -> int:
    """Return how many instances a statistic over pairs may see."""
    if given is not None:
        require_positive("`pairwise_rows`", given, "Try 2500.")
        if given < 2:
            raise InputError("`pairwise_rows`", "must leave a pair", f"got {given}", "Try 2500.")
        return int(given)
    if asked:
        return MOST_ROWS_ASKED
    # the cost grows with the number of classes too
    return max(2, int(MOST_ROWS_UNASKED * min(1.0, math.sqrt(_CLASSES / n_classes))))


def subsampled(statistic: Statistic, n: int, most: int, seed: Seed) -> Statistic:
    """Return the statistic, on `most` of `n` instances where there are more and it compares pairs."""
    if n <= most or not compares_pairs(statistic):
        return statistic
    return Subsampled(statistic, random_rows(n, most, seed))


def random_rows(n: int, most: int, seed: Seed) -> np.ndarray[Any, Any]:
    """Return the rows with the `most` smallest of n uniform numbers, increasing."""
    return np.sort(_smallest(n, most, seed)[1])


def random_part(data: Data, most: int, seed: Seed) -> tuple[Any, Any]:
    """Return all rows or a random part of them: predictions with labels, or chunks."""
    if data.n <= most:
        return data.given
    values, rows = _smallest(data.n, most, seed)
    if data.chunks is None:
        return data.rows(np.sort(rows))
    return RandomRows(data.chunks, most, seed, Stream.SUBSAMPLE, float(values.max())), None


def _smallest(n: int, most: int, seed: Seed) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the `most` smallest of n uniform numbers and their rows, a tile of them at a time."""
    uniforms = Uniforms(seed, stream=Stream.SUBSAMPLE)
    values, rows = np.empty(0), np.empty(0, dtype=np.int64)
    for tile in tiles(n, _TILE):
        values = np.concatenate([values, uniforms.block(slice(0, 1), tile)[0]])
        rows = np.concatenate([rows, np.arange(tile.start, tile.stop)])
        if values.size > most:
            kept = np.argpartition(values, most - 1)[:most]
            values, rows = values[kept], rows[kept]
    return values, rows
