"""What users rely on at the command line: verbs, options, exit codes, light imports."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly
from credibly.calls import verbs
from credibly.cli import catalogue, main
from credibly_studies.simulate import CalibrationTest, EnsembleWorld
from unit.cli.runs import few_digits

__all__ = ["few_digits"]

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
VERBS = (
    "inspect",
    "evaluate",
    "test",
    "plan",
    "check",
    "audit",
    "monitor",
    "raters",
    "compare",
    "report",
    "convert",
    "study",
    "list",
    "demo",
)
GROUPED = ("calibrate fit", "calibrate apply", "calibrate compare")
ALL_VERBS = (*VERBS, *GROUPED)
SETTLING = (
    "--normalise",
    "--columns",
    "--exclude",
    "--ignore-label",
    "--n-raters",
    "--id",
    "--classes",
    "--levels",
    "--member-weights",
)
ALONE = ("--labels", "--kind", "--member-axis", *SETTLING)
READING = (*ALONE, "--clusters", "--blocks")
COMPUTING = ("--drop-invalid", "--statistic", "--n-resamples", "--n-bins", "--seed", "--fail-on")
MARGINS = ("--margin", "--relative-margin")
WORKING = ("--engine", "--scheduler")
STREAMING = (*READING, *WORKING, "--stream", "--chunk-rows", "--skip-bad-shards")
OPTIONS: dict[str, tuple[str, ...]] = {
    "inspect": (*READING, "--claimed", "--words"),
    "evaluate": (*STREAMING, *COMPUTING, *MARGINS, "--by", "--claimed", "--words"),
    "test": (
        *STREAMING,
        *COMPUTING,
        "--weights",
        "--learner",
        "--refit",
        "--split",
        "--cv",
        "--method",
        "--given",
        *MARGINS,
    ),
    "plan": (*ALONE, "--drop-invalid", "--width", "--gap", "--margin", "--power"),
    "check": (*STREAMING, *COMPUTING, "--hypothesis", "--power"),
    "audit": (
        *STREAMING,
        *(name for name in COMPUTING if name not in ("--statistic", "--n-bins")),
        "--by",
        "--depth",
        "--n-quantiles",
        "--min-size",
        "--hypothesis",
        "--margin",
    ),
    "monitor": (
        *ALONE,
        "--drop-invalid",
        "--clusters",
        "--by",
        "--claimed",
        "--state",
        "--metrics",
        "--follow",
        "--every",
        "--level",
        "--hypothesis",
        "--out",
        "--force",
        "--fail-on",
    ),
    "raters": (*STREAMING, "--drop-invalid", "--n-bins", "--weights", "--n-resamples", "--seed"),
    "compare": (
        *STREAMING,
        "--drop-invalid",
        "--tradeoff",
        "--measure",
        "--statistic",
        "--n-resamples",
        "--n-bins",
        "--seed",
        "--out",
        "--force",
    ),
    "report": (
        *STREAMING,
        *COMPUTING,
        "--recalibrate",
        "--out",
        "--force",
        *MARGINS,
        "--by",
        "--claimed",
        "--words",
    ),
    "convert": (*READING, "--claimed", "--words", "--drop-invalid", "--force"),
    "study": (*WORKING, "--size", "--out", "--force", "--workers", "--seed"),
    "list": (),
    "demo": ("--out", "--force", "--model", "--seed", "--n-resamples", "--n-bins", "--margin"),
    "calibrate fit": (*READING, "--drop-invalid", "--method", "--seed", "--force", "--by"),
    "calibrate apply": (*READING, "--drop-invalid", "--force", "--by"),
    "calibrate compare": (
        *READING,
        *(name for name in COMPUTING if name != "--fail-on"),
        "--method",
        "--folds",
        "--by",
    ),
}


def run(*words: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run ``python -m credibly``; stdout, stderr and environment can be given."""
    arguments = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT, **settings}
    command = [sys.executable, "-m", "credibly", *map(str, words)]
    return subprocess.run(command, text=True, timeout=60, check=False, **arguments)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the examples in the help name."""
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(3), size=60)
    labels = rng.integers(0, 3, size=60)
    np.savez(tmp_path / "predictions.npz", probs=probs, y=labels)
    drawn = (rng.random((60, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    np.savez(tmp_path / "held-out.npz", probs=probs, y=drawn)
    np.savez(tmp_path / "rated.npz", probs=probs, label_counts=rng.multinomial(5, probs))
    members = rng.dirichlet(np.ones(3), size=(60, 4))
    np.savez(tmp_path / "members.npz", probs=members, y=labels)
    np.save(tmp_path / "predictions.npy", probs)
    np.save(tmp_path / "labels.npy", labels)
    rows = (f"{20 + i},{'FM'[i % 2]},{'AB'[i // 30]},0.4,0.6,{i % 2}" for i in range(60))
    (tmp_path / "patients.csv").write_text("\n".join(["age,sex,site,p_0,p_1,y", *rows]) + "\n")
    np.savetxt(tmp_path / "other.csv", probs, delimiter=",")
    np.savetxt(tmp_path / "logits.csv", np.log(probs), delimiter=",")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Verbs and options


def test_the_verbs_are_these() -> None:
    assert tuple(verbs.VERBS) == ALL_VERBS


@pytest.mark.parametrize("verb", ALL_VERBS)
def test_the_verb_is_where_the_table_says_and_says_the_same(verb: str) -> None:
    listed = verbs.VERBS[verb]
    module, _, name = listed.home.partition(":")
    function = getattr(import_module(f"credibly.cli.{module}"), name)
    assert inspect.getdoc(function) == listed.summary
    assert listed.example.startswith(f"credibly {verb} ")


@pytest.mark.parametrize("verb", ALL_VERBS)
def test_the_options_are_these(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb.split(), "--help"]) == 0
    offered = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert set(offered) == {*OPTIONS[verb], "--json", "--quiet", "--help"}


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(
            verb, marks=pytest.mark.slow if verb in ("calibrate compare", "demo", "report", "study") else ()
        )
        for verb in ALL_VERBS
    ],
)
def test_the_example_of_the_help_runs(
    verb: str,
    folder: Path,
    without_pictures: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if verb == "study":
        studies = pytest.importorskip("credibly_studies", reason="needs the package credibly-studies")
        tests, worlds = {"mean": CalibrationTest("mean", "brier", 19)}, {"S1": EnsembleWorld("S1")}
        work = studies.PowerWork(tests, worlds, (0.05,))
        # the words matter here, not the claims about other tests and worlds
        fig1 = dataclasses.replace(
            studies.STUDIES["m23-fig1"], small=studies.PowerSize(20, 2), work=work, judge=None
        )
        monkeypatch.setitem(studies.STUDIES, "m23-fig1", fig1)
    assert main([*verb.split(), "--help"]) == 0
    (example,) = re.findall(
        r"^ +(credibly .+)$", capsys.readouterr().out.partition("Example")[2], re.MULTILINE
    )
    words = shlex.split(example)[1:]
    assert words[: len(verb.split())] == verb.split()
    if verb == "calibrate apply":
        assert main(["calibrate", "fit", "held-out.npz", words[2], "--method", "temperature"]) == 0
    if verb == "convert":
        (folder / words[2]).unlink()
    if verb == "demo":
        request.getfixturevalue("few_digits")
        words += ["--n-resamples", "19"]
    assert main(words) == 0, capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("few_digits", "without_pictures")
def test_every_verb_speaks_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = "predictions.npz"
    fast = ("--n-resamples", "19")
    commands = {
        "inspect": (file,),
        "evaluate": (file, *fast),
        "test": (file, *fast),
        "plan": (file, "--gap", "0.05"),
        "check": (file, *fast),
        "audit": ("patients.csv", "--by", "age,sex", *fast),
        "monitor": (file,),
        "raters": ("rated.npz",),
        "compare": (file, "members.npz", "--n-resamples", "100"),
        "report": (file, *fast),
        "convert": (file, "new.npz"),
        "study": ("list",),
        "list": (),
        "demo": ("--model", "single", *fast),
        "calibrate fit": ("held-out.npz", "calibration.json", "--method", "temperature"),
        "calibrate apply": ("calibration.json", file, "recalibrated.npz"),
        "calibrate compare": ("held-out.npz", *fast),
    }
    assert set(commands) == set(ALL_VERBS)
    for verb, words in commands.items():
        assert main([*verb.split(), *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    names = (*VERBS, *verbs.GROUPS)
    assert all(re.search(rf"^  {name} ", out, flags=re.MULTILINE) for name in names)
    assert "..." not in out.partition("Commands")[2]  # no summary is cut


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evalute"], "evalute"),
        (["test"], "FILE"),
        (["calibrate"], "command"),
        (["calibrate", "fits"], "fits"),
        (["test", "x.npz", "--sed", "1"], "--sed"),
        (["test", "x.npz", "--seed", "one"], "--seed"),
    ],
)
def test_misuse_is_one_line_with_the_way_to_the_help(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert said in line
    assert "--help`" in line


# The process


HEAVY = ("matplotlib", "jinja2", "rich", "torch", "pandas", "dask", "scipy.stats", "scipy.optimize")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--version"], (*HEAVY, "numpy", "scipy", "credibly.io")),
        (["--help"], (*HEAVY, "numpy", "scipy", "credibly.io")),
        (["calibrate", "--help"], (*HEAVY, "numpy", "scipy", "credibly.io")),
        (["report", "--help"], (*HEAVY, "numpy", "scipy", "credibly.io")),
        (["test", "--help"], (*HEAVY, "numpy", "scipy", "credibly.io")),
        (
            ["inspect", "predictions.npz"],
            (*HEAVY, "credibly.hypotests", "credibly.credal", "credibly.evaluation"),
        ),
    ],
    ids=" ".join,
)
def test_only_what_is_used_is_loaded(words: list[str], unused: tuple[str, ...], folder: Path) -> None:
    program = (
        "import sys\n"
        "from credibly.cli import main\n"
        f"code = main({words})\n"
        f"heavy = {set(unused)} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else code)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_version() -> None:
    ran = run("--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"credibly {credibly.__version__}\n", "")


@pytest.mark.slow
def test_module_and_exit_code(folder: Path) -> None:
    good = run("test", "predictions.npz", "--n-resamples", 99, "--fail-on", "conflict")
    assert good.returncode == 1, good.stderr  # labels drawn without regard to the predictions


def test_a_mistake_is_one_line_and_no_conflict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "none.npz"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_a_reader_that_leaves_early_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        ran = run("--help", stdout=write)
    finally:
        os.close(write)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which is always full")
def test_full_disk_behind_stdout() -> None:
    with Path("/dev/full").open("w") as full:
        ran = run("list", stdout=full)
    assert ran.returncode == 2
    assert ran.stderr == "credibly: the disk is full; free some space, or write to another one.\n"


@pytest.mark.slow
def test_a_poor_locale_does_not_stop_a_result(tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    np.savez(file, probs=[[0.5, 0.5]], classes=["K\u00e4se", "Brot"])
    ran = run("inspect", file, env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"})
    assert ran.returncode == 0, ran.stderr
    assert "K\\xe4se, Brot" in ran.stdout


# Failures that are nobody's mistake


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "credibly: stopped.\n"),
        (MemoryError(), 2, "credibly: there is not enough memory for this; try fewer rows.\n"),
        (OSError(5, "Input/output error", "x.npz"), 2, "credibly: x.npz: Input/output error.\n"),
    ],
)
def test_what_the_machine_refuses(
    raised: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise raised

    monkeypatch.setattr(catalogue, "registered", fail)
    assert main(["list"]) == code
    assert capsys.readouterr().err == said


def test_a_defect_shows_its_traceback_and_is_not_taken_for_a_conflict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(catalogue, "registered", fail)
    assert main(["list"]) == 70
    printed = capsys.readouterr().err
    assert "ZeroDivisionError: ours" in printed
    assert "please report it" in printed
