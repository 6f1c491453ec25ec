"""What a shell is told when Tab is pressed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unit.cli.runs import Command
from unit.cli.terminal import COMMAND, environment


def question(typed: str) -> dict[str, str]:
    """How bash asks for the words after `typed`; a space at the end begins a new word."""
    last = str(len(typed.split(" ")) - 1)
    return {"_CREDIBLY_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": last}


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
        ("credibly calibrate fit x.npz c.json --method venn", ["venn_abers"]),
        ("credibly report x.npz --recalibrate ma", ["matrix"]),
        ("credibly compare a.npz b.npz --measure h", ["hartley"]),
        ("credibly test x.npz --learner b", ["boundary"]),
        ("credibly convert x.npz out.n", ["out.npz", "out.npy"]),
    ],
)
def test_tab(typed: str, offered: list[str], credibly: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in question(typed).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["credibly"])
    ran = credibly()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split() == [f"plain,{word}" for word in offered]


@pytest.mark.parametrize("typed", ["report pre", "calibrate apply cal", "evaluate p.npz --labels lab"])
def test_tab_offers_files(typed: str, credibly: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in question(f"credibly {typed}").items():
        monkeypatch.setenv(name, value)
    assert credibly().out.split() == [f"file,{typed.split()[-1]}"]


@pytest.mark.slow
def test_tab_in_a_process() -> None:
    asked = environment(**question("credibly ev"))
    ran = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (0, ["plain,evaluate"], "")


@pytest.mark.slow
def test_the_script_for_a_shell_can_be_printed() -> None:
    # bash is the parent process
    shell = ["bash", "-c", f"{sys.executable} -m credibly --show-completion; exit $?"]
    ran = subprocess.run(shell, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "_CREDIBLY_COMPLETE=bash_complete" in ran.stdout


def test_a_shell_that_is_not_known_is_no_conflict(credibly: Command) -> None:
    ran = credibly("--show-completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert "'tcsh' is none of bash, zsh, fish" in ran.err


@pytest.mark.parametrize(
    ("shell", "script", "settings"),
    [
        ("bash", ".bash_completions/credibly.sh", ".bashrc"),
        ("zsh", ".zfunc/_credibly", ".zshrc"),
        ("fish", ".config/fish/completions/credibly.fish", None),
    ],
)
def test_completion_is_installed_once(
    shell: str,
    script: str,
    settings: str | None,
    credibly: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("needs bash, which is asked for its version")
    monkeypatch.setenv("HOME", str(tmp_path))
    if settings is not None:
        (tmp_path / settings).write_text("alias ll='ls -l'\n")
    for _ in range(2):
        ran = credibly("--install-completion", shell)
        assert (ran.code, ran.err) == (0, "")
        assert str(tmp_path / script) in ran.out
    assert "_CREDIBLY_COMPLETE" in (tmp_path / script).read_text()
    if settings is not None:
        said = (tmp_path / settings).read_text()
        assert said.startswith("alias ll='ls -l'\n")
        assert said.count(f"source '{tmp_path / script}'") == 1
