"""`load`: a file or table in; checked predictions and labels out, with all that was inferred in words."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError, as_array, as_real, describe_rows, require_finite
from credibly._arrays.errors import CrediblyError, InputError, InputTypeError, Remedy, as_problem
from credibly._arrays.namespace import Array, is_numpy, to_host
from credibly.io.files import digest_of, is_url, local_copy, path_text, read_content
from credibly.io.limits import located, reworded
from credibly.io.naming import assign_roles, share_of_distributions, use_canonical_names
from credibly.io.roles import KINDS, ROLES, Content, described
from credibly.predictions import ClassPredictions, Dataset, LabelCounts, Point, Predictions, as_labels

_FEW_ROWS = 256
_NOT_ROWS = frozenset({"levels", "weights"})
_AVERAGED = (
    "one distribution per instance: what compares members (credal test, Bayesian predictive check) cannot be "
    "run; if this is an averaged ensemble, save its members"
)


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
    with located(name):
        content = read_content(path)
        problems: list[str] | None = [] if drop_invalid else None
        data = dataset_of(content, kind=kind, labels=labels, member_axis=member_axis, problems=problems)
    return dataclasses.replace(data, digest=digest_of(content))


def dataset_of(
    content: Content,
    *,
    kind: str | None,
    labels: Any,
    member_axis: int | None,
    problems: list[str] | None = None,
) -> Dataset:
    """Give every array its role, and return the rows checked; see `assemble` about `problems`."""
    _set_aside(content)
    given = None if labels is None else _given_labels(labels, content)
    assign_roles(content, kind=kind, labels=given, member_axis=member_axis)
    return assemble(content, problems)


def rows_of(
    array: Array,
    labels: Array | LabelCounts,
    *,
    kind: str | None,
    member_axis: int | None,
    name: str,
    first: int,
) -> Dataset:
    """Return some rows of an array, as `load` would read them from a file that held nothing else.

    `first` is the index of the first of them among all rows, for what an error says.
    """
    members_first = array.ndim == 3 and member_axis == 0
    few = array[:, :_FEW_ROWS] if members_first else array[:_FEW_ROWS]
    real = is_numpy(array) and array.ndim > 1 and array.dtype.kind == "f"
    if kind is None and real and share_of_distributions(few) == 1:
        kind = "probs"  # whether all rows are is checked once, when the predictions are made
    n = int(array.shape[1 if members_first else 0])
    given = ("label_counts", labels.counts) if isinstance(labels, LabelCounts) else ("y", labels)
    content = Content(".npy", {"array": array}, lone="array", source=name)
    with located(f"{name}, rows {first} to {first + n - 1}", first):
        assign_roles(content, kind=kind, labels=given, member_axis=member_axis)
        return assemble(content)


# Labels that are given beside the file, and what a file says about itself


def _given_labels(given: Any, content: Content) -> tuple[str, Array]:
    """Return the role and the array of labels: an array, an array of the same file, or another file."""
    text = path_text(given)
    if isinstance(given, LabelCounts):
        return "label_counts", to_host(given.counts)
    if text is None:
        return "y", text_or_numbers(given, "labels")
    aliases = ROLES[text].aliases if text in ROLES else ()
    for name in (text, *aliases, *(["counts"] if text == "label_counts" else [])):
        if name in content.arrays:
            content.note(f"labels are the file's array {name!r}")
            return _label_role(name), content.arrays.pop(name)
    if not Path(text).exists() and not Path(text).suffix:
        raise InputError(
            "`labels`",
            "must name a file or an array of the predictions' file",
            f"there is no file {text!r}, and the arrays are {', '.join(content.arrays)}",
            "Check the name.",
        )
    other = read_content(text)
    _set_aside(other)
    use_canonical_names(other)
    content.paths.append(text)
    content.notes.extend(f"labels file: {note}" for note in other.notes)
    for name in ("y", "label_counts", "counts", str(other.lone)):
        if name in other.arrays:
            return _label_role(name), other.arrays[name]
    if len(other.arrays) == 1:
        return "y", next(iter(other.arrays.values()))
    raise InputError(
        f"the labels file '{text}'",
        "must hold labels under `y` or `label_counts`",
        f"found {described(dict(list(other.arrays.items())[:8]))}",
        "Rename the array or column.",
    )


def _label_role(name: str) -> str:
    return "label_counts" if name in ("label_counts", "label_count", "counts") else "y"


def text_or_numbers(values: Any, name: str) -> Array:
    """Return values beside the predictions as an array of numbers or of text."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, list | tuple | np.ndarray):
        array = np.asarray(values)
        if array.dtype.kind in "UO" and array.ndim == 1 and all(isinstance(word, str) for word in array):
            return array.astype(np.str_)
    return to_host(as_array(values, name))


