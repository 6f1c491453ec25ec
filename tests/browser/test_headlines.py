"""Reports of worlds, each with the headline it must give, as a reader sees them in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import credibly as cr
from browser.chromium import Chromium
from browser.questions import OVERLAPS, SMALL_TEXT, WORDS
from unit.evaluation.test_headline import CHEAP, WORLDS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = ("overconfident", "calibrated", "too few data", "binary", "100 classes", "Dirichlet", "belief")
"""Every verdict, and every shape of page but those of test_pages: members, raters, reals, a comparison."""


@pytest.mark.usefixtures("without_learned_weights")
@pytest.mark.parametrize("name", NAMES)
def test_the_headline_and_what_stands_below_it(name: str, chromium: Chromium, tmp_path: Path) -> None:
    make, _, sentence = WORLDS[name]
    predictions, labels = make()
    path = cr.evaluate(predictions, labels, **CHEAP).report(tmp_path / "report.html")
    with chromium.page(path, width=1280) as page:
        headline = page.evaluate("document.querySelector('.headline h2').textContent")
        assert re.match(sentence, headline.replace("\N{NO-BREAK SPACE}", " ")), headline
        assert page.evaluate("document.querySelector('.headline h2').getBoundingClientRect().bottom") < 400
        assert page.evaluate("document.querySelectorAll('.question svg').length") >= 1
        assert page.evaluate(WORDS) < 1500
        assert [one for one in page.evaluate(SMALL_TEXT) if one["size"] < 9.0] == []
        assert page.evaluate(OVERLAPS) == []
        page.look(width=390)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.look(width=1280, dark=True)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert page.complaints() == []
