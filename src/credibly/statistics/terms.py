"""What a label adds to a statistic, and what the prediction expects it to add.

A prediction allows outcomes with known chances: k classes, a hit or a miss, the numbers of a pool of draws.
What the label of a row adds lands in a cell, and four sums per cell tell everything:

    size   how many rows         observed   what the labels add
    expected, variance           mean and variance of that, were the labels drawn from the predictions

A linear statistic is `terms(predictions)` and `value(sums)` (`statistics/linear.py`).
Debiased errors read one sum more: `square`, of (what a label adds - what was expected)^2.
Terms that are split by parts of the rows (groups, regions, clusters) have these sums for every part.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from credibly._arrays import label_kernels
from credibly._arrays.errors import Remedy
from credibly._arrays.namespace import (
    Array,
    HostArray,
    as_float64,
    device,
    is_numpy,
    like,
    namespace,
    tiles,
    to_host,
)
from credibly._arrays.notes import counted
from credibly._arrays.sums import count_cells, group_sums
from credibly.predictions import Classes, Counts, Labels, Predictions, Quantiles, Reals
from credibly.predictions.passes import on_host
from credibly.predictions.samples import LeftOut, Pool
from credibly.statistics.batches import (
    gather,
    in_cache,
    looked_up,
    rater_shares,
    total_of,
    weighted,
    widening,
)
from credibly.statistics.protocol import State, needs_values

MANY_REPLICATES = 200
"""Replicates from which on losses of mixtures are tabulated; a table costs as much as about 100."""

POOL_ELEMENTS = 2**18
"""Numbers of the pools that are worked on at a time."""


class Terms(ABC):
    """What the labels of n rows add, to which of `n_cells` cells, and what is expected of that.

    Attributes
    ----------
    n : int
        Number of rows.
    cell : array (n, m) or None
        The cells that every row counts in; None: column j counts in cell j.
    n_cells : int
        Number of cells.
    part : array (n,) or None
        The part of every row; every part has cells of its own, those of the first part first.
    n_parts : int
        Number of parts.
    reference : array
        An array of the library, on the device, that sums are to have.
    """

    n: int
    reference: Array
    cell: Array | None = None
    n_cells: int = 1
    part: Array | None = None
    n_parts: int = 1
    of_parts: ClassVar[tuple[str, ...]] = ("_known",)
    """What is kept in `__dict__` and holds for one split alone."""

    def split(self, part: Array, number: int) -> Self:
        """Return the same terms, split by these parts of the rows alone: sums are (b, parts * cells)."""
        other = copy.copy(self)
        for name in self.of_parts:
            other.__dict__.pop(name, None)
        other.part, other.n_parts = part, number
        return other

    def cells_of_parts(self) -> Array:
        """Return the cells of every row in its part, (n, m)."""
        if self.part is None:
            return self.cell
        first = self.n_cells * self.part[:, None]
        return first + (to_host(self.cell) if is_numpy(first) else self.cell)

    def observed(self, labels: Labels) -> Array:
        """Return what labels add to every cell, (b, cells); terms with other sums have none."""
        return self.per_cell(self.added(labels), labels.weights)

    def added(self, labels: Labels) -> Array:
        """Return what labels add to the cells of their rows, (b, n, m); not known of sums of their own."""
        raise NotImplementedError

    def square(self, labels: Labels) -> Array:
        """Return the sum per cell of (added - expected)^2 - expected^2, (b, cells)."""
        added = self.added(labels)
        return self.per_cell(added * (added - 2.0 * self.mean[None, ...]), labels.weights)

    def powers(self, labels: Labels) -> tuple[Array, Array]:
        """Return the sums per cell of squares and cubes of what labels add beyond the mean, (b, cells)."""
        beyond = self.added(labels) - self.mean
        square = beyond * beyond
        return self.per_cell(square, labels.weights), self.per_cell(square * beyond, labels.weights)

    mean: Any
    """What a label adds on average that is drawn from the predictions, (n, m)."""
    variance: Any
    """The variance of that, (n, m)."""
    third: Any
    """Its third central moment, (n, m)."""

    @property
    def has_law(self) -> bool:
        """Whether it is known what the predictions expect."""
        return True

    noted: State = State()
    """Sums (1,) that only notes read."""

    @property
    def is_lean(self) -> bool:
        """Whether kernels sum up many label vectors without anything of their size."""
        return False

    def sums(self, labels: Labels, needs: frozenset[str]) -> State:
        """Return the sums per cell, fixed ones and sums over labels."""
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
        mean, variance = to_host(self.mean), to_host(self.variance)
        weight = labels.row_weights()[:, None]
        beyond = np.where(weight > 0, self.beyond(labels), 0.0)
        expected = on_host(self.fixed(labels.weights, needs))
        if "expected" not in expected:
            expected["expected"] = self.in_parts(weight * mean, 0 * codes, 1)
        expected["observed"] = expected["expected"]
        expected["scatter"] = np.array([np.sum(weight[:, 0] ** 2 @ variance)])
        return expected, State(observed=self.in_parts(weight * beyond, codes, number))

    def widened_states(self, expected: State, added: State) -> tuple[State, State]:
        """Return `wild_sums` whose replicates scatter no less than labels of independent rows would.

        If hardly any of a few expected events happened, residuals are small and alike, and their signs vary
        too little.
        """
        if "scatter" not in expected:
            return expected, added
        seen = sum(np.sum(np.square(sums)) for sums in added.values())
        wider = widening(expected["scatter"][0], seen)
        return expected, State({name: wider * sums for name, sums in added.items()})

    def wild_state(self, expected: State, added: State, signs: HostArray) -> State:
        """Return the sums of pseudo-labels with these signs (b, clusters), from `wild_sums`."""
        moved = {name: expected[name] + np.tensordot(signs, sums, 1) for name, sums in added.items()}
        return State({**expected, **moved})

    def cluster_sums(self, labels: Labels, codes: HostArray, number: int, needs: frozenset[str]) -> State:
        """Return the sums per cell of every cluster; a debiased error has no pairs inside one."""
        weight, added = labels.row_weights()[:, None], to_host(self.added(labels))[0]
        added = np.where(weight > 0, added, 0.0)
        sums = State(size=self.in_parts(weight * np.ones(added.shape), codes, number))
        if not needs:
            return State(sums, observed=self.in_parts(weight * added, codes, number))
        mean = to_host(self.mean)
        beyond = self.in_parts(weight * (added - mean), codes, number)
        sums["expected"] = self.in_parts(weight * mean, codes, number)
        sums["observed"] = sums["expected"] + beyond
        if "square" in needs:
            sums["square"] = beyond**2
        return sums

    def settled(self, sums: State) -> tuple[State, tuple[str, ...]]:
        """Return sums as the value reads them, where labels leave them open, and what is worth knowing."""
        return sums, ()

    def of_pool(self, pool: Pool, again: Callable[[Predictions], Any]) -> Terms | None:
        """Return the terms of draws pooled with their label, where labels say which number was chosen.

        `again` returns the terms of other predictions. None: they are made anew for every choice.
        """
        return None

    @property
    def is_mean(self) -> bool:
        """Whether every row contributes one number to a single cell."""
        return False

    def of_cells(self, predictions: Quantiles, name: str) -> Terms:
        """Return the terms of quantiles where only the cell is known that a label lies in."""
        raise needs_values(name, predictions)

    def why_infinite(self, labels: Labels) -> tuple[str, str, str]:
        """Return rule, evidence and remedy where what one label vector adds is infinite."""
        number = int(np.isinf(to_host(self.added(labels))[0]).sum())
        evidence = f"{counted(number, 'label has', 'labels have')} a probability of 0"
        return (
            "needs finite contributions",
            evidence,
            Remedy("Use another statistic, or `log_loss.with_(clip=1e-6)`.", "Use another statistic."),
        )

    def beyond(self, labels: Labels) -> HostArray:
        """Return what one label vector adds beyond what is expected, (n, m), on the host."""
        return np.asarray(to_host(self.added(labels))[0] - to_host(self.mean))

    def for_replicates(self, observed: Labels, n_resamples: int) -> Terms:
        """Return terms that rank `observed` and so many more label vectors alike: these, or faster ones."""
        return self

    @property
    def shared(self) -> Hashable:
        """Equal for terms of the same predictions that look labels up together; None: by themselves."""
        return None

    def observed_with(self, others: Sequence[Any], labels: Labels) -> list[Array]:
        """Return what labels add to these terms and to others with an equal `shared`, (b, cells) each."""
        return [terms.observed(labels) for terms in (self, *others)]

    def fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        """Return the sums per cell that no label changes, (1, cells) or, of weights (b, n), (b, cells)."""
        if weights is not None:
            return self._fixed(weights, needs)
        known: dict[frozenset[str], State] = self.__dict__.setdefault("_known", {})
        if needs not in known:  # every batch of unweighted labels asks for them
            known[needs] = self._fixed(None, needs)
        return known[needs]

    def _fixed(self, weights: Array | None, needs: frozenset[str]) -> State:
        sums = State(size=self._size(weights))
        for name in sorted(needs):
            sums[name] = self.per_cell(self._amount_of(name)[None, ...], weights)
        return sums

    def _amount_of(self, name: str) -> Array:
        """Return what a row adds to a fixed sum, (n, m)."""
        if name == "third":
            return self.third
        amount = self.mean if name in ("expected", "square") else self.variance
        return amount**2 if name in ("square", "fourth") else amount

    def _size(self, weights: Array | None) -> Array:
        if self.cell is not None and weights is None:
            return count_cells(_in_a_row(self.cells_of_parts()[None, ...]), self.n_parts * self.n_cells)
        reference = self.reference
        xp = namespace(reference)
        if self.cell is None and self.part is None:
            if weights is None:
                return xp.full((1, self.n_cells), float(self.n), dtype=xp.float64, device=device(reference))
            return xp.repeat(xp.sum(weights, axis=1)[:, None], self.n_cells, axis=1)
        shape = (1, self.n, self.n_cells) if self.cell is None else (1, *self.cell.shape)
        return self.per_cell(xp.ones(shape, dtype=xp.float64, device=device(reference)), weights)

    def per_cell(self, values: Array, weights: Array | None = None) -> Array:
        """Sum values (b, n, m) over the cells of their rows, (b, cells)."""
        if weights is not None:
            values = weighted(weights[:, :, None], values)
        b, n, m = values.shape
        if self.cell is not None:
            flat, cells = _in_a_row(values), _in_a_row(self.cells_of_parts()[None, ...])
            if b > 1:
                cells = namespace(cells).broadcast_to(cells, flat.shape)
            return count_cells(cells, self.n_parts * self.n_cells, flat)
        xp = namespace(values)
        if self.part is None:
            return xp.sum(values, axis=1)
        columns = xp.reshape(xp.permute_dims(values, (0, 2, 1)), (b * m, n))
        sums = xp.reshape(group_sums(columns, self.part, self.n_parts), (b, m, self.n_parts))
        return xp.reshape(xp.permute_dims(sums, (0, 2, 1)), (b, self.n_parts * m))

    def in_parts(self, values: HostArray, codes: HostArray, number: int) -> HostArray:
        """Sum values (n, m) of the host by part of the rows and cell, (number, cells)."""
        sums: HostArray = self.split(codes, number).per_cell(values[None, ...])
        return sums.reshape(number, -1)


def _in_a_row(values: Array) -> Array:
    """Return values (b, n, m) as (b, n m); of one column without asking for a library."""
    if values.shape[2] == 1:
        return values[:, :, 0]
    return namespace(values).reshape(values, (values.shape[0], -1))


class Means(Terms):
    """One number per row, all in one cell of their part."""

    is_mean = True

    @abstractmethod
    def contributions(self, labels: Labels) -> Array:
        """Return what labels add, (b, n)."""

    def added(self, labels: Labels) -> Array:
        """Return what labels add, (b, n, 1)."""
        return self.contributions(labels)[:, :, None]

    def observed(self, labels: Labels) -> Array:
        """Sum what labels add, replicates in tiles that stay in cache."""
        if self.part is None:
            return in_cache(self._observed, labels)["observed"]
        return super().observed(labels)

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
        self.n, self.chance, self.reference = int(chance.shape[0]), chance, chance
        self._amount, self._alone = amount, alone

    @cached_property
    def amount(self) -> Array:
        """What every outcome adds, (n, o)."""
        return self._amount()

    @cached_property
    def mean(self) -> Array:
        """The mean over the outcomes."""
        return self._average(self._possible())

    @cached_property
    def variance(self) -> Array:
        """The variance over the outcomes."""
        return self._average((self._possible() - self.mean) ** 2)

    @property
    def third(self) -> Array:
        """The third central moment over the outcomes."""
        return self._average((self._possible() - self.mean) ** 3)

    def _average(self, amount: Array) -> Array:
        return namespace(amount).vecdot(as_float64(self.chance), amount)[:, None]

    def _possible(self) -> Array:
        """Return the amounts; an outcome of chance 0 counts for nothing, even if it is infinite."""
        return namespace(self.amount).where(self.chance > 0, self.amount, 0.0)

    @property
    def is_lean(self) -> bool:
        """Whether a kernel looks the amounts up."""
        return label_kernels.usable(self.amount)

    def observed(self, labels: Labels) -> Array:
        """Sum what labels add, on the host as they are looked up."""
        plain = isinstance(labels, Classes) and labels.weights is None and self.part is None
        if plain and len(labels) > 1 and is_numpy(labels.values):
            return np.concatenate([total_of(some, None) for some in looked_up(self.amount, labels.values)])
        return super().observed(labels)

    def _observed(self, labels: Labels) -> State:
        many = isinstance(labels, Classes) and labels.weights is None and len(labels) > 1
        if many and label_kernels.usable(labels.values, self.amount):
            return State(observed=label_kernels.table_sums(self.amount, labels.values)[:, None])
        return super()._observed(labels)

    def contributions(self, labels: Labels) -> Array:
        """Return what labels add, (b, n)."""
        if isinstance(labels, Counts):
            frequency = rater_shares(labels)
            xp = namespace(frequency)
            # A class nobody chose adds nothing, also where its loss would be infinite.
            return xp.sum(weighted(frequency, self.amount[None, ...]), axis=-1)
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
    law : callable
        Returns mean, variance and, where it is needed, third central moment of that, (n,) or () each; none if
        they are not known. Asked when they are needed, which a value alone never does.
    """

    def __init__(
        self, loss: Callable[[Array], Array], reference: Array, law: Callable[[], Any] = tuple
    ) -> None:
        self.n, self.loss, self.reference, self.law = int(reference.shape[0]), loss, reference, law

    @cached_property
    def _law(self) -> Any:
        return self.law()

    @property
    def has_law(self) -> bool:
        """Whether moments of the loss are known."""
        return len(self._law) > 0

    @property
    def mean(self) -> Array:
        """What the predictions expect."""
        return self._moment(0)

    @property
    def variance(self) -> Array:
        """The variance of that."""
        return self._moment(1)

    @property
    def third(self) -> Array:
        """Its third central moment."""
        return self._moment(2)

    def _moment(self, which: int) -> Array:
        """Return a moment of every row, (n, 1), where the predictions live."""
        moment = self._law[which]
        if isinstance(moment, (np.ndarray, np.generic)):
            moment = like(np.asarray(moment), self.reference)
        return namespace(moment).broadcast_to(moment, (self.n,))[:, None]

    tabled: Callable[[Labels], Losses] | None = None
    """Makes losses that are quicker for many label vectors from the observed labels."""

    def for_replicates(self, observed: Labels, n_resamples: int) -> Losses:
        """Return tabled losses, where there are so many label vectors that tables pay."""
        if self.tabled is None or n_resamples < MANY_REPLICATES:
            return self
        return self.tabled(observed)

    def contributions(self, labels: Labels) -> Array:
        """Return every instance's loss, (b, n)."""
        return self.loss(labels.values)

    def of_pool(self, pool: Pool, again: Callable[[Predictions], Any]) -> Terms:
        """Return what every number of a pool adds where it is the label, (n, p)."""
        n, p = pool.values.shape
        xp, tables = namespace(pool.values), []
        for rows in tiles(n, max(1, POOL_ELEMENTS // p)):
            terms = again(LeftOut(pool.values[rows, :]))
            seen = xp.reshape(pool.labels[rows, :], (1, -1))
            tables.append(xp.reshape(terms.contributions(Reals(seen)), (-1, p)))
        return Pooled(xp.concat(tables, axis=0))


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
