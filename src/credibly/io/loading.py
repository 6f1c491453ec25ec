"""`load`: a file or table in; checked predictions and labels out, with all that was inferred in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from credibly._arrays.checks import InvalidRowsError, as_real, require_finite
from credibly._arrays.doors import checked
from credibly._arrays.errors import CrediblyError, InputError, InputTypeError, Remedy, as_problem, require
from credibly._arrays.namespace import Array, is_numpy
from credibly._arrays.notes import counted
from credibly.calls import plain
from credibly.io.columns import roles_of, tabulate
from credibly.io.files import digest_of, path_text, read_content
from credibly.io.labelling import (
    joined_labels,
    label_role,
    label_source,
    resolved_labels,
    set_aside_all,
    shared_id,
)
from credibly.io.limits import located, reworded
from credibly.io.nameless import share_of_distributions
from credibly.io.naming import assign_roles, use_canonical_names
from credibly.io.questions import lay_out
from credibly.io.remote import local_copy
from credibly.io.roles import KINDS, RAW_LOGITS, ROLES, Content, ReadOptions, described, require_held
from credibly.predictions import Dataset, LabelCounts, OverClasses, Predictions
from credibly.predictions.given import pixels, require_one_class
from credibly.predictions.point import ROUNDED, rounding_of

_FEW_ROWS = 256
_NOT_ROWS = frozenset({"levels", "weights"})
_ATTRIBUTES = "columns or arrays of the file, or of that of the labels"


@checked
def load(
    path: Any,
    *,
    kind: str | None = None,
    labels: Any = None,
    member_axis: int | None = None,
    drop_invalid: bool = False,
    normalise: bool = False,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    ignore_label: Any = None,
    n_raters: int | None = None,
    id: str | None = None,
    classes: Sequence[str] | None = None,
    levels: Sequence[float] | None = None,
    member_weights: Sequence[float] | None = None,
    clusters: str | None = None,
    groups: Sequence[str] | None = None,
    claimed: float | None = None,
    words: Mapping[str, float | None] | None = None,
) -> Dataset:
    """Read predictions and labels from a file or a table.

    Parameters
    ----------
    path : path, URL or table
        A .npz, .npy, .csv, .tsv, .json, .jsonl (also packed, .csv.gz), .eval, .parquet, .pt or .nc file,
        ``"-"`` for text on standard input, or a pandas, polars or pyarrow table. Pickles are refused. A URL
        such as ``s3://...`` is copied first (extra `remote`), within limits on time and size.
    kind : str, optional
        What the numbers are: ``"probs"``, ``"logits"``, ``"alpha"``, ``"belief"``, ``"mass"``,
        ``"intervals"``, ``"gaussian"``, ``"samples"``, ``"quantiles"``, ``"prediction-sets"``,
        ``"prediction-intervals"`` or ``"counts"``. Needed only if the file does not name its arrays and they
        are not rows of probabilities. ``"raw-logits"`` treats rows that sum to 1 as logits.
    labels : path, str, array or table, optional
        A second file with the labels, the name of an array or column in the first, or the labels themselves.
        Labels that carry ids, or an index, are joined with the predictions by them.
    member_axis : {0, 1}, optional
        Where the members are; needed only if neither the shape nor the number of labels shows it.
    drop_invalid : bool
        Leave out rows that break a rule; the notes count them.
    normalise : bool
        Divide rows by their sum if only rounding keeps them from summing to 1, or percentages from summing to
        100; the notes say how far off they were. Other rows remain errors.
    columns : sequence of str, optional
        The columns of a table that are the classes, in this order.
    exclude : sequence of str
        Columns of a table that are not read.
    ignore_label : int or str, optional
        Label value that marks unlabelled rows, such as -1 or 255; these rows are left out and counted.
    n_raters : int, optional
        Number of raters, if the labels are shares of raters.
    id : str, optional
        The column or array that names the instances.
    classes : sequence of str, optional
        Names of the classes in the order of integer labels.
    levels : sequence of float, optional
        Levels of quantiles, or of the columns `lower` and `upper`, if the file does not give them.
    member_weights : sequence of float, optional
        Weights of the members, if the file does not give them.
    clusters : str, optional
        The column or array that says which rows belong together, such as the patient; a column `cluster` is
        found by its name.
    groups : sequence of str, optional
        Columns or arrays with attributes of the instances, such as age and sex, for `audit` and `evaluate`.
    claimed : float, optional
        Share of labels that prediction sets, or the intervals between `lower` and `upper`, claim to contain,
        if the file does not say.
    words : mapping of str to float, optional
        Probabilities of words that state a confidence, such as ``{"likely": 0.7}``; None marks a refusal.

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
    Files above the memory budget must be .npy: they are opened as memory maps and checked tile by tile.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import credibly as cr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = cr.save(pathlib.Path(folder) / "two.npz", cr.Point([[0.7, 0.3], [0.2, 0.8]]), [0, 1])
    ...     cr.load(path).predictions
    Point(n=2, k=2, dtype=float64)
    """
    options = ReadOptions(**{option: value for option, value in locals().items() if option != "path"})
    name = path_text(path)
    with located(name or f"<{type(path).__name__}>"), opened(path, options) as (content, here):
        labels_by_role = arranged(content, here)
        assign_roles(content, here, labels_by_role)
        data = assemble(content, here, [] if drop_invalid else None)
        data = replace(data, digest=digest_of(content), source=name or data.source)
    return _remembered(data, options)


def _remembered(data: Dataset, options: ReadOptions) -> Dataset:
    """Let the data know what was said about their file, if words and numbers can say it."""
    spoken = {name: plain(value) for name, value in vars(options).items() if value is not None}
    if data.source and not data.source.startswith("<") and None not in spoken.values():
        kept = {name: value for name, value in spoken.items() if value is not False and value != []}
        object.__setattr__(data, "read", kept)
    return data


@contextmanager
def opened(path: Any, options: ReadOptions) -> Iterator[tuple[Content, ReadOptions]]:
    """Give what a file or table holds, and what is said about it with labels that can be opened here.

    Copies of what lies elsewhere are there until the end.
    """
    name, labels = path_text(path), path_text(options.labels)
    with local_copy(name) as file, local_copy(labels) as labels_file:
        content = read_content(path if name is None else file)
        yield content, options if labels is None else replace(options, labels=labels_file)


def arranged(content: Content, options: ReadOptions) -> dict[str, Array] | None:
    """Sort the columns of a table, and return the labels that are given beside it, joined by their ids."""
    lay_out(content, options)
    set_aside_all(content)
    _choose_variable(content, options)
    _set_attributes_aside(content, options, elsewhere=options.labels is not None)
    source = None if options.labels is None else label_source(options.labels, content)
    labels, beside = None, _attributes_beside(source, content, options)
    if options.id is None and isinstance(source, Content) and content.table and source.table:
        options = replace(options, id=shared_id(content.table, source.table))
    if isinstance(source, str) and content.table is None:
        labels = {label_role(source): content.arrays.pop(source)}
        content.note(f"labels are the file's array {source!r}")
    tabulate(content, options, source if isinstance(source, str) else None)
    for name in options.exclude if content.table is None else ():
        content.arrays.pop(name, None)
    if options.classes is not None:
        _name_classes(content, [str(name) for name in options.classes])
    use_canonical_names(content)
    _name_clusters(content, options.clusters)
    if options.id is not None and "id" not in content.arrays and options.id in content.arrays:
        content.arrays["id"], content.id_name = content.arrays.pop(options.id), options.id
    if source is None or isinstance(source, str):
        return labels
    labels, order = joined_labels(source, content, options)
    content.attributes |= {name: array if order is None else array[order] for name, array in beside.items()}
    content.attributes = {str(name): content.attributes[str(name)] for name in options.groups or ()}
    return labels


def _choose_variable(content: Content, options: ReadOptions) -> None:
    """Take the one variable of a posterior that is evaluated; of several the user names one."""
    if not content.variables:
        return
    names = [str(name) for name in options.columns or content.variables if name not in options.exclude]
    if len(names) != 1 or names[0] not in content.variables:
        raise InputError(
            "the variable of the posterior",
            "must be one of those that the file predicts",
            f"got {', '.join(names)}; there are {', '.join(content.variables)}",
            Remedy("Name one: `columns=['y']`.", "Name one: `--columns y`."),
        )
    arrays, notes = content.variables.pop(names[0])
    content.arrays |= arrays
    content.note(*notes)
    if content.variables:
        content.note(f"not used: {', '.join(map(repr, content.variables))}")
    content.variables = {}


def _name_clusters(content: Content, name: str | None) -> None:
    """Take the array that was said to tell which rows belong together; of a table the column is found."""
    if name is None or content.clusters_found:
        return
    require_held("clusters", name, content.arrays, "a column or array of the file")
    # ids that repeat may say both who an instance is and what it shares
    content.arrays["cluster"] = content.arrays[name] if name in ROLES else content.arrays.pop(name)


def _set_attributes_aside(content: Content, options: ReadOptions, *, elsewhere: bool) -> None:
    """Take the columns that the user names as groups out of what is given a role.

    Where labels stand `elsewhere`, attributes may stand beside them.
    """
    table = content.arrays if content.table is None else content.table
    names = [str(name) for name in options.groups or ()]
    for name in names:
        if not elsewhere:
            require_held("groups", name, table, _ATTRIBUTES)
        if names.count(name) > 1:
            raise InputError("`groups`", "must name each column once", f"got {name!r} twice", "Name it once.")
    here = [name for name in names if name in table]
    _require_labels_left(table, here, options.labels)
    # a hospital may be a group and, at the same time, what its rows share
    content.attributes = {name: table[name] if name == options.clusters else table.pop(name) for name in here}


def _attributes_beside(
    source: str | Content | None, content: Content, options: ReadOptions
) -> dict[str, Array]:
    """Take the attributes that the predictions' file does not hold out of that of the labels."""
    names = [str(name) for name in options.groups or () if str(name) not in content.attributes]
    if not names:
        return {}
    columns: dict[str, Array] = {}
    if isinstance(source, Content):
        columns = source.arrays if source.table is None else source.table
    of_predictions = content.arrays if content.table is None else content.table
    if columns and isinstance(source, Content) and source.table and "rater" in roles_of(columns, options):
        raise InputError(
            "`groups`",
            "must have one value per instance",
            f"{names[0]!r} is in a table with one row per instance and rater",
            "Put it into the file of the predictions; `credibly raters` compares raters.",
        )
    for name in names:
        if name not in columns:
            require_held("groups", name, {**of_predictions, **columns}, _ATTRIBUTES)
    return {name: columns.pop(name) for name in names}


