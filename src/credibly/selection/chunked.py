"""Scores of rows that come in chunks: every chunk scores its rows, and their numbers are put side by side.

Distance and imprecision look at one row at a time, so the numbers are those of all rows at once. A ranking
draws rows with replacement and needs them all: n numbers per model and part are kept, never the members.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import HostArray, to_host
from credibly.predictions import ClassPredictions, Dataset, Dirichlet, Rows
from credibly.results.scores import EpistemicScore
from credibly.selection.instance_scores import (
    PER_ROW,
    ScoredRows,
    dependence_rows,
    dependences_of,
    finished,
    score_rows,
)
from credibly.selection.settings import ScoreSettings

_COUNTED = re.compile(r"^(\d+)( of (\d+))? (.*)$")
_SAMPLED = re.compile(r"^(\d+ random events), standard error .*$")


@dataclasses.dataclass(frozen=True)
class Scored:
    """The score of one model, and the labels of its chunks where it comes in some."""

    score: EpistemicScore
    labels: HostArray | None = None


def require_scorable(chunks: Rows, settings: ScoreSettings, name: str) -> None:
    """Raise where numbers of a row would depend on the chunk it lies in."""
    if isinstance(chunks.sample.predictions, Dirichlet):
        raise UnsupportedError(
            f"model {name!r} in chunks",
            "must be a set of distributions",
            "a Dirichlet becomes one by draws, which would depend on how the rows are cut",
            "Draw once, `dirichlet.sample(m)`, and scan the Ensemble.",
        )
    if settings.paper is not None:
        raise UnsupportedError(
            "`paper`",
            "looks at all rows to choose a budget and to draw samples",
            f"got {settings.paper!r} and rows in chunks",
            "Leave it out, or `load` the rows.",
        )


def scored_over(chunks: Rows, settings: ScoreSettings, *, dependences: bool) -> Scored:
    """Score all rows in one pass; how far the mean follows choices is found out on a few of them."""
    found = list(chunks.map(partial(_score_chunk, settings)))
    parts = [rows for rows, _ in found]
    joined = ScoredRows(
        **{name: _together([getattr(rows, name) for rows in parts]) for name in PER_ROW},
        kind=parts[0].kind,
        members=parts[0].members,
        notes=_added_notes([rows.notes for rows in parts]),
    )
    depends: tuple[Any, ...] = ()
    if dependences:
        some = chunks.take(dependence_rows(chunks.n, _n_classes(chunks)))
        depends = dependences_of(some.predictions, some.observed, settings)  # type: ignore[arg-type]
    score = dataclasses.replace(finished(joined, settings), dependences=depends)
    return Scored(score, np.concatenate([labels for _, labels in found]))


def require_same_labels(scored: Mapping[str, Scored]) -> None:
    """Raise unless the chunks of all models have the same labels."""
    (first, one), *others = scored.items()
    for name, other in others:
        if one.labels is None or other.labels is None or np.array_equal(one.labels, other.labels):
            continue
        where = f"shapes {one.labels.shape} and {other.labels.shape}"
        if one.labels.shape == other.labels.shape:
            where = f"first in row {int(np.nonzero(one.labels != other.labels)[0][0])}"
        raise InputError(
            "the models",
            "must have the same labels in the same order",
            f"those of {first!r} and {name!r} differ, {where}",
            "Predict one test set with all of them.",
        )


def _score_chunk(settings: ScoreSettings, chunk: Dataset) -> tuple[ScoredRows, HostArray]:
    assert isinstance(chunk.predictions, ClassPredictions)
    rows = score_rows(chunk.predictions, chunk.observed, settings)
    arrays = {name: _host(getattr(rows, name)) for name in PER_ROW}
    return dataclasses.replace(rows, **arrays), to_host(chunk.batch.values)[0]


def _host(array: Any) -> Any:
    return None if array is None else to_host(array)


def _together(arrays: list[Any]) -> Any:
    return None if arrays[0] is None else np.concatenate(arrays)


def _n_classes(chunks: Rows) -> int:
    given = chunks.sample.predictions
    assert isinstance(given, ClassPredictions)
    return given.n_classes


def _added_notes(notes: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return each note once; those that begin with a count of rows or masses with the sum of the counts."""
    order: dict[str, list[int]] = {}
    for said in notes:
        for note in said:
            sampled = _SAMPLED.match(note)
            counted = None if sampled else _COUNTED.match(note)
            key = sampled[1] if sampled else counted[4] if counted else note
            numbers = order.setdefault(key, [])
            if counted:
                own = [int(counted[1]), *([int(counted[3])] if counted[3] else [])]
                numbers[:] = [a + b for a, b in zip(numbers, own, strict=True)] if numbers else own
    return tuple(
        f"{' of '.join(map(str, numbers))} {key}" if numbers else key for key, numbers in order.items()
    )
