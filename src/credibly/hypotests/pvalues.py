"""P-values that count the observation, their Monte-Carlo error, and the family-wise adjustment.

p = (1 + #{null >= observed}) / (1 + b)           two-sided: min(1, 2 min of the two tails)
"""

from __future__ import annotations

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import HostArray
from credibly.results.base import Tail

_TIE = 100 * float(np.finfo(np.float64).eps)


def monte_carlo_pvalue(observed: float, null: HostArray, tail: Tail) -> tuple[float, tuple[float, float]]:
    """Return the p-value and its 95 % Clopper-Pearson interval.

    Values within 100 eps of the observation count as ties, that is, as at least as extreme.
    """
    b = null.size
    above, below = (int(np.count_nonzero(side)) for side in at_least_and_at_most(observed, null))
    if tail == "greater":
        return (1 + above) / (1 + b), clopper_pearson(above, b)
    fewer = min(above, below)
    low, high = clopper_pearson(fewer, b)
    return min(1.0, 2 * (1 + fewer) / (1 + b)), (min(1.0, 2 * low), min(1.0, 2 * high))


def two_sided_pvalues(observed: HostArray, null: HostArray) -> HostArray:
    """Return the two-sided p-value of many observations against the same replicates."""
    ordered = np.sort(null)
    slack = np.where(np.isfinite(observed), _TIE * np.abs(observed), 0.0)
    above = null.size - np.searchsorted(ordered, observed - slack, side="left")
    below = np.searchsorted(ordered, observed + slack, side="right")
    return np.minimum(1.0, 2 * (1 + np.minimum(above, below)) / (1 + null.size))


def at_least_and_at_most(observed: float, null: HostArray) -> tuple[HostArray, HostArray]:
    """Return which replicates are at least, and which at most, as large as the observation."""
    slack = _TIE * abs(observed) if np.isfinite(observed) else 0.0
    return null >= observed - slack, null <= observed + slack


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval for a binomial probability."""
    from scipy.special import betaincinv

    half = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, half))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - half))
    return low, high


def acceptance_region(
    null: HostArray, tail: Tail, bounds: tuple[float, float] | None, level: float = 0.05
) -> tuple[float, float]:
    """Return the values a test at `level` would not reject."""
    lowest, highest = bounds if bounds is not None else (-np.inf, np.inf)
    ordered = np.sort(null)
    share = level if tail == "greater" else level / 2
    # rejected when fewer than `count` replicates are at least as extreme
    count = int(np.floor(share * (null.size + 1) * (1 + 1e-12)))
    if count == 0:
        return float(lowest), float(highest)
    upper = float(ordered[-count])
    return (float(lowest) if tail == "greater" else float(ordered[count - 1])), upper


def pooled_pvalues(values: HostArray, tails: tuple[Tail, ...]) -> HostArray:
    """Rank every row of (1 + b) values among all of them: the p-value each would have, (s, 1 + b)."""
    pooled = np.empty(values.shape)
    for row, (series, tail) in enumerate(zip(values, tails, strict=True)):
        upper = _share_at_least(series)
        if tail == "greater":
            pooled[row] = upper
        else:
            pooled[row] = np.minimum(1.0, 2 * np.minimum(upper, _share_at_least(-series)))
    return pooled


def pooled_two_sided(values: HostArray) -> HostArray:
    """Rank every row among all of its values, large and small ones being extreme alike."""
    tails: list[Tail] = ["two-sided"] * len(values)
    return pooled_pvalues(values, tuple(tails))


def _share_at_least(series: HostArray) -> HostArray:
    """Return, for every entry, the share of entries at least as large, ties within rounding included."""
    ordered = np.sort(series)
    slack = np.where(np.isfinite(series), _TIE * np.abs(series), 0.0)
    below = np.searchsorted(ordered, series - slack, side="left")
    return (series.size - below) / series.size


def westfall_young(pooled: HostArray) -> tuple[float, HostArray, HostArray]:
    """Return the min-p omnibus p-value, the adjusted p-values, and the smallest p-value of every row.

    Column 0 is the observation. Ranks are pooled over the observation and the replicates, which makes the
    omnibus p-value exact: the columns are exchangeable under the hypothesis. Ties count as extreme.
    """
    smallest = pooled.min(axis=0)
    adjusted = np.array([np.mean(smallest <= own * (1 + _TIE)) for own in pooled[:, 0]])
    return float(np.mean(smallest <= smallest[0] * (1 + _TIE))), adjusted, smallest


def distance(observed: float, null: HostArray) -> tuple[float, float]:
    """Return how far the observation is from the centre of the replicates, as it is and in their spread."""
    finite = bool(np.isfinite(null).all())
    # infinite replicates have no mean; the centre of the finite ones would mislead
    effect = observed - float(null.mean() if finite else np.median(null))
    spread = float(null.std(ddof=1)) if null.size > 1 and finite else float("nan")
    return effect, effect / spread if spread > 0 else float("nan")


def require_numbers(values: HostArray, name: str) -> None:
    """Raise if a statistic gave NaN: no rank, no p-value."""
    bad = int(np.isnan(values).sum())
    if bad:
        raise UnsupportedError(
            f"`{name}`",
            "must give a number for every label vector",
            f"got NaN for {bad} of {values.size}",
            "Check the statistic on one drawn label vector.",
        )
