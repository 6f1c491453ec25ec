"""Which reader a file needs: the bytes decide, the extension only where the bytes are plain text."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from credibly._arrays.errors import FileError
from credibly.io.content import Content
from credibly.io.damage import reading, require_file
from credibly.io.extras import read_parquet, read_torch, read_xarray
from credibly.io.json_text import read_json
from credibly.io.npy import read_npy, read_npz, refuse_pickle
from credibly.io.text import read_text

_READERS: dict[str, Callable[[str], Content]] = {
    ".npz": read_npz,
    ".npy": read_npy,
    ".json": read_json,
    ".csv": read_text,
    ".parquet": read_parquet,
    ".pt": read_torch,
    ".nc": read_xarray,
    ".zarr": read_xarray,
}
_SAME = {".tsv": ".csv", ".txt": ".csv", ".dat": ".csv", ".pth": ".pt", ".pq": ".parquet", ".netcdf": ".nc"}
_PICKLES = frozenset({".pkl", ".pickle", ".joblib", ".p"})
_BINARY = frozenset({".npz", ".npy", ".parquet", ".nc"})
_MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PAR1": ".parquet",
    b"CDF": ".nc",
    b"\x89HDF": ".nc",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
KNOWN = ".npz, .npy, .csv, .tsv, .json, .parquet, .pt, .nc or .zarr"


def read_content(path: str) -> Content:
    """Read a file of any known format into arrays by name."""
    form, note = find_format(path)
    content = _READERS[form](path)
    if note:
        content.notes.insert(0, note)
    return content


def find_format(path: str) -> tuple[str, str | None]:
    """Return the format and, where the extension says otherwise, a note about it."""
    extension = Path(path).suffix.lower()
    named = _SAME.get(extension, extension)
    require_file(path, named)
    if named == ".zarr":
        return named, None
    with reading(path, named or "data"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        start = file.read(16)
    found = _format_of_bytes(path, start)
    if extension in _PICKLES or found == "pickle":
        # Older torch files start like a pickle; torch itself knows how to read them safely.
        if named == ".pt":
            return ".pt", None
        raise refuse_pickle(path, f"it is a pickle file ({extension or 'by its first bytes'})")
    if found in ("gzip", "bzip2", "xz"):
        raise FileError(f"'{path}'", "must be unpacked", f"it is {found}-compressed", "Unpack it first.")
    if found is not None:
        different = found != named and not (found == ".npz" and named == ".pt")
        return (
            found,
            f"the file is called {extension or 'without extension'} but holds {found}" if different else None,
        )
    if named in _BINARY or named == ".pt" or not start:
        evidence = f"it starts with {start[:8]!r}" if start else "it is empty"
        raise FileError(f"'{path}'", f"must be a {named or 'data'} file", evidence, "Make or copy it again.")
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
        if names and not any(name.endswith(".npy") for name in names):
            raise FileError(
                f"'{path}'", f"must be {KNOWN}", f"it is a zip archive of {names[0]!r}, ...", "Convert it."
            )
        return ".npz"
    if len(start) > 1 and start[0] == 0x80 and start[1] <= 5:
        return "pickle"
    return next((form for magic, form in _MAGIC.items() if start.startswith(magic)), None)


def digest_of(*paths: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the files' bytes, one after the other."""
    total = hashlib.sha256()
    for path in paths:
        inside = [path]
        if Path(path).is_dir():
            inside = sorted(str(entry) for entry in Path(path).rglob("*") if entry.is_file())
        for name in inside:
            with reading(path, "data"), open(name, "rb") as file:  # noqa: PTH123 - the path as given
                while block := file.read(2**20):
                    total.update(block)
    return total.hexdigest()[:16]


def path_text(path: object) -> str | None:
    """Return a path as text, None where the value is no path."""
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None
