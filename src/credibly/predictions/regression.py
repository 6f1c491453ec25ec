"""Predictions of real numbers by Gaussians and samples, with or without members."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_real,
    require_finite,
    require_rows,
    require_same_shape,
    require_shape,
)
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly._arrays.row_search import count_at_most
from credibly.predictions.base import RealPredictions
from credibly.predictions.mixtures import mixture_cdf, mixture_quantiles


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Gaussian(RealPredictions):
    """A normal distribution per instance, or one per instance and member.

    Parameters
    ----------
    mean : array (n,) or (n, m)
        Means.
    std : array (n,) or (n, m)
        Standard deviations (not variances), positive.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Gaussian([0.0, 1.0], [1.0, 0.5])
    Gaussian(n=2, m=1, dtype=float64)
    """

    mean: Array
    std: Array
    row_fields: ClassVar[tuple[str, ...]] = ("mean", "std")

    def __post_init__(self) -> None:
        mean, std = as_real(self.mean, "mean"), as_real(self.std, "std")
        namespace(mean, std, what="`mean` and `std`")
        require_shape(mean, "mean", ("(n,)", "(n, m)"))
        require_same_shape(mean, std, ("mean", "std"))
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
        self._set(mean=mean, std=std)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return int(self.mean.shape[1]) if self.mean.ndim == 2 else 1

    def members(self) -> tuple[Array, Array]:
        """Return means and standard deviations as (n, m), double precision."""
        mean, std = as_float64(self.mean), as_float64(self.std)
        return (mean, std) if mean.ndim == 2 else (mean[:, None], std[:, None])

    def cdf(self, values: Any) -> Array:
        """Return the probability of at most `values` under the mixture of the members.

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
        >>> import credibly as cr
        >>> cr.Gaussian([[-1.0, 1.0]], [[0.5, 0.5]]).cdf([0.0])
        array([0.5])
        """
        return mixture_cdf(*self.members(), self._values(values))

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
        return mixture_quantiles(*self.members(), self._levels(levels))

    def expectation(self) -> Array:
        """Return the mean of the mixture, (n,)."""
        mean, _ = self.members()
        return namespace(mean).mean(mean, axis=1)

    def _facts(self) -> str:
        return f"n={len(self)}, m={self.n_members}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Samples(RealPredictions):
    """Draws from the predictive distribution of every instance, or of every instance and member.

    Parameters
    ----------
    values : array (n, s) or (n, m, s)
        Draws, finite.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Samples([[0.1, 0.2, 0.4]])
    Samples(n=1, m=1, s=3, dtype=float64)
    """

    values: Array
    row_fields: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self) -> None:
        values = as_real(self.values, "values")
        require_shape(values, "values", ("(n, s)", "(n, m, s)"))
        require_finite(values, "values")
        self._set(values=values)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return int(self.values.shape[1]) if self.values.ndim == 3 else 1

    def pooled(self) -> Array:
        """Return the draws of all members in order, (n, m s), double precision."""
        xp = namespace(self.values)
        return xp.sort(xp.reshape(as_float64(self.values), (len(self), -1)), axis=1)

    def cdf(self, values: Any) -> Array:
        """Return the share of draws that are at most `values`.

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
        >>> import credibly as cr
        >>> cr.Samples([[1.0, 2.0, 3.0, 4.0]]).cdf([3.5])
        array([0.75])
        """
        given, draws = self._values(values), self.pooled()
        xp = namespace(draws)
        counts = count_at_most(draws, xp.reshape(given, (-1, len(self))))
        return xp.reshape(xp.astype(counts, xp.float64) / draws.shape[1], given.shape)

    def quantile(self, levels: Any) -> Array:
        """Return the smallest draws whose share of draws at most as large reaches the levels.

        Parameters
        ----------
        levels : array (l,)
            Strictly between 0 and 1.

        Returns
        -------
        array (n, l)
            Draws of each instance.

        Examples
        --------
        >>> import credibly as cr
        >>> cr.Samples([[4.0, 1.0, 3.0, 2.0]]).quantile([0.5, 0.75])
        array([[2., 3.]])
        """
        wanted, draws = self._levels(levels), self.pooled()
        xp = namespace(draws)
        # 0.7 * 10 is a little more than 7
        rank = xp.ceil(wanted * draws.shape[1] * (1.0 - 4e-16))
        return xp.take(draws, xp.astype(rank, xp.int64) - 1, axis=1)

    def expectation(self) -> Array:
        """Return the mean of all draws, (n,)."""
        xp = namespace(self.values)
        return xp.mean(as_float64(self.values), axis=tuple(range(1, self.values.ndim)))

    def _facts(self) -> str:
        return f"n={len(self)}, m={self.n_members}, s={self.values.shape[-1]}"
