"""Upper and lower entropy: the largest and the least Shannon entropy in a set of distributions."""

from __future__ import annotations

import math
from typing import Any

from credibly._arrays.checks import require_positive_number
from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, entropy_of_rows, like, to_host
from credibly._arrays.philox import takes_rng
from credibly.credal.bounds import tight_bounds
from credibly.credal.corners import least_over_intervals, least_over_orders
from credibly.credal.envelope import require_few_classes
from credibly.credal.filling import nearest_distribution
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set, members_of, require_tolerance
from credibly.predictions import Belief, Intervals

TOLERANCE = 1e-6
"""How far a certified value may be from the true one where the caller does not say."""


@takes_rng
def upper_entropy(
    predictions: Any,
    *,
    base: float | None = None,
    tolerance: float = TOLERANCE,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Return the largest entropy of any distribution in each set.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    base : float, optional
        ...
    tolerance : float
        Certified error of the maximum, in natural units, for hulls and for beliefs with more than 12
        classes. Intervals and smaller beliefs are exact.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n,)
        One value per instance.

    Notes
    -----
    Hulls: primal-dual Newton on all instances at once, stopped by the duality gap. Intervals: water-filling.
    Beliefs: the events of largest belief per class are levelled one after the other (Meyerowitz, Richman and
    Walker 1994); beyond 12 classes focal sets are levelled in turn until the gap closes.

    References
    ----------
    Abellan, Klir and Moral, *Disaggregated total uncertainty measure for credal sets*, 2006; Meyerowitz,
    Richman and Walker, *Calculating maximum-entropy probability densities for belief functions*, 1994.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.upper_entropy(cr.Ensemble([[[0.9, 0.1], [0.3, 0.7]]]), base=2).round(6)
    array([1.])
    >>> cr.credal.upper_entropy(cr.Intervals([[0.1, 0.6]], [[0.4, 0.9]])).round(4)
    array([0.673])
    """
    require_tolerance(tolerance)
    credal = as_set(predictions, n_samples=n_samples, rng=rng)
    return entropy_of_rows(most_even(credal, tolerance)) / log_base(base)


@takes_rng
def lower_entropy(
    predictions: Any,
    *,
    base: float | None = None,
    tolerance: float = TOLERANCE,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = None,
) -> Array:
    """Return the smallest entropy of any distribution in each set.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    base : float, optional
        ...
    tolerance : float
        Certified error of the minimum, in natural units, for intervals. Hulls and beliefs are exact.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    array (n,)
        One value per instance.

    Notes
    -----
    Entropy is concave, so its minimum is at a corner. Hulls: the smallest over members. Intervals: branch and
    bound on the host. Beliefs: a shortest path through the 2^k events, for at most 16 classes. Filling
    classes greedily in their order is wrong for most instances.

    References
    ----------
    Abellan and Moral, *Difference of entropies as a non-specificity function on credal sets*, 2005.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.lower_entropy(cr.Ensemble([[[0.9, 0.1], [0.5, 0.5]]])).round(4)
    array([0.3251])
    """
    require_tolerance(tolerance)
    return least_entropy(as_set(predictions, n_samples=n_samples, rng=rng), tolerance) / log_base(base)


def most_even(credal: CredalSet, tolerance: float) -> Array:
    """Return the distribution of largest entropy in each set, (n, k)."""
    xp = credal.xp
    ones = xp.ones((len(credal), credal.n_classes), dtype=xp.float64, device=credal.device)
    return nearest_distribution(credal, ones, "entropy", tolerance)


def least_entropy(credal: CredalSet, tolerance: float) -> Array:
    """Return the least entropy in each set, (n,), in natural units."""
    if isinstance(credal, Intervals):
        lower, upper = map(to_host, tight_bounds(credal))  # branch and bound lives on the host
        return like(least_over_intervals(lower, upper, tolerance), credal.lower)
    if isinstance(credal, Belief):
        few = "the lower entropy of a belief", "Use `upper_entropy` or `size`."
        require_few_classes(credal.n_classes, *few)
        return least_over_orders(credal)
    return credal.xp.min(entropy_of_rows(members_of(credal)), axis=1)


def log_base(base: float | None) -> float:
    """Return what natural units are divided by for logarithms of another base."""
    if base is None:
        return 1.0
    require_positive_number(base, "base", "Use 2 for bits.")
    if base == 1:
        raise InputError("`base`", "must not be 1", "its logarithm is 0", "Use 2 for bits.")
    return math.log(base)
