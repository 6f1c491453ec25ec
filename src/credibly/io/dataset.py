"""`load`: a file or table in; checked predictions and labels out, with all that was inferred in words."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.checks import as_array
from credibly._arrays.errors import (
    CrediblyError,
    FileError,
    InputError,
    InputTypeError,
    MissingExtraError,
    one_of,
)
from credibly._arrays.namespace import Array, to_host
from credibly.io.assemble import assemble, reworded
from credibly.io.content import ALIASES, KINDS, Content, describe, use_canonical_names
from credibly.io.extras import read_frame
from credibly.io.formats import digest_of, path_text, read_content
from credibly.io.parts import Parts, take_apart
from credibly.io.remote import is_url, local_copy
from credibly.predictions import LabelCounts, Predictions


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset:
    """What a file holds.

    Attributes
    ----------
    predictions : Predictions
        The predictions, validated.
    labels : array (n,), LabelCounts or None
        What was observed.
    features : array (n, d) or None
        Features of the instances.
    groups, ids : array (n,) or None
        Group and name of every instance.
    classes : tuple of str or None
        Names of the classes.
    meta : mapping
        What the file says about itself.
    notes : tuple of str
        Everything that was inferred, converted, not used or dropped, in words.
    source : str
        The path as given.
    digest : str
        First 16 hexadecimal digits of the SHA-256 of the bytes that were read.
    dropped : int
        Rows that were dropped on purpose.
    """

    predictions: Predictions
    labels: Array | LabelCounts | None
    features: Array | None
    groups: Array | None
    ids: Array | None
    classes: tuple[str, ...] | None
    meta: Mapping[str, Any]
    notes: tuple[str, ...]
    source: str
    digest: str
    dropped: int = 0

    def __len__(self) -> int:
        return len(self.predictions)


def load(
    path: Any,
    *,
    kind: str | None = None,
    labels: Any = None,
    member_axis: int | None = None,
    drop_invalid: bool = False,
) -> Dataset:
    """Read predictions and labels from a file or a table.

    Parameters
    ----------
    path : path, URL or table
        A .npz, .npy, .csv, .tsv, .json, .parquet, .pt, .nc or .zarr file, or a pandas, polars or pyarrow
        table. Pickles are refused. A URL such as ``s3://...`` is copied first (extra `remote`).
    kind : str, optional
        What the numbers are: ``"probs"``, ``"logits"``, ``"alpha"``, ``"belief"``, ``"mass"``,
        ``"intervals"``, ``"gaussian"``, ``"samples"``, ``"quantiles"`` or ``"counts"``. Needed only where
        the file does not name its arrays and they are not rows of probabilities.
    labels : path, str or array, optional
        A second file with the labels, the name of an array in the first, or the labels themselves.
    member_axis : {0, 1}, optional
        Where the members are; needed where the shape does not tell.
    drop_invalid : bool
        Leave out rows that break a rule; the notes count them.

    Returns
    -------
    Dataset
        Predictions, labels and what goes with them.

    Raises
    ------
    FileError
        If a file cannot be read.
    InvalidRowsError
        If rows break a rule; ``.rows`` lists them.

    Notes
    -----
    Files above the memory budget must be .npy: they are opened as memory maps and checked block by block.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import credibly as cr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = cr.save(pathlib.Path(folder) / "two.npz", cr.Point([[0.7, 0.3], [0.2, 0.8]]), [0, 1])
    ...     cr.load(path).predictions
    Point(n=2, k=2, dtype=float64)
    """
    name = path_text(path) or f"<{type(path).__name__}>"
    observed = path_text(labels)
    if is_url(name) or is_url(observed):
        with local_copy(name) as own, local_copy(observed) as other:
            settings: dict[str, Any] = {"member_axis": member_axis, "drop_invalid": drop_invalid}
            data = load(own, kind=kind, labels=labels if observed is None else other, **settings)
        return dataclasses.replace(data, source=name)
    try:
        source = Source(path, labels)
        parts = source.take_apart(kind=kind, member_axis=member_axis)
        done = assemble(parts, drop_invalid=drop_invalid)
    except (FileError, MissingExtraError):  # they name the file already
        raise
    except CrediblyError as error:
        raise located(error, name) from error
    beside = parts.beside
    return Dataset(
        done.predictions,
        done.labels,
        beside.get("features"),
        beside.get("group"),
        beside.get("id"),
        parts.classes,
        source.content.meta,
        (*parts.notes, *done.notes, *done.predictions.notes),
        source.name,
        source.digest,
        done.dropped,
    )


class Source:
    """A file or table and the labels that come with it, read but not yet checked."""

    def __init__(self, path: Any, labels: Any = None) -> None:
        text = path_text(path)
        if text is None:
            self.content = read_frame(path)
            self.name, self._paths = self.content.format, []
        else:
            self.content = read_content(text)
            self.name, self._paths = text, [text]
        self.arrays = {
            name: (tuple(array.shape), str(array.dtype)) for name, array in self.content.arrays.items()
        }
        self._given = labels

    def take_apart(self, *, kind: str | None, member_axis: int | None) -> Parts:
        """Sort the arrays; see `parts.take_apart`."""
        if kind is not None:
            one_of("`kind`", kind, KINDS)
        _settle_special_arrays(self.content)
        labels = None if self._given is None else self._labels(self._given)
        return take_apart(self.content, kind=kind, labels=labels, member_axis=member_axis)

    @property
    def digest(self) -> str:
        """Hash of the bytes of all files, or of the table's values."""
        if self._paths:
            return digest_of(*self._paths)
        total = hashlib.sha256()
        for name, array in sorted(self.content.arrays.items()):
            total.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return total.hexdigest()[:16]

    def _labels(self, given: Any) -> tuple[str, Array]:
        """Return `y` or `label_counts` from an array, an array of the same file, or another file."""
        text = path_text(given)
        if text is None:
            if isinstance(given, LabelCounts):
                return "label_counts", to_host(given.counts)
            return "y", to_host(_text_or_numbers(given))
        for name in (text, *ALIASES.get(text, ()), *(["counts"] if text == "label_counts" else [])):
            if name in self.content.arrays:
                self.content.notes.append(f"labels are the file's array {name!r}")
                return _label_field(name), self.content.arrays.pop(name)
        if not Path(text).exists() and not Path(text).suffix:
            raise InputError(
                "`labels`",
                "must name a file or an array of the predictions' file",
                f"there is no file {text!r}, and the arrays are {', '.join(self.content.arrays)}",
                "Check the name.",
            )
        other = read_content(text)
        _settle_special_arrays(other)
        use_canonical_names(other)
        self._paths.append(text)
        self.content.notes.extend(f"labels file: {note}" for note in other.notes)
        for field in ("y", "label_counts", "counts", other.lone):
            if field in other.arrays:
                return _label_field(field), other.arrays[field]
        if len(other.arrays) == 1:
            return "y", next(iter(other.arrays.values()))
        raise InputError(
            f"the labels file '{text}'",
            "must hold labels under `y` or `label_counts`",
            f"found {', '.join(describe(name, array) for name, array in list(other.arrays.items())[:8])}",
            "Rename the array or column.",
        )


