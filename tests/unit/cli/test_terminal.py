"""Every verb as a person meets it: in a pseudo-terminal."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from unit.cli.runs import FAST, World

if sys.platform == "win32":
    pytest.skip("pseudo-terminals need a POSIX system", allow_module_level=True)

import credibly as cr
from unit.cli.terminal import Screen, Shown, in_terminal, one_by_one

pytestmark = pytest.mark.slow  # the command runs in a process of its own

RULE = "──"  # under the head of a drawn table


def widest(screen: Screen) -> int:
    return max(len(line) for line in screen.text.splitlines())


@pytest.fixture
def folder(world: World, tmp_path: Path) -> Path:
    np.savez(tmp_path / "overconfident.npz", probs=world.overconfident, y=world.labels)
    return tmp_path


@pytest.fixture(scope="module")
def data(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("terminal")
    np.savez(made / "overconfident.npz", probs=world.overconfident, y=world.labels)
    classes = np.array(["a", "b\x1b[2J", "[bold red]c"])
    np.savez(made / "names.npz", probs=world.calibrated, y=world.labels, classes=classes)
    members = cr.Ensemble.from_logits(np.random.default_rng(0).normal(size=(60, 4, 2)))
    np.savez(made / "rated.npz", probs=members.probs, raters=np.arange(180).reshape(60, 3) % 2)
    return made


@pytest.fixture(scope="module")
def screens(data: Path) -> dict[str, Screen]:
    """What needs no process of its own: nothing is interrupted and nothing waits for time to pass."""
    file = data / "overconfident.npz"
    return one_by_one(
        {
            "list": Shown(["list"], 80),
            "list, narrow": Shown(["list"], 50),
            "test": Shown(["test", file, *FAST], 250),
            "test, NO_COLOR": Shown(["test", file, *FAST], 250, {"NO_COLOR": "1"}),
            "evaluate, 80": Shown(["evaluate", file, *FAST, "--quiet"], 80),
            "evaluate, 40": Shown(["evaluate", file, *FAST, "--quiet"], 40),
            "inspect": Shown(["inspect", file], 150),
            "names": Shown(["inspect", data / "names.npz"], 150),
            "convert": Shown(["convert", file, data / "x.csv"], 200),
            "error": Shown(["test", data / "none.npz"], 300),
            "raters": Shown(["raters", data / "rated.npz", "--n-resamples", 99, "--quiet"], 120),
            "report": Shown(["report", file, "--out", data / "r.html", "--statistic", "brier", *FAST], 100),
        }
    )


def test_list_is_a_table_that_fits_eighty_columns(screens: dict[str, Screen]) -> None:
    screen = screens["list"]
    assert screen.code == 0
    assert RULE in screen.text
    assert "\t" not in screen.text
    assert widest(screen) <= 80
    assert "Gupta and Ramdas" in screen.text


def test_list_is_blocks_on_a_narrow_terminal(screens: dict[str, Screen]) -> None:
    screen = screens["list, narrow"]
    assert screen.code == 0
    assert RULE not in screen.text
    assert widest(screen) <= 50
    assert "hosmer_lemeshow" in screen.text  # no name is cut


def test_test_shows_everything_of_a_verdict(screens: dict[str, Screen]) -> None:
    screen = screens["test"]
    assert screen.code == 0
    for part in ("acceptance", "pvalue interval", "tail", "effect size", "n resamples", "conflict"):
        assert part in screen.text
    assert " to " in screen.text  # intervals in words
    assert screen.coloured


def test_raters_begins_with_what_was_found(screens: dict[str, Screen]) -> None:
    answers, numbers = screens["raters"].text.split(RULE, 1)
    assert "It says" in answers
    assert "raters" in answers
    assert "irreducible" in numbers
    assert "It says" not in numbers


def test_no_color_is_honoured(screens: dict[str, Screen]) -> None:
    screen = screens["test, NO_COLOR"]
    assert "conflict" in screen.text
    assert not screen.coloured


@pytest.mark.parametrize(("width", "drawn"), [(80, True), (40, False)])
def test_evaluate_fits_the_terminal(width: int, drawn: bool, screens: dict[str, Screen]) -> None:
    screen = screens[f"evaluate, {width}"]
    assert screen.code == 0
    assert (RULE in screen.text) == drawn
    assert widest(screen) <= width
    words = " ".join(screen.text.split())
    assert "confidence_ece" in words
    assert "conflict" in words


def test_inspect_heads_each_file_with_its_name(data: Path, screens: dict[str, Screen]) -> None:
    screen = screens["inspect"]
    assert screen.code == 0
    assert screen.text.splitlines()[0] == str(data / "overconfident.npz")
    assert "probs (200, 3) float64" in screen.text


def test_class_names_cannot_steer_the_terminal(screens: dict[str, Screen]) -> None:
    screen = screens["names"]
    assert "\x1b[2J" not in screen.raw
    assert r"b\x1b[2J, [bold red]c" in screen.text


def test_convert_says_what_it_wrote(data: Path, screens: dict[str, Screen]) -> None:
    screen = screens["convert"]
    assert screen.code == 0
    assert screen.text.splitlines()[-1] == str(data / "x.csv")


def test_errors_are_one_sentence(data: Path, screens: dict[str, Screen]) -> None:
    screen = screens["error"]
    assert screen.code == 2
    assert screen.text == (
        f"credibly: '{data / 'none.npz'}' must exist; there is no such file. "
        "Check the name and the directory.\n"
    )


def test_a_report_ends_with_path_and_sentences(data: Path, screens: dict[str, Screen]) -> None:
    screen = screens["report"]
    assert screen.code == 0
    assert str(data / "r.html") in screen.text
    assert (data / "r.html").is_file()


def test_a_pipe_in_a_terminal_carries_columns_and_no_colour(folder: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "credibly",
        "test",
        str(folder / "overconfident.npz"),
        "--n-resamples",
        "99",
    ]
    screen = in_terminal(command=["bash", "-c", f"{shlex.join(words)} | cat"], width=40)
    header, row = [line.split("\t") for line in screen.text.splitlines() if "\t" in line]
    assert header[:3] == ["statistic", "value", "acceptance_low"]
    assert dict(zip(header, row, strict=True))["verdict"] == "conflict"
    assert not screen.coloured
    assert "note: hypothesis" in screen.text  # notes still reach the person, on stderr


def test_progress_after_a_second_then_ctrl_c(world: World, tmp_path: Path) -> None:
    many = np.tile(world.calibrated, (200, 1))  # 40 000 rows: a million replicates take hours
    np.savez(tmp_path / "many.npz", probs=many, y=np.tile(world.labels, 200))
    screen = in_terminal("test", tmp_path / "many.npz", "--n-resamples", 1_000_000, interrupt_at=" s left")
    assert screen.code == 130
    assert " s left" in screen.text
    assert screen.text.rstrip().endswith("credibly: stopped.")
    assert "Traceback" not in screen.text
