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
from credibly.io.meaning import share_of_distributions
from credibly.io.npy import read_header, require_same_size
from credibly.io.parts import take_apart
from credibly.predictions import LabelCounts, Predictions

_FEW_ROWS = 256


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
    form, _ = find_format(path)
    if form == ".npy":
        array = map_npy(path)
        return int(array.shape[1 if array.ndim == 3 and member_axis == 0 else 0])
    if form == ".parquet":
        parquet = require_module("pyarrow.parquet", f"'{path}'", pip("parquet"))
        with reading(path, ".parquet"):
            return int(parquet.read_metadata(path).num_rows)
    return None


def rows_of(
    array: Array,
    rows: slice,
    labels: Array | LabelCounts,
    *,
    kind: str | None,
    member_axis: int | None,
    name: str,
) -> Rows:
    """Return some rows of an array, as `load` would read them from a file that held nothing else."""
    members_first = array.ndim == 3 and member_axis == 0
    taken = array[:, rows] if members_first else array[rows]
    few = taken[:, :_FEW_ROWS] if members_first else taken[:_FEW_ROWS]
    if kind is None and taken.ndim > 1 and taken.dtype.kind == "f" and share_of_distributions(few) == 1:
        kind = "probs"  # whether all rows are is checked once, when the predictions are made
    observed = labels[rows]
    given = ("label_counts", observed.counts) if isinstance(observed, LabelCounts) else ("y", observed)
    content = Content(".npy", {"array": taken}, notes=[], lone="array")
    try:
        parts = take_apart(content, kind=kind, labels=given, member_axis=member_axis)
        done = assemble(parts, drop_invalid=False)
    except (FileError, MissingExtraError):
        raise
    except CrediblyError as error:
        raise located(error, f"{name}, rows {rows.start} to {rows.stop - 1}") from error
    return Rows(done.predictions, done.labels, (*parts.notes, *done.notes))