def _label_field(name: str | None) -> str:
    return "label_counts" if name in ("label_counts", "label_count", "counts") else "y"


def _text_or_numbers(values: Any) -> Array:
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, list | tuple | np.ndarray):
        array = np.asarray(values)
        if array.dtype.kind in "UO" and array.ndim == 1 and all(isinstance(word, str) for word in array):
            return array.astype(np.str_)
    return as_array(values, "labels")


def _settle_special_arrays(content: Content) -> None:
    """Move `classes`, `meta` and `member_axis` from the arrays to where they belong."""
    classes = content.arrays.pop("classes", None)
    if classes is not None:
        if classes.ndim != 1 or classes.dtype.kind not in "Uiu":
            raise InputTypeError(
                "`classes`", "must be a list of names", f"got {describe('classes', classes)}", "Save strings."
            )
        content.classes = tuple(str(name) for name in classes.tolist())
    meta = content.arrays.pop("meta", None)
    if meta is not None:
        content.meta = {**content.meta, **_meta_of(meta, content.notes)}
    axis = content.arrays.pop("member_axis", None)
    if axis is not None and axis.size == 1 and axis.dtype.kind in "iu" and int(axis.ravel()[0]) in (0, 1):
        content.member_axis = int(axis.ravel()[0])


def _meta_of(array: Array, notes: list[str]) -> dict[str, Any]:
    text = str(array.ravel()[0]) if array.size == 1 and array.dtype.kind == "U" else None
    try:
        value = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    notes.append("`meta` is not a JSON object; it is kept as text")
    return {} if text is None else {"text": text}


def located(error: CrediblyError, source: str) -> CrediblyError:
    """Return the same error with the file named in front."""
    return reworded(error, subject=f"'{source}': {error.subject}")
