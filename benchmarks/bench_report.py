"""Reports of large data: time and memory of 200 000 rows, size with many rows, classes and members."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import Row

import credibly as cr
from credibly.io import demo
from credibly.report import render_report

SECONDS, BYTES, PAGE = 60.0, 2 * 2**30, 500_000


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of the report."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, peak = _command_line(Path(folder), threads)
    task = "`credibly report`, n = 200,000, k = 10, 999 replicates, whole process, CPU seconds"
    yield Row(task, seconds, SECONDS, "60 s", ">= 1", seconds <= SECONDS, threads)
    yield Row(f"{task}: peak memory (GiB, not s)", peak / 2**30, 2.0, "2 GiB", ">= 1", peak <= BYTES, threads)
    if threads > 1:
        return
    data = demo("ensemble")
    pages = {
        "demo, 10 members": cr.evaluate(data.predictions, data.labels, classes=data.classes),
        "n = 10,000, k = 1000, 19 replicates": _evaluated(10_000, 1000),
        "n = 1,000,000, k = 10, 19 replicates": _evaluated(1_000_000, 10),
    }
    for name, evaluation in pages.items():
        size = len(render_report(evaluation).encode("utf-8"))
        yield Row(
            f"report of {name} (kB, not s)",
            size / 1000,
            PAGE / 1000,
            "500 kB",
            ">= 1",
            size < PAGE,
            threads,
        )


def _evaluated(n: int, k: int) -> cr.Evaluation:
    return cr.evaluate(*_data(n, k), n_resamples=19)


def _data(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(0.5 * np.ones(k), size=n)
    labels = np.minimum((rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1), k - 1)
    return probs, labels


def _command_line(folder: Path, threads: int) -> tuple[float, int]:
    """Return seconds of all cores and peak memory of the command, as a user starts it.

    Not wall-clock seconds: the row would measure what else the machine does.
    """
    probs, labels = _data(200_000, 10)
    np.savez(folder / "large.npz", probs=probs, y=labels)
    words = [sys.executable, "-m", "credibly", "report", str(folder / "large.npz"), "--quiet"]
    limited = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=os.environ | limited, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss * unit
