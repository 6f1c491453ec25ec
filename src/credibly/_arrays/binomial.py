"""Exact probabilities and bounds of shares: how many of n independent events happen."""

from __future__ import annotations

import math
from bisect import bisect_right

from scipy.special import bdtr, bdtrc, betainc, betaincinv


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval for a binomial probability."""
    half = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, half))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - half))
    return low, high


def wilson(share: float, n: int, z: float) -> tuple[float, float]:
    """Return the shares that a z-test would not reject; Wilson 1927."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def binomial_pvalue(count: int, n: int, share: float) -> float:
    """Return the exact two-sided p-value: twice the smaller tail, as Clopper and Pearson."""
    lower = float(bdtr(count, n, share))
    upper = 1.0 if count == 0 else float(bdtrc(count - 1, n, share))
    return min(1.0, 2.0 * min(lower, upper))


def accepted_shares(n: int, claimed: float, level: float = 0.05) -> tuple[float, float]:
    """Return the smallest and the largest share that the exact test does not reject."""
    # twice P(at most so many are held), and twice P(at most so many are missed)
    low = bisect_right(range(n + 1), level, key=lambda count: 2.0 * bdtr(count, n, claimed))
    missed = bisect_right(range(n), level, key=lambda count: 2.0 * (1.0 - bdtr(n - 1 - count, n, claimed)))
    return low / n, max(low, n - missed) / n


def least_mean(events: int, n: int, alpha: float) -> float:
    """Return the exact lower bound of the mean probability of n independent events.

    The tail of their number beyond its mean by one or more is inside that of a binomial (Hoeffding 1956); one
    event is the case where it may be less, and the sum of all probabilities bounds its chance.
    """
    if events <= 1:
        return events * alpha / n
    return float(betaincinv(events, n - events + 1, alpha))


def chance_of_as_many(events: int, n: int, mean: float) -> float:
    """Return the largest chance of so many of n independent events whose mean probability is `mean`."""
    if mean <= 0 or events == 0:
        return float(mean >= 0 and events == 0)
    return min(1.0, n * mean) if events == 1 else float(betainc(events, n - events + 1, mean))
