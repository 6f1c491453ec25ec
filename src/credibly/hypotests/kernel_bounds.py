"""Distribution-free bounds on the p-value of a kernel error: valid for every n, wide at every n.

With |h_ij| <= B and m independent pairs

    unbiased, linear, block   P(T >= t) <= exp(-m t^2 / (2 B^2))                     Hoeffding
    biased                    P(T >= t) <= exp(-(sqrt(n t / B) - 1)^2 / 2)           McDiarmid

Widmann, Lindsten and Zachariah 2019, section 6. Both hold given the predictions, since they ask for
independent labels only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credibly.statistics.skce_blocks import BlockBound


def largest_term(label_kernel: np.ndarray[Any, Any] | None) -> float:
    """Return the largest possible |k_ij r_i' L r_j| for a kernel of at most 1.

    r = e_a - p is a mixture of e_a - e_c, so r' L r is at most max (L_aa + L_cc - 2 L_ac), which is 2 for
    the identity.
    """
    if label_kernel is None:
        return 2.0
    own = np.diag(label_kernel)
    return float(np.max(own[:, None] + own[None, :] - 2.0 * label_kernel))


def independent_pairs(bound: Any) -> int:
    """Return how many pairs of rows share no row."""
    if isinstance(bound, BlockBound):
        return bound.n_blocks * (bound.size // 2)
    return int(bound.n) // 2


def bound_pvalue(value: float, bound: Any, largest: float) -> float:
    """Return an upper bound of the p-value."""
    if value <= 0 or largest <= 0:
        return 1.0
    if bound.statistic.estimator == "biased":
        excess = max(0.0, math.sqrt(bound.n * value / largest) - 1.0)
        return math.exp(-(excess**2) / 2.0)
    return math.exp(-independent_pairs(bound) * value**2 / (2.0 * largest**2))


def bound_upper(level: float, bound: Any, largest: float) -> float:
    """Return the value at which the bound falls to `level`."""
    depth = math.sqrt(-2.0 * math.log(level))
    if bound.statistic.estimator == "biased":
        return float(largest * (1.0 + depth) ** 2 / bound.n)
    return largest * depth / math.sqrt(independent_pairs(bound))
