"""What all statistics share: settings, paper modes, label kinds, states, batches."""

from __future__ import annotations

import json

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import Classes
from credibly.statistics.protocol import State

PROBS = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.8, 0.2]])
LABELS = np.array([0, 0, 1, 1])


def test_with_changes_settings_and_leaves_the_original() -> None:
    changed = cr.confidence_ece.with_(n_bins=3)
    assert changed.n_bins == 3
    assert cr.confidence_ece.n_bins == 15
    assert float(changed(PROBS, LABELS)) == float(cr.confidence_ece(PROBS, LABELS, n_bins=3))


def test_settings_stand_in_the_result() -> None:
    estimate = cr.confidence_ece(PROBS, LABELS, n_bins=3)
    assert estimate.settings == {
        "n_bins": 3,
        "binning": "equal_width",
        "closed": "left",
        "p": 1.0,
        "debiased": False,
    }
    assert estimate.n == 4
    assert json.loads(json.dumps(estimate.to_dict()))["settings"]["n_bins"] == 3


def test_an_unknown_setting_is_told_the_nearest() -> None:
    with pytest.raises(cr.InputTypeError, match=r"`confidence_ece` takes only .* got 'bins'.*'n_bins'"):
        cr.confidence_ece(PROBS, LABELS, bins=3)
    with pytest.raises(
        cr.InputTypeError, match=r"`brier` takes only its own settings; got 'n_bins'. It has none"
    ):
        cr.brier(PROBS, LABELS, n_bins=3)


def test_a_batch_is_evaluated_at_once() -> None:
    batch = Classes(np.array([[0, 0, 1, 1], [0, 1, 1, 0]], dtype=np.uint8), 2)
    # hits of predicted 0, 1, 1, 0: 1, 0, 1, 0 and all
    assert cr.accuracy.bind(PROBS)(batch).tolist() == [0.5, 1.0]


def test_states_of_different_statistics_are_not_added() -> None:
    with pytest.raises(cr.InputError, match=r"got fields \['a'\] and \['b'\]"):
        State(a=np.zeros(1)) + State(b=np.zeros(1))


def test_regression_predictions_are_refused() -> None:
    with pytest.raises(cr.InputTypeError, match=r"`brier` needs .*; got Gaussian"):
        cr.brier(cr.Gaussian([0.0], [1.0]), [0.5])
    with pytest.raises(cr.InputTypeError, match="got Gaussian"):
        cr.brier.bind(cr.Gaussian([0.0], [1.0]))


def test_swapped_arguments_are_recognised() -> None:
    with pytest.raises(cr.InputTypeError, match=r"Swap them: `f\(predictions, labels\)`"):
        cr.brier(LABELS, PROBS)


@pytest.mark.parametrize("weights", [[1.0, -1.0, 1.0, 1.0], [0.0] * 4])
def test_weights_must_be_weights(weights: list[float]) -> None:
    with pytest.raises(cr.InputError, match="`sample_weight` must be non-negative with a positive sum"):
        cr.brier(PROBS, LABELS, sample_weight=weights)


def test_a_sample_weight_per_instance() -> None:
    with pytest.raises(cr.InputError, match="`sample_weight` must have one entry per prediction"):
        cr.brier(PROBS, LABELS, sample_weight=[1.0, 2.0])


@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "top_label_ece"])
def test_counts_weigh_every_instance_once_whatever_its_raters(name: str) -> None:
    counts = np.array([[3, 1], [0, 2], [1, 0], [2, 3]])
    row, label = np.nonzero(counts)
    values = counts[row, label] / counts.sum(axis=1)[row]
    statistic = cr.statistics.registered()[name].with_(n_bins=3)
    spread = statistic(PROBS[row], label, sample_weight=values)
    assert float(statistic(PROBS, cr.LabelCounts(counts))) == pytest.approx(float(spread))
    # weights multiply instances
    weight = np.array([1.0, 2.0, 0.0, 0.5])
    both = statistic(PROBS, cr.LabelCounts(counts), sample_weight=weight)
    assert float(both) == pytest.approx(
        float(statistic(PROBS[row], label, sample_weight=values * weight[row]))
    )
