"""Named columns to arrays: wide tables, tables with one row per member, class or rater."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array
from credibly._arrays.notes import Note
from credibly.io.column_names import PREFIXES, SINGLE, TEXT_ROLES, WHOLE, field_of, listed_names
from credibly.io.roles import BESIDE, ROLES, ROW_NUMBERS, Content, ReadOptions, require_held
from credibly.predictions.label_reading import numbers_of

Columns = Mapping[str, Array]

_POINT_WORDS = ("y_pred", "pred", "prediction", "predicted", "y_hat", "yhat", "forecast")
_MEMBER_WORDS = ("model", "seed", "run", "net", "network", "fold", "pass", "member_id", "model_id")
"""Columns that tell members apart where every id has one row for each of their values."""
_MEMBER = r"(?:m|member|model|net|fold|seed|run|draw)[_ ]?"
_MEMBER_FIRST = re.compile(rf"{_MEMBER}(?P<member>\d+)[_.: -](?P<rest>.+)", re.IGNORECASE)
_MEMBER_LAST = re.compile(rf"(?P<rest>.+?)[_.: -]{_MEMBER}(?P<member>\d+)", re.IGNORECASE)
_LEVEL_WORDS = ("quantile", "quantile_level", "level", "tau")
_LEVEL = re.compile(r"0?\.\d+|\d{1,2}(?:\.\d+)?\s?%")
CLASS_EACH = "one class each"
"""Code of the note that columns without a role are classes."""


def tabulate(content: Content, options: ReadOptions, label: str | None = None) -> None:
    """Sort the columns of a table into arrays, one row per instance.

    `label` is the column that is said to hold the labels.
    """
    if content.table is None:
        return
    columns = _selected(content.table, options)
    if label is not None:
        others = [name for name in columns if name.lower() in WHOLE["y"] and name != label]
        columns = {"y" if name == label else name: column for name, column in columns.items()}
        columns = {name: column for name, column in columns.items() if name not in others}
        content.note(f"labels are the column {label!r}")
    if options.clusters is not None:
        require_held("clusters", options.clusters, columns, "a column of the table")
    roles = roles_of(columns, options)
    named = roles.get("id", "index").lower() not in ROW_NUMBERS
    if named and not {"member", "class"} & set(roles):
        roles |= _repeated(columns, roles)
    notes = [
        f"column {name!r} is read as the {ROLES[role].meaning}"
        for role, name in roles.items()
        if role != name
    ]
    lines = "class" in roles
    several = lines or "member" in roles
    attributes = {f"attribute {name}": array for name, array in content.attributes.items() if several}
    table = columns | attributes
    if lines:
        table = _spread_classes(table, roles)
    members: list[Any] | None = None
    if "member" in roles:
        table, members = _gather_members(table, roles)
    else:
        table, members = _member_columns(table, roles)
    content.attributes |= {name.partition(" ")[2]: table.pop(name) for name in attributes}
    wide = _wide(table, roles, n_axes=1 if members is None else 2, chosen=options.columns)
    content.arrays |= wide.arrays
    content.lone, content.classes = wide.lone or content.lone, content.classes or wide.classes
    unordered = lines or content.named_by == "lines"
    content.named_by = wide.named_by and ("lines" if unordered else wide.named_by)
    content.id_name, content.positive = roles.get("id"), wide.positive
    content.clusters_found = "cluster" in roles
    if named:
        _note_repeated(content, roles)
    content.feature_names, content.rest = wide.feature_names, wide.rest
    content.table = None
    if members is None and wide.arrays.get("mean", np.empty(0)).ndim == 2:
        content.member_axis = 1
        content.note(f"the columns of the means are read as {wide.arrays['mean'].shape[1]} members")
    content.note(*notes, *wide.notes)
    if members is not None:
        some = ", ".join(str(member) for member in members[:5]) + (", ..." if len(members) > 5 else "")
        per = "row per instance and member" if "member" in roles else "column per member and class"
        content.note(f"one {per}; {len(members)} members: {some}")
        content.member_axis = 1


def _selected(table: Columns, options: ReadOptions) -> dict[str, Array]:
    """Return the columns without those that are excluded; names that are not there are refused."""
    for option, names in (("exclude", options.exclude), ("columns", options.columns or ())):
        for name in names:
            require_held(option, name, table, "columns of the table")
    return {name: column for name, column in table.items() if name not in set(options.exclude)}


def roles_of(columns: Columns, options: ReadOptions) -> dict[str, str]:
    """Return which column plays which part; two for one part are refused, of ids the best is taken."""
    roles: dict[str, str] = {}
    for role, words in WHOLE.items():
        names = [name for name in columns if name.lower() in words and columns[name].ndim == 1]
        names = [role] if role in names else names
        if role == "id":
            names = _best_id(names, columns, options) or _named_ids(columns)
        if role == "cluster" and options.clusters is not None and options.clusters in columns:
            names = [options.clusters]
        if len(names) > 1:
            raise InputError(
                f"the table's {role}",
                "must be one column",
                f"found {', '.join(names)}",
                f"Use `labels={names[0]!r}`, or rename one." if role == "y" else "Rename one.",
            )
        if names:
            roles[role] = names[0]
    if "class" in roles and not any(name.lower() in PREFIXES for name in columns):
        # No value beside it: a column `class` in a wide table is the label.
        name = roles.pop("class")
        if "y" not in roles and "id" not in roles:
            roles["y"] = name
    return roles


_ANY_ID = re.compile(r".+(?:_id|_uuid|[a-z]I[dD])|.+ id", re.DOTALL)


def is_any_id(name: str) -> bool:
    """Tell whether a column is named like customer_id or customerId, and is nothing that is known by name."""
    return _ANY_ID.fullmatch(name) is not None and name.lower() not in TEXT_ROLES | set(_MEMBER_WORDS)


def _named_ids(columns: Columns) -> list[str]:
    """Return the first column named like an id that names every row; one that repeats may be a cluster."""
    ids = (name for name in columns if is_any_id(name) and columns[name].ndim == 1)
    return [name for name in ids if len(set(columns[name].tolist())) == len(columns[name])][:1]


def _best_id(names: list[str], columns: Columns, options: ReadOptions) -> list[str]:
    if options.id is not None:
        require_held("id", options.id, columns, "a column of the table")
        return [options.id]
    proper = [name for name in names if name.lower() not in ROW_NUMBERS] or names
    distinct = [name for name in proper if len(set(columns[name].tolist())) == len(columns[name])]
    return (distinct or proper)[:1]


def _wide(table: Columns, roles: Mapping[str, str], *, n_axes: int, chosen: Sequence[str] | None) -> Content:
    """Sort columns into fields; a column with more axes than the table's own holds lists and is a field."""
    content = Content("", {})
    groups: dict[str, dict[str, Array]] = {}
    plain: dict[str, Array] = {}
    for role in ("y", "id", "group", "cluster", "rater"):
        if role in roles:
            content.arrays[role] = table[roles[role]]
    if chosen is not None:
        _stack_chosen(table, chosen, content)
        unused = [name for name in table if name not in (*roles.values(), *chosen)]
        if unused:
            content.note(f"not used: columns {listed_names(unused)}")
        return content
    for name, column in table.items():
        named = field_of(name)
        if name in roles.values():
            continue
        if column.ndim > n_axes:
            content.arrays[name] = column
        elif name.lower() in SINGLE and column.dtype.kind in "fiub" and not _has_siblings(name, table):
            _place_single(name, column, content)
        elif named is not None:
            groups.setdefault(named[0], {})[named[1]] = column
        else:
            plain[name] = column
    if "values" not in groups and _are_percentiles(list(groups.get("probs", ()))):
        groups["values"] = groups.pop("probs")
        names = [f"P{percent}" for percent in groups["values"]]
        content.note(f"columns {listed_names(names)} are read as percentiles")
    ends = [groups.get(name, {}) for name in ("lower", "upper")]
    if len(ends[0]) == 1 and ends[0].keys() == ends[1].keys():  # one number per row each, not one per class
        for name in ("lower", "upper"):
            ((suffix, content.arrays[name]),) = groups.pop(name).items()
        content.note(
            f"the columns lower and upper of {suffix!r} are read as the ends of one interval per row"
        )
    for field, parts in groups.items():
        stacked = _stack(field, parts, content)
        if stacked is not None:
            content.arrays[field] = stacked
    _leave_out_points(plain, content)
    _place_forecasts(plain, content)
    _place_plain(plain, content)
    return content


