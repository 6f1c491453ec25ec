"""Files behind a URL, a pattern or standard input: found and copied through fsspec, then read as any."""

from __future__ import annotations

import glob
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from credibly._arrays.errors import CrediblyError, FileError, MissingExtraError
from credibly.io.extras import pip, require_module
from credibly.io.limits import load_limit, require_loadable, reworded

_LOCAL = "file://"
_READ_BYTES = 2**20
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
    while piece := source.read(_READ_BYTES):
        left -= len(piece)
        if left < 0:
            rule, evidence = (
                "must fit into half of the free disk space",
                "more came, and the copy was stopped",
            )
        elif time.monotonic() > end:
            rule, evidence = f"must arrive within {LONGEST:.0f} seconds", "it did not end by then"
        else:
            target.write(piece)
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
