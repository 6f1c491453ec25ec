"""Is the disagreement between raters predicted? The squared loss of a predicted disagreement, decomposed.

With y the label counts of an instance and n its raters, the fraction of disagreeing pairs and the same for
one class are unbiased for what two fresh raters would do:

    mu_D = 1 - sum y (y - 1) / (n (n - 1))         mu_Dk = 2 y_k (n - y_k) / (n (n - 1))
    L  = mean mu - 2 mu phi + phi^2                CL = sum over bins |bin| / N (mean mu - mean phi)^2
    RL = L - CL                                    (CL debiased)

A prediction expects raters to draw labels from one distribution p, which is known (a point), one of several
(an ensemble) or spread around a mean (a Dirichlet, or an ensemble of them). With S2 = sum p^2, S3 = sum p^3
and D = 1 - S2, two raters disagree with probability phi = E D, and the fraction of disagreeing pairs among n
raters has variance

    E D^2 - phi^2 + 2 / (n (n - 1)) (2 (n - 2) (E S3 - E S2^2) + phi - E D^2).

Disagreement about one class is the same with p and 1 - p in place of p.   Mimori et al. 2021 (D21),
eq. 49-51; Hoeffding 1948.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from functools import partial
from typing import Any

from credibly._arrays.checks import find_rows
from credibly._arrays.doors import checked
from credibly._arrays.errors import UnsupportedError, require_type
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly.predictions import ClassPredictions, Dataset, Dirichlet, Ensemble, Rows, as_point, as_rows
from credibly.predictions.ensemble import weighted_mean
from credibly.raters.levels import PLUGIN_REFUSAL, Level, TermFactors
from credibly.raters.loss import TERMS as LOSS_TERMS
from credibly.raters.moments import Evidence, instances_last
from credibly.raters.population import Population, class_predictions, ratings
from credibly.raters.rater_statistics import BoundRaterStatistic, RaterStatistic
from credibly.raters.two_passes import Binned, Summary, summarise
from credibly.results.decompositions import DisagreementDecomposition, DisagreementTerms, LossTerms
from credibly.results.estimates import Estimate, RootEstimate, signed_root
from credibly.statistics.cells import Binning, Closed

# Combinations of the means of loss, predicted and observed value, and of the calibration loss.
TERMS: TermFactors = {"expected": (1, 0, 0, 0), "calibration": (0, 0, 0, 1), "refinement": (1, 0, 0, -1)}
SPREAD: TermFactors = {"predicted": (0, 1, 0, 0), "observed": (0, 0, 1, 0)}
MEANS: TermFactors = {"expected": TERMS["expected"], "refinement": TERMS["refinement"], **SPREAD}
FOUR: TermFactors = {
    name: (expected, epistemic, calibration)
    for name, (expected, epistemic, _, calibration) in LOSS_TERMS.items()
}
FOUR_MEANS: TermFactors = {name: factors for name, factors in FOUR.items() if name != "calibration"}
PLUGIN_REFUSALS = {name: PLUGIN_REFUSAL for name in TERMS if name != "expected"}
ROOTS_REFUSAL = "roots of calibration losses near 0 have no standard error, nor has their mean"


@checked
def decompose_disagreement(
    predictions: Any,
    counts: Any = None,
    *,
    statistic: RaterStatistic | None = None,
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    sample_weight: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
) -> DisagreementDecomposition:
    """Compare predicted with observed disagreement between raters.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        The distribution from which raters draw their labels: a Point, one of the members of an Ensemble, a
        draw from a Dirichlet (or from one of several), or the mean of any other set (a note says so).
    counts : LabelCounts
        How many raters gave each label (chunks carry their own). Rows with fewer raters than the statistic
        needs are left out.
    statistic : RaterStatistic, optional
        A symmetric statistic of a few raters, in place of "two raters disagree"; see `rater_statistic`.
    n_bins : int
        Number of bins of the predicted value.
    binning : {"equal_width", "equal_mass"}
        ...
    closed : {"left", "right"}
        ...
    sample_weight : array (n,), optional
        Non-negative weights, the same in all terms.
    clusters : array (n,) or "copies", optional
        ... Standard errors then allow for these clusters, and pairs of rows inside a cluster are left out.
    blocks : int, optional
        ...

    Returns
    -------
    DisagreementDecomposition
        Loss, calibration and refinement with standard errors; for disagreement, also per class and averaged
        over classes; for a statistic with several values, one result for each value.

    Notes
    -----
    Pairs and the disagreement of pairs have closed forms. Statistics of three raters or more are summed over
    all multisets of labels, which grows like k^order; a warning says when that takes long.

    References
    ----------
    Mimori et al., *Diagnostic uncertainty calibration*, AISTATS 2021.

    Examples
    --------
    >>> import credibly as cr
    >>> counts = cr.LabelCounts([[3, 1], [0, 4], [2, 2], [4, 0]])
    >>> parts = cr.raters.decompose_disagreement([[0.8, 0.2], [0.1, 0.9], [0.5, 0.5], [0.9, 0.1]], counts)
    >>> round(parts.observed.value, 6), round(parts.predicted.value, 6)
    (0.291667, 0.295)
    """
    rows = as_rows(predictions, counts, sample_weight, clusters=clusters, blocks=blocks)
    cut = Binned(n_bins, binning, closed)
    fits = statistic is None or isinstance(statistic, RaterStatistic)
    remedy = "Create one: `rater_statistic(function, order=3)`."
    require_type(fits, "must be a statistic of raters", remedy, statistic=statistic)
    order = 2 if statistic is None else statistic.order
    population = Population(rows, order, mean_noted=False)
    if population.reduced_to_mean is not None:
        population.notes += (population.reduced_to_mean,)
    name = "disagreement" if statistic is None else statistic.name
    settings = vars(cut) | {"statistic": name, "order": order}
    if statistic is None:
        whole = summarise(population, overall_evidence, cut, (TERMS, SPREAD), MEANS, settings)
        columns = summarise(population, class_evidence, cut, (TERMS, SPREAD), MEANS, settings)
        average = columns.debiased[0].scaled(1.0 / population.n_classes)
        result = _result(whole, columns, average, population, settings)
        return dataclasses.replace(result, four_labels=_four_labels(rows, population, cut, settings))
    bound = statistic.bind(population.n_classes)
    costly = bound.warn_of_cost(population.n)
    population.notes += () if costly is None else (costly,)
    whole = summarise(population, partial(user_evidence, bound), cut, (TERMS, SPREAD), MEANS, settings)
    return _result(whole, whole if bound.n_columns > 1 else None, None, population, settings)


def _four_labels(
    rows: Rows, population: Population, cut: Binned, settings: dict[str, Any]
) -> LossTerms[Estimate] | None:
    """Return the parts that four labels identify, on the instances that have them."""
    counts = rows.example.batch.values
    if population.raters[1] < 4 or not namespace(counts).isdtype(counts.dtype, "integral"):
        return None
    with warnings.catch_warnings():  # instances with fewer labels are counted by the estimates
        warnings.simplefilter("ignore", UserWarning)
        four = Population(rows, 4, mean_noted=False)
    terms = summarise(four, four_evidence, cut, (FOUR,), FOUR_MEANS, settings)
    return LossTerms(**terms.debiased[0].totals(FOUR))


def _result(
    whole: Summary,
    columns: Summary | None,
    average: Level | None,
    population: Population,
    settings: dict[str, Any],
) -> DisagreementDecomposition:
    terms: dict[str, Any] = {**whole.debiased[0].totals(TERMS), **whole.debiased[0].totals(SPREAD)}
    spread = None if columns is None else columns.debiased[1].arrays(SPREAD)
    return DisagreementDecomposition(
        **terms,
        name=settings["statistic"],
        calibration_error=RootEstimate.of(terms["calibration"], "calibration_error"),
        plugin=DisagreementTerms(**whole.plugin.totals(TERMS, PLUGIN_REFUSALS)),
        bins=whole.bins,
        per_class=None if columns is None else DisagreementTerms(**columns.debiased[1].arrays(TERMS)),
        per_class_predicted=None if spread is None else spread["predicted"],
        per_class_observed=None if spread is None else spread["observed"],
        class_average=None if average is None else DisagreementTerms(**average.totals(TERMS)),
        class_calibration_error=None if columns is None or average is None else mean_of_roots(columns),
        n=population.n,
        n_left_out=population.n_left_out,
        raters=population.raters,
        settings=settings,
        notes=population.notes,
    )


def mean_of_roots(columns: Summary) -> Estimate:
    """Return the mean of the calibration errors of the columns."""
    losses = columns.debiased[1].arrays(TERMS)["calibration"]
    roots = [signed_root(float(value)) for value in losses.value]
    return Estimate(
        "class_calibration_error",
        math.fsum(roots) / len(roots),
        None,
        losses.n,
        interval_refusal=ROOTS_REFUSAL,
    )


def overall_evidence(tile: Dataset) -> Evidence:
    """Two raters disagree."""
    mu, raters, weight = ratings(tile)
    same = namespace(mu).sum(mu * mu, axis=0, keepdims=True)
    observed = (1.0 - same) * (raters / (raters - 1.0))
    moments = pair_moments(class_predictions(tile), per_class=False)
    return _evidence(moments.disagreement, observed, weight, moments.variance(raters))


def four_evidence(tile: Dataset) -> Evidence:
    """Two raters disagree; D^2 of an instance is estimated by pairs of disjoint pairs of its labels.

    D = 1 - S2:  E D^2 = 1 - 2 E S2 + E S2^2,  S2^2 from (sum (c)_4 + sum over a != b (c_a)_2 (c_b)_2) / (n)_4
    """
    base = overall_evidence(tile)
    mu, n, weight = ratings(tile)
    xp = namespace(mu)
    c = xp.round(mu * n)
    two = c * (c - 1.0)
    pairs = xp.sum(two, axis=0, keepdims=True)
    disjoint = pairs**2 - xp.sum(two**2 - two * (c - 2.0) * (c - 3.0), axis=0, keepdims=True)
    number = n * (n - 1.0)
    square = 1.0 - 2.0 * pairs / number + disjoint / (number * (n - 2.0) * (n - 3.0))
    phi, observed = base.predicted, base.observed
    return Evidence(phi, observed, (base.means[0], square - 2.0 * phi * observed + phi**2), weight)


def class_evidence(tile: Dataset) -> Evidence:
    """Two raters disagree about a class: one of them names it, the other does not."""
    mu, raters, weight = ratings(tile)
    moments = pair_moments(class_predictions(tile), per_class=True)
    observed = 2.0 * mu * (1.0 - mu) * (raters / (raters - 1.0))
    return _evidence(moments.disagreement, observed, weight, moments.variance(raters))


def user_evidence(bound: BoundRaterStatistic, tile: Dataset) -> Evidence:
    """Return what a user's statistic observes and expects."""
    counts = tile.batch.values[0, ...]
    _require_whole(counts, bound.statistic)
    _, raters, weight = ratings(tile)
    expected = instances_last(bound.expected(class_predictions(tile)))
    observed = instances_last(bound.observed(counts, raters[:, None]))
    return _evidence(expected, observed, weight)


