"""Is a model calibrated? Consistency resampling: labels drawn from the predictions themselves.

H0: the label of every instance was drawn from its predicted distribution. Resampling labels given
predictions is exact in finite samples; bootstrapping the instances as well, as printed in M23 and J25, is
not.   Broecker and Smith 2007; Vaicenavicius et al. 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.errors import CrediblyError, require
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.calibration.certificate import equivalence_test
from credibly.hypotests.resampling.choices import (
    are_drawn_labels,
    drawing_notes,
    require_drawable,
    require_sides,
    why_no_sides,
    with_label_in_mean,
)
from credibly.hypotests.resampling.loop import Resampled, targets_of
from credibly.hypotests.resampling.pvalues import omnibus, require_resamples, single_result
from credibly.hypotests.resampling.requests import Asking, Request, answered, calibrated, comes_in_parts
from credibly.predictions import (
    Ensemble,
    InMemory,
    Point,
    RealPredictions,
    Rows,
    as_rows,
    one_rater,
    require_single,
)
from credibly.predictions.passes import detached
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.over_rows import for_pairs
from credibly.statistics.registry import as_statistic
from credibly.statistics.slopes import states_one
from credibly.statistics.subsampled import Subsampled, random_rows

REAL_OMNIBUS = ("skce", "quantile_calibration_error", "mean_slope")
"""For real values: the first detects predictions that are wrong given what they state, the second a shift of
all, the third means that are too extreme or too timid (studies/scripts/real_defaults.py)."""

MOST_UNASKED_ROWS = 1000
"""Instances whose pairs are compared by default, so that the test takes seconds for any n."""

OMNIBUS = ("skce", "log_loss")
"""The family with the largest smallest power of 98 tried (studies/pages/omnibus-family.md)."""


@takes_rng
def calibration_test(
    predictions: Any,
    labels: Any = None,
    *,
    statistics: str | Statistic | Sequence[str | Statistic] | None = None,
    margin: float | None = None,
    n_resamples: int = 999,
    sample_weight: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> HypotestResult:
    """Test whether the observed labels could have been drawn from the predictions.

    With a margin the question is reversed: do the data show that the calibration error is smaller than that?

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions (a set is represented by its mean, and a note says so) or real-valued ones (members
        are represented by their mixture).
    labels : array (n,)
        Observed classes or real numbers, one per instance. From LabelCounts, one rater per instance is drawn
        with the seed, and a note says so: labels of one instance are not independent, and treating them as if
        they were would reject calibrated models. `validity_test` uses all of them.
    statistics : str, Statistic or a sequence of them, optional
        What to compare. Default: `confidence_ece` for classes, and for real values `skce` (on at most 1000
        instances, drawn at random), `quantile_calibration_error` and `statistics.mean_slope` together (the
        last unless only quantiles, or one mean for all, are predicted). Several statistics give one omnibus
        p-value (smallest p, Westfall-Young) and one result per statistic in ``components``, all on the same
        replicates. ``"omnibus"`` is the family that detects the most kinds of miscalibration, ``("skce",
        "log_loss")`` for classes and the default one for real values, on all instances; time grows with n
        squared.
    margin : float, optional
        Equivalence test: test whether the error is smaller than this share, 0.02 for two points. The result
        says "within 2 points, 95 % sure", "beyond" (a conflict: the error is surely larger) or "not shown".
        The statistics must be ones that `hypotests.certificate` can bound; if there are several, all must be
        within the margin. Default: `confidence_gap` and, for two classes, the error of P(event), the mean
        probability of the second class minus its frequency. No labels are drawn.
    n_resamples : int
        ...
    sample_weight : array (n,), optional
        ...
    clusters : array (n,) or "copies", optional
        ... Rows of one cluster may then depend on each other in any way, and replicates preserve that
        dependence (wild cluster bootstrap). Data read by `load` bring their own. "copies": rows with the same
        predictions and label form one cluster.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...
    progress : callable or True, optional
        ...

    Returns
    -------
    HypotestResult
        The p-value with its Monte-Carlo interval, null distribution, acceptance region and effect size; with
        a margin its ``details`` are `EquivalenceDetails`, which have the upper bound of the error.

    Notes
    -----
    The p-value is exact for any n and any statistic: P(p <= level) <= level. For `Samples`, every label is
    exchanged with one of its draws, which is exact for any number of draws; for `Quantiles`, the cell of a
    label is drawn, and statistics that need its value are refused. The data must not have been used to fit or
    recalibrate the model.

    With clusters the hypothesis is that every row is calibrated given its prediction and that clusters are
    independent. Only statistics that are functions of residuals can be tested; others are refused. Pairs
    inside a cluster are left out. The p-value is not exact, but it held its level in simulations from 6
    clusters on, and it is never below 2^(1 - C) with C clusters: with 5 or fewer nothing is rejected at 5 %,
    and the verdict is "cannot tell".

    References
    ----------
    Vaicenavicius et al., *Evaluating model calibration in classification*, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(1)
    >>> probs = rng.dirichlet(np.ones(3), size=500)
    >>> overconfident = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    >>> labels = (rng.random((500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> cr.calibration_test(overconfident, labels, rng=0).pvalue
    0.001
    >>> print(cr.calibration_test(probs, labels, margin=0.1).sentence())
    confidence_gap is within 10 points, 95 % sure: it is at most 8.38 points.
    """
    report = as_progress(progress)
    seed = as_seed(rng)
    rows, notes = one_rater(
        detached(as_rows(predictions, labels, sample_weight, clusters=clusters, blocks=blocks)), seed
    )
    require_resamples(n_resamples)
    if statistics is None and margin is not None:
        return equivalence_test(rows, None, margin, notes)
    predictions = rows.example.predictions
    if statistics is None:
        statistics, left_out = _unasked(rows, seed)
        notes = (*notes, *left_out)
    if isinstance(statistics, str) and statistics == "omnibus" and isinstance(predictions, RealPredictions):
        statistics = _real_omnibus(predictions)
    chosen, several = named_statistics(statistics)
    if margin is not None:
        return equivalence_test(rows, chosen, margin, notes)
    require_sides(rows, chosen)
    resampled = answered(asking_consistency(rows, chosen, n_resamples, seed, report))
    return omnibus_of(rows, resampled, seed, notes) if several else _results(rows, resampled, seed, notes)[0]


def named_statistics(statistics: str | Statistic | Sequence[str | Statistic]) -> tuple[list[Statistic], bool]:
    """Return the statistics that are asked for, and whether several are tested together."""
    named = OMNIBUS if isinstance(statistics, str) and statistics == "omnibus" else statistics
    several = isinstance(named, Sequence) and not isinstance(named, str)
    chosen = [as_statistic(name) for name in (named if several else [named])]  # type: ignore[union-attr]
    require_distinct(chosen)
    return chosen, several


def _settings(seed: Seed) -> dict[str, Any]:
    return {"method": "resample", "seed": list(seed)}


def asking_tests(
    rows: Rows,
    chosen: Sequence[Statistic],
    n_resamples: int,
    seed: Seed,
    progress: Progress | None = None,
    notes: tuple[str, ...] = (),
) -> Asking[HypotestResult]:
    """Test statistics on shared replicates of labels; single results are components of the one of all."""
    require_distinct(chosen)
    require_sides(rows, chosen)
    resampled = yield from asking_consistency(rows, chosen, n_resamples, seed, progress)
    return omnibus_of(rows, resampled, seed, notes)


def omnibus_of(
    rows: Rows, resampled: Sequence[Resampled], seed: Seed, notes: tuple[str, ...] = ()
) -> HypotestResult:
    """Return the test of statistics together from their values on labels that fit the predictions."""
    values = np.stack([test.values for test in resampled])
    return omnibus(_results(rows, resampled, seed, notes), values, _settings(seed))


def asking_consistency(
    rows: Rows, chosen: Sequence[Statistic], n_resamples: int, seed: Seed, progress: Progress | None = None
) -> Asking[list[Resampled]]:
    """Evaluate statistics on labels drawn from the predictions, or on signs of the clusters of rows."""
    require_single(rows.example, "`calibration_test`", weighted=True)
    if are_drawn_labels(rows):
        rows = rows.changed(with_label_in_mean)
    if rows.clusters is None:
        if not all(comes_in_parts(statistic, rows) for statistic in chosen):
            _require_means(chosen, rows)
            rows = InMemory(for_pairs(rows))
        require_drawable(rows.example.predictions, chosen)
    targets = targets_of(chosen, rows, in_parts=True)
    ((resampled,),) = yield [Request(targets, rows, [calibrated(rows, seed)], n_resamples, progress)]
    return resampled


def _results(
    rows: Rows, resampled: Sequence[Resampled], seed: Seed, notes: tuple[str, ...]
) -> list[HypotestResult]:
    """Return the test of every statistic from its values."""
    clusters, example = rows.clusters, rows.example
    drawn = drawing_notes(example.predictions)
    if clusters is not None:  # draws of real values have notes of their own there
        drawn = (*clusters.notes, *(drawn if isinstance(example.predictions, Ensemble) else ()))
    return [
        single_result(
            test.bound,
            test.values,
            _settings(seed),
            referred=clusters is None and example.batch.weights is None,
            notes=(*drawn, *notes),
            clusters=clusters,
            sums=test.observed,
        )
        for test in resampled
    ]


def _require_means(chosen: Sequence[Statistic], chunks: Rows) -> None:
    """Raise for functions of all predictions: only the mean predictions of chunks are gathered."""
    for statistic in chosen:
        if statistic.traits.reduction == "opaque" and not isinstance(chunks.example.predictions, Point):
            chunks.at_once(f"`{statistic.name}`")


CLASS_DEFAULT = "confidence_ece"
"""What a test of class predictions compares where nothing is named."""


def _unasked(rows: Rows, seed: Seed) -> tuple[str | Sequence[str | Statistic], tuple[str, ...]]:
    """Return what a test compares if nothing is named, of many rows the pairs of some, and what to note."""
    if not isinstance(rows.example.predictions, RealPredictions):
        return CLASS_DEFAULT, ()
    pairs, *sums = _real_omnibus(rows.example.predictions)
    reason = "it compares pairs" if rows.n < 2 else why_no_sides(rows, as_statistic(pairs))
    if reason is not None:
        return sums if len(sums) > 1 else sums[0], (f"{pairs} was left out: {reason}",)
    if rows.n <= MOST_UNASKED_ROWS:
        return [pairs, *sums], ()
    return [Subsampled(as_statistic(pairs), random_rows(rows.n, MOST_UNASKED_ROWS, seed)), *sums], ()


def _real_omnibus(predictions: RealPredictions) -> tuple[str, ...]:
    """Return the family of real values, without the slope if no spread, or only one mean, is stated."""
    try:
        as_statistic(REAL_OMNIBUS[-1]).require_predictions(predictions)
        flat = states_one(predictions, "mean")
    except CrediblyError:
        flat = True
    return REAL_OMNIBUS[:-1] if flat else REAL_OMNIBUS


def require_distinct(chosen: Sequence[Statistic]) -> None:
    """Raise unless there is at least one statistic and each has a name of its own."""
    names = [statistic.name for statistic in chosen]
    require(names, "must name at least one", "Name one.", statistics=names)
    remedy = "Name each once; give your own a name with `cr.statistic(..., name=...)`."
    require(len(set(names)) == len(names), "must be distinct", remedy, statistics=names)
