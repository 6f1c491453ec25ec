"""What real files hold: one clear sentence, exit 2, no traceback, nothing on stdout, nothing half-written."""

from __future__ import annotations

import errno
import io
import os
import pickle
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unit.cli.runs import FAST, Command, Ran, World


def complaint(ran: Ran) -> str:
    """The one line on stderr of a command that refused."""
    assert ran.code == 2
    assert ran.out == ""
    (line,) = [line for line in ran.err.splitlines() if not line.startswith("note: ")]
    assert line.startswith("credibly: ")
    assert "Traceback" not in ran.err
    return line


def write_truncated(path: Path, world: World) -> Path:
    np.savez(path / "x.npz", probs=world.calibrated, y=world.labels)
    content = (path / "x.npz").read_bytes()
    (path / "truncated.npz").write_bytes(content[: len(content) // 2])
    return path / "truncated.npz"


def write_text_cell(path: Path, world: World) -> Path:
    (path / "cell.csv").write_text("p_0,p_1,y\n0.5,0.5,1\n0.25,oops,0\n", encoding="utf-8")
    return path / "cell.csv"


def write_pickle(path: Path, world: World) -> Path:
    (path / "x.pkl").write_bytes(pickle.dumps({"probs": world.calibrated}))
    return path / "x.pkl"


def write_objects(path: Path, world: World) -> Path:
    np.savez(path / "objects.npz", probs=np.array([{"a": 1}], dtype=object))
    return path / "objects.npz"


def write_logits(path: Path, world: World) -> Path:
    np.savez(path / "logits.npz", probs=np.log(world.calibrated), y=world.labels)
    return path / "logits.npz"


def write_one_based(path: Path, world: World) -> Path:
    np.savez(path / "one.npz", probs=world.calibrated, y=world.labels + 1)
    return path / "one.npz"


def write_short_labels(path: Path, world: World) -> Path:
    np.savez(path / "short.npz", probs=world.calibrated, y=world.labels[:-1])
    return path / "short.npz"


def write_empty(path: Path, world: World) -> Path:
    (path / "empty.csv").touch()
    return path / "empty.csv"


TRAPS: dict[str, tuple[Callable[[Path, World], Path], str]] = {
    "missing": (lambda path, world: path / "none.npz", "there is no such file"),
    "directory": (lambda path, world: path, "it is a directory"),
    "truncated": (write_truncated, "must be a whole"),
    "text cell": (write_text_cell, "'oops'"),
    "pickle": (write_pickle, "pickle"),
    "objects": (write_objects, "objects.npz"),
    "logits called probs": (write_logits, "`--kind logits`"),
    "labels from 1": (write_one_based, "start at 1"),
    "labels too short": (write_short_labels, "199"),
    "empty": (write_empty, "it is empty"),
}


@pytest.mark.parametrize("verb", ["test", "evaluate", "report", "convert"])
@pytest.mark.parametrize("trap", TRAPS)
def test_bad_files(trap: str, verb: str, credibly: Command, world: World, tmp_path: Path) -> None:
    write, said = TRAPS[trap]
    path = write(tmp_path, world)
    before = set(tmp_path.iterdir())
    out = {"report": ("--out", tmp_path / "new.html"), "convert": (tmp_path / "new.npz",)}.get(verb, ())
    assert said in complaint(credibly(verb, path, *out))
    assert set(tmp_path.iterdir()) == before


def test_inspect_tells_wrong_numbers_and_refuses_unreadable_files(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    assert "must be a whole" in complaint(credibly("inspect", write_truncated(tmp_path, world)))
    ran = credibly("inspect", write_logits(tmp_path, world))
    assert ran.code == 2
    assert any(row["what"] == "problem" and "--kind logits" in row["value"] for row in ran.rows)


def test_headerless_space_separated_csv(credibly: Command, world: World, tmp_path: Path) -> None:
    table = np.column_stack([world.calibrated, world.labels])
    np.savetxt(tmp_path / "x.csv", table, fmt=["%.17g"] * 3 + ["%d"])
    ran = credibly("test", tmp_path / "x.csv", *FAST)
    assert ran.code == 0
    assert "space-separated" in ran.err
    assert "no header" in ran.err
    assert "read as the label" in ran.err


def test_raters_cannot_be_tested_as_independent(credibly: Command, world: World, tmp_path: Path) -> None:
    counts = np.eye(3, dtype=int)[world.labels] + 1
    np.savez(tmp_path / "raters.npz", probs=world.calibrated, label_counts=counts)
    ran = credibly("test", tmp_path / "raters.npz", *FAST)
    assert ran.rows[0]["statistic"] == "evidence"  # not a test of calibration
    assert "the labels of every instance were drawn from a distribution in its predicted set" in ran.err
    named = credibly("test", tmp_path / "raters.npz", "--statistic", "brier", *FAST)
    assert "one label per instance was tested" in named.err
    ran = credibly("evaluate", tmp_path / "raters.npz", *FAST)
    assert ran.code == 0
    assert "one label per instance was tested" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["report", "convert"])
def test_no_write_permission(
    verb: str, credibly: Command, calibrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: object, mode: str) -> io.FileIO:
        # Patched, because root, as which containers run tests, may write everywhere.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    before = set(tmp_path.iterdir())
    out = ("--out", tmp_path / "new.html", *FAST) if verb == "report" else (tmp_path / "new.npz",)
    with monkeypatch.context() as patch:
        patch.setattr(io, "FileIO", denied)
        ran = credibly(verb, calibrated, *out)
    assert "Permission denied. Choose a directory you may write to." in complaint(ran)
    assert set(tmp_path.iterdir()) == before


def test_report_into_no_directory(credibly: Command, calibrated: Path, tmp_path: Path) -> None:
    out = tmp_path / "none" / "r.html"
    assert "mkdir -p" in complaint(credibly("report", calibrated, "--out", out))


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["report", "convert"])
def test_disk_full_leaves_the_old_file(
    verb: str, credibly: Command, calibrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / ("old.html" if verb == "report" else "old.npz")
    old.write_bytes(b"old")
    before = set(tmp_path.iterdir())

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    out = ("--out", old, *FAST) if verb == "report" else (old,)
    line = complaint(credibly(verb, calibrated, *out, "--force"))
    assert "No space left on device" in line
    assert old.read_bytes() == b"old"
    assert set(tmp_path.iterdir()) == before  # no hidden leftovers


class TestCorruptRows:
    """cifar10/lbbnn_avg.npy has rows whose sums are 2 to 10: 24 of 10000, and 12 of 600 in the stand-in."""

    @pytest.fixture
    def words(self, any_data_dir: Path) -> tuple[object, ...]:
        folder = any_data_dir / "cifar10"
        return (folder / "lbbnn_avg.npy", "--labels", folder / "labels.npy")

    @pytest.fixture
    def counted(self, any_data_dir: Path) -> tuple[int, list[int]]:
        """How many rows there are, and which are corrupt."""
        sums = np.load(any_data_dir / "cifar10" / "lbbnn_avg.npy").sum(axis=1)
        bad = np.flatnonzero(np.abs(sums - 1) > 1e-3).tolist()
        assert (len(sums), len(bad)) in ((10_000, 24), (600, 12))
        return len(sums), bad

    @pytest.mark.parametrize("verb", ["test", "evaluate"])
    def test_refused_with_their_number_and_the_flag(
        self, verb: str, words: tuple[object, ...], counted: tuple[int, list[int]], credibly: Command
    ) -> None:
        n, bad = counted
        line = complaint(credibly(verb, *words))
        assert f"{len(bad)} of {n} rows: {bad[0]}, {bad[1]}" in line
        assert "`--drop-invalid`" in line
        listed = line.partition(f"All {len(bad)} rows: ")[2].partition(".")[0].split(", ")
        assert [int(row) for row in listed] == bad

    def test_dropped_on_purpose(
        self, words: tuple[object, ...], counted: tuple[int, list[int]], credibly: Command
    ) -> None:
        n, bad = counted
        ran = credibly("test", *words, "--drop-invalid", *FAST)
        assert ran.code == 0
        assert ran.rows[0]["n"] == str(n - len(bad))
        assert f"{len(bad)} rows were dropped" in ran.err

    @pytest.mark.slow
    def test_counted_in_the_header_of_the_report(
        self, stand_in: Path, credibly: Command, tmp_path: Path
    ) -> None:
        words = (stand_in / "cifar10" / "lbbnn_avg.npy", "--labels", stand_in / "cifar10" / "labels.npy")
        out = tmp_path / "r.html"
        chosen = ("--statistic", "brier", "--n-resamples", 19)
        assert credibly("report", *words, "--drop-invalid", "--out", out, *chosen).code == 0
        header = out.read_text(encoding="utf-8").partition("</header>")[0]
        assert "588 (12 invalid rows dropped)" in header

    def test_inspected(
        self, words: tuple[object, ...], counted: tuple[int, list[int]], credibly: Command
    ) -> None:
        ran = credibly("inspect", *words)
        assert ran.code == 2
        (problem,) = [row["value"] for row in ran.rows if row["what"] == "problem"]
        assert f"{len(counted[1])} of {counted[0]} rows" in problem


def test_advice_about_one_column_of_scores(credibly: Command, tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_text("confidence,y\n0.2,0\n0.9,1\n")
    line = complaint(credibly("evaluate", tmp_path / "binary.csv", *FAST))
    assert "name it `score`, or pass `--columns confidence`" in line
    assert credibly("evaluate", tmp_path / "binary.csv", "--columns", "confidence", *FAST).code == 0


def test_advice_about_logits_called_probs_can_be_followed(
    credibly: Command, world: World, tmp_path: Path
) -> None:
    logits = np.log(world.calibrated)
    np.savez(tmp_path / "wrong.npz", probs=logits, y=world.labels)
    line = complaint(credibly("evaluate", tmp_path / "wrong.npz", *FAST))
    assert "`--kind logits`. In a file with named arrays it must be called `logits`" in line
    np.savez(tmp_path / "right.npz", logits=logits, y=world.labels)
    assert credibly("evaluate", tmp_path / "right.npz", *FAST).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_closed_streams(stream: str, calibrated: Path) -> None:
    """As in `credibly inspect FILE >&-`: Python then has no stream at all."""
    redirect = ">&-" if stream == "stdout" else "2>&-"
    words = [sys.executable, "-m", "credibly", "inspect", str(calibrated)]
    command = f"{shlex.join(words)} {redirect}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0
    assert "Traceback" not in ran.stdout + ran.stderr


def test_an_axis_that_cannot_be(credibly: Command, calibrated: Path) -> None:
    line = complaint(credibly("evaluate", calibrated, "--member-axis", 7))
    assert "`--member-axis` must be 0 or 1; got 7" in line


def test_columns_that_may_hold_the_labels_are_named(credibly: Command, tmp_path: Path) -> None:
    table = "region,p_churn,churned\nnorth,0.2,1\nsouth,0.3,0\n"
    (tmp_path / "churn.csv").write_text(table, encoding="utf-8")
    line = complaint(credibly("test", tmp_path / "churn.csv"))
    assert "columns that were not read: region, churned. Name their file or their column" in line


def test_the_event_is_called_after_its_column(credibly: Command, tmp_path: Path) -> None:
    rows = [f"0.8,{number % 5 // 4}" for number in range(400)]  # it states .8, one in five churns
    (tmp_path / "churn.csv").write_text("\n".join(["churn_probability,y", *rows]) + "\n", encoding="utf-8")
    headline = credibly("report", tmp_path / "churn.csv", "--out", tmp_path / "page.html").out
    assert "it says 80 % churn; 20 % churn (60 points" in headline
