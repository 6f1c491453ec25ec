"""Null distributions as data, then as marks on axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.hypotests import histogram, null
from credibly.results.tests import HypotestResult
from pictures import marked


def result(drawn: Any, observed: float = 0.5, region: tuple[float, float] = (0.0, 0.4)) -> HypotestResult:
    return HypotestResult(
        name="calibration_test",
        hypothesis="h",
        statistic_name="confidence_ece",
        statistic=observed,
        pvalue=0.01,
        pvalue_interval=None,
        tail="greater",
        null_distribution=None if drawn is None else np.asarray(drawn),
        acceptance_region=region,
        effect_size=0.1,
        z_score=1.0,
        n=10,
        n_resamples=99,
    )


def test_every_replicate_is_in_the_histogram() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.gamma(2.0, size=999)
    counts, edges = histogram(drawn)
    assert counts.sum() == 999
    assert (edges[0], edges[-1]) == (drawn.min(), drawn.max())
    assert len(counts) == 30
    picture = null(result(drawn))
    assert picture.columns["replicates"].tolist() == counts.tolist()
    left, right, _, heights = marked(picture, "draws under the hypothesis")
    assert (left.tolist(), right.tolist(), heights.tolist()) == (
        edges[:-1].tolist(), edges[1:].tolist(), counts.tolist()
    )  # fmt: skip
    assert marked(picture, "acceptance region")[1] == 0.4


@pytest.mark.parametrize(("values", "n_bins"), [(12, 12), (40, 20), (3, 3)])
def test_steps_of_a_discrete_statistic_leave_no_comb(values: int, n_bins: int) -> None:
    drawn = np.tile(np.arange(values) / 900, 25)  # an accuracy over 900 instances, every value 25 times
    counts, _ = histogram(drawn)
    assert counts.sum() == drawn.size
    assert len(counts) == n_bins
    assert len(set(counts.tolist())) == 1  # each bin holds equally many steps


def test_constant_and_infinite_replicates() -> None:
    counts, edges = histogram(np.full(9, 0.2))
    assert counts.tolist() == [9]
    assert edges[0] < 0.2 < edges[1]
    some = null(result([0.1, 0.2, np.inf, np.inf]))
    assert some.columns["replicates"].sum() == 2
    assert "2 replicates are infinite and not drawn." in some.finding


@pytest.mark.parametrize("drawn", [None, [np.inf, np.inf]])
def test_nothing_to_draw_is_said(drawn: Any) -> None:
    with pytest.raises(cr.UnsupportedError, match="can be drawn only if replicates have finite values"):
        null(result(drawn))


def test_finding_says_inside_or_outside() -> None:
    outside = result([0.1, 0.2, 0.3])
    assert null(outside).finding == (
        "Confidence ECE 0.5 lies outside the acceptance region (0 to 0.4), p = 0.01."
    )
    assert "lies inside" in null(outside, (0.0, 0.6)).finding


def test_marks_on_the_axes_are_the_data() -> None:
    ax = null(result(np.linspace(0.1, 0.3, 50))).draw()
    mark = next(line for line in ax.get_lines() if line.get_label() == "observed 0.5")
    assert mark.get_xdata().tolist() == [0.5]
    assert mark.get_marker() == "D"  # outside; a circle inside
    assert ax.get_xlim()[0] < 0.1
    assert ax.get_xlim()[1] > 0.5
    region = next(patch for patch in ax.patches if patch.get_label() == "acceptance region")
    assert region.get_extents().transformed(ax.transData.inverted()).x1 == pytest.approx(0.4)
    inside = null(result(np.linspace(0.1, 0.3, 50), observed=0.2)).draw()
    assert next(line for line in inside.get_lines() if line.get_label() == "observed 0.2").get_marker() == "o"


def test_an_infinite_observation_is_written_out() -> None:
    ax = Figure().add_subplot()
    assert null(result([0.1, 0.2], observed=np.inf)).draw(ax) is ax
    assert [text.get_text() for text in ax.texts] == ["observed: infinite"]
