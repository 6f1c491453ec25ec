"""Find the reader of a file: bytes decide, the extension only for plain text.

JSON, JSON lines and archives of Inspect may be logs of language models, which are read record by record.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
import os
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import numpy as np

from credibly._arrays.errors import FileError
from credibly.io.extras import pip, read_frame, read_parquet, read_torch, read_xarray, require_module
from credibly.io.json_text import from_json, read_json_lines, read_json_value
from credibly.io.limits import reading, require_file
from credibly.io.logs import is_log, log_content
from credibly.io.npy import map_npy, read_header, read_npy, read_npz, refuse_pickle
from credibly.io.remote import is_remote, open_remote
from credibly.io.roles import Content
from credibly.io.text import GZIP, read_text

_SAME = {
    ".tsv": ".csv",
    ".txt": ".csv",
    ".dat": ".csv",
    ".ndjson": ".jsonl",
    ".pth": ".pt",
    ".pq": ".parquet",
    ".netcdf": ".nc",
}
_PICKLES = frozenset({".pkl", ".pickle", ".joblib", ".p"})
_TEXT = frozenset({".csv", ".json", ".jsonl"})
"""What is also read where gzip packed it."""
_BINARY = frozenset({".npz", ".npy", ".parquet", ".nc", ".eval"})
_MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PAR1": ".parquet",
    b"CDF": ".nc",
    b"\x89HDF": ".nc",
    GZIP: "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
KNOWN = ".npz, .npy, .csv, .tsv, .json, .jsonl, .eval, .parquet, .pt or .nc"
_READ_BYTES = 2**20


def path_text(path: object) -> str | None:
    """Return a path as text, None if the value is not a path."""
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def read_content(path: Any) -> Content:
    """Read a file of any known format, or a table in memory, into arrays by name."""
    text = path_text(path)
    if text is None:
        return read_frame(path)
    form, note = find_format(text)
    content = _READERS[form](text)
    content.source, content.paths = text, [text]
    if note:
        content.notes.insert(0, note)
    return content


def find_format(path: str) -> tuple[str, str | None]:
    """Return the format and, where the extension says otherwise, a note about it."""
    extension = Path(path).suffix.lower()
    named = _SAME.get(extension, extension)
    require_file(path)
    with reading(path, named or "data"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        start = file.read(16)
    form = _format_of_bytes(path, start)
    if extension in _PICKLES or form == "pickle":
        # Older torch files start like a pickle; torch itself knows how to read them safely.
        if named == ".pt":
            return ".pt", None
        raise refuse_pickle(path, f"it is a pickle file ({extension or 'by its first bytes'})")
    if form == "gzip" and extension == ".gz":
        inner = Path(path).with_suffix("").suffix.lower()
        if _SAME.get(inner, inner) in _TEXT:
            return _SAME.get(inner, inner), None
    if form in ("gzip", "bzip2", "xz"):
        raise FileError(f"'{path}'", "must be unpacked", f"it is {form}-compressed", "Unpack it first.")
    if form is not None:
        if form == named or (form, named) == (".npz", ".pt"):
            return form, None
        return form, f"the file is called {extension or 'without extension'} but holds {form}"
    if named in _BINARY or named == ".pt" or not start:
        evidence = f"it starts with {start[:8]!r}" if start else "it is empty"
        raise FileError(
            f"'{path}'", f"must be a {named or 'data'} file", evidence, "Create or copy it again."
        )
    if extension == ".gz":
        raise FileError(
            f"'{path}'", "must be gzip-compressed", f"it starts with {start[:8]!r}", "Rename it without .gz."
        )
    if named not in _READERS:
        raise FileError(
            f"'{path}'",
            f"must be {KNOWN}",
            f"its extension is {extension!r}" if extension else "it has no extension",
            "Convert it, or give it the extension of its format.",
        )
    return named, None


def _format_of_bytes(path: str, start: bytes) -> str | None:
    if start.startswith(b"PK"):
        with reading(path, "zip-based"), zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if any(name.endswith("data.pkl") for name in names):
            return ".pt"
        if is_archive(names):
            return ".eval"
        if names and not any(name.endswith(".npy") for name in names):
            evidence = f"it is a zip archive of {names[0]!r}, ..."
            remedy = "Save the sheet of Excel as .csv." if "xl/workbook.xml" in names else "Convert it."
            raise FileError(f"'{path}'", f"must be {KNOWN}", evidence, remedy)
        return ".npz"
    if len(start) > 1 and start[0] == 0x80 and start[1] <= 5:
        return "pickle"
    return next((form for magic, form in _MAGIC.items() if start.startswith(magic)), None)


def digest_of(content: Content) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the files' bytes, or of the table's values."""
    total = hashlib.sha256()
    if content.source not in content.paths:
        for name, array in sorted(content.arrays.items()):
            total.update(name.encode() + np.ascontiguousarray(array).tobytes())
    for path in content.paths:
        with reading(path, "data"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
            while piece := file.read(_READ_BYTES):
                total.update(piece)
    return total.hexdigest()[:16]


def count_rows(path: str, member_axis: int | None) -> int | None:
    """Return how many rows a file holds where its header or footer tells, else None."""
    remote = is_remote(path)
    form = _SAME.get(Path(path).suffix, Path(path).suffix) if remote else find_format(path)[0]
    if form == ".npy":
        shape: tuple[int, ...]
        if remote:
            with open_remote(path) as file, reading(path, form):
                shape = read_header(file, path)[0]
        else:
            shape = map_npy(path).shape
        return int(shape[1 if len(shape) == 3 and member_axis == 0 else 0])
    if form == ".parquet":
        parquet = require_module("pyarrow.parquet", f"'{path}'", pip("parquet"))
        with open_remote(path) if remote else open(path, "rb") as file, reading(path, form):  # noqa: PTH123
            return int(parquet.read_metadata(file).num_rows)
    return None


INSPECT_VERSIONS = (1, 2)


def lines_of(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON records of the lines of a file, one at a time, and errors for those that are broken."""
    with reading(path, ".jsonl"), _opened(path) as file:
        for number, line in enumerate(file, 1):
            text = line.strip().removeprefix(codecs.BOM_UTF8)
            if not text:
                continue
            place = f"'{path}' line {number}"
            try:
                yield place, json.loads(text.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                yield place, FileError(place, "must be a JSON object", str(error)[:80], "Correct it.")


def _opened(path: str) -> AbstractContextManager[IO[bytes]]:
    with open(path, "rb") as file:  # noqa: PTH123 - the path as given
        packed = file.read(2) == GZIP
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore[return-value]  # noqa: PTH123


def read_lines(path: str) -> Content:
    """Read JSON lines: a log one line at a time, and anything else as a table."""
    logged = is_log(record for _, record in lines_of(path))
    return log_content(".jsonl", path, lines_of(path)) if logged else read_json_lines(path)


def read_json(path: str) -> Content:
    """Read a JSON file: a log, or arrays by their names."""
    value = read_json_value(path)
    if isinstance(value, dict) and {"eval", "version", "status"} <= value.keys():
        _require_version(path, value)
        samples = enumerate(value.get("samples") or [])
        return log_content(".json", path, ((f"'{path}': sample {at}", entry) for at, entry in samples))
    values = value.values() if isinstance(value, dict) else [value]
    records = next((entry for entry in values if isinstance(entry, list) and is_log(entry)), None)
    if records is not None:
        placed = ((f"'{path}': record {at}", entry) for at, entry in enumerate(records))
        return log_content(".json", path, placed)
    return from_json(value, path)


def archive_content(path: str) -> Content:
    """Read an `.eval` file of Inspect: its samples, one at a time."""
    with reading(path, ".eval"), zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        headers = [name for name in ("header.json", "_journal/start.json") if name in names]
        if not headers:
            raise FileError(f"'{path}'", "must be a log of Inspect", "it has no header.json", "Check it.")
        _require_version(path, json.loads(_unpacked(archive, headers[0])))
        samples = sorted(name for name in names if name.startswith("samples/") and name.endswith(".json"))
        records = ((f"'{path}': {name}", json.loads(_unpacked(archive, name))) for name in samples)
        return log_content(".eval", path, records)


_ZSTANDARD = 93


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of an archive; Inspect packs with Zstandard, which Python itself reads from 3.14 on."""
    info = archive.getinfo(name)
    if info.compress_type != _ZSTANDARD or sys.version_info >= (3, 14):
        return archive.read(name)
    arrow = require_module("pyarrow", f"'{archive.filename}'", pip("parquet"))
    file = archive.fp
    assert file is not None
    file.seek(info.header_offset + 26)  # the lengths of name and extra field stand there, and the data after
    lengths = struct.unpack("<HH", file.read(4))
    file.seek(sum(lengths), 1)
    packed = file.read(info.compress_size)
    return bytes(arrow.decompress(packed, decompressed_size=info.file_size, codec="zstd"))


def _require_version(path: str, value: dict[str, Any]) -> None:
    if value.get("version") not in INSPECT_VERSIONS:
        rule = f"must be a log of Inspect, version {' or '.join(map(str, INSPECT_VERSIONS))}"
        remedy = "Convert it with `inspect log convert`, or write plain records."
        raise FileError(f"'{path}'", rule, f"its version is {value.get('version')!r}", remedy)


def is_archive(names: list[str]) -> bool:
    """Tell whether a zip archive with these names is a log of Inspect."""
    return "header.json" in names or any(name.startswith("_journal/") for name in names)


_READERS: dict[str, Callable[[str], Content]] = {
    ".npz": read_npz,
    ".npy": read_npy,
    ".json": read_json,
    ".jsonl": read_lines,
    ".csv": read_text,
    ".parquet": read_parquet,
    ".pt": read_torch,
    ".nc": read_xarray,
    ".eval": archive_content,
}
