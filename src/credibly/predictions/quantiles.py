"""Predictions of real numbers by their quantiles at common levels.

Between them distribution functions are straight lines, beyond them the tails are exponential:

Q(u) = v_j + t (v_{j+1} - v_j)          where the cell j and the position t depend on u and the levels only

Inside, t = (u - l_j) / (l_{j+1} - l_j). Beyond the outermost levels the density falls off exponentially from
its height in the outermost cell, which makes t a logarithm of u.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import as_real, require_finite, require_rows
from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, beside, like, namespace, to_host
from credibly._arrays.row_search import count_at_most
from credibly.predictions.base import RealPredictions


def positions(levels: Array, uniform: Array) -> tuple[Array, Array]:
    """Return the cell and the position in it of uniform numbers strictly between 0 and 1, any shape.

    There are at least two levels: tails are measured by the outermost cells.
    """
    xp = namespace(levels)
    q = levels.shape[0]
    flat = xp.reshape(uniform, (-1,))
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
    return levels[0] / (levels[1] - levels[0]), (1.0 - levels[-1]) / (levels[-1] - levels[-2])


def table_quantiles(table: Array, levels: Array, new_levels: Array) -> Array:
    """Return the quantiles (n, l) of tables (n, q) at the levels `new_levels` (l,)."""
    xp = namespace(table)
    cell, position = positions(levels, new_levels)
    start = xp.take(table, cell, axis=1)
    return start + position * (xp.take(table, cell + 1, axis=1) - start)


def table_cdf(table: Array, levels: Array, values: Array) -> Array:
    """Return F_i(values[:, i]) of tables (n, q), q > 1, at values (b, n)."""
    xp = namespace(table)
    q = table.shape[1]
    cell = xp.clip(count_at_most(table, values) - 1, 0, q - 2)
    start = xp.take_along_axis(table, cell.T, axis=1).T
    width = xp.take_along_axis(table, cell.T + 1, axis=1).T - start
    wide = width > 0
    away = values - start
    # a tail measured by a cell without width holds nothing beyond its end
    far, unit = xp.full_like(away, xp.inf), xp.ones_like(away)
    step = xp.where(away < 0, -far, xp.where(away > 0, far, unit))
    position = xp.where(wide, away / xp.where(wide, width, unit), step)
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


DENSE = 0.05
"""Widest gap between levels (0 and 1 included) at which quantiles say enough to interpolate and draw."""

SAME_LEVEL = 1e-9
"""Levels that differ by no more are the same, up to rounding."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Quantiles(RealPredictions):
    """Quantiles of the predictive distribution at common levels.

    Parameters
    ----------
    values : array (n, q)
        Quantiles, not decreasing along the levels.
    levels : array (q,)
        Strictly increasing, between 0 and 1.

    Notes
    -----
    Quantiles only say how often labels lie between them. Tests that need nothing else are exact for any
    number of levels: `quantile_calibration_error`, `pit_test` and `coverage_curve`, and `picp` if both ends
    of its interval are among the levels. Tests of scores that need the value of a label are refused.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Quantiles([[-1.0, 0.0, 1.5]], [0.1, 0.5, 0.9])
    Quantiles(n=1, q=3, dtype=float64)
    """

    values: Array
    levels: Array
    row_fields: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self) -> None:
        values = as_real(self.values, "values", "(n, q)")
        levels = as_real(self.levels, "levels", "(q,)")
        levels = beside(levels, self.levels, values, what="`values` and `levels`")
        require_finite(values, "values")
        require_finite(levels, "levels")
        heights = to_host(levels)
        if (
            heights.shape[0] != values.shape[1]
            or heights[0] <= 0
            or heights[-1] >= 1
            or (np.diff(heights) <= 0).any()
        ):
            raise InputError(
                "`levels`",
                f"must be {values.shape[1]} strictly increasing numbers between 0 and 1",
                f"got {heights.shape[0]} numbers from {heights.min():.6g} to {heights.max():.6g}",
                _remedy_of_levels(heights, values.shape[1]),
            )
        require_rows(
            (values,),
            lambda rows: rows[:, 1:] < rows[:, :-1],
            name="values",
            rule="must not decrease along the levels (crossing quantiles)",
            fact=lambda row: f"falls by {-np.diff(row).min():.6g}",
            remedy="Sort each row on purpose: `numpy.sort(values, axis=1)`.",
        )
        self._set(values=values, levels=levels)

    @property
    def is_dense(self) -> bool:
        """Whether no gap between levels, 0 and 1 included, is wider than 0.05."""
        heights = to_host(as_float64(self.levels))
        return bool(np.diff(heights, prepend=0.0, append=1.0).max() <= DENSE + SAME_LEVEL)

    def _cdf(self, values: Array) -> Array:
        self._require_dense("a distribution function")
        return table_cdf(as_float64(self.values), as_float64(self.levels), values)

    def quantile(self, levels: Any) -> Array:
        """Return quantiles: the given ones, and interpolated ones if these are dense.

        Parameters
        ----------
        levels : array (l,)
            Strictly between 0 and 1; one of `levels` of the prediction unless these are dense.

        Returns
        -------
        array (n, l)
            Quantiles.

        Examples
        --------
        >>> import credibly as cr
        >>> cr.Quantiles([[-1.0, 0.0, 1.5]], [0.1, 0.5, 0.9]).quantile([0.9])
        array([[1.5]])
        """
        new_levels = self._levels(levels)
        heights, new_heights = to_host(as_float64(self.levels)), to_host(new_levels)
        nearest = np.abs(heights[None, :] - new_heights[:, None]).argmin(axis=1)
        known = np.abs(heights[nearest] - new_heights) <= SAME_LEVEL
        table = as_float64(self.values)
        xp = namespace(table)
        exact = xp.take(table, like(nearest, table), axis=1)
        if known.all():
            return exact
        self._require_dense(f"the quantile at level {new_heights[~known][0]:g}")
        return xp.where(
            like(known, table), exact, table_quantiles(table, as_float64(self.levels), new_levels)
        )

    def expectation(self) -> Array:
        """Return the mean, (n,), if the quantiles are dense."""
        self._require_dense("a mean")
        return table_mean(as_float64(self.values), as_float64(self.levels))

    def _require_dense(self, what: str) -> None:
        if self.is_dense:
            return
        heights = to_host(self.levels)
        few = ", ".join(f"{level:g}" for level in heights[:8])
        raise UnsupportedError(
            f"{what} of `Quantiles`",
            f"needs levels at most {DENSE:g} apart, from {DENSE:g} or less to {1 - DENSE:g} or more",
            f"got {heights.size} levels: {few}{', ...' if heights.size > 8 else ''}",
            "Predict more quantiles, or use `quantile_calibration_error`, and `picp` if both ends of its "
            "interval are among these.",
        )

    def _facts(self) -> str:
        return f"n={len(self)}, q={self.values.shape[1]}"