def _set_aside(content: Content) -> None:
    """Move `classes`, `meta` and `member_axis` from the arrays to where they belong."""
    classes, meta, axis = (content.arrays.pop(name, None) for name in ("classes", "meta", "member_axis"))
    if classes is not None:
        if classes.ndim != 1 or classes.dtype.kind not in "Uiu":
            found = described({"classes": classes})
            raise InputTypeError("`classes`", "must be a list of names", f"got {found}", "Save strings.")
        content.set_aside("classes", classes.tolist())
    if meta is not None:
        text = str(meta.ravel()[0]) if meta.size == 1 and meta.dtype.kind == "U" else None
        try:
            value = json.loads(text or "")
        except (ValueError, RecursionError):
            value = None
        if not content.set_aside("meta", value):
            content.note("`meta` is not a JSON object; it is kept as text")
            content.set_aside("meta", {} if text is None else {"text": text})
    if axis is not None and axis.size == 1 and axis.dtype.kind in "iu":
        content.set_aside("member_axis", int(axis.ravel()[0]))


# From roles to checked predictions and labels; rows are dropped on purpose only, and on the record


def assemble(content: Content, problems: list[str] | None = None) -> Dataset:
    """Check everything; rows that break a rule are dropped only where there is a list to tell of it."""
    total, dropped = content.n, []
    while True:
        try:
            predictions = _make(content)
            labels = _resolve_labels(content, predictions)
            _check_beside(content, predictions)
            break
        except InvalidRowsError as error:
            if problems is None or error.argument in _NOT_ROWS:
                raise _for_files(error, content) from error
            keep = np.ones(content.n, dtype=bool)
            keep[error.rows] = False
            if not keep.any():
                raise InputError(
                    error.subject, "must leave valid rows", f"none is left: {error.evidence}", error.remedy
                ) from error
            content.keep(keep)
            problems.append(as_problem(_for_files(error, content)))
            words = f"{error.subject} {error.rule}; {error.evidence}"
            dropped.append(f"{len(error.rows)} rows were dropped on purpose: {words}")
        except CrediblyError as error:
            raise _for_files(error, content) from error
    if isinstance(predictions, Point):
        content.note(_AVERAGED)
    return Dataset(
        predictions,
        labels,
        content.arrays.get("features"),
        content.arrays.get("group"),
        content.arrays.get("id"),
        classes=content.classes,
        meta=content.meta,
        notes=(*content.notes, *dropped, *predictions.notes),
        source=content.source,
        dropped=total - content.n,
    )


def _make(content: Content) -> Predictions:
    """Build the predictions, which check themselves."""
    made = KINDS[str(content.kind)]
    arrays = [content.arrays[name] for name in made.fields]
    weights = content.arrays.get("member_weights")
    if weights is None:
        return made.make(*arrays)
    if content.kind in ("probs", "logits") and content.has_members:
        return made.make(*arrays, weights)
    content.note("`member_weights` are not used: only ensembles of probabilities or logits take them")
    return made.make(*arrays)


def _check_beside(content: Content, predictions: Predictions) -> None:
    for name in ("features", "group", "id"):
        shape = tuple(content.arrays[name].shape) if name in content.arrays else ()
        if len(shape) > (2 if name == "features" else 1):
            remedy = "Flatten each instance." if name == "features" else "Use one column."
            raise InputError(f"`{name}`", f"must have shape {ROLES[name].shape}", f"got {shape}", remedy)
    if "features" in content.arrays:
        require_finite(as_real(content.arrays["features"], "features"), "features")
    classes = content.classes
    if classes is None:
        return
    if not isinstance(predictions, ClassPredictions | LabelCounts):
        raise InputTypeError(
            "`classes`", "belong to class predictions", f"got {type(predictions).__name__}", "Remove them."
        )
    if len(classes) != predictions.n_classes or len(set(classes)) != len(classes):
        raise InputError(
            "`classes`",
            f"must be {predictions.n_classes} different names",
            f"got {len(classes)}, {len(set(classes))} of them different",
            "Name every class once, in the order of the last axis.",
        )


def _for_files(error: CrediblyError, content: Content) -> CrediblyError:
    """Add to an error about arrays the words that help with a file."""
    kind = error.remedy.kind if isinstance(error.remedy, Remedy) else None
    more = ""
    if kind is not None and kind != content.kind and content.kind in ("probs", "mass"):
        more += f" In a file with named arrays it must be called `{KINDS[kind].leading}`."
    if isinstance(error, InvalidRowsError) and error.argument not in _NOT_ROWS:
        more += " To leave these rows out: `drop_invalid=True`."
    elsewhere = error.remedy.elsewhere if isinstance(error.remedy, Remedy) else error.remedy
    if kind is not None:
        elsewhere += f" Use `kind={kind!r}`."
    return reworded(error, remedy=Remedy(error.remedy + more, elsewhere + more))


# Labels as they come in files: class indices, names, whole floats, counts, one column too many


