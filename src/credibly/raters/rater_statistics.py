"""Symmetric statistics of a few raters: how they are observed without bias, and what a prediction expects.

A statistic of order r maps the labels of r raters, in any order, to one of v values. Among n raters its
frequency is a U-statistic, the mean over all choices of r of them. Labels enter only through how often each
occurs, so the mean over choices is a sum over multisets t of r labels,

    U_v = sum over t with f(t) = v of  prod_k C(y_k, t_k) / C(n, r),

and the expectation under a prediction is the same sum of multinomial (for a Dirichlet: Dirichlet-multinomial)
probabilities. Pairs need no enumeration: both are quadratic forms.   Hoeffding 1948; D21 section 4.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, require_type
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace
from credibly.predictions import ClassPredictions, Dirichlet, Ensemble, as_point
from credibly.predictions.ensemble import weighted_mean

_MOST_ORDERS = 20_000  # calls spent on finding out whether the function is symmetric
_COSTLY = 3e8  # products; some seconds


@dataclasses.dataclass(frozen=True)
class RaterStatistic:
    """A symmetric function of the labels of a few raters; made by :func:`rater_statistic`.

    Attributes
    ----------
    function : callable
        Maps a tuple of `order` labels to a value from 0 to `n_values` - 1.
    order : int
        Number of raters it uses.
    n_values : int
        Number of values.
    name : str
        Shown in results.
    """

    function: Callable[[tuple[int, ...]], int]
    order: int
    n_values: int
    name: str

    def bind(self, n_classes: int) -> BoundRaterStatistic:
        """Evaluate the function on every multiset of labels.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        BoundRaterStatistic
            Observed and expected frequencies for this number of classes.
        """
        return BoundRaterStatistic(self, n_classes)


def rater_statistic(
    function: Callable[[tuple[int, ...]], int], *, order: int, n_values: int = 2, name: str | None = None
) -> RaterStatistic:
    """Make a statistic of the labels of a few raters, for `decompose_disagreement`.

    Parameters
    ----------
    function : callable
        Takes a tuple of `order` class indices and returns whether something holds (or a whole number from 0
        to ``n_values - 1``). The order of the raters must not matter, which is checked.
    order : int
        Number of raters it uses, two or more.
    n_values : int
        Number of values; 2 for a yes-or-no statistic.
    name : str, optional
        Name shown in results. Default: the name of the function.

    Returns
    -------
    RaterStatistic
        The statistic.

    Examples
    --------
    >>> import credibly as cr
    >>> def unanimous(labels):
    ...     return len(set(labels)) == 1
    >>> cr.raters.rater_statistic(unanimous, order=3).name
    'unanimous'
    """
    require_type(callable(function), "must be callable", "Pass `f(labels) -> bool`.", function=function)
    label = str(name or getattr(function, "__name__", type(function).__name__))
    order = require_integer(order, "order", 2)
    return RaterStatistic(function, order, require_integer(n_values, "n_values", 2), label)


class BoundRaterStatistic:
    """A rater statistic with its value on every multiset of labels."""

    def __init__(self, statistic: RaterStatistic, n_classes: int) -> None:
        self.statistic, self.n_classes = statistic, n_classes
        self.n_types = math.comb(n_classes + statistic.order - 1, statistic.order)
        self.n_columns = 1 if statistic.n_values == 2 else statistic.n_values

    def warn_of_cost(self, n: int) -> str | None:
        """Warn, and return the note, where enumeration over n instances takes long."""
        products = float(self.n_types) * self.statistic.order * n
        if self.statistic.order == 2 or products < _COSTLY:
            return None
        message = (
            f"`{self.statistic.name}` uses {self.statistic.order} raters: {self.n_types} multisets of "
            f"{self.n_classes} labels are enumerated for each of {n} instances ({products:.1e} products); "
            "merge classes or lower the order to make it faster"
        )
        warnings.warn(message, UserWarning, stacklevel=3)
        return message

    @cached_property
    def values(self) -> HostArray:
        """Value of the function on every multiset, in the order of `_types`."""
        order, name = self.statistic.order, self.statistic.name
        spent, on_types = 0, np.empty(self.n_types, dtype=np.int64)
        for place, labels in enumerate(self._types()):
            value = on_types[place] = self._value(labels)
            others = [labels[::-1], labels[1:] + labels[:1]]
            if spent + math.factorial(order) <= _MOST_ORDERS:
                others = list(set(itertools.permutations(labels)))
                spent += len(others)
            for other in others:
                if self._value(other) != value:
                    raise InputError(
                        f"`{name}`",
                        "must not depend on the order of the raters",
                        f"labels {labels} give {value} and {other} give {self._value(other)}",
                        "Sort or count the labels inside the function.",
                    )
        return on_types

    def _types(self) -> Iterator[tuple[int, ...]]:
        return itertools.combinations_with_replacement(range(self.n_classes), self.statistic.order)

    def _value(self, labels: tuple[int, ...]) -> int:
        value = self.statistic.function(labels)
        number = int(value) if isinstance(value, (bool, int, np.bool_, np.integer)) else -1
        if not 0 <= number < self.statistic.n_values:
            raise InputError(
                f"`{self.statistic.name}`",
                f"must return a whole number from 0 to {self.statistic.n_values - 1}",
                f"labels {labels} give {value!r}",
                "Pass `n_values`, or return True or False.",
            )
        return number

    def observed(self, counts: Array, totals: Array) -> Array:
        """Return the U-statistics of counts (n, k) with totals (n, 1), one column per value, (n, c)."""
        y = as_float64(counts)
        choices = totals
        for step in range(1, self.statistic.order):
            choices = choices * (totals - step)
        return self._columns(y, -1.0) / choices

    def expected(self, predictions: ClassPredictions) -> Array:
        """Return the expectation of every value under the prediction, (n, c)."""
        if isinstance(predictions, Dirichlet):
            alpha = as_float64(predictions.alpha)
            xp = namespace(alpha)
            total = xp.sum(alpha, axis=-1, keepdims=True)
            rising = total
            for step in range(1, self.statistic.order):
                rising = rising * (total + step)
            expected = self._columns(alpha, 1.0) / rising
            return expected if alpha.ndim == 2 else weighted_mean(expected, predictions.weights)
        if isinstance(predictions, Ensemble):
            return weighted_mean(self._columns(as_float64(predictions.probs), 0.0), predictions.weights)
        return self._columns(as_float64(as_point(predictions)[0].probs), 0.0)

    def _columns(self, values: Array, step: float) -> Array:
        """Sum, over ordered labels with each value, prod_k x_k (x_k + step) (x_k + 2 step) ..., (..., c).

        Step -1 counts choices without replacement (raters), 0 is a power (a distribution), +1 a rising
        factorial (a Dirichlet).
        """
        xp = namespace(values)
        columns = (1,) if self.n_columns == 1 else range(self.n_columns)
        if self.statistic.order == 2:
            return xp.concat([self._pairs(values, step, column) for column in columns], axis=-1)
        totals = {column: xp.zeros_like(values[..., 0]) for column in columns}
        for labels, value in zip(self._types(), self.values.tolist(), strict=True):
            if value in totals:
                totals[value] = totals[value] + _ordered(labels) * _product(values, labels, step)
        return xp.stack([totals[column] for column in columns], axis=-1)

    def _pairs(self, values: Array, step: float, column: int) -> Array:
        """Return x' F x + step sum F_aa x_a, F marking the pairs of labels with this value, (..., 1)."""
        xp = namespace(values)
        table = np.zeros((self.n_classes, self.n_classes))
        for (a, b), value in zip(self._types(), self.values.tolist(), strict=True):
            table[a, b] = table[b, a] = float(value == column)
        both = xp.sum((values @ like(table, values)) * values, axis=-1, keepdims=True)
        return both + step * xp.sum(values * like(np.diag(table), values), axis=-1, keepdims=True)


def _ordered(labels: tuple[int, ...]) -> int:
    """Return in how many orders these labels can be listed."""
    ways = math.factorial(len(labels))
    for label in set(labels):
        ways //= math.factorial(labels.count(label))
    return ways


def _product(values: Array, labels: tuple[int, ...], step: float) -> Array:
    """Return prod x_label (x_label + step) ..., one further step for each time a label occurs again."""
    product = values[..., labels[0]]
    for place in range(1, len(labels)):
        again = labels[:place].count(labels[place])
        product = product * (values[..., labels[place]] + step * again)
    return product
