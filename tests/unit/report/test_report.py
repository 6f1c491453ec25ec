"""The report: one page that needs nothing else, says what was found, and can be read by machines."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.calls import Call
from credibly.report import render_report, write_report
from credibly.report.html_parts import embedded_json
from credibly.report.svg import summarised

pytestmark = pytest.mark.slow

HOSTILE = '<script>alert("x")</script>'
FEW = ["accuracy", "log_loss", "confidence_ece", "classwise_ece"]  # each has a figure of its own
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects what the tests ask about: elements, ids, headings, visible text, embedded results."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[tuple[str, str]] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"closed too much: {tag}"
        assert self.open[-1] == tag, f"{tag} closed inside {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        if where == "script":
            self.scripts.append(data)
        elif where == "style":
            self.styles.append(data)
        elif data.strip():
            self.text.append((where, " ".join(data.split())))

    def attributes(self, name: str) -> list[str]:
        return [attrs[name] or "" for _, attrs in self.elements if name in attrs]

    @property
    def results(self) -> str:
        """The embedded JSON: the first script element."""
        return self.scripts[0]

    @property
    def visible(self) -> str:
        return " ".join(text for _, text in self.text)


def world(n: int = 300, k: int = 10, power: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(0.4 * np.ones(k), size=n)
    labels = np.minimum((rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1), k - 1)
    said = probs**power
    return said / said.sum(axis=1, keepdims=True), labels


SOURCE = {
    "path": "folder/run & 1.npz",
    "digest": "ab12" * 16,
    "dropped": 2,
    "notes": ["labels were <uint8>"],
    "call": Call("report", ("run & 1.npz",), options={"rng": 0}).to_dict(),
    "model": "<b>resnet</b>",
}


@pytest.fixture(scope="module")
def evaluation() -> cr.Evaluation:
    probs, labels = world()
    classes = [HOSTILE, "$x$ & \u732b", *(f"c{place}" for place in range(8))]
    return cr.evaluate(probs, labels, classes=classes, groups=labels % 2, source=SOURCE)


@pytest.fixture(scope="module")
def html(evaluation: cr.Evaluation) -> str:
    return render_report(evaluation)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_page_is_below_half_a_megabyte(html: str) -> None:
    assert len(html.encode("utf-8")) < 500_000


def test_page_grows_neither_with_instances_nor_with_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credibly.evaluation.set_tests.MOST_REFITS", 0)  # of few rows as of many

    def size(n: int, n_resamples: int) -> int:
        rng = np.random.default_rng(0)
        members, labels = rng.dirichlet(np.ones(4), size=(n, 3)), rng.integers(0, 4, size=n)
        chosen = ["brier", "confidence_ece"]
        evaluation = cr.evaluate(members, labels, statistics=chosen, n_resamples=n_resamples)
        return len(render_report(evaluation).encode("utf-8"))

    assert size(1500, 999) < 1.05 * size(300, 49) < 500_000


def test_ids_are_unique_and_references_lead_somewhere(page: Page) -> None:
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    named = [word for value in page.attributes("aria-labelledby") for word in value.split()]
    used = [link.removeprefix("#") for link in page.attributes("href")]
    used += [name for style in page.attributes("clip-path") for name in re.findall(r"url\(#([^)]+)\)", style)]
    assert len(used) > 20
    assert set(named) | set(used) <= set(ids)


def test_nothing_is_fetched(page: Page, html: str) -> None:
    assert not page.attributes("src")
    assert all(link.startswith("#") for link in page.attributes("href"))
    assert not {tag for tag, _ in page.elements} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "image",
    }
    styles = " ".join([*page.styles, *page.attributes("style")])
    assert "@import" not in styles
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", styles))
    assert "http://" not in html
    assert "https://" not in html
    policy = next(attrs["content"] for tag, attrs in page.elements if tag == "meta" and "http-equiv" in attrs)
    (script,) = page.scripts[1:]
    allowed = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"


def test_one_script_sorts_tables_and_nothing_waits_for_it(page: Page) -> None:
    scripts = [attrs for tag, attrs in page.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "credibly-results"}, {}]
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert not page.attributes("hidden")


def test_results_are_embedded_as_json(page: Page, evaluation: cr.Evaluation) -> None:
    results = json.loads(page.results)
    assert results == summarised(evaluation.to_dict())
    assert results["classes"][0] == HOSTILE
    whole = evaluation.tests["brier"]
    assert results["tests"]["brier"]["pvalue"] == whole.pvalue
    assert results["tests"]["brier"]["null_distribution"]["length"] == whole.n_resamples


def test_embedded_json_cannot_end_its_element() -> None:
    given = {"a": "</script><!-- & <script>", "b": [1.5, None]}
    text = embedded_json(given)
    assert not set(text) & set("<>&")
    assert json.loads(text) == given


def test_names_are_text_everywhere(page: Page, html: str) -> None:
    assert "<script>alert" not in html
    assert "<b>resnet" not in html
    assert "&lt;script&gt;alert" in html
    visible = page.visible
    assert "labels were <uint8>" in visible
    assert "<b>resnet</b>" in visible
    assert "\u732b" in html
    assert "run & 1.npz" in next(text for tag, text in page.text if tag == "h1")


def test_headings_go_down_one_step_at_a_time(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_the_first_screen_answers_the_title(html: str, evaluation: cr.Evaluation) -> None:
    first = html[html.index("<header>") : html.index('<nav aria-labelledby="contents">')]
    text = Page(first).visible
    for fact in ("Instances N 300", "Classes K 10"):
        assert fact in text
    headline = evaluation.headline
    assert headline is not None
    for sentence in (
        headline.sentence,
        headline.remedy,
        *(question.sentence for question in headline.questions),
    ):
        assert sentence in text.replace("\N{NO-BREAK SPACE}", " ")
    shown = [question.about for question in headline.questions]
    assert shown == ["what", "repairs", "left", "errors"]
    assert first.count("<svg") == 3  # the curve, before and after the repair, risk against coverage
    assert "Gains on rows that a repair was not fitted on" in text
    assert "The data must not have been used for training or recalibration." in text
    assert len(text.split()) < 1500


def test_the_appendix_has_all_numbers(page: Page, html: str, evaluation: cr.Evaluation) -> None:
    text = page.visible.replace("\N{NO-BREAK SPACE}", " ")
    for fact in (f"credibly {cr.__version__}", "ab12" * 16, "drawn from its predicted distribution"):
        assert fact in text
    places = [text.find(verdict.finding) for verdict in evaluation.verdicts]
    assert min(places) > 0
    assert places == sorted(places)
    assert "no interval" in text  # of the ECE,
    assert "biased upwards near calibration" in text  # and the reason
    low, high = evaluation.estimates["accuracy"].interval()
    assert f"{low:.3g} to {high:.3g}" in text
    parts = re.findall(r'<details class="part" id="([^"]+)">', html)
    linked = re.findall(r'<li><a href="#([^"]+)">', html)
    assert parts == linked


def test_every_figure_is_announced_and_has_its_numbers(page: Page, html: str) -> None:
    svgs = [attrs for tag, attrs in page.elements if tag == "svg"]
    # confidence, risk against coverage, a curve per class, a null distribution per test, before and after,
    # groups
    assert len(svgs) == 2 + 10 + 11 + 2 + 1
    assert all(attrs["role"] == "img" and attrs["aria-labelledby"] for attrs in svgs)
    figures = re.findall(r"<figure(?: class=\"broad\")?>.*?</figure>", html, flags=re.DOTALL)
    assert len(figures) == len(svgs)
    for figure in figures:
        for part in ("<title id=", "<desc id=", "<details>", "<table>", "<text"):
            assert part in figure


def test_sections_after_the_first_screen(page: Page) -> None:
    text = page.visible
    assert "2 rows were dropped" in text
    assert "credibly report 'run & 1.npz' --seed 0" in text
    assert "ab12" * 16 in text
    assert "refinement loss" in text
    assert "evaluate its members" in text
    assert "Westfall and Young" in text
    assert "Group by group" in text
    assert "Does the model know which answers are wrong?" in text
    assert "El-Yaniv and Wiener" in text


def test_a_verdict_is_never_praise(page: Page) -> None:
    praise = r"(?<!not )\b(calibrated|passed|passes|valid)\b"
    assert not re.search(praise, page.visible, flags=re.IGNORECASE)
    assert not set(page.visible) & set("\u2713\u2714\u2705")


def test_same_evaluation_same_bytes(evaluation: cr.Evaluation, html: str) -> None:
    assert render_report(evaluation) == html


def test_dark_print_and_small_screens_are_styled(page: Page) -> None:
    style = page.styles[0]
    for rule in ("prefers-color-scheme: dark", "@media print", "max-width: 480px"):
        assert rule in style
    assert "#1a1a1a" not in " ".join(page.attributes("style"))  # ink follows the page


def test_report_is_written_once_and_never_over_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = cr.evaluate([[0.9, 0.1], [0.2, 0.8]], [0, 1], tests=False)
    html = render_report(evaluation)
    path = tmp_path / "report.html"
    assert evaluation.report(path) == path
    assert path.read_text(encoding="utf-8") == html
    path.write_text("mine", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(cr.FileError, match=r"report\.html"):
            evaluation.report(path)
        assert path.read_text(encoding="utf-8") == "mine"
        # nor where it appears while the page is drawn
        monkeypatch.setattr("credibly.io.require_writable", lambda *_, **__: None)
    write_report(evaluation, path, overwrite=True)
    assert path.read_text(encoding="utf-8") == html
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("path", [None, 3])
def test_what_is_no_path_is_told_in_one_error(path: Any, evaluation: cr.Evaluation) -> None:
    with pytest.raises(cr.InputTypeError, match=r"`path` must be a path; got (None|int). Name the file"):
        evaluation.report(path)


def test_the_introduction_says_the_rule_that_decides(page: Page, evaluation: cr.Evaluation) -> None:
    text = page.visible
    assert "adjusted p at most 0.05" in text
    assert "outside the range" not in text

    for verdict in evaluation.verdicts:
        decides = evaluation.tests[verdict.statistic or ""].deciding_pvalue
        assert (verdict.word == "conflict") == (decides <= evaluation.settings["level"])


@pytest.mark.parametrize(
    ("predictions", "labels", "keywords"),
    [
        (cr.Gaussian([0.0, 1.0], [1.0, 1.0]), [0.3, 0.5], {}),
        ([[0.9, 0.1]], [0], {"n_resamples": 9, "statistics": FEW}),
        ([[1.0, 0.0], [1.0, 0.0]], [1, 0], {"n_resamples": 9, "statistics": FEW}),
        ([[0.9, 0.1], [0.2, 0.8]], [0, 1], {"tests": False}),
        ([[0.9, 0.1], [0.2, 0.8]], cr.LabelCounts([[2, 1], [0, 3]]), {"statistics": FEW}),
        ([[0.9, 0.1], [0.2, 0.8]], [0, 1], {"statistics": ["brier"], "rng": None}),
    ],
    ids=["regression", "one instance", "impossible label", "no tests", "counts", "one statistic"],
)
def test_corners_still_give_a_whole_page(predictions: Any, labels: Any, keywords: dict[str, Any]) -> None:
    evaluation = cr.evaluate(predictions, labels, **keywords)
    page = Page(render_report(evaluation))
    assert json.loads(page.results) == summarised(evaluation.to_dict())
    for verdict in evaluation.verdicts:
        assert verdict.finding in page.visible
    for name, reason in evaluation.not_run:
        assert name in page.visible
        assert reason.replace("`", "") in page.visible
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert "arrays in memory" in page.visible
    assert "cr.evaluate(" in page.visible


@pytest.mark.usefixtures("without_pictures")
def test_names_no_page_can_hold_are_replaced(tmp_path: Path) -> None:
    probs, labels = world(n=40, k=2)
    evaluation = cr.evaluate(probs, labels, classes=["a\x00\ud800", "b"], n_resamples=19)
    path = evaluation.report(tmp_path / "report.html")
    page = Page(path.read_text(encoding="utf-8"))
    assert r"a\x00\ud800" in page.visible  # written out, so that it can be seen
    assert json.loads(page.results)["classes"][0] == r"a\x00\ud800"


def test_a_thousand_classes_are_summarised() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(1000), size=60)
    evaluation = cr.evaluate(probs, rng.integers(0, 1000, size=60), statistics=FEW, n_resamples=19)
    html = render_report(evaluation)
    page = Page(html)
    assert len(html.encode("utf-8")) < 500_000
    assert html.count('aria-labelledby="figure-class-') == 12
    assert "988 classes with smaller errors are not shown" in page.visible
    assert json.loads(page.results) == summarised(evaluation.to_dict())
