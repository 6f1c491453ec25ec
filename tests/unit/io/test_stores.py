"""Zarr stores are directories: written whole or not at all, and nobody else's directory is replaced."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr

pytest.importorskip("zarr", reason="needs the xarray extra with zarr")
pytest.importorskip("xarray", reason="needs the xarray extra")

OLD, NEW = cr.Point(np.full((5, 2), 0.5)), cr.Point([[0.25, 0.75]] * 7)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return cr.save(tmp_path / "file.zarr", OLD, [0, 1, 0, 1, 0])


def test_a_store_is_replaced_only_when_asked(store: Path) -> None:
    with pytest.raises(cr.FileError, match=r"must not exist yet.*`overwrite=True`"):
        cr.save(store, NEW)
    assert len(cr.load(store)) == 5
    cr.save(store, NEW, overwrite=True)
    assert len(cr.load(store)) == 7
    assert cr.load(store).labels is None  # nothing of the old one is left
    assert [entry.name for entry in store.parent.iterdir()] == ["file.zarr"]


def test_other_directories_and_files_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(cr.FileError, match="must be a zarr store to be replaced"):
        cr.save(tmp_path / "mine.zarr", NEW, overwrite=True)
    assert (tmp_path / "mine.zarr" / "thesis.txt").read_text(encoding="utf-8") == "years"
    (tmp_path / "file.zarr").write_bytes(b"mine")
    with pytest.raises(cr.FileError, match="must be a directory, as zarr stores are; it is a file"):
        cr.save(tmp_path / "file.zarr", NEW, overwrite=True)
    assert (tmp_path / "file.zarr").read_bytes() == b"mine"
    with pytest.raises(cr.FileError, match="mkdir -p"):
        cr.save(tmp_path / "missing" / "file.zarr", NEW)


@pytest.mark.parametrize("call", ["fsync", "rename"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_a_failure_leaves_what_was_there(
    call: str, overwrite: bool, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    target = store if overwrite else store.with_name("new.zarr")
    with pytest.raises(cr.FileError, match="must be writable; No space left on device"):
        cr.save(target, NEW, overwrite=overwrite)
    monkeypatch.undo()
    assert [entry.name for entry in store.parent.iterdir()] == ["file.zarr"]
    assert len(cr.load(store)) == 5


def test_the_old_store_comes_back_when_the_new_one_cannot_take_its_place(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.rename, [0]

    def second_fails(source: Path, target: Path) -> None:
        calls[0] += 1
        if calls[0] == 2:
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "rename", second_fails)
    with pytest.raises(cr.FileError, match="Input/output error"):
        cr.save(store, NEW, overwrite=True)
    assert [entry.name for entry in store.parent.iterdir()] == ["file.zarr"]
    assert len(cr.load(store)) == 5


def test_a_store_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def slow(descriptor: int) -> None:
        (tmp_path / "a.zarr").mkdir(exist_ok=True)
        (tmp_path / "a.zarr" / "theirs").touch()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(cr.FileError, match="must not exist yet"):
        cr.save(tmp_path / "a.zarr", NEW)
    assert [entry.name for entry in (tmp_path / "a.zarr").iterdir()] == ["theirs"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zarr"]


def test_a_link_keeps_pointing_to_the_store(store: Path) -> None:
    link = store.with_name("link.zarr")
    link.symlink_to(store, target_is_directory=True)
    cr.save(link, NEW, overwrite=True)
    assert link.is_symlink()
    assert len(cr.load(store)) == 7
