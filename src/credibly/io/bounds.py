"""How much a file may ask for, decided before anything is allocated."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError
from credibly._arrays.tiles import memory_budget

_UNKNOWN_MEMORY = 8 * 2**30
_SUSPICIOUS_RATIO = 200
"""Packed data above the memory budget that shrank more than this looks made to exhaust memory."""

_TEXT_EXPANSION = 32
"""Bytes of Python objects per byte of text, at worst, while it is parsed."""


def physical_memory() -> int:
    """Return the machine's memory in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not offered on this system
        return _UNKNOWN_MEMORY


def load_limit() -> int:
    """Return how many bytes of arrays one file may put into memory: half of what the machine has."""
    return physical_memory() // 2


def text_limit() -> int:
    """Return how many bytes of text are parsed."""
    return min(memory_budget(), physical_memory() // _TEXT_EXPANSION)


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


def text_array(source: str, what: str, values: Iterable[Any]) -> np.ndarray[Any, Any]:
    """Return strings as a NumPy array, whose cells all take the room of the longest."""
    words = [str(value) for value in values]
    require_loadable(source, what, 4 * len(words) * max((len(word) for word in words), default=0))
    return np.array(words, dtype=np.str_)
