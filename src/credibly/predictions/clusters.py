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

from credibly._arrays.checks import missing_entries, read_sequence, require_one_each
from credibly._arrays.errors import InputError, InputTypeError, is_whole, require, require_type
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


_SEVERAL = (list, tuple, dict, set)


def as_names(values: Any, what: str) -> HostArray:
    """Return names of rows on the host: those that are masked are None, bytes are text.

    Raises in the name of `what` where rows have different lengths, bytes are no text, or a number and a text
    are written alike.
    """
    rule, remedy = "must have one name per row", "Give every row one name"
    ragged, refused = (rule, f"{remedy}."), (rule, f"{remedy}, as a list or an array.")
    array = read_sequence(values, what, ragged, refused, to_host if is_array(values) else np.asanyarray)
    if np.ma.is_masked(array):
        missing, array = np.ma.getmaskarray(array), np.ma.getdata(array).astype(object)
        array[missing] = None
    array = np.asarray(array)
    if array.dtype.kind in "SO" and any(isinstance(entry, bytes) for entry in array.flat):
        array = _decoded(array, what)
    several = array.dtype == object and any(map(_is_several, array.flat))
    if several or array.dtype.kind == "V":
        raise InputTypeError(
            f"`{what}`",
            "must have one name per row",
            "got rows that hold several values",
            "Give every row one name.",
        )
    if array.dtype == object:
        words = {entry for entry in array.flat if isinstance(entry, str)}
        others = [entry for entry in array.flat if not isinstance(entry, str)]
        alike = next((entry for entry in others if str(entry) in words), None)
        if alike is not None:
            raise InputError(
                f"`{what}`",
                "must be all text or all numbers",
                f"got {alike!r} and {str(alike)!r}, which are written alike",
                "Convert them, for example with `.astype(str)`.",
            )
    return array


def _is_several(entry: Any) -> bool:
    return isinstance(entry, _SEVERAL) or getattr(entry, "ndim", 0) > 0  # a column or a tensor


def _decoded(array: HostArray, what: str) -> HostArray:
    try:
        words = [entry.decode() if isinstance(entry, bytes) else entry for entry in array.ravel().tolist()]
    except UnicodeDecodeError as error:
        raise InputError(
            f"`{what}`",
            "must be text",
            f"got the bytes {error.object[:20]!r}, which are not UTF-8",
            "Decode them: `numpy.char.decode(names, encoding)`.",
        ) from error
    return np.array(words, dtype=object if array.dtype == object else np.str_).reshape(array.shape)


def as_ids(ids: Any, n: int, what: str = "clusters") -> HostArray:
    """Return the id of every row as an array of numbers or text, none of them missing."""
    array = as_names(ids, what)
    require_one_each(array.shape, n, f"`{what}`", "id per prediction")
    missing = np.flatnonzero(missing_entries(array, blank=True))
    if missing.size:
        raise InputError(
            f"`{what}`",
            "must have an id for every row",
            f"row {missing[0]} has no id ({counted(missing.size, 'row has', 'rows have')} none)",
            "Give such a row an id of its own, or drop it.",
        )
    return array.astype(str) if array.dtype.kind not in "iufUS" else array


def block_ids(blocks: Any, first: int, rows: int, n: int) -> HostArray:
    """Return the block of each of some rows: `n` consecutive rows in blocks of nearly equal length.

    No block is shorter than `blocks`, the length that was asked for.
    """
    require_type(
        is_whole(blocks),
        "must be a whole number, the length of a block",
        "Write the number of consecutive rows that may depend on each other; ids go to `clusters`.",
        blocks=blocks,
    )
    rule = f"must leave at least two blocks of the {n} rows"
    require(1 <= blocks <= n // 2, rule, f"Use at most {n // 2}.", blocks=blocks)
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
    levels = np.unique(np.concatenate([np.unique(part) for part in ids]))
    if levels.size < 2:
        raise InputError(
            "`clusters`",
            "must name at least two different clusters",
            f"all rows have the id {levels[0].item()!r}",
            "Leave it out if rows are independent.",
        )
    return Clusters(levels)
