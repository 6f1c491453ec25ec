"""Groups that attributes of the instances form: cells of the finest partition, and unions of cells.

attributes (n,) each  ->  levels  ->  cells: instances that agree in all attributes
groups: all instances, those of a level, and of up to `depth` levels of different attributes together

Every group is a union of cells, so sums over groups are a product of a 0-1 matrix (groups, cells) with sums
over cells, and the rows are read once. A group that has the same rows as a larger description is that one.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import missing_entries, require_one_each
from credibly._arrays.errors import InputError, require, require_type
from credibly._arrays.namespace import HostArray
from credibly._arrays.notes import counted
from credibly.predictions.clusters import as_names
from credibly.predictions.convert import column_names, is_frame

MOST_GROUPS = 50_000
QUANTILES, FEWEST_ROWS = 4, 20
"""Defaults: parts that numbers are cut into, and smallest number of rows of a group."""
ALL = "all rows"
OTHER, MISSING = "other", "missing"
_DATE = re.compile(
    r"(\d{4})([-/])(\d\d)\2(\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$", re.ASCII
)
_MANY_MONTHS, _MANY_DAYS = 24, 31  # dates that span more are taken by year, or by month
_SMALL_RANGE = 2**16
_FEW_VALUES = 10  # whole numbers with as many values are levels, more are cut at quantiles


@dataclasses.dataclass(frozen=True)
class Attribute:
    """What divides the instances, as levels.

    Attributes
    ----------
    name : str
        What it is called.
    levels : tuple of str
        Names of the levels.
    codes : ndarray (n,)
        The level of every instance.
    """

    name: str
    levels: tuple[str, ...]
    codes: HostArray


@dataclasses.dataclass(frozen=True)
class Lattice:
    """All groups, the cells that they are made of, and what was joined or left out.

    Attributes
    ----------
    cells : ndarray (n,)
        The cell of every instance.
    n_cells : int
        Number of cells.
    conditions : tuple of tuple of (str, str)
        Attribute and level of every group, none for all rows, the fewest first.
    sizes : ndarray (groups,)
        Rows of every group.
    membership : scipy.sparse.csr_array (groups, cells)
        1 where a cell belongs to a group.
    attributes : tuple of str
        What the groups are made of.
    notes : tuple of str
        What was joined, cut or left out.
    """

    cells: HostArray
    n_cells: int
    conditions: tuple[tuple[tuple[str, str], ...], ...]
    sizes: HostArray
    membership: Any
    attributes: tuple[str, ...]
    notes: tuple[str, ...]

    def summed(self, cells: HostArray) -> HostArray:
        """Add numbers of cells (..., cells) up in every group, (..., groups)."""
        return np.asarray((self.membership @ cells.T).T)

    @property
    def names(self) -> tuple[str, ...]:
        """Groups in words: "age 31 to 45, sex F"."""
        return tuple(", ".join(f"{name} {level}" for name, level in rule) or ALL for rule in self.conditions)


def lattice_of(groups: Any, n: int, *, depth: int, n_quantiles: int, min_size: int) -> Lattice:
    """Return the groups that attributes form.

    Parameters
    ----------
    groups : mapping of str to array (n,), data frame, or array (n,)
        The attributes.
    n : int
        Number of instances.
    depth : int
        Maximum number of attributes that describe a group.
    n_quantiles : int
        Parts that numbers are cut into.
    min_size : int
        Fewest rows of a level that is not joined with others, and of a group that is looked at.

    Returns
    -------
    Lattice
        The groups.
    """
    from scipy.sparse import csr_array

    notes: list[str] = []
    attributes = attributes_of(groups, n, n_quantiles, min_size, notes)
    table = np.stack([attribute.codes for attribute in attributes], axis=1)  # (n, attributes)
    unique, cells, counts = _distinct_rows(table, [len(attribute.levels) for attribute in attributes])
    everyone = np.zeros(len(counts), dtype=np.int64)
    cells_and_sizes: dict[tuple[int, ...], tuple[HostArray, HostArray]] = {(): (everyone, np.array([n]))}
    conditions: list[tuple[tuple[str, str], ...]] = [()]
    sizes, inside = [n], [np.arange(len(counts))]
    small = 0
    sizes_tried = range(1, min(depth, len(attributes)) + 1)
    for subset in (
        columns_crossed
        for most in sizes_tried
        for columns_crossed in itertools.combinations(range(len(attributes)), most)
    ):
        radix = [len(attributes[at].levels) for at in subset]
        levels, group, _ = _distinct_rows(unique[:, subset], radix)
        size = np.bincount(group, weights=counts).astype(np.int64)
        cells_and_sizes[subset] = group, size
        first = np.full(len(size), len(group))
        np.minimum.at(first, group, np.arange(len(group)))
        new = size >= min_size
        small += int(np.count_nonzero(~new))
        for left_out in subset:  # the same rows as with one condition less
            above, above_size = cells_and_sizes[tuple(at for at in subset if at != left_out)]
            new &= above_size[above[first]] != size
        order = np.argsort(group, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(group))[:-1])
        for at in np.flatnonzero(new):
            named = zip(subset, levels[at], strict=True)
            conditions.append(tuple((attributes[a].name, attributes[a].levels[level]) for a, level in named))
            sizes.append(int(size[at]))
            inside.append(members[at])
        if len(conditions) > MOST_GROUPS:
            raise InputError(
                "`groups`",
                f"must form at most {MOST_GROUPS} groups",
                f"got more with depth {depth} and {len(attributes)} attributes",
                "Use fewer attributes, a smaller `depth` or a larger `min_size`.",
            )
    if small:
        few = f"with fewer than {min_size} rows"
        notes.append(f"{counted(small, f'group {few} was', f'groups {few} were')} left out")
    ends = np.concatenate([[0], np.cumsum([len(cells_inside) for cells_inside in inside])])
    columns = np.concatenate(inside)
    shape = (len(conditions), len(counts))
    membership = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
    return Lattice(
        cells,
        len(counts),
        tuple(conditions),
        np.array(sizes),
        membership,
        tuple(attribute.name for attribute in attributes),
        tuple(notes),
    )


def joined_groups(parts: Sequence[Any]) -> Any:
    """Return the groups of consecutive rows, or every attribute of them, as those of all rows."""
    if isinstance(parts[0], Mapping):
        return {name: joined_groups([part[name] for part in parts]) for name in parts[0]}
    return None if parts[0] is None else np.concatenate([np.asarray(part) for part in parts])


def crossed_levels(groups: Any, n: int) -> HostArray:
    """Return the levels of all attributes of every instance as one name, "F / 31 to 45"."""
    words = [np.array(attribute.levels)[attribute.codes] for attribute in attributes_of(groups, n)]
    return np.array([" / ".join(row) for row in zip(*words, strict=True)])


def _distinct_rows(table: HostArray, radix: Sequence[int]) -> tuple[HostArray, HostArray, HostArray]:
    """Return distinct rows of whole numbers, which of them every row is, and their counts."""
    code = np.zeros(len(table), dtype=np.int64)
    for column, size in zip(table.T, radix, strict=True):
        code = code * size + column
        if code.size and code.max() > 2**40:  # numbers that would not fit behind the next column
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
    _, first, place = _distinct(code)
    return table[first], place, np.bincount(place)


def _distinct(values: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Return distinct values in order, where each stands first, and which of them every entry is.

    Whole numbers of a small range are counted, which a million rows need not be sorted for.
    """
    if values.dtype.kind in "iu" and values.size:
        low = values.min()
        if int(values.max()) - int(low) < max(_SMALL_RANGE, values.size):
            offsets = (values - low).astype(np.intp)
            first = np.full(int(offsets.max()) + 1, values.size)
            first[offsets[::-1]] = np.arange(values.size - 1, -1, -1)  # the last to be written stands first
            present = np.flatnonzero(first < values.size)
            rank = np.empty(first.size, dtype=np.intp)
            rank[present] = np.arange(present.size)
            return values[first[present]], first[present], rank[offsets]
    distinct, first, place = np.unique(values, return_index=True, return_inverse=True)
    return distinct, first, place.reshape(-1)


