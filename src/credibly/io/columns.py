"""Named columns to arrays: wide tables, tables with one row per member, tables with one row per class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array
from credibly.io.roles import BESIDE, ROLES, Content

Columns = Mapping[str, Array]

_PREFIXES = {prefix: name for name, role in ROLES.items() for prefix in role.prefixes}
_NAMED = re.compile(
    rf"(?P<prefix>{'|'.join(sorted(_PREFIXES, key=len, reverse=True))})"
    r"(?:[_.: ](?P<suffix>.+)|\[(?P<bracket>.+)\]|(?P<number>\d+(?:\.\d+)?))",
    re.IGNORECASE,
)
_WHOLE = {name: (name, *role.aliases, *role.columns) for name, role in ROLES.items() if role.text != "never"}
"""The words that one column may be called by its role; lower case."""
TEXT_ROLES = frozenset(word for words in _WHOLE.values() for word in words)
"""Columns that may hold text; lower case."""
NAMES = TEXT_ROLES - set(_WHOLE["y"])
"""Columns that hold names: '007' is not 7 there."""


def field_of(name: str) -> tuple[str, str] | None:
    """Return (field, suffix) of a column such as ``p_cat`` or ``q0.9``; None for other names."""
    match = _NAMED.fullmatch(name)
    if match is None:
        return None
    suffix = match["suffix"] or match["bracket"] or match["number"]
    return _PREFIXES[match["prefix"].lower()], suffix


def from_columns(columns: Columns, form: str) -> Content:
    """Return the arrays of a table, one row per instance."""
    roles = _roles(columns)
    notes = [
        f"column {name!r} is read as the {ROLES[role].meaning}"
        for role, name in roles.items()
        if role != name
    ]
    table = dict(columns)
    if "class" in roles:
        table = _spread_classes(table, roles)
    members: list[Any] | None = None
    if "member" in roles:
        table, members = _gather_members(table, roles)
    content = _wide(table, roles, form, n_axes=1 if members is None else 2)
    content.notes[:0] = notes
    if members is not None:
        shown = ", ".join(str(member) for member in members[:5]) + (", ..." if len(members) > 5 else "")
        content.note(f"one row per instance and member; {len(members)} members: {shown}")
        content.member_axis = 1
    return content


def _roles(columns: Columns) -> dict[str, str]:
    """Return which column plays which part; two columns for one part are refused."""
    found: dict[str, str] = {}
    for role, words in _WHOLE.items():
        names = [name for name in columns if name.lower() in words and columns[name].ndim == 1]
        names = [role] if role in names else names
        if len(names) > 1:
            raise InputError(
                f"the table's {role}", "must be one column", f"found {', '.join(names)}", "Rename one."
            )
        if names:
            found[role] = names[0]
    return found


def _wide(table: Columns, roles: Mapping[str, str], form: str, *, n_axes: int) -> Content:
    """Sort columns into fields; a column with more axes than the table's own holds lists and is a field."""
    content = Content(form, {})
    groups: dict[str, dict[str, Array]] = {}
    plain: dict[str, Array] = {}
    for role in ("y", "id", "group"):
        if role in roles:
            content.arrays[role] = table[roles[role]]
    for name, column in table.items():
        named = field_of(name)
        if name in roles.values():
            continue
        if column.ndim > n_axes or name in ("mean", "std"):
            content.arrays[name] = column
        elif named is not None:
            groups.setdefault(named[0], {})[named[1]] = column
        else:
            plain[name] = column
    for field, parts in groups.items():
        content.arrays[field] = _stack(field, parts, content)
    _place_plain(plain, content)
    return content


