"""Is a model calibrated? Consistency resampling: labels drawn from the predictions themselves.

H0: the label of every instance was drawn from its predicted distribution. Resampling labels given
predictions is exact in finite samples; bootstrapping the instances as well (as printed in M23 and J25) is
not and is kept for comparison.   Broecker and Smith 2007; Vaicenavicius et al. 2019.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import (
    InputError,
    InputTypeError,
    UnsupportedError,
    one_of,
    require_positive,
)
from credibly._arrays.philox import Seed, as_seed
from credibly._arrays.progress import Progress, as_progress
from credibly._arrays.results import HypotestResult
from credibly.hypotests.analytic import analytic_test
from credibly.hypotests.chunked import resampled_values_over
from credibly.hypotests.pvalues import (
    acceptance_region,
    distance,
    monte_carlo_pvalue,
    pooled_pvalues,
    require_numbers,
    westfall_young,
)
from credibly.hypotests.replicates import RealReplicates, Replicates, replicates_of
from credibly.hypotests.resampling import (
    HostArray,
    bootstrapped_pairs,
    paired_values,
    resampled_values,
    without_graph,
)
from credibly.predictions import (
    Chunks,
    Classes,
    ClassPredictions,
    Counts,
    LabelCounts,
    Predictions,
    Quantiles,
    RealPredictions,
    Reals,
    as_labels,
    as_point,
    as_predictions,
    require_no_labels,
    require_order,
)
from credibly.statistics import Bound, Statistic, as_statistic
from credibly.statistics.chunked import gathered, one_distribution, planned

MOST_RESAMPLES = 10_000_000
HYPOTHESIS = "the label of every instance was drawn from its predicted distribution"

OMNIBUS = ("skce", "log_loss")
"""The family with the largest smallest power of 98 tried (docs/studies/omnibus-family.md)."""


def calibration_test(
    predictions: Any,
    labels: Any = None,
    *,
    statistic: str | Statistic | Sequence[str | Statistic] | None = None,
    method: Literal["resample", "moments", "asymptotic", "bound"] = "resample",
    resample: Literal["labels", "instances"] = "labels",
    n_resamples: int = 999,
    sample_weight: Any = None,
    rng: Any = None,
    progress: Progress | Literal[True] | None = None,
) -> HypotestResult:
    """Test whether the observed labels could have been drawn from the predictions.

    Parameters
    ----------
    predictions : Predictions, array or Chunks
        Class predictions, where a set is represented by its mean, which the notes say; or real-valued ones,
        where members are represented by their mixture.
    labels : array (n,)
        Observed classes or real numbers, one per instance. LabelCounts are refused: raters of one instance
        share its truth, and counted as independent draws they reject calibrated models; draw one with
        ``counts.draw(rng=0)``.
    statistic : str, Statistic or a sequence of them, optional
        What to compare; `confidence_ece` of classes and `quantile_calibration_error` of real values where it
        is not given. With several, one omnibus p-value (smallest p, Westfall-Young) and one result per
        statistic in ``components``, all on the same replicates. ``"omnibus"`` is ``("skce", "log_loss")``,
        the pair that sees every kind of miscalibration; it compares all pairs of instances, so its time
        grows with n squared.
    method : {"resample", "moments", "asymptotic", "bound"}
        Replicates of the labels, exact for every statistic. "moments": Pearson III with the exact null
        moments, for the unbiased `skce` and n up to a few thousand. "asymptotic": a limit or reference
        distribution, where the statistic has one. "bound": a distribution-free upper bound of the p-value,
        for kernel errors.
    resample : {"labels", "instances"}
        What changes between replicates. "instances" bootstraps rows too, as printed in M23 and J25; its level
        is not exact.
    n_resamples : int
        Number of replicates.
    sample_weight : array (n,), optional
        Non-negative weights of the instances.
    rng : None, int or Generator
        Seed; the same seed gives the same p-value on every array library and device.
    progress : callable or True, optional
        Called with (done, total); True writes to standard error after one second, where that is a terminal.

    Returns
    -------
    HypotestResult
        The p-value with its Monte-Carlo interval, null distribution, acceptance region and effect size.

    Notes
    -----
    With ``resample="labels"`` the p-value is exact for any n and any statistic: P(p <= level) <= level.
    The data must not have been used to fit or recalibrate the model.

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
    """
    one_of("`method`", method, ("resample", "moments", "asymptotic", "bound"))
    one_of("`resample`", resample, ("labels", "instances"))
    if progress is not None and progress is not True and not callable(progress):
        raise InputTypeError(
            "`progress`", "must be True or callable with (done, total)", f"got {progress!r}", "Leave it out."
        )
    if statistic is None:
        source = (
            predictions.sample.predictions if isinstance(predictions, Chunks) else as_predictions(predictions)
        )
        statistic = default_statistic(source)
    statistic = OMNIBUS if isinstance(statistic, str) and statistic == "omnibus" else statistic
    several = isinstance(statistic, Sequence) and not isinstance(statistic, str)
    chosen = [as_statistic(one) for one in (statistic if several else [statistic])]  # type: ignore[union-attr]
    _require_distinct(chosen)
    require_resamples(n_resamples)
    seed = as_seed(rng)
    report = as_progress(progress)
    settings = {"method": method, "resample": resample, "seed": list(seed)}
    if isinstance(predictions, Chunks):
        require_no_labels(labels, sample_weight)
        if (
            method == "resample"
            and resample == "labels"
            and all(one.traits.reduction == "sum" for one in chosen)
        ):
            return _over_chunks(chosen, predictions, several, n_resamples, seed, settings, report)
        predictions, labels = gathered(predictions)
    require_order(predictions, labels)
    given = without_graph(as_predictions(predictions))
    observed = _observed(given, labels, sample_weight)
    bounds = [one.bind(given) for one in chosen]
    if method != "resample":
        if several:
            raise UnsupportedError(
                "an omnibus test",
                "shares replicates between its statistics",
                f"got method={method!r}",
                'Use method="resample".',
            )
        return analytic_test(
            bounds[0], observed, method, hypothesis=HYPOTHESIS, n_resamples=n_resamples, seed=seed
        )
    if resample == "labels":
        replicates = _replicates(given, bounds, seed)
        values = resampled_values(bounds, observed, replicates, n_resamples, report)
    else:
        if not isinstance(observed, Classes):
            raise UnsupportedError(
                'resample="instances"',
                "repeats what papers print about classes",
                f"got {type(given).__name__}",
                'Use resample="labels", whose level is exact.',
            )
        if observed.weights is not None:
            raise UnsupportedError(
                "`sample_weight`",
                'cannot be used with resample="instances"',
                "got both",
                'Use resample="labels", whose level is exact.',
            )
        pairs = bootstrapped_pairs(given, as_point(given)[0].probs, observed, seed, n_resamples)
        values = paired_values(chosen, pairs, n_resamples + 1, report)
    # reference distributions are of plain counts
    results = [
        _single(bound, row, settings, referred=observed.weights is None)
        for bound, row in zip(bounds, values, strict=True)
    ]
    return omnibus(results, values, settings) if several else results[0]


def default_statistic(predictions: Predictions) -> str:
    """Return the name of the statistic that a test compares where none is named."""
    return "quantile_calibration_error" if isinstance(predictions, RealPredictions) else "confidence_ece"


def _observed(predictions: Predictions, labels: Any, sample_weight: Any) -> Classes | Reals:
    _require_single_labels(predictions, labels)
    batch = as_labels(predictions, labels, sample_weight)
    assert not isinstance(batch, Counts)
    return batch


def _require_single_labels(predictions: Predictions, labels: Any) -> None:
    if not isinstance(predictions, (ClassPredictions, RealPredictions)):
        raise InputTypeError(
            "`calibration_test`",
            "needs predictions",
            f"got {type(predictions).__name__}",
            "Pass predictions first, then labels.",
        )
    if isinstance(labels, (LabelCounts, Counts)):
        raise UnsupportedError(
            "`calibration_test`",
            "takes one label per instance: raters of one instance share its truth, and counting them as "
            "independent draws rejects calibrated models",
            "got LabelCounts",
            "Draw one rater per instance: `labels = counts.draw(rng=0)`.",
        )


def _replicates(predictions: Predictions, bounds: Sequence[Bound], seed: Seed) -> Replicates | RealReplicates:
    if isinstance(predictions, RealPredictions):
        require_drawable(predictions, bounds)
    return replicates_of(predictions, seed)


def require_drawable(predictions: RealPredictions, bounds: Sequence[Bound]) -> None:
    """Raise where labels cannot be drawn: a few quantiles only say how often labels lie between them."""
    if not isinstance(predictions, Quantiles) or predictions.is_dense:
        return
    for bound in bounds:
        if not bound.needs_ranks_only:
            raise UnsupportedError(
                f"a test of `{bound.statistic.name}`",
                "needs labels drawn from the predictions, and a few quantiles say only how often labels lie "
                "between them",
                f"got {predictions.values.shape[1]} levels, some more than 0.05 apart",
                "Use `picp` or `quantile_calibration_error`, or predict quantiles at 0.05, 0.1, ..., 0.95.",
            )


def _require_distinct(chosen: list[Statistic]) -> None:
    if not chosen:
        raise InputError("`statistic`", "must name at least one", "got none", "Name one.")
    names = [one.name for one in chosen]
    if len(set(names)) < len(names):
        raise InputError("`statistic`", "must be distinct", f"got {names}", "Name each statistic once.")


def require_resamples(n_resamples: int) -> None:
    """Raise unless there is at least one replicate and the values of all of them can be kept."""
    require_positive("`n_resamples`", n_resamples, "Try 999.")
    if n_resamples > MOST_RESAMPLES:
        raise InputError(
            "`n_resamples`",
            f"must be at most {MOST_RESAMPLES}",
            f"got {n_resamples}",
            "Try 9999: it gives p-values down to 0.0001.",
        )


def _over_chunks(
    chosen: list[Statistic],
    chunks: Chunks,
    several: bool,
    n_resamples: int,
    seed: Seed,
    settings: dict[str, Any],
    progress: Progress | None,
) -> HypotestResult:
    """Test rows that come in chunks; only sums over the rows of a chunk are ever in memory."""
    sample = chunks.sample
    _require_single_labels(sample.predictions, sample.labels)
    plans = planned(chosen, chunks)
    one_each, _ = one_distribution(sample.predictions)
    bounds = [one.bind(one_each) for one in plans]
    if isinstance(one_each, RealPredictions):
        require_drawable(one_each, bounds)
    values, notes = resampled_values_over(plans, chunks, seed, n_resamples, progress)
    results = [
        dataclasses.replace(_single(bound, row, settings, referred=False), notes=notes)
        for bound, row in zip(bounds, values, strict=True)
    ]
    return omnibus(results, values, settings) if several else results[0]


def _single(bound: Bound, values: HostArray, settings: dict[str, Any], *, referred: bool) -> HypotestResult:
    statistic = bound.statistic
    require_numbers(values, statistic.name)
    observed, null = float(values[0]), values[1:]
    tail = statistic.traits.tail
    pvalue, interval = monte_carlo_pvalue(observed, null, tail)
    notes = bound.notes
    reference = bound.reference_pvalue(observed) if referred else None
    if reference is not None:
        notes = (*notes, f"p = {reference[0]:.3g} from the {reference[1]}")
    effect, z_score = distance(observed, null)
    return HypotestResult(
        name="calibration_test",
        hypothesis=HYPOTHESIS,
        statistic_name=statistic.name,
        statistic=observed,
        pvalue=pvalue,
        pvalue_interval=interval,
        tail=tail,
        null_distribution=null,
        acceptance_region=acceptance_region(null, tail, statistic.traits.range),
        effect_size=effect,
        z_score=z_score,
        n=bound.n,
        n_resamples=null.size,
        statistic_range=statistic.traits.range,
        settings={**settings, **statistic.settings()},
        notes=notes,
    )


def omnibus(results: Sequence[HypotestResult], values: HostArray, settings: dict[str, Any]) -> HypotestResult:
    """Combine tests that share replicates: smallest p-value, with pooled ranks."""
    pooled = pooled_pvalues(values, tuple(result.tail for result in results))
    pvalue, adjusted, smallest = westfall_young(pooled)
    components = {
        result.statistic_name: dataclasses.replace(result, adjusted_pvalue=float(own))
        for result, own in zip(results, adjusted, strict=True)
    }
    score = -np.log10(smallest) + 0.0  # not -0.0
    _, interval = monte_carlo_pvalue(float(score[0]), score[1:], "greater")
    effect = float(score[0] - score[1:].mean())
    spread = float(score[1:].std(ddof=1)) if score.size > 2 else float("nan")
    names = ", ".join(components)
    return HypotestResult(
        name="calibration_test",
        hypothesis=HYPOTHESIS,
        statistic_name=f"smallest p of {names} (-log10)",
        statistic=float(score[0]),
        pvalue=pvalue,
        pvalue_interval=interval,
        tail="greater",
        null_distribution=score[1:],
        acceptance_region=acceptance_region(score[1:], "greater", (0.0, float(np.log10(score.size)))),
        effect_size=effect,
        z_score=effect / spread if spread > 0 else float("nan"),
        n=results[0].n,
        n_resamples=results[0].n_resamples,
        settings={**settings, "statistics": list(components)},
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        components=components,
    )
