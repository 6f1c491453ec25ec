"""Reliability curves by hand, and their consistency bands."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import credibly as cr
from credibly._arrays.philox import as_seed
from credibly.hypotests.calibration.reliability import asking_curves
from credibly.hypotests.resampling.requests import answered
from credibly.predictions import as_rows
from optional import torch

PROBS = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
LABELS = np.array([0, 1, 1, 1])


def test_top_label_curve_by_hand() -> None:
    curve = cr.reliability_curve(PROBS, LABELS, n_bins=5, level=None)
    assert curve.edges.tolist() == [0, 1 / 5, 2 / 5, 3 / 5, 4 / 5, 1]
    assert curve.weight.tolist() == [0, 0, 0, 2, 2]
    # [.6, .8): confidences 0.6 (missed) and 0.7 (hit); [.8, 1]: 0.9 twice, one hit
    assert curve.predicted[3:].tolist() == pytest.approx([0.65, 0.9])
    assert curve.observed[3:].tolist() == pytest.approx([0.5, 0.5])
    assert np.isnan(curve.predicted[:3]).all()  # empty bins stay empty
    assert np.isnan(curve.observed[:3]).all()
    assert curve.band is None


def test_curve_of_one_class_by_hand() -> None:
    curve = cr.reliability_curve(PROBS, LABELS, target=0, n_bins=2, level=None)
    assert curve.name == "class 0"
    # [0, .5): 0.3, label 1; [.5, 1]: 0.9, 0.9, 0.6, one of three is class 0
    assert curve.weight.tolist() == [1, 3]
    assert curve.predicted.tolist() == pytest.approx([0.3, 0.8])
    assert curve.observed.tolist() == pytest.approx([0.0, 1 / 3])


def test_weights_and_counts() -> None:
    weighted = cr.reliability_curve(PROBS, LABELS, n_bins=1, level=None, sample_weight=[3, 1, 0, 0])
    assert weighted.weight.tolist() == [4]
    assert weighted.observed.tolist() == [3 / 4]
    counts = cr.LabelCounts([[3, 1], [3, 1], [0, 2], [0, 2]])
    # shares of raters for the predicted class: 3/4, 3/4, 0, 1
    counted = cr.reliability_curve(PROBS, counts, n_bins=1, level=None)
    assert counted.observed.tolist() == pytest.approx([2.5 / 4])


def test_the_curve_draws_the_error() -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), size=90), rng.integers(0, 3, size=90)
    for binning in ("equal_width", "equal_mass"):
        settings = {"n_bins": 6, "binning": binning, "closed": "right"}
        curve = cr.reliability_curve(probs, labels, level=None, **settings)
        filled = curve.weight > 0
        gap = np.abs(curve.observed - curve.predicted)[filled]
        error = float(cr.confidence_ece(probs, labels, **settings))
        assert np.sum(curve.weight[filled] * gap) / 90 == pytest.approx(error)
        each = answered(asking_curves(as_rows(probs, labels), [0, 1, 2], None, 0, (0, 0), **settings))
        gaps = [np.nansum(one.weight * np.abs(one.observed - one.predicted)) / 90 for one in each]
        assert np.mean(gaps) == pytest.approx(float(cr.classwise_ece(probs, labels, **settings)))


def test_the_band_is_the_binomial_one_where_all_say_the_same() -> None:
    probs = np.tile([0.7, 0.3], (200, 1))
    curve = cr.reliability_curve(probs, np.zeros(200, int), n_bins=10, n_resamples=4000, rng=0, level=0.9)
    low, high = (end[7] for end in curve.band)
    reference = scipy.stats.binom(200, 0.7)
    # one step of the binomial is 1/200
    assert low == pytest.approx(reference.ppf(0.05) / 200, abs=1.01 / 200)
    assert high == pytest.approx(reference.ppf(0.95) / 200, abs=1.01 / 200)
    assert np.isnan(curve.band[0][:7]).all()


def test_the_band_does_not_depend_on_labels_library_or_company() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), size=50)
    settings = {"n_bins": 4, "n_resamples": 60, "rng": 3}
    curve = cr.reliability_curve(probs, rng.integers(0, 3, 50), target=1, **settings)
    other = cr.reliability_curve(
        torch.tensor(probs), torch.zeros(50, dtype=torch.int64), target=1, **settings
    )
    rows = as_rows(probs, rng.integers(0, 3, 50))
    both = answered(asking_curves(rows, ["top_label", 1], 0.95, 60, as_seed(3), n_bins=4))[1]
    for one in (other, both):
        np.testing.assert_allclose(one.band, curve.band, rtol=1e-12)
    assert isinstance(other.observed, np.ndarray)


@pytest.mark.parametrize("target", [2, -1, "top", 0.5])
def test_the_target_is_the_top_label_or_a_class(target: object) -> None:
    with pytest.raises(cr.InputError, match='`target` must be "top_label" or a class from 0 to 1'):
        cr.reliability_curve(PROBS, LABELS, target=target)


def test_level_and_replicates_are_checked() -> None:
    with pytest.raises(cr.InputError, match="`level` must lie strictly between 0 and 1"):
        cr.reliability_curve(PROBS, LABELS, level=95)
    with pytest.raises(cr.InputError, match="`n_resamples` must be"):
        cr.reliability_curve(PROBS, LABELS, n_resamples=0)


def test_the_curve_is_json_safe() -> None:
    record = cr.reliability_curve(PROBS, LABELS, n_bins=5, level=None).to_dict()
    assert record["observed"][0] == "NaN"
    assert math.isclose(record["observed"][4], 0.5)


def test_a_band_for_label_counts_is_refused():
    counts = cr.LabelCounts([[2, 1], [0, 3]])
    with pytest.raises(cr.UnsupportedError, match=r"one label per instance.*level=None"):
        cr.reliability_curve([[0.5, 0.5], [0.2, 0.8]], counts)
    assert cr.reliability_curve([[0.5, 0.5], [0.2, 0.8]], counts, level=None).band is None
