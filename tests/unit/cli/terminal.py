"""Run a command in a pseudo-terminal of a given width, as a person would."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[3] / "src"
COMMAND = [sys.executable, "-m", "credibly"]
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen(NamedTuple):
    code: int
    raw: str

    @property
    def text(self) -> str:
        """What is on the screen, without colours and cursor moves."""
        return _ESCAPE.sub("", self.raw).replace("\r\n", "\n")

    @property
    def coloured(self) -> bool:
        return re.search(r"\x1b\[[0-9;]*3[0-9]m", self.raw) is not None


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, less what would change colours or widths."""
    unset = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    path = os.pathsep.join([str(SOURCE), *filter(None, [kept.get("PYTHONPATH")])])
    return {**kept, "TERM": "xterm-256color", "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **changes}


def in_terminal(
    *words: object,
    width: int = 120,
    interrupt_at: str | None = None,
    timeout: float = 60.0,
    command: list[str] | None = None,
    **changes: str,
) -> Screen:
    """Run ``credibly WORDS``; press Ctrl-C once `interrupt_at` is on the screen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    process = subprocess.Popen(
        [*(command or COMMAND), *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**changes),
        start_new_session=True,
    )
    os.close(theirs)
    raw, deadline = b"", time.monotonic() + timeout
    try:
        while time.monotonic() < deadline:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux: the last writer has closed the terminal
                break
            if not part:
                break
            raw += part
            if interrupt_at is not None and interrupt_at.encode() in raw:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
        code = process.wait(timeout=10)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return Screen(code, raw.decode())
