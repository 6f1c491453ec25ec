"""Decompositions over raters: time for 10 000 instances, growth and memory up to a million."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import numpy as np
from harness import Row, best_of, peak_bytes

import credibly as cr

LIMIT = 0.060  # seconds for n = 10 000, k = 10, both decompositions with all standard errors
MEMORY = 2 * 2**30
CHUNK = 100_000


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of the raters."""
    point, counts = _data(10_000)
    small = best_of(15, ours=lambda: _both(point, counts))["ours"]
    yield Row(
        "decompose_loss + decompose_disagreement, n = 10,000, k = 10",
        small,
        LIMIT,
        "60 ms",
        ">= 1 (one thread)",
        threads > 1 or small <= LIMIT,
        threads,
    )
    if threads > 1:
        return
    point, counts = _data(10**6)
    found = best_of(
        2,
        whole=lambda: _both(point, counts),
        chunks=lambda: _chunked(point, counts),
    )
    for name, seconds in found.items():
        yield Row(
            f"the same, n = 1,000,000, {name}",
            seconds,
            100 * small,
            "100 times n = 10,000",
            ">= 0.5 (linear; small data are kept between the passes, large ones read twice)",
            seconds <= 200 * small,
            threads,
        )
    inputs = point.probs.nbytes + counts.counts.nbytes
    for name, task in (("whole", _both), ("chunks", _chunked)):
        used = inputs + peak_bytes(lambda task=task: task(point, counts))
        yield Row(
            f"bytes, inputs included, n = 1,000,000, {name} (in GiB, not s)",
            used / 2**30,
            MEMORY / 2**30,
            "2 GiB",
            ">= 1",
            used <= MEMORY,
            threads,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"<!-- peak resident set of this process: {peak / 2**30:.2f} GiB -->")


def _data(n: int, k: int = 10) -> tuple[cr.Point, cr.LabelCounts]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(k), size=n)
    return cr.Point(probs), cr.LabelCounts(rng.multinomial(rng.integers(2, 20, size=n), probs))


def _both(point: cr.Point, counts: cr.LabelCounts) -> None:
    cr.raters.decompose_loss(point, counts)
    cr.raters.decompose_disagreement(point, counts)


def _chunked(point: cr.Point, counts: cr.LabelCounts) -> None:
    chunks = cr.scan(point, counts, chunk_rows=CHUNK)
    cr.raters.decompose_loss(chunks)
    cr.raters.decompose_disagreement(chunks)
