"""Differences of calibration errors between models of the same instances, with paired intervals.

A binned or smooth error adds up |S_j|, sums of residuals over cells or under kernels. With the standard error
s_j of every sum it is  sum_j s_j |x_j|,  x_j = S_j / s_j,  and a calibrated model has E|x_j| = 0.8: chance
adds to it, more where there are more cells, so a plain difference favours the model with fewer of them.
Instead of |x| a difference adds

    e(x) = sqrt(x^2 + 0.13) - exp(-x^2 / 1.6)

whose mean over x ~ N(t, 1) is within a quarter of |t| for every t. The standard error is that of the paired
influence e'(x_j) r_i of the rows, where e' counts as 1 at least. A few cells need more care: where |x_j| < 2,
one model may be off to one side and the other to the other, though these labels put both on one side. Under
kernels, or with fewer than five such cells, standard errors of these parts are added instead of paired. The
interval is that of an estimate with this standard error and a bias of at most a quarter of sum_j s_j over
|x_j| < 4 (Armstrong and Kolesar 2018); beyond, chance adds nothing.

The smooth error is the width s with  mean over t of |S_s(t)| = s;  the same with e in place of the modulus.

The truthful error is the quadratic form  mean over i, j of r_i r_j (1 - |p_i - p_j|),  to which chance adds
the same for all predictions: a plain difference is unbiased, and its influence is  2 r_i (mean over j).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtr

from credibly._arrays.namespace import HostArray, tiles, to_host
from credibly.predictions import ClassPredictions, Dataset, as_point
from credibly.results.base import Result
from credibly.statistics import Statistic
from credibly.statistics.binned import BinnedError
from credibly.statistics.linear import Linear
from credibly.statistics.smooth import SmoothECE
from credibly.statistics.walks import WalkBound

MOST_BIAS = 0.25
"""How far the mean of e(x) is from |t| at most, over all t."""
_ROUND, _WIDTH = 0.13, 1.6
_SIGNED, _CLEAR = 2.0, 4.0  # standard errors from which the sign is known, and |x| has no bias
_CELLS = 256  # of the smooth error: widths down to two cells are searched
_STEPS = 16  # widths per factor of two
_CLUSTERS = 512
_MANY = 5  # doubtful cells among which chance evens out, so that both models may be paired in them


@dataclasses.dataclass(frozen=True)
class CalibrationDifference(Result):
    """How much larger the calibration error of one model is than that of another.

    Attributes
    ----------
    statistic : str
        The error.
    model, than : str
        The two models.
    value : float
        Error of the first minus error of the second, without what chance adds to each.
    interval : tuple of float
        Joint interval over all models that are compared with the same one.
    stderr : float
        Paired standard error of the value.
    bias : float
        What chance may still have added to the value, at most; the interval allows for it.
    level : float
        Joint coverage of the intervals of one error.
    """

    statistic: str
    model: str
    than: str
    value: float
    interval: tuple[float, float]
    stderr: float
    bias: float
    level: float

    @property
    def is_clear(self) -> bool:
        """Whether chance does not explain the difference."""
        return self.interval[0] > 0.0 or self.interval[1] < 0.0


class ErrorParts(NamedTuple):
    """An error without what chance adds.

    Attributes
    ----------
    value : float
        The error.
    influence : ndarray (n, 2)
        Of the rows, by deviations whose sign is known and by others.
    bias : float
        What chance may still have added, at most.
    doubtful : int
        Number of separate cells whose sign is not known; 0 where kernels overlap.
    """

    value: float
    influence: HostArray
    bias: float
    doubtful: int = 0


def error_differences(
    models: Mapping[str, Dataset], errors: Sequence[Statistic], first: str, level: float
) -> tuple[CalibrationDifference, ...]:
    """Compare the errors of all models with those of one.

    Parameters
    ----------
    models : mapping of str to Dataset
        Class predictions with labels, of the same instances; clusters are those of the first model.
    errors : sequence of Statistic
        Binned errors (p = 1), `smooth_ece` and `truthful_ce`.
    first : str
        The model that the others are compared with.
    level : float
        Joint coverage of the intervals of one error.

    Returns
    -------
    tuple of CalibrationDifference
        One per error and other model.
    """
    clusters = models[first].clusters
    codes = None if clusters is None else np.unique(clusters, return_inverse=True)[1].reshape(-1)
    others = [name for name in models if name != first]
    gaps = []
    for error in errors:
        parts = {name: parts_of_error(error, data, codes) for name, data in models.items()}
        for name in others:
            value, stderr, bias = _apart(parts[name], parts[first], codes)
            half = _half_width(stderr, bias, 1 - (1 - level) / len(others), codes)
            ends = (value - half, value + half)
            gaps.append(CalibrationDifference(error.name, name, first, value, ends, stderr, bias, level))
    return tuple(gaps)


def _apart(first: ErrorParts, second: ErrorParts, codes: HostArray | None) -> tuple[float, float, float]:
    """Return the difference, its standard error and the largest bias; equal models have none of them."""
    value = first.value - second.value
    if np.array_equal(first.influence, second.influence):
        return value, 0.0, 0.0
    paired = first.influence[:, 0] - second.influence[:, 0]
    errors = [_stderr(each, codes) for each in (paired, first.influence[:, 1], second.influence[:, 1])]
    return value, sum(errors), first.bias + second.bias


def _stderr(influence: HostArray, codes: HostArray | None) -> float:
    apart = influence - influence.mean()
    if codes is not None:
        added = np.bincount(codes, apart).astype(np.float64)
        apart = added * math.sqrt(added.size / max(added.size - 1, 1))
    return float(np.sqrt(apart @ apart)) / influence.size


def _half_width(stderr: float, bias: float, level: float, codes: HostArray | None) -> float:
    """Return the h with P(|bias + stderr T| <= h) = level, T normal, or Student's for clusters."""
    if stderr == 0.0:
        return bias
    off = bias / stderr
    freedom = math.inf if codes is None else max(int(codes.max()), 1)

    def below(x: float) -> float:
        return float(ndtr(x) if math.isinf(freedom) else stdtr(freedom, x))

    def excess(h: float) -> float:
        return below(h - off) - below(-h - off) - level

    most = 1.0
    while excess(most) < 0.0:
        most *= 2.0
    from scipy.optimize import brentq  # slow to load, and comparisons alone need it

    return stderr * float(brentq(excess, 0.0, most))


