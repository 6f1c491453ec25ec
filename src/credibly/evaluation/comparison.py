"""Several models on the same instances: their ranking, their own numbers, and what to take."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import HostArray, namespace, to_host
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.progress import StageProgress, stage_progress
from credibly.evaluation.commands import recorded_call
from credibly.evaluation.comparison_words import (
    COLUMNS,
    LEADING,
    LeadingNumber,
    comparison_warnings,
    faults_in_words,
    leaders_in_words,
    leading_number,
    score_finding,
    tradeoffs_in_words,
)
from credibly.evaluation.model_calibration import (
    ModelCalibration,
    calibration_errors,
    differences,
    model_calibration,
    rows_of_models,
)
from credibly.evaluation.results import Reported
from credibly.evaluation.rows import PredictionSummary, checked_rows, class_names, random_part, summarise
from credibly.evaluation.stages import MOST_ORDERED
from credibly.evaluation.statistics import choose, estimate_all
from credibly.evaluation.survey import source_warnings
from credibly.evaluation.tidy import StandingRow, standing_rows
from credibly.evaluation.words import title
from credibly.evaluation.work import origin, silent, version
from credibly.hypotests import corp_curve
from credibly.predictions import Dataset, Rows, has_event
from credibly.predictions.passes import remembering
from credibly.results.base import jsonable
from credibly.results.curves import CorpCurve
from credibly.results.estimates import Estimate
from credibly.results.numbers import joined, shown, shown_range
from credibly.scale import scan
from credibly.selection import rank_models
from credibly.selection.calibration_errors import CalibrationDifference
from credibly.selection.lines import NEGLIGIBLE, Lines, Ranking, Recommendation
from credibly.selection.matching import matched_models
from credibly.selection.ranking import TRADEOFFS
from credibly.selection.settings import ScoreMeasure
from credibly.selection.standings import Standing, bootstrap_means, standing_by
from credibly.statistics import Statistic
from credibly.statistics.events import Events
from credibly.statistics.linear import Linear
from credibly.statistics.proper import ConfidenceGap
from credibly.statistics.protocol import Plan, Story
from credibly.statistics.registry import with_bins
from credibly.statistics.terms import Terms

_OF_RANKING = ("tradeoffs", "measure", "n_resamples", "level", "statistics", "clusters", "blocks", "rng")
CHEAP = ("accuracy", "log_loss", "confidence_gap", "brier", "confidence_ece")
"""Statistics of every model that are shown with its score."""

N_BINS = 15


@dataclasses.dataclass(frozen=True)
class _EventGap(ConfidenceGap):
    """Mean probability of the second of two classes, the event, minus how often it happened."""

    name: ClassVar[str] = "event_gap"
    story: ClassVar[Story] = dataclasses.replace(
        ConfidenceGap.story,
        title="Event gap",
        meaning="Mean probability of the event minus its frequency: positive if it is predicted too often.",
        formula="mean of (p − 1[event])",
        above="the event is predicted too often",
        below="the event is predicted too rarely",
        notion="classwise",
        aliases={},
    )

    def terms(self, predictions: Any, plan: Plan) -> Terms:
        """Return events: the label is the second class."""
        chance = predictions.probs[:, 1]
        xp = namespace(chance)
        return Events(chance, event=xp.ones_like(chance, dtype=xp.int64))


@dataclasses.dataclass(frozen=True)
class Comparison(Reported):
    """All that :func:`compare` computed.

    Models of classes are ranked by one score over trade-offs; models of real values, and models of classes
    if `statistics` are named, by proper scores.

    Attributes
    ----------
    models : mapping of str to PredictionSummary
        Type and size of every model's predictions.
    ranking : Ranking
        Standings with paired differences and ties: at trade-offs, with the models as lines, or by proper
        scores.
    estimates : mapping of str to mapping of str to Estimate
        Accuracy, log loss, confidence gap, Brier score and ECE of every model's mean prediction; for two
        classes, the gap of the event (its mean probability minus its frequency) instead of the confidence
        gap. By proper scores: these.
    recommendations : mapping of str to Recommendation
        Which model to choose if abstaining is allowed, and if it is not; empty if no model is imprecise.
    findings : tuple of str
        The comparison in sentences.
    warnings : tuple of str
        What makes the models hard to compare.
    notes : tuple of str
        How sets were made, or how models of different kinds were made comparable.
    settings : mapping
        Everything needed to repeat the comparison.
    source : mapping
        Where the data came from: paths, digests, command.
    calibration : mapping of str to ModelCalibration
        What is wrong with every model and what repairs it, and its calibration errors beside what chance
        would give.
    standings : mapping of str to Standing
        The models by accuracy, by log loss and by the size of the calibration gap, with ties; empty if they
        are ranked by proper scores, and so are the next two.
    curves : mapping of str to CorpCurve
        Confidence against accuracy for every model's mean prediction, by isotonic regression; for two
        classes, the probability of the event against its frequency.
    differences : tuple of CalibrationDifference
        By every calibration error, how much larger it is than that of the model with the smallest log loss,
        with paired intervals that hold jointly over models.
    """

    drawn_as = ("ranking",)

    _page = "comparison.html"
    _rows_are = "All places"
    _logged = ("version", "rng", "n_resamples")

    models: Mapping[str, PredictionSummary]
    ranking: Ranking
    estimates: Mapping[str, Mapping[str, Estimate]]
    recommendations: Mapping[str, Recommendation]
    findings: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    settings: Mapping[str, Any]
    source: Mapping[str, Any]
    calibration: Mapping[str, ModelCalibration]
    standings: Mapping[str, Standing] = dataclasses.field(default_factory=dict)
    curves: Mapping[str, CorpCurve] = dataclasses.field(default_factory=dict)
    differences: tuple[CalibrationDifference, ...] = ()

    @property
    def heading(self) -> str:
        """What was compared, in one line."""
        return f"Comparison of {joined(list(self.models))} (n = {self.ranking.n})"

    @property
    def by_scores(self) -> bool:
        """Whether the models are ranked by proper scores instead of over trade-offs."""
        return self.ranking.lines is None

    @property
    def has_imprecision(self) -> bool:
        """Whether a model predicts sets, so that the cost of imprecision decides between models."""
        return self.ranking.lines is not None and is_imprecise(self.ranking.lines)

    @property
    def tradeoff_findings(self) -> tuple[str, ...]:
        """The last of the findings: who leads at which price of imprecision; empty if no model has any."""
        lines = self.ranking.lines
        return tradeoffs_in_words(lines) if lines is not None and self.has_imprecision else ()

    def leading(self) -> dict[str, dict[str, LeadingNumber]]:
        """Return accuracy, log loss and calibration gap in words.

        Returns
        -------
        dict
            For every model, the smallest log loss first, its numbers by the heading of their column.
        """
        first = next(iter(self.standings.values()), None)
        order = () if first is None else self.standings.get("log_loss", first).names
        return {
            model: {
                COLUMNS[name]: leading_number(name, self.estimates[model][name], model, standing)
                for name, standing in self.standings.items()
            }
            for model in order
        }

    @property
    def _row(self) -> type:
        return StandingRow

    @property
    def _headings(self) -> tuple[str, ...]:
        return (
            "score" if self.by_scores else "trade-off",
            "place",
            "model",
            "mean score",
            "behind the first by",
        )

    def _rows(self) -> tuple[StandingRow, ...]:
        return standing_rows(self.ranking)

    def _cells(self, row: StandingRow) -> tuple[str, ...]:
        tied = row.place_best != row.place_worst
        place = f"{row.place_best} to {row.place_worst}" if tied else str(row.place_best)
        behind = ""
        if row.difference and row.low is not None and row.high is not None:  # the first is behind nobody
            behind = f"{shown(row.difference)} ({shown_range((row.low, row.high))})"
        criterion = title(row.criterion) if isinstance(row.criterion, str) else shown(row.criterion)
        return criterion, place, row.model, shown(row.score), behind

    def _sentences(self) -> list[tuple[str, str]]:
        return [("", finding) for finding in self.findings]

    def _advice(self) -> dict[str, str]:
        return {task: str(advice) for task, advice in self.recommendations.items()}

    def _briefly(self) -> list[str]:
        return [*self.findings, *(f"if {task}: {advice}" for task, advice in self._advice().items())]

    def _metrics(self) -> dict[str, float]:
        score_of = {
            row: row.criterion if isinstance(row.criterion, str) else f"E at tradeoff {row.criterion:g}"
            for row in self._rows()
        }
        return {f"{row.model}/{name}": row.score for row, name in score_of.items()}


@takes_rng
def compare(
    models: Mapping[str, Any],
    labels: Any = None,
    *,
    tradeoffs: Sequence[float] = TRADEOFFS,
    measure: ScoreMeasure | None = None,
    n_bins: int | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    statistics: Sequence[str | Statistic] | None = None,
    clusters: Any = None,
    blocks: int | None = None,
    rng: Any = 0,
    progress: StageProgress | bool | None = True,
    source: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare models of any kind on the same instances.

    Parameters
    ----------
    models : mapping of str to Predictions, array, Rows or Dask array
        Predictions by name: all of classes, or all of real values; `Gaussian`, `Samples` and `Quantiles` may
        be mixed.
    labels : array (n,) or LabelCounts
        ... These must agree between models.
    tradeoffs : sequence of float
        Trade-offs at which the models are ordered; see :func:`rank_models`.
    measure : str or callable, optional
        What counts as imprecision, the same for all models; see :func:`epistemic_score`.
    n_bins : int, optional
        Number of bins of the ECE. Default: 15.
    n_resamples : int
        Bootstrap draws behind ties.
    level : float
        Joint coverage of the intervals that decide ties.
    statistics : sequence of str or Statistic, optional
        Proper scores to rank by, such as ``["rps"]`` for ordered classes; see :func:`rank_models`.
    clusters : array (n,), optional
        ... Standard errors and ties then allow for these clusters.
    blocks : int, optional
        ...
    rng : None, int or Generator
        ... With the same versions and threads it gives the same comparison, byte by byte.
    progress : True, callable or None
        True shows one line on standard error after one second, in a terminal or a notebook; a callable is
        called with (stage, done, total); None shows nothing.
    source : mapping, optional
        Where the data came from: ``paths``, ``digests``, ``notes``, ``command``.

    Returns
    -------
    Comparison
        Accuracy, log loss, calibration gap and reliability of every model with ties, the ranking over
        trade-offs, and ``report``; for real values, or
        with `statistics`, the standings by proper scores.

    Notes
    -----
    The data must not have been used to train, choose or recalibrate any of the models.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet(np.ones(3), size=300)
    >>> labels = (rng.random((300, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    >>> comparison = cr.compare({"truth": truth, "uniform": np.full((300, 3), 1 / 3)}, labels)
    >>> print(comparison.findings[0])
    truth is best in accuracy and log loss, and tied for best in calibration gap.
    >>> comparison.ranking.order(1.0)
    ('truth', 'uniform')
    """
    if not isinstance(rng, (int, np.integer)):
        rng = as_seed(rng)  # once: a generator gives another one every time
    asked = dict(locals())
    recorded = origin(source, recorded_call("compare", asked, as_seed(rng)))
    settings = {name: asked[name] for name in _OF_RANKING}
    with stage_progress(progress) as tell:
        return _compared(models, labels, settings, n_bins, tell or silent, recorded)


