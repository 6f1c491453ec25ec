"""`inspect`: facts, problems without raising, and what can be computed."""

from __future__ import annotations

import hashlib
import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly import io

MEMBERS = np.random.default_rng(1).dirichlet(np.ones(3), size=(8, 4))
LABELS = np.arange(8) % 3


def test_a_good_file(tmp_path: Path) -> None:
    path = cr.save(tmp_path / "file.npz", cr.Ensemble(MEMBERS), LABELS, classes=["a", "b", "c"])
    inspection = io.inspect(path)
    assert (inspection.kind, inspection.type, inspection.labels, inspection.format) == (
        "probs",
        "Ensemble",
        "classes",
        ".npz",
    )
    assert inspection.axes == {"n": 8, "m": 4, "k": 3}
    assert inspection.has_members
    assert inspection.problems == ()
    assert inspection.size == path.stat().st_size
    assert inspection.digest == cr.load(path).digest
    facts = {entry.name: (entry.shape, entry.dtype) for entry in inspection.arrays}
    assert facts["probs"] == ((8, 4, 3), "float64")
    assert facts["y"] == ((8,), "int64")


def test_what_can_be_computed_follows_the_labels(tmp_path: Path) -> None:
    known = cr.statistics.registered()
    point = cr.save(tmp_path / "labels.npz", cr.Ensemble(MEMBERS), LABELS)
    names = io.inspect(point).computable(known)
    assert "brier" in names
    for name in names:  # it can
        known[name](cr.load(point).predictions, LABELS)
    alone = io.inspect(cr.save(tmp_path / "alone.npz", cr.Ensemble(MEMBERS)))
    assert alone.labels is None
    assert alone.computable(known) == ()
    gauss = io.inspect(cr.save(tmp_path / "gauss.npz", cr.Gaussian([0.0], [1.0]), [0.5]))
    assert gauss.labels == "reals"
    assert "brier" not in gauss.computable(known)
    assert "gaussian_log_loss" in gauss.computable(known)
    table = tmp_path / "quantiles.npz"
    np.savez(table, values=np.zeros((3, 2)), levels=[0.05, 0.95], y=np.zeros(3))
    names = io.inspect(table, kind="quantiles").computable(known)
    assert "picp" in names
    assert not {"gaussian_log_loss", "ence", "rmse"} & set(names)  # no density, no variance, no mean
    counted = cr.save(tmp_path / "counts.npz", cr.Ensemble(MEMBERS), cr.LabelCounts(np.ones((8, 3), int)))
    assert io.inspect(counted).labels == "counts"


def test_bad_numbers_are_problems_not_errors(tmp_path: Path) -> None:
    probs = MEMBERS.copy()
    probs[2, 1, 0] = np.nan
    probs[5] *= 3
    np.savez(tmp_path / "file.npz", probs=probs, y=LABELS)
    inspection = io.inspect(tmp_path / "file.npz")
    assert len(inspection.problems) == 2
    assert "row 2 holds nan" in inspection.problems[0]
    assert "sums to 3" in inspection.problems[1]
    assert inspection.axes == {"n": 8, "m": 4, "k": 3}  # what the file holds, not what would be left
    assert not any("dropped" in note for note in inspection.notes)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("logits.csv", "-1.5 2\n0.3 -4\n", "kind='logits'"),
        ("grid.csv", "id,member,p_0,p_1\n1,a,0.5,0.5\n1,a,0.5,0.5\n", "every pair exactly once"),
        ("classes.json", '{"probs": [[0.5, 0.5]], "classes": ["a"]}', "`classes` must be 2 different names"),
        ("names.json", '{"left": [[1, 0]], "right": [[1, 0]]}', "must name its predictions"),
    ],
)
def test_files_that_load_refuses_are_described(name: str, text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    inspection = io.inspect(tmp_path / name)
    assert problem in inspection.problems[0]
    assert inspection.type is None
    assert inspection.computable(cr.statistics.registered()) == ()
    with pytest.raises(cr.InputError):
        cr.load(tmp_path / name)


def test_unreadable_files_and_wrong_arguments_raise(tmp_path: Path) -> None:
    with pytest.raises(cr.FileError):
        io.inspect(tmp_path / "nothing.npz")
    path = cr.save(tmp_path / "file.npz", cr.Ensemble(MEMBERS))
    with pytest.raises(cr.InputError, match="`kind` must be one of"):
        io.inspect(path, kind="probz")


def test_flags_are_taken(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.log(np.moveaxis(MEMBERS, 1, 0)))
    np.save(tmp_path / "labels.npy", LABELS)
    inspection = io.inspect(
        tmp_path / "array.npy", kind="logits", labels=tmp_path / "labels.npy", member_axis=0
    )
    assert inspection.problems == ()
    assert inspection.axes == {"n": 8, "m": 4, "k": 3}


def test_to_dict_is_json(tmp_path: Path) -> None:
    path = cr.save(tmp_path / "file.npz", cr.Ensemble(MEMBERS), LABELS)
    document = json.loads(json.dumps(io.inspect(path).to_dict()))
    assert document["type"] == "Inspection"
    assert document["prediction_type"] == "Ensemble"
    assert document["arrays"][0] == {"name": "probs", "shape": [8, 4, 3], "dtype": "float64"}


# The bundled predictions


@pytest.mark.parametrize("model", io.demo_models())
def test_every_bundled_model(model: str) -> None:
    demo_run = io.demo(model)
    n = 750 if model == "shift" else 900  # README of the data
    assert len(demo_run) == len(demo_run.labels) == len(demo_run.features) == len(demo_run.ids) == n
    assert demo_run.classes == tuple(str(digit) for digit in range(10))
    assert demo_run.meta["licence"] == "CC BY 4.0"
    measured = demo_run.meta["measured"].get(model)
    if measured:
        assert float(cr.accuracy(demo_run.predictions, demo_run.labels)) == pytest.approx(
            measured["accuracy"], abs=6e-5
        )


def test_bundled_types_and_groups() -> None:
    types = {model: type(io.demo(model).predictions).__name__ for model in io.demo_models()}
    assert types == {
        "ensemble": "Ensemble",
        "single": "Point",
        "forest": "Point",
        "evidential": "Dirichlet",
        "intervals": "Intervals",
        "dropout": "Ensemble",
        "shift": "Ensemble",
    }
    shift = io.demo("shift")
    assert np.unique(shift.groups, return_counts=True)[1].tolist() == [150] * 5
    assert io.demo("single").groups is None
    with pytest.raises(cr.InputError, match="`model` must be one of"):
        io.demo("forrest")


def test_a_copy_of_what_lies_elsewhere_is_told_as_the_file_that_load_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = b"p_0,p_1,label\n0.25,0.75,1\n0.5,0.5,0\n"
    for read in (io.inspect, cr.load):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text)))
        found = read("-")
        assert found.source == "-"
        assert found.digest == hashlib.sha256(text).hexdigest()[:16]
        assert getattr(found, "size", len(text)) == len(text)
