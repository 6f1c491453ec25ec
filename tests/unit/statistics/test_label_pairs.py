"""Kernel errors of many classes look labels up: the numbers of the product with residuals."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.predictions import Classes
from credibly.statistics.label_pairs import MANY, LabelPairs, ManyClasses
from credibly.statistics.pairwise import PairBound

RNG = np.random.default_rng(0)


def _case(n: int, k: int, n_labels: int, vectors: int = 4) -> tuple[np.ndarray, Classes]:
    return RNG.dirichlet(np.ones(k), size=n), Classes(RNG.integers(n_labels, size=(vectors, n)), k)


def _by_hand(probs: np.ndarray, labels: np.ndarray, bandwidth: float) -> float:
    """Mean over i != j of exp(-|p_i - p_j| / nu) <r_i, r_j>, two loops."""
    n, k = probs.shape
    residual = np.eye(k)[labels] - probs
    total = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                distance = np.sqrt(((probs[i] - probs[j]) ** 2).sum())
                total += np.exp(-distance / bandwidth) * (residual[i] @ residual[j])
    return total / (n * (n - 1))


@pytest.mark.parametrize("n_labels", [MANY, 2], ids=["few equal labels", "many equal labels"])
def test_is_the_mean_over_pairs(n_labels: int) -> None:
    probs, labels = _case(40, MANY, n_labels)
    values = cr.skce.with_(bandwidth=0.2).bind(cr.Point(probs))(labels)
    want = [_by_hand(probs, row, 0.2) for row in labels.values]
    np.testing.assert_allclose(values, want, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("n", "n_labels"), [(300, 80), (700, 70), (300, 3)])
@pytest.mark.parametrize("limit", [2**20, 2**29])
def test_tiles_and_parts_of_the_rows_add_up(n: int, n_labels: int, limit: int) -> None:
    probs, labels = _case(n, 80, n_labels)
    with cr.memory_limit(limit):
        bound = cr.skce.bind(cr.Point(probs))
        assert isinstance(bound, ManyClasses)
        plain = PairBound(bound.statistic, bound.sides, bound.plan, bound.notes)
        halves = bound.state(labels, rows=slice(0, 100)) + bound.state(labels, rows=slice(100, n))
        want = plain(labels)
        np.testing.assert_allclose(bound(labels), want, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(bound.finish(halves), want, rtol=1e-9, atol=1e-15)


def test_other_labels_go_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    probs, labels = _case(30, MANY, MANY, vectors=1)
    weights = RNG.integers(1, 3, size=30)
    repeated = np.repeat(np.arange(30), weights)
    want = float(cr.skce(probs[repeated], labels.values[0, repeated], bandwidth=0.2))

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(LabelPairs, "meet", refuse)
    weighted = cr.skce(probs, labels.values[0], bandwidth=0.2, sample_weight=weights)
    assert float(weighted) == pytest.approx(want, rel=1e-9)
    counts = cr.LabelCounts(2 * np.eye(MANY, dtype=int)[labels.values[0]])
    assert np.isfinite(float(cr.skce(probs, counts, bandwidth=0.2)))
    with pytest.raises(AssertionError):
        cr.skce(probs, labels.values[0], bandwidth=0.2)