def _remedy_of_levels(levels: HostArray, columns: int) -> str:
    if len(levels) != columns:
        return "Give one level for every column of `values`, in the same order."
    if levels.min() <= 0 or levels.max() >= 1:
        return "Write 0.9 for 90 %, and leave out 0 and 1."
    return "Sort the levels and the columns of `values` together."


def shared_levels(models: Sequence[RealPredictions]) -> HostArray | None:
    """Return the levels by whose quantiles predictions of several kinds can be scored alike.

    Parameters
    ----------
    models : sequence of RealPredictions
        Predictions of the same instances.

    Returns
    -------
    ndarray (q,) or None
        None where none of them, or all with the same levels, are `Quantiles`. Else the levels that those have
        in common; where they have none, and are dense, the levels of the first.
    """
    quantiles = [model for model in models if isinstance(model, Quantiles)]
    heights = [to_host(as_float64(quantile_model.levels)) for quantile_model in quantiles]
    if not heights:
        return None
    shared = heights[0]
    for other in heights[1:]:
        shared = shared[(np.abs(shared[:, None] - other[None, :]) <= SAME_LEVEL).any(axis=1)]
    if len(quantiles) == len(models) and all(len(levels) == len(shared) for levels in heights):
        return None
    if shared.size:
        return shared
    if not all(model.is_dense for model in quantiles):
        raise UnsupportedError(
            "predictions by quantiles",
            "must share a level to be compared, or have levels at most 0.05 apart",
            f"got levels {heights[0][0]:g}, ... and {heights[1][0]:g}, ...",
            "Predict the same levels.",
        )
    return heights[0]


def at_levels(predictions: RealPredictions, levels: HostArray | None) -> RealPredictions:
    """Return the quantiles of predictions at levels; the predictions themselves where `levels` is None."""
    if levels is None:
        return predictions
    level_array = like(levels, predictions._leading)
    quantiles = Quantiles(predictions.quantile(level_array), level_array)
    quantiles._set(notes=predictions.notes)
    return quantiles


def levels_note(levels: HostArray) -> str:
    """Say by what predictions of several kinds were scored."""
    few = "1 level" if len(levels) == 1 else f"{len(levels)} levels"
    return f"all were scored by their quantiles at {few}, which all of them have"


def in_common_terms(models: Sequence[RealPredictions]) -> tuple[list[RealPredictions], str | None]:
    """Bring predictions of several kinds to what all of them say, so that one score means the same of each.

    Parameters
    ----------
    models : sequence of RealPredictions
        Predictions of the same instances.

    Returns
    -------
    models : list of RealPredictions
        As they are, or their quantiles at `shared_levels`.
    note : str or None
        What was done.
    """
    levels = shared_levels(models)
    return [at_levels(model, levels) for model in models], None if levels is None else levels_note(levels)
