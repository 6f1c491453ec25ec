"""Brier loss = calibration + refinement, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr

PROBS = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]]
LABELS = [0, 1, 1]


def test_plug_in_parts() -> None:
    parts = cr.decompose_brier(PROBS, LABELS, n_bins=2, debiased=False)
    # 2 * 0.2^2 + 2 * 0.8^2 + 2 * 0.3^2 = 0.08 + 1.28 + 0.18
    assert parts.loss.value == pytest.approx(1.54 / 3)
    # per class: two rows at gap |1 - 1.6| / 2 = 0.3 and one at 0.3, so (2 + 1) * 0.09 / 3, times two classes
    assert parts.calibration.value == pytest.approx(0.18)
    assert parts.refinement.value == pytest.approx(1.54 / 3 - 0.18)


def test_debiased_parts() -> None:
    parts = cr.decompose_brier(PROBS, LABELS, n_bins=2)
    # per class: the pair with deviations 0.2 and -0.8 gives 2 * 0.2 * -0.8 / 1, the single row 0
    assert parts.calibration.value == pytest.approx(2 * -0.32 / 3)
    assert parts.loss.value == pytest.approx(parts.calibration.value + parts.refinement.value)


def test_refinement_is_the_loss_after_recalibration_on_the_bins() -> None:
    rng = np.random.default_rng(4)
    levels = np.array([[0.2, 0.8], [0.7, 0.3]])
    group = rng.integers(0, 2, size=50)
    labels = rng.integers(0, 2, size=50)
    parts = cr.decompose_brier(levels[group], labels, n_bins=2, debiased=False)
    # one prediction per bin: the recalibrated model says the observed frequency of each group
    share = np.array([labels[group == g].mean() for g in (0, 1)])
    recalibrated = np.stack([1 - share[group], share[group]], axis=1)
    assert parts.refinement.value == pytest.approx(float(cr.brier(recalibrated, labels)))


def test_label_counts() -> None:
    rng = np.random.default_rng(6)
    probs = rng.dirichlet(np.ones(3), size=30)
    counts = cr.LabelCounts(rng.multinomial(5, [0.2, 0.3, 0.5], size=30))
    parts = cr.decompose_brier(probs, counts, n_bins=3)
    assert parts.loss.value == pytest.approx(float(cr.brier(probs, counts)))
    squared = float(cr.classwise_ece(probs, counts, n_bins=3, p=2, debiased=True))
    assert parts.calibration.value == pytest.approx(3 * squared)  # a sum over classes, not a mean
    with pytest.raises(cr.UnsupportedError, match="only for the debiased split of single labels"):
        parts.calibration.interval()


def test_plug_in_parts_have_no_interval() -> None:
    parts = cr.decompose_brier(PROBS, LABELS, debiased=False)
    with pytest.raises(cr.UnsupportedError, match="an interval for `calibration_loss`"):
        parts.calibration.interval()
    assert parts.loss.stderr == cr.brier(PROBS, LABELS).stderr


def test_parts_are_json_safe() -> None:
    parts = cr.decompose_brier(PROBS, LABELS).to_dict()
    assert parts["type"] == "BrierDecomposition"
    assert parts["schema_version"] == 1
    assert parts["loss"]["value"] == pytest.approx(1.54 / 3)
