"""Binned calibration errors by hand, and against the definition written as loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr

PROBS = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])


def test_confidence_ece_with_one_bin() -> None:
    # confidences 0.9 + 0.9 + 0.6 + 0.7 = 3.1, hits 1 + 0 + 0 + 1 = 2
    assert float(cr.confidence_ece(PROBS, [0, 1, 1, 1], n_bins=1)) == pytest.approx(1.1 / 4)


def test_confidence_ece_left_and_right_closed() -> None:
    # [.6, .8): 0.6 missed, 0.7 hit, |1 - 1.3| = 0.3; [.8, 1]: |1 - 1.8| = 0.8
    assert float(cr.confidence_ece(PROBS, [0, 1, 1, 1], n_bins=5)) == pytest.approx(1.1 / 4)
    # (.4, .6]: 0.6; (.6, .8]: |1 - 0.7| = 0.3; (.8, 1]: 0.8
    right = cr.confidence_ece(PROBS, [0, 1, 1, 1], n_bins=5, closed="right")
    assert float(right) == pytest.approx(1.7 / 4)


def test_confidence_ece_with_exponent_two_is_a_root_mean_square() -> None:
    # [.6, .8): gap |2 - 1.3| / 2 = 0.35; [.8, 1]: |1 - 1.8| / 2 = 0.4; half of the instances each
    value = float(cr.confidence_ece(PROBS, [0, 1, 0, 1], n_bins=5, p=2))
    assert value == pytest.approx(math.sqrt(0.5 * 0.35**2 + 0.5 * 0.4**2))


def test_confidence_ece_with_equal_mass_bins() -> None:
    # confidences 0.6, 0.7 | 0.9, 0.9: the same two halves as above
    value = float(cr.confidence_ece(PROBS, [0, 1, 1, 1], n_bins=2, binning="equal_mass"))
    assert value == pytest.approx((0.3 + 0.8) / 4)


def test_top_label_ece_bins_within_the_predicted_class() -> None:
    # predicted 0, 0, 0, 1. Class 0: 2.4 expected, 1 hit; class 1: 0.7 expected, 1 hit
    assert float(cr.top_label_ece(PROBS, [0, 1, 1, 1], n_bins=1)) == pytest.approx((1.4 + 0.3) / 4)


def test_classwise_ece_averages_over_classes() -> None:
    # one bin. Class 0: 2.7 expected, 3 seen; class 1: 1.3 expected, 1 seen; mean over 2 classes
    assert float(cr.classwise_ece(PROBS, [0, 1, 0, 0], n_bins=1)) == pytest.approx((0.3 + 0.3) / 4 / 2)
    # two bins. Class 0: |1 - 0.3| and |2 - 2.4|; class 1: |1 - 0.6| and |0 - 0.7|
    assert float(cr.classwise_ece(PROBS, [0, 1, 0, 0], n_bins=2)) == pytest.approx(2.2 / 4 / 2)


def test_empty_bins_add_nothing() -> None:
    # 0.9 twice, one hit: |1 - 1.8| / 2, however many empty bins there are
    for n_bins in (1, 10, 1000):
        assert float(cr.confidence_ece(PROBS[:2], [0, 1], n_bins=n_bins)) == pytest.approx(0.4)


def test_sharp_and_right_is_perfect_sharp_and_wrong_is_one() -> None:
    certain = np.eye(3)
    for statistic in (cr.confidence_ece, cr.top_label_ece):
        assert float(statistic(certain, [0, 1, 2])) == 0
        assert float(statistic(certain, [1, 2, 0])) == 1
    assert float(cr.classwise_ece(certain, [1, 2, 0])) == pytest.approx(2 / 3)  # two of three columns off


def by_loops(name: str, probs: np.ndarray, labels: np.ndarray, n_bins: int, p: float) -> float:
    """The definitions, instance by instance; no probability lies on an edge."""
    n, k = probs.shape
    cells: dict[tuple[int, int], list[float]] = {}
    for row, label in zip(probs, labels, strict=True):
        top = int(row.argmax())
        events = [(top, row[top])] if name != "classwise_ece" else list(enumerate(row))
        for event, prob in events:
            key = (0 if name == "confidence_ece" else event, int(prob * n_bins))
            cells.setdefault(key, []).append(float(label == event) - prob)
    total = sum(len(gaps) * abs(sum(gaps) / len(gaps)) ** p for gaps in cells.values())
    return (total / n / (k if name == "classwise_ece" else 1)) ** (1 / p)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("n_bins", [1, 4, 15, 70])
@pytest.mark.parametrize("name", ["confidence_ece", "top_label_ece", "classwise_ece"])
def test_against_loops(name: str, n_bins: int, p: float) -> None:
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(4), size=60)
    labels = rng.integers(0, 4, size=60)
    value = float(cr.statistics.registered()[name](probs, labels, n_bins=n_bins, p=p))
    assert value == pytest.approx(by_loops(name, probs, labels, n_bins, p), abs=1e-14)


@pytest.mark.parametrize("name", ["confidence_ece", "top_label_ece", "classwise_ece"])
def test_the_plug_in_error_refuses_an_interval_and_names_the_alternative(name: str) -> None:
    estimate = cr.statistics.registered()[name](PROBS, [0, 1, 0, 0])
    assert estimate.stderr is None
    with pytest.raises(cr.UnsupportedError, match=r"such intervals have a coverage of 0.*calibration_test"):
        estimate.interval()


@pytest.mark.parametrize("p", [0.5, -math.inf, math.nan, "2"])
def test_the_exponent_must_be_a_number_of_at_least_one(p: object) -> None:
    with pytest.raises(cr.InputError, match="`p` must be a number of at least 1"):
        cr.confidence_ece.with_(p=p)


def test_debiased_needs_the_squared_error() -> None:
    with pytest.raises(cr.InputError, match=r"only for the squared error \(p=2\); got p=1"):
        cr.confidence_ece(PROBS, [0, 1, 0, 0], debiased=True)


def test_a_set_is_represented_by_its_mean_and_the_notes_say_so() -> None:
    ensemble = np.stack([PROBS, PROBS[:, ::-1], PROBS], axis=1)
    estimate = cr.confidence_ece(ensemble, [0, 1, 0, 1])
    mean = cr.confidence_ece(ensemble.mean(axis=1), [0, 1, 0, 1])
    assert estimate.value == pytest.approx(mean.value)
    assert estimate.notes == ("used the mean of 3 members as the one prediction per instance",)
    assert mean.notes == ()
