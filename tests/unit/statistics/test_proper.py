"""Accuracy, Brier and log loss by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import as_labels
from credibly.statistics.proper import top_label
from kinds import CLASS_STATISTICS
from optional import torch

PROBS = [[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]]
LABELS = [0, 0, 0]


def test_accuracy_counts_the_most_probable_class_and_ties_go_to_the_lowest_index() -> None:
    # predicted 0, 1, 0 (a tie): hits 1, 0, 1
    assert float(cr.accuracy(PROBS, LABELS)) == 2 / 3
    # and against it where the label is the other class of the tie: hits 0, 1, 0
    assert float(cr.accuracy(PROBS, [1, 1, 1])) == 1 / 3


def test_accuracy_standard_error() -> None:
    # hits 1, 0, 1: variance with n - 1 is (1/9 + 4/9 + 1/9) / 2 = 1/3, over n = 3
    assert cr.accuracy(PROBS, LABELS).stderr == pytest.approx(1 / 3)


def test_brier_is_a_sum_over_classes_and_a_mean_over_instances() -> None:
    # 2 * 0.3^2 = 0.18, 2 * 0.6^2 = 0.72, 2 * 0.5^2 = 0.5
    estimate = cr.brier(PROBS, LABELS)
    assert estimate.value == pytest.approx((0.18 + 0.72 + 0.5) / 3)
    # deviations from 7/15: -0.286667, 0.253333, 0.033333; squares sum to 0.1474667, / 2 / 3
    assert estimate.stderr == pytest.approx(math.sqrt(0.1474666667 / 6))


def test_brier_of_three_classes() -> None:
    # 0.2^2 + (1 - 0.5)^2 + 0.3^2 = 0.38
    assert float(cr.brier([[0.2, 0.5, 0.3]], [1])) == pytest.approx(0.38)


def test_log_loss_is_natural() -> None:
    expected = -(math.log(0.7) + math.log(0.4) + math.log(0.5)) / 3
    assert float(cr.log_loss(PROBS, LABELS)) == pytest.approx(expected)


def test_an_interval_is_the_normal_one() -> None:
    estimate = cr.brier(PROBS, LABELS)
    low, high = estimate.interval(0.95)
    # 1.959964 is the 97.5 % point of the normal distribution
    assert (high - low) / 2 == pytest.approx(1.959963985 * estimate.stderr)
    assert (high + low) / 2 == pytest.approx(estimate.value)


def test_one_instance_has_no_standard_error() -> None:
    estimate = cr.brier([[0.2, 0.8]], [1])
    assert estimate.value == pytest.approx(0.08)  # 2 * 0.2^2
    assert estimate.stderr is None
    with pytest.raises(cr.UnsupportedError, match="one instance has no standard error"):
        estimate.interval()


def test_infinite_log_loss_is_counted_not_hidden() -> None:
    estimate = cr.log_loss([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [1, 0, 0])
    assert estimate.value == math.inf
    assert estimate.notes == ("2 of 3 instances gave their label probability 0: infinite loss",)
    with pytest.raises(cr.UnsupportedError, match="the mean is infinite"):
        estimate.interval()


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
def test_a_weight_of_zero_removes_an_infinite_loss(arrays) -> None:
    library = torch.tensor if arrays == "torch" else np.asarray
    probs, labels = library([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]), library([1, 0, 1])
    estimate = cr.log_loss(probs, labels, sample_weight=library([0.0, 1.0, 2.0]))
    assert estimate.value == pytest.approx(math.log(2))
    assert estimate.stderr == pytest.approx(0)


def test_clip_reads_small_probabilities_as_the_clip() -> None:
    # -log 0 reads -log 0.01, and 0.5 stays
    expected = (-math.log(0.01) - math.log(0.5)) / 2
    assert float(cr.log_loss([[1.0, 0.0], [0.5, 0.5]], [1, 0], clip=0.01)) == pytest.approx(expected)


@pytest.mark.parametrize("clip", [-0.1, 1.0, math.nan, "0.1", None])
def test_clip_must_be_a_probability(clip: object) -> None:
    with pytest.raises(cr.InputError, match="`clip` must be at least 0 and below 1"):
        cr.log_loss.with_(clip=clip)


def test_a_zero_probability_leaves_the_gradients_of_other_classes_alone() -> None:
    probs = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    point = cr.Point(probs)
    point.probs.requires_grad_()
    value = cr.log_loss.bind(point)(as_labels(point, torch.tensor([0, 1])))
    value[0].backward()
    # d/dp of the mean: -1 / (2 p) at the label, 0 elsewhere, also at p = 0
    assert point.probs.grad.tolist() == [[-0.5, 0.0], [0.0, -1.0]]


def test_weighted_standard_error_with_equal_weights_is_the_plain_one() -> None:
    plain, weighted = cr.brier(PROBS, LABELS), cr.brier(PROBS, LABELS, sample_weight=[2.0, 2.0, 2.0])
    assert weighted.value == pytest.approx(plain.value)
    assert weighted.stderr == pytest.approx(plain.stderr)


@pytest.mark.parametrize("statistic", [cr.accuracy, cr.brier, cr.log_loss], ids=lambda s: s.name)
def test_label_counts_average_over_the_raters(statistic: cr.statistics.Statistic) -> None:
    probs = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]
    counts = [[2, 0, 1], [0, 1, 0]]
    values = [float(statistic(probs[:1], [label])) for label in (0, 0, 2)]
    other = float(statistic(probs[1:], [1]))
    expected = (sum(values) / 3 + other) / 2  # instances weigh the same whatever the number of raters
    assert float(statistic(probs, cr.LabelCounts(counts))) == pytest.approx(expected)


def test_a_class_that_no_rater_chose_may_be_impossible() -> None:
    assert float(cr.log_loss([[1.0, 0.0]], cr.LabelCounts([[4, 0]]))) == 0
    assert float(cr.log_loss([[1.0, 0.0]], cr.LabelCounts([[4, 1]]))) == math.inf


@pytest.mark.parametrize("k", [2, 5, 64, 65, 300])
def test_top_label_equals_max_and_argmax_with_ties(k: int) -> None:
    rng = np.random.default_rng(k)
    probs = rng.integers(0, 4, size=(2000, k)).astype(np.float32)  # many ties
    confidence, predicted = top_label(cr.Point._trusted(probs))
    assert np.array_equal(confidence, probs.max(axis=1))
    assert np.array_equal(predicted, probs.argmax(axis=1))


@pytest.mark.parametrize("name", CLASS_STATISTICS)
def test_predictions_with_a_graph_are_evaluated_without_warnings(name: str) -> None:
    torch.set_warn_always(True)  # the warning about scalars of tensors with a graph comes once otherwise
    try:
        probs = torch.tensor(PROBS * 10, dtype=torch.float64, requires_grad=True)
        labels = torch.tensor(LABELS * 10)
        plain = cr.statistics.registered()[name](probs.detach(), labels)
        assert cr.statistics.registered()[name](probs, labels) == plain
        assert cr.decompose_brier(probs, labels) == cr.decompose_brier(probs.detach(), labels)
    finally:
        torch.set_warn_always(False)
