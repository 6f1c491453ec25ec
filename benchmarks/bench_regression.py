"""Tests of real values: many replicates against quantiles that are computed once."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from harness import Row, best_of, peak_bytes

import credibly as cr
from credibly.hypotests.resampling.replicates import RealReplicates

N, M = 10_000, 50
SECONDS = 5.0


def rows(threads: int) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    mean, std = 0.5 * rng.normal(size=(N, M)), rng.gamma(8.0, 1 / 8, size=(N, M))
    given = cr.Gaussian(mean, std)
    labels = mean[np.arange(N), rng.integers(M, size=N)] + std[:, 0] * rng.normal(size=N)
    statistics = ("picp", "quantile_calibration_error")

    def test() -> object:
        return cr.calibration_test(given, labels, statistics=statistics, n_resamples=1000, rng=0)

    def curve() -> object:
        return cr.pit_test(given, labels, n_resamples=1000, rng=0)

    def once() -> object:
        """The mixture distribution function at one label vector, which a plain loop needs for every one."""
        return given.cdf(labels)

    def bind() -> object:
        return given.quantile(np.arange(1, 100) / 100)

    def draw() -> None:
        replicates = RealReplicates(given, (1, 2))
        for start in range(0, 1000, 100):
            replicates.labels(slice(start, start + 100))

    found = best_of(1, test=test, curve=curve, once=once, bind=bind, draw=draw)
    size = f"n = {N:,}, m = {M}, 99 levels, 1000 replicates"
    loop = 1000 * found["once"]
    for name, seconds in (
        ("coverage test (picp, quantile error)", found["test"]),
        ("PIT test", found["curve"]),
    ):
        yield Row(
            f"{name}, {size}",
            seconds,
            loop,
            "CDF of every replicate (1 timed, times 1000)",
            f"<= {SECONDS:g} s",
            seconds <= SECONDS,
            threads,
        )
    yield Row(
        "99 quantiles of all mixtures", found["bind"], found["once"], "CDF once", "reported", True, threads
    )
    yield Row(
        "drawing 1000 label vectors", found["draw"], found["once"], "CDF once", "reported", True, threads
    )
    began = time.process_time()
    test()
    spent = time.process_time() - began
    peak = peak_bytes(test)
    yield Row(
        f"the coverage test in processor time; peak {peak / 2**20:.0f} MiB",
        spent,
        loop,
        "CDF of every replicate",
        f"<= {SECONDS:g} s, 1 GiB",
        spent <= SECONDS and peak <= 2**30,
        threads,
    )
