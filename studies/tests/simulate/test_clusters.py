"""Studies on a Dask cluster: a killed worker changes nothing, after a killed scheduler a study goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly_studies.simulate import MulticlassWorld, power_study

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the cluster's own

WORLDS = [MulticlassWorld("H0,1", n_members=3, n_classes=3), MulticlassWorld("H1", delta=0.5)]


def study(**settings: Any) -> np.ndarray:
    """Return the p-values of a study whose test takes a moment, so that it can be stopped in the middle."""

    def slow(sample: Any, rng: np.random.Generator) -> float:
        time.sleep(0.002)
        return float(rng.random())

    return power_study({"slow": slow}, WORLDS, repetitions=100, n=10, rng=5, **settings).pvalues


def calling_once(action: Callable[[], None]) -> Callable[[int, int], None]:
    """Return a progress that does something when a quarter is done."""
    left = [action]

    def progress(done: int, total: int) -> None:
        if left and done > total // 4:
            left.pop()()

    return progress


class Cluster:
    """A scheduler and workers as processes of their own, so that each can be killed."""

    def __init__(self, folder: Path, n_workers: int) -> None:
        file = str(folder / "scheduler.json")
        words = ["dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file]
        self.scheduler = self._start(*words)
        words = ["dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        self.workers = [self._start(*words, "--death-timeout", "20") for _ in range(n_workers)]
        self.client = distributed.Client(scheduler_file=file, set_as_default=False)
        self.client.wait_for_workers(n_workers, timeout=60)

    @staticmethod
    def _start(name: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{name}", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        self.client.close()
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    opened = Cluster(tmp_path, 2)
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.slow
def test_a_killed_worker_then_a_killed_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    undisturbed = study(engine="serial")
    kill = calling_once(lambda: os.kill(cluster.workers[0].pid, signal.SIGKILL))
    np.testing.assert_array_equal(study(engine=cluster.client, progress=kill), undisturbed)
    assert cluster.workers[0].wait(10) == -signal.SIGKILL

    out = tmp_path / "parts"
    kill = calling_once(lambda: os.kill(cluster.scheduler.pid, signal.SIGKILL))
    with pytest.raises(cr.CrediblyError, match=r"the cluster must run .* scheduler was lost.*run it again"):
        study(engine=cluster.client, progress=kill, out=out)
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("*-*-*.json")}
    assert 5 < len(finished) < 20
    np.testing.assert_array_equal(study(engine="serial", out=out), undisturbed)
    assert len(list(out.glob("*-*-*.json"))) == 20
    assert all((out / name).stat().st_mtime_ns == changed for name, changed in finished.items())
