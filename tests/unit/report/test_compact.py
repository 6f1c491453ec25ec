"""Fewer bytes, the same picture and the same results."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import credibly as cr
from credibly.plots import new_axes
from credibly.report.svg import LONGEST_SERIES, compact_path, compact_picture, inline_svg, summarised


def test_short_series_and_everything_else_stay_as_they_are() -> None:
    given = {"a": [1.5, "NaN", 3], "b": {"c": [list(range(LONGEST_SERIES))]}, "d": ["x"] * 500, "e": True}
    assert summarised(given) == given


def test_a_long_series_becomes_its_quantiles() -> None:
    values = [float(value) for value in range(1001)]  # the q-quantile of 0..1000 is 1000 q
    found = summarised({"deep": [values]})["deep"][0]
    assert (found["length"], found["not_finite"], found["mean"]) == (1001, 0, 500.0)
    assert found["quantiles"]["0.025"] == pytest.approx(25.0)
    assert (found["quantiles"]["0.0"], found["quantiles"]["1.0"]) == (0.0, 1000.0)


def test_what_is_not_finite_is_counted() -> None:
    assert summarised(["Infinity"] * 200 + [1.0] * 100)["not_finite"] == 200
    assert summarised(["NaN"] * 200) == {"type": "Summary", "length": 200, "not_finite": 200}


def test_the_acceptance_region_can_be_read_from_a_summary() -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=100)
    labels = rng.integers(0, 3, size=100)
    result = cr.calibration_test(probs, labels, statistics="brier", n_resamples=999, rng=0)
    quantiles = summarised(result.to_dict())["null_distribution"]["quantiles"]
    null = result.null_distribution
    assert null is not None
    assert quantiles["0.975"] == pytest.approx(float(np.quantile(null, 0.975)))


@pytest.mark.parametrize(
    ("drawn", "written"),
    [
        ("M 1.234 2 L 5.678 2 L 5.678 9.99 z", "M1.2 2H5.7V10z"),
        ("M 0 0 L 1 1", "M0 0L1 1"),
        ("M 0.5 0 C 1.04 2.06 3 -4 5 6 L 5 7", "M0.5 0C1 2.1 3 -4 5 6V7"),
        ("M -0.01 -0 L 1e2 0", "M0 0H100"),
        ("M 1 1 L 2 2 z M 2 5 L 2 6", "M1 1L2 2zM2 5V6"),
    ],
)
def test_paths(drawn: str, written: str) -> None:
    assert compact_path(drawn) == written


def test_points_move_by_less_than_a_tenth() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 300, size=(50, 2))
    drawn = "M " + " L ".join(f"{x:.6f} {y:.6f}" for x, y in points)
    numbers = [float(text) for text in re.findall(r"[\d.]+", compact_path(drawn))]
    assert np.abs(np.reshape(numbers, (50, 2)) - points).max() <= 0.05 + 1e-9


def test_a_style_moves_to_the_group_only_if_children_inherit_it() -> None:
    inherited = ET.fromstring(
        '<svg><g><use style="fill: red; stroke: blue"/><use style="fill: red; stroke: blue"/></g></svg>'
    )
    compact_picture(inherited)
    assert ET.tostring(inherited) == b'<svg><g style="fill:red;stroke:blue"><use /><use /></g></svg>'
    faint = ET.fromstring('<svg><g><use style="opacity: 0.5"/><use style="opacity: 0.5"/></g></svg>')
    compact_picture(faint)
    assert ET.tostring(faint) == b'<svg><use style="opacity:0.5" /><use style="opacity:0.5" /></svg>'


def test_a_use_leaves_to_its_marker_what_the_marker_says() -> None:
    marked = ET.fromstring(
        '<svg><defs><path id="m" d="M0 0V3" style="stroke: red; opacity: 0.5"/></defs>'
        '<use href="#m" style="fill: red; stroke: blue; opacity: 0.5"/></svg>'
    )
    compact_picture(marked)
    assert marked[1].attrib["style"] == "fill:red;opacity:0.5"  # opacities multiply, colours do not


def test_families_of_fonts_are_left_to_the_page() -> None:
    written = ET.fromstring(
        """<svg><text style="font: 10px 'DejaVu Sans', sans-serif; text-anchor: end">1</text>"""
        """<text style="font: bold 10px 'DejaVu Sans'">2</text></svg>"""
    )
    compact_picture(written)
    assert [one.attrib["style"] for one in written] == [
        "font-size:10px;text-anchor:end",
        "font:bold 10px 'DejaVu Sans'",
    ]


def test_turned_text_stays_turned() -> None:
    turned = ET.fromstring(
        '<svg><text transform="rotate(-90 12.345 6)" x="1.26"/><text transform="rotate(-0 1 2)"/></svg>'
    )
    compact_picture(turned)
    first, second = turned
    assert first.attrib == {"transform": "rotate(-90 12.3 6)", "x": "1.3"}
    assert second.attrib == {}


def test_a_drawing_keeps_its_marks_and_loses_its_bulk() -> None:
    ax = new_axes(3, 3)
    x = np.linspace(0, 1, 40)
    ax.plot(x, np.sin(math.tau * x), "o", color="#0072b2")
    ax.set_ylabel("turned")
    svg = inline_svg(ax.figure, "a", "Title", "finding")  # type: ignore[arg-type]
    marks = re.search(
        r'<g clip-path[^>]*style="fill:var\(--blue\)">(.*?)</g>', svg
    )  # their stroke is the marker's
    assert marks is not None
    assert marks[1].count("<use ") == 40
    assert "rotate(-90" in svg
    assert "font-family" not in svg
    assert "<g>" not in svg
    assert len(svg) < 5000  # 12 kB as matplotlib writes it
