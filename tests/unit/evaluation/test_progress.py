"""A long evaluation shows how far it is, in a terminal and in a notebook, and leaves nothing behind."""

from __future__ import annotations

import io
import sys

import pytest

import credibly as cr
from credibly._arrays import progress as lines

GIVEN = {
    "predictions": [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]],
    "labels": [0, 1, 1],
    "statistics": ["brier"],
    "n_resamples": 9,
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})


@pytest.mark.parametrize("seen", [Terminal, Notebook])
def test_a_line_is_shown_after_a_second_and_wiped(
    seen: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", seen())
    cr.evaluate(**GIVEN)
    assert sys.stderr.getvalue() == ""  # it took less than a second
    monkeypatch.setattr(lines, "_SILENT_SECONDS", 0.0)
    cr.evaluate(**GIVEN)
    written = sys.stderr.getvalue().split("\r")
    assert written[1].startswith("estimates: ")
    assert written[-2].isspace()  # wiped by blanks
    assert written[-1] == ""


@pytest.mark.parametrize(
    ("stream", "progress"), [(io.StringIO, True), (Terminal, None), (Terminal, lambda *told: None)]
)
def test_nothing_is_shown_where_nobody_looks_or_asks(
    stream: type[io.StringIO], progress: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_SILENT_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream())
    cr.evaluate(**GIVEN, progress=progress)
    assert sys.stderr.getvalue() == ""


def test_a_comparison_shows_its_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    models = {"a": GIVEN["predictions"], "b": GIVEN["predictions"]}
    cr.compare(models, GIVEN["labels"], n_resamples=100)
    assert sys.stderr.getvalue() == ""  # it took less than a second
    monkeypatch.setattr(lines, "_SILENT_SECONDS", 0.0)
    cr.compare(models, GIVEN["labels"], n_resamples=100)
    written = sys.stderr.getvalue().split("\r")
    assert written[1].startswith("scores: ")
    assert written[-2].isspace()


def test_the_line_is_wiped_where_a_stage_fails() -> None:
    stream = Terminal()
    line = lines.StatusLine(stream)
    line.began -= 2
    line.stage("tests", 1, 4)
    line.close()
    assert stream.getvalue() == "\rtests: 25%\r          \r"


def test_a_word_is_no_progress() -> None:
    with pytest.raises(cr.InputTypeError, match="`progress` must be True, False or callable"):
        cr.evaluate(**GIVEN, progress="yes")


def test_false_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    cr.evaluate(**GIVEN, progress=False)
    assert lines.as_progress(False) is None
    assert stream.getvalue() == ""
