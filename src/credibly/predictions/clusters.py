"""Rows that belong together: what is known of one cluster says nothing about another; inside, anything goes.

ids (n,)  ->  codes (n,) in 0, ..., C - 1          blocks of rows in time are clusters of consecutive rows,
                                                    in a panel (ids and blocks) of consecutive rows of one id

Clusters are independent, so unions of them are too: of more than `MOST_CLUSTERS` several are taken together,
which keeps every guarantee and bounds what is kept per cluster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from credibly._arrays.checks import require_one_each
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import HostArray, is_array, tiles, to_host
from credibly._arrays.notes import counted

MOST_CLUSTERS = 2048

_HASHED_AT_ONCE = 256

COPIES = "copies"
"""In place of ids: rows with the same predictions and label are one cluster."""


@dataclasses.dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of all rows.

    Attributes
    ----------
    levels : ndarray
        Their ids, sorted.
    """

    levels: HostArray

    @property
    def number(self) -> int:
        """How many there are, those that are taken together counted once."""
        return min(self.levels.size, MOST_CLUSTERS)

    def codes(self, ids: HostArray) -> HostArray:
        """Return the number of the cluster of every row, from the ids of some rows."""
        return np.searchsorted(self.levels, ids) % MOST_CLUSTERS

    @property
    def notes(self) -> tuple[str, ...]:
        """What a result says about them: nothing where none are taken together."""
        if self.levels.size == self.number:
            return ()
        return (f"{self.levels.size} independent clusters were merged into {self.number}",)


def as_ids(clusters: Any, n: int) -> HostArray:
    """Return the id of every row as an array of numbers or text, none of them missing."""
    array = np.asarray(to_host(clusters) if is_array(clusters) else clusters)
    require_one_each(array.shape, n, "`clusters`", "id per prediction")
    missing = [row for row, one in enumerate(array.tolist()) if one is None or one == "" or one != one]
    if missing:
        raise InputError(
            "`clusters`",
            "must name the cluster of every row",
            f"row {missing[0]} has no id ({counted(len(missing), 'row has', 'rows have')} none)",
            "Give a row that belongs to no cluster an id of its own, or drop it.",
        )
    return array.astype(str) if array.dtype.kind not in "iufUS" else array


def block_ids(blocks: Any, first: int, rows: int, n: int) -> HostArray:
    """Return the block of each of some rows: `n` consecutive rows in blocks of nearly equal length.

    No block is shorter than `blocks`, the length that was asked for.
    """
    whole = isinstance(blocks, (int, np.integer)) and not isinstance(blocks, bool)
    if not whole:
        raise InputTypeError(
            "`blocks`",
            "must be a whole number, the length of a block",
            f"got {blocks!r}",
            "Write the number of consecutive rows that may depend on each other; ids go to `clusters`.",
        )
    if not 1 <= blocks <= n // 2:
        raise InputError(
            "`blocks`",
            f"must leave at least two blocks of the {n} rows",
            f"got a length of {blocks}",
            f"Use at most {n // 2}.",
        )
    return np.arange(first, first + rows) * (n // int(blocks)) // n


def panel_ids(ids: HostArray, blocks: Any) -> HostArray:
    """Return the block of every row of a panel: rows of one id in time order, in blocks of their own.

    An id with fewer than twice `blocks` rows is one block.
    """
    block_ids(blocks, 0, 0, len(ids))  # checks the length
    levels, codes = np.unique(ids, return_inverse=True)
    sizes = np.bincount(codes, minlength=levels.size)
    order = np.argsort(codes, kind="stable")
    place = np.empty(len(ids), dtype=np.intp)
    place[order] = np.arange(len(ids)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    number = np.maximum(1, sizes // int(blocks))
    first = np.cumsum(number) - number
    return np.asarray(first[codes] + place * number[codes] // sizes[codes])


def ids_of_contents(parts: Sequence[HostArray]) -> HostArray:
    """Return one id per row, (n,), the same for rows whose parts (n, ...) are equal, in any chunk."""
    digests = []
    for rows in tiles(len(parts[0]), _HASHED_AT_ONCE):
        flat = [
            np.asarray(part[rows], dtype=np.float64).reshape(rows.stop - rows.start, -1) for part in parts
        ]
        table = np.ascontiguousarray(np.concatenate(flat, axis=1) + 0.0)  # which makes -0.0 the same as 0.0
        digests += [blake2b(row.tobytes(), digest_size=8).digest() for row in table]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def clusters_of(ids: list[HostArray]) -> Clusters:
    """Return the clusters of rows whose ids come in parts."""
    levels = np.unique(np.concatenate([np.unique(one) for one in ids]))
    if levels.size < 2:
        raise InputError(
            "`clusters`",
            "must name at least two different clusters",
            f"all rows have the id {levels[0].item()!r}",
            "Leave it out if rows are independent.",
        )
    return Clusters(levels)
