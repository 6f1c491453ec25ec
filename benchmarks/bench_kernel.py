"""Kernel and KDE tests against one matrix product of the same size and against one kernel per resample.

A test with b label vectors of k classes needs at least the product (b k, n) @ (n, n); everything else, from
drawing labels to the p-value, is overhead.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from harness import Row, best_of, peak_bytes
from scipy.special import gammaln

import credibly as cr
from credibly.hypotests.resampling.replicates import Replicates

BANDWIDTH = 0.05
K = 10


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of the kernel errors."""
    yield from _kde_test(threads)
    yield from _kde_test_large(threads)
    yield from _skce(threads)
    yield from _denormals(threads)
    yield from _real_blocks(threads)


def _data(n: int) -> tuple[cr.Point, np.ndarray]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(K), size=n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    return cr.Point(probs), labels


def _product(n: int, n_vectors: int):
    """Return the one matrix product a test cannot do without."""
    rng = np.random.default_rng(1)
    matrix, values = rng.random((n, n)), rng.random((n_vectors * K, n))
    return lambda: values @ matrix.T


def dirichlet_weights(probs: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return the leave-one-out kernel weights as the formula has them, (n, n)."""
    alpha = probs / bandwidth + 1
    log_beta = gammaln(alpha).sum(axis=1) - gammaln(alpha.sum(axis=1))
    logs = np.log(probs) @ (probs / bandwidth).T - log_beta[None, :]
    np.fill_diagonal(logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def straightforward(probs: np.ndarray, labels: np.ndarray, bandwidth: float) -> float:
    """Return CE_2 of one label vector: kernel, estimate, error, everything anew."""
    estimate = dirichlet_weights(probs, bandwidth) @ np.eye(probs.shape[1])[labels]
    return float(np.sqrt(np.mean(np.sum((estimate - probs) ** 2, axis=1))))


def _kde_test(threads: int) -> Iterator[Row]:
    n, resamples = 2000, 100
    point, labels = _data(n)
    statistic = cr.kde_ce.with_(bandwidth=BANDWIDTH)

    def ours() -> cr.results.HypotestResult:
        return cr.calibration_test(point, labels, statistics=statistic, n_resamples=resamples, rng=0)

    def theirs() -> np.ndarray:
        drawn = Replicates(point.probs, tuple(ours().settings["seed"])).labels(slice(0, resamples)).values
        return np.array([straightforward(point.probs, row, BANDWIDTH) for row in drawn])

    assert abs(ours().statistic - straightforward(point.probs, labels, BANDWIDTH)) < 1e-10
    assert np.abs(ours().null_distribution - theirs()).max() < 1e-10
    task = f"test with kde_ce, n = {n:,}, k = {K}, {resamples} resamples"
    found = best_of(5, ours=ours, product=_product(n, resamples))
    ratio = found["product"] / found["ours"]
    yield Row(task, found["ours"], found["product"], "one matrix product", ">= 0.5", ratio >= 0.5, threads)
    found = best_of(1, ours=ours, theirs=theirs)
    ratio = found["theirs"] / found["ours"]
    yield Row(task, found["ours"], found["theirs"], "a kernel per resample", ">= 10", ratio >= 10, threads)


def _kde_test_large(threads: int) -> Iterator[Row]:
    n, resamples = 10_000, 100
    point, labels = _data(n)
    statistic = cr.kde_ce.with_(bandwidth=BANDWIDTH)

    def ours() -> cr.results.HypotestResult:
        return cr.calibration_test(point, labels, statistics=statistic, n_resamples=resamples, rng=0)

    found = best_of(1, ours=ours, product=_product(n, resamples))
    ratio = found["product"] / found["ours"]
    peak = peak_bytes(ours)
    yield Row(
        f"test with kde_ce, n = {n:,}, k = {K}, {resamples} resamples, peak {peak / 2**20:.0f} MiB",
        found["ours"],
        found["product"],
        "one matrix product",
        ">= 0.5, < 1 GiB",
        ratio >= 0.5 and peak < 2**30,
        threads,
    )


def _skce(threads: int) -> Iterator[Row]:
    n, resamples = 2000, 1000
    point, labels = _data(n)
    once = best_of(7, ours=lambda: cr.skce(point, labels))["ours"]
    yield Row(f"skce once, n = {n:,}, k = {K}", once, 0.06, "60 ms", ">= 1", once <= 0.06, threads)

    def ours() -> cr.results.HypotestResult:
        return cr.calibration_test(point, labels, statistics="skce", n_resamples=resamples, rng=0)

    found = best_of(2, ours=ours, product=_product(n, resamples))
    ratio = found["product"] / found["ours"]
    task = f"test with skce, n = {n:,}, k = {K}, {resamples} resamples"
    yield Row(task, found["ours"], found["product"], "one matrix product", ">= 0.5", ratio >= 0.5, threads)


def _denormals(threads: int) -> Iterator[Row]:
    """Multiply kernel weights in single precision as they come and with denormals flushed."""
    n = 2000
    point, _ = _data(n)
    as_they_come = dirichlet_weights(point.probs, 0.01).astype(np.float32)
    least = np.finfo(np.float32).smallest_normal / np.finfo(np.float32).eps
    flushed = np.where(as_they_come < least, np.float32(0), as_they_come)
    share = np.mean((as_they_come > 0) & (as_they_come < np.finfo(np.float32).smallest_normal))
    values = np.random.default_rng(2).integers(0, 2, size=(100 * K, n)).astype(np.float32)
    found = best_of(3, ours=lambda: values @ flushed.T, theirs=lambda: values @ as_they_come.T)
    ratio = found["theirs"] / found["ours"]
    yield Row(
        f"float32 product with kernel weights, denormals flushed (they are {share:.1%}), n = {n:,}",
        found["ours"],
        found["theirs"],
        "weights as they come",
        ">= 1",
        ratio >= 1,
        threads,
    )


def _real_blocks(threads: int) -> Iterator[Row]:
    """Compare blocks of rows that meet on a pool of one thread with all rows in memory; processor time."""
    if threads > 1:
        return
    n, m, chunk = 20_000, 5, 2000
    rng = np.random.default_rng(0)
    given = cr.Gaussian(rng.normal(size=(n, m)), rng.uniform(0.5, 1.0, size=(n, m)))
    labels = rng.normal(size=n)
    values, seconds, peaks = [], [], []
    with ThreadPoolExecutor(1) as pool:
        source = cr.scan(given, labels, chunk_rows=chunk, engine=pool)
        for task in (lambda: cr.skce(source), lambda: cr.skce(given, labels)):
            began = time.process_time()
            peaks.append(peak_bytes(lambda task=task: values.append(float(task()))) / 2**20)
            seconds.append(time.process_time() - began)
    assert abs(values[0] - values[1]) < 1e-14
    ratio = seconds[1] / seconds[0]
    yield Row(
        f"skce of Gaussians in blocks of {chunk:,}, n = {n:,}, m = {m}, peak {peaks[0]:.0f} MiB",
        *seconds,
        f"in memory, peak {peaks[1]:.0f} MiB",
        ">= 0.67, a smaller peak",
        ratio >= 0.67 and peaks[0] < peaks[1],
        threads,
    )
