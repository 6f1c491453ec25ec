"""Some rows of a file or an array: what exceeds memory is read in pieces, each checked as it is read."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import IO, Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.errors import CrediblyError, FileError, MissingExtraError
from credibly._arrays.namespace import Array, is_numpy
from credibly.io.assemble import assemble, reworded
from credibly.io.content import Content
from credibly.io.damage import reading
from credibly.io.dataset import located
from credibly.io.extras import pip, require_module
from credibly.io.formats import find_format
from credibly.io.meaning import share_of_distributions
from credibly.io.npy import read_header, require_same_size
from credibly.io.parts import take_apart
from credibly.io.remote import is_remote, open_remote
from credibly.predictions import LabelCounts, Predictions

_FEW_ROWS = 256


@dataclasses.dataclass(frozen=True)
class Rows:
    """Predictions and labels of some rows, checked."""

    predictions: Predictions
    labels: Array | LabelCounts | None
    notes: tuple[str, ...]


def map_npy(path: str) -> np.memmap[Any, Any]:
    """Open an .npy file as a read-only memory map, after a look whether it is as long as its header says."""
    with reading(path, ".npy"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        shape, fortran, dtype = read_header(file, path)
        offset = file.tell()
        declared = math.prod(shape) * dtype.itemsize
        require_same_size(path, shape, dtype, declared, os.fstat(file.fileno()).st_size - offset)
        order = "F" if fortran else "C"
        mapped: np.memmap[Any, Any] = np.memmap(path, dtype, "r", offset, shape, order)  # type: ignore[call-overload]
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


def read_rows(path: str, rows: slice, member_axis: int | None) -> np.ndarray[Any, Any]:
    """Read some rows of an .npy file into memory, and ask the system to fetch those that follow meanwhile.

    What cannot be read is an error with a name; a page of a memory map that cannot be read ends the process.
    """
    array = map_npy(path)  # for its header: nothing of it is touched
    if not array.flags.c_contiguous:
        return array[:, rows] if _members_first(array, member_axis) else array[rows]
    axis = 1 if _members_first(array, member_axis) else 0
    row_bytes, n = array.strides[axis], array.shape[axis]
    length = (rows.stop - rows.start) * row_bytes
    offset = array.offset
    shape = (*array.shape[:axis], rows.stop - rows.start, *array.shape[axis + 1 :])
    taken = np.empty(shape, dtype=array.dtype)
    parts = taken.reshape(-1, length // array.itemsize)  # one for every member
    with reading(path, ".npy"), open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the path as given
        for place, part in enumerate(parts):
            first = offset + (place * n + rows.start) * row_bytes
            _fill(file, first, memoryview(part).cast("B"))  # type: ignore[arg-type]  # arrays are buffers
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), first + length, length, os.POSIX_FADV_WILLNEED)
    return taken


def _fill(file: IO[bytes], first: int, view: memoryview) -> None:
    file.seek(first)
    done = 0
    while done < len(view):
        read = file.readinto(view[done:])  # type: ignore[attr-defined]  # raw files have it
        if not read:
            raise EOFError(f"{done} of {len(view)} bytes")
        done += read


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
    first_members = _members_first(array, member_axis)
    few = array[:, :_FEW_ROWS] if first_members else array[:_FEW_ROWS]
    if kind is None and _real(array) and share_of_distributions(few) == 1:
        kind = "probs"  # whether all rows are is checked once, when the predictions are made
    n = int(array.shape[1 if first_members else 0])
    given = ("label_counts", labels.counts) if isinstance(labels, LabelCounts) else ("y", labels)
    content = Content(".npy", {"array": array}, notes=[], lone="array")
    try:
        parts = take_apart(content, kind=kind, labels=given, member_axis=member_axis)
        done = assemble(parts, drop_invalid=False)
    except (FileError, MissingExtraError):
        raise
    except CrediblyError as error:
        found = located(error, f"{name}, rows {first} to {first + n - 1}")
        if isinstance(error, InvalidRowsError) and first:  # its rows are counted from the first of these
            found = reworded(found, evidence=f"{error.evidence}, which is row {first + error.rows[0]} of all")
        raise found from error
    return Rows(done.predictions, done.labels, (*parts.notes, *done.notes))


def _members_first(array: Array, member_axis: int | None) -> bool:
    return bool(array.ndim == 3 and member_axis == 0)


def _real(array: Array) -> bool:
    return is_numpy(array) and array.ndim > 1 and array.dtype.kind == "f"
