"""From the values of a statistic to the result of its test: p-values, their error, family-wise adjustment.

p = (1 + #{null >= observed}) / (1 + b)           two-sided: min(1, 2 min of the two tails)

Replicates that differ from the observation by rounding alone are ties. What rounding can do depends on what
was added up: n terms of size t have a sum that is off by about sqrt(n) eps t, and at most n eps t, however
small their sum is. `settled` gives values that are closer than

    100 sqrt(n) eps max(t, |observed|)

one value, so that an array library, an order of the classes or of the sums does not change a rank.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc

from credibly._arrays.binomial import clopper_pearson
from credibly._arrays.errors import Remedy, UnsupportedError, require, require_positive
from credibly._arrays.namespace import HostArray
from credibly.predictions.clusters import Clusters
from credibly.results.base import Tail
from credibly.results.tests import HypotestResult, smallest_pvalue
from credibly.statistics.protocol import Bound, State, Statistic

MOST_RESAMPLES = 10_000_000

_TIE = Bound.rounding

_EQUAL = 64 * float(np.finfo(np.float64).eps)


def require_resamples(n_resamples: int) -> None:
    """Raise unless there is at least one replicate and the values of all of them can be kept."""
    require_positive("`n_resamples`", n_resamples, "Try 999.")
    remedy = "Try 9999: it gives p-values down to 0.0001."
    require(
        n_resamples <= MOST_RESAMPLES, f"must be at most {MOST_RESAMPLES}", remedy, n_resamples=n_resamples
    )


def settled(values: HostArray, term_size: float, n: int, rounding: float = _TIE) -> HostArray:
    """Return values (1 + b,) of a statistic, observation first, without differences that rounding explains.

    Neighbours that are closer than the tolerance become the smallest of them, or the observation where that
    is among them. The tolerance is some 1e-12 of the terms, so that chains of neighbours are ties; of
    products in single precision, some 1e-8.
    """
    finite = np.isfinite(values)
    observed = abs(float(values[0])) if finite[0] else 0.0
    slack = rounding * np.sqrt(n) * max(term_size, observed)
    order = np.argsort(values[finite], kind="stable")
    ordered = values[finite][order]
    starts = np.concatenate([[True], np.diff(ordered) > slack])
    if starts[1:].all():
        return values
    group = np.cumsum(starts) - 1
    chosen = ordered[starts]
    if finite[0]:
        chosen[group[order == 0]] = values[0]
    settled_values, values_in_order = values.copy(), np.empty_like(ordered)
    values_in_order[order] = chosen[group]
    settled_values[finite] = values_in_order
    return settled_values


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


def pooled_pvalues(values: HostArray, tails: Sequence[Tail] | None = None) -> HostArray:
    """Rank every row of (1 + b) values among all of them: the p-value each would have, (s, 1 + b).

    Without tails large and small values are extreme alike.
    """
    pooled = np.empty(values.shape)
    for row, series in enumerate(values):
        pooled[row] = _share_at_least(series)
        if tails is None or tails[row] != "greater":
            pooled[row] = np.minimum(1.0, 2 * np.minimum(pooled[row], _share_at_least(-series)))
    return pooled


def _share_at_least(series: HostArray) -> HostArray:
    """Return, for every entry, the share of entries at least as large, ties within rounding included."""
    ordered = np.sort(series)
    slack = np.where(np.isfinite(series), _TIE * np.abs(series), 0.0)
    below = np.searchsorted(ordered, series - slack, side="left")
    return (series.size - below) / series.size


def westfall_young(pooled: HostArray) -> tuple[float, HostArray, HostArray]:
    """Return the min-p omnibus p-value, the adjusted p-values, and the smallest p-value of every row.

    Column 0 is the observation. Ranks are pooled over the observation and the replicates, which makes the
    omnibus p-value exact: the columns are exchangeable under the hypothesis. Ties count as extreme. With ties
    in one tail a two-sided p-value may be above its own rank: adjusted p-values are not below it.
    """
    smallest = pooled.min(axis=0)
    ranks = np.array([np.mean(smallest <= pvalue_of_row * (1 + _TIE)) for pvalue_of_row in pooled[:, 0]])
    adjusted = np.maximum(ranks, pooled[:, 0])
    return float(np.mean(smallest <= smallest[0] * (1 + _TIE))), adjusted, smallest


def effect_and_score(observed: float, null: HostArray) -> tuple[float, float]:
    """Return how far the observation is from the centre of the replicates, as it is and in their spread."""
    finite = bool(np.isfinite(null).all())
    # infinite replicates have no mean; the centre of the finite ones would mislead
    effect = observed - float(null.mean() if finite else np.median(null))
    spread = float(null.std(ddof=1)) if null.size > 1 and finite else float("nan")
    varies = spread > _EQUAL * abs(observed)  # the mean of equal numbers is rounded
    return effect, effect / spread if varies else float("nan")


def require_finite_region(null: HostArray, statistic: Statistic) -> None:
    """Raise where so many replicates are infinite that no finite value could be rejected at 5 %."""
    edges = acceptance_region(null, statistic.traits.tail, (0.0, 0.0))
    if not np.isfinite(edges).all():
        name = statistic.name
        bounded = f", or `{name}.with_(clip=1e-6)`" if "clip" in statistic.settings() else ""
        raise UnsupportedError(
            f"a test of `{name}`",
            "needs finite values under the hypothesis",
            f"{int(np.isinf(null).sum())} of {null.size} replicates are infinite, so the test could not "
            f"reject anything",
            Remedy(f"Use another statistic{bounded}.", "Use another statistic."),
            argument=name,
        )


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


def level_beside(others: Iterable[float], level: float) -> float:
    """Return the level at which to judge one of several tests, so that one error rate holds for all.

    Holm (1979): of m tests each is judged at level / (m - r), where r of the others are rejected before it,
    the smallest p-value first. Any true hypothesis is rejected with probability `level` at most.
    """
    ordered = sorted(others)
    left = len(ordered) + 1
    for pvalue in ordered:
        if pvalue > level / left:
            break
        left -= 1
    return level / left


def fewest_resamples(level: float, sides: int = 2) -> int:
    """Return how many replicates can give a p-value of `level`: sides / (1 + b) is the smallest."""
    return math.ceil(sides / level - 1e-9) - 1


HYPOTHESIS = "the label of every instance was drawn from its predicted distribution"

CLUSTERED = "every row is calibrated given its prediction, and clusters of rows are independent"
"""What is tested where rows belong together."""


def result_of(
    values: HostArray, tail: Tail, bounds: tuple[float, float] | None, **fields: Any
) -> HypotestResult[Any]:
    """Make a result from the values of a number, the observation first.

    `bounds` limit the acceptance region; `fields` are others, which replace computed ones.
    P-value and Monte-Carlo interval are not below what signs of ``n_clusters`` can reach.
    """
    observed, null = float(values[0]), values[1:]
    pvalue, interval = monte_carlo_pvalue(observed, null, tail)
    effect, z_score = effect_and_score(observed, null)
    usual: dict[str, Any] = {
        "statistic": observed,
        "pvalue": pvalue,
        "pvalue_interval": interval,
        "tail": tail,
        "null_distribution": null,
        "acceptance_region": acceptance_region(null, tail, bounds),
        "effect_size": effect,
        "z_score": z_score,
        "n_resamples": null.size,
    }
    result = HypotestResult(**(usual | fields))
    if result.n_clusters is None or result.pvalue_interval is None:
        return result
    least = smallest_pvalue(result.n_clusters)
    low, high = (max(end, least) for end in result.pvalue_interval)
    return dataclasses.replace(result, pvalue=max(result.pvalue, least), pvalue_interval=(low, high))


def single_result(
    bound: Bound,
    values: HostArray,
    settings: dict[str, Any],
    *,
    referred: bool = True,
    notes: tuple[str, ...] = (),
    sums: State | None = None,
    clusters: Clusters | None = None,
) -> HypotestResult:
    """Make the result of one statistic from its values, the observation first.

    `referred` says whether a reference distribution, which is of plain counts, may be named; `sums` are those
    of all rows where `bound` knows only some of them; `clusters` are those whose signs the replicates change.
    """
    statistic = bound.statistic
    require_numbers(values, statistic.name)
    tail = statistic.traits.tail
    require_finite_region(values[1:], statistic)
    notes = (*bound.notes, *notes)
    reference = bound.chi_square(sums) if referred else None
    if reference is not None:
        degrees, name = reference
        limit = float(chdtrc(degrees, float(values[0])))
        chance = "p < 0.0001" if limit < 1e-4 else f"p = {limit:.3g}"
        notes = (*notes, f"{chance} from the {name}")
    return result_of(
        values,
        tail,
        statistic.traits.range,
        name="calibration_test",
        hypothesis=HYPOTHESIS if clusters is None else CLUSTERED,
        statistic_name=statistic.name,
        n=bound.n,
        statistic_range=statistic.traits.range,
        settings={**settings, **statistic.settings()},
        notes=notes,
        n_clusters=None if clusters is None else clusters.number,
    )


def omnibus(results: Sequence[HypotestResult], values: HostArray, settings: dict[str, Any]) -> HypotestResult:
    """Combine tests that share replicates: smallest p-value, with pooled ranks."""
    pooled = pooled_pvalues(values, [result.tail for result in results])
    pvalue, adjusted, smallest = westfall_young(pooled)
    if results[0].n_clusters is not None:
        adjusted = np.maximum(adjusted, smallest_pvalue(results[0].n_clusters))
    components = {
        result.statistic_name: dataclasses.replace(result, adjusted_pvalue=float(adjusted_pvalue))
        for result, adjusted_pvalue in zip(results, adjusted, strict=True)
    }
    score = -np.log10(smallest) + 0.0  # not -0.0
    return result_of(
        score,
        "greater",
        (0.0, float(np.log10(score.size))),
        name="calibration_test",
        hypothesis=results[0].hypothesis,
        statistic_name=f"smallest p of {', '.join(components)} (-log10)",
        pvalue=pvalue,
        n=results[0].n,
        settings={**settings, "statistics": list(components)},
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        components=components,
        n_clusters=results[0].n_clusters,
    )
