"""Write a zarr store, which is a directory, so that a reader sees the old one or the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from credibly._arrays.errors import FileError
from credibly.io.writing import already_there, as_path, hidden_beside, require_writable, told

_MARKS = ("zarr.json", ".zgroup", ".zarray")
"""One of these lies at the root of every store."""


@contextmanager
def atomic_store(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a directory to fill; it takes its place only when the block ends well.

    On any failure the new directory is removed and what was there before is untouched.
    """
    require_store_writable(path, overwrite=overwrite)
    target = Path(path)
    if target.is_symlink():  # renaming would replace the link, not the store it points to
        target = target.resolve()
    hidden = hidden_beside(target)
    try:
        with told(path):
            hidden.mkdir()
            yield hidden
            _bring_to_disk(hidden)
            _put_in_place(hidden, target, overwrite=overwrite)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def require_store_writable(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise what `atomic_store` would raise before the first byte."""
    target = as_path(path)
    if not target.is_dir():
        if target.is_file() and overwrite:
            raise FileError(
                f"'{path}'", "must be a directory, as zarr stores are", "it is a file", "Choose another name."
            )
        require_writable(path, overwrite=overwrite)
        return
    if not overwrite:
        raise already_there(path)
    if any(target.iterdir()) and not any((target / mark).is_file() for mark in _MARKS):
        raise FileError(
            f"'{path}'",
            "must be a zarr store to be replaced",
            "it is a directory of something else",
            "Choose another name.",
        )


def _bring_to_disk(folder: Path) -> None:
    for entry in folder.rglob("*"):
        if entry.is_file():
            descriptor = os.open(entry, os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _put_in_place(hidden: Path, target: Path, *, overwrite: bool) -> None:
    """Rename; no system replaces a full directory in one step, so the old one steps aside first."""
    if not target.exists():
        os.rename(hidden, target)  # noqa: PTH104 - patched in tests
        return
    if not overwrite:  # it appeared meanwhile
        raise FileExistsError(str(target))
    aside = hidden_beside(target)
    os.rename(target, aside)  # noqa: PTH104
    try:
        os.rename(hidden, target)  # noqa: PTH104
    except BaseException:
        with suppress(OSError):
            os.rename(aside, target)  # noqa: PTH104
        raise
    shutil.rmtree(aside, ignore_errors=True)
