"""One writer per format, from the same record of arrays to an open file or an empty directory."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

import numpy as np

from credibly._arrays.checks import InvalidRowsError, require_distributions
from credibly._arrays.errors import FileError
from credibly.io.content import sets_of
from credibly.io.extras import pip, require_module

LABELS = ("y", "label_counts")
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class Record:
    """Arrays with an instance axis, arrays without, names of the classes, and `meta`."""

    rows: dict[str, np.ndarray[Any, Any]]
    shared: dict[str, np.ndarray[Any, Any]]
    classes: tuple[str, ...] | None
    meta: dict[str, Any]

    @property
    def field(self) -> str:
        """Name of the array that leads the predictions."""
        return next(iter(self.rows))

    @property
    def has_members(self) -> bool:
        """Whether the second axis of the predictions holds members."""
        leading = self.rows[self.field]
        return leading.ndim == (2 if self.field == "mean" else 3)

    def header(self) -> dict[str, Any]:
        """Return all but the rows in types JSON knows."""
        head: dict[str, Any] = {"format": "credibly", "version": 1}
        arrays = {**self.rows, **self.shared}
        head["dtypes"] = {
            name: str(array.dtype)
            for name, array in arrays.items()
            if array.dtype.kind in "fiub" and name != "focal_sets"
        }
        if self.has_members:
            head["member_axis"] = 1
        if self.classes is not None:
            head["classes"] = list(self.classes)
        if self.meta:
            head["meta"] = self.meta
        for name, array in self.shared.items():
            if name == "focal_sets":
                head["n_classes"] = int(array.shape[1])
                head["focal_sets"] = [sorted(members) for members in sets_of(array)]
            else:
                head[name] = array.tolist()
        return head


def write_npz(record: Record, file: BinaryIO, path: str) -> None:
    """Write a compressed archive; equal records give equal bytes, so that digests compare."""
    arrays = {**record.rows, **record.shared}
    if record.has_members:
        arrays["member_axis"] = np.array(1)
    if record.classes is not None:
        arrays["classes"] = np.array(record.classes, dtype=np.str_)
    if record.meta:
        arrays["meta"] = np.array(json.dumps(record.meta))
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as member:
                _write_array(array, member)


def write_npy(record: Record, file: BinaryIO, path: str) -> None:
    """Write the one array of the predictions; labels go to a file of their own, nothing else has a place."""
    rest = [name for name in record.rows if name not in LABELS]
    given = [*rest, *record.shared]
    given += [name for name, value in (("classes", record.classes), ("meta", record.meta)) if value]
    if len(given) > 1:
        _refuse(path, f"one array, got {', '.join(given)}")
    if record.field != "probs":
        _refuse(path, f"no name for its array, which `{record.field}` needs to be understood")
    _write_array(record.rows[record.field], file)


def write_npy_labels(record: Record, file: BinaryIO, path: str) -> None:
    """Write the labels that stand beside a .npy file."""
    labels = next(record.rows[name] for name in LABELS if name in record.rows)
    if labels.ndim == 2 and (labels.sum(axis=1) == 1).all():  # reads as one-hot, which `load` refuses
        _refuse(path, "no name for its labels, which counts of one rater need to be understood")
    _write_array(labels, file)


def _write_array(array: np.ndarray[Any, Any], file: IO[bytes]) -> None:
    np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)


def write_json(record: Record, file: BinaryIO, path: str) -> None:
    """Write one object; `dtypes` lets the numbers come back bit by bit."""
    document = record.header() | {name: array.tolist() for name, array in record.rows.items()}
    file.write(json.dumps(document, ensure_ascii=False).encode("utf-8"))


def write_table(delimiter: str) -> Callable[[Record, BinaryIO, str], None]:
    """Return the writer of .csv or .tsv."""

    def write(record: Record, file: BinaryIO, path: str) -> None:
        if record.shared and record.field != "values":
            _refuse(path, f"no place for {', '.join(record.shared)}")
        if record.meta:
            _refuse(path, "no place for `meta`")
        if record.field == "samples" and record.has_members:
            _refuse(path, "no place for samples of several members")
        _require_double(record, path)
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        try:
            csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(_lines(record))
        finally:
            text.detach()

    return write


def _lines(record: Record) -> Iterator[list[Any]]:
    """Yield the header and one row per instance, or per instance and member."""
    n, members = len(record.rows[record.field]), record.has_members
    beside = [name for name in ("id", "y", "group", "features", "label_counts") if name in record.rows]
    fields = [name for name in record.rows if name not in beside]
    header: list[str] = ["id", *(["member"] if members else [])] if members or "id" in beside else []
    for name in [name for name in beside if name != "id"] + fields:
        header += _column_names(name, record)
    yield header
    count = record.rows[record.field].shape[1] if members else 1
    for i in range(n):
        for j in range(count):
            row: list[Any] = []
            if header[0] == "id":
                row.append(record.rows["id"][i].item() if "id" in beside else i)
            if members:
                row.append(j)
            for name in beside:
                if name != "id":
                    row += np.atleast_1d(record.rows[name][i]).tolist()
            for name in fields:
                value = record.rows[name][i, j] if members else record.rows[name][i]
                row += np.atleast_1d(value).tolist()
            yield row


def _column_names(name: str, record: Record) -> list[str]:
    array = record.rows[name]
    width = array.shape[-1] if array.ndim > 1 else 1
    if name in ("y", "group", "mean", "std"):
        return [name]
    if name == "values":
        return [f"q_{level}" for level in record.shared["levels"].astype(np.float64).tolist()]
    prefix = {
        "probs": "p",
        "features": "x",
        "samples": "sample",
        "counts": "count",
        "label_counts": "label_count",
    }
    named = record.classes if name not in ("features", "samples") else None
    return [f"{prefix.get(name, name)}_{suffix}" for suffix in (named or range(width))]


def _require_double(record: Record, path: str) -> None:
    """Raise where numbers that are probabilities in low precision are none as the text's doubles."""
    if record.field == "probs":
        try:
            require_distributions(record.rows["probs"].astype(np.float64), "probs", lambda _: "")
        except InvalidRowsError as error:
            _refuse(path, f"no low-precision numbers, and as doubles {error.evidence}")


