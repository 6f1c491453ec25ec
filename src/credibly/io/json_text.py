"""JSON files: an object of named arrays, a bare array, or a list of records."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError, InputError, InputTypeError
from credibly.io.bounds import text_array
from credibly.io.columns import from_columns
from credibly.io.content import Content, membership_of
from credibly.io.damage import reading, require_file
from credibly.io.text import read_utf8

_DTYPES = frozenset(
    {
        "float16",
        "float32",
        "float64",
        "bool",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)
_NOT_ARRAYS = frozenset(
    {"format", "version", "classes", "meta", "focal_sets", "n_classes", "dtypes", "member_axis"}
)


def read_json(path: str) -> Content:
    """Read arrays by name; `dtypes` restores the precision that `cr.save` found."""
    text = read_utf8(path)
    with reading(path, ".json"):
        value = json.loads(text)
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        return from_columns(_record_columns(value, path), ".json", path)
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
    name = os.fspath(path)
    require_file(name)
    text = read_utf8(name)
    with reading(name, ".json"):
        value = json.loads(text)
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
            continue
        if isinstance(entry, list):
            content.arrays[name] = _restored(to_array(entry, name, path), name, dtypes.get(name))
        else:
            content.notes.append(f"not used: {name!r} ({type(entry).__name__})")
    classes, meta, axis = (value.get(name) for name in ("classes", "meta", "member_axis"))
    if isinstance(classes, list):
        content.classes = tuple(str(name) for name in classes)
    if isinstance(meta, dict):
        content.meta = meta
    elif meta is not None:
        content.notes.append("`meta` is not an object and is not used")
    if axis is not None:
        content.member_axis = axis if axis in (0, 1) else None
    if "focal_sets" in value:
        count = value.get("n_classes", len(content.classes) if content.classes else None)
        if not isinstance(count, int | None):
            raise InputTypeError("`n_classes`", "must be an integer", f"got {count!r}", "Correct the file.")
        content.arrays["focal_sets"] = membership_of(value["focal_sets"], count)
    return content


def to_array(entry: Any, name: str, path: str) -> np.ndarray[Any, Any]:
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
            "Write NaN as NaN, and leave out what is not a number.",
        )
    return array


def _restored(array: np.ndarray[Any, Any], name: str, dtype: Any) -> np.ndarray[Any, Any]:
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


def _record_columns(records: list[dict[str, Any]], path: str) -> dict[str, np.ndarray[Any, Any]]:
    names = list(records[0])
    for row, record in enumerate(records):
        if list(record) != names and set(record) != set(names):
            raise InputError(
                f"record {row}",
                f"must have the keys of the first: {', '.join(names[:6])}",
                f"got {', '.join(list(record)[:6])}",
                "Give every record the same keys.",
            )
    return {name: to_array([record[name] for record in records], name, path) for name in names}
