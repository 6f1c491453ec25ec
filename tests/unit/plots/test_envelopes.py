"""Curves with envelopes as data, then as marks on axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import credibly as cr
from credibly.plots.curves import envelope

RNG = np.random.default_rng(0)
GAUSSIAN = cr.Gaussian(np.zeros(80), np.ones(80))
CALIBRATED, SHIFTED = RNG.normal(size=80), 1.5 + RNG.normal(size=80)


def curves(labels: np.ndarray) -> tuple[cr.results.EnvelopeCurve, cr.results.EnvelopeCurve]:
    settings = {"levels": 10, "n_resamples": 99, "rng": 0}
    return cr.pit_test(GAUSSIAN, labels, **settings), cr.coverage_curve(GAUSSIAN, labels, **settings)


def test_the_data_are_those_of_the_curve() -> None:
    curve = curves(SHIFTED)[0]
    picture = envelope(curve)
    np.testing.assert_array_equal(picture.columns["level"], curve.levels)
    table = picture.table()
    assert table.columns == ("level", "observed", "lower", "upper")
    assert len(table.rows) == 9


def test_the_table_has_the_numbers_of_the_picture() -> None:
    pit, coverage = curves(SHIFTED)
    # the first picture shows shares minus their levels, the second shares
    for curve, minus in ((pit, pit.levels), (coverage, 0.0)):
        values = np.array(envelope(curve).table().rows, dtype=float)
        drawn = np.stack([curve.levels, *(one - minus for one in (curve.observed, curve.lower, curve.upper))])
        np.testing.assert_allclose(values.T, drawn, atol=5e-4)  # three digits


def test_findings_say_where_the_curve_leaves() -> None:
    pit, coverage = curves(SHIFTED)
    assert "leaves its 95 % envelope at" in envelope(pit).finding
    assert "fewer than stated" in envelope(pit).finding  # labels are larger, so few lie below quantiles
    assert "inside the central interval, fewer than stated" in envelope(coverage).finding
    pit, coverage = curves(CALIBRATED)
    assert "stays inside its 95 % envelope at all 9 levels" in envelope(pit).finding
    assert f"p = {pit.pvalue:g}" in envelope(pit).finding


def test_counts_lie_off_the_levels_and_the_words_say_so() -> None:
    """Draws of 0 or 1 repeat: the quantile of level 0.1 is 0, and half of right labels lie at or below it."""
    rng = np.random.default_rng(3)
    draws, labels = cr.Samples(rng.integers(0, 2, size=(300, 20)).astype(float)), rng.integers(0, 2, size=300)
    for function in (cr.pit_test, cr.coverage_curve):
        curve = function(draws, labels.astype(float), levels=10, n_resamples=99, rng=0)
        assert not curve.rejects()
        assert np.abs(curve.difference).max() > 0.3
        assert np.abs(curve.observed - curve.expected).max() < 0.1
        assert "compare the curve with the envelope, not with the levels" in str(curve)
        finding = envelope(curve).finding
        assert "that right predictions show. Here draws are few or repeat" in finding
    curve = curves(SHIFTED)[0]
    assert np.array_equal(curve.expected, curve.levels)
    assert "draws" not in envelope(curve).finding + str(curve)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_labels_of_a_gaussian_are_not_taken_for_few_draws(n: int) -> None:
    """Shares of one label are 0 or 1, so the envelope of level 0.01 ends at 0."""
    for function in (cr.pit_test, cr.coverage_curve):
        curve = function(cr.Gaussian(np.zeros(n), np.ones(n)), np.linspace(0.3, 0.5, n), rng=0)
        assert np.array_equal(curve.expected, curve.levels)
        assert "draws" not in str(curve)


def test_a_rejected_curve_that_only_touches_is_not_called_inside() -> None:
    curve = curves(CALIBRATED)[0]
    touching = envelope(cr.results.EnvelopeCurve(**{**vars(curve), "pvalue": 0.04, "observed": curve.upper}))
    assert "runs along the edge" in touching.finding


@pytest.mark.parametrize("small", [False, True])
def test_marks(small: bool) -> None:
    for curve, base in zip(curves(SHIFTED), (True, False), strict=True):
        ax = envelope(curve).draw(Figure().add_subplot(), small=small)
        lines = {line.get_label(): line for line in ax.get_lines()}
        expected = curve.observed - (curve.levels if base else 0)
        assert np.allclose(lines["observed"].get_ydata(), expected)
        assert lines["outside"].get_marker() == "D"  # never colour alone
        assert len(lines["outside"].get_xdata()) == curve.outside.sum()
        stated = lines["as stated"].get_ydata()
        assert np.allclose(stated, 0 if base else [0, *curve.levels, 1])  # from end to end, however few
        assert bool(ax.get_xlabel()) != small


def test_one_interval_has_an_envelope_to_see() -> None:
    """Quantiles at 0.1, 0.5 and 0.9 have one interval: its band is a piece around 0.8, not a line."""
    quantiles = cr.Quantiles(np.tile([-1.28, 0.0, 1.28], (60, 1)), [0.1, 0.5, 0.9])
    curve = cr.coverage_curve(quantiles, np.random.default_rng(0).normal(size=60), rng=0)
    assert len(curve.levels) == 1
    (band,) = envelope(curve).draw(Figure().add_subplot()).collections
    corners = band.get_paths()[0].vertices
    assert np.allclose([corners[:, 0].min(), corners[:, 0].max()], [0.78, 0.82])
    assert np.allclose([corners[:, 1].min(), corners[:, 1].max()], [curve.lower[0], curve.upper[0]])


def test_functions_draw_on_given_or_new_axes() -> None:
    pit, coverage = curves(CALIBRATED)
    ax = Figure().add_subplot()
    assert envelope(pit).draw(ax) is ax
    assert envelope(coverage).draw().figure is not None
    assert "outside" not in [line.get_label() for line in ax.get_lines()]
