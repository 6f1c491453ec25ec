"""From checked predictions to a score: make the set, measure it, sum up right and wrong predictions.

The two parts of the score of a set, and their sum.

How far the mean score follows the budget of focal sets and the number of members.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.namespace import Array, as_float64, like, namespace
from credibly.credal import (
    credal_distance,
)
from credibly.credal.distance import soft_target
from credibly.credal.entropy import log_base
from credibly.credal.masses import OWN_MASSES
from credibly.credal.nonspecificity import EXACT_CLASSES
from credibly.credal.objectives import entropy
from credibly.credal.sets import CredalSet, credal_set
from credibly.predictions import (
    Belief,
    Classes,
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Point,
    as_labels,
    as_point,
)
from credibly.results.scores import Dependence, EpistemicScore, Group, Spread
from credibly.selection.imprecision import imprecision_of
from credibly.selection.paper import CLIP, is_closed, paper_budget, paper_samples, paper_set
from credibly.selection.settings import ScoreSettings
from credibly.selection.standings import NEGLIGIBLE


def parts_of(credal: CredalSet, labels: Any, settings: ScoreSettings) -> tuple[Array, Array, tuple[str, ...]]:
    """Return distance and imprecision, (n,) each, and how they were made."""
    budget, negative, given = settings.budget, settings.negative, credal
    if settings.paper is not None:
        credal = paper_set(credal, budget or ())
        budget, negative = None, "keep"  # they are in the masses already
    distance = credal_distance(credal, labels, divergence=settings.divergence)
    xp = credal.xp
    if settings.paper is not None and settings.divergence == "kl":
        distance = xp.minimum(distance, xp.full_like(distance, -math.log(CLIP)))
    scale = log_base(settings.base)
    distance = distance / (math.sqrt(scale) if settings.divergence == "sqrt_js" else scale)
    imprecision, how = imprecision_of(
        credal, settings.measure, budget=budget, negative=negative, base=settings.base, seed=settings.seed
    )
    if credal is not given:  # the notes of the paper mode say how its masses were made
        how = tuple(note for note in how if note != OWN_MASSES)
    return distance, imprecision, how


def combined(distance: Array, imprecision: Array, tradeoff: float) -> Array:
    """Return distance + trade-off * imprecision, with infinity times 0 being 0: a point is never punished."""
    xp = namespace(distance)
    if math.isfinite(tradeoff):
        return distance + tradeoff * imprecision
    return xp.where(imprecision > NEGLIGIBLE, xp.full_like(distance, xp.inf), distance)


@dataclasses.dataclass(frozen=True)
class ScoredRows:
    """What is known of every row once it is scored, before rows are summed up.

    Attributes
    ----------
    distance, imprecision : array (n,)
        The two parts of the score.
    mean_distance, mean_imprecision : array (n,) or None
        The same of the mean prediction; None where the prediction is that.
    right : array (n,)
        Whether the mean prediction puts the label first.
    confidence, entropy : array (n,)
        Of the mean prediction.
    kind : str
        Type of the predictions.
    members : mapping
        How many members or samples stand for the set.
    notes : tuple of str
        How the parts were made.
    """

    distance: Array
    imprecision: Array
    mean_distance: Array | None
    mean_imprecision: Array | None
    right: Array
    confidence: Array
    entropy: Array
    kind: str
    members: Mapping[str, Any]
    notes: tuple[str, ...]


PER_ROW = ("distance", "imprecision", "mean_distance", "mean_imprecision", "right", "confidence", "entropy")
"""Fields of `ScoredRows` with one number per row."""


def score_of(given: Any, labels: Any, settings: ScoreSettings, *, dependences: bool) -> EpistemicScore:
    """Score checked predictions; the same for one model and for many."""
    if not isinstance(given, ClassPredictions):
        credal_set(given)  # raises with the kinds that can be read as sets
    settings, credal, notes = _as_set(given, settings)
    found = finished(_scored(given, credal, labels, settings, notes), settings)
    if not dependences:
        return found
    return dataclasses.replace(found, dependences=dependences_of(credal, labels, settings))


def score_rows(given: ClassPredictions, labels: Any, settings: ScoreSettings) -> ScoredRows:
    """Score rows without summing them up; numbers of a row must not depend on the rows beside it."""
    settings, credal, notes = _as_set(given, settings)
    return _scored(given, credal, labels, settings, notes)


def _scored(
    given: ClassPredictions, credal: CredalSet, labels: Any, settings: ScoreSettings, notes: tuple[str, ...]
) -> ScoredRows:
    mean = as_point(given)[0]
    right, right_notes = _is_right(mean, labels)
    distance, imprecision, how = parts_of(credal, labels, settings)
    average: tuple[Array | None, Array | None] = (None, None)
    if not isinstance(given, Point):
        average = parts_of(mean, labels, settings)[:2]
    return ScoredRows(
        distance,
        imprecision,
        *average,
        right,
        namespace(distance).max(as_float64(mean.probs), axis=-1),
        entropy(mean.probs) / log_base(settings.base),
        type(given).__name__,
        _counted(given, credal),
        (*notes, *how, *right_notes),
    )


def finished(rows: ScoredRows, settings: ScoreSettings) -> EpistemicScore:
    """Sum up all rows, of the prediction and of its mean."""
    found = _summarised(rows.kind, rows.distance, rows.imprecision, rows, settings, rows.notes)
    average = None
    if rows.mean_distance is not None and rows.mean_imprecision is not None:
        average = _summarised("Point", rows.mean_distance, rows.mean_imprecision, rows, settings, ())
    return dataclasses.replace(found, settings={**found.settings, **rows.members}, average=average)


def _as_set(given: Any, settings: ScoreSettings) -> tuple[ScoreSettings, CredalSet, tuple[str, ...]]:
    """Return the set that is scored; with a paper mode, the settings and notes it brings."""
    if settings.paper is None:
        credal = credal_set(given, n_samples=settings.n_samples, rng=settings.seed)
        notes: tuple[str, ...] = ()
        if isinstance(given, Dirichlet):
            notes = (f"the hull of {settings.n_samples} draws stands for every Dirichlet",)
        return settings, credal, (*given.notes, *notes)
    credal, notes = paper_samples(given, settings.n_samples, settings.seed)
    if settings.budget is None and not isinstance(credal, Point):
        settings = dataclasses.replace(settings, budget=paper_budget(credal))
    changed: tuple[str, ...] = (f'paper="C25": probabilities below {CLIP:g} count as {CLIP:g}',)
    if settings.budget is not None and not isinstance(credal, Point | Belief):
        sets = len(settings.budget)
        changed = (*changed, f"clamped masses on {sets} focal sets and all classes stand for the set")
        if not is_closed(settings.budget):
            changed = (*changed, "the budget lacks subsets of its sets: printed masses are no inverse there")
    if settings.divergence == "js":
        settings = dataclasses.replace(settings, divergence="sqrt_js")
        changed = (*changed, '"js" is the root of the Jensen-Shannon divergence')
    return settings, credal, (*given.notes, *notes, *changed)


def _summarised(
    kind: str,
    distance: Array,
    imprecision: Array,
    rows: ScoredRows,
    settings: ScoreSettings,
    notes: tuple[str, ...],
) -> EpistemicScore:
    """Return a score; what concerns the mean prediction is in `rows`."""
    right = rows.right
    total = combined(distance, imprecision, settings.tradeoff)
    parts = {"distance": distance, "imprecision": imprecision, "total": total}
    masks: dict[Group, Array] = {"all": right | ~right, "right": right, "wrong": ~right}
    xp = namespace(distance)
    infinite = int(xp.sum(xp.astype(xp.isinf(distance), xp.int64)))
    if infinite:
        notes = (*notes, f"{infinite} instances are infinitely far: their label has probability 0 in the set")
    return EpistemicScore(
        kind=kind,
        tradeoff=settings.tradeoff,
        **parts,
        right=right,
        confidence=rows.confidence,
        entropy=rows.entropy,
        summary={
            name: {group: _spread(values, mask) for group, mask in masks.items()}
            for name, values in parts.items()
        },
        n=int(distance.shape[0]),
        n_infinite=infinite,
        settings=settings.shown(),
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


def _is_right(mean: Point, labels: Any) -> tuple[Array, tuple[str, ...]]:
    """Return whether the mean prediction puts the label first (of soft targets: a most frequent class)."""
    xp = mean.xp
    predicted = xp.argmax(mean.probs, axis=-1)
    target = soft_target(mean, labels)
    if target is None:
        checked = as_labels(mean, labels)
        assert isinstance(checked, Classes)
        return xp.astype(checked.values[0, :], predicted.dtype) == predicted, ()
    held = xp.take_along_axis(target, predicted[:, None], axis=-1)[:, 0]
    return held >= xp.max(target, axis=-1), (
        "right means that a most frequent class of the targets is first",
    )


def _counted(given: ClassPredictions, credal: CredalSet) -> Mapping[str, Any]:
    """Return how many members or samples stand for the set."""
    if not isinstance(credal, Ensemble):
        return {"members": None}
    return {"members": credal.n_members, "drawn": not isinstance(given, Ensemble)}


DEPENDENCE_ROWS, FEWER_ROWS = 500, 100
"""Instances that tell how far the mean follows the budget and the number of members; fewer where all events
have to be sampled."""

NOTABLE = 0.01
"""Share of the mean score from which on a dependence is warned about."""


def chosen_members(ensemble: Ensemble, members: np.ndarray[Any, Any]) -> Ensemble:
    """Return the hull of some members; weights play no part in a hull."""
    return Ensemble._trusted(ensemble.xp.take(ensemble.probs, like(members, ensemble.probs), axis=1))


def spaced_rows(n: int, most: int) -> np.ndarray[Any, Any]:
    """Return up to `most` of n row numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def dependence_rows(n: int, n_classes: int) -> np.ndarray[Any, Any]:
    """Return the rows that tell how far the mean follows choices."""
    return spaced_rows(n, FEWER_ROWS if n_classes > EXACT_CLASSES else DEPENDENCE_ROWS)


