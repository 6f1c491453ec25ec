"""The part of an evaluation about stated ignorance, wherever instances have two labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from credibly._arrays.errors import CrediblyError
from credibly._arrays.notes import unsaid, without_warnings
from credibly.evaluation.rows import has_counts, random_part
from credibly.evaluation.work import DRAWN_LABELS, IN_CLUSTERS, NOT_ASKED, Part, Stage, Work
from credibly.predictions import Dirichlet, Ensemble, Rows
from credibly.raters import ignorance
from credibly.recalibrate.folds import cross_fitted, fold_members
from credibly.recalibrate.ignorance import IgnoranceCalibration
from credibly.results.ignorance import Ignorance
from credibly.results.tests import Word

_MOST_NUMBERS = 60_000_000
"""Replicates times instances times members or classes: about ten seconds."""
_FOLDS, _FEWEST = 5, 100
_AFTER = ("pair_gap", "local_spread_score")
"""What is tested after a repair. The spread score weighs instances by their concentration: a fold whose other
folds vary little by chance gets a large one and varies much, which it would take for a fault."""
WHAT = "test of the stated ignorance"


@dataclasses.dataclass(frozen=True)
class IgnoranceParts(Part):
    """Whether the stated ignorance is honest, and what repairs it.

    Attributes
    ----------
    stated : Ignorance
        Stated against supported ignorance.
    repaired : Ignorance or None
        The same after `IgnoranceCalibration`, fitted on other folds; None if there is no conflict.
    n_all : int
        Total number of instances; some of very many are compared.
    word : str
        The verdict at its share of the level.
    """

    drawn_as = ("stated",)

    stated: Ignorance
    repaired: Ignorance | None
    n_all: int
    word: Word

    @property
    def pvalue(self) -> float:
        """The p-value behind the verdict."""
        return self.stated.test.deciding_pvalue

    def judged(self, level: float) -> IgnoranceParts:
        """Return the same with the verdict at a level."""
        return dataclasses.replace(self, word=self.stated.verdict(level))

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON-safe types, except replicates."""
        made = super().to_dict()
        for name in ("stated", "repaired"):
            part: Ignorance | None = getattr(self, name)
            if part is not None:
                tests = {"test": part.test.summary(), "mean_test": part.mean_test.summary()}
                made[name] |= {"sentence": part.sentence(), **tests}
        return made

    def remarks(self, shared: Sequence[str]) -> tuple[str, ...]:
        """Return what was left out."""
        notes = tuple(f"stated ignorance: {note}" for note in unsaid(self.stated.notes, shared))
        some = self.stated.n + self.stated.n_left_out
        if some < self.n_all:
            part = f"stated ignorance: {some} of {self.n_all} instances, drawn at random with the seed"
            notes = (*notes, part)
        return notes


def _applies(rows: Rows, work: Work) -> str | None:
    some = rows.example.predictions
    if not work.tests or not has_counts(rows) or not isinstance(some, (Ensemble, Dirichlet)):
        return NOT_ASKED
    if isinstance(some, Ensemble) and some.holds_drawn_labels:
        return DRAWN_LABELS
    return IN_CLUSTERS if rows.example.clusters is not None else None


def _run(rows: Rows, work: Work) -> IgnoranceParts:
    some = rows.example.predictions
    assert isinstance(some, (Ensemble, Dirichlet))
    width = (1 + work.n_resamples) * max(some.n_members, some.n_classes)
    part = random_part(rows, max(500, _MOST_NUMBERS // width), work.seed)
    data = part.loaded(part.n)
    assert data is not None
    result = ignorance(data.predictions, data.observed, **work.drawn)
    word = result.verdict(work.level)
    repaired = None
    if word == "conflict" and len(data) >= _FEWEST:
        folds = fold_members(len(data), _FOLDS, work.seed)
        try:
            with without_warnings():  # of a fit that ends early the test tells
                moved = cross_fitted(IgnoranceCalibration(), data.predictions, data.observed, {}, folds)[1]
            repaired = ignorance(moved, data.observed, statistics=_AFTER, **work.drawn)
        except CrediblyError as error:  # labels may support no ignorance at all, which no Dirichlet states
            work.leave_out(f"repair after the {WHAT}", error)
    return IgnoranceParts(result, repaired, rows.n, word)


IGNORANCE = Stage("ignorance", _run, _applies, WHAT, CrediblyError)
