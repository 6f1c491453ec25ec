"""Distributions given by quantiles at common levels: straight lines between them, exponential tails beyond.

Q(u) = v_j + t (v_{j+1} - v_j)          where the cell j and the position t depend on u and the levels only

Inside, t = (u - l_j) / (l_{j+1} - l_j). Beyond the outermost levels the density falls off exponentially from
its height in the outermost cell, which makes t a logarithm of u. Sorted draws are such a table at the levels
j / (s + 1): a new draw falls into each of the s + 1 gaps between s old ones with the same probability.
"""

from __future__ import annotations

from typing import Any

from credibly._arrays.namespace import Array, device, namespace
from credibly._arrays.row_search import count_at_most


def draw_levels(n_draws: int, like_array: Array) -> Array:
    """Return j / (s + 1) for j = 1, ..., s."""
    xp = namespace(like_array)
    return xp.arange(1, n_draws + 1, dtype=xp.float64, device=device(like_array)) / (n_draws + 1)


def positions(levels: Array, uniform: Array) -> tuple[Array, Array]:
    """Return the cell and the position in it of uniform numbers strictly between 0 and 1, any shape.

    With one level there is no cell to measure tails by: every position is 0.
    """
    xp = namespace(levels)
    q = levels.shape[0]
    flat = xp.reshape(uniform, (-1,))
    if q == 1:
        return xp.zeros(uniform.shape, dtype=xp.int64, device=device(levels)), xp.zeros_like(uniform)
    cell = xp.clip(xp.astype(xp.searchsorted(levels, flat, side="right"), xp.int64) - 1, 0, q - 2)
    start, stop = xp.take(levels, cell), xp.take(levels, cell + 1)
    below, above = _tails(levels)
    inside = (flat - start) / (stop - start)
    lower = below * xp.log(xp.minimum(flat, levels[0]) / levels[0])
    upper = 1.0 - above * xp.log(xp.minimum((1.0 - flat) / (1.0 - levels[-1]), xp.ones_like(flat)))
    position = xp.where(flat < levels[0], lower, xp.where(flat > levels[-1], upper, inside))
    return xp.reshape(cell, uniform.shape), xp.reshape(position, uniform.shape)


def _tails(levels: Array) -> tuple[Any, Any]:
    """Return the scale of each tail in widths of the outermost cell."""
    return (
        levels[0] / (levels[1] - levels[0]),
        (1.0 - levels[-1]) / (levels[-1] - levels[-2]),
    )


def table_quantiles(table: Array, levels: Array, wanted: Array) -> Array:
    """Return the quantiles (n, l) of tables (n, q) at the levels `wanted` (l,)."""
    xp = namespace(table)
    cell, position = positions(levels, wanted)
    start = xp.take(table, cell, axis=1)
    if table.shape[1] == 1:
        return start
    return start + position * (xp.take(table, cell + 1, axis=1) - start)


def table_cdf(table: Array, levels: Array, values: Array) -> Array:
    """Return F_i(values[:, i]) of tables (n, q), q > 1, at values (b, n)."""
    xp = namespace(table)
    q = table.shape[1]
    cell = xp.clip(count_at_most(table, values) - 1, 0, q - 2)
    start = xp.take_along_axis(table, cell.T, axis=1).T
    width = xp.take_along_axis(table, cell.T + 1, axis=1).T - start
    wide = width > 0
    position = (values - start) / xp.where(wide, width, xp.ones_like(width))
    # a tail measured by a cell without width holds nothing beyond its end
    step = xp.where(values < start, -xp.inf, xp.where(values > start, xp.inf, 1.0))
    position = xp.where(wide, position, xp.astype(step, position.dtype))
    below, above = _tails(levels)
    flat = xp.reshape(cell, (-1,))
    low, high = xp.take(levels, flat), xp.take(levels, flat + 1)
    low, high = xp.reshape(low, cell.shape), xp.reshape(high, cell.shape)
    inside = low + (high - low) * xp.clip(position, 0.0, 1.0)
    lower = levels[0] * xp.exp(xp.minimum(position, xp.zeros_like(position)) / below)
    beyond = xp.maximum(position - 1.0, xp.zeros_like(position))
    upper = 1.0 - (1.0 - levels[-1]) * xp.exp(-beyond / above)
    return xp.where(position < 0, lower, xp.where(position > 1, upper, inside))


def table_mean(table: Array, levels: Array) -> Array:
    """Return the means (n,) of tables (n, q), q > 1: areas under the quantile functions."""
    xp = namespace(table)
    widths = levels[1:] - levels[:-1]
    inside = xp.sum(0.5 * (table[:, 1:] + table[:, :-1]) * widths, axis=1)
    below, above = _tails(levels)
    lower = table[:, 0] - below * (table[:, 1] - table[:, 0])
    upper = table[:, -1] + above * (table[:, -1] - table[:, -2])
    return inside + levels[0] * lower + (1.0 - levels[-1]) * upper
