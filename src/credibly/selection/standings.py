"""Models as lines over the trade-off: their order anywhere on it, ties, crossings, advice.

What `rank_models` returns; orders are decided here, from the bootstrapped means it keeps.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, is_number, nearest, one_of, require
from credibly._arrays.namespace import Array, HostArray, namespace
from credibly.results.base import Result
from credibly.results.scores import EpistemicScore

_MOST_NAMED = 4

LOW, MODERATE, HIGH = 0.1, 0.5, 2.0
"""Trade-offs that C25's guidance calls low, moderate and high."""

_LARGEST = 1e100  # squares of larger scores would leave double precision

NEGLIGIBLE = 1e-12
"""Imprecision up to this is rounding: an infinite trade-off does not punish it."""


def require_tradeoff(tradeoff: Any) -> None:
    """Raise unless `tradeoff` is a number from 0 to infinity."""
    number, advised = is_number(tradeoff), "C25 uses 0.1 if abstaining is allowed and 2 if it is not."
    rule = "must be a number of at least 0 (infinity included)"
    require(number and tradeoff >= 0, rule, advised, tradeoff=tradeoff)
    rule = f"must be at most {_LARGEST:g}, or infinite"
    large = _LARGEST < tradeoff < math.inf
    require(not large, rule, "Use infinity: only imprecision counts.", tradeoff=tradeoff)


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
        The better of the two places that are exchanged; 1 if the leader changes.
    interval : tuple of float
        Percentiles over bootstrap draws; 0 and infinity are draws in which one model is always better.
    """

    tradeoff: float
    below: str
    beyond: str
    rank: int
    interval: tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Places(Result):
    """Models by one number, best first, with ties.

    Attributes
    ----------
    names : tuple of str
        The models in order.
    scores : ndarray (m,)
        The number in that order.
    best_ranks, worst_ranks : ndarray (m,)
        Places that each model could take, given which models are better beyond chance: equal ranges are ties.
    differences : ndarray (m,)
        How much worse than the first; NaN if a mean is infinite.
    intervals : ndarray (m, 2)
        Simultaneous intervals of these differences; NaN if a mean is infinite, or with one instance.
    level : float
        Their joint coverage over all pairs.
    """

    names: tuple[str, ...]
    scores: HostArray
    best_ranks: HostArray
    worst_ranks: HostArray
    differences: HostArray
    intervals: HostArray
    level: float

    @property
    def tied_with_first(self) -> tuple[str, ...]:
        """The models that are not worse than the first beyond chance, without the first itself."""
        return tuple(
            name for name, place in zip(self.names[1:], self.best_ranks[1:], strict=True) if place == 1
        )

    @property
    def best(self) -> tuple[str, ...]:
        """The first model and those that are tied with it."""
        return (self.names[0], *self.tied_with_first)

    def place(self, name: str) -> str:
        """Return the place of a model as text: "2", or "1 to 3" if it is tied."""
        at = self._at(name)
        low, high = int(self.best_ranks[at]), int(self.worst_ranks[at])
        return str(low) if low == high else f"{low} to {high}"

    def behind(self, name: str) -> tuple[float, tuple[float, float]] | None:
        """Return how much worse than the first a model is, with the joint interval; None if unknown."""
        at = self._at(name)
        low, high = self.intervals[at].tolist()
        return None if at == 0 or math.isnan(low) else (float(self.differences[at]), (low, high))

    def _at(self, name: str) -> int:
        if name not in self.names:
            raise InputError(
                "`name`", "must be one of the models", f"got {name!r}", nearest(name, self.names)
            )
        return self.names.index(name)


@dataclasses.dataclass(frozen=True)
class Standing(Places):
    """The models at one trade-off, best first; at an infinite one, imprecision decides, then distance.

    Attributes
    ----------
    tradeoff : float
        The trade-off; the numbers are mean scores there.
    """

    tradeoff: float


def ranks(low: HostArray, value: HostArray, n: int) -> tuple[HostArray, HostArray]:
    """Return the best and the worst place of every model, where low[i, j] bounds how much worse i is than j.

    A finite mean is better than an infinite one. One instance tells nothing else.
    """
    finite = np.isfinite(value)
    worse = finite[None, :] & ~finite[:, None]
    if n > 1:  # of one instance always the same is drawn: that nothing moves says nothing
        worse |= low > 0
    return 1 + worse.sum(axis=1), len(value) - worse.sum(axis=0)


def places(
    names: tuple[str, ...],
    values: HostArray,
    draws: HostArray,
    level: float,
    n: int,
    best: Literal["smallest", "largest", "nearest zero"],
    size: float = 1.0,
) -> Places:
    """Return models in the order of a mean over instances.

    Parameters
    ----------
    names : tuple of str
        The models.
    values : ndarray (m,)
        Their means.
    draws : ndarray (b, m)
        The means on bootstrapped instances, the same ones for all models.
    level : float
        Joint coverage of the intervals of differences.
    n : int
        Number of instances.
    best : {"smallest", "largest", "nearest zero"}
        Which mean is best.
    size : float
        Size of the terms in the means: rounding errors are relative to it. With 0, the means say it.

    Returns
    -------
    Places
        The order, and who is tied.
    """
    if best == "nearest zero":
        loss = np.abs(values)
        low, high = _gaps_apart(values, draws, level)
    else:
        sign = 1.0 if best == "smallest" else -1.0
        loss = sign * values
        low, high = simultaneous_intervals(loss, sign * draws, level, size)
    order = np.argsort(loss, kind="stable")
    low, high, ordered = low[np.ix_(order, order)], high[np.ix_(order, order)], loss[order]
    best_ranks, worst_ranks = ranks(low, ordered, n)
    intervals = np.stack([low[:, 0], high[:, 0]], axis=1)
    with np.errstate(invalid="ignore"):  # infinity minus infinity is not known
        differences = ordered - ordered[0]
    differences[~np.isfinite(differences)] = math.nan
    return Places(
        names=tuple(names[i] for i in order),
        scores=values[order],
        best_ranks=best_ranks,
        worst_ranks=worst_ranks,
        differences=differences,
        intervals=np.full_like(intervals, math.nan) if n == 1 else intervals,
        level=float(level),
    )


def _gaps_apart(values: HostArray, draws: HostArray, level: float) -> tuple[HostArray, HostArray]:
    """Return the ends (m, m) of joint intervals of |value[i]| - |value[j]|.

    With s = value[i] + value[j] and d = value[i] - value[j],

        |value[i]| - |value[j]| = sign(s d) min(|s|, |d|),

    which in each quadrant grows with |s| and |d|: joint intervals of all s and d give its extremes at their
    corners, and 0 where one of them holds 0.
    """
    m = len(values)
    low, high = simultaneous_intervals(
        np.concatenate([values, -values]), np.concatenate([draws, -draws], axis=1), level
    )
    sums, differences = (low[:m, m:], high[:m, m:]), (low[:m, :m], high[:m, :m])
    corners = [np.sign(s * d) * np.minimum(np.abs(s), np.abs(d)) for s in sums for d in differences]
    crosses = (sums[0] * sums[1] <= 0) | (differences[0] * differences[1] <= 0)
    zero = np.where(crosses, 0.0, np.nan)
    return np.fmin.reduce([*corners, zero]), np.fmax.reduce([*corners, zero])


@dataclasses.dataclass(frozen=True)
class Recommendation(Result):
    """Which model to choose, and why.

    Attributes
    ----------
    model : str
        The model with the smallest mean score at `tradeoff`.
    tradeoff : float
        The trade-off that follows from the answers.
    reason : str
        Why this trade-off.
    tied : tuple of str
        Models that are not worse beyond chance.
    range : tuple of float
        Range of trade-offs in which the model is first.
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
        are = "are" if len(self.tied) > 1 else "is"
        tied = f" {names} {are} statistically tied with it." if self.tied else ""
        low, high = self.range
        until = "on" if math.isinf(high) else f"to {high:.3g}"
        return f"{self.model}: {self.reason} It is first from trade-off {low:.3g} {until}.{tied}"


