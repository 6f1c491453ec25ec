"""How numbers are written for people: shares, points, sizes, intervals, p-values, counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.notes import counted

_RARE, _TIMES = 0.1, 1.3
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def shown(value: float | None) -> str:
    """Write a number with three significant digits, and infinities as words; nothing where there is none."""
    if value is None:
        return ""
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"  # also where a difference is -0.0
    if abs(value) >= 1e6:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) < 1e-4:
        return f"{value:.1e}"
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def signed(value: float) -> str:
    """Write a number with its sign."""
    return f"+{shown(value)}" if value > 0 else shown(value)


def shown_range(limits: tuple[float, float] | None) -> str:
    """Write an interval; an infinite end is left out, and nothing is written where there is none."""
    if limits is None:
        return ""
    low, high = limits
    if math.isinf(low) and math.isinf(high):
        return "any value"
    if math.isinf(low):
        return f"up to {shown(high)}"
    if math.isinf(high):
        return f"{shown(low)} or more"
    return f"{shown(low)} to {shown(high)}"


def span(interval: Sequence[float], write: Callable[[float], str] = shown) -> str:
    """Write the 95 % interval of a size whose direction the sentence says."""
    low, high = interval
    if low + high < 0.0:
        low, high = -high, -low
    return f"95 %: {write(low)} to {write(high)}"


def p_is(pvalue: float) -> str:
    """Write a p-value; how far below 1 in 10 000 it is says nothing more."""
    return "p < 0.0001" if pvalue < 1e-4 else f"p = {shown(pvalue)}"


def percent(share: float) -> str:
    """Write a share as per cent without needless digits; one close to 1 is not rounded to it."""
    return f"{100 * share:.{4 if share < 0.9995 else 6}g} %"


def tenths(share: float) -> str:
    """Write a share as per cent, to a tenth."""
    return f"{100 * share:.1f} %"


def percents(*shares: float) -> list[str]:
    """Write shares as per cent, with a digit more where they would look the same."""
    whole = [f"{100 * share:.0f}" for share in shares]
    if len(set(whole)) < len(shares) or "100" in whole or "0" in whole:
        return [tenths(share) for share in shares]
    return [f"{digits} %" for digits in whole]


def frequency(value: float) -> str:
    """Write the share of an event as per cent: whole ones, two digits of small ones and of those near 1."""
    near = min(value, 1.0 - value)
    if near < 5e-7 or near >= 0.095:  # nearer than four digits tell
        return f"{100 * value:.0f} %"
    digits = max(0, 1 - math.floor(math.log10(100 * near)))
    return f"{100 * value:.{min(digits, 4)}f} %"


def frequencies(stated: float, observed: float) -> tuple[str, str]:
    """Write two shares that are compared, with a digit more where they would look the same."""
    written = frequency(stated), frequency(observed)
    far, low, high = abs(stated - observed) >= 0.05, min(stated, observed), max(stated, observed)
    if far and low >= _RARE and high < 0.995:  # decimals matter near the ends, and for close shares
        return f"{100 * stated:.0f} %", f"{100 * observed:.0f} %"
    return written if written[0] != written[1] else (tenths(stated), tenths(observed))


def in_points(share: float) -> str:
    """Write a difference of shares in points of probability, without the unit."""
    size = 100.0 * share
    return f"{size:.0f}" if abs(size) >= 9.95 else f"{size:.2f}" if 0 < abs(size) < 0.095 else f"{size:.1f}"


def end_in_points(share: float) -> str:
    """Write an end of an interval in points; one that only rounds to 0 is not 0, because it may decide."""
    size = 100.0 * share
    return f"{size:.1f}" if abs(size) >= 0.05 or size == 0 else f"{size:.1g}"


def points(share: float) -> str:
    """Write the size of a difference of shares in points of probability."""
    return _with_unit(in_points(abs(share)))


def points_to_a_tenth(share: float) -> str:
    """Write the size of a difference of shares in points, to a tenth whatever its size."""
    return _with_unit(f"{abs(100 * share):.1f}")


def points_as_given(share: float) -> str:
    """Write a share that a user chose in points, with the digits that it has."""
    return _with_unit(f"{100 * share:.4g}")


def points_up(share: float) -> str:
    """Write an upper bound in points, rounded up to a hundredth: bounds must stay bounds."""
    return _with_unit(f"{math.ceil(round(1e4 * share, 6)) / 100:g}")


def _with_unit(digits: str) -> str:
    return f"{digits} point" if digits in ("1", "1.0") else f"{digits} points"


def signed_points(share: float) -> str:
    """Write a difference of shares in points, with its sign."""
    digits = "0.0" if abs(share) < 0.0005 else in_points(share)
    sign = "+" if float(digits) > 0 else ""
    return f"{sign}{digits} point{'' if digits.lstrip('-') == '1.0' else 's'}"


def at_most(share: float) -> str:
    """Write an upper bound in points of probability, rounded up."""
    step = 0.001 if share < 0.0995 else 0.01
    return points(step * math.ceil(share / step - 1e-9))


def times(stated: float, observed: float) -> str:
    """Write how many times too often a rare event is stated; nothing where it is not rare."""
    low, high = sorted((stated, observed))
    if not (0.0 < low < _RARE and high / low > _TIMES):
        return ""
    factor = high / low
    whole = round(factor)
    if factor >= 9.95:
        return f"{_WORDS[whole - 2] if whole <= 12 else whole} times"
    return f"{factor:.1f} times"


def joined(names: Sequence[str], most: int = 8) -> str:
    """List names, the first few of many."""
    few = ", ".join(names[:most])
    return few if len(names) <= most else f"{few} and {len(names) - most} more"


def instances(facts: Mapping[str, Any]) -> str:
    """Write how many rows there are, and in how many clusters."""
    rows, clusters = counted(facts["n"], "instance"), facts["n_clusters"]
    return rows if clusters is None else f"{rows} of {counted(clusters, 'cluster')}"


def chance_excluded(facts: Mapping[str, Any]) -> str:
    """Write that chance does not explain it, with the number of clusters, which decide it."""
    clusters = facts["n_clusters"]
    clusters_in_words = "" if clusters is None else f" in {clusters} independent clusters of rows"
    return f"more than chance explains{clusters_in_words}"
