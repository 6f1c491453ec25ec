"""Labels that stand beside the predictions: a column of the same file, another file, a table, an array.

What carries ids or an index is joined with the predictions by it; a table of labels that does not name its
label is left to its values (`label_reading.from_table`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.checks import as_array, require_rows
from credibly._arrays.errors import InputError, InputTypeError, nearest, require_positive
from credibly._arrays.namespace import Array, is_numpy, to_host
from credibly.io.column_names import field_of, listed_names
from credibly.io.columns import Columns, roles_of
from credibly.io.files import path_text, read_content
from credibly.io.naming import use_canonical_names
from credibly.io.roles import ROLES, ROW_NUMBERS, Content, ReadOptions, described
from credibly.predictions import LabelCounts, OverClasses, Predictions, as_labels
from credibly.predictions.convert import is_frame
from credibly.predictions.dataset import named
from credibly.predictions.joining import order_by_index, order_by_name
from credibly.predictions.label_reading import (
    counts_of_raters,
    label_values,
    named_classes,
    numbers_of,
    word_of,
)
from credibly.predictions.labels import read_labels


def label_source(labels: Any, content: Content) -> str | Content:
    """Return the name of a column or array of the same file, or what holds the labels outside it."""
    text = path_text(labels)
    if text is None:
        return _labels_in_memory(labels)
    aliases = ROLES[text].aliases if text in ROLES else ()
    arrays = content.arrays if content.table is None else content.table
    for name in (text, *aliases, *(["counts"] if text == "label_counts" else [])):
        if name in arrays:
            return name
    if content.table is not None and text in ROLES and ROLES[text].prefixes:
        return Content("", {}, notes=[], meta={"role": text})  # several columns make it up
    if not Path(text).exists() and not Path(text).suffix:
        raise InputError(
            "`labels`",
            "must name a file or an array of the predictions' file",
            f"there is no file {text!r}, and the arrays are {', '.join(arrays)}",
            nearest(text, arrays),
        )
    other = read_content(text)
    content.paths.append(text)
    return other


def _labels_in_memory(labels: Any) -> Content:
    """Return labels in Python as what a file would hold: columns of a frame, or one array with its index."""
    if isinstance(labels, LabelCounts):
        return Content("", {"label_counts": to_host(labels.counts)})
    if is_frame(labels):
        return read_content(labels)
    index = getattr(labels, "index", None)
    index = None if callable(index) or not hasattr(labels, "iloc") else index
    return Content("", {"y": text_or_numbers(labels, "labels")}, index=index)


def joined_labels(
    other: Content, content: Content, options: ReadOptions
) -> tuple[dict[str, Array], Array | None]:
    """Return the labels of another file or table in the order of the predictions, and that order.

    The order is None where rows are matched by their places.
    """
    if "role" in other.meta:
        role = str(other.meta["role"])
        label_name = next((alias for alias in (role, "counts") if alias in content.arrays), role)
        return {label_role(role): content.arrays.pop(label_name)}, None
    outside, lines_in_order = bool(other.source), True
    set_aside_all(other)
    named: str | None = None
    if other.table is not None:
        names = [name for name in other.table if name.lower() in ROW_NUMBERS]
        arrays, notes = label_table(other.table, options, content.classes or ())
        if "rater_names" in arrays:
            content.label_columns = tuple(map(str, arrays.pop("rater_names")))
        others = roles_of(other.table, options) if options.id in (None, *other.table) else {}
        named = others.get("id", names[0] if names else None)
        lines_in_order = bool(arrays.pop("lines_in_order", True))
        if set(arrays) <= {"id"}:
            arrays |= _several_columns(other, content, named)
        other.arrays, other.table = arrays, None
        other.notes.extend(notes)
    else:
        use_canonical_names(other)
        named = other.id_name or ("id" if "id" in other.arrays else None)
        if options.id is not None and options.id in other.arrays:
            other.arrays["id"] = other.arrays.pop(options.id)
    if outside:
        content.note(*(f"labels file: {note}" for note in other.notes))
    labels = _chosen_labels(other)
    if content.left_out and "id" in other.arrays:
        keep = np.array([str(name) not in content.left_out for name in other.arrays["id"].tolist()])
        labels = {name: array[keep] for name, array in labels.items()}
        other.arrays["id"] = other.arrays["id"][keep]
    order = _order(content, other, named, lines_in_order)
    return {name: array if order is None else array[order] for name, array in labels.items()}, order


def _several_columns(other: Content, content: Content, named: str | None) -> dict[str, Array]:
    """Return all columns of a table that does not say which is the label, for their values to tell."""
    table = other.table or {}
    left = [name for name in table if name != named and name.lower() not in ROW_NUMBERS]
    columns = [table[name] for name in left]
    if not columns:
        return {}
    content.label_columns = tuple(left)
    if any(column.dtype.kind == "U" for column in columns):
        columns = [column.astype(np.str_) for column in columns]
    return {"y": np.stack(columns, axis=-1)}


def _chosen_labels(other: Content) -> dict[str, Array]:
    for name in ("y", "label_counts", "raters", "soft_labels", "counts", str(other.lone)):
        if name in other.arrays:
            return {label_role(name): other.arrays[name]}
    left = {name: array for name, array in other.arrays.items() if name != "id"}
    if len(left) == 1:
        return {"y": next(iter(left.values()))}
    raise InputError(
        f"the labels file '{other.source}'" if other.source else "`labels`",
        "must hold labels under `y` or `label_counts`",
        f"found {described(dict(list(other.arrays.items())[:8]))}",
        "Rename the array or column.",
    )


def _may_name(column: Array) -> bool:
    """Tell whether a column can name rows: text or whole numbers, which text files hold as floats."""
    if column.ndim != 1 or column.dtype.kind not in "iufU":
        return False
    return column.dtype.kind != "f" or bool((np.isfinite(column) & (column == np.rint(column))).all())


def shared_id(columns: Columns, other: Columns) -> str | None:
    """Return the column that names the same instances in both tables in another order, where no id does."""
    words = {"id", *ROLES["id"].aliases, *ROLES["id"].columns} - set(ROW_NUMBERS)
    if all(any(name.lower() in words for name in table) for table in (columns, other)):
        return None
    for name in columns:
        if name not in other or name.lower() in ROW_NUMBERS:
            continue
        if not all(_may_name(table[name]) for table in (columns, other)):
            continue
        keys, others = columns[name].tolist(), other[name].tolist()
        if keys != others and len(set(keys)) == len(keys) and set(keys) == set(others):
            return name
    return None


def _order(content: Content, other: Content, named: str | None, lines_in_order: bool) -> Array | None:
    """Return how the rows of labels are to be put to stand beside their predictions; None as they are."""
    ids, label_ids = content.arrays.get("id"), other.arrays.get("id")
    if ids is None and label_ids is not None:  # a column of another name that holds the same names
        ids = next((c for c in content.rest.values() if set(c.tolist()) == set(label_ids.tolist())), None)
    if ids is not None and label_ids is not None:
        if content.counts_rows or (named or "").lower() in ROW_NUMBERS:
            order, notes = order_by_index(ids, label_ids, what="labels")
        else:
            remedy = "Select the same instances in both, or leave the ids out of one: `exclude=[...]`."
            order, notes = order_by_name(ids, label_ids, what="the labels", remedy=remedy)
            if order is not None:
                notes = (*notes, f"labels are joined with the predictions by {named or 'id'!r}")
    elif content.index is not None and other.index is not None:
        order, notes = order_by_index(content.index, other.index, what="labels")
    else:
        if label_ids is None or other.arrays.get("raters") is None:
            return None
        if label_ids.dtype.kind in "iuf":
            order = np.argsort(label_ids, kind="stable")
            if np.array_equal(label_ids[order] - label_ids[order[0]], np.arange(len(order))):
                content.note("the predictions have no ids: raters' labels are paired by their row numbers")
                return np.asarray(order)
        if not lines_in_order:
            raise InputError(
                "the predictions",
                "must have ids if lines of raters are in no order",
                "different raters labelled the instances in different orders",
                "Save the ids with the predictions, as `id`, or sort the lines as the predictions are.",
            )
        content.note(
            "the predictions have no ids: raters' labels are paired in the order of first appearance"
        )
        return None
    content.note(*notes)
    return order


def label_role(name: str) -> str:
    """Return the role of labels that an array of this name plays."""
    if name in ("label_counts", "label_count", "counts"):
        return "label_counts"
    return name if name in ("raters", "soft_labels") else "y"


def text_or_numbers(values: Any, name: str) -> Array:
    """Return values beside the predictions as an array of numbers or of text."""
    array = label_values(values)
    if is_numpy(array) and array.dtype.kind == "U":
        return array
    return to_host(as_array(array, name))


def set_aside_all(content: Content) -> None:
    """Move `classes`, `meta` and `member_axis` from the arrays to where they belong."""
    classes, meta, axis = (content.arrays.pop(name, None) for name in ("classes", "meta", "member_axis"))
    if classes is not None:
        if classes.ndim != 1 or classes.dtype.kind not in "Uiu":
            arrays = described({"classes": classes})
            raise InputTypeError("`classes`", "must be a list of names", f"got {arrays}", "Save strings.")
        content.set_aside("classes", classes.tolist())
    if meta is not None:
        text = str(meta.ravel()[0]) if meta.size == 1 and meta.dtype.kind == "U" else None
        try:
            value = json.loads(text or "")
        except (ValueError, RecursionError):
            value = None
        if not content.set_aside("meta", value):
            content.note("`meta` is not a JSON object; it is kept as text")
            content.set_aside("meta", {} if text is None else {"text": text})
    if axis is not None and axis.size == 1 and axis.dtype.kind in "iu":
        content.set_aside("member_axis", int(axis.ravel()[0]))


# A table of labels: what is no id and no index holds them


def label_table(
    table: Columns, options: ReadOptions, taken: Iterable[str]
) -> tuple[dict[str, Array], list[str]]:
    """Return the labels of a table by role, with their ids, and what was read; see `Content.label_columns`.

    Parameters
    ----------
    table : mapping of str to array
        Columns of a file or data frame.
    options : ReadOptions
        What the user says about the file.
    taken : iterable of str
        Class names of the predictions, which columns of counts or one-hot labels repeat.

    Returns
    -------
    arrays : dict of str to array
        ``y``, ``label_counts``, or ``raters`` with ``rater_names``; perhaps ``id``. ``y`` may have several
        columns.
    notes : list of str
        What was read.
    """
    columns = {name: column for name, column in table.items() if name not in set(options.exclude)}
    roles = roles_of(columns, options) if options.id in (None, *columns) else {}
    notes: list[str] = []
    arrays: dict[str, Array] = {}
    ids = columns.get(roles["id"]) if "id" in roles else None
    left = {name: column for name, column in columns.items() if name not in roles.values()}
    left = {name: column for name, column in left.items() if name.lower() not in ROW_NUMBERS}
    if "rater" in roles:
        if ids is None and (name := _instances(columns, roles, left)) is not None:
            notes.append(f"column {name!r} names the instances")
            roles["id"] = name
            del left[name]
        if "id" in roles:
            arrays, more = _rater_lines(columns, roles, left)
            return arrays, [*notes, *more]
    fields: dict[str, dict[str, Array]] = {}
    for name, column in left.items():
        named = field_of(name)
        if named is not None and named[0] in ("label_counts", "counts", "raters"):
            fields.setdefault("raters" if named[0] == "raters" else "label_counts", {})[named[1]] = column
    if "y" in roles:
        arrays["y"] = columns[roles["y"]]
        if roles["y"] != "y":
            notes.append(f"column {roles['y']!r} is read as the label")
        if left:
            notes.append(f"not used: columns {listed_names(left)}")
    elif len(fields) == 1:
        ((role, parts),) = fields.items()
        known = list(taken)
        order = list(parts)
        numbers = numbers_of(order)
        if role == "label_counts" and known and set(known) == set(order):
            order = known
        elif numbers is not None:
            order = [order[j] for j in np.argsort(numbers)]
        arrays[role] = np.stack([parts[name] for name in order], axis=-1)
        if role == "raters":
            arrays["rater_names"] = np.array(order)
        notes.append(f"columns {listed_names(f'{name}' for name in order)} are read as {ROLES[role].meaning}")
    elif len(left) == 1:
        ((name, column),) = left.items()
        arrays["y"] = column
        notes.append(f"column {name!r} is read as the label")
    elif not left and ids is not None and len(columns) == 1:
        arrays["y"], ids = ids, None  # one column, whatever it is called
    if ids is not None:
        arrays["id"] = ids
    return arrays, notes


def _instances(columns: Columns, roles: Mapping[str, str], left: Iterable[str]) -> str | None:
    """Return the column that names the instances of raters' lines: it repeats, but never for one rater.

    A few instances that a rater labelled twice are let through: `_rater_lines` names them.
    """
    raters = columns[roles["rater"]].tolist()
    candidates, nearly = [], []
    for name in left:
        values = columns[name].tolist() if columns[name].ndim == 1 and name != roles.get("y") else []
        pairs = set(zip(values, raters, strict=False))
        if len(set(values)) < len(pairs) and len(pairs) >= 0.9 * len(raters):
            nearly.append(name)
            candidates += [name] if len(pairs) == len(raters) else []
    candidates = candidates or nearly
    return candidates[0] if len(candidates) == 1 else None


def _rater_lines(
    columns: Columns, roles: Mapping[str, str], left: Mapping[str, Array]
) -> tuple[dict[str, Array], list[str]]:
    """Turn one row per instance and rater into one row per instance, with a blank where a rater gave none."""
    name = roles.get("y") or (next(iter(left)) if len(left) == 1 else None)
    if name is None:
        raise InputError(
            "a table with a `rater` column",
            "must have one column with the label",
            f"found {listed_names(columns)}",
            "Name it `label`.",
        )
    ids, raters = (columns[roles[role]].tolist() for role in ("id", "rater"))
    for role, values in (("id", ids), ("rater", raters)):
        blank = sum(word_of(value) == "" for value in values)
        if blank:
            raise InputError(
                f"column {roles[role]!r}",
                "must be filled in on every line of a table of raters",
                f"{blank} of {len(values)} lines are blank there",
                "Fill them in, or remove these lines.",
            )
    instances = {instance: i for i, instance in enumerate(dict.fromkeys(ids))}
    people = {rater: j for j, rater in enumerate(dict.fromkeys(raters))}
    cells = [[""] * len(people) for _ in instances]
    last, lines_in_order = dict.fromkeys(raters, -1), True
    for instance, rater, label in zip(ids, raters, map(word_of, columns[name].tolist()), strict=True):
        row, place = cells[instances[instance]], people[rater]
        lines_in_order &= instances[instance] >= last[rater]
        last[rater] = instances[instance]
        if row[place] not in ("", label) and label:
            raise InputError(
                "a table of raters",
                "must hold one label per instance and rater",
                f"rater {rater!r} labelled {instance!r} {row[place]!r} and {label!r}",
                "Keep one of them, or give the second pass a rater name of its own.",
            )
        row[place] = label or row[place]
    note = f"one row per instance and rater; {len(people)} raters of {len(instances)} instances"
    names = np.array(list(map(str, people)))
    return {
        "raters": np.array(cells, dtype=np.str_),
        "id": np.array(list(instances)),
        "rater_names": names,
        "lines_in_order": np.array(lines_in_order),
    }, [note]


def counts_of_shares(shares: Array, n_raters: int) -> LabelCounts:
    """Return shares of raters times their number; shares that are none of that many raters are refused."""
    require_positive("`n_raters`", n_raters, "Count the raters.")
    counts = np.asarray(shares, dtype=np.float64) * n_raters
    whole = np.round(counts)
    require_rows(
        (shares, counts, whole),
        lambda _, count, near: (np.abs(count - near).max(axis=1) > 0.05) | (near.sum(axis=1) != n_raters),
        name="labels",
        rule=f"must be shares of {n_raters} raters",
        fact=lambda row, *_: f"holds {row.tolist()}",
        remedy="Give the number of raters behind the shares; `drop_invalid=True` leaves these rows out.",
    )
    return LabelCounts(whole.astype(np.int64))


def resolved_labels(
    content: Content, predictions: Predictions, options: ReadOptions
) -> Array | LabelCounts | None:
    """Return the labels checked against the predictions; every reading that is not literal is noted."""
    labels = content.arrays.get("y")
    if labels is None:
        for name in ("label_counts", "raters", "soft_labels"):
            if name in content.arrays:
                return _checked_counts(predictions, content.arrays[name], name, options, content)
        return None
    if isinstance(predictions, LabelCounts):
        if labels.dtype.kind == "U":
            said_of_labels: list[str] = []
            labels = named_classes(labels, content.classes, said_of_labels)
            content.note(*said_of_labels)
        return _checked_beside_counts(predictions, labels)
    if isinstance(predictions, OverClasses):
        if options.n_raters is not None and labels.ndim == 2 and labels.shape[1] == predictions.n_classes:
            return _checked_counts(predictions, labels, "soft_labels", options, content)
        if content.label_order is not None and content.named_by is not None:
            labels = _in_order(labels, content)
        columns, ordered = content.label_columns, content.named_by is None or content.label_order is not None
        if content.named_by == "lines" and not ordered:
            _require_names(labels, content)
        known_by_name = named(predictions, content.classes)
        resolved, notes = read_labels(known_by_name, labels, columns=columns, ordered=ordered)
    else:
        resolved, notes = read_labels(predictions, labels)
    content.note(*notes)
    as_labels(predictions, resolved)
    return resolved


def _in_order(labels: Array, content: Content) -> Array:
    """Turn numbers that count the classes in the order that was said into their names."""
    order = content.label_order or ()
    if labels.dtype.kind not in "iu" or (labels < 0).any() or (labels >= len(order)).any():
        return labels
    content.note(f"label 0 is {order[0]!r}, as `classes` says")
    return np.array(order)[labels]


def _require_names(labels: Array, content: Content) -> None:
    names = content.classes or ()
    if labels.dtype.kind in "iub" and numbers_of(list(names)) is None:
        raise InputError(
            "`labels`",
            "must be class names if the table has one row per class",
            f"they are numbers, and the lines of {', '.join(names[:6])} have no order",
            f"Say which class is 0, 1, ...: `classes={','.join(names)}` or another order.",
        )


def _checked_counts(
    predictions: Predictions, table: Array, name: str, options: ReadOptions, content: Content
) -> LabelCounts:
    if not isinstance(predictions, OverClasses):
        raise InputTypeError(
            "label counts",
            "belong to class predictions",
            f"got {type(predictions).__name__}",
            "Give real observations as `y`.",
        )
    if name == "raters":
        counted = tuple(map(str, range(predictions.n_classes)))
        known = counted if content.classes is None else content.classes
        names = content.label_columns or ()
        order = content.label_order or (known if content.named_by is None else None)
        names = names if len(names) == table.shape[1] else ()
        counts = counts_of_raters(table, known, names, order or ())
        content.note(f"{table.shape[1]} columns of raters are counted, blanks left out")
    elif name == "soft_labels" or (options.n_raters is not None and table.dtype.kind == "f"):
        if options.n_raters is None:
            rule, remedy = "must come with the number of raters", "Use `n_raters=N`."
            raise InputError("`soft_labels`", rule, "it was not given", remedy)
        counts = counts_of_shares(table, options.n_raters)
        content.note(f"shares of raters are read as counts of {options.n_raters} raters")
    else:
        counts = LabelCounts(table)
    as_labels(predictions, counts)
    return counts


def _checked_beside_counts(counts: LabelCounts, labels: Array) -> Array:
    whole = labels.ndim == 1 and labels.dtype.kind in "iub"
    if not whole or (labels < 0).any() or (labels >= counts.n_classes).any():
        raise InputError(
            "`labels`",
            f"must be {len(counts)} class indices from 0 to {counts.n_classes - 1}",
            f"got shape {tuple(labels.shape)} of {labels.dtype}",
            "Leave them out, or correct them.",
        )
    return labels
