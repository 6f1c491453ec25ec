"""Text files: delimited tables, whose delimiter and header are found and told."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import math
import re
from collections import Counter

import numpy as np

from credibly._arrays.errors import FileError
from credibly._arrays.namespace import Array
from credibly._arrays.notes import Note
from credibly.io.column_names import NAMES, field_of, may_hold_text, must_hold_numbers
from credibly.io.columns import is_any_id
from credibly.io.limits import reading, require_text_size, text_array, text_limit
from credibly.io.roles import Content
from credibly.predictions.given import ROUTINE

_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_SAMPLE = 50
_MISTYPED = 0.05
"""Share of text in a column, apart from gaps, up to which it is taken for slips in numbers."""
GZIP = b"\x1f\x8b"
"""First bytes of what gzip packed."""
FORMULA_STARTS = ("=", "+", "-", "@")
"""What a spreadsheet takes for the start of a formula."""
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_LIST = re.compile(r"[\[(].*[\])]", re.DOTALL)


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
                    "If the first line is a remark, delete it."
                    if len({len(cells) for _, cells in lines[1:]}) == 1
                    else "The file may be truncated, or text with the delimiter in it needs quotes.",
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
    texts = numbers.count(None)
    present = sum(number is None or number == number for number in numbers)  # blanks are either
    mistyped = texts <= max(1, _MISTYPED * present) and texts < present
    role = may_hold_text(name)
    if named or (not numeric and (role or not (mistyped or must_hold_numbers(name)))):
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