def _require_whole(counts: Array, statistic: RaterStatistic) -> None:
    xp = namespace(counts)
    if xp.isdtype(counts.dtype, "integral"):
        return
    if find_rows((counts,), lambda rows: rows != xp.round(rows)):
        raise UnsupportedError(
            f"`{statistic.name}`",
            "needs whole numbers of raters",
            "got soft labels that are not whole counts",
            "Use the counts of raters, or the disagreement of pairs, which soft labels define.",
        )


def _evidence(predicted: Array, observed: Array, weight: Array | None, variance: Array = None) -> Evidence:
    loss = observed * (1.0 - 2.0 * predicted) + predicted * predicted
    return Evidence(predicted, observed, (loss, predicted, observed), weight, variance)


@dataclasses.dataclass(frozen=True)
class PairMoments:
    """E S2, E S3 and E S2^2 under the prediction, (c, n)."""

    s2: Array
    s3: Array
    s2_squared: Array

    @property
    def disagreement(self) -> Array:
        """Return the probability that two raters disagree."""
        return 1.0 - self.s2

    def variance(self, raters: Array) -> Array:
        """Return the variance of the fraction of disagreeing pairs among raters (n,)."""
        square = 1.0 - 2.0 * self.s2 + self.s2_squared
        noise = 2.0 * (raters - 2.0) * (self.s3 - self.s2_squared) + self.disagreement - square
        return square - self.disagreement**2 + 2.0 * noise / (raters * (raters - 1.0))


