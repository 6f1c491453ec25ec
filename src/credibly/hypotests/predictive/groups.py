"""Groups of instances: one factor or several that are crossed, and p-values adjusted over all of them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly.hypotests.resampling.pvalues import pooled_two_sided, westfall_young
from credibly.predictions import Dataset, InMemory, Rows

MOST_GROUPS = 10_000

_JOINT = " / "

_ONE = "group"


@dataclasses.dataclass(frozen=True)
class Grouping:
    """The groups of rows.

    Attributes
    ----------
    sizes : tuple of (object, int)
        Every group as it stands beside the rows, and its number of rows.
    names : tuple of str
        Names of the groups, in order.
    factors : mapping of str to tuple of str
        Levels of every grouping factor, in order.
    """

    sizes: tuple[tuple[Any, int], ...]
    names: tuple[str, ...]
    factors: Mapping[str, tuple[str, ...]]


def crossed(rows: Rows) -> tuple[Rows, Mapping[str, tuple[str, ...]]]:
    """Return rows in memory with the number of their combination of factors as group, and the levels.

    Chunks bring one group per row, which stays as it is.
    """
    whole = rows.loaded()
    if whole is None or whole.groups is None:
        return rows, {}
    codes, levels = _combined(whole.groups, len(whole))
    return InMemory(dataclasses.replace(whole, groups=codes, labels=whole.batch, weights=None)), levels


def grouping_of(rows: Rows, levels: Mapping[str, tuple[str, ...]]) -> Grouping | None:
    """Count the groups of rows in one pass; None where they have none.

    Parameters
    ----------
    rows : Rows
        The rows.
    levels : mapping of str to tuple of str
        Of factors that were crossed; empty where groups stand beside the rows by their names.

    Returns
    -------
    Grouping or None
        Groups that have rows.
    """
    if rows.sample.groups is None:
        return None
    sizes = group_sizes(rows)
    if len(sizes) > MOST_GROUPS:
        raise _too_many(len(sizes))
    names = tuple(_name(level, levels) if levels else str(level) for level, _ in sizes)
    return Grouping(sizes, names, levels or {_ONE: names})


def _combined(groups: Any, n: int) -> tuple[HostArray, dict[str, tuple[str, ...]]]:
    """Return the number of every row's combination of factors, and the levels of the factors."""
    named = groups if isinstance(groups, Mapping) else {_ONE: groups}
    if not named:
        raise InputError("`groups`", "must have at least one factor", "got none", "Leave it out.")
    members = {str(name): _factor(values, str(name), n) for name, values in named.items()}
    levels, index = {}, np.zeros(n, dtype=np.int64)
    for name, values in members.items():
        unique, own = np.unique(values, return_inverse=True)
        levels[name] = tuple(str(level) for level in unique.tolist())
        index = index * len(unique) + own.reshape(-1)
    return index, levels


def group_sizes(chunks: Rows) -> tuple[tuple[Any, int], ...]:
    """Return every group with its number of rows, in order; counting ends beyond `MOST_GROUPS`."""
    counts: Counter[Any] = Counter()
    for found in chunks.map(_count_groups):
        counts.update(found)
        if len(counts) > MOST_GROUPS:
            break
    levels = np.unique(np.array(list(counts)))
    return tuple((level, counts[level]) for level in levels.tolist())


def _count_groups(chunk: Dataset) -> dict[Any, int]:
    own = _factor(chunk.groups, _ONE, len(chunk.predictions))
    levels, counts = np.unique(own, return_counts=True)
    return dict(zip(levels.tolist(), counts.tolist(), strict=True))


def _too_many(found: int) -> InputError:
    return InputError(
        "`groups`",
        f"must form at most {MOST_GROUPS} groups",
        f"got {found}",
        "Use a coarser grouping; is this the name of the instance?",
    )


def _factor(values: Any, name: str, n: int) -> HostArray:
    array = to_host(values) if is_array(values) else np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"group factor {name!r}",
            f"must have one entry per prediction ({n})",
            f"got shape {array.shape}",
            "Check that both come from the same split.",
        )
    # NaN differs from itself, None has no group
    missing = [entry is None or bool(entry != entry) for entry in array.tolist()]
    if any(missing):
        raise InputError(
            f"group factor {name!r}",
            "must not be missing",
            f"entry {missing.index(True)} is ({sum(missing)} of {n})",
            "Give these instances a group of their own.",
        )
    return array if array.dtype != object else array.astype(str)


def _name(code: int, levels: Mapping[str, tuple[str, ...]]) -> str:
    words = []
    for own in reversed(list(levels.values())):
        code, place = divmod(code, len(own))
        words.append(own[place])
    return _JOINT.join(reversed(words))


def adjusted_over_groups(values: HostArray, pvalues: HostArray, adjustment: str) -> HostArray:
    """Return adjusted p-values of all groups and statistics, (cells,) from their values (cells, 1 + b)."""
    if adjustment == "family-wise":
        return westfall_young(pooled_two_sided(values))[1]
    from scipy.stats import false_discovery_control

    # groups share the drawn member and statistics their labels: Benjamini-Yekutieli holds for any dependence
    return np.asarray(false_discovery_control(pvalues, method="by"))
