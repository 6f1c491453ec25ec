"""`save`: predictions and labels to a file, checked to be readable before the first byte is written.

Every format has one writer, from the same `Content` to an open file.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

import numpy as np

from credibly._arrays.checks import InvalidRowsError, require_distributions
from credibly._arrays.doors import checked
from credibly._arrays.errors import (
    CrediblyError,
    FileError,
    InputError,
    InputTypeError,
    require,
    require_type,
)
from credibly._arrays.namespace import Array, is_array, to_host
from credibly.io.extras import pip, require_module
from credibly.io.labelling import text_or_numbers
from credibly.io.loading import arranged, assemble
from credibly.io.naming import assign_roles
from credibly.io.roles import BESIDE, KINDS, ROLES, Content, ReadOptions, membership_of, sets_of
from credibly.io.text import FORMULA_STARTS, read_text
from credibly.io.writing import as_path, atomic_files, require_writable
from credibly.predictions import (
    Belief,
    Dataset,
    Dirichlet,
    Ensemble,
    Gaussian,
    LabelCounts,
    PredictionIntervals,
    Predictions,
    PredictionSets,
    as_predictions,
)
from credibly.predictions.convert import column_names, is_frame
from credibly.results.base import jsonable

_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_LABELS = ("y", "label_counts")
_TABLES = (".csv", ".tsv")
_ONE_COLUMN = ("y", "group", "cluster", "mean", "std", "lower_end", "upper_end", "claimed", "stated")


@checked
def save(
    path: str | os.PathLike[str],
    predictions: Any,
    labels: Any = None,
    *,
    features: Any = None,
    groups: Any = None,
    ids: Any = None,
    clusters: Any = None,
    classes: Any = None,
    meta: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write predictions and what goes with them to a file.

    Parameters
    ----------
    path : path
        The extension chooses the format: .npz holds everything exactly, and so does .parquet, which needs its
        extra; .csv and .tsv hold tables of probabilities and the like; .npy holds probabilities, and labels
        go to a second file next to it: ``pred.npy`` and ``pred-labels.npy``.
    predictions : Predictions, array or Dataset
        The predictions, or a `Dataset` with all that belongs to it, unless it is given here.
    labels : array (n,) or LabelCounts, optional
        What was observed.
    features : array (n, d), optional
        Features of the instances.
    groups : array (n,), mapping of str to array (n,), or data frame, optional
        Group of every instance, or several attributes, each under its own name:
        ``load(path, groups=["age", "sex"])`` reads them again. The attribute `group` is the one group.
    ids : array (n,), optional
        Name of every instance.
    clusters : array (n,), optional
        Which instances belong together.
    classes : sequence of str, optional
        Names of the classes.
    meta : mapping, optional
        Anything JSON can hold.
    overwrite : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The path written; that of the predictions if the labels have a file of their own.

    Raises
    ------
    FileError
        If a file exists and `overwrite` is false, if it cannot be written, or if the format cannot hold
        what was given. Existing files are then unchanged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import credibly as cr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cr.save(pathlib.Path(folder) / "two.csv", cr.Point([[0.7, 0.3], [0.2, 0.8]]), [0, 1]).name
    'two.csv'
    """
    if isinstance(predictions, Dataset):
        others = {"labels": labels, "features": features, "groups": groups, "ids": ids, "clusters": clusters}
        return _save_dataset(path, predictions, overwrite, others | {"classes": classes, "meta": meta})
    require_target(path, overwrite=overwrite)
    target = Path(path)
    form = target.suffix.lower()
    beside = [labels_beside(target)] if form == ".npy" and labels is not None else []
    for path_of_labels in beside:
        require_writable(path_of_labels, overwrite=overwrite)
    content = content_of(as_predictions(predictions))
    counted = isinstance(labels, LabelCounts)
    attributes = _attributes(groups)
    own_group = attributes.pop("group", None) if attributes else groups
    for name, value in (
        ("label_counts" if counted else "y", labels.counts if counted else labels),
        ("features", features),
        ("group", own_group),
        ("cluster", clusters),
        ("id", ids),
    ):
        if value is not None:
            content.arrays[name] = text_or_numbers(value, "labels" if name in _LABELS else name)
    content.arrays = content.rows | content.arrays  # those over instances first
    names = classes is None or (hasattr(classes, "__len__") and not isinstance(classes, str))
    require_type(names, "must be a sequence of names", "Pass a list.", classes=classes)
    content.classes = None if classes is None else tuple(str(name) for name in classes)
    content.meta = _plain_meta(meta)
    content.attributes = attributes
    read = _require_readable(content)
    if form in _TABLES and content.classes is not None and "y" in content.arrays:
        content.arrays["y"] = np.array(content.classes)[to_host(read.batch.values[0])]
    content.arrays |= attributes
    with atomic_files(target, *beside, overwrite=overwrite) as (file, *files_beside):
        try:
            _WRITERS[form](content, file, str(path))
        except UnicodeEncodeError:
            _refuse(str(path), "no place for letters outside Unicode, such as half a surrogate pair")
        for file_of_labels in files_beside:
            _write_npy_labels(content, file_of_labels, str(path))
    return target