def columns_of(groups: Any, n: int) -> dict[str, HostArray]:
    """Return attributes by their names as they were given: one entry for each of `n` rows."""
    if is_frame(groups):
        groups = {str(name): groups[name] for name in column_names(groups)}
    if not isinstance(groups, Mapping):
        rule = "must be a table, a mapping of names to columns, or one column"
        is_table = not (isinstance(groups, str) or groups is None)
        require_type(is_table, rule, 'Pass `groups={"age": age, "sex": sex}`.', groups=groups)
        groups = {"group": groups}
    require(groups, "must have at least one attribute", "Name one.", groups=groups)
    columns = {}
    for name, values in groups.items():
        column = as_names(values, f"groups[{str(name)!r}]")
        require_one_each(column.shape, n, f"attribute {str(name)!r} of `groups`")
        columns[str(name)] = column
    return columns


def attributes_of(
    groups: Any,
    n: int,
    n_quantiles: int = QUANTILES,
    min_size: int = FEWEST_ROWS,
    notes: list[str] | None = None,
) -> list[Attribute]:
    """Return attributes with their levels; what was cut and joined is added to the notes."""
    remarks = [] if notes is None else notes
    return [
        _attribute(name, column, n, n_quantiles, min_size, remarks)
        for name, column in columns_of(groups, n).items()
    ]


