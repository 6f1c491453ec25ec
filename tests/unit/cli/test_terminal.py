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

from unit.cli.terminal import Screen, in_terminal

pytestmark = pytest.mark.slow  # each starts the command in a process of its own

RULE = "──"  # under the head of a drawn table


def widest(screen: Screen) -> int:
    return max(len(line) for line in screen.text.splitlines())


@pytest.fixture
def folder(world: World, tmp_path: Path) -> Path:
    np.savez(tmp_path / "overconfident.npz", probs=world.overconfident, y=world.labels)
    return tmp_path


def test_list_is_a_table_that_fits_eighty_columns() -> None:
    screen = in_terminal("list", width=80)
    assert screen.code == 0
    assert RULE in screen.text
    assert "\t" not in screen.text
    assert widest(screen) <= 80
    assert "Gupta and Ramdas" in screen.text


def test_list_is_blocks_on_a_narrow_terminal() -> None:
    screen = in_terminal("list", width=50)
    assert screen.code == 0
    assert RULE not in screen.text
    assert widest(screen) <= 50
    assert "hosmer_lemeshow" in screen.text  # no name is cut


def test_test_shows_everything_of_a_verdict(folder: Path) -> None:
    screen = in_terminal("test", folder / "overconfident.npz", *FAST, width=250)
    assert screen.code == 0
    for part in ("acceptance", "pvalue interval", "tail", "effect size", "n resamples", "conflict"):
        assert part in screen.text
    assert " to " in screen.text  # intervals in words
    assert screen.coloured


def test_no_color_is_honoured(folder: Path) -> None:
    screen = in_terminal("test", folder / "overconfident.npz", *FAST, width=250, NO_COLOR="1")
    assert "conflict" in screen.text
    assert not screen.coloured


@pytest.mark.parametrize(("width", "drawn"), [(80, True), (40, False)])
def test_evaluate_fits_the_terminal(width: int, drawn: bool, folder: Path) -> None:
    screen = in_terminal("evaluate", folder / "overconfident.npz", *FAST, "--quiet", width=width)
    assert screen.code == 0
    assert (RULE in screen.text) == drawn
    assert widest(screen) <= width
    words = " ".join(screen.text.split())
    assert "confidence_ece" in words
    assert "conflict" in words
    assert "conflict" in words


def test_inspect_heads_each_file_with_its_name(folder: Path) -> None:
    file = folder / "overconfident.npz"
    screen = in_terminal("inspect", file, width=150)
    assert screen.code == 0
    assert screen.text.splitlines()[0] == str(file)
    assert "probs (200, 3) float64" in screen.text


def test_class_names_cannot_steer_the_terminal(world: World, tmp_path: Path) -> None:
    classes = np.array(["a", "b\x1b[2J", "[bold red]c"])
    np.savez(tmp_path / "x.npz", probs=world.calibrated, y=world.labels, classes=classes)
    screen = in_terminal("inspect", tmp_path / "x.npz", width=150)
    assert "\x1b[2J" not in screen.raw
    assert r"b\x1b[2J, [bold red]c" in screen.text


def test_a_report_ends_with_path_and_sentences(folder: Path) -> None:
    out = folder / "r.html"
    words = ("report", folder / "overconfident.npz", "--out", out, "--statistic", "brier", *FAST)
    screen = in_terminal(*words, width=100)
    assert screen.code == 0
    assert str(out) in screen.text
    assert out.is_file()


def test_convert_says_what_it_wrote(folder: Path) -> None:
    screen = in_terminal("convert", folder / "overconfident.npz", folder / "x.csv", width=200)
    assert screen.code == 0
    assert screen.text.splitlines()[-1] == str(folder / "x.csv")


def test_errors_are_one_sentence(folder: Path) -> None:
    screen = in_terminal("test", folder / "none.npz", width=300)
    assert screen.code == 2
    assert screen.text == (
        f"credibly: '{folder / 'none.npz'}' must exist; there is no such file. "
        "Check the name and the directory.\n"
    )


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
