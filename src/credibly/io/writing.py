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


class _Staged:
    """One file on its way: bytes go to a hidden file in the same directory, which is renamed at the end."""

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool) -> None:
        self.path, self.overwrite = path, overwrite
        require_writable(path, overwrite=overwrite)
        # renaming would replace a link, not the file it points to
        self.target = Path(path).resolve() if Path(path).is_symlink() else Path(path)
        self.hidden = hidden_beside(self.target)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with told(path):
            self._descriptor = os.open(self.hidden, flags, 0o666)
        self._raw = _Descriptor(self._descriptor)
        self.file = io.BufferedWriter(self._raw)

    def finish(self) -> None:
        """Bring all bytes to the disk."""
        self.file.flush()
        if self.target.exists():
            os.chmod(self.hidden, stat.S_IMODE(self.target.stat().st_mode))  # noqa: PTH101 - patched in tests
        os.fsync(self._descriptor)
        self.close()

    def close(self) -> None:
        """Give the descriptor back, once."""
        if not self._raw.released:
            self._raw.released = True
            os.close(self._descriptor)
            self.file.close()

    def put_in_place(self) -> None:
        """Let the new file take its name."""
        with told(self.path):
            _put_in_place(self.hidden, self.target, overwrite=self.overwrite)

    def remove(self) -> None:
        """Leave nothing behind."""
        self.close()
        with suppress(OSError):
            self.hidden.unlink(missing_ok=True)


@contextmanager
def atomic_files(*paths: str | os.PathLike[str], overwrite: bool = False) -> Iterator[tuple[BinaryIO, ...]]:
    """Open files for writing that take their places only when the block ends well.

    The bytes of all of them are on the disk before the first is renamed. On any failure the hidden files
    are removed and what was there before is untouched.
    """
    staged: list[_Staged] = []
    placed: list[_Staged] = []
    try:
        for path in paths:
            staged.append(_Staged(path, overwrite=overwrite))  # noqa: PERF401 - a failure removes the first
        with told(paths[0]):
            yield tuple(one.file for one in staged)
        for one in staged:
            with told(one.path):
                one.finish()
        for one in staged:
            one.put_in_place()
            placed.append(one)
    except BaseException:
        # Only what was not there before can be taken back; it is ours, and half of what was asked for.
        for one in placed if not overwrite else ():
            with suppress(OSError):
                one.target.unlink()
        raise
    finally:
        for one in staged:
            one.remove()


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open one file for writing that takes its place only when the block ends well; see `atomic_files`."""
    with atomic_files(path, overwrite=overwrite) as (file,):
        yield file


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
    target = as_path(path)
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
            raise already_there(path)
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


def as_path(path: Any) -> Path:
    """Return a path to write to; what is none is told as such."""
    try:
        return Path(path)
    except TypeError:
        raise InputTypeError(
            "`path`",
            "must be a path",
            "got None" if path is None else f"got {type(path).__name__}",
            "Name the file to write.",
        ) from None


def hidden_beside(target: Path) -> Path:
    """Return a name in the same directory that nobody else uses and a listing does not show."""
    return target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.tmp")


@contextmanager
def told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the operating system refuses into an error that names the path."""
    try:
        yield
    except FileExistsError as error:
        raise already_there(path) from error
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
            os.replace(hidden, target)  # noqa: PTH105 - patched in tests
    else:
        os.replace(hidden, target)  # noqa: PTH105 - patched in tests
    with suppress(OSError, AttributeError):  # a directory cannot be flushed everywhere
        directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def already_there(path: str | os.PathLike[str]) -> FileError:
    """Return the error about a name that is taken."""
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
