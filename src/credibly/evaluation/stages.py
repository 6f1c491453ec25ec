"""The parts of an evaluation: whether one applies, what it adds, what it says of itself.

Each part's result stands before the stage that makes it: curves of classes, curves of real values, predictive
checks, several raters, recalibrations, the unified score. The statistics themselves are in `statistics`, the
tests of sets in `set_tests`, what all stages share in `work`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.special import ndtr, stdtr

from credibly._arrays.errors import UnsupportedError, require_type
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.notes import counted, unsaid, without_warnings
from credibly.evaluation.rows import PredictionSummary, has_counts, random_part
from credibly.evaluation.words import Verdict, verdicts
from credibly.evaluation.work import DRAWN_LABELS, IN_CLUSTERS, NOT_ASKED, Part, Stage, Work, to_classes
from credibly.hypotests.calibration.corp import corp_curves
from credibly.hypotests.calibration.lattice import attributes_of
from credibly.hypotests.calibration.pit import asking_shares
from credibly.hypotests.calibration.reliability import asking_curves, asking_spread
from credibly.hypotests.predictive.outcomes import has_members
from credibly.hypotests.predictive.predictive_check import asking_check
from credibly.hypotests.resampling.requests import Asking, side_by_side
from credibly.predictions import (
    ClassPredictions,
    Dataset,
    Dirichlet,
    Ensemble,
    Gaussian,
    Point,
    Predictions,
    Quantiles,
    RealPredictions,
    Rows,
)
from credibly.raters import decompose_disagreement, decompose_loss
from credibly.recalibrate import recalibration_report
from credibly.results.curves import CorpCurve, EnvelopeCurve, ReliabilityCurve, RiskCoverageCurve, SpreadCurve
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate
from credibly.results.predictive import PredictiveCheck
from credibly.results.recalibration import RecalibrationReport
from credibly.results.scores import EpistemicScore
from credibly.selection import epistemic_score
from credibly.statistics import Statistic, picp, risk_coverage_curve
from credibly.statistics.kernels import spaced
from credibly.statistics.regression import central_interval
from credibly.statistics.subsampled import random_rows

MOST_ORDERED = 200_000
"""Instances whose order by confidence is looked at; of more a random part under the seed."""
MOST_ISOTONIC = 50_000
"""Instances whose labels are ordered again and again for the band of the isotonic curve."""
BAND_RESAMPLES = 199
"""Replicates behind that band, at most: a picture."""
KEPT_CURVES = 50
"""Curves of more classes than this would make results of megabytes that nobody reads."""


@dataclasses.dataclass(frozen=True)
class Curves(Part):
    """Reliability and risk-coverage curves of one evaluation.

    Attributes
    ----------
    isotonic : CorpCurve
        Confidence against accuracy, without bins.
    worst_class : CorpCurve
        The same for the class with the largest error outside the bands of its bins, or with the largest
        error.
    top_label : ReliabilityCurve
        Confidence against accuracy, in bins.
    per_class : tuple of ReliabilityCurve
        One curve per class, in class order; with many classes, only those with the largest errors.
    class_errors : ndarray (k,)
        Binned calibration error of every class; their mean is the class-wise ECE.
    risk_coverage : mapping of str to RiskCoverageCurve
        Share of wrong answers among the surest instances, by ``"confidence"`` and, for sets, also by
        ``"imprecision"``.
    """

    drawn_as = ("isotonic",)

    isotonic: CorpCurve
    worst_class: CorpCurve
    top_label: ReliabilityCurve
    per_class: tuple[ReliabilityCurve, ...]
    class_errors: np.ndarray[Any, Any]
    risk_coverage: Mapping[str, RiskCoverageCurve]

    def remarks(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return how many instances curves are of, where they are not all."""
        n = self.top_label.n
        curves = {"risk-coverage": self.risk_coverage["confidence"].n, "isotonic": self.isotonic.n}
        return tuple(
            f"{name} curves: {some} of {n} instances, drawn at random with the seed, were sorted"
            for name, some in curves.items()
            if some < n
        )


def mean_gap(curve: ReliabilityCurve) -> float:
    """Return sum over bins of weight / total * |observed - predicted|: the binned error of the curve."""
    filled = curve.weight > 0
    gap = np.abs(curve.observed[filled] - curve.predicted[filled])
    return float(np.sum(curve.weight[filled] * gap) / curve.weight.sum())


