"""A ranking: models in order by proper scores, or by one score at every trade-off, where models are lines.

Lines keep bootstrapped means, which decide orders and ties at any trade-off.
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
from credibly._arrays.notes import counted
from credibly.results.base import Result
from credibly.results.estimates import Estimate
from credibly.results.scores import EpistemicScore
from credibly.selection.standings import Standing, ranks, simultaneous_intervals

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
class Lines(Result):
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
    """

    unwritten = ("names", "distance_draws", "imprecision_draws", "level", "n", "scores")

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
            criterion=float(tradeoff),
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
        scores = {name: score.summary_dict() for name, score in self.scores.items()}
        return {**super().to_dict(), "scores": scores}

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


def crossings(
    names: tuple[str, ...],
    distance: HostArray,
    imprecision: HostArray,
    draws: tuple[HostArray, HostArray],
    level: float,
) -> tuple[Crossing, ...]:
    """Return all positive trade-offs at which two lines meet, in order.

    Lines ``d_a + t i_a`` and ``d_b + t i_b`` meet at ``t = (d_b - d_a) / (i_a - i_b)``. `draws` are the means
    (b, m) on bootstrapped instances.
    """
    crossed = []
    for a in range(len(names)):
        for b in range(len(names)):
            # a is the more imprecise one, nearer to the labels: better below the crossing
            if not (distance[a] < distance[b] < math.inf and imprecision[a] > imprecision[b]):
                continue
            at = float((distance[b] - distance[a]) / (imprecision[a] - imprecision[b]))
            lines = distance + at * imprecision
            others = np.delete(lines, [a, b])
            rank = 1 + int((others < lines[a] - 1e-12 * max(1.0, abs(lines[a]))).sum())
            interval = _interval(draws[0][:, [a, b]], draws[1][:, [a, b]], level)
            crossed.append(Crossing(at, names[a], names[b], rank, interval))
    return tuple(sorted(crossed, key=lambda crossing: crossing.tradeoff))


def _interval(distance: HostArray, imprecision: HostArray, level: float) -> tuple[float, float]:
    """Return percentiles of the crossing over draws; where there is none it lies at 0 or at infinity."""
    nearer = distance[:, 1] - distance[:, 0]  # how much nearer a is
    wider = imprecision[:, 0] - imprecision[:, 1]
    # Without a crossing a is always better where it is nearer, and b elsewhere.
    at = np.where(nearer > 0, math.inf, 0.0)
    meets = (nearer > 0) & (wider > 0) & np.isfinite(nearer)
    at[meets] = nearer[meets] / wider[meets]
    tail = (1 - level) / 2
    low, high = np.quantile(at, [tail, 1 - tail], method="nearest")
    return float(low), float(high)


@dataclasses.dataclass(frozen=True)
class Ranking(Result):
    """Models in order, with ties: by one or several proper scores, or by the unified score at trade-offs.

    Attributes
    ----------
    names : tuple of str
        The models, as given; at trade-offs also "NAME Avg" for the mean prediction of each set.
    standings : tuple of Standing
        Order, ties and paired differences by every criterion: a score, or a trade-off.
    level : float
        Joint coverage of the intervals that decide ties.
    n : int
        Number of instances.
    estimates : mapping of str to mapping of str to Estimate
        Every model's mean scores with their standard errors; empty at trade-offs.
    lines : Lines, optional
        At trade-offs: the models as lines, which know the order at every trade-off, crossings, leaders and
        what to recommend.
    settings : mapping
        Scores with their settings or the measure of imprecision, number of draws, seed.
    notes : tuple of str
        What a reader of the ranking must know: how models were made comparable, dependences, infinite rows.
    """

    drawn_as = ("lines",)

    names: tuple[str, ...]
    standings: tuple[Standing, ...]
    level: float
    n: int
    estimates: Mapping[str, Mapping[str, Estimate]] = dataclasses.field(default_factory=dict)
    lines: Lines | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def at(self, criterion: str | float | None = None) -> Standing:
        """Return the standing by a score, or at any trade-off if there are lines. Default: the first."""
        if criterion is None:
            return self.standings[0]
        if self.lines is not None:
            return self.lines.at(criterion)  # type: ignore[arg-type]  # which refuses what is no number
        known = {str(standing.criterion): standing for standing in self.standings}
        if not isinstance(criterion, str) or criterion not in known:
            raise InputError(
                "`criterion`",
                "must be one of the ranking",
                f"got {criterion!r}",
                nearest(str(criterion), tuple(known)),
            )
        return known[str(criterion)]

    def order(self, criterion: str | float | None = None) -> tuple[str, ...]:
        """Return the models from best to worst by a score, or at a trade-off. Default: the first."""
        return self.at(criterion).names

    def __str__(self) -> str:
        what = "smallest mean score first, with places and distances from the first"
        joint = f"{100 * self.level:.4g} % joint intervals"
        rows = [f"{len(self.names)} models on {counted(self.n, 'instance')}, {what} ({joint})"]
        for standing in self.standings:
            criterion = standing.criterion
            rows.append(f"  {criterion if isinstance(criterion, str) else f'trade-off {criterion:g}'}")
            for model, score in zip(standing.names, standing.scores, strict=True):
                row, behind = f"    {standing.place(model)}: {model} {score:.4g}", standing.behind(model)
                if behind is not None:
                    difference, (low, high) = behind
                    row += f", {difference:+.4g} ({low:.4g} to {high:.4g})"
                rows.append(row)
        return "\n".join(rows)
