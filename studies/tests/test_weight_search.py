"""The published search of constant weights, for statistics without a slope too."""

from __future__ import annotations

import numpy as np
import pytest

import credibly as cr
from credibly.hypotests.credal.pairs import cell_values
from credibly.predictions import Classes
from credibly.statistics.cells import CellStatistic
from credibly_studies.weight_search import PublishedSearch, mixed_pairs


def _data(n: int = 60, a: int = 3, k: int = 3) -> tuple[np.ndarray, Classes]:
    rng = np.random.default_rng(0)
    points = rng.dirichlet(np.ones(k), size=(n, a))
    weights = np.array([0.6, 0.3, 0.1][:a])
    truth = np.einsum("nak,a->nk", points, weights)
    steps = truth.cumsum(axis=1)[:, :-1]
    return points, Classes((rng.random((n, 1)) >= steps).sum(axis=1)[None, :], k)


@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "top_label_ece", "hosmer_lemeshow"])
def test_cells_of_many_pairs_are_counted_as_those_of_one(name: str) -> None:
    points, labels = _data()
    search = PublishedSearch(points, cr.statistics.registered()[name].with_(binning="equal_width", n_bins=5))
    assert isinstance(search.statistic, CellStatistic)
    weights = np.random.default_rng(3).dirichlet(np.ones(3), size=4)
    several = Classes(np.stack([np.roll(labels.values[0], shift) for shift in range(4)]), 3)
    found = cell_values(search.statistic, mixed_pairs(points, weights), several)
    wanted = [search.value(w, Classes(several.values[d : d + 1], 3)) for d, w in enumerate(weights)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("name", ["confidence_ece", "hosmer_lemeshow", "kde_ce"])
def test_the_search_ends_below_its_start(name: str) -> None:
    points, labels = _data()
    search = PublishedSearch(points, cr.statistics.registered()[name])
    found = search.searched(labels, search.centre)
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    assert (found.weights >= 0).all()
    assert found.value == pytest.approx(search.value(found.weights, labels))
    assert found.value < search.value(search.centre, labels)


def test_many_members_are_searched_without_cobyla() -> None:
    """With COBYLA 100 members take minutes; the other search must come below the centre and the corners."""
    points, labels = _data(n=60, a=3)
    many = np.concatenate([points] * 12, axis=1)  # 36 members, 12 of each kind
    search = PublishedSearch(many, cr.confidence_ece.with_(n_bins=5))
    found = search.searched(labels, search.centre)
    assert found.value < search.value(search.centre, labels)
    assert found.value < min(search.value(corner, labels) for corner in np.eye(36)[:3])
