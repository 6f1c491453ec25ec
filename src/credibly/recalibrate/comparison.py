"""Before and after: recalibrations fitted on some folds and measured on the others, paired by instance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import CrediblyError, InputError, UnsupportedError, require_type
from credibly._arrays.namespace import Array, HostArray, namespace, to_host
from credibly._arrays.notes import without_warnings
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress
from credibly._arrays.standard_errors import mean_error
from credibly.hypotests.calibration.calibration_test import asking_tests
from credibly.hypotests.calibration.pit import asking_shares
from credibly.hypotests.calibration.reliability import asking_curves
from credibly.hypotests.resampling.choices import require_drawable
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.hypotests.resampling.requests import Asking, answered, side_by_side
from credibly.learners.basis import check_features
from credibly.predictions import (
    Dataset,
    LabelCounts,
    Predictions,
    RealPredictions,
    Rows,
    as_labels,
    as_rows,
    cluster_codes,
    has_event,
    paired,
)
from credibly.predictions.passes import detached
from credibly.predictions.quantiles import in_common_terms
from credibly.raters import decompose_disagreement, decompose_loss
from credibly.raters.disagreement import overall_evidence
from credibly.raters.loss import loss_evidence
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.files import named_recalibration
from credibly.recalibrate.fit_data import checked
from credibly.recalibrate.folds import cross_fitted, fold_members
from credibly.results.curves import EnvelopeCurve, ReliabilityCurve
from credibly.results.estimates import Estimate
from credibly.results.recalibration import Change, MethodChanges, RecalibrationReport
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.linear import Linear
from credibly.statistics.registry import as_statistic, with_bins

STATISTICS = ("log_loss", "brier", "accuracy", "confidence_gap", "confidence_ece", "classwise_ece")

REAL_STATISTICS = ("crps", "interval_score", "picp", "quantile_calibration_error", "mae")

REPAIRS = ("temperature", "bias", "platt", "curve")
OF_SEVERAL, OF_FEW, MOST_FEW = ("order", "noise"), ("vector",), 20
"""Repairs of more than two classes, and of 3 to 20 of them."""
REAL_REPAIRS = (
    "shift",
    "scale",
    "linear",
    "shift+scale",
    "spread",
    "tails",
    "skew",
    "linear+scale",
    "isotonic",
)
BY_GROUP, REALS_BY_GROUP = ("temperature", "bias", "platt"), ("shift", "scale", "shift+scale")
"""Repairs that are compared unasked: those by which `diagnose` tells faults."""

MOST_PAIRED_ROWS = 2500
"""Instances up to which `skce` is computed unasked."""


_UNPAIRED = (
    "the interval adds the standard errors before and after instead of using the pairing, so it is never "
    "too short"
)

_ROOT = "it is a difference of square roots; look at the squared errors, whose difference has an interval"


def statistic_changes(
    before: Predictions,
    after: Predictions,
    labels: Any,
    chosen: list[Statistic],
    tests_before: Mapping[str, HypotestResult],
    tests_after: Mapping[str, HypotestResult],
    codes: HostArray | None = None,
) -> list[Change]:
    """Return the statistics that take these labels, before and after."""
    counted = isinstance(labels, LabelCounts)
    changes, sides = [], (before, after)
    for statistic in chosen:
        if counted and "counts" not in statistic.traits.labels:
            continue
        if isinstance(after, RealPredictions) and not says_enough(statistic, after):
            continue  # a Gaussian has become quantiles, which have no density
        old, new = (statistic(predictions, labels, clusters=codes) for predictions in sides)
        difference = _paired(statistic, sides, labels, new.value - old.value, codes)
        if difference is None:
            reason = old.interval_refusal or new.interval_refusal or "it has no standard error here"
            difference = _difference(statistic.name, old, new, interval_refusal=reason)
        name = statistic.name
        changes.append(Change(name, old, new, difference, tests_before.get(name), tests_after.get(name)))
    return changes


def _paired(
    statistic: Statistic, sides: Sequence[Predictions], labels: Any, value: float, codes: HostArray | None
) -> Estimate | None:
    """Return the mean difference of contributions where the statistic is a mean over instances."""
    first, second = map(statistic.bind, sides)
    if not (
        isinstance(first, Linear)
        and isinstance(second, Linear)
        and first.terms.is_mean
        and math.isfinite(value)
    ):
        return None
    batch = as_labels(sides[0], labels)
    terms = first.contributions(batch)[0, :]
    xp = namespace(terms)
    size = max(statistic.term_size, float(to_host(xp.max(xp.abs(terms)))))
    return _mean_difference(statistic.name, second.contributions(batch)[0, :] - terms, value, codes, size)


def _mean_difference(
    name: str, change: Array, value: float, codes: HostArray | None, size: float = 1.0
) -> Estimate:
    n = int(change.shape[0])
    xp = namespace(change)
    if not bool(xp.any(change != 0.0)):
        return Estimate(name, value, 0.0, n, notes=("no instance changed",))
    return Estimate(name, value, n=n, **mean_error(change, codes, size))


def says_enough(statistic: Statistic, predictions: RealPredictions) -> bool:
    """Tell whether such predictions say what the statistic needs: quantiles have no density."""
    try:
        statistic.bind(predictions[:1])
    except CrediblyError:
        return False
    return True


def rater_changes(
    before: Predictions,
    after: Predictions,
    counts: LabelCounts,
    n_bins: int,
    codes: HostArray | None = None,
) -> list[Change]:
    """Return losses over raters and disagreement between them, before and after."""
    if int(namespace(counts.totals).max(counts.totals)) < 2:
        return []  # nobody to disagree with
    both = (before, after)
    with without_warnings():  # rows with one rater stand in the notes of the decompositions
        settings: dict[str, Any] = {"n_bins": n_bins, "clusters": codes}
        losses = [decompose_loss(predictions, counts, **settings) for predictions in both]
        pairs = [decompose_disagreement(predictions, counts, **settings) for predictions in both]
    keep = counts.totals >= 2
    kept = [Dataset(predictions[keep], counts[keep]) for predictions in both]
    of_loss, of_pairs = (
        namespace(keep).sum(evidence(kept[1]).means[0] - evidence(kept[0]).means[0], axis=0)
        for evidence in (loss_evidence, overall_evidence)
    )
    kept_codes = None if codes is None else codes[to_host(keep)]

    def change(name: str, parts: list[Any], part: str, rows: Array | None) -> Change:
        value, moved = (getattr(decomposition, part) for decomposition in parts)
        if rows is None:
            return Change(name, value, moved, _unpaired(name, value, moved))
        return Change(name, value, moved, _mean_difference(name, rows, moved.value - value.value, kept_codes))

    root, name = (pairs[0].calibration_error, pairs[1].calibration_error), "disagreement_calibration_error"
    return [
        # irreducible loss is the same before and after
        change("expected_loss", losses, "expected", of_loss),
        change("epistemic_loss", losses, "epistemic", of_loss),
        change("calibration_loss", losses, "calibration", None),
        change("dispersion_loss", losses, "dispersion", None),
        change("disagreement_loss", pairs, "expected", of_pairs),
        change("disagreement_calibration_loss", pairs, "calibration", None),
        Change(name, *root, _difference(name, *root, interval_refusal=_ROOT)),
    ]


def _unpaired(name: str, before: Estimate, after: Estimate) -> Estimate:
    error: dict[str, Any] = {"interval_refusal": before.interval_refusal or after.interval_refusal}
    if error["interval_refusal"] is None and before.stderr is not None and after.stderr is not None:
        error["stderr"] = before.stderr + after.stderr
    return _difference(name, before, after, **error, notes=(_UNPAIRED,))


def _difference(
    name: str, before: Estimate, after: Estimate, stderr: float | None = None, **error: Any
) -> Estimate:
    degrees = [side.degrees_of_freedom for side in (before, after) if side.degrees_of_freedom is not None]
    return Estimate(
        name,
        after.value - before.value,
        stderr,
        before.n,
        n_clusters=before.n_clusters,
        degrees_of_freedom=min(degrees, default=None),
        **error,
    )


@takes_rng
def recalibration_report(
    predictions: Any,
    labels: Any = None,
    methods: Sequence[str | Recalibration] | None = None,
    *,
    cv: int = 5,
    features: Any = None,
    groups: Any = None,
    statistics: Sequence[str | Statistic] | None = None,
    n_bins: int = 15,
    n_resamples: int = 999,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = 0,
    progress: Progress | None = None,
) -> RecalibrationReport:
    """Compare recalibrations on instances that they were not fitted on.

    Parameters
    ----------
    predictions : Predictions or array
        Point, Ensemble or Dirichlet predictions, or Gaussian, Samples or Quantiles of real values.
    labels : array (n,) or LabelCounts
        What was observed. Counts over raters add the losses and the disagreement of raters.
    methods : sequence of str or Recalibration, optional
        Names, joined by ``+`` to apply one after the other (``"temperature+alpha"``), or unfitted objects.
        Default: the repairs by which :func:`diagnose` tells faults, with groups also those by group; with
        features of real values, ``"scale_by_features"`` too.
    cv : int
        Number of folds; each is recalibrated with a fit to the others.
    features : array (n, d), optional
        ...
    groups : array (n,), optional
        Group of every instance: methods that take groups (temperature, bias, Platt) are fitted by group.
    statistics : sequence of str or Statistic, optional
        What to compare. Default: proper scores, accuracy and binned errors, plus `skce` if there are few
        instances; for real values, CRPS, interval score, coverage, quantile error and absolute error.
    n_bins : int
        Bins of binned errors, curves and rater losses.
    n_resamples : int
        Replicates for the tests and for the bands of the curves; 0 leaves these out, and also the curves for
        real values.
    clusters : array (n,), optional
        ... Folds keep clusters whole, and standard errors and tests allow for them.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ...
    progress : callable, optional
        Called with (done, total) methods.

    Returns
    -------
    RecalibrationReport
        Every statistic before and after with its test, and the paired difference with its interval.

    Notes
    -----
    If a method cannot be fitted, the report says why. Tests of recalibrated predictions
    treat the fitted maps as given. The reported parameters come from a fit to all data; the comparison uses
    one fit per fold. For real values, the curve shows the coverage of central intervals; a method that
    returns quantiles is compared with the original quantiles at the same levels, and only tests that need
    nothing but quantiles are run.

    References
    ----------
    Guo et al., *On calibration of modern neural networks*, ICML 2017; Gopal, *Why calibration error is
    wrong given model uncertainty*, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet(np.ones(3), size=1000)
    >>> labels = (rng.random((1000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    >>> sharper = cr.Point.from_logits(3 * np.log(probs))
    >>> report = cr.recalibration_report(sharper, labels, ["temperature"], n_resamples=99)
    >>> report.best("log_loss")
    'temperature'
    >>> change = report.methods["temperature"].changes["log_loss"]
    >>> change.difference.interval()[1] < 0
    True
    """
    codes = cluster_codes(predictions, clusters, blocks)
    predictions, labels = paired(predictions, labels)
    model = predictions if isinstance(predictions, RealPredictions) else checked(predictions)
    as_labels(model, labels)
    folds = require_integer(cv, "cv", 2)
    _require_enough(folds, len(model) // 2, "two instances per fold", f"{len(model)} instances")
    if n_resamples != 0:
        require_resamples(n_resamples)
    seed = as_seed(rng)
    inputs = None if features is None else check_features(features, model)
    chosen = _chosen(statistics, n_bins, model)
    asked = _unasked(model, features, groups) if methods is None else _named(methods)
    if codes is not None:
        number = int(codes.max()) + 1
        _require_enough(folds, number, "one cluster for every fold", f"{number} clusters")
    parts = fold_members(len(model), folds, seed, codes)
    counted = isinstance(labels, LabelCounts)

    def tested(predictions: Predictions) -> tuple[dict[str, HypotestResult], Any]:
        rows = detached(as_rows(predictions, labels, clusters=codes))
        drawn = (0 if counted else n_resamples, seed)
        return _tests_and_curve(rows, chosen, *drawn, n_bins=n_bins)

    made: dict[str, tuple[Recalibration, Predictions]] = {}
    failed: dict[str, str] = {}
    for name, (method, by_group) in asked.items():
        beside = {
            "features": inputs if method.takes_features else None,
            "groups": groups if by_group else None,
        }
        try:
            made[name] = cross_fitted(method, model, labels, beside, parts, codes)
        except CrediblyError as error:
            failed[name] = str(error)
    before, after, notes = _in_same_terms(model, {name: moved for name, (_, moved) in made.items()})
    tests, curve = tested(model)
    results: dict[str, MethodChanges] = {}
    for done, name in enumerate(asked, start=1):
        if name in failed:
            results[name] = MethodChanges(name, "", {}, None, failure=failed[name])
        else:
            whole, recalibrated = made[name]
            tests_after, curve_after = tested(recalibrated)
            changes = statistic_changes(before, after[name], labels, chosen, tests, tests_after, codes)
            changes += rater_changes(model, recalibrated, labels, n_bins, codes) if counted else []
            by_name = {change.name: change for change in changes}
            results[name] = MethodChanges(name, whole.describe(), by_name, curve_after, notes=whole.notes)
        if progress is not None:
            progress(done, len(asked))
    settings = {"cv": folds, "n_bins": n_bins, "n_resamples": n_resamples, "seed": list(seed)}
    return RecalibrationReport(results, curve, len(model), len(parts), settings, (*model.notes, *notes))


def _require_enough(folds: int, most: int, what: str, available: str) -> None:
    if folds > most:
        rule, evidence = f"must leave at least {what}", f"got {folds} folds for {available}"
        raise InputError("`cv`", rule, evidence, "Use fewer folds or more data.")


def _in_same_terms(
    before: Predictions, after: Mapping[str, Predictions]
) -> tuple[Predictions, dict[str, Predictions], tuple[str, ...]]:
    """Return predictions whose scores compare: where a method made quantiles of them, all are quantiles."""
    if not isinstance(before, RealPredictions):
        return before, dict(after), ()
    (first, *others), note = in_common_terms([before, *after.values()])  # type: ignore[list-item]
    return first, dict(zip(after, others, strict=True)), () if note is None else (note,)


def _chosen(
    statistics: Sequence[str | Statistic] | None, n_bins: int, predictions: Predictions
) -> list[Statistic]:
    alone = isinstance(statistics, (str, Statistic))
    require_type(not alone, "must be a sequence", "Pass a list.", statistics=statistics)
    if statistics is None and isinstance(predictions, RealPredictions):
        known = (as_statistic(name) for name in REAL_STATISTICS)
        return [statistic for statistic in known if says_enough(statistic, predictions)]
    names = statistics
    if names is None:
        names = (*STATISTICS, "skce") if len(predictions) <= MOST_PAIRED_ROWS else STATISTICS
    return [with_bins(name, n_bins) for name in names]


Asked = dict[str, tuple[Recalibration, bool]]
"""Unfitted recalibrations by name, and whether each is given the groups."""


def _unasked(predictions: Predictions, features: Any, groups: Any) -> Asked:
    """Return the methods to compare where none is named: also those that use what is given beside."""
    real = isinstance(predictions, RealPredictions)
    names = REAL_REPAIRS if real else REPAIRS
    if not real and checked(predictions).n_classes > 2:
        names = (*names, *OF_SEVERAL, *(OF_FEW if checked(predictions).n_classes <= MOST_FEW else ()))
    if real and features is not None:
        names = (*names, "scale_by_features")
    by_group = () if groups is None else REALS_BY_GROUP if real else BY_GROUP
    methods = {name: (named_recalibration(name), False) for name in names}
    return methods | {f"{name} by group": (named_recalibration(name), True) for name in by_group}


def _named(methods: Sequence[str | Recalibration]) -> Asked:
    """Return the methods that were asked for; those that take groups are given them."""
    several = isinstance(methods, Sequence) and not isinstance(methods, str) and methods
    rule, remedy = "must be a sequence with at least one method", 'Pass a list: ["temperature"].'
    require_type(several, rule, remedy, methods=methods)
    named: Asked = {}
    for method in methods:
        known = isinstance(method, (str, Recalibration))
        require_type(known, "must be names or recalibrations", 'Try "temperature".', methods=method)
        recalibration = named_recalibration(method) if isinstance(method, str) else method.unfitted()
        name = method if isinstance(method, str) else "+".join(step.name for step in recalibration.parts)
        if name in named:
            raise InputError("`methods`", "must be distinct", f"{name!r} appears twice", "Name it once.")
        named[name] = recalibration, recalibration.takes_groups
    return named


def _tests_and_curve(
    rows: Rows, chosen: Sequence[Statistic], n_resamples: int, seed: Seed, *, n_bins: int
) -> tuple[dict[str, HypotestResult], ReliabilityCurve | EnvelopeCurve | None]:
    """Test statistics and return the curve of the predictions, both on the same replicates.

    Without replicates there are neither tests nor curves of real values, whose coverage has no band of
    clusters. The curve is None for quantiles without symmetric levels, too.
    """
    predictions, drawn = rows.example.predictions, (n_resamples, seed)
    asked: dict[str, Asking[Any]] = {}
    real = isinstance(predictions, RealPredictions)
    if isinstance(predictions, RealPredictions):
        if not n_resamples or rows.clusters is not None:
            return {}, None
        chosen = [statistic for statistic in chosen if _can_be_drawn(statistic, predictions)]
        asked["curve"] = asking_shares("coverage", rows, 0.05, *drawn)
    else:
        level = 0.95 if n_resamples else None
        target = 1 if has_event(predictions) else "top_label"
        asked["curve"] = asking_curves(rows, [target], level, *drawn, n_bins=n_bins)
    if n_resamples and chosen:
        asked["tests"] = asking_tests(rows, chosen, *drawn)
    answers = dict(zip(asked, answered(side_by_side(list(asked.values()))), strict=True))
    for name, answer in answers.items():
        if isinstance(answer, UnsupportedError) and not (name == "curve" and real):
            raise answer
    curve, result = answers["curve"], answers.get("tests")
    if real:
        curve = None if isinstance(curve, UnsupportedError) else curve
    else:
        (curve,) = curve
    return {} if result is None else dict(result.components), curve


def _can_be_drawn(statistic: Statistic, predictions: RealPredictions) -> bool:
    """Tell whether labels can be drawn for a statistic: for quantiles only the cell of a label can."""
    try:
        require_drawable(predictions, [statistic])
    except UnsupportedError:
        return False
    return True
