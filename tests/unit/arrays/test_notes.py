"""Notes that know what they are about, and add up."""

from __future__ import annotations

import json
import pickle

from credibly._arrays.notes import Note, merged


def test_a_note_prints_as_its_text() -> None:
    note = Note("clipped", "entries are read as 0", 3, 20)
    assert note == "3 of 20 entries are read as 0"
    assert (note.code, note.counts) == ("clipped", (3, 20))
    assert json.dumps(note) == '"3 of 20 entries are read as 0"'
    again = pickle.loads(pickle.dumps(note))  # noqa: S301 - written on this line
    assert (again, again.code, again.text, again.counts) == (note, note.code, note.text, note.counts)
    about = note.about("net")
    assert (about, about.code) == ("net: 3 of 20 entries are read as 0", "clipped")


def test_counts_of_parts_add_up() -> None:
    first = (Note("clipped", "entries are read as 0", 3, 20), "the same everywhere")
    second = ("the same everywhere", Note("clipped", "entries are read as 0", 4, 30), "only here")
    assert merged([first, second]) == ("7 of 50 entries are read as 0", "the same everywhere", "only here")


def test_what_holds_for_one_part_only_is_left_out() -> None:
    parts = [[Note("sampled", "9 random events", detail=f", error {size}")] for size in (0.1, 0.2)]
    assert merged(parts) == ("9 random events",)
    assert merged(parts[:1]) == ("9 random events, error 0.1",)
