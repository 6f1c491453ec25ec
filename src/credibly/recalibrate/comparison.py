"""Before and after: recalibrations fitted on some folds and measured on the others, paired by instance.

Paired differences of statistics: one instance, two predictions.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import CrediblyError, InputError, InputTypeError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, like, namespace, to_host
from credibly._arrays.philox import Seed, as_seed, takes_rng
from credibly._arrays.progress import Progress
from credibly.hypotests.calibration.calibration_test import asking_tests, require_resamples
from credibly.hypotests.calibration.pit import asking_shares
from credibly.hypotests.calibration.reliability import asking_curves
from credibly.hypotests.resampling.choices import require_drawable
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
    paired,
)
from credibly.predictions.base import P
from credibly.predictions.passes import detached
from credibly.predictions.quantiles import in_common_terms
from credibly.raters import decompose_disagreement, decompose_loss
from credibly.raters.disagreement import overall_evidence
from credibly.raters.loss import loss_evidence
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.files import named_recalibration
from credibly.recalibrate.fit_data import FitData, checked
from credibly.recalibrate.folds import fold_members
from credibly.recalibrate.groups import Groups
from credibly.results.curves import EnvelopeCurve, ReliabilityCurve
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate, mean_error
from credibly.results.recalibration import Change, MethodChanges, RecalibrationReport
from credibly.results.tests import HypotestResult
from credibly.statistics import Statistic
from credibly.statistics.linear import Linear
from credibly.statistics.registry import as_statistic

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
    found = []
    for statistic in chosen:
        if counted and "counts" not in statistic.traits.labels:
            continue
        if isinstance(after, RealPredictions) and not _says_enough(statistic, after):
            continue  # a Gaussian has become quantiles, which have no density
        own, moved = (statistic(one, labels, clusters=codes) for one in (before, after))
        difference = _paired(statistic, before, after, labels, moved.value - own.value, codes)
        if difference is None:
            reason = own.interval_refusal or moved.interval_refusal or "it has no standard error here"
            difference = _difference(statistic.name, own, moved, None, reason)
        name = statistic.name
        found.append(Change(name, own, moved, difference, tests_before.get(name), tests_after.get(name)))
    return found


def _paired(
    statistic: Statistic,
    before: Predictions,
    after: Predictions,
    labels: Any,
    value: float,
    codes: HostArray | None,
) -> Estimate | None:
    """Return the mean difference of contributions where the statistic is a mean over instances."""
    first, second = statistic.bind(before), statistic.bind(after)
    if not (
        isinstance(first, Linear)
        and isinstance(second, Linear)
        and first.terms.is_mean
        and math.isfinite(value)
    ):
        return None
    batch = as_labels(before, labels)
    own = first.contributions(batch)[0, :]
    xp = namespace(own)
    size = max(statistic.term_size, float(to_host(xp.max(xp.abs(own)))))
    return _mean_difference(statistic.name, second.contributions(batch)[0, :] - own, value, codes, size)


def _mean_difference(
    name: str, change: Array, value: float, codes: HostArray | None, size: float = 1.0
) -> Estimate:
    n = int(change.shape[0])
    xp = namespace(change)
    if not bool(xp.any(change != 0.0)):
        return Estimate(name, value, 0.0, n, notes=("no instance changed",))
    return Estimate(name, value, n=n, **mean_error(change, codes, size))


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
    with warnings.catch_warnings():  # rows with one rater stand in the notes of the decompositions
        warnings.simplefilter("ignore", UserWarning)
        settings: dict[str, Any] = {"n_bins": n_bins, "clusters": codes}
        losses = [decompose_loss(one, counts, **settings) for one in (before, after)]
        pairs = [decompose_disagreement(one, counts, **settings) for one in (before, after)]
    keep = counts.totals >= 2
    kept = [Dataset(one[keep], counts[keep]) for one in (before, after)]
    moved = [
        evidence(kept[1]).means[0] - evidence(kept[0]).means[0]
        for evidence in (loss_evidence, overall_evidence)
    ]
    rows = [namespace(one).sum(one, axis=0) for one in moved]
    kept_codes = None if codes is None else codes[to_host(keep)]
    return [
        *_loss_changes(losses[0], losses[1], rows[0], kept_codes),
        *_disagreement_changes(pairs[0], pairs[1], rows[1], kept_codes),
    ]


def _loss_changes(
    before: LossDecomposition, after: LossDecomposition, change: Array, codes: HostArray | None
) -> list[Change]:
    found = []
    for name in ("expected", "epistemic"):  # irreducible loss is the same before and after
        own, moved = getattr(before, name), getattr(after, name)
        difference = _mean_difference(f"{name}_loss", change, moved.value - own.value, codes)
        found.append(Change(f"{name}_loss", own, moved, difference))
    found += [
        _unpaired(f"{name}_loss", getattr(before, name), getattr(after, name))
        for name in ("calibration", "dispersion")
    ]
    return found


def _disagreement_changes(
    before: DisagreementDecomposition,
    after: DisagreementDecomposition,
    change: Array,
    codes: HostArray | None,
) -> list[Change]:
    value = after.expected.value - before.expected.value
    loss = Change(
        "disagreement_loss",
        before.expected,
        after.expected,
        _mean_difference("disagreement_loss", change, value, codes),
    )
    squared = _unpaired("disagreement_calibration_loss", before.calibration, after.calibration)
    roots = before.calibration_error, after.calibration_error
    error = Change(
        "disagreement_calibration_error",
        *roots,
        _difference("disagreement_calibration_error", *roots, None, _ROOT),
    )
    return [loss, squared, error]


def _unpaired(name: str, before: Estimate, after: Estimate) -> Change:
    refusal = before.interval_refusal or after.interval_refusal
    stderr = None
    if refusal is None and before.stderr is not None and after.stderr is not None:
        stderr = before.stderr + after.stderr
    return Change(name, before, after, _difference(name, before, after, stderr, refusal, (_UNPAIRED,)))


def _difference(
    name: str,
    before: Estimate,
    after: Estimate,
    stderr: float | None,
    refusal: str | None,
    notes: tuple[str, ...] = (),
) -> Estimate:
    value = after.value - before.value
    degrees = [one.degrees_of_freedom for one in (before, after) if one.degrees_of_freedom is not None]
    return Estimate(
        name,
        value,
        stderr,
        before.n,
        notes=notes,
        interval_refusal=refusal,
        n_clusters=before.n_clusters,
        degrees_of_freedom=min(degrees, default=None),
    )


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
        Features of the instances, for methods that use them.
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
        Ids that say which rows belong together (a patient, a day); folds keep clusters whole, and standard
        errors and tests allow for them.
    blocks : int, optional
        For rows in time order: consecutive rows form clusters of at least this length.
        With `clusters` (stores, sensors), consecutive rows of each of them.
    rng : None, int or Generator
        Seed of folds and replicates.
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
    ids = _cluster_ids(predictions, labels, clusters, blocks)
    predictions, labels = paired(predictions, labels)
    given = predictions if isinstance(predictions, RealPredictions) else checked(predictions)
    as_labels(given, labels)
    folds = require_integer(cv, "cv", 2)
    if len(given) < 2 * folds:
        raise InputError(
            "`cv`",
            "must leave at least two instances per fold",
            f"got {folds} folds for {len(given)} instances",
            "Use fewer folds or more data.",
        )
    if n_resamples != 0:
        require_resamples(n_resamples)
    seed = as_seed(rng)
    inputs = None if features is None else check_features(features, given)
    chosen = _chosen(statistics, n_bins, given)
    asked = _unasked(given, features, groups) if methods is None else _named(methods)
    for_all = set() if methods is not None else {name for name in asked if not name.endswith(GROUPED)}
    codes = None if ids is None else np.unique(ids, return_inverse=True)[1]
    parts = fold_members(len(given), folds, seed) if codes is None else _whole_folds(codes, folds, seed)
    counted = isinstance(labels, LabelCounts)

    def tested(predictions: Predictions) -> tuple[dict[str, HypotestResult], Any]:
        rows = detached(as_rows(predictions, labels, clusters=ids))
        drawn = (0 if counted else n_resamples, seed)
        return _tests_and_curve(rows, chosen, *drawn, n_bins=n_bins)

    made: dict[str, tuple[Recalibration, Predictions]] = {}
    failed: dict[str, str] = {}
    for name, method in asked.items():
        try:
            beside = {
                "features": inputs if method.takes_features else None,
                "groups": groups if method.takes_groups and name not in for_all else None,
            }
            made[name] = cross_fitted(method, given, labels, beside, parts, codes)
        except CrediblyError as error:
            failed[name] = str(error)
    before, after, notes = _in_same_terms(given, {name: one for name, (_, one) in made.items()})
    tests, curve = tested(given)
    found: dict[str, MethodChanges] = {}
    for done, name in enumerate(asked, start=1):
        if name in failed:
            found[name] = MethodChanges(name, "", {}, None, failure=failed[name])
        else:
            whole, own = made[name]
            moved, own_curve = tested(own)
            changes = statistic_changes(before, after[name], labels, chosen, tests, moved, codes)
            changes += rater_changes(given, own, labels, n_bins, codes) if counted else []
            found[name] = MethodChanges(
                name,
                whole.describe(),
                {change.name: change for change in changes},
                own_curve,
                notes=whole.notes,
            )
        if progress is not None:
            progress(done, len(asked))
    return RecalibrationReport(
        found,
        curve,
        len(given),
        len(parts),
        {"cv": folds, "n_bins": n_bins, "n_resamples": n_resamples, "seed": list(seed)},
        (*given.notes, *notes),
    )


def _cluster_ids(predictions: Any, labels: Any, clusters: Any, blocks: int | None) -> HostArray | None:
    """Return which rows belong together, as they are given or as data that were read bring it."""
    if clusters is None and blocks is None and not isinstance(predictions, Dataset):
        return None
    found: HostArray | None = as_rows(predictions, labels, clusters=clusters, blocks=blocks).sample.clusters
    return found


def _whole_folds(codes: HostArray, folds: int, seed: Any) -> list[HostArray]:
    """Return the held-out rows of every fold, all rows of a cluster in the same."""
    number = int(codes.max()) + 1
    if number < folds:
        raise InputError(
            "`cv`",
            "must leave at least one cluster for every fold",
            f"got {folds} folds for {number} clusters",
            "Use fewer folds.",
        )
    return [np.flatnonzero(np.isin(codes, part)) for part in fold_members(number, folds, seed)]


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
    if isinstance(statistics, (str, Statistic)):
        raise InputTypeError("`statistics`", "must be a sequence", f"got {statistics!r}", "Pass a list.")
    if statistics is None and isinstance(predictions, RealPredictions):
        known = (as_statistic(name) for name in REAL_STATISTICS)
        return [one for one in known if _says_enough(one, predictions)]
    names = statistics
    if names is None:
        names = (*STATISTICS, "skce") if len(predictions) <= MOST_PAIRED_ROWS else STATISTICS
    found = []
    for one in names:
        own = as_statistic(one)
        binned = isinstance(one, str) and "n_bins" in own.settings()
        found.append(own.with_(n_bins=n_bins) if binned else own)
    return found


def _says_enough(statistic: Statistic, predictions: RealPredictions) -> bool:
    """Tell whether such predictions say what the statistic needs: quantiles have no density."""
    try:
        statistic.bind(predictions[:1])
    except CrediblyError:
        return False
    return True


GROUPED = " by group"


def _unasked(given: Predictions, features: Any, groups: Any) -> dict[str, Recalibration]:
    """Return the methods to compare where none is named: also those that use what is given beside."""
    real = isinstance(given, RealPredictions)
    names = REAL_REPAIRS if real else REPAIRS
    if not real and checked(given).n_classes > 2:
        names = (*names, *OF_SEVERAL, *(OF_FEW if checked(given).n_classes <= MOST_FEW else ()))
    if real and features is not None:
        names = (*names, "scale_by_features")
    found = {name: named_recalibration(name) for name in names}
    if groups is not None:
        for name in REALS_BY_GROUP if real else BY_GROUP:
            found[f"{name}{GROUPED}"] = named_recalibration(name)
    return found


def _named(methods: Sequence[str | Recalibration]) -> dict[str, Recalibration]:
    """Return unfitted recalibrations by name."""
    if isinstance(methods, (str, Recalibration)) or not isinstance(methods, Sequence) or not methods:
        raise InputTypeError(
            "`methods`",
            "must be a sequence with at least one method",
            f"got {methods!r}",
            'Pass a list: ["temperature"].',
        )
    found: dict[str, Recalibration] = {}
    for one in methods:
        if not isinstance(one, (str, Recalibration)):
            raise InputTypeError(
                "`methods`", "must be names or recalibrations", f"got {one!r}", 'Try "temperature".'
            )
        own = named_recalibration(one) if isinstance(one, str) else one.unfitted()
        name = one if isinstance(one, str) else "+".join(step.name for step in own.parts)
        if name in found:
            raise InputError("`methods`", "must be distinct", f"{name!r} appears twice", "Name it once.")
        found[name] = own
    return found


def _tests_and_curve(
    rows: Rows, chosen: Sequence[Statistic], n_resamples: int, seed: Seed, *, n_bins: int
) -> tuple[dict[str, HypotestResult], ReliabilityCurve | EnvelopeCurve | None]:
    """Test statistics and return the curve of the predictions, both on the same replicates.

    Without replicates there are neither tests nor curves of real values, whose coverage has no band of
    clusters. The curve is None for quantiles without symmetric levels, too.
    """
    given, drawn = rows.sample.predictions, (n_resamples, seed)
    asked: dict[str, Asking[Any]] = {}
    if isinstance(given, RealPredictions):
        if not n_resamples or rows.clusters is not None:
            return {}, None
        chosen = [one for one in chosen if _can_be_drawn(one, given)]
        asked["curve"] = asking_shares("coverage", rows, 0.05, *drawn)
    else:
        level = 0.95 if n_resamples else None
        asked["curve"] = asking_curves(rows, ["top_label"], level, *drawn, n_bins=n_bins)
    if n_resamples and chosen:
        asked["tests"] = asking_tests(rows, chosen, *drawn)
    found = dict(zip(asked, answered(side_by_side(list(asked.values()))), strict=True))
    for name, own in found.items():
        if isinstance(own, UnsupportedError) and not (name == "curve" and isinstance(given, RealPredictions)):
            raise own
    curve, result = found["curve"], found.get("tests")
    if isinstance(given, RealPredictions):
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


def cross_fitted(
    method: Recalibration,
    given: Predictions,
    labels: Any,
    beside: Mapping[str, Any],
    parts: Sequence[HostArray],
    codes: HostArray | None = None,
    *,
    data: Any = None,
) -> tuple[Recalibration, Predictions]:
    """Fit on all data, and recalibrate every part of the rows by a fit on the others.

    Parameters
    ----------
    method : Recalibration
        What to fit; it is left as it is.
    given, labels
        Predictions, and what was observed.
    beside : mapping
        Features and groups of the instances under these names, for methods that take them.
    parts : sequence of ndarray
        Rows of every fold.
    codes : ndarray (n,), optional
        Number of the cluster of every row.
    data : FitData or RealData, optional
        Predictions and labels as a fit starts from them, if several methods are to share the checks.

    Returns
    -------
    Recalibration, Predictions
        The fit on all data, and predictions that no fit has seen. Iterative fits of folds start at the
        parameters of the first.
    """
    groups = beside.get("groups")
    seen = method._seen(
        beside.get("features"), None if groups is None else Groups.of(groups, len(given))
    )  # names are read once for all folds
    whole = method.unfitted()
    if data is None:
        data = whole._data(given, labels, None)
        if codes is not None and isinstance(data, FitData):
            data = dataclasses.replace(data, clusters=codes)
    whole._fit_checked(data, seen).warn(type(whole).__name__)
    moved = []
    with warnings.catch_warnings():  # the fit on all data has said it
        warnings.simplefilter("ignore", UserWarning)
        for part in parts:
            kept = np.ones(len(given), dtype=bool)
            kept[part] = False
            fold = method.unfitted()
            fold._near = whole
            rows = np.flatnonzero(kept)
            fold._fit_checked(data.take(rows), _taken(seen, rows))
            moved.append(fold._map(given[part], _taken(seen, part)))
    return whole, stitched(moved, list(parts))


def _taken(seen: Any, rows: HostArray) -> Any:
    """Return features or groups, or both as a chain sees them, of some rows."""
    if isinstance(seen, tuple):
        return tuple(_taken(one, rows) for one in seen)
    if isinstance(seen, Groups):
        return seen.take(rows)
    return None if seen is None else like(to_host(seen)[rows], seen)


def stitched(parts: list[P], rows: list[HostArray]) -> P:
    """Put predictions of parts of the rows together in the order of the rows."""
    xp = parts[0].xp
    order = like(np.argsort(np.concatenate(rows)), parts[0]._leading)
    companions = (name for name in parts[0].companions if getattr(parts[0], name) is not None)
    names = [*parts[0].row_arrays(), *companions]
    joined = {
        name: xp.take(xp.concat([getattr(part, name) for part in parts], axis=0), order, axis=0)
        for name in names
    }
    made = parts[0].replace_rows(**joined)
    made._set(notes=())
    return made
