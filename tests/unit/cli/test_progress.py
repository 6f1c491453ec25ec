"""The progress line: silent for a second, then with the time left, then gone."""

from __future__ import annotations

import io
import re

import pytest

from credibly.cli.output import ProgressLine, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def look_at_stderr(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal behind stderr; called in the test, because pytest sets stderr anew after fixtures."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def test_nothing_in_the_first_second(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at_stderr(monkeypatch)
    clock = Clock()
    line = ProgressLine(clock)
    clock.now = 0.99
    line("tests", 99, 100)
    line.close()
    assert terminal.getvalue() == ""


def test_time_left_after_one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at_stderr(monkeypatch)
    clock = Clock()
    line = ProgressLine(clock)
    clock.now = 2.0
    line("tests", 20, 100)
    text = terminal.getvalue()
    assert "tests" in text
    assert "8 s left" in text  # 2 s for 20 of 100, so 2 * 80 / 20 = 8 s for the rest
    line.close()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is wiped


def test_the_rate_is_that_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look_at_stderr(monkeypatch)
    clock = Clock()
    line = ProgressLine(clock)
    clock.now = 10.0
    line("estimates", 1, 1)
    clock.now = 11.0
    line("tests", 10, 40)
    line.close()
    # The tests began when the estimates ended: 1 s for 10 of 40, so 3 s for the rest.
    assert re.findall(r"(\d+) s left", terminal.getvalue())[-1] == "3"


@pytest.mark.parametrize("quiet", [True, False])
def test_only_where_someone_is_looking(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_stderr(monkeypatch)
    with progress(quiet=quiet) as line:
        assert (line is None) == quiet


def test_none_where_stderr_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress(quiet=False) as line:
        assert line is None
