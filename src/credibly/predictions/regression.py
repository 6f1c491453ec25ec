"""Predictions of real numbers: Gaussians, samples, quantiles, with or without members."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from credibly._arrays.checks import (
    as_real,
    require_finite,
    require_rows,
    require_same_shape,
    require_shape,
)
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, beside, namespace, to_host
from credibly.predictions.base import Predictions


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Predictions):
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

    def _facts(self) -> str:
        return f"n={len(self)}, m={self.n_members}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Samples(Predictions):
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

    def _facts(self) -> str:
        return f"n={len(self)}, m={self.n_members}, s={self.values.shape[-1]}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Quantiles(Predictions):
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

    def _facts(self) -> str:
        return f"n={len(self)}, q={self.values.shape[1]}"
