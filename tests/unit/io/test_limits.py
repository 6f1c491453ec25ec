"""Files that are broken, hostile or not what they say: one clear error, nothing run, little allocated."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr

PROBS = np.random.default_rng(3).dirichlet(np.ones(3), size=40)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return cr.save(tmp_path / "good.npz", cr.Point(PROBS), np.arange(40) % 3)


class Explosive:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def npy_header(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def zipped(path: Path, members: dict[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


# Not there, not a file, not allowed


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=r"must exist; there is no such file. Check the name"):
        cr.load(tmp_path / "nothing.npz")
    with pytest.raises(OSError, match="no such file"):  # as the built-in, too
        cr.load(str(tmp_path / "nothing.npz"))


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match="must be a file; it is a directory"):
        cr.load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(cr.FileError, match="regular file"):
        cr.load(tmp_path / "pipe.npz")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(good: Path) -> None:
    good.chmod(0)
    with pytest.raises(cr.FileError, match="permission was denied"):
        cr.load(good)


def test_denied_permission_is_worded(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*arguments: Any, **keywords: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(cr.FileError, match="must be readable; permission was denied"):
        cr.load(good)


@pytest.mark.parametrize("name", ["a\0b.npz", "x" * 5000 + ".npz"])
def test_impossible_names(name: str) -> None:
    with pytest.raises(cr.FileError):
        cr.load(name)


# Truncated, empty, wrong extension


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.7, 0.99])
@pytest.mark.parametrize("extension", [".npz", ".npy"])
def test_truncated_archives(extension: str, share: float, tmp_path: Path) -> None:
    whole = cr.save(tmp_path / f"whole{extension}", cr.Point(PROBS)).read_bytes()
    path = written(tmp_path / f"part{extension}", whole[: int(share * len(whole))])
    with pytest.raises(cr.FileError, match=r"part\.np[yz]'"):
        cr.load(path)


@pytest.mark.parametrize("extension", [".npz", ".npy", ".csv", ".json", ".parquet", ".pt", ".nc", ""])
def test_empty_files(extension: str, tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match="it is empty"):
        cr.load(written(tmp_path / f"empty{extension}", b""))


@pytest.mark.parametrize("extension", [".npz", ".npy", ".parquet", ".nc", ".pt"])
def test_text_under_a_binary_name(extension: str, tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=f"must be a {extension} file; it starts with b'p_0,p_1"):
        cr.load(written(tmp_path / f"file{extension}", b"p_0,p_1\n0.5,0.5\n"))


def test_the_bytes_decide_and_the_note_says_so(good: Path, tmp_path: Path) -> None:
    data = cr.load(written(tmp_path / "file.csv", good.read_bytes()))
    np.testing.assert_array_equal(data.predictions.probs, PROBS)
    assert "the file is called .csv but holds .npz" in data.notes


def test_unknown_extension(tmp_path: Path) -> None:
    with pytest.raises(cr.FileError, match=r"must be .npz, .npy.*its extension is '.xyz'"):
        cr.load(written(tmp_path / "file.xyz", b"hello"))
    with pytest.raises(cr.FileError, match=r"gzip-compressed. Unpack it first"):
        cr.load(written(tmp_path / "file.csv", b"\x1f\x8b\x08\x00"))
    with pytest.raises(cr.FileError, match=r"a zip archive of 'xl/workbook.xml'"):
        cr.load(zipped(tmp_path / "book.xlsx", {"xl/workbook.xml": b"<x/>"}))


def test_flipped_bit_is_caught_by_the_checksum(good: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(good) as archive:
        arrays = {name: archive.read(name) for name in archive.namelist()}
    stored = zipped(tmp_path / "stored.npz", arrays)
    data = bytearray(stored.read_bytes())
    data[data.index(PROBS[5].tobytes()) + 1] ^= 1  # a low bit: the rows would still sum to 1
    with pytest.raises(cr.FileError, match="CRC"):
        cr.load(written(tmp_path / "flipped.npz", bytes(data)))


# Pickles


@pytest.mark.parametrize("name", ["file.pkl", "file.pickle", "file.joblib", "file.npz", "file.csv", "file"])
def test_pickles_are_refused_unopened(name: str, tmp_path: Path) -> None:
    bomb = pickle.dumps({"probs": Explosive(tmp_path / "exploded")})
    with pytest.raises(cr.FileError, match=r"must not hold pickled data.*numpy.savez\(path, probs=probs"):
        cr.load(written(tmp_path / name, bomb))
    assert not (tmp_path / "exploded").exists()


def test_object_arrays_are_refused_unopened(tmp_path: Path) -> None:
    objects = np.array([Explosive(tmp_path / "exploded")], dtype=object)
    np.save(tmp_path / "file.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "file.npz", probs=PROBS, extra=objects, allow_pickle=True)
    for name in ("file.npy", "file.npz"):
        with pytest.raises(cr.FileError, match="an array of Python objects"):
            cr.load(tmp_path / name)
    with pytest.raises(cr.FileError, match=r"it holds 'model.pkl'"):
        cr.load(zipped(tmp_path / "file.npz", {"probs.npy": b"", "model.pkl": pickle.dumps(1)}))
    assert not (tmp_path / "exploded").exists()


def test_torch_pickles_are_refused_unopened(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    torch.save({"probs": Explosive(tmp_path / "exploded")}, tmp_path / "file.pt")
    with pytest.raises(cr.FileError, match="must not hold pickled data"):
        cr.load(tmp_path / "file.pt")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("descr", ["'|O'", "[('a', '<f8'), ('b', '<f8')]", "'<M8[s]'", "'|V8'", "'<U0'"])
def test_dtypes_without_numbers(descr: str, tmp_path: Path) -> None:
    path = written(tmp_path / "file.npy", npy_header("(1,)", descr) + b"\0" * 16)
    with pytest.raises(cr.FileError, match=r"pickled data|numbers or strings|plain arrays"):
        cr.load(path)


# Sizes


def peak_of(path: Path, match: str) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(cr.FileError, match=match):
            cr.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", ["(10**15, 10)", "(1000000000000, 10)", "(-1, 10)", "(40, 4)", "(40, 2)"])
def test_absurd_headers(shape: str, tmp_path: Path) -> None:
    path = written(tmp_path / "file.npy", npy_header(shape) + PROBS.tobytes())
    assert peak_of(path, "header|whole") < 2**20
    archive = zipped(tmp_path / "file.npz", {"probs.npy": path.read_bytes()})
    assert peak_of(archive, "header|whole") < 2**20


def zeros(count: int) -> bytes:
    return npy_header(f"({count}, 2)", "'|u1'") + bytes(2 * count)


@pytest.mark.slow
def test_zip_bomb(tmp_path: Path) -> None:
    # 64 MiB of zeros pack to 64 kB; with a small budget the ratio gives it away before anything is unpacked
    path = zipped(tmp_path / "bomb.npz", {"probs.npy": zeros(2**25)}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**17
    with cr.memory_limit(2**20):
        peak = peak_of(path, "must not unpack to more than 200 times its size")
    assert peak < 2**20


def test_many_members_are_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credibly.io.limits.load_limit", lambda: 2**20)
    members = {f"array{i}.npy": zeros(2**17) for i in range(5)}  # 5 x 256 KiB > 1 MiB
    with pytest.raises(cr.FileError, match="its arrays must fit into half of this machine's memory"):
        cr.load(zipped(tmp_path / "many.npz", members))


def test_a_lying_archive(tmp_path: Path) -> None:
    """The central directory declares a small member, the stream unpacks to more."""
    path = zipped(tmp_path / "lie.npz", {"probs.npy": zeros(2**16)}, compression=zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    for offset in (22, directory + 24):  # uncompressed size, in both headers
        data[offset : offset + 4] = struct.pack("<I", 128 + 20)
    with pytest.raises(cr.FileError, match=r"CRC|must hold what its header declares"):
        cr.load(written(tmp_path / "lie.npz", bytes(data)))


def test_the_same_array_twice(tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, PROBS)
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("probs.npy", content.getvalue())
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("probs.npy", content.getvalue())
    with pytest.raises(cr.FileError, match="'probs' is there twice"):
        cr.load(tmp_path / "twice.npz")


# JSON


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("{", cr.FileError, "whole .json file"),
        ("[" * 100_000, cr.FileError, "whole .json file"),
        ("3", cr.FileError, "must be a JSON object of named arrays; got int"),
        ('{"probs": [[0.5, 0.5], [1]]}', cr.InputError, "rows differ in length"),
        ('{"probs": [[0.5, null]]}', cr.InputTypeError, "holds null"),
        ('{"probs": [["0.5", "0.5"]]}', cr.InputTypeError, "must hold numbers"),
        ('{"probs": [[1e999, 0]]}', cr.InvalidRowsError, "row 0 holds inf"),
        ('{"probs": [[NaN, 1]]}', cr.InvalidRowsError, "row 0 holds nan"),
        ('{"probs": [[1' + "0" * 400 + ", 0]]}", cr.InputTypeError, "must hold numbers"),
        ('{"probs": [[1' + "0" * 5000 + ", 0]]}", cr.FileError, "whole .json file"),
        ('{"probs": {"a": 1}}', cr.InputError, "must name its predictions"),
        ('{"probs": []}', cr.InputError, "must have shape"),
        ('{"probs": [[0.5, 0.5]], "dtypes": {"probs": "object"}}', cr.InputError, "plain number type"),
        ('{"probs": [[0.5, 0.5]], "dtypes": {"probs": "int8"}}', cr.InputError, "cannot be stored so"),
        ('{"masses": [[1]], "focal_sets": [[99999999999]]}', cr.InputError, "`focal_sets` must be a list"),
        ('{"masses": [[1]], "focal_sets": 3}', cr.InputError, "`focal_sets` must be a list"),
        ('{"masses": [[1]], "focal_sets": [[0]], "n_classes": "x"}', cr.InputTypeError, "`n_classes`"),
        ('[{"p_0": 0.5, "p_1": 0.5}, {"p_0": 1}]', cr.InputError, "record 1 must have the keys"),
    ],
)
def test_broken_json(text: str, error: type[Exception], match: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=match):
        cr.load(written(tmp_path / "file.json", text.encode()))


def test_json_of_other_shapes(tmp_path: Path) -> None:
    bare = cr.load(written(tmp_path / "bare.json", b"[[0.25, 0.75], [1, 0]]"))
    records = [{"p_0": 0.25, "p_1": 0.75, "label": 1}, {"p_0": 1, "p_1": 0, "label": 0}]
    listed = cr.load(written(tmp_path / "records.json", json.dumps(records).encode()))
    for data in (bare, listed):
        np.testing.assert_array_equal(data.predictions.probs, [[0.25, 0.75], [1, 0]])
    assert listed.labels.tolist() == [1, 0]


# Metadata


def test_meta_that_is_no_json_is_kept_as_text(tmp_path: Path) -> None:
    np.savez(tmp_path / "file.npz", probs=PROBS, meta=np.array("trained on Monday"))
    data = cr.load(tmp_path / "file.npz")
    assert data.meta == {"text": "trained on Monday"}
    assert any("`meta` is not a JSON object" in note for note in data.notes)


def test_other_byte_orders_and_precisions(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", PROBS.astype(">f8"))
    probs = cr.load(tmp_path / "big.npy").predictions.probs
    assert probs.dtype.isnative
    np.testing.assert_array_equal(probs, PROBS)
    if np.dtype(np.longdouble).itemsize > 8:
        np.save(tmp_path / "long.npy", PROBS.astype(np.longdouble))
        long = cr.load(tmp_path / "long.npy")
        np.testing.assert_array_equal(long.predictions.probs, PROBS)
        assert any("rounded to float64" in note for note in long.notes)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(PROBS))
    np.testing.assert_array_equal(cr.load(tmp_path / "fortran.npy").predictions.probs, PROBS)
    np.save(tmp_path / "complex.npy", PROBS.astype(complex))
    with pytest.raises(cr.InputError, match="must be numbers; got array"):
        cr.load(tmp_path / "complex.npy")
