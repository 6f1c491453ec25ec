"""Kernel two-sample calibration error against its four expectations, and its equality with `skce`."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
import kernel_oracles as oracle
from credibly.predictions import Classes
from optional import torch

ORDINAL = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))))


def test_the_delta_kernel_on_labels_gives_skce() -> None:
    for seed in range(3):
        probs, labels = oracle.example(40, 4, seed)
        first = float(cr.mmd_ce(probs, labels))
        assert first == pytest.approx(float(cr.skce(probs, labels)), abs=1e-12)
        # and so do the four expectations, with the delta kernel written out
        expected = oracle.mmd(probs, labels, np.eye(4), 0.7)
        assert float(cr.skce(probs, labels, bandwidth=0.7)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("between", ["ordinal", "matrix"])
def test_four_expectations(between: str) -> None:
    probs, labels = oracle.example(14, 4)
    features = np.random.default_rng(0).normal(size=(4, 2))
    matrix = ORDINAL if between == "ordinal" else features @ features.T
    value = cr.mmd_ce(
        probs, labels, bandwidth=0.7, label_kernel="ordinal" if between == "ordinal" else matrix
    )
    assert float(value) == pytest.approx(oracle.mmd(probs, labels, matrix, 0.7), rel=1e-12)


def test_double_loop() -> None:
    probs, labels = oracle.example(13, 4)
    value = cr.mmd_ce(probs, labels, bandwidth=0.7, label_kernel=ORDINAL)
    expected = oracle.skce(probs, labels, bandwidth=0.7, between=ORDINAL)
    assert float(value) == pytest.approx(expected, rel=1e-12)


def test_weights_and_batches_with_a_label_kernel() -> None:
    probs, _ = oracle.example(9, 4)
    rng = np.random.default_rng(2)
    batch = rng.integers(0, 4, size=(3, 9)).astype(np.uint8)
    weights = rng.integers(0, 3, size=9)
    values = cr.mmd_ce.bind(probs, bandwidth=0.7, label_kernel=ORDINAL)(
        Classes(batch, 4, weights[None].astype(float))
    )
    for row, value in zip(batch, values, strict=True):
        expected = oracle.skce(
            probs.repeat(weights, axis=0), row.repeat(weights), bandwidth=0.7, between=ORDINAL
        )
        assert value == pytest.approx(expected, rel=1e-12)


def test_gradient_with_a_label_kernel() -> None:
    probs, labels = oracle.example(8, 4)
    batch = Classes(torch.tensor(labels[None].astype(np.uint8)), 4)
    logits = torch.tensor(np.log(probs), requires_grad=True)

    def value(values: torch.Tensor) -> torch.Tensor:
        return cr.mmd_ce.bind(cr.Point(torch.softmax(values, dim=1)), label_kernel="ordinal")(batch)

    assert torch.autograd.gradcheck(value, (logits,), fast_mode=True)


def test_settings_of_a_matrix_stay_hashable_and_comparable() -> None:
    made = cr.mmd_ce.with_(label_kernel=ORDINAL)
    assert hash(made) == hash(cr.mmd_ce.with_(label_kernel=ORDINAL.tolist()))
    assert made == cr.mmd_ce.with_(label_kernel=torch.tensor(ORDINAL))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "must be a square matrix"),
        ([[1.0, np.nan], [np.nan, 1.0]], "must be a square matrix of finite numbers"),
        ([[1.0, 0.5], [0.0, 1.0]], "must be symmetric"),
        ([[0.0, 1.0], [1.0, 0.0]], "must have no negative eigenvalue; the smallest is -1"),
        ("nominal", "`label_kernel` must be one of 'delta', 'ordinal'"),
    ],
)
def test_bad_label_kernels(matrix: object, message: str) -> None:
    with pytest.raises(cr.InputError, match=message):
        cr.mmd_ce.with_(label_kernel=matrix)


def test_label_kernel_of_another_number_of_classes() -> None:
    probs, labels = oracle.example(5, 3)
    with pytest.raises(cr.InputError, match=r"must be \(3, 3\) for 3 classes; got \(4, 4\)"):
        cr.mmd_ce(probs, labels, label_kernel=ORDINAL)
