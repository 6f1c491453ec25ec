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
            f"{type(error).__name__}: {words}",
            "It may be truncated or damaged: copy or make it again.",
        ) from error
