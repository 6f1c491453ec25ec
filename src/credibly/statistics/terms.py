"""What a label adds to a statistic, and what the prediction expects it to add.

A prediction allows outcomes with known chances: k classes, a hit or a miss, the numbers of a pool of draws.
What the label of a row adds lands in a cell, and four sums per cell tell everything:

    size   how many rows         observed   what the labels add
    expected, variance           mean and variance of that, were the labels drawn from the predictions

A linear statistic is `terms(predictions)` and `value(sums)` (`statistics/linear.py`).
Debiased errors read one sum more: `square`, of (what a label adds - what was expected)^2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.notes import counted
from credibly._arrays.sums import count_cells, group_sums, indicator
from credibly.predictions import Classes, Counts, Labels, Predictions, Quantiles, Reals
from credibly.predictions.passes import on_host
from credibly.predictions.samples import LeftOut, Pool
from credibly.statistics.protocol import State, in_cache, needs_values, widening

PLUGIN_REFUSAL = (
    "the plug-in error is biased upwards near calibration, where such intervals have a coverage of 0"
)

_FEW = 10

SPARSE_REFUSAL = (
    f"half of the non-empty bins contain fewer than {_FEW} instances, where intervals do not "
    f"reach their coverage"
)

POOL_ELEMENTS = 2**18
"""Numbers of the pools that are worked on at a time."""

_EXACT_IN_SINGLE = 2**24

_FEW_CELLS = 64


def are_sparse(sizes: HostArray) -> bool:
    """Tell whether the median filled cell holds too few instances for a standard error."""
    return bool(np.median(sizes[sizes > 0]) < _FEW)


def gather(table: Array, labels: Array) -> Array:
    """Return table[i, labels[b, i]] as (b, n)."""
    if is_numpy(table):
        flat = labels + np.arange(0, table.size, table.shape[1])[None, :]
        return np.take(table.ravel(), flat)
    xp = namespace(table)
    index = xp.astype(labels, xp.int64).T  # (n, b): rows of the table stay rows
    return xp.take_along_axis(table, index, axis=1).T


class Terms(ABC):
    """What the labels of n rows add, to which of `n_cells` cells, and what is expected of that.

    Attributes
    ----------
    n : int
        Number of rows.
    cell : array (n, m) or None
        The cells that every row counts in; None: all rows count in one.
    n_cells : int
        Number of cells.
    """

    n: int
    cell: Array | None = None
    n_cells: int = 1

    @abstractmethod
    def observed(self, labels: Labels) -> Array:
        """Return what labels add to every cell, (b, cells)."""

    @abstractmethod
    def added(self, labels: Labels) -> Array:
        """Return what labels add to the cells of their rows, (b, n, m)."""

    def square(self, labels: Labels) -> Array:
        """Return the sum per cell of (added - expected)^2 - expected^2, (b, cells)."""
        expected = self.moments[0]
        added = self.added(labels)
        return self.per_cell(added * (added - 2.0 * expected[None, ...]), labels.weights)

    moments: Any
    """Mean and variance of what a label adds that is drawn from the predictions, (n, m) each; None if they
    are not known in closed form."""

    noted: State = State()
    """Sums (1,) that only notes read."""

    def sums(self, labels: Labels, needs: frozenset[str]) -> State:
        """Return the sums per cell: the fixed ones, and those of the labels."""
        sums = State(self.fixed(labels.weights, needs), observed=self.observed(labels))
        if "square" in needs:
            sums["square"] = sums["square"] + self.square(labels)
        return sums

    def wild_sums(
        self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]
    ) -> tuple[State, State]:
        """Return the expected sums, and what the labels of every cluster add beyond, (number, cells).

        "scatter" among the first is the variance that labels of independent rows would have, over all cells.
        """
        mean, variance = (to_host(one) for one in self.moments)
        weight = labels.row_weights()[:, None]
        beyond = np.where(weight > 0, self.beyond(labels), 0.0)
        expected = on_host(self.fixed(labels.weights, needs))
        if "expected" not in expected:
            expected["expected"] = self.in_parts(weight * mean, 0 * codes, 1)
        expected["observed"] = expected["expected"]
        expected["scatter"] = np.array([np.sum(weight[:, 0] ** 2 @ variance)])
        return expected, State(observed=self.in_parts(weight * beyond, codes, number))

    def widened(self, expected: State, added: State) -> tuple[State, State]:
        """Return `wild_sums` whose replicates scatter no less than labels of independent rows would.

        If hardly any of a few expected events happened, residuals are small and alike, and their signs vary
        too little.
        """
        if "scatter" not in expected:
            return expected, added
        wider = widening(expected["scatter"][0], np.sum(added["observed"] ** 2))
        return expected, State({name: wider * own for name, own in added.items()})

    def wild_state(self, expected: State, added: State, signs: HostArray) -> State:
        """Return the sums of pseudo-labels with these signs (b, clusters), from `wild_sums`."""
        moved = {name: expected[name] + np.tensordot(signs, own, 1) for name, own in added.items()}
        return State({**expected, **moved})

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]) -> State:
        """Return the sums per cell of every cluster; a debiased error has no pairs inside one."""
        weight, added = labels.row_weights()[:, None], to_host(self.added(labels))[0]
        added = np.where(weight > 0, added, 0.0)
        sums = State(size=self.in_parts(weight * np.ones(added.shape), codes, number))
        if not needs:
            return State(sums, observed=self.in_parts(weight * added, codes, number))
        mean = to_host(self.moments[0])
        beyond = self.in_parts(weight * (added - mean), codes, number)
        sums["expected"] = self.in_parts(weight * mean, codes, number)
        sums["observed"] = sums["expected"] + beyond
        if "square" in needs:
            sums["square"] = beyond**2
        return sums

    def settled(self, sums: State) -> State:
        """Return sums as the value reads them, where labels leave them open."""
        return sums

    def of_pool(self, pool: Pool, again: Callable[[Predictions], Any]) -> Terms:
        """Return the terms of draws pooled with their label, where labels say which number was chosen.

        `again` returns the terms of other predictions.
        """
        raise NotImplementedError

    def of_cells(self, predictions: Quantiles, name: str) -> Terms:
        """Return the terms of quantiles where only the cell is known that a label lies in."""
        raise needs_values(name, predictions)

    def notes_of(self, sums: State) -> tuple[str, ...]:
        """Return what sums of replicates and of the observation make worth knowing."""
        return ()

    def why_infinite(self, labels: Labels) -> tuple[str, str, str]:
        """Return rule, evidence and remedy where what one label vector adds is infinite."""
        number = int(np.isinf(to_host(self.added(labels))[0]).sum())
        evidence = f"{counted(number, 'label has', 'labels have')} a probability of 0"
        return (
            "needs finite contributions",
            evidence,
            "Use another statistic, or one that is bounded (`clip`).",
        )

    def beyond(self, labels: Labels) -> HostArray:
        """Return what one label vector adds beyond what is expected, (n, m), on the host."""
        return np.asarray(to_host(self.added(labels))[0] - to_host(self.moments[0]))

    def for_replicates(self, observed: Labels, n_resamples: int) -> Terms:
        """Return terms that rank `observed` and so many more label vectors alike: these, or faster ones."""
        return self

    def share_with(self, other: Terms) -> bool:
        """Tell whether `other`, which sees every batch first, looks labels up for these terms too."""
        return False

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return the sums per cell that no label changes, (1, cells) or, of weights (b, n), (b, cells)."""
        if weights is not None:
            return self._fixed(weights, needs)
        known: dict[frozenset[str], State] = self.__dict__.setdefault("_known", {})
        if needs not in known:  # every batch of labels asks for those of rows that count once
            known[needs] = self._fixed(None, needs)
        return known[needs]

    def _fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        sums = State(size=self._size(weights))
        if needs:
            mean, variance = self.moments
            for name in sorted(needs):
                amount = mean if name == "expected" else mean**2 if name == "square" else variance
                amount = amount**2 if name == "fourth" else amount
                sums[name] = self.per_cell(amount[None, ...], weights)
        return sums

    def _size(self, weights: Array | None) -> Array:
        if self.cell is not None:
            if weights is None:
                return count_cells(_in_a_row(self.cell[None, ...]), self.n_cells)
            xp = namespace(self.cell)
            ones = xp.ones((1, *self.cell.shape), dtype=xp.float64, device=device(self.cell))
            return self.per_cell(ones, weights)
        xp = namespace(self.reference)
        if weights is not None:
            return xp.sum(weights, axis=1)[:, None]
        return xp.full((1, 1), float(self.n), dtype=xp.float64, device=device(self.reference))

    @property
    def reference(self) -> Array:
        """An array of the library, on the device, that sums are to have."""
        return self.cell

    def per_cell(self, values: Array, weights: Array | None = None) -> Array:
        """Sum values (b, n, m) over the cells of their rows, (b, cells)."""
        if weights is not None:
            values = _times(weights[:, :, None], values)
        flat = _in_a_row(values)
        if self.cell is None:
            return namespace(flat).sum(flat, axis=1)[:, None]
        cells = _in_a_row(self.cell[None, ...])
        if flat.shape[0] > 1:
            cells = namespace(cells).broadcast_to(cells, flat.shape)
        return count_cells(cells, self.n_cells, flat)

    def in_parts(self, values: HostArray, codes: HostArray, number: int) -> HostArray:
        """Sum values (n, m) of the host by part of the rows and cell, (number, cells)."""
        if self.cell is None:
            return np.bincount(codes, values[:, 0], minlength=number)[:, None]
        place = codes[:, None] * self.n_cells + to_host(self.cell).astype(np.intp)
        found = np.bincount(place.ravel(), values.ravel(), minlength=number * self.n_cells)
        return found.reshape(number, self.n_cells)