def _require_labels_left(columns: dict[str, Array], names: list[str], labels: Any) -> None:
    """Raise where a group is the only column that can be the labels: groups must not be made from those."""
    observed = [name for name in columns if name.lower() in ("y", *ROLES["y"].aliases)]
    named = isinstance(labels, str) and labels in names
    taken = [labels] if named else [name for name in observed if name in names]
    if taken and (named or (labels is None and len(taken) == len(observed))):
        raise InputError(
            "`groups`",
            "must be known before the labels are",
            f"{taken[0]!r} holds the labels",
            "Name attributes of the instances, such as age or site.",
        )


def _name_classes(content: Content, names: list[str]) -> None:
    """Take the names that were said; those of columns must be the same, in whatever order labels count."""
    if content.classes is not None and set(content.classes) != set(names):
        raise InputError(
            "`classes`",
            "must be the classes of the file",
            f"got {', '.join(names[:6])}; the file has {', '.join(content.classes[:6])}",
            "Write them as the file does, in the order of the labels.",
        )
    content.label_order = tuple(names)
    content.classes = content.classes or tuple(names)


def rows_of(
    array: Array,
    labels: Array | LabelCounts,
    options: ReadOptions,
    *,
    name: str,
    first: int,
) -> Dataset:
    """Return some rows of an array, as `load` would read them from a file that held nothing else.

    `first` is the index of the first of them among all rows, for what an error says.
    """
    members_first = array.ndim == 3 and options.member_axis == 0
    few = array[:, :_FEW_ROWS] if members_first else array[:_FEW_ROWS]
    real = is_numpy(array) and array.ndim > 1 and array.dtype.kind == "f"
    if options.kind is None and real and share_of_distributions(few) == 1:
        options = replace(options, kind="probs")  # all rows are checked when the predictions are made
    n = int(array.shape[1 if members_first else 0])
    labels_by_role = {"label_counts": labels.counts} if isinstance(labels, LabelCounts) else {"y": labels}
    content = Content(".npy", {"array": array}, lone="array", source=name)
    with located(f"{name}, rows {first} to {first + n - 1}", first):
        assign_roles(content, options, labels_by_role)
        return assemble(content, options)


