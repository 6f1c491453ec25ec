"""Predictions and labels as the stages of an evaluation ask for them: in memory, or in chunks.

Functions of the library that take both are called with `given`; what needs instances takes them into memory
with `rows` or `whole`. So an evaluation has one path, and chunks of any size give the same numbers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError, UnsupportedError
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly._arrays.progress import Progress
from credibly.predictions import (
    ClassPredictions,
    Counts,
    Dataset,
    LabelCounts,
    Labels,
    Predictions,
    Rows,
    Ungrouped,
    as_labels,
    as_predictions,
    require_no_labels,
    require_order,
)
from credibly.scale import scan


@dataclasses.dataclass(frozen=True, eq=False)
class Whole:
    """All rows in memory, with labels as a user would pass them."""

    predictions: Predictions
    labels: Any
    features: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """All rows of an evaluation.

    Attributes
    ----------
    given : tuple of (Predictions, labels) or (Rows, None)
        What functions that take both kinds are called with.
    some : Predictions
        All predictions in memory; of chunks a few, which tell kind and sizes.
    batch : Labels
        The labels of `some`.
    n : int
        Number of rows.
    groups : ndarray (n,) or None
        Group of every row in memory; chunks keep theirs.
    features : array (n, d) or None
        Features of the rows in memory.
    """

    given: tuple[Any, Any]
    some: Predictions
    batch: Labels
    n: int
    groups: HostArray | None = None
    features: Any = None

    @property
    def chunks(self) -> Rows | None:
        """The chunks, where rows come in some."""
        return self.given[0] if isinstance(self.given[0], Rows) else None

    @property
    def has_counts(self) -> bool:
        """Whether labels are counts over raters."""
        return isinstance(self.batch, Counts)

    @property
    def is_of_classes(self) -> bool:
        """Whether predictions are over classes."""
        return isinstance(self.some, ClassPredictions)

    @property
    def has_groups(self) -> bool:
        """Whether rows have groups."""
        return (self.groups if self.chunks is None else self.chunks.sample.groups) is not None

    def without_groups(self) -> Data:
        """Return the same rows, of no groups."""
        given = self.given if self.chunks is None else (Ungrouped(self.chunks, self.n), None)
        return dataclasses.replace(self, given=given, groups=None)

    def rows(self, chosen: HostArray, progress: Progress | None = None) -> tuple[Predictions, Any]:
        """Return predictions and labels of some rows, in memory."""
        if self.chunks is not None:
            chunk = self.chunks.take(chosen, progress)
            return chunk.predictions, chunk.observed
        labels = self.given[1]
        chunk = Dataset(self.some, self.batch).take(chosen)
        return chunk.predictions, labels[chosen] if isinstance(labels, LabelCounts) else chunk.observed

    def whole(self) -> Whole:
        """Return all rows in memory; who asks has seen that they are few."""
        if self.chunks is None:
            return Whole(self.some, self.given[1], self.features)
        chunk = self.chunks.take(np.arange(self.n))
        return Whole(chunk.predictions, chunk.observed, chunk.features)


def as_data(predictions: Any, labels: Any, groups: Any = None, features: Any = None) -> Data:
    """Check predictions and labels, whatever they come in."""
    if hasattr(predictions, "__dask_graph__"):
        predictions = scan(predictions, labels, groups=groups, features=features)
        labels = groups = features = None
    if not isinstance(predictions, Rows):
        require_order(predictions, labels)
        some = as_predictions(predictions)
        batch = as_labels(some, labels)
        return Data((some, labels), some, batch, len(some), _groups(groups, len(some)), features)
    require_no_labels(labels)
    for name, value in (("groups", groups), ("features", features)):
        if value is not None:
            raise InputError(
                f"`{name}`", "come with the chunks", "got them as an argument too", "Give them to `scan`."
            )
    sample = predictions.sample
    if sample.batch.weights is not None:
        raise UnsupportedError(
            "`evaluate`",
            "counts every instance once",
            "the chunks have sample weights",
            "Scan without `sample_weight`; single statistics and tests take weights.",
        )
    return Data((predictions, None), sample.predictions, sample.batch, predictions.n)


def _groups(groups: Any, n: int) -> HostArray | None:
    if groups is None:
        return None
    member = to_host(groups) if is_array(groups) else np.asarray(groups)
    if member.shape != (n,):
        raise InputError(
            "`groups`",
            f"must have one entry per prediction ({n})",
            f"got shape {member.shape}",
            "Check that both come from the same split.",
        )
    return member
