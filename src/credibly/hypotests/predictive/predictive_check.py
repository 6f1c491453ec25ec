"""Posterior predictive checks: the statistics that the model itself would expect, and what was observed.

    labels drawn from the model -> statistic of (ensemble, drawn labels) -> where the observed value lies

A statistic of an uncertain model is itself uncertain: a large calibration error may be just what the model
expects, and none at all may contradict it.   Gopal, P21; Box 1980; Rubin 1984; Gelman et al. 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import one_of, require_type
from credibly._arrays.namespace import HostArray, as_float64, to_host
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.calibration.calibration_test import require_distinct
from credibly.hypotests.predictive.one_more_member import (
    left_out_requests,
    left_out_sources,
    left_out_values,
    one_more_pvalue,
)
from credibly.hypotests.predictive.outcomes import (
    groups_of,
    hypothesis_check,
    limits_of,
    of_any_member,
    require_hypothesis,
)
from credibly.hypotests.predictive.power import simulate_power
from credibly.hypotests.resampling.choices import (
    are_drawn_labels,
    drawing_notes,
    require_drawable,
    require_sides,
    with_label_as_member,
)
from credibly.hypotests.resampling.loop import targets_of
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.hypotests.resampling.replicates import Hypothesis, LabelSource
from credibly.hypotests.resampling.requests import Asking, Request, answered
from credibly.hypotests.resampling.wild import Signs
from credibly.predictions import (
    ClassPredictions,
    Predictions,
    Quantiles,
    Rows,
    as_rows,
    one_rater,
    require_single,
)
from credibly.predictions.clusters import Clusters
from credibly.predictions.passes import detached, forget
from credibly.results.predictive import HypothesisCheck, PredictiveCheck
from credibly.statistics import Statistic, picp, quantile_calibration_error
from credibly.statistics.coverage import symmetric_levels
from credibly.statistics.registry import as_statistic

CLASS_STATISTICS = ("accuracy", "confidence_ece")

REAL_STATISTICS = ("picp", "quantile_calibration_error")


@takes_rng
def predictive_check(
    predictions: Any,
    labels: Any = None,
    *,
    statistics: Sequence[str | Statistic | Callable[..., Any]] | None = None,
    hypothesis: Literal["both", "bayesian", "independent"] = "both",
    n_resamples: int = 999,
    groups: Any = None,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> PredictiveCheck:
    """Compare statistics with the values that the model itself would expect.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        `Ensemble`, `Dirichlet`, `Gaussian` (n, m) or `Samples` (n, m, s) for both hypotheses; predictions
        without members (`Point`, `Gaussian` (n,), `Samples` (n, s), `Quantiles`) under "independent" only.
    labels : array (n,) or LabelCounts
        ... With several raters the seed draws one label per instance.
    statistics : sequence of str, Statistic or callable, optional
        Statistics to check, all on the same replicates. A function ``T(predictions, labels) -> float`` can be
        passed directly; wrap it with ``cr.statistic(T, tail=..., batched=True)`` if it takes whole batches.
        Default: accuracy and confidence_ece, or picp and quantile_calibration_error for real values. For
        `Quantiles`, picp uses the interval nearest to 90 % whose ends are among the levels, and a note says
        so.
    hypothesis : {"both", "bayesian", "independent"}
        "bayesian": one member drew the labels of all instances. "independent": every label was drawn from
        the mean prediction of its instance.
    n_resamples : int
        ...
    groups : array (n,) or mapping of str to array (n,), optional
        Group of every instance, or several grouping factors to be crossed, such as
        ``{"shift": kind, "severity": severity}``. Groups share the drawn member, and their p-values are
        adjusted over all groups and statistics (Westfall-Young). Chunks carry their own groups.
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
    PredictiveCheck
        ``.bayesian`` and ``.independent`` with one `HypotestResult` per statistic in ``.checks[name]``;
        ``.power()`` says what the check would detect.

    Notes
    -----
    p-values are two-sided and exact for the hypothesis as stated; for `Samples` (n, m, s) under "bayesian"
    they are the largest over the members. The statistic sees labels and the whole ensemble, never the drawn
    member.

    Under "bayesian", a conflict also requires ``details.member_pvalue`` to be small: it counts the truth as
    one more member, with 39 members, or all if there are fewer, left out in turn, so that a function of your
    own is also called with predictions of m - 1 members. From 39 members on it compares ranks, whose level
    is at most twice the nominal one from 5 % on (jackknife+) and about the nominal one in simulations; fewer
    members are compared by their spread, which keeps its level if their values are roughly normal
    (docs/theory/checks.md). An `Ensemble` whose members are all certain of one class, more of them than
    classes, holds drawn labels: each label is pooled with its draws.

    Statistics that are sums over instances are computed in chunks of rows under `memory_limit`;
    others need whole label vectors. For rows read by `scan`, only sums over instances can be checked, and
    ``.power()`` is not available.

    With clusters, labels are not drawn: they keep their differences from the predictions of the member, or
    from the mean, with one drawn sign per cluster. p-values are then not exact but hold in simulations, and
    are never below 2^(1 - C) with C clusters. Statistics are those that `calibration_test` takes, under
    "bayesian" the sums among them, of classes; ``.power()`` is not available.

    References
    ----------
    Gopal, *Why calibration error is wrong given model uncertainty*, 2021.

    Examples
    --------
    Half of the members are sure of class 0, half of class 1. Whichever is right, the error of the mean
    is large, and the ensemble knows it.

    >>> import numpy as np
    >>> import credibly as cr
    >>> members = np.tile([[0.9, 0.1], [0.1, 0.9]], (200, 10, 1))
    >>> labels = (np.arange(200) % 10 > 0).astype(int)
    >>> check = cr.predictive_check(members, labels, statistics=["classwise_ece"], rng=0)
    >>> round(check.checks["classwise_ece"].statistic, 2)
    0.4
    >>> check.bayesian.checks["classwise_ece"].verdict()
    'no conflict found'
    >>> check.independent.checks["classwise_ece"].pvalue
    0.002
    """
    one_of("`hypothesis`", hypothesis, ("both", "bayesian", "independent"))
    require_resamples(n_resamples)
    report = as_progress(progress)
    seed = as_seed(rng)
    rows, notes = one_rater(
        detached(as_rows(predictions, labels, groups=groups, clusters=clusters, blocks=blocks)), seed
    )
    drawn = (n_resamples, seed, report)
    check = answered(
        asking_check(rows, statistics, *drawn, hypothesis=hypothesis, grouped=True, more_notes=notes)
    )
    forget(rows)
    return check


def asking_check(
    rows: Rows,
    statistics: Any,
    n_resamples: int,
    seed: Seed,
    progress: Progress | None = None,
    *,
    hypothesis: Literal["both", "bayesian", "independent"] = "both",
    grouped: bool,
    more_notes: tuple[str, ...] = (),
) -> Asking[PredictiveCheck]:
    """Return the check of rows, and of their groups where `grouped`; see :func:`predictive_check`."""
    require_single(rows.example, "`predictive_check`")
    rows, grouping = groups_of(rows) if grouped else (rows, None)
    stored = predictions = rows.example.predictions
    if are_drawn_labels(rows):
        rows = rows.changed(with_label_as_member)
        predictions = rows.example.predictions
    joint = predictions is not stored
    names: tuple[Hypothesis, ...] = ("bayesian", "independent") if hypothesis == "both" else (hypothesis,)
    for name in names:
        require_hypothesis(predictions, name)
    chosen, left_out = _chosen(predictions, statistics)
    for statistic in chosen:
        statistic.require_predictions(predictions)
    together = rows.clusters
    require_sides(rows, chosen)
    if together is None:
        require_drawable(predictions, chosen)

    sources = [source for name in names for source in LabelSource.each(name, seed, n_resamples, predictions)]
    sizes = () if grouping is None else grouping.sizes
    # of joint draws the labels are one of m + 1 already
    without_member = (
        left_out_sources(predictions, seed, n_resamples) if "bayesian" in names and not joint else []
    )
    targets = targets_of(chosen, rows, sizes, in_parts=together is not None)
    leaving = left_out_requests(targets, rows, without_member)
    draws = sources if together is None else [Signs(source.seed, source.members) for source in sources]
    asked = Request(targets, rows, draws, n_resamples, progress, by_members=True)
    values, *rest = yield [asked, *leaving]  # all at once: an evaluation asks once
    without = left_out_values(targets, leaving, rest)
    one_more = [one_more_pvalue(values_without, without_member, predictions) for values_without in without]
    settings = {"n_resamples": int(n_resamples), "seed": list(seed), "hypothesis": hypothesis}
    every: dict[Hypothesis, list[HypothesisCheck]] = {name: [] for name in names}
    totals: dict[Hypothesis, list[list[HostArray]]] = {name: [] for name in names}
    notes = [*predictions.notes, *more_notes, *left_out]
    numbers = None if together is None else _numbers(rows, sizes, together)
    for source, resampled in zip(sources, values, strict=True):
        more = one_more if without_member and source.hypothesis == "bayesian" else None
        check = hypothesis_check(source, stored, chosen, resampled, grouping, settings, numbers, more)
        every[source.hypothesis].append(check)
        totals[source.hypothesis].append([resampled.values for resampled in resampled[: len(chosen)]])
        notes += [note for resampled in resampled[: len(chosen)] for note in resampled.bound.notes]
        if together is None or joint:
            notes += drawing_notes(stored, source.members is not None)
    checks_found = {name: of_any_member(checks) for name, checks in every.items()}
    return PredictiveCheck(
        bayesian=checks_found.get("bayesian"),
        independent=checks_found.get("independent"),
        n=rows.n,
        m=stored.n_members,
        n_resamples=int(n_resamples),
        kind=type(stored).__name__,
        factors={} if grouping is None else grouping.factors,
        limits=limits_of(stored, names, n_resamples, len(chosen) * (len(sizes) or 1)),
        notes=tuple(dict.fromkeys(notes)),
        settings={**settings, "statistics": {statistic.name: statistic.settings() for statistic in chosen}},
        simulate_power=None
        if rows.loaded() is None or together is not None
        else partial(simulate_power, rows, tuple(chosen), totals),
    )


def _numbers(rows: Rows, sizes: Sequence[tuple[Any, int]], clusters: Clusters) -> list[int]:
    """Return how many clusters all rows, and those of each group, belong to."""
    parts = [rows, *(rows.of_group(level, size) for level, size in sizes)]
    ids = (np.concatenate(list(part.map(attrgetter("clusters")))) for part in parts)
    return [len(np.unique(clusters.codes(ids_of_part))) for ids_of_part in ids]


def _chosen(predictions: Predictions, statistics: Any) -> tuple[list[Statistic], list[str]]:
    """Return the statistics, and notes about those chosen by default."""
    left_out: list[str] = []
    if statistics is None:
        statistics = CLASS_STATISTICS if isinstance(predictions, ClassPredictions) else REAL_STATISTICS
        if isinstance(predictions, Quantiles):
            statistics, left_out = _of_levels(predictions)
    if isinstance(statistics, (str, Statistic)) or callable(statistics):
        statistics = [statistics]
    listed = isinstance(statistics, Sequence)
    require_type(listed, "must be a sequence", "Pass a list of names.", statistics=statistics)
    # the check is two-sided for every statistic, so a plain function need not say its tail
    chosen = [as_statistic(statistic, tail="two-sided") for statistic in statistics]
    require_distinct(chosen)
    return chosen, left_out


def _of_levels(predictions: Quantiles) -> tuple[list[Statistic], list[str]]:
    """Return the default statistics that the levels allow: picp needs both ends of a central interval."""
    low, high = symmetric_levels(predictions)
    if not low.size:
        return [quantile_calibration_error], ["picp was left out: no two levels are l and 1 - l"]
    levels = to_host(as_float64(predictions.levels))
    shares = np.round(levels[high] - levels[low], 9)
    nearest = float(shares[np.abs(shares - picp.level).argmin()])
    if nearest == picp.level:
        return [picp, quantile_calibration_error], []
    note = (
        f"picp refers to the {100 * nearest:g} % interval: the ends of the {100 * picp.level:g} % interval "
        "are not among the levels"
    )
    return [picp.with_(level=nearest), quantile_calibration_error], [note]
