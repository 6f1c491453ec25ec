"""Text files: delimited tables, whose delimiter and header are found and told, and JSON."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
import os
import re
from collections import Counter
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError, InputError, InputTypeError, require_type
from credibly._arrays.namespace import Array
from credibly._arrays.notes import Note
from credibly.io.columns import (
    NAMES,
    TEXT_ROLES,
    field_of,
    is_any_id,
    may_hold_text,
    must_hold_numbers,
    shown,
)
from credibly.io.limits import reading, require_file, require_text_size, text_array, text_limit
from credibly.io.roles import ROLES, Content, membership_of
from credibly.predictions.convert import by_class, names_its_classes
from credibly.predictions.given import ROUTINE

_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_SAMPLE = 50
GZIP = b"\x1f\x8b"
"""First bytes of what gzip packed."""
FORMULA_STARTS = ("=", "+", "-", "@")
"""What a spreadsheet takes for the start of a formula."""
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_LIST = re.compile(r"[\[(].*[\])]", re.DOTALL)
_DTYPES = {"bool", *(f"float{bits}" for bits in (16, 32, 64))}
_DTYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NOT_ARRAYS = {"format", "version", "classes", "meta", "focal_sets", "n_classes", "dtypes", "member_axis"}


def read_text(path: str) -> Content:
    """Read .csv, .tsv and relatives: wide, or long with a `member` or `class` column."""
    text = read_utf8(path)
    with reading(path, "table"):
        delimiter = _sniff_delimiter(text)
        lines = _rows(text, delimiter)
        if not lines:
            raise FileError(f"'{path}'", "must hold a table", "it is empty", "Check how it was made.")
        width = len(lines[0][1])
        for line, cells in lines:
            if len(cells) != width:
                raise FileError(
                    f"'{path}' line {line}",
                    f"must have {width} cells like the first line",
                    f"it has {len(cells)}",
                    "The file may be truncated, or text with the delimiter in it needs quotes.",
                )
        header = _header(lines)
        body = lines if header is None else lines[1:]
        if not body:
            raise FileError(
                f"'{path}'", "must hold rows below its header", "it has none", "Check how it was made."
            )
        split = "one column" if delimiter is None else f"{_DELIMITERS[delimiter]}-separated"
        named = "no header" if header is None else "a header"
        note = f"read as {split} text with {named}, {len(body)} rows of {width} columns"
        commas = delimiter != "," and _has_decimal_commas([cells for _, cells in body])
        if commas:
            body = [(line, [_with_point(cell) for cell in cells]) for line, cells in body]
        if header is None:
            return _headerless(body, path, note + (", decimals with a comma" if commas else ""))
        columns = {
            name: _typed(name, [(line, cells[j]) for line, cells in body], path)
            for j, name in enumerate(header)
        }
    content = Content(".csv", {}, table=columns, notes=[Note(ROUTINE, note)])
    if commas:
        content.note("decimals are written with a comma")
    return content


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Tell whether commas stand for the decimal point: 0,25 does, 1,234 alone may be a thousand."""
    cells = [cell for row in rows for cell in row if _COMMA.fullmatch(cell)]
    return bool(cells) and not all(_THOUSANDS.fullmatch(cell) for cell in cells)


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell


