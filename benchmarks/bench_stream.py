"""Rows larger than memory: a file against memory, kernels against what bounds them, Dask, equal-mass bins.

    make bench ARGS=stream                        1 GB
    CREDIBLY_STREAM_GB=8 make bench ARGS=stream   the size on record

Seven numbers in one pass: accuracy, log loss, Brier, confidence and class-wise ECE, entropy decomposition and
hull distance, over members-first single precision, m = k = 10. The file lies in a temporary folder and is
removed; before it is read, the system is asked to forget it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from harness import Row, best_of

import credibly as cr
from credibly._arrays.namespace import (
    CACHE_ELEMENTS,
    mean_entropy_of_members,
    mean_of_members,
    summary_of_rows,
    tiles,
)
from credibly.credal.means import MeasuresTask
from credibly.predictions import Rows
from credibly.predictions.passes import leaf_rows, one_pass
from credibly.statistics.over_rows import StatisticsTask

GIGABYTES = float(os.environ.get("CREDIBLY_STREAM_GB", "1"))
M = K = 10
ROW_BYTES = M * K * 4
HELD = 2**20
"""Rows of the array in memory that the file is compared with: 420 MB."""
ROUNDS = int(os.environ.get("CREDIBLY_STREAM_ROUNDS", "3"))
LIMIT = 1.5 * 2**30
STATISTICS = (cr.accuracy, cr.log_loss, cr.brier, cr.confidence_ece, cr.classwise_ece)
MEASURES = {"uncertainty": cr.uncertainty, "hull_distance": cr.credal.distance}


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of streaming; all of it works on one thread per process, beside one that reads."""
    if threads > 1:
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = _write(Path(folder), int(GIGABYTES * 1e9) // ROW_BYTES)
        n = len(np.load(paths[1], mmap_mode="r"))
        from_file, from_memory, expected = _in_turns(paths)
        yield from _file_against_memory(n, from_file, from_memory)
        yield from _memory(paths)
        yield from _equal_mass(paths, n * min(wall for wall, _ in from_file))
        yield from _kernels(paths)
        yield from _chunk_sizes(paths)
        yield from _workers(paths, expected)


def numbers(source: Rows) -> dict[str, float]:
    """Return the seven numbers and their parts in one pass."""
    tasks = [StatisticsTask.of(STATISTICS, source), MeasuresTask.of(MEASURES, source)]
    return {name: one.value for part in one_pass(source, tasks) for name, one in part.items()}


Seconds = list[tuple[float, float]]
"""Of every round: wall clock and the working thread's own, per row."""


def _in_turns(paths: tuple[str, str]) -> tuple[Seconds, Seconds, dict[str, float]]:
    """Time the file and a part of it in memory in turns, so that other work on the machine hits both.

    The part is gone through until as many rows are done: the best of short moments beats any long run.
    """
    held = np.load(paths[0], mmap_mode="r")[:, :HELD].copy()
    labels = np.load(paths[1])
    again = max(1, len(labels) // HELD)
    in_memory = cr.scan(held, labels[:HELD], member_axis=0, engine="serial")
    from_file: Seconds = []
    from_memory: Seconds = []
    for _ in range(ROUNDS):
        walls, works = zip(*(_per_row(in_memory)[0] for _ in range(again)), strict=True)
        from_memory.append((sum(walls) / again, sum(works) / again))
        _drop_from_cache(paths[0])
        seconds, found = _per_row(_scan(paths))
        from_file.append(seconds)
    return from_file, from_memory, found


def _per_row(source: Rows) -> tuple[tuple[float, float], dict[str, float]]:
    began, worked = time.perf_counter(), time.thread_time()
    found = numbers(source)
    return ((time.perf_counter() - began) / source.n, (time.thread_time() - worked) / source.n), found


def _file_against_memory(n: int, from_file: Seconds, from_memory: Seconds) -> Iterator[Row]:
    size = f"{n * ROW_BYTES / 1e9:.1f} GB on disk"
    clocks = ("wall clock", "time of the working thread, which is the wall's where a second core can read")
    for place, clock in enumerate(clocks):
        ours, theirs = ([one[place] for one in rounds] for rounds in (from_file, from_memory))
        ratios = [own / other for own, other in zip(theirs, ours, strict=True)]
        yield Row(
            f"seven numbers in one pass over {size}, per row ({clock}; {1e9 * min(ours):.0f} ns, "
            f"{ROW_BYTES / min(ours) / 1e6:.0f} MB/s; rounds {min(ratios):.2f} to {max(ratios):.2f}, "
            f"load average {os.getloadavg()[0]:.0f})",
            min(ours),
            min(theirs),
            f"the same of {HELD * ROW_BYTES / 1e9:.2f} GB in memory",
            ">= 0.9",
            min(theirs) >= 0.9 * min(ours),
            1,
        )


def _memory(paths: tuple[str, str]) -> Iterator[Row]:
    """The resident set of a process of its own at its peak, imports included (VmHWM of /proc/self/status).

    The file is read, not mapped, so what the system caches of it is not among it.
    """
    program = (
        "import pathlib, re, sys; import bench_stream as bench;"
        "bench.numbers(bench._scan(tuple(sys.argv[1:])));"
        "print(re.search(r'VmHWM:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *paths],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    peak = int(done.stdout) * 1024
    yield Row(
        f"peak resident set of that process, {peak / 2**20:.0f} MiB (in GiB, not s)",
        peak / 2**30,
        LIMIT / 2**30,
        "1.5 GiB",
        ">= 1",
        peak <= LIMIT,
        1,
    )


def _kernels(paths: tuple[str, str]) -> Iterator[Row]:
    """Every kernel over leaves of the array in memory, in units of what it cannot do without."""
    probs = np.moveaxis(np.load(paths[0], mmap_mode="r")[:, : 2**19].copy(), 0, 1)
    labels = np.load(paths[1])[: 2**19]
    given = cr.Ensemble(probs, member_axis=1)
    leaf = leaf_rows(cr.scan(given, labels).example)
    parts = [slice(start, start + leaf) for start in range(0, len(given), leaf)]
    source = cr.scan(given.mean(), labels, chunk_rows=leaf)
    task = StatisticsTask.of(STATISTICS, source)
    means = [piece.chunk() for piece in source.pieces]  # type: ignore[attr-defined]
    table = np.empty((CACHE_ELEMENTS // 2 // K, K))

    def over(function: Callable[[slice], object]) -> Callable[[], object]:
        return lambda: [function(part) for part in parts]

    @np.errstate(divide="ignore")
    def logarithms(part: slice) -> None:
        for member in range(M):
            for rows in tiles(leaf, len(table)):
                block = probs[part, member][rows]
                np.copyto(table[: len(block)], block)
                np.log(table[: len(block)], out=table[: len(block)])

    found = best_of(
        5,
        clock=time.process_time,  # the machine is shared
        reading=over(lambda part: [probs[part, member].max() for member in range(M)]),
        logarithms=over(logarithms),
        check=over(lambda part: summary_of_rows(probs[part])),
        mean=over(lambda part: mean_of_members(probs[part])),
        entropy=over(lambda part: mean_entropy_of_members(probs[part])),
        distance=over(lambda part: cr.credal.distance(given[part], labels[part])),
        statistics=lambda: [task.sums(mean) for mean in means],
        whole=lambda: numbers(cr.scan(np.moveaxis(probs, 1, 0), labels, member_axis=0)),
    )
    once, logs = found["reading"], found["logarithms"]
    every, single = "logarithms of all entries", "reading the array once"
    yield _kernel("rows checked", found["check"], once, single)
    yield _kernel("mean of members", found["mean"], once, single)
    yield _kernel("hull distance", found["distance"], once, single)
    yield _kernel("mean entropy of members", found["entropy"], logs, every)
    yield _kernel("one pass, all of it", found["whole"], 3 * once + logs, f"{every} and three reads")
    what = "five statistics of the mean (bins compared, cells counted)"
    yield _kernel(what, found["statistics"], once, single, wanted=False)


def _kernel(what: str, ours: float, bound: float, against: str, *, wanted: bool = True) -> Row:
    target = ">= 1/4" if wanted else "reported"
    return Row(
        f"kernel: {what}, n = {2**19:,}", ours, bound, against, target, ours <= 4 * bound or not wanted, 1
    )


def _equal_mass(paths: tuple[str, str], one_pass_took: float) -> Iterator[Row]:
    source = _scan(paths)
    began = time.perf_counter()
    StatisticsTask.of([cr.classwise_ece.with_(binning="equal_mass")], source)
    yield Row(
        f"exact edges of 15 equal-mass bins in {K} classes, two passes, n = {source.n:,}",
        time.perf_counter() - began,
        one_pass_took,
        "the one pass for seven numbers",
        "reported",
        True,
        1,
    )


def _chunk_sizes(paths: tuple[str, str]) -> Iterator[Row]:
    """The first million rows in 1, 7 and 100 chunks, and in chunks that end where leaves end."""
    n = 2**20
    held = np.load(paths[0], mmap_mode="r")[:, :n].copy()
    labels = np.load(paths[1])[:n]

    def cut(chunk_rows: int) -> dict[str, float]:
        return numbers(cr.scan(held, labels, member_axis=0, chunk_rows=chunk_rows))

    began = time.perf_counter()
    whole = cut(n)
    took = time.perf_counter() - began
    off = max(abs(cut(-(-n // parts))[name] / whole[name] - 1) for parts in (7, 100) for name in whole)
    leaf = leaf_rows(cr.scan(held, labels, member_axis=0).example)
    bitwise = all(cut(leaf * step) == whole for step in (1, 3, 10))
    yield Row(
        f"1, 7 and 100 chunks, n = {n:,}: largest relative difference {off:.1e}; chunks of 1, 3 and 10 "
        f"leaves of {leaf} rows: {'equal bit by bit' if bitwise else 'NOT equal'}",
        took,
        took,
        "-",
        "1e-12, bitwise",
        off <= 1e-12 and bitwise,
        1,
    )


def _workers(paths: tuple[str, str], expected: dict[str, float]) -> Iterator[Row]:
    """Two local worker processes against one, the data read by the workers."""
    from distributed import Client, LocalCluster

    times: dict[int, list[float]] = {1: [], 2: []}
    off = 0.0
    for _ in range(2):
        for n_workers in times:
            with (
                LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    memory_limit=0,
                ) as cluster,
                Client(cluster) as client,
            ):
                client.wait_for_workers(n_workers)
                client.run(_warm)
                began = time.perf_counter()
                found = numbers(cr.scan(*paths, member_axis=0, engine=client))
                times[n_workers].append(time.perf_counter() - began)
            off = max(off, *(abs(found[name] / expected[name] - 1) for name in expected))
    ratios = [one / two for one, two in zip(times[1], times[2], strict=True)]
    load = os.getloadavg()[0]
    yield Row(
        f"two Dask worker processes over {GIGABYTES:g} GB; largest relative difference to none {off:.1e}; "
        f"rounds {min(ratios):.2f} to {max(ratios):.2f}, load average {load:.1f}",
        min(times[2]),
        min(times[1]),
        "one worker process",
        ">= 1.6",
        min(times[1]) >= 1.6 * min(times[2]) and off <= 1e-12,
        1,
    )


def _warm() -> None:
    """Import the library on a worker, which would count against the first chunk."""
    import credibly  # noqa: F401


def _scan(paths: tuple[str, str]) -> Rows:
    return cr.scan(*paths, member_axis=0, engine="serial")


def _write(folder: Path, n: int) -> tuple[str, str]:
    """Write predictions of ten members that differ and labels that they half know."""
    paths = str(folder / "members.npy"), str(folder / "labels.npy")
    rng = np.random.default_rng(0)
    labels = rng.integers(K, size=n)
    np.save(paths[1], labels)
    out = np.lib.format.open_memmap(paths[0], "w+", np.float32, (M, n, K))
    for start in range(0, n, 2**17):
        own = labels[start : start + 2**17]
        scores = rng.standard_exponential((len(own), K), dtype=np.float32)
        scores[np.arange(len(own)), own] += 2
        for member in range(M):
            block = scores * rng.standard_exponential((len(own), K), dtype=np.float32)
            out[member, start : start + len(own)] = block / block.sum(axis=1, keepdims=True)
    out.flush()
    return paths


def _drop_from_cache(path: str) -> None:
    """Ask the system to forget the file, so that it is read from disk."""
    if hasattr(os, "posix_fadvise"):
        with Path(path).open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
