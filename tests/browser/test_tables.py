"""Tables of the report sort, by mouse and by keyboard, and find back to their first order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from browser.chromium import Chromium, Page
from browser.questions import COLUMN, OPEN, TESTS_TABLE

pytestmark = pytest.mark.browser


def column(page: Page, heading: str) -> dict[str, Any]:
    evaluation = page.evaluate(f"({COLUMN})({json.dumps(heading)})")
    assert isinstance(evaluation, dict)
    return evaluation


def button(heading: str) -> str:
    return (
        f"[...({TESTS_TABLE}).querySelectorAll('th button')]"
        f".find((one) => one.textContent.trim() === {json.dumps(heading)})"
    )


def test_numbers_sort_as_numbers(chromium: Chromium, demo: Path) -> None:
    with chromium.page(demo) as page:
        # as words "10" would stand before "3", the statistic of all tests together
        page.evaluate(f"(() => {{ ({TESTS_TABLE}).tBodies[0].rows[0].cells[1].textContent = '10'; }})()")
        written = column(page, "observed")
        assert (written["sort"], written["cells"].count("10")) == ("none", 1)
        page.evaluate(f"{button('observed')}.click()")
        up = column(page, "observed")
        assert up["sort"] == "ascending"
        assert up["cells"] == sorted(written["cells"], key=float)
        assert up["cells"] != sorted(written["cells"])
        page.evaluate(f"{button('observed')}.click()")
        down = column(page, "observed")
        assert (down["sort"], down["cells"]) == ("descending", up["cells"][::-1])
        page.evaluate(f"{button('observed')}.click()")
        assert column(page, "observed") == written
        assert page.complaints() == []


def test_rows_stay_whole_and_one_column_leads(chromium: Chromium, demo: Path) -> None:
    with chromium.page(demo) as page:
        pairs = set(zip(column(page, "statistic")["cells"], column(page, "observed")["cells"], strict=True))
        page.evaluate(f"{button('observed')}.click()")
        page.evaluate(f"{button('statistic')}.click()")
        names = column(page, "statistic")
        assert (names["sort"], column(page, "observed")["sort"]) == ("ascending", "none")
        assert names["cells"] == sorted(names["cells"], key=str.lower)
        assert set(zip(names["cells"], column(page, "observed")["cells"], strict=True)) == pairs


def test_empty_cells_stay_at_the_end(chromium: Chromium, demo: Path) -> None:
    with chromium.page(demo) as page:
        assert column(page, "adjusted p")["cells"].count("") == 1  # of the test of all together
        for _ in range(2):
            page.evaluate(f"{button('adjusted p')}.click()")
            assert column(page, "adjusted p")["cells"][-1] == ""


def test_ranges_sort_by_their_first_number(chromium: Chromium, demo: Path) -> None:
    with chromium.page(demo) as page:
        page.evaluate(f"{button('acceptance')}.click()")
        cells = column(page, "acceptance")["cells"]
    first = [float(cell.removeprefix("up to ").split()[0]) for cell in cells]
    assert first == sorted(first)


def test_the_keyboard_sorts_too(chromium: Chromium, demo: Path) -> None:
    with chromium.page(demo) as page:
        page.evaluate(OPEN)  # what is folded away takes no focus
        page.evaluate(f"{button('observed')}.focus()")
        page.press("Enter", "\r")
        assert column(page, "observed")["sort"] == "ascending"
        page.press(" ", " ")
        assert column(page, "observed")["sort"] == "descending"
        assert page.evaluate(f"document.activeElement === {button('observed')}")
