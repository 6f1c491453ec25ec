"""An audit of 1000 groups of 10^6 rows with 999 replicates: against drawing the labels, and on a device.

python benchmarks/run.py audit

On the host everything runs on one thread, so seconds are processor time. With a CUDA device the same audit of
tensors is timed too, after the transfer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Row, best_of, peak_bytes, seconds_on_device

import credibly as cr
from credibly.hypotests.resampling.replicates import Replicates

N, REPLICATES = 10**6, 999
LEVELS = (10, 10, 8)  # of three attributes: 800 cells, 1089 groups up to depth 3
FEW = 99
MIB = 2**20

_DEVICE_MEMORY = 2**33


def rows(threads: int) -> Iterator[Row]:
    """Yield time and memory of the audit, on the host and, where there is one, on a CUDA device."""
    if threads != 1:
        return
    rng = np.random.default_rng(0)
    p = rng.random(N)
    probs, labels = np.stack([1 - p, p], axis=1), (rng.random(N) < p).astype(np.int64)
    groups = {name: rng.integers(size, size=N) for name, size in zip("abc", LEVELS, strict=True)}

    def audit(given: Any, observed: Any, n_resamples: int = REPLICATES) -> cr.results.AuditResult:
        return cr.audit(given, observed, groups=groups, depth=3, n_resamples=n_resamples, rng=0)

    began = time.process_time()
    found = audit(probs, labels)
    took = time.process_time() - began
    task = f"audit, {found.n_groups} groups, n = {N}, {REPLICATES} replicates"
    yield Row(task, took, 120.0, "60 s on two cores", ">= 1", took <= 120.0, threads)
    few = best_of(
        1,
        clock=time.process_time,
        audit=lambda: audit(probs, labels, FEW),
        drawn=lambda: [Replicates(probs, (1, 2)).labels(slice(j, j + 1)) for j in range(FEW)],
    )
    within = few["audit"] <= 5 * few["drawn"]
    task = f"audit, n = {N}, {FEW} replicates"
    yield Row(task, few["audit"], few["drawn"], "drawing the labels", ">= 1/5", within, threads)
    peak = peak_bytes(lambda: audit(probs, labels, FEW)) / MIB
    held = (probs.nbytes + labels.nbytes + sum(one.nbytes for one in groups.values())) / MIB
    task = "audit, peak memory in MiB beside the data"
    yield Row(task, peak, 12 * held, "twelve times the data", ">= 1", peak <= 12 * held, threads)
    yield from _on_device(probs, labels, audit, threads)


def _on_device(probs: Any, labels: Any, audit: Any, threads: int) -> Iterator[Row]:
    import torch

    if not torch.cuda.is_available():
        return
    given, observed = torch.from_numpy(probs).cuda(), torch.from_numpy(labels).cuda()
    with cr.memory_limit(_DEVICE_MEMORY):  # as docs/scale.md advises for devices
        took = seconds_on_device(lambda: audit(given, observed), repeats=3)
    task = f"audit, n = {N}, {REPLICATES} replicates, CUDA, memory_limit 8 GiB"
    yield Row(task, took, 2.0, "2 s", ">= 1", took <= 2.0, threads)