def _has_siblings(name: str, table: Columns) -> bool:
    """Tell whether `p_positive` is a class like `p_neutral` beside it, not the probability of class 1."""
    field = (field_of(name) or ("",))[0]
    return field == "probs" and sum((field_of(other) or ("",))[0] == field for other in table) > 1


def _place_single(name: str, column: Array, content: Content) -> None:
    role = SINGLE[name.lower()]
    if role in content.arrays:
        raise InputError(
            f"the table's {ROLES[role].meaning}",
            "must be one column",
            f"{name!r} is another",
            f"Leave one out: `exclude=[{name!r}]`.",
        )
    content.arrays[role] = column
    if name != role:
        content.note(f"column {name!r} is read as the {ROLES[role].meaning}")


def _require_numbers(subject: str, column: Array) -> None:
    if column.dtype.kind not in "fiub":
        raise InputError(subject, "must hold numbers", f"got {column.dtype}", "Correct it.")


def _stack_chosen(table: Columns, chosen: Sequence[str], content: Content) -> None:
    """Take the columns that were named as one class each, in that order."""
    for name in chosen:
        _require_numbers(f"column {name!r}", table[name])
    content.arrays["columns"] = np.stack([table[name] for name in chosen], axis=-1)
    content.lone = "columns"
    if len(chosen) == 1:
        content.arrays["score"] = content.arrays.pop("columns")[..., 0]
        content.lone = None
        return
    names = [(field_of(name) or ("", name))[1] for name in chosen]
    numbers = numbers_of(names)
    if numbers is None or numbers != list(range(len(names))):
        content.classes, content.named_by = tuple(names), "columns"
    content.note(f"columns {listed_names(chosen)} are read as one class each")


