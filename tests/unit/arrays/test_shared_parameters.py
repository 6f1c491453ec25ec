"""Parameters that many functions share are described once, and every docstring says it."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import credibly
from credibly._arrays.shared_parameters import DESCRIPTIONS, fill_docstrings, filled
from surface import public_members, public_objects

PLACE = re.compile(r"^ *(\w+) : .*\n +\.\.\.", re.MULTILINE)
SOURCE = Path(credibly.__file__).parent


def docstrings() -> Iterator[tuple[str, str]]:
    for name, value in public_objects(credibly):
        yield name, inspect.getdoc(value) or ""
        if inspect.isclass(value):
            for member_name, member in public_members(value, credibly):
                yield f"{name}.{member_name}", inspect.getdoc(member) or ""


def test_the_words_of_the_table_stand_before_those_of_the_function() -> None:
    docstring = (
        'Sum up.\n\n    Parameters\n    ----------\n    clusters : array (n,) or "copies", optional\n        '
        "... Errors allow for them.\n    blocks : int, optional\n        ...\n"
    )
    assert filled(docstring).splitlines()[4:] == [
        '    clusters : array (n,) or "copies", optional',
        "        Ids that say which rows belong together: a patient, an image, a day.",
        "        Errors allow for them.",
        "    blocks : int, optional",
        "        For rows in time order: consecutive rows form clusters of at least this length.",
        "        With `clusters` (stores, sensors), consecutive rows of each of them.",
    ]


def test_what_the_table_does_not_know_stays() -> None:
    for docstring in (
        "x : int\n    ... of something",
        ">>> for x in y:\n...     print(x)\n",
        "n : int\n    Size.",
    ):
        assert filled(docstring) == docstring


def test_methods_and_bases_are_filled() -> None:
    class Base:
        """A base.

        Parameters
        ----------
        rng : int
            ...
        """

        @classmethod
        def made(cls, blocks: int) -> None:
            """Make one.

            Parameters
            ----------
            blocks : int
                ...
            """

    class Inner(Base):
        pass

    Base.__module__ = Inner.__module__ = "credibly.somewhere"
    fill_docstrings([Inner])
    assert "Seed of all that is drawn" in (Base.__doc__ or "")
    assert "rows in time order" in (Base.made.__doc__ or "")


def test_no_public_docstring_has_a_place_left() -> None:
    assert [name for name, docstring in docstrings() if PLACE.search(docstring)] == []


def test_every_place_in_the_source_has_a_row_and_every_row_several_places() -> None:
    texts = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    places = Counter(name for text in texts for name in PLACE.findall(text))
    assert set(places) == set(DESCRIPTIONS)
    assert min(places.values()) > 1


def test_nobody_writes_the_shared_words_again() -> None:
    again = []
    for path in SOURCE.rglob("*.py"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        again += [
            (path.name, name)
            for name, words in DESCRIPTIONS.items()
            if path.name != "shared_parameters.py"
            and len(words) > 60  # a few words may mean something else elsewhere
            and " ".join(words.split()) in text
        ]
    assert again == []
