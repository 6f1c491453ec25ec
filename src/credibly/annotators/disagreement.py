"""Is the disagreement between raters predicted? Squared loss of a predicted disagreement, taken apart.

With y the label counts of an instance and n its raters, the fraction of disagreeing pairs and the same for
one class are unbiased for what two fresh raters would do:

    mu_D = 1 - sum y (y - 1) / (n (n - 1))         mu_Dk = 2 y_k (n - y_k) / (n (n - 1))
    L  = mean mu - 2 mu phi + phi^2                CL = sum over bins |bin| / N (mean mu - mean phi)^2
    RL = L - CL                                    (CL debiased)

Mimori et al. 2021 (D21).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from credibly._arrays.checks import find_rows
from credibly._arrays.errors import InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, namespace
from credibly.annotators.calibration import Debias
from credibly.annotators.engine import Summary, summarise
from credibly.annotators.levels import PLUGIN_REFUSAL, Level, Terms
from credibly.annotators.loss import check_cut
from credibly.annotators.moments import Evidence, instances_last
from credibly.annotators.population import Population, RatedRows, check_chunk
from credibly.annotators.predicted import pair_moments
from credibly.annotators.rater_statistics import BoundRaterStatistic, RaterStatistic
from credibly.predictions import Rows, require_no_labels
from credibly.results.decompositions import DisagreementDecomposition, DisagreementTerms
from credibly.results.estimates import RootEstimate
from credibly.statistics.bins import Binning, Closed

# Combinations of the means of loss, predicted and observed value, and of the calibration loss.
TERMS: Terms = {"expected": (1, 0, 0, 0), "calibration": (0, 0, 0, 1), "refinement": (1, 0, 0, -1)}
SPREAD: Terms = {"predicted": (0, 1, 0, 0), "observed": (0, 0, 1, 0)}
MEANS: Terms = {"expected": TERMS["expected"], "refinement": TERMS["refinement"], **SPREAD}
PLUGIN_REFUSALS = {name: PLUGIN_REFUSAL for name in TERMS if name != "expected"}


def decompose_disagreement(
    predictions: Any,
    counts: Any = None,
    *,
    statistic: RaterStatistic | None = None,
    n_bins: int = 15,
    binning: Binning = "equal_width",
    closed: Closed = "left",
    debias: Debias = "full",
    sample_weight: Any = None,
    paper: str | None = None,
) -> DisagreementDecomposition:
    """Compare predicted with observed disagreement between raters.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        What raters draw their labels from: a Point, one of the members of an Ensemble, a draw from a
        Dirichlet (or from one of several); the mean of any other set, which the notes say.
    counts : LabelCounts
        How many raters gave each label; chunks bring their own. Rows with fewer raters than the statistic
        needs are left out.
    statistic : RaterStatistic, optional
        Another symmetric statistic of a few raters than "two raters disagree"; see `rater_statistic`.
    n_bins : int
        Bins of the predicted value.
    binning : {"equal_width", "equal_mass"}
        How bins are laid.
    closed : {"left", "right"}
        Which end of a bin belongs to it.
    debias : {"full", "paper"}
        How the calibration loss is debiased, see `decompose_loss`.
    sample_weight : array (n,), optional
        Non-negative weights, the same in all terms.
    paper : {"D21"}, optional
        Use the settings of the paper.

    Returns
    -------
    DisagreementDecomposition
        Loss, calibration and refinement with standard errors; for disagreement also per class and averaged
        over classes, for a statistic with several values per value.

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
    >>> parts = cr.decompose_disagreement([[0.8, 0.2], [0.1, 0.9], [0.5, 0.5], [0.9, 0.1]], counts)
    >>> round(parts.observed.value, 6), round(parts.predicted.value, 6)
    (0.291667, 0.295)
    """
    if isinstance(predictions, Rows):
        require_no_labels(counts, sample_weight)
        return _decompose(predictions, statistic, n_bins, binning, closed, debias, paper)
    chunk = check_chunk(predictions, counts, sample_weight)
    return _decompose(chunk, statistic, n_bins, binning, closed, debias, paper)


def _decompose(
    rows: Rows | RatedRows,
    statistic: RaterStatistic | None,
    n_bins: int,
    binning: Binning,
    closed: Closed,
    debias: Debias,
    paper: str | None,
) -> DisagreementDecomposition:
    cut, paper_notes = check_cut(n_bins, binning, closed, debias, paper)
    if statistic is not None and not isinstance(statistic, RaterStatistic):
        raise InputTypeError(
            "`statistic`",
            "must be a statistic of raters",
            f"got {statistic!r}",
            "Make one: `rater_statistic(function, order=3)`.",
        )
    order = 2 if statistic is None else statistic.order
    population = Population(rows, order, mean_noted=False)
    notes = [*population.notes, *paper_notes]
    if population.reduced_to_mean is not None:
        notes.append(population.reduced_to_mean)
    name = "disagreement" if statistic is None else statistic.name
    settings = vars(cut) | {"statistic": name, "order": order, "paper": paper}
    if statistic is None:
        whole = summarise(population, overall_evidence, cut, (TERMS, SPREAD), MEANS, settings, tuple(notes))
        columns = summarise(population, class_evidence, cut, (TERMS, SPREAD), MEANS, settings, tuple(notes))
        average = columns.debiased[0].scaled(1.0 / population.n_classes)
        return _result(name, whole, columns, average, population, settings, tuple(notes))
    bound = statistic.bind(population.n_classes)
    costly = bound.warn_of_cost(population.n)
    notes += [] if costly is None else [costly]
    whole = summarise(
        population, partial(user_evidence, bound), cut, (TERMS, SPREAD), MEANS, settings, tuple(notes)
    )
    columns_or_none = whole if bound.n_columns > 1 else None
    return _result(name, whole, columns_or_none, None, population, settings, tuple(notes))


def _result(
    name: str,
    whole: Summary,
    columns: Summary | None,
    average: Level | None,
    population: Population,
    settings: dict[str, Any],
    notes: tuple[str, ...],
) -> DisagreementDecomposition:
    terms = whole.debiased[0].totals(TERMS)
    spread = None if columns is None else columns.debiased[1].arrays(SPREAD)
    return DisagreementDecomposition(
        **terms,
        name=name,
        calibration_error=RootEstimate.of(terms["calibration"], "calibration_error"),
        **whole.debiased[0].totals(SPREAD),
        plugin=DisagreementTerms(**whole.plugin[0].totals(TERMS, PLUGIN_REFUSALS)),
        bins=whole.bins,
        per_class=None if columns is None else DisagreementTerms(**columns.debiased[1].arrays(TERMS)),
        per_class_predicted=None if spread is None else spread["predicted"],
        per_class_observed=None if spread is None else spread["observed"],
        class_average=None if average is None else DisagreementTerms(**average.totals(TERMS)),
        class_bins=None if columns is None else columns.bins,
        n=population.n,
        n_left_out=population.n_left_out,
        raters=population.raters,
        settings=settings,
        notes=notes,
    )


def overall_evidence(tile: RatedRows) -> Evidence:
    """Two raters disagree."""
    mu, raters = tile.frequencies
    same = namespace(mu).sum(mu * mu, axis=0, keepdims=True)
    observed = (1.0 - same) * (raters / (raters - 1.0))
    moments = pair_moments(tile.predictions, per_class=False)
    return _evidence(moments.disagreement, observed, tile.weight, moments.variance(raters))


def class_evidence(tile: RatedRows) -> Evidence:
    """Two raters disagree about a class: one of them names it, the other does not."""
    mu, raters = tile.frequencies
    moments = pair_moments(tile.predictions, per_class=True)
    observed = 2.0 * mu * (1.0 - mu) * (raters / (raters - 1.0))
    return _evidence(moments.disagreement, observed, tile.weight, moments.variance(raters))


def user_evidence(bound: BoundRaterStatistic, tile: RatedRows) -> Evidence:
    """Return what a user's statistic observes and expects."""
    _require_whole(tile.counts, bound.statistic)
    _, raters = tile.frequencies
    expected = instances_last(bound.expected(tile.predictions))
    observed = instances_last(bound.observed(tile.counts, raters[:, None]))
    return _evidence(expected, observed, tile.weight)


def _require_whole(counts: Array, statistic: RaterStatistic) -> None:
    xp = namespace(counts)
    if xp.isdtype(counts.dtype, "integral"):
        return
    if find_rows((counts,), lambda block: block != xp.round(block)):
        raise UnsupportedError(
            f"`{statistic.name}`",
            "chooses whole raters",
            "got soft labels that are no whole counts",
            "Use the counts of raters, or the disagreement of pairs, which soft labels define.",
        )


def _evidence(predicted: Array, observed: Array, weight: Array | None, variance: Array = None) -> Evidence:
    loss = observed * (1.0 - 2.0 * predicted) + predicted * predicted
    return Evidence(predicted, observed, (loss, predicted, observed), weight, variance)
