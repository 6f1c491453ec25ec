"""Recalibrations by levels: isotonic maps of probabilities and distribution functions, and single quantiles.

isotonic   F' = R o F                    R the distribution of the labels' F(y), which is increasing by itself
levels     Q'(l) = Q(l) + d_l            d_l the residual y - Q(l) whose rank is l (n + 1); or relative to
                                      the distance between the row's outermost quantiles

Kuleshov, Fenner and Ermon 2018; Romano, Patterson and Candès 2019.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly._arrays.notes import counted
from credibly.predictions import (
    ClassPredictions,
    Gaussian,
    Quantiles,
    RealPredictions,
    Samples,
    as_predictions,
    paired,
)
from credibly.predictions.quantiles import table_cdf, table_quantiles
from credibly.recalibrate.base import FIT_AGAIN, Recalibration
from credibly.recalibrate.curves import isotonic_map, isotonic_steps
from credibly.recalibrate.fit_data import FitData, with_scores
from credibly.recalibrate.learned import learned, require_saved
from credibly.recalibrate.minimum import Convergence
from credibly.recalibrate.reals import RealData, RealRecalibration, mean_losses
from credibly.statistics.coverage import quantile_grid

MOST_KNOTS = 1000
"""Points at which R is kept: more would make files of megabytes that change no level by 0.001."""
_STEP = 0.01
"""How far beyond the outermost draw its tail is measured, in units of its scale."""
_ALONG, _LEAST_STEP = 10, 1e-9
"""Places of a label along a step of F, and the least height of a step."""
_LOWEST, _HIGHEST = 5e-324, 1.0 - 2.0**-53


@dataclasses.dataclass(eq=False)
class LevelRecalibration(RealRecalibration):
    """What maps of levels share, F' = R(F): R as points between which it is linear, and how it is applied."""

    levels: int = 100
    before: HostArray = learned("r")
    after: HostArray = learned("r")

    def __post_init__(self) -> None:
        require_integer(self.levels, "levels", 2)

    def _require_sound(self) -> None:
        super()._require_sound()
        whole = self.n_classes is None  # levels lead from 0 to 1, probabilities as far as the fit saw some
        for name in ("before", "after"):
            value = getattr(self, name)
            low, high = (value[0], value[-1]) if value.size > whole else (-1.0, 2.0)
            ends = (low, high) == (0.0, 1.0) if whole else low >= 0.0 and high <= 1.0
            require_saved(
                ends and (np.diff(value) >= 0).all(), "numbers that increase from 0 to 1", name, value
            )

    def _map(self, predictions: Any, seen: Any) -> Any:
        _, at = self._levels(predictions)
        ends = int(((at == _LOWEST) | (at == _HIGHEST)).sum())
        warning = (
            f"{ends} of {counted(len(at), 'quantile')} would be so far out that F is 0 or 1 up to rounding, "
            "and end there; fit a scale first, `SpreadScaling().then(IsotonicRecalibration())`"
        )
        return self._noted(self._mapped(predictions), predictions, *((warning,) if ends else ()))

    def _levels(self, predictions: RealPredictions) -> tuple[HostArray, HostArray]:
        """Return the levels of the result, and those of the predictions that become them."""
        if isinstance(predictions, Quantiles):
            wanted = to_host(as_float64(predictions.levels))
        else:
            wanted = np.arange(1, self.levels) / self.levels
        return wanted, np.interp(wanted, self.after, self.before).clip(_LOWEST, _HIGHEST)

    def _mapped(self, predictions: RealPredictions) -> Quantiles:
        wanted, at = self._levels(predictions)
        if isinstance(predictions, Gaussian):
            values = predictions.quantile(at.tolist())  # wherever the predictions are
        else:
            table, levels = _table(predictions)
            values = table_quantiles(table, levels, like(at, table))
        return Quantiles(values, like(wanted, values))


