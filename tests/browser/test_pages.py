"""Every report in a real browser, opened from disk with the network off."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.chromium import Chromium, Page
from browser.questions import CONTRASTS, HEADINGS, OPEN, OVERLAPS, REFERENCES, SMALL_TEXT, WORDS

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
"""Where people look at them; `build` is not in git."""
ENOUGH = 4.5  # WCAG 2.2, 1.4.3, level AA


@pytest.fixture(scope="module")
def spare(chromium: Chromium, report: Path) -> Iterator[Page]:
    """The report in a second tab, for tests that press keys or add to it."""
    with chromium.page(report) as page:
        yield page


def names_by_role(page: Page) -> dict[str, list[str]]:
    """What a screen reader is told: the names of all nodes, role by role."""
    found: dict[str, list[str]] = {}
    for node in page.call("Accessibility.getFullAXTree")["nodes"]:
        if not node["ignored"]:
            name = str(node.get("name", {}).get("value", ""))
            found.setdefault(str(node["role"]["value"]), []).append(name)
    return found


def test_it_loads_itself_and_nothing_else_and_says_nothing(opened: Page, report: Path) -> None:
    opened.look()
    assert opened.requests() == [report.resolve().as_uri()]
    assert opened.complaints() == []
    assert re.search(r": credibly (report|comparison|monitor)$", opened.evaluate("document.title"))
    results = "JSON.parse(document.getElementById('credibly-results').textContent)"
    assert opened.evaluate(f"{results}.schema_version") == 1


def test_what_would_be_seen_if_it_did_otherwise(spare: Page) -> None:
    """The policy refuses foreign scripts and addresses, and the tests above would have noticed."""
    spare.look()
    spare.evaluate(
        "(() => {"
        "const script = document.createElement('script'); script.textContent = 'window.foreign = 1';"
        "const image = document.createElement('img'); image.src = 'http://example.org/x.png';"
        "document.body.append(script, image);"
        "})()"
    )
    spare.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert spare.evaluate("typeof window.foreign") == "undefined"
    refused = " ".join(spare.complaints())
    assert "script-src" in refused
    assert "example.org" in refused


def test_ids_are_unique_and_every_reference_has_its_target(opened: Page) -> None:
    opened.look()
    assert opened.evaluate(REFERENCES) == {"twice": [], "missing": [], "outside": []}


def test_headings_go_down_one_step_at_a_time(opened: Page) -> None:
    opened.look()
    levels = opened.evaluate(HEADINGS)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_a_screen_reader_finds_its_way(opened: Page) -> None:
    opened.look()
    opened.evaluate(OPEN)
    names = names_by_role(opened)
    opened.evaluate(OPEN.replace("true", "false"))
    pictures = opened.evaluate("document.querySelectorAll('svg').length")
    without_alt = opened.evaluate("document.querySelectorAll('img:not([alt])').length")
    assert names["main"] == [""]
    assert len(names["image"]) == pictures > 0
    assert all(names["image"])  # the alternative text of every picture
    assert all(names["region"])
    assert names["columnheader"]
    assert all(names["columnheader"])
    assert without_alt == 0


@pytest.mark.parametrize("look", [{}, {"dark": True}, {"media": "print", "dark": True}], ids=str)
def test_every_text_can_be_read(look: dict[str, Any], opened: Page) -> None:
    opened.look(**look)
    every = "document.querySelectorAll('details').forEach((one) => {{ one.open = {}; }})"
    opened.evaluate(every.format("true"))
    texts = opened.evaluate(CONTRASTS)
    paper = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.evaluate(every.format("false"))
    assert len(texts) > 90
    assert [text for text in texts if text["ratio"] < ENOUGH] == []
    light = look != {"dark": True}
    assert (paper == "rgb(255, 255, 255)") == light


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_the_screen(width: int, opened: Page, report: Path) -> None:
    opened.look(width=width)
    assert opened.evaluate("document.documentElement.scrollWidth") == width
    picture = opened.screenshot()
    assert struct.unpack(">I", picture[16:20])[0] == width  # the width in the header of a PNG
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"{report.stem}-{width}.png").write_bytes(picture)


def test_the_first_screen_has_the_answer_and_its_figures(opened: Page, report: Path) -> None:
    shown = "(name) => document.querySelector(name).getBoundingClientRect()"
    own: tuple[str, ...] = (".headline h2", ".leading tr:last-child", ".compared .picture svg")
    if report.stem != "comparison":
        own = (".headline h2", ".headline .word", ".questions h2", ".question p", ".question svg")
    opened.look(width=1280, height=800)
    for name in ("header h1", *own):
        box = opened.evaluate(f"(({shown})({name!r})).toJSON()")
        assert box["top"] >= 0
        assert box["bottom"] <= 800, name


def test_details_open_with_the_keyboard_alone(spare: Page) -> None:
    spare.look()
    for _ in range(100):
        spare.press("Tab")
        if spare.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    is_open = "document.activeElement.parentElement.open"
    visible = "document.activeElement.parentElement.querySelector('table').checkVisibility()"
    assert (spare.evaluate(is_open), spare.evaluate(visible)) == (False, False)
    spare.press("Enter", "\r")
    assert (spare.evaluate(is_open), spare.evaluate(visible)) == (True, True)
    spare.press(" ", " ")
    assert spare.evaluate(is_open) is False


def test_nothing_is_missing_without_javascript(chromium: Chromium, report: Path, opened: Page) -> None:
    # without spaces: rows that a script has moved leave theirs behind
    text = "document.querySelector('main').textContent.replace(/\\s+/g, '')"
    with_script = opened.evaluate(text)
    assert opened.evaluate("document.querySelectorAll('th button').length") > 0
    with chromium.page(report, javascript=False) as page:
        assert page.evaluate("document.querySelectorAll('th button').length") == 0
        assert page.evaluate(text) == with_script
        page.evaluate("document.querySelector('summary').focus()")
        page.press("Enter", "\r")
        assert page.evaluate("document.querySelector('details').open") is True


def test_it_prints_what_is_open(opened: Page, report: Path) -> None:
    opened.look(media="print", width=794)
    assert opened.evaluate("document.documentElement.scrollWidth") <= 794  # A4 at 96 dots per inch
    printed = opened.pdf()
    assert printed.startswith(b"%PDF-")
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 1 <= pages <= 8
    opened.evaluate(OPEN)
    assert len(re.findall(rb"/Type\s*/Page\b", opened.pdf())) > pages
    opened.evaluate(OPEN.replace("true", "false"))
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"{report.stem}.pdf").write_bytes(printed)


def test_figures_can_be_read_and_do_not_overlap(opened: Page) -> None:
    opened.look(width=1280)
    small = opened.evaluate(SMALL_TEXT)
    assert [one for one in small if one["size"] < 9.0] == []
    assert opened.evaluate(OVERLAPS) == []


def test_the_page_is_short_before_the_appendix(opened: Page) -> None:
    opened.look(width=1280)
    assert opened.evaluate(WORDS) < 1500


def test_the_contents_lead_to_parts_that_open(opened: Page) -> None:
    opened.look()
    names = opened.evaluate("[...document.querySelectorAll('.contents a')].map((one) => one.hash.slice(1))")
    if not names:
        assert opened.evaluate(WORDS) < 500  # a short page needs no list of contents
        return
    assert len(names) >= 5
    parts = [f"document.getElementById({name!r}).open" for name in (names[0], names[-1])]
    assert [opened.evaluate(part) for part in parts] == [False, False]
    opened.evaluate(
        "new Promise((done) => { addEventListener('hashchange', () => setTimeout(done), { once: true });"
        " document.querySelector('.contents a').click(); })"
    )
    assert [opened.evaluate(part) for part in parts] == [True, False]
    opened.evaluate(OPEN.replace("true", "false"))
    opened.evaluate("scrollTo(0, 0)")  # as the other tests of this tab expect it