def _stack(field: str, parts: dict[str, Array], content: Content) -> Array | None:
    """Join the columns of one field along a new last axis, in the order their suffixes tell."""
    for suffix, column in parts.items() if field != "raters" else ():
        _require_numbers(f"column {suffix!r} of `{field}`", column)
    suffixes, names = list(parts), None
    over_classes = ROLES[field].over_classes
    if field == "values":
        levels = levels_of(suffixes, content)
        content.arrays["levels"] = np.sort(levels)
        return np.stack([parts[suffixes[j]] for j in np.argsort(levels, kind="stable")], axis=-1)
    if field == "probs" and len(suffixes) == 1:
        # One column of two classes: that of class 1 unless its name says another.
        content.arrays["score"], content.positive = parts[suffixes[0]], suffixes[0]
        return None
    numbers = numbers_of(suffixes)
    if numbers is not None:
        in_order = [suffixes[j] for j in np.argsort(numbers)]
        if in_order != suffixes and over_classes:
            content.note(f"the columns of `{field}` are ordered by their numbers: {listed_names(in_order)}")
        suffixes, numbers = in_order, sorted(numbers)
        start = 1 if numbers[0] == 1 else 0
        if numbers != list(range(start, start + len(numbers))):
            gap = next(j for j, number in enumerate(numbers, start) if j != number)
            raise InputError(
                f"the columns of `{field}`",
                f"must be numbered {start} to {start + len(numbers) - 1} without gaps",
                f"number {gap} is missing or repeated",
                "Check the header. Percentiles of a real value are called q5, q50, q95."
                if field in ("probs", "lower", "upper")
                else "Check the header.",
            )
        if start and over_classes:
            content.note(f"the classes of `{field}` are numbered from 1; labels are matched by number")
        if over_classes and (start or not suffixes[0].isdigit()):
            names = tuple(suffixes)
    elif over_classes:
        names = tuple(suffixes)
    elif field == "features":
        content.feature_names = tuple(suffixes)
    if names is not None:
        suffixes = _agreed_classes(field, names, content)
    return np.stack([parts[suffix] for suffix in suffixes], axis=-1)


def _are_percentiles(suffixes: list[str]) -> bool:
    """Tell whether numbers behind a P are percentiles: 10, 50, 90 lie as far from 0 as from 100."""
    if len(suffixes) < 2 or not all(text.isascii() and text.isdigit() and len(text) < 3 for text in suffixes):
        return False
    numbers = {int(text) for text in suffixes}
    return 0 not in numbers and numbers == {100 - number for number in numbers}


