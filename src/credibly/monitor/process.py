"""One sequence of bets: capital on all rows and on those of every group, running means, clusters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.philox import Seed
from credibly.monitor.bets import Book
from credibly.monitor.capital import ROUND, Capital, Running
from credibly.predictions import Dataset, Ensemble, Predictions
from credibly.predictions.clusters import as_ids

OVERALL = 0.5
"""Weight of all rows where there are groups."""
_TILE, _SHORT = 4096, 512
"""Rows that are paid at once: without groups, and with groups, whose evidence is known after each tile."""


@dataclasses.dataclass
class Process:
    """One sequence of bets, and what is known of the members if one of them draws all labels."""

    overall: Capital
    groups: dict[str, Capital]
    running: Running
    posterior: HostArray | None = None
    largest: float = 0.0

    @classmethod
    def start(cls, book: Book, predictions: Predictions) -> Process:
        """Return a process without rows."""
        posterior = None
        if book.hypothesis == "bayesian":
            assert isinstance(predictions, Ensemble)
            weights = predictions.weights
            posterior = np.zeros(predictions.n_members) if weights is None else np.log(to_host(weights))
        return cls(Capital.start(book.prior), {}, Running.start(len(book.measures)), posterior)

    @classmethod
    def read(cls, state: dict[str, Any]) -> Process:
        """Return what a state holds; the numbers come back to the last bit."""
        groups = {name: _read(Capital, capital) for name, capital in state["groups"].items()}
        posterior = None if state["posterior"] is None else np.array(state["posterior"])
        overall, running = _read(Capital, state["overall"]), _read(Running, state["running"])
        return cls(overall, groups, running, posterior, state["largest"])

    def log(self, weights: Mapping[str, float]) -> float:
        """Return the logarithm of its capital; what no group has yet is kept for groups that come later."""
        if not weights:
            return self.overall.log
        logs = [math.log(weight) + self.of_group(name) for name, weight in weights.items()]
        rest = math.log(1.0 - OVERALL - sum(weights.values()))
        return float(logsumexp([math.log(OVERALL) + self.overall.log, *logs, rest]))

    def leader(self, weights: Mapping[str, float]) -> tuple[float, str | None, Capital]:
        """Return the largest part of its capital: the logarithm, its group (None: all rows), whose it is."""
        parts = [
            (math.log(weight) + self.groups[name].log, name, self.groups[name])
            for name, weight in weights.items()
            if name in self.groups
        ]
        overall = (math.log(OVERALL) + self.overall.log, None, self.overall)
        return max([overall, *parts], key=lambda part: part[0])

    def of_group(self, name: str) -> float:
        """Return the logarithm of the capital of a group."""
        return self.groups[name].log if name in self.groups else 0.0

    def pay(
        self, book: Book, rows: Dataset, masks: dict[str, HostArray], seed: Seed, before: int
    ) -> Iterator[tuple[int, HostArray, HostArray]]:
        """Pay rows in tiles of whole clusters, `before` of the monitor having gone before.

        Yields the number of labels that cannot be, the logarithm of the capital after every round, and the
        rows of the monitor by then.
        """
        codes = codes_of_batch(rows)
        if codes is not None:
            order = np.argsort(codes, kind="stable")
            rows, codes = rows.take(order), codes[order]
            masks = {name: mask[order] for name, mask in masks.items()}
        for tile in _tiles(len(rows), codes, _SHORT if masks else _TILE):
            paid = book.payoffs(dataclasses.replace(rows.rows(tile), start=before), seed, self.posterior)
            ids = None if codes is None else codes[tile]
            logs, expected, observed, seen = _by_cluster(ids, *paid[:3])
            path = self.overall.pay(logs, book.prior, before + seen)
            self.running.add(expected, observed)
            for name, mask in masks.items():
                inside = mask[tile]
                if inside.any():
                    capital = self.groups.setdefault(name, Capital.start(book.prior))
                    some = None if ids is None else ids[inside]
                    won, _, _, last = _by_cluster(some, *(part[:, inside] for part in paid[:3]))
                    capital.pay(won, book.prior, before + 1 + np.flatnonzero(inside)[last - 1])
            ends = seen[np.minimum(np.arange(1, len(path) + 1) * ROUND, len(seen)) - 1]
            yield int(paid.impossible.sum()), path, before + ends
            before += tile.stop - tile.start


def codes_of_batch(rows: Dataset) -> HostArray | None:
    """Return the number of the cluster of every row of a batch, which may be a single cluster."""
    if rows.clusters is None:
        return None
    return np.unique(as_ids(rows.clusters, len(rows)), return_inverse=True)[1]


def _read(kind: type[Any], state: dict[str, Any]) -> Any:
    return kind(
        **{name: np.array(value) if isinstance(value, list) else value for name, value in state.items()}
    )


def _tiles(n: int, codes: HostArray | None, length: int) -> Iterator[slice]:
    """Yield consecutive rows, about `length` at once, whole clusters where there are some."""
    start = 0
    while start < n:
        stop = min(start + length, n)
        if codes is not None:
            stop = int(np.searchsorted(codes, codes[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def _by_cluster(
    codes: HostArray | None, logs: HostArray, expected: HostArray, observed: HostArray
) -> tuple[HostArray, HostArray, HostArray, HostArray]:
    """Return the means over clusters of what rows pay and of the measures, and rows up to each cluster."""
    if codes is None:
        return logs, expected, observed, np.arange(1, logs.shape[1] + 1)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], len(codes))
    sizes = ends - starts

    def mean(values: HostArray) -> HostArray:
        return np.asarray(np.add.reduceat(values, starts, axis=1) / sizes)

    most = np.maximum.reduceat(logs, starts, axis=1)
    paid = np.log(mean(np.exp(logs - np.repeat(most, sizes, axis=1)))) + most
    return paid, mean(expected), mean(observed), ends
