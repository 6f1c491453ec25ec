"""Formats behind extras: what they read, and what is said where the package is missing."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.io.foreign import MEMBER_DIMENSIONS
from written_files import written

PROBS = np.random.default_rng(8).dirichlet(np.ones(3), size=5)
MEMBERS = np.random.default_rng(9).dirichlet(np.ones(3), size=(5, 4))
LABELS = np.array([0, 1, 2, 0, 1])


@pytest.mark.parametrize(
    ("name", "start", "package", "install"),
    [
        ("file.parquet", b"PAR1", "pyarrow", r"credibly\[parquet\]"),
        ("file.pt", b"\x80\x02", "torch", r"credibly\[torch\]"),
        ("file.nc", b"CDF\x01", "xarray", r"credibly\[xarray\]"),
        ("file.nc", b"\x89HDF\r\n", "h5netcdf", r"credibly\[xarray\]"),
    ],
)
def test_a_missing_extra_is_named_with_its_command(
    name: str,
    start: bytes,
    package: str,
    install: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if package == "h5netcdf":
        pytest.importorskip("xarray", reason="needs the xarray extra")
    real = importlib.import_module

    def without(module: str, *arguments: Any) -> Any:
        if module.partition(".")[0] == package:
            raise ImportError(module)
        return real(module, *arguments)

    monkeypatch.setattr(importlib, "import_module", without)
    path = tmp_path / name
    path.write_bytes(start + bytes(64))
    with pytest.raises(cr.MissingExtraError, match=f'needs the package {package!r}.*pip install "{install}"'):
        cr.load(path)
    if package == "pyarrow":
        with pytest.raises(cr.MissingExtraError, match=install):
            cr.save(path, cr.Point(PROBS), overwrite=True)
        assert path.read_bytes() == start + bytes(64)


def test_tables_without_narwhals(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(module: str, *arguments: Any) -> Any:
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(cr.MissingExtraError, match=r"credibly\[tables\]"):
        cr.load(object())


@pytest.mark.slow
def test_core_formats_import_no_extra(tmp_path: Path) -> None:
    path = cr.save(tmp_path / "file.npz", cr.Ensemble(MEMBERS), LABELS)
    code = (
        "import sys, credibly as cr; cr.load(sys.argv[1])\n"
        "extras = {'torch', 'pyarrow', 'pandas', 'polars', 'narwhals', 'xarray', 'dask'}\n"
        "sys.exit(', '.join(extras & set(sys.modules)) or 0)"
    )
    environment = {"PYTHONPATH": str(Path(cr.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


# parquet


def test_parquet_of_other_tools(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")
    lists = arrow.table({"probs": PROBS.tolist(), "label": LABELS.tolist()})
    parquet.write_table(lists, tmp_path / "lists.parquet")
    wide = arrow.table({**{f"p_{j}": PROBS[:, j] for j in range(3)}, "label": LABELS})
    parquet.write_table(wide, tmp_path / "wide.parquet")
    members = arrow.table({"logits": np.log(MEMBERS).tolist(), "label": LABELS.tolist()})
    parquet.write_table(members, tmp_path / "members.parquet")
    for name in ("lists", "wide"):
        data = cr.load(tmp_path / f"{name}.parquet")
        np.testing.assert_array_equal(data.predictions.probs, PROBS)
        np.testing.assert_array_equal(data.labels, LABELS)
    data = cr.load(tmp_path / "members.parquet")
    np.testing.assert_allclose(data.predictions.probs, MEMBERS, rtol=1e-14)


def test_broken_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")
    arrow = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    whole = cr.save(tmp_path / "whole.parquet", cr.Point(PROBS), LABELS).read_bytes()
    for length in range(8, len(whole), 97):
        (tmp_path / "part.parquet").write_bytes(whole[:length])
        with pytest.raises(cr.FileError, match=r"whole .parquet file"):
            cr.load(tmp_path / "part.parquet")
    ragged = arrow.table({"probs": [[0.5, 0.5], [1.0]]})
    parquet.write_table(ragged, tmp_path / "ragged.parquet")
    with pytest.raises(cr.InputError, match="rows differ in length"):
        cr.load(tmp_path / "ragged.parquet")


def test_parquet_sizes_are_checked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    path = cr.save(tmp_path / "file.parquet", cr.Point(np.full((5000, 2), 0.5)))
    monkeypatch.setattr("credibly.io.limits.load_limit", lambda: 2**10)
    with pytest.raises(cr.FileError, match="its columns must fit"):
        cr.load(path)


# torch


def test_tensors_of_other_tools(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    torch.save(torch.tensor(PROBS), tmp_path / "lone.pt")
    np.testing.assert_array_equal(cr.load(tmp_path / "lone.pt", labels=LABELS).predictions.probs, PROBS)
    half = torch.tensor(np.log(MEMBERS), dtype=torch.bfloat16, requires_grad=True)
    torch.save({"logits": half, "labels": torch.tensor(LABELS), "epoch": 3}, tmp_path / "state.pth")
    data = cr.load(tmp_path / "state.pth")
    assert data.predictions.probs.shape == (5, 4, 3)
    np.testing.assert_array_equal(data.labels, LABELS)
    assert any("not used: 'epoch'" in note for note in data.notes)
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(cr.FileError, match="must hold a tensor or a dictionary of tensors; got list"):
        cr.load(tmp_path / "list.pt")


def test_a_tensor_that_claims_more_than_it_stores(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    torch.save(torch.tensor([0.5]).expand(10**13, 2), tmp_path / "huge.pt")  # 80 TB from one number
    assert (tmp_path / "huge.pt").stat().st_size < 10_000
    with pytest.raises(cr.FileError, match="tensor 'array' must fit"):
        cr.load(tmp_path / "huge.pt")


def test_broken_tensors(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the torch extra")
    whole = written(tmp_path / "whole.pt", cr.Point(PROBS), LABELS).read_bytes()
    for length in range(0, len(whole), 211):
        (tmp_path / "part.pt").write_bytes(whole[:length])
        with pytest.raises(cr.FileError):
            cr.load(tmp_path / "part.pt")


# netCDF


@pytest.mark.parametrize("dimension", MEMBER_DIMENSIONS)
def test_files_and_labelled_arrays_agree_on_the_names_of_members(dimension: str, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray", reason="needs the xarray extra")
    members = np.random.default_rng(3).dirichlet(np.ones(3), size=(4, 5))
    array = xarray.DataArray(members, dims=(dimension, "instance", "class"))
    (tmp_path / "file.nc").write_bytes(bytes(array.to_dataset(name="probs").to_netcdf(engine="scipy")))
    direct, predictions = cr.as_predictions(array), cr.load(tmp_path / "file.nc").predictions
    np.testing.assert_array_equal(direct.probs, np.moveaxis(members, 0, 1))
    np.testing.assert_array_equal(predictions.probs, direct.probs)


def test_chains_and_draws_become_members(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray", reason="needs the xarray extra")
    probs = np.random.default_rng(2).dirichlet(np.ones(3), size=(2, 3, 5))  # chain, draw, instance
    dataset = xarray.Dataset(
        {
            "probs": (("chain", "draw", "instance", "class"), probs),
            "y": ("instance", LABELS.astype(np.int32)),
        },
        coords={"class": ["cat", "dog", "cow"]},
        attrs={"inference_library": "some"},
    )
    (tmp_path / "file.nc").write_bytes(bytes(dataset.to_netcdf(engine="scipy")))
    data = cr.load(tmp_path / "file.nc")
    np.testing.assert_array_equal(data.predictions.probs, np.moveaxis(probs.reshape(6, 5, 3), 0, 1))
    np.testing.assert_array_equal(data.labels, LABELS)
    assert data.classes == ("cat", "dog", "cow")
    assert data.meta["inference_library"] == "some"


def test_netcdf_meta_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("xarray", reason="needs the xarray extra")
    meta = {"model": "m", "steps": [1, 2]}
    path = written(
        tmp_path / "file.nc", cr.Point(PROBS), LABELS, classes=["a", "b", "c"], ids=list("vwxyz"), meta=meta
    )
    data = cr.load(path)
    assert data.meta == meta
    assert data.classes == ("a", "b", "c")
    assert data.ids.tolist() == list("vwxyz")


# SciPy leaves a file open that it cannot read to the end, and complains of it when it is collected
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:Cannot close a netcdf_file:RuntimeWarning")
def test_broken_netcdf(tmp_path: Path) -> None:
    pytest.importorskip("xarray", reason="needs the xarray extra")
    whole = written(tmp_path / "whole.nc", cr.Point(PROBS), LABELS).read_bytes()
    for length in range(4, len(whole) - 100, 61):
        (tmp_path / "part.nc").write_bytes(whole[:length])
        with pytest.raises(cr.CrediblyError):
            cr.load(tmp_path / "part.nc")
    gc.collect()  # here, and not in a later test
