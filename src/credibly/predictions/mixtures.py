"""Mixtures of normal distributions with equal weights: distribution function, density and quantiles.

F(y) = 1/m sum_j Phi((y - mu_j) / sigma_j)

The quantile at level p lies between the smallest and the largest member quantile at p. Inside that bracket F
is tabulated with two derivatives at a few nodes per row, inverted there by polynomials, and corrected by
safeguarded Newton steps on F itself; Phi is what costs, and the table spares most of it.
"""

from __future__ import annotations

import math
from typing import Any

from credibly._arrays.namespace import Array, as_float64, is_numpy, is_torch, like, namespace
from credibly._arrays.row_search import count_at_most
from credibly._arrays.special import ndtr, ndtri
from credibly._arrays.tiles import CACHE_ELEMENTS, rows_within_budget, tiles

_NODES = 33
_MOST_STEPS = 200
_EXACT, _ROUNDING = 1e-14, 2.0**-53
_THINNEST = 1e-280
_STEEPEST = math.exp(-0.5) / math.sqrt(2.0 * math.pi)
"""Largest slope of the standard normal density, at z = 1."""
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def mixture_cdf(mean: Array, std: Array, values: Array) -> Array:
    """Return F_i(values[..., i]) of rows of members (n, m) at values (..., n)."""
    total: Any = 0.0
    for j in range(mean.shape[1]):
        total = total + ndtr((values - mean[:, j]) / std[:, j])
    return total / mean.shape[1]


def mixture_quantiles(mean: Array, std: Array, levels: Array) -> Array:
    """Return the quantiles (n, l) of rows of members (n, m) at levels (l,), as exact as F itself."""
    xp = namespace(mean)
    if is_torch(mean):  # a root is no differentiable expression of its equation
        mean, std = mean.detach(), std.detach()
    mean, std, levels = as_float64(mean), as_float64(std), as_float64(levels)
    if mean.shape[1] == 1:
        return mean + std * ndtri(levels)
    n, width = mean.shape[0], max(_NODES, levels.shape[0])
    step = CACHE_ELEMENTS // width if is_numpy(mean) else rows_within_budget(8 * 16 * width)
    return xp.concat([_invert(mean[rows, :], std[rows, :], levels) for rows in tiles(n, step)], axis=0)


def _invert(mean: Array, std: Array, levels: Array) -> Array:
    xp = namespace(mean)
    normal = ndtri(levels)
    low = high = mean[:, :1] + std[:, :1] * normal
    for j in range(1, mean.shape[1]):
        own = mean[:, j : j + 1] + std[:, j : j + 1] * normal
        low, high = xp.minimum(low, own), xp.maximum(high, own)
    target = xp.zeros_like(low) + levels
    nodes = like(_fractions(), mean) * (xp.max(high, axis=1) - xp.min(low, axis=1))[:, None]
    nodes = nodes + xp.min(low, axis=1)[:, None]
    table = (*_two(mean, std, nodes), _density_slopes(mean, std, nodes))
    # the first node is at or below every bracket, the last at or above
    cell = xp.clip(count_at_most(table[0], target.T).T, 1, _NODES - 1)
    left, right = xp.take_along_axis(nodes, cell - 1, axis=1), xp.take_along_axis(nodes, cell, axis=1)
    # rounding may put a root on the other side of a node that nearly coincides with it
    low = xp.minimum(xp.maximum(low, left), high)
    high = xp.maximum(xp.minimum(high, right), low)
    ends = [
        (xp.take_along_axis(one, cell - 1, axis=1), xp.take_along_axis(one, cell, axis=1)) for one in table
    ]
    start = _solve_polynomial(ends, left, right, low, high, target)
    return _solve(mean, std, low, high, target, start)


def _fractions() -> list[float]:
    return [j / (_NODES - 1) for j in range(_NODES)]


def _two(mean: Array, std: Array, values: Array) -> tuple[Array, Array]:
    """Return F and its density at values (n, l)."""
    xp = namespace(mean)
    total = density = xp.zeros_like(values)
    for j in range(mean.shape[1]):
        inverse = 1.0 / std[:, j : j + 1]
        z = (values - mean[:, j : j + 1]) * inverse
        total = total + ndtr(z)
        density = density + xp.exp(-0.5 * z * z) * inverse
    return total / mean.shape[1], density * (_DENSITY / mean.shape[1])


def _density_slopes(mean: Array, std: Array, values: Array) -> Array:
    """Return the slope of the density at values (n, l)."""
    xp = namespace(mean)
    slope = xp.zeros_like(values)
    for j in range(mean.shape[1]):
        inverse = 1.0 / std[:, j : j + 1]
        z = (values - mean[:, j : j + 1]) * inverse
        slope = slope - z * xp.exp(-0.5 * z * z) * inverse * inverse
    return slope * (_DENSITY / mean.shape[1])


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
        x = xp.clip(x - (value - target) / xp.where(slope > 0, slope, xp.ones_like(slope)), 0.0, 1.0)
    return xp.clip(left + x * h, low, high)


def _solve(mean: Array, std: Array, low: Array, high: Array, target: Array, start: Array) -> Array:
    """Return the root of F = target inside [low, high]: Newton steps, bisection where they leave it."""
    xp = namespace(mean)
    # |F''| is nowhere larger than c, so a Newton step h leaves an error of at most c h^2 / 2
    curvature = _STEEPEST * xp.mean(1.0 / (std * std), axis=1, keepdims=True)
    short = xp.sqrt(2.0 * _EXACT / curvature)
    x = start
    for _ in range(_MOST_STEPS):
        value, density = _two(mean, std, x)
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
            return _solve_few(mean, std, low, high, target, x, ~settled)
    return x


def _solve_few(
    mean: Array, std: Array, low: Array, high: Array, target: Array, x: Array, open_: Array
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
    )
    # positions of the chosen among all, so that no array is written to
    place = xp.reshape(xp.cumulative_sum(xp.astype(xp.reshape(open_, (-1,)), xp.int64)) - 1, x.shape)
    spread = xp.reshape(xp.take(found[:, 0], xp.reshape(xp.clip(place, 0, None), (-1,))), x.shape)
    return xp.where(open_, spread, x)
