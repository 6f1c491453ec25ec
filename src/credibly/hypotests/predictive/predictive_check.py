"""Posterior predictive checks: what the model expects of its own statistics, and what was observed.

    labels drawn from the model -> statistic of (ensemble, drawn labels) -> where the observed value lies

A statistic of an uncertain model is itself uncertain: a large calibration error may be just what the model
expects, and none at all may contradict it.   Gopal, P21; Box 1980; Rubin 1984; Gelman et al. 1996.

Rows that were used before, for training or recalibration, leave a check by their names.

Values of a predictive check on rows that come in chunks: the sums of all replicates in one pass.

Every chunk draws the labels of its own rows, which are addressed by their index among all, so members of
one chunk at a time are in memory and no replicate depends on how rows are cut.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from credibly._arrays.errors import InputError, InputTypeError, UnsupportedError, one_of
from credibly._arrays.namespace import HostArray, is_array, like, to_host
from credibly._arrays.philox import as_seed
from credibly._arrays.progress import Progress, as_progress
from credibly.hypotests.calibration.calibration_test import require_resamples
from credibly.hypotests.predictive.groups import Grouping, as_grouping, grouping_over
from credibly.hypotests.predictive.outcomes import hypothesis_check, limits_of, require_hypothesis
from credibly.hypotests.predictive.power import simulate_power
from credibly.hypotests.resampling.chunked import Counted, noted, replicated_over, under
from credibly.hypotests.resampling.loop import columns_of, without_graph
from credibly.hypotests.resampling.members import Hypothesis, LabelSource, drawn_members
from credibly.hypotests.resampling.replicates import drawing_notes, require_drawable
from credibly.hypotests.resampling.shared import Target, shared_values
from credibly.predictions import (
    Classes,
    ClassPredictions,
    GroupRows,
    Predictions,
    RealPredictions,
    Reals,
    Rows,
    as_labels,
    as_predictions,
    require_no_labels,
    require_order,
)
from credibly.results.predictive import PredictiveCheck
from credibly.statistics import Bound, Statistic, as_statistic
from credibly.statistics.over_rows import planned

Kept = tuple[Predictions, Classes | Reals, Grouping | None, int]


def without_used_rows(
    predictions: Predictions,
    observed: Classes | Reals,
    grouping: Grouping | None,
    ids: Any,
    used_ids: Any,
) -> Kept:
    """Return what is left, and how many rows are not."""
    if used_ids is None:
        if ids is not None:
            _names(ids, "ids")
        return predictions, observed, grouping, 0
    if ids is None:
        raise InputError(
            "`used_ids`",
            "needs the names of the checked instances",
            "`ids` is not given",
            "Pass `ids=` with one name per instance.",
        )
    own, used = _names(ids, "ids"), _names(used_ids, "used_ids")
    if len(own) != len(predictions):
        raise InputError(
            "`ids`",
            f"must have one entry per prediction ({len(predictions)})",
            f"got {len(own)}",
            "Check that both come from the same split.",
        )
    if own and used and type(own[0]) is not type(used[0]):
        raise InputError(
            "`ids` and `used_ids`",
            "must be of one kind",
            f"got {type(own[0]).__name__} and {type(used[0]).__name__}",
            "Convert both with `str`: names of different kinds are never equal.",
        )
    before = set(used)
    kept = np.array([name not in before for name in own])
    excluded = int((~kept).sum())
    if not kept.any():
        raise InputError(
            "`used_ids`",
            "must leave rows to check",
            f"all {len(own)} instances are among them",
            "Check on data that were used for nothing else.",
        )
    if not excluded:
        return predictions, observed, grouping, 0
    rows = np.flatnonzero(kept)
    values = predictions.xp.take(observed.values, like(rows, observed.values), axis=1)
    remaining = dataclasses.replace(observed, values=values)
    return predictions[rows], remaining, None if grouping is None else grouping.keep(kept), excluded


def _names(values: Any, name: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputTypeError(f"`{name}`", "must be a vector of names", f"got {values!r}", "Pass a list.")
    array = to_host(values) if is_array(values) else np.asarray(list(values))
    if array.ndim != 1:
        raise InputError(f"`{name}`", "must be a vector of names", f"got shape {array.shape}", "Flatten it.")
    listed: list[Any] = array.tolist()
    return listed


def require_plain(chunks: Rows, groups: Any, ids: Any, used_ids: Any) -> None:
    """Raise where a check of chunks is asked for what only rows in memory have."""
    if groups is not None:
        raise InputError(
            "`groups`", "come with the chunks", "got them as an argument too", "Give them to `scan`."
        )
    if ids is not None or used_ids is not None:
        raise UnsupportedError(
            "`ids` and `used_ids`",
            "leave out rows in memory",
            "got rows in chunks",
            "Scan files without the rows that were used before.",
        )
    if chunks.sample.batch.weights is not None:
        raise UnsupportedError(
            "`predictive_check`",
            "counts every instance once",
            "the chunks have sample weights",
            "Scan without `sample_weight`.",
        )


def shared_values_over(
    chosen: Sequence[Statistic],
    chunks: Rows,
    sources: Sequence[LabelSource],
    n_resamples: int,
    progress: Progress | None = None,
) -> tuple[HostArray, list[Bound], Grouping | None]:
    """Evaluate every statistic on the observed labels and on all replicates, on all rows and group by group.

    Parameters
    ----------
    chosen : sequence of Statistic
        Sums over instances.
    chunks : Rows
        The rows.
    sources : sequence of LabelSource
        One per hypothesis; their predictions only tell the kind.
    n_resamples : int
        Number of replicates.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    values : ndarray (sources, targets, 1 + n_resamples)
        As `shared_values` returns them.
    bounds : list of Bound
        One per target, for notes and settings.
    grouping : Grouping or None
        The groups, where the chunks have some.
    """
    grouping = grouping_over(chunks)
    levels = () if grouping is None else grouping.sizes
    counted = {f"/{one.statistic.name}": Counted(one.bind) for one in planned(chosen, chunks)}
    for level, size in levels:
        own = planned(chosen, GroupRows(chunks, size, level))
        counted |= {f"{level}/{one.statistic.name}": Counted(one.bind, level) for one in own}
    draws = {f"{one.hypothesis}/": under(one.hypothesis, one.seed, one.members) for one in sources}
    values = np.empty((len(sources), len(counted), 1 + n_resamples))
    bounds: list[Bound] = []
    for reps, total in replicated_over(counted, draws, chunks, n_resamples, progress):
        sample = noted(chunks.sample.predictions, total.notes)
        bounds = [one.bind(sample) for one in counted.values()]
        for order, source in enumerate(draws):
            for at, (name, bound) in enumerate(zip(counted, bounds, strict=True)):
                values[order, at, columns_of(reps)] = to_host(bound.finish(total.states[source + name]))
    return values, bounds, grouping


CLASS_STATISTICS = ("accuracy", "confidence_ece")

REAL_STATISTICS = ("picp", "quantile_calibration_error")

PAPERS = ("P21",)


def predictive_check(
    predictions: Any,
    labels: Any = None,
    *,
    statistics: Sequence[str | Statistic | Callable[..., Any]] | None = None,
    hypothesis: Literal["both", "bayesian", "independent"] = "both",
    n_resamples: int = 999,
    groups: Any = None,
    adjustment: Literal["family-wise", "fdr"] = "family-wise",
    ids: Any = None,
    used_ids: Any = None,
    paper: str | None = None,
    rng: Any = None,
    progress: Progress | Literal[True] | None = None,
) -> PredictiveCheck:
    """Compare statistics with what the model itself expects of them.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        `Ensemble`, `Dirichlet`, `Gaussian` (n, m) or `Samples` (n, m, s) for both hypotheses; predictions
        without members (`Point`, `Gaussian` (n,), `Samples` (n, s), `Quantiles`) under "independent" only.
    labels : array (n,)
        What was observed, one label per instance; chunks bring their own.
    statistics : sequence of str, Statistic or callable, optional
        All on the same replicates. A function ``T(predictions, labels) -> float`` is taken as it is;
        wrap it with ``cr.statistic(T, tail=..., batched=True)`` if it takes whole batches. Where not
        given: accuracy and confidence_ece, or picp and quantile_calibration_error for real values.
    hypothesis : {"both", "bayesian", "independent"}
        "bayesian": one member drew the labels of all instances. "independent": every label was drawn from
        the mean prediction of its instance.
    n_resamples : int
        Number of replicates.
    groups : array (n,) or mapping of str to array (n,), optional
        Group of every instance, or several grouping factors that are crossed, such as
        ``{"shift": kind, "severity": severity}``. Groups share the drawn member; chunks bring theirs.
    adjustment : {"family-wise", "fdr"}
        For p-values of groups: Westfall-Young over all groups and statistics, or the false discovery rate of
        Benjamini and Yekutieli, valid under any dependence.
    ids : array (n,), optional
        Name of every instance.
    used_ids : sequence, optional
        Names of instances used for training or recalibration; their rows are left out.
    paper : {"P21"}, optional
        Settings and rules of P21: fails where its p is 0 or 1, or outside the central 95 %.
    rng : None, int or Generator
        Seed; the same seed gives the same result on every array library, device and chunk size.
    progress : callable or True, optional
        Called with (done, total); True writes to standard error after one second, where that is a terminal.

    Returns
    -------
    PredictiveCheck
        ``.bayesian`` and ``.independent`` with one `CheckResult` per statistic in ``.checks[name]``;
        ``.power()`` says what the check would notice.

    Notes
    -----
    p-values are two-sided and exact for the hypothesis as it is worded. The statistic sees labels and
    the whole ensemble, never the drawn member. Statistics that are sums over instances are computed in
    chunks of rows under `memory_limit`; others need whole label vectors. Of rows that `scan` reads only sums
    over instances can be checked, `ids` are not looked at, and ``.power()`` is not offered.

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
    one_of("`adjustment`", adjustment, ("family-wise", "fdr"))
    if paper is not None:
        one_of("`paper`", paper, PAPERS)
    require_resamples(n_resamples)
    report = as_progress(progress)
    chunks = predictions if isinstance(predictions, Rows) else None
    grouping: Grouping | None = None
    excluded = 0
    if chunks is not None:
        require_no_labels(labels)
        require_plain(chunks, groups, ids, used_ids)
        given = chunks.sample.predictions
        observed = _observed(given, chunks.sample.batch)
    else:
        require_order(predictions, labels)
        given = without_graph(as_predictions(predictions))
        observed = _observed(given, labels)
        grouping = None if groups is None else as_grouping(groups, len(given))
        given, observed, grouping, excluded = without_used_rows(given, observed, grouping, ids, used_ids)
    names: tuple[Hypothesis, ...] = ("bayesian", "independent") if hypothesis == "both" else (hypothesis,)
    for name in names:
        require_hypothesis(given, name)
    chosen = _chosen(given, statistics, paper)
    for statistic in chosen:
        statistic.require_predictions(given)
    if isinstance(given, RealPredictions):
        require_drawable(given, [statistic.bind(given[:1]) for statistic in chosen])

    seed = as_seed(rng)
    sources = [
        LabelSource(
            given, name, seed, drawn_members(given, seed, n_resamples) if name == "bayesian" else None
        )
        for name in names
    ]
    if chunks is not None:
        values, bounds, grouping = shared_values_over(chosen, chunks, sources, n_resamples, report)
    else:
        targets = _targets(chosen, grouping)
        values, bounds = shared_values(targets, given, observed, sources, n_resamples, report)
    settings = {"n_resamples": int(n_resamples), "seed": list(seed), "paper": paper, "hypothesis": hypothesis}
    found = {
        source.hypothesis: hypothesis_check(
            source, chosen, bounds, own, grouping, adjustment, settings, paper
        )
        for source, own in zip(sources, values, strict=True)
    }
    notes = [*given.notes, *_paper_notes(chosen, paper)]
    for bound in bounds[: len(chosen)]:
        notes += [*bound.notes, *drawing_notes(given, bound)]
    totals = values[:, : len(chosen), :]
    return PredictiveCheck(
        bayesian=found.get("bayesian"),
        independent=found.get("independent"),
        n=len(given) if chunks is None else chunks.n,
        m=given.n_members,
        n_resamples=int(n_resamples),
        kind=type(given).__name__,
        factors={} if grouping is None else grouping.factors,
        adjustment=None if grouping is None else adjustment,
        excluded=excluded,
        limits=limits_of(
            given, names, n_resamples, used_ids is not None, excluded, _together(chosen, grouping)
        ),
        notes=tuple(dict.fromkeys(notes)),
        settings={
            **settings,
            "statistics": {one.name: one.settings() for one in chosen},
        },
        simulate_power=None
        if chunks is not None
        else functools.partial(
            simulate_power, given, observed, tuple(chosen), dict(zip(names, totals, strict=True))
        ),
    )


