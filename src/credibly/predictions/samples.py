"""Predictions of real numbers by draws, with or without members.

F(y) = 1/s sum_k 1[x_k <= y]
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

from credibly._arrays.checks import as_real, require_finite
from credibly._arrays.namespace import Array, as_float64, device, namespace
from credibly._arrays.row_search import count_at_most
from credibly.predictions.base import Predictions, RealPredictions
from credibly.predictions.ensemble import members_second

_ROUNDING = 1e-15


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Samples(RealPredictions):
    """Draws from the predictive distribution of every instance, or of every instance and member.

    Parameters
    ----------
    values : array (n, s) or (n, m, s)
        Draws, finite. Any number works: tests pool each label with its draws and are exact even for one draw.
    member_axis : {0, 1}, optional
        Where the members are, or the draws if there are no members: 1 (the default) for (n, m, s) and
        (n, s), 0 for (m, n, s) and (s, n). Required if there are as many of them as instances, because the
        shape then does not show the order.

    Notes
    -----
    Draws for an instance are independent draws from one distribution, and their order carries no information.
    In (n, m, s), member j drew ``values[:, j, :]``; with s = 1 a member is one joint draw of all labels, as a
    posterior predictive distribution stores them. All draws count alike: tests exchange a label with its
    draws, and only draws of equal weight can be exchanged.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Samples([[0.1, 0.2, 0.4]])
    Samples(n=1, m=1, s=3, dtype=float64)
    """

    values: Array
    member_axis: dataclasses.InitVar[int | None] = None
    row_fields: ClassVar[tuple[str, ...]] = ("values",)
    axes_with_members: ClassVar[int] = 3

    def __post_init__(self, member_axis: int | None) -> None:
        values = as_real(self.values, "values", "(n, s)", "(n, m, s)")
        shape = "(n, s)" if values.ndim == 2 else "(n, m, s)"
        values = members_second(values, "values", member_axis, shape)
        require_finite(values, "values")
        self._set(values=values)

    @property
    def n_draws(self) -> int:
        """Number of draws per instance, over all members."""
        return math.prod(self.values.shape[1:])

    @property
    def n_exchanged(self) -> int:
        """Number of draws that a label can be exchanged with: of one member, or of all."""
        several = self.values.ndim == 3 and self.values.shape[2] > 1
        return int(self.values.shape[-1]) if several else self.n_draws

    def flat(self) -> Array:
        """Return the draws of all members, (n, m s), double precision."""
        return namespace(self.values).reshape(as_float64(self.values), (len(self), -1))

    def pooled(self) -> Array:
        """Return the draws of all members in order, (n, m s), double precision."""
        return self.once("pooled", lambda: namespace(self.values).sort(self.flat(), axis=1))

    def share_below(self, values: Array, *, strict: bool = False) -> Array:
        """Return the share of draws at most (or below) values (b, n), (b, n)."""
        draws = self.pooled()
        counts = count_at_most(draws, values, strict=strict)
        return namespace(draws).astype(counts, draws.dtype) / draws.shape[1]

    def _cdf(self, values: Array) -> Array:
        return self.share_below(values)

    def quantile(self, levels: Any) -> Array:
        """Return, for each level, the smallest draw such that the share of draws up to it reaches the level.

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
        new_levels, draws = self._levels(levels), self.pooled()
        return namespace(draws).take(draws, _ranks(new_levels, draws.shape[1]), axis=1)

    def expectation(self) -> Array:
        """Return the mean of all draws, (n,)."""
        draws, xp = self.flat(), namespace(self.values)
        return xp.where(self._equal(), draws[:, 0], xp.mean(draws, axis=1))

    def variance(self) -> Array:
        """Return the unbiased variance of the draws, (n,): squares over s - 1."""
        draws, xp = self.flat(), namespace(self.values)
        square = xp.mean((draws - self.expectation()[:, None]) ** 2, axis=1)
        return xp.where(self._equal(), xp.zeros_like(square), square) / (1.0 - 1.0 / self.n_draws)

    def _equal(self) -> Array:
        """Tell whether all draws of an instance are equal, (n,): their rounded mean may differ from them."""
        draws, xp = self.flat(), namespace(self.values)
        alike = draws[:, 0] == draws[:, -1]
        return xp.all(draws == draws[:, :1], axis=1) if xp.any(alike) else alike

    def _facts(self) -> str:
        return f"n={len(self)}, m={self.n_members}, s={self.values.shape[-1]}"


