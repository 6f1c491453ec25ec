"""Timing for `make bench`: alternatives of a task are timed in turns, so that noise hits all alike.

A benchmark module defines `rows(threads)`, which yields `Row`s; `run.py` prints and saves them.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measured ratio: how long `theirs` takes in units of `ours`, and the figure it must reach."""

    task: str
    ours: float
    theirs: float
    against: str
    target: str
    met: bool
    threads: int

    @property
    def ratio(self) -> float:
        """Return theirs / ours."""
        return self.theirs / self.ours

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the ratio."""
        return {**asdict(self), "ratio": self.ratio}


def best_of(
    repeats: int, *, clock: Callable[[], float] = time.perf_counter, **tasks: Callable[[], object]
) -> dict[str, float]:
    """Return the shortest seconds of every task over `repeats` rounds, tasks taking turns.

    `clock` is the wall's; ``time.process_time`` measures one thread on a machine that others use, too.
    """
    shortest = dict.fromkeys(tasks, float("inf"))
    for task in tasks.values():
        task()
    for _ in range(repeats):
        for name, task in tasks.items():
            gc.collect()
            began = clock()
            task()
            shortest[name] = min(shortest[name], clock() - began)
    return shortest


def seconds_on_device(task: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest seconds of a task, work on the CUDA device included."""
    import torch

    task()
    shortest = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        task()
        torch.cuda.synchronize()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Limit the threads of BLAS and torch inside the block."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(limits=threads):
            yield
    finally:
        torch.set_num_threads(before)


def peak_bytes(task: Callable[[], object]) -> int:
    """Return the peak of memory allocated through Python and NumPy while `task` runs."""
    gc.collect()
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