def levels_of(suffixes: list[str], content: Content) -> Array:
    """Return the levels that names of quantiles carry: 0.05, 5 %, q05 and q5 beside q95, q025."""
    words = [suffix.strip() for suffix in suffixes]
    if all(word.endswith("%") for word in words):
        return np.array([float(word.rstrip("% ")) / 100 for word in words])
    digits = all(word.isascii() and word.isdigit() for word in words)
    lengths = {len(word) for word in words}
    if digits and lengths == {1}:
        raise InputError(
            "quantile columns",
            "must carry their level",
            f"found {words[:5]}, which may be percent or tenths",
            "Name them like q_0.05.",
        )
    if digits:
        whole = 1 in lengths  # q5, q50, q95 are percent; q05, q50, q975 stand behind the point
        levels = [int(word) / 100 if whole else float(f"0.{word}") for word in words]
        words = [f"{level:g}" for level in levels]
        content.note(f"quantile columns {listed_names(suffixes)} are read as levels {listed_names(words)}")
        return np.array(levels)
    try:
        return np.array([float(word) for word in words])
    except ValueError:
        raise InputError(
            "quantile columns", "must carry their level", f"found {suffixes[:5]}", "Name them like q_0.05."
        ) from None


def _agreed_classes(field: str, names: tuple[str, ...], content: Content) -> list[str]:
    """Return the names in the order of the first field that has them; others must have the same."""
    if content.classes is None:
        content.classes, content.named_by = names, "columns"
    if set(content.classes) != set(names):
        raise InputError(
            f"the classes of `{field}`",
            "must be those of the other columns",
            f"got {', '.join(names[:5])} and {', '.join(content.classes[:5])}",
            "Give both the same names.",
        )
    return list(content.classes)


def _predictions(content: Content) -> set[str]:
    return set(content.arrays) - {*BESIDE, "levels", "rater", "claimed"}


def _place_forecasts(plain: dict[str, Array], content: Content) -> None:
    """Read `y_pred` as the mean beside a standard deviation, and as a score where it can be nothing else."""
    words = [name for name in plain if name.lower() in _POINT_WORDS and plain[name].dtype.kind in "fiub"]
    if len(words) != 1 or "mean" in content.arrays:
        return
    column = plain[words[0]]
    labels = content.arrays.get("y")
    beside = _predictions(content)
    if beside and beside <= {"std", "variance", "log_variance"}:
        content.arrays["mean"] = plain.pop(words[0])
        content.note(f"column {words[0]!r} is read as the mean")
    elif not beside and labels is not None and column.dtype.kind == "f" and labels.dtype.kind in "iub":
        inside = bool(((column >= 0) & (column <= 1)).all()) and bool((column != np.round(column)).any())
        if inside and set(np.unique(labels).tolist()) <= {0, 1}:
            content.arrays["score"] = plain.pop(words[0])
            content.note(f"column {words[0]!r} is read as the {ROLES['score'].meaning}")


def _leave_out_points(plain: dict[str, Array], content: Content) -> None:
    """Leave out a mean or point forecast beside quantiles: there is no spread to make it a distribution."""
    n_levels = sum(_LEVEL.fullmatch(name) is not None for name in plain)
    if ("values" in content.arrays or n_levels > 1) and not {"std", "variance", "log_variance"} & set(
        content.arrays
    ):
        points = [name for name in plain if name.lower() in _POINT_WORDS]
        content.rest |= {name: plain.pop(name) for name in points}
        if "mean" in content.arrays:
            content.rest["mean"] = content.arrays.pop("mean")
        if content.rest:
            content.note(f"not used beside quantiles: columns {listed_names(content.rest)}")


def _place_plain(plain: dict[str, Array], content: Content) -> None:
    """Read unprefixed numeric columns as classes, or quantiles, where nothing else can be the predictions."""
    numeric = {
        name: column for name, column in plain.items() if column.dtype.kind in "fiub" and not is_any_id(name)
    }
    if numeric and not _predictions(content):
        plain = {name: column for name, column in plain.items() if name not in numeric}
        names = list(numeric)
        if all(_LEVEL.fullmatch(name) for name in names):
            levels = levels_of(names, content)
            order = np.argsort(levels, kind="stable")
            content.arrays["values"] = np.stack([numeric[names[j]] for j in order], axis=-1)
            content.arrays["levels"] = levels[order]
            content.note(f"columns {listed_names(names)} are read as quantiles at these levels")
        else:
            _place_classes(numeric, names, content)
    if plain:
        content.note(f"not used: columns {listed_names(plain)}")
        content.rest |= plain


