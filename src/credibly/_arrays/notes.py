"""Remarks on what was accepted, converted or left out: sentences that know what they are about."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def capital(text: str) -> str:
    """Return a text that begins a sentence."""
    return text[:1].upper() + text[1:]


def counted(number: int, singular: str, many: str = "") -> str:
    """Write a number of things, "1 row was" or "3 rows were"; `many` is by default the singular with an s."""
    return f"{number} {singular if number == 1 else many or f'{singular}s'}"


def alternatives(names: Sequence[str]) -> str:
    """Write names as "a, b or c"."""
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def replicates_note(needed: int, asked: int) -> str:
    """Say that more replicates were drawn than were asked for, because of the level that is tested at."""
    return f"{needed} replicates were drawn instead of {asked}, because fewer cannot show a conflict"


class Note(str):
    """A remark that prints as its text.

    Attributes
    ----------
    code : str
        What it is about; who looks for a remark asks for its code, never for words of it.
    text : str
        The sentence without its count.
    counts : tuple of int
        How many rows, entries or masses it is about, and of how many where that is known; printed first.
    detail : str
        What holds for this part of the data only; it is left out where parts are put together.
    """

    code: str
    text: str
    counts: tuple[int, ...]
    detail: str

    def __new__(
        cls, code: str, text: str, count: int | None = None, of: int | None = None, detail: str = ""
    ) -> Note:
        counts = tuple(number for number in (count, of) if number is not None)
        counted = f"{' of '.join(map(str, counts))} " if counts else ""
        note = super().__new__(cls, f"{counted}{text}{detail}")
        note.code, note.text, note.counts, note.detail = code, text, counts, detail
        return note

    def __getnewargs__(self) -> tuple[Any, ...]:
        count, of = (*self.counts, None, None)[:2]
        return self.code, self.text, count, of, self.detail

    def about(self, name: str) -> Note:
        """Return the same remark about one of several models."""
        return Note(self.code, f"{name}: {self}")


def unsaid(remarks: Iterable[str], *elsewhere: Iterable[str]) -> list[str]:
    """Return the remarks that were not made elsewhere already."""
    known = {remark for others in elsewhere for remark in others}
    return [remark for remark in remarks if remark not in known]


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep back what would be said as a warning: the same words stand in notes, or in no report at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def merged(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return each remark on parts of the data once, in the order they were made; counts are added up."""
    alike: dict[tuple[str, str], list[str]] = {}
    for remarks in parts:
        for remark in remarks:
            key = (remark.code, remark.text) if isinstance(remark, Note) else ("", str(remark))
            alike.setdefault(key, []).append(remark)
    return tuple(_sum(same) for same in alike.values())


def _sum(same: list[str]) -> str:
    notes = [remark for remark in same if isinstance(remark, Note)]
    if len(notes) < 2:
        return same[0]
    count, of = (*map(sum, zip(*(note.counts for note in notes), strict=True)), None, None)[:2]
    return Note(notes[0].code, notes[0].text, count, of)
