"""What a shell is told when Tab is pressed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from unit.cli.terminal import COMMAND, environment


def completions(typed: str) -> list[str]:
    """Words that bash would offer after `typed`; a space at the end begins a new word."""
    words = typed.split(" ")
    asked = environment(_CREDIBLY_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1))
    ran = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("credibly ev", ["evaluate"]),
        ("credibly --ver", ["--version"]),
        ("credibly c", ["check", "compare", "convert", "calibrate"]),
        ("credibly calibrate f", ["fit"]),
        ("credibly calibrate fit --me", ["--member-axis", "--method"]),
        ("credibly report --stat", ["--statistic"]),
        ("credibly report x.npz --statistic top", ["top_label_ece"]),
        ("credibly test x.npz --kind q", ["quantiles"]),
        ("credibly test x.npz --fail-on ", ["conflict"]),
        ("credibly demo --model ev", ["evidential"]),
    ],
)
def test_tab(typed: str, offered: list[str]) -> None:
    assert completions(typed) == offered


def test_the_script_for_a_shell_can_be_printed() -> None:
    # bash is the parent that typer looks for
    shell = ["bash", "-c", f"{sys.executable} -m credibly --show-completion; exit $?"]
    ran = subprocess.run(shell, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "_CREDIBLY_COMPLETE=complete_bash" in ran.stdout


def test_a_mistake_while_asking_is_no_conflict() -> None:
    asked = environment(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    words = [*COMMAND, "--show-completion", "tcsh"]
    ran = subprocess.run(words, env=asked, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert os.fspath("tcsh") in ran.stderr
