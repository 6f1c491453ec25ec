"""Write files so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from credibly._arrays.errors import FileError, InputTypeError

_TAKEN = (
    "must not exist yet",
    "it already exists",
    "Choose another name, or replace it with `overwrite=True`.",
)
"""What is said of a name that is taken."""


class _Staged:
    """One file on its way: a hidden file in the same directory, which takes the name at the end."""

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool) -> None:
        require_writable(path, overwrite=overwrite)
        self.path = path
        # the file a link points to, which renaming would replace
        self.target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
        self.hidden = self.target.with_name(f".{self.target.name[:200]}.{secrets.token_hex(8)}.tmp")
        with naming_the_path(path):
            self.file = io.BufferedWriter(io.FileIO(self.hidden, "xb"))

    def finish(self) -> None:
        """Bring all bytes to the disk."""
        with naming_the_path(self.path):
            self.file.flush()
            if self.target.exists():
                self.hidden.chmod(stat.S_IMODE(self.target.stat().st_mode))
            os.fsync(self.file.fileno())
            self.file.close()

    def remove(self) -> None:
        """Leave nothing behind."""
        with suppress(OSError):  # of a full disk once more
            self.file.close()
        with suppress(OSError):
            self.hidden.unlink(missing_ok=True)


@contextmanager
def atomic_files(*paths: str | os.PathLike[str], overwrite: bool = False) -> Iterator[tuple[BinaryIO, ...]]:
    """Open files for writing that take their places only when the block ends well.

    The bytes of all of them are on the disk before the first takes its name. On any failure the hidden files
    are removed and what was there before is untouched.
    """
    staged: list[_Staged] = []
    placed: list[Path] = []
    try:
        for path in paths:
            staged.append(_Staged(path, overwrite=overwrite))  # noqa: PERF401 - a failure removes the first
        with naming_the_path(paths[0]):
            yield tuple(output.file for output in staged)
        for output in staged:
            output.finish()
        for output in staged:
            with naming_the_path(output.path):
                _put_in_place(output.hidden, output.target, overwrite=overwrite)
            placed.append(output.target)
    except BaseException:
        # Only what was not there before can be taken back; it is ours, and half of what was asked for.
        for target in placed if not overwrite else ():
            with suppress(OSError):
                target.unlink()
        raise
    finally:
        for output in staged:
            output.remove()


def write_bytes_atomically(path: str | os.PathLike[str], content: bytes, *, overwrite: bool = False) -> Path:
    """Write `content` to `path` in one step.

    Parameters
    ----------
    path : path
        Where to.
    content : bytes
        What to write.
    overwrite : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The path written.

    Raises
    ------
    FileError
        If the file exists and `overwrite` is false, or cannot be written; then the old one is intact.
    """
    with atomic_files(path, overwrite=overwrite) as (file,):
        file.write(content)
    return Path(path)


def write_text_atomically(path: str | os.PathLike[str], text: str, *, overwrite: bool = False) -> Path:
    """Write `text` as UTF-8 to `path` in one step; see `write_bytes_atomically`."""
    return write_bytes_atomically(path, text.encode("utf-8"), overwrite=overwrite)


def require_writable(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise what `atomic_files` would raise before the first byte; long computations ask this first."""
    target, problem = as_path(path), None
    try:
        if target.is_dir():
            problem = ("must be a file to write", "it is a directory", "Add a file name to the path.")
        elif target.exists() and not target.is_file():
            problem = ("must be a regular file", "it is a device or a pipe", "Name a separate file.")
        elif target.exists() and not overwrite:
            problem = _TAKEN
        elif not target.parent.is_dir():
            remedy = f"Create it first: mkdir -p '{target.parent}'."
            problem = ("must lie in an existing directory", f"'{target.parent}' is not one", remedy)
    except (OSError, ValueError) as error:  # names that are too long, forbidden or hold a NUL
        raise _failure(path, error) from error
    if problem is not None:
        raise FileError(f"'{path}'", *problem)


_MARK = b'<meta name="generator" content="credibly">'
"""Tells our reports from other files: a new one may take the place of an old one."""


def is_report(path: str | Path) -> bool:
    """Tell whether a file is a report that was written here."""
    try:
        with Path(path).open("rb") as file:
            return _MARK in file.read(2048)
    except (OSError, ValueError, TypeError):  # not there, no path, or not for us to read
        return False


def as_path(path: Any) -> Path:
    """Return a path to write to; anything else is refused."""
    try:
        return Path(path)
    except TypeError:
        raise InputTypeError(
            "`path`",
            "must be a path",
            "got None" if path is None else f"got {type(path).__name__}",
            "Name the file to write.",
        ) from None


@contextmanager
def naming_the_path(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the operating system refuses into an error that names the path."""
    try:
        yield
    except FileExistsError as error:
        raise FileError(f"'{path}'", *_TAKEN) from error
    except FileError:
        raise
    except OSError as error:
        raise _failure(path, error) from error


def _put_in_place(hidden: Path, target: Path, *, overwrite: bool) -> None:
    if not overwrite:
        # A hard link fails where the name was taken meanwhile; a rename would replace that file.
        try:
            os.link(hidden, target)
        except FileExistsError:
            raise
        except OSError:  # no hard links on this file system
            if target.exists():
                raise FileExistsError(str(target)) from None
            overwrite = True
    if overwrite:
        os.replace(hidden, target)  # noqa: PTH105 - patched in tests
    with suppress(OSError, AttributeError):  # a directory cannot be flushed everywhere
        _bring_to_disk(target.parent)


def _bring_to_disk(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failure(path: str | os.PathLike[str], error: Exception) -> FileError:
    reason = getattr(error, "strerror", None) or str(error)
    remedy = "Existing files are unchanged; free some space or choose another place."
    if isinstance(error, PermissionError):
        remedy = "Choose a directory you may write to."
    return FileError(f"'{path}'", "must be writable", reason, remedy)
