"""Debiased squared errors against the double loop over pairs of different instances."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import credibly as cr

NAMES = ["confidence_ece", "top_label_ece", "classwise_ece"]


def deviations(name: str, probs: np.ndarray, frequency: np.ndarray, n_bins: int) -> dict:
    """Per cell the list of (event frequency - predicted probability)."""
    cells: dict[tuple[int, int], list[float]] = {}
    for row, seen in zip(probs, frequency, strict=True):
        top = int(row.argmax())
        events = range(len(row)) if name == "classwise_ece" else [top]
        for event in events:
            key = (0 if name == "confidence_ece" else event, int(row[event] * n_bins))
            cells.setdefault(key, []).append(seen[event] - row[event])
    return cells


def by_pairs(name: str, probs: np.ndarray, frequency: np.ndarray, n_bins: int) -> float:
    """sum over cells of |cell| / n * mean over pairs i != j of d_i d_j."""
    n = len(probs) * (probs.shape[1] if name == "classwise_ece" else 1)
    total = 0.0
    for gaps in deviations(name, probs, frequency, n_bins).values():
        if len(gaps) > 1:
            pairs = sum(a * b for a, b in itertools.permutations(gaps, 2))
            total += pairs / (len(gaps) - 1) / n
    return total


@pytest.mark.parametrize("n_bins", [1, 6, 15])
@pytest.mark.parametrize("name", NAMES)
def test_single_labels(name: str, n_bins: int) -> None:
    rng = np.random.default_rng(2)
    probs, labels = rng.dirichlet(np.ones(3), size=40), rng.integers(0, 3, size=40)
    statistic = cr.statistics.registered()[name].with_(p=2, debiased=True, n_bins=n_bins)
    expected = by_pairs(name, probs, np.eye(3)[labels], n_bins)
    assert float(statistic(probs, labels)) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_label_counts_pair_instances_not_raters(name: str) -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), size=30)
    counts = rng.multinomial(4, [0.5, 0.3, 0.2], size=30)
    statistic = cr.statistics.registered()[name].with_(p=2, debiased=True, n_bins=4)
    expected = by_pairs(name, probs, counts / 4, 4)
    assert float(statistic(probs, cr.LabelCounts(counts))) == pytest.approx(expected, abs=1e-14)


def test_two_instances_by_hand() -> None:
    # one bin, deviations 1 - 0.9 = 0.1 and 0 - 0.9 = -0.9: 2 * 0.1 * -0.9 / (2 * 1)
    value = cr.confidence_ece([[0.9, 0.1], [0.9, 0.1]], [0, 1], p=2, debiased=True)
    assert value.value == pytest.approx(-0.09)


def test_a_cell_with_one_instance_gives_zero() -> None:
    assert float(cr.confidence_ece([[0.9, 0.1]], [1], p=2, debiased=True)) == 0


def test_standard_error_is_that_of_the_influence() -> None:
    # one bin, confidences 0.8, three hits to a miss: d = 0.2, 0.2, -0.8, 0.2, g = -0.05;
    # 2 g d - g^2 = -0.0225 (three times) and 0.0775, mean 0.0025; all that three times, n = 12
    estimate = cr.confidence_ece([[0.8, 0.2]] * 12, [0, 0, 1, 0] * 3, p=2, debiased=True)
    assert estimate.stderr == pytest.approx(math.sqrt(3 * (3 * 0.025**2 + 0.075**2) / 11 / 12))


def test_counts_and_weights_have_no_standard_error() -> None:
    statistic = cr.confidence_ece.with_(p=2, debiased=True)
    probs = [[0.8, 0.2], [0.3, 0.7]]
    for estimate in (
        statistic(probs, cr.LabelCounts([[1, 2], [0, 3]])),
        statistic(probs, [0, 1], sample_weight=[1.0, 2.0]),
    ):
        with pytest.raises(cr.UnsupportedError, match="only for two or more unweighted single labels"):
            estimate.interval()


def test_traits_of_the_debiased_error_are_its_own() -> None:
    debiased = cr.confidence_ece.with_(p=2, debiased=True)
    assert not debiased.traits.duplicate_invariant
    assert debiased.traits.range is None
    assert cr.confidence_ece.traits.duplicate_invariant
    assert debiased.with_(debiased=False).traits == cr.confidence_ece.traits


def test_sparse_bins_have_no_interval() -> None:
    statistic = cr.confidence_ece.with_(p=2, debiased=True, n_bins=10)
    # bins of 0.65 and 0.85 with 9 instances each, then with 10
    probs = np.tile([[0.65, 0.35], [0.85, 0.15]], (9, 1))
    with pytest.raises(
        cr.UnsupportedError, match=("half of the non-empty bins contain fewer than 10 instances")
    ):
        statistic(probs, [0, 1] * 9).interval()
    parts = cr.decompose_brier(probs, [0, 1] * 9, n_bins=10)
    with pytest.raises(
        cr.UnsupportedError, match=("half of the non-empty bins contain fewer than 10 instances")
    ):
        parts.refinement.interval()
    more = np.tile(probs[:2], (10, 1))
    assert statistic(more, [0, 1] * 10).stderr > 0
    assert cr.decompose_brier(more, [0, 1] * 10, n_bins=10).refinement.stderr > 0


def test_influence_of_many_rows_is_that_of_all_at_once() -> None:
    # 2 g d - g^2, averaged over the classes of a row; more rows than one tile holds
    n, k, bins = 9000, 10, 5
    rng = np.random.default_rng(4)
    probs, labels = rng.dirichlet(np.ones(k), size=n), rng.integers(k, size=n)
    statistic = cr.classwise_ece.with_(p=2, debiased=True, n_bins=bins)
    hits = labels[:, None] == np.arange(k)
    deviation, gap = hits - probs, np.zeros((n, k))
    cell = np.minimum(np.ceil(probs * bins).astype(int) - 1, bins - 1)
    for c in range(k):
        for j in range(bins):
            rows = cell[:, c] == j
            gap[rows, c] = deviation[rows, c].mean() if rows.any() else 0.0
    influence = (gap * (2 * deviation - gap)).mean(axis=1)
    expected = influence.std(ddof=1) / math.sqrt(n)
    assert statistic(probs, labels).stderr == pytest.approx(expected, rel=1e-12)