@dataclasses.dataclass(eq=False)
class IsotonicRecalibration(LevelRecalibration):
    """Map probabilities by the best increasing function: P(event) of classes, or levels of real values.

    For two classes, P(class 1) becomes its isotonic regression on the labels; for more, the probability of
    the most probable class does, and the other classes keep their proportions. For real values, the
    distribution function F becomes R(F), R being the distribution of F(y) in the fit.

    Parameters
    ----------
    levels : int
        For real values: Gaussian predictions and draws are returned as quantiles at the levels j / M, with M
        given here; `Quantiles` keep their own levels.

    Attributes
    ----------
    before, after : ndarray (r,)
        Probabilities and what they become, or levels u and R(u); straight lines between them.

    Notes
    -----
    For two classes this is scikit-learn's ``method="isotonic"``, except that probabilities stay 1e-10 away
    from 0 and 1, so that no class becomes impossible. `CurveScaling` needs fewer labels. Of an ensemble, use
    the mean.

    For real values, the shares of labels already increase with the levels, so their isotonic regression is
    the shares themselves, and the fit is a single sort. R(F(y)) of a new label is uniform up to 1 / (n + 1)
    for any model, if instances are exchangeable. The result is `Quantiles`, since R(F) is no longer
    Gaussian. Draw j of s is placed at level j / (s + 1); between draws and between quantiles, which must be
    dense (levels at most 0.05 apart), F is linear, and beyond the outermost its tails are exponential. The
    scale of a tail of draws is the mean distance of the sqrt(s) outermost ones from the next. Where F is 1
    up to rounding, beyond 8.2 standard deviations of a Gaussian, quantiles end, and a note says so: fit a
    scale first, ``SpreadScaling().then(IsotonicRecalibration())``. A label that equals several draws or
    quantiles, as counts do, is spread evenly over their levels.

    References
    ----------
    Kuleshov, Fenner and Ermon, *Accurate uncertainties for deep learning using calibrated regression*, ICML
    2018.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=2000)
    >>> labels = mean + 0.5 + rng.normal(size=2000)
    >>> biased = cr.Gaussian(mean, np.ones(2000))
    >>> isotonic = cr.recalibrate.IsotonicRecalibration().fit(biased[:1000], labels[:1000])
    >>> isotonic.apply(biased[1000:])
    Quantiles(n=1000, q=99, dtype=float64, 1 note)
    """

    method: ClassVar[str] = "isotonic"
    kinds: ClassVar[tuple[str, ...]] = (*RealRecalibration.kinds, "Point", "Dirichlet")

    def describe(self) -> str:
        """Return the largest move in words."""
        worst = int(np.abs(self.after - self.before).argmax())
        what = "levels" if self.n_classes is None else "probabilities"
        return f"isotonic {what}, which change {self.before[worst]:.3g} to {self.after[worst]:.3g}"

    def predict_proba(self, predictions: Any, *, features: Any = None, groups: Any = None) -> Array:
        """Return recalibrated probabilities of classes, (n, k)."""
        if self.n_classes is None:
            return super().predict_proba(predictions)
        return Recalibration.predict_proba(self, predictions, features=features, groups=groups)

    def _checked(self, predictions: Any) -> Any:
        readable = as_predictions(predictions)
        return readable if isinstance(readable, ClassPredictions) else super()._checked(readable)

    def _data(self, predictions: Any, labels: Any, sample_weight: Any) -> Any:
        readable = as_predictions(paired(predictions, labels)[0])
        kind = Recalibration if isinstance(readable, ClassPredictions) else RealRecalibration
        return kind._data(self, predictions, labels, sample_weight)

    def _require_like_the_fit(self, predictions: Any) -> None:
        if isinstance(predictions, ClassPredictions) is not (self.n_classes is not None):
            rule = f"must be of {'real values' if self.n_classes is None else 'classes'}, as in the fit"
            raise InputTypeError("predictions", rule, f"got {type(predictions).__name__}", FIT_AGAIN)
        if self.n_classes is not None:
            Recalibration._require_like_the_fit(self, predictions)

    def _fit(self, data: Any, seen: Any) -> Convergence:
        if isinstance(data, FitData):
            self.before, self.after, ended = isotonic_steps(data)
            return ended
        levels, share = _level_shares(*_places(data.predictions, data.labels, data.host_weight))
        self.before, self.after = np.r_[0.0, levels, 1.0], np.r_[0.0, share, 1.0]
        losses = mean_losses(data, lambda rows: self._mapped(data.predictions[rows]))
        return Convergence(True, 1, 0.0, *losses, "one sort")

    def _map(self, predictions: Any, seen: Any) -> Any:
        if not isinstance(predictions, ClassPredictions):
            return super()._map(predictions, seen)
        values = isotonic_map(predictions, self.before, self.after, self.zero)
        return with_scores(predictions, values, self._note)


def _table(predictions: RealPredictions) -> tuple[Array, Array]:
    """Return quantiles (n, q) and their levels; draw j of s is the quantile at j / (s + 1)."""
    if isinstance(predictions, Quantiles):
        predictions._require_dense("a distribution function")
        return as_float64(predictions.values), as_float64(predictions.levels)
    assert isinstance(predictions, Samples)
    s = predictions.n_draws
    if s < 2:
        rule, remedy = "needs at least two draws per instance", "Use `QuantileShift`, or give more draws."
        raise UnsupportedError("a distribution function of draws", rule, "got 1", remedy)
    return _with_tails(predictions.pooled(), np.arange(1, s + 1) / (s + 1))


