"""Batches of label vectors, replicates in front, and the arithmetic that sums over them share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import CACHE_ELEMENTS, Array, HostArray, device, is_numpy, namespace, tiles
from credibly._arrays.sums import State
from credibly.predictions import Classes, Counts, Labels


def widening(scatter: Any, seen: Any) -> HostArray:
    """Return the factor, at least 1, by which sums over clusters vary less than independent rows would.

    Both are variances: `scatter` under independence, `seen` the sum of the squared sums.
    """
    ratio = np.divide(scatter, seen, out=np.ones(np.shape(seen)), where=np.asarray(seen) > 0)
    return np.asarray(np.sqrt(np.maximum(1.0, ratio)))


def one_hot(labels: Labels, xp: Any, dtype: Any) -> Array:
    """Return one-hot labels or label frequencies as (b, k, n), without weights."""
    if isinstance(labels, Counts):
        return xp.astype(xp.permute_dims(rater_shares(labels), (0, 2, 1)), dtype)
    assert isinstance(labels, Classes)
    classes_of_rows = labels.values
    classes = xp.arange(labels.n_classes, dtype=classes_of_rows.dtype, device=device(classes_of_rows))
    if is_numpy(classes_of_rows):
        out = np.empty((classes_of_rows.shape[0], labels.n_classes, classes_of_rows.shape[1]), dtype=dtype)
        return np.equal(classes_of_rows[:, None, :], classes[None, :, None], out=out)
    return xp.astype(classes_of_rows[:, None, :] == classes[None, :, None], dtype)


def replicates(labels: Labels, reps: slice) -> Labels:
    """Return some replicates of a batch."""
    weights = labels.weights
    if weights is not None and weights.shape[0] > 1:
        weights = weights[reps, :]
    return dataclasses.replace(labels, values=labels.values[reps, ...], weights=weights)


def in_cache(state_of: Callable[[Labels], State], labels: Labels) -> State:
    """Return the state of a batch, on the host from replicates in tiles that stay in cache."""
    if isinstance(labels, Counts) or not is_numpy(labels.values) or len(labels) == 1:
        return state_of(labels)
    step = max(1, CACHE_ELEMENTS // labels.n)
    return stacked([state_of(replicates(labels, reps)) for reps in tiles(len(labels), step)])


def stacked(states: Sequence[State]) -> State:
    """Return the states of batches of label vectors as one."""
    xp = namespace(next(iter(states[0].values())))
    return State({name: xp.concat([state[name] for state in states], axis=0) for name in states[0]})


def total_weight(labels: Labels, rows: slice, like: Array) -> Array:
    """Return the sum of weights over some rows, (b,), in double precision."""
    xp = namespace(like)
    if labels.weights is None:
        return xp.full((len(labels),), float(rows.stop - rows.start), dtype=xp.float64, device=device(like))
    total = xp.sum(labels.weights[:, rows], axis=1)
    return total + xp.zeros((len(labels),), dtype=xp.float64, device=device(like))


def gather(table: Array, labels: Array) -> Array:
    """Return table[i, labels[b, i]] as (b, n)."""
    if is_numpy(table):
        flat = labels + np.arange(0, table.size, table.shape[1])[None, :]
        return np.take(table.ravel(), flat)
    xp = namespace(table)
    index = xp.astype(labels, xp.int64).T  # (n, b): rows of the table stay rows
    return xp.take_along_axis(table, index, axis=1).T


def looked_up(table: HostArray, labels: HostArray) -> Iterator[HostArray]:
    """Yield table[i, labels[b, i]] of as many label vectors as stay in cache, (r, n)."""
    flat, first = table.ravel(), np.arange(0, table.size, table.shape[1])
    for reps in tiles(len(labels), max(1, 2 * CACHE_ELEMENTS // len(table))):
        yield flat.take(labels[reps] + first)


def rater_shares(labels: Counts) -> Array:
    """Return the share of raters of every class, (b, n, k)."""
    return Counts(labels.values).shares()


def weighted(weights: Array, values: Array) -> Array:
    """Return the product; an instance of weight 0 is not there, also where its value is infinite."""
    return weights * namespace(values).where(weights > 0, values, 0.0)


def total_of(values: Array, weights: Array | None) -> Array:
    """Sum values (b, n), (b, 1)."""
    values = values if weights is None else weighted(weights, values)
    return namespace(values).sum(values, axis=1)[:, None]


def positive(values: Array) -> Array:
    """Return sums that can be divided by: 1 where there is nothing."""
    return namespace(values).where(values > 0, values, 1.0)