def _stack(field: str, parts: dict[str, Array], content: Content) -> Array:
    """Join the columns of one field along a new last axis, in the order their suffixes tell."""
    for suffix, column in parts.items():
        if column.dtype.kind not in "fiub":
            raise InputError(
                f"column {suffix!r} of `{field}`", "must hold numbers", f"got {column.dtype}", "Correct it."
            )
    suffixes, names = list(parts), None
    over_classes = ROLES[field].over_classes
    if field == "values":
        levels = _levels(suffixes)
        content.arrays["levels"] = np.sort(levels)
        return np.stack([parts[suffixes[j]] for j in np.argsort(levels, kind="stable")], axis=-1)
    if all(suffix.isascii() and suffix.isdigit() and len(suffix) < 10 for suffix in suffixes):
        suffixes.sort(key=int)
        numbers = [int(suffix) for suffix in suffixes]
        start = 1 if numbers[0] == 1 else 0
        if numbers != list(range(start, start + len(numbers))):
            gap = next(j for j, number in enumerate(numbers, start) if j != number)
            raise InputError(
                f"the columns of `{field}`",
                f"must be numbered {start} to {start + len(numbers) - 1} without gaps",
                f"number {gap} is missing or repeated",
                "Check the header.",
            )
        if start and over_classes:
            names = tuple(suffixes)
            content.note(f"the classes of `{field}` are numbered from 1; labels are matched by number")
    elif over_classes:
        names = tuple(suffixes)
    if names is not None:
        suffixes = _agreed_classes(field, names, content)
    return np.stack([parts[suffix] for suffix in suffixes], axis=-1)


def _levels(suffixes: list[str]) -> Array:
    try:
        return np.array([float(suffix) for suffix in suffixes])
    except ValueError:
        raise InputError(
            "quantile columns", "must carry their level", f"found {suffixes[:5]}", "Name them like q_0.05."
        ) from None


def _agreed_classes(field: str, names: tuple[str, ...], content: Content) -> list[str]:
    """Return the names in the order of the first field that has them; others must have the same."""
    content.classes = content.classes or names
    if set(content.classes) != set(names):
        raise InputError(
            f"the classes of `{field}`",
            "must be those of the other columns",
            f"got {', '.join(names[:5])} beside {', '.join(content.classes[:5])}",
            "Give both the same names.",
        )
    return list(content.classes)


def _place_plain(plain: dict[str, Array], content: Content) -> None:
    """Read unprefixed numeric columns as classes where nothing else can be the predictions."""
    numeric = {name: column for name, column in plain.items() if column.dtype.kind in "fiub"}
    predictions = set(content.arrays) - {*BESIDE, "levels"}
    if numeric and not predictions:
        content.arrays["columns"] = np.stack(list(numeric.values()), axis=-1)
        content.lone = "columns"
        if not all(name.isdigit() for name in numeric):
            content.classes = content.classes or tuple(numeric)
        content.note(f"columns {_shown(numeric)} are read as one class each")
        plain = {name: column for name, column in plain.items() if name not in numeric}
    if plain:
        content.note(f"not used: columns {_shown(plain)}")


def _shown(names: Any) -> str:
    words = list(names)
    return ", ".join(words[:6]) + (f", ... ({len(words)} in all)" if len(words) > 6 else "")


def _spread_classes(table: dict[str, Array], roles: Mapping[str, str]) -> dict[str, Array]:
    """Turn one row per instance (and member) and class into one row per instance (and member)."""
    values = [name for name in table if name.lower() in _PREFIXES and name not in roles.values()]
    if len(values) != 1 or "id" not in roles:
        raise InputError(
            "a table with a `class` column",
            "must have an `id` column and one value column (p, logit, alpha, ...)",
            f"found columns {_shown(table)}",
            "Rename the columns.",
        )
    keys = ["id", *(["member"] if "member" in roles else [])]
    rows, classes = _grid(table, [roles[key] for key in keys], roles["class"])
    spread = {f"{values[0]}_{name}": table[values[0]][rows[:, j]] for j, name in enumerate(classes)}
    kept = [name for name in table if name not in (values[0], roles["class"])]
    return {name: _constant(name, table[name], rows) for name in kept} | spread


def _gather_members(table: dict[str, Array], roles: Mapping[str, str]) -> tuple[dict[str, Array], list[Any]]:
    """Turn one row per instance and member into one row per instance with a member axis."""
    if "id" not in roles:
        raise InputError(
            "a table with a `member` column",
            "must have an `id` column that tells the instances apart",
            f"found columns {_shown(table)}",
            "Add it.",
        )
    rows, members = _grid(table, [roles["id"]], roles["member"])
    gathered: dict[str, Array] = {}
    for name, column in table.items():
        if name == roles["member"]:
            continue
        named = field_of(name)
        per_member = name in ("mean", "std") or (named is not None and named[0] not in BESIDE)
        gathered[name] = column[rows] if per_member else _constant(name, column, rows)
    return gathered, members


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