def error_outside(curve: ReliabilityCurve) -> float:
    """Return the part of the binned error that bins outside their band bring; all of it without a band."""
    if curve.band is None:
        return mean_gap(curve)
    with np.errstate(invalid="ignore"):  # empty bins hold nothing
        far = (curve.observed < curve.band[0] - 1e-12) | (curve.observed > curve.band[1] + 1e-12)
    gap = np.abs(curve.observed[far] - curve.predicted[far])
    return float(np.sum(curve.weight[far] * gap) / curve.weight.sum())


def _run_curves(rows: Rows, work: Work) -> Asking[Curves]:
    """Return the curves, with bands where labels can be drawn.

    Of many classes the curves of the worst are kept; of sets whose imprecision is known for all instances,
    risk is also ordered by it.
    """
    top, *each = yield from asking_curves(
        rows,
        ["top_label", *range(len(work.classes))],
        1 - work.level if work.tests and not has_counts(rows) else None,
        work.n_resamples,
        work.seed,
        partial(work.tell, "curves"),
        n_bins=work.n_bins,
    )
    named = [
        dataclasses.replace(curve, name=f"class {name}")
        for curve, name in zip(each, work.classes, strict=True)
    ]
    errors = np.array([mean_gap(curve) for curve in named])
    kept = np.sort(np.argsort(-errors, kind="stable")[:KEPT_CURVES])
    if len(named) > KEPT_CURVES:
        work.leave_out(
            f"reliability curves of {len(named) - KEPT_CURVES} classes",
            f"of {len(named)} classes the {KEPT_CURVES} with the largest error are kept; "
            "`cr.reliability_curve` with `target=` gives the others",
        )
    # instances are ordered, and of very many a random part shows the same curve
    some = random_part(rows, MOST_ORDERED, work.seed).arguments
    orders = {"confidence": risk_coverage_curve(*some)}
    score = work.results["score"]
    if score is not None and score.score.n == rows.n:
        imprecision = score.score.imprecision
        orders["imprecision"] = risk_coverage_curve(*some, confidence=-imprecision, by="imprecision")
    # of two classes, whose errors are the same, the second is the event
    worst = 1 if len(named) == 2 else max(kept, key=lambda c: (error_outside(named[c]), errors[c]))
    part = random_part(rows, MOST_ISOTONIC, work.seed)
    drawn = (top.level, min(work.n_resamples, BAND_RESAMPLES), work.seed)
    isotonic, worst_class = corp_curves(part, ["top_label", int(worst)], *drawn)
    worst_class = dataclasses.replace(worst_class, name=named[worst].name)
    work.tell("curves", 1, 1)
    return Curves(isotonic, worst_class, top, tuple(named[c] for c in kept), errors, orders)


CURVES = Stage("curves", _run_curves, to_classes)


@dataclasses.dataclass(frozen=True)
class RealParts(Part):
    """Where labels lie in their predicted distributions.

    Attributes
    ----------
    pit : EnvelopeCurve
        Shares of labels at most as large as the quantiles.
    coverage : EnvelopeCurve or None
        Shares of labels inside central intervals; None if quantiles have no symmetric levels.
    spread : SpreadCurve or None
        Errors by stated spread, from small to large; None if no variance is stated.
    width, label_width : float or None
        Mean width of 90 % intervals, and of the single interval that contains the middle 90 % of all labels;
        None if quantiles have no such ends.
    """

    drawn_as = ("pit",)

    pit: EnvelopeCurve
    coverage: EnvelopeCurve | None
    spread: SpreadCurve | None = None
    width: float | None = None
    label_width: float | None = None


def _reals_apply(rows: Rows, work: Work) -> str | None:
    return None if work.tests and isinstance(rows.example.predictions, RealPredictions) else NOT_ASKED


def _run_reals(rows: Rows, work: Work) -> Asking[RealParts | None]:
    drawn = (work.n_resamples, work.seed)
    curves: list[Asking[Any]] = [asking_shares("pit", rows, work.level, *drawn, partial(work.tell, "curves"))]
    curves.append(asking_shares("coverage", rows, work.level, *drawn))
    if not isinstance(rows.example.predictions, Quantiles):
        curves.append(asking_spread(rows, 1 - work.level, *drawn, n_bins=work.n_bins))
    pit, coverage, *spread = yield from side_by_side(curves)
    work.tell("curves", 1, 1)
    if isinstance(pit, UnsupportedError):
        work.leave_out("curves of the probability integral transform and of coverage", pit)
        return None
    known = []
    for what, curve in (("coverage curve", coverage), *(("spread curve", curve) for curve in spread)):
        if isinstance(curve, UnsupportedError):
            work.leave_out(what, curve)
        known.append(None if isinstance(curve, UnsupportedError) else curve)
    coverage, *spread = known
    return RealParts(pit, coverage, spread[0] if spread else None, *_widths(rows))


