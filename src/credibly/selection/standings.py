"""Who is first, and who is tied: models in order of a mean over the same instances, with joint intervals.

Intervals come from instances drawn with replacement, the same draws for all models.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from credibly._arrays.errors import InputError, nearest
from credibly._arrays.namespace import HostArray, rows_within_budget, tiles
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly._arrays.progress import Progress, tell
from credibly._arrays.sums import count_cells
from credibly.predictions import Rows
from credibly.results.base import Result

_TILE = 64


@dataclasses.dataclass(frozen=True)
class Standing(Result):
    """Models by one number, best first, with ties.

    Attributes
    ----------
    criterion : str or float
        Name of the number, or the trade-off at which it is the unified score.
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

    criterion: str | float
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


def ranks(low: HostArray, value: HostArray, n: int) -> tuple[HostArray, HostArray]:
    """Return the best and the worst place of every model, where low[i, j] bounds how much worse i is than j.

    A finite mean is better than an infinite one. One instance tells nothing else.
    """
    finite = np.isfinite(value)
    worse = finite[None, :] & ~finite[:, None]
    if n > 1:  # of one instance always the same is drawn: that nothing moves says nothing
        worse |= low > 0
    return 1 + worse.sum(axis=1), len(value) - worse.sum(axis=0)


def standing_by(
    criterion: str,
    names: tuple[str, ...],
    values: HostArray,
    draws: HostArray,
    level: float,
    n: int,
    best: Literal["smallest", "largest", "nearest zero"],
    size: float = 1.0,
) -> Standing:
    """Return models in the order of a mean over instances.

    Parameters
    ----------
    criterion : str
        Name of this mean.
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
    Standing
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
    return Standing(
        criterion=criterion,
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


def simultaneous_intervals(
    value: HostArray, draws: HostArray, level: float, size: float = 1.0
) -> tuple[HostArray, HostArray]:
    """Return the ends (m, m) of intervals of value[i] - value[j] that hold jointly for all pairs.

    The half width of a pair is its bootstrap standard deviation times one quantile of the largest
    standardised deviation over pairs. Pairs with an infinite mean have NaN ends; pairs whose difference never
    moves have no width. `size` is as in `standing_by`.
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


def bootstrap_means(
    values: HostArray,
    n_resamples: int,
    seed: Seed,
    progress: Progress | None = None,
    codes: HostArray | None = None,
) -> HostArray:
    """Return column means (b, c) of values (n, c) over rows drawn with replacement, or over whole clusters.

    Row counts times values is one product per tile of draws. An infinite entry makes the means of the draws
    that hold its row infinite. `codes` (n,) are the clusters of rows that belong together: a cluster is drawn
    with all of its rows.
    """
    infinite = np.isinf(values)
    finite = np.where(infinite, 0.0, values)
    sizes = None
    if codes is not None:
        finite, infinite = (
            np.stack([np.bincount(codes, column) for column in table.T.astype(np.float64)], axis=1)
            for table in (finite, infinite)
        )
        sizes = np.bincount(codes).astype(np.float64)
    n = len(finite)
    lost = (infinite > 0).any(axis=0)
    uniforms = Uniforms(seed, Stream.MODELS)
    means = np.empty((n_resamples, values.shape[1]))
    for reps in tiles(n_resamples, min(_TILE, rows_within_budget(32 * n, 0.5))):
        rows = (uniforms.draw(reps, slice(0, n)) * n).astype(np.int64)
        counts = count_cells(rows, n)
        drawn = n if sizes is None else (counts @ sizes)[:, None]
        means[reps] = counts @ finite / drawn
        if lost.any():
            hit = counts @ infinite[:, lost].astype(np.float64) > 0
            means[reps, lost] = np.where(hit, np.inf, means[reps][:, lost])
        tell(progress, reps.stop, n_resamples)
    return means


def clusters_note(models: Mapping[str, Rows]) -> tuple[str, ...]:
    """Say that ties are those of clusters, where rows come in clusters."""
    ids = next(iter(models.values())).clusters
    return () if ids is None else (f"ties are decided by drawing {ids.levels.size} clusters of rows",)