def _save_dataset(path: Any, rows: Dataset, overwrite: bool, others: Mapping[str, Any]) -> Path:
    """Save a dataset with all that belongs to it; what was given beside it comes first."""
    require(
        rows.weights is None,
        "must be left out, because files hold none",
        "Save `data.predictions`, and the weights in a file of their own.",
        weights=rows.weights,
    )
    beside = {name: getattr(rows, name) if value is None else value for name, value in others.items()}
    return save(path, rows.predictions, overwrite=overwrite, **beside)


def _attributes(groups: Any) -> dict[str, Array]:
    """Return several attributes by name, as text or numbers; none where groups are one column."""
    if is_frame(groups):
        groups = {name: groups[name] for name in column_names(groups)}
    if not isinstance(groups, Mapping):
        return {}
    taken = {word for name, role in ROLES.items() for word in (name, *role.aliases)}
    attributes: dict[str, Array] = {}
    for key, values in groups.items():
        name = str(key)
        if name.lower() in taken - {"group"}:
            raise InputError(
                "`groups`",
                "must have names that mean nothing else in a file",
                f"{name!r} is read as something of the predictions or labels",
                "Rename this attribute.",
            )
        column = to_host(values) if is_array(values) else np.asarray(values)
        if column.dtype.kind in "mM":
            column = column.astype(str)
        if column.dtype == object:  # gaps are empty text, which `load` reads as missing
            column = np.array(["" if cell is None or cell != cell else str(cell) for cell in column.tolist()])
        attributes[name] = text_or_numbers(column, f"groups[{name!r}]")
    return attributes


