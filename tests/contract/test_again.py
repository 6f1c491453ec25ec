"""What a report says makes it again does: command and Python lines give the same headline and numbers."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.calls import Call
from credibly.cli import main

N = 120
RESULTS = re.compile(r'<script type="application/json" id="credibly-results">(.*?)</script>', re.DOTALL)
AGAIN = re.compile(r'id="again".*?<pre><code>(.*?)</code></pre>', re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(3), size=N)
    labels = (rng.random((N, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    sharp = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    beside = {"site": np.arange(N) % 2, "patient": np.arange(N) // 4, "features": rng.normal(size=(N, 2))}
    np.savez("sharp.npz", probs=sharp, y=labels, **beside)
    np.savez("other.npz", probs=probs, y=labels, patient=beside["patient"])
    np.save("logits.npy", np.log(sharp))
    np.save("probs.npy", sharp)
    np.save("labels.npy", labels)
    np.savez("members.npz", probs=np.stack([sharp, probs], axis=0), y=labels)
    mean = rng.normal(size=N)
    np.savez("ends.npz", lower=mean - 1, upper=mean + 1, y=mean + rng.normal(size=N), site=np.arange(N) % 2)
    rows = [
        f"{20 + i % 50},{'FM'[i % 2]},{0.4 + 0.1 * (i % 3):.1f},{('no', 'yes')[i % 4 == 0]}" for i in range(N)
    ]
    (tmp_path / "churn.csv").write_text("\n".join(["age,sex,p_yes,y", *rows]) + "\n")
    for part in range(3):
        own = slice(40 * part, 40 * part + 40)
        np.savez(f"part-{part}.npz", probs=sharp[own], y=labels[own])
    return tmp_path


def page_of(path: Path) -> tuple[str, dict[str, Any]]:
    """What makes a page again, and its results without the record of that."""
    text = path.read_text(encoding="utf-8")
    (again,), (results,) = AGAIN.findall(text), RESULTS.findall(text)
    record = json.loads(results)
    for name in (
        "call",
        "command",
        "notes",
        "digests",
        "paths",
    ):  # notes of reading come another way in Python
        record["source"].pop(name, None)
    return unescape(again), record


REMARKS = {"notes", "warnings", "source"}
"""About the reading of files: Python and the command line make them in other places."""
NEXT = {"steps", "command"}
"""What to do next: chunks do not remember in Python how their files were read."""


def without(names: set[str], found: Any) -> Any:
    """Leave out what is called like this, wherever it stands."""
    if isinstance(found, dict):
        return {name: without(names, one) for name, one in found.items() if name not in names}
    return [without(names, one) for one in found] if isinstance(found, list) else found


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert one[name] == other[name], name


COMMANDS = [
    "sharp.npz --by site --clusters patient --margin 0.1 --seed 3",
    "sharp.npz --blocks 5 --classes low,mid,high --recalibrate vector --recalibrate temperature",
    "sharp.npz --clusters copies --statistic brier --statistic confidence_ece --n-bins 7",
    "logits.npy --labels labels.npy --kind logits --margin 0.05 --classes a,b,c",
    "members.npz --member-axis 0 --member-weights 0.7,0.3",
    "ends.npz --claimed 0.9 --by site",
    "churn.csv --by sex --exclude age --relative-margin 0.2",
    "'part-*.npz' --statistic brier --blocks 4",
    "sharp.npz --stream --drop-invalid",
    "sharp.npz other.npz --clusters patient --seed 5",
]


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_and_its_python_lines_make_the_report_again(
    words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["report", *shlex.split(words), "--n-resamples", "100", "-q", "--out", "page.html"]
    assert main(asked) == 0, capsys.readouterr().err
    again, first = page_of(folder / "page.html")
    assert main([*shlex.split(again)[1:], "-q"]) == 0
    repeated, second = page_of(folder / "page.html")
    assert repeated == again
    same(first, second)
    recorded = json.loads(RESULTS.findall((folder / "page.html").read_text(encoding="utf-8"))[0])["source"]
    lines = Call.of(recorded["call"]).python()
    exec(lines, {})
    _, third = page_of(folder / "page.html")
    left_out = REMARKS | NEXT if "cr.scan(" in lines else REMARKS
    same(without(left_out, first), without(left_out, third))


ARRAYS: list[dict[str, Any]] = [
    {"margin": 0.1, "classes": ["a", "b", "c"], "rng": 7},
    {"groups": np.arange(N) % 3, "clusters": np.arange(N) // 2, "level": 0.1},
    {"blocks": 6, "features": np.arange(2.0 * N).reshape(N, 2), "recalibrate": ["vector", "bias"]},
    {"statistics": ["brier", "skce"], "pairwise_rows": 50, "rng": np.random.default_rng(2)},
    {"margin": np.float64(0.05), "classes": list(np.array(["a", "b", "c"])), "n_bins": np.int64(9)},
    {"tests": False, "n_bins": 5, "groups": {"sex": np.arange(N) % 2, "age": np.arange(N) % 50}},
]


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("keywords", ARRAYS, ids=", ".join)
def test_python_lines_make_the_report_of_arrays_again(keywords: dict[str, Any], folder: Path) -> None:
    data = np.load("sharp.npz")
    given = {"predictions": data["probs"], "labels": data["y"]}
    first = cr.evaluate(**given, n_resamples=39, progress=None, **keywords)
    first.report("report.html")
    again, results = page_of(folder / "report.html")
    assert again == first.again
    exec(again, {**given, **keywords})
    same(results, page_of(folder / "report.html")[1])


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_python_lines_read_the_file_again(folder: Path) -> None:
    data = cr.load("sharp.npz", groups=["site"], clusters="patient", classes=["a", "b", "c"])
    evaluations = {
        "loaded": cr.evaluate(data, n_resamples=39, progress=None),
        "named": cr.evaluate("sharp.npz", groups="site", blocks=3, n_resamples=39, progress=None),
        "beside": cr.evaluate(Path("probs.npy"), "labels.npy", n_resamples=39, progress=None),
    }
    for name, first in evaluations.items():
        assert "cr.load(" in first.again, name
        first.report("report.html")
        again, results = page_of(folder / "report.html")
        exec(again, {})
        same(results, page_of(folder / "report.html")[1])
        assert cr.evaluate(data.rows(slice(0, 60)), tests=False).again.startswith(
            "import credibly as cr\n\ncr.evaluate(\n    predictions,"
        )


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_python_lines_make_a_comparison_again(folder: Path) -> None:
    models = {name: np.load(f"{name}.npz")["probs"] for name in ("sharp", "other")}
    labels = np.load("labels.npy")
    first = cr.compare(
        models,
        labels,
        tradeoffs=[0.0, 1.0, float("inf")],
        blocks=4,
        n_resamples=100,
        rng=np.random.default_rng(1),
    )
    first.report("comparison.html")
    again, results = page_of(folder / "comparison.html")
    exec(again, {"models": models, "labels": labels})
    same(results, page_of(folder / "comparison.html")[1])


def test_values_of_rows_are_no_part_of_the_record() -> None:
    probs, labels = [[0.5, 0.5], [0.2, 0.8]] * 20, [0, 1] * 20
    call = cr.evaluate(probs, labels, groups=["a", "b"] * 20, features=[[1.0]] * 40, tests=False).source[
        "call"
    ]
    assert call["objects"] == ["predictions", "labels", "groups", "features"]
    assert (call["files"], call["typed"]) == ([], False)
    assert cr.evaluate(probs, labels, source={"path": "a.npz"}, tests=False).source["call"]["files"] == [
        "a.npz"
    ]


def test_the_next_command_has_only_flags_of_its_verb() -> None:
    reading = {"labels": "y", "claimed": 0.9, "groups": ["sex"], "clusters": "patient", "drop_invalid": True}
    call = Call("report", ("my file.csv",), reading, {"blocks": 3, "margin": 0.1})
    assert call.then("plan", gap=0.02) == "credibly plan 'my file.csv' --labels y --drop-invalid --gap 0.02"
    assert call.then("audit", groups=["COLUMN"]) == (
        "credibly audit 'my file.csv' --by COLUMN --labels y --drop-invalid --clusters patient --blocks 3"
    )
    assert Call("demo", options={"model": "forest"}).then("plan") == "credibly plan FILE"
    assert Call("evaluate", objects=("predictions", "labels"), typed=False).then("plan") is None


def test_a_file_that_is_called_like_an_option_is_named_with_its_folder() -> None:
    odd = Call("report", ("--x.npz",))
    assert odd.command() == "credibly report ./--x.npz"
    assert odd.then("audit", groups=["site"]) == "credibly audit ./--x.npz --by site"
    assert Call("report", ("-",)).command() == "credibly report -"
