"""What k labels per instance leave open about a split of entropy: an interval, never a number.

With theta the distribution of labels of an instance, H(E theta) is split into E H(theta), which no model can
remove, and the rest. k labels identify only the moments E theta_a^r, r <= k (Hausdorff), so

    sum_a min E h(t)  <=  E H(theta)  <=  sum_a max E h(t),      h(t) = -t log t

over all laws of t in [0, 1] with these moments: linear programs on a grid (of two classes one tells both).
The moments enter as P(j of k labels are of class a), whose unbiased estimates each may lie anywhere in their
simultaneous confidence interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import comb, ndtri, xlogy

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly.predictions import LabelCounts, as_point
from credibly.raters.annotators import beside
from credibly.results.base import require_level
from credibly.results.second_labels import EntropySplit

_GRID = np.linspace(0.0, 1.0, 401)
_MOST_MOMENTS = 8


def entropy_split(
    predictions: Any, counts: LabelCounts, *, order: int | None = None, level: float = 0.95
) -> EntropySplit:
    """Bound how much of the entropy of the predicted mean is disagreement between raters.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions; a set is represented by its mean.
    counts : LabelCounts
        How many labels of each class every instance has.
    order : int, optional
        Moments that are used; instances with fewer labels are left out. Default: the median number of labels,
        at most 8.
    level : float
        Joint coverage of the intervals.

    Returns
    -------
    EntropySplit
        Intervals in nats that hold with probability `level`.

    References
    ----------
    Ahdritz et al., *Provable uncertainty decomposition via higher-order calibration*, ICLR 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> events = rng.binomial(4, rng.beta(2, 2, size=4000))
    >>> counts = cr.LabelCounts(np.stack([4 - events, events], axis=1))
    >>> split = cr.raters.entropy_split(np.full((4000, 2), 0.5), counts)
    >>> split.order, split.aleatoric[0] < 0.5833 < split.aleatoric[1]  # E H of Beta(2, 2)
    (4, True)
    """
    require_level(level)
    stated, tallies = beside(predictions, counts)
    tallies = tallies.astype(np.float64)
    total = tallies.sum(axis=1)
    order = min(int(np.median(total)), _MOST_MOMENTS) if order is None else require_integer(order, "order", 1)
    enough = np.flatnonzero(total >= order)
    if enough.size < 2 or (tallies != np.round(tallies)).any():
        raise UnsupportedError(
            "`entropy_split`",
            f"needs whole numbers of labels, and two instances with {order} or more",
            f"{enough.size} of {len(tallies)} instances have as many",
            "Use a smaller `order`.",
        )
    shares = order_shares(tallies[enough], order)  # (order + 1, n, k)
    seen, error = shares.mean(axis=1), shares.std(axis=1, ddof=1) / np.sqrt(enough.size)
    wide = float(ndtri(1.0 - (1.0 - level) / (2.0 * seen.size))) * error + 1.0 / enough.size
    classes = 1 if seen.shape[1] == 2 else seen.shape[1]  # of two classes one tells both
    ends = np.array([_ends(seen[:, a], wide[:, a], binary=classes == 1) for a in range(classes)])
    mean = to_host(as_point(stated)[0].probs)[enough]
    entropy = float(-xlogy(mean, mean).sum(axis=1).mean())
    low, high = ends.sum(axis=0)
    return EntropySplit(
        total=entropy,
        aleatoric=(float(low), float(high)),
        epistemic=(entropy - float(high), entropy - float(low)),
        order=order,
        moments=factorial_moments(tallies[enough], order).mean(axis=1),
        n=enough.size,
        n_left_out=len(tallies) - enough.size,
        level=float(level),
    )


def factorial_moments(counts: HostArray, order: int) -> HostArray:
    """Return unbiased estimates of theta^r for r = 1 to `order`, (order, ..., k); 0 if labels are too few."""
    total = counts.sum(axis=-1, keepdims=True)
    steps = [
        np.divide(counts - step, total - step, out=np.zeros_like(counts), where=total > step)
        for step in range(order)
    ]
    return np.cumprod(steps, axis=0)


def order_shares(counts: HostArray, order: int) -> HostArray:
    """Return how often j of `order` labels, drawn without replacement, are of a class, (order + 1, n, k)."""
    total = counts.sum(axis=-1, keepdims=True)
    ways = [comb(counts, j) * comb(total - counts, order - j) for j in range(order + 1)]
    return np.asarray(np.stack(ways) / comb(total, order))


def _ends(seen: HostArray, wide: HostArray, *, binary: bool) -> tuple[float, float]:
    """Return the smallest and the largest E h(t) of laws whose labels look like these within `wide`."""
    from scipy.optimize import linprog

    order = len(seen) - 1
    shares = np.array([comb(order, j) * _GRID**j * (1.0 - _GRID) ** (order - j) for j in range(order + 1)])
    value = -xlogy(_GRID, _GRID)
    value = value + value[::-1] if binary else value
    for factor in (1.0, 2.0, 4.0, 8.0, np.inf):  # noisy shares may belong to no law
        limits = np.minimum(np.concatenate([seen + factor * wide, factor * wide - seen]), 1.0)
        both = [
            linprog(sign * value, np.concatenate([shares, -shares]), limits, np.ones((1, value.size)), [1.0])
            for sign in (1.0, -1.0)
        ]
        if all(program.status == 0 for program in both):
            break
    return float(both[0].fun), float(-both[1].fun)
