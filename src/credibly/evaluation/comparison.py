"""Several models on the same instances: their ranking, their own numbers, and what to take."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.errors import one_of
from credibly._arrays.notes import Note
from credibly._arrays.philox import takes_rng
from credibly.credal.distances import Divergence
from credibly.evaluation.results import Reported
from credibly.evaluation.rows import PredictionSummary, checked_rows, summarise
from credibly.evaluation.stages import Progress, origin, silent, version
from credibly.evaluation.statistics import choose, estimate_all
from credibly.evaluation.tidy import ScoreRow, StandingRow, score_rows, standing_rows
from credibly.evaluation.words import joined, shown, shown_range, source_warnings, title
from credibly.predictions import RealPredictions, Rows, as_rows, matched_models
from credibly.results.base import jsonable
from credibly.results.estimates import Estimate
from credibly.scale import scan
from credibly.selection import rank_models
from credibly.selection.ranking import TRADEOFFS
from credibly.selection.real_models import ScoreRanking, ScoreStanding
from credibly.selection.settings import Paper, ScoreMeasure
from credibly.selection.standings import Ranking, Recommendation
from credibly.statistics import Statistic
from credibly.statistics.registry import as_statistic

CHEAP = ("accuracy", "log_loss", "brier", "confidence_ece")
"""Statistics of every model that stand beside its score."""

N_BINS = 15


@dataclasses.dataclass(frozen=True)
class Comparison(Reported):
    """All that :func:`compare` computed.

    Attributes
    ----------
    models : mapping of str to PredictionSummary
        Type and sizes of every model's predictions.
    ranking : Ranking
        Scores over trade-offs, crossings and ties.
    estimates : mapping of str to mapping of str to Estimate
        Accuracy, log loss, Brier score and ECE of every model's mean prediction.
    recommendations : mapping of str to Recommendation
        Which model to take where abstaining is allowed, and where it is not.
    findings : tuple of str
        The comparison in sentences.
    warnings : tuple of str
        What makes the models hard to compare.
    notes : tuple of str
        How sets were made.
    settings : mapping
        What lets the comparison run again.
    source : mapping
        Where the data came from: paths, digests, command.
    """

    drawn_as = ("ranking",)

    _page = "comparison.html"
    _rows_are = "All places"
    _row: ClassVar[type] = StandingRow
    _headings = ("trade-off", "place", "model", "score", "behind the first by")
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

    @property
    def heading(self) -> str:
        """What was compared, in one line."""
        return f"Comparison of {joined(list(self.models))} (n = {self.ranking.n})"

    def _rows(self) -> tuple[StandingRow, ...]:
        return standing_rows(self.ranking)

    def _cells(self, row: StandingRow) -> tuple[str, ...]:
        tied = row.place_best != row.place_worst
        place = f"{row.place_best} to {row.place_worst}" if tied else str(row.place_best)
        behind = ""
        if row.difference and row.low is not None and row.high is not None:  # the first is behind nobody
            behind = shown_range((row.low, row.high))
        return shown(row.tradeoff), place, row.model, shown(row.score), behind

    def _said(self) -> list[tuple[str, str]]:
        return [("", finding) for finding in self.findings]

    def _advice(self) -> dict[str, str]:
        return {case: str(one) for case, one in self.recommendations.items()}

    def _briefly(self) -> list[str]:
        return [*self.findings, *(f"if {case}: {one}" for case, one in self._advice().items())]

    def _metrics(self) -> dict[str, float]:
        return {f"{row.model}/E at tradeoff {row.tradeoff:g}": row.score for row in self._rows()}


@dataclasses.dataclass(frozen=True)
class RealComparison(Comparison):
    """All that :func:`compare` computed of models of real values.

    Attributes
    ----------
    ranking : ScoreRanking
        Standings by proper scores, with paired differences and ties.
    recommendations : mapping
        Empty: there is no imprecision to weigh.
    """

    _row: ClassVar[type] = ScoreRow
    _headings = ("score", "place", "model", "mean", "behind the first by")

    ranking: ScoreRanking  # type: ignore[assignment]

    def _rows(self) -> tuple[ScoreRow, ...]:  # type: ignore[override]
        return score_rows(self.ranking)

    def _cells(self, row: ScoreRow) -> tuple[str, ...]:  # type: ignore[override]
        tied = row.place_best != row.place_worst
        place = f"{row.place_best} to {row.place_worst}" if tied else str(row.place_best)
        behind = ""
        if row.difference and row.low is not None and row.high is not None:
            behind = shown_range((row.low, row.high))
        return title(row.statistic), place, row.model, shown(row.score), behind

    def _metrics(self) -> dict[str, float]:
        return {f"{row.model}/{row.statistic}": row.score for row in self._rows()}


@takes_rng
def compare(
    models: Mapping[str, Any],
    labels: Any = None,
    *,
    tradeoffs: Sequence[float] = TRADEOFFS,
    measure: ScoreMeasure | None = None,
    divergence: Divergence = "kl",
    budget: Sequence[Iterable[int]] | None = None,
    base: float | None = None,
    scaled: bool = False,
    alternatives: Sequence[ScoreMeasure] = (),
    stability: bool = False,
    paper: Paper | None = None,
    n_bins: int | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    statistics: Sequence[str | Statistic] | None = None,
    rng: Any = 0,
    progress: Progress | None = None,
    source: Mapping[str, Any] | None = None,
) -> Comparison:
    """Compare models of any kind on the same instances.

    Parameters
    ----------
    models : mapping of str to Predictions, array, Rows or Dask array
        Predictions by name: all of classes, or all of real values, where `Gaussian`, `Samples` and
        `Quantiles` may stand side by side.
    labels : array (n,) or LabelCounts
        Observed labels. Leave out for chunks, which carry their own; these must agree between models.
    tradeoffs : sequence of float
        Where the order is asked for; see :func:`rank_models`.
    measure : str, optional
        What counts as imprecision, the same for all models; see :func:`epistemic_score`.
    divergence : {"kl", "js", "sqrt_js"}
        Distance of a label to a set.
    budget : sequence of sets of int, optional
        Focal sets the masses are put on.
    base : float, optional
        Base of the logarithms. Default: e.
    scaled : bool
        Whether trade-offs are scaled so that rankings by other divergences compare with those by KL.
    alternatives : sequence of str
        Other measures of imprecision to rank by as well.
    stability : bool
        Whether to follow every set model over its number of members and over budgets.
    paper : {"C25"}, optional
        The published pipeline.
    n_bins : int, optional
        Number of bins of the ECE. Default: 15, or the paper's number in a paper mode.
    n_resamples : int
        Bootstrap draws behind ties.
    level : float
        Joint coverage of the intervals that decide about ties.
    statistics : sequence of str or Statistic, optional
        For real values: the scores to rank by; see :func:`rank_models`.
    rng : None, int or Generator
        Seed; the same seed gives the same comparison, byte by byte.
    progress : callable, optional
        Called with (stage, done, total).
    source : mapping, optional
        Where the data came from: ``paths``, ``digests``, ``notes``, ``command``.

    Returns
    -------
    Comparison
        Ranking, numbers of single models, recommendations, and ``report``.

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
    >>> comparison.ranking.order(1.0)
    ('truth', 'uniform')
    """
    tell = progress or silent
    if isinstance(models, Mapping) and any(hasattr(one, "__dask_graph__") for one in models.values()):
        models, labels = {name: scan(one, labels) for name, one in models.items()}, None
    one_of("`paper`", paper, (None, "C25"))
    if statistics is not None or _are_real(models, labels):
        ranked = rank_models(
            models,
            labels,
            tradeoffs=tradeoffs,
            measure=measure,
            divergence=divergence,
            budget=budget,
            base=base,
            scaled=scaled,
            alternatives=alternatives,
            stability=stability,
            paper=paper,
            n_resamples=n_resamples,
            level=level,
            statistics=statistics,
            rng=rng,
            progress=lambda done, total: tell("scores", done, total),
        )
        given = matched_models({str(name): checked_rows(one, labels) for name, one in models.items()})
        return _compared_reals(ranked, given, origin(source), rng)
    cheap = [_as_in(paper, as_statistic(name), n_bins) for name in CHEAP]
    ranking = rank_models(
        models,
        labels,
        tradeoffs=tradeoffs,
        measure=measure,
        divergence=divergence,
        budget=budget,
        base=base,
        scaled=scaled,
        alternatives=alternatives,
        stability=stability,
        n_resamples=n_resamples,
        level=level,
        paper=paper,
        rng=rng,
        # models are counted first, then draws, of which there are many more
        progress=lambda done, total: tell("scores", done, total),
    )
    given = matched_models({str(name): checked_rows(one, labels) for name, one in models.items()})
    estimates = {}
    for done, (name, one) in enumerate(given.items(), start=1):
        chosen, _ = choose(one, cheap, N_BINS, tests=False)
        estimates[name] = estimate_all(one, chosen, silent)
        tell("estimates", done, len(given))
    recorded = origin(source)
    return Comparison(
        models={name: summarise(one) for name, one in given.items()},
        ranking=ranking,
        estimates=estimates,
        recommendations={
            "abstaining is allowed": ranking.recommend(abstention=True),
            "every instance must be decided": ranking.recommend(abstention=False),
        },
        findings=_findings(ranking),
        warnings=tuple(dict.fromkeys((*source_warnings(recorded), *_left_out(given), *_warnings(ranking)))),
        notes=ranking.notes,
        settings={
            "version": version(),
            "rng": int(rng) if isinstance(rng, (int, np.integer)) else None,
            "n_bins": next(one.settings()["n_bins"] for one in cheap if "n_bins" in one.settings()),
            "stability": bool(stability),
            "alternatives": list(ranking.alternatives),
            "level": float(level),
            "tradeoffs": jsonable(ranking.tradeoffs),
            **ranking.settings,
        },
        source=recorded,
    )


def _are_real(models: Any, labels: Any) -> bool:
    """Tell whether the first model predicts real values; what is wrong with others is said later."""
    if not isinstance(models, Mapping) or not models:
        return False
    return isinstance(as_rows(next(iter(models.values())), labels).sample.predictions, RealPredictions)


def _compared_reals(
    ranking: ScoreRanking, given: Mapping[str, Rows], recorded: dict[str, Any], rng: Any
) -> RealComparison:
    return RealComparison(
        models={name: summarise(one) for name, one in given.items()},
        ranking=ranking,
        estimates=ranking.estimates,
        recommendations={},
        findings=tuple(_real_finding(one, ranking) for one in ranking.standings.values()),
        warnings=tuple(dict.fromkeys((*source_warnings(recorded), *_left_out(given)))),
        notes=ranking.notes,
        settings={
            "version": version(),
            "rng": int(rng) if isinstance(rng, (int, np.integer)) else None,
            "level": ranking.level,
            **ranking.settings,
        },
        source=recorded,
    )


def _real_finding(standing: ScoreStanding, ranking: ScoreRanking) -> str:
    """Say who has the smallest score, by how much, and who is tied with it."""
    first, *others = standing.names
    said = f"By {title(standing.statistic)}, {first} is first with {shown(float(standing.scores[0]))}"
    if not others:
        return f"{said}."
    tied = standing.tied_with_first
    if tied:
        are = "are" if len(tied) > 1 else "is"
        return (
            f"{said}; {joined(list(tied), most=4)} {are} statistically tied with it "
            f"({100 * ranking.level:g} % joint intervals, {ranking.n} instances)."
        )
    low, high = standing.intervals[1].tolist()
    ahead = "" if math.isnan(low) else f" by {shown_range((low, high))} ({100 * ranking.level:g} % interval)"
    return f"{said}, ahead of {others[0]}{ahead}."


def _left_out(models: Mapping[str, Rows]) -> list[str]:
    """Return what the sources of the rows have to say, with the name of the model."""
    return [f"{name}: {note}" for name, rows in models.items() for note in rows.notes]


def _as_in(paper: Paper | None, statistic: Statistic, n_bins: int | None) -> Statistic:
    """Return a statistic with the settings of the paper where it has some, and the bins asked for."""
    if paper in statistic.papers:
        statistic = statistic.with_(paper=paper)
    elif n_bins is None:
        n_bins = N_BINS
    if n_bins is None or "n_bins" not in statistic.settings():
        return statistic
    return statistic.with_(n_bins=n_bins)


def _findings(ranking: Ranking) -> tuple[str, ...]:
    """Return who leads where, and which models are tied, at the trade-offs asked for."""
    (low, high, first), *others = ranking.leaders()
    until = "on" if math.isinf(high) else f"to {shown(high)}"
    led = [f"From trade-off {shown(low)} {until}, {first} has the smallest mean score"]
    led += [f"{'beyond' if math.isinf(high) else f'to {shown(high)}'} {name}" for _, high, name in others]
    found = [f"{', '.join(led)}."]
    ties: dict[tuple[str, ...], list[str]] = {}
    for tradeoff in ranking.tradeoffs:
        standing = ranking.at(tradeoff)
        if standing.tied_with_first:
            ties.setdefault((standing.names[0], *standing.tied_with_first), []).append(f"{tradeoff:g}")
    for (first, *tied), at in ties.items():
        are = "are" if len(tied) > 1 else "is"
        found.append(
            f"At trade-off{'s' * (len(at) > 1)} {joined(at)}, {joined(tied, most=4)} {are} "
            f"statistically tied with {first} ({100 * ranking.level:g} % joint intervals, "
            f"{ranking.n} instances)."
        )
    return tuple(found)


def _warnings(ranking: Ranking) -> tuple[str, ...]:
    """Return what makes scores hard to compare: infinite rows, unlike numbers of members, dependences."""
    hard = ("infinite", "unlike members", "dependence")
    return tuple(note for note in ranking.notes if isinstance(note, Note) and note.code in hard)
