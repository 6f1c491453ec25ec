"""Batches of predictions that wait for their labels, in types JSON knows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly import predictions as kinds
from credibly._arrays.errors import require
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly.monitor.process import codes_of_batch
from credibly.predictions import Confidence, Dataset, LabelCounts, Predictions, Samples, as_rows


@dataclasses.dataclass
class Waiting:
    """A batch whose labels come later; it is paid when no label is missing.

    Attributes
    ----------
    process : int
        Which process it belongs to.
    predictions : dict
        Type and fields.
    ids : list of str
        Names of the rows.
    groups : dict of str to list of int
        Rows of every group.
    clusters : list of int or None
        Number of the cluster of every row.
    labels : list
        What has come so far; None where nothing has.
    forgotten : list of int
        Rows that nobody waits for any more.
    """

    process: int
    predictions: dict[str, Any]
    ids: list[str]
    groups: dict[str, list[int]]
    clusters: list[int] | None
    labels: list[Any]
    forgotten: list[int] = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, process: int, rows: Dataset, ids: list[str], masks: dict[str, HostArray]) -> Waiting:
        """Return predictions that wait from now on."""
        groups = {name: np.flatnonzero(mask).tolist() for name, mask in masks.items()}
        codes = codes_of_batch(rows)
        clusters = None if codes is None else codes.tolist()
        return cls(process, _written(rows.predictions), ids, groups, clusters, [None] * len(ids))

    @property
    def missing(self) -> dict[str, int]:
        """Names and places of the rows without a label."""
        return {self.ids[at]: at for at, label in self.seen.items() if label is None}

    @property
    def seen(self) -> dict[int, Any]:
        """Places and labels of the rows that are not forgotten."""
        forgotten = set(self.forgotten)
        return {at: label for at, label in enumerate(self.labels) if at not in forgotten}

    @property
    def known(self) -> dict[int, Any]:
        """Places and labels that have come."""
        return {at: label for at, label in self.seen.items() if label is not None}

    def masks(self) -> dict[str, HostArray]:
        """Return which of the rows that are not forgotten are in every group that has some."""
        masks = {name: np.isin(list(self.seen), rows) for name, rows in self.groups.items()}
        return {name: mask for name, mask in masks.items() if mask.any()}

    def rows(self, values: dict[int, Any], classes: tuple[str, ...] | None) -> Dataset:
        """Return the rows that have these labels, checked."""
        positions, labels = np.array(list(values)), list(values.values())
        require(
            len({isinstance(label, list) for label in labels}) == 1,
            "must be of one kind in a batch: counts of raters, or one label per row",
            "Give all rows that were predicted together the same kind.",
            labels=labels[0],
        )
        observed = LabelCounts(np.array(labels)) if isinstance(labels[0], list) else np.array(labels)
        rows: Dataset = as_rows(_read(self.predictions)[positions], observed, classes=classes).example
        clusters = None if self.clusters is None else np.array(self.clusters)[positions]
        rows = dataclasses.replace(rows, clusters=clusters)
        rows.batch  # noqa: B018 - checks the labels
        return rows


def _written(predictions: Predictions) -> dict[str, Any]:
    """Return predictions as JSON knows them: what their type is made of."""
    fields = {}
    for field in dataclasses.fields(predictions):
        if field.init:
            value = getattr(predictions, field.name)
            value = [sorted(members) for members in value] if field.name == "focal_sets" else value
            fields[field.name] = to_host(value).tolist() if is_array(value) else value
    return {"kind": type(predictions).__name__, **fields}


def _read(written: dict[str, Any]) -> Predictions:
    """Return the predictions that `_written` wrote."""
    kind = getattr(kinds, written["kind"])
    fields = {
        name: np.array(value) if isinstance(value, list) and name != "focal_sets" else value
        for name, value in written.items()
        if name != "kind"
    }
    if kind is Confidence:
        return Confidence(fields["probs"][:, 1])
    axes = fields[kind.row_fields[0]].ndim
    if "member_axis" in kind.__dataclass_fields__ and (kind is Samples or axes == kind.axes_with_members):
        fields["member_axis"] = 1
    made: Predictions = kind(**fields)
    return made