def _place_classes(numeric: dict[str, Array], names: list[str], content: Content) -> None:
    if len(names) == 1:
        raise InputError(
            f"the column {names[0]!r}",
            "must say what it is, because it is the only column that can be predictions",
            "it may be the probability of class 1, or the confidence in whatever class was predicted",
            f"For the probability of class 1 name it `score`, or pass `columns={names[0]}`.",
        )
    for name in set(names) & set(_LEVEL_WORDS):
        levels = np.unique(numeric[name])
        if levels[0] > 0 and levels[-1] < 1 and 2 * len(levels) <= len(numeric[name]):
            raise InputError(
                "predictions",
                "must be in one row per instance",
                f"the column {name!r} repeats {len(levels)} levels, one row each",
                f"Give each level a column: `frame.pivot(index=..., columns={name!r}, values=...)`; columns "
                "called 0.1, 0.5, 0.9 are read as quantiles.",
            )
    numbers = numbers_of(names)
    if numbers is not None:
        in_order = [names[j] for j in np.argsort(numbers)]
        if in_order != names:
            content.note(f"columns are ordered by their numbers: {listed_names(in_order)}")
        names = in_order
    content.arrays["columns"] = np.stack([numeric[name] for name in names], axis=-1)
    content.lone = "columns"
    counted = numbers is not None and sorted(numbers) == list(range(len(names)))
    if not (counted and all(name.isdigit() for name in names)):
        content.classes, content.named_by = tuple(names), "columns"
    content.note(Note(CLASS_EACH, f"columns {listed_names(names)} are read as one class each"))


# Several columns per member: m0_p0, m0_p1, m1_p0, ...


def _member_columns(
    table: dict[str, Array], roles: Mapping[str, str]
) -> tuple[dict[str, Array], list[Any] | None]:
    """Turn columns that name a member and a class into columns with a member axis."""
    for pattern in (_MEMBER_FIRST, _MEMBER_LAST):
        parts_of: dict[str, dict[int, Array]] = {}
        for name, column in table.items():
            match = None if name in roles.values() else pattern.fullmatch(name)
            if match is not None and column.ndim == 1 and _is_part(match["rest"]):
                parts_of.setdefault(match["rest"], {})[int(match["member"])] = column
        members = sorted({member for parts in parts_of.values() for member in parts})
        n_columns = sum(map(len, parts_of.values()))
        if len(members) < 2 or len(parts_of) < 2:
            continue
        if n_columns != len(members) * len(parts_of):
            raise InputError(
                "columns of members",
                "must exist for every member and class",
                f"{n_columns} columns of {len(members)} members and {len(parts_of)} classes",
                "Add the missing ones.",
            )
        kept = {
            name: column
            for name, column in table.items()
            if name in roles.values() or pattern.fullmatch(name) is None
        }
        stacked = {
            rest: np.stack([parts[member] for member in members], axis=-1) for rest, parts in parts_of.items()
        }
        return kept | stacked, list(members)
    return table, None


def _is_part(rest: str) -> bool:
    """Tell whether what is left of a column's name beside its member is a part of a prediction."""
    return field_of(rest) is not None or rest.lower() in SINGLE or rest.isdigit() or "class" in rest.lower()


# Several lines per instance


def _spread_classes(table: dict[str, Array], roles: Mapping[str, str]) -> dict[str, Array]:
    """Turn one row per instance (and member) and class into one row per instance (and member)."""
    values = [name for name in table if name.lower() in PREFIXES and name not in roles.values()]
    if len(values) != 1 or "id" not in roles:
        raise InputError(
            "a table with a `class` column",
            "must have an `id` column and one value column (p, logit, alpha, ...)",
            f"found columns {listed_names(table)}",
            "Rename the columns.",
        )
    keys = ["id", *(["member"] if "member" in roles else [])]
    rows, classes = _grid(table, [roles[key] for key in keys], roles["class"])
    order = np.argsort(np.array([str(name) for name in classes]), kind="stable")  # lines have no order
    spread = {f"{values[0]}_{classes[j]}": table[values[0]][rows[:, j]] for j in order}
    kept = [name for name in table if name not in (values[0], roles["class"])]
    return {name: _constant(name, table[name], rows) for name in kept} | spread


