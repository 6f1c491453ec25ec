"""Recalibrations of real values by their location and spread, for all rows or by group.

    centre'  = centre + (a_0 + a_g) spread^e + a_1 (centre - mean centre)    shift, group, slope
    spread'  = spread exp(b_0 + b_1 (log spread - its mean) + b_g)           scale, spread, group

a and b maximise the normal likelihood of y - centre, by Fisher scoring; what a group has of its own is pulled
towards 0, by more the fewer rows it has and the less groups differ. e is 0 or 1: shifts are equal, or a
number of stated spreads, whichever explains more of the labels.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri

from credibly._arrays.errors import require, require_type
from credibly._arrays.namespace import HostArray, as_float64, like, to_host
from credibly.predictions import Gaussian, Quantiles, RealPredictions, Samples
from credibly.recalibrate.groups import Groups, checked_groups, unseen_note, variance_between
from credibly.recalibrate.learned import learned, learned_names
from credibly.recalibrate.minimum import Convergence
from credibly.recalibrate.reals import (
    OWN,
    RealData,
    RealRecalibration,
    centre_of,
    mean_losses,
    no_spread,
    scaled,
)

WITH = {"shift": "shift", "slope": "shift", "scale": "scale", "spread": "scale"}
"""Terms that can be fitted, and the constant that each comes with."""
FREE = 1e-8
"""Penalty on what all rows share, in observations."""
_STEPS, _SMALL_STEP, _LARGEST_STEP = 25, 1e-8, 1.0
_LEAST_VARIANCE = 1e-9
_TIE = 1e-9
_GRID = 199
_LEAST_SPREAD, _ROUNDING = 1e-6, 1e-12  # of a row, as a share of the largest; and of its mean
_DRAWS = 4.0  # that the typical spread counts for


def moments_of(predictions: RealPredictions) -> tuple[HostArray, HostArray]:
    """Return mean and standard deviation; quantiles are joined by straight lines in ndtri(level)."""
    if not isinstance(predictions, Quantiles):
        assert isinstance(predictions, (Gaussian, Samples))
        if isinstance(predictions, Samples) and predictions.n_draws == 1:
            mean = to_host(as_float64(predictions.expectation()))
            return mean, np.zeros_like(mean)
        spread = np.sqrt(to_host(as_float64(predictions.variance())))
        return _with_spread(to_host(as_float64(predictions.expectation())), spread)
    z = ndtri((np.arange(_GRID) + 0.5) / _GRID)
    values = to_host(as_float64(predictions.values)) @ between_levels(predictions, z).T
    return _with_spread(values.mean(axis=1), values.std(axis=1) / z.std())


def _with_spread(mean: HostArray, spread: HostArray) -> tuple[HostArray, HostArray]:
    """Return both; numbers that are equal have a spread of rounding errors, which is none."""
    return mean, np.where(spread > _ROUNDING * np.abs(mean), spread, 0.0)


def between_levels(predictions: Quantiles, z: HostArray) -> HostArray:
    """Return the weights of the quantiles (z, levels) that make those at ndtr(z), linear in z to the ends."""
    knots = ndtri(to_host(as_float64(predictions.levels)))
    if len(knots) == 1:
        return np.ones((len(z), 1))
    above = np.clip(np.searchsorted(knots, z), 1, len(knots) - 1)
    share = (z - knots[above - 1]) / (knots[above] - knots[above - 1])
    weights, rows = np.zeros((len(z), len(knots))), np.arange(len(z))
    weights[rows, above - 1], weights[rows, above] = 1.0 - share, share
    return weights


def working_spread(
    predictions: RealPredictions, spread: HostArray, weight: HostArray | None = None
) -> HostArray:
    """Return spreads above 0; those of few draws are drawn towards the typical one of all rows."""
    counts = np.ones_like(spread) if weight is None else weight
    counted = (spread > 0) & (counts > 0)
    known = spread[counted]
    if not known.size:
        return np.ones_like(spread)
    if not isinstance(predictions, Samples):
        return np.asarray(np.maximum(spread, _LEAST_SPREAD * known.max()))
    typical = float(np.exp(np.average(np.log(known), weights=counts[counted])))
    degrees = predictions.n_draws - 1.0
    return np.asarray(typical * np.sqrt((_DRAWS + degrees * (spread / typical) ** 2) / (_DRAWS + degrees)))


@dataclasses.dataclass(frozen=True)
class LocationFit:
    """Coefficients of centre and spread.

    Attributes
    ----------
    terms : tuple of str
        What they are: some of shift, slope, scale and spread.
    centre, spread : ndarray
        Coefficients, those of groups last.
    middle : tuple of float
        Mean centre and mean logarithm of the spread in the fit.
    follows : float
        The power of the spread that shifts follow, 0 or 1.
    """

    terms: tuple[str, ...]
    centre: HostArray
    spread: HostArray
    middle: tuple[float, float]
    follows: float = 0.0

    def moved(self, mu: HostArray, sd: HostArray, groups: HostArray | None) -> tuple[HostArray, HostArray]:
        """Return centres and spreads after the repair."""
        design = _design(mu, sd, groups, self.terms, self.middle, self.follows)
        return mu + design.of_centre @ self.centre, sd * np.exp(design.of_spread @ self.spread)


class _Design(NamedTuple):
    """The columns of centre and of log spread, the penalties of both, and what shifts are counted in."""

    of_centre: HostArray
    of_spread: HostArray
    lax: HostArray
    tight: HostArray
    unit: HostArray


def _design(
    mu: HostArray,
    sd: HostArray,
    groups: HostArray | None,
    terms: tuple[str, ...],
    middle: tuple[float, float],
    follows: float,
) -> _Design:
    shifts = sd[:, None] ** follows
    made = []
    for constant, slope, value, unit in (
        ("shift", "slope", mu - middle[0], shifts),
        ("scale", "spread", np.log(sd) - middle[1], np.ones_like(shifts)),
    ):
        columns, penalties = [np.empty((len(mu), 0))], []
        if constant in terms:
            columns.append(unit)
            penalties.append([FREE])
        if slope in terms:
            columns.append(value[:, None])
            size = float(((value / unit[:, 0]) ** 2).mean())  # a slope is compared with the constant
            penalties.append([FREE * size or 1.0 if slope == "slope" else 1.0])
        if constant in terms and groups is not None:
            columns.append(unit * groups)
            penalties.append([OWN] * groups.shape[1])
        made.append((np.hstack(columns), np.concatenate([*penalties, []])))
    (of_centre, lax), (of_spread, tight) = made
    return _Design(of_centre, of_spread, lax, tight, shifts[:, 0])


def fit_location(
    mu: HostArray,
    sd: HostArray,
    y: HostArray,
    weight: HostArray,
    groups: HostArray | None,
    terms: tuple[str, ...],
) -> LocationFit:
    """Maximise the normal likelihood over centre and spread in turn; pull groups towards all rows."""
    total, gap = weight.sum(), y - mu
    middle = float(weight @ mu / total), float(weight @ np.log(sd) / total)
    follows, design = 0.0, _design(mu, sd, groups, terms, middle, 0.0)
    if "shift" in terms:
        other = _design(mu, sd, groups, terms, middle, 1.0)
        if _explained(gap, sd, weight, other) > (1.0 + _TIE) * _explained(gap, sd, weight, design):
            follows, design = 1.0, other
    a, b = _scored(gap, sd, weight, design)
    if groups is None or not groups.shape[1]:
        return LocationFit(terms, a, b, middle, follows)
    of_centre, of_spread, lax, tight, unit = design
    s = sd * np.exp(of_spread @ b)
    n_groups, z = groups.shape[1], (gap - of_centre @ a) / s
    # penalties in observations: the variance of what one row says, over the variance between groups
    if "shift" in terms:
        precise = weight * (unit / s) ** 2
        typical = float(precise.sum()) / total
        between = variance_between(np.sqrt(typical) * a[-n_groups:], groups.T @ precise / typical)
        lax[-n_groups:] = max(OWN, 1.0 / max(between, _LEAST_VARIANCE))
    if "scale" in terms:
        noise = max(float(weight @ (z * z - 1.0) ** 2) / total / 4.0, _LEAST_VARIANCE)
        between = variance_between(b[-n_groups:], groups.T @ weight / noise)
        tight[-n_groups:] = 2.0 * max(OWN, noise / max(between, _LEAST_VARIANCE))
    return LocationFit(terms, *_scored(gap, sd, weight, design, a, b), middle, follows)


def _explained(gap: HostArray, sd: HostArray, weight: HostArray, design: _Design) -> float:
    """Return by how much the best centres lower the sum of squared errors, in stated spreads."""
    precise = design.of_centre * (weight / sd**2)[:, None]
    normal, sums = _in_units(precise.T @ design.of_centre, precise.T @ gap)[:2]
    return float(sums @ np.linalg.lstsq(normal, sums, rcond=None)[0])


def _in_units(normal: HostArray, sums: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return normal equations whose columns have length 1, and the lengths."""
    length = np.sqrt(np.maximum(np.diag(normal), np.finfo(float).tiny))
    return normal / length / length[:, None], sums / length, length


