"""How a report writes numbers, and tables made from the fields of results.

Nothing is taken from `credibly.report` or `credibly.plots`: these are the rules once more, for comparison.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

import credibly as cr
from credibly.hypotests.resampling.pvalues import acceptance_region
from credibly.statistics.registry import story_of
from pages import ShownTable

Column = tuple[str, Iterable[Any]]
"""Name of a column, and what stands in it."""


def digits(value: float) -> str:
    """Write a number with three significant digits, all digits of a large one, words for no number."""
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    if 100 <= abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.1e}" if abs(value) < 1e-4 else f"{value:.3g}"


def between(ends: Sequence[float]) -> str:
    """Write an interval; an infinite end is left out, and an unknown one is "none"."""
    low, high = map(float, ends)
    if math.isnan(low):
        return "none"
    if math.isinf(low) or math.isinf(high):
        known = f"up to {digits(high)}" if math.isinf(low) else f"{digits(low)} or more"
        return "any value" if math.isinf(low) and math.isinf(high) else known
    return f"{digits(low)} to {digits(high)}"


def interval(estimate: Any) -> str:
    """Write the 95 % interval of an estimate, or why it has none."""
    if estimate.has_interval:
        return between(estimate.interval())
    return f"none: {estimate.interval_refusal}"


def ends_of(estimate: cr.results.Estimate) -> tuple[float, float]:
    """Return the 95 % interval of an estimate; NaN if it has none."""
    return estimate.interval() if estimate.has_interval else (math.nan, math.nan)


def percent(share: float) -> str:
    """Write a share with one decimal of a per cent."""
    return f"{100 * share:.1f} %"


def percents(*shares: float) -> list[str]:
    """Write shares in whole per cent; with a decimal if they would look alike, or like none or all."""
    whole = [f"{100 * share:.0f}" for share in shares]
    if len(set(whole)) < len(shares) or {"0", "100"} & set(whole):
        whole = [f"{100 * share:.1f}" for share in shares]
    return [f"{one} %" for one in whole]


def points(share: float) -> str:
    """Write the size of a difference of shares in points: one decimal, none from ten on, two below 0.1."""
    return points_of(abs(share))


def points_of(share: float) -> str:
    """Write a difference of shares in points with its sign."""
    size = 100 * share
    if 0 < abs(size) < 0.095:
        return f"{size:.2f}"
    return f"{size:.0f}" if abs(size) >= 9.95 else f"{size:.1f}"


def title(name: str) -> str:
    """Return what a statistic is called."""
    return story_of(name).title


def cell(value: Any) -> str:
    """Write what a result holds: text, a number, both ends of an interval, yes or nothing."""
    if value is None or isinstance(value, (str, bool, np.bool_)):
        return str(value) if isinstance(value, str) else "yes" if value else ""
    if isinstance(value, (tuple, list)):
        return between(value)
    return str(int(value)) if isinstance(value, (int, np.integer)) else digits(float(value))


def table(caption: str, *columns: Column) -> ShownTable:
    """Return a table from its columns."""
    cells = [[cell(value) for value in values] for _, values in columns]
    return ShownTable(caption, tuple(name for name, _ in columns), tuple(zip(*cells, strict=True)))


def fields(rows: Iterable[Any], named: Mapping[str, str | Callable[[Any], Any]]) -> list[Column]:
    """Return what columns show of every row: a field by its dotted name, or what a function makes of it."""
    every = list(rows)
    read = {name: attrgetter(of) if isinstance(of, str) else of for name, of in named.items()}
    return [(name, [of(one) for one in every]) for name, of in read.items()]


def stacked(caption: str, what: str, tables: Mapping[str, Sequence[Column]]) -> ShownTable:
    """Return tables of the same columns below each other, with what each is of in a column before."""
    first, *_ = tables.values()
    names = [name for name, columns in tables.items() for _ in columns[0][1]]
    columns = [
        (column, list(itertools.chain.from_iterable(dict(table)[column] for table in tables.values())))
        for column, _ in first
    ]
    return table(caption, (what, names), *columns)


def pairs(low: Any, high: Any) -> list[tuple[float, float]]:
    """Return intervals from their ends."""
    return [(float(start), float(end)) for start, end in zip(low, high, strict=True)]


def weights_of(test: Any) -> Any:
    """Return the test of the weights alone, where a witness was asked too."""
    own = getattr(test.details, "calibration", None)
    return test if own is None else own


def region(test: Any, level: float) -> tuple[float, float]:
    """Return the values that a test would accept at a level, from its replicates."""
    return acceptance_region(test.null_distribution, test.tail, test.statistic_range, level=level)


def deciding(test: Any) -> float:
    """Return the p-value that a verdict follows from: with the truth as one more member, else adjusted."""
    own = test.pvalue if test.adjusted_pvalue is None else test.adjusted_pvalue
    member = getattr(test.details, "member_pvalue", None)
    return own if member is None else max(own, member)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z = 1.959963984540054
    centre, half = share + z**2 / (2 * n), z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = ((centre + side * half) / (1 + z**2 / n) for side in (-1, 1))
    return max(0.0, low), min(1.0, high)


def isotonic(curve: Any) -> list[Column]:
    """Return the constant pieces of an isotonic curve, with its bands in the middle of each."""
    middle = (curve.low + curve.high) / 2
    bands = {"band": curve.band, "true curve": curve.confidence_band}
    return [
        ("predictions", pairs(curve.low, curve.high)),
        ("instances", curve.weight),
        ("observed", curve.recalibrated),
        *(
            (name, pairs(*(np.interp(middle, curve.at, end) for end in band)))
            for name, band in bands.items()
            if band is not None
        ),
    ]


SCORED = {"distance": "distance", "imprecision": "imprecision", "E": "total"}
"""Parts of the unified score as tables name them, and their fields."""


def spreads(caption: str, scores: Mapping[str, Any]) -> ShownTable:
    """Return mean and standard deviation of the parts of scores over all, right and wrong predictions."""
    rows = [(name, part, score.summary[of]) for name, score in scores.items() for part, of in SCORED.items()]
    names, parts, summaries = zip(*rows, strict=True)
    groups = {group: lambda own, group=group: _spread(own[group]) for group in ("all", "right", "wrong")}
    return table(caption, ("prediction", names), ("part", parts), *fields(summaries, groups))


def _spread(spread: Any) -> str:
    if not spread.n:
        return "none"
    return digits(spread.mean) + ("" if math.isnan(spread.std) else f" ± {digits(spread.std)}")


def if_right(part: str, scores: Mapping[str, Any]) -> ShownTable:
    """Return the mean of one part of scores over right and over wrong predictions."""
    own = [score.summary[part] for score in scores.values()]
    groups = {f"mean if {group}": lambda one, group=group: one[group].mean for group in ("right", "wrong")}
    return table(
        f"{part.capitalize()} of right and wrong predictions", ("model", scores), *fields(own, groups)
    )
