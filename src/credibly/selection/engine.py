"""From checked predictions to a score: make the set, measure it, sum up right and wrong predictions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from credibly._arrays.checks import scalar
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly._arrays.score_results import EpistemicScore, Group, Spread
from credibly.credal.distance import soft_target
from credibly.credal.entropy import log_base
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
from credibly.selection.dependences import dependences_of
from credibly.selection.paper import CLIP, is_closed, paper_budget, paper_samples
from credibly.selection.parts import combined, parts_of
from credibly.selection.settings import ScoreSettings


def score_of(given: Any, labels: Any, settings: ScoreSettings, *, dependences: bool) -> EpistemicScore:
    """Score checked predictions; the same for one model and for many."""
    if not isinstance(given, ClassPredictions):
        credal_set(given)  # raises with the kinds that can be read as sets
    settings, credal, notes = _as_set(given, settings)
    kind = type(given).__name__
    mean = as_point(given)[0]
    right, right_notes = _is_right(mean, labels)
    distance, imprecision, how = parts_of(credal, labels, settings)
    notes = (*notes, *how, *right_notes)
    found = _summarised(kind, (distance, imprecision), mean, right, settings, notes)
    average = None
    if not isinstance(given, Point):
        average = _summarised("Point", parts_of(mean, labels, settings)[:2], mean, right, settings, (), found)
    shown = {**found.settings, **_counted(given, credal)}
    depends = dependences_of(credal, labels, settings) if dependences else ()
    return dataclasses.replace(found, settings=shown, dependences=depends, average=average)


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
    scored: tuple[Array, Array],
    mean: Point,
    right: Array,
    settings: ScoreSettings,
    notes: tuple[str, ...],
    same: EpistemicScore | None = None,
) -> EpistemicScore:
    """Return the score; what concerns the mean prediction is taken from the `same` one where it is known."""
    distance, imprecision = scored
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
        confidence=xp.max(as_float64(mean.probs), axis=-1) if same is None else same.confidence,
        entropy=entropy(mean.probs) / log_base(settings.base) if same is None else same.entropy,
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
