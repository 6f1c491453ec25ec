"""Hosmer-Lemeshow in counts, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import credibly as cr

PROBS = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
LABELS = [0, 1, 0, 0]
BY_CLASS = cr.hosmer_lemeshow.with_(n_bins=2, binning="equal_width")


def test_bins_of_each_class() -> None:
    # class 0: 0.3 expected 1 seen, 2.4 expected 2 seen; class 1: 0.6 expected 1 seen, 0.7 expected 0 seen
    expected = 0.49 / 0.3 + 0.16 / 2.4 + 0.16 / 0.6 + 0.49 / 0.7
    assert float(BY_CLASS(PROBS, LABELS)) == pytest.approx(expected)


def test_one_grouping_by_confidence() -> None:
    # bins of confidence [.5, .75): rows 2, 3; [.75, 1]: rows 0, 1
    # class 0: 0.9 expected 2 seen, 1.8 expected 1 seen; class 1: 1.1 expected 0 seen, 0.2 expected 1 seen
    value = float(BY_CLASS(PROBS, LABELS, n_bins=4, grouping="confidence"))
    assert value == pytest.approx(1.21 / 0.9 + 0.64 / 1.8 + 1.21 / 1.1 + 0.64 / 0.2)


def test_m23_sorts_each_class_into_bins_of_equal_size() -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=40)
    labels = rng.integers(0, 3, size=40)
    printed = 0.0
    for k in range(3):  # M23 eq. 2 and 3, in frequencies
        for rows in np.argsort(probs[:, k]).reshape(5, 8):
            seen, expected = np.mean(labels[rows] == k), probs[rows, k].mean()
            printed += (seen - expected) ** 2 / expected
    # eq. 2 times the size of the bins is the form in counts, and one decides as the other
    found = cr.hosmer_lemeshow(probs, labels, n_bins=5, binning="equal_mass")
    assert float(found) == pytest.approx(8 * printed, rel=1e-12)


def test_nothing_expected_and_nothing_seen_is_zero() -> None:
    # class 1 is impossible everywhere: 0 / 0 counts as 0
    assert float(BY_CLASS([[1.0, 0.0], [1.0, 0.0]], [0, 0])) == 0


def test_a_label_where_none_was_expected_is_infinite() -> None:
    assert float(BY_CLASS([[1.0, 0.0], [1.0, 0.0]], [0, 1])) == math.inf


def test_reference_has_one_degree_less_per_bin() -> None:
    # 4 filled cells of 2 classes: 4 * (2 - 1) / 2 = 2 degrees of freedom
    bound = BY_CLASS.bind(PROBS)
    degrees, name = bound.chi_square()
    assert degrees == 2
    assert "chi-square with 2 degrees of freedom" in name
    assert "4 expected counts are below 5" in name  # 0.3, 2.4, 0.6, 0.7


@pytest.mark.slow
def test_reference_is_near_the_truth_on_large_samples() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([4.0, 4.0, 4.0], size=3000)
    uniform = rng.random((400, 3000, 1))
    values = [
        float(cr.hosmer_lemeshow(probs, (u > probs.cumsum(axis=1)).sum(axis=1), n_bins=5)) for u in uniform
    ]
    # the mean of a chi-square is its degrees of freedom, (3 - 1) * 5; 400 draws: 4 standard errors are 0.9
    assert np.mean(values) == pytest.approx(10, abs=4 * math.sqrt(2 * 10 / 400))
    # and some quantiles, at the 0.1 % level
    assert scipy.stats.kstest(values, scipy.stats.chi2(10).cdf).pvalue > 0.001


def test_a_label_where_almost_nothing_is_expected() -> None:
    """1 / 1e-310 is beyond double precision: infinite, without a warning."""
    probs = np.array([[1.0, 1e-310], [0.5, 0.5]])
    assert float(cr.hosmer_lemeshow.with_(n_bins=2)(probs, [1, 0])) == np.inf


def test_label_counts_are_refused() -> None:
    with pytest.raises(cr.UnsupportedError, match="`hosmer_lemeshow` takes classes; got counts"):
        cr.hosmer_lemeshow(PROBS, cr.LabelCounts(np.ones((4, 2), dtype=int)))


def test_grouping_is_a_word() -> None:
    with pytest.raises(cr.InputError, match="`grouping` must be one of 'class', 'confidence'"):
        cr.hosmer_lemeshow.with_(grouping="classes")


def test_the_interval_is_refused_for_a_reason_of_its_own() -> None:
    with pytest.raises(cr.UnsupportedError, match="it is a test statistic: it grows with n"):
        BY_CLASS(PROBS, LABELS).interval()
    # it does: the same labels four times over give four times the value
    assert float(BY_CLASS(np.repeat(PROBS, 4, axis=0), np.repeat(LABELS, 4))) == pytest.approx(
        4 * float(BY_CLASS(PROBS, LABELS))
    )