def _resolve_labels(content: Content, predictions: Predictions) -> Array | LabelCounts | None:
    """Return the labels checked against the predictions; every reading that is not literal is noted."""
    labels, counted = content.arrays.get("y"), content.arrays.get("label_counts")
    if labels is None:
        return None if counted is None else _checked_counts(predictions, counted)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
        content.note("labels came as one column and are read as a vector")
    if labels.dtype.kind == "U":
        labels = _from_names(labels, content)
    if isinstance(predictions, LabelCounts):
        return _checked_beside_counts(predictions, labels)
    if isinstance(predictions, ClassPredictions):
        if labels.ndim == 2:
            return _from_table(predictions, labels, content)
        if labels.dtype.kind == "f":
            labels = _from_floats(labels, content)
        if labels.dtype.kind in "iub":
            labels = _from_integers(labels, content)
    as_labels(predictions, labels)
    return labels


def _from_names(names: Array, content: Content) -> Array:
    words, classes = names.tolist(), content.classes
    if classes is None:
        if all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
            content.note("labels came as text of digits and are read as class indices")
            return np.array([int(word) for word in words])
        raise InputError(
            "`labels`",
            "must be class indices where the file does not name its classes",
            f"the first is {words[0]!r}",
            "Name the columns p_<class>, or add `classes` in the order of the columns.",
        )
    index = {name: j for j, name in enumerate(classes)}
    strange = [row for row, word in enumerate(words) if word not in index]
    if strange:
        raise InvalidRowsError(
            "`labels`",
            f"must be among the classes ({', '.join(classes[:6])}{', ...' if len(classes) > 6 else ''})",
            describe_rows(strange, f"is {words[strange[0]]!r}", len(words)),
            "Correct the names.",
            strange,
        )
    content.note("labels came as class names and are matched with the classes")
    return np.array([index[word] for word in words])


def _from_integers(labels: Array, content: Content) -> Array:
    """Read numbers as names of classes where classes are called by other numbers than 0 to k - 1."""
    classes = content.classes or ()
    numbered = all(name.isascii() and name.isdigit() for name in classes)
    if numbered and classes != tuple(str(j) for j in range(len(classes))):
        return _from_names(labels.astype(np.str_), content)
    if labels.dtype.kind == "u" and labels.dtype.itemsize == 8 and (labels > 2**31).any():
        raise InputError(
            "`labels`",
            "must be class indices",
            f"the largest is {int(labels.max())}",
            "A negative label was stored as unsigned: map unlabelled instances out first.",
        )
    return labels.astype(np.int64)  # small unsigned types wrap when subtracted


def _from_floats(labels: Array, content: Content) -> Array:
    """Read whole floats as classes; a missing label is a row to name, anything else is not a class."""
    missing = np.flatnonzero(~np.isfinite(labels)).tolist()
    if missing:
        raise InvalidRowsError(
            "`labels`",
            "must be present",
            describe_rows(missing, f"is {labels[missing[0]]}", len(labels)),
            "Drop instances without a label.",
            missing,
        )
    strange = labels[(labels != np.round(labels)) | (np.abs(labels) > 2**31)]
    if strange.size:
        raise InputTypeError(
            "`labels`",
            "must be class indices",
            f"the first that is none is {strange[0]}",
            "These look like real observations, which belong to kinds gaussian, samples and quantiles.",
        )
    content.note(f"labels came as {labels.dtype} whole numbers and are read as class indices")
    return labels.astype(np.int64)


def _from_table(predictions: ClassPredictions, labels: Array, content: Content) -> LabelCounts:
    if (np.asarray(labels).sum(axis=1) == 1).all():
        raise InputError(
            "`labels`",
            "must be one class index per instance",
            f"got shape {tuple(labels.shape)} with one rater per row, as one-hot labels have",
            "Save `labels.argmax(axis=1)`; for counts of one rater name the array `label_counts`.",
        )
    counts = _checked_counts(predictions, labels)
    content.note(f"labels of shape {tuple(labels.shape)} are read as counts over raters")
    return counts


def _checked_counts(predictions: Predictions, table: Array) -> LabelCounts:
    counts = LabelCounts(table)
    if not isinstance(predictions, ClassPredictions):
        raise InputTypeError(
            "label counts",
            "belong to class predictions",
            f"got {type(predictions).__name__}",
            "Give real observations as `y`.",
        )
    as_labels(predictions, counts)
    return counts


def _checked_beside_counts(counts: LabelCounts, labels: Array) -> Array:
    whole = labels.ndim == 1 and labels.dtype.kind in "iub"
    if not whole or (labels < 0).any() or (labels >= counts.n_classes).any():
        raise InputError(
            "`labels`",
            f"must be {len(counts)} class indices from 0 to {counts.n_classes - 1}",
            f"got shape {tuple(labels.shape)} of {labels.dtype}",
            "Leave them out, or correct them.",
        )
    return labels
