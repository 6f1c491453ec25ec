"""How much a file may ask for, what broken bytes raise, and the one error users see instead."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.errors import CrediblyError, FileError, MissingExtraError
from credibly._arrays.namespace import Array, machine_memory, memory_budget

_SUSPICIOUS_RATIO = 200
"""Packed data above the memory budget that shrank more than this looks made to exhaust memory."""

_TEXT_EXPANSION = 32
"""Bytes of Python objects per byte of text, at worst, while it is parsed."""


def load_limit() -> int:
    """Return how many bytes of arrays one file may put into memory: half of what the machine has."""
    return machine_memory() // 2


def text_limit() -> int:
    """Return how many bytes of text are parsed."""
    return min(memory_budget(), machine_memory() // _TEXT_EXPANSION)


def readable_size(n_bytes: int) -> str:
    """Write a number of bytes for people."""
    size = float(n_bytes)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            return f"{n_bytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.3g} EiB"


def require_loadable(source: str, what: str, n_bytes: int) -> None:
    """Raise if `n_bytes` would not fit."""
    if n_bytes > load_limit():
        raise FileError(
            f"{source}: {what}",
            f"must fit into half of this machine's memory ({readable_size(load_limit())})",
            f"it declares {readable_size(n_bytes)}",
            "Save predictions this large as .npy, which is opened as a memory map.",
        )


def require_plausible_ratio(source: str, what: str, packed: int, unpacked: int) -> None:
    """Raise for large data that a few bytes claim to unpack to."""
    if unpacked > memory_budget() and unpacked > _SUSPICIOUS_RATIO * max(1, packed):
        raise FileError(
            f"{source}: {what}",
            f"must not unpack to more than {_SUSPICIOUS_RATIO} times its size",
            f"{readable_size(packed)} claim to be {readable_size(unpacked)}",
            "If you trust the file, save it again without compression, or raise `cr.memory_limit`.",
        )


def require_text_size(source: str, n_bytes: int) -> None:
    """Raise if a text file is too long to parse."""
    if n_bytes > text_limit():
        raise FileError(
            source,
            f"must be at most {readable_size(text_limit())} of text",
            f"it has {readable_size(n_bytes)}",
            "Save tables this large as .npz, .npy or .parquet.",
        )


def text_array(source: str, what: str, values: Iterable[Any]) -> Array:
    """Return strings as a NumPy array, whose cells all take the room of the longest."""
    words = [str(value) for value in values]
    require_loadable(source, what, 4 * len(words) * max((len(word) for word in words), default=0))
    return np.array(words, dtype=np.str_)


@contextmanager
def reading(source: str, form: str) -> Iterator[None]:
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
    except Exception as error:  # parsers raise nearly every kind for bytes that are not what they claim
        words = " ".join(str(error).split())[:200] or "the data end too early"
        raise FileError(
            f"'{source}'",
            f"must be a whole {form} file",
            f"{type(error).__name__}: {words.rstrip('.')}",
            "It may be truncated or damaged: copy or create it again.",
        ) from error


def require_file(path: str) -> None:
    """Raise unless there is a file at `path`."""
    target, problem = Path(path), None
    try:
        if not target.exists():
            problem = ("must exist", "there is no such file", "Check the name and the directory.")
        elif target.is_dir():
            problem = ("must be a file", "it is a directory", "Name one of the files in it.")
        elif not target.is_file():
            problem = ("must be a regular file", "it is a device or a pipe", "Save it to a file first.")
    except (OSError, ValueError) as error:
        problem = ("must be a path", str(error), "Check the name.")
    if problem is not None:
        raise FileError(f"'{path}'", *problem)


def reworded(error: CrediblyError, **words: str) -> CrediblyError:
    """Return an error of the same type, with the same rows, and other words for some of its four parts."""
    subject, rule, evidence, remedy = (
        words.get(name) or getattr(error, name) for name in ("subject", "rule", "evidence", "remedy")
    )
    if isinstance(error, InvalidRowsError):
        return InvalidRowsError(subject, rule, evidence, remedy, error.rows, argument=error.argument)
    return type(error)(subject, rule, evidence, remedy, argument=error.argument)


@contextmanager
def located(source: str, first: int = 0) -> Iterator[None]:
    """Put the name of the file in front of errors about its arrays.

    `first` is the index of its first row among all, for what an error says.
    """
    try:
        yield
    except (FileError, MissingExtraError):  # they name the file already
        raise
    except CrediblyError as error:
        evidence = error.evidence
        if isinstance(error, InvalidRowsError) and first:
            evidence += f", which is row {first + error.rows[0]} of all"
        raise reworded(error, subject=f"'{source}': {error.subject}", evidence=evidence) from error