def _together(chosen: Sequence[Statistic], grouping: Grouping | None) -> int:
    """Return how many p-values are adjusted for each other."""
    return len(chosen) * (1 if grouping is None else len(grouping.names))


def _observed(predictions: Predictions, labels: Any) -> Classes | Reals:
    if not isinstance(predictions, (ClassPredictions, RealPredictions)):
        raise InputTypeError(
            "`predictive_check`",
            "needs predictions",
            f"got {type(predictions).__name__}",
            "Pass predictions first, then labels.",
        )
    batch = as_labels(predictions, labels)
    if not isinstance(batch, (Classes, Reals)):
        raise UnsupportedError(
            "`predictive_check`",
            "draws one label per instance",
            "got LabelCounts",
            "Draw one rater per instance: `labels = counts.draw(rng=0)`.",
        )
    if len(batch) != 1:
        raise InputError("`labels`", "must be one label vector", f"got {len(batch)}", "Pass one of them.")
    return batch


def _chosen(predictions: Predictions, statistics: Any, paper: str | None) -> list[Statistic]:
    if statistics is None:
        statistics = CLASS_STATISTICS if isinstance(predictions, ClassPredictions) else REAL_STATISTICS
    if isinstance(statistics, (str, Statistic)) or callable(statistics):
        statistics = [statistics]
    if not isinstance(statistics, Sequence):
        raise InputTypeError(
            "`statistics`", "must be a sequence", f"got {statistics!r}", "Pass a list of names."
        )
    # the check is two-sided for every statistic, so a plain function need not say its tail
    chosen = [as_statistic(one, tail="two-sided") for one in statistics]
    if not chosen:
        raise InputError("`statistics`", "must name at least one", "got none", "Name one.")
    names = [one.name for one in chosen]
    if len(set(names)) < len(names):
        raise InputError(
            "`statistics`", "must have distinct names", f"got {names}", "Give `name=` to `cr.statistic`."
        )
    return [one.with_(paper=paper) if paper in one.papers else one for one in chosen]


def _targets(chosen: Sequence[Statistic], grouping: Grouping | None) -> list[Target]:
    """Return what is evaluated: every statistic on all rows, then group by group."""
    rows: list[np.ndarray[Any, Any] | None] = [None]
    rows += [] if grouping is None else list(grouping.rows.values())
    return [Target(statistic, own) for own in rows for statistic in chosen]


def _paper_notes(chosen: Sequence[Statistic], paper: str | None) -> list[str]:
    if paper is None:
        return []
    notes = [note for one in chosen if paper in one.papers for note in one.paper_notes(paper)]
    return [*notes, "paper mode P21 decides by its own p: a conflict is where it is 0 or 1"]
