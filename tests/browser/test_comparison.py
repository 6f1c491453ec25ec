"""The comparison report in a real browser: its own policy lets the slider run, and it ranks again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from browser.chromium import Chromium

pytestmark = pytest.mark.browser

ROWS = """[...document.querySelectorAll("#ranking tbody tr")].map((row) =>
    [".place", "th", ".score"].map((name) => row.querySelector(name).textContent))"""
BOTTOM = "(name) => [...document.querySelectorAll(name)].at(-1).getBoundingClientRect().bottom"


@pytest.fixture
def three(chromium: Chromium, written: Callable[[str], Path]) -> Path:
    return written("comparison")


@pytest.fixture(scope="module")
def ten(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten ensembles, so twenty rows: each takes part by its mean, too."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(0.3 * np.ones(5), size=150)
    labels = (rng.random((150, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    models = {}
    for place in range(10):
        noisy = np.log(truth + 1e-3)[:, None, :] + 0.1 * (1 + place) * rng.normal(size=(150, 3, 5))
        probs = np.exp(noisy - noisy.max(axis=-1, keepdims=True))
        models[f"network {place}"] = probs / probs.sum(axis=-1, keepdims=True)
    path = tmp_path_factory.mktemp("ten") / "page.html"
    return cr.compare(models, labels, n_resamples=100).report(path)


def test_the_slider_ranks_again(chromium: Chromium, comparison: cr.Comparison, three: Path) -> None:
    with chromium.page(three) as page:
        assert page.evaluate("document.getElementById('control').checkVisibility()") is True
        for tradeoff in (0.0, 0.5, 2.0):
            page.evaluate(
                f"((slider) => {{ slider.value = {tradeoff}; slider.dispatchEvent(new Event('input')); }})"
                "(document.getElementById('tradeoff'))"
            )
            rows = page.evaluate(ROWS)
            standing = comparison.ranking.at(tradeoff)
            assert [name for _, name, _ in rows] == list(standing.names)
            assert [place for place, _, _ in rows] == [str(j + 1) for j in range(len(rows))]
            for (_, _, score), expected in zip(rows, standing.scores, strict=True):
                assert float(score) == pytest.approx(expected, rel=6e-3)  # three digits
        assert page.complaints() == []


def test_without_the_script_nothing_is_hidden_but_the_slider(
    chromium: Chromium, comparison: cr.Comparison, three: Path, tmp_path: Path
) -> None:
    path, html = tmp_path / "silent.html", three.read_text(encoding="utf-8").replace("&#39;", "'")
    path.write_text(re.sub(r"script-src 'sha256-[^']+'", "script-src 'none'", html), encoding="utf-8")
    with chromium.page(path) as page:
        assert "Content Security Policy" in " ".join(page.complaints())  # the policy did refuse it
        assert page.evaluate("document.getElementById('control').checkVisibility()") is False
        assert [name for _, name, _ in page.evaluate(ROWS)] == list(comparison.ranking.order(1.0))


def test_ten_models_are_ranked_on_the_first_screen(chromium: Chromium, ten: Path) -> None:
    with chromium.page(ten, width=1280, height=800) as page:
        assert len(page.evaluate(ROWS)) == 20
        assert page.evaluate("document.querySelectorAll('.leading tbody tr').length") == 10
        for name in (".headline h2", ".leading tbody tr", ".compared .picture svg"):
            assert page.evaluate(f"({BOTTOM})({name!r})") <= 800, name


def test_points_alone_have_no_slider(chromium: Chromium, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(3), size=200)
    labels = (rng.random((200, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    models = {"truth": truth, "blurred": 0.5 * truth + 1 / 6}
    path = cr.compare(models, labels, n_resamples=100).report(tmp_path / "page.html")
    with chromium.page(path) as page:
        assert page.complaints() == []
        assert page.evaluate("document.querySelector('#tradeoff, #ranking')") is None
        assert page.evaluate("document.querySelectorAll('.leading tbody tr').length") == 2
        assert page.evaluate("[...document.querySelectorAll('.leading .standing')].length") == 6
        lines = page.evaluate("document.querySelectorAll('.compared .picture svg path').length")
        assert lines >= 3  # two models and the diagonal


def test_no_number_is_cut_off_and_each_has_its_interval_beside_it(chromium: Chromium, three: Path) -> None:
    fits = """[...document.querySelectorAll(".leading")].every((table) =>
        table.scrollWidth <= table.closest(".scroll").clientWidth)"""
    beside = """[...document.querySelectorAll(".leading td")].map((cell) => {
        const [value, interval] = [".value", ".interval"].map((name) => cell.querySelector(name));
        return Math.abs(value.getBoundingClientRect().bottom - interval.getBoundingClientRect().bottom);
    })"""
    with chromium.page(three, width=1280) as page:
        assert page.evaluate(fits) is True
        assert max(page.evaluate(beside)) < 6  # on one line


def test_tables_are_not_squeezed_on_a_narrow_screen(chromium: Chromium, ten: Path) -> None:
    heights = """[...document.querySelector("#standings .scroll").querySelectorAll("tbody td")]
        .map((cell) => cell.getBoundingClientRect().height)"""
    with chromium.page(ten, width=390) as page:
        page.evaluate("document.querySelector('#standings').open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert max(page.evaluate(heights)) < 70  # at most three lines, of a long name in the same row
