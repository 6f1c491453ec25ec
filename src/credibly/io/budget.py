"""Budgets of focal sets: a JSON list of lists of class indices, alone or under "focal_sets"."""

from __future__ import annotations

import json
import os
from typing import Any

from credibly._arrays.errors import FileError
from credibly.io.damage import reading, require_file
from credibly.io.text import read_utf8


def load_budget(path: str | os.PathLike[str]) -> tuple[frozenset[int], ...]:
    """Return the focal sets of a JSON file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    tuple of frozenset of int
        The sets, in the order of the file.
    """
    name = os.fspath(path)
    require_file(name, ".json")
    text = read_utf8(name)
    with reading(name, ".json"):
        value = json.loads(text)
    listed: Any = value.get("focal_sets") if isinstance(value, dict) else value
    good = isinstance(listed, list) and bool(listed)
    if not good or not all(isinstance(one, list) and one and all(map(_is_index, one)) for one in listed):
        raise FileError(
            f"'{name}'",
            'must hold a list of lists of class indices, alone or under "focal_sets"',
            "got something else",
            "Write [[0], [1], [0, 1]].",
        )
    return tuple(frozenset(one) for one in listed)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
