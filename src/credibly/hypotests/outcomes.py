"""From the values of a statistic to the result of its test, alone or with others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.namespace import HostArray
from credibly.hypotests.pvalues import (
    acceptance_region,
    distance,
    monte_carlo_pvalue,
    pooled_pvalues,
    require_numbers,
    westfall_young,
)
from credibly.results.tests import HypotestResult
from credibly.statistics import Bound, State

HYPOTHESIS = "the label of every instance was drawn from its predicted distribution"


def single_result(
    bound: Bound,
    values: HostArray,
    settings: dict[str, Any],
    *,
    referred: bool = True,
    notes: tuple[str, ...] = (),
    sums: State | None = None,
) -> HypotestResult:
    """Make the result of one statistic from its values, the observation first.

    `referred` says whether a reference distribution, which is of plain counts, may be named; `sums` are those
    of all rows where `bound` knows only some of them.
    """
    statistic = bound.statistic
    require_numbers(values, statistic.name)
    observed, null = float(values[0]), values[1:]
    tail = statistic.traits.tail
    pvalue, interval = monte_carlo_pvalue(observed, null, tail)
    notes = (*bound.notes, *notes)
    reference = bound.reference_pvalue(observed, sums) if referred else None
    if reference is not None:
        notes = (*notes, f"p = {reference[0]:.3g} from the {reference[1]}")
    effect, z_score = distance(observed, null)
    return HypotestResult(
        name="calibration_test",
        hypothesis=HYPOTHESIS,
        statistic_name=statistic.name,
        statistic=observed,
        pvalue=pvalue,
        pvalue_interval=interval,
        tail=tail,
        null_distribution=null,
        acceptance_region=acceptance_region(null, tail, statistic.traits.range),
        effect_size=effect,
        z_score=z_score,
        n=bound.n,
        n_resamples=null.size,
        statistic_range=statistic.traits.range,
        settings={**settings, **statistic.settings()},
        notes=notes,
    )


def omnibus(results: Sequence[HypotestResult], values: HostArray, settings: dict[str, Any]) -> HypotestResult:
    """Combine tests that share replicates: smallest p-value, with pooled ranks."""
    pooled = pooled_pvalues(values, tuple(result.tail for result in results))
    pvalue, adjusted, smallest = westfall_young(pooled)
    components = {
        result.statistic_name: dataclasses.replace(result, adjusted_pvalue=float(own))
        for result, own in zip(results, adjusted, strict=True)
    }
    score = -np.log10(smallest) + 0.0  # not -0.0
    _, interval = monte_carlo_pvalue(float(score[0]), score[1:], "greater")
    effect = float(score[0] - score[1:].mean())
    spread = float(score[1:].std(ddof=1)) if score.size > 2 else float("nan")
    names = ", ".join(components)
    return HypotestResult(
        name="calibration_test",
        hypothesis=HYPOTHESIS,
        statistic_name=f"smallest p of {names} (-log10)",
        statistic=float(score[0]),
        pvalue=pvalue,
        pvalue_interval=interval,
        tail="greater",
        null_distribution=score[1:],
        acceptance_region=acceptance_region(score[1:], "greater", (0.0, float(np.log10(score.size)))),
        effect_size=effect,
        z_score=effect / spread if spread > 0 else float("nan"),
        n=results[0].n,
        n_resamples=results[0].n_resamples,
        settings={**settings, "statistics": list(components)},
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        components=components,
    )