def pair_moments(predictions: ClassPredictions, *, per_class: bool) -> PairMoments:
    """Return the moments over all classes (1, n), or of every class against the rest (k, n)."""
    return PairMoments(*map(instances_last, _moments(predictions, per_class)))


def _moments(predictions: ClassPredictions, per_class: bool) -> tuple[Array, ...]:
    if isinstance(predictions, Dirichlet):
        alpha = as_float64(predictions.alpha)
        moments = _class_moments(alpha) if per_class else _dirichlet_moments(alpha)
        if alpha.ndim == 2:
            return moments
        return tuple(weighted_mean(part, predictions.weights) for part in moments)
    weights = None
    if isinstance(predictions, Ensemble):
        probs, weights = as_float64(predictions.probs), predictions.weights
    else:
        probs = as_float64(as_point(predictions)[0].probs)
    s2, s3 = _power_sums(probs, per_class)
    if probs.ndim == 2:
        return s2, s3, s2 * s2
    return tuple(weighted_mean(part, weights) for part in (s2, s3, s2 * s2))


def _power_sums(probs: Array, per_class: bool) -> tuple[Array, Array]:
    """Return sum p^2 and sum p^3 over the classes (..., 1), or over a class and the rest (..., k)."""
    xp = namespace(probs)
    square = probs * probs
    if not per_class:
        return xp.sum(square, axis=-1, keepdims=True), xp.sum(square * probs, axis=-1, keepdims=True)
    rest = 1.0 - probs
    return square + rest * rest, square * probs + rest * rest * rest


