"""All numbers as one table, in frames, notebooks, terminals and MLflow."""

from __future__ import annotations

import io
import json
import math
import sys
import types
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import credibly as cr
from credibly.evaluation import number_rows
from credibly.evaluation.tidy import COLUMNS

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def evaluation() -> cr.Evaluation:
    rng = np.random.default_rng(7)
    probs = rng.dirichlet(np.ones(3), size=120)
    labels = (rng.random((120, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    sharper = probs**3 / (probs**3).sum(axis=1, keepdims=True)
    groups = np.where(np.arange(120) % 2, "b", HOSTILE)
    chosen = ["accuracy", "brier", "confidence_ece"]
    return cr.evaluate(sharper, labels, groups=groups, statistics=chosen, n_resamples=99, rng=0)


def test_rows_hold_what_the_evaluation_holds(evaluation: cr.Evaluation) -> None:
    rows = {(row.part, row.statistic): row for row in number_rows(evaluation)}
    assert (
        len(rows) == 3 + 3 + 1 + 2 * 5 + 2 + 2 * 3 + 3 * 3
    )  # estimates, Brier score in parts, omnibus, two isotonic splits, two areas, two groups, three changes
    brier = rows["estimates", "brier"]
    estimate, test = evaluation.estimates["brier"], evaluation.tests["brier"]
    assert (brier.value, brier.stderr, brier.n) == (estimate.value, estimate.stderr, 120)
    assert (brier.low, brier.high) == estimate.interval()
    assert (brier.acceptance_low, brier.acceptance_high) == test.acceptance_region
    assert (brier.pvalue, brier.adjusted_pvalue, brier.verdict) == (
        test.pvalue,
        test.adjusted_pvalue,
        "conflict",
    )
    assert rows["estimates", "confidence_ece"].low is None  # no interval of it holds
    assert rows["groups.b", "accuracy"].n == 60
    assert rows["groups.b", "accuracy"].pvalue is None
    assert rows["tests", "omnibus"].pvalue == evaluation.tests["omnibus"].pvalue


def test_parts_that_other_labels_bring_are_found() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), size=50)
    rated = cr.evaluate(probs, cr.LabelCounts(rng.multinomial(4, probs)), statistics=["brier"])
    rows = {(row.part, row.statistic): row.value for row in number_rows(rated)}
    assert rated.raters is not None
    assert rows["raters.loss", "epistemic"] == rated.raters.loss.epistemic.value
    assert rows["raters.disagreement", "observed"] == rated.raters.disagreement.observed.value


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: Any, evaluation: cr.Evaluation) -> None:
    module = pytest.importorskip(library, reason=f"needs {library}")
    frame = evaluation.to_frame(library)
    assert isinstance(frame, module.DataFrame)
    assert tuple(frame.columns) == COLUMNS
    rows = number_rows(evaluation)
    assert list(frame["statistic"]) == [row.statistic for row in rows]
    values = list(frame["value"])
    assert values == [row.value for row in rows]
    low = list(frame["low"])
    assert [one is None or math.isnan(one) for one in low] == [row.low is None for row in rows]


