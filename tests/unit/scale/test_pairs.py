"""Pairs of instances as tasks of two blocks: the numbers of one process, on any engine and in any blocks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import array_api_strict
import numpy as np
import pytest

import credibly as cr
from credibly.statistics import over_rows

N, M, K = 211, 3, 4
PAIRED = [
    cr.skce,
    cr.skce.with_(kernel="gaussian", bandwidth=0.3),
    cr.mmd_ce.with_(label_kernel="ordinal"),
    cr.kde_ce,
    cr.kde_ce.with_(p=1, bandwidth=0.01),
    cr.kl_ce.with_(bandwidth=0.05),
]
NAMES = [f"{place}-{one.name}" for place, one in enumerate(PAIRED)]


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.ones(K), size=(N, M)), rng.integers(K, size=N)


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("statistic", PAIRED, ids=NAMES)
@pytest.mark.parametrize("rows", [211, 53, 30])
def test_blocks_give_the_value_of_all_rows(data, pool, statistic, rows, monkeypatch) -> None:
    monkeypatch.setattr(over_rows, "_LEAST_ROWS", 17)
    monkeypatch.setattr(over_rows, "_MOST_ROWS", 17)  # parts of blocks, the last of them smaller
    probs, labels = data
    whole = statistic(cr.Ensemble(probs), labels)
    cut = statistic(cr.scan(probs, labels, chunk_rows=rows, engine=pool))
    assert cut.value == pytest.approx(whole.value, rel=1e-12, abs=1e-14)
    assert cut.settings == whole.settings
    assert cut.notes == whole.notes
    assert (cut.n, cut.interval_refusal) == (whole.n, whole.interval_refusal)


@pytest.mark.parametrize("statistic", PAIRED, ids=NAMES)
def test_weights_counts_and_single_rows(data, pool, statistic) -> None:
    probs, labels = data
    weights = np.random.default_rng(0).integers(0, 4, size=N).astype(float)
    weights[41:60] = 0.0
    weights[3] = 0.4
    whole = statistic(cr.Ensemble(probs), labels, sample_weight=weights)
    cut = statistic(cr.scan(probs, labels, sample_weight=weights, chunk_rows=20, engine=pool))
    assert cut.value == pytest.approx(whole.value, rel=1e-12, abs=1e-14)
    counts = cr.LabelCounts(np.random.default_rng(1).multinomial(4, np.full(K, 1 / K), size=N))
    whole = statistic(cr.Ensemble(probs), counts)
    cut = statistic(cr.scan(probs, counts, chunk_rows=70, engine=pool))
    assert cut.value == pytest.approx(whole.value, rel=1e-12, abs=1e-14)
    assert cut.notes == whole.notes
    whole = statistic(cr.Ensemble(probs[:5]), labels[:5])
    cut = statistic(cr.scan(probs[:5], labels[:5], chunk_rows=1, engine=pool, member_axis=1))
    assert cut.value == pytest.approx(whole.value, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("statistic", [cr.skce, cr.mmd_ce.with_(label_kernel="ordinal")])
def test_pairs_inside_a_cluster_are_left_out(data, pool, statistic, monkeypatch) -> None:
    monkeypatch.setattr(over_rows, "_MOST_ROWS", 40)
    probs, labels = data
    rng = np.random.default_rng(0)
    beside = {"clusters": rng.integers(30, size=N), "sample_weight": rng.integers(0, 3, size=N).astype(float)}
    source = cr.scan(probs, labels, chunk_rows=53, engine=pool, **beside)
    whole, cut = statistic(cr.Ensemble(probs), labels, **beside), statistic(source)
    assert cut.value == pytest.approx(whole.value, rel=1e-12, abs=1e-14)
    assert (cut.notes, cut.n_clusters) == (whole.notes, whole.n_clusters)
    asked = {"statistics": statistic, "n_resamples": 19, "rng": 3}
    whole, cut = (
        cr.calibration_test(cr.Ensemble(probs), labels, **asked, **beside),
        cr.calibration_test(source, **asked),
    )
    np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, rtol=1e-12, atol=1e-14)
    assert (cut.pvalue, cut.notes) == (whole.pvalue, whole.notes)
    assert cut.statistic == pytest.approx(statistic(source).value, rel=1e-12)  # the test's is the estimate


def test_a_test_on_any_engine(data, pool) -> None:
    probs, labels = data
    family = ("kde_ce", "log_loss", "skce")
    whole = cr.calibration_test(cr.Ensemble(probs), labels, statistics=family, n_resamples=49, rng=3)
    for rows, engine in ((211, pool), (53, pool), (30, "serial")):
        source = cr.scan(probs, labels, chunk_rows=rows, engine=engine)
        steps: list[int] = []
        cut = cr.calibration_test(
            source,
            statistics=family,
            n_resamples=49,
            rng=3,
            progress=lambda done, total, steps=steps: steps.append(done),
        )
        assert cut.pvalue == whole.pvalue
        for name in family:
            component, other = cut.components[name], whole.components[name]
            np.testing.assert_allclose(
                component.null_distribution, other.null_distribution, rtol=1e-12, atol=1e-14
            )
            assert (component.pvalue, component.n, component.notes) == (other.pvalue, other.n, other.notes)
        assert steps == sorted(steps)
        assert steps[-1] == 49


@pytest.mark.parametrize("statistic", ["skce", "kde_ce"])
def test_arrays_on_a_device(data, statistic, pool) -> None:
    """On a second device, whose arrays refuse to meet others, and with torch, on CUDA if there is one."""
    torch = pytest.importorskip("torch", reason="needs the extra torch")
    probs, labels = data
    whole = cr.calibration_test(cr.Ensemble(probs), labels, statistics=statistic, n_resamples=19, rng=3)
    second, found = array_api_strict.Device("device1"), "cuda" if torch.cuda.is_available() else "cpu"
    for xp, where in ((array_api_strict, second), (torch, found)):
        members, seen = (xp.asarray(array, device=where) for array in (probs, labels))
        source = cr.scan(cr.Ensemble(members), seen, chunk_rows=53, engine=pool)
        cut = cr.calibration_test(source, statistics=statistic, n_resamples=19, rng=3)
        assert cut.pvalue == whole.pvalue
        np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, rtol=1e-11, atol=1e-14)


def test_replicates_go_in_batches_where_memory_is_short(data, pool) -> None:
    probs, labels = data
    source = cr.scan(probs, labels, chunk_rows=53, engine=pool)
    whole = cr.calibration_test(cr.Ensemble(probs), labels, statistics="kde_ce", n_resamples=70, rng=3)
    with cr.memory_limit(2**20):  # a quarter of it holds 21 label vectors of 128 rows
        cut = cr.calibration_test(source, statistics="kde_ce", n_resamples=70, rng=3)
    np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, rtol=1e-12)


def test_zeros_are_counted_over_all_blocks(pool) -> None:
    probs = np.tile([[1.0, 0.0], [0.5, 0.5]], (20, 1))
    labels = np.arange(40) % 3 % 2
    whole = cr.kl_ce(probs, labels)
    cut = cr.kl_ce(cr.scan(probs, labels, chunk_rows=7, engine=pool))
    assert cut.value == whole.value == np.inf
    assert cut.notes == whole.notes
    assert "20 predicted probabilities are 0" in cut.notes[-1]


def test_one_row_with_weight_has_no_neighbour(data, pool) -> None:
    probs, labels = data
    weights = np.zeros(N)
    weights[7] = 1.0
    with pytest.raises(cr.InputError, match="only one instance has a positive weight"):
        cr.kde_ce(cr.scan(probs, labels, sample_weight=weights, chunk_rows=N, engine=pool))
    with pytest.raises(cr.InputError, match="compares pairs of instances"):
        cr.kde_ce(cr.scan(probs[:1, 0], labels[:1], engine=pool))