def _attribute(
    name: str, values: HostArray, n: int, n_quantiles: int, min_size: int, notes: list[str]
) -> Attribute:
    """Return levels of an attribute: numbers cut at quantiles, rare levels joined, missing ones named."""
    missing = missing_entries(values, blank=True)
    codes = np.zeros(n, dtype=np.int64)
    known = values[~missing]
    if known.dtype == object and known.size and all(isinstance(entry, dt.date) for entry in known):
        known = np.array([entry.strftime("%Y-%m-%d") for entry in known], dtype="datetime64[D]")
    elif known.dtype == object:
        kinds = {isinstance(a, (int, float, np.number)) and not isinstance(a, bool) for a in known}
        known = known.astype(float if kinds == {True} else str)
    elif known.dtype.kind == "S":
        known = known.astype(str)
    elif known.dtype.kind == "m":
        known = known / np.timedelta64(1, "D")
    known = _by_date(name, known, notes)
    distinct, _, level = _distinct(known)
    numbers = known.dtype.kind in "fiu"
    if numbers and len(distinct) > _FEW_VALUES:
        ends, level = _cut(distinct, level, n_quantiles)
        words = [f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}" for low, high in ends]
        notes.append(f"{name} is split at its quantiles: {'; '.join(words)}")
    else:
        words = [f"{entry:g}" if isinstance(entry, float) else str(entry) for entry in distinct.tolist()]
    counts = np.bincount(level, minlength=len(words))
    rare = counts < min_size
    if rare.sum() > 1:
        kept = np.flatnonzero(~rare)
        place = np.full(len(words), len(kept))
        place[kept] = np.arange(len(kept))
        merged = [words[at] for at in np.flatnonzero(rare)]
        listed = ", ".join(merged[:5]) + (", ..." if len(merged) > 5 else "")
        few = f"with fewer than {min_size} rows"
        count = counted(len(merged), f"level {few} is", f"levels {few} are")
        notes.append(f"{name}: {count} merged: {listed}")
        words = [*(words[at] for at in kept), _free(OTHER, words, " levels")]
        level = place[level]
    codes[~missing] = level
    if missing.any():
        codes[missing] = len(words)
        words = [*words, _free(MISSING, words, " ")]
        entries = (
            "1 missing entry forms" if missing.sum() == 1 else f"{int(missing.sum())} missing entries form"
        )
        notes.append(f"{name}: {entries} a level of {'its' if missing.sum() == 1 else 'their'} own")
    return Attribute(name, tuple(words), codes)


def _by_date(name: str, known: HostArray, notes: list[str]) -> HostArray:
    """Return dates, also those that are written as text, as years, months or days; all else as it is."""
    if known.dtype.kind == "M":
        return _years_months_or_days(name, known, notes)
    if known.dtype.kind != "U" or known.size == 0:
        return known
    distinct, place = np.unique(known, return_inverse=True)
    days = np.array([_day(word) for word in distinct.tolist()], dtype="datetime64[D]")[place]
    dated = ~np.isnat(days)
    if 2 * dated.sum() <= known.size:
        return known
    words = known.astype(f"U{max(10, known.dtype.itemsize // 4)}")
    words[dated] = _years_months_or_days(name, days[dated], notes)
    if not dated.all():
        notes.append(f"{(~dated).sum()} of {known.size} entries of {name} are not dates, and stay as written")
    return words


def _day(text: str) -> np.datetime64:
    """Return the day of a date that is written as text, not a time where it is none."""
    match = _DATE.match(text)
    try:
        return np.datetime64(f"{match[1]}-{match[3]}-{match[4]}" if match else "NaT", "D")
    except ValueError:  # 2021-13-45 looks like one
        return np.datetime64("NaT", "D")


def _years_months_or_days(name: str, days: HostArray, notes: list[str]) -> HostArray:
    months, number = (days.astype(f"datetime64[{unit}]").astype(np.int64) for unit in "MD")
    unit, word = ("D", "day")
    if days.size and np.ptp(months) >= _MANY_MONTHS:
        unit, word = "Y", "year"
    elif days.size and np.ptp(number) > _MANY_DAYS:
        unit, word = "M", "month"
    notes.append(f"{name} is taken by {word}")
    return np.datetime_as_string(days.astype(f"datetime64[{unit}]"))


def _cut(
    distinct: HostArray, level: HostArray, n_quantiles: int
) -> tuple[list[tuple[float, float]], HostArray]:
    """Cut numbers at quantiles, equal ones together; return the ends of every part, and the parts."""
    counts = np.bincount(level)
    middle = np.cumsum(counts) / len(level) - 0.5 * counts / len(level)
    part = np.minimum((n_quantiles * middle).astype(int), n_quantiles - 1)
    used, place = np.unique(part, return_inverse=True)
    ends = [(float(distinct[part == place].min()), float(distinct[part == place].max())) for place in used]
    return ends, place.reshape(-1)[level]


def _free(word: str, taken: Sequence[str], ending: str) -> str:
    """Return a name that no level has yet, with as many endings as that takes."""
    while word in taken:
        word += ending
    return word
