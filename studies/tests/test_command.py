"""`credibly study`: lists, runs, writes, goes on after a stop; a study is one row of a table."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credibly.results.base import jsonable
from credibly_studies import STUDIES, Findings, PowerSize, PowerWork, Study, power, simulate
from credibly_studies.simulate import CalibrationTest, MulticlassWorld, PowerStudy
from unit.cli.runs import Command

pytestmark = pytest.mark.slow

FILES = {
    "curves.tsv",
    "rates.tsv",
    "rejections.tsv",
    "result.json",
    "result.md",
    "power.json",
    "power.svg",
    "distance.svg",
}


def random_test(sample: simulate.WorldSample, rng: np.random.Generator) -> float:
    return float(rng.random())


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Study[PowerSize]:
    """A new study with a test of the user's own: one row."""
    study = Study(
        name="tiny",
        title="A small one",
        reference="none",
        small=PowerSize(15, 12),
        full=PowerSize(20, 25),
        work=PowerWork(
            tests={"mean": CalibrationTest("mean", "brier", 19), "random": random_test},
            worlds={f"delta {d}": MulticlassWorld("H1", delta=d, n_members=3) for d in (0.0, 0.5)},
            levels=(0.05, 0.5),
        ),
    )
    monkeypatch.setitem(STUDIES, "tiny", study)
    return study


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures empty, which take most of the time of so small a study."""
    real = power.power_findings

    def without(*arguments: Any) -> Findings:
        found = real(*arguments)
        return dataclasses.replace(found, drawings=dict.fromkeys(found.drawings, lambda: None))

    monkeypatch.setattr(power, "power_findings", without)
    monkeypatch.setattr("credibly.report.svg.svg_text", lambda figure: "<svg></svg>")


def test_list(credibly: Command) -> None:
    ran = credibly("study", "list")
    assert ran.code == 0
    assert [row["name"] for row in ran.rows] == list(STUDIES)
    assert {row["reference"] for row in ran.rows} >= {"M23 Sec. 4.1, Fig. 1", "J25 Sec. 4.1, Fig. 3"}
    record = json.loads(credibly("study", "list", "--json").out)
    assert [entry["name"] for entry in record["entries"]] == list(STUDIES)


def test_studies_are_loaded_by_their_verb_alone_and_torch_by_none_of_them() -> None:
    script = """
import sys
from credibly.cli import main
def loaded():
    return {"credibly_studies", "torch", "sklearn", "mlxtend"} & set(sys.modules)
main(["list", "--json"])
before = loaded()
main(["study", "list", "--json"])
print(f"\\n{before} {loaded()}")
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.stdout.splitlines()[-1] == "set() {'credibly_studies'}"


def test_a_study_writes_table_figures_and_all_p_values(
    credibly: Command, tiny: Study[PowerSize], tmp_path: Path
) -> None:
    out = tmp_path / "results"
    ran = credibly("study", "tiny", "--out", out, "--seed", 3)
    assert ran.code == 0, ran.err
    findings = tiny.run("small", rng=3).findings
    expected = findings.details["power"]
    assert isinstance(expected, PowerStudy)
    assert {path.name for path in out.iterdir()} == {*FILES, "parts"}
    assert (out / "rates.tsv").read_text() == ran.out
    assert len(ran.rows) == 2 * 2
    brief = [row for row in expected.table() if row["level"] == 0.05]
    for row, true in zip(ran.rows, brief, strict=True):
        assert (row["world"], row["test"]) == (true["world"], true["test"])
        assert float(row["rate"]) == true["rate"]
        assert float(row["interval_low"]) == true["low"]
        assert row["null"] == str(true["null"]).lower()
    assert (out / "rejections.tsv").read_text().count("\n") == 1 + 2 * 2 * 2
    stored = json.loads((out / "power.json").read_text())
    np.testing.assert_array_equal(stored["pvalues"], expected.pvalues)
    for name in ("power.svg", "distance.svg"):
        assert ">mean<" in (out / name).read_text()  # text is kept as text
        assert f"wrote {out / name}" in ran.err


