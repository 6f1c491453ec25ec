"""Recalibrations of real values by their location and spread, for all rows or by group.

    centre'  = centre + a_0 + a_1 (centre - mean centre) + a_g               shift, slope, group
    spread'  = spread exp(b_0 + b_1 (log spread - its mean) + b_g)           scale, spread, group

a and b maximise the normal likelihood of y - centre, by Fisher scoring; what a group has of its own is pulled
towards 0 as by half an observation, so that small groups keep what all have. Tails: (y - centre') / spread'
follows a t distribution, whose degrees of freedom are chosen from a short list.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtrit

from credibly._arrays.errors import InputError, Remedy, UnsupportedError
from credibly._arrays.namespace import HostArray, as_float64, like, to_host
from credibly.predictions import Gaussian, Quantiles, RealPredictions, Samples
from credibly.recalibrate.fitting import Convergence, Groups
from credibly.recalibrate.levels import IsotonicRecalibration
from credibly.recalibrate.reals import RealData, RealRecalibration, centre_of, mean_losses, scaled

TERMS = ("shift", "slope", "scale", "spread")
FREE, OWN = 1e-8, 0.5
"""Penalties, in observations: of what all rows share, and of what a group has of its own."""
_STEPS, _SMALL_STEP, _LARGEST_STEP = 25, 1e-8, 1.0
_DEGREES = (2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 30.0)
"""Degrees of freedom of tails that are tried."""
_KNOTS = 999


def spread_of(predictions: RealPredictions) -> HostArray:
    """Return the standard deviation of every prediction; of quantiles that of a normal as wide."""
    if not isinstance(predictions, Quantiles):
        assert isinstance(predictions, (Gaussian, Samples))
        return np.asarray(np.sqrt(to_host(as_float64(predictions.variance()))))
    values, z = to_host(as_float64(predictions.values)), ndtri(to_host(as_float64(predictions.levels)))
    return np.asarray((values[:, -1] - values[:, 0]) / (z[-1] - z[0]))


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
    """

    terms: tuple[str, ...]
    centre: HostArray
    spread: HostArray
    middle: tuple[float, float]

    def moved(self, mu: HostArray, sd: HostArray, groups: HostArray | None) -> tuple[HostArray, HostArray]:
        """Return centres and spreads after the repair."""
        of_centre, of_spread, _, _ = _columns(mu, sd, groups, self.terms, self.middle)
        return mu + of_centre @ self.centre, sd * np.exp(of_spread @ self.spread)


def _columns(
    mu: HostArray,
    sd: HostArray,
    groups: HostArray | None,
    terms: tuple[str, ...],
    middle: tuple[float, float],
) -> tuple[HostArray, HostArray, HostArray, HostArray]:
    """Return the columns of centre and of log spread, and the penalties of both."""
    one = np.ones((len(mu), 1))
    made = []
    for constant, slope, value in (
        ("shift", "slope", mu - middle[0]),
        ("scale", "spread", np.log(sd) - middle[1]),
    ):
        columns, penalties = [np.empty((len(mu), 0))], []
        if constant in terms:
            columns.append(one)
            penalties.append([FREE])
        if slope in terms:
            columns.append(value[:, None])
            penalties.append([FREE * float(value @ value) / len(mu) if slope == "slope" else 1.0])
        if constant in terms and groups is not None:
            columns.append(groups)
            penalties.append([OWN] * groups.shape[1])
        made.append((np.hstack(columns), np.concatenate([*penalties, []])))
    (centre, of_centre), (spread, of_spread) = made
    return centre, spread, of_centre, of_spread


def fit_location(
    mu: HostArray,
    sd: HostArray,
    y: HostArray,
    weight: HostArray,
    groups: HostArray | None,
    terms: tuple[str, ...],
) -> LocationFit:
    """Maximise the normal likelihood over centre and spread in turn."""
    total = weight.sum()
    middle = float(weight @ mu / total), float(weight @ np.log(sd) / total)
    of_centre, of_spread, lax, tight = _columns(mu, sd, groups, terms, middle)
    a, b = np.zeros(of_centre.shape[1]), np.zeros(of_spread.shape[1])
    for _ in range(_STEPS):
        s = sd * np.exp(of_spread @ b)
        before = a
        if a.size:
            precise = of_centre * (weight / s**2)[:, None]
            penalty = np.diag(lax * float(weight @ (1.0 / s**2)) / total)
            normal = of_centre.T @ precise + penalty
            moves = np.diag(normal) > 0.0  # predictions that are all alike have no slope
            a = np.zeros(moves.size)
            a[moves] = np.linalg.solve(normal[np.ix_(moves, moves)], (precise.T @ (y - mu))[moves])
        step = np.zeros(1)
        if b.size:
            square = ((y - mu - of_centre @ a) / s) ** 2
            slope = (of_spread * weight[:, None]).T @ (square - 1.0) - tight * b
            bend = 2.0 * (of_spread * weight[:, None]).T @ of_spread + np.diag(tight)
            step = np.clip(np.linalg.solve(bend, slope), -_LARGEST_STEP, _LARGEST_STEP)
            b = b + step
        if np.abs(step).max() < _SMALL_STEP and (
            not b.size or not a.size or np.allclose(a, before, rtol=1e-9)
        ):
            break
    return LocationFit(terms, a, b, middle)


