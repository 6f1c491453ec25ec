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

from credibly._arrays.errors import FileError


class _Descriptor(io.RawIOBase):
    """A raw file over a descriptor whose owner closes it and then says so."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.released = False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return os.lseek(self._descriptor, offset, whence)

    def write(self, data: Any, /) -> int:
        # What a failed write left in a buffer must not go to whatever reuses the number.
        return len(data) if self.released else os.write(self._descriptor, data)


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place only when the block ends well.

    The bytes go to a hidden file in the same directory, are flushed to disk and then renamed. On any
    failure the hidden file is removed and what was there before is untouched.
    """
    target = Path(path)
    require_writable(target, overwrite=overwrite)
    if target.is_symlink():  # renaming would replace the link, not the file it points to
        target = target.resolve()
    hidden = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise _failure(path, error) from error
    raw = _Descriptor(descriptor)
    try:
        try:
            buffered = io.BufferedWriter(raw)
            yield buffered
            buffered.flush()
            if target.exists():
                os.chmod(hidden, stat.S_IMODE(target.stat().st_mode))  # noqa: PTH101 - patched in tests
            os.fsync(descriptor)
        finally:
            raw.released = True
            os.close(descriptor)
            buffered.close()
        _put_in_place(hidden, target, overwrite=overwrite)
    except FileExistsError as error:
        raise _exists(path) from error
    except FileError:
        raise
    except OSError as error:
        raise _failure(path, error) from error
    finally:
        with suppress(OSError):
            hidden.unlink(missing_ok=True)


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
    with atomic_file(path, overwrite=overwrite) as file:
        file.write(content)
    return Path(path)


def write_text_atomically(path: str | os.PathLike[str], text: str, *, overwrite: bool = False) -> Path:
    """Write `text` as UTF-8 to `path` in one step; see `write_bytes_atomically`."""
    return write_bytes_atomically(path, text.encode("utf-8"), overwrite=overwrite)


def require_writable(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise what `atomic_file` would raise before the first byte; long computations ask this first."""
    target = Path(path)
    try:
        if target.is_dir():
            raise FileError(
                f"'{path}'", "must be a file to write", "it is a directory", "Add a file name to the path."
            )
        if target.exists() and not target.is_file():
            raise FileError(
                f"'{path}'",
                "must be a regular file",
                "it is a device or a pipe",
                "Write to a file name of its own.",
            )
        if target.exists() and not overwrite:
            raise _exists(path)
        if not target.parent.is_dir():
            raise FileError(
                f"'{path}'",
                "must lie in an existing directory",
                f"'{target.parent}' is none",
                f"Make it first: mkdir -p '{target.parent}'.",
            )
    except FileError:
        raise
    except (OSError, ValueError) as error:  # names that are too long, forbidden or hold a NUL
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
            os.replace(hidden, target)  # noqa: PTH105 - patched in tests
    else:
        os.replace(hidden, target)  # noqa: PTH105 - patched in tests
    with suppress(OSError, AttributeError):  # a directory cannot be flushed everywhere
        directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _exists(path: str | os.PathLike[str]) -> FileError:
    return FileError(
        f"'{path}'",
        "must not exist yet",
        "it is there already",
        "Choose another name, or replace it with `overwrite=True` (`--force`).",
    )


def _failure(path: str | os.PathLike[str], error: Exception) -> FileError:
    reason = getattr(error, "strerror", None) or str(error)
    remedy = {
        "PermissionError": "Choose a directory you may write to.",
    }.get(
        type(error).__name__, "What was there before is untouched; free some space or choose another place."
    )
    return FileError(f"'{path}'", "must be writable", reason, remedy)
