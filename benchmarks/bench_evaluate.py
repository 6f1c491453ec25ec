"""What an evaluation with all defaults costs, and the kernel test of Gaussians in it.

Seconds of one core: on a machine that others use, too, the clock on the wall measures them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
from harness import Row, best_of

import credibly as cr
from credibly.hypotests.resampling.replicates import RealReplicates

SECONDS, ROUNDS = 5.0, 3
_TIMED = """
import sys, time
import numpy as np
import credibly as cr

kind, members = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
if kind == "Gaussian":
    mean = rng.normal(size=(10_000, 1)) + 0.5 * rng.normal(size=(10_000, members))
    std = rng.gamma(8.0, 1 / 8, size=(10_000, members))
    labels = mean[np.arange(10_000), rng.integers(members, size=10_000)] + std[:, 0] * rng.normal(size=10_000)
    given = cr.Gaussian(mean, std)
else:
    logits = 2 * rng.normal(size=(10_000, 1, 10))
    probs = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    labels = (probs[:, 0].cumsum(axis=1) > rng.random((10_000, 1))).argmax(axis=1)
    said = np.exp(1.5 * logits + 0.5 * rng.normal(size=(10_000, members, 10)) * (members > 1))
    said /= said.sum(axis=-1, keepdims=True)
    given = cr.Ensemble(said, member_axis=1) if kind == "Ensemble" else cr.Point(said[:, 0])
began = time.process_time()
cr.evaluate(given, labels)
print(time.process_time() - began)
"""


def rows(threads: int) -> Iterator[Row]:
    """Yield every row, of one thread: a second one counts as CPU time while it waits."""
    if threads > 1:
        return
    for kind, members in (("Point", 1), ("Ensemble", 5), ("Gaussian", 10)):
        seconds = min(_evaluation(kind, members) for _ in range(ROUNDS))
        size = "n = 10,000" + ", k = 10" * (kind != "Gaussian") + f", m = {members}" * (members > 1)
        task = f"`evaluate` of `{kind}`, {size}, all defaults, fresh process, CPU seconds, best of {ROUNDS}"
        yield Row(task, seconds, SECONDS, "5 s", ">= 1", seconds <= SECONDS, threads)
    yield from kernel_rows(threads)


def _evaluation(kind: str, members: int) -> float:
    """Return CPU seconds of one evaluation with what it imports; class models are too sure by a half."""
    limited = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # modules are compiled once, when they are installed or first used
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-c", _TIMED, kind, str(members)]
    ran = subprocess.run(words, env=kept | limited, check=True, capture_output=True, text=True)
    return float(ran.stdout)


def kernel_rows(threads: int) -> Iterator[Row]:
    """Kernel errors of Gaussians on drawn labels, in units of the label kernels they need."""
    n, drawn = 2000, 100
    rng = np.random.default_rng(1)
    mean, std = rng.normal(size=n), rng.uniform(0.5, 1.5, size=n)
    given = cr.Gaussian(mean, std)
    bound = cr.skce.bind(given)
    vectors = RealReplicates(given, (1, 2)).labels(slice(0, drawn))

    def label_vectors() -> object:
        return bound(vectors)

    def label_kernels() -> None:
        """exp(-(y_i - y_j)^2 / 2) of the pairs of ten label vectors."""
        for one in vectors.values[:10]:
            gap = one[:, None] - one[None, :]
            np.multiply(gap, gap, out=gap)
            gap *= -0.5
            np.exp(gap, out=gap)

    found = best_of(
        3,
        clock=time.process_time,
        label_vectors=label_vectors,
        label_kernels=label_kernels,
    )
    kernels = found["label_kernels"] * drawn / 10 / 2  # every pair once
    yield Row(
        f"skce of Gaussians, n = {n:,}, {drawn} drawn label vectors",
        found["label_vectors"],
        kernels,
        "their label kernels, every pair once",
        "<= 2x",
        found["label_vectors"] <= 2 * kernels,
        threads,
    )
