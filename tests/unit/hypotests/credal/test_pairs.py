"""Statistics of many predictions, each with its own labels, against binding them one by one."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.task import one_of_many, pair_values, values_of_pairs
from credibly.predictions import Classes
from libraries import Library

STATISTICS = {
    "skce": cr.skce.with_(bandwidth=0.3),
    "skce, gaussian": cr.skce.with_(bandwidth=0.3, kernel="gaussian"),
    "brier": cr.brier,
    "confidence_ece": cr.confidence_ece,
    "classwise_ece": cr.classwise_ece.with_(binning="equal_mass"),
}


def _pairs(n: int, k: int = 3) -> tuple[np.ndarray, Classes]:
    rng = np.random.default_rng(3)
    return rng.dirichlet(np.ones(k), size=(4, n)), Classes(rng.integers(0, k, size=(4, n)), k)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("n", [2, 40, 300])  # 300 rows meet in three tiles
def test_equals_binding_each_prediction(name: str, n: int, library: Library) -> None:
    if n == 300 and library.name != "numpy":
        pytest.skip("one size is enough where predictions are bound one by one")
    probs, labels = _pairs(n)
    wanted = [STATISTICS[name].bind(cr.Point(row))(one_of_many(labels, d))[0] for d, row in enumerate(probs)]
    there = Classes(library.asarray(labels.values), 3)
    np.testing.assert_allclose(
        pair_values(STATISTICS[name], library.asarray(probs), there), wanted, rtol=1e-10, atol=1e-13
    )


@pytest.mark.parametrize("n", [2, 300])
def test_two_classes_meet_in_the_order_of_their_chances(n: int) -> None:
    probs, labels = _pairs(n, 2)
    probs[:, n // 2 :] = np.round(probs[:, n // 2 :], 1)  # many at the same place, some certain
    skce = STATISTICS["skce"]
    wanted = [skce.bind(cr.Point(row))(one_of_many(labels, d))[0] for d, row in enumerate(probs)]
    np.testing.assert_allclose(pair_values(skce, probs, labels), wanted, rtol=1e-12, atol=1e-15)


def test_batches_stand_in_their_order_and_are_reported() -> None:
    probs, labels = _pairs(30)
    bounds = [one.bind(cr.Point(probs[0])) for one in (STATISTICS["skce"], cr.brier)]
    told: list[tuple[int, int]] = []
    batches = [(probs[:1], one_of_many(labels, 0)), (probs[1:], Classes(labels.values[1:], 3))]
    found = values_of_pairs(bounds, batches, 4, lambda *done: told.append(done))
    assert told == [(1, 4), (4, 4)]
    for row, bound in zip(found, bounds, strict=True):
        np.testing.assert_allclose(row, pair_values(bound.statistic, probs, labels), rtol=1e-12)
