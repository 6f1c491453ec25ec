"""`load`: a file or table in; checked predictions and labels out, with all that was inferred in words."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError, as_array, as_real, require_finite
from credibly._arrays.errors import CrediblyError, FileError, InputError, InputTypeError
from credibly._arrays.namespace import Array, is_numpy, to_host
from credibly.io.files import digest_of, is_url, local_copy, path_text, read_content
from credibly.io.labels import resolve_labels
from credibly.io.limits import load_limit, located, readable_size, reworded
from credibly.io.roles import (
    KINDS,
    ROLES,
    Content,
    assign_roles,
    described,
    sets_of,
    share_of_distributions,
    use_canonical_names,
)
from credibly.predictions import (
    Belief,
    ClassPredictions,
    Dirichlet,
    Ensemble,
    Gaussian,
    Intervals,
    LabelCounts,
    Point,
    Predictions,
    Quantiles,
    Samples,
)

_FEW_ROWS = 256
_NOT_ROWS = frozenset({"`levels`", "`weights`"})
_NAMED_IN_REMEDIES = {"from_logits": "logits", "from_beliefs": "belief", "LabelCounts": "counts"}
_AVERAGED = (
    "one distribution per instance: what compares members (credal test, Bayesian predictive check) cannot be "
    "run; if this is an averaged ensemble, save its members"
)


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
    features: Array | None = None
    groups: Array | None = None
    ids: Array | None = None
    classes: tuple[str, ...] | None = None
    meta: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = ""
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
            content.notes.append(f"labels are the file's array {name!r}")
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


def text_or_numbers(values: Any, name: str) -> np.ndarray[Any, Any]:
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
            content.notes.append("`meta` is not a JSON object; it is kept as text")
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
            labels = resolve_labels(content, predictions)
            _check_beside(content, predictions)
            break
        except InvalidRowsError as error:
            if problems is None or error.subject in _NOT_ROWS:
                raise _for_files(error, content) from error
            keep = np.ones(content.n, dtype=bool)
            keep[error.rows] = False
            if not keep.any():
                raise InputError(
                    error.subject, "must leave valid rows", f"none is left: {error.evidence}", error.remedy
                ) from error
            content.keep(keep)
            problems.append(str(_for_files(error, content)))
            words = f"{error.subject} {error.rule}; {error.evidence}"
            dropped.append(f"{len(error.rows)} rows were dropped on purpose: {words}")
        except CrediblyError as error:
            raise _for_files(error, content) from error
    if isinstance(predictions, Point):
        content.notes.append(_AVERAGED)
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
    kind, arrays, leading = content.kind, content.arrays, content.leading
    weights = arrays.get("member_weights")
    if kind == "logits" and isinstance(leading, np.memmap):
        _require_room(leading)
    if kind in ("probs", "logits") and leading.ndim == 3:
        make = Ensemble if kind == "probs" else Ensemble.from_logits
        return make(leading, weights=weights, member_axis=1)
    if weights is not None:
        content.note("`member_weights` are not used: only ensembles of probabilities or logits take them")
    match kind:
        case "probs" if leading.ndim == 1:
            raise InputError(
                "`probs`",
                f"must have shape {ROLES['probs'].shape}",
                f"got shape {tuple(leading.shape)}",
                "For binary scores p save both columns: `numpy.stack([1 - p, p], axis=-1)`.",
            )
        case "belief" | "mass":
            table = arrays["focal_sets"]
            build = Belief.from_beliefs if kind == "belief" else Belief
            return build(leading, sets_of(table), n_classes=table.shape[-1])
        case "alpha":
            return Dirichlet(leading, member_axis=1 if content.has_members else None)
        case "intervals":
            return Intervals(leading, arrays["upper"])
        case "gaussian":
            return Gaussian(leading, arrays["std"])
        case "quantiles":
            return Quantiles(leading, arrays["levels"])
    single = {"probs": Point, "logits": Point.from_logits, "samples": Samples, "counts": LabelCounts}
    made: Predictions = single[str(kind)](leading)
    return made


def _require_room(logits: Array) -> None:
    """Raise if the probabilities of memory-mapped logits, doubles in memory, would not fit."""
    needed = 8 * int(logits.size)
    if needed > load_limit():
        raise FileError(
            "`logits`",
            f"must have probabilities that fit into half of the memory ({readable_size(load_limit())})",
            f"they take {readable_size(needed)}",
            "Save the probabilities themselves as .npy, which stay on disk.",
        )


def _check_beside(content: Content, predictions: Predictions) -> None:
    for name, axes, remedy in (
        ("features", 2, "Flatten each instance."),
        ("group", 1, "Use one column."),
        ("id", 1, "Use one column."),
    ):
        array = content.arrays.get(name)
        if array is not None and array.ndim > axes:
            shape = tuple(array.shape)
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
    remedy = error.remedy
    kind = next((kind for word, kind in _NAMED_IN_REMEDIES.items() if word in remedy), None)
    if kind is not None and kind != content.kind and content.kind in ("probs", "mass"):
        remedy += f" In a file with named arrays it must be called `{KINDS[kind].leading}`."
    if isinstance(error, InvalidRowsError) and error.subject not in _NOT_ROWS:
        remedy += " To leave these rows out: `drop_invalid=True` (`--drop-invalid`)."
    return reworded(error, remedy=remedy)