def test_running_again_computes_nothing_and_gives_the_same(
    credibly: Command, tiny: Study[PowerSize], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "results"
    first = credibly("study", "tiny", "--out", out)
    before = {name: (out / name).read_bytes() for name in FILES}

    def fail(self: object, sample: object, rng: object = None) -> float:
        raise AssertionError("computed again")

    monkeypatch.setattr(CalibrationTest, "__call__", fail)
    again = credibly("study", "tiny", "--out", out)
    assert (again.code, again.out) == (0, first.out)
    assert {name: (out / name).read_bytes() for name in FILES} == before


@pytest.mark.usefixtures("undrawn")
def test_json_and_size(credibly: Command, tiny: Study[PowerSize], tmp_path: Path) -> None:
    ran = credibly("study", "tiny", "--size", "full", "--out", tmp_path / "full", "--json", "--quiet")
    record = json.loads(ran.out)
    assert ran.err == ""
    assert (record["type"], record["study"], record["size"]) == ("StudyWritten", "tiny", "full")
    assert record["table"][0]["repetitions"] == 25
    assert {Path(path).name for path in record["files"]} == FILES


def test_a_study_without_distances_has_no_such_figure(
    credibly: Command, tiny: Study[PowerSize], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = PowerWork({"random": random_test}, {"w": MulticlassWorld()}, (0.3,))
    one = Study("one", "", "", PowerSize(10, 2), PowerSize(10, 2), work)
    monkeypatch.setitem(STUDIES, "one", one)
    assert credibly("study", "one", "--out", tmp_path / "one").code == 0
    assert not (tmp_path / "one" / "distance.svg").exists()


@pytest.mark.usefixtures("undrawn")
def test_what_is_refused(credibly: Command, tiny: Study[PowerSize], tmp_path: Path) -> None:
    ran = credibly("study", "m23-figg1", "--out", tmp_path / "x")
    assert ran.code == 2
    assert "Did you mean 'm23-fig1'?" in ran.err
    assert credibly("study", "tiny", "--size", "huge").code == 2
    ran = credibly("study", "tiny", "--workers", 0, "--out", tmp_path / "x")
    assert ran.code == 2
    assert "`--workers` must be at least 1" in ran.err
    ran = credibly("study", "tiny", "--scheduler", "tcp://127.0.0.1:1", "--out", tmp_path / "x")
    assert ran.code == 2
    assert "Add `--engine dask`" in ran.err
    ran = credibly("study", "tiny", "--engine", "dask", "--workers", 2, "--out", tmp_path / "x")
    assert ran.code == 2
    assert "`--workers` counts processes that this command starts itself" in ran.err
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").write_text("mine")
    ran = credibly("study", "tiny", "--out", tmp_path / "file")
    assert ran.code == 2
    assert "`--out` must be a directory" in ran.err
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "rates.tsv").write_text("my own table")
    ran = credibly("study", "tiny", "--out", mine)
    assert ran.code == 2
    assert "`--force`" in ran.err
    assert (mine / "rates.tsv").read_text() == "my own table"
    assert credibly("study", "tiny", "--out", mine, "--force").code == 0
    ran = credibly("study", "tiny", "--out", mine, "--seed", 5)
    assert ran.code == 2
    assert "its seed is" in ran.err


@pytest.mark.usefixtures("undrawn")
def test_processes_change_nothing(
    credibly: Command, tiny: Study[PowerSize], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes of the command's own, against the library in this one."""
    here = os.getpid()
    alone = tiny.run("small", rng=1).table("rates").records()

    def fail(self: object, sample: object, rng: object = None) -> float:
        raise AssertionError(f"computed in process {here}, which only hands out the work")

    monkeypatch.setattr(CalibrationTest, "__call__", fail)
    ran = credibly("study", "tiny", "--seed", 1, "--workers", 2, "--json", "--out", tmp_path / "two")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["table"] == jsonable(alone)


@pytest.mark.filterwarnings("ignore")  # of the cluster's own
@pytest.mark.usefixtures("undrawn")
def test_a_cluster_changes_nothing(credibly: Command, tiny: Study[PowerSize], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with distributed.LocalCluster(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        address = cluster.scheduler_address
        words = ["study", "tiny", "--engine", "dask", "--scheduler", address, "--json"]
        ran = credibly(*words, "--out", tmp_path / "far")
    assert ran.code == 0
    near = credibly("study", "tiny", "--json", "--out", tmp_path / "near")
    assert json.loads(ran.out)["table"] == json.loads(near.out)["table"]
