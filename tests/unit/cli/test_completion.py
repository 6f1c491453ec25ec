"""What a shell is told when Tab is pressed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from unit.cli.runs import Command
from unit.cli.terminal import COMMAND, environment


def question(typed: str) -> dict[str, str]:
    """How bash asks for the words after `typed`; a space at the end begins a new word."""
    last = str(len(typed.split(" ")) - 1)
    return {"_CREDIBLY_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": last}


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("credibly ev", ["evaluate"]),
        ("credibly --ver", ["--version"]),
        ("credibly c", ["check", "compare", "convert", "calibrate"]),
        ("credibly calibrate f", ["fit"]),
        ("credibly calibrate fit --me", ["--member-axis", "--member-weights", "--method"]),
        ("credibly report --stat", ["--statistic"]),
        ("credibly report x.npz --statistic top", ["top_label_ece"]),
        ("credibly test x.npz --kind q", ["quantiles"]),
        ("credibly test x.npz --fail-on ", ["conflict", "not-shown"]),
        ("credibly demo --model ev", ["evidential"]),
    ],
)
def test_tab(typed: str, offered: list[str], credibly: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in question(typed).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["credibly"])
    ran = credibly()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split() == offered


@pytest.mark.slow
def test_tab_in_a_process() -> None:
    asked = environment(**question("credibly ev"))
    ran = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (0, ["evaluate"], "")


@pytest.mark.slow
def test_the_script_for_a_shell_can_be_printed() -> None:
    # bash is the parent that typer looks for
    shell = ["bash", "-c", f"{sys.executable} -m credibly --show-completion; exit $?"]
    ran = subprocess.run(shell, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "_CREDIBLY_COMPLETE=complete_bash" in ran.stdout


@pytest.mark.slow
def test_a_mistake_while_asking_is_no_conflict() -> None:
    asked = environment(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    words = [*COMMAND, "--show-completion", "tcsh"]
    ran = subprocess.run(words, env=asked, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert os.fspath("tcsh") in ran.stderr
