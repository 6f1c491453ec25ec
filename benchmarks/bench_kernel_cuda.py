"""Kernel and KDE tests on a CUDA device: labels resident, then end to end with labels drawn there.

    python benchmarks/bench_kernel_cuda.py > kernel-cuda.json

Needs numpy, torch and credibly only. Prints one JSON object: seconds (best of several, synchronised), the
share of the measured matrix-product peak in double precision, and p-values on host and device.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import torch
from harness import seconds_on_device

import credibly as cr
from credibly._arrays.philox import as_seed
from credibly.hypotests.resampling.replicates import Replicates
from credibly.predictions import Classes

K, VECTORS = 10, 1000
BANDWIDTH = 0.05
GIB = 2**30


def peak_tflops() -> float:
    """Return the fastest large product of this device in double precision, in TFLOP/s."""
    fastest = 0.0
    for size in (8192, 16384):
        left, right = (torch.rand(size, size, device="cuda", dtype=torch.float64) for _ in range(2))
        took = seconds_on_device(lambda left=left, right=right: left @ right)
        fastest = max(fastest, 2 * size**3 / took / 1e12)
    return fastest


def data(n: int) -> tuple[torch.Tensor, Classes, Classes]:
    """Return predictions, resident label vectors and one observed vector, all on the device."""
    rng = np.random.default_rng(0)
    probs = torch.from_numpy(rng.dirichlet(np.ones(K), size=n).astype(np.float32)).cuda()
    probs = probs.double()
    probs = probs / probs.sum(dim=1, keepdim=True)
    drawn = Replicates(probs, as_seed(0)).labels(slice(0, VECTORS))
    observed = Replicates(probs, as_seed(1)).labels(slice(0, 1))
    return probs, drawn, observed


def resident(name: str, n: int, peak: float) -> dict[str, Any]:
    """Time binding and all label vectors, which are on the device already."""
    probs, labels, _ = data(n)
    point = cr.Point(probs)
    bandwidth = BANDWIDTH if name != "skce" else 0.5
    statistic = cr.statistics.registered()[name].with_(bandwidth=bandwidth)
    found: dict[str, Any] = {"statistic": name, "n": n, "k": K, "resamples": VECTORS}
    with cr.memory_limit(40 * GIB):
        took = seconds_on_device(lambda: statistic.bind(point)(labels))
    work = 2.0 * n * n * K * VECTORS
    found["seconds"] = took
    found["tflops_of_the_full_product"] = work / took / 1e12
    found["share_of_peak"] = found["tflops_of_the_full_product"] / peak
    if name == "skce":
        found["note"] = "symmetric tiles do about half of the full product's work"
    return found


def end_to_end(name: str, n: int) -> dict[str, Any]:
    """Time the whole test: bind, draw labels on the device, evaluate, p-value. Compare p-values."""
    probs, _, observed = data(n)
    labels = observed.values[0]
    bandwidth = BANDWIDTH if name != "skce" else 0.5
    statistic = cr.statistics.registered()[name].with_(bandwidth=bandwidth)
    point = cr.Point(probs)

    def test(n_resamples: int) -> cr.results.HypotestResult:
        return cr.calibration_test(point, labels, statistics=statistic, n_resamples=n_resamples, rng=0)

    with cr.memory_limit(40 * GIB):
        found = {"statistic": name, "n": n, "seconds": seconds_on_device(lambda: test(VECTORS), 3)}
        found["drawing_seconds"] = seconds_on_device(
            lambda: Replicates(probs, as_seed(0)).labels(slice(0, VECTORS)), 3
        )
        found["pvalue"] = test(VECTORS).pvalue
        if n <= 10_000:
            host = cr.calibration_test(
                cr.Point(probs.cpu().numpy()),
                labels.cpu().numpy(),
                statistics=statistic,
                n_resamples=50,
                rng=0,
            )
            found["pvalue_host_50"], found["pvalue_device_50"] = host.pvalue, test(50).pvalue
    return found


def main() -> int:
    """Measure and print; return 1 where a figure is missed."""
    if not torch.cuda.is_available():
        print("needs a CUDA device", file=sys.stderr)
        return 2
    peak = peak_tflops()
    small = resident("kde_ce", 10_000, peak)
    large = resident("kde_ce", 50_000, peak)
    found = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "peak_tflops": peak,
        "resident": [small, large, resident("kl_ce", 10_000, peak), resident("skce", 10_000, peak)],
        "end_to_end": [
            end_to_end("kde_ce", 10_000),
            end_to_end("kde_ce", 50_000),
            end_to_end("skce", 10_000),
        ],
    }
    found["met"] = {"kde_ce, n = 50 000: >= 70 % of peak": large["share_of_peak"] >= 0.7}
    print(json.dumps(found, indent=1))
    return int(not all(found["met"].values()))


if __name__ == "__main__":
    sys.exit(main())
