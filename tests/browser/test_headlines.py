"""Twelve reports, each with the headline it must give, as a reader sees them in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from browser.chromium import Chromium
from browser.questions import OVERLAPS, SMALL_TEXT, WORDS
from unit.evaluation.test_headline import CHEAP, WORLDS, said

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TWELVE = (
    "overconfident",
    "underconfident",
    "calibrated",
    "too few data",
    "binary",
    "100 classes",
    "ensemble",
    "Dirichlet",
    "belief",
    "raters",
    "too narrow",
    "comparison",
)


def report_of(name: str, path: Path) -> str:
    """Write the report; return the pattern of the headline it must have."""
    if name == "comparison":
        truth, labels = said(1500, 4, 1.0)
        sharper = truth**2 / (truth**2).sum(axis=1, keepdims=True)
        cr.compare({"honest": truth, "sharper": sharper}, labels, n_resamples=200).report(path)
        return "honest is best in log loss and calibration gap, and tied for best in accuracy"
    make, _, sentence = WORLDS[name]
    predictions, labels = make()
    settings = {"n_resamples": 199} if isinstance(predictions, cr.Gaussian) else CHEAP
    cr.evaluate(predictions, labels, **settings).report(path)
    return sentence


@pytest.mark.parametrize("name", TWELVE)
def test_the_headline_and_what_stands_below_it(name: str, chromium: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    sentence = report_of(name, path)
    with chromium.page(path, width=1280) as page:
        headline = page.evaluate("document.querySelector('.headline h2').textContent")
        assert re.match(sentence, headline.replace("\N{NO-BREAK SPACE}", " ")), headline
        assert page.evaluate("document.querySelector('.headline h2').getBoundingClientRect().bottom") < 400
        figures = ".compared .picture svg" if name == "comparison" else ".question svg"
        assert page.evaluate(f"document.querySelectorAll('{figures}').length") >= 1
        assert page.evaluate(WORDS) < 1500
        assert [one for one in page.evaluate(SMALL_TEXT) if one["size"] < 9.0] == []
        assert page.evaluate(OVERLAPS) == []
        page.look(width=390)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.look(width=1280, dark=True)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert page.complaints() == []


def test_the_table_names_every_kind_of_report_of_the_headline_tests() -> None:
    assert len(set(TWELVE)) == 12
    assert set(TWELVE) - {"comparison"} <= set(WORLDS)
    assert np.unique([len(one) for one in WORLDS.values()]).tolist() == [3]