def labels_of_rows(credal: CredalSet, labels: Any, rows: np.ndarray[Any, Any]) -> Array:
    """Return the labels or soft targets of some instances."""
    own = soft_target(credal, labels)
    if own is None:
        checked = as_labels(credal, labels)
        assert isinstance(checked, Classes)
        own = checked.values[0, :]
    return namespace(own).take(own, like(rows, own), axis=0)


def dependences_of(credal: CredalSet, labels: Any, settings: ScoreSettings) -> tuple[Dependence, ...]:
    """Score some instances again with all events instead of the budget, and with half of the members."""
    keeps_masses = isinstance(credal, Point) or (isinstance(credal, Belief) and settings.paper is not None)
    on_budget = settings.budget is not None and not keeps_masses
    halved = isinstance(credal, Ensemble) and credal.n_members > 1
    if not (on_budget or halved):
        return ()
    rows = dependence_rows(len(credal), credal.n_classes)
    few, own = credal[rows], labels_of_rows(credal, labels, rows)

    def mean(part: CredalSet, used: ScoreSettings) -> float:
        distance, imprecision, _ = parts_of(part, own, used)
        return scalar(namespace(distance).mean(combined(distance, imprecision, settings.tradeoff)))

    score = mean(few, settings)
    if not math.isfinite(score):
        return ()  # nothing can be compared with infinity
    found = []
    if on_budget:
        assert settings.budget is not None
        whole = dataclasses.replace(settings, budget=None, negative="keep", measure="hartley", paper=None)
        used = f"{len(settings.budget)} focal sets"
        found.append(Dependence("budget", used, "all events", score, mean(few, whole), len(rows)))
    if halved:
        assert isinstance(few, Ensemble)
        m = few.n_members
        half = chosen_members(few, np.arange(0, m, 2))
        found.append(
            Dependence(
                "members",
                f"{m} members",
                f"{half.n_members} of them",
                score,
                mean(half, settings),
                len(rows),
            )
        )
    return tuple(one for one in found if math.isfinite(one.other_score))
