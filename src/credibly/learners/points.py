"""Which distributions of a set are mixed: members, corners by fixed orders of the classes, or draws."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, as_float64, namespace
from credibly._arrays.philox import Seed
from credibly.credal import vertices
from credibly.credal.sets import CredalSet
from credibly.predictions import (
    Belief,
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Intervals,
    Point,
    as_predictions,
)
from credibly.predictions.given import require_classes

DRAWS = 20
"""Number of draws that represent a Dirichlet."""

_ALL_ORDERS = 4  # classes up to which every order of them gives a corner: 24 of them

_SAME = 1e-12


@dataclasses.dataclass(frozen=True)
class Points:
    """What is mixed: distributions of every instance, (n, a, k), their names, and the set they belong to."""

    probs: Array
    names: tuple[str, ...]
    credal: CredalSet
    notes: tuple[str, ...] = ()

    @property
    def all_equal(self) -> bool:
        """Whether every set holds one distribution only: nothing to weigh."""
        xp = namespace(self.probs)
        spread = xp.max(xp.abs(self.probs - self.probs[:, :1, :]))
        return float(spread) <= _SAME


def points_of(predictions: Any, n_draws: int, seed: Seed) -> Points:
    """Return the distributions that stand for each set.

    Members of an ensemble; for intervals and beliefs one corner per order of the classes (all orders up to 4
    classes, else every class once first and once last), so that a corner means the same in every instance;
    for a Dirichlet `n_draws` draws.
    """
    predictions = as_class_predictions(predictions)
    if isinstance(predictions, Point):
        return Points(
            as_float64(predictions.probs)[:, None, :], ("prediction",), predictions, predictions.notes
        )
    if isinstance(predictions, Ensemble):
        names = tuple(f"member {j}" for j in range(predictions.n_members))
        notes = predictions.notes
        if predictions.weights is not None:
            notes = (*notes, "member weights are ignored: the set is the hull of the members")
        return Points(as_float64(predictions.probs), names, predictions, notes)
    if isinstance(predictions, Dirichlet):
        drawn = predictions.sample(n_draws, rng=seed)
        names = tuple(f"draw {j}" for j in range(drawn.n_members))
        note = f"the set is the hull of {drawn.n_members} draws of the Dirichlet per instance"
        return Points(as_float64(drawn.probs), names, drawn, (*predictions.notes, note))
    assert isinstance(predictions, Intervals | Belief)
    k = predictions.n_classes
    every = k <= _ALL_ORDERS
    corners = as_float64(vertices(predictions, which="all" if every else "C25"))
    if every:
        names = tuple(f"corner of order {order}" for order in itertools.permutations(range(k)))
        note = f"mixed {len(names)} corners per set, one per order of the classes: the whole set"
    else:
        names = tuple(f"class {j} {place}" for j in range(k) for place in ("first", "last"))
        note = f"mixed {len(names)} corners per set, every class first and last: they cover a part of the set"
    return Points(corners, names, predictions, (*predictions.notes, note))


def require_same_points(points: Points, names: tuple[str, ...], n_classes: int) -> None:
    """Raise unless other predictions have the points that weights were learned for."""
    if points.names != names or points.probs.shape[2] != n_classes:
        raise InputError(
            "`predictions`",
            f"must be of the kind that was tested ({len(names)} points, {n_classes} classes)",
            f"got {len(points.names)} points and {points.probs.shape[2]} classes",
            "Predict with the same members and classes.",
        )


def as_class_predictions(predictions: Any) -> ClassPredictions:
    """Return class predictions, or raise."""
    remedy = "Use `Ensemble`, `Intervals`, `Belief`, `Dirichlet` or `Point`."
    return require_classes(as_predictions(predictions), "a test of sets", remedy)