def _gather_members(table: dict[str, Array], roles: Mapping[str, str]) -> tuple[dict[str, Array], list[Any]]:
    """Turn one row per instance and member into one row per instance with a member axis."""
    if "id" not in roles:
        raise InputError(
            "a table with a `member` column",
            "must have an `id` column that identifies the instances",
            f"found columns {listed_names(table)}",
            "Add it.",
        )
    rows, members = _grid(table, [roles["id"]], roles["member"])
    gathered: dict[str, Array] = {}
    for name, column in table.items():
        if name == roles["member"]:
            continue
        named = field_of(name)
        per_member = name.lower() in SINGLE or (named is not None and named[0] not in BESIDE)
        gathered[name] = column[rows] if per_member else _constant(name, column, rows)
    return gathered, members


def _repeated(columns: Columns, roles: Mapping[str, str]) -> dict[str, str]:
    """Return the column that tells the rows of one instance apart, where its name says that it may."""
    n_rows, n_ids = len(columns[roles["id"]]), len(set(columns[roles["id"]].tolist()))
    if n_ids == n_rows:
        return {}
    for name, column in columns.items():
        if name.lower() in _MEMBER_WORDS and name not in roles.values() and column.ndim == 1:
            pairs = set(zip(columns[roles["id"]].tolist(), column.tolist(), strict=True))
            if len(pairs) == n_rows == n_ids * len(set(column.tolist())):
                return {"member": name}
    return {}


def _note_repeated(content: Content, roles: Mapping[str, str]) -> None:
    """Say that rows share an id; several raters of one row of predictions are refused."""
    names = content.arrays["id"].tolist()
    n, n_ids = len(names), len(set(names))
    if n_ids == n:
        return
    if "rater" in roles and _predictions(content):
        raise InputError(
            "predictions",
            "must be in one row per instance",
            f"{n} rows share {n_ids} ids, one row per rater in {roles['rater']!r}",
            "Save the raters' labels as a separate table (id, rater, label), or in one column rater_<name> "
            "each.",
        )
    content.note(
        f"{n} rows share {n_ids} ids in {roles['id']!r}; every row counts as one instance. If rows are "
        f"members of an ensemble, name the column that distinguishes them `member`"
    )


def _grid(table: Mapping[str, Array], keys: list[str], across: str) -> tuple[Array, list[Any]]:
    """Return the row of every (key, across) pair, (n, m), in order of first appearance; gaps are refused."""
    pairs = list(zip(*(table[key].tolist() for key in keys), strict=True))
    instances = {key: i for i, key in enumerate(dict.fromkeys(pairs))}
    others = {value: j for j, value in enumerate(dict.fromkeys(table[across].tolist()))}
    if len(instances) * len(others) != len(pairs):
        _refuse_grid(keys, across, f"{len(instances)} x {len(others)} pairs in {len(pairs)} rows")
    rows = np.full((len(instances), len(others)), -1)
    for row, (key, value) in enumerate(zip(pairs, table[across].tolist(), strict=True)):
        rows[instances[key], others[value]] = row
    if (rows < 0).any():
        i, j = np.argwhere(rows < 0)[0]
        _refuse_grid(keys, across, f"{list(instances)[i]} has no row for {list(others)[j]!r}")
    return rows, list(others)


def _refuse_grid(keys: list[str], across: str, evidence: str) -> NoReturn:
    raise InputError(
        f"columns {', '.join(repr(key) for key in keys)} and {across!r}",
        "must hold every pair exactly once",
        evidence,
        "Remove repeated rows and add the missing ones.",
    )


def _constant(name: str, column: Array, rows: Array) -> Array:
    """Return the one value per instance of a column that must not differ within an instance."""
    values = column[rows]
    first: Array = values[:, 0]
    same = (values == first[:, None]) | ((values != values) & (first != first)[:, None])
    if not same.all():
        where = int(np.argwhere(~same)[0, 0])
        raise InputError(
            f"column {name!r}",
            "must not differ between the rows of one instance",
            f"instance {where} has {values[where].tolist()[:4]}",
            "Correct the rows.",
        )
    return first
