"""The unified score of one model: E = distance + trade-off * imprecision.

A Point's imprecision is 0, so its E is its log loss; a set gains by holding a distribution near the label and
pays for being imprecise.

Rows are read as sets, every set is measured where it is read, and the numbers are put side by side. Distance
and imprecision look at one row at a time, so rows in chunks have the numbers of all rows at once. A ranking
draws rows with replacement and needs them all: n numbers per model and part are kept, never the members.

A few sets are kept as well: they tell how far the mean score follows the number of members.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.checks import require_one_each, scalar
from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import Array, HostArray, as_float64, entropy_of_rows, like, namespace, to_host
from credibly._arrays.notes import Note, merged
from credibly._arrays.philox import takes_rng
from credibly.credal import distance as distance_to
from credibly.credal.distances import soft_target
from credibly.credal.nonspecificity import EXACT_CLASSES
from credibly.credal.sets import DIRICHLET_SAMPLES, CredalSet, as_set
from credibly.predictions import (
    Classes,
    ClassPredictions,
    Counts,
    Dataset,
    Dirichlet,
    Ensemble,
    Labels,
    Point,
    Rows,
    as_pair,
    as_point,
    as_rows,
)
from credibly.predictions.dataset import joined_rows
from credibly.results.scores import Dependence, EpistemicScore, Group, Spread
from credibly.selection.settings import ScoreMeasure, ScoreSettings, checked_settings, imprecision_of
from credibly.selection.standings import NEGLIGIBLE, require_tradeoff


def distance_and_imprecision(
    credal: CredalSet, labels: Any, settings: ScoreSettings
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return distance and imprecision, (n,) each, and how they were made."""
    imprecision, how = imprecision_of(credal, settings.measure, settings.seed)
    return distance_to(credal, labels), imprecision, how


def combined(distance: Array, imprecision: Array, tradeoff: float) -> Array:
    """Return distance + trade-off * imprecision, with infinity times 0 being 0: a point is never punished."""
    xp = namespace(distance)
    if math.isfinite(tradeoff):
        return distance + tradeoff * imprecision
    return xp.where(imprecision > NEGLIGIBLE, xp.full_like(distance, xp.inf), distance)


@dataclasses.dataclass(frozen=True)
class Answers:
    """What the mean prediction says of every row: whether it puts the label first, how surely, how spread."""

    right: Array
    confidence: Array
    entropy: Array


@dataclasses.dataclass(frozen=True)
class ScoredRows:
    """What is known of every row once it is scored, before rows are summed up.

    Attributes
    ----------
    distance, imprecision : array (n,)
        The two parts of the score.
    mean_distance, mean_imprecision : array (n,) or None
        The same of the mean prediction; None where the prediction is that.
    answers : Answers
        What the mean prediction says.
    target : Labels
        What was observed: classes (1, n), or soft targets (1, n, k).
    few : Dataset or None
        The sets of some rows with their targets; None where nothing is asked of them.
    kind : str
        Type of the predictions.
    members : mapping
        How many members or samples stand for the set.
    settings : ScoreSettings
        How the sets were made and measured.
    notes : tuple of str
        How the parts were made.
    """

    distance: Array
    imprecision: Array
    mean_distance: Array | None
    mean_imprecision: Array | None
    answers: Answers
    target: Labels
    few: Dataset | None
    kind: str
    members: Mapping[str, Any]
    settings: ScoreSettings
    notes: tuple[str, ...]


_PER_ROW = ("distance", "imprecision", "mean_distance", "mean_imprecision")


_ANSWERS = ("right", "confidence", "entropy")


def require_scorable(rows: Rows, name: str = "predictions") -> None:
    """Raise where numbers of a row would depend on the rows beside it, and these are elsewhere."""
    if len(rows.example) < rows.n and isinstance(rows.example.predictions, Dirichlet):
        raise UnsupportedError(
            f"model {name!r} in chunks",
            "must be a set of distributions",
            "a Dirichlet becomes one by sampling, which would depend on how the rows are split into chunks",
            "Draw once, `dirichlet.sample(m)`, and scan the Ensemble.",
        )


def scored_rows(rows: Rows, settings: ScoreSettings, *, dependences: bool) -> ScoredRows:
    """Score all rows in one pass."""
    given = rows.example.predictions
    if not isinstance(given, ClassPredictions):
        as_set(given)  # raises with the kinds that can be read as sets
    return _side_by_side(list(rows.map(partial(_score, settings, rows.n if dependences else None))))


