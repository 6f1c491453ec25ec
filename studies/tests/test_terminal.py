"""`credibly study` as a person meets it: in a pseudo-terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals need a POSIX system", allow_module_level=True)

from unit.cli.terminal import in_terminal


def test_studies_are_listed_within_eighty_columns() -> None:
    screen = in_terminal("study", "list", width=80)
    assert screen.code == 0
    assert max(len(line) for line in screen.text.splitlines()) <= 80
    assert "m23-fig1" in screen.text


def test_a_study_shows_one_level_and_progress(tmp_path: Path) -> None:
    screen = in_terminal("study", "m23-fig1", "--out", tmp_path / "study", width=120)
    assert screen.code == 0
    assert "s left" in screen.text  # it takes more than a second
    assert "true weights, SKCE" in screen.text
    rows = [line for line in screen.text.splitlines() if line.startswith((" S1 ", " S2 ", " S3 "))]
    assert len(rows) == 3 * 5 * 2  # three worlds; five errors, weights given and searched; one level
    assert "note: wrote" in screen.text


def test_a_stopped_study_keeps_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    words = ("study", "m23-fig1", "--size", "full", "--out", tmp_path / "study")
    parts = tmp_path / "study" / "parts" / "power"

    def stopped() -> dict[str, int]:
        screen = in_terminal(*words, interrupt_at=" s left")
        assert screen.code == 130
        assert screen.text.rstrip().endswith("credibly: stopped.")
        return {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}

    first = stopped()
    assert len(first) > 1  # beside the facts about the study
    assert first.items() <= stopped().items()  # nothing is computed again
    assert not (tmp_path / "study" / "result.json").exists()