_LEAST = 1e-100


def fit_tails(z: HostArray, weight: HostArray) -> tuple[float, float]:
    """Return degrees of freedom and scale of the t distribution that standardised labels follow."""
    best = (np.inf, _DEGREES[-1], 1.0)
    for degrees in _DEGREES:
        scale = 0.8
        for _ in range(30):  # the scale of the likelihood is a fixed point
            share = (degrees + 1.0) * z**2 / (degrees + z**2 / scale**2)
            scale = max(float(np.sqrt(weight @ share / weight.sum())), _LEAST)  # exact predictions have none
        loss = float(weight @ student_loss(z, degrees, scale))
        best = min(best, (loss, degrees, scale))
    return best[1], best[2]


def student_loss(z: HostArray, degrees: float, scale: float) -> HostArray:
    """Return minus the log density of standardised labels under a scaled t distribution."""
    constant = gammaln((degrees + 1.0) / 2.0) - gammaln(degrees / 2.0) - 0.5 * np.log(degrees * np.pi)
    tail = (degrees + 1.0) / 2.0 * np.log1p((z / scale) ** 2 / degrees)
    return np.asarray(tail - constant + np.log(scale))


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

    Notes
    -----
    Fitted to the normal likelihood of labels around the centre of the prediction (its mean; of quantiles the
    median), whatever its kind; predictions keep their kind. With `groups=`, every group has a shift or scale
    of its own, pulled towards that of all rows as by half an observation; groups that the fit has not seen
    get that of all rows.

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
    centre: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    spread: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    middle: HostArray | None = dataclasses.field(default=None, init=False, repr=False)
    levels: tuple[str, ...] = dataclasses.field(default=(), init=False, repr=False)
    method: ClassVar[str] = "location"
    learned: ClassVar[tuple[str, ...]] = ("centre", "spread", "middle", "levels")
    takes_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.terms = tuple(self.terms)
        unknown = [one for one in self.terms if one not in TERMS]
        alone = [
            b for a, b in (("shift", "slope"), ("scale", "spread")) if b in self.terms and a not in self.terms
        ]
        if not self.terms or unknown or alone:
            raise InputError(
                "`terms`",
                'must be some of "shift", "slope" (with "shift"), "scale" and "spread" (with "scale")',
                f"got {self.terms!r}",
                'Use ("shift", "scale").',
            )

    @property
    def name(self) -> str:
        """Its name with these terms."""
        return next((name for name, terms in NAMES.items() if terms == self.terms), self.method)

    def describe(self) -> str:
        """Return the coefficients in words."""
        assert self.centre is not None and self.spread is not None
        parts, a, b = [], list(self.centre), list(self.spread)
        if "shift" in self.terms:
            parts.append(f"a shift of {a.pop(0):.3g}")
        if "slope" in self.terms:
            parts.append(f"a slope of {1.0 + a.pop(0):.3g}")
        if "scale" in self.terms:
            parts.append(f"a scale of {np.exp(b.pop(0)):.3g}")
        if "spread" in self.terms:
            parts.append(f"an exponent of the spread of {1.0 + b.pop(0):.3g}")
        own = f", and one of their own for {len(self.levels)} groups" if self.levels else ""
        return f"{' and '.join(parts)}{own}"

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        own = len(self.levels)
        sizes = []
        for constant, slope in (("shift", "slope"), ("scale", "spread")):
            sizes.append((constant in self.terms) + (slope in self.terms) + own * (constant in self.terms))
        return {"centre": (sizes[0],), "spread": (sizes[1],), "middle": (2,)}

    def _restore(self, values: Any) -> None:
        super()._restore(values)
        self.levels = tuple(map(str, values["learned"]["levels"]))

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        mu, sd = to_host(as_float64(centre_of(data.predictions))), spread_of(data.predictions)
        if not (sd > 0).all():
            raise UnsupportedError(
                f"`{type(self).__name__}`",
                "needs predictions with a spread",
                f"{int((sd <= 0).sum())} of {len(sd)} put all probability on one number",
                "Use `QuantileShift`, or predict a spread.",
            )
        groups, self.levels = None, ()
        if seen is not None:
            given = Groups.of(seen, len(mu))
            self.levels = given.names
            groups = (given.codes[:, None] == np.arange(len(given.names))).astype(np.float64)
        found = fit_location(mu, sd, to_host(data.labels), data.host_weight, groups, self.terms)
        self.centre, self.spread, self.middle = found.centre, found.spread, np.array(found.middle)

        def mapped(rows: HostArray) -> RealPredictions:
            own = None if seen is None else Groups.of(seen, len(mu)).take(rows)
            return self._moved(data.predictions[rows], own)[0]

        return Convergence(True, _STEPS, 0.0, *mean_losses(data, mapped), "Fisher scoring")

    def _map(self, predictions: RealPredictions, seen: Any) -> RealPredictions:
        made, unseen = self._moved(predictions, seen)
        more = (f"{unseen} rows are of groups that the fit has not seen: they get what all rows share",)
        return self._noted(made, predictions, *(more if unseen else ()))

    def _moved(self, predictions: RealPredictions, seen: Any) -> tuple[RealPredictions, int]:
        """Return the repaired predictions, and how many rows are of unknown groups."""
        groups, unseen = None, 0
        if self.levels:
            if seen is None:
                raise InputError(
                    "`groups`",
                    "must be given: the fit used some",
                    "got none",
                    Remedy("Pass the groups of these instances.", "Name their column with `--by`."),
                )
            given = Groups.of(seen, len(predictions))
            names = np.array(given.names)[given.codes]
            groups = (names[:, None] == np.array(self.levels)).astype(np.float64)
            unseen = int((groups.sum(axis=1) == 0).sum())
        assert self.centre is not None and self.spread is not None and self.middle is not None
        fit = LocationFit(
            self.terms, self.centre, self.spread, (float(self.middle[0]), float(self.middle[1]))
        )
        mu, sd = to_host(as_float64(centre_of(predictions))), spread_of(predictions)
        new, wide = fit.moved(mu, sd, groups)
        return shifted(scaled(predictions, like(wide / sd, predictions._leading)), new - mu), unseen


