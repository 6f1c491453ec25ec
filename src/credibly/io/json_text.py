"""JSON: an object of named arrays, a bare array, a list of records, or one record per line."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError, InputError, InputTypeError, require_type
from credibly._arrays.namespace import Array
from credibly.io.column_names import TEXT_ROLES, field_of, listed_names
from credibly.io.limits import reading, require_file, text_array
from credibly.io.roles import ROLES, Content, membership_of
from credibly.io.text import read_utf8
from credibly.predictions.convert import by_class, names_its_classes

_DTYPES = {"bool", *(f"float{bits}" for bits in (16, 32, 64))}
_DTYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NOT_ARRAYS = {"format", "version", "classes", "meta", "focal_sets", "n_classes", "dtypes", "member_axis"}


def read_json_value(path: str) -> Any:
    """Return what a JSON file holds."""
    text = read_utf8(path)
    with reading(path, ".json"):
        return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; a key that appears twice is refused, not chosen from."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"the JSON key {twice!r}", "must appear once in its object", "it appears twice", "Remove one."
        )
    return value


def read_json_lines(path: str) -> Content:
    """Read one JSON object per line, a record each."""
    records = []
    for line, text in enumerate(read_utf8(path).splitlines(), 1):
        if not text.strip():
            continue
        with reading(path, ".jsonl"):
            record = json.loads(text, object_pairs_hook=_distinct)
        if names_its_classes(record):
            record = {"probs": record}
        if not isinstance(record, dict):
            raise FileError(
                f"'{path}' line {line}",
                "must be a JSON object",
                f"got {type(record).__name__}",
                "Correct it.",
            )
        records.append(record)
    if not records:
        raise FileError(f"'{path}'", "must hold records", "it is empty", "Check how it was made.")
    return _of_records(records, ".jsonl", path)


def from_json(value: Any, path: str) -> Content:
    """Return the arrays of a JSON file by name; `dtypes` restores the precision that `cr.save` found."""
    if isinstance(value, list) and value and all(map(names_its_classes, value)):
        value = [{"probs": entry} for entry in value]
    if isinstance(value, dict) and (records := _by_id(value)) is not None:
        content = _of_records(records, ".json", path)
        content.note(f"the {len(records)} keys of the file are read as ids")
        return content
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        return _of_records(value, ".json", path)
    if isinstance(value, list):
        return Content(".json", {"array": to_array(value, "array", path)}, lone="array")
    if not isinstance(value, dict):
        raise FileError(
            f"'{path}'",
            "must be a JSON object of named arrays",
            f"got {type(value).__name__}",
            'Write {"probs": [[...], ...], "y": [...]}.',
        )
    return from_object(value, ".json", path)


def read_json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON file that holds one object."""
    require_type(
        isinstance(path, str | os.PathLike), "must be the path of a file", "Name the file.", path=path
    )
    name = os.fspath(path)
    require_file(name)
    value = read_json_value(name)
    if not isinstance(value, dict):
        raise FileError(
            f"'{name}'", "must be a JSON object", f"got {type(value).__name__}", "Check the file."
        )
    return value


def from_object(value: dict[str, Any], form: str, path: str) -> Content:
    """Return the arrays of a JSON object, with the entries that have a meaning of their own put in place."""
    content = Content(form, {})
    dtypes = value.get("dtypes")
    dtypes = dtypes if isinstance(dtypes, dict) else {}
    for name, entry in value.items():
        if name in _NOT_ARRAYS:
            if not content.set_aside(name, entry) and name == "meta" and entry is not None:
                content.note("`meta` is not an object and is not used")
        elif isinstance(entry, list):
            content.arrays[name] = _restored(to_array(entry, name, path), name, dtypes.get(name))
        else:
            content.note(f"not used: {name!r} ({type(entry).__name__})")
    if "focal_sets" in value:
        count = value.get("n_classes", len(content.classes) if content.classes else None)
        if not isinstance(count, int | None):
            raise InputTypeError("`n_classes`", "must be an integer", f"got {count!r}", "Correct the file.")
        content.arrays["focal_sets"] = membership_of(value["focal_sets"], count)
    return content


