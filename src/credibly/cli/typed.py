"""What was typed after a verb: values by the keyword of the library, and the record of the call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from credibly.calls import Call, Option, Verb
from credibly.calls.options import CLUSTERS, FAIL_ON, FORCE, PRINTED, READING, RELATIVE_MARGIN
from credibly.predictions.clusters import COPIES

_NOT_RECORDED = {row.name for row in (*PRINTED, FAIL_ON, FORCE, RELATIVE_MARGIN)}
"""Options that change no number, and one that is recorded as the margin it gives."""


class Typed:
    """What was typed. An option or argument is an attribute under the keyword of the library.

    Parameters
    ----------
    words : str
        The words that call the verb.
    verb : Verb
        The verb.
    values : mapping of str to object
        Values of its arguments and options.
    """

    def __init__(self, words: str, verb: Verb, values: Mapping[str, Any]) -> None:
        self.words = words
        self.verb = verb
        self.values: dict[str, Any] = {
            name: list(value) or None if isinstance(value, tuple) else value for name, value in values.items()
        }

    def __getattr__(self, keyword: str) -> Any:
        try:
            return self.values[keyword]
        except KeyError:
            raise AttributeError(keyword) from None

    def of(self, rows: Iterable[Option]) -> dict[str, Any]:
        """Return those of some options that were typed, or have a default, as the library takes them."""
        values = {row.name: self.values.get(row.name) for row in rows}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    @property
    def said(self) -> dict[str, Any]:
        """What is said about a file, as `load` and `scan` take it."""
        reading = self.of(row for row in READING if row.name != "blocks")
        if reading.get(CLUSTERS.name) == COPIES:
            del reading[CLUSTERS.name]
        return reading

    def call(self, files: Sequence[str], **instead: Any) -> Call:
        """Return the record of this call; `instead` has what was settled since, such as the margin."""
        reading = self.said
        rest = self.of(row for row in self.verb.rows if row.name not in {*reading, *_NOT_RECORDED})
        rest = {name: str(value) if isinstance(value, Path) else value for name, value in rest.items()}
        return Call(self.words, tuple(files), reading, rest | instead)
