"""Kernel and KDE tests on a CUDA device: labels resident, then end to end with labels drawn there.

    python benchmarks/bench_kernel_cuda.py > kernel-cuda.json

Needs numpy, torch and credibly only. Prints one JSON object: seconds (best of several, synchronised), the
share of the measured TF32 matrix-product peak, and differences from the same numbers in double precision.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def matrix_products(precision: str) -> Iterator[None]:
    """Let single-precision products use what is named."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def peak_tflops() -> float:
    """Return the fastest large TF32 product of this device, in TFLOP/s."""
    fastest = 0.0
    with matrix_products("high"):
        for size in (8192, 16384):
            left = torch.rand(size, size, device="cuda")
            right = torch.rand(size, size, device="cuda")
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
    statistic = cr.statistics.registered()[name].with_(bandwidth=bandwidth, precision="tf32")
    found: dict[str, Any] = {"statistic": name, "n": n, "k": K, "resamples": VECTORS}
    with cr.memory_limit(40 * GIB):
        took = seconds_on_device(lambda: statistic.bind(point)(labels))
        values = statistic.bind(point)(labels)
        few = Classes(labels.values[:20], K)
        exact = statistic.with_(precision="float64").bind(point)(few)
    work = 2.0 * n * n * K * VECTORS
    found["seconds"] = took
    found["tflops_of_the_full_product"] = work / took / 1e12
    found["share_of_peak"] = found["tflops_of_the_full_product"] / peak
    if name == "skce":
        found["note"] = "symmetric tiles do about half of the full product's work"
    found["largest_difference_from_float64"] = float((values[:20] - exact).abs().max())
    found["spread_of_values"] = float(values.std())
    return found


def end_to_end(name: str, n: int) -> dict[str, Any]:
    """Time the whole test: bind, draw labels on the device, evaluate, p-value. Compare p-values."""
    probs, _, observed = data(n)
    labels = observed.values[0]
    bandwidth = BANDWIDTH if name != "skce" else 0.5
    statistic = cr.statistics.registered()[name].with_(bandwidth=bandwidth, precision="tf32")
    point = cr.Point(probs)

    def test(precision: str) -> cr.results.HypotestResult:
        return cr.calibration_test(
            point, labels, statistics=statistic.with_(precision=precision), n_resamples=VECTORS, rng=0
        )

    with cr.memory_limit(40 * GIB):
        found = {"statistic": name, "n": n, "seconds": seconds_on_device(lambda: test("tf32"), 3)}
        found["drawing_seconds"] = seconds_on_device(
            lambda: Replicates(probs, as_seed(0)).labels(slice(0, VECTORS)), 3
        )
        found["pvalue_tf32"] = test("tf32").pvalue
        if n <= 10_000:
            found["pvalue_float64"] = test("float64").pvalue
            host = cr.calibration_test(
                cr.Point(probs.cpu().numpy()),
                labels.cpu().numpy(),
                statistics=statistic.with_(precision="float64"),
                n_resamples=50,
                rng=0,
            )
            device = cr.calibration_test(
                point, labels, statistics=statistic.with_(precision="float64"), n_resamples=50, rng=0
            )
            found["pvalue_host_50"], found["pvalue_device_50"] = host.pvalue, device.pvalue
    return found


def flag_comes_back() -> bool:
    """Tell whether the precision of products is what it was before a TF32 test."""
    with matrix_products("highest"):
        probs, labels, _ = data(500)
        cr.kde_ce.with_(bandwidth=BANDWIDTH, precision="tf32").bind(cr.Point(probs))(labels)
        return torch.get_float32_matmul_precision() == "highest"


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
        "peak_tf32_tflops": peak,
        "resident": [small, large, resident("kl_ce", 10_000, peak), resident("skce", 10_000, peak)],
        "end_to_end": [
            end_to_end("kde_ce", 10_000),
            end_to_end("kde_ce", 50_000),
            end_to_end("skce", 10_000),
        ],
        "precision_flag_restored": flag_comes_back(),
    }
    found["met"] = {
        "kde_ce, n = 10 000: <= 12 ms": small["seconds"] <= 0.012,
        "kde_ce, n = 50 000: <= 0.25 s": large["seconds"] <= 0.25,
        "kde_ce, n = 50 000: >= 70 % of peak": large["share_of_peak"] >= 0.7,
    }
    print(json.dumps(found, indent=1))
    return int(not all(found["met"].values()))


if __name__ == "__main__":
    sys.exit(main())
