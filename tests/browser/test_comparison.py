"""The comparison report in a real browser: its own policy lets the slider run, and it ranks again."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import credibly as cr
from credibly.io import demo
from credibly.report import render_comparison

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    return found


@pytest.fixture(scope="module")
def comparison() -> cr.Comparison:
    names = ("ensemble", "single", "intervals")
    models = {name: demo(name).predictions for name in names}
    return cr.compare(models, demo("single").labels, n_resamples=100)


def opened(browser: str, page: str, folder: Path) -> tuple[str, str]:
    """The page after its script ran, and what the browser complained about."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        "--dump-dom",
    ]
    profile = f"--user-data-dir={folder / 'profile'}"
    ran = subprocess.run(
        [*command, profile, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return ran.stdout, "\n".join(line for line in ran.stderr.splitlines() if "CONSOLE" in line)


def ranked(page: str) -> list[tuple[str, str, str]]:
    """Place, model and score of the rows of the table that the slider ranks."""
    table = page.partition('id="ranking"')[2].partition("</table>")[0]
    pattern = r'class="place">(\d+)</td><th scope="row">(.*?)</th>.*?class="score">(.*?)</td>'
    return re.findall(pattern, table)


@pytest.mark.parametrize("tradeoff", [0.0, 0.5, 2.0])
def test_the_slider_ranks_again(
    browser: str, comparison: cr.Comparison, tradeoff: float, tmp_path: Path
) -> None:
    page = render_comparison(comparison)
    moved = page.replace('step="0.01" value="1.0"', f'step="0.01" value="{tradeoff}"')
    assert moved != page
    shown, complaints = opened(browser, moved, tmp_path)
    assert complaints == ""
    rows = ranked(shown)
    standing = comparison.ranking.at(tradeoff)
    assert [name for _, name, _ in rows] == list(standing.names)
    assert [place for place, _, _ in rows] == [str(j + 1) for j in range(len(rows))]
    for (_, _, score), expected in zip(rows, standing.scores, strict=True):
        assert float(score) == pytest.approx(expected, rel=6e-3)  # three digits
    assert '<div id="control" class="control">' in shown  # no longer hidden


def test_without_the_script_nothing_is_hidden_but_the_slider(
    browser: str, comparison: cr.Comparison, tmp_path: Path
) -> None:
    page = render_comparison(comparison)
    silent = re.sub(r"script-src 'sha256-[^']+'", "script-src 'none'", page.replace("&#39;", "'"))
    shown, complaints = opened(browser, silent, tmp_path)
    assert "Content Security Policy" in complaints  # the policy did refuse it
    assert 'class="control" hidden' in shown
    assert [name for _, name, _ in ranked(shown)] == list(comparison.ranking.order(1.0))
