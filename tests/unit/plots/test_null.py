"""Null distributions as data, then as marks on axes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots import null_data, null_distribution
from credibly.results.tests import HypotestResult


def result(null: Any, observed: float = 0.5, region: tuple[float, float] = (0.0, 0.4)) -> HypotestResult:
    return HypotestResult(
        name="calibration_test",
        hypothesis="h",
        statistic_name="confidence_ece",
        statistic=observed,
        pvalue=0.01,
        pvalue_interval=None,
        tail="greater",
        null_distribution=None if null is None else np.asarray(null),
        acceptance_region=region,
        effect_size=0.1,
        z_score=1.0,
        n=10,
        n_resamples=99,
    )


def test_every_replicate_is_in_the_histogram() -> None:
    rng = np.random.default_rng(0)
    null = rng.gamma(2.0, size=999)
    data = null_data(result(null))
    assert data.counts.sum() == 999
    assert (data.edges[0], data.edges[-1]) == (null.min(), null.max())
    assert len(data.counts) == 30
    assert (data.observed, data.acceptance, data.n_infinite) == (0.5, (0.0, 0.4), 0)


@pytest.mark.parametrize(("values", "n_bins"), [(12, 12), (40, 20), (3, 3)])
def test_steps_of_a_discrete_statistic_leave_no_comb(values: int, n_bins: int) -> None:
    null = np.tile(np.arange(values) / 900, 25)  # an accuracy over 900 instances, every value 25 times
    data = null_data(result(null))
    assert data.counts.sum() == null.size
    assert len(data.counts) == n_bins
    assert len(set(data.counts.tolist())) == 1  # each bin holds equally many steps


def test_constant_and_infinite_replicates() -> None:
    constant = null_data(result(np.full(9, 0.2)))
    assert constant.counts.tolist() == [9]
    assert constant.edges[0] < 0.2 < constant.edges[1]
    some = null_data(result([0.1, 0.2, np.inf, np.inf]))
    assert (some.counts.sum(), some.n_infinite) == (2, 2)
    assert "2 replicates are infinite and not drawn." in some.finding


@pytest.mark.parametrize("null", [None, [np.inf, np.inf]])
def test_nothing_to_draw_is_said(null: Any) -> None:
    with pytest.raises(cr.UnsupportedError, match="can be drawn where replicates have finite values"):
        null_data(result(null))


def test_finding_says_inside_or_outside() -> None:
    outside = null_data(result([0.1, 0.2, 0.3]))
    assert outside.finding == ("Confidence ECE 0.5 lies outside the acceptance region (0 to 0.4), p = 0.01.")
    assert "lies inside" in dataclasses.replace(outside, observed=0.3).finding


def test_marks_on_the_axes_are_the_data() -> None:
    ax = null_distribution(result(np.linspace(0.1, 0.3, 50)))
    mark = next(line for line in ax.get_lines() if line.get_label() == "observed 0.5")
    assert mark.get_xdata().tolist() == [0.5]
    assert mark.get_marker() == "D"  # outside; a circle inside
    assert ax.get_xlim()[0] < 0.1
    assert ax.get_xlim()[1] > 0.5
    region = next(patch for patch in ax.patches if patch.get_label() == "acceptance region")
    assert region.get_extents().transformed(ax.transData.inverted()).x1 == pytest.approx(0.4)
    inside = null_distribution(result(np.linspace(0.1, 0.3, 50), observed=0.2))
    assert next(one for one in inside.get_lines() if one.get_label() == "observed 0.2").get_marker() == "o"


def test_an_infinite_observation_is_written_out() -> None:
    ax = Figure().add_subplot()
    assert null_distribution(result([0.1, 0.2], observed=np.inf), ax=ax) is ax
    assert [text.get_text() for text in ax.texts] == ["observed: infinite"]