def summed_up(scored: ScoredRows) -> EpistemicScore:
    """Return the score of all rows, of the prediction and of its mean, and what it depends on."""
    settings, answers, tradeoff = scored.settings.shown(), scored.answers, scored.settings.tradeoff
    own = {**settings, **scored.members}
    found = _summarised(
        scored.kind, scored.distance, scored.imprecision, answers, tradeoff, own, scored.notes
    )
    average = None
    if scored.mean_distance is not None and scored.mean_imprecision is not None:
        parts = scored.mean_distance, scored.mean_imprecision
        average = _summarised("Point", *parts, answers, tradeoff, settings, ())
    depends = () if scored.few is None else dependences_of(scored.few, scored.settings)
    return dataclasses.replace(found, average=average, dependences=depends)


def require_same_labels(first: tuple[str, Labels], second: tuple[str, Labels]) -> None:
    """Raise unless two models, given by name, were scored by the same labels."""
    own, other = (to_host(target.values)[0] for _, target in (first, second))
    if np.array_equal(own, other):
        return
    where = f"shapes {own.shape} and {other.shape}"
    if own.shape == other.shape:
        where = f"first in row {int(np.nonzero(own != other)[0][0])}"
    raise InputError(
        "the models",
        "must have the same labels in the same order",
        f"those of {first[0]!r} and {second[0]!r} differ, {where}",
        "Predict one test set with all of them.",
    )


def labels_of(data: Dataset) -> Any:
    """Return labels (n,) or soft targets as a user would pass them."""
    return data.observed if isinstance(data.labels, Labels) else data.labels


def some_sets(credal: CredalSet, target: Labels, rows: HostArray) -> Dataset:
    """Return the sets and targets of some rows."""
    return Dataset(credal, target).take(rows)


def target_of(credal: CredalSet, labels: Any) -> Labels:
    """Return what was observed as classes (1, n), or as soft targets (1, n, k)."""
    soft = soft_target(credal, labels)
    return Dataset(credal, labels).batch if soft is None else Counts(soft[None, ...])


def _score(settings: ScoreSettings, n: int | None, data: Dataset) -> ScoredRows:
    """Score the rows of a dataset; where choices matter, keep the sets of a few of all `n` rows."""
    given = data.predictions
    assert isinstance(given, ClassPredictions)
    credal = as_set(given, n_samples=settings.n_samples, rng=settings.seed)
    notes = given.notes
    if isinstance(given, Dirichlet):
        notes = (*notes, f"every Dirichlet is represented by the hull of {settings.n_samples} draws")
    labels, mean = labels_of(data), as_point(given)[0]
    target = target_of(mean, labels)
    answers, told = _answers(mean, target)
    distance, imprecision, how = distance_and_imprecision(credal, labels, settings)
    average: tuple[Array | None, Array | None] = (None, None)
    if not isinstance(given, Point):
        average = distance_and_imprecision(mean, labels, settings)[:2]
    few = None
    if n is not None and isinstance(credal, Ensemble) and credal.n_members > 1:
        few = _few_sets(credal, target, n, data.start)
    return ScoredRows(
        distance,
        imprecision,
        *average,
        answers,
        target,
        few,
        type(given).__name__,
        _counted(given, credal),
        settings,
        (*notes, *how, *told),
    )


def _few_sets(credal: CredalSet, target: Labels, n: int, start: int) -> Dataset | None:
    """Return those of a few evenly spaced of n rows that are among these; None where there are none."""
    rows = spaced_rows(n, FEWER_ROWS if credal.n_classes > EXACT_CLASSES else DEPENDENCE_ROWS)
    own = rows[(rows >= start) & (rows < start + len(credal))]
    return some_sets(credal, target, own - start) if own.size else None