def _scored(
    gap: HostArray, sd: HostArray, weight: HostArray, design: _Design, *start: HostArray
) -> tuple[HostArray, HostArray]:
    """Return the coefficients of centre and spread, by Fisher scoring from others or from 0.

    `gap` is label minus mean.
    """
    total, (of_centre, of_spread, lax, tight, of_shift) = weight.sum(), design
    a, b = start or (np.zeros(of_centre.shape[1]), np.zeros(of_spread.shape[1]))
    for _ in range(_STEPS):
        s = sd * np.exp(of_spread @ b)
        before = a
        if a.size:
            precise = of_centre * (weight / s**2)[:, None]
            penalty = np.diag(lax * float(weight @ (of_shift / s) ** 2) / total)
            # predictions that are all alike have a shift and no slope: the smallest solution
            normal, sums, length = _in_units(of_centre.T @ precise + penalty, precise.T @ gap)
            a = np.linalg.lstsq(normal, sums, rcond=None)[0] / length
        step = np.zeros(1)
        if b.size:
            square = ((gap - of_centre @ a) / s) ** 2
            slope = (of_spread * weight[:, None]).T @ (square - 1.0) - tight * b
            bend = 2.0 * (of_spread * weight[:, None]).T @ of_spread + np.diag(tight)
            step = np.clip(np.linalg.solve(bend, slope), -_LARGEST_STEP, _LARGEST_STEP)
            b = b + step
        still = not b.size or not a.size or np.abs(of_centre @ (a - before) / s).max() < _SMALL_STEP
        if np.abs(step).max() < _SMALL_STEP and still:
            break
    return a, b