def to_array(entry: Any, name: str, path: str) -> Array:
    """Return nested lists as an array of numbers or of text; anything else is refused."""
    with reading(path, ".json"):
        try:
            array = np.asarray(entry)
        except ValueError:
            raise InputError(
                f"`{name}`",
                "must be a rectangular array",
                "its rows differ in length or depth",
                "Give every row the same length.",
            ) from None
    if array.dtype.kind == "U" and array.ndim == 1:
        return text_array(f"'{path}'", f"`{name}`", entry)
    if array.dtype.kind not in "fiub":
        raise InputTypeError(
            f"`{name}`",
            "must hold numbers (or one list of strings)",
            "it holds null, text or objects among them",
            "Write NaN as NaN, and leave out what is not a number. A log of a language model needs "
            '{"confidence": 0.8, "correct": true}, or {"options": [...], "answer": ..., "logprobs": [...]}.',
        )
    return array


def _restored(array: Array, name: str, dtype: Any) -> Array:
    if dtype is None or array.dtype.kind == "U":
        return array
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise InputError(
            f"the dtype of `{name}`", "must be a plain number type", f"got {dtype!r}", "Remove it."
        )
    with np.errstate(all="ignore"):
        restored = array.astype(dtype)
    if not np.array_equal(restored.astype(array.dtype), array, equal_nan=array.dtype.kind == "f"):
        raise InputError(
            f"`{name}`", f"must be numbers of type {dtype}", "some cannot be stored so", "Remove `dtypes`."
        )
    return restored


def _of_records(records: list[dict[str, Any]], form: str, path: str) -> Content:
    """Return the columns of records; an entry that names its classes becomes one column per class."""
    names = list(records[0])
    for row, record in enumerate(records):
        if list(record) != names and set(record) != set(names):
            raise InputError(
                f"record {row}",
                f"must have the keys of the first: {', '.join(names[:6])}",
                f"got {', '.join(list(record)[:6])}",
                "Give every record the same keys.",
            )
    columns: dict[str, Array] = {}
    content = Content(form, {}, table=columns)
    for name in names:
        if all(names_its_classes(record[name]) for record in records):
            content.named_by = "lines"  # sorted by score, which is no order of classes
        entries = [_by_class(record[name]) for record in records]
        if isinstance(entries[0], dict) and entries[0]:
            columns |= _class_columns(name, entries, path)
            content.note(f"the entries of `{name}` name their classes: {listed_names(entries[0])}")
        else:
            columns[name] = to_array(entries, name, path)
    return content


def _by_class(value: Any) -> Any:
    """Return probabilities that name their classes as an object of them; everything else as it is."""
    return by_class(value) if names_its_classes(value) else value


def _class_columns(name: str, entries: list[Any], path: str) -> dict[str, Array]:
    """Return one column per class of entries such as {"cat": 0.2, "dog": 0.8}."""
    names = sorted(entries[0]) if isinstance(entries[0], dict) else []
    for row, entry in enumerate(entries):
        if not isinstance(entry, dict) or sorted(entry) != names:
            got = ", ".join(list(entry)[:6]) if isinstance(entry, dict) else type(entry).__name__
            raise InputError(
                f"`{name}` of record {row}",
                f"must name the classes of the first: {', '.join(names[:6])}",
                f"got {got}",
                "Give every record all classes.",
            )
    names = list(entries[0])
    prefix = "probs" if name.lower() in ROLES["score"].aliases or name == "score" else name
    return {f"{prefix}_{label}": to_array([entry[label] for entry in entries], name, path) for label in names}


def _by_id(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records of an object such as {"img_1": {"probs": ..., "label": 1}, ...}; None for others.

    The entries of an id are an object, or a list of probabilities.
    """
    entries = list(value.values())
    if len(entries) < 2 or any(name in _NOT_ARRAYS or name in ROLES for name in value):
        return None
    if all(isinstance(entry, dict) and entry for entry in entries):
        if any("id" in entry for entry in entries):
            return None
        bare = all(isinstance(number, (int, float)) for entry in entries for number in entry.values())
        named = bare and not any(name.lower() in TEXT_ROLES or field_of(name) for name in entries[0])
        return [{"id": name, **({"probs": entry} if named else entry)} for name, entry in value.items()]
    if not all(isinstance(entry, list) and len(entry) == len(entries[0]) > 1 for entry in entries):
        return None
    numbers = np.asarray(entries, dtype=object)
    if numbers.ndim != 2 or not all(isinstance(number, (int, float)) for number in numbers.ravel().tolist()):
        return None
    sums = [np.abs(numbers.astype(np.float64).sum(axis=axis) - 1) < 1e-3 for axis in (0, 1)]
    if not sums[1].all() or sums[0].all():  # sums over the other axis are those of columns
        return None
    return [{"id": name, "probs": entry} for name, entry in value.items()]
