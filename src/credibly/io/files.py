"""Find the reader of a file: bytes decide, the extension only for plain text."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError
from credibly.io.extras import pip, read_frame, read_parquet, read_torch, read_xarray, require_module
from credibly.io.limits import reading, require_file
from credibly.io.log_files import archive_content, is_archive, read_json, read_lines
from credibly.io.npy import map_npy, read_header, read_npy, read_npz, refuse_pickle
from credibly.io.remote import is_remote, open_remote
from credibly.io.roles import Content
from credibly.io.text import GZIP, read_text

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
