"""Non-specificity: how many alternatives a set of distributions leaves open."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from credibly._arrays.checks import require_integer, scalar
from credibly._arrays.errors import InputError, UnsupportedError, one_of, require
from credibly._arrays.namespace import Array, as_float64, clip, device, like, namespace
from credibly._arrays.philox import as_seed, takes_rng
from credibly.credal.bounds import singleton_bounds
from credibly.credal.envelope import MAX_CLASSES, all_events, require_few_classes
from credibly.credal.event_gaps import exact_gap_sum, sampled_gap_sum
from credibly.credal.masses import MassFunction, Negative, masses_of
from credibly.credal.sets import DIRICHLET_SAMPLES, as_set
from credibly.predictions import Belief, Point
from credibly.results.base import Result

MeasureName = Literal["hartley", "dubois_prade", "smets", "koerner", "pal"]
MEASURES: tuple[MeasureName, ...] = get_args(MeasureName)

EXACT_CLASSES = 12  # up to here all events are quicker than 1024 random ones
N_EVENTS = 1024


@dataclasses.dataclass(frozen=True)
class NonspecificityEstimate(Result):
    """Non-specificity per instance with the error of its computation.

    Attributes
    ----------
    measure : str
        Which measure.
    values : array (n,)
        One value per instance.
    stderr : array (n,)
        Standard error over random events; 0 if the value is exact.
    mean : float
        Mean over instances.
    mean_stderr : float
        Its standard error over random events; instances share them, so it is not that of independent values.
    exact : bool
        Whether all events were summed.
    n_events : int
        Number of random events used; 0 if exact.
    settings : mapping
        Budget, treatment of negative masses and seed.
    notes : tuple of str
        How the masses were made.
    """

    measure: str
    values: Array
    stderr: Array
    mean: float
    mean_stderr: float
    exact: bool
    n_events: int
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        error = "" if self.exact else f" ± {self.mean_stderr:.2g} ({self.n_events} random events)"
        return f"{self.measure} non-specificity, mean {self.mean:.6g}{error} (n = {len(self.values)})"


@takes_rng
def nonspecificity(
    predictions: Any,
    *,
    measure: MeasureName = "hartley",
    budget: Sequence[Iterable[int]] | None = None,
    negative: Negative = "keep",
    n_events: int | None = None,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = 0,
) -> Array:
    """Return how many alternatives each prediction leaves open.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    measure : {"hartley", "dubois_prade", "smets", "koerner", "pal"}
        ``hartley`` is the generalised Hartley measure of the exact lower envelope. The others are sums over
        masses: ``dubois_prade`` of ``m(A) ln|A|``, ``smets`` of ``-ln Q(A)`` over all events, ``koerner`` of
        ``m(A) |A|``, ``pal`` of ``m(A) / |A|``; ``smets`` takes at most 16 classes, and so does ``pal``,
        except of a belief or with a budget.
    budget : sequence of sets of int, optional
        Focal sets that receive mass. Default: all of them. Not for ``hartley``.
    negative : {"keep", "clamp"}
        Whether to keep negative masses or treat them as in C25. Not for ``hartley``.
    n_events : int, optional
        Random events for ``hartley``. Default: all events for up to 12 classes, 1024 random ones
        for more; 0 uses all events (at most 16 classes).
    n_samples : int
        ...
    rng : None, int or Generator
        ... Default: a fixed seed, so that repeated calls give the same value.

    Returns
    -------
    array (n,)
        One value per instance, in natural logarithms.

    Notes
    -----
    Non-specificity is the mean gap between a member's probability and the lower probability over random
    events, so `hartley` is never negative, needs no masses, and works with any number of classes.
    :func:`nonspecificity_estimate` gives the standard errors. Smets' measure is an information content (large
    for precise predictions, infinite if the set of all classes has no mass); Pal's is a specificity (1 for a
    point); Koerner's is 1 for a point and equals the sum of the upper probabilities.

    References
    ----------
    Abellan and Moral, A non-specificity measure for convex sets of probability distributions, 2000.
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025, eq. 7 and 9-11.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.credal.nonspecificity(cr.Belief([[0.5, 0.5]], [{0}, {0, 1}])).round(4)
    array([0.3466])
    >>> cr.credal.nonspecificity(cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])).round(4)
    array([0.1733])
    """
    return nonspecificity_estimate(
        predictions,
        measure=measure,
        budget=budget,
        negative=negative,
        n_events=n_events,
        n_samples=n_samples,
        rng=rng,
    ).values


@takes_rng
def nonspecificity_estimate(
    predictions: Any,
    *,
    measure: MeasureName = "hartley",
    budget: Sequence[Iterable[int]] | None = None,
    negative: Negative = "keep",
    n_events: int | None = None,
    n_samples: int = DIRICHLET_SAMPLES,
    rng: Any = 0,
) -> NonspecificityEstimate:
    """Return non-specificity with its standard errors and how it was made.

    Parameters
    ----------
    predictions : Predictions or array
        ...
    measure : {"hartley", "dubois_prade", "smets", "koerner", "pal"}
        Which measure; see :func:`nonspecificity`.
    budget : sequence of sets of int, optional
        Focal sets (sets of classes) that carry the masses. Not for ``hartley``.
    negative : {"keep", "clamp"}
        Whether to keep negative masses or treat them as in C25. Not for ``hartley``.
    n_events : int, optional
        Random events; see :func:`nonspecificity`.
    n_samples : int
        ...
    rng : None, int or Generator
        ...

    Returns
    -------
    NonspecificityEstimate
        Values per instance, standard errors per instance and of the mean.

    References
    ----------
    Abellan and Moral, *A non-specificity measure for convex sets of probability distributions*, 2000.

    Examples
    --------
    >>> import credibly as cr
    >>> probs = [[[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]], [[0.9, 0.05, 0.05], [0.8, 0.1, 0.1]]]
    >>> ensemble = cr.Ensemble(probs, member_axis=1)
    >>> estimate = cr.credal.nonspecificity_estimate(ensemble, n_events=512, rng=7)
    >>> bool(
    ...     abs(estimate.mean - cr.credal.nonspecificity(ensemble).mean()) < 4 * estimate.mean_stderr + 1e-12
    ... )
    True
    """
    one_of("`measure`", measure, MEASURES)
    one_of("`negative`", negative, ("keep", "clamp"))
    seed = as_seed(rng)
    credal = as_set(predictions, n_samples=n_samples, rng=seed)
    if measure == "hartley" and (budget is not None or negative == "clamp"):
        raise InputError(
            '`measure="hartley"`',
            "is the measure of the exact envelope, without budget and clamping",
            f"got budget={'None' if budget is None else 'given'}, negative={negative!r}",
            'Use `measure="dubois_prade"`, the same sum over the masses of a budget.',
        )
    settings: dict[str, Any] = {"budget": None, "negative": negative, "seed": seed}
    if budget is not None:
        settings["budget"] = [sorted(members) for members in budget]
    if budget is not None or negative == "clamp" or isinstance(credal, Belief) or measure in ("smets", "pal"):
        masses = masses_of(credal, budget, negative)
        # commonalities of given masses are sums in which nothing cancels
        noise = 0.0 if isinstance(credal, Belief) and budget is None else _NOISE
        return _exact(measure, _from_masses(masses, measure, noise), settings, masses.notes)
    if measure == "koerner":
        # sum_A m(A) |A| counts every class with the masses of the sets around it: its upper probability.
        return _exact(measure, credal.xp.sum(singleton_bounds(credal)[1], axis=-1), settings, ())
    if isinstance(credal, Point):
        return _exact(measure, 0.0 * credal.xp.sum(as_float64(credal.probs), axis=-1), settings, ())
    k = credal.n_classes
    count = n_events if n_events is not None else (0 if k <= EXACT_CLASSES else N_EVENTS)
    count = require_integer(count, "n_events", 0)
    if count == 0:
        require_few_classes(k, "`n_events=0`", f"Use random events, `n_events={N_EVENTS}`.")
        return _exact(measure, clip(exact_gap_sum(credal), 0.0), settings, ())
    require(count >= 64, "must be 0 (all events) or at least 64", "Use 512 or more.", n_events=count)
    gaps, errors, mean_error = sampled_gap_sum(credal, count, seed)
    values = clip(gaps, 0.0)
    mean = scalar(credal.xp.mean(values))
    return NonspecificityEstimate(measure, values, errors, mean, mean_error, False, count, settings)


def _exact(
    measure: str, values: Array, settings: dict[str, Any], notes: tuple[str, ...]
) -> NonspecificityEstimate:
    xp = namespace(values)
    zero = xp.zeros(values.shape, dtype=xp.float64, device=device(values))
    mean = scalar(xp.mean(values))
    return NonspecificityEstimate(measure, values, zero, mean, 0.0, True, 0, settings, notes)


_NOISE = 1e-15  # of masses that are differences of lower probabilities


def _from_masses(masses: MassFunction, measure: str, noise: float) -> Array:
    """Return sum_A m(A) f(|A|), or Smets' -sum_A ln Q(A), Q(A) the mass of all sets around A."""
    if measure != "smets":
        sizes = masses.sizes
        weight = {"koerner": sizes, "pal": 1.0 / sizes}.get(measure, np.log(sizes))
        return masses.masses @ like(weight, masses.masses)
    k = masses.n_classes
    require_few_classes(k, '`measure="smets"`', f"Use another measure beyond {MAX_CLASSES} classes.")
    around = all_events(k) @ (1.0 - masses.membership.T) == 0  # (events, focal sets): A inside B
    common = masses.masses @ like(around.astype(np.float64).T, masses.masses)
    xp = namespace(common)
    lowest = scalar(xp.min(common))
    if lowest < -1e-9:
        raise UnsupportedError(
            '`measure="smets"`',
            "takes logarithms of commonalities, which must not be negative",
            f"the lowest is {lowest:.6g}, from negative masses",
            'Pass `negative="clamp"`, or use "hartley".',
        )
    positive = common > noise
    logs = xp.log(xp.where(positive, common, xp.ones_like(common)))
    return xp.sum(xp.where(positive, -logs, xp.full_like(common, xp.inf)), axis=-1)
