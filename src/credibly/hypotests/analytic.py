"""P-values without label replicates: exact moments, limit distributions, bounds.

Each is quicker or asks for less than resampling, and none is exact: `method="resample"` is, for every
statistic.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.namespace import to_host
from credibly._arrays.philox import Seed
from credibly._arrays.tiles import memory_budget
from credibly.hypotests.kernel_bounds import bound_pvalue, bound_upper, largest_term
from credibly.hypotests.moments import QuadraticForm, leading_eigenvalues, quadratic_null_moments
from credibly.hypotests.pvalues import acceptance_region, monte_carlo_pvalue
from credibly.hypotests.wild import wild_null
from credibly.predictions import Classes, Labels
from credibly.results.tests import HypotestResult
from credibly.statistics import Bound
from credibly.statistics.skce import QuadraticBound
from credibly.statistics.skce_blocks import BlockBound

Method = Literal["moments", "asymptotic", "bound"]
LEVEL = 0.05
_MOMENT_ARRAYS = 8  # (n, n) arrays alive at once


def analytic_test(
    bound: Bound,
    observed: Labels,
    method: Method,
    *,
    hypothesis: str,
    n_resamples: int,
    seed: Seed,
) -> HypotestResult:
    """Test one bound statistic by a method that draws no labels."""
    if observed.weights is not None:
        raise UnsupportedError(
            "`sample_weight`",
            f'cannot be used with method="{method}"',
            "it is known for instances that count once",
            'Use method="resample", which is exact with weights too.',
        )
    value = float(to_host(bound(observed))[0])
    found: dict[str, Any] = {"pvalue_interval": None, "null_distribution": None, "n_resamples": 0}
    if method == "moments":
        found |= _moments(bound, value)
    elif method == "bound":
        found |= _bound(bound, value)
    elif isinstance(bound, BlockBound):
        found |= _normal(bound, observed, value)
    elif isinstance(bound, QuadraticBound):
        found |= _signs(bound, observed, value, n_resamples, seed)
    else:
        found |= _reference(bound, value)
    note = found.pop("note")
    settings = {"method": method, **bound.statistic.settings(), **found.pop("settings", {})}
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


def _moments(bound: Bound, value: float) -> dict[str, Any]:
    if not isinstance(bound, QuadraticBound) or bound.statistic.estimator != "unbiased":
        raise _unknown(bound, "moments", "exact null moments (the unbiased `skce` has)")
    if bound.label_kernel is not None:
        raise _unknown(bound, "moments", "exact null moments for other label kernels than the delta kernel")
    n = bound.n
    need = _MOMENT_ARRAYS * 8 * n * n
    if need > memory_budget():
        most = int((memory_budget() / (8 * _MOMENT_ARRAYS)) ** 0.5)
        raise UnsupportedError(
            'method="moments"',
            f"keeps {_MOMENT_ARRAYS} arrays of (n, n); the memory budget holds n = {most}",
            f"got n = {n}",
            f'Use method="resample", or `with memory_limit({need})`.',
        )
    kernel = to_host(bound.kernel_rows(slice(0, n))).astype(np.float64, copy=False)
    probs = to_host(bound.exact)
    null = QuadraticForm(leading_eigenvalues(kernel, probs), *quadratic_null_moments(kernel, probs))
    pairs = n * (n - 1)
    scale = null.scale / pairs
    return {
        # never 0: the approximation says nothing about probabilities below what a float can tell from 0
        "pvalue": max(null.survival(value * pairs), float(np.finfo(np.float64).tiny)),
        "acceptance_region": (_lowest(bound), null.upper(LEVEL) / pairs),
        "effect_size": value,
        "z_score": value / scale if scale > 0 else math.nan,
        "note": "p-value from a quadratic form with the exact mean, variance and third moment",
    }


def _bound(bound: Bound, value: float) -> dict[str, Any]:
    if not isinstance(bound, (QuadraticBound, BlockBound)):
        raise _unknown(bound, "bound", "distribution-free bound")
    kernel = None if bound.label_kernel is None else to_host(bound.label_kernel)
    largest = largest_term(kernel)
    return {
        "pvalue": bound_pvalue(value, bound, largest),
        "acceptance_region": (_lowest(bound), bound_upper(LEVEL, bound, largest)),
        "effect_size": value,
        "z_score": math.nan,
        "note": f"p-value is an upper bound from terms of at most {largest:g}: a large one says little",
    }


def _normal(bound: BlockBound, observed: Labels, value: float) -> dict[str, Any]:
    from scipy.special import ndtr, ndtri

    stderr, refusal = bound.stderr(observed)
    if stderr is None or not stderr > 0:
        raise UnsupportedError(
            f"the normal limit of `{bound.statistic.name}`",
            "needs blocks that differ",
            refusal or "all blocks have one value",
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
        raise _unknown(bound, "asymptotic", "known limit distribution")
    assert isinstance(observed, Classes)  # kernel errors are of class predictions
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


def _reference(bound: Bound, value: float) -> dict[str, Any]:
    reference = bound.reference_pvalue(value)
    if reference is None:
        raise _unknown(bound, "asymptotic", "reference distribution")
    return {
        "pvalue": reference[0],
        "acceptance_region": (0.0, _reference_bound(bound)),
        "effect_size": math.nan,
        "z_score": math.nan,
        "note": f"p-value from the {reference[1]}",
    }


def _reference_bound(bound: Bound) -> float:
    """Return the largest value that is not rejected, by bisection: the p-value falls with the statistic."""

    def rejects(value: float) -> bool:
        reference = bound.reference_pvalue(value)
        return reference is not None and reference[0] <= LEVEL

    high = 1.0
    while not rejects(high):
        high *= 2
    low = 0.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return low


def _unknown(bound: Bound, method: str, what: str) -> UnsupportedError:
    settings = getattr(bound.statistic, "estimator", None)
    which = f" with estimator={settings!r}" if settings else ""
    return UnsupportedError(
        f"`{bound.statistic.name}`{which}",
        f"has no {what}",
        f'got method="{method}"',
        'Use method="resample", which is exact for every statistic.',
    )
