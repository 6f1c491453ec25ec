"""Models that are compared must speak of the same instances and classes, in one order.

Instances are joined by their ids or indexes, classes by their names, never by position where names are known.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import rows_within_budget, to_host
from credibly.predictions import Belief, Classes, Counts, Dataset, InMemory, LabelCounts, Rows
from credibly.predictions.given import with_notes
from credibly.predictions.joining import order_by_index, order_by_name


def matched(data: Dataset, first: Dataset, name: str) -> Dataset:
    """Return data with the instances and classes in the order of those of another model, with notes.

    Parameters
    ----------
    data, first : Dataset
        Two models of the same instances; ids, indexes and names of classes are compared where both have them.
    name : str
        What to call `data` in errors.

    Returns
    -------
    Dataset
        The same rows, joined by their ids, and the same classes, matched by name.
    """
    order: Any = None
    notes: list[str] = []
    if first.ids is not None and data.ids is not None:
        remedy = "Predict one test set with all models."
        order, reading = order_by_name(first.ids, data.ids, what=f"{name!r}", remedy=remedy)
        notes += reading
        notes += [] if order is None else ["instances are joined with those of the first model by their ids"]
    elif first.index is not None and data.index is not None:
        order, reading = order_by_index(first.index, data.index, what=name)
        notes += reading
    if order is not None:
        data = data.take(order)
    if first.classes is not None and data.classes is not None and data.classes != first.classes:
        data = _with_classes(data, first.classes, name)
        notes.append("classes are matched with those of the first model by name")
    if not notes:
        return data
    predictions = with_notes(data.predictions, notes)
    return dataclasses.replace(data, predictions=predictions, notes=(*data.notes, *notes))


def matched_models(models: dict[str, Rows]) -> dict[str, Rows]:
    """Return models with the instances and classes of the first.

    Rows in chunks stay where they are if their ids and classes agree already; otherwise they are taken into
    memory to be joined, where they fit.
    """
    wholes = {name: rows.loaded() for name, rows in models.items()}
    if any(whole is None for whole in wholes.values()):
        if _in_step(models):
            return models
        wholes = {name: rows.loaded(_rows_that_fit(rows)) for name, rows in models.items()}
        if any(whole is None for whole in wholes.values()):
            raise InputError(
                "the models",
                "must have the same instances and classes in the same order when they are read in chunks",
                "their ids or class names are in a different order, and the rows do not fit into memory",
                "Sort the files by id, with the same columns in the same order.",
            )
    first, *_ = wholes.values()
    made: dict[str, Rows] = {}
    for name, whole in wholes.items():
        assert first is not None and whole is not None
        made[name] = models[name] if whole is first else InMemory(matched(whole, first, name))
    return made


def _in_step(models: dict[str, Rows]) -> bool:
    """Tell whether all models have the ids and the classes of the first, as far as they have some."""
    (_, first), *others = models.items()
    classes, keys = first.example.classes, None
    for _, rows in others:
        if classes is not None and rows.example.classes is not None and rows.example.classes != classes:
            return False
        if first.example.ids is None or rows.example.ids is None:
            continue
        keys = _ids(first) if keys is None else keys
        if keys != _ids(rows):
            return False
    return True


def _ids(rows: Rows) -> list[str]:
    return [str(name) for part in rows.map(_ids_of) for name in part]


def _ids_of(data: Dataset) -> list[Any]:
    return [] if data.ids is None else list(np.asarray(data.ids).tolist())


def _rows_that_fit(rows: Rows) -> int:
    """Return how many such rows fit into half of the memory budget."""
    predictions = rows.example.predictions
    return rows_within_budget(8 * int(np.prod(predictions._leading.shape[1:])), 0.5)


def _with_classes(data: Dataset, classes: tuple[str, ...], name: str) -> Dataset:
    """Put the classes into another order: the last axis of all arrays over them, and the labels."""
    names = data.classes or ()
    model = data.predictions
    if set(names) != set(classes) or isinstance(model, Belief):
        raise InputError(
            f"the classes of {name!r}",
            "must be those of the first model" + (", in its order" if isinstance(model, Belief) else ""),
            f"got {', '.join(names[:6])} instead of {', '.join(classes[:6])}",
            "Use the same class names in all models.",
        )
    order = np.array([names.index(label) for label in classes])
    fields = {field: getattr(model, field)[..., order] for field in model.row_fields}
    labels = data.labels
    if isinstance(labels, LabelCounts):
        labels = LabelCounts(labels.counts[:, order])
    elif isinstance(labels, Counts):
        labels = dataclasses.replace(labels, values=labels.values[..., order])
    elif isinstance(labels, Classes):
        labels = dataclasses.replace(labels, values=np.argsort(order)[to_host(labels.values)])
    elif labels is not None:
        labels = np.argsort(order)[np.asarray(labels)]
    return dataclasses.replace(data, predictions=model.replace_rows(**fields), labels=labels, classes=classes)