INTERVAL = 0.9
"""Central interval that headline and first screen of real values speak of."""


def _widths(rows: Rows) -> tuple[float | None, float | None]:
    """Return the mean width of the predicted intervals, and the width of that of all labels."""
    try:
        widths = list(rows.map(_width_and_labels))
    except UnsupportedError:
        return None, None
    labels = np.concatenate([observed for _, observed in widths])
    low, high = np.quantile(labels, [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2])
    return float(sum(width for width, _ in widths) / rows.n), float(high - low)


def _width_and_labels(rows: Dataset) -> tuple[float, HostArray]:
    predictions = rows.predictions
    assert isinstance(predictions, RealPredictions)
    low, high = central_interval(predictions, INTERVAL)
    return float(to_host(high - low).sum()), to_host(rows.batch.values)[0]


REALS = Stage("reals", _run_reals, _reals_apply)


MOST_STATISTICS = 6


def _check_applies(rows: Rows, work: Work) -> str | None:
    if not work.tests or not work.statistics:
        return NOT_ASKED
    predictions = rows.example.predictions
    if isinstance(predictions, Gaussian) and predictions.weights_by_row:
        return "they compare members, and with weights by row these are components of one distribution"
    if not has_members(predictions):
        return (
            "they compare members, and these predictions have none; if they are averages of an ensemble, "
            "evaluate its members"
        )
    if rows.example.predictions.n_members < 2:
        return "with one member it is the hypothesis of the calibration tests"
    if rows.example.clusters is not None and not isinstance(rows.example.predictions, ClassPredictions):
        return IN_CLUSTERS
    return None if _cheap(work) else _NOTHING_CHEAP


def _run_check(rows: Rows, work: Work) -> Asking[PredictiveCheck | None]:
    check = partial(
        asking_check,
        work.single,
        seed=work.seed,
        n_resamples=work.n_resamples,
        progress=partial(work.tell, "predictive checks"),
        grouped=bool(work.results["groups"]),
    )
    if "tests" not in work.results:  # their replicates are drawn together with those of the check
        chosen = _cheap(work)
        begun = check(statistics=chosen)
        answer = yield next(begun)
        work.tell("predictive checks", 1, 1)
        if _cheap(work) == chosen:
            try:
                begun.send(answer)
            except StopIteration as end:
                return cast(PredictiveCheck, end.value)
    # a statistic that the tests refused is not checked
    if not _cheap(work):
        work.leave_out(CHECK.what, _NOTHING_CHEAP)
        return None
    return (yield from check(statistics=_cheap(work)))


def _cheap(work: Work) -> list[Statistic]:
    """Return the first statistics that were tested, or are about to be, and are sums over instances."""
    tested = work.testable
    if "tests" in work.results:
        tested = [statistic for statistic in tested if statistic.name in (work.results["tests"] or ())]
    return [statistic for statistic in tested if statistic.traits.reduction == "sum"][:MOST_STATISTICS]


_NOTHING_CHEAP = "no statistic that is a sum over instances was tested"
CHECK = Stage("check", _run_check, _check_applies, "predictive checks of the Bayesian hypothesis")


def check_verdicts(check: PredictiveCheck, facts: PredictionSummary, level: float) -> tuple[Verdict, ...]:
    """Return the answers under each hypothesis in words, worst first within each."""
    return tuple(
        dataclasses.replace(verdict, facts={**verdict.facts, "hypothesis": name})
        for name, part in check.hypotheses.items()
        for verdict in verdicts(part.checks, facts, level)
    )


KEPT_LOSSES = 100