# From roles to checked predictions and labels; rows are dropped on purpose only, and on the record


def assemble(content: Content, options: ReadOptions, problems: list[str] | None = None) -> Dataset:
    """Check everything; rows that break a rule are dropped only where there is a list to tell of it."""
    _lay_out_pixels(content)
    total, dropped = content.n, []
    _ignore(content, options)
    while True:
        try:
            predictions = _make(content, options)
            labels = resolved_labels(content, predictions, options)
            _check_beside(content, predictions)
            break
        except InvalidRowsError as error:
            if problems is None or not _of_instances(error, content):
                raise _for_files(error, content) from error
            keep = np.ones(content.n, dtype=bool)
            keep[error.rows] = False
            if not keep.any():
                raise InputError(
                    error.subject, "must leave valid rows", f"none is left: {error.evidence}", error.remedy
                ) from error
            content.keep(keep)
            problems.append(as_problem(_for_files(error, content)))
            words, number = f"{error.subject} {error.rule}; {error.evidence}", len(error.rows)
            dropped.append(f"{counted(number, 'row was', 'rows were')} dropped on request: {words}")
        except CrediblyError as error:
            raise _for_files(error, content) from error
    return Dataset(
        predictions,
        labels,
        content.arrays.get("features"),
        dict(content.attributes) or content.arrays.get("group"),
        content.arrays.get("id"),
        classes=content.classes,
        classes_ordered=content.named_by is None,
        clusters=content.arrays.get("cluster"),
        index=content.index if total == content.n else None,
        feature_names=content.feature_names,
        meta=content.meta,
        notes=tuple(dict.fromkeys((*content.notes, *dropped, *predictions.notes))),
        source=content.source,
        dropped=total - content.n,
        others={name: column for name, column in content.rest.items() if column.shape == (content.n,)},
    )