def _in_a_row(values: Array) -> Array:
    """Return values (b, n, m) as (b, n m)."""
    if values.shape[2] == 1:
        return values[:, :, 0]
    return namespace(values).reshape(values, (values.shape[0], -1))


def _times(weights: Array, values: Array) -> Array:
    """Return the product; an instance of weight 0 is not there, also where its value is infinite."""
    xp = namespace(values)
    return weights * xp.where(weights > 0, values, xp.zeros_like(values))


def total_of(values: Array, weights: Array | None) -> Array:
    """Sum values (b, n), (b, 1)."""
    values = values if weights is None else _times(weights, values)
    return namespace(values).sum(values, axis=1)[:, None]


class Means(Terms):
    """One number per row, all in one cell."""

    @abstractmethod
    def contributions(self, labels: Labels) -> Array:
        """Return what labels add, (b, n)."""

    def added(self, labels: Labels) -> Array:
        """Return what labels add, (b, n, 1)."""
        return self.contributions(labels)[:, :, None]

    def observed(self, labels: Labels) -> Array:
        """Sum what labels add, replicates in tiles that stay in cache."""
        return in_cache(self._observed, labels)["observed"]

    def _observed(self, labels: Labels) -> State:
        return State(observed=total_of(self.contributions(labels), labels.weights))


