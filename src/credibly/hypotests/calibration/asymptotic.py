"""P-values from limit distributions: random signs, the normal limit, chi-square references.

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
from scipy.special import chdtrc, chdtri, ndtr, ndtri

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import Array, as_float64, namespace, rows_within_budget, tiles, to_host
from credibly._arrays.philox import Seed, Stream, Uniforms
from credibly.hypotests.resampling.pvalues import acceptance_region, monte_carlo_pvalue
from credibly.predictions import Labels
from credibly.results.tests import HypotestResult
from credibly.statistics.kernel_blocks import BlockBound
from credibly.statistics.protocol import Bound
from credibly.statistics.skce import DrawsBound, QuadraticBound

LEVEL = 0.05

_SIGNED_ROWS = 256  # of a tile: pairs below the diagonal, which it leaves out, are then few


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
    if isinstance(bound, DrawsBound):
        bound, observed = bound.with_labels(observed)
    value = float(to_host(bound(observed))[0])
    if isinstance(bound, BlockBound):
        found = _normal(bound, observed, value)
    elif isinstance(bound, QuadraticBound):
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


def _lowest(bound: Bound) -> float:
    bounds = bound.statistic.traits.range
    return -math.inf if bounds is None else bounds[0]


def _normal(bound: BlockBound, observed: Labels, value: float) -> dict[str, Any]:
    stderr, refusal = bound.stderr(bound.observed_sums(observed), observed)
    if stderr is None or not stderr > 0:
        raise UnsupportedError(
            f"the normal limit of `{bound.statistic.name}`",
            "needs blocks with different values",
            refusal or "all blocks have the same value",
            'Use method="resample", which is exact.',
        )
    z = value / stderr
    return {
        "pvalue": float(ndtr(-z)),
        "acceptance_region": (_lowest(bound), float(ndtri(1 - LEVEL)) * stderr),
        "effect_size": value,
        "z_score": z,
        "note": f"p-value from the normal limit of a mean over {bound.n_blocks} blocks",
    }


def _signs(
    bound: QuadraticBound, observed: Labels, value: float, n_resamples: int, seed: Seed
) -> dict[str, Any]:
    if bound.statistic.estimator != "unbiased":
        raise _unknown(bound, "known limit distribution")
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
    bound: QuadraticBound, observed: Labels, n_resamples: int, seed: Seed
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return replicates of the unbiased statistic under random signs.

    Parameters
    ----------
    bound : QuadraticBound
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
    uniforms = Uniforms(seed, Stream.SIGNS)
    values = np.empty(n_resamples)
    for reps in tiles(n_resamples, rows_within_budget(24 * n, 0.25)):
        uniform = uniforms.block(reps, slice(0, n), reference=residual)
        signs = 2.0 * xp.astype(uniform >= 0.5, xp.float64) - 1.0
        total = 0.0
        for rows in tiles(n, min(_SIGNED_ROWS, rows_within_budget(32 * n, 0.25))):
            terms = bound.pair_terms(residual, rows)
            total = total + xp.vecdot(signs[:, rows.start :] @ terms.T, signs[:, rows])
        values[reps] = to_host(_off_diagonal(total, residual, bound)) / (n * (n - 1))
    return values


def _off_diagonal(total: Array, residual: Array, bound: QuadraticBound) -> Array:
    """Take away the pairs of a row with itself: signs square to 1."""
    xp = namespace(residual)
    return total - xp.sum(as_float64(residual * bound.between_labels(residual, 1)))


def _reference(bound: Bound, value: float) -> dict[str, Any]:
    reference = bound.chi_square()
    if reference is None:
        raise _unknown(bound, "reference distribution")
    degrees, name = reference
    return {
        "pvalue": float(chdtrc(degrees, value)),
        "acceptance_region": (0.0, float(chdtri(degrees, LEVEL))),
        "effect_size": math.nan,
        "z_score": math.nan,
        "note": f"p-value from the {name}",
    }


def _unknown(bound: Bound, what: str) -> UnsupportedError:
    settings = getattr(bound.statistic, "estimator", None)
    which = f" with estimator={settings!r}" if settings else ""
    return UnsupportedError(
        f"`{bound.statistic.name}`{which}",
        f"has no {what}",
        'got method="asymptotic"',
        'Use method="resample", which is exact for every statistic.',
    )
