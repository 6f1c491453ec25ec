"""A fair choice between unlike models: mean scores as lines over the trade-off, crossings, ties.

Models are compared over the same instances and classes, at trade-offs from 0 to infinity. A mean score is the
line ``distance + t * imprecision``; where two lines cross, models change places. Ties follow from the means
on bootstrapped instances, the same instances for all models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError, require, require_type
from credibly._arrays.namespace import HostArray, to_host
from credibly._arrays.notes import Note
from credibly._arrays.philox import as_seed, takes_rng
from credibly._arrays.progress import Progress, tell
from credibly.credal.sets import DIRICHLET_SAMPLES
from credibly.predictions import ClassPredictions, Confidence, RealPredictions, Rows, as_rows
from credibly.predictions.prediction_sets import remedy_without_probs
from credibly.results.base import require_level
from credibly.results.scores import EpistemicScore
from credibly.selection.lines import Lines, Ranking, crossings, require_tradeoff
from credibly.selection.matching import matched_models
from credibly.selection.real_models import rank_real_models
from credibly.selection.score import NOTABLE, require_same_labels, require_scorable, scored_rows, summed_up
from credibly.selection.settings import ScoreMeasure, ScoreSettings, checked_settings
from credibly.selection.standings import bootstrap_means, clusters_note
from credibly.statistics import Statistic

Models = Mapping[str, Rows]

TRADEOFFS = (0.0, 0.1, 0.5, 1.0, 2.0)

AVERAGE = "{} Avg"
"""Name of the mean prediction of a set, as C25 calls it."""


def models_as_rows(
    models: Mapping[str, Any], labels: Any, clusters: Any = None, blocks: int | None = None
) -> dict[str, Rows]:
    """Return the rows of every model by name; all must be over the same instances and classes."""
    remedy = 'Write `{"first": predictions, "second": others}`.'
    mapping = isinstance(models, Mapping)
    require_type(mapping, "must be a mapping of names to predictions", remedy, models=models)
    require(models, "must hold at least one model", remedy, models=models)
    distinct = len(set(map(str, models))) == len(models)
    require(distinct, "must have names that are distinct as text", "Rename one.", models=list(models))
    by_name: dict[str, Rows] = {}
    n_classes: dict[str, int] = {}
    for name, predictions in models.items():
        rows = as_rows(predictions, labels, clusters=clusters, blocks=blocks)
        sample = rows.example.predictions
        if not isinstance(sample, (ClassPredictions, RealPredictions)):
            raise InputTypeError(
                f"model {name!r}",
                "must hold predicted probabilities or distributions",
                f"got {type(sample).__name__}",
                remedy_without_probs(
                    sample,
                    "Use `Point`, `Ensemble`, `Intervals`, `Belief` or `Dirichlet`; for real values "
                    "`Gaussian`, `Samples` or `Quantiles`.",
                ),
            )
        by_name[str(name)] = rows
        n_classes[str(name)] = sample.n_classes if isinstance(sample, ClassPredictions) else 0
    real = [name for name, k in n_classes.items() if not k]
    if real and len(real) < len(by_name):
        other = next(name for name, k in n_classes.items() if k)
        raise InputTypeError(
            "the models",
            "must all predict classes, or all real values",
            f"{real[0]!r} predicts real values, {other!r} classes",
            "Compare them separately.",
        )
    labelled = [model_rows.example.labels is not None for model_rows in by_name.values()]
    if any(labelled) and not all(labelled):
        raise InputTypeError(
            "the models",
            "must all be in chunks, or all in memory",
            f"{sum(labelled)} of {len(labelled)} are chunks, which bring their labels",
            "Read the others in chunks, too: `scan(predictions, labels)`.",
        )
    by_name = matched_models(by_name)
    (first_name, first), *_ = by_name.items()
    for name, rows_of_model in by_name.items():
        if (rows_of_model.n, n_classes[name]) != (first.n, n_classes[first_name]):
            raise InputError(
                "the models",
                "must predict the same instances and classes",
                f"{_sizes(first_name, first.n, n_classes)}, {_sizes(name, rows_of_model.n, n_classes)}",
                "Predict one test set with all of them.",
            )
    return by_name


def _sizes(name: str, n: int, n_classes: Mapping[str, int]) -> str:
    return f"{name!r} has n = {n}" + (f", k = {n_classes[name]}" if n_classes[name] else "")


def checked_tradeoffs(tradeoffs: Sequence[float]) -> tuple[float, ...]:
    """Return trade-offs as numbers; there must be at least one."""
    several = isinstance(tradeoffs, Iterable) and not isinstance(tradeoffs, (str, bytes))
    remedy = "Pass a list, even for a single item."
    require_type(several, "must be a sequence of numbers", remedy, tradeoffs=tradeoffs)
    listed = tuple(tradeoffs)
    require(listed, "must hold at least one number", "Try [0.1, 1, 2].", tradeoffs=listed)
    for tradeoff in listed:
        require_tradeoff(tradeoff)
    return tuple(map(float, listed))


@takes_rng
def rank_models(
    models: Mapping[str, Any],
    labels: Any = None,
    *,
    tradeoffs: Sequence[float] = TRADEOFFS,
    measure: ScoreMeasure | None = None,
    averages: bool = True,
    n_resamples: int = 1000,
    level: float = 0.95,
    n_samples: int = DIRICHLET_SAMPLES,
    clusters: Any = None,
    blocks: int | None = None,
    statistics: Sequence[str | Statistic] | None = None,
    rng: Any = 0,
    progress: Progress | None = None,
) -> Ranking:
    """Rank models of any kind: classes by the unified score or named scores, real values by proper scores.

    Parameters
    ----------
    models : mapping of str to Predictions, array or Rows
        Predictions for the same instances, by name: all of classes, or all of real values; `Gaussian`,
        `Samples` and `Quantiles` may be mixed.
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, soft targets or real numbers. Leave out for chunks, which carry their own; these must
        agree.
    tradeoffs : sequence of float
        Trade-offs at which the models are ordered; ``Ranking.at`` gives the order at any other.
    measure : str or callable, optional
        What counts as imprecision, the same for all models; see :func:`epistemic_score`.
    averages : bool
        Whether to rank the mean prediction of every set as well, as "NAME Avg".
    n_resamples : int
        Bootstrap draws of instances, at least 100.
    level : float
        Joint coverage of the intervals that decide ties.
    n_samples : int
        ...
    clusters : array (n,), optional
        ... The bootstrap then draws clusters. Data read by `load` bring their own; those of the first model
        are used.
    blocks : int, optional
        ...
    statistics : sequence of str or Statistic, optional
        Scores to rank by, which must be means over instances; the first one decides. They replace `tradeoffs`
        and the other settings of the unified score. Default for real values: CRPS, interval score, and log
        loss if all models are Gaussian. For classes, such as ``["rps"]`` for ordered ones: mean predictions
        are scored.
    rng : None, int or Generator
        ...
    progress : callable, optional
        Called with (done, total): first over the models that are scored, then over bootstrap draws.

    Returns
    -------
    Ranking
        Standings with ties and paired differences. For classes at every trade-off, with lines, crossings and
        ``lines.recommend``; for real values, or with `statistics`, by every score.

    Notes
    -----
    Models are compared on the same bootstrapped instances. Two models are tied if the interval of their
    difference contains 0; the intervals hold jointly for all pairs at one trade-off. A smaller score at some
    trade-off does not prove a better model: sets with more members have other scores.
    Models in chunks are scored as their rows are read; only the scores are kept, n numbers per part. For real
    values: if a model is given by quantiles, all models are scored by their quantiles at the levels they
    share; draws compared with other kinds are scored by the fair CRPS.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet(np.ones(3), size=400)
    >>> labels = (rng.random((400, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    >>> members = 0.7 * truth[:, None] + 0.3 * rng.dirichlet(np.ones(3), size=(400, 5))
    >>> ranking = cr.rank_models({"set": cr.Ensemble(members), "point": truth}, labels)
    >>> ranking.order(0.0)
    ('set', 'point', 'set Avg')
    >>> [(crossing.below, crossing.beyond) for crossing in ranking.lines.crossings]
    [('set', 'point'), ('set', 'set Avg')]
    >>> ranking.lines.recommend(abstention=False).model
    'point'
    """
    sources = models_as_rows(models, labels, clusters, blocks)
    require_level(level)
    n_resamples = require_integer(n_resamples, "n_resamples", 100)
    first, *_ = sources.values()
    if statistics is not None or isinstance(first.example.predictions, RealPredictions):
        rule = "is a setting of the unified score of class predictions, not for a ranking by proper scores"
        remedy = "Leave it out; `statistics=` names the scores."
        require(tuple(tradeoffs) == TRADEOFFS, rule, remedy, tradeoffs=tradeoffs)
        require(measure is None, rule, remedy, measure=measure)
        return rank_real_models(sources, statistics, n_resamples, level, as_seed(rng), progress)
    weights = checked_tradeoffs(tradeoffs)
    settings = checked_settings(tradeoff=1.0, measure=measure, n_samples=n_samples, rng=rng)
    for name, rows in sources.items():
        require_scorable(rows, name)
    scores = _scores(sources, settings, n_resamples, progress)
    return _ranked(
        scores,
        averages,
        weights,
        level,
        {**settings.shown(), "n_resamples": n_resamples},
        first.cluster_codes(),
        clusters_note(sources),
        None if progress is None else lambda done, total: progress(total + done, 2 * total),
    )


@takes_rng
def rank_scores(
    scores: Mapping[str, EpistemicScore],
    *,
    tradeoffs: Sequence[float] = TRADEOFFS,
    averages: bool = True,
    n_resamples: int = 1000,
    level: float = 0.95,
    rng: Any = 0,
) -> Ranking:
    """Rank models by scores that were made in any way, such as by :func:`score_from_parts`.

    Parameters
    ----------
    scores : mapping of str to EpistemicScore
        The score of every model, all on the same instances in the same order.
    tradeoffs : sequence of float
        Trade-offs at which the models are ordered.
    averages : bool
        Whether to rank the mean predictions of sets as well, where a score has one.
    n_resamples : int
        Bootstrap draws of instances, at least 100.
    level : float
        Joint coverage of the intervals that decide ties.
    rng : None, int or Generator
        ...

    Returns
    -------
    Ranking
        Standings with ties, lines, crossings, and ``lines.recommend``.

    Examples
    --------
    >>> import credibly as cr
    >>> models = {"sure": [[0.9, 0.1], [0.8, 0.2]], "even": [[0.5, 0.5], [0.5, 0.5]]}
    >>> scores = {name: cr.epistemic_score(probs, [0, 0]) for name, probs in models.items()}
    >>> cr.selection.rank_scores(scores).order(1.0)
    ('sure', 'even')
    """
    require_level(level)
    n_resamples, seed = require_integer(n_resamples, "n_resamples", 100), as_seed(rng)
    if len({score.n for score in scores.values()}) != 1:
        raise InputError(
            "`scores`",
            "must be of the same instances",
            f"got {', '.join(f'{name}: n = {score.n}' for name, score in scores.items()) or 'none'}",
            "Score one test set with all models.",
        )
    first, *others = (score.settings for score in scores.values())
    shared = {name: value for name, value in first.items() if all(row.get(name) == value for row in others)}
    settings = {**shared, "seed": list(seed), "n_resamples": n_resamples}
    return _ranked(scores, averages, checked_tradeoffs(tradeoffs), level, settings, None, (), None)


def _ranked(
    scores: Mapping[str, EpistemicScore],
    averages: bool,
    tradeoffs: tuple[float, ...],
    level: float,
    settings: Mapping[str, Any],
    codes: HostArray | None,
    notes: tuple[str, ...],
    progress: Progress | None,
) -> Ranking:
    """Return scores as lines, with their means on bootstrapped instances."""
    scored = _scored(scores, averages)
    names = tuple(scored)
    values = np.stack(
        [to_host(array) for score in scored.values() for array in (score.distance, score.imprecision)], axis=1
    )
    draws = bootstrap_means(values, settings["n_resamples"], tuple(settings["seed"]), progress, codes)
    distance, imprecision = _means(scored, "distance"), _means(scored, "imprecision")
    drawn = (draws[:, 0::2], draws[:, 1::2])
    lines = Lines(
        names=names,
        is_point=np.array([score.kind == "Point" for score in scored.values()]),
        distance=distance,
        imprecision=imprecision,
        tradeoffs=tradeoffs,
        crossings=crossings(names, distance, imprecision, drawn, level),
        distance_draws=drawn[0],
        imprecision_draws=drawn[1],
        level=float(level),
        n=len(values),
        scores=scores,
    )
    return Ranking(
        names=names,
        standings=tuple(map(lines.at, tradeoffs)),
        level=float(level),
        n=len(values),
        lines=lines,
        settings=settings,
        notes=(*_notes(scores), *notes),
    )


def _scores(
    models: Models, settings: ScoreSettings, n_resamples: int, progress: Progress | None
) -> dict[str, EpistemicScore]:
    """Return the score of every model, one pass over its rows each."""
    scores: dict[str, EpistemicScore] = {}
    first: tuple[str, HostArray] | None = None  # soft targets are large: those of one model are kept
    for name, rows in models.items():
        scored = scored_rows(rows, settings, dependences=True)
        target = name, to_host(scored.target.values)[0]
        first = first or target
        if not isinstance(rows.example.predictions, Confidence):  # each model gives answers of its own
            require_same_labels(first, target)
        scores[name] = summed_up(scored)
        tell(progress, len(scores) * n_resamples // len(models), 2 * n_resamples)
    return scores


def _scored(scores: Mapping[str, EpistemicScore], averages: bool) -> dict[str, EpistemicScore]:
    """Return the scores that are ranked: every model, and the mean predictions of sets."""
    ranked: dict[str, EpistemicScore] = {}
    for name, score in scores.items():
        ranked[name] = score
        if averages and score.average is not None:
            average = AVERAGE.format(name)
            if average in scores:
                raise InputError(
                    "the models",
                    f"must leave the name {average!r} to the mean prediction of {name!r}",
                    "it is taken",
                    "Rename one of them, or pass `averages=False`.",
                )
            ranked[average] = score.average
    return ranked


def _means(scored: Mapping[str, EpistemicScore], part: str) -> HostArray:
    return np.array([score.summary[part]["all"].mean for score in scored.values()])


def _notes(scores: Mapping[str, EpistemicScore]) -> tuple[str, ...]:
    """Return what concerns single models under their name."""
    notes = [
        note.about(name) if isinstance(note, Note) else f"{name}: {note}"
        for name, score in scores.items()
        for note in score.notes
    ]
    notes += [
        Note("dependence", f"{name}: {dependence}")
        for name, score in scores.items()
        for dependence in score.dependences
        if abs(dependence.share) > NOTABLE
    ]
    members = {
        score.settings["members"] for score in scores.values() if score.settings.get("members") is not None
    }
    if len(members) > 1:
        listed = ", ".join(map(str, sorted(members)))
        unlike = f"models have different numbers of members ({listed}): more members make larger sets"
        notes.append(Note("unlike members", unlike))
    return tuple(dict.fromkeys(notes))
