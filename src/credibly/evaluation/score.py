"""The part of an evaluation that sets of distributions allow: the unified score."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

from credibly._arrays.errors import UnsupportedError
from credibly.evaluation.stages import NOT_ASKED, Part, Stage, Work
from credibly.predictions import ClassPredictions, Point, Rows
from credibly.results.scores import EpistemicScore
from credibly.selection import epistemic_score
from credibly.selection.instance_scores import spaced_rows

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
        Number of instances there are; ``score.n`` of them were scored.
    """

    drawn_as = ("score",)

    score: EpistemicScore
    n_all: int

    def told(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return how the score was made, and what it depends on."""
        found = [f"unified score: {note}" for note in (*self.score.notes, *map(str, self.score.dependences))]
        if self.score.n < self.n_all:
            found.append(f"unified score: {self.score.n} evenly spaced of {self.n_all} instances were scored")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types but arrays over instances."""
        return {**super().to_dict(), "score": self.score.summary_dict()}


def _applies(rows: Rows, work: Work) -> str | None:
    some = rows.sample.predictions
    return None if isinstance(some, ClassPredictions) and not isinstance(some, Point) else NOT_ASKED


def _run(rows: Rows, work: Work) -> ScoreParts | None:
    part = rows.take(spaced_rows(rows.n, MOST_ROWS if len(work.classes) <= _FEW_CLASSES else FEW_ROWS))
    try:
        with warnings.catch_warnings():  # what E depends on stands in the notes of the evaluation
            warnings.simplefilter("ignore", UserWarning)
            return ScoreParts(epistemic_score(part.predictions, part.observed, rng=work.seed), rows.n)
    except UnsupportedError as error:
        work.leave_out("unified score", f"{error.rule}, {error.evidence}")
        return None


SCORE = Stage("score", _run, _applies)
