"""How far the mean score follows the budget of focal sets and the number of members."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from credibly._arrays.checks import scalar
from credibly._arrays.namespace import Array, like, namespace
from credibly.credal.distance import soft_target
from credibly.credal.nonspecificity import EXACT_CLASSES
from credibly.credal.sets import CredalSet
from credibly.predictions import Belief, Classes, Ensemble, Point, as_labels
from credibly.results.scores import Dependence
from credibly.selection.parts import combined, parts_of
from credibly.selection.settings import ScoreSettings

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
