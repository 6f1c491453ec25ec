"""What lets an evaluation or a comparison be traced: where its data came from, which version made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credibly.results.base import jsonable


def silent(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""


def origin(source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a JSON-safe copy: a result holds values, not the caller's objects."""
    return {} if source is None else {str(name): jsonable(value) for name, value in source.items()}


def version() -> str:
    """Return the version of the package."""
    # The version is written once, in the package itself, which is loaded when anything here runs.
    # tach-ignore(the version is a constant of the package)
    from credibly import __version__

    return __version__