def _with_tails(draws: Array, levels: HostArray) -> tuple[Array, Array]:
    """Return ordered draws (n, s) with a point beyond each end that fixes the scale of the tail.

    A tail is measured by its outermost cell, and the gap between two draws says little: the scale is the mean
    distance of the k outermost draws from the next one, k = sqrt(s), as for exponential tails (Hill).
    """
    xp, s = namespace(draws), draws.shape[1]
    k = min(math.isqrt(s), s - 1)
    below = draws[:, k] - xp.mean(draws[:, :k], axis=1)
    above = xp.mean(draws[:, s - k :], axis=1) - draws[:, s - k - 1]
    first, last = draws[:, :1] - _STEP * below[:, None], draws[:, -1:] + _STEP * above[:, None]
    beyond = float(levels[0]) * math.exp(-_STEP)
    heights = np.r_[beyond, levels, 1.0 - beyond]
    return xp.concat([first, draws, last], axis=1), like(heights, draws)


def label_levels(predictions: RealPredictions, labels: Array) -> HostArray:
    """Return F(y), (n,): 0 or 1 only beyond tails without width, elsewhere the numbers next to them."""
    if isinstance(predictions, Gaussian):
        return to_host(predictions.cdf(labels)).clip(_LOWEST, _HIGHEST)
    table, levels = _table(predictions)
    level = to_host(table_cdf(table, levels, labels[None, :])[0, :])
    below, above = (to_host(table[:, j + 1] > table[:, j]) for j in (0, -2))
    return level.clip(np.where(below, _LOWEST, 0.0), np.where(above, _HIGHEST, 1.0))


def _places(predictions: RealPredictions, labels: Array, weight: HostArray) -> tuple[HostArray, HostArray]:
    """Return the levels of labels and their weights; a label at a step of F has places all along it."""
    level = label_levels(predictions, labels)
    if isinstance(predictions, Gaussian):
        return level, weight
    below = label_levels(predictions, like(np.nextafter(to_host(labels), -np.inf), labels))
    step = level - below > _LEAST_STEP
    along = below[step, None] + (level - below)[step, None] * (np.arange(_ALONG) + 0.5) / _ALONG
    shared = np.repeat(weight[step] / _ALONG, _ALONG)
    return np.append(level[~step], along), np.append(weight[~step], shared)


def _level_shares(level: HostArray, weight: HostArray) -> tuple[HostArray, HostArray]:
    """Return levels inside (0, 1) and the share of labels at most there, both increasing.

    One more instance is counted above all, so that the share at the i-th of n levels is i / (n + 1): the
    probability that a new label lies below it.
    """
    order = np.argsort(level)
    order = order[weight[order] > 0]
    level, share = level[order], np.cumsum(weight[order]) / (weight.sum() + 1.0)
    kept = np.flatnonzero(np.append(np.diff(level) > 0, True) & (level > 0) & (level < 1))
    if len(kept) > MOST_KNOTS:
        kept = kept[np.unique(np.linspace(0, len(kept) - 1, MOST_KNOTS).round().astype(int))]
    inside = int(np.searchsorted(level, _HIGHEST))
    level, before, share = level[kept], share[inside - 1] if inside else 0.0, share[kept]
    if not len(level) or level[-1] < _HIGHEST:
        return level, share
    # no straight line leads to labels that are beyond all others
    return np.insert(level, -1, _HIGHEST), np.insert(share, -1, before)


