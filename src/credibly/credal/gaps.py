"""Measures of a set as sums of gaps P(A) - lower(A) over events.

A measure that gives every focal set a weight by its size, sum_A m(A) f(|A|), is linear in the lower
probability. With any member P of the set it becomes a sum of non-negative gaps,

    sum_A m(A) f(|A|) = f(1) + sign * sum_A w_|A| [P(A) - lower(A)],
    w_b = integral_0^1 q^b (1 - q)^(k - b) density(q) dq,

so it needs no masses, and where 2^k events are too many the sum is an expectation over random ones:
each class is in A with probability q, and q is integrated against the density

    f = ln size          sign +    density 1 / (q (-ln q))     generalised Hartley
    f = 1 / size         sign -    density 1 / q               specificity
"""

from __future__ import annotations

import decimal
import math
from functools import cache
from typing import Any, Literal

import numpy as np

from credibly._arrays.namespace import Array, as_float64, like, namespace, on_accelerator
from credibly._arrays.tiles import rows_within_budget, tiles
from credibly.credal.envelope import all_events
from credibly.predictions import Ensemble, Intervals

SizeMeasure = Literal["hartley", "pal"]

_TILE = 2**14  # doubles of (rows, events) in one pass
_LEAST_ROWS = 2


@cache
def size_weights(measure: SizeMeasure, k: int) -> np.ndarray[Any, Any]:
    """Return w_b for b = 0 .. k, exactly; w_0 and w_k, whose gap is 0, are 0."""
    weights = np.zeros(k + 1)
    with decimal.localcontext() as context:
        context.prec = 60  # the differences of logarithms cancel almost completely
        for b in range(1, k):
            if measure == "pal":
                weights[b] = 1.0 / (b * math.comb(k, b))
            else:
                signed = (
                    (-1) ** (j + 1) * math.comb(k - b, j) * decimal.Decimal(b + j).ln()
                    for j in range(k - b + 1)
                )
                weights[b] = float(sum(signed, decimal.Decimal(0)))
    weights.flags.writeable = False  # all callers share it
    return weights


class HullGaps:
    """Gaps of hulls: with D_m = P_m - mean they are -min_m D_m(A), and max_m D_m(A) of the complement."""

    def __init__(self, credal: Ensemble, rows: slice) -> None:
        probs = as_float64(credal.probs[rows, ...])
        self.functionals = probs - namespace(probs).mean(probs, axis=1, keepdims=True)  # (r, m, k)

    def disputed(self) -> Array:
        """Return how far members differ on every class, (r, k)."""
        xp = namespace(self.functionals)
        return xp.max(self.functionals, axis=1) - xp.min(self.functionals, axis=1)

    def both(self, sums: Array) -> tuple[Array, Array]:
        """Return the gaps of A and of its complement, (r, e), from D(A), (r, m, e)."""
        xp = namespace(sums)
        return -xp.min(sums, axis=1), xp.max(sums, axis=1)

    def over(self, columns: Array) -> tuple[Array, Array]:
        """Return the same for events (k, e), one member after the other: what is compared stays in cache."""
        if on_accelerator(self.functionals):
            return self.both(self.functionals @ columns)
        xp = namespace(self.functionals)
        least = most = self.functionals[:, 0, :] @ columns
        for m in range(1, self.functionals.shape[1]):
            sums = self.functionals[:, m, :] @ columns
            least, most = xp.minimum(least, sums), xp.maximum(most, sums)
        return -least, most


class IntervalGaps:
    """Gaps of interval sets around the intersection probability, which cuts all widths in one proportion a.

    With widths w = u - l of total W they are min(a w(A), (1 - a) (W - w(A))), and the same of W - w(A).
    """

    def __init__(self, credal: Intervals, rows: slice) -> None:
        xp = credal.xp
        lower, upper = as_float64(credal.lower[rows, ...]), as_float64(credal.upper[rows, ...])
        self.functionals = (upper - lower)[:, None, :]  # (r, 1, k)
        self.total = xp.sum(upper - lower, axis=-1)[:, None]
        self.below = 1.0 - xp.sum(lower, axis=-1)[:, None]  # a W
        self.share = self.below / xp.where(self.total > 0, self.total, xp.ones_like(self.total))

    def disputed(self) -> Array:
        """Return the widths, (r, k)."""
        return self.functionals[:, 0, :]

    def both(self, sums: Array) -> tuple[Array, Array]:
        """Return the gaps of A and of its complement, (r, e), from w(A), (r, 1, e)."""
        xp = namespace(sums)
        inside = sums[:, 0, :]
        outside = self.total - inside
        return (
            xp.minimum(self.share * inside, (1.0 - self.share) * outside),
            xp.minimum(self.share * outside, (1.0 - self.share) * inside),
        )

    def over(self, columns: Array) -> tuple[Array, Array]:
        """Return the same for events (k, e)."""
        return self.both(self.functionals @ columns)


def gaps_of(credal: Ensemble | Intervals, rows: slice) -> HullGaps | IntervalGaps:
    """Return the gaps of some rows of a set."""
    return HullGaps(credal, rows) if isinstance(credal, Ensemble) else IntervalGaps(credal, rows)


def exact_gap_sum(credal: Ensemble | Intervals, measure: SizeMeasure) -> Array:
    """Return sum_A w_|A| gap(A) over all events, (n,); A and its complement come from one product."""
    xp, k = credal.xp, credal.n_classes
    table = all_events(k - 1)[1:]  # events without the last class: one of each complementary pair
    table = np.concatenate([table, np.zeros((len(table), 1))], axis=1)
    sizes = table.sum(axis=1).astype(np.int64)
    weights = size_weights(measure, k)
    leading = credal._leading
    columns = like(np.ascontiguousarray(table.T), leading, dtype=xp.float64)
    weight = like(weights[sizes], leading, dtype=xp.float64)
    mirrored = like(weights[k - sizes], leading, dtype=xp.float64)
    found = []
    step = max(_LEAST_ROWS, _TILE // len(table))
    if on_accelerator(leading):  # a launch costs more than a tile that fits the cache
        step = rows_within_budget(8 * len(table) * (credal.n_members + 2), 0.5)
    for rows in tiles(len(credal), step):
        gap, other = gaps_of(credal, rows).over(columns)
        found.append(gap @ weight + other @ mirrored)
    return xp.concat(found, axis=0)
