"""`credibly.toml`: defaults for repeated runs, said aloud, never stronger than what is typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer

from credibly.cli.config import in_words, read_config
from unit.cli.runs import Command, World


@pytest.fixture
def folder(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    np.savez(tmp_path / "p.npz", probs=world.overconfident, y=world.labels)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "credibly.toml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


FULL = """
n-resamples = 89
seed = 7
[test]
file = "p.npz"
statistic = ["brier", "accuracy"]
fail-on = "conflict"
"""


def test_a_verb_alone_runs_as_the_file_says(credibly: Command, folder: Path) -> None:
    write(folder, FULL)
    ran = credibly("test")
    assert ran.code == 1  # fail-on conflict
    assert [row["statistic"] for row in ran.rows[:2]] == ["brier", "accuracy"]
    assert {row["n_resamples"] for row in ran.rows} == {"89"}
    first = ran.err.splitlines()[0]
    assert first == (
        "note: defaults from credibly.toml: n-resamples 89, seed 7, file p.npz, statistic brier accuracy, "
        "fail-on conflict"
    )


def test_what_is_typed_wins(credibly: Command, folder: Path) -> None:
    typed = credibly("test", "p.npz", "--statistic", "brier", "--n-resamples", 99, "--seed", 3)
    write(folder, FULL)
    again = credibly("test", "p.npz", "--statistic", "brier", "--n-resamples", 99, "--seed", 3)
    assert again.out == typed.out
    assert again.code == 1  # what is not typed still comes from the file


def test_the_table_of_a_verb_wins_over_the_top(credibly: Command, folder: Path) -> None:
    write(folder, 'n-resamples = 89\n[test]\nn-resamples = 59\nfile = "p.npz"\n')
    assert {row["n_resamples"] for row in credibly("test").rows} == {"59"}
    evaluated = json.loads(credibly("evaluate", "p.npz", "--json", "--statistic", "brier").out)
    assert evaluated["settings"]["n_resamples"] == 89


VERBS = """
seed = 7
n-resamples = 100
[check]
file = "p.npz"
statistic = "brier"
[compare]
files = ["p.npz", "q.npz"]
tradeoff = 1
[calibrate.compare]
file = "p.npz"
folds = 3
method = ["temperature"]
"""


@pytest.mark.parametrize("words", [("check",), ("compare",), ("calibrate", "compare")])
def test_every_verb_takes_its_table(words: tuple[str, ...], credibly: Command, folder: Path) -> None:
    (folder / "q.npz").write_bytes((folder / "p.npz").read_bytes())
    write(folder, VERBS)
    ran = credibly(*words)
    assert ran.code == 0
    assert "defaults from credibly.toml: seed 7, n-resamples 100" in ran.err
    assert len(ran.rows) >= 1


@pytest.mark.slow
def test_the_report_names_the_whole_command(credibly: Command, folder: Path) -> None:
    write(folder, '[report]\nfile = "p.npz"\nforce = true\nn-resamples = 19\nstatistic = "brier"\n')
    (folder / "p-report.html").touch()
    assert credibly("report").code == 2  # the file was only found: it may not say force
    assert credibly("--config", "credibly.toml", "report").code == 0
    page = (folder / "p-report.html").read_text(encoding="utf-8")
    words = "--statistic brier --margin 0.02 --n-resamples 19 --n-bins 15 --seed 0"
    assert f"credibly report p.npz --out p-report.html {words}" in page


@pytest.mark.parametrize("words", [("-q",), ("--quiet",)])
def test_quiet_is_quiet(words: tuple[str, ...], credibly: Command, folder: Path) -> None:
    write(folder, FULL)
    assert credibly("test", *words).err == ""


def test_quiet_can_stand_in_the_file(credibly: Command, folder: Path) -> None:
    write(folder, f"quiet = true\n{FULL}")
    assert credibly("test").err == ""


def test_another_file_can_be_named(credibly: Command, folder: Path) -> None:
    write(folder, "seed = 'nonsense'")
    write(folder, FULL, "mine.toml")
    assert credibly("--config", "mine.toml", "test").code == 1
    missing = credibly("--config", "none.toml", "list")
    assert missing.code == 2
    assert "'none.toml' must exist" in missing.err


def test_verbs_that_read_nothing_are_left_alone(credibly: Command, folder: Path) -> None:
    write(folder, FULL)
    assert credibly("list").err == ""
    assert credibly("test", "--help").err == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seeds = 1", "got 'seeds'. Did you mean 'seed'?"),
        ("[reprot]", "a table in 'credibly.toml' must be one of"),
        ("[report]\nforse = true", "an option in [report] of 'credibly.toml'"),
        ("[list]\nseed = 1", "an option in [list]"),
        ("seed = 1.5", "--seed"),
        ("seed = true", "`seed` in 'credibly.toml' must be text or a number; got True"),
        ("seed = [1, 2]", "must be text or a number"),
        ("statistic = [true]", "must be text, a number, or a list of them"),
        ('[report]\nforce = "yes"', "`force` in 'credibly.toml' must be true or false; got 'yes'"),
        ("seed = ", "'credibly.toml' must be TOML"),
    ],
)
def test_mistakes_are_one_sentence(text: str, said: str, credibly: Command, folder: Path) -> None:
    write(folder, text)
    ran = credibly("test", "p.npz")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err.splitlines()[-1]


def test_verbs_of_a_verb(tmp_path: Path) -> None:
    app, inner = typer.Typer(), typer.Typer()

    @inner.command()
    def fit(bins: int = 1) -> None: ...

    @inner.command()
    def apply(bins: int = 1, force: bool = False) -> None: ...

    app.add_typer(inner, name="calibrate")
    path = tmp_path / "x.toml"
    path.write_text("bins = 5\n[calibrate]\nbins = 6\n[calibrate.fit]\nbins = 7\n", encoding="utf-8")
    found = read_config(path, typer.main.get_command(app))
    assert found == {"calibrate": {"fit": {"bins": "7"}, "apply": {"bins": "6"}}}


def test_words() -> None:
    assert (
        in_words({"n_bins": "5", "force": True, "statistic": ["a", "b"]}) == "n-bins 5, force, statistic a b"
    )