def simultaneous_intervals(
    value: HostArray, draws: HostArray, level: float, size: float = 1.0
) -> tuple[HostArray, HostArray]:
    """Return the ends (m, m) of intervals of value[i] - value[j] that hold jointly for all pairs.

    The half width of a pair is its bootstrap standard deviation times one quantile of the largest
    standardised deviation over pairs. Pairs with an infinite mean have NaN ends; pairs whose difference never
    moves have no width. `size` is as in `places`.
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
        if spread[place] > 1e-12 * max(size, abs(value[i]), abs(value[j])):
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


@dataclasses.dataclass(frozen=True)
class Ranking(Result):
    """Models as lines over the trade-off: mean score = mean distance + trade-off * mean imprecision.

    Attributes
    ----------
    names : tuple of str
        The models, and "NAME Avg" for the mean prediction of each set.
    is_point : ndarray (m,)
        Which of them predict one distribution.
    distance, imprecision : ndarray (m,)
        Means over instances.
    tradeoffs : tuple of float
        Trade-offs at which the models were ordered.
    crossings : tuple of Crossing
        All places where two models change order, from small to large trade-offs.
    distance_draws, imprecision_draws : ndarray (b, m)
        The means on bootstrapped instances, the same ones for all models.
    level : float
        Joint coverage of the intervals that decide ties.
    n : int
        Number of instances.
    scores : mapping of str to EpistemicScore
        Every model's own score, without the averages (they are inside).
    settings : mapping
        Measure, number of draws, seed.
    notes : tuple of str
        What a reader of the ranking must know: dependences, infinite rows.
    """

    names: tuple[str, ...]
    is_point: HostArray
    distance: HostArray
    imprecision: HostArray
    tradeoffs: tuple[float, ...]
    crossings: tuple[Crossing, ...]
    distance_draws: HostArray
    imprecision_draws: HostArray
    level: float
    n: int
    scores: Mapping[str, EpistemicScore]
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def means(self, tradeoff: float) -> HostArray:
        """Return the mean score of every model at a trade-off, in the order of `names`."""
        require_tradeoff(tradeoff)
        return np.asarray(combined(self.distance, self.imprecision, tradeoff))

    def order(self, tradeoff: float, *, points: bool = True) -> tuple[str, ...]:
        """Return the models from best to worst, with or without those that predict one distribution."""
        kept = self._kept(points)
        values = self.means(tradeoff)
        # at an infinite trade-off only imprecision counts, then distance
        precise = np.where(self.imprecision > NEGLIGIBLE, self.imprecision, 0.0)
        keys = (self.distance, precise) if math.isinf(tradeoff) else (self.distance, values)
        return tuple(self.names[i] for i in np.lexsort(keys) if kept[i])

    def at(self, tradeoff: float, *, points: bool = True) -> Standing:
        """Return the standing at any trade-off, with ties.

        Parameters
        ----------
        tradeoff : float
            Weight of the imprecision, from 0 to infinity.
        points : bool
            Whether to include models that predict one distribution.

        Returns
        -------
        Standing
            Order, places and simultaneous intervals of the differences to the first.

        Notes
        -----
        Model a is better than b if the interval of their difference excludes 0. The intervals hold jointly
        for all pairs of models at this trade-off: their width is a quantile of the largest standardised
        difference over pairs in the bootstrap draws. A finite mean is better than an infinite one. With one
        instance, all models with finite means are tied.
        """
        order = self.order(tradeoff, points=points)
        chosen = [self.names.index(name) for name in order]
        value, low, high = self._compared(tradeoff, chosen)
        best_ranks, worst_ranks = ranks(low, value, self.n)
        # the middle of an interval is the difference it is about, of whatever decides between the two
        differences = 0.5 * (low[:, 0] + high[:, 0]) + 0.0  # never -0
        intervals = np.stack([low[:, 0], high[:, 0]], axis=1)
        return Standing(
            tradeoff=float(tradeoff),
            names=order,
            scores=self.means(tradeoff)[chosen],
            best_ranks=best_ranks,
            worst_ranks=worst_ranks,
            differences=differences,
            intervals=np.full_like(intervals, math.nan) if self.n == 1 else intervals,
            level=self.level,
        )

    def leaders(self, *, points: bool = True) -> tuple[tuple[float, float, str], ...]:
        """Return which model is first between which trade-offs: (from, to, name), from 0 to infinity."""
        kept = [name for name, take in zip(self.names, self._kept(points), strict=True) if take]
        at = sorted({edge.tradeoff for edge in self.crossings if {edge.below, edge.beyond} <= set(kept)})
        edges = [0.0, *at, math.inf]
        ranges: list[tuple[float, float, str]] = []
        for low, high in itertools.pairwise(edges):
            middle = 0.5 * (low + high) if math.isfinite(high) else 2 * low + 1.0
            first = self.order(middle, points=points)[0]
            if ranges and ranges[-1][2] == first:
                ranges[-1] = (ranges[-1][0], high, first)
            else:
                ranges.append((low, high, first))
        return tuple(ranges)

    def recommend(
        self,
        *,
        abstention: bool,
        priority: Literal["accuracy", "precision"] | None = None,
        points: bool = True,
    ) -> Recommendation:
        """Return the model to choose, according to C25's questions about the task.

        Parameters
        ----------
        abstention : bool
            Whether the task allows an instance to be left undecided (for a person, or for a second look).
        priority : {"accuracy", "precision"}, optional
            What matters more, if known: a label near the set, or a narrow set.
        points : bool
            Whether to include models that predict one distribution; they never abstain.

        Returns
        -------
        Recommendation
            Model, trade-off, reason and ties.

        Notes
        -----
        C25's scenarios: sorting crops may leave doubtful ones to a person, so the trade-off is low (0.1); a
        car must decide, so it is high (2). A priority that contradicts the answer to the first question leads
        to the middle (0.5).
        """
        known = isinstance(abstention, (bool, np.bool_))
        require(known, "must be True or False", "Say which.", abstention=abstention)
        one_of("`priority`", priority, (None, "accuracy", "precision"))
        tradeoff, reason = advice(bool(abstention), priority)
        standing = self.at(tradeoff, points=points)
        first = standing.names[0]
        ranges = [(low, high) for low, high, name in self.leaders(points=points) if name == first]
        # nearest instead of around: at a crossing rounding decides on which side of it the trade-off is
        between = min(ranges, key=lambda ends: max(ends[0] - tradeoff, tradeoff - ends[1]))
        return Recommendation(first, tradeoff, reason, standing.tied_with_first, between)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, except arrays over draws and instances."""
        dropped = ("distance_draws", "imprecision_draws", "scores")
        light = {name: value for name, value in super().to_dict().items() if name not in dropped}
        return {
            **light,
            "scores": {name: score.summary_dict() for name, score in self.scores.items()},
            "standings": [self.at(tradeoff).to_dict() for tradeoff in self.tradeoffs],
        }

    def __str__(self) -> str:
        lines = [f"{len(self.names)} models on {self.n} instances, smallest mean score first"]
        for tradeoff in self.tradeoffs:
            standing = self.at(tradeoff)
            places = ", ".join(
                f"{name} {score:.3f} ({standing.place(name)})"
                for name, score in zip(standing.names, standing.scores, strict=True)
            )
            lines.append(f"  trade-off {tradeoff:g}: {places}")
        return "\n".join(lines)

    def _kept(self, points: bool) -> HostArray:
        kept = np.ones(len(self.names), dtype=bool) if points else ~self.is_point
        if not kept.any():
            raise UnsupportedError(
                "a ranking without point models",
                "needs at least one set prediction",
                f"all {len(self.names)} models predict one distribution",
                "Pass `points=True`.",
            )
        return kept

    def _compared(self, tradeoff: float, chosen: list[int]) -> tuple[HostArray, HostArray, HostArray]:
        """Return what decides the order at a trade-off, and the intervals of all differences."""
        if math.isfinite(tradeoff):
            value = combined(self.distance[chosen], self.imprecision[chosen], tradeoff)
            draws = combined(self.distance_draws[:, chosen], self.imprecision_draws[:, chosen], tradeoff)
            return value, *simultaneous_intervals(value, draws, self.level)
        value = self.imprecision[chosen]
        low, high = simultaneous_intervals(value, self.imprecision_draws[:, chosen], self.level)
        precise = np.flatnonzero(value <= NEGLIGIBLE)
        if precise.size > 1:  # between points distance decides
            points = [chosen[place] for place in precise]
            ends = simultaneous_intervals(self.distance[points], self.distance_draws[:, points], self.level)
            for whole, part in zip((low, high), ends, strict=True):
                whole[np.ix_(precise, precise)] = part
        return value, low, high


def combined(distance: Array, imprecision: Array, tradeoff: float) -> Array:
    """Return distance + trade-off * imprecision, with infinity times 0 being 0: a point is never punished."""
    if math.isfinite(tradeoff):
        return distance + tradeoff * imprecision
    xp = namespace(distance)
    return xp.where(imprecision > NEGLIGIBLE, xp.full_like(distance, xp.inf), distance)
