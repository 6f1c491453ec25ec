"""The part of an evaluation that sets of distributions allow: the unified score."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly._arrays.philox import Seed
from credibly.predictions import ClassPredictions, Point, Rows
from credibly.results.base import Result
from credibly.results.scores import EpistemicScore
from credibly.selection import epistemic_score
from credibly.selection.instance_scores import spaced_rows

MOST_ROWS, FEW_ROWS = 20_000, 1000
"""Instances scored at most: with few classes all events are summed, with many they are sampled."""
_FEW_CLASSES = 12


@dataclasses.dataclass(frozen=True)
class ScoreParts(Result):
    """The unified score of a set prediction and of its mean.

    Attributes
    ----------
    score : EpistemicScore
        Distance, imprecision and their sum, with the mean prediction's in ``score.average``.
    n_all : int
        Number of instances there are; ``score.n`` of them were scored.
    """

    drawn_as = ("score",)

    score: EpistemicScore
    n_all: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types but arrays over instances."""
        return {**super().to_dict(), "score": self.score.summary_dict()}


def score_parts(rows: Rows, seed: Seed) -> tuple[ScoreParts | None, list[tuple[str, str]]]:
    """Return the score where predictions are sets, else nothing or the reason."""
    some = rows.sample.predictions
    if not isinstance(some, ClassPredictions) or isinstance(some, Point):
        return None, []
    part = rows.take(spaced_rows(rows.n, MOST_ROWS if some.n_classes <= _FEW_CLASSES else FEW_ROWS))
    try:
        with warnings.catch_warnings():  # what E depends on stands in the notes of the evaluation
            warnings.simplefilter("ignore", UserWarning)
            score = epistemic_score(part.predictions, part.observed, rng=seed)
    except UnsupportedError as error:
        return None, [("unified score", f"{error.rule}, {error.evidence}")]
    return ScoreParts(score, rows.n), []


def score_notes(parts: ScoreParts | None) -> tuple[str, ...]:
    """Return how the score was made, and what it depends on."""
    if parts is None:
        return ()
    found = [f"unified score: {note}" for note in (*parts.score.notes, *map(str, parts.score.dependences))]
    if parts.score.n < parts.n_all:
        found.append(f"unified score: {parts.score.n} evenly spaced of {parts.n_all} instances were scored")
    return tuple(found)
