"""Kernel errors of real values as tasks of two blocks: the numbers of all rows in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import array_api_strict
import numpy as np
import pytest

import credibly as cr
from credibly.statistics import over_rows, real_kernels
from credibly.statistics.over_rows import meets_in_chunks
from credibly.statistics.subsampled import Subsampled

N, CHUNK = 44, 16
RNG = np.random.default_rng(3)
MEAN, STD = RNG.normal(size=(N, 3)), RNG.uniform(0.5, 1.0, size=(N, 3))
DRAWS = MEAN[:, :, None] + RNG.normal(size=(N, 3, 4))
Y = MEAN[:, 0] + 1.3 * RNG.normal(size=N)
WEIGHTS = RNG.integers(0, 4, size=N).astype(float)
CLUSTERS = RNG.integers(15, size=N)
SHARES = [0.5, 0.3, 0.2]
KINDS = {
    "gaussian": cr.Gaussian(MEAN[:, 0], STD[:, 0]),
    "mixture": cr.Gaussian(MEAN, STD),
    "weighted mixture": cr.Gaussian(MEAN, STD, weights=SHARES),
    "samples": cr.Samples(DRAWS[:, 0]),
    "mixture weighted by row": cr.Gaussian(MEAN, STD, weights=RNG.dirichlet(np.ones(3), size=N)),
    "samples of members": cr.Samples(DRAWS),
    "quantiles": cr.Quantiles(np.sort(DRAWS[:, 0], axis=1), [0.2, 0.4, 0.6, 0.8]),
}
BESIDE = {
    "weights": {"sample_weight": WEIGHTS},
    "weights and clusters": {"sample_weight": WEIGHTS, "clusters": CLUSTERS},
}
CASES = ["weights", pytest.param("weights and clusters", marks=pytest.mark.slow)]
# Terms of at most 2 are added in another order, some n^2 of them, so that rounding errors of 1e-16 grow by
# less than 100; values are near 0.01.
SAME = {"rtol": 1e-11, "atol": 1e-15}


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as opened:
        yield opened


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_rows, "_LEAST_ROWS", 15)
    monkeypatch.setattr(over_rows, "_MOST_ROWS", 15)  # parts of blocks, the last of them of a single row
    monkeypatch.setattr(real_kernels, "_BANDWIDTH_VALUES", 20)  # fewer rows than there are


@pytest.mark.parametrize("beside", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_give_the_estimate_of_all_rows(kind: str, beside: str, pool, small_parts) -> None:
    given, settings = KINDS[kind], BESIDE[beside]
    source = cr.scan(given, Y, chunk_rows=CHUNK, engine=pool, **settings)
    assert meets_in_chunks(cr.skce, source)
    whole, cut = cr.skce(given, Y, **settings), cr.skce(source)
    np.testing.assert_allclose(cut.value, whole.value, **SAME)
    assert (cut.settings, cut.notes) == (whole.settings, whole.notes)  # bandwidths of the same rows
    assert (cut.n, cut.n_clusters) == (whole.n, whole.n_clusters)


@pytest.mark.parametrize("beside", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_give_the_replicates_of_all_rows(kind: str, beside: str, pool, small_parts) -> None:
    """Labels that are drawn; of clusters, signs."""
    given, settings = KINDS[kind], BESIDE[beside]
    asked = {"statistics": "skce", "n_resamples": 19, "rng": 4}
    whole = cr.calibration_test(given, Y, **asked, **settings)
    cut = cr.calibration_test(cr.scan(given, Y, chunk_rows=CHUNK, engine=pool, **settings), **asked)
    assert (cut.pvalue, cut.n, cut.notes) == (whole.pvalue, whole.n, whole.notes)
    np.testing.assert_allclose(cut.statistic, whole.statistic, **SAME)
    np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, **SAME)


@pytest.mark.parametrize("kind", ["mixture", "samples", "quantiles"])
def test_the_omnibus(kind: str, pool) -> None:
    given, source = KINDS[kind], cr.scan(KINDS[kind], Y, chunk_rows=CHUNK, engine=pool)
    asked = {"statistics": "omnibus", "n_resamples": 19, "rng": 4}
    whole, cut = cr.calibration_test(given, Y, **asked), cr.calibration_test(source, **asked)
    assert cut.pvalue == whole.pvalue


@pytest.mark.parametrize("kind", ["gaussian", "samples", "quantiles"])
def test_clusters_of_rows_in_chunks_of_one_process(kind: str) -> None:
    asked = {"statistics": "skce", "n_resamples": 19, "rng": 4}
    whole = cr.calibration_test(KINDS[kind], Y, clusters=CLUSTERS, **asked)
    cut = cr.calibration_test(cr.scan(KINDS[kind], Y, clusters=CLUSTERS, chunk_rows=CHUNK), **asked)
    assert cut.pvalue == whole.pvalue
    np.testing.assert_allclose(cut.statistic, whole.statistic, **SAME)


@pytest.mark.parametrize("kind", ["samples", "samples of members", "quantiles"])
def test_labels_of_a_part_are_choices_in_chunks_too(kind: str) -> None:
    """Of draws a replicate names the number that is the label, of quantiles its cell."""
    asked = {"statistics": Subsampled(cr.skce, np.arange(0, N, 2)), "n_resamples": 19, "rng": 4}
    whole = cr.calibration_test(KINDS[kind], Y, **asked)
    cut = cr.calibration_test(cr.scan(KINDS[kind], Y, chunk_rows=CHUNK), **asked)
    assert (cut.pvalue, cut.notes) == (whole.pvalue, whole.notes)
    np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, **SAME)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind != "mixture"]
)  # the weighted one is dear enough
def test_arrays_on_a_device(kind: str, pool) -> None:
    """On a second device, whose arrays refuse to meet others, and with torch, on CUDA if there is one."""
    torch = pytest.importorskip("torch", reason="needs the extra torch")
    given, asked = KINDS[kind], {"statistics": "skce", "n_resamples": 9, "rng": 4}
    whole = cr.calibration_test(given, Y, **asked)
    second, found = array_api_strict.Device("device1"), "cuda" if torch.cuda.is_available() else "cpu"
    arrays = {"values", "mean", "std", "weights", "levels"} & set(vars(given))
    own = {name: getattr(given, name) for name in arrays if getattr(given, name) is not None}
    for xp, where in ((array_api_strict, second), (torch, found)):
        predictions = type(given)(**{name: xp.asarray(array, device=where) for name, array in own.items()})
        source = cr.scan(predictions, xp.asarray(Y, device=where), chunk_rows=CHUNK, engine=pool)
        cut = cr.calibration_test(source, **asked)
        assert cut.pvalue == whole.pvalue
        np.testing.assert_allclose(cut.null_distribution, whole.null_distribution, **SAME)


def test_the_matrix_of_all_pairs_is_never_held(pool) -> None:
    n = 1000
    rng = np.random.default_rng(0)
    gaussian, labels = cr.Gaussian(rng.normal(size=n), np.ones(n)), rng.normal(size=n)
    source = cr.scan(gaussian, labels, chunk_rows=n, engine=pool)  # one block, so that only parts are small
    cr.skce(gaussian[:2], labels[:2])  # what is imported here takes memory, too
    with cr.memory_limit(2**20):
        tracemalloc.start()
        try:
            cr.skce(source, bandwidth=1.0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 8 * n * n / 2  # parts of 181 rows, one under way in each of two threads
