"""What goes wrong with many files: it is named, no number is published, and what was there before stays."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly.cli import main

N, K = 150, 4
FAST = ["--n-resamples", "19", "--statistic", "brier"]


@pytest.fixture
def shards(tmp_path) -> Path:
    rng = np.random.default_rng(5)
    probs, labels = rng.dirichlet(np.ones(K), size=N), rng.integers(K, size=N)
    folder = tmp_path / "shards"
    folder.mkdir()
    for place, rows in enumerate(np.array_split(np.arange(N), 3)):
        cr.save(folder / f"{place}.npz", cr.Point(probs[rows]), labels[rows])
    return folder


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


@pytest.mark.parametrize("verb", ["evaluate", "report", "check", "test", "compare"])
def test_a_corrupt_shard_is_named_and_nothing_is_published(shards, verb, tmp_path, capsys) -> None:
    damage(shards / "1.npz")
    out = tmp_path / "report.html"
    words = ["--out", str(out)] if verb in ("report", "compare") else []
    assert main([verb, str(shards / "*.npz"), *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "1.npz' must be a whole" in said.err
    assert not out.exists()


def test_rows_that_cannot_be_right_are_found_in_the_middle_of_a_pass(tmp_path, capsys) -> None:
    probs = np.full((2, 50, K), 1 / K)
    probs[1, 33] = 7.0
    for place in range(2):
        np.save(tmp_path / f"p{place}.npy", probs[place])
        np.save(tmp_path / f"y{place}.npy", np.arange(50) % K)
    out = tmp_path / "report.html"
    words = [str(tmp_path / "p*.npy"), "--labels", str(tmp_path / "y*.npy"), "--chunk-rows", "20"]
    assert main(["report", *words, "--out", str(out), *FAST]) == 2
    said = capsys.readouterr().err
    assert "p1.npy, rows 20 to 39'" in said
    assert "row 33 of all" in said
    assert "--drop-invalid" not in said
    assert "--skip-bad-shards" in said
    assert not out.exists()
    assert main(["evaluate", *words, "--skip-bad-shards", *FAST]) == 0
    assert "1 of 2 files were left out on request" in capsys.readouterr().err


@pytest.mark.slow
def test_workers_here_leave_the_one_sentence_to_the_command(tmp_path, capfd) -> None:
    pytest.importorskip("distributed", reason="needs the extra dask")
    probs = np.full((50, K), 1 / K)
    probs[33] = 7.0
    np.save(tmp_path / "p.npy", probs)
    np.save(tmp_path / "y.npy", np.arange(50) % K)
    words = [str(tmp_path / "p.npy"), "--labels", str(tmp_path / "y.npy"), "--chunk-rows", "20"]
    assert main(["evaluate", *words, "--engine", "dask", "-q", *FAST]) == 2
    said = capfd.readouterr()
    assert "row 33 of all" in said.err
    assert "Traceback" not in said.out + said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_corrupt_shards_are_counted_where_they_may_be_left_out(shards, tmp_path, capsys) -> None:
    damage(shards / "1.npz")
    out = tmp_path / "report.html"
    words = [str(shards / "*.npz"), "--skip-bad-shards", *FAST]
    assert main(["report", *words, "--out", str(out)]) == 0
    assert "1 of 3 files were left out on request" in capsys.readouterr().err
    assert "1 of 3 files were left out on request" in out.read_text()
    assert main(["evaluate", *words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["predictions"]["n"] == 100
    assert record["warnings"][0] == "1 of 3 files were left out on request"
    assert "1.npz" in record["warnings"][1]
    assert "--skip-bad-shards" in record["source"]["command"]


def test_a_shard_with_other_classes_is_named(shards, capsys) -> None:
    cr.save(shards / "3.npz", cr.Point(np.full((5, 2), 0.5)), [0, 1, 0, 1, 0])
    assert main(["evaluate", str(shards / "*.npz"), *FAST]) == 2
    said = capsys.readouterr()
    assert "3.npz' must be like the first chunk" in said.err
    assert "k=4" in said.err
    assert "k=2" in said.err
    assert said.out == ""


def test_shards_must_name_their_classes_alike(shards) -> None:
    cr.save(shards / "3.npz", cr.Point(np.full((5, K), 0.25)), [0, 1, 0, 1, 0], classes=list("abcd"))
    with pytest.raises(cr.CrediblyError, match=r"3\.npz.*named a, b, c, d"):
        cr.brier(cr.scan(str(shards / "*.npz")))


def test_labels_that_are_too_few_are_named_before_anything_is_read(tmp_path, capsys) -> None:
    np.save(tmp_path / "p.npy", np.full((10, 2), 0.5))
    np.save(tmp_path / "y.npy", np.zeros(9, dtype=int))
    assert main(["evaluate", str(tmp_path / "p.npy"), "--labels", str(tmp_path / "y.npy"), "--stream"]) == 2
    said = capsys.readouterr()
    assert "y.npy' must have one entry per prediction" in said.err
    assert "(10); got 9" in said.err


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_a_full_disk_leaves_the_old_report(shards, tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "report.html"
    out.write_text("the old one")

    class Full(io.FileIO):
        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("credibly.io.writing.io.FileIO", Full)
    assert main(["report", str(shards / "*.npz"), "--out", str(out), "--force", *FAST]) == 2
    monkeypatch.undo()
    assert "No space left on device" in capsys.readouterr().err
    assert out.read_text() == "the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "shards"]


@pytest.mark.slow
def test_an_interrupt_ends_with_130_and_publishes_nothing(shards, tmp_path) -> None:
    out = tmp_path / "report.html"
    words = [str(shards / "*.npz"), "--out", str(out), "--n-resamples", "5000000", "--statistic", "brier"]
    with subprocess.Popen(
        [sys.executable, "-m", "credibly", "report", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stderr is not None
        assert "read in chunks" in process.stderr.readline()  # it has begun
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == ("", "credibly: stopped.\n")
    assert not out.exists()


def test_without_dask_the_extra_is_named(shards, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["evaluate", str(shards / "*.npz"), "--engine", "dask"]) == 2
    assert 'pip install "credibly[dask]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler", "tcp://here:1"], "--engine dask"),
        (["--chunk-rows", "0"], "chunk-rows"),
    ],
)
def test_options_that_do_not_go_together_are_refused(shards, words, said, capsys) -> None:
    assert main(["evaluate", str(shards / "*.npz"), *words]) == 2
    assert said in capsys.readouterr().err
