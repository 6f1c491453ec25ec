"""One CUDA device: tests and evaluations of 10^6 instances, many classes, a KDE test; after the transfer.

python benchmarks/run.py device
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch
from harness import Row, seconds_on_device

import credibly as cr
from credibly._arrays.philox import as_seed
from credibly.hypotests.resampling.replicates import Replicates

N, MEMBERS, CLASSES = 10**6, 10, 10
PAIR_ROWS, VECTORS = 100_000, 1000
MIB, GIB = 2**20, 2**30
SUMS = (
    "accuracy",
    "brier",
    "log_loss",
    "confidence_ece",
    "top_label_ece",
    "classwise_ece",
    "hosmer_lemeshow",
)

Task = tuple[str, float | None, Callable[[], object]]
"""What is computed, the seconds it may take (None: no target), and the computation."""


def rows(threads: int) -> Iterator[Row]:
    """Yield every row; none without CUDA."""
    if threads != 1:
        return  # the host only launches
    if not torch.cuda.is_available():
        print("device: skipped, needs a CUDA device", file=sys.stderr)
        return
    for name, target, task in tasks():
        ours = seconds_on_device(task, 3)
        limit = ours if target is None else target
        words = "no target" if target is None else f"<= {target} s"
        yield Row(name, ours, limit, "seconds allowed", words, ours <= limit, threads)


def tasks() -> Iterator[Task]:
    """Yield everything that is timed."""
    yield from _tests()
    yield from _evaluations()
    yield from _many_classes()
    yield from _pairs()


def members(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float32 members (n, m, k) and labels on the device."""
    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.standard_exponential((n, MEMBERS, CLASSES), dtype=np.float32)).cuda()
    probs = scores / scores.sum(dim=2, keepdim=True)
    return probs, torch.from_numpy(rng.integers(CLASSES, size=n)).cuda()


def _points(n: int, k: int) -> torch.Tensor:
    scores = torch.empty((n, k), dtype=torch.float64, device="cuda").exponential_()
    return scores / scores.sum(dim=1, keepdim=True)


def _tests() -> Iterator[Task]:
    probs = _points(N, CLASSES)
    labels = probs.argmax(dim=1)
    for name in ("confidence_ece", "brier", "classwise_ece"):
        for limit, words in ((None, "default limit"), (8 * GIB, "8 GiB"), (64 * MIB, "64 MiB")):

            def test(name: str = name, limit: int | None = limit) -> object:
                with contextlib.nullcontext() if limit is None else cr.memory_limit(limit):
                    return cr.calibration_test(cr.Point(probs), labels, statistics=name, rng=0)

            yield f"test of {name}, n = {N:,}, k = {CLASSES}, 999 label vectors, {words}", 0.025, test


def _evaluations() -> Iterator[Task]:
    probs, labels = members(N)
    size = f"n = {N:,}, m = {MEMBERS}, k = {CLASSES}, float32"
    ensemble = cr.Ensemble(probs)
    yield f"evaluate, {size}, tests=False", 0.3, partial(cr.evaluate, ensemble, labels, rng=0, tests=False)
    mean = ensemble.mean()
    sums = partial(cr.evaluate, mean, labels, rng=0, statistics=SUMS)
    yield f"evaluate of the mean prediction, {size}, 999 replicates of {len(SUMS)} sums", 0.5, sums
    joint = partial(cr.calibration_test, mean, labels, statistics=SUMS, rng=0)
    yield f"test of {len(SUMS)} sums together, n = {N:,}, k = {CLASSES}, 999 label vectors", None, joint


def _many_classes() -> Iterator[Task]:
    for name, n, target in (("classwise_ece", 100_000, 0.5), ("skce", 20_000, 2.0)):
        probs = _points(n, 1000)
        test = partial(cr.calibration_test, cr.Point(probs), probs.argmax(dim=1), statistics=name, rng=0)
        yield f"test of {name}, n = {n:,}, k = 1000, 999 label vectors", target, test


def _pairs() -> Iterator[Task]:
    point = cr.Point(_points(PAIR_ROWS, CLASSES))
    labels = Replicates(point.probs, as_seed(0)).labels(slice(0, VECTORS))
    statistic = cr.kde_ce.with_(bandwidth=0.05)

    def resident() -> object:
        with cr.memory_limit(40 * GIB):
            return statistic.bind(point)(labels)

    yield f"kde_ce, n = {PAIR_ROWS:,}, k = {CLASSES}, {VECTORS} label vectors", None, resident
