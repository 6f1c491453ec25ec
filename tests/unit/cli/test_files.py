"""`credibly inspect` and `credibly convert` for programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from kinds import CLASS_STATISTICS
from unit.cli.runs import Command, K, N, Ran, World


def values(ran: Ran, what: str) -> list[str]:
    return [row["value"] for row in ran.rows if row["what"] == what]


def test_inspect_says_shapes_kind_axes_and_what_can_be_computed(credibly: Command, calibrated: Path) -> None:
    ran = credibly("inspect", calibrated)
    assert ran.code == 0
    assert values(ran, "array") == [f"probs ({N}, {K}) float64", f"y ({N},) int64"]
    assert values(ran, "kind") == ["probs"]
    assert values(ran, "axis n") == [str(N)]
    assert values(ran, "labels") == ["classes"]
    assert values(ran, "computable") == [", ".join(CLASS_STATISTICS)]
    assert values(ran, "problem") == []


def test_inspect_names_an_averaged_ensemble(credibly: Command, calibrated: Path) -> None:
    assert any("averaged ensemble" in note for note in values(credibly("inspect", calibrated), "note"))


def test_inspect_goes_on_after_a_bad_file(credibly: Command, calibrated: Path, tmp_path: Path) -> None:
    ran = credibly("inspect", tmp_path / "none.npz", calibrated)
    assert ran.code == 2
    assert "none.npz" in ran.err
    assert {row["file"] for row in ran.rows} == {str(calibrated)}
    entries = json.loads(credibly("inspect", tmp_path / "none.npz", calibrated, "--json").out)
    assert "must exist" in entries[0]["error"]
    assert entries[1]["kind"] == "probs"


def test_inspect_lists_problems_with_the_flag_that_helps(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    np.save(tmp_path / "logits.npy", np.log(world.calibrated) - 3)
    ran = credibly("inspect", tmp_path / "logits.npy")
    assert ran.code == 2
    (problem,) = values(ran, "problem")
    assert "`--kind logits`" in problem
    assert "kind=" not in problem


@pytest.mark.slow
@pytest.mark.parametrize("extension", ["npz", "csv", "tsv"])
def test_convert_there_and_back(
    extension: str, credibly: Command, world: World, calibrated: Path, tmp_path: Path
) -> None:
    there, back = tmp_path / f"there.{extension}", tmp_path / "back.npz"
    ran = credibly("convert", calibrated, there)
    assert (ran.code, ran.out) == (0, f"{there}\n")
    assert credibly("convert", there, back).code == 0
    data = cr.load(back)
    np.testing.assert_array_equal(data.predictions.probs, world.calibrated)
    np.testing.assert_array_equal(data.labels, world.labels)


def test_convert_to_npy_writes_a_pair_and_names_both(
    credibly: Command, world: World, calibrated: Path, tmp_path: Path
) -> None:
    there, labels, back = tmp_path / "there.npy", tmp_path / "there-labels.npy", tmp_path / "back.npz"
    ran = credibly("convert", calibrated, there)
    assert (ran.code, ran.out) == (0, f"{there}\n{labels}\n")
    assert credibly("convert", there, back, "--labels", labels).code == 0
    data = cr.load(back)
    np.testing.assert_array_equal(data.predictions.probs, world.calibrated)
    np.testing.assert_array_equal(data.labels, world.labels)
    record = json.loads(credibly("convert", calibrated, there, "--force", "--json").out)
    assert (record["written"], record["labels"]) == (str(there), str(labels))
    # predictions alone are one file
    ran = credibly("convert", there, tmp_path / "alone.npy")
    assert ran.out == f"{tmp_path / 'alone.npy'}\n"
    assert not (tmp_path / "alone-labels.npy").exists()


def test_force_never_replaces_the_labels_that_are_read(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    np.savez(tmp_path / "pred.npz", probs=world.calibrated)
    np.save(tmp_path / "pred-labels.npy", world.labels.astype(np.uint8))
    before = (tmp_path / "pred-labels.npy").read_bytes()
    words = ("--labels", tmp_path / "pred-labels.npy", "--force")
    ran = credibly("convert", tmp_path / "pred.npz", tmp_path / "pred.npy", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "must not be a file that is read" in ran.err
    assert (tmp_path / "pred-labels.npy").read_bytes() == before
    assert not (tmp_path / "pred.npy").exists()


def test_convert_says_what_npy_cannot_hold(credibly: Command, world: World, tmp_path: Path) -> None:
    np.savez(tmp_path / "named.npz", probs=world.calibrated, y=world.labels, classes=list("abc"))
    ran = credibly("convert", tmp_path / "named.npz", tmp_path / "out.npy")
    assert ran.code == 2
    assert "one array, got probs, classes. Use .npz" in ran.err
    assert not (tmp_path / "out.npy").exists()


def test_convert_keeps_what_is_there(credibly: Command, calibrated: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    out.write_bytes(b"mine")
    ran = credibly("convert", calibrated, out)
    assert ran.code == 2
    assert "`--force`" in ran.err
    assert out.read_bytes() == b"mine"
    assert credibly("convert", calibrated, out, "--force").code == 0


@pytest.mark.parametrize("verb", ["report", "convert"])
@pytest.mark.parametrize("victim", ["predictions", "labels", "link"])
def test_force_never_replaces_what_is_read(
    verb: str, victim: str, credibly: Command, world: World, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"{name}.npy" for name in ("predictions", "labels", "link")}
    np.save(files["predictions"], world.calibrated)
    np.save(files["labels"], world.labels)
    files["link"].symlink_to(files["predictions"])
    before = {name: path.read_bytes() for name, path in files.items()}
    target = ("--out", files[victim]) if verb == "report" else (files[victim],)
    ran = credibly(verb, files["predictions"], *target, "--labels", files["labels"], "--force")
    assert (ran.code, ran.out) == (2, "")
    assert "must not be a file that is read" in ran.err
    assert {name: path.read_bytes() for name, path in files.items()} == before


def test_inspect_drops_nothing_and_says_nothing_was_dropped(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    probs = world.calibrated.copy()
    probs[3] = 2.0
    np.savez(tmp_path / "one.npz", probs=probs, y=world.labels)
    rows = credibly("inspect", tmp_path / "one.npz").rows
    assert {"file": str(tmp_path / "one.npz"), "what": "axis n", "value": str(len(probs))} in rows
    assert not any("were dropped" in row["value"] for row in rows)
    problem = next(row["value"] for row in rows if row["what"] == "problem")
    assert "To leave these rows out: `credibly evaluate --drop-invalid`" in problem
