"""Groups of instances: which has which, and how far what a group has of its own is pulled towards all."""

from __future__ import annotations

import dataclasses
from collections.abc import Container
from typing import Any

import numpy as np

from credibly._arrays.checks import require_one_each
from credibly._arrays.errors import InputError, Remedy
from credibly._arrays.namespace import HostArray, is_array, to_host
from credibly._arrays.notes import counted


@dataclasses.dataclass(frozen=True)
class Groups:
    """Groups of instances: names in order, and the number of each instance's name."""

    names: tuple[str, ...]
    codes: HostArray

    @classmethod
    def of(cls, groups: Any, n: int) -> Groups:
        """Return the groups of n instances; what is such an object already stays as it is."""
        values = groups.codes if isinstance(groups, Groups) else groups
        values = np.asarray(to_host(values) if is_array(values) else values)
        require_one_each(values.shape, n, "`groups`")
        if isinstance(groups, Groups):
            return groups
        names, codes = np.unique(values.astype(str), return_inverse=True)
        return cls(tuple(map(str, names)), codes)

    def take(self, rows: HostArray) -> Groups:
        """Return the groups of some instances; names that none of them has stay."""
        return Groups(self.names, self.codes[rows])


_PASS_GROUPS = Remedy(
    "Pass the groups of these instances.", "Name the column that holds the groups with `--by`."
)
_FIT_WITH_GROUPS = Remedy("Pass `groups=` to `fit`, too.", "Fit with `--by`, too, or leave it out.")


def checked_groups(groups: Any, by_group: Any, n: int) -> Groups | None:
    """Return the groups of instances to recalibrate; they must be given exactly if the fit had some."""
    if groups is None and by_group is not None:
        raise InputError("`groups`", "must be given: the fit used some", "got none", _PASS_GROUPS)
    if groups is not None and by_group is None:
        raise InputError("`groups`", "must be left out: the fit used none", "got some", _FIT_WITH_GROUPS)
    return None if groups is None else Groups.of(groups, n)


def unseen_note(groups: Groups, known: Container[str], what: str) -> tuple[str, ...]:
    """Say how many instances have groups that the fit did not see, and what they get."""
    new = np.array([name not in known for name in groups.names])
    rows = int(new[groups.codes].sum())
    if not rows:
        return ()
    names = [name for name, unseen in zip(groups.names, new, strict=True) if unseen]
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    where = (
        f"{counted(rows, 'instance')} of {counted(len(names), 'group')} that the fit did not see ({listed})"
    )
    return (f"{where}: they get {what} of all instances",)


def variance_between(apart: HostArray, precision: HostArray) -> float:
    """Return the variance of what groups have of their own, as far as chance does not explain it.

    It makes sum(apart^2 / (variance + 1 / precision)) the number of groups less one (Paule and Mandel 1982).
    """
    wanted = max(len(apart) - 1.0, 1.0)
    low, high = 0.0, float(apart @ apart)
    for _ in range(60):
        between = 0.5 * (low + high)
        more = float((apart**2 * precision / (1.0 + between * precision)).sum()) > wanted
        low, high = (between, high) if more else (low, between)
    return high
