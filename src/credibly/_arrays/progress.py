"""How far a long computation is: a callable, or one line on standard error after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from credibly._arrays.errors import InputTypeError

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_SILENT_SECONDS = 1.0


class TerminalLine:
    """One line that is rewritten: share done and time left. Silent for a second, and where nobody looks."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.began, self.shown = stream, time.monotonic(), 0.0

    def __call__(self, done: int, total: int) -> None:
        """Write the line, at most five times a second; the last call ends it."""
        now = time.monotonic()
        spent = now - self.began
        if spent < _SILENT_SECONDS or not done:
            return
        if done >= total:
            if self.shown:
                self.stream.write("\r\033[K")
                self.stream.flush()
            return
        if now - self.shown >= 0.2:
            self.shown = now
            left = spent * (total - done) / done
            self.stream.write(f"\r{done / total:4.0%}, {left:.0f} s left\033[K")
            self.stream.flush()


StageProgress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


class StageLine:
    """One line that is rewritten: the stage and its share done. Silent for a second; `close` wipes it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.began, self.shown, self.width = stream, time.monotonic(), 0.0, 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Write the line, at most five times a second."""
        now = time.monotonic()
        if now - self.began < _SILENT_SECONDS or now - self.shown < 0.2:
            return
        self.shown = now
        self._write(f"{stage}: {done / max(total, 1):.0%}")

    def close(self) -> None:
        """Wipe the line, where there is one."""
        if self.width:
            self._write("")
            self.stream.write("\r")
            self.stream.flush()

    def _write(self, words: str) -> None:
        # blanks instead of an escape sequence: notebooks know the carriage return alone
        self.stream.write("\r" + words.ljust(self.width))
        self.stream.flush()
        self.width = len(words)


@contextmanager
def stage_progress(given: StageProgress | bool | None) -> Iterator[StageProgress | None]:
    """Give what to call: True means a line on standard error, in a terminal or a notebook."""
    if given is not None and not isinstance(given, bool) and not callable(given):
        raise InputTypeError(
            "`progress`",
            "must be True, False or callable with (stage, done, total)",
            f"got {given!r}",
            "Leave it out.",
        )
    if callable(given):
        yield given
        return
    if not given or not _is_seen(sys.stderr):
        yield None
        return
    line = StageLine(sys.stderr)
    try:
        yield line
    finally:
        line.close()


def _is_seen(stream: TextIO) -> bool:
    """Tell whether someone looks at a stream: a terminal, or the output of a notebook's kernel."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel.")


def as_progress(given: Progress | bool | None) -> Progress | None:
    """Return what to call: True means a line on standard error, where that is a terminal."""
    if given is not None and not isinstance(given, bool) and not callable(given):
        raise InputTypeError(
            "`progress`", "must be True or callable with (done, total)", f"got {given!r}", "Leave it out."
        )
    if callable(given):
        return given
    return TerminalLine(sys.stderr) if given and sys.stderr.isatty() else None


def share_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Return a progress that covers one of several equal parts."""
    if progress is None or parts == 1:
        return progress
    return lambda done, total: progress((part * total + done) // parts, total)