def _ranks(levels: Array, n_draws: int) -> Array:
    """Return the places, from 0, of the quantiles at `levels` among sorted draws."""
    xp = namespace(levels)
    # 0.7 * 10 is a little more than 7
    return xp.astype(xp.ceil(levels * n_draws * (1.0 - 4e-16)), xp.int64) - 1


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Pool(Predictions):
    """The label of every instance and its draws, of which a replicate chooses one as the label.

    Attributes
    ----------
    values : array (n, p)
        The label, then the draws in their order.
    shape : tuple of int
        Of the draws of an instance: (s,) or (m, s).
    moved : array (n, p) or None
        What is observed where a number is chosen, where that is not the number itself.
    """

    values: Array
    shape: tuple[int, ...]
    moved: Array | None = None
    row_fields: ClassVar[tuple[str, ...]] = ("values",)
    companions: ClassVar[tuple[str, ...]] = ("moved",)

    @property
    def labels(self) -> Array:
        """What is observed where a number is chosen, (n, p)."""
        return self.values if self.moved is None else self.moved

    def samples(self, choice: Array | None = None) -> Samples:
        """Return the draws that a choice (n,) leaves: the label has taken the place of the chosen one."""
        xp = namespace(self.values)
        draws = self.values[:, 1:]
        if choice is not None:
            at = xp.arange(1, self.values.shape[1], dtype=choice.dtype, device=device(self.values))
            draws = xp.where(at[None, :] == choice[:, None], self.values[:, :1], draws)
        result = object.__new__(Samples)
        result._set(values=xp.reshape(draws, (len(self), *self.shape)), notes=self.notes)
        return result


class LeftOut(Samples):
    """Draws of every instance without one of them, for each of them in turn: n p predictions of p - 1 draws.

    Prediction i p + j holds the numbers of row i of the pool but number j. Quantiles and means follow from
    the sorted row and its sum, so that all p predictions of a row cost little more than one.

    Parameters
    ----------
    pool : array (n, p)
        Numbers of every instance, double precision.
    """

    def __init__(self, pool: Array) -> None:
        xp = namespace(pool)
        self._set(pool=pool, ordered=xp.sort(pool, axis=1), notes=())

    pool: Array
    ordered: Array

    @property
    def _leading(self) -> Array:
        return self.pool

    def __len__(self) -> int:
        return int(self.pool.shape[0] * self.pool.shape[1])

    @property
    def values(self) -> Array:
        """The draws of every prediction, (n p, p - 1)."""
        return self.pooled()

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return int(self.pool.shape[1] - 1)

    n_exchanged = n_draws

    def pooled(self) -> Array:
        """Return the draws of every prediction in order, (n p, p - 1)."""
        p = self.pool.shape[1]
        xp = namespace(self.pool)
        return self._at(xp.arange(p - 1, dtype=xp.int64, device=device(self.pool)))

    def quantile(self, levels: Any) -> Array:
        """Return the quantiles of every prediction, (n p, l)."""
        return self._at(_ranks(self._levels(levels), self.pool.shape[1] - 1))

    def expectation(self) -> Array:
        """Return the mean of every prediction, (n p,)."""
        xp = namespace(self.pool)
        p = self.pool.shape[1]
        centre = self.ordered[:, p // 2][:, None]  # the sum loses fewer digits around it
        away = self.pool - centre
        mean = centre + (xp.sum(away, axis=1, keepdims=True) - away) / (p - 1)
        return xp.reshape(mean, (-1,))

    def variance(self) -> Array:
        """Return the unbiased variance of every prediction, (n p,)."""
        xp = namespace(self.pool)
        p = self.pool.shape[1]
        away = self.pool - xp.mean(self.pool, axis=1, keepdims=True)
        # without number j the mean moves by a_j / (p - 1), and the sum of squares loses a_j^2 p / (p - 1)
        every = xp.sum(away * away, axis=1, keepdims=True)
        squares = every - away * away * (p / (p - 1))
        # less than rounding leaves counts as nothing, or z-scores would overflow
        squares = xp.maximum(squares, _ROUNDING * every)
        low, high = self.ordered[:, :1], self.ordered[:, -1:]
        least = xp.where(self.pool == low, self.ordered[:, 1:2], low)
        most = xp.where(self.pool == high, self.ordered[:, -2:-1], high)
        squares = xp.where(least == most, xp.zeros_like(squares), squares)
        return xp.reshape(squares / (p - 2), (-1,))

    def below(self) -> Array:
        """Return how many numbers of its row are below each number of the pool, (n, p)."""
        return count_at_most(self.ordered, self.pool.T, strict=True).T

    def _at(self, ranks: Array) -> Array:
        """Return the draws at places `ranks` (l,) of every prediction, (n p, l)."""
        xp = namespace(self.pool)
        n, p = self.pool.shape
        # equal numbers leave the same draws, so the first of them may be the one that is left out
        place = ranks[None, None, :] + xp.astype(ranks[None, None, :] >= self.below()[:, :, None], xp.int64)
        draws = xp.take_along_axis(self.ordered, xp.reshape(place, (n, -1)), axis=1)
        return xp.reshape(draws, (n * p, ranks.shape[0]))
