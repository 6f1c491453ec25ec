"""Some rows of a file or an array: what exceeds memory is read in pieces, each checked as it is read."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np

from credibly._arrays.errors import CrediblyError, FileError, MissingExtraError
from credibly._arrays.namespace import Array
from credibly.io.assemble import assemble
from credibly.io.content import Content
from credibly.io.damage import reading
from credibly.io.dataset import located
from credibly.io.extras import pip, require_module
from credibly.io.formats import find_format
from credibly.io.npy import read_header, require_same_size
from credibly.io.parts import take_apart
from credibly.io.remote import is_remote, open_remote
from credibly.predictions import LabelCounts, Predictions


@dataclasses.dataclass(frozen=True)
class Rows:
    """Predictions and labels of some rows, checked."""

    predictions: Predictions
    labels: Array | LabelCounts | None
    notes: tuple[str, ...]


def map_npy(path: str) -> np.ndarray[Any, Any]:
    """Open an .npy file as a read-only memory map, after a look whether it is as long as its header says."""
    with reading(path, ".npy"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        shape, fortran, dtype = read_header(file, path)
        offset = file.tell()
        declared = math.prod(shape) * dtype.itemsize
        require_same_size(path, shape, dtype, declared, os.fstat(file.fileno()).st_size - offset)
        order = "F" if fortran else "C"
        mapped: np.ndarray[Any, Any] = np.memmap(path, dtype, "r", offset, shape, order)  # type: ignore[call-overload]
        return mapped


def count_rows(path: str, member_axis: int | None) -> int | None:
    """Return how many rows a file holds where that is known without reading it, else None."""
    if is_remote(path):
        return _count_remote(path, member_axis)
    form, _ = find_format(path)
    if form == ".npy":
        array = map_npy(path)
        return int(array.shape[1 if array.ndim == 3 and member_axis == 0 else 0])
    if form == ".parquet":
        parquet = require_module("pyarrow.parquet", f"'{path}'", pip("parquet"))
        with reading(path, ".parquet"):
            return int(parquet.read_metadata(path).num_rows)
    return None


def _count_remote(url: str, member_axis: int | None) -> int | None:
    """Look at the header of a remote .npy or the footer of a parquet file; others have to be copied."""
    if url.endswith(".npy"):
        with open_remote(url) as file, reading(url, ".npy"):
            shape, _, _ = read_header(file, url)
        return int(shape[1 if len(shape) == 3 and member_axis == 0 else 0])
    if url.endswith((".parquet", ".pq")):
        parquet = require_module("pyarrow.parquet", f"'{url}'", pip("parquet"))
        with open_remote(url) as file, reading(url, ".parquet"):
            return int(parquet.read_metadata(file).num_rows)
    return None


def rows_of(
    array: Array,
    labels: Array | LabelCounts,
    *,
    kind: str | None,
    member_axis: int | None,
    name: str,
    first: int,
) -> Rows:
    """Return some rows of an array, as `load` would read them from a file that held nothing else.

    `first` is the index of the first of them among all rows, for what an error says.
    """
    n = int(array.shape[1 if array.ndim == 3 and member_axis == 0 else 0])
    given = ("label_counts", labels.counts) if isinstance(labels, LabelCounts) else ("y", labels)
    content = Content(".npy", {"array": array}, notes=[], lone="array")
    try:
        parts = take_apart(content, kind=kind, labels=given, member_axis=member_axis)
        done = assemble(parts, drop_invalid=False)
    except (FileError, MissingExtraError):
        raise
    except CrediblyError as error:
        raise located(error, f"{name}, rows {first} to {first + n - 1}") from error
    return Rows(done.predictions, done.labels, (*parts.notes, *done.notes))
