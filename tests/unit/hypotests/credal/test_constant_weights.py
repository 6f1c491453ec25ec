"""One weight vector for all instances: slopes, minima, and the papers' algorithms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import credibly as cr
from credibly.hypotests.credal.constant_weights import (
    WeightSearch,
    on_weights,
    skce_slope,
)
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes


def _data(n: int = 60, a: int = 3, k: int = 3) -> tuple[np.ndarray, Classes]:
    rng = np.random.default_rng(0)
    points = rng.dirichlet(np.ones(k), size=(n, a))
    weights = np.array([0.6, 0.3, 0.1][:a])
    truth = np.einsum("nak,a->nk", points, weights)
    steps = truth.cumsum(axis=1)[:, :-1]
    return points, Classes((rng.random((n, 1)) >= steps).sum(axis=1)[None, :], k)


@pytest.mark.parametrize("name", ["log_loss", "brier", "skce"])
def test_slopes_equal_differences_of_values(name: str) -> None:
    points, labels = _data(n=230)  # more than one tile of pairs
    search = WeightSearch(points, cr.statistics.registered()[name])
    slope = search._slope(labels)
    at = np.array([0.2, 0.5, 0.3])
    value, gradient = slope(at)
    assert value == pytest.approx(search.value(at, labels), rel=1e-9)
    for direction in ([1.0, -1.0, 0.0], [0.0, 1.0, -1.0]):  # inside the simplex
        step = 1e-6 * np.array(direction)
        wanted = (search.value(at + step, labels) - search.value(at - step, labels)) / 2e-6
        assert gradient @ direction == pytest.approx(wanted, rel=2e-4)


@pytest.mark.parametrize("name", ["log_loss", "brier", "skce"])
def test_minima_are_no_larger_than_on_a_lattice(name: str) -> None:
    points, labels = _data()
    search = WeightSearch(points, cr.statistics.registered()[name])
    found = search.minimum(labels, np.random.default_rng(0))
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    assert (found.weights >= 0).all()
    lattice = [(i, j, 12 - i - j) for i in range(13) for j in range(13 - i)]
    values = [search.value(np.array(weights) / 12, labels) for weights in lattice]
    assert found.value <= min(values) + 1e-4 * (max(values) - min(values))
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


@pytest.mark.parametrize("name", ["skce", "brier"])
def test_refits_find_smaller_values_than_where_labels_were_drawn(name: str) -> None:
    points, labels = _data(n=80)
    search = WeightSearch(points, cr.statistics.registered()[name])
    likeliest = search.likeliest(labels)
    drawn = Replicates(search.at(likeliest).probs, (1, 2)).labels(slice(0, 6))
    weights = search.refits(drawn, likeliest[None])
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
    found = cr.hypotests.weights_test(
        points, labels.values[0], weights="constant", statistics="omnibus", n_resamples=39, rng=0
    )
    assert set(found.components) == {"skce", "log_loss"}
    best = WeightSearch(points, cr.log_loss).minimum(labels, np.random.default_rng(0))
    np.testing.assert_allclose(found.details.weights, best.weights, atol=1e-9)


@pytest.mark.parametrize("statistic", ["classwise_ece", cr.skce.with_(kernel="gaussian")])
def test_what_has_no_slope_is_refused_alone_and_tested_at_the_likeliest_weights_in_a_list(
    statistic: object,
) -> None:
    points, labels = _data()
    settings = {"weights": "constant", "n_resamples": 9, "rng": 0}
    with pytest.raises(cr.UnsupportedError, match="a list, to test the likeliest combination"):
        cr.hypotests.weights_test(points, labels.values[0], statistics=statistic, **settings)
    found = cr.hypotests.weights_test(points, labels.values[0], statistics=[statistic], **settings)
    best = WeightSearch(points, cr.log_loss).minimum(labels, np.random.default_rng(0))
    np.testing.assert_allclose(found.details.weights, best.weights, atol=1e-9)
