"""One weight vector for all instances: slopes, minima, and the papers' algorithms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import credibly as cr
from credibly._arrays.philox import Stream, Uniforms, as_seed
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
    statistic = cr.statistics.registered()[name]
    statistic = statistic.with_(paper="M23") if "M23" in statistic.papers else statistic
    gaps = []
    for seed in range(2):
        world = MulticlassWorld("H0,1", n_members=(3, 5)[seed % 2], n_classes=3)
        sample = world.draw(100, rng=seed)
        assert isinstance(sample.predictions, cr.Ensemble)
        labels = Classes(np.asarray(sample.labels)[None, :], 3)
        search = WeightSearch(np.asarray(sample.predictions.probs), statistic)
        found = search.minimum(labels, np.random.default_rng(seed)).value
        published = search.local_minimum(labels, search.centre).value
        assert found <= published
        drawn = np.random.default_rng([seed, 1]).dirichlet(np.ones(search.centre.size), size=100)
        centre, low = search.value(search.centre, labels), min(search.value(w, labels) for w in drawn)
        gaps.append((found - min(found, low)) / (centre - min(found, low)))
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
    kept = cr.credal_test(points, labels.values[0], weights="constant", refit=False, n_resamples=39, rng=0)
    again = cr.credal_test(points, labels.values[0], weights="constant", n_resamples=39, rng=0)
    # replicates that are minimised too are smaller, so the observation looks larger among them
    assert np.mean(again.null_distribution) < np.mean(kept.null_distribution)
    assert again.pvalue <= kept.pvalue
    assert any("conservative" in note for note in kept.notes)
    assert not any("conservative" in note for note in again.notes)


def test_several_statistics_share_the_likeliest_weights() -> None:
    points, labels = _data()
    found = cr.credal_test(
        points, labels.values[0], weights="constant", statistics="omnibus", n_resamples=39, rng=0
    )
    assert set(found.components) == {"skce", "log_loss"}
    best = WeightSearch(points, cr.log_loss).minimum(labels, np.random.default_rng(0))
    np.testing.assert_allclose(found.weights, best.weights, atol=1e-9)


@pytest.mark.parametrize(("statistic", "n_bins"), [(None, 5), ("classwise_ece", 10), ("confidence_ece", 10)])
def test_m23_sets_bins_and_replicates(statistic: str | None, n_bins: int) -> None:
    points, labels = _data()
    found = cr.credal_test(points, labels.values[0], paper="M23", statistics=statistic, rng=0)
    assert found.n_resamples == 100
    assert found.settings["n_bins"] == n_bins
    assert found.statistic_name == (statistic or "hosmer_lemeshow")
    assert any("paper mode M23 sets" in note for note in found.notes)
    assert found.weights.shape == (3,)


def test_settings_of_the_caller_win_over_those_of_m23() -> None:
    points, labels = _data()
    ten = cr.hosmer_lemeshow.with_(n_bins=10)
    found = cr.credal_test(points, labels.values[0], paper="M23", statistics=ten, n_resamples=9, rng=0)
    assert found.settings["n_bins"] == 10
    by_name = cr.credal_test(points, labels.values[0], paper="M23", statistics="skce", n_resamples=9, rng=0)
    assert by_name.settings["estimator"] == "linear"


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"paper": "M23"}, {"weights": "constant", "refit": False}])
def test_replicates_have_new_labels_or_new_instances_too(settings: dict) -> None:
    """With many classes an instance drawn twice cancels itself: the classwise error of replicates falls."""
    points = np.random.default_rng(0).dirichlet(np.full(40, 0.1), size=(60, 2))
    labels = points[:, 0].argmax(axis=1)
    means = {
        resample: cr.credal_test(
            points, labels, statistics="classwise_ece", resample=resample, n_resamples=19, rng=0, **settings
        ).null_distribution.mean()
        for resample in ("labels", "instances")
    }
    assert means["instances"] < 0.95 * means["labels"]


def test_many_members_are_searched_without_cobyla() -> None:
    """With COBYLA 100 members take minutes; the other search must come below the centre and the corners."""
    points, labels = _data(n=60, a=3)
    many = np.concatenate([points] * 12, axis=1)  # 36 members, 12 of each kind
    search = WeightSearch(many, cr.confidence_ece.with_(n_bins=5))
    found = search.searched(labels, search.centre)
    assert found.value < search.value(search.centre, labels)
    assert found.value < min(search.value(corner, labels) for corner in np.eye(36)[:3])


def test_a_mean_is_tested_on_bootstrapped_instances_with_labels_drawn_anew() -> None:
    points, labels = _data()
    given = {"resample": "instances", "n_resamples": 19, "rng": 0}
    found = cr.credal_test(points, labels.values[0], weights="mean", statistics="brier", **given)
    mean, seed = points.mean(axis=1), as_seed(0)
    assert found.statistic == pytest.approx(float(cr.brier(mean, labels.values[0])))
    for d in range(19):
        n = len(mean)
        rows = (Uniforms(seed, Stream.ROWS).block(slice(d, d + 1), slice(0, n))[0] * n).astype(int)
        drawn = Replicates(mean[rows], seed).labels(slice(d, d + 1)).values[0].astype(int)
        assert found.null_distribution[d] == pytest.approx(float(cr.brier(mean[rows], drawn)))


@pytest.mark.slow
def test_j25_uses_a_network_and_kde() -> None:
    pytest.importorskip("torch", reason="needs the torch extra")
    few, some = _data(n=12)  # too few to stop early
    assert cr.credal_test(few, some.values[0], paper="J25", rng=0).n == 6
    points, labels = _data()
    found = cr.credal_test(points, labels.values[0], paper="J25", rng=0)
    assert found.statistic_name == "kde_ce"
    assert found.n_resamples == 100
    assert found.settings["learner"]["name"] == "neural"
    assert tuple(found.settings["learner"]["hidden"]) == (16, 16, 16)
    assert found.settings["split"] == 0.5
    assert found.settings["refit"] is False
    assert any("paper mode J25 sets" in note for note in found.notes)
