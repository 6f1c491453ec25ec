"""Predictions read as sets of distributions; a Dirichlet becomes the hull of draws."""

from __future__ import annotations

from typing import Any

from credibly._arrays.checks import require_integer, require_positive_number
from credibly._arrays.errors import InputTypeError, UnsupportedError, require
from credibly._arrays.namespace import Array
from credibly._arrays.philox import takes_rng
from credibly.predictions import Belief, Dirichlet, Ensemble, Intervals, Point, as_predictions

CredalSet = Point | Ensemble | Intervals | Belief

DIRICHLET_SAMPLES = 100
"""Default number of draws that represent a Dirichlet."""

DRAWN_IN_CHUNKS = (
    "a Dirichlet becomes one by sampling, which would depend on how the rows are split into chunks"
)
"""Why a Dirichlet in chunks is refused where a set is needed."""


@takes_rng
def as_set(predictions: Any, *, n_samples: int = DIRICHLET_SAMPLES, rng: Any = None) -> CredalSet:
    """Return predictions as a set of distributions per instance.

    A `Point` is a set of one, an `Ensemble` represents the convex hull of its members (weights are ignored),
    `Intervals` all distributions between the bounds, and a `Belief` all that distribute every mass over its
    focal set; these are returned unchanged. A `Dirichlet` is not a set; the hull of draws represents it.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions.
    n_samples : int
        Draws per instance (and member) of a Dirichlet; of weighted members as many in all, by weight.
    rng : None, int or Generator
        ...

    Returns
    -------
    Point, Ensemble, Intervals or Belief
        The set.

    Notes
    -----
    The hull of draws grows with their number: compare models at the same one.

    References
    ----------
    Augustin et al. (editors), *Introduction to imprecise probabilities*, 2014. Manchingal et al., *A
    unified evaluation framework for epistemic predictions*, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.as_set(cr.Dirichlet([[8.0, 1.0, 1.0]]), n_samples=5, rng=7)
    Ensemble(n=1, m=5, k=3, dtype=float64)
    """
    predictions = as_predictions(predictions)
    if isinstance(predictions, Dirichlet):
        return predictions.sample(require_integer(n_samples, "n_samples", 1), rng=rng)
    if isinstance(predictions, Point | Ensemble | Intervals | Belief):
        return predictions
    raise InputTypeError(
        "`predictions`",
        "must be class predictions to be read as a set of distributions",
        f"got {type(predictions).__name__}",
        "Use `Point`, `Ensemble`, `Intervals`, `Belief` or `Dirichlet`.",
    )


def members_of(credal: Point | Ensemble) -> Array:
    """Return the points whose hull is the set, (n, m, k); a `Point` is a hull of one."""
    return credal.probs[:, None, :] if isinstance(credal, Point) else credal.probs


def uncertified(what: str, tolerance: float, evidence: str) -> UnsupportedError:
    """Return the error of a search that ended before its result was certified."""
    rule = f"must be certified within {tolerance:.1g}"
    return UnsupportedError(what, rule, evidence, "Pass a larger `tolerance`.")


def require_tolerance(tolerance: float) -> None:
    """Raise unless a certificate of this size can be asked for."""
    require_positive_number(tolerance, "tolerance", "Use 1e-6.")
    rule = "must be at least 1e-15, what double precision can certify"
    require(tolerance >= 1e-15, rule, "Use 1e-6.", tolerance=tolerance)
