"""The core against its peers: binned errors, the consistency test, import time."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import torch
from harness import Row, best_of

import credibly as cr
from credibly.hypotests.resampling.replicates import Replicates


def rows(threads: int) -> Iterator[Row]:
    """Yield every row of the core."""
    yield from _confidence_ece(threads)
    yield from _two_classes(threads)
    yield from _reliability_curve(threads)
    yield from _classwise_ece(threads)
    yield from _consistency_test(threads)
    if threads == 1:
        yield from _import_time()


def _data(n: int, k: int = 10) -> tuple[cr.Point, np.ndarray]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(k), size=n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    return cr.Point(probs), labels


def _confidence_ece(threads: int) -> Iterator[Row]:
    from torchmetrics.functional.classification import multiclass_calibration_error

    for n in (10**3, 10**4, 10**5, 10**6):
        point, labels = _data(n)
        probs, target = torch.from_numpy(point.probs), torch.from_numpy(labels)

        def theirs(probs=probs, target=target):
            return multiclass_calibration_error(probs, target, num_classes=10, n_bins=15, norm="l1")

        def ours(point=point, labels=labels):
            return cr.confidence_ece(point, labels)

        assert abs(float(ours()) - float(theirs())) < 1e-4  # theirs adds up in single precision
        found = best_of(7 if n > 10**3 else 500, ours=ours, theirs=theirs)
        yield Row(
            f"confidence_ece, n = {n:,}, k = 10, ready Point",
            found["ours"],
            found["theirs"],
            "torchmetrics functional",
            ">= 1",
            found["theirs"] >= found["ours"],
            threads,
        )


def _two_classes(threads: int) -> Iterator[Row]:
    from probcal.metrics import ece

    point, labels = _data(10**3, k=2)
    scores = point.probs[:, 1].copy()
    found = best_of(
        500,
        ours=lambda: cr.confidence_ece(point, labels),
        theirs=lambda: ece(labels, scores, n_bins=15, strategy="width"),
    )
    fast = found["theirs"] >= found["ours"]
    task = "confidence_ece, n = 1,000, k = 2, ready Point"
    yield Row(task, found["ours"], found["theirs"], "probcal, ece of class 1", ">= 1", fast, threads)


def _reliability_curve(threads: int) -> Iterator[Row]:
    from sklearn.calibration import calibration_curve

    point, labels = _data(10**3, k=2)
    scores = point.probs[:, 1].copy()
    found = best_of(
        500,
        ours=lambda: cr.reliability_curve(point, labels, target=1, level=None),
        theirs=lambda: calibration_curve(labels, scores, n_bins=15),
    )
    fast = found["theirs"] >= found["ours"]
    task = "reliability_curve without a band, n = 1,000, k = 2"
    yield Row(task, found["ours"], found["theirs"], "scikit-learn", ">= 1", fast, threads)


def _classwise_ece(threads: int) -> Iterator[Row]:
    from netcal.metrics import ECE

    point, labels = _data(10**5)

    def theirs() -> float:
        errors = [ECE(15).measure(point.probs[:, c], (labels == c).astype(int)) for c in range(10)]
        return float(np.mean(errors))

    def ours() -> float:
        return float(cr.classwise_ece(point, labels))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert abs(ours() - theirs()) < 1e-6
        found = best_of(3, ours=ours, theirs=theirs)
    yield Row(
        "classwise_ece, n = 100,000, k = 10",
        found["ours"],
        found["theirs"],
        "netcal, one ECE per class",
        ">= 5",
        found["theirs"] >= 5 * found["ours"],
        threads,
    )


def _consistency_test(threads: int) -> Iterator[Row]:
    point, labels = _data(10**4)
    replicates = Replicates(point.probs, (1, 2))

    def test() -> cr.results.HypotestResult:
        return cr.calibration_test(point, labels, statistics="confidence_ece", n_resamples=1000, rng=0)

    def draw() -> None:
        for start in range(0, 1000, 100):
            replicates.labels(slice(start, start + 100))

    def loop() -> None:
        for _ in range(1000):
            cr.confidence_ece(point.probs, labels)

    found = best_of(3, test=test, draw=draw, loop=loop)
    task = "consistency test, 1000 resamples, n = 10,000, k = 10"
    fast = found["test"] <= 1.5 * found["draw"]
    yield Row(task, found["test"], found["draw"], "drawing the labels", ">= 1/1.5", fast, threads)
    ten = found["loop"] >= 10 * found["test"]
    yield Row(task, found["test"], found["loop"], "1000 public calls on arrays", ">= 10", ten, threads)


def _import_time() -> Iterator[Row]:
    def importing(*modules: str) -> float:
        names = ", ".join(modules)
        program = f"import time; t = time.perf_counter(); import {names}; print(time.perf_counter() - t)"
        runs = [
            float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
            for _ in range(7)
        ]
        return min(runs)

    ours = importing("credibly")
    for modules in (("numpy",), ("numpy", "scipy.special")):
        name = "import " + ", ".join(modules)
        yield Row("import credibly", ours, importing(*modules), name, "reported", True, 1)
