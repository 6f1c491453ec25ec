"""Standard errors of rows that belong together: every cluster is left out once."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly._arrays.standard_errors import cluster_error

RNG = np.random.default_rng(11)
CODES = np.repeat(np.arange(12), 25)
PROBS = RNG.dirichlet(np.ones(3), size=300)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])


def test_equal_clusters_are_a_mean_of_means() -> None:
    """Standard deviation of the 12 means over root 12, and Student's t with 11 degrees of freedom."""
    estimate = cr.brier(PROBS, LABELS, clusters=CODES)
    every = np.sum((PROBS - np.eye(3)[LABELS]) ** 2, axis=1).reshape(12, 25).mean(axis=1)
    assert estimate.value == pytest.approx(every.mean())
    assert estimate.stderr == pytest.approx(every.std(ddof=1) / np.sqrt(12))
    assert (estimate.n, estimate.n_clusters) == (300, 12)
    assert estimate.degrees_of_freedom == pytest.approx(11.0)
    low, high = estimate.interval()
    assert high - low == pytest.approx(
        2 * 2.200985 * estimate.stderr, rel=1e-6
    )  # t table, 11 degrees, 97.5 %
    assert "300 in 12 clusters" in str(estimate)


@pytest.mark.parametrize("statistic", [cr.accuracy, cr.log_loss, cr.confidence_gap], ids=lambda one: one.name)
def test_unequal_clusters_are_left_out_one_by_one(statistic: object) -> None:
    codes = np.minimum(np.arange(300) // 7, 20)
    weights = RNG.uniform(0.5, 2.0, size=300)
    estimate = statistic(PROBS, LABELS, clusters=codes, sample_weight=weights)  # type: ignore[operator]
    without = []
    for code in range(21):
        mask = codes != code
        without.append(float(statistic(PROBS[mask], LABELS[mask], sample_weight=weights[mask])))  # type: ignore[operator]
    moved = np.array(without) - estimate.value
    assert estimate.stderr == pytest.approx(np.sqrt(20 / 21 * moved @ moved))
    assert estimate.degrees_of_freedom < 20


def test_debiased_errors_leave_out_pairs_inside() -> None:
    statistic = cr.confidence_ece.with_(n_bins=1, p=2, debiased=True)
    gap = (PROBS.argmax(axis=1) == LABELS) - PROBS.max(axis=1)
    counts = np.bincount(CODES, gap)
    estimate = statistic(PROBS, LABELS, clusters=CODES)
    assert estimate.value == pytest.approx((gap.sum() ** 2 - counts @ counts) / (300 * 299))
    assert estimate.has_interval


def test_kernel_errors_leave_out_pairs_inside() -> None:
    """Every row twice, as its own cluster: without the pairs inside, the same pairs as before, four times."""
    twice, labels, ids = (np.concatenate([one, one]) for one in (PROBS, LABELS, np.arange(300)))
    estimate = cr.skce(twice, labels, clusters=ids, bandwidth=0.5)
    assert estimate.value == pytest.approx(float(cr.skce(PROBS, LABELS, bandwidth=0.5)))
    assert any("inside a cluster" in note for note in estimate.notes)


def test_copies_of_rows_add_nothing() -> None:
    many, labels, ids = (np.repeat(one, 10, axis=0) for one in (PROBS, LABELS, np.arange(300)))
    alone, copied = cr.brier(PROBS, LABELS), cr.brier(many, labels, clusters=ids)
    assert copied.stderr == pytest.approx(alone.stderr)
    assert cr.brier(many, labels).stderr < 0.4 * alone.stderr


def test_few_clusters_have_no_interval() -> None:
    estimate = cr.brier(PROBS, LABELS, clusters=CODES % 5)
    assert estimate.stderr is not None
    with pytest.raises(cr.UnsupportedError, match="5 clusters are too few"):
        estimate.interval()


def test_unequal_clusters_have_fewer_degrees_of_freedom() -> None:
    """Rows of a cluster that are the same: one of 10 and nine of 1, (100 + 9)^2 / (100^2 + 9) - 1."""
    sizes = np.array([10.0, *[1.0] * 9])
    without = np.linspace(0.9, 1.1, 10)
    found = cluster_error(1.0, without, sizes, None)
    assert found["degrees_of_freedom"] == pytest.approx(109**2 / 10009 - 1)
    independent = cluster_error(1.0, without, sizes, 1e9)
    assert independent["degrees_of_freedom"] == pytest.approx(19**2 / 109 - 1)


def test_infinite_losses_have_no_error() -> None:
    probs, labels = PROBS.copy(), LABELS.copy()
    probs[0], labels[0] = [0.0, 0.5, 0.5], 0
    estimate = cr.log_loss(probs, labels, clusters=CODES)
    assert estimate.value == np.inf
    assert not estimate.has_interval
