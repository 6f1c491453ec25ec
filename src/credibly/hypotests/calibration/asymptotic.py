"""P-values from limit distributions: random signs, chi-square references.

They are quicker than resampling or need less, but none is exact; `method="resample"` is, for every statistic.

The limit distribution of a degenerate U-statistic, by random signs:

    T* = sum_{i != j} s_i s_j h_ij / (n (n - 1)),   s = +1 or -1 at random

has the same limit as n T under the hypothesis. Signs keep the pairs as they are, where a bootstrap of rows
(Arcones and Gine 1992, used by Widmann et al. 2019) repeats some and loses others: at n = 100, k = 10 that
rejects 3 % at a nominal 5 %, signs 4.7 %.   Chwialkowski, Sejdinovic and Gretton 2014.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import chdtrc, chdtri

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import as_float64, namespace, to_host
from credibly._arrays.philox import Seed
from credibly.hypotests.resampling.pvalues import acceptance_region, monte_carlo_pvalue
from credibly.hypotests.resampling.wild import sign_tiles
from credibly.predictions import Labels
from credibly.results.tests import HypotestResult
from credibly.statistics.pairwise import PairBound
from credibly.statistics.protocol import Bound
from credibly.statistics.seen import SeenBound

LEVEL = 0.05


def asymptotic_test(
    bound: Bound, observed: Labels, *, hypothesis: str, n_resamples: int, seed: Seed
) -> HypotestResult:
    """Test one bound statistic by its limit or reference distribution."""
    if observed.weights is not None:
        raise UnsupportedError(
            "`sample_weight`",
            'cannot be used with method="asymptotic"',
            "the limit is known only for unweighted instances",
            'Use method="resample", which is exact with weights too.',
        )
    if isinstance(bound, SeenBound) and bound.alone:  # draws have their places with the label
        bound, observed = bound.see(observed)
    value = float(to_host(bound(observed))[0])
    if isinstance(bound, PairBound) and bound.symmetric:
        found = _signs(bound, observed, value, n_resamples, seed)
    else:
        found = _reference(bound, value)
    note = found.pop("note")
    settings = {"method": "asymptotic", **bound.statistic.settings(), **found.pop("settings", {})}
    return HypotestResult(
        name="calibration_test",
        hypothesis=hypothesis,
        statistic_name=bound.statistic.name,
        statistic=value,
        tail=bound.statistic.traits.tail,
        n=bound.n,
        statistic_range=bound.statistic.traits.range,
        settings=settings,
        notes=(*bound.notes, note),
        **found,
    )


def _signs(bound: PairBound, observed: Labels, value: float, n_resamples: int, seed: Seed) -> dict[str, Any]:
    null = wild_null(bound, observed, n_resamples, seed)
    pvalue, interval = monte_carlo_pvalue(value, null, "greater")
    spread = float(null.std(ddof=1)) if null.size > 1 else math.nan
    return {
        "pvalue": pvalue,
        "pvalue_interval": interval,
        "null_distribution": null,
        "acceptance_region": acceptance_region(null, "greater", bound.statistic.traits.range),
        "effect_size": value,
        "z_score": value / spread if spread > 0 else math.nan,
        "n_resamples": n_resamples,
        "settings": {"seed": list(seed)},
        "note": f"p-value from the limit distribution, by {n_resamples} draws of random signs",
    }


def wild_null(
    bound: PairBound, observed: Labels, n_resamples: int, seed: Seed
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return replicates of the unbiased statistic under random signs.

    Parameters
    ----------
    bound : PairBound
        The unbiased kernel error of the predictions.
    observed : Labels
        The observed labels.
    n_resamples : int
        Number of replicates.
    seed : tuple of int
        Key of the counters.

    Returns
    -------
    ndarray (n_resamples,)
        Values that T would take.
    """
    n = bound.n
    residual = bound.values(observed)  # (k, n)
    xp = namespace(residual)
    squares = xp.sum(as_float64(residual * residual))  # of a row with itself: signs square to 1
    values = np.empty(n_resamples)
    for reps, signs in sign_tiles(seed, n, n_resamples, 24 * n, plain=residual):
        total = 0.0
        for one in bound.meetings(observed, arrays=4):
            later = signs[:, one.rows.start :]
            total = total + xp.vecdot(later @ bound.terms(one).T, signs[:, one.rows])
        values[reps] = to_host(total - squares) / (n * (n - 1))
    return values


def _reference(bound: Bound, value: float) -> dict[str, Any]:
    reference = bound.chi_square()
    if reference is None:
        raise UnsupportedError(
            f"`{bound.statistic.name}`",
            "has no reference distribution",
            'got method="asymptotic"',
            'Use method="resample", which is exact for every statistic.',
        )
    degrees, name = reference
    return {
        "pvalue": float(chdtrc(degrees, value)),
        "acceptance_region": (0.0, float(chdtri(degrees, LEVEL))),
        "effect_size": math.nan,
        "z_score": math.nan,
        "note": f"p-value from the {name}",
    }