def shifted(predictions: RealPredictions, by: HostArray) -> RealPredictions:
    """Move every distribution."""
    name = "mean" if isinstance(predictions, Gaussian) else "values"
    values = as_float64(getattr(predictions, name))
    moved = like(by, values).reshape((-1,) + (1,) * (values.ndim - 1))
    return predictions.replace_rows(**{name: values + moved})


NAMES: dict[str, tuple[str, ...]] = {
    "shift": ("shift",),
    "linear": ("shift", "slope"),
    "shift+scale": ("shift", "scale"),
    "spread": ("scale", "spread"),
    "linear+scale": ("shift", "slope", "scale"),
}
"""Names of repairs by location and spread."""


@dataclasses.dataclass(eq=False)
class TailScaling(IsotonicRecalibration):
    """Give predictions the tails of a t distribution: F' = R(F), R(u) = T(ndtri(u) / s).

    Attributes
    ----------
    degrees, scale : float
        Degrees of freedom and scale of the t distribution, set by `fit`.

    Notes
    -----
    For extreme errors that are more common than stated. The result is `Quantiles`, as for
    `IsotonicRecalibration`, which learns R without an assumption and needs more data.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.standard_t(3, size=4000)
    >>> tails = cr.recalibrate.TailScaling().fit(cr.Gaussian(np.zeros(4000), np.ones(4000)), labels)
    >>> tails.degrees <= 5
    True
    """

    degrees: float | None = dataclasses.field(default=None, init=False)
    scale: float | None = dataclasses.field(default=None, init=False)
    method: ClassVar[str] = "tails"
    learned: ClassVar[tuple[str, ...]] = ("before", "after", "degrees", "scale")

    def describe(self) -> str:
        """Return the tails in words."""
        return f"tails of a t distribution ({self.degrees:g} degrees of freedom, a scale of {self.scale:.3g})"

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        mu, sd = to_host(as_float64(centre_of(data.predictions))), spread_of(data.predictions)
        z = (to_host(data.labels) - mu) / sd
        self.degrees, self.scale = fit_tails(z, data.host_weight)
        level = np.arange(1, _KNOTS + 1) / (_KNOTS + 1)
        self.before = np.r_[0.0, ndtr(self.scale * stdtrit(self.degrees, level)), 1.0]
        self.after = np.r_[0.0, level, 1.0]
        losses = mean_losses(data, lambda rows: self._mapped(data.predictions[rows]))
        return Convergence(True, 1, 0.0, *losses, "a short list of degrees of freedom")
