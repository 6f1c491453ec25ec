"""Temperatures of the members of an ensemble, fitted to the mean of its members.

    minimise  -(1 / N) sum_ik y_ik log sum_m w_m softmax(z_im / tau_m)_k           P21 Appendix G.1
              + penalty mean_m (log tau_m - log tau)^2,      tau the temperature that all would share

P21 prints p / tau, from which tau cancels: temperatures divide the logits. The objective is not convex, so
four starts are tried (the shared temperature, a higher one, those of members alone, and twice as far apart)
and the best end is kept. With many members the likelihood is often largest where a few are certain (tau ->
0); these end at the limit and are reported.   Gopal 2021 (P21).
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError, is_number, require
from credibly._arrays.namespace import CACHE_ELEMENTS, Array, HostArray, like, tiles
from credibly.predictions import ClassPredictions
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.fit_data import FitData, dense, with_scores
from credibly.recalibrate.folds import check_penalty
from credibly.recalibrate.learned import learned
from credibly.recalibrate.minimum import Convergence, beyond_limits
from credibly.recalibrate.scores import scores_of, shares_of

LIMITS = (1e-3, 1e4)
"""Temperatures that members may have; a shared one beyond these is refused as diverging."""
_GRID = np.linspace(math.log(LIMITS[0]), math.log(LIMITS[1]), 25)
_GRID_ROWS = 1000
_FAR = math.log(20.0)
_NEAR, _ENOUGH = 1e-3, 1e-6  # last steps of searches on some rows and on all; what is left is about a square
_SECANTS = 12
_GRADIENT = 1e-7
_STILL = 1e-12  # relative fall of the loss in a step that ends the search
_AT_LIMIT = 1.01
_STEPS = 500


@dataclasses.dataclass(eq=False)
class MemberTemperatures(Recalibration):
    """One temperature per member of an ensemble, fitted to the likelihood of their mean.

    Parameters
    ----------
    limits : tuple of float
        Smallest and largest temperature a member may have.
    penalty : float
        Factor of the mean squared distance of the log temperatures from the log of the temperature that all
        members would share. P21 has no penalty.

    Attributes
    ----------
    temperatures : ndarray (m,)
        One per member, set by `fit`.
    at_limits : ndarray of int
        Members whose temperature ended at a limit, where the likelihood is still increasing.
    convergence : Convergence
        How the fit ended.

    Warns
    -----
    UserWarning
        If members end at a limit.

    Notes
    -----
    A problem of P21's size, 50 members and 2000 instances of 10 classes, takes some ten seconds on one core.

    References
    ----------
    Gopal, *Why calibration error is wrong given model uncertainty*, 2021, Appendix G.1.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(3000, 2, 3))
    >>> mean = cr.Ensemble.from_logits(logits).mean().probs
    >>> labels = (rng.random((3000, 1)) > mean.cumsum(axis=1)).sum(axis=1)
    >>> sharper = cr.Ensemble.from_logits(logits * [[[4.0], [1.0]]])
    >>> scaling = cr.recalibrate.MemberTemperatures().fit(sharper, labels)
    >>> scaling.temperatures[0] > 2 * scaling.temperatures[1]
    np.True_
    """

    limits: tuple[float, float] = LIMITS
    penalty: float = 0.0
    temperatures: HostArray = learned("m", positive=True, shown=True)
    method: ClassVar[str] = "members"
    kinds: ClassVar[tuple[str, ...]] = ("Ensemble",)

    def __post_init__(self) -> None:
        check_penalty(self.penalty, (), 2)
        limits = self.limits
        two = isinstance(limits, (tuple, list)) and len(limits) == 2 and all(map(is_number, limits))
        sound, remedy = two and 0 < limits[0] < limits[1] < math.inf, f"Use {LIMITS!r}, or leave it out."
        require(sound, "must be two increasing positive numbers", remedy, limits=limits)
        self.limits = (float(limits[0]), float(limits[1]))

    @property
    def at_limits(self) -> HostArray:
        """Members whose temperature ended at a limit."""
        low, high = self.limits
        ended = (self.temperatures < low * _AT_LIMIT) | (self.temperatures > high / _AT_LIMIT)
        return np.flatnonzero(ended)

    def describe(self) -> str:
        """Return the range of the temperatures in words."""
        low, high = self.temperatures.min(), self.temperatures.max()
        words = f"MemberTemperatures, T from {low:.4g} to {high:.4g}"
        number = len(self.at_limits)
        return f"{words}, {number} of {len(self.temperatures)} members at a limit" if number else words

    def _fit(self, data: FitData, features: Array | None) -> Convergence:
        from scipy.optimize import minimize

        z, counts = dense(data)
        likelihood = mixture_objective(z, counts, data.member_weights)
        m = z.shape[1]
        shares = shares_of(data.member_weights, m)
        shared = math.log(shared_temperature(data)[0])

        def objective(logs: HostArray) -> tuple[float, HostArray]:
            loss, slope = likelihood(logs)
            off = logs - shared
            return loss + self.penalty * float(shares @ off**2), slope + 2 * self.penalty * shares * off

        alone = np.array([_own_temperature(z[:, member : member + 1], counts, shared) for member in range(m)])
        starts = (np.full(m, shared), alone, np.full(m, shared + 1.0), shared + 2.0 * (alone - shared))
        low, high = map(math.log, self.limits)
        ends = [
            minimize(
                objective,
                np.clip(start, low, high),
                jac=True,
                method="L-BFGS-B",
                bounds=[(low, high)] * m,
                options={"gtol": _GRADIENT, "ftol": _STILL, "maxiter": _STEPS},
            )
            for start in starts
        ]
        best = min(ends, key=lambda end: float(end.fun))
        self.temperatures = np.exp(best.x)
        stuck = self.at_limits
        if stuck.size:
            names = ", ".join(map(str, stuck[:5])) + (", ..." if stuck.size > 5 else "")
            warnings.warn(
                f"{stuck.size} of {m} members end at a limit of the temperature ({self.limits[0]:g} to "
                f"{self.limits[1]:g}), where the likelihood of the mean is still increasing: {names}. Use "
                f"a penalty, or one TemperatureScaling for all members, to keep them together",
                UserWarning,
                stacklevel=4,
            )
        gradient = float(np.abs(np.delete(best.jac, stuck)).max(initial=0.0))
        before, after = (likelihood(at)[0] for at in (np.zeros(m), best.x))
        return Convergence(bool(best.success), int(best.nit), gradient, before, after, str(best.message))

    def _map(self, predictions: ClassPredictions, features: Array | None) -> ClassPredictions:
        return with_scores(predictions, divided(predictions, self.temperatures, self.zero), self._note)


def divided(predictions: ClassPredictions, temperatures: HostArray, zero: float | None = None) -> Array:
    """Return the log-probabilities of every member over its temperature, (n, m, k)."""
    if predictions.n_members != len(temperatures):
        rule = f"must have the {len(temperatures)} members of the fit, in the same order"
        remedy = "Fit again on predictions of this ensemble."
        raise InputError("predictions", rule, f"got {predictions.n_members}", remedy)
    values = scores_of(predictions, zero).values
    return values / like(temperatures, values)[None, :, None]


def mixture_objective(
    z: HostArray, counts: HostArray, weights: Array | None
) -> Callable[[HostArray], tuple[float, HostArray]]:
    """Return the loss per label and its gradient as a function of log temperatures (m,)."""
    n, m, k = z.shape
    with np.errstate(divide="ignore"):
        log_shares = np.log(shares_of(weights, m))
    total = float(counts.sum())
    parts = [_Part.of(z[rows], counts[rows]) for rows in tiles(n, max(1, CACHE_ELEMENTS // (m * k)))]

    def objective(log_temperatures: HostArray) -> tuple[float, HostArray]:
        inverse = np.exp(-log_temperatures)
        loss, slope = 0.0, np.zeros(m)
        for part in parts:
            part_loss, part_slope = _mixture(part, inverse, log_shares)
            loss, slope = loss + part_loss, slope + part_slope
        return loss / total, -inverse * slope / total  # d/d log tau = -b d/db

    return objective


class _Part(NamedTuple):
    """Some rows as the objective reads them at every temperature.

    Logits are 0 at their largest, which stays the largest at every temperature: no exponential overflows.
    Classes come first: sums over few classes are then sums of long vectors.
    """

    z: HostArray  # (k, m, rows)
    labelled: HostArray  # (m, labels): logits of the classes that were seen
    row: HostArray  # (labels,)
    counts: HostArray  # (labels,)

    @classmethod
    def of(cls, z: HostArray, counts: HostArray) -> _Part:
        row, column = np.nonzero(counts)
        z = np.ascontiguousarray((z - np.max(z, axis=-1, keepdims=True)).transpose(2, 1, 0))
        return cls(z, z[column, :, row].T, row, counts[row, column])


def _mixture(part: _Part, inverse: HostArray, log_shares: HostArray) -> tuple[float, HostArray]:
    """Return the loss and its slope in b of some rows."""
    inverse, log_shares = inverse.astype(part.z.dtype), log_shares.astype(part.z.dtype)
    terms = part.z * inverse[:, None]
    np.exp(terms, out=terms)
    total = np.sum(terms, axis=0)  # (m, rows), at least 1
    terms *= part.z
    mean = np.sum(terms, axis=0) / total
    # log of w_m p_m, (m, labels)
    logs = part.labelled * inverse[:, None] - np.log(total)[:, part.row] + log_shares[:, None]
    top = np.max(logs, axis=0)
    logs -= top
    np.exp(logs, out=logs)
    mixed = np.sum(logs, axis=0)
    logs *= part.counts / mixed  # how far each member is responsible
    slope = -(logs * (part.labelled - mean[:, part.row])).sum(axis=1)
    return -float(part.counts @ (np.log(mixed) + top)), slope


Along = Callable[[float], tuple[float, float]]


class _Search(NamedTuple):
    """Where a search for the zero of a slope ends: with its last bend, loss and slope."""

    at: float
    bend: float
    loss: float
    slope: float
    steps: int


def shared_temperature(data: FitData) -> tuple[float, Convergence]:
    """Return the one temperature of all members that maximises the likelihood of their mean.

    Which dip of the loss is the deepest shows on some rows, in single precision. The search in it sees all
    rows, and begins where the same search ends on some.
    """
    z, counts = dense(data)
    along = _along(z, counts, data.member_weights)
    step = -(-len(z) // _GRID_ROWS)
    search = None
    if counts[::step].any():
        some = _along(z[::step].astype(np.float32), counts[::step], data.member_weights)
        losses = np.array([some(at)[0] for at in _GRID])
        best = int(np.argmin(losses))
        if 0 < best < len(_GRID) - 1:
            bend = float(losses[best - 1] - 2 * losses[best] + losses[best + 1]) / (_GRID[1] - _GRID[0]) ** 2
            near = _secants(some, best, _GRID[best], bend, _NEAR)
            search = near and _secants(along, best, near.at, near.bend, _ENOUGH)
    search = search or _bracketed(along)
    steps = len(_GRID) + search.steps
    ended = Convergence(True, steps, abs(search.slope), along(0.0)[0], search.loss, "secants on log T")
    return math.exp(search.at), ended


def _along(z: HostArray, counts: HostArray, weights: Array | None) -> Along:
    """Return the loss and its slope as a function of one log temperature for all members."""
    objective, m = mixture_objective(z, counts, weights), z.shape[1]

    @cache  # ends of brackets are asked for more than once
    def along(log_temperature: float) -> tuple[float, float]:
        loss, slopes = objective(np.full(m, log_temperature))
        return loss, float(slopes.sum())

    return along


def _secants(along: Along, best: int, at: float, bend: float, enough: float) -> _Search | None:
    """Follow secants to the minimum beside a point of the grid; None where they lead elsewhere."""
    last: tuple[float, float] | None = None
    for steps in range(1, _SECANTS + 1):
        loss, slope = along(at)
        if last is not None:
            bend = (slope - last[1]) / (at - last[0])
        change = -slope / bend if bend > 0 else math.inf
        if not _GRID[best - 1] < at + change < _GRID[best + 1]:
            return None
        if abs(change) < enough:
            return _Search(at + change, bend, loss + slope * change / 2, slope, steps)
        last, at = (at, slope), at + change
    return None


def _bracketed(along: Along) -> _Search:
    """Find the deepest dip on the grid and the zero of the slope in it, on all rows."""
    from scipy.optimize import brentq  # slow to load, and few data need it

    def slope(log_temperature: float) -> float:
        return along(log_temperature)[1]

    losses = [along(at)[0] for at in _GRID]
    if max(losses) - min(losses) <= 1e-12 * abs(min(losses)):
        raise UnsupportedError(
            "the temperature",
            "must change the mean of the members",
            "the mean is the same at every temperature, for example because members contradict each other "
            "evenly",
            "Fit one temperature per member, or leave the predictions unchanged.",
        )
    best = int(np.argmin(losses))
    if best in (0, len(_GRID) - 1):
        raise beyond_limits(
            "the temperature",
            LIMITS,
            f"the likelihood of the mean still grows at T = {math.exp(_GRID[best]):.3g} (separable data, or "
            "a member that says nothing about the labels)",
            "Fit on more data that contain errors of the model, use one TemperatureScaling for all members, "
            "or leave the member out.",
        )
    low, high = _GRID[best - 1], _GRID[best + 1]
    if slope(low) >= 0 or slope(high) <= 0:  # a second dip beside the best point: search it alone
        low, high = (_GRID[best], high) if slope(_GRID[best]) < 0 else (low, _GRID[best])
    at, report = brentq(slope, low, high, xtol=1e-12, rtol=1e-12, full_output=True)
    return _Search(at, math.nan, *along(at), int(report.iterations))


def _own_temperature(z: HostArray, counts: HostArray, shared: float) -> float:
    """Return log T of one member alone, near enough for a start; its own fit may diverge.

    Within a factor of 20 of the shared one, so that the unit of the logits does not decide where it starts.
    """
    objective = mixture_objective(z, counts, None)
    grid = shared + np.linspace(-_FAR, _FAR, 9)
    return float(grid[int(np.argmin([objective(np.array([at]))[0] for at in grid]))])
