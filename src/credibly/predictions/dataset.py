"""The one noun above predictions: some consecutive rows with all that belongs to them.

Predictions, labels, weights, groups, clusters, features, ids and the index of the first row.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from credibly._arrays.namespace import HostArray, like, namespace
from credibly.predictions.base import Predictions
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.labels import Counts, Labels, as_labels, check_sample_weight

P = TypeVar("P", bound=Predictions)


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset:
    """Some consecutive rows and all that belongs to them.

    Attributes
    ----------
    predictions : Predictions
        The predictions, validated.
    labels : array (n,), LabelCounts, Labels or None
        What was observed.
    features : array (n, d) or None
        Features of the instances.
    groups : array (n,), mapping of str to array (n,), or None
        Group of every instance, or several attributes by name.
    ids : array (n,) or None
        Name of every instance.
    clusters : array (n,) or None
        Which instances belong together: those of different clusters are independent.
    classes : tuple of str or None
        Names of the classes.
    meta : mapping
        What the file says about itself.
    notes : tuple of str
        Everything that was inferred, converted, not used or dropped, in words.
    source : str
        The path as given.
    digest : str
        First 16 hexadecimal digits of the SHA-256 of the bytes that were read.
    dropped : int
        Number of rows dropped on request.
    weights : array (n,) or None
        Weights of the instances.
    start : int
        Index of the first row among all.
    classes_ordered : bool
        Whether the classes were named in the order of integer labels, not only as columns of a table.
    index : object
        Names of the rows of a data frame.
    feature_names : tuple of str or None
        Names of the features.
    others : mapping of str to array (n,)
        Columns of a table that are not used, for those who write the table again; parts of the rows have
        none.
    read : mapping or None
        What was said to `load`, if the data are as it read them: a changed copy has none.
    """

    predictions: Predictions
    labels: Any
    features: Any = None
    groups: Any = None
    ids: Any = None
    classes: tuple[str, ...] | None = None
    meta: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = ""
    dropped: int = 0
    weights: Any = None
    start: int = 0
    classes_ordered: bool = True
    index: Any = None
    feature_names: tuple[str, ...] | None = None
    clusters: Any = None
    others: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    read: Mapping[str, Any] | None = dataclasses.field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        labels = "none" if self.labels is None else "one per instance"
        beside = {
            "labels": self.labels if isinstance(self.labels, LabelCounts) else labels,
            "classes": self.classes and list(self.classes),
            "groups": list(self.groups) if isinstance(self.groups, Mapping) else self.groups is not None,
            **{name: getattr(self, name) is not None for name in ("features", "ids", "clusters", "weights")},
            "source": self.source,
        }
        words = [repr(self.predictions)]
        words += [name if shown is True else f"{name}: {shown}" for name, shown in beside.items() if shown]
        return f"Dataset({', '.join(words)})"

    @cached_property
    def batch(self) -> Labels:
        """What was observed, checked, as a batch of one with the weights."""
        return as_labels(self.predictions, self.labels, self.weights)

    @property
    def checked_weights(self) -> Any:
        """The weights (1, n), or None; also of rows without labels."""
        if self.labels is not None:
            return self.batch.weights
        return None if self.weights is None else check_sample_weight(self.weights, self.predictions)

    @property
    def observed(self) -> Any:
        """The labels as a user would pass them: (n,), or counts over raters."""
        batch = self.batch
        if isinstance(self.labels, LabelCounts):
            return self.labels
        return LabelCounts(batch.values[0, ...]) if isinstance(batch, Counts) else batch.values[0, ...]

    def rows(self, rows: slice) -> Dataset:
        """Return some consecutive rows of these, as views."""
        start = self.start + rows.start
        return self._part(rows, lambda array, axis: array[(slice(None),) * axis + (rows, ...)], start)

    def take(self, rows: HostArray) -> Dataset:
        """Return the rows at these places, counted from the first of these; `start` stays."""
        return self._part(
            rows, lambda array, axis: namespace(array).take(array, like(rows, array), axis=axis), self.start
        )

    def _part(self, rows: Any, chosen: Callable[[Any, int], Any], start: int) -> Dataset:
        """Return some rows, `chosen` along an axis of every array."""

        def part(array: Any, axis: int = 0) -> Any:
            return None if array is None else chosen(array, axis)

        labels, weights = self.labels, self.weights
        if isinstance(labels, LabelCounts) and weights is None:  # which know who gave which label
            labels = labels[rows]
        elif labels is not None:
            batch, weights = self.batch, None
            labels = dataclasses.replace(batch, values=part(batch.values, 1), weights=part(batch.weights, 1))
        return dataclasses.replace(
            self,
            predictions=self.predictions[rows],
            labels=labels,
            weights=part(weights),
            groups=each_attribute(part, self.groups),
            ids=part(self.ids),
            clusters=part(self.clusters),
            features=part(self.features),
            index=None,
            others={},
            start=start,
        )


def each_attribute(work: Callable[[Any], Any], groups: Any) -> Any:
    """Apply work to the groups of rows, or to every attribute of them; None stays None."""
    if isinstance(groups, Mapping):
        return {name: work(column) for name, column in groups.items()}
    return None if groups is None else work(groups)


def named(predictions: P, classes: tuple[str, ...] | None, index: Any = None) -> P:
    """Return the same predictions with the names that labels are matched with."""
    if predictions.classes == classes and predictions.index is index:
        return predictions
    copied = copy.copy(predictions)
    copied._set(classes=classes, index=index)
    return copied


def joined_rows(chunks: Sequence[Dataset]) -> Dataset:
    """Return the rows of several chunks as one, in their order."""

    def together(arrays: Sequence[Any], axis: int = 0) -> Any:
        missing = any(array is None for array in arrays)
        return None if missing else namespace(*arrays).concat(list(arrays), axis=axis)

    parts = [chunk.predictions for chunk in chunks]
    arrays = [part.row_arrays() for part in parts]
    predictions = parts[0].replace_rows(
        **{name: together([fields[name] for fields in arrays]) for name in arrays[0]}
    )
    predictions._set(notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)))
    labels = dataclasses.replace(
        chunks[0].batch,
        values=together([chunk.batch.values for chunk in chunks], 1),
        weights=together([chunk.batch.weights for chunk in chunks], 1),
    )
    names = ("ids", "clusters", "features")
    columns = {name: together([getattr(chunk, name) for chunk in chunks]) for name in names}
    groups = [chunk.groups for chunk in chunks]
    if all(isinstance(attributes, Mapping) for attributes in groups):
        columns["groups"] = {name: together([each[name] for each in groups]) for name in groups[0]}
    else:
        columns["groups"] = together(groups)
    return dataclasses.replace(
        chunks[0], others={}, predictions=predictions, labels=labels, weights=None, **columns
    )
