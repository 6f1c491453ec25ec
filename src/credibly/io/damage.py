"""What broken bytes make parsers raise, and the one error users see instead."""

from __future__ import annotations

import lzma
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from credibly._arrays.errors import CrediblyError, FileError

DAMAGE: tuple[type[Exception], ...] = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,  # covers unsupported packing methods, encryption and too deep nesting
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,  # from the header of a .npy, which NumPy reads as Python text
    zipfile.BadZipFile,
    zlib.error,
)
"""Parsers in NumPy, zipfile and the like raise these for bytes that are not what they claim."""


@contextmanager
def reading(source: str, form: str, *further: type[Exception]) -> Iterator[None]:
    """Turn what a parser raises about broken bytes into a `FileError`; our own errors pass."""
    try:
        with warnings.catch_warnings():
            # Mutated headers make the parsers warn about their own deprecations.
            warnings.simplefilter("ignore")
            yield
    except CrediblyError:
        raise
    except PermissionError as error:
        raise FileError(
            f"'{source}'", "must be readable", "permission was denied", "Check the file's permissions."
        ) from error
    except (*DAMAGE, *further) as error:
        words = " ".join(str(error).split())[:200] or "the data end too early"
        raise FileError(
            f"'{source}'",
            f"must be a whole {form} file",
            f"{type(error).__name__}: {words.rstrip('.')}",
            "It may be truncated or damaged: copy or make it again.",
        ) from error


@contextmanager
def instead(remedy: str) -> Iterator[None]:
    """Give the remedy for a file that we made in place of that for a damaged file of somebody's."""
    try:
        yield
    except FileError as error:
        if isinstance(error.__cause__, PermissionError):
            raise
        raise FileError(error.subject, error.rule, error.evidence, remedy) from error


def require_file(path: str, named: str = "") -> None:
    """Raise unless there is a file at `path`, or a folder where the format is one."""
    try:
        target = Path(path)
        found = target.exists()
        folder = target.is_dir()
    except (OSError, ValueError) as error:
        raise FileError(f"'{path}'", "must be a path", str(error), "Check the name.") from error
    if not found:
        raise FileError(
            f"'{path}'", "must exist", "there is no such file", "Check the name and the directory."
        )
    if folder and named != ".zarr":
        raise FileError(f"'{path}'", "must be a file", "it is a directory", "Name one of the files in it.")
    if not folder and not target.is_file():
        raise FileError(
            f"'{path}'", "must be a regular file", "it is a device or a pipe", "Save it to a file first."
        )
