"""The comparison report: complete without a script, and a slider the page itself allows."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.io.bundled import demo
from credibly.report import render_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def comparison() -> cr.Comparison:
    names = ("ensemble", "single", "intervals", "evidential")
    data = {name: demo(name).rows(slice(0, 200)) for name in names}
    return cr.compare(
        {name: dataset.predictions for name, dataset in data.items()},
        data["single"].labels,
        n_resamples=100,
    )


@pytest.fixture(scope="module")
def page(comparison: cr.Comparison) -> str:
    return render_report(comparison)


def rows_of(page: str, caption: str) -> list[list[str]]:
    """The cells of the table with that caption."""
    body = page.partition(f"<caption>{caption}</caption>")[2].partition("</tbody>")[0]
    return [
        [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr.*?</tr>", body.partition("<tbody>")[2], flags=re.DOTALL)
    ]


def test_the_scripts_are_those_the_page_allows(page: str) -> None:
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 2  # the slider, and tables that sort
    policy = page.replace("&#39;", "'").partition("script-src ")[2].partition('"')[0]
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert "http" not in script
    assert "default-src 'none'" in page.replace("&#39;", "'")


def test_nothing_outside_is_asked_for(page: str) -> None:
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", page)
    assert "@import" not in page


def test_the_slider_is_hidden_until_the_script_runs(page: str) -> None:
    assert '<div id="control" class="control" hidden>' in page
    assert "control.hidden = false" in page


def test_the_table_has_what_the_slider_needs(page: str, comparison: cr.Comparison) -> None:
    rows = re.findall(r'<tr data-distance="([^"]+)" data-imprecision="([^"]+)" data-point="(\w+)">', page)
    lines = comparison.ranking.lines
    assert len(rows) == len(lines.names) == 7
    order = lines.order(1.0)
    for (distance, slope, point), name in zip(rows, order, strict=True):
        at = lines.names.index(name)
        assert float(distance) == lines.distance[at]
        assert float(slope) == lines.imprecision[at]
        assert (point == "yes") == lines.is_point[at]


def test_tables_stand_without_a_script(page: str, comparison: cr.Comparison) -> None:
    standing = comparison.ranking.at(2.0)
    rows = rows_of(page, "Trade-off 2")
    assert [row[0] for row in rows] == list(standing.names)
    assert [row[1] for row in rows] == [standing.place(name) for name in standing.names]
    alone = rows_of(page, "Set predictions alone")
    assert alone[0][1].startswith(comparison.ranking.lines.order(0.0, points=False)[0])
    groups = rows_of(
        page, "Score at trade-off 1, mean ± standard deviation, for all, right and wrong predictions"
    )
    assert [row[0] for row in groups[::3]] == list(comparison.models)
    assert [row[1] for row in groups[:3]] == ["distance", "imprecision", "E"]
    assert groups[4][2:] == ["0 ± 0"] * 3  # a point's imprecision


def test_results_are_embedded(page: str, comparison: cr.Comparison) -> None:
    (text,) = re.findall(r'id="credibly-results">(.*?)</script>', page, flags=re.DOTALL)
    assert json.loads(text) == json.loads(json.dumps(comparison.to_dict()))


def test_ids_are_unique_and_headings_in_order(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for picture in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        root = ET.fromstring(picture)
        assert root.get("role") == "img"
        assert root.find("title") is not None


def test_names_of_models_cannot_break_the_page() -> None:
    rng = np.random.default_rng(0)
    bad = "</script><b>&\x00$x$"
    models = {bad: rng.dirichlet(np.ones(3), size=(30, 3)), "plain": rng.dirichlet(np.ones(3), size=30)}
    page = render_report(cr.compare(models, rng.integers(3, size=30), n_resamples=100))
    assert "<b>" not in page
    assert page.count("</script>") == 3  # results, slider, tables
    assert "\x00" not in page


@pytest.mark.usefixtures("without_pictures")
def test_an_infinite_distance_is_a_number_for_the_script() -> None:
    wide = cr.Intervals([[0.2, 0.2]] * 5, [[0.8, 0.8]] * 5)
    models = {"sure": [[1.0, 0.0]] * 5, "wide": wide}
    page = render_report(cr.compare(models, [0, 0, 0, 0, 1], n_resamples=100))
    assert 'data-distance="Infinity"' in page
    assert "Trade-off 2" in page


@pytest.mark.usefixtures("without_pictures")
def test_without_sets_nothing_is_said_about_imprecision() -> None:
    models = {"sure": [[1.0, 0.0]] * 5, "half": [[0.5, 0.5]] * 5}
    comparison = cr.compare(models, [0, 0, 0, 0, 1], n_resamples=100)
    page = render_report(comparison)
    assert not comparison.has_imprecision
    assert "rade-off" not in page.partition('id="methods"')[0]
    assert 'id="tradeoff"' not in page
    assert len(re.findall(r"<script>", page)) == 1  # tables that sort
    assert '<span class="value">infinite</span>' in page
    assert "behind the best" in page  # how far is not known


def test_the_page_leads_with_accuracy_log_loss_and_gap(page: str, comparison: cr.Comparison) -> None:
    first = page.partition('id="headline">')[2].partition("</h2>")[0]
    assert first == comparison.findings[0].replace(" %", "\N{NO-BREAK SPACE}%")
    table = page.partition('<table class="leading">')[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', table)
    assert [name for name, _ in rows] == list(comparison.standings["log_loss"].names)
    for name, cells in rows:
        estimate = comparison.estimates[name]["accuracy"]
        low, high = estimate.interval()
        said = f"{100 * estimate.value:.1f}\N{NO-BREAK SPACE}%</span> "
        # the interval stands beside its number
        assert f'{said}<span class="interval">({100 * low:.1f} to {100 * high:.1f})</span>' in cells
    assert page.index('class="leading"') < page.index('id="figure-curves') < page.index('id="ranking"')


def test_ten_models_stay_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    models = {f"model {j}": rng.dirichlet(np.ones(10), size=(150, 4)) for j in range(10)}
    comparison = cr.compare(models, rng.integers(10, size=150), n_resamples=100)
    assert comparison.report(tmp_path / "ten.html").stat().st_size < 1_500_000


@pytest.mark.usefixtures("without_pictures")
def test_a_page_is_never_written_over_another_file_unasked(comparison: cr.Comparison, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(cr.FileError, match="already"):
        comparison.report(path)
    assert path.read_text(encoding="utf-8") == "mine"
    assert comparison.report(path, overwrite=True) == path
    assert path.read_text(encoding="utf-8") == render_report(comparison)


def test_the_same_comparison_gives_the_same_page(page: str, comparison: cr.Comparison) -> None:
    assert render_report(comparison) == page


@pytest.mark.usefixtures("without_pictures")
def test_the_recipe_makes_the_same_comparison() -> None:
    rng = np.random.default_rng(1)
    models = {"set": rng.dirichlet(np.ones(3), size=(30, 4)), "point": rng.dirichlet(np.ones(3), size=30)}
    labels = rng.integers(3, size=30)
    first = cr.compare(
        models,
        labels,
        tradeoffs=[0.5, math.inf],
        measure="u65",
        n_bins=7,
        n_resamples=200,
        rng=4,
    )
    recipe = first.again.removesuffix('.report("comparison.html")')
    names: dict[str, Any] = {"models": models, "labels": labels}
    exec(recipe.replace("cr.compare(", "again = cr.compare("), names)
    assert names["again"].to_dict() == first.to_dict()
    page = render_report(first)
    assert "sum_A m(A)" not in page  # the formula of another measure
    assert "+ trade-off * imprecision" in page


@pytest.mark.usefixtures("without_pictures")
def test_a_report_without_a_finite_distance() -> None:
    sure = cr.Ensemble([[[1.0, 0.0], [1.0, 0.0]]] * 5, member_axis=1)
    page = render_report(cr.evaluate(sure, [1] * 5, tests=False))
    assert 'id="score"' in page
    assert "Score E infinite" in page


@pytest.mark.usefixtures("without_pictures")
def test_the_section_about_sets_in_a_report() -> None:
    data = demo("ensemble")
    evaluation = cr.evaluate(data.predictions, data.labels, tests=False)
    page = render_report(evaluation)
    assert 'id="score"' in page
    rows = rows_of(page, "Mean ± standard deviation over instances")
    assert [row[0] for row in rows] == ["the set"] * 3 + ["its mean"] * 3
    assert rows[0][1] == "distance"
    assert rows[0][2].startswith("0.0988 ±")  # the distance recorded in the golden test
    assert "E depends on the number of members" in page
    assert "Manchingal" in page
    assert 'id="score"' not in render_report(
        cr.evaluate(demo("single").predictions, data.labels, tests=False)
    )
