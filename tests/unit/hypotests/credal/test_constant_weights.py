"""One weight vector for all instances: slopes, minima, and the papers' algorithms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import credibly as cr
from credibly.hypotests.credal.constant_weights import (
    WeightSearch,
    cell_values,
    mixed_pairs,
    on_weights,
    skce_slope,
)
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes
from credibly.statistics.cells import CellStatistic
from credibly_studies.paper_settings import as_in
from credibly_studies.simulate import MulticlassWorld


def _data(n: int = 60, a: int = 3, k: int = 3) -> tuple[np.ndarray, Classes]:
    rng = np.random.default_rng(0)
    points = rng.dirichlet(np.ones(k), size=(n, a))
    weights = np.array([0.6, 0.3, 0.1][:a])
    truth = np.einsum("nak,a->nk", points, weights)
    steps = truth.cumsum(axis=1)[:, :-1]
    return points, Classes((rng.random((n, 1)) >= steps).sum(axis=1)[None, :], k)


@pytest.mark.parametrize("name", ["log_loss", "brier", "skce", "kde_ce", "kl_ce"])
def test_slopes_equal_differences_of_values(name: str) -> None:
    if name in ("kde_ce", "kl_ce"):
        pytest.importorskip("torch", reason="other slopes come from torch")
    points, labels = _data(n=230)  # more than one tile of pairs
    search = WeightSearch(points, cr.statistics.registered()[name])
    slope = search._slope(labels)
    assert slope is not None
    at = np.array([0.2, 0.5, 0.3])
    value, gradient = slope(at)
    assert value == pytest.approx(search.value(at, labels), rel=1e-9)
    for direction in ([1.0, -1.0, 0.0], [0.0, 1.0, -1.0]):  # inside the simplex
        step = 1e-6 * np.array(direction)
        wanted = (search.value(at + step, labels) - search.value(at - step, labels)) / 2e-6
        assert gradient @ direction == pytest.approx(wanted, rel=2e-4)


@pytest.mark.parametrize("name", ["log_loss", "brier", "skce", "confidence_ece"])
def test_minima_are_no_larger_than_on_a_lattice(name: str) -> None:
    points, labels = _data()
    search = WeightSearch(points, cr.statistics.registered()[name])
    found = search.minimum(labels, np.random.default_rng(0))
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    assert (found.weights >= 0).all()
    lattice = [(i, j, 12 - i - j) for i in range(13) for j in range(13 - i)]
    values = [search.value(np.array(weights) / 12, labels) for weights in lattice]
    # a step function has flat floors that a lattice may hit by luck
    slack = 0.02 if name == "confidence_ece" else 1e-4 * (max(values) - min(values))
    assert found.value <= min(values) + slack
    assert found.value == pytest.approx(search.value(found.weights, labels))


@pytest.mark.parametrize("name", ["log_loss", "brier"])
def test_minima_of_proper_scores_are_those_of_a_general_solver(name: str) -> None:
    points, labels = _data(a=2)
    search = WeightSearch(points, cr.statistics.registered()[name])
    found = search.minimum(labels, np.random.default_rng(0))
    wanted = scipy.optimize.minimize_scalar(
        lambda w: search.value(np.array([w, 1 - w]), labels),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-9},
    )
    again = search.local_minimum(labels, np.array([0.5, 0.5]))
    for one in (found, again):
        assert one.weights[0] == pytest.approx(wanted.x, abs=1e-4)
        assert one.value == pytest.approx(wanted.fun, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "top_label_ece", "hosmer_lemeshow"])
def test_binned_minima_are_never_above_the_published_search(name: str) -> None:
    """M23: COBYLA from the centre. 8 data sets in all; a search that keeps most of the gap fails as well."""
    statistic = as_in("M23", name)
    gaps = []
    for seed in range(2):
        world = MulticlassWorld("H0,1", n_members=(3, 5)[seed % 2], n_classes=3)
        sample = world.draw(100, rng=seed)
        assert isinstance(sample.predictions, cr.Ensemble)
        labels = Classes(np.asarray(sample.labels)[None, :], 3)
        search = WeightSearch(np.asarray(sample.predictions.probs), statistic)
        value = search.minimum(labels, np.random.default_rng(seed)).value
        published = search.local_minimum(labels, search.centre).value
        assert value <= published
        drawn = np.random.default_rng([seed, 1]).dirichlet(np.ones(search.centre.size), size=100)
        centre, low = search.value(search.centre, labels), min(search.value(w, labels) for w in drawn)
        gaps.append((value - min(value, low)) / (centre - min(value, low)))
    assert np.mean(gaps) < 0.03  # 100 other weights rarely hold a smaller value


@pytest.mark.parametrize("name", ["confidence_ece", "classwise_ece", "top_label_ece", "hosmer_lemeshow"])
def test_cells_of_many_pairs_are_counted_as_those_of_one(name: str) -> None:
    points, labels = _data()
    search = WeightSearch(points, cr.statistics.registered()[name].with_(binning="equal_width", n_bins=5))
    assert isinstance(search.statistic, CellStatistic)
    weights = np.random.default_rng(3).dirichlet(np.ones(3), size=4)
    several = Classes(np.stack([np.roll(labels.values[0], shift) for shift in range(4)]), 3)
    found = cell_values(search.statistic, mixed_pairs(points, weights), several)
    wanted = [search.value(w, Classes(several.values[d : d + 1], 3)) for d, w in enumerate(weights)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("name", ["skce", "confidence_ece", "hosmer_lemeshow", "kde_ce", "brier"])
def test_refits_find_smaller_values_than_where_labels_were_drawn(name: str) -> None:
    points, labels = _data(n=80)
    search = WeightSearch(points, cr.statistics.registered()[name])
    likeliest = search.likeliest(labels)
    drawn = Replicates(search.at(likeliest).probs, (1, 2)).labels(slice(0, 6))
    weights = search.refits(drawn, likeliest[None], np.random.default_rng(0))
    assert weights.shape == (6, 3)
    at_start = search.values(likeliest, drawn)
    found = [search.value(w, Classes(drawn.values[d : d + 1], 3)) for d, w in enumerate(weights)]
    assert (np.array(found) <= at_start + 1e-6).all()
    assert np.mean(found) < np.mean(at_start)


def test_slopes_in_single_precision_are_near_those_in_double() -> None:
    points, labels = _data(n=230)
    at = np.array([0.2, 0.5, 0.3])
    exact, gradient = skce_slope(points, labels, 0.4)(at)
    fast, other = skce_slope(points, labels, 0.4, np.float32)(at)
    assert fast == pytest.approx(exact, abs=1e-6)
    np.testing.assert_allclose(other, gradient, atol=1e-5)


def test_equal_predictions_do_not_pull() -> None:
    points, labels = _data()
    equal = np.repeat(points[:1], len(points), axis=0)
    value, gradient = skce_slope(equal, labels, 0.4)(np.array([0.2, 0.5, 0.3]))
    search = WeightSearch(equal, cr.skce.with_(bandwidth=0.4))
    assert value == pytest.approx(search.value(np.array([0.2, 0.5, 0.3]), labels), abs=1e-7)
    assert np.isfinite(gradient).all()


def test_weights_outside_the_simplex_are_brought_back() -> None:
    np.testing.assert_allclose(on_weights(np.array([0.5, -1e-9, 0.5])), [0.5, 0.0, 0.5])


def test_refits_are_less_conservative() -> None:
    points, labels = _data()
    kept = cr.hypotests.weights_test(
        points, labels.values[0], weights="constant", refit=False, n_resamples=39, rng=0
    )
    again = cr.hypotests.weights_test(points, labels.values[0], weights="constant", n_resamples=39, rng=0)
    # replicates that are minimised too are smaller, so the observation looks larger among them
    assert np.mean(again.null_distribution) < np.mean(kept.null_distribution)
    assert again.pvalue <= kept.pvalue
    assert any("conservative" in note for note in kept.notes)
    assert not any("conservative" in note for note in again.notes)


def test_several_statistics_share_the_likeliest_weights() -> None:
    points, labels = _data()
    result = cr.hypotests.weights_test(
        points, labels.values[0], weights="constant", statistics="omnibus", n_resamples=39, rng=0
    )
    assert set(result.components) == {"skce", "log_loss"}
    best = WeightSearch(points, cr.log_loss).minimum(labels, np.random.default_rng(0))
    np.testing.assert_allclose(result.details.weights, best.weights, atol=1e-9)


def test_many_members_are_searched_without_cobyla() -> None:
    """With COBYLA 100 members take minutes; the other search must come below the centre and the corners."""
    points, labels = _data(n=60, a=3)
    many = np.concatenate([points] * 12, axis=1)  # 36 members, 12 of each kind
    search = WeightSearch(many, cr.confidence_ece.with_(n_bins=5))
    found = search.searched(labels, search.centre)
    assert found.value < search.value(search.centre, labels)
    assert found.value < min(search.value(corner, labels) for corner in np.eye(36)[:3])