def parts_of_error(error: Statistic, data: Dataset, codes: HostArray | None) -> ErrorParts:
    """Return one error of one model: binned, smooth or truthful."""
    assert isinstance(data.predictions, ClassPredictions)
    bound = error.bind(as_point(data.predictions)[0])
    if isinstance(bound, WalkBound):
        return _of_walks(bound, data)
    assert isinstance(bound, Linear)
    cell, residual = to_host(bound.terms.cell), bound.terms.beyond(data.batch)
    if isinstance(error, SmoothECE):
        return _of_columns([_smooth(*pair, codes) for pair in _columns(cell, residual, bound.terms.n_cells)])
    assert isinstance(error, BinnedError)
    n_cells, k = bound.terms.n_cells, cell.shape[1]
    parts = _of_columns([_binned(cell[:, c], residual[:, c], n_cells, codes) for c in range(k)])
    if parts.doubtful // (2 if k == 2 else 1) < _MANY:  # two classes have every cell twice
        return parts
    paired = parts.influence.sum(axis=1)
    return parts._replace(influence=np.stack([paired, np.zeros_like(paired)], axis=1))


def _of_columns(parts: Sequence[ErrorParts]) -> ErrorParts:
    """Return the mean over classes."""
    number = len(parts)
    influence = sum((part.influence for part in parts[1:]), parts[0].influence) / number
    return ErrorParts(
        sum(part.value for part in parts) / number,
        influence,
        sum(part.bias for part in parts) / number,
        sum(part.doubtful for part in parts),
    )


class _Modulus(NamedTuple):
    """Of every x: e(x), its derivative by whether the sign is known, (j, 2), and whether |x| has a bias."""

    size: HostArray
    slope: HostArray
    near: HostArray


def _modulus(x: HostArray) -> _Modulus:
    far, bump = np.sqrt(x * x + _ROUND), np.exp(-x * x / _WIDTH)
    slope = np.maximum(np.abs(x) / far + 2.0 * np.abs(x) * bump / _WIDTH, 1.0)
    slope = np.where(x < 0, -slope, slope)
    signed = np.abs(x) > _SIGNED
    return _Modulus(far - bump, np.stack([slope * signed, slope * ~signed], axis=1), np.abs(x) < _CLEAR)


def _standardised(sums: HostArray, spread: HostArray) -> HostArray:
    return np.divide(sums, spread, out=np.zeros_like(sums), where=spread > 0)


def _binned(cell: HostArray, residual: HostArray, n_cells: int, codes: HostArray | None) -> ErrorParts:
    n = residual.size
    sums = np.bincount(cell, residual, n_cells) / n
    spread = np.sqrt(_squares(cell, residual, n_cells, codes)) / n
    seen = _modulus(_standardised(sums, spread))
    bias = MOST_BIAS * float(spread @ seen.near)
    doubtful = int(np.count_nonzero(seen.slope[spread > 0, 1]))
    return ErrorParts(float(spread @ seen.size), seen.slope[cell] * residual[:, None], bias, doubtful)


