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
from credibly.predictions import Dataset, Rows

MOST_GROUPS = 10_000

_JOINT = " / "

_ONE = "group"


@dataclasses.dataclass(frozen=True)
class Grouping:
    """Which rows belong to which group.

    Attributes
    ----------
    rows : mapping of str to ndarray
        Name of the group to its rows, increasing; empty where rows come in chunks.
    factors : mapping of str to tuple of str
        Levels of every grouping factor, in order.
    sizes : tuple of (object, int)
        Of rows that come in chunks: every group as it stands there, and its number of rows.
    """

    rows: Mapping[str, HostArray]
    factors: Mapping[str, tuple[str, ...]]
    sizes: tuple[tuple[Any, int], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups, in order."""
        return tuple(self.rows) or tuple(str(level) for level, _ in self.sizes)

    def keep(self, kept: HostArray) -> Grouping:
        """Return the same groups over the rows `kept` (a mask); groups without rows are gone."""
        place = np.cumsum(kept) - 1
        rows = {name: place[own[kept[own]]] for name, own in self.rows.items()}
        return Grouping({name: own for name, own in rows.items() if own.size}, self.factors)


def as_grouping(groups: Any, n: int) -> Grouping:
    """Check groups and cross their factors; combinations without rows are left out."""
    named = groups if isinstance(groups, Mapping) else {_ONE: groups}
    if not named:
        raise InputError("`groups`", "must have at least one factor", "got none", "Leave it out.")
    members = {str(name): _factor(values, str(name), n) for name, values in named.items()}
    levels, index = {}, np.zeros(n, dtype=np.int64)
    for name, values in members.items():
        unique, own = np.unique(values, return_inverse=True)
        levels[name] = tuple(str(level) for level in unique.tolist())
        index = index * len(unique) + own.reshape(-1)
    present, own = np.unique(index, return_inverse=True)
    if len(present) > MOST_GROUPS:
        raise _too_many(len(present))
    order = np.argsort(own, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(own))[:-1])
    rows = {_name(int(code), levels): np.sort(part) for code, part in zip(present, parts, strict=True)}
    return Grouping(rows, levels)


def grouping_over(chunks: Rows) -> Grouping | None:
    """Count the groups of rows that come in chunks, in one pass; None where they have none."""
    if chunks.sample.groups is None:
        return None
    sizes = group_sizes(chunks)
    if len(sizes) > MOST_GROUPS:
        raise _too_many(len(sizes))
    return Grouping({}, {_ONE: tuple(str(level) for level, _ in sizes)}, sizes)


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
