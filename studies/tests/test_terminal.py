"""`credibly study` as a person meets it: in a pseudo-terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals need a POSIX system", allow_module_level=True)

from unit.cli.terminal import Screen, Shown, in_terminal, one_by_one

pytestmark = pytest.mark.slow


# One study more, which waits instead of computing.
WAITING = """
import sys, time
from credibly.cli import main
from credibly_studies.simulate import MulticlassWorld
from credibly_studies import STUDIES, PowerSize, PowerWork, Study

def patient(sample, rng):
    time.sleep(0.02)
    return float(rng.random())

tests = {"one test": patient, "another test": lambda sample, rng: float(rng.random())}
worlds = {name: MulticlassWorld("H0,1", n_members=3) for name in ("S1", "S2", "S3")}
STUDIES["waiting"] = Study(
    "waiting", "", "", PowerSize(10, 25), PowerSize(10, 50_000), PowerWork(tests, worlds, (0.05, 0.5))
)
"""


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Screen]:
    out = tmp_path_factory.mktemp("terminal") / "study"
    commands = {
        "list": Shown(["study", "list"], 80),
        "waiting": Shown(["study", "waiting", "--out", out], 120),
    }
    return one_by_one(commands, first=WAITING)


def test_studies_are_listed_within_eighty_columns(screens: dict[str, Screen]) -> None:
    screen = screens["list"]
    assert screen.code == 0
    assert max(len(line) for line in screen.text.splitlines()) <= 80
    assert "m23-fig1" in screen.text


def test_a_study_shows_one_level_and_progress(screens: dict[str, Screen]) -> None:
    screen = screens["waiting"]
    assert screen.code == 0
    assert "s left" in screen.text  # it takes more than a second
    assert "another test" in screen.text
    rows = [line for line in screen.text.splitlines() if line.startswith((" S1 ", " S2 ", " S3 "))]
    assert len(rows) == 3 * 2  # three worlds; two tests; one level of the two
    assert "note: wrote" in screen.text


def test_a_stopped_study_keeps_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    words = ("study", "waiting", "--size", "full", "--out", tmp_path / "study")
    parts = tmp_path / "study" / "parts" / "power"
    command = [sys.executable, "-c", f"{WAITING}\nsys.exit(main(sys.argv[1:]))"]

    def stopped() -> dict[str, int]:
        screen = in_terminal(*words, interrupt_at=" s left", command=command)
        assert screen.code == 130
        assert screen.text.rstrip().endswith("credibly: stopped.")
        return {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}

    first = stopped()
    assert len(first) > 1  # beside the facts about the study
    assert first.items() <= stopped().items()  # nothing is computed again
    assert not (tmp_path / "study" / "result.json").exists()
