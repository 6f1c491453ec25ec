"""One CUDA device: tests and evaluations of 10^6 instances, many classes, a KDE test; after the transfer.

python benchmarks/run.py device
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from harness import Row, seconds_on_device

import credibly as cr
from credibly._arrays.philox import as_seed
from credibly.hypotests.resampling.replicates import Replicates

N, MEMBERS, CLASSES = 10**6, 10, 10
PAIR_ROWS, VECTORS = 100_000, 1000
GIB = 2**30


def rows(threads: int) -> Iterator[Row]:
    """Yield every row; none without CUDA."""
    if threads != 1:
        return  # the host only launches
    if not torch.cuda.is_available():
        print("device: skipped, needs a CUDA device", file=sys.stderr)
        return
    yield from _tests(threads)
    yield from _evaluations(threads)
    yield from _pairs(threads)
    yield from _many_classes(threads)


def members(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float32 members (n, m, k) and labels on the device."""
    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.standard_exponential((n, MEMBERS, CLASSES), dtype=np.float32)).cuda()
    probs = scores / scores.sum(dim=2, keepdim=True)
    return probs, torch.from_numpy(rng.integers(CLASSES, size=n)).cuda()


def _tests(threads: int) -> Iterator[Row]:
    probs = _points(N, CLASSES)
    labels = probs.argmax(dim=1)
    for name in ("confidence_ece", "brier", "classwise_ece"):
        for limit in (None, 64 * 2**20):
            with contextlib.nullcontext() if limit is None else cr.memory_limit(limit):
                ours = seconds_on_device(
                    lambda name=name: cr.calibration_test(cr.Point(probs), labels, statistics=name, rng=0), 3
                )
            words = "default limit" if limit is None else "limit of 64 MiB"
            yield _against(f"test of {name}, n = {N:,}, 999 label vectors, {words}", ours, 0.025, threads)


def _many_classes(threads: int) -> Iterator[Row]:
    for name, n, target in (("classwise_ece", 100_000, 0.5), ("skce", 20_000, 2.0)):
        probs = _points(n, 1000)
        labels = probs.argmax(dim=1)
        ours = seconds_on_device(
            lambda name=name, probs=probs, labels=labels: cr.calibration_test(
                cr.Point(probs), labels, statistics=name, rng=0
            ),
            2,
        )
        yield _against(f"test of {name}, n = {n:,}, k = 1000, 999 label vectors", ours, target, threads)


def _points(n: int, k: int) -> torch.Tensor:
    scores = torch.empty((n, k), dtype=torch.float64, device="cuda").exponential_()
    return scores / scores.sum(dim=1, keepdim=True)


def _evaluations(threads: int) -> Iterator[Row]:
    probs, labels = members(N)
    predictions = cr.Ensemble(probs)
    sums = [
        one
        for name, one in cr.statistics.registered().items()
        if one.traits.reduction == "sum" and _of_classes(one)
    ]
    with cr.memory_limit(8 * GIB):
        task = f"evaluate, n = {N:,}, m = {MEMBERS}, k = {CLASSES}, float32 on the device"
        for words, target, settings in (
            (", tests=False", 0.5, {"tests": False}),
            (", mean prediction, 999 replicates, no pairs", None, {"statistics": sums}),
        ):
            given: Any = predictions if "statistics" not in settings else predictions.mean()
            ours = seconds_on_device(
                lambda given=given, settings=settings: cr.evaluate(given, labels, rng=0, **settings), 3
            )
            yield _against(task + words, ours, target, threads)


def _of_classes(statistic: cr.statistics.Statistic) -> bool:
    return "classes" in statistic.traits.labels


def _pairs(threads: int) -> Iterator[Row]:
    probs = members(PAIR_ROWS)[0][:, 0, :].double()
    point = cr.Point(probs / probs.sum(dim=1, keepdim=True))
    labels = Replicates(point.probs, as_seed(0)).labels(slice(0, VECTORS))
    statistic = cr.kde_ce.with_(bandwidth=0.05)
    with cr.memory_limit(40 * GIB):
        ours = seconds_on_device(lambda: statistic.bind(point)(labels), 3)
        task = f"kde_ce, n = {PAIR_ROWS:,}, k = {CLASSES}, {VECTORS} label vectors on the device"
        yield _against(task, ours, None, threads)
        observed = labels.values[0, :]
        ours = seconds_on_device(
            lambda: cr.calibration_test(point, observed, statistics=statistic, n_resamples=VECTORS, rng=0), 2
        )
        yield _against(
            f"calibration_test of kde_ce, n = {PAIR_ROWS:,}, {VECTORS} resamples drawn there",
            ours,
            None,
            threads,
        )


def _against(task: str, ours: float, target: float | None, threads: int) -> Row:
    """Return a row against a number of seconds, or against itself where none was set."""
    limit = ours if target is None else target
    words = "no target" if target is None else f"<= {target} s"
    return Row(task, ours, limit, "seconds allowed", words, ours <= limit, threads)
