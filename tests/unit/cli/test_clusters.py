"""`--clusters` and `--blocks` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unit.cli.runs import Command, Ran

RNG = np.random.default_rng(1)
PROBS = RNG.dirichlet(np.ones(3), size=200)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])


def _json(ran: Ran) -> Any:
    return json.loads(ran.out)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.npz"
    np.savez(path, probs=PROBS, y=LABELS, patient=np.arange(200) // 8)
    return path


@pytest.mark.parametrize("flags", [("--clusters", "patient"), ("--blocks", "8")])
def test_evaluate(credibly: Command, file: Path, flags: tuple[str, str]) -> None:
    ran = credibly("evaluate", file, *flags, "--statistic", "brier", "--n-resamples", 99, "--json")
    assert _json(ran)["predictions"]["n_clusters"] == 25
    assert _json(ran)["estimates"]["brier"]["n_clusters"] == 25
    assert " ".join(flags) in _json(ran)["source"]["command"]


def test_verbs_agree(credibly: Command, file: Path) -> None:
    tested = credibly("test", file, "--clusters", "patient", "--n-resamples", 99, "--json")
    assert _json(tested)["n_clusters"] == 25
    written = file.with_name("b.npz")
    assert credibly("convert", file, written, "--clusters", "patient").code == 0
    assert (
        _json(credibly("test", written, "--n-resamples", 99, "--json"))["pvalue"] == _json(tested)["pvalue"]
    )
    other = file.with_name("c.npz")
    other.write_bytes(file.read_bytes())
    compared = credibly("compare", file, other, "--clusters", "patient", "--n-resamples", 100, "--json")
    assert _json(compared)["estimates"]["a"]["brier"]["n_clusters"] == 25


def test_sets_and_checks_take_clusters(credibly: Command, file: Path) -> None:
    sets = file.with_name("set.npz")
    np.savez(sets, probs=np.stack([PROBS, PROBS[:, ::-1]], axis=1), y=LABELS, cluster=np.arange(200) // 8)
    assert _json(credibly("test", sets, "--json"))["n_clusters"] == 25
    mean = credibly("test", sets, "--weights", "mean", "--n-resamples", 99, "--json")
    assert _json(mean)["n_clusters"] == 25
    checked = _json(credibly("check", sets, "--n-resamples", 99, "--json"))
    assert checked["bayesian"]["checks"]["accuracy"]["n_clusters"] == 25


def test_blocks_within_every_cluster(credibly: Command, file: Path) -> None:
    flags = ("--clusters", "patient", "--blocks", "4")
    found = _json(credibly("evaluate", file, *flags, "--statistic", "brier", "--n-resamples", 99, "--json"))
    assert found["estimates"]["brier"]["n_clusters"] == 50  # 25 patients of 8 rows each
    assert " ".join(flags) in found["source"]["command"]


def test_raters_of_patients(credibly: Command, tmp_path: Path) -> None:
    counts = np.stack([RNG.multinomial(3, row) for row in PROBS])
    np.savez(tmp_path / "raters.npz", probs=PROBS, counts=counts, patient=np.arange(200) // 8)
    arguments = (tmp_path / "raters.npz", "--labels", "counts", "--clusters", "patient", "--n-resamples", 99)
    tested = _json(credibly("test", *arguments, "--json"))
    assert tested["n_clusters"] == 25
    assert any("one label per instance was tested" in note for note in tested["notes"])
    assert credibly("report", *arguments, "--out", tmp_path / "page.html").code == 0


def test_one_cluster_is_refused_in_plain_words(credibly: Command, tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", probs=np.full((4, 2), 0.5), y=[0, 1, 0, 1], patient=np.ones(4, dtype=int))
    ran = credibly("test", tmp_path / "one.npz", "--clusters", "patient")
    assert ran.code == 2
    assert "all rows have the id 1." in ran.err


def test_the_next_command_reads_the_file_alike(credibly: Command, tmp_path: Path) -> None:
    sharp = PROBS**3 / (PROBS**3).sum(axis=1, keepdims=True)
    np.savez(tmp_path / "sharp.npz", probs=sharp, patient=np.arange(200) // 4)
    np.save(tmp_path / "labels.npy", LABELS)
    reading = ("--labels", str(tmp_path / "labels.npy"), "--clusters", "patient")
    told = _json(credibly("evaluate", tmp_path / "sharp.npz", *reading, "--n-resamples", 99, "--json"))
    ((_, following),) = told["headline"]["steps"]
    how = " ".join(reading)
    assert following.startswith(f"credibly calibrate fit {tmp_path}/sharp.npz calibration.json {how}")
    ran = credibly(*following.replace("calibration.json", f"{tmp_path}/calibration.json").split()[1:])
    assert ran.code == 0
