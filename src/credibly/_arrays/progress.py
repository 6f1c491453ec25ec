"""How far a long computation is: a callable, or one line on standard error after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Literal, TextIO

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


def as_progress(given: Progress | Literal[True] | None) -> Progress | None:
    """Return what to call: True means a line on standard error, where that is a terminal."""
    if given is not None and given is not True and not callable(given):
        raise InputTypeError(
            "`progress`", "must be True or callable with (done, total)", f"got {given!r}", "Leave it out."
        )
    if given is not True:
        return given
    return TerminalLine(sys.stderr) if sys.stderr.isatty() else None


def share_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Return a progress that covers one of several equal parts."""
    if progress is None or parts == 1:
        return progress
    return lambda done, total: progress((part * total + done) // parts, total)
