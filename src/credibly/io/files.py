"""Find a file, here or behind a URL, and its reader: bytes decide, the extension only for plain text."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from credibly._arrays.errors import CrediblyError, FileError, MissingExtraError
from credibly.io.extras import pip, read_frame, read_parquet, read_torch, read_xarray, require_module
from credibly.io.limits import load_limit, reading, require_file, require_loadable, reworded
from credibly.io.logs import archive_content, is_archive, read_json, read_lines
from credibly.io.npy import map_npy, read_header, read_npy, read_npz, refuse_pickle
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
_LOCAL = "file://"
_BLOCK = 2**20


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
            raise FileError(
                f"'{path}'", f"must be {KNOWN}", f"it is a zip archive of {names[0]!r}, ...", "Convert it."
            )
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
            while block := file.read(_BLOCK):
                total.update(block)
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


# Files that are not on this machine are found and copied through fsspec, then read as any


STANDARD_INPUT = "-"


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL of something else than a file of this machine."""
    return "://" in path and not path.startswith(_LOCAL)


def plain_path(path: str) -> str:
    """Return ``file://`` URLs as paths; everything else as it is."""
    return path.removeprefix(_LOCAL)


def is_pattern(path: str) -> bool:
    """Tell whether a path names several files; one that is there is itself, whatever its name holds."""
    return glob.has_magic(path) and not Path(plain_path(path)).exists()


def in_natural_order(paths: Sequence[str]) -> list[str]:
    """Return paths by their names, numbers in them by value: shard_2 stands before shard_10."""
    return sorted(
        paths,
        key=lambda path: [
            (1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", path)
        ],
    )


def matching_urls(pattern: str) -> list[str]:
    """Return the URLs that a pattern matches, in the order of their names."""
    files, inside = _file_system(pattern)
    before = pattern.removesuffix(inside.lstrip("/"))  # protocol and host, which names inside do not repeat
    with _asking(pattern):
        paths = [str(path) for path in files.glob(inside)]
    return in_natural_order([f"{before}{path.lstrip('/')}" for path in paths])


@contextmanager
def open_remote(url: str) -> Iterator[BinaryIO]:
    """Open a remote file for reading some of its bytes."""
    files, inside = _file_system(url)
    with _asking(url):
        file = files.open(inside, "rb")
    with file:
        yield file


@contextmanager
def local_copy(path: str | None) -> Iterator[str | None]:
    """Give a path that can be opened here: a remote file is copied, and its copy removed at the end.

    Errors that name the copy name the URL instead.
    """
    if path == STANDARD_INPUT:
        with tempfile.TemporaryDirectory(prefix="credibly-") as folder:
            yield _copy_of_input(Path(folder))
        return
    if path is None or not is_remote(path):
        yield path if path is None else plain_path(path)
        return
    with tempfile.TemporaryDirectory(prefix="credibly-") as folder:
        copy = Path(folder) / Path(path).name
        with open_remote(path) as source, copy.open("wb") as target, _asking(path):
            _copy(source, target, path, folder)
        try:
            yield str(copy)
        except CrediblyError as error:  # which names the copy
            parts = ("subject", "evidence", "remedy")
            words = {name: getattr(error, name).replace(str(copy), path) for name in parts}
            raise reworded(error, **words) from error


LONGEST = 900.0
"""Seconds that a remote file may take to arrive."""


def _copy(source: BinaryIO, target: BinaryIO, url: str, folder: str) -> None:
    """Copy a remote file; one that never ends, in time or in size, is refused."""
    end, left = time.monotonic() + LONGEST, shutil.disk_usage(folder).free // 2
    while block := source.read(_BLOCK):
        left -= len(block)
        if left < 0:
            rule, evidence = (
                "must fit into half of the free disk space",
                "more came, and the copy was stopped",
            )
        elif time.monotonic() > end:
            rule, evidence = f"must arrive within {LONGEST:.0f} seconds", "it did not end by then"
        else:
            target.write(block)
            continue
        raise FileError(f"'{url}'", rule, evidence, "Download it by other means, and name the file.")


def _copy_of_input(folder: Path) -> str:
    """Write standard input to a file, and return its name, which tells the format of text."""
    data = getattr(sys.stdin, "buffer", sys.stdin).read(load_limit() + 1)
    data = data.encode() if isinstance(data, str) else data
    require_loadable("standard input", "what it brings", len(data))
    start = data.lstrip()[:1]
    ending = ".csv"
    if start in (b"{", b"["):
        lines = [line for line in data.splitlines() if line.strip()]
        ending = (
            ".jsonl" if start == b"{" and len(lines) > 1 and lines[0].rstrip().endswith(b"}") else ".json"
        )
    target = folder / f"standard-input{ending}"
    target.write_bytes(data)
    return str(target)


def _file_system(url: str) -> tuple[Any, str]:
    fsspec = require_module("fsspec", f"'{url}'", pip("remote"))
    try:
        files, inside = fsspec.core.url_to_fs(url)
    except ImportError as error:  # s3 needs s3fs, gs needs gcsfs, ...
        raise MissingExtraError(
            f"'{url}'", "needs the package of its protocol", str(error), "Install that package."
        ) from error
    except Exception as error:  # every protocol raises its own kind
        words = " ".join(str(error).split())[:200]
        raise FileError(
            f"'{url}'", "must be a URL that fsspec knows", words, "Check what stands before `://`."
        ) from error
    return files, str(inside)


@contextmanager
def _asking(url: str) -> Iterator[None]:
    try:
        yield
    except CrediblyError:
        raise
    except FileNotFoundError as error:
        raise FileError(f"'{url}'", "must exist", "there is no such file", "Check the URL.") from error
    except Exception as error:  # every protocol raises its own kind
        words = " ".join(str(error).split())[:200]
        raise FileError(
            f"'{url}'",
            "must be readable",
            f"{type(error).__name__}: {words}",
            "Check the URL and who may read it.",
        ) from error