def read_utf8(path: str) -> str:
    """Return the text of a file that is short enough and is text."""
    with reading(path, "text"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        limit = file.seek(0, io.SEEK_END)
        require_text_size(f"'{path}'", limit)
        file.seek(0)
        data = file.read(limit)
    if data.startswith(GZIP):
        data = _unpacked(data, path)
    try:
        text = data.decode("utf-8-sig")
        if "\0" not in text:
            return text
        evidence = f"character {text.index(chr(0))} is NUL"
    except UnicodeDecodeError as error:
        evidence = f"byte {error.start} is {data[error.start]:#04x}"
    remedy = "Save it as UTF-8, or give it the extension of its real format."
    raise FileError(f"'{path}'", "must be UTF-8 text", evidence, remedy)


def _unpacked(data: bytes, path: str) -> bytes:
    """Return what gzip packed, no more than may be parsed."""
    with reading(path, "gzip"), gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        text = packed.read(text_limit() + 1)
    require_text_size(f"'{path}'", len(text))
    return text


def _sniff_delimiter(text: str) -> str | None:
    """Return the delimiter whose cells, in the first rows, are numbers most often; None for one column."""
    sample = "\n".join(itertools.islice((line for line in text.splitlines() if line.strip()), _SAMPLE))
    best: tuple[float, int] = (0.0, 1)
    chosen = None
    for delimiter in _DELIMITERS:
        try:
            rows = [cells for _, cells in _rows(sample, delimiter)]
        except csv.Error:
            continue
        widths = {len(cells) for cells in rows}
        if len(widths) != 1 or widths == {1}:
            continue
        cells = [cell for row in rows[1:] or rows for cell in row]
        share = sum(_number(cell) is not None for cell in cells) / len(cells)
        if (share, len(rows[0])) > best or chosen is None:
            best, chosen = (share, len(rows[0])), delimiter
    if chosen is None and not all(_number(line) is not None for line in sample.splitlines()[1:]):
        # Ragged rows: take the delimiter that is there, so that the error can name the line.
        candidate = max(_DELIMITERS, key=sample.count)
        return candidate if candidate in sample else None
    return chosen


def _rows(text: str, delimiter: str | None) -> list[tuple[int, list[str]]]:
    """Return (line number, cells) of all rows that are not blank."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter="\x1f" if delimiter is None else delimiter,
        skipinitialspace=delimiter == " ",
        strict=True,
    )
    rows = []
    for cells in reader:
        trimmed = [cell.strip() for cell in cells]
        if delimiter == " " and trimmed and not trimmed[-1]:
            trimmed.pop()  # a space before the line's end
        if any(trimmed):
            rows.append((reader.line_num, trimmed))
    return rows


def _header(lines: list[tuple[int, list[str]]]) -> list[str] | None:
    """Return the column names, or None where the first line is data."""
    first = lines[0][1]
    indexed = not first[0] and first[1:] == [str(j) for j in range(len(first) - 1)]
    if not indexed and all(_number(cell) is not None for cell in first):
        counted = first == [str(j) for j in range(len(first))] and len(first) > 1
        fractions = len(lines) > 1 and any(not cell.lstrip("+-").isdigit() for cell in lines[1][1])
        if not (counted and fractions):  # 0,1,2,... above fractions is the header pandas writes
            return None
    names = [name or "Unnamed: 0" for name in first]
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} (column {j + 1})" for j, name in enumerate(names)]


def _headerless(body: list[tuple[int, list[str]]], path: str, note: str) -> Content:
    rows = [
        _typed(f"column {j + 1}", [(line, cells[j]) for line, cells in body], path, numeric=True)
        for j in range(len(body[0][1]))
    ]
    if len(rows) == 1:
        return Content(".csv", {"column": rows[0]}, notes=[note], lone="column")
    matrix = np.stack(rows, axis=1)
    return Content(".csv", {"columns": matrix}, notes=[note], lone="columns", headerless=True)


def _number(cell: str) -> float | None:
    """Return a cell as a number, NaN where it is empty, None where it is text."""
    if cell.lower() in _MISSING:
        return math.nan
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


_TRUTH = {"true": True, "false": False}
"""How a table of booleans is written, which only sets are made of."""


def _typed(name: str, cells: list[tuple[int, str]], path: str, *, numeric: bool = False) -> Array:
    """Return a column as integers, floats or text; in a numeric column the first text cell is named."""
    words = [cell for _, cell in cells]
    numbers = [_number(cell) for cell in words]
    if all(_is_integer(cell) for cell in words):
        return np.array([int(cell) for cell in words])
    if all(cell.lower() in _TRUTH for cell in words) and (field_of(name) or ("",))[0] == "sets":
        return np.array([_TRUTH[cell.lower()] for cell in words])
    if not numeric and all(_LIST.fullmatch(cell) for cell in words):
        return _lists(name, cells, path)
    named = (name.lower() in NAMES or is_any_id(name)) and not numeric
    if None not in numbers and not named:
        return np.array(numbers)
    text_share = numbers.count(None) / len(numbers)
    role = may_hold_text(name)
    if named or (not numeric and (role or (text_share > 0.5 and not must_hold_numbers(name)))):
        return text_array(f"'{path}'", f"column {name!r}", [_unguarded(word) for word in words])
    line, cell = next(pair for pair, number in zip(cells, numbers, strict=True) if number is None)
    comma = cell.count(",") == 1 and _number(cell.replace(",", ".")) is not None
    raise FileError(
        f"'{path}' line {line}, column {name!r}",
        "must be a number",
        f"it is {cell[:60]!r}",
        "Write decimals with a point." if comma else "Correct or remove the cell.",
    )


def _lists(name: str, cells: list[tuple[int, str]], path: str) -> Array:
    """Return a column of lists, such as [0.1, 0.9] or [0.1 0.9], as an array with one more axis."""
    rows: list[list[float | None]] = []
    for line, cell in cells:
        words = cell.strip("[]()").replace(",", " ").split()
        numbers = [_number(word) for word in words]
        if None in numbers or not numbers or (rows and len(numbers) != len(rows[0])):
            raise FileError(
                f"'{path}' line {line}, column {name!r}",
                f"must be a list of {len(rows[0]) if rows else 'some'} numbers",
                f"it is {cell[:60]!r}",
                "Give every row the same length.",
            )
        rows.append(numbers)
    return np.array(rows, dtype=np.float64)


def _unguarded(word: str) -> str:
    """Take off the apostrophe that keeps a spreadsheet from running a cell; see `save`."""
    return word[1:] if word[:1] == "'" and word.lstrip("'").startswith(FORMULA_STARTS) else word


def _is_integer(cell: str) -> bool:
    """Tell whether a cell is an integer in its plain spelling; '007' is a name."""
    return len(cell) < 19 and cell.lstrip("-").isdigit() and cell.isascii() and str(int(cell)) == cell


# JSON: an object of named arrays, a bare array, or a list of records


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
            "Write NaN as NaN, and leave out what is not a number.",
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
            content.note(f"the entries of `{name}` name their classes: {shown(entries[0])}")
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
