"""Files that are easily read wrong, and files that are easily lost, as users of the command line met them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import credibly as cr
from unit.cli.runs import FAST, Command, World
from unit.cli.test_traps import complaint


def accuracy(ran: Any) -> float:
    assert ran.code == 0, ran.err
    return next(float(row["value"]) for row in ran.rows if row["statistic"] == "accuracy")


ONE = ("--statistic", "accuracy", *FAST)


def right(world: World) -> float:
    return float((world.calibrated.argmax(axis=1) == world.labels).mean())


# Pairing


@pytest.mark.slow
def test_shards_are_paired_by_number_and_the_pairs_are_shown(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    for folder in ("pr", "lb"):
        (tmp_path / folder).mkdir()
    parts = np.array_split(np.arange(len(world.labels)), 12)
    for number, rows in enumerate(parts, 1):
        np.save(tmp_path / "pr" / f"pred_{number}.npy", world.calibrated[rows])
        np.save(tmp_path / "lb" / f"labels_{number:02d}.npy", world.labels[rows])
    ran = credibly(
        "evaluate", tmp_path / "pr" / "pred_*.npy", "--labels", tmp_path / "lb" / "labels_*.npy", *ONE
    )
    assert accuracy(ran) == pytest.approx(right(world))
    assert "pred_1.npy with labels_01.npy, pred_2.npy with labels_02.npy" in ran.err
    (tmp_path / "lb" / "labels_12.npy").rename(tmp_path / "lb" / "labels_13.npy")
    line = complaint(
        credibly(
            "evaluate", tmp_path / "pr" / "pred_*.npy", "--labels", tmp_path / "lb" / "labels_*.npy", *ONE
        )
    )
    assert "'pred_12.npy' would be paired with 'labels_13.npy'" in line


def test_a_file_whose_name_looks_like_a_pattern_is_itself(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    np.savez(tmp_path / "preds[1].npz", probs=world.calibrated, y=world.labels)
    np.savez(tmp_path / "preds1.npz", probs=world.calibrated[:50], y=world.labels[:50])
    ran = credibly("evaluate", tmp_path / "preds[1].npz", *ONE)
    assert accuracy(ran) == pytest.approx(right(world))
    assert ran.rows[0]["n"] == "200"


def test_standard_input_is_read(
    credibly: Command, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cr.save(tmp_path / "p.csv", cr.Point(world.calibrated), world.labels)

    class Input:
        buffer = io.BytesIO(path.read_bytes())

    monkeypatch.setattr(sys, "stdin", Input())
    assert accuracy(credibly("evaluate", "-", *ONE)) == pytest.approx(right(world))


def test_models_in_another_order_are_joined(credibly: Command, world: World, tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(len(world.labels))
    ids = np.arange(1000, 1000 + len(world.labels))
    np.savez(tmp_path / "a.npz", probs=world.calibrated, y=world.labels, id=ids)
    np.savez(tmp_path / "b.npz", probs=world.overconfident[order], y=world.labels[order], id=ids[order])
    np.savez(tmp_path / "c.npz", probs=world.overconfident, y=world.labels, id=ids)
    ran, straight = (
        credibly("compare", tmp_path / "a.npz", tmp_path / name, "--n-resamples", 100)
        for name in ("b.npz", "c.npz")
    )
    assert ran.code == straight.code == 0
    drop = {"model"}
    for row, other in zip(ran.rows, straight.rows, strict=True):
        assert {k: v for k, v in row.items() if k not in drop} == {
            k: v for k, v in other.items() if k not in drop
        }
    assert "joined with those of the first model by their ids" in ran.err


# Hints that help


def test_rounded_rows_are_normalised_not_dropped(credibly: Command, world: World, tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", probs=np.round(world.calibrated, 2), y=world.labels)
    line = complaint(credibly("evaluate", tmp_path / "r.npz", *ONE))
    assert "rounded to 2 decimals" in line
    assert "`--normalise`" in line
    assert "--drop-invalid" not in line
    ran = credibly("evaluate", tmp_path / "r.npz", "--normalise", *ONE)
    assert ran.rows[0]["n"] == "200"
    assert "the largest error is 0.01" in ran.err


def test_an_extra_column_is_named(credibly: Command, world: World, tmp_path: Path) -> None:
    columns = "a,b,c,age,label\n" + "".join(
        f"{','.join(map(repr, map(float, row)))},{i % 90},{'abc'[label]}\n"
        for i, (row, label) in enumerate(zip(world.calibrated, world.labels, strict=True))
    )
    (tmp_path / "t.csv").write_text(columns)
    line = complaint(credibly("evaluate", tmp_path / "t.csv", *ONE))
    assert "`--exclude age`" in line
    assert "alpha" not in line
    assert accuracy(credibly("evaluate", tmp_path / "t.csv", "--exclude", "age", *ONE)) == pytest.approx(
        right(world)
    )
    chosen = credibly("evaluate", tmp_path / "t.csv", "--columns", "a,b,c", *ONE)
    assert accuracy(chosen) == pytest.approx(right(world))


def test_options_about_a_file_are_part_of_the_command(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    np.savez(tmp_path / "m.npz", probs=world.calibrated, y=np.where(world.labels == 2, -1, world.labels))
    line = complaint(credibly("evaluate", tmp_path / "m.npz", *ONE))
    assert "pass `--ignore-label -1`" in line
    ran = credibly("evaluate", tmp_path / "m.npz", "--ignore-label", -1, "--json", *ONE)
    assert "--ignore-label -1" in ran.out
    streamed = credibly("evaluate", tmp_path / "m.npz", "--ignore-label", -1, "--stream", *ONE)
    whole = credibly("evaluate", tmp_path / "m.npz", "--ignore-label", -1, *ONE)
    assert accuracy(streamed) == pytest.approx(accuracy(whole), abs=1e-12)


@pytest.mark.slow
def test_a_wrong_order_is_said_first(credibly: Command, world: World, tmp_path: Path) -> None:
    sharp = np.eye(3)[world.labels] * 0.9 + 0.1 / 3
    np.savez(tmp_path / "o.npz", probs=sharp[:, [1, 2, 0]], y=world.labels)
    ran = credibly("evaluate", tmp_path / "o.npz", *ONE)
    said = "The columns are in another order than the labels"
    assert (ran.out + ran.err).count(said) == 1
    credibly("report", tmp_path / "o.npz", "--out", tmp_path / "o.html", *ONE)
    assert said in (tmp_path / "o.html").read_text(encoding="utf-8")


# What a user has is not lost


def test_apply_does_not_replace_its_calibration(credibly: Command, world: World, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", probs=world.calibrated, y=world.labels)
    fit = ("calibrate", "fit", tmp_path / "p.npz", tmp_path / "cal.json", "--method", "temperature")
    assert credibly(*fit).code == 0
    before = (tmp_path / "cal.json").read_bytes()
    words = ("calibrate", "apply", tmp_path / "cal.json", tmp_path / "p.npz")
    assert "must not be a file that is read" in complaint(credibly(*words, tmp_path / "cal.json", "--force"))
    assert (tmp_path / "cal.json").read_bytes() == before
    np.save(tmp_path / "q-labels.npy", world.labels)
    np.save(tmp_path / "q0.npy", world.calibrated)
    labels = ("--labels", tmp_path / "q-labels.npy")
    ran = credibly(
        "calibrate",
        "apply",
        tmp_path / "cal.json",
        tmp_path / "q0.npy",
        tmp_path / "q.npy",
        *labels,
        "--force",
    )
    assert "must not be a file that is read" in complaint(ran)
    np.testing.assert_array_equal(np.load(tmp_path / "q-labels.npy"), world.labels)


@pytest.mark.parametrize(
    ("look", "verb"),
    [
        ("comparing.require_writable", ("report", "p.npz", "--out", "out", *ONE)),
        ("comparing.require_writable", ("compare", "p.npz", "e.npz", "--out", "out")),
        ("calibrate.require_writable", ("calibrate", "fit", "p.npz", "out", "--method", "temperature")),
        ("reading.require_target", ("calibrate", "apply", "cal.json", "p.npz", "out.npz")),
        ("reading.require_target", ("convert", "p.npz", "out.npz")),
    ],
    ids=lambda one: one if isinstance(one, str) else one[0],
)
def test_a_file_that_appears_while_a_command_works_is_kept(
    look: str,
    verb: tuple[str, ...],
    credibly: Command,
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("p.npz", probs=world.calibrated, y=world.labels)
    np.savez("e.npz", probs=world.members, y=world.labels)
    assert credibly("calibrate", "fit", "p.npz", "cal.json", "--method", "temperature").code == 0
    out = Path(next(word for word in verb if word.startswith("out")))
    out.write_text("mine")
    monkeypatch.setattr(f"credibly.cli.{look}", lambda *_, **__: None)  # it was not there at the first look
    assert "`--force`" in complaint(credibly(*verb))
    assert out.read_text() == "mine"


def test_compare_does_not_replace_what_it_reads(credibly: Command, world: World, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", probs=world.calibrated, y=world.labels)
    np.savez(tmp_path / "e.npz", probs=world.members, y=world.labels)
    before = (tmp_path / "e.npz").read_bytes()
    ran = credibly("compare", tmp_path / "p.npz", tmp_path / "e.npz", "--out", tmp_path / "e.npz", "--force")
    assert "must not be a file that is read" in complaint(ran)
    assert (tmp_path / "e.npz").read_bytes() == before


@pytest.mark.slow
def test_a_file_beside_the_data_sets_no_option(
    credibly: Command, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "p.npz", probs=world.calibrated, y=world.labels)
    monkeypatch.chdir(tmp_path)
    alone = credibly("test", "p.npz", *ONE)
    (tmp_path / "credibly.toml").write_text('seed = 7\n[test]\nstatistic = ["accuracy"]\n')
    ran = credibly("test", "p.npz", *ONE)
    assert (ran.out, ran.err) == (alone.out, alone.err)


def test_cells_that_a_spreadsheet_would_run_are_guarded(tmp_path: Path) -> None:
    path = cr.save(
        tmp_path / "f.csv",
        cr.Point([[0.5, 0.5], [1.0, 0.0]]),
        [0, 1],
        classes=["=cmd()", "dog"],
        ids=["=1+1", "@x"],
        groups=["-a", "+b"],
    )
    cells = [cell for line in path.read_text().splitlines() for cell in line.split(",")]
    assert not any(cell[:1] in ("=", "@") or (cell[:1] in "+-" and not cell[1:2].isdigit()) for cell in cells)
    data = cr.load(path)
    assert data.ids.tolist() == ["=1+1", "@x"]
    assert data.groups.tolist() == ["-a", "+b"]
    assert data.labels.tolist() == [0, 1]
    with pytest.raises(cr.FileError, match="no blanks around names"):
        cr.save(tmp_path / "g.csv", cr.Point([[0.5, 0.5]]), classes=[" cat", "dog"])


def test_hdf5_files_may_not_show_other_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="needs h5py")
    pytest.importorskip("h5netcdf", reason="needs h5netcdf")
    (tmp_path / "secret.txt").write_bytes(b"topsecret_password_Axxxx" * 3)
    for name in ("stored", "linked"):
        with h5py.File(tmp_path / f"{name}.nc", "w") as file:
            file["probs"] = np.full((2, 3), 1 / 3)
            if name == "stored":
                file.create_dataset(
                    "class", (3,), dtype="S24", external=[(str(tmp_path / "secret.txt"), 0, 72)]
                )
            else:
                file["class"] = h5py.ExternalLink("other.h5", "/x")
        with pytest.raises(cr.FileError, match="must hold its own data"):
            cr.load(tmp_path / f"{name}.nc")


def test_class_names_cannot_turn_the_page_around() -> None:
    evaluation = cr.evaluate([[0.5, 0.5]] * 4, [0, 1, 0, 1], classes=["\u202eevil", "dog"], tests=False)
    assert evaluation.classes == ("\\u202eevil", "dog")


@pytest.mark.slow
@pytest.mark.parametrize("loading", ["credibly.cli.app", "credibly.cli.numbers", "numpy", "click"])
def test_ctrl_c_while_modules_load_ends_quietly(loading: str, calibrated: Path) -> None:
    """The first second of a command is spent with imports; a traceback there would be noise."""
    program = f"""
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {loading!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from credibly.cli import main
sys.exit(main(["evaluate", {str(calibrated)!r}]))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 130
    assert ran.stdout == ""
    assert ran.stderr in ("", "credibly: stopped.\n")


def test_an_unknown_recalibration_is_named_as_it_was_typed(
    credibly: Command, calibrated: Path, tmp_path: Path
) -> None:
    ran = credibly("report", calibrated, "--recalibrate", "bogus", "--out", tmp_path / "r.html", *FAST)
    assert ran.code == 2
    assert "bogus" in ran.err
    assert "--method" not in ran.err  # an option of another verb
    assert not (tmp_path / "r.html").exists()


def test_counts_without_predictions_are_told_of_labels_not_of_python(
    credibly: Command, tmp_path: Path
) -> None:
    file = tmp_path / "c.npz"
    np.savez(file, counts=np.random.default_rng(0).multinomial(5, [0.2, 0.3, 0.5], size=40))
    ran = credibly("check", file)
    assert ran.code == 2
    assert "--labels FILE" in ran.err
    assert "draw(" not in ran.err


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_threads_change_no_p_value(
    credibly: Command, calibrated: Path
) -> None:
    words = ("evaluate", calibrated, "--json", "--statistic", "skce", "--n-resamples", 99)
    first, again = credibly(*words), credibly(*words)
    assert first.out == again.out
    with threadpool_limits(2):
        two = json.loads(credibly(*words).out)["tests"]
    load = json.loads(first.out)["tests"]
    assert {name: test["pvalue"] for name, test in load.items()} == {
        name: test["pvalue"] for name, test in two.items()
    }