@dataclasses.dataclass(frozen=True)
class RaterParts(Part):
    """Decompositions of the squared loss and of the disagreement between raters.

    Attributes
    ----------
    loss : LossDecomposition
        The loss, split into the raters' part and the model's.
    disagreement : DisagreementDecomposition
        Whether raters disagree as much as predicted.
    """

    drawn_as = ("disagreement",)

    loss: LossDecomposition
    disagreement: DisagreementDecomposition

    @property
    def pvalue(self) -> float:
        """One-sided p-value of "none of the loss is the model's own"; 1 if its error is not known."""
        epistemic = self.loss.epistemic
        if not epistemic.has_interval or not epistemic.stderr:
            return 1.0
        score = float(epistemic.value) / epistemic.stderr
        degrees = epistemic.degrees_of_freedom
        return float(ndtr(-score) if degrees is None else stdtr(degrees, -score))

    @property
    def key_numbers(self) -> Mapping[str, Estimate]:
        """Whose loss it is, and whether disagreement was predicted."""
        return {
            "Irreducible loss": self.loss.irreducible,
            "Calibration loss": self.loss.calibration,
            "Dispersion loss": self.loss.dispersion,
            "Predicted disagreement": self.disagreement.predicted,
            "Observed disagreement": self.disagreement.observed,
        }

    def remarks(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return what was left out because too few people rated it."""
        notes = dict.fromkeys((*self.loss.notes, *self.disagreement.notes))
        return tuple(f"raters: {note}" for note in unsaid(notes, shared))

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, except classes if there are very many."""
        entries = super().to_dict()
        if len(self.loss.per_class.expected.value) > KEPT_LOSSES:
            entries["loss"].pop("per_class")
            for name in ("per_class", "per_class_predicted", "per_class_observed"):
                entries["disagreement"].pop(name)
        return entries


def _raters_apply(rows: Rows, work: Work) -> str | None:
    classes = isinstance(rows.example.predictions, ClassPredictions)
    return None if has_counts(rows) and classes else NOT_ASKED


def _run_raters(rows: Rows, work: Work) -> RaterParts:
    with without_warnings():  # what is left out stands in the notes of the evaluation
        return RaterParts(
            decompose_loss(*rows.arguments, n_bins=work.n_bins),
            decompose_disagreement(*rows.arguments, n_bins=work.n_bins),
        )


_OVER_RATERS = "decompositions over raters"
RATERS = Stage("raters", _run_raters, _raters_apply, _OVER_RATERS, UnsupportedError, subject="")


FOLDS = 5
FEWEST = 50
"""Instances below which no recalibration is fitted unasked."""
PREVIEW = ("confidence_gap", "log_loss", "confidence_ece")
PREVIEW_RESAMPLES = 199
"""Replicates of a recalibration that nobody asked for: its p-values are exact with any number."""
MOST_FITTED = 20_000
"""Rows that are taken into memory to fit recalibrations to them."""
MOST_PREVIEWED = 100_000
"""Instances that the preview of a repair looks at: on more of them only its last digit would change."""


def _recalibration_applies(rows: Rows, work: Work) -> str | None:
    some = rows.example.predictions
    clusters = rows.clusters
    few_clusters = clusters is not None and clusters.number < FOLDS
    if work.recalibrate is None:  # nobody asked: a preview of the repair that the diagnosis advises
        diagnosis = work.results["diagnosis"]
        if diagnosis is None or diagnosis.repair is None:
            return NOT_ASKED
        kinds = (Point, Ensemble, Dirichlet, RealPredictions)
        fits = isinstance(some, kinds) and work.tests and rows.n >= FEWEST and not few_clusters
        return None if fits and rows.loaded(MOST_FITTED) is not None else NOT_ASKED
    methods = work.recalibrate
    listed = isinstance(methods, Sequence) and not isinstance(methods, str)
    rule, remedy = "must be a sequence of names", 'Pass a list: ["temperature"].'
    require_type(listed, rule, remedy, recalibrate=methods)
    if not methods:
        return NOT_ASKED
    if rows.n < 2 * FOLDS:
        return f"{counted(rows.n, 'instance is', 'instances are')} too few for {FOLDS} folds"
    if clusters is not None and few_clusters:
        number = counted(clusters.number, "cluster is", "clusters are")
        return f"{number} too few for {FOLDS} folds, which must keep clusters whole"
    if rows.loaded(MOST_FITTED) is None:
        return (
            f"it needs rows in memory, at most {MOST_FITTED} of them for chunks; read a part of the "
            f"data with `load`"
        )
    return None


def _preview(rows: Dataset, work: Work) -> tuple[tuple[str, ...], tuple[str | Statistic, ...]]:
    """Return the repair of the diagnosis, and what is measured of it."""
    method = (work.results["diagnosis"].repair.method,)
    if not isinstance(rows.predictions, RealPredictions):
        return method, PREVIEW
    level = stated_coverage(work.results["reals"])
    return method, ("crps",) if level is None else (picp.with_(level=level), "crps")


def stated_coverage(parts: RealParts | None) -> float | None:
    """Return the stated coverage next to 90 % of which intervals are known."""
    if parts is None or parts.coverage is None:
        return None
    return float(parts.coverage.levels[int(np.abs(parts.coverage.levels - INTERVAL).argmin())])


def _attribute(whole: Dataset, work: Work, name: str) -> HostArray:
    """Return the levels of an attribute, as the diagnosis saw them."""
    groups = whole.groups if work.attributes is None else work.attributes
    attribute = next(attribute for attribute in attributes_of(groups, len(whole)) if attribute.name == name)
    return np.array(attribute.levels)[attribute.codes]


def _run_recalibration(rows: Rows, work: Work) -> RecalibrationReport:
    whole = cast(Dataset, rows.loaded(MOST_FITTED))
    asked = work.recalibrate
    methods, measured = _preview(whole, work) if asked is None else (asked, None)
    by = None if asked is not None else work.results["diagnosis"].repair.by
    groups = whole.groups if asked is not None else None if by is None else _attribute(whole, work, by)
    if asked is None and len(whole) > MOST_PREVIEWED:
        part = random_rows(len(whole), MOST_PREVIEWED, work.seed)
        whole, groups = whole.take(part), None if groups is None else groups[part]
    with without_warnings():  # what was read into the data stands in the notes of the methods
        report = recalibration_report(
            whole.predictions,
            whole.observed,
            methods,
            clusters=whole.clusters,
            cv=FOLDS,
            statistics=measured,
            features=None if asked is None else whole.features,
            groups=groups,
            n_bins=work.n_bins,
            n_resamples=_draws_of_recalibration(work, whole.predictions),
            rng=work.seed,
            progress=partial(work.tell, "recalibrations"),
        )
    for name, method in report.methods.items():
        if method.failure:
            work.leave_out(f"recalibration by {name}", method.failure.rstrip("."))
    return report


def _draws_of_recalibration(work: Work, some: Predictions) -> int:
    """Return how many labels are drawn: of a preview few, as its size is read more than its p-values."""
    if work.recalibrate is not None:
        return work.n_resamples
    # what is tested of real values is tested already, and quantiles of mixtures cost
    return min(work.n_resamples, PREVIEW_RESAMPLES) if isinstance(some, ClassPredictions) else 0


RECALIBRATION = Stage("recalibration", _run_recalibration, _recalibration_applies, "recalibration")


MOST_ROWS, FEW_ROWS = 20_000, 1000
"""Instances scored at most: with few classes all events are summed, with many they are sampled."""
_FEW_CLASSES = 12


@dataclasses.dataclass(frozen=True)
class ScoreParts(Part):
    """The unified score of a set prediction and of its mean.

    Attributes
    ----------
    score : EpistemicScore
        Distance, imprecision and their sum, with the mean prediction's in ``score.average``.
    n_all : int
        Total number of instances; ``score.n`` of them were scored.
    """

    drawn_as = ("score",)

    score: EpistemicScore
    n_all: int

    def remarks(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return how the score was made, and what it depends on."""
        notes = [f"unified score: {note}" for note in (*self.score.notes, *map(str, self.score.dependences))]
        if self.score.n < self.n_all:
            notes.append(f"unified score: {self.score.n} evenly spaced of {self.n_all} instances were scored")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, except arrays over instances."""
        return {**super().to_dict(), "score": self.score.summary_dict()}


def _score_applies(rows: Rows, work: Work) -> str | None:
    some = rows.example.predictions
    if isinstance(some, Ensemble) and some.holds_drawn_labels:
        return DRAWN_LABELS
    return None if isinstance(some, ClassPredictions) and not isinstance(some, Point) else NOT_ASKED


def _run_score(rows: Rows, work: Work) -> ScoreParts:
    part = rows.take(spaced(rows.n, MOST_ROWS if len(work.classes) <= _FEW_CLASSES else FEW_ROWS))
    with without_warnings():  # what E depends on stands in the notes of the evaluation
        return ScoreParts(epistemic_score(part.predictions, part.observed, rng=work.seed), rows.n)


SCORE = Stage("score", _run_score, _score_applies, "unified score", UnsupportedError, subject="")
