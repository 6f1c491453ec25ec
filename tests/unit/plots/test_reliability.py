"""Reliability diagrams as data, then as marks on axes."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.evaluation.stages import error_outside, mean_gap
from credibly.plots import panels, worst_first
from credibly.plots.bins import reliability
from credibly.report.content import class_figures
from credibly.results.curves import ReliabilityCurve


def curve(name: str = "top label", shift: float = 0.0, band: bool = True) -> ReliabilityCurve:
    """Four bins of (0, 10, 30, 60) instances; the last one lies below its band."""
    predicted = np.array([np.nan, 0.3, 0.6, 0.9])
    observed = np.array([np.nan, 0.4, 0.6, 0.8 - shift])
    return ReliabilityCurve(
        name=name,
        edges=np.array([0.0, 0.25, 0.5, 0.75, 1.0]),
        weight=np.array([0.0, 10.0, 30.0, 60.0]),
        predicted=predicted,
        observed=observed,
        band=(predicted - 0.05, predicted + 0.1) if band else None,
        level=0.95 if band else None,
        n=100,
        target=None if name == "top label" else 0,
    )


def test_data_hold_the_filled_bins_only() -> None:
    columns = reliability(curve()).columns
    assert columns["bin"] == ["0.25 to 0.5", "0.5 to 0.75", "0.75 to 1"]
    assert columns["predicted"].tolist() == [0.3, 0.6, 0.9]
    assert columns["instances"].tolist() == [10, 30, 60]
    # bands: 0.25 to 0.4 (0.4 on its edge counts as inside), 0.55 to 0.7, 0.85 to 1.0 (0.8 is below)
    assert columns["outside"].tolist() == [False, False, True]
    assert mean_gap(curve()) == pytest.approx(0.1 * 0.1 + 0.3 * 0.0 + 0.6 * 0.1)
    assert error_outside(curve()) == pytest.approx(0.6 * 0.1)


def test_error_is_the_binned_error_of_the_statistic() -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), size=80), rng.integers(0, 3, size=80)
    curve = cr.reliability_curve(probs, labels, level=None)
    assert mean_gap(curve) == pytest.approx(cr.confidence_ece(probs, labels).value, abs=1e-12)
    assert reliability(curve).columns["instances"].sum() == 80


def test_finding_names_bins_band_and_the_weightiest_gap() -> None:
    assert reliability(curve()).finding == (
        "1 of 3 non-empty bins lies outside its 95 % band (about 0.2 would by chance); "
        "the gap with the largest weight is at confidence 0.9, where the observed frequency is 0.1 below it "
        "(60 of 100 instances)."
    )
    assert reliability(curve()).summary == "Error 0.07; 1 of 3 non-empty bins outside its band."
    both = reliability(dataclasses.replace(curve(), observed=np.array([np.nan, 0.5, 0.6, 0.8])))
    assert both.finding.startswith("2 of 3 non-empty bins lie outside their 95 % band")
    bare = reliability(curve("class 3", band=False))
    assert bare.finding == (
        "The gap with the largest weight is at predicted probability 0.9, where the "
        "observed frequency is 0.1 below it (60 of 100 instances)."
    )
    assert bare.summary == "Error 0.07."


def test_marks_on_the_axes_are_the_data() -> None:
    ax = reliability(curve()).draw()
    drawn = {line.get_label(): line for line in ax.get_lines()}
    assert drawn["inside its band"].get_xydata().tolist() == [[0.3, 0.4], [0.6, 0.6]]
    assert drawn["outside its band"].get_xydata().tolist() == [[0.9, 0.8]]
    # never colour alone
    assert drawn["inside its band"].get_marker() != drawn["outside its band"].get_marker()
    band = next(patch for patch in ax.patches if "95 %" in str(patch.get_label()))
    corners = band.get_path().vertices
    assert (corners[:, 1].min(), corners[:, 1].max()) == (pytest.approx(0.25), pytest.approx(1.0))
    assert {text.get_text() for text in ax.texts} == {"10", "30", "60"}


def test_a_band_without_height_is_drawn_between_0_and_1() -> None:
    # certain and always right: every draw shows a frequency of 1
    curve = cr.reliability_curve([[1.0, 0.0]] * 20, [0] * 20, n_resamples=19, rng=0)
    ax = reliability(curve).draw()
    band = next(patch for patch in ax.patches if "95 %" in str(patch.get_label()))
    heights = band.get_path().vertices[:, 1]
    assert (heights.min(), heights.max()) == (pytest.approx(0.994), 1.0)


@pytest.mark.slow
def test_given_axes_are_used_and_no_global_figure_is_made() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    assert reliability(curve()).draw(ax) is ax
    code = (
        "import sys, numpy as np, credibly as cr\n"
        "loaded = {'matplotlib', 'jinja2'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
        "from credibly.plots import picture\n"
        "curve = cr.reliability_curve([[0.9, 0.1], [0.2, 0.8]], [0, 1], n_resamples=9, rng=0)\n"
        "curve.plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_band_is_left_out_where_there_is_none() -> None:
    ax = reliability(curve(band=False)).draw()
    assert not [patch for patch in ax.patches if "draws" in str(patch.get_label())]
    assert "observed" in {line.get_label() for line in ax.get_lines()}


def test_class_names_are_text_not_formulas() -> None:
    ax = reliability(curve(r"class $\frac{$ with a name that goes on and on")).draw()
    ax.figure.savefig(io.BytesIO())  # type: ignore[union-attr]  # a formula would be parsed here, and fail
    title = ax.get_title(loc="left")
    assert len(title) == 28
    assert title.startswith(r"class $\frac{$")
    assert reliability(curve("class a\x00b")).draw().get_title(loc="left") == "class a\ufffdb"


def test_small_multiples_come_worst_first_and_count_the_hidden() -> None:
    curves = [curve(f"class {place}", shift) for place, shift in enumerate([0.0, 0.2, 0.1, 0.2])]
    # equal errors keep the order of the classes
    assert [one.name for one in worst_first(curves, 3)] == ["class 1", "class 3", "class 2"]
    figure = panels([reliability(one) for one in worst_first(curves)], columns=2)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["class 1", "class 3", "class 2", "class 0"]


@pytest.mark.usefixtures("without_pictures")
def test_a_page_says_which_class_is_worst_and_counts_the_hidden() -> None:
    curves = [curve(f"class {place}", shift) for place, shift in enumerate([0.0, 0.2, 0.1, 0.2])]

    def said(n_classes: int) -> str:
        evaluation = SimpleNamespace(
            curves=SimpleNamespace(per_class=curves),
            classes=["x"] * n_classes,
            predictions=SimpleNamespace(kind="Point"),
        )
        return class_figures(evaluation)[0]  # type: ignore[arg-type]

    # 0.1 * 0.1 + 0.6 * 0.3
    assert said(4) == "Class 1 has the largest error, 0.19."
    assert said(5) == "Class 1 has the largest error, 0.19; 1 class with a smaller error is not shown."
    assert said(9).endswith("; 5 classes with smaller errors are not shown.")


def test_panels_need_a_class_and_a_column() -> None:
    with pytest.raises(cr.InputError, match="at least one class to show"):
        worst_first([])
    with pytest.raises(cr.InputError, match="`columns` must be a positive integer"):
        panels([reliability(curve())], columns=0)
