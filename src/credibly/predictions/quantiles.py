"""Predictions of real numbers by their quantiles at common levels."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import as_real, require_finite, require_rows, require_shape
from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import Array, as_float64, beside, like, namespace, to_host
from credibly.predictions.base import RealPredictions
from credibly.predictions.quantile_tables import table_cdf, table_mean, table_quantiles

DENSE = 0.05
"""Widest gap between levels (0 and 1 included) at which quantiles say enough to interpolate and draw."""
_SAME_LEVEL = 1e-9


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Quantiles(RealPredictions):
    """Quantiles of the predictive distribution at common levels.

    Parameters
    ----------
    values : array (n, q)
        Quantiles, not decreasing along the levels.
    levels : array (q,)
        Strictly increasing, between 0 and 1.

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
        values, levels = as_real(self.values, "values"), as_real(self.levels, "levels")
        levels = beside(levels, self.levels, values, what="`values` and `levels`")
        require_shape(values, "values", ("(n, q)",))
        require_shape(levels, "levels", ("(q,)",))
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
                "Sort the levels and the columns of `values` together.",
            )
        require_rows(
            (values,),
            lambda block: block[:, 1:] < block[:, :-1],
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
        return bool(np.diff(heights, prepend=0.0, append=1.0).max() <= DENSE + _SAME_LEVEL)

    def cdf(self, values: Any) -> Array:
        """Return the probability of at most `values`, linear between dense quantiles.

        Parameters
        ----------
        values : array (n,) or (b, n)
            One value per instance.

        Returns
        -------
        array
            Probabilities, in the shape of `values`.

        Examples
        --------
        >>> import numpy as np
        >>> import credibly as cr
        >>> levels = np.arange(1, 20) / 20
        >>> cr.Quantiles([10 * levels], levels).cdf([2.25])
        array([0.225])
        """
        given = self._values(values)
        self._require_dense("a distribution function")
        xp = namespace(given)
        table, levels = as_float64(self.values), as_float64(self.levels)
        return xp.reshape(table_cdf(table, levels, xp.reshape(given, (-1, len(self)))), given.shape)

    def quantile(self, levels: Any) -> Array:
        """Return quantiles: the given ones, and what lies between them where they are dense.

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
        wanted = self._levels(levels)
        own, asked = to_host(as_float64(self.levels)), to_host(wanted)
        nearest = np.abs(own[None, :] - asked[:, None]).argmin(axis=1)
        known = np.abs(own[nearest] - asked) <= _SAME_LEVEL
        table = as_float64(self.values)
        xp = namespace(table)
        given = xp.take(table, like(nearest, table), axis=1)
        if known.all():
            return given
        self._require_dense(f"the quantile at level {asked[~known][0]:g}")
        return xp.where(like(known, table), given, table_quantiles(table, as_float64(self.levels), wanted))

    def expectation(self) -> Array:
        """Return the mean, (n,), where the quantiles are dense."""
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
            "Predict more quantiles, or use what these say: `picp` and `quantile_calibration_error`.",
        )

    def _facts(self) -> str:
        return f"n={len(self)}, q={self.values.shape[1]}"