def _compared(
    models: Mapping[str, Any],
    labels: Any,
    asked: dict[str, Any],
    n_bins: int | None,
    tell: StageProgress,
    source: dict[str, Any],
) -> Comparison:
    """Rank the models, then compute the numbers of each."""
    rng, seed = asked["rng"], as_seed(asked["rng"])
    if isinstance(models, Mapping) and any(hasattr(model, "__dask_graph__") for model in models.values()):
        models, labels = {name: scan(model, labels) for name, model in models.items()}, None
    if isinstance(models, Mapping) and models and all(isinstance(model, Rows) for model in models.values()):
        models = matched_models({str(name): model for name, model in models.items()})
    # models are counted first, then draws, of which there are many more
    ranking = rank_models(models, labels, **asked, progress=partial(tell, "scores"))
    together = {name: asked[name] for name in ("clusters", "blocks")}
    matched = matched_models(
        {str(name): checked_rows(model, labels, **together) for name, model in models.items()}
    )
    if ranking.lines is None:
        parts = _by_scores(ranking, matched, seed, tell)
    else:
        bins = N_BINS if n_bins is None else n_bins
        parts = _over_tradeoffs(ranking, ranking.lines, matched, bins, seed, tell)
    # what the sources of the rows have to say, with the name of the model
    left_out = (f"{name}: {note}" for name, rows in matched.items() for note in rows.notes)
    warnings = (*source_warnings(source), *left_out, *comparison_warnings(ranking))
    drawn = {"version": version(), "rng": int(rng) if isinstance(rng, (int, np.integer)) else None}
    return Comparison(
        models={name: summarise(rows) for name, rows in matched.items()},
        ranking=ranking,
        warnings=tuple(dict.fromkeys(warnings)),
        notes=ranking.notes,
        settings={**drawn, **parts.pop("settings"), **ranking.settings},
        source=source,
        **parts,
    )


