"""What real-valued predictions say of a label: implied means and spreads, and a shape around them.

A repair moves means and spreads, or gives standardised labels another shape. Few draws do not say their own
mean and spread exactly: what they imply for a label is measured on one of them, given the others.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from credibly._arrays.namespace import HostArray, as_float64, like, to_host
from credibly.diagnosis.choosing import Weighing
from credibly.predictions import Gaussian, Samples
from credibly.recalibrate.location import fit_location, working_spread
from credibly.recalibrate.tails import skew_cdf, skew_loss, skew_quantiles, student_loss

PARTS = 10
"""Equal parts of the levels that a shape has."""
EDGE = 1e-12
FEWEST_DRAWS, SHAPED_DRAWS, DENSE_DRAWS, MANY_DRAWS = 4, 8, 20, 400
"""Draws from which on a row has a spread of its own, a shape, one to repair, and an exact spread."""
_TWINS = 20_000


@dataclasses.dataclass(frozen=True)
class Shape:
    """Law of standardised labels after a repair; a normal one where nothing is set.

    Attributes
    ----------
    tails : tuple of float or None
        Degrees of freedom and scale of a t distribution.
    skew : tuple of float or None
        Centre, scale and skewness of a sinh-arcsinh distribution.
    masses : ndarray (PARTS,) or None
        Share of the labels in equal parts of the levels.
    """

    tails: tuple[float, float] | None = None
    skew: tuple[float, float, float] | None = None
    masses: HostArray | None = None

    def losses(self, z: HostArray) -> HostArray:
        """Return minus the log density of z."""
        if self.tails is not None:
            return student_loss(z, *self.tails)
        if self.skew is not None:
            return skew_loss(z, *self.skew)
        normal = 0.5 * z * z + 0.5 * np.log(2.0 * np.pi)
        if self.masses is None:
            return np.asarray(normal)
        return np.asarray(normal - np.log(PARTS * self.masses[part_of_shape(ndtr(z))]))

    def levels(self, z: HostArray) -> HostArray:
        """Return the distribution function at z."""
        if self.tails is not None:
            return np.asarray(stdtr(self.tails[0], z / self.tails[1]))
        if self.skew is not None:
            return skew_cdf(z, *self.skew)
        return np.asarray(ndtr(z) if self.masses is None else np.interp(ndtr(z), *self._knots))

    def scores(self, levels: HostArray) -> HostArray:
        """Return z at levels."""
        if self.tails is not None:
            return np.asarray(self.tails[1] * stdtrit(self.tails[0], levels))
        if self.skew is not None:
            return skew_quantiles(levels, *self.skew)
        if self.masses is None:
            return np.asarray(ndtri(levels))
        return np.asarray(ndtri(np.interp(levels, *self._knots[::-1]).clip(1e-6, 1.0 - 1e-6)))

    @property
    def _knots(self) -> tuple[HostArray, HostArray]:
        assert self.masses is not None
        return np.linspace(0.0, 1.0, PARTS + 1), np.append(0.0, np.cumsum(self.masses))


@dataclasses.dataclass(frozen=True)
class Law:
    """What predictions say after a repair.

    Attributes
    ----------
    mu, sd : ndarray (n,)
        Mean and spread.
    places, scores : ndarray (n,)
        Where labels lie in the repaired distribution, 0 to 1, and as normal scores.
    losses : ndarray (n,)
        Loss of every row.
    """

    mu: HostArray
    sd: HostArray
    places: HostArray
    scores: HostArray
    losses: HostArray


@dataclasses.dataclass(frozen=True)
class Curve:
    """A common shape of predictions: normal scores as an increasing function of (y - mu) / sd.

    Attributes
    ----------
    knots, scores : ndarray (k,)
        Straight lines lie between these points, and go on beyond them.
    """

    knots: HostArray
    scores: HostArray

    def __call__(self, r: HostArray) -> tuple[HostArray, HostArray]:
        """Return normal scores and the logarithm of the slope."""
        slope = np.diff(self.scores) / np.diff(self.knots)
        cell = np.clip(np.searchsorted(self.knots, r) - 1, 0, len(slope) - 1)
        return self.scores[cell] + slope[cell] * (r - self.knots[cell]), np.log(slope[cell])

    @classmethod
    def of(cls, r: HostArray, scores: HostArray) -> Curve | None:
        """Join points by lines; None if they do not increase."""
        kept = np.append(True, (np.diff(r) > 1e-9) & (np.diff(scores) > 1e-9))
        return cls(r[kept], scores[kept]) if kept.sum() > 1 else None


def settled_cells(
    first: HostArray, last: HostArray, table: HostArray, levels: HostArray, weight: HostArray
) -> HostArray:
    """Return cells of labels that may lie in cells `first` to `last`: those that equal quantiles fit best.

    A label that equals a quantile may lie on either side of its level. Of all rows with the same quantiles
    equal, as many labels lie below each level as the level says, or as near to it as the others allow.
    """
    cells, shuffled = first.copy(), np.random.default_rng(0).permutation(len(first))
    tied = last > first
    apart = np.ones((len(table), table.shape[1] + 1), dtype=bool)  # quantiles j - 1 and j differ
    apart[:, 1:-1] = np.diff(table, axis=1) > EDGE * (np.abs(table[:, 1:]) + np.ptp(table, axis=1)[:, None])
    for low, high in np.unique(np.column_stack([first, last])[tied], axis=0):
        alike = apart[:, low] & apart[:, high] & ~apart[:, low + 1 : high].any(axis=1)
        open_ones = tied & (first == low) & (last == high)
        below = weight[alike & ~open_ones & (last <= low)].sum()
        wanted = weight[alike | open_ones].sum() * levels[low:high] - below
        order = shuffled[open_ones[shuffled]]
        cells[order] = low + np.searchsorted(wanted, np.cumsum(weight[order]) - 0.5 * weight[order])
    return cells


def part_of_shape(u: HostArray) -> HostArray:
    """Return which of equal parts of the levels holds each of some levels."""
    return np.minimum((u * PARTS).astype(np.intp), PARTS - 1)


def implied(
    samples: Samples, mu: HostArray, spread: HostArray, weight: HostArray
) -> tuple[HostArray, HostArray, Curve | None]:
    """Return mean and spread that draws imply for a label, and the common shape.

    A label is one more draw, so a draw given the others tells how means and spreads of so few are to be read.
    """
    n, s = len(mu), samples.n_draws
    sd = working_spread(samples, spread, weight)
    if s < FEWEST_DRAWS:
        square = float(np.average(spread**2, weights=weight))
        return mu, np.full(n, np.sqrt(square * (1.0 + 1.0 / s))), None
    away = to_host(samples.pooled()) - mu[:, None]
    each = int(np.clip(_TWINS // n, 4, s))
    places = np.random.default_rng(0).integers(s, size=(n, each))
    left = np.take_along_axis(away, places, axis=1)
    mean = -left / (s - 1.0)  # of the others; all together have mean 0
    squares = (away**2).sum(axis=1)[:, None] - left**2 - (s - 1.0) * mean**2
    wide = np.sqrt(np.maximum(squares, 0.0) / (s - 2.0))
    others, label = (mu[:, None] + mean).ravel(), (mu[:, None] + left).ravel()
    counts = np.repeat(weight, each)
    wide = working_spread(samples, wide.ravel(), counts)
    if s < MANY_DRAWS:
        terms = ("slope", "scale", "spread") if np.ptp(sd) > 1e-9 * sd.mean() else ("slope", "scale")
        fit = fit_location(others, wide, label, counts, None, terms)
        (others, wide), (mu, sd) = fit.moved(others, wide, None), fit.moved(mu, sd, None)
    if s < SHAPED_DRAWS:
        return mu, sd, None
    r = np.sort((label - others) / wide)
    scores = np.linspace(-1.0, 1.0, 13) * min(3.0, float(-ndtri(5.0 / len(r))))
    return mu, sd, Curve.of(np.quantile(r, ndtr(scores)), scores)


def shape_of_mixture(mixture: Gaussian, mu: HostArray, sd: HostArray) -> Curve | None:
    """Return the common shape of mixtures."""
    rows = np.unique(np.linspace(0, len(mu) - 1, min(len(mu), 1000)).round().astype(int))
    r = np.linspace(-8.0, 8.0, 129)
    some = mixture[rows]
    labels = like(mu[rows] + sd[rows] * r[:, None], some._leading)
    share = to_host(as_float64(some.cdf(labels))).mean(axis=1)
    inside = (share > 1e-6) & (share < 1.0 - 1e-6)
    return Curve.of(r[inside], ndtri(share[inside]))


def slope_of_errors(x: HostArray, apart: HostArray, sd: HostArray, rows: Weighing) -> tuple[float, float]:
    """Return how much errors rise for every 1 that stated means rise, with its standard error."""
    weighed = Weighing(rows.weights * (sd.min() / sd) ** 2, rows.clusters)
    x, t = x - weighed.mean(x), apart - weighed.mean(apart)
    square = weighed.mean(x * x)
    if square == 0.0:
        return 0.0, 0.0
    slope = weighed.mean(x * t) / square
    return slope, weighed.stderr(x * (t - slope * x)) / square


def exponent_of_errors(
    log: HostArray, apart: HostArray, sd: HostArray, rows: Weighing
) -> tuple[float, float]:
    """Return the power of the stated spread by which errors grow beyond `sd`, with its standard error."""
    x = log - rows.mean(log)
    z2 = ((apart - rows.mean(apart)) / sd) ** 2
    columns, b = np.stack([np.ones_like(x), x], axis=1), np.zeros(2)
    weighed = columns * rows.weights[:, None]
    bend = 2.0 * weighed.T @ columns + 1e-9 * np.eye(2)
    for _ in range(20):
        b = b + np.clip(np.linalg.solve(bend, weighed.T @ (z2 * np.exp(-2.0 * columns @ b) - 1.0)), -1.0, 1.0)
    left = z2 * np.exp(-2.0 * columns @ b) - 1.0
    score = weighed * left[:, None]
    if rows.clusters is not None:
        score = np.stack([np.bincount(rows.clusters, column) for column in score.T], axis=1)
    bread = np.linalg.inv(bend)
    return float(b[1]), float(np.sqrt((bread @ (score.T @ score) @ bread)[1, 1]))
