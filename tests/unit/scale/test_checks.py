"""Predictive checks and curves of rows in chunks are those of all rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import credibly as cr
from same_numbers import differences

N, M, K = 600, 3, 4


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(K, size=N), rng.integers(3, size=N)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [120, 50, 6])
def test_a_check_of_members_and_groups(data, rows) -> None:
    probs, labels, groups = (given[:120] for given in data)
    settings = {"statistics": ["accuracy", "confidence_ece", "hosmer_lemeshow"], "n_resamples": 39, "rng": 3}
    whole = cr.predictive_check(cr.Ensemble(probs), labels, groups=groups, **settings)
    cut = cr.predictive_check(cr.scan(probs, labels, groups=groups, chunk_rows=rows), **settings)
    assert differences(whole.to_dict(), cut.to_dict()) == []


@pytest.mark.parametrize("hypothesis", ["bayesian", "independent"])
def test_a_check_and_curves_of_real_values(hypothesis) -> None:
    rng = np.random.default_rng(2)
    gaussian = cr.Gaussian(rng.normal(size=(N, M)), rng.uniform(0.5, 2, size=(N, M)))
    labels = rng.normal(size=N)
    rows = cr.scan(gaussian, labels, chunk_rows=91)
    settings = {"hypothesis": hypothesis, "n_resamples": 39, "rng": 3}
    for function in (cr.predictive_check, cr.pit_test, cr.coverage_curve):
        whole, cut = function(gaussian, labels, **settings), function(rows, **settings)
        assert differences(whole.to_dict(), cut.to_dict()) == []


@pytest.mark.parametrize("level", [None, 0.9])
@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_curves_of_classes(data, level, binning) -> None:
    probs, labels, _ = data
    weights = np.random.default_rng(0).exponential(size=N)
    settings = {"binning": binning, "level": level, "n_resamples": 39, "rng": 3}
    for target in ("top_label", 2):
        whole = cr.reliability_curve(probs, labels, target=target, sample_weight=weights, **settings)
        rows = cr.scan(probs, labels, sample_weight=weights, chunk_rows=91)
        cut = cr.reliability_curve(rows, target=target, **settings)
        assert differences(whole.to_dict(), cut.to_dict()) == []


def test_replicates_of_a_check_go_in_batches_where_memory_is_short(data) -> None:
    probs, labels, _ = data
    settings = {"statistics": ["classwise_ece"], "n_resamples": 199, "rng": 3}
    whole = cr.predictive_check(cr.Ensemble(probs), labels, **settings)
    steps = []
    with cr.memory_limit(2**20):
        rows = cr.scan(probs, labels, chunk_rows=200)
        cut = cr.predictive_check(rows, progress=lambda done, total: steps.append(done), **settings)
    assert differences(whole.to_dict(), cut.to_dict()) == []
    assert steps == sorted(steps)
    assert len(steps) > 3  # more than one batch over three chunks


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.slow
def test_chunks_go_to_other_processes(data, pool) -> None:
    probs, labels, groups = data
    settings = {"statistics": ["hosmer_lemeshow"], "n_resamples": 9, "rng": 3}
    whole = cr.predictive_check(cr.Ensemble(probs), labels, groups=groups, **settings)
    rows = cr.scan(probs, labels, groups=groups, chunk_rows=200, engine=pool)
    cut = cr.predictive_check(rows, **settings)
    part = rows.take(np.array([1, 599]))
    assert differences(whole.to_dict(), cut.to_dict()) == []
    np.testing.assert_array_equal(part.predictions.probs, probs[[1, 599]])
    np.testing.assert_array_equal(part.groups, groups[[1, 599]])


def several_same(labels: tuple[int, ...]) -> bool:
    return len(set(labels)) < len(labels)


@pytest.mark.slow
def test_decompositions_over_raters_go_to_other_processes(data, pool, monkeypatch) -> None:
    probs, _, _ = data
    monkeypatch.setattr("credibly.raters.two_passes._KEPT_ELEMENTS", 0)  # two passes, as of many rows
    counts = cr.LabelCounts(np.random.default_rng(2).multinomial(5, probs.mean(axis=1)))
    same = cr.raters.rater_statistic(several_same, order=2)
    rows = cr.scan(probs, counts, chunk_rows=200, engine=pool)
    for decompose, settings in (
        (cr.raters.decompose_loss, {"binning": "equal_mass"}),
        (cr.raters.decompose_disagreement, {"binning": "equal_mass"}),
        (cr.raters.decompose_disagreement, {"statistic": same}),
    ):
        whole = decompose(cr.Ensemble(probs), counts, **settings)
        assert differences(whole.to_dict(), decompose(rows, **settings).to_dict()) == []
    point, observed = rows.gather()
    np.testing.assert_array_equal(point.probs, cr.Ensemble(probs).mean().probs)
    np.testing.assert_array_equal(observed.values[0], counts.counts)
