"""A progress line on stderr: after one second, with the time left, only where someone is looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds before anything is shown: short commands stay silent."""


class ProgressLine:
    """Called with (stage, done, total); draws one line that is wiped when the work ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._stage_began = self._last_call = clock()
        self._stage = ""
        self._drawn: tuple[Progress, TaskID] | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how much of this stage is done, once the patience is over."""
        now = self._clock()
        if stage != self._stage:
            self._stage, self._stage_began = stage, self._last_call
        self._last_call = now
        if now - self._began < PATIENCE or done < 1:
            return
        if self._drawn is None:
            self._drawn = _start()
        left = (now - self._stage_began) * (total - done) / done
        bar, task = self._drawn
        words = f"{left:.0f} s left"
        bar.update(task, description=stage, completed=done, total=total, left=words, refresh=True)

    def close(self) -> None:
        """Wipe the line."""
        if self._drawn is not None:
            self._drawn[0].stop()


def _start() -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    bar = Progress(
        *columns,
        console=Console(file=sys.stderr),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,  # results go where the user sent them, not to the progress line
        redirect_stderr=False,
    )
    bar.start()
    return bar, bar.add_task("", left="")


@contextmanager
def progress(*, quiet: bool) -> Iterator[ProgressLine | None]:
    """Give a progress line, or None where nobody would see one."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    line = ProgressLine()
    try:
        yield line
    finally:
        line.close()
