"""Predictions of real numbers by Gaussians, with or without members.

Mixtures of normal distributions: distribution function, density and quantiles.

F(y) = sum_j w_j Phi((y - mu_j) / sigma_j),   w_j = 1/m where no weights are given

The quantile at level p lies between the smallest and the largest member quantile at p. Inside that bracket F
is tabulated with two derivatives at a few nodes per row, inverted there by polynomials, and corrected by
safeguarded Newton steps on F itself; Phi is what costs, and the table spares most of it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_real,
    require_finite,
    require_rows,
    require_same_shape,
    require_shape,
)
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    as_float64,
    clip,
    is_numpy,
    is_torch,
    like,
    namespace,
    ndtr,
    ndtri,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.remembered import remembered
from credibly._arrays.row_search import count_at_most
from credibly.predictions.base import RealPredictions
from credibly.predictions.ensemble import members_second, normalised, refuse_member_axis, used_weights

_NODES = 49

_FRACTIONS = [j / (_NODES - 1) for j in range(_NODES)]

_FEW_LEVELS = 8
"""Below this many levels Newton steps from the middle of the bracket cost less than the table."""

_MOST_STEPS = 200

_EXACT, _ROUNDING = 1e-14, 2.0**-53

_THINNEST = 1e-280

_NARROWEST = 1e-100
"""Width of a member, in widths of the widest, below which it is a step to every number there is."""

_STEEPEST = math.exp(-0.5) / math.sqrt(2.0 * math.pi)
"""Largest slope of the standard normal density, at z = 1."""

_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def over_members(values: Array, weights: Array | None, axis: int = 1) -> Array:
    """Average over the axis of the members, with their weights (m,) where there are some."""
    xp = namespace(values)
    if weights is None:
        return xp.mean(values, axis=axis)
    shape = [1] * values.ndim
    shape[axis] = -1
    return xp.sum(values * xp.reshape(weights, tuple(shape)), axis=axis)


def mixture_cdf(mean: Array, std: Array, values: Array, weights: Array | None = None) -> Array:
    """Return F_i(values[..., i]) of rows of members (n, m) at values (..., n)."""
    total: Any = 0.0
    for j in range(mean.shape[1]):
        own = ndtr((values - mean[:, j]) / std[:, j])
        total = total + (own if weights is None else weights[j] * own)
    return total / mean.shape[1] if weights is None else total


def mixture_quantiles(mean: Array, std: Array, levels: Array, weights: Array | None = None) -> Array:
    """Return the quantiles (n, l) of rows of members (n, m) at levels (l,), as exact as F itself."""
    xp = namespace(mean)
    if is_torch(mean):  # a root is no differentiable expression of its equation
        mean, std = mean.detach(), std.detach()
    mean, std, levels = as_float64(mean), as_float64(std), as_float64(levels)
    if mean.shape[1] == 1:
        return mean + std * ndtri(levels)
    n, width = mean.shape[0], max(_NODES, levels.shape[0])
    step = CACHE_ELEMENTS // width if is_numpy(mean) else rows_within_budget(8 * 16 * width)
    made = [_invert(mean[rows, :], std[rows, :], levels, weights) for rows in tiles(n, step)]
    return xp.concat(made, axis=0)


def _invert(mean: Array, std: Array, levels: Array, weights: Array | None) -> Array:
    """Return quantiles of some rows, in units of the row: squares of its widths then stay in range."""
    xp = namespace(mean)
    unit = xp.max(std, axis=1, keepdims=True)
    std = xp.maximum(std / unit, xp.full_like(std, _NARROWEST))
    return unit * _invert_scaled(mean / unit, std, levels, weights)


def _invert_scaled(mean: Array, std: Array, levels: Array, weights: Array | None) -> Array:
    xp = namespace(mean)
    normal = ndtri(levels)
    low = high = mean[:, :1] + std[:, :1] * normal
    for j in range(1, mean.shape[1]):
        own = mean[:, j : j + 1] + std[:, j : j + 1] * normal
        low, high = xp.minimum(low, own), xp.maximum(high, own)
    target = xp.zeros_like(low) + levels
    if levels.shape[0] < _FEW_LEVELS:
        return _solve(mean, std, low, high, target, 0.5 * low + 0.5 * high, weights)
    nodes = like(_FRACTIONS, mean, mean.dtype) * (xp.max(high, axis=1) - xp.min(low, axis=1))[:, None]
    nodes = nodes + xp.min(low, axis=1)[:, None]
    table = _rising(mean, std, nodes, weights, slopes=True)
    # the first node is at or below every bracket, the last at or above
    cell = clip(count_at_most(table[0], target.T).T, 1, _NODES - 1)
    left, right = xp.take_along_axis(nodes, cell - 1, axis=1), xp.take_along_axis(nodes, cell, axis=1)
    # rounding may put a root on the other side of a node that nearly coincides with it
    low = xp.minimum(xp.maximum(low, left), high)
    high = xp.maximum(xp.minimum(high, right), low)
    ends = [
        (xp.take_along_axis(one, cell - 1, axis=1), xp.take_along_axis(one, cell, axis=1)) for one in table
    ]
    start = _solve_polynomial(ends, left, right, low, high, target)
    return _solve(mean, std, low, high, target, start, weights)


def _rising(
    mean: Array, std: Array, values: Array, weights: Array | None, *, slopes: bool = False
) -> tuple[Array, ...]:
    """Return F, its density and, of `slopes`, the slope of the density at values (n, l)."""
    xp = namespace(mean)
    sums: list[Any] = [0.0] * (2 + slopes)
    for j in range(mean.shape[1]):
        inverse = 1.0 / std[:, j : j + 1]
        z = (values - mean[:, j : j + 1]) * inverse
        height = xp.exp(-0.5 * z * z) * inverse
        own = [ndtr(z), height, *([-z * height * inverse] if slopes else [])]
        parts = own if weights is None else [weights[j] * part for part in own]
        sums = [total + part for total, part in zip(sums, parts, strict=True)]
    number = mean.shape[1] if weights is None else 1.0
    return sums[0] / number, *(one * (_DENSITY / number) for one in sums[1:])


def _solve_polynomial(
    ends: list[tuple[Array, Array]], left: Array, right: Array, low: Array, high: Array, target: Array
) -> Array:
    """Return where the quintic through value, slope and curvature at both ends of a cell meets `target`."""
    xp = namespace(left)
    h = right - left
    (f0, f1), (d0, d1), (c0, c1) = ends
    d0, d1, c0, c1 = d0 * h, d1 * h, c0 * h * h, c1 * h * h
    rise, half = f1 - f0 - d0 - 0.5 * c0, 0.5 * (c1 - c0)
    bend = d1 - d0 - c0
    a3 = 10.0 * rise - 4.0 * bend + half
    a4 = -15.0 * rise + 7.0 * bend - 2.0 * half
    a5 = 6.0 * rise - 3.0 * bend + half
    x = (target - f0) / xp.where(f1 > f0, f1 - f0, xp.ones_like(f0))
    for _ in range(4):
        value = f0 + x * (d0 + x * (0.5 * c0 + x * (a3 + x * (a4 + x * a5))))
        slope = d0 + x * (c0 + x * (3.0 * a3 + x * (4.0 * a4 + x * 5.0 * a5)))
        x = clip(x - (value - target) / xp.where(slope > 0, slope, xp.ones_like(slope)), 0.0, 1.0)
    return clip(left + x * h, low, high)


def _solve(
    mean: Array,
    std: Array,
    low: Array,
    high: Array,
    target: Array,
    start: Array,
    weights: Array | None,
) -> Array:
    """Return the root of F = target inside [low, high]: Newton steps, bisection where they leave it."""
    xp = namespace(mean)
    # |F''| is nowhere larger than c, so a Newton step h leaves an error of at most c h^2 / 2
    curvature = _STEEPEST * over_members(1.0 / (std * std), weights)[:, None]
    short = xp.sqrt(2.0 * _EXACT / curvature)
    x = start
    for _ in range(_MOST_STEPS):
        value, density = _rising(mean, std, x, weights)
        error = value - target
        low, high = xp.where(error <= 0, x, low), xp.where(error >= 0, x, high)
        usable = density > _THINNEST * xp.abs(error)
        step = xp.where(usable, error, xp.zeros_like(error)) / xp.where(
            usable, density, xp.ones_like(density)
        )
        newton = x - step
        inside = usable & (newton >= low) & (newton <= high)
        x = xp.where(inside, newton, 0.5 * low + 0.5 * high)
        settled = (inside & (xp.abs(step) <= short)) | (xp.abs(error) <= _ROUNDING)
        settled = settled | (high - low <= 4.0 * _ROUNDING * xp.maximum(xp.abs(low), xp.abs(high)))
        count = int(xp.sum(xp.astype(~settled, xp.int64)))
        if not count:
            return x
        if 4 * count < math.prod(x.shape):  # few are left: go on with these alone
            return _solve_few(mean, std, low, high, target, x, ~settled, weights)
    return x


def _solve_few(
    mean: Array,
    std: Array,
    low: Array,
    high: Array,
    target: Array,
    x: Array,
    open_: Array,
    weights: Array | None,
) -> Array:
    xp = namespace(mean)
    rows, columns = xp.nonzero(open_)
    flat = rows * x.shape[1] + columns

    def chosen(values: Array) -> Array:
        return xp.take(xp.reshape(values, (-1,)), flat)[:, None]

    found = _solve(
        xp.take(mean, rows, axis=0),
        xp.take(std, rows, axis=0),
        chosen(low),
        chosen(high),
        chosen(target),
        chosen(x),
        weights,
    )
    # positions of the chosen among all, so that no array is written to
    place = xp.reshape(xp.cumulative_sum(xp.astype(xp.reshape(open_, (-1,)), xp.int64)) - 1, x.shape)
    spread = xp.reshape(xp.take(found[:, 0], xp.reshape(clip(place, 0, None), (-1,))), x.shape)
    return xp.where(open_, spread, x)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Gaussian(RealPredictions):
    """A normal distribution per instance, or one per instance and member.

    Parameters
    ----------
    mean : array (n,) or (n, m)
        Means.
    std : array (n,) or (n, m)
        Standard deviations (not variances), positive.
    member_axis : {0, 1}, optional
        Where the members are: 1 (the default) for (n, m), 0 for (m, n). Required if there are as many members
        as instances, because the shape then does not show the order.
    weights : array (m,), optional
        Weights of the members, non-negative and summing to 1. Default: equal weights. Members of weight 0 are
        left out.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Gaussian([0.0, 1.0], [1.0, 0.5])
    Gaussian(n=2, m=1, dtype=float64)
    """

    mean: Array
    std: Array
    member_axis: dataclasses.InitVar[int | None] = None
    weights: Array | None = None
    row_fields: ClassVar[tuple[str, ...]] = ("mean", "std")

    def __post_init__(self, member_axis: int | None) -> None:
        mean, std = as_real(self.mean, "mean"), as_real(self.std, "std")
        namespace(mean, std, what="`mean` and `std`")
        require_shape(mean, "mean", ("(n,)", "(n, m)"))
        require_same_shape(mean, std, ("mean", "std"))
        if mean.ndim == 2:
            mean, std = (members_second(part, "mean", member_axis, "(n, m)") for part in (mean, std))
        elif member_axis is not None:
            refuse_member_axis(mean, "mean", member_axis)
        require_finite(mean, "mean")
        require_finite(std, "std")
        require_rows(
            (std,),
            lambda block: block <= 0,
            name="std",
            rule="must be positive",
            fact=lambda row: f"holds {np.min(row):.6g}",
            remedy="Drop these rows, or give standard deviations instead of log-variances.",
        )
        weights, kept, notes = used_weights(self.weights, mean, 2)
        if kept is not None:
            mean, std = (namespace(part).take(part, kept, axis=1) for part in (mean, std))
        self._set(mean=mean, std=std, weights=weights, notes=notes)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return int(self.mean.shape[1]) if self.mean.ndim == 2 else 1

    def members(self) -> tuple[Array, Array]:
        """Return means and standard deviations as (n, m), double precision."""
        mean, std = as_float64(self.mean), as_float64(self.std)
        return (mean, std) if mean.ndim == 2 else (mean[:, None], std[:, None])

    @property
    def shares(self) -> Array | None:
        """The weights of the members, (m,), double precision, summing to 1; None if all are equal."""
        return normalised(self.weights)

    def _cdf(self, values: Array) -> Array:
        return mixture_cdf(*self.members(), values, self.shares)

    def quantile(self, levels: Any) -> Array:
        """Return quantiles of the mixture of the members.

        Parameters
        ----------
        levels : array (l,)
            Strictly between 0 and 1.

        Returns
        -------
        array (n, l)
            Quantiles, without a graph.

        Examples
        --------
        >>> import credibly as cr
        >>> cr.Gaussian([2.0], [1.0]).quantile([0.5])
        array([[2.]])
        """
        wanted = self._levels(levels)
        if self.n_members == 1:
            return mixture_quantiles(*self.members(), wanted)
        key = (self, tuple(to_host(wanted).tolist()))
        return remembered(key, lambda: (mixture_quantiles(*self.members(), wanted, self.shares),))[0]

    def expectation(self) -> Array:
        """Return the mean of the mixture, (n,)."""
        return over_members(self.members()[0], self.shares)

    def _facts(self) -> str:
        return f"n={len(self)}, m={self.n_members}{', weighted' * (self.weights is not None)}"
