"""Predictions of real numbers by draws, with or without members and weights.

F(y) = sum_k w_k 1[x_k <= y],   w_k = 1/s where no weights are given

Weights count as 1 / sum_k w_k^2 draws: that many equal ones would leave means as uncertain.   Kish 1965.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

from credibly._arrays.checks import as_real, require_finite, require_shape
from credibly._arrays.namespace import Array, as_float64, clip, device, namespace, to_host
from credibly._arrays.row_search import count_at_most
from credibly.predictions.base import Predictions, RealPredictions
from credibly.predictions.ensemble import members_second, normalised, used_weights
from credibly.predictions.regression import over_members

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
    weights : array (m,), or (s,) if there are no members, optional
        Weights of the members, or of the draws if there are no members, non-negative and summing to 1.
        Default: equal weights. Those of weight 0 are left out.

    Notes
    -----
    Draws for an instance are independent draws from one distribution, and their order carries no information.
    In (n, m, s), member j drew ``values[:, j, :]``; with s = 1 a member is one joint draw of all labels, as a
    posterior predictive distribution stores them.

    Statistics use weights as they are: a draw with twice the weight is the same as two equal draws. Tests
    exchange labels with draws of equal weight. If members have several draws, the member of each draw is
    chosen by weight; otherwise a test takes 1 / max(weights) of the draws of each row, at random by weight,
    which is exact if these come from one distribution.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Samples([[0.1, 0.2, 0.4]])
    Samples(n=1, m=1, s=3, dtype=float64)
    """

    values: Array
    member_axis: dataclasses.InitVar[int | None] = None
    weights: Array | None = None
    row_fields: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self, member_axis: int | None) -> None:
        values = as_real(self.values, "values")
        require_shape(values, "values", ("(n, s)", "(n, m, s)"))
        shape, what = ("(n, s)", "draws") if values.ndim == 2 else ("(n, m, s)", "members")
        values = members_second(values, "values", member_axis, shape, what)
        require_finite(values, "values")
        weights, kept, notes = used_weights(self.weights, values, values.ndim, what[:-1])
        if kept is not None:
            values = namespace(values).take(values, kept, axis=1)
        self._set(values=values, weights=weights, notes=notes)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return int(self.values.shape[1]) if self.values.ndim == 3 else 1

    @property
    def shares(self) -> Array | None:
        """The weights of all draws, (m s,), double precision, summing to 1; None if all are equal."""
        weights = normalised(self.weights)
        if weights is None or self.values.ndim == 2:
            return weights
        xp, s = namespace(weights), self.values.shape[2]
        return xp.reshape(xp.broadcast_to(weights[:, None] / s, self.values.shape[1:]), (-1,))

    @property
    def n_effective(self) -> float:
        """Number of equal draws that leave means as uncertain as the weighted ones: 1 / sum of shares^2."""
        if self.weights is None:
            return float(math.prod(self.values.shape[1:]))
        return 1.0 / float((to_host(self.shares) ** 2).sum())

    @property
    def n_exchanged(self) -> int:
        """Number of draws of equal weight that a label can be exchanged with: those of one member, or of all.

        Of K draws taken by weight each is taken with probability K w_k, so 1 / max w is the most.
        """
        several = self.values.ndim == 3 and self.values.shape[2] > 1
        if several or self.weights is None:
            return int(self.values.shape[-1] if several else math.prod(self.values.shape[1:]))
        # a third is a little more in single precision
        return int(1.0 / float(to_host(as_float64(self.weights)).max()) + 1e-6)

    def flat(self) -> Array:
        """Return the draws of all members, (n, m s), double precision."""
        return namespace(self.values).reshape(as_float64(self.values), (len(self), -1))

    def pooled(self) -> Array:
        """Return the draws of all members in order, (n, m s), double precision."""
        return namespace(self.values).sort(self.flat(), axis=1)

    def steps(self) -> tuple[Array, Array]:
        """Return the draws in order, and the weights of the first 0, 1, ..., m s of them, (n, m s + 1)."""
        draws, shares = self.flat(), self.shares
        assert shares is not None
        xp = namespace(draws)
        order = xp.argsort(draws, axis=1)
        weight = xp.reshape(xp.take(shares, xp.reshape(order, (-1,))), order.shape)
        reached = xp.concat([xp.zeros_like(weight[:, :1]), xp.cumulative_sum(weight, axis=1)], axis=1)
        return xp.take_along_axis(draws, order, axis=1), reached

    def share_below(self, values: Array, *, strict: bool = False) -> Array:
        """Return the weight of draws at most (or below) values (b, n), (b, n)."""
        if self.weights is None:
            draws = self.pooled()
            counts = count_at_most(draws, values, strict=strict)
            return namespace(draws).astype(counts, draws.dtype) / draws.shape[1]
        draws, reached = self.steps()
        counts = count_at_most(draws, values, strict=strict)
        return namespace(draws).take_along_axis(reached, counts.T, axis=1).T

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
        wanted, xp = self._levels(levels), namespace(self.values)
        if self.weights is None:
            draws = self.pooled()
            return xp.take(draws, _ranks(wanted, draws.shape[1]), axis=1)
        draws, reached = self.steps()
        # sums of weights are a little less, or more, than the level that they reach
        each = (wanted * (1.0 - 1e-12))[:, None] + xp.zeros_like(draws[:, 0])
        ranks = count_at_most(reached[:, 1:], each, strict=True).T
        return xp.take_along_axis(draws, clip(ranks, 0, draws.shape[1] - 1), axis=1)

    def expectation(self) -> Array:
        """Return the mean of all draws, (n,)."""
        return over_members(self.flat(), self.shares)

    def variance(self) -> Array:
        """Return the unbiased variance of the draws, (n,): squares over s - 1, by weight 1 - sum w^2."""
        draws = self.flat()
        square = over_members((draws - self.expectation()[:, None]) ** 2, self.shares)
        return square / (1.0 - 1.0 / self.n_effective)

    def _facts(self) -> str:
        weighted = ", weighted" * (self.weights is not None)
        return f"n={len(self)}, m={self.n_members}, s={self.values.shape[-1]}{weighted}"


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
    shares : array (p - 1,) or None
        Weights of the draws, where they differ: only the label may then be chosen.
    """

    values: Array
    shape: tuple[int, ...]
    moved: Array | None = None
    shares: Array | None = None
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
        made = object.__new__(Samples)
        made._set(values=xp.reshape(draws, (len(self), *self.shape)), notes=self.notes)
        return made


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
    def n_members(self) -> int:
        """One: members are pooled."""
        return 1

    @property
    def values(self) -> Array:
        """The draws of every prediction, (n p, p - 1)."""
        return self.pooled()

    @property
    def n_effective(self) -> float:
        """Number of draws."""
        return float(self.pool.shape[1] - 1)

    @property
    def n_exchanged(self) -> int:
        """Number of draws."""
        return int(self.pool.shape[1] - 1)

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
        # less than rounding leaves cannot be told from nothing, whose z-scores overflow
        return xp.reshape(xp.maximum(squares, _ROUNDING * every) / (p - 2), (-1,))

    def below(self) -> Array:
        """Return how many numbers of its row are below each number of the pool, (n, p)."""
        return count_at_most(self.ordered, self.pool.T, strict=True).T

    def _at(self, ranks: Array) -> Array:
        """Return the draws at places `ranks` (l,) of every prediction, (n p, l)."""
        xp = namespace(self.pool)
        n, p = self.pool.shape
        # equal numbers leave the same draws, so the first of them may be the one that is left out
        place = ranks[None, None, :] + xp.astype(ranks[None, None, :] >= self.below()[:, :, None], xp.int64)
        found = xp.take_along_axis(self.ordered, xp.reshape(place, (n, -1)), axis=1)
        return xp.reshape(found, (n * p, ranks.shape[0]))