def _side_by_side(parts: list[ScoredRows]) -> ScoredRows:
    """Return the scored rows of several datasets as one, in their order."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def together(arrays: list[Any], axis: int = 0) -> Any:
        return None if arrays[0] is None else namespace(*arrays).concat(arrays, axis=axis)

    few = [part.few for part in parts if part.few is not None]
    values = together([part.target.values for part in parts], axis=1)
    return dataclasses.replace(
        first,
        **{name: together([getattr(part, name) for part in parts]) for name in _PER_ROW},
        answers=Answers(*(together([getattr(part.answers, name) for part in parts]) for name in _ANSWERS)),
        target=dataclasses.replace(first.target, values=values),
        few=joined_rows(few) if few else None,
        notes=merged(part.notes for part in parts),
    )


def _summarised(
    kind: str,
    distance: Array,
    imprecision: Array,
    answers: Answers,
    tradeoff: float,
    settings: Mapping[str, Any],
    notes: tuple[str, ...],
) -> EpistemicScore:
    """Return the score with its means over all, right and wrong answers."""
    right = answers.right
    total = combined(distance, imprecision, tradeoff)
    parts = {"distance": distance, "imprecision": imprecision, "total": total}
    masks: dict[Group, Array] = {"all": right | ~right, "right": right, "wrong": ~right}
    xp = namespace(distance)
    infinite = int(xp.sum(xp.astype(xp.isinf(distance), xp.int64)))
    if infinite:
        far = "instances have an infinite distance: their label has probability 0 in the set"
        notes = (*notes, Note("infinite", far, infinite))
    return EpistemicScore(
        kind=kind,
        tradeoff=tradeoff,
        **parts,
        right=right,
        confidence=answers.confidence,
        entropy=answers.entropy,
        summary={
            name: {group: _spread(values, mask) for group, mask in masks.items()}
            for name, values in parts.items()
        },
        n=int(distance.shape[0]),
        n_infinite=infinite,
        settings=settings,
        notes=notes,
    )


def _spread(values: Array, mask: Array) -> Spread:
    """Return mean and standard deviation of the values under a mask."""
    xp = namespace(values)
    n = int(xp.sum(xp.astype(mask, xp.int64)))
    if n == 0:
        return Spread(math.nan, math.nan, 0)
    zero = xp.zeros_like(values)
    mean = scalar(xp.sum(xp.where(mask, values, zero))) / n
    if n < 2 or not math.isfinite(mean):
        return Spread(mean, math.nan, n)
    squares = scalar(xp.sum(xp.where(mask, values - mean, zero) ** 2))
    return Spread(mean, math.sqrt(squares / (n - 1)), n)


def _answers(mean: Point, target: Labels) -> tuple[Answers, tuple[str, ...]]:
    """Return what a mean prediction says; of soft targets, a most frequent class is a right answer."""
    xp = mean.xp
    predicted = xp.argmax(mean.probs, axis=-1)
    values = target.values[0, ...]
    told: tuple[str, ...] = ()
    if isinstance(target, Classes):
        right = xp.astype(values, predicted.dtype) == predicted
    else:
        held = xp.take_along_axis(values, predicted[:, None], axis=-1)[:, 0]
        right = held >= xp.max(values, axis=-1)
        told = ("an answer counts as right if it is a most frequent class of the targets",)
    return Answers(right, xp.max(as_float64(mean.probs), axis=-1), entropy_of_rows(mean.probs)), told


def _counted(given: ClassPredictions, credal: CredalSet) -> Mapping[str, Any]:
    """Return how many members or samples stand for the set."""
    if not isinstance(credal, Ensemble):
        return {"members": None}
    return {"members": credal.n_members, "drawn": not isinstance(given, Ensemble)}


DEPENDENCE_ROWS, FEWER_ROWS = 500, 100
"""Instances that tell how far the mean follows the number of members; fewer where all events have to be
sampled."""

NOTABLE = 0.01
"""Share of the mean score from which on a dependence is warned about."""


def chosen_members(ensemble: Ensemble, members: np.ndarray[Any, Any]) -> Ensemble:
    """Return the hull of some members; a hull ignores weights."""
    return Ensemble._trusted(ensemble.xp.take(ensemble.probs, like(members, ensemble.probs), axis=1))


def spaced_rows(n: int, most: int) -> np.ndarray[Any, Any]:
    """Return up to `most` of n row numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def dependences_of(some: Dataset, settings: ScoreSettings) -> tuple[Dependence, ...]:
    """Score some hulls again with half of their members."""
    few, own = as_set(some.predictions), some.batch.values[0, ...]
    assert isinstance(few, Ensemble)
    half = chosen_members(few, np.arange(0, few.n_members, 2))
    score, other = (_mean_score(part, own, settings) for part in (few, half))
    if not (math.isfinite(score) and math.isfinite(other)):
        return ()  # nothing can be compared with infinity
    used, fewer = f"{few.n_members} members", f"{half.n_members} of them"
    return (Dependence(used, fewer, score, other, len(few)),)


def _mean_score(credal: CredalSet, labels: Any, settings: ScoreSettings) -> float:
    distance, imprecision, _ = distance_and_imprecision(credal, labels, settings)
    return scalar(namespace(distance).mean(combined(distance, imprecision, settings.tradeoff)))


