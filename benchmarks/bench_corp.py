"""Isotonic regression and errors without bins of all replicates against sorting them; sums in one pass.

Everything here runs on one thread, so seconds are processor time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from harness import Row, best_of

import credibly as cr
from credibly.hypotests.calibration.corp import isotonic_fits
from credibly.predictions import Classes
from credibly.statistics.over_rows import estimates_over

N, REPLICATES = 10_000, 1000
ROWS, CHUNK, CLASSES = 1_000_000, 2**16, 10
CLOCK = time.process_time


def rows(threads: int) -> Iterator[Row]:
    """Yield fits, curves and errors against a sort of as many numbers, and one pass against several."""
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
    yield from _errors(labels, both, found["sort"], threads)
    yield from _one_pass(threads)


def _errors(labels: np.ndarray, probs: np.ndarray, sort: float, threads: int) -> Iterator[Row]:
    """Yield every error without bins of a batch of label vectors against sorting as many numbers."""
    batch = Classes(labels.astype(np.uint8), 2)
    chosen = (cr.smooth_ece, cr.ecce, cr.truthful_ce, cr.t_cal, cr.statistics.ici, cr.spiegelhalter_z)
    for one in chosen:
        bound = one.bind(probs)
        took = best_of(1, clock=CLOCK, values=lambda bound=bound: bound(batch))["values"]
        task = f"`{one.name}` of {REPLICATES} label vectors, n = {N}"
        yield Row(task, took, sort, "sorting as many numbers", "reported", True, threads)


def _one_pass(threads: int) -> Iterator[Row]:
    """Yield all sums over chunks of rows at once against one call each."""
    rng = np.random.default_rng(1)
    scores = rng.standard_exponential((ROWS, CLASSES))
    probs = scores / scores.sum(axis=1, keepdims=True)
    rows = cr.scan(probs, rng.integers(CLASSES, size=ROWS), chunk_rows=CHUNK)
    sums = [
        one
        for one in cr.statistics.registered().values()
        if one.traits.reduction == "sum" and "classes" in one.traits.labels
    ]
    found = best_of(
        1,
        clock=CLOCK,
        together=lambda: estimates_over(sums, rows),
        apart=lambda: [estimates_over([one], rows) for one in sums],
    )
    task = f"{len(sums)} sums over instances, chunks of {CHUNK}, n = {ROWS:,}, k = {CLASSES}"
    faster = found["together"] <= found["apart"]
    yield Row(task, found["together"], found["apart"], "a pass for each", ">= 1", faster, threads)