def _dirichlet_moments(alpha: Array) -> tuple[Array, Array, Array]:
    """E sum p^2, E sum p^3 and E (sum p^2)^2 = E (sum p^4 + sum over a != b of p_a^2 p_b^2), (..., 1)."""
    xp = namespace(alpha)
    total = xp.sum(alpha, axis=-1, keepdims=True)

    def summed(power: int) -> Array:
        return xp.sum(_rising(alpha, total, power), axis=-1, keepdims=True)

    pairs = alpha / total * (alpha + 1.0) / (total + 1.0)  # E p_a^2
    both = xp.sum(pairs, axis=-1, keepdims=True) ** 2 - xp.sum(pairs**2, axis=-1, keepdims=True)
    # E p_a^2 p_b^2 divides by (A)_4 where the product of the two means divides by (A)_2^2
    both = both * (total / (total + 2.0)) * ((total + 1.0) / (total + 3.0))
    return summed(2), summed(3), summed(4) + both


def _class_moments(alpha: Array) -> tuple[Array, Array, Array]:
    """The same for every class against the rest: two parameters, a and A - a, (..., k)."""
    xp = namespace(alpha)
    total = xp.sum(alpha, axis=-1, keepdims=True)
    rest = total - alpha
    a2, b2 = _rising(alpha, total, 2), _rising(rest, total, 2)
    cross = 2.0 * a2 * b2 * (total / (total + 2.0)) * ((total + 1.0) / (total + 3.0))
    third = _rising(alpha, total, 3) + _rising(rest, total, 3)
    return a2 + b2, third, _rising(alpha, total, 4) + _rising(rest, total, 4) + cross


def _rising(alpha: Array, total: Array, power: int) -> Array:
    """E p^power of a Dirichlet: a (a + 1) ... / (A (A + 1) ...), factor by factor against overflow."""
    value = alpha / total
    for step in range(1, power):
        value = value * ((alpha + step) / (total + step))
    return value
