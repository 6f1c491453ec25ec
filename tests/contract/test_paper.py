"""Every number of paper.md stands in the file that its paragraph names, beside the command that wrote it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SOURCE = re.compile(r"<!-- (?P<file>docs/[a-z-]+\.md): (?P<command>make [a-z]+) -->")
_NUMBER = re.compile(r"(?<![\w.@])\d+(?:\.\d+)?(?![\w%])")


def _paragraphs() -> list[str]:
    paper = ROOT / "paper.md"
    if not paper.is_file():
        pytest.skip("paper.md is not in source distributions")
    _, _, body = paper.read_text(encoding="utf-8").split("---", 2)
    return [part for part in body.split("\n\n") if not part.strip().startswith("<!--")]


def _untraced(paragraph: str) -> list[str]:
    """Return the numbers of a paragraph that its source does not hold."""
    source = _SOURCE.search(paragraph)
    numbers = _NUMBER.findall(_SOURCE.sub("", paragraph))
    if source is None:
        return numbers
    held = set(_NUMBER.findall((ROOT / source["file"]).read_text(encoding="utf-8")))
    assert f"{source['command'].split()[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    return [number for number in numbers if number not in held]


def test_every_number_is_in_the_file_it_comes_from() -> None:
    paragraphs = _paragraphs()
    assert sum(_SOURCE.search(part) is not None for part in paragraphs) >= 2
    assert [number for part in paragraphs for number in _untraced(part)] == []


def test_a_number_without_a_source_is_found() -> None:
    assert _untraced("It was right in 0.97 of 12 runs.") == ["0.97", "12"]
    assert _untraced("Seen 0.123456 times. <!-- docs/headlines.md: make headlines -->") == ["0.123456"]


def test_every_citation_has_an_entry() -> None:
    cited = {key for part in _paragraphs() for key in re.findall(r"@(\w+)", part)}
    assert cited == set(re.findall(r"@\w+\{(\w+),", (ROOT / "paper.bib").read_text(encoding="utf-8")))