def require_target(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise what `save` raises about the path alone; who computes for long asks this first."""
    target = as_path(path)
    form = target.suffix.lower()
    if form not in _WRITERS:
        raise FileError(
            f"'{path}'",
            f"must end in one of {', '.join(sorted(_WRITERS))}",
            f"got {target.suffix!r}",
            "Choose .npz, which holds everything.",
        )
    require_writable(path, overwrite=overwrite)


def labels_beside(path: str | os.PathLike[str]) -> Path:
    """Return where `save` puts the labels of a .npy file."""
    target = Path(path)
    return target.with_name(f"{target.stem}-labels.npy")


def content_of(predictions: Predictions) -> Content:
    """Return the arrays of a prediction by their roles in files."""
    kind = next((name for name, made in KINDS.items() if type(predictions) in made.types), None)
    if kind is None:
        raise InputTypeError(
            "`predictions`",
            "must be one of the library's prediction types to be saved",
            f"got {type(predictions).__name__}",
            "Convert it with `cr.as_predictions` first.",
        )
    arrays: dict[str, Any] = {role: getattr(predictions, name) for role, name in KINDS[kind].fields.items()}
    if isinstance(predictions, Belief):
        arrays["focal_sets"] = membership_of(predictions.focal_sets, predictions.n_classes)
    if isinstance(predictions, (PredictionSets, PredictionIntervals)):
        arrays["claimed"] = np.array([predictions.claimed])
    if isinstance(predictions, (Ensemble, Dirichlet, Gaussian)) and predictions.weights is not None:
        arrays["member_weights"] = predictions.weights
    on_host = {name: np.asarray(to_host(array)) for name, array in arrays.items()}
    return Content("memory", on_host, kind=kind)


def _plain_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    plain = jsonable(meta or {})
    try:
        return dict(json.loads(json.dumps(plain)))
    except (TypeError, ValueError) as error:
        raise InputError(
            "`meta`", "must be a mapping JSON can hold", str(error), "Use names and numbers."
        ) from None


def _require_readable(content: Content) -> Dataset:
    """Read the arrays back in memory, so that nothing is written that `load` would refuse."""
    copy = dataclasses.replace(content, arrays=dict(content.arrays), notes=[])
    options = ReadOptions(member_axis=1)
    assign_roles(copy, options)
    return assemble(copy, options)


def _shared(content: Content) -> dict[str, Array]:
    """Return the arrays without an instance axis."""
    return {name: array for name, array in content.arrays.items() if name not in content.rows}


def _header(content: Content) -> dict[str, Any]:
    """Return all but the rows in types JSON knows."""
    head: dict[str, Any] = {"format": "credibly", "version": 1}
    head["dtypes"] = {
        name: str(array.dtype)
        for name, array in content.arrays.items()
        if array.dtype.kind in "fiub" and name != "focal_sets"
    }
    head |= _about(content)
    for name, array in _shared(content).items():
        if name == "focal_sets":
            head["n_classes"] = int(array.shape[1])
            head["focal_sets"] = [sorted(members) for members in sets_of(array)]
        else:
            head[name] = array.tolist()
    return head


def _about(content: Content) -> dict[str, Any]:
    """Return what is saved with the arrays but is not an array."""
    about: dict[str, Any] = {"member_axis": 1} if content.has_members else {}
    if content.classes is not None:
        about["classes"] = list(content.classes)
    return about | ({"meta": content.meta} if content.meta else {})


def _write_npz(content: Content, file: BinaryIO, path: str) -> None:
    """Write a compressed archive; equal contents give equal bytes, so that digests compare."""
    arrays = dict(content.arrays)
    for name, value in _about(content).items():
        arrays[name] = np.array(json.dumps(value) if name == "meta" else value)
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as member:
                _write_array(array, member)


def _write_npy(content: Content, file: BinaryIO, path: str) -> None:
    """Write the one array of the predictions; labels go to a file of their own, nothing else has a place."""
    parts = [name for name in content.arrays if name not in _LABELS]
    parts += [name for name in ("classes", "meta") if name in _about(content)]
    if len(parts) > 1:
        _refuse(path, f"one array, got {', '.join(parts)}")
    if content.kind != "probs":
        _refuse(path, f"no name for its array, which `{parts[0]}` needs to be understood")
    _write_array(content.leading, file)


def _write_npy_labels(content: Content, file: BinaryIO, path: str) -> None:
    """Write the labels that stand beside a .npy file."""
    labels = next(content.arrays[name] for name in _LABELS if name in content.arrays)
    if labels.ndim == 2 and (labels.sum(axis=1) == 1).all():  # reads as one-hot, which `load` refuses
        _refuse(path, "no name for its labels, which counts of one rater need to be understood")
    _write_array(labels, file)


def _write_array(array: Array, file: IO[bytes]) -> None:
    np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)


def _write_table(content: Content, file: BinaryIO, path: str) -> None:
    """Write .csv or .tsv."""
    shared = _shared(content)
    shared.pop("claimed", None)  # has a column that repeats it
    shared |= {name: array for name, array in content.rows.items() if name == "member_weights"}
    if shared and content.kind != "quantiles":
        _refuse(path, f"no place for {', '.join(shared)}")
    if content.meta:
        _refuse(path, "no place for `meta`")
    if content.kind == "samples" and content.has_members:
        _refuse(path, "no place for samples of several members")
    if content.kind == "probs":
        try:  # what is a distribution in low precision may be none as the text's doubles
            require_distributions(content.leading.astype(np.float64), "probs", lambda _: "")
        except InvalidRowsError as error:
            _refuse(path, f"no low-precision numbers, and as doubles {error.evidence}")
    names = [*(content.classes or ()), *(str(name) for name in content.rows.get("id", ()))]
    blank = next((name for name in names if name != name.strip()), None)
    if blank is not None:
        _refuse(path, f"no blanks around names, and one is {blank!r}")
    delimiter = "\t" if path.lower().endswith(".tsv") else ","
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        csv.writer(_Lines(text), delimiter=delimiter, lineterminator="\r\n").writerows(_lines(content))
    finally:
        text.detach()
    if content.classes is not None or any(array.dtype.kind == "U" for array in content.rows.values()):
        _require_same_names(content, file, path)


def _require_same_names(content: Content, file: BinaryIO, path: str) -> None:
    """Read a table back: a name may look like a number, a gap or another column, and text has no types."""
    file.flush()
    options = ReadOptions(member_axis=1, groups=list(content.attributes))
    try:
        copy = read_text(file.name)
        assign_roles(copy, options, arranged(copy, options))
        data = assemble(copy, options)
    except CrediblyError as error:
        _refuse(path, f"only text, and names read back as something else: {error.evidence}")
    back = copy.arrays | copy.attributes
    named = [name for name in ("group", "cluster", "id", *content.attributes) if name in content.arrays]
    same = {name: name in back and _alike(content.arrays[name], back[name]) for name in named}
    if content.classes is not None:
        names = list(data.classes or map(str, range(len(content.classes))))
        same["classes"] = sorted(names) == sorted(content.classes)
        if same["classes"] and "y" in content.arrays:
            same["labels"] = content.arrays["y"].tolist() == [names[label] for label in data.labels]
    changed = [name for name, holds in same.items() if not holds]
    if changed:
        _refuse(path, f"only text, and some of `{changed[0]}` read back as something else")


def _alike(names: Array, read_back: Array) -> bool:
    """Tell whether the same rows share a name, and none lost its name."""
    words, read = names.astype(str), read_back.astype(str)
    codes = [np.unique(each, return_index=True, return_inverse=True)[1:] for each in (words, read)]
    firsts = [index[inverse] for index, inverse in codes]
    return bool((firsts[0] == firsts[1]).all() and (words == "").sum() == (read == "").sum())


class _Lines:
    """Ends lines in one character; Python's writer quotes a carriage return only if its lines end in one."""

    def __init__(self, text: IO[str]) -> None:
        self.text = text

    def write(self, line: str) -> int:
        """Write one line."""
        return self.text.write(line.removesuffix("\r\n") + "\n")


def _lines(content: Content) -> Iterator[list[Any]]:
    """Yield the header and one row per instance, or per instance and member."""
    rows, members = content.rows, content.has_members
    if "claimed" in content.arrays:
        rows["claimed"] = np.repeat(content.arrays["claimed"], content.n)
    ids = rows.pop("id").tolist() if "id" in rows else range(content.n) if members else None
    roles = ("y", "group", "cluster", "features", "label_counts")
    beside = [*(name for name in roles if name in rows), *content.attributes]
    fields = [name for name in rows if name not in BESIDE and name not in content.attributes]
    header = [] if ids is None else ["id", "member"] if members else ["id"]
    for name in (*beside, *fields):
        header += _column_names(name, content)
    yield header
    for i in range(content.n):
        for j in range(content.leading.shape[1] if members else 1):
            instance = None if ids is None else _guarded(ids[i])
            row: list[Any] = [] if ids is None else [instance, j] if members else [instance]
            for name in beside:
                row += [_guarded(cell) for cell in np.atleast_1d(rows[name][i]).tolist()]
            for name in fields:
                own_cells = np.atleast_1d(rows[name][i, j] if members else rows[name][i])
                row += (own_cells.astype(np.uint8) if own_cells.dtype == np.bool_ else own_cells).tolist()
            yield row


def _guarded(cell: Any) -> Any:
    """Return text that a spreadsheet would run as a formula behind an apostrophe, which `load` takes off.

    Text that looks guarded already gets one more: '=1 and =1 are different names.
    """
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip("'").startswith(FORMULA_STARTS) else cell


def _column_names(name: str, content: Content) -> list[str]:
    if name in content.attributes or name in _ONE_COLUMN:
        return [name]
    array, role = content.arrays[name], ROLES[name]
    suffixes: Iterable[Any] = range(array.shape[-1] if array.ndim > 1 else 1)
    if name == "values":
        suffixes = content.arrays["levels"].astype(np.float64).tolist()
    elif role.over_classes and content.classes is not None:
        suffixes = content.classes
    return [f"{role.prefixes[0]}_{suffix}" for suffix in suffixes]


def _write_parquet(content: Content, file: BinaryIO, path: str) -> None:
    """Write one list column per array, the rest as metadata of the schema."""
    arrow = require_module("pyarrow", f"'{path}'", pip("parquet"))
    parquet = require_module("pyarrow.parquet", f"'{path}'", pip("parquet"))
    table = arrow.table({name: array.tolist() for name, array in content.rows.items()})
    table = table.replace_schema_metadata({"credibly": json.dumps(_header(content))})
    parquet.write_table(table, file)


def _refuse(path: str, evidence: str) -> NoReturn:
    raise FileError(
        f"'{path}'", "must be able to hold what is saved", f"the format has {evidence}", "Use .npz."
    )


_WRITERS: dict[str, Callable[[Content, BinaryIO, str], None]] = {
    ".npz": _write_npz,
    ".npy": _write_npy,
    **dict.fromkeys(_TABLES, _write_table),
    ".parquet": _write_parquet,
}
