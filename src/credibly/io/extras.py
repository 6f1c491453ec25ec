"""Formats that need more than the core: parquet, torch, netCDF, and tables in memory."""

from __future__ import annotations

import importlib
import json
import math
import pickle
import zipfile
from collections import Counter
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.errors import FileError, InputTypeError, MissingExtraError
from credibly._arrays.namespace import Array
from credibly.io.foreign import MEMBER_DIMENSIONS
from credibly.io.json_text import from_object, to_array
from credibly.io.limits import reading, require_loadable, require_plausible_ratio, text_array
from credibly.io.npy import refuse_pickle
from credibly.io.posterior import OBSERVED, POSTERIOR, PREDICTED, drawn, stated_probabilities
from credibly.io.roles import Content
from credibly.predictions import Samples

_CLASS_DIMENSIONS = ("class", "classes")


def require_module(module: str, what: str, install: str) -> Any:
    """Import an optional module, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            what, f"needs the package {module.partition('.')[0]!r}", "it is not installed", f"Run {install}."
        ) from error


def pip(extra: str) -> str:
    """Return the command that installs an extra."""
    return f'`pip install "credibly[{extra}]"`'


def read_parquet(path: str) -> Content:
    """Read a table: one column per class, or list columns named like arrays (`probs`, `logits`, ...)."""
    parquet = require_module("pyarrow.parquet", f"'{path}'", pip("parquet"))
    with reading(path, ".parquet"), parquet.ParquetFile(path) as file:
        metadata = file.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        cells = 8 * metadata.num_rows * metadata.num_columns
        unpacked = max(cells, sum(group.total_byte_size for group in groups))
        require_loadable(f"'{path}'", "its columns", unpacked)
        require_plausible_ratio(f"'{path}'", "its columns", Path(path).stat().st_size, unpacked)
        table = file.read()
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        typed = {name: _column(name, values, path) for name, values in columns.items()}
        head = (table.schema.metadata or {}).get(b"credibly")
    if head is None:
        return Content(".parquet", {}, table=typed)
    # Written by `cr.save`: list columns are the arrays, the schema holds the rest.
    with reading(path, ".parquet"):
        header = json.loads(head)
    return from_object(header | {name: array.tolist() for name, array in typed.items()}, ".parquet", path)


def _column(name: str, values: list[Any], source: str) -> Array:
    """Return a column of a typed table: numbers, lists of numbers, or all else as it is written.

    Missing numbers become NaN, which the checks then name; missing text, dates and categories become "".
    """
    if set(map(type, values)) <= {int, float, bool}:
        return to_array(values, name, source)
    cells = [None if _is_missing(value) else value for value in values]
    if all(cell is None or isinstance(cell, _NUMERIC) for cell in cells):
        numbers = [np.nan if cell is None else cell for cell in cells]
        return to_array(
            [float(cell) if isinstance(cell, Decimal) else cell for cell in numbers], name, source
        )
    return text_array(source, f"column {name!r}", ["" if cell is None else str(cell) for cell in cells])


_NUMERIC = (Number, np.generic, np.ndarray, list, tuple)


def _is_missing(value: Any) -> bool:
    """Tell whether a cell is None, NaN, not a time, or what pandas calls NA, which is not even unequal."""
    try:
        return value is None or (not isinstance(value, (list, tuple, np.ndarray)) and bool(value != value))
    except TypeError:
        return True


def read_frame(frame: Any) -> Content:
    """Read a table in memory: of pandas as it is, of polars, pyarrow and others through narwhals."""
    source = f"<{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}>"
    index = None
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        names = [flat_name(name) for name in frame.columns]
        lists = [frame.iloc[:, j].tolist() for j in range(len(names))]
        index = frame.index
    else:
        narwhals = require_module("narwhals", source, '`pip install "credibly[tables]"`')
        try:
            table = narwhals.from_native(frame, eager_only=True)
        except TypeError as error:
            raise InputTypeError(
                "`path`",
                "must be a path or a table (pandas, polars, pyarrow)",
                f"got {type(frame).__name__}",
                "For arrays use `cr.as_predictions`.",
            ) from error
        names = [str(name) for name in table.columns]
        lists = [column.to_list() for column in table.iter_columns()]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InputTypeError(
            "the table", "must have distinct columns", f"{twice!r} appears twice", "Rename one."
        )
    columns = {name: _column(name, values, source) for name, values in zip(names, lists, strict=True)}
    if not columns or not len(lists[0]):
        raise InputTypeError("the table", "must have rows and columns", "it is empty", "Check the filter.")
    return Content(source, {}, table=columns, index=index, source=source)


def flat_name(name: Any) -> str:
    """Return the name of a column; of several levels ("probs", "cat") the one of a plain table, probs_cat."""
    return "_".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)


def read_torch(path: str) -> Content:
    """Read a tensor or a dictionary of tensors, without running anything the file holds."""
    torch = require_module("torch", f"'{path}'", pip("torch"))
    if zipfile.is_zipfile(path):
        with reading(path, ".pt"), zipfile.ZipFile(path) as archive:
            require_loadable(f"'{path}'", "its tensors", sum(info.file_size for info in archive.infolist()))
    with reading(path, ".pt"):
        try:
            value = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            raise refuse_pickle(path, "it holds more than tensors, lists and names") from error
    content = Content(".pt", {})
    if isinstance(value, torch.Tensor):
        content.arrays["array"], content.lone = _host(value, "array", path, content), "array"
        return content
    if not isinstance(value, dict):
        raise FileError(
            f"'{path}'",
            "must hold a tensor or a dictionary of tensors",
            f"got {type(value).__name__}",
            'Save it as `torch.save({"probs": probs, "y": labels}, path)`.',
        )
    for name, entry in value.items():
        if isinstance(entry, torch.Tensor):
            content.arrays[str(name)] = _host(entry, str(name), path, content)
        elif content.set_aside(str(name), entry):
            continue
        elif isinstance(entry, list) and entry:
            content.arrays[str(name)] = to_array(entry, str(name), path)
        else:
            content.note(f"not used: {str(name)!r} ({type(entry).__name__})")
    return content


def _host(tensor: Any, name: str, path: str, content: Content) -> Array:
    """Return a dense copy on the host; a stored view can claim far more numbers than the file has."""
    require_loadable(f"'{path}'", f"tensor {name!r}", tensor.numel() * max(tensor.element_size(), 4))
    with reading(path, ".pt"):
        dense = tensor.detach().to_dense()
        if str(dense.dtype) == "torch.bfloat16":  # NumPy has no such type
            return _with_whole_rows(np.array(dense.float().numpy()), name, content)
        return np.array(dense.numpy())


def _with_whole_rows(array: Array, name: str, content: Content) -> Array:
    """Divide rows by their sums where only the rounding of bfloat16 keeps them from being distributions."""
    if array.ndim < 2 or not (array >= 0).all():
        return array
    sums = array.sum(axis=-1, dtype=np.float64, keepdims=True)
    worst = float(np.abs(sums - 1).max())
    if not 1e-6 < worst <= min(4 * 2.0**-7 * math.sqrt(array.shape[-1]), 0.01):
        return array
    content.note(f"rows of `{name}` (bfloat16) are divided by their sums, which are 1 within {worst:.1g}")
    return array / sums


def read_xarray(path: str) -> Content:
    """Read the variables of a netCDF file; chains, draws and members become members."""
    xarray = require_module("xarray", f"'{path}'", pip("xarray"))
    engine = _engine(path)
    if engine == "h5netcdf":
        _require_own_storage(path)
    with reading(path, "netCDF"), xarray.open_dataset(path, engine=engine) as dataset:
        require_loadable(f"'{path}'", "its variables", int(dataset.nbytes))
        content = Content(".nc", {})
        content.meta = {str(key): _plain(item) for key, item in dataset.attrs.items()}
        for name, variable in {**dataset.data_vars, **dataset.coords}.items():
            _place_variable(str(name), variable, content, path)
    if not content.arrays and engine != "scipy":  # the classic format has no groups
        _place_posterior(xarray, path, engine, content)
    return content


def _place_posterior(xarray: Any, path: str, engine: str, content: Content) -> None:
    """Read the groups ArviZ writes: draws of labels or of their probabilities, and the observed data."""
    observed = _variables(xarray, path, engine, OBSERVED)
    predicted = _variables(xarray, path, engine, PREDICTED)
    readings = {name: drawn(name, draws, observed.get(name)) for name, draws in predicted.items()}
    if not predicted:
        readings = stated_probabilities(_variables(xarray, path, engine, POSTERIOR), observed)
    labelled = {name: part for name, part in readings.items() if part.labels is not None}
    for name, part in (labelled or readings).items():
        kind = "samples" if isinstance(part.predictions, Samples) else "probs"
        arrays = {kind: np.asarray(part.predictions._leading)}
        content.variables[name] = arrays | ({} if part.labels is None else {"y": part.labels}), part.notes
    content.member_axis = 1


def _variables(xarray: Any, path: str, engine: str, group: str) -> dict[str, Any]:
    """Return the variables of a group, none where there is no such group."""
    with reading(path, "netCDF"):
        try:
            with xarray.open_dataset(path, engine=engine, group=group) as dataset:
                require_loadable(f"'{path}'", f"its group {group!r}", int(dataset.nbytes))
                return {str(name): variable.load() for name, variable in dataset.data_vars.items()}
        except FileError:
            raise
        except (OSError, KeyError):
            return {}


def _require_own_storage(path: str) -> None:
    """Raise where an HDF5 file takes its data from other files: it could show any that may be read here."""
    h5py = require_module("h5py", f"'{path}'", pip("xarray"))

    def look(group: Any) -> str | None:
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                return f"{name!r} is a link into another file"
            entry = group.get(name)
            if isinstance(entry, h5py.Dataset) and (entry.external or entry.is_virtual):
                return f"{name!r} is stored in another file"
            inside = look(entry) if isinstance(entry, h5py.Group) else None
            if inside is not None:
                return inside
        return None

    with reading(path, "netCDF"), h5py.File(path, "r") as file:
        problem = look(file)
    if problem is not None:
        raise FileError(
            f"'{path}'", "must hold its own data", problem, "Copy the data into one file, and load that."
        )


def _engine(path: str) -> str:
    with reading(path, "netCDF"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        classic = file.read(3) == b"CDF"
    if not classic:
        require_module("h5netcdf", f"'{path}'", pip("xarray"))
    return "scipy" if classic else "h5netcdf"


def _place_variable(name: str, variable: Any, content: Content, path: str) -> None:
    members = [dimension for dimension in variable.dims if dimension in MEMBER_DIMENSIONS]
    rest = [dimension for dimension in variable.dims if dimension not in members]
    values = np.asarray(variable.transpose(*rest[:1], *members, *rest[1:]).values)
    if values.dtype.kind in "SO":
        words = [word.decode() if isinstance(word, bytes) else word for word in values.ravel().tolist()]
        values = text_array(f"'{path}'", f"`{name}`", words).reshape(values.shape)
    if name in _CLASS_DIMENSIONS and values.ndim == 1:
        content.classes = tuple(str(word) for word in values.tolist())
    elif values.dtype.kind in "fiubU" and name not in variable.dims:
        if members and len(rest) >= 1:
            values = values.reshape(values.shape[0], -1, *values.shape[1 + len(members) :])
            content.member_axis = 1
        content.arrays[name] = values
    elif name not in variable.dims:
        content.note(f"not used: {name!r} ({values.dtype})")


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