class Outcomes(Means):
    """A number for every outcome of a row, (n, o): its loss under every class, say. All rows share a cell.

    Parameters
    ----------
    chance : array (n, o)
        Probability of every outcome.
    amount : callable
        Returns what every outcome adds, (n, o); asked for when a batch of labels comes.
    alone : callable, optional
        Returns what one label vector (1, n) adds, if that is cheaper than the table.
    """

    def __init__(
        self,
        chance: Array,
        amount: Callable[[], Array],
        alone: Callable[[Array], Array] | None = None,
    ) -> None:
        self.n, self.chance = int(chance.shape[0]), chance
        self._amount, self._alone = amount, alone

    @property
    def reference(self) -> Array:
        """The chances."""
        return self.chance

    @cached_property
    def amount(self) -> Array:
        """What every outcome adds, (n, o)."""
        return self._amount()

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance over the outcomes; one of chance 0 counts for nothing, even if infinite."""
        chance, amount = as_float64(self.chance), self.amount
        xp = namespace(amount)
        possible = xp.where(chance > 0, amount, xp.zeros_like(amount))
        mean = xp.sum(chance * possible, axis=1, keepdims=True)
        return mean, xp.sum(chance * (possible - mean) ** 2, axis=1, keepdims=True)

    def contributions(self, labels: Labels) -> Array:
        """Return what labels add, (b, n)."""
        if isinstance(labels, Counts):
            frequency = Counts(labels.values).block(slice(None), slice(None))
            xp = namespace(frequency)
            # A class nobody chose adds nothing, also where its loss would be infinite.
            chosen = xp.where(frequency > 0, self.amount[None, ...], xp.zeros_like(self.amount)[None, ...])
            return xp.sum(frequency * chosen, axis=-1)
        if self._alone is not None and len(labels) == 1:
            return self._alone(labels.values)
        return gather(self.amount, labels.values)


class Losses(Means):
    """A function of real labels, for predictions that allow more outcomes than a table could list.

    Parameters
    ----------
    loss : callable
        From labels (b, n) to what they add, (b, n).
    reference : array (n, ...)
        An array of the predictions.
    mean, variance : array (n,), optional
        What the predictions expect of it; None if that is not known in closed form.
    """

    def __init__(
        self, loss: Callable[[Array], Array], reference: Array, mean: Array = None, variance: Array = None
    ) -> None:
        self.n, self.loss, self._reference = int(reference.shape[0]), loss, reference
        self._mean, self._variance = mean, variance

    @property
    def reference(self) -> Array:
        """An array of the predictions."""
        return self._reference

    @cached_property
    def moments(self) -> tuple[Array, Array] | None:
        """What the predictions expect, on the host."""
        if self._mean is None:
            return None
        mean, variance = (np.broadcast_to(to_host(one), (self.n,)) for one in (self._mean, self._variance))
        return mean[:, None], variance[:, None]

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's loss, (b, n)."""
        return self.loss(labels.values)

    def of_pool(self, pool: Pool, again: Callable[[Predictions], Any]) -> Terms:
        """Return what every number of a pool adds where it is the label, (n, p)."""
        n, p = pool.values.shape
        xp, found = namespace(pool.values), []
        for rows in tiles(n, max(1, POOL_ELEMENTS // p)):
            terms = again(LeftOut(pool.values[rows, :]))
            seen = xp.reshape(pool.labels[rows, :], (1, -1))
            found.append(xp.reshape(terms.contributions(Reals(seen)), (-1, p)))
        return Pooled(xp.concat(found, axis=0))


class Pooled(Outcomes):
    """What every number of a pool adds, (n, p): each is the label as often as any other."""

    def __init__(self, table: Array) -> None:
        super().__init__(namespace(table).full_like(table, 1.0 / table.shape[1]), lambda: table)

    def why_infinite(self, labels: Labels) -> tuple[str, str, str]:
        """Say in how many pools some number would add something infinite."""
        return why_pools_are_infinite(np.isfinite(to_host(self.amount)))


def why_pools_are_infinite(finite: HostArray) -> tuple[str, str, str]:
    """Return rule, evidence and remedy where not every number of the pools (n, p) adds something finite."""
    number = int((~finite).any(axis=1).sum())
    return (
        "needs finite contributions of every label that the draws allow",
        f"in {counted(number, 'instance')} one of them is infinite",
        "Use another statistic, such as `picp` or `skce`.",
    )


class Events(Terms):
    """Events that are counted in cells: the label is a given class, or every class has its own cell.

    Parameters
    ----------
    chance : array (n,) or (n, k)
        Predicted probability of the event.
    cell : array shaped like `chance`, or None
        Where it is counted.
    n_cells : int
        Number of cells.
    event : array (n,), optional
        With one event per row: the class that the label must be. Otherwise column c is "the label is c".
    """

    def __init__(
        self, chance: Array, cell: Array | None = None, n_cells: int = 1, event: Array | None = None
    ) -> None:
        self.n, self.chance, self.event, self.n_cells = int(chance.shape[0]), chance, event, n_cells
        self.cell = cell[:, None] if cell is not None and cell.ndim == 1 else cell
        self._indicator: Array | None = None

    @property
    def reference(self) -> Array:
        """The chances."""
        return self.chance

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """P and p (1 - p)."""
        p = as_float64(self.chance)
        p = p[:, None] if p.ndim == 1 else p
        return p, p * (1.0 - p)

    def added(self, labels: Labels) -> Array:
        """Return 1 where the event happened, or the share of raters who saw it, (b, n, m)."""
        if isinstance(labels, Counts):
            frequency = Counts(labels.values).block(slice(None), slice(None))  # (b, n, k)
            if self.event is None:
                return frequency
            xp = namespace(frequency)
            classes = xp.arange(frequency.shape[2], device=device(frequency))
            chosen = xp.astype(self.event, classes.dtype)[:, None] == classes
            seen = xp.where(chosen[None, ...], frequency, xp.zeros_like(frequency))
            return xp.sum(seen, axis=-1, keepdims=True)
        assert isinstance(labels, Classes)
        values = labels.values
        xp = namespace(values)
        if self.event is not None:
            return xp.astype(values == self.event[None, :], xp.float64)[:, :, None]
        columns = xp.arange(labels.n_classes, dtype=values.dtype, device=device(values))
        return xp.astype(values[:, :, None] == columns, xp.float64)

    def contributions(self, labels: Labels) -> Array:
        """Return what labels add, (b, n), where a row counts in one cell."""
        if self.event is not None and isinstance(labels, Classes):
            hits = labels.values == self.event[None, :]
            return namespace(hits).astype(hits, namespace(hits).float64)
        return self.added(labels)[:, :, 0]

    def observed(self, labels: Labels) -> Array:
        """Sum the events per cell."""
        if isinstance(labels, Counts):
            return self.per_cell(self.added(labels), labels.weights)
        assert isinstance(labels, Classes)
        return self._count(labels)

    def square(self, labels: Labels) -> Array:
        """Return the sum per cell of event (1 - 2 p) where an event is 0 or 1."""
        if isinstance(labels, Counts):
            return super().square(labels)
        assert isinstance(labels, Classes)
        return self._count(labels, 1.0 - 2.0 * as_float64(self.chance))

    def _count(self, labels: Classes, slope: Array | None = None) -> Array:
        """Sum events per cell, each times its `slope` (shaped like the chances), (b, cells)."""
        weights = labels.weights
        if self.event is not None:
            return self._hits(labels.values == self.event[None, :], weights, slope)
        if slope is not None:
            factor = gather(slope, labels.values)
            weights = factor if weights is None else factor * weights
        return count_cells(gather(self.cell, labels.values), self.n_cells, weights)

    def _hits(self, hits: Array, weights: Array | None, slope: Array | None) -> Array:
        if is_numpy(hits) and weights is None and slope is None:
            return self._whole_numbers(hits)
        xp = namespace(hits)
        values = xp.astype(hits, xp.float64)
        values = values if slope is None else values * slope[None, :]
        values = values if weights is None else values * weights
        if self.cell is None:
            return xp.sum(values, axis=1)[:, None]
        return group_sums(values, self.cell[:, 0], self.n_cells)

    def _whole_numbers(self, hits: HostArray) -> HostArray:
        if self.cell is None:
            return np.array([[float(np.count_nonzero(row))] for row in hits])
        cell = self.cell[:, 0]
        if len(hits) > 1 and self.n_cells <= _FEW_CELLS and hits.shape[1] < _EXACT_IN_SINGLE:
            # Whole numbers: single precision is exact and halves the cost.
            if self._indicator is None:
                self._indicator = indicator(cell, self.n_cells, np.float32)
            return np.asarray(hits.astype(np.float32) @ self._indicator, dtype=np.float64)
        found = [np.bincount(cell[row], minlength=self.n_cells) for row in hits]
        return np.array(found, dtype=np.float64)