@dataclasses.dataclass(eq=False)
class LocationScaling(RealRecalibration):
    """Move and stretch predicted distributions: a shift, a slope, a scale, an exponent of the spread.

    Parameters
    ----------
    terms : tuple of str
        Which of "shift", "slope", "scale" and "spread" are fitted, together. A slope or an exponent of the
        spread comes with its constant: ("shift", "slope"), ("scale", "spread").

    Attributes
    ----------
    centre, spread : ndarray
        Coefficients, set by `fit`; those of groups come last, in the order of `levels`.
    levels : tuple of str
        The groups of the fit, where there were some.
    middle : ndarray (2,)
        Mean centre and mean log spread of the fit, from which slopes are counted.
    follows : float
        0 where shifts are equal for all rows, 1 where they are a number of stated spreads; `fit` takes what
        explains more of the labels.

    Notes
    -----
    Fitted to the normal likelihood of labels around the mean of the prediction (for quantiles, the mean of
    the distribution that joins them by lines), whatever its kind; predictions keep their kind. With
    `groups=`, every group has a shift or scale of its own, shrunk towards that of all rows, by more the
    fewer rows it has and the less groups differ; a group that the fit did not see gets that of all rows, and
    a note says so.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=2000)
    >>> labels = mean + rng.normal(size=2000)
    >>> high = cr.Gaussian(mean + 0.5, np.ones(2000))
    >>> shift = cr.recalibrate.LocationScaling(("shift",)).fit(high[:1000], labels[:1000])
    >>> bool(-0.6 < shift.centre[0] < -0.4)
    True
    """

    terms: tuple[str, ...] = ("shift", "scale")
    centre: HostArray = learned("a")
    spread: HostArray = learned("b")
    middle: HostArray = learned("pair")
    follows: float = learned(shown=False)
    levels: tuple[str, ...] = learned_names()
    method: ClassVar[str] = "location"
    takes_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        names = isinstance(self.terms, (tuple, list)) and all(isinstance(term, str) for term in self.terms)
        remedy = 'Use ("shift", "scale").'
        require_type(names, "must be a sequence of names", remedy, terms=self.terms)
        self.terms = tuple(self.terms)
        known = self.terms and all(term in WITH and WITH[term] in self.terms for term in self.terms)
        rule = 'must be some of "shift", "slope" (with "shift"), "scale" and "spread" (with "scale")'
        require(known, rule, remedy, terms=self.terms)

    @property
    def fitted_by_group(self) -> bool:
        """Whether `fit` was given groups."""
        return bool(self.levels)

    @property
    def name(self) -> str:
        """Its name with these terms."""
        return next((name for name, terms in NAMES.items() if terms == self.terms), self.method)

    def describe(self) -> str:
        """Return the coefficients in words."""
        parts, a, b = [], list(self.centre), list(self.spread)
        if "shift" in self.terms:
            parts.append(f"a shift of {a.pop(0):.3g}{' stated spreads' * bool(self.follows)}")
        if "slope" in self.terms:
            parts.append(f"a slope of {1.0 + a.pop(0):.3g}")
        if "scale" in self.terms:
            parts.append(f"a scale of {np.exp(b.pop(0)):.3g}")
        if "spread" in self.terms:
            parts.append(f"an exponent of the spread of {1.0 + b.pop(0):.3g}")
        by_group = f", adjusted for each of {len(self.levels)} groups" if self.levels else ""
        return f"{' and '.join(parts)}{by_group}"

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        n_groups = len(self.levels)
        centre, spread = (
            (1 + n_groups) * (constant in self.terms) + (slope in self.terms)
            for constant, slope in (("shift", "slope"), ("scale", "spread"))
        )
        return {"centre": (centre,), "spread": (spread,), "middle": (2,), "follows": ()}

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        mu, spread = moments_of(data.predictions)
        if "scale" in self.terms and not spread.any():
            raise no_spread(f"`{type(self).__name__}`")
        sd = working_spread(data.predictions, spread, data.host_weight)
        groups, self.levels = None, ()
        if seen is not None:
            seen = Groups.of(seen, len(mu))
            self.levels = seen.names
            groups = (seen.codes[:, None] == np.arange(len(seen.names))).astype(np.float64)
        fitted = fit_location(mu, sd, to_host(data.labels), data.host_weight, groups, self.terms)
        self.centre, self.spread, self.middle = fitted.centre, fitted.spread, np.array(fitted.middle)
        self.follows = fitted.follows

        def mapped(rows: HostArray) -> RealPredictions:
            return self._moved(data.predictions[rows], None if seen is None else seen.take(rows))

        return Convergence(True, _STEPS, 0.0, *mean_losses(data, mapped), "Fisher scoring")

    def _map(self, predictions: RealPredictions, seen: Any) -> RealPredictions:
        groups = checked_groups(seen, self.levels or None, len(predictions))
        more = () if groups is None else unseen_note(groups, self.levels, "the repair")
        return self._noted(self._moved(predictions, groups), predictions, *more)

    def _moved(self, predictions: RealPredictions, groups: Groups | None) -> RealPredictions:
        """Return the repaired predictions."""
        indicators = None
        if groups is not None:
            names = np.array(groups.names)[groups.codes]
            indicators = (names[:, None] == np.array(self.levels)).astype(np.float64)
        middle = self.middle[0], self.middle[1]
        fit = LocationFit(self.terms, self.centre, self.spread, middle, self.follows)
        mu, spread = moments_of(predictions)
        sd = working_spread(predictions, spread)
        new, wide = fit.moved(mu, sd, indicators)
        ratio = wide / sd
        # `scaled` keeps the centre, which for quantiles is the median
        centre = to_host(as_float64(centre_of(predictions)))
        moved = new - centre - ratio * (mu - centre)
        return shifted(scaled(predictions, like(ratio, predictions._leading)), moved)


def shifted(predictions: RealPredictions, by: HostArray) -> RealPredictions:
    """Move every distribution."""
    name = "mean" if isinstance(predictions, Gaussian) else "values"
    values = as_float64(getattr(predictions, name))
    moved = like(by.reshape((-1,) + (1,) * (values.ndim - 1)), values)
    return predictions.replace_rows(**{name: values + moved})


NAMES: dict[str, tuple[str, ...]] = {
    "shift": ("shift",),
    "linear": ("shift", "slope"),
    "shift+scale": ("shift", "scale"),
    "spread": ("scale", "spread"),
    "linear+scale": ("shift", "slope", "scale"),
}
"""Names of repairs by location and spread."""
