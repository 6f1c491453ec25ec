"""The .npy and .npz formats: headers are believed only where the bytes bear them out."""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO, Any

import numpy as np

from credibly._arrays.errors import FileError
from credibly._arrays.namespace import Array, memory_budget
from credibly.io.limits import readable_size, reading, require_loadable, require_plausible_ratio
from credibly.io.roles import Content

SAFE_WAY = (
    "Pickled data can run any program when opened. If you trust the source, open it yourself and save the "
    "arrays: `numpy.savez(path, probs=probs, y=labels)` or `cr.save(path, predictions, labels)`."
)


def refuse_pickle(source: str, evidence: str) -> FileError:
    """Return the error about pickled data, with the safe way named."""
    return FileError(f"'{source}'", "must not hold pickled data", evidence, SAFE_WAY)


def read_npy(path: str) -> Content:
    """Read one array; above the memory budget it stays on disk as a read-only memory map."""
    notes: list[str] = []
    with reading(path, ".npy"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        shape, fortran, dtype = _whole_file(file, path)
        declared = math.prod(shape) * dtype.itemsize
        if declared <= memory_budget():
            array = _read_payload(file, shape, fortran, dtype)
        else:
            array = map_npy(path)
            notes.append(f"{readable_size(declared)} remain on disk and are read piece by piece")
        return Content(".npy", {"array": _native(array, notes)}, notes=notes, lone="array")


def map_npy(path: str) -> np.memmap[Any, Any]:
    """Open an .npy file as a read-only memory map, after a look whether it is as long as its header says."""
    with reading(path, ".npy"), open(path, "rb") as file:  # noqa: PTH123 - the path as given
        shape, fortran, dtype = _whole_file(file, path)
        order = "F" if fortran else "C"
        mapped: np.memmap[Any, Any] = np.memmap(path, dtype, "r", file.tell(), shape, order)  # type: ignore[call-overload]
        return mapped


def read_rows(path: str, rows: slice, member_axis: int | None) -> Array:
    """Read some rows of an .npy file into memory, and ask the system to fetch those that follow meanwhile.

    What cannot be read is an error with a name; a page of a memory map that cannot be read ends the process.
    """
    array = map_npy(path)  # for its header: nothing of it is touched
    axis = 1 if array.ndim == 3 and member_axis == 0 else 0
    if not array.flags.c_contiguous:
        return array[:, rows] if axis else array[rows]
    row_bytes, n = array.strides[axis], array.shape[axis]
    length = (rows.stop - rows.start) * row_bytes
    shape = (*array.shape[:axis], rows.stop - rows.start, *array.shape[axis + 1 :])
    taken = np.empty(shape, dtype=array.dtype)
    parts = taken.reshape(-1, length // array.itemsize)  # one for every member
    with reading(path, ".npy"), open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the path as given
        for place, part in enumerate(parts):
            first = array.offset + (place * n + rows.start) * row_bytes
            file.seek(first)
            _fill(file, part)
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), first + length, length, os.POSIX_FADV_WILLNEED)
    return taken


def read_npz(path: str) -> Content:
    """Read all arrays of an archive, each checked against its own header before memory is given to it."""
    arrays: dict[str, Any] = {}
    notes: list[str] = []
    total = 0
    with reading(path, ".npz"), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith((".pkl", ".pickle")):
                raise refuse_pickle(path, f"it holds {info.filename!r}")
        for info in archive.infolist():
            name, dot, extension = info.filename.rpartition(".")
            if dot + extension != ".npy":
                notes.append(f"{info.filename!r} inside the archive is not an array and is not used")
                continue
            if name in arrays:
                raise FileError(
                    f"'{path}'", "must name each array once", f"{name!r} is there twice", "Create it again."
                )
            total += info.file_size
            require_loadable(f"'{path}'", "its arrays", total)
            require_plausible_ratio(f"'{path}'", f"array {name!r}", info.compress_size, info.file_size)
            with archive.open(info) as member:
                shape, fortran, dtype = read_header(member, path)
                _require_size(path, shape, dtype, info.file_size - member.tell())
                arrays[name] = _native(_read_payload(member, shape, fortran, dtype), notes)
                member.read(1)  # the checksum is compared when the end is met
    return Content(".npz", arrays, notes=notes)


def read_header(file: IO[bytes], path: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and dtype; what could hold objects or has no fixed meaning is refused."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise FileError(
            f"'{path}'",
            "must be plain arrays (.npy version 1 or 2)",
            f"got version {version[0]}.{version[1]}",
            "Save numbers and strings, not records.",
        )
    form = np.lib.format
    read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise refuse_pickle(path, "it holds an array of Python objects")
    if dtype.kind not in "fiubcUS" or dtype.itemsize == 0:
        raise FileError(
            f"'{path}'",
            "must hold arrays of numbers or strings",
            f"got dtype {dtype}",
            "Save each field as a separate array.",
        )
    if any(length < 0 for length in shape):
        raise FileError(
            f"'{path}'", "must declare a shape", f"its header says {shape}", "Create the file again."
        )
    return shape, fortran, dtype


def _whole_file(file: IO[bytes], path: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return what the header of an .npy file says, after a look whether the bytes bear it out."""
    shape, fortran, dtype = read_header(file, path)
    _require_size(path, shape, dtype, os.fstat(file.fileno()).st_size - file.tell())
    return shape, fortran, dtype


def _require_size(path: str, shape: tuple[int, ...], dtype: np.dtype[Any], present: int) -> None:
    """Raise unless there are as many bytes as the header declares."""
    declared = math.prod(shape) * dtype.itemsize
    if declared != present:
        short = present < declared
        raise FileError(
            f"'{path}'",
            f"must hold what its header declares, {shape} of {dtype} ({readable_size(declared)})",
            f"it holds {readable_size(present)}",
            "It may be truncated: copy it again."
            if short
            else "Save one array per file, or several in a .npz.",
        )


def _read_payload(file: IO[bytes], shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any]) -> Array:
    data = np.empty(math.prod(shape) * dtype.itemsize, dtype=np.uint8)
    _fill(file, data)
    return data.view(dtype).reshape(shape, order="F" if fortran else "C")


def _fill(file: IO[bytes], array: Array) -> None:
    """Read the bytes of a contiguous array."""
    view, done = memoryview(array.reshape(-1).view(np.uint8)), 0
    while done < len(view):
        read = file.readinto(view[done:])  # type: ignore[attr-defined]  # binary readers have it
        if not read:
            raise EOFError(f"{done} of {len(view)} bytes")
        done += read


def _native(array: Array, notes: list[str]) -> Array:
    """Return numbers in this machine's byte order and at most double precision; check that text is text."""
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind == "U":
        array.tolist()  # raises for code points that do not exist
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        notes.append(f"{array.dtype} is rounded to float64")
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    elif not array.dtype.isnative and not isinstance(array, np.memmap):
        array = array.astype(array.dtype.newbyteorder("="))
    return array