def _over_tradeoffs(
    ranking: Ranking, lines: Lines, matched: Mapping[str, Rows], n_bins: int, seed: Any, tell: StageProgress
) -> dict[str, Any]:
    """Return the parts of a comparison of classes, whose sets cost more the more they are disliked."""
    cheap = [with_bins(name, n_bins) for name in CHEAP]
    some = next(iter(matched.values())).example.predictions
    n_classes = len(class_names(some, None))
    event = has_event(some)
    if event:
        cheap = [_EventGap() if isinstance(statistic, ConfidenceGap) else statistic for statistic in cheap]
    estimates, curves, means = {}, {}, []
    for done, (name, rows) in enumerate(matched.items(), start=1):
        chosen, _ = choose(rows, cheap, N_BINS, tests=False)
        estimates[name] = estimate_all(rows, chosen, silent)
        led = [statistic for statistic in chosen if statistic.name in LEADING]
        means.append(np.concatenate(list(rows.map(partial(_contributions, tuple(led))))))
        # predictions are ordered, and of very many a random part shows the same curve
        part = random_part(rows, MOST_ORDERED, seed)
        curves[name] = corp_curve(*part.arguments, target=1 if event else "top_label", level=None)
        tell("estimates", done, len(matched))
    codes = next(iter(matched.values())).cluster_codes()
    order = _standings(estimates, np.stack(means, axis=2), codes, ranking, seed, tell)
    seen, errors = rows_of_models(matched), calibration_errors(n_classes, n_bins)
    calibration = _calibration(seen, errors, seed, tell)
    apart = differences(seen, errors, order["log_loss"].names[0], ranking.level)
    lead, *others = leaders_in_words(order, estimates)
    sets = is_imprecise(lines)
    tasks = {"abstaining is allowed": True, "every instance must be decided": False} if sets else {}
    settings = {"n_bins": int(n_bins), "level": ranking.level, "tradeoffs": jsonable(lines.tradeoffs)}
    of_sets = tradeoffs_in_words(lines) if sets else ()
    return {
        "settings": settings,
        "estimates": estimates,
        "standings": order,
        "curves": curves,
        "recommendations": {task: lines.recommend(abstention=may) for task, may in tasks.items()},
        "calibration": calibration,
        "differences": apart,
        "findings": (lead, *faults_in_words(calibration, apart), *others, *of_sets),
    }