def _lay_out_pixels(content: Content) -> None:
    """Read the pixels of images (b, h, w, k) as rows; refuse probabilities with several classes per row."""
    labels = content.arrays.get("y")
    if content.kind != "probs":
        return
    if content.leading.ndim == 4:
        beside = {name: array for name, array in content.rows.items() if name not in ("probs", "y")}
        beside = {"clusters": beside.pop("cluster", None), **beside, **content.attributes}
        probs, labels, beside, notes = pixels(content.leading, labels, beside)
        clusters = beside.pop("clusters")
        content.attributes = {name: beside.pop(name) for name in content.attributes}
        arrays = {"probs": probs, "y": labels, "cluster": clusters, **beside}
        content.arrays |= {name: array for name, array in arrays.items() if array is not None}
        content.note(*notes)
    elif labels is not None and labels.ndim == 2:
        require_one_class(content.leading, labels)


def _ignore(content: Content, options: ReadOptions) -> None:
    """Leave out the rows whose label stands for none."""
    labels = content.arrays.get("y")
    if options.ignore_label is None:
        return
    if labels is None or labels.shape[1:] not in ((), (1,)):
        content.note("`ignore_label` is not used: the labels are not one class per instance")
        return
    words = [str(word) for word in labels.ravel().tolist()]
    value = str(options.ignore_label)
    ignored = np.array([word == value or word == f"{value}.0" for word in words])
    if ignored.all():
        raise InputError("`ignore_label`", "must leave labels", f"all are {value!r}", "Check the labels.")
    content.keep(~ignored)
    content.index = None
    content.note(f"{int(ignored.sum())} of {len(words)} instances are left out: their label is {value}")


