"""Results about models at one trade-off: who is tied with whom, where two change places, which to take."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, nearest
from credibly._arrays.results import Result

HostArray = np.ndarray[Any, Any]
_MOST_NAMED = 4

LOW, MODERATE, HIGH = 0.1, 0.5, 2.0
"""Trade-offs that C25's guidance calls low, moderate and high."""

_LARGEST = 1e100  # squares of larger scores would leave double precision

NEGLIGIBLE = 1e-12
"""Imprecision up to this is rounding: an infinite trade-off does not punish it."""


def require_tradeoff(tradeoff: Any) -> None:
    """Raise unless `tradeoff` is a number from 0 to infinity."""
    number = isinstance(tradeoff, (int, float, np.integer, np.floating)) and not isinstance(tradeoff, bool)
    if not number or not tradeoff >= 0:
        raise InputError(
            "`tradeoff`",
            "must be a number of at least 0 (infinity included)",
            f"got {tradeoff!r}",
            "C25 uses 0.1 where abstaining is allowed and 2 where it is not.",
        )
    if _LARGEST < tradeoff < math.inf:
        raise InputError(
            "`tradeoff`",
            f"must be at most {_LARGEST:g}, or infinite",
            f"got {tradeoff!r}",
            "Use infinity: only imprecision counts.",
        )


@dataclasses.dataclass(frozen=True)
class Crossing(Result):
    """Where two models change places.

    Attributes
    ----------
    tradeoff : float
        At this trade-off both have the same mean score.
    below, beyond : str
        Which of the two is better at smaller and at larger trade-offs.
    rank : int
        The better of the two places that change; 1 where the leader changes.
    interval : tuple of float
        Percentiles over bootstrap draws; 0 and infinity are draws in which one model is always better.
    """

    tradeoff: float
    below: str
    beyond: str
    rank: int
    interval: tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Standing(Result):
    """The models at one trade-off, best first.

    Attributes
    ----------
    tradeoff : float
        The trade-off.
    names : tuple of str
        The models in order.
    scores : ndarray (m,)
        Mean scores in that order.
    best_ranks, worst_ranks : ndarray (m,)
        Places each model can have, given who is better beyond chance: equal ranges are ties.
    differences : ndarray (m,)
        Mean score minus that of the first; at an infinite trade-off mean imprecision, or between points mean
        distance; NaN where a mean is infinite.
    intervals : ndarray (m, 2)
        Simultaneous intervals of these differences; NaN where a mean is infinite, and with one instance.
    level : float
        Their joint coverage over all pairs.
    """

    tradeoff: float
    names: tuple[str, ...]
    scores: HostArray
    best_ranks: HostArray
    worst_ranks: HostArray
    differences: HostArray
    intervals: HostArray
    level: float

    @property
    def tied_with_first(self) -> tuple[str, ...]:
        """The models that are not worse than the first beyond chance, the first left out."""
        return tuple(
            name for name, place in zip(self.names[1:], self.best_ranks[1:], strict=True) if place == 1
        )

    def place(self, name: str) -> str:
        """Return the place of a model as text: "2", or "1 to 3" where it is tied."""
        if name not in self.names:
            raise InputError(
                "`name`", "must be one of the models", f"got {name!r}", nearest(name, self.names)
            )
        at = self.names.index(name)
        low, high = int(self.best_ranks[at]), int(self.worst_ranks[at])
        return str(low) if low == high else f"{low} to {high}"


@dataclasses.dataclass(frozen=True)
class Alternative(Result):
    """The order of the models with another measure of imprecision.

    Attributes
    ----------
    measure : str
        Which one.
    imprecision : ndarray (m,)
        Its mean for every model, in the order of the ranking's names.
    orders : tuple of tuple of str
        Models from best to worst at every trade-off of the ranking.
    """

    measure: str
    imprecision: HostArray
    orders: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class Recommendation(Result):
    """Which model to take, and why.

    Attributes
    ----------
    model : str
        The model with the smallest mean score at `tradeoff`.
    tradeoff : float
        The trade-off that the answers lead to.
    reason : str
        Why this trade-off.
    tied : tuple of str
        Models that are not worse beyond chance.
    range : tuple of float
        Trade-offs between which the model stays first.
    """

    model: str
    tradeoff: float
    reason: str
    tied: tuple[str, ...]
    range: tuple[float, float]

    def __str__(self) -> str:
        few, last = self.tied[:-1], self.tied[-1:]
        if len(self.tied) > _MOST_NAMED:
            few, last = self.tied[:_MOST_NAMED], (f"{len(self.tied) - _MOST_NAMED} more",)
        names = " and ".join(filter(None, (", ".join(few), *last)))
        tied = f" {names} cannot be told from it." if self.tied else ""
        low, high = self.range
        until = "on" if math.isinf(high) else f"to {high:.3g}"
        return f"{self.model}: {self.reason} It is first from trade-off {low:.3g} {until}.{tied}"


def simultaneous_intervals(value: HostArray, draws: HostArray, level: float) -> tuple[HostArray, HostArray]:
    """Return the ends (m, m) of intervals of value[i] - value[j] that hold jointly for all pairs.

    The half width of a pair is its bootstrap standard deviation times one quantile of the largest
    standardised deviation over pairs. Pairs with an infinite mean have NaN ends; pairs whose difference never
    moves have no width.
    """
    m = len(value)
    low, high = np.full((m, m), math.nan), np.full((m, m), math.nan)
    np.fill_diagonal(low, 0.0)
    np.fill_diagonal(high, 0.0)
    first, second = np.triu_indices(m, 1)
    compared = np.isfinite(value[first]) & np.isfinite(value[second])
    first, second = first[compared], second[compared]
    if not first.size:
        return low, high
    difference = value[first] - value[second]
    spread = np.empty(first.size)
    largest = np.zeros(len(draws))
    for place, (i, j) in enumerate(zip(first, second, strict=True)):
        off = draws[:, i] - draws[:, j] - difference[place]
        spread[place] = off.std()
        if spread[place] > 1e-12 * max(1.0, abs(value[i])):
            np.maximum(largest, np.abs(off) / spread[place], out=largest)
        else:
            spread[place] = 0.0
    half = float(np.quantile(largest, level, method="higher")) * spread
    low[first, second], high[first, second] = difference - half, difference + half
    low[second, first], high[second, first] = -high[first, second], -low[first, second]
    return low + 0.0, high + 0.0  # no difference is 0, not -0


def advice(abstention: bool, priority: str | None) -> tuple[float, str]:
    """Return the trade-off that answers about a task lead to, and why."""
    if abstention and priority != "precision":
        return LOW, (
            "doubtful instances may be left undecided, so imprecision costs little and a set near the label "
            f"is preferred (low trade-off {LOW:g})."
        )
    if not abstention and priority != "accuracy":
        return HIGH, (
            f"every instance must be decided, so imprecision is punished (high trade-off {HIGH:g})."
        )
    why = (
        "doubtful instances may be left undecided, but narrow sets matter more"
        if abstention
        else "every instance must be decided, but labels near the set matter more"
    )
    return MODERATE, f"{why} (moderate trade-off {MODERATE:g})."