def test_the_first_installed_library_is_taken(
    evaluation: cr.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    polars = pytest.importorskip("polars", reason="needs polars")
    finder = "credibly.evaluation.tidy.find_spec"
    monkeypatch.setattr(finder, lambda name: None if name == "pandas" else name)
    assert isinstance(evaluation.to_frame(), polars.DataFrame)
    with pytest.raises(cr.MissingExtraError, match="needs pandas; it is not installed"):
        evaluation.to_frame("pandas")
    monkeypatch.setattr(finder, lambda name: None)
    with pytest.raises(cr.MissingExtraError, match="needs pandas or polars"):
        evaluation.to_frame()


def test_another_library_is_refused(evaluation: cr.Evaluation) -> None:
    with pytest.raises(cr.InputError, match="`library` must be one of 'pandas', 'polars'; got 'panda'"):
        evaluation.to_frame("panda")  # type: ignore[arg-type]


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_notebooks_show_verdicts_and_numbers(evaluation: cr.Evaluation) -> None:
    page = Tags(evaluation._repr_html_())
    assert "script" not in page.tags
    said = " ".join(page.said)
    assert HOSTILE in said  # as text
    for finding in evaluation.findings:
        assert finding.sentence in said
    assert page.tags.count("tr") == 1 + len(number_rows(evaluation))


def test_notebooks_show_other_results_as_print_does(evaluation: cr.Evaluation) -> None:
    result = evaluation.tests["brier"]
    assert Tags(result._repr_html_()).said == [str(result)]


def test_rich_prints_a_table(evaluation: cr.Evaluation) -> None:
    screen = Console(file=io.StringIO(), width=160)
    screen.print(evaluation)
    printed = screen.file.getvalue()  # type: ignore[attr-defined]
    assert evaluation.heading in printed
    assert "groups.b: accuracy" in printed
    assert "adjusted p" in printed
    narrow = Console(file=io.StringIO(), width=40)
    narrow.print(evaluation)
    assert max(map(len, narrow.file.getvalue().splitlines())) <= 40  # type: ignore[attr-defined]


class Run(types.ModuleType):
    """What the tests need of mlflow: it keeps what is logged."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.__spec__ = types.SimpleNamespace(name="mlflow")  # type: ignore[assignment]
        self.metrics: dict[str, float] = {}
        self.parameters: dict[str, Any] = {}
        self.tags: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    def log_metrics(self, metrics: dict[str, float]) -> None:
        self.metrics |= metrics

    def log_params(self, parameters: dict[str, Any]) -> None:
        self.parameters |= parameters

    def set_tags(self, tags: dict[str, str]) -> None:
        self.tags |= tags

    def log_text(self, text: str, path: str) -> None:
        self.texts[path] = text


@pytest.mark.slow
def test_mlflow_gets_numbers_settings_and_the_report(
    evaluation: cr.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run()
    monkeypatch.setitem(sys.modules, "mlflow", run)
    evaluation.log_to_mlflow(prefix="val.")
    assert run.metrics["val.brier"] == evaluation.estimates["brier"].value
    assert run.metrics["val.brier.pvalue"] == evaluation.tests["brier"].pvalue
    assert run.metrics["val.groups.b/accuracy"] == evaluation.groups["b"]["accuracy"].value
    assert not [name for name in run.metrics if set(name) & set("<>()")]
    # MLflow keeps a metric as a file, so no name may be the folder of another
    assert not [metric for metric in run.metrics for other in run.metrics if other.startswith(f"{metric}/")]
    assert run.parameters["val.n_resamples"] == 99
    assert run.tags["val.verdict"] == "conflict"
    assert json.loads(run.texts["val.evaluation.json"]) == evaluation.to_dict()
    assert run.texts["val.report.html"].startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_mlflow_is_asked_for_by_name_where_it_is_missing(
    evaluation: cr.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("credibly.evaluation.results.find_spec", lambda name: None)
    with pytest.raises(
        cr.MissingExtraError, match=r"needs mlflow; it is not installed. Install it: `pip install mlflow`"
    ):
        evaluation.log_to_mlflow()


@pytest.mark.slow
def test_the_unified_score_is_among_the_numbers() -> None:
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), size=(40, 4))
    labels = rng.integers(3, size=40)
    rows = {(row.part, row.statistic): row for row in number_rows(cr.evaluate(probs, labels, n_resamples=99))}
    score = cr.epistemic_score(probs, labels, dependences=False)
    estimate = rows["score.all", "epistemic_score"]
    assert (estimate.value, estimate.n) == (pytest.approx(float(score), abs=1e-12), 40)
    assert estimate.stderr == pytest.approx(np.std(score.total, ddof=1) / np.sqrt(40))
    wrong = score.average.distance[~score.right].mean()
    assert rows["score.average.wrong", "epistemic_distance"].value == pytest.approx(wrong)


@pytest.mark.slow
def test_mlflow_gets_the_scores_of_all_models(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    models = {
        "a set <b>": rng.dirichlet(np.ones(3), size=(40, 3)),
        "point": rng.dirichlet(np.ones(3), size=40),
    }
    comparison = cr.compare(models, rng.integers(3, size=40), n_resamples=100, rng=1)
    run = Run()
    monkeypatch.setitem(sys.modules, "mlflow", run)
    comparison.log_to_mlflow()
    standing = comparison.ranking.at(1.0)
    assert run.metrics["credibly.point/E at tradeoff 1"] == standing.scores[standing.names.index("point")]
    assert "credibly.a set _b_/E at tradeoff 0" in run.metrics
    assert run.parameters["credibly.n_resamples"] == 100
    assert json.loads(run.texts["credibly.comparison.json"]) == comparison.to_dict()
    assert run.texts["credibly.comparison.html"].startswith("<!DOCTYPE html>")
