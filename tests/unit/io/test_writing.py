"""Writing in one step: after any failure the old file is there, whole, and nothing else is."""

from __future__ import annotations

import errno
import io
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.io import require_writable, write_bytes_atomically, write_text_atomically

Write = Callable[[Path, bool], Any]
POINT = cr.Point(np.full((50, 4), 0.25))

WRITERS: dict[str, Write] = {
    "bytes": lambda path, overwrite: write_bytes_atomically(path, b"new", overwrite=overwrite),
    "text": lambda path, overwrite: write_text_atomically(path, "new ü", overwrite=overwrite),
    "npz": lambda path, overwrite: cr.save(path, POINT, overwrite=overwrite),
    "csv": lambda path, overwrite: cr.save(path.with_suffix(".csv"), POINT, overwrite=overwrite),
    "pair": lambda path, overwrite: cr.save(
        path.with_suffix(".npy"), POINT, np.arange(50) % 4, overwrite=overwrite
    ),
}


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest) -> Write:
    return WRITERS[request.param]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    for name in OLD:
        (tmp_path / name).write_bytes(b"old")
    return tmp_path / "file.npz"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OLD = dict.fromkeys(("file.npz", "file.csv", "file.npy", "file-labels.npy"), b"old")


def test_bytes_arrive(tmp_path: Path) -> None:
    data = os.urandom(3 * 2**20)
    assert write_bytes_atomically(tmp_path / "a", data) == tmp_path / "a"
    write_text_atomically(tmp_path / "b", "ü\n")
    assert contents(tmp_path) == {"a": data, "b": "ü\n".encode()}


def test_an_existing_file_is_never_replaced_unasked(write: Write, old: Path) -> None:
    with pytest.raises(cr.FileError, match=r"must not exist yet.*`overwrite=True`"):
        write(old, False)
    assert contents(old.parent) == OLD
    write(old, True)
    assert contents(old.parent) != OLD


@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_disk_full(
    call: str, overwrite: bool, write: Write, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not overwrite:
        for name in OLD:
            (old.parent / name).unlink()

    def full(*arguments: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    if call == "write":
        monkeypatch.setattr(io, "FileIO", type("Full", (io.FileIO,), {"write": full}))
    else:
        monkeypatch.setattr(os, call, full)
    with pytest.raises(cr.FileError, match="must be writable; No space left on device"):
        write(old, overwrite)
    monkeypatch.undo()
    assert contents(old.parent) == (OLD if overwrite else {})


def test_disk_full_half_way(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = [10_000]

    class Short(io.FileIO):
        def write(self, data: Any) -> int:
            if not room[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            part = min(len(data), room[0])
            room[0] -= part
            return super().write(bytes(data)[:part])

    monkeypatch.setattr(io, "FileIO", Short)
    with pytest.raises(cr.FileError, match="No space left"):
        write_bytes_atomically(old, bytes(50_000), overwrite=True)
    monkeypatch.undo()
    assert contents(old.parent) == OLD


def test_partial_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data)[:7])

    monkeypatch.setattr(io, "FileIO", Slow)
    write_bytes_atomically(tmp_path / "a", bytes(range(256)))
    monkeypatch.undo()
    assert contents(tmp_path) == {"a": bytes(range(256))}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_real_limit_on_file_size(old: Path) -> None:
    code = (
        "import resource, signal, sys, credibly as cr; from credibly.io import write_bytes_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_bytes_atomically(sys.argv[1], bytes(100_000), overwrite=True)\n"
        "except cr.FileError as error: sys.stdout.write(str(error))\n"
    )
    source = Path(cr.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(old)],
        capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(source)},
    )  # fmt: skip
    assert "must be writable; File too large" in done.stdout
    assert contents(old.parent) == OLD


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_any_interruption_leaves_the_old_file(
    kind: type[BaseException], old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> None:
        raise kind

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(kind):
        write_bytes_atomically(old, b"new", overwrite=True)
    assert contents(old.parent) == OLD


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def slow(descriptor: int) -> None:
        (tmp_path / "a").write_bytes(b"theirs")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(cr.FileError, match="must not exist yet"):
        write_bytes_atomically(tmp_path / "a", b"ours")
    assert contents(tmp_path) == {"a": b"theirs"}


def test_file_systems_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*arguments: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    write_bytes_atomically(tmp_path / "a", b"new")
    assert contents(tmp_path) == {"a": b"new"}


def test_directories_devices_and_missing_folders(write: Write, tmp_path: Path) -> None:
    for name in ("dir.npz", "dir.csv", "dir.npy"):
        (tmp_path / name).mkdir()
    with pytest.raises(cr.FileError, match="it is a directory"):
        write(tmp_path / "dir.npz", True)
    with pytest.raises(cr.FileError, match=r"existing directory.*mkdir -p"):
        write(tmp_path / "missing" / "file.npz", True)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs a device file")
def test_a_device_is_not_replaced() -> None:
    with pytest.raises(cr.FileError, match="device or a pipe"):
        write_bytes_atomically("/dev/null", b"", overwrite=True)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(write: Write, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(cr.FileError, match=r"Permission denied. Choose a directory you may write to"):
            write(tmp_path / "file.npz", False)
    finally:
        tmp_path.chmod(0o700)


def test_denied_permission_is_worded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*arguments: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(io, "FileIO", denied)
    with pytest.raises(cr.FileError, match=r"Permission denied. Choose a directory you may write to"):
        write_bytes_atomically(tmp_path / "a", b"")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX modes and links")
def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_bytes_atomically(tmp_path / "new", b"")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o604)
    (tmp_path / "link").symlink_to("new")
    write_bytes_atomically(tmp_path / "link", b"through", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").read_bytes() == b"through"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604


def test_require_writable_asks_without_writing(tmp_path: Path) -> None:
    require_writable(tmp_path / "a", overwrite=False)
    assert contents(tmp_path) == {}
    with pytest.raises(cr.FileError, match="must be writable"):
        require_writable("x" * 5000, overwrite=False)


@pytest.mark.parametrize("path", [None, 3, b"report.html", ["a"]], ids=lambda path: type(path).__name__)
def test_what_is_no_path_is_told_in_words(path: Any) -> None:
    words = "None" if path is None else type(path).__name__
    for write in (
        lambda: require_writable(path, overwrite=False),
        lambda: write_text_atomically(path, ""),
        lambda: cr.save(path, POINT),
    ):
        with pytest.raises(cr.InputTypeError, match=f"`path` must be a path; got {words}. Name the file"):
            write()


# Two files


def test_a_pair_is_on_the_disk_before_either_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, [0]

    def second_fails(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", second_fails)
    with pytest.raises(cr.FileError, match=r"file-labels.npy' must be writable; No space left"):
        WRITERS["pair"](tmp_path / "file.npz", False)
    assert contents(tmp_path) == {}


def test_half_a_pair_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def rival(source: Path, target: Path) -> None:
        real(source, target)
        (tmp_path / "file-labels.npy").write_bytes(b"theirs")

    monkeypatch.setattr(os, "link", rival)
    with pytest.raises(cr.FileError, match=r"file-labels.npy' must not exist yet"):
        WRITERS["pair"](tmp_path / "file.npz", False)
    assert contents(tmp_path) == {"file-labels.npy": b"theirs"}
