"""The kernel error of disjoint pairs against its formula, in batches, with torch and with gradients."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import Classes
from credibly_studies.kernel_estimators import linear_skce
from credibly_studies.paper_settings import as_in

torch = pytest.importorskip("torch", reason="needs the extra torch")


def example(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.full(k, 0.9), size=n), rng.integers(0, k, size=n)


@pytest.mark.parametrize("n", [12, 13])
def test_every_row_meets_the_next(n: int) -> None:
    probs, labels = example(n, 3)
    residual = np.eye(3)[labels] - probs
    first, second = probs[0:12:2], probs[1:12:2]
    products = (residual[0:12:2] * residual[1:12:2]).sum(axis=1)
    expected = np.mean(np.exp(-np.linalg.norm(first - second, axis=1) / 0.4) * products)
    assert float(linear_skce(probs, labels, bandwidth=0.4)) == pytest.approx(expected, rel=1e-12)
    # M23 eq. 7 with its kernel exp(-tv / 2)
    expected = np.mean(np.exp(-0.25 * np.abs(first - second).sum(axis=1)) * products)
    value = as_in("M23", linear_skce)(probs, labels)
    assert float(value) == pytest.approx(expected, rel=1e-12)


def test_the_bandwidth_is_that_of_all_pairs() -> None:
    probs, labels = example(30, 3)
    median = linear_skce(probs, labels).settings["bandwidth"]
    assert median == cr.skce(probs, labels).settings["bandwidth"]


def test_batches_and_libraries() -> None:
    probs, _ = example(23, 4)
    batch = np.random.default_rng(6).integers(0, 4, size=(5, 23)).astype(np.uint8)
    values = linear_skce.bind(probs)(Classes(batch, 4))
    for row, value in zip(batch, values, strict=True):
        assert value == pytest.approx(float(linear_skce(probs, row)), rel=1e-12)
    other = linear_skce.bind(torch.tensor(probs))(Classes(torch.tensor(batch), 4))
    np.testing.assert_allclose(other.numpy(), values, rtol=1e-12)


def test_gradients() -> None:
    probs, labels = example(11, 3)
    batch = Classes(torch.tensor(labels[None].astype(np.uint8)), 3)
    logits = torch.tensor(np.log(probs), requires_grad=True)

    def value(values: torch.Tensor) -> torch.Tensor:
        return linear_skce.bind(cr.Point(torch.softmax(values, dim=1)))(batch)

    assert torch.autograd.gradcheck(value, (logits,), fast_mode=True)


def test_weights_are_refused() -> None:
    probs, labels = example(6, 3)
    with pytest.raises(cr.UnsupportedError, match="no meaning if rows are paired by their order"):
        linear_skce(probs, labels, sample_weight=np.ones(6))
