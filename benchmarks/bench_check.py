"""Predictive checks: both hypotheses against a loop over replicates, memory, a million rows, real values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from harness import Row, peak_bytes

import credibly as cr

N, M, K, REPLICATES = 10_000, 50, 10, 1000
GIB = 2**30


def rows(threads: int) -> Iterator[Row]:
    """Yield the figures of predictive checks."""
    yield from _classification(threads)
    if threads == 1:
        yield from _million()
        yield from _regression()


def _cpu_seconds(repeats: int, **tasks: Callable[[], object]) -> dict[str, float]:
    """Return the shortest processor time of every task, in turns: other programs do not count."""
    shortest = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            shortest[name] = min(shortest[name], time.process_time() - began)
    return shortest


def _ensemble(n: int, m: int, dtype: str = "float64") -> tuple[cr.Ensemble, np.ndarray]:
    rng = np.random.default_rng(1)
    centre = 2.0 * rng.normal(size=(n, 1, K))
    probs = np.empty((n, m, K), dtype=dtype)
    for j in range(m):
        logits = centre[:, 0] + 0.5 * rng.normal(size=(n, K))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        probs[:, j] = weights / weights.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > probs[:, 0].astype(float).cumsum(axis=1)).sum(axis=1)
    return cr.Ensemble(probs), np.minimum(labels, K - 1)


def _loop(probs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Everything at once for all instances, but one replicate after the other, as one would write it."""
    rng = np.random.default_rng(0)
    mean = probs.mean(axis=1)
    confidence, predicted = mean.max(axis=1), mean.argmax(axis=1)
    bins = np.minimum((confidence * 15).astype(int), 14)
    predicted_sums = np.bincount(bins, weights=confidence, minlength=15)
    steps = {"independent": mean.cumsum(axis=1)}
    values = {}
    for hypothesis in ("bayesian", "independent"):
        found = np.empty((REPLICATES, 2))
        for d in range(REPLICATES):
            own = steps.get(hypothesis)
            if own is None:
                own = probs[:, rng.integers(probs.shape[1])].cumsum(axis=1)
            drawn = (rng.random((len(labels), 1)) > own).sum(axis=1)
            hits = drawn == predicted
            observed = np.bincount(bins, weights=hits, minlength=15)
            found[d] = np.abs(observed - predicted_sums).sum() / len(labels), hits.mean()
        values[hypothesis] = found
    return values


def _classification(threads: int) -> Iterator[Row]:
    ensemble, labels = _ensemble(N, M)
    probs = ensemble.probs

    def ours() -> cr.results.PredictiveCheck:
        return cr.predictive_check(ensemble, labels, n_resamples=REPLICATES, rng=0)

    expected = _loop(probs, labels)
    found = ours()
    for hypothesis, values in expected.items():
        for column, name in enumerate(("confidence_ece", "accuracy")):
            null = found.under(hypothesis).checks[name].null_distribution
            spread = values[:, column].std() / np.sqrt(REPLICATES)
            assert abs(null.mean() - values[:, column].mean()) < 6 * spread
    cpu = _cpu_seconds(5, ours=ours, loop=lambda: _loop(probs, labels))
    task = f"predictive_check, ECE and accuracy, both, n = {N:,}, m = {M}, k = {K}, 1000 replicates, CPU time"
    fast = cpu["loop"] >= 5 * cpu["ours"]
    yield Row(task, cpu["ours"], cpu["loop"], "a NumPy loop over replicates", ">= 5", fast, threads)
    yield Row(task, cpu["ours"], 0.5, "0.5 s", ">= 1", cpu["ours"] <= 0.5, threads)
    peak = peak_bytes(ours)
    yield Row(f"{task}: peak of {peak / GIB:.2f} GiB", peak / GIB, 1.0, "1 GiB", ">= 1", peak <= GIB, threads)


def _million() -> Iterator[Row]:
    ensemble, labels = _ensemble(10**6, 10, "float32")

    def ours() -> cr.results.PredictiveCheck:
        return cr.predictive_check(ensemble, labels, n_resamples=99, rng=0)

    took = _cpu_seconds(1, ours=ours)["ours"]
    peak = peak_bytes(ours)
    task = f"the same in chunks, n = 1,000,000, m = 10, 99 replicates, peak of {peak / GIB:.2f} GiB"
    yield Row(task, took, 1.0, "1 s", "reported", peak <= GIB, 1)


def _regression() -> Iterator[Row]:
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(N, 1)) + 0.3 * rng.normal(size=(N, M))
    given = cr.Gaussian(mean, np.exp(0.1 * rng.normal(size=(N, M))))
    labels = mean[:, 0] + rng.normal(size=N)

    for hypothesis in ("independent", "both"):

        def ours(hypothesis: str = hypothesis) -> cr.results.PredictiveCheck:
            return cr.predictive_check(
                given,
                labels,
                statistics=["quantile_calibration_error"],
                hypothesis=hypothesis,
                n_resamples=REPLICATES,
                rng=0,
            )

        cpu = _cpu_seconds(3, ours=ours)["ours"]
        task = f"quantile_calibration_error, {hypothesis}, n = {N:,}, m = {M}, 100 levels, 1000 replicates"
        yield Row(f"{task}, CPU time", cpu, 5.0, "5 s", ">= 1", cpu <= 5.0, 1)
