"""Run a command in a pseudo-terminal of a given width, as a person would."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
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


class Shown(NamedTuple):
    """A command that is to be shown, the width of the terminal, and what its environment has in addition."""

    words: Sequence[object]
    width: int
    changes: Mapping[str, str] = {}


# The terminal is made as wide as each command wants it; a zero byte, the code and a zero byte end its text.
_ONE_BY_ONE = """
import fcntl, json, os, struct, sys, termios
from credibly.cli import main
for words, width, changes in json.loads(sys.argv[1]):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    os.environ.update(changes)
    code = main(words)
    for name in changes:
        del os.environ[name]
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(1, f"\\0{code}\\0".encode())
"""


def one_by_one(commands: Mapping[str, Shown], first: str = "") -> dict[str, Screen]:
    """Run several commands in one process, which loads its modules once, and return what each showed.

    Code in `first` is run before them.
    """
    given = [
        ([*map(str, command.words)], command.width, dict(command.changes)) for command in commands.values()
    ]
    screen = in_terminal(command=[sys.executable, "-c", first + _ONE_BY_ONE, json.dumps(given)])
    assert screen.code == 0, screen.text
    *parts, rest = screen.raw.split("\0")
    assert rest == ""
    ran = zip(parts[::2], parts[1::2], strict=True)
    return {name: Screen(int(code), raw) for name, (raw, code) in zip(commands, ran, strict=True)}
