"""Files that are not on this machine: named by a URL, found and copied through fsspec, then read as any."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from credibly._arrays.errors import CrediblyError, FileError, MissingExtraError
from credibly.io.assemble import reworded
from credibly.io.extras import pip, require_module

_LOCAL = "file://"


def is_url(path: str | None) -> bool:
    """Tell whether a path is a URL."""
    return path is not None and "://" in path


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL of something else than a file of this machine."""
    return is_url(path) and not path.startswith(_LOCAL)


def plain_path(path: str) -> str:
    """Return ``file://`` URLs as paths; everything else as it is."""
    return path.removeprefix(_LOCAL)


def matching_urls(pattern: str) -> list[str]:
    """Return the URLs that a pattern matches, in the order of their names."""
    files, inside = _file_system(pattern)
    before = pattern.removesuffix(inside.lstrip("/"))  # protocol and host, which names inside do not repeat
    with _asking(pattern):
        found = [str(one) for one in files.glob(inside)]
    return sorted(f"{before}{one.lstrip('/')}" for one in found)


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
    if path is None or not is_remote(path):
        yield path if path is None else plain_path(path)
        return
    with tempfile.TemporaryDirectory(prefix="credibly-") as folder:
        copy = Path(folder) / Path(path).name
        with open_remote(path) as source, copy.open("wb") as target, _asking(path):
            shutil.copyfileobj(source, target, 2**22)
        try:
            yield str(copy)
        except CrediblyError as error:
            raise _renamed(error, str(copy), path) from error


def _renamed(error: CrediblyError, copy: str, url: str) -> CrediblyError:
    return reworded(
        error,
        subject=error.subject.replace(copy, url),
        evidence=error.evidence.replace(copy, url),
        remedy=error.remedy.replace(copy, url),
    )


def _file_system(url: str) -> tuple[Any, str]:
    fsspec = require_module("fsspec", f"'{url}'", pip("remote"))
    try:
        files, inside = fsspec.core.url_to_fs(url)
    except ImportError as error:  # s3 needs s3fs, gs needs gcsfs, ...
        raise MissingExtraError(
            f"'{url}'", "needs the package of its protocol", str(error), "Install that package."
        ) from error
    except ValueError as error:
        raise FileError(
            f"'{url}'", "must be a URL that fsspec knows", str(error), "Check what stands before `://`."
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
