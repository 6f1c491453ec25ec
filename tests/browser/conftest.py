"""One browser for all tests, and the reports it opens."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from browser.chromium import Chromium, Page, find_chromium, without_chromium
from credibly.cli import main
from credibly.io import demo as demo_data

HOSTILE = '<script>document.title = "run"</script>'


def demo_report(path: Path) -> None:
    assert main(["demo", "--out", str(path), "--n-resamples", "99", "--quiet"]) == 0


def raters_report(path: Path) -> None:
    """Label counts, groups, and names that try to be markup."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(0.5 * np.ones(3), size=200)
    counts = cr.LabelCounts(rng.multinomial(5, probs))
    groups = np.where(np.arange(200) % 2, "odd", HOSTILE)
    chosen = ["accuracy", "brier", "confidence_gap", "confidence_ece", "classwise_ece"]
    classes = [HOSTILE, "b", "c"]
    cr.evaluate(probs, counts, statistics=chosen, classes=classes, groups=groups, n_resamples=99).report(path)


def regression_report(path: Path) -> None:
    """Members that predict real numbers."""
    rng = np.random.default_rng(5)
    mean = rng.normal(size=(200, 4))
    labels = mean[:, 0] + rng.normal(size=200)
    cr.evaluate(cr.Gaussian(mean, np.ones_like(mean)), labels, n_resamples=99).report(path)


@functools.cache
def three_models() -> cr.Comparison:
    models = {name: demo_data(name).predictions for name in ("ensemble", "single", "intervals")}
    return cr.compare(models, demo_data("single").labels, n_resamples=100)


def comparison_report(path: Path) -> None:
    three_models().report(path)


def monitor_report(path: Path) -> None:
    """A monitor after an alarm, with names that try to be markup."""
    rng = np.random.default_rng(5)
    monitor = cr.Monitor()
    for power in (1.0, 0.5):
        probs = rng.dirichlet(np.ones(3), size=1500)
        truth = probs**power / (probs**power).sum(axis=1, keepdims=True)
        labels = (rng.random((1500, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        monitor.update(probs, labels, groups=np.where(np.arange(1500) % 2, "odd", HOSTILE))
    monitor.result().report(path)


REPORTS: dict[str, Callable[[Path], None]] = {
    "demo": demo_report,
    "raters": raters_report,
    "regression": regression_report,
    "comparison": comparison_report,
    "monitor": monitor_report,
}
"""A new kind of report is one entry here; every test of `test_pages.py` then opens it."""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = find_chromium()
    if program is None:
        reason = without_chromium()
        if os.environ.get("CREDIBLY_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    browser = Chromium(program, tmp_path_factory.mktemp("chromium"))
    try:
        yield browser
    finally:
        browser.close()


@pytest.fixture(scope="session")
def comparison() -> cr.Comparison:
    """What the report "comparison" is about."""
    return three_models()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the path of a report by name; each is made once."""
    folder = tmp_path_factory.mktemp("reports")

    def path_of(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            REPORTS[name](path)
        return path

    return path_of


@pytest.fixture(scope="module", params=REPORTS)
def report(request: pytest.FixtureRequest, chromium: Chromium, written: Callable[[str], Path]) -> Path:
    return written(request.param)


@pytest.fixture(scope="module")
def opened(chromium: Chromium, report: Path) -> Iterator[Page]:
    """The report in one tab for all tests that only read it."""
    with chromium.page(report) as page:
        yield page


@pytest.fixture
def demo(chromium: Chromium, written: Callable[[str], Path]) -> Path:
    return written("demo")
