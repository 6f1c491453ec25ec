"""Files as other programs write them, of formats that the library reads and does not write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import credibly as cr
from credibly.io.roles import sets_of

SAVED = (".npz", ".npy", ".csv", ".tsv", ".parquet")


def written(path: Path, predictions: Any, labels: Any = None, **beside: Any) -> Path:
    """Write with `save` where it can; .json, .pt and .nc hold the same arrays by the same names."""
    if path.suffix in SAVED:
        return cr.save(path, predictions, labels, **beside)
    whole = cr.save(path.with_name(f"{path.name}.npz"), predictions, labels, **beside)
    with np.load(whole) as held:
        arrays = dict(held)
    whole.unlink()
    about = {name: arrays.pop(name).tolist() for name in ("member_axis", "classes") if name in arrays}
    meta = json.loads(arrays.pop("meta").item()) if "meta" in arrays else {}
    {".json": _json, ".pt": _torch, ".nc": _netcdf}[path.suffix](path, arrays, about, meta, len(predictions))
    return path


def _json(path: Path, arrays: dict[str, Any], about: dict[str, Any], meta: dict[str, Any], n: int) -> None:
    document = {**about, **({"meta": meta} if meta else {})}
    if "focal_sets" in arrays:
        sets = arrays.pop("focal_sets")
        document |= {"n_classes": sets.shape[1], "focal_sets": [sorted(one) for one in sets_of(sets)]}
    document["dtypes"] = {
        name: str(array.dtype) for name, array in arrays.items() if array.dtype.kind in "fiub"
    }
    document |= {name: array.tolist() for name, array in arrays.items()}
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def _torch(path: Path, arrays: dict[str, Any], about: dict[str, Any], meta: dict[str, Any], n: int) -> None:
    import torch

    tensors = {
        name: array.tolist() if array.dtype.kind == "U" else torch.from_numpy(np.array(array, order="C"))
        for name, array in arrays.items()
    }
    torch.save({**tensors, **about, **({"meta": meta} if meta else {})}, path)


def _netcdf(path: Path, arrays: dict[str, Any], about: dict[str, Any], meta: dict[str, Any], n: int) -> None:
    import xarray

    variables = {}
    for name, array in arrays.items():
        beside = name in ("y", "label_counts", "features", "group", "id", "cluster", "levels", "focal_sets")
        members = "member_axis" in about and array.ndim > 1 and not beside
        middle = ["member"] if members else []
        first = "instance" if array.shape[:1] == (n,) and name != "focal_sets" else f"{name}_row"
        rest = [f"{name}_{axis}" for axis in range(array.ndim - 1 - len(middle))]
        variables[name] = ([first, *middle, *rest], array)
    if "classes" in about:
        variables["classes"] = (["class"], np.array(about["classes"], dtype=np.str_))
    path.write_bytes(bytes(xarray.Dataset(variables, attrs=meta).to_netcdf(engine="scipy")))
