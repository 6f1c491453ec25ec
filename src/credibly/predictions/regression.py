"""Predictions of real numbers by Gaussians; with members they are mixtures of normal distributions.

F(y) = sum_j w_j Phi((y - mu_j) / sigma_j),   w_j = 1/m where no weights are given

Weights inside the library are (1, m) if all rows have the same, else (n, m).

The quantile at level p lies between the smallest and the largest member quantile at p, and safeguarded Newton
steps on F find it there. Phi is what costs. For many levels F is tabulated at a few nodes per row, with seven
derivatives, which are made of the density alone. The polynomial of degree 15 through both ends of a cell is F
to 1e-14 wherever a bound on the 16th derivative says so, and is inverted in its place.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

from credibly._arrays.checks import (
    as_real,
    as_two_reals,
    require_distributions,
    require_finite,
    require_positive_entries,
)
from credibly._arrays.errors import InputError, require
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    Array,
    as_float64,
    beside,
    clip,
    concatenated,
    device,
    is_numpy,
    is_torch,
    like,
    namespace,
    ndtr,
    ndtri,
    one_blas_thread,
    put_back,
    rows_within_budget,
    tiles,
    to_host,
)
from credibly._arrays.row_search import count_at_most
from credibly.predictions.base import RealPredictions
from credibly.predictions.ensemble import members_second, normalised, used_weights

_NODES, ORDER = 33, 7
"""Nodes of a row, and derivatives of F known there."""

_PASCAL = [[float(math.comb(j, k)) for j in range(ORDER + 1)] for k in range(ORDER + 1)]
"""From the coefficients of a polynomial around 0 to those around 1."""
_BINOMIAL = [
    [(-1.0) ** (k - j) * math.comb(ORDER + k - j, ORDER) for j in range(ORDER + 1)] for k in range(ORDER + 1)
]
"""From the coefficients of t^8 q(t) around 1 to those of q."""

_POLYNOMIAL_STEPS, _FLAT = 3, 1e-30
"""Newton steps on a polynomial, and slopes that are too small for one."""

FEW_LEVELS = 20
"""Below this many levels Newton steps from the quantiles of one normal, with the mean and the variance of the
mixture, cost less than the table."""

_MOST_STEPS = 200

_EXACT, _ROUNDING = 1e-14, 2.0**-53

_THINNEST = 1e-280

_NARROWEST = 1e-100
"""Width of a member, in widths of the widest, below which it is a step to every number there is."""

_SHARPEST = 1e3
"""Steps between nodes, in widths of a member, beyond which no polynomial is F, whatever its numbers."""

_SMALL_LEVEL = 1e-3
"""Below, F has more digits than polynomials: these are exact to 1e-16 of one, F to 1e-16 of itself."""

_FAR = 1e100
"""Distance of a member, in widths of the widest, whose square is still a number."""

_STEEPEST = math.exp(-0.5) / math.sqrt(2.0 * math.pi)
"""Largest slope of the standard normal density, at z = 1."""

DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def over_members(values: Array, weights: Array | None, axis: int = 1) -> Array:
    """Average over the axis of the members, which follows that of the rows; weights are (1 or n, m)."""
    xp = namespace(values)
    if weights is None:
        return xp.mean(values, axis=axis)
    shape = [1] * values.ndim
    shape[axis - 1], shape[axis] = weights.shape
    return xp.sum(values * xp.reshape(weights, tuple(shape)), axis=axis)


def shares_of_rows(weights: Array | None, rows: slice | Array) -> Array | None:
    """Return the weights (1 or n, m) of some rows, a slice or indices."""
    if weights is None or weights.shape[0] == 1:
        return weights
    if isinstance(rows, slice):
        return weights[rows, :]
    return namespace(weights).take(weights, rows, axis=0)


def mixture_cdf(mean: Array, std: Array, values: Array, weights: Array | None = None) -> Array:
    """Return F_i(values[..., i]) of rows of members (n, m) at values (..., n)."""
    total: Any = 0.0
    for j in range(mean.shape[1]):
        below = normal_level(values, mean[:, j], std[:, j])
        total = total + (below if weights is None else weights[:, j] * below)
    return total / mean.shape[1] if weights is None else total


def normal_level(values: Array, mean: Array, std: Array) -> Array:
    """Return the normal distribution function."""
    return ndtr((values - mean) / std)


def mixture_quantiles(mean: Array, std: Array, levels: Array, weights: Array | None = None) -> Array:
    """Return the quantiles (n, l) of rows of members (n, m) at levels (l,), as exact as F itself."""
    if is_torch(mean):  # a root is no differentiable expression of its equation
        mean, std = mean.detach(), std.detach()
        weights = None if weights is None else weights.detach()
    mean, std, levels = as_float64(mean), as_float64(std), as_float64(levels)
    if mean.shape[1] == 1:
        return mean + std * ndtri(levels)
    n, width = mean.shape[0], levels.shape[0]
    width = width if width < FEW_LEVELS else max(_NODES, width)
    step = CACHE_ELEMENTS // width if is_numpy(mean) else rows_within_budget(8 * 32 * width)
    parts = (
        _invert(mean[rows, :], std[rows, :], levels, shares_of_rows(weights, rows)) for rows in tiles(n, step)
    )
    with one_blas_thread():  # many small products: threads would wait for each other
        return concatenated(parts, n)


class Mixture(NamedTuple):
    """Members of some rows: means and standard deviations (n, m), and weights (1 or n, m) or None."""

    mean: Array
    std: Array
    weights: Array | None

    def average(self, values: Array) -> Array:
        """Average numbers of the members (n, m), (n, 1)."""
        return over_members(values, self.weights)[:, None]


def _invert(mean: Array, std: Array, levels: Array, weights: Array | None) -> Array:
    """Return quantiles of some rows, in units of the row: squares of its widths then stay in range."""
    xp = namespace(mean)
    unit = xp.max(std, axis=1, keepdims=True)
    mean, std = mean / unit, xp.maximum(std / unit, xp.full_like(std, _NARROWEST))
    many = levels.shape[0] >= FEW_LEVELS
    normal = ndtri(xp.stack([xp.min(levels), xp.max(levels)]) if many else levels)
    low = high = mean[:, :1] + std[:, :1] * normal
    for j in range(1, mean.shape[1]):
        quantile = mean[:, j : j + 1] + std[:, j : j + 1] * normal
        low, high = xp.minimum(low, quantile), xp.maximum(high, quantile)
    target = xp.zeros_like(mean[:, :1]) + levels
    of = Mixture(mean, std, weights)
    if many:  # all quantiles are between the first node and the last
        return unit * _invert_tabulated(of, low[:, :1], high[:, 1:], target)
    centre = of.average(mean)
    gap = clip(mean - centre, -_FAR, _FAR)
    start = clip(centre + xp.sqrt(of.average(std * std + gap * gap)) * normal, low, high)
    return unit * _solve(of, low, high, target, start, xp.zeros_like(target, dtype=xp.bool))


def _invert_tabulated(of: Mixture, first: Array, last: Array, target: Array) -> Array:
    """Return quantiles between `first` and `last`, (n, 1) each, by polynomials where these are exact."""
    mean = of.mean
    xp, cells = namespace(mean), _NODES - 1
    step = (last - first) / cells
    nodes = step * xp.arange(_NODES, dtype=mean.dtype, device=device(mean))
    table = derivatives(of._replace(mean=mean - first), nodes, step)
    cell = clip(count_at_most(table[0, :, :], target.T).T - 1, 0, cells - 1)
    row = xp.arange(mean.shape[0], device=device(mean))[:, None]
    chosen = xp.take(_polynomials(table), xp.reshape(row * cells + cell, (-1,)), axis=1)
    t, change = _root(xp.reshape(chosen, (-1, *cell.shape)), target)
    exact = (_remainder(of, step) <= _EXACT) & (target >= _SMALL_LEVEL)
    settled = exact & (xp.abs(change) * step <= _short(of))
    place = xp.astype(cell, mean.dtype)
    low, high, start = (first + step * at for at in (place, place + 1.0, place + t))
    return _solve(of, low, high, target, start, settled)


def derivatives(of: Mixture, nodes: Array, step: Array) -> Array:
    """Return F and its derivatives at nodes (n, l), (8, n, l): coefficients of its powers of steps.

    u^k (-1)^(k-1) He_(k-1)(z) phi(z) is the k-th derivative of Phi in steps of u widths, and follows from the
    two before it.
    """
    mean, std, weights = of
    xp = namespace(mean)
    sums: list[Any] = [0.0] * (ORDER + 1)
    for j in range(mean.shape[1]):
        z = (nodes - mean[:, j : j + 1]) / std[:, j : j + 1]
        unit = clip(step / std[:, j : j + 1], None, _SHARPEST)
        share = 1.0 if weights is None else weights[:, j : j + 1]
        turn, square = -unit * z, unit * unit
        before: Any = 0.0
        term = xp.exp(-0.5 * z * z) * (DENSITY * share * unit)
        sums[0] += share * ndtr(z)
        sums[1] += term
        for k in range(2, ORDER + 1):
            before, term = term, turn * term - ((k - 2) * square) * before
            sums[k] += term
    number = mean.shape[1] if weights is None else 1
    return xp.stack([total / (number * math.factorial(k)) for k, total in enumerate(sums)])


def _polynomials(table: Array) -> Array:
    """Return F1 - F0 and a_0, ..., a_7, q_0, ..., q_7 of every cell, (17, cells).

    Its polynomial is sum a_k t^k + t^8 sum q_k (t - 1)^k, which has all derivatives of F at t = 0 and t = 1.
    """
    xp = namespace(table)
    left, right = (xp.reshape(part, (ORDER + 1, -1)) for part in (table[:, :, :-1], table[:, :, 1:]))
    # this difference is small, so that rounding stays small under the large numbers of the second product
    missing = right - like(_PASCAL, table, table.dtype) @ left
    return xp.concat([right[:1, :] - left[:1, :], left, like(_BINOMIAL, table, table.dtype) @ missing])


def _root(polynomials: Array, target: Array) -> tuple[Array, Array]:
    """Return where in its cell each polynomial, (17, n, l), is `target`, and how long its last step was."""
    xp = namespace(target)
    rise, start = polynomials[0, ...], polynomials[1, ...]
    change = t = clip((target - start) / xp.where(rise > 0, rise, xp.ones_like(rise)), 0.0, 1.0)
    for _ in range(_POLYNOMIAL_STEPS):
        # its own array, which is changed in place: a quarter of the time
        value, slope, back = polynomials[-1, ...] + 0.0, xp.zeros_like(t), t - 1.0
        for k in range(2 * ORDER, -1, -1):
            by = back if k > ORDER else t
            slope *= by
            slope += value
            value *= by
            value += polynomials[k + 1, ...]
        change = (value - target) / xp.where(slope > _FLAT, slope, xp.ones_like(slope))
        t = clip(t - change, 0.0, 1.0)
    return t, change


def _remainder(of: Mixture, step: Array) -> Array:
    """Return how far a polynomial is from F at most, (n, 1): h^16 |F^(16)| / (2^16 16!).

    |He_15(z) phi(z)| <= 1.0865 sqrt(15!) / sqrt(2 pi), which is Cramer's inequality.
    """
    order = 2 * ORDER + 2
    largest = 1.0865 * DENSITY * math.sqrt(math.factorial(order - 1))
    powers = clip(step / of.std, None, _SHARPEST) ** order
    return of.average(powers) * (largest / (2.0**order * math.factorial(order)))


def _rising(of: Mixture, values: Array) -> tuple[Array, Array]:
    """Return F and its density at values (n, l)."""
    mean, std, weights = of
    xp = namespace(mean)
    value: Any = 0.0
    density: Any = 0.0
    for j in range(mean.shape[1]):
        inverse = 1.0 / std[:, j : j + 1]
        z = (values - mean[:, j : j + 1]) * inverse
        share = 1.0 if weights is None else weights[:, j : j + 1]
        value += share * ndtr(z)
        density += xp.exp(-0.5 * z * z) * (share * inverse)
    number = mean.shape[1] if weights is None else 1.0
    return value / number, density * (DENSITY / number)


def _short(of: Mixture) -> Array:
    """Return the longest Newton step, (n, 1), that leaves no error: at most c h^2 / 2, c >= |F''|."""
    curvature = _STEEPEST * of.average(1.0 / (of.std * of.std))
    return namespace(curvature).sqrt(2.0 * _EXACT / curvature)


def _solve(of: Mixture, low: Array, high: Array, target: Array, start: Array, settled: Array) -> Array:
    """Return the root of F = target inside [low, high], where `start` is not `settled`.

    Newton steps, and bisection where they leave the bracket or do not get shorter by half.
    """
    xp = namespace(start)
    short, x, last = _short(of), start, high - low
    for _ in range(_MOST_STEPS):
        count = int(xp.sum(xp.astype(~settled, xp.int64)))
        if not count:
            return x
        if 4 * count < math.prod(x.shape):  # few are left: go on with these alone
            return _solve_few(of, low, high, target, x, ~settled)
        value, density = _rising(of, x)
        error = value - target
        low, high = xp.where(error <= 0, x, low), xp.where(error >= 0, x, high)
        usable = density > _THINNEST * xp.abs(error)
        step = xp.where(usable, error, xp.zeros_like(error)) / xp.where(
            usable, density, xp.ones_like(density)
        )
        newton, length = x - step, xp.abs(step)
        # steps that do not shrink may go to and fro inside the bracket for ever
        shrinks = (2.0 * length <= last) | (length <= short)
        taken = usable & shrinks & (newton >= low) & (newton <= high)
        met = xp.abs(error) <= _ROUNDING * target
        x = xp.where(met, x, xp.where(taken, newton, 0.5 * low + 0.5 * high))
        last = xp.where(taken, length, 0.5 * (high - low))
        settled = met | (taken & (length <= short))
        settled = settled | (high - low <= 4.0 * _ROUNDING * xp.maximum(xp.abs(low), xp.abs(high)))
    return x


def _solve_few(of: Mixture, low: Array, high: Array, target: Array, x: Array, open_: Array) -> Array:
    xp = namespace(x)
    rows, columns = xp.nonzero(open_)
    flat = rows * x.shape[1] + columns

    def chosen(values: Array) -> Array:
        return xp.take(xp.reshape(values, (-1,)), flat)[:, None]

    mean, std, weights = of
    few = Mixture(
        xp.take(mean, rows, axis=0),
        xp.take(std, rows, axis=0),
        shares_of_rows(weights, rows),
    )
    unsettled = xp.zeros_like(chosen(open_))
    roots = _solve(few, chosen(low), chosen(high), chosen(target), chosen(x), unsettled)
    return xp.where(open_, xp.reshape(put_back(roots[:, 0], xp.reshape(open_, (-1,))), x.shape), x)


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
        ... 1 (the default) for (n, m), 0 for (m, n).
    weights : array (m,) or (n, m), optional
        Weights of the members, non-negative and summing to 1: the same for all instances, or a row for each
        instance, as a mixture density network predicts them. Default: equal weights. Members whose one
        weight is 0 are left out.

    Notes
    -----
    With weights (n, m), the members are the components of one distribution per instance: no single member
    states a distribution of all labels, so the "bayesian" hypothesis is not defined.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.Gaussian([0.0, 1.0], [1.0, 0.5])
    Gaussian(n=2, m=1, dtype=float64)
    >>> mean, std = [[0.0, 4.0], [1.0, 5.0], [2.0, 6.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    >>> cr.Gaussian(mean, std, weights=[[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]]).expectation()
    array([2., 2., 2.])
    """

    mean: Array
    std: Array
    member_axis: dataclasses.InitVar[int | None] = None
    weights: Array | None = None
    row_fields: ClassVar[tuple[str, ...]] = ("mean", "std")
    axes_with_members: ClassVar[int] = 2

    def __post_init__(self, member_axis: int | None) -> None:
        mean, std = as_two_reals(self.mean, self.std, ("mean", "std"), "(n,)", "(n, m)")
        if mean.ndim == 2 or member_axis is not None:
            mean, std = (members_second(part, "mean", member_axis, "(n, m)", "(n,)") for part in (mean, std))
        require_finite(mean, "mean")
        require_positive_entries(
            std, "std", "Drop these rows, or give standard deviations instead of log-variances."
        )
        weights_given = None if self.weights is None else as_real(self.weights, "weights")
        if weights_given is not None and weights_given.ndim == 2 and mean.ndim == 2:
            weights, notes = _row_weights(weights_given, self.weights, mean, member_axis)
            self._set(mean=mean, std=std, weights=weights, notes=notes)
            return
        weights, kept, notes = used_weights(self.weights, mean, 2)
        if kept is not None:
            mean, std = (namespace(part).take(part, kept, axis=1) for part in (mean, std))
        self._set(mean=mean, std=std, weights=weights, notes=notes)

    def members(self) -> tuple[Array, Array]:
        """Return means and standard deviations as (n, m), double precision."""
        mean, std = as_float64(self.mean), as_float64(self.std)
        return (mean, std) if mean.ndim == 2 else (mean[:, None], std[:, None])

    @property
    def weights_by_row(self) -> bool:
        """Whether every instance has weights of its own, (n, m)."""
        return self.weights is not None and int(self.weights.ndim) == 2

    @property
    def shares(self) -> Array | None:
        """Weights of the members, (1, m) or (n, m), double precision, summing to 1; None if all are equal."""
        shares = normalised(self.weights)
        return shares if shares is None or shares.ndim == 2 else shares[None, :]

    def row_arrays(self) -> dict[str, Array]:
        """Return means, standard deviations and, if every instance has its own, weights."""
        arrays = super().row_arrays()
        return arrays | {"weights": self.weights} if self.weights_by_row else arrays

    def replace_rows(self, **arrays: Array) -> Gaussian:
        """Return the same prediction over other, already valid rows, which bring their own weights (n, m)."""
        other = super().replace_rows(**arrays)
        weights = other.row_arrays().get("weights")
        require(
            weights is None or weights.shape[0] == len(other),
            f"must have one row per instance ({len(other)})",
            "Give the weights of these rows as well.",
            weights=weights,
        )
        return other

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
        new_levels = self._levels(levels)
        if self.n_members == 1:
            return mixture_quantiles(*self.members(), new_levels)
        key = tuple(to_host(new_levels).tolist())
        return self.once(key, lambda: mixture_quantiles(*self.members(), new_levels, self.shares))

    def expectation(self) -> Array:
        """Return the mean of the mixture, (n,)."""
        return over_members(self.members()[0], self.shares)

    def variance(self) -> Array:
        """Return the variance of the mixture, (n,)."""
        mean, std = self.members()
        away = mean - self.expectation()[:, None]
        return over_members(std * std + away * away, self.shares)

    def _facts(self) -> str:
        weighted = ", weighted by row" if self.weights_by_row else ", weighted" * (self.weights is not None)
        return f"n={len(self)}, m={self.n_members}{weighted}"


def _row_weights(
    array: Array, weights_given: Any, mean: Array, member_axis: int | None
) -> tuple[Array, tuple[str, ...]]:
    """Return checked weights (n, m) beside the means (n, m), and notes; none is left out.

    Weights of 0, or equal ones, in some rows say nothing about the rows of the next chunk.
    """
    weights = beside(array, weights_given, mean, what="`mean` and `weights`")
    if member_axis == 0:
        weights = namespace(weights).moveaxis(weights, 0, 1)
    if tuple(weights.shape) != tuple(mean.shape):
        n, m = mean.shape
        raise InputError(
            "`weights`",
            f"must have shape ({m},), or one row per instance, ({n}, {m})",
            f"got shape {tuple(weights.shape)}",
            "Give the weights in the same order of axes as `mean`.",
        )
    return require_distributions(
        weights, "weights", lambda _: "Divide each row by its sum, or apply a softmax to the logits."
    )
