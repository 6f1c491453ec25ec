"""Exact order statistics of numbers that are read in pieces, in bounded memory.

The bits of a floating number, read as an integer, keep the order of the numbers. One pass counts the leading
bits and so finds the bucket of every rank wanted; buckets that hold few numbers are collected in the next
pass, the others are counted again by their next bits. Two passes are the rule and nothing is approximated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray

Pass = Callable[[Callable[..., Any]], Iterable[Any]]
"""Applies a function to the values (rows, columns) of every piece, with weights (rows,) also to these, and
yields the results."""

_KEY_BITS = 64
_COUNTERS = 2**22
_MOST_COLLECTED = 2**22


@dataclasses.dataclass(frozen=True)
class _Buckets:
    """Leading bits of the numbers that are still looked at, per column, ascending."""

    prefixes: tuple[HostArray, ...]
    shift: int
    """How many bits follow the prefix."""


def order_statistics(read: Pass, ranks: HostArray, n_columns: int) -> HostArray:
    """Return the numbers of the given ranks.

    Parameters
    ----------
    read : callable
        Runs one pass over all values.
    ranks : array (r,)
        Ranks from 0, ascending. With weights, sums of weights: the number of a rank is the first one up to
        which, in order, weights add up to more than that.
    n_columns : int
        Columns of the values; each is ordered on its own.

    Returns
    -------
    ndarray (n_columns, r)
        Per column the number that a sort would put there.
    """
    ranked = np.empty((n_columns, len(ranks)))
    if not len(ranks):
        return ranked
    buckets = _Buckets((np.zeros(1, dtype=np.uint64),) * n_columns, _KEY_BITS)
    # bucket of every rank, and its rank within the bucket
    places = [(np.zeros(len(ranks), dtype=np.intp), np.asarray(ranks))] * n_columns
    inside = None
    while buckets.shift and (inside is None or inside > _MOST_COLLECTED):
        widest = max(len(prefixes) for prefixes in buckets.prefixes)
        bits = min(buckets.shift, 16, max(4, int(np.log2(_COUNTERS // (n_columns * widest)))))
        counts = _added(read(partial(_count, buckets, bits)))
        buckets, places, inside = _narrowed(buckets, bits, counts, places)
    if not buckets.shift:  # every bucket is one number
        for column, (bucket, _) in enumerate(places):
            ranked[column] = _numbers(buckets.prefixes[column][bucket])
        return ranked
    collected = zip(*read(partial(_collect, buckets)), strict=True)
    for column, ((bucket, rank), parts) in enumerate(zip(places, collected, strict=True)):
        keys, masses = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(keys, kind="stable")
        keys, upto = keys[order], np.cumsum(masses[order])
        starts = np.searchsorted(keys >> np.uint64(buckets.shift), buckets.prefixes[column])[bucket]
        before = np.where(starts > 0, upto[starts - 1], 0)
        ranked[column] = _numbers(keys[np.searchsorted(upto, before + rank, side="right")])
    return ranked


def _keys(values: HostArray) -> HostArray:
    """Return integers in the order of the numbers."""
    bits = np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64)  # + 0.0: one zero
    sign = np.uint64(1) << np.uint64(63)
    return np.where(bits & sign, ~bits, bits | sign)


def _numbers(keys: HostArray) -> HostArray:
    """Return the numbers of `_keys`."""
    sign = np.uint64(1) << np.uint64(63)
    return np.where(keys & sign, keys & ~sign, ~keys).view(np.float64)


def _members(keys: HostArray, buckets: _Buckets, column: int) -> tuple[HostArray, HostArray]:
    """Return the bucket of every key and whether it is in one at all."""
    if buckets.shift == _KEY_BITS:
        return np.zeros(keys.shape, dtype=np.intp), np.ones(keys.shape, dtype=bool)
    prefixes = buckets.prefixes[column]
    lead = keys >> np.uint64(buckets.shift)
    place = np.minimum(np.searchsorted(prefixes, lead), len(prefixes) - 1)
    return place, prefixes[place] == lead


def _count(
    buckets: _Buckets, bits: int, values: HostArray, weights: HostArray | None = None
) -> list[HostArray]:
    """Count the next bits of the numbers in the buckets, (1, cells), and add up their weights, (2, cells)."""
    tables = []
    for column, keys in enumerate(_keys(values).T):
        place, member = _members(keys, buckets, column)
        following = (keys[member] >> np.uint64(buckets.shift - bits)) & np.uint64(2**bits - 1)
        cells, size = (
            place[member] * 2**bits + following.astype(np.intp),
            len(buckets.prefixes[column]) * 2**bits,
        )
        counts = [np.bincount(cells, minlength=size)]
        if weights is not None:
            counts.append(np.bincount(cells, weights[member], minlength=size))
        tables.append(np.stack(counts))
    return tables


def _collect(
    buckets: _Buckets, values: HostArray, weights: HostArray | None = None
) -> list[tuple[HostArray, HostArray]]:
    """Take the numbers in the buckets, as keys, and their weights."""
    masses = np.ones(len(values), dtype=np.int64) if weights is None else weights
    chosen = [(keys, _members(keys, buckets, column)[1]) for column, keys in enumerate(_keys(values).T)]
    return [(keys[member], masses[member]) for keys, member in chosen]


def _added(parts: Iterable[list[HostArray]]) -> list[HostArray]:
    total: list[HostArray] = []
    for part in parts:
        total = part if not total else [count + other for count, other in zip(total, part, strict=True)]
    return total


def _narrowed(
    buckets: _Buckets, bits: int, counts: list[HostArray], places: list[tuple[HostArray, HostArray]]
) -> tuple[_Buckets, list[tuple[HostArray, HostArray]], int]:
    """Return the longer prefixes that hold the ranks, and how many numbers lie in them."""
    prefixes, narrowed, inside = [], [], 0
    for column, count in enumerate(counts):
        table = count[-1].reshape(-1, 2**bits)
        upto = np.cumsum(table, axis=1)
        bucket, rank = places[column]
        cell = np.array(
            [np.searchsorted(upto[b], r, side="right") for b, r in zip(bucket, rank, strict=True)]
        )
        before = upto[bucket, cell] - table[bucket, cell]
        longer = (buckets.prefixes[column][bucket] << np.uint64(bits)) | cell.astype(np.uint64)
        distinct, index = np.unique(longer, return_inverse=True)
        prefixes.append(distinct)
        narrowed.append((index, rank - before))
        chosen = np.unique(bucket * 2**bits + cell)
        inside += int(count[0, chosen].sum())
    return _Buckets(tuple(prefixes), buckets.shift - bits), narrowed, inside