def _by_scores(
    ranking: Ranking, matched: Mapping[str, Rows], seed: Any, tell: StageProgress
) -> dict[str, Any]:
    """Return the parts of a comparison by proper scores."""
    calibration = _calibration(rows_of_models(matched), (), seed, tell)
    first, *others = (score_finding(standing, ranking) for standing in ranking.standings)
    return {
        "settings": {"level": ranking.level},
        "estimates": ranking.estimates,
        "recommendations": {},
        "calibration": calibration,
        "findings": (first, *faults_in_words(calibration), *others),
    }


def _calibration(
    models: Mapping[str, Dataset], errors: Sequence[Statistic], seed: Any, tell: StageProgress
) -> dict[str, ModelCalibration]:
    """Return what is wrong with every model; names of classes are those of the first that has some."""
    classes = next((data.classes for data in models.values() if data.classes is not None), None)
    calibrations = {}
    for done, (name, data) in enumerate(models.items(), start=1):
        calibrations[name] = model_calibration(data, errors, classes, seed)
        tell("diagnoses", done, len(models))
    return calibrations


def is_imprecise(lines: Lines) -> bool:
    """Tell whether a model predicts more than one distribution per instance."""
    return bool((lines.imprecision > NEGLIGIBLE).any())


def _contributions(statistics: tuple[Statistic, ...], data: Dataset) -> HostArray:
    """Return what every instance adds to the means (n, s)."""
    predictions = remembering(data.predictions)
    columns = []
    for statistic in statistics:
        bound = statistic.bind(predictions)
        assert isinstance(bound, Linear)
        columns.append(to_host(bound.contributions(data.batch))[0])
    return np.stack(columns, axis=1)


def _standings(
    estimates: Mapping[str, Mapping[str, Estimate]],
    values: HostArray,
    codes: HostArray | None,
    ranking: Ranking,
    seed: Any,
    tell: StageProgress,
) -> dict[str, Standing]:
    """Return the models by every leading statistic, from contributions (n, s, m); pairs share their draws."""
    n, _, m = values.shape
    names = tuple(estimates)
    led = [name for name in LEADING if name in estimates[names[0]]]
    draws = bootstrap_means(
        values.reshape(n, -1),
        ranking.settings["n_resamples"],
        seed,
        partial(tell, "ties"),
        codes,
    )
    return {
        name: standing_by(
            name,
            names,
            np.array([estimates[model][name].value for model in names]),
            draws[:, at * m : (at + 1) * m],
            ranking.level,
            n,
            LEADING[name][1],
        )
        for at, name in enumerate(led)
    }