def _normalised(content: Content) -> None:
    """Divide rows that rounding keeps from a sum of 1, or percent from 100, by their sum."""
    probs = content.leading
    values = np.asarray(probs, dtype=np.float64)
    sums = values.sum(axis=-1)
    rounded = rounding_of(values)
    if rounded is None:
        content.note("`normalise` changed nothing: the rows are not rounded probabilities or percentages")
        return
    content.arrays["probs"] = values / sums[..., None]
    content.note(
        f"rows were divided by their sums, which lay between {sums.min():.6g} and {sums.max():.6g} "
        f"({rounded}; the largest error is {np.abs(sums - rounded.whole).max():.2g})"
    )


def _make(content: Content, options: ReadOptions) -> Predictions:
    """Build the predictions, which check themselves."""
    made = KINDS[str(content.kind)]
    if options.normalise and content.kind == "probs":
        _normalised(content)
    arrays = [content.arrays[name] for name in made.fields]
    weights = (
        content.arrays.get("member_weights") if options.member_weights is None else options.member_weights
    )
    raw = {"raw": True} if options.kind == RAW_LOGITS else {}
    weighted = content.kind in ("probs", "logits", "alpha", "gaussian") and content.has_members
    if weights is None or weighted:
        return made.make(*arrays, *(() if weights is None else (weights,)), **raw)
    if content.kind == "samples":
        raise InputError(
            "`member_weights`",
            "cannot be used with draws: tests exchange a label with its draws, which must count alike",
            f"got {np.asarray(weights).size} weights with {described({'samples': content.leading})}",
            "Draw again with equal weights. Repeating draws does not help, because labels never repeat.",
        )
    rule = "belong to members"
    if options.member_weights is not None:
        raise InputError("`member_weights`", rule, "the predictions have none", "Leave them out.")
    content.note(f"`member_weights` are not used: they {rule}, and these predictions have none")
    return made.make(*arrays, **raw)


def _check_beside(content: Content, predictions: Predictions) -> None:
    for name in ("features", "group", "cluster", "id"):
        array, most = content.arrays.get(name), 2 if name == "features" else 1
        remedy = "Flatten each instance." if name == "features" else "Use one column."
        fits = array is None or array.ndim <= most
        require(fits, f"must have shape {ROLES[name].shape}", remedy, **{name: array})
    for name, column in content.attributes.items():
        if tuple(column.shape) != (len(predictions),):
            raise InputError(
                f"attribute {name!r}",
                f"must have one entry per instance ({len(predictions)})",
                f"got shape {tuple(column.shape)}",
                "Save one row per instance.",
            )
    if "features" in content.arrays:
        require_finite(as_real(content.arrays["features"], "features"), "features")
    classes = content.classes
    if classes is None:
        return
    if not isinstance(predictions, OverClasses | LabelCounts):
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


def _of_instances(error: InvalidRowsError, content: Content) -> bool:
    """Tell whether the rows of an error are instances, not levels or members."""
    by_row = error.argument == "weights" and "member_weights" in content.rows
    return by_row or error.argument not in _NOT_ROWS


def _for_files(error: CrediblyError, content: Content) -> CrediblyError:
    """Add to an error about arrays the words that help with a file."""
    kind = error.remedy.kind if isinstance(error.remedy, Remedy) else None
    more = here = there = ""
    if kind is not None and kind != content.kind and content.kind in ("probs", "mass"):
        more += f" In a file with named arrays it must be called `{KINDS[kind].leading}`."
    rounded = isinstance(error.remedy, Remedy) and error.remedy.code == ROUNDED
    # `load` takes these options; other functions take what it returns
    if rounded:
        here = " `load(path, normalise=True)` does it."
    elif (
        isinstance(error, InvalidRowsError) and _of_instances(error, content) and len(error.rows) < content.n
    ):
        leave_out = " To leave these rows out: `{}`."
        here, there = leave_out.format("load(path, drop_invalid=True)"), leave_out.format("drop_invalid=True")
    elsewhere = error.remedy.elsewhere if isinstance(error.remedy, Remedy) else error.remedy
    if kind is not None:
        elsewhere += f" Use `kind={kind!r}`."
    code = error.remedy.code if isinstance(error.remedy, Remedy) else ""
    return reworded(error, remedy=Remedy(error.remedy + more + here, elsewhere + more + there, code=code))
