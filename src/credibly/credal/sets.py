"""Predictions read as sets of distributions, and the two ways of making a set from a Dirichlet."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from credibly._arrays.checks import require_integer, require_rows
from credibly._arrays.errors import InputError, InputTypeError, one_of
from credibly._arrays.namespace import Array, as_float64, like, to_host, xlogy
from credibly._arrays.philox import as_seed, takes_rng
from credibly.predictions import (
    Belief,
    Dirichlet,
    Ensemble,
    Intervals,
    Point,
    as_predictions,
)
from credibly.results.base import require_level

CredalSet = Point | Ensemble | Intervals | Belief

DIRICHLET_SAMPLES = 100
"""Default number of draws that represent a Dirichlet."""

_THRESHOLD_DRAWS = 4096
_BISECTIONS = 60


@takes_rng
def as_set(
    predictions: Any,
    *,
    method: Literal["samples", "level"] = "samples",
    n_samples: int = DIRICHLET_SAMPLES,
    level: float = 0.95,
    rng: Any = None,
) -> CredalSet:
    """Return predictions as a set of distributions per instance.

    A `Point` is a set of one, an `Ensemble` represents the convex hull of its members (weights are ignored),
    `Intervals` all distributions between the bounds, and a `Belief` all that distribute every mass over its
    focal set; these are returned unchanged. A `Dirichlet` is not a set; the settings here say how to make
    one.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions.
    method : {"samples", "level"}
        For a Dirichlet: the hull of draws, or the class-wise bounds of its highest-density region.
    n_samples : int
        Draws per instance (and member) for ``"samples"``; of weighted members as many in all, by weight.
    level : float
        Probability of the highest-density region for ``"level"``.
    rng : None, int or Generator
        Seed of the draws.

    Returns
    -------
    Point, Ensemble, Intervals or Belief
        The set.

    Notes
    -----
    The region ``{p : Dir(p; alpha) >= c}`` needs every ``alpha >= 1``: otherwise the density is unbounded
    and the region is not convex. Its threshold c is a quantile over 4096 draws per instance; its bounds
    per class are then roots of one concave function. With several members the bounds span all of them,
    whatever their weights.

    References
    ----------
    Augustin et al. (editors), *Introduction to imprecise probabilities*, 2014. Manchingal et al., *A
    unified evaluation framework for epistemic predictions*, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.as_set(cr.Dirichlet([[8.0, 1.0, 1.0]]), n_samples=5, rng=7)
    Ensemble(n=1, m=5, k=3, dtype=float64)
    >>> region = cr.credal.as_set(cr.Dirichlet([[20.0, 3.0, 2.0]]), method="level", level=0.9, rng=7)
    >>> bool(region.lower[0, 0] < 0.8 < region.upper[0, 0])
    True
    """
    one_of("`method`", method, ("samples", "level"))
    given = as_predictions(predictions)
    if isinstance(given, Dirichlet):
        if method == "samples":
            return given.sample(require_integer(n_samples, "n_samples", 1), rng=rng)
        require_level(level)
        return _level_set(given, level, rng)
    if isinstance(given, Point | Ensemble | Intervals | Belief):
        return given
    raise InputTypeError(
        "`predictions`",
        "must be class predictions to be read as a set of distributions",
        f"got {type(given).__name__}",
        "Use `Point`, `Ensemble`, `Intervals`, `Belief` or `Dirichlet`.",
    )


def require_positive_number(value: Any, name: str, remedy: str) -> None:
    """Raise unless `value` is a positive finite number."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (number and 0 < value < math.inf):
        raise InputError(f"`{name}`", "must be a positive number", f"got {value!r}", remedy)


def require_tolerance(tolerance: float) -> None:
    """Raise unless a certificate of this size can be asked for."""
    require_positive_number(tolerance, "tolerance", "Use 1e-6.")
    if tolerance < 1e-15:
        raise InputError(
            "`tolerance`",
            "must be at least 1e-15, what double precision can certify",
            f"got {tolerance:g}",
            "Use 1e-6.",
        )


def as_credal(predictions: Any, n_samples: int, rng: Any) -> CredalSet:
    """Return predictions as a set; a Dirichlet becomes the hull of `n_samples` draws."""
    return as_set(predictions, n_samples=n_samples, rng=rng)


def _level_set(given: Dirichlet, level: float, rng: Any) -> Intervals:
    """Bound p_y over {p : sum_j w_j log p_j >= c}, w = alpha - 1.

    With p_y = q fixed the best rest is proportional to w, so the region holds q exactly where
    w_y log q + (W - w_y) log(1 - q) + sum_{j != y} w_j log(w_j / (W - w_y)) >= c, W = sum_j w_j.
    """
    alpha = as_float64(given.alpha)
    require_rows(
        (alpha,),
        lambda block: block < 1,
        name="alpha",
        rule='must be at least 1 for method="level" (else the density is unbounded)',
        fact=lambda row: f"holds {row.min():.6g}",
        remedy='Use method="samples".',
    )
    xp = given.xp
    alpha = alpha[:, None, :] if alpha.ndim == 2 else alpha
    threshold = like(_density_threshold(to_host(alpha), level, rng), alpha)  # drawn on the host
    own = alpha - 1.0
    total = xp.sum(own, axis=-1, keepdims=True)
    rest = total - own
    own_logs = xlogy(own, own)
    constant = xp.sum(own_logs, axis=-1, keepdims=True) - own_logs - xlogy(rest, rest)

    def held(q: Array) -> Array:
        return xlogy(own, q) + xlogy(rest, 1.0 - q) + constant >= threshold[:, :, None]

    mode = own / xp.where(total > 0, total, xp.ones_like(total))
    bounds = []
    for end in (xp.zeros_like(alpha), xp.ones_like(alpha)):
        inside, outside = mode, end
        for _ in range(_BISECTIONS):
            middle = 0.5 * (inside + outside)
            keep = held(middle)
            inside, outside = xp.where(keep, middle, inside), xp.where(keep, outside, middle)
        bounds.append(xp.where(held(end), end, inside))
    return Intervals(xp.min(bounds[0], axis=1), xp.max(bounds[1], axis=1))


def _density_threshold(alpha: np.ndarray[Any, Any], level: float, rng: Any) -> np.ndarray[Any, Any]:
    """Return the (1 - level) quantile of sum_j (alpha_j - 1) log p_j over draws, (n, m)."""
    generator = np.random.default_rng(as_seed(rng))
    threshold = np.empty(alpha.shape[:2])
    for index in np.ndindex(*threshold.shape):
        draws = generator.standard_gamma(alpha[index], size=(_THRESHOLD_DRAWS, alpha.shape[-1]))
        draws /= draws.sum(axis=-1, keepdims=True)
        threshold[index] = np.quantile(xlogy(alpha[index] - 1.0, draws).sum(axis=-1), 1.0 - level)
    return threshold