@takes_rng
def epistemic_score(
    predictions: Any,
    labels: Any = None,
    *,
    tradeoff: float = 1.0,
    measure: ScoreMeasure | None = None,
    n_samples: int = DIRICHLET_SAMPLES,
    dependences: bool = True,
    rng: Any = 0,
) -> EpistemicScore:
    """Score predictions of any kind by their distance to the labels plus their imprecision.

    Parameters
    ----------
    predictions : Predictions, array or Rows
        Class predictions, read as sets by :func:`as_set`.
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets. Leave out for chunks, which carry their own.
    tradeoff : float
        Weight of the imprecision, 0 or more; with infinity only precision counts.
    measure : str or callable, optional
        What counts as imprecision: "hartley", the generalised Hartley measure of the exact envelope (the
        default); "dubois_prade", the same sum over masses; "koerner", Koerner's measure minus 1;
        "entropy_gap", upper minus lower entropy; "credal_size", mean upper minus lower probability; "u65" and
        "u80", the discount of a utility for set-valued answers. Or a function from the sets to an array (n,).
    n_samples : int
        Draws per instance, if the predictions are a Dirichlet.
    dependences : bool
        Whether to find out, on up to 500 instances (100 beyond 12 classes), how much E depends on the number
        of members.
    rng : None, int or Generator
        Seed of draws and random events.

    Returns
    -------
    EpistemicScore
        Arrays ``distance``, ``imprecision`` and ``total`` over instances, their means and standard deviations
        over all, right and wrong predictions, and the same for the mean prediction in ``average``.

    Warns
    -----
    UserWarning
        If E changes by more than 1 % with half of the members.

    Notes
    -----
    E depends on the number of members or samples as much as on the model: compare models only with the same
    number. An imprecise model is rewarded at small trade-offs and punished at large ones; :func:`rank_models`
    shows where the order changes. Distances to labels do not need the vertices of the set: they are -log of
    the upper probability.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025.

    Examples
    --------
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])
    >>> score = cr.epistemic_score(ensemble, [0], dependences=False)
    >>> score.distance.round(4), score.imprecision.round(4)  # -ln 0.75; (0.75 - 0.5) ln 2
    (array([0.2877]), array([0.1733]))
    >>> round(float(score.average), 4)  # log loss of the mean: -ln 0.625
    0.47
    """
    settings = checked_settings(tradeoff=tradeoff, measure=measure, n_samples=n_samples, rng=rng)
    rows = as_rows(predictions, labels)
    require_scorable(rows)
    found = summed_up(scored_rows(rows, settings, dependences=dependences))
    for one in found.dependences:
        if abs(one.share) > NOTABLE:
            warnings.warn(str(one), UserWarning, stacklevel=3)
    return found


def score_from_parts(
    predictions: Any,
    labels: Any,
    distance: Array,
    imprecision: Array,
    *,
    tradeoff: float = 1.0,
    settings: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> EpistemicScore:
    """Return a score with a distance or an imprecision of your own; :func:`rank_scores` ranks such scores.

    Parameters
    ----------
    predictions : Predictions or array
        Class predictions: their mean says which answers are right, how confident and how spread they are.
    labels : array (n,), LabelCounts, Point or array (n, k)
        Class labels, or soft targets.
    distance, imprecision : array (n,)
        The two parts of the score.
    tradeoff : float
        Weight of the imprecision.
    settings : mapping, optional
        How the parts were made.
    notes : tuple of str
        What a reader must know of it.

    Returns
    -------
    EpistemicScore
        Without `average`, the score of the mean prediction, which `dataclasses.replace` adds.

    References
    ----------
    C25: Manchingal et al., A unified evaluation framework for epistemic predictions, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> import credibly as cr
    >>> ensemble = cr.Ensemble([[[0.75, 0.25], [0.5, 0.5]]])
    >>> narrow = cr.selection.score_from_parts(ensemble, [0], np.array([0.2]), np.array([0.1]), tradeoff=2.0)
    >>> round(float(narrow), 4)
    0.4
    """
    require_tradeoff(tradeoff)
    given, labels = as_pair(predictions, labels)
    mean = as_point(given)[0]
    for name, part in (("distance", distance), ("imprecision", imprecision)):
        require_one_each(tuple(part.shape), len(mean), f"`{name}`")
    answers, told = _answers(mean, target_of(mean, labels))
    notes = (*notes, *told)
    return _summarised(
        type(given).__name__, distance, imprecision, answers, float(tradeoff), settings or {}, notes
    )