@dataclasses.dataclass(eq=False)
class QuantileShift(RealRecalibration):
    """Shift the quantile at every level by the residual that splits the labels of the fit at this level.

    Parameters
    ----------
    levels : int
        Gaussian predictions and draws are returned as quantiles at the levels j / M, with M given here;
        `Quantiles` keep their own levels.
    relative : bool
        Whether shifts follow the distance between the outermost quantiles of each row. Better if errors grow
        with what is stated.

    Attributes
    ----------
    at, shifts : ndarray (q,)
        Levels and what is added to their quantiles: in the unit of the labels, or, if `relative`, as a
        multiple of the distance between the outermost quantiles of the row.

    Notes
    -----
    Below the median the residual of rank floor(l (n + 1)) is added, at and above it that of rank ceil(l (n +
    1)). For exchangeable instances, a central interval then contains a new label with at least the
    probability it states, for any model, and with at most 2 / (n + 1) more. Levels whose rank is not among 1
    to n are refused. If shifted quantiles cross, rows are sorted, which can only reduce errors.

    References
    ----------
    Romano, Patterson and Candès, *Conformalized quantile regression*, NeurIPS 2019; Chernozhukov,
    Fernández-Val and Galichon, *Quantile and probability curves without crossing*, Econometrica 2010.

    Examples
    --------
    >>> import credibly as cr
    >>> quantiles = cr.Quantiles([[-1.0, 1.0]] * 9, [0.1, 0.9])
    >>> labels = [-3.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    >>> shift = cr.recalibrate.QuantileShift().fit(quantiles, labels)
    >>> shift.shifts.tolist()  # the first and the ninth residual of each level
    [-2.0, 2.0]
    """

    levels: int = 20
    relative: bool = False
    at: HostArray = learned("q")
    shifts: HostArray = learned("q")
    method: ClassVar[str] = "levels"

    def __post_init__(self) -> None:
        require_integer(self.levels, "levels", 2)

    @property
    def name(self) -> str:
        """The name with what shifts follow."""
        return "relative_levels" if self.relative else "levels"

    def describe(self) -> str:
        """Return the range of the shifts in words."""
        what = " of the distance between the outermost ones" if self.relative else ""
        return f"shifts of quantiles by {self.shifts.min():.3g} to {self.shifts.max():.3g}{what}"

    def _fit(self, data: RealData, seen: Any) -> Convergence:
        table, levels = quantile_grid(data.predictions, self.levels)
        at, weight = to_host(levels), data.host_weight
        residual = to_host(data.labels)[:, None] - to_host(table)
        if self.relative:
            residual = residual / _positive_widths(to_host(table))
        shifts = [_residual(residual[:, j], weight, float(level)) for j, level in enumerate(at)]
        self.at, self.shifts = at, np.array(shifts)
        losses = mean_losses(data, lambda rows: self._moved(data.predictions[rows])[0])
        return Convergence(True, 1, 0.0, *losses, "one sort per level")

    def _map(self, predictions: RealPredictions, seen: Any) -> RealPredictions:
        made, crossed = self._moved(predictions)
        where = counted(crossed, "instance")
        more = (f"shifted quantiles crossed in {where} and were sorted",) if crossed else ()
        return self._noted(made, predictions, *more)

    def _moved(self, predictions: RealPredictions) -> tuple[Quantiles, int]:
        if isinstance(predictions, Quantiles):
            at = to_host(as_float64(predictions.levels))
            if at.shape != self.at.shape or (np.abs(at - self.at) > 1e-9).any():
                rule, evidence = f"must have the {len(self.at)} levels of the fit", f"got {len(at)} levels"
                remedy = "Fit again on quantiles of these levels."
                raise InputError("predictions", rule, f"{evidence}, {at[0]:g} to {at[-1]:g}", remedy)
        table = predictions.quantile(like(self.at, predictions._leading))
        xp = namespace(table)
        width = table[:, -1:] - table[:, :1] if self.relative else 1.0
        moved = table + width * like(self.shifts, table)
        crossed = xp.any(moved[:, 1:] < moved[:, :-1], axis=1)
        count = int(xp.sum(xp.astype(crossed, xp.int64)))
        return Quantiles(xp.sort(moved, axis=1) if count else moved, like(self.at, table)), count


def _positive_widths(table: HostArray) -> HostArray:
    """Return the distance between the outermost quantiles of every row, (n, 1)."""
    width = table[:, -1:] - table[:, :1]
    equal = int((width <= 0.0).sum())
    if equal:
        subject, rule = "shifts that follow the width of a row", "need outermost quantiles that differ"
        evidence = f"they are equal in {counted(equal, 'instance')}"
        raise UnsupportedError(subject, rule, evidence, "Use `QuantileShift()`.")
    return width


def _residual(residual: HostArray, weight: HostArray, level: float) -> float:
    """Return the residual whose rank among n + 1 is that of the level, cautious on either side."""
    total = float(weight.sum())
    wanted = level * (total + 1.0)
    rank = math.floor(wanted + 1e-9) if level < 0.5 else math.ceil(wanted - 1e-9)
    if rank < 1 or rank > total + 1e-9:
        least = math.ceil(1.0 / min(level, 1.0 - level) - 1e-9) - 1
        subject, rule = f"the quantile at level {level:g}", f"needs at least {least} instances to be shifted"
        raise UnsupportedError(subject, rule, f"got {total:g}", "Use more data or fewer levels.")
    if (weight == 1.0).all():
        return float(np.partition(residual, rank - 1)[rank - 1])
    order = np.argsort(residual)
    return float(residual[order][np.searchsorted(np.cumsum(weight[order]), rank - 1e-9)])
