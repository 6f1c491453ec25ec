"""Tutorials show what their examples print and draw; `tools/make_outputs.py` writes it beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [
    *(DOCS / f"{name}.md" for name in ("start", "notebook", "gallery")),
    *sorted((DOCS / "tutorials").glob("*.md")),
]
BLOCK = re.compile(
    r"(?P<before><!-- not run: .+? -->\n)?```python\n(?P<code>.*?)```\n(?P<after>\n<!-- output -->)?",
    re.DOTALL,
)
PICTURE = re.compile(r"!\[(?P<words>[^\]]*)\]\((?P<path>pictures/[^)]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_that_prints_or_draws_is_followed_by_its_output(page: Path) -> None:
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        code = block["code"]
        shows = re.search(r"^\s*print\(|\.plot\(.*\)$|^cr\.plots\.\w+\(", code, re.MULTILINE)
        if shows and not block["before"] and ">>>" not in code:
            assert block["after"], code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_are_there_and_have_words(page: Path) -> None:
    found = list(PICTURE.finditer(page.read_text(encoding="utf-8")))
    assert found or page.stem == "index"
    for one in found:
        picture = (page.parent / one["path"]).read_text(encoding="utf-8")
        assert one["words"]
        assert "<svg" in picture
        assert "http://example" not in picture
        assert len(picture) < 150_000
    names = {path.name for path in (page.parent / "pictures").glob(f"{page.stem}-*.svg")}
    assert names == {Path(one["path"]).name for one in found}
