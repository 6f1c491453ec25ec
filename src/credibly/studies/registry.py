"""The studies that have a name. A new one is one more row."""

from __future__ import annotations

from typing import Any

from credibly._arrays.errors import InputError, nearest
from credibly.studies import j25, m23
from credibly.studies.study import Study

_ALL: tuple[Study[Any], ...] = (m23.FIG1, j25.FIG3, j25.FIG4)

STUDIES: dict[str, Study[Any]] = {study.name: study for study in _ALL}


def studies() -> dict[str, Study[Any]]:
    """Return all studies by name.

    Returns
    -------
    dict of str to Study
        In the order of the papers.

    Examples
    --------
    >>> from credibly.studies import studies
    >>> "m23-fig1" in studies()
    True
    """
    return dict(STUDIES)


def as_study(name: str) -> Study[Any]:
    """Return a study by name; unknown names are refused with the nearest one."""
    if name not in STUDIES:
        raise InputError("a study", "must have a known name", f"got {name!r}", nearest(name, STUDIES))
    return STUDIES[name]
