"""Isotonic regression of all replicates against sorting them, and a whole curve with its bands.

Everything here runs on one thread, so seconds are processor time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from harness import Row, best_of

import credibly as cr
from credibly.hypotests.calibration.corp import isotonic_fits

N, REPLICATES = 10_000, 1000
CLOCK = time.process_time


def rows(threads: int) -> Iterator[Row]:
    """Yield the fits against a sort of as many numbers, and a curve against its replicates' sort."""
    if threads > 1:
        return
    rng = np.random.default_rng(0)
    probs = np.sort(rng.random(N))
    labels = (rng.random((REPLICATES, N)) < probs).astype(np.float64)
    numbers, ones = rng.random((REPLICATES, N)), np.ones(N)
    found = best_of(
        3, clock=CLOCK, fits=lambda: isotonic_fits(labels, ones), sort=lambda: np.sort(numbers, axis=1)
    )
    task = f"isotonic regression of {REPLICATES} label vectors, n = {N}"
    within = found["fits"] <= 3 * found["sort"]
    yield Row(task, found["fits"], found["sort"], "sorting them", ">= 1/3", within, threads)
    both = np.stack([1 - probs, probs], axis=1)
    observed = labels[0].astype(int)
    took = best_of(
        1, clock=CLOCK, curve=lambda: cr.corp_curve(both, observed, target=1, n_resamples=REPLICATES, rng=0)
    )["curve"]
    task = f"corp_curve with {REPLICATES} replicates, n = {N}"
    yield Row(task, took, 10 * found["sort"], "ten sorts", ">= 1", took <= 10 * found["sort"], threads)