def _squares(cell: HostArray, residual: HostArray, n_cells: int, codes: HostArray | None) -> HostArray:
    """Return the sum of squared residuals per cell; those of a cluster are added first."""
    if codes is None:
        return np.bincount(cell, residual * residual, n_cells)
    pairs, place = np.unique(codes.astype(np.int64) * n_cells + cell, return_inverse=True)
    added = np.bincount(place.reshape(-1), residual)
    return np.bincount(pairs % n_cells, added * added, n_cells)


# ------------------------------------------------------------------------------------------- the smooth error


def _columns(cell: HostArray, residual: HostArray, n_cells: int) -> list[tuple[HostArray, HostArray]]:
    """Return cell among `_CELLS` and residual of every row, for the confidence or for every class."""
    fine = n_cells // cell.shape[1]
    return [
        ((cell[:, c].astype(np.int64) % fine) * _CELLS // fine, residual[:, c]) for c in range(cell.shape[1])
    ]


@lru_cache(maxsize=32)
def _kernel(step: int) -> HostArray:
    """Return the reflected Gaussian of width 2^(-step / 16) between the centres of cells."""
    width = 2.0 ** (-step / _STEPS)
    waves = np.arange(_CELLS)
    cosines = np.cos(np.pi * ((np.arange(_CELLS) + 0.5) / _CELLS)[:, None] * waves)
    damped = np.where(waves == 0, 1.0, 2.0) * np.exp(-((np.pi * waves * width) ** 2) / 2.0)
    return np.asarray((cosines * damped) @ cosines.T)


class _Smoothed(NamedTuple):
    error: float
    slope: HostArray
    bias: float


def _smooth(cell: HostArray, residual: HostArray, codes: HostArray | None) -> ErrorParts:
    """Return the width that equals its error; smaller errors are those at the narrowest width."""
    n = residual.size
    sums = np.bincount(cell, residual, _CELLS) / n
    table = _cluster_table(cell, residual, codes)
    squares = np.bincount(cell, residual * residual, _CELLS)

    def at(step: int) -> _Smoothed:
        kernel = _kernel(step)
        if table is None:
            spread = np.sqrt((kernel * kernel) @ squares) / n
        else:
            parts = (kernel @ table[rows].T for rows in tiles(len(table), _CLUSTERS))
            spread = np.sqrt(sum((part * part).sum(axis=1) for part in parts)) / n
        seen = _modulus(_standardised(kernel @ sums, spread))
        slope, bias = kernel.T @ seen.slope / _CELLS, MOST_BIAS * float(spread @ seen.near) / _CELLS
        return _Smoothed(float(spread @ seen.size) / _CELLS, slope, bias)

    wide, narrow = 0, _STEPS * int(math.log2(_CELLS) - 1)
    least = at(narrow)
    if least.error <= _width(narrow):
        return ErrorParts(least.error, least.slope[cell] * residual[:, None], least.bias)
    while narrow - wide > 1:
        middle = (wide + narrow) // 2
        if at(middle).error > _width(middle):
            narrow = middle
        else:
            wide = middle
    ends = at(wide), at(narrow)
    fall = min(0.0, (ends[0].error - ends[1].error) / (_width(wide) - _width(narrow)))
    value = (ends[1].error - fall * _width(narrow)) / (1.0 - fall)  # where the line between them meets itself
    near = ends[0] if abs(value - _width(wide)) < abs(value - _width(narrow)) else ends[1]
    influence = near.slope[cell] * residual[:, None] / (1.0 - fall)
    return ErrorParts(value, influence, near.bias / (1.0 - fall))


def _width(step: int) -> float:
    return float(2.0 ** (-step / _STEPS))


def _cluster_table(cell: HostArray, residual: HostArray, codes: HostArray | None) -> HostArray | None:
    """Return sums of residuals per cluster and cell."""
    if codes is None:
        return None
    number = int(codes.max()) + 1
    flat = np.bincount(codes.astype(np.int64) * _CELLS + cell, residual, number * _CELLS)
    return flat.reshape(number, _CELLS)


# ----------------------------------------------------------------------------------------- the truthful error


def _of_walks(bound: WalkBound, data: Dataset) -> ErrorParts:
    parts = []
    for column in bound.columns:
        order, values = to_host(column.order), to_host(column.values).astype(np.float64)
        event = to_host(column.events.contributions(data.batch))[0].astype(np.float64)
        residual = event[order] - values
        n, sums, moments = residual.size, np.cumsum(residual), np.cumsum(residual * values)
        # sum over j of r_j |p_i - p_j|, from the sums over smaller and over larger predictions
        distance = values * (2.0 * sums - sums[-1]) - 2.0 * moments + moments[-1]
        terms = np.empty(n)
        terms[order] = residual * (sums[-1] - distance) / n
        influence = np.stack([2.0 * terms, np.zeros(n)], axis=1)
        parts.append(ErrorParts(float(terms.mean()), influence, 0.0))
    return _of_columns(parts)
