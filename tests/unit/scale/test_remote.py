"""Files behind a URL are found, counted, copied and read like files of this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.errors import FileError, InputError, MissingExtraError
from credibly.cli import main

fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")

N, M, K = 120, 3, 4
RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet(np.ones(K), size=(N, M))
LABELS = RNG.integers(K, size=N)


@pytest.fixture
def bucket(tmp_path):
    """Shards of every kind in a file system that lives in memory."""
    files = fsspec.filesystem("memory")
    parts = np.array_split(np.arange(N), 3)
    for place, rows in enumerate(parts):
        for ending in ("npz", "parquet"):
            local = cr.save(tmp_path / f"{place}.{ending}", cr.Ensemble(PROBS[rows]), LABELS[rows])
            files.pipe(f"/bucket/{place}.{ending}", Path(local).read_bytes())
        for name, array in (("p", PROBS[rows]), ("y", LABELS[rows])):
            np.save(tmp_path / f"{name}.npy", array)
            files.pipe(f"/bucket/{name}{place}.npy", (tmp_path / f"{name}.npy").read_bytes())
    yield files
    files.rm("/bucket", recursive=True)


@pytest.mark.parametrize(
    ("pattern", "labels"),
    [("*.npz", None), ("*.parquet", None), ("p*.npy", "y*.npy")],
)
def test_shards_in_a_bucket_give_the_numbers_of_all_rows(bucket, pattern, labels) -> None:
    observed = None if labels is None else f"memory://bucket/{labels}"
    rows = cr.scan(f"memory://bucket/{pattern}", observed, member_axis=1)
    assert len(rows) == N
    assert float(cr.brier(rows)) == pytest.approx(float(cr.brier(cr.Ensemble(PROBS), LABELS)), rel=1e-12)


def test_one_remote_file_is_loaded(bucket) -> None:
    data = cr.load("memory://bucket/0.npz")
    np.testing.assert_array_equal(data.predictions.probs, PROBS[:40])
    assert data.source == "memory://bucket/0.npz"
    data = cr.load("memory://bucket/p1.npy", labels="memory://bucket/y1.npy", member_axis=1)
    np.testing.assert_array_equal(data.labels, LABELS[40:80])


def test_file_urls_are_paths(tmp_path) -> None:
    path = cr.save(tmp_path / "a.npz", cr.Ensemble(PROBS), LABELS)
    assert len(cr.scan(f"file://{path}")) == N
    assert len(cr.load(f"file://{path}")) == N


@pytest.mark.slow
def test_the_command_line_takes_urls(bucket, capsys) -> None:
    assert main(["evaluate", "memory://bucket/*.npz", "--statistic", "brier", "--n-resamples", "19"]) == 0
    value = float(capsys.readouterr().out.splitlines()[1].split("\t")[2])
    assert value == pytest.approx(float(cr.brier(cr.Ensemble(PROBS), LABELS)), rel=1e-12)
    assert main(["evaluate", "memory://bucket/1.npz", "--statistic", "brier", "--n-resamples", "19"]) == 0


def test_a_broken_remote_file_is_called_by_its_url(bucket) -> None:
    bucket.pipe("/bucket/1.npz", b"PK no archive")
    with pytest.raises(FileError, match=r"'memory://bucket/1\.npz' must be a whole") as caught:
        cr.scan("memory://bucket/*.npz")
    assert "credibly-" not in str(caught.value)  # the folder of the copy
    kept = cr.scan("memory://bucket/*.npz", skip_bad_shards=True)
    assert len(kept) == 80
    assert "memory://bucket/1.npz" in kept.notes[1]


def test_what_is_not_there_is_named(bucket) -> None:
    with pytest.raises(FileError, match=r"memory://bucket/nothing\.npz.*no such file"):
        cr.load("memory://bucket/nothing.npz")
    with pytest.raises(FileError, match="matches none"):
        cr.scan("memory://bucket/*.csv")
    with pytest.raises(FileError, match="URL that fsspec knows"):
        cr.load("nosuchprotocol://bucket/a.npz")
    with pytest.raises(InputError, match="one file per file of predictions"):
        cr.scan("memory://bucket/p*.npy", "memory://bucket/y0.npy")


def test_without_fsspec_the_extra_is_named(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"credibly\[remote\]"):
        cr.scan("memory://bucket/*.npz")
    assert main(["evaluate", "memory://bucket/*.npz"]) == 2
    assert 'pip install "credibly[remote]"' in capsys.readouterr().err
