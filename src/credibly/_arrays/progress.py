"""How far a long computation is: a callable, or one line on standard error after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from credibly._arrays.errors import require_type

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_SILENT_SECONDS = 1.0


StageProgress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


class StatusLine:
    """One line that is rewritten at most five times a second. Silent for a second; `close` wipes it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.began, self.shown, self.width = stream, time.monotonic(), 0.0, 0

    def share(self, done: int, total: int) -> None:
        """Show the share done and the time left; the last call wipes the line."""
        if done >= total:
            self.close()
        elif done:
            left = (time.monotonic() - self.began) * (total - done) / done
            self._show(f"{done / total:4.0%}, {left:.0f} s left")

    def stage(self, stage: str, done: int, total: int) -> None:
        """Show the stage and its share done."""
        self._show(f"{stage}: {done / max(total, 1):.0%}")

    def close(self) -> None:
        """Wipe the line, where there is one."""
        if self.width:
            self._write("")
            self.stream.write("\r")
            self.stream.flush()

    def _show(self, words: str) -> None:
        now = time.monotonic()
        if now - self.began >= _SILENT_SECONDS and now - self.shown >= 0.2:
            self.shown = now
            self._write(words)

    def _write(self, words: str) -> None:
        # blanks instead of an escape sequence: notebooks know the carriage return alone
        self.stream.write("\r" + words.ljust(self.width))
        self.stream.flush()
        self.width = len(words)


@contextmanager
def stage_progress(progress: StageProgress | bool | None) -> Iterator[StageProgress | None]:
    """Give what to call: True means a line on standard error, in a terminal or a notebook."""
    line = _line(progress, "stage, done, total")
    try:
        yield progress if callable(progress) else None if line is None else line.stage
    finally:
        if line is not None:
            line.close()


def as_progress(progress: Progress | bool | None) -> Progress | None:
    """Return what to call: True means a line on standard error, in a terminal or a notebook."""
    line = _line(progress, "done, total")
    return progress if callable(progress) else None if line is None else line.share


def _line(progress: object, arguments: str) -> StatusLine | None:
    """Return a line where one was asked for and someone looks: at a terminal, or at a notebook."""
    require_type(
        progress is None or isinstance(progress, bool) or callable(progress),
        f"must be True, False or callable with ({arguments})",
        "Leave it out.",
        progress=progress,
    )
    seen = sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")
    return StatusLine(sys.stderr) if progress is True and seen else None


def share_of(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Return a progress that covers one of several equal parts."""
    if progress is None or parts == 1:
        return progress
    return lambda done, total: progress((part * total + done) // parts, total)


def tell(progress: Progress | None, done: int, total: int) -> None:
    """Report progress if there is a listener."""
    if progress is not None:
        progress(done, total)
