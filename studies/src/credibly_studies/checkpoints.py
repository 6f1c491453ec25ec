"""Parts of a long computation on disk: written whole or not at all, and never mixed with another's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from credibly._arrays.errors import FileError
from credibly.io.json_text import read_json_value
from credibly.io.writing import as_path, naming_the_path, write_text_atomically
from credibly.results.base import jsonable

_FACTS = "facts.json"


class Checkpoints:
    """A directory of finished parts.

    Parameters
    ----------
    directory : path
        Made where it is not there.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = as_path(directory)
        if self.directory.exists() and not self.directory.is_dir():
            raise FileError(
                f"'{directory}'", "must be a directory", "it is a file", "Name a directory for the results."
            )
        with naming_the_path(directory):
            self.directory.mkdir(parents=True, exist_ok=True)

    def facts(self) -> dict[str, Any] | None:
        """Return what the parts were computed with, None in a new directory."""
        with instead("Name another directory, or remove this one to begin again."):
            facts = self._read(self.directory / _FACTS)
        return facts if facts is None or isinstance(facts, dict) else {}

    def begin(self, facts: dict[str, Any]) -> None:
        """Write down what the parts are computed with, or raise where older parts are of something else."""
        wanted, stored = jsonable(facts), self.facts()
        if stored is None and next(self.directory.glob("*.json"), None) is None:
            self._write(_FACTS, wanted)
            return
        if stored is None:
            evidence, remedy = "it holds other files", "Name another directory."
        else:
            different = sorted(name for name in {*wanted, *stored} if wanted.get(name) != stored.get(name))
            if not different:
                return
            name, remedy = different[0], "Name another directory, or remove this one to begin again."
            evidence = f"its {name} is {stored.get(name)!r}, not {wanted.get(name)!r}"
        rule = "must be empty or hold an earlier part of this computation"
        raise FileError(f"'{self.directory}'", rule, evidence, remedy)

    def read(self, name: str) -> Any:
        """Return a part, None where it is not there."""
        with instead("Remove it; it will be computed again."):
            return self._read(self.directory / f"{name}.json")

    def write(self, name: str, value: Any) -> None:
        """Keep a part."""
        self._write(f"{name}.json", jsonable(value))

    def _read(self, path: Path) -> Any:
        return read_json_value(str(path)) if path.is_file() else None

    def _write(self, name: str, value: Any) -> None:
        text = json.dumps(value, allow_nan=False)
        write_text_atomically(self.directory / name, text, overwrite=True)


@contextmanager
def instead(remedy: str) -> Iterator[None]:
    """Give the remedy for a file that we made in place of that for a damaged file of somebody's."""
    try:
        yield
    except FileError as error:
        if isinstance(error.__cause__, PermissionError):
            raise
        raise FileError(error.subject, error.rule, error.evidence, remedy) from error