def write_parquet(record: Record, file: BinaryIO, path: str) -> None:
    """Write one list column per array, the rest as metadata of the schema."""
    arrow = require_module("pyarrow", f"'{path}'", pip("parquet"))
    parquet = require_module("pyarrow.parquet", f"'{path}'", pip("parquet"))
    table = arrow.table({name: array.tolist() for name, array in record.rows.items()})
    table = table.replace_schema_metadata({"credibly": json.dumps(record.header())})
    parquet.write_table(table, file)


def write_torch(record: Record, file: BinaryIO, path: str) -> None:
    """Write a dictionary of tensors, which `torch.load(..., weights_only=True)` opens."""
    torch = require_module("torch", f"'{path}'", pip("torch"))
    arrays = {**record.rows, **record.shared}
    state: dict[str, Any] = {
        name: array.tolist() if array.dtype.kind == "U" else torch.from_numpy(np.array(array, order="C"))
        for name, array in arrays.items()
    }
    state |= {
        name: value for name, value in record.header().items() if name in ("classes", "meta", "member_axis")
    }
    torch.save(state, file)


def write_netcdf(record: Record, file: BinaryIO, path: str) -> None:
    """Write named dimensions, so that the order of the axes needs no guess."""
    file.write(bytes(_named_dimensions(record, path).to_netcdf(engine="scipy")))


def write_zarr(record: Record, folder: Path, path: str) -> None:
    """Write the same as netCDF does, into an empty directory."""
    require_module("zarr", f"'{path}'", pip("xarray"))
    dataset = _named_dimensions(record, path)
    # Version 3 of the format has no settled way to hold text; an xarray that cannot be asked writes 2.
    version = {"zarr_format": 2} if "zarr_format" in signature(dataset.to_zarr).parameters else {}
    dataset.to_zarr(str(folder), mode="w", consolidated=True, **version)


def _named_dimensions(record: Record, path: str) -> Any:
    xarray = require_module("xarray", f"'{path}'", pip("xarray"))
    variables = {}
    for name, array in {**record.rows, **record.shared}.items():
        first = "instance" if name in record.rows else f"{name}_row"
        middle = ["member"] if record.has_members and name in (record.field, "std") else []
        dims = [first, *middle, *(f"{name}_column" for _ in range(array.ndim - 1 - len(middle)))]
        variables[name] = (dims, array)
    if record.classes is not None:
        variables["classes"] = (["class"], np.array(record.classes, dtype=np.str_))
    attributes = {"meta": json.dumps(record.meta)} if record.meta else {}
    return xarray.Dataset(variables, attrs=attributes)


def _refuse(path: str, evidence: str) -> NoReturn:
    raise FileError(
        f"'{path}'", "must be able to hold what is saved", f"the format has {evidence}", "Use .npz."
    )


ENCODERS: dict[str, Callable[[Record, BinaryIO, str], None]] = {
    ".npz": write_npz,
    ".npy": write_npy,
    ".json": write_json,
    ".csv": write_table(","),
    ".tsv": write_table("\t"),
    ".parquet": write_parquet,
    ".pt": write_torch,
    ".nc": write_netcdf,
}
