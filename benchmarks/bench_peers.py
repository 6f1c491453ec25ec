"""What users of other packages would compare first, each against its peer, in processor time by turns.

Peers that are not installed are left out, and the last line says which.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import Row, best_of

import credibly as cr
from credibly.predictions import Classes

Task = Callable[[], object]


def rows(threads: int) -> Iterator[Row]:
    """Yield every row, of one thread."""
    if threads > 1:
        return
    missing = []
    for make in (_crps, _risk_coverage, _bootstrap, _smooth_ece):
        try:
            yield from make()
        except ImportError as error:
            missing.append(str(error.name))
    yield from _own_figures()
    yield from _start()
    if missing:
        print(f"not installed, so left out: {', '.join(missing)}", file=sys.stderr)


def _against(task: str, peer: str, ours: Task, theirs: Task, least: float, repeats: int = 5) -> Row:
    seconds = best_of(repeats, clock=time.process_time, ours=ours, theirs=theirs)
    met = seconds["theirs"] >= least * seconds["ours"]
    return Row(task, seconds["ours"], seconds["theirs"], peer, f">= {least:g}", met, 1)


def _repeats(n: int) -> int:
    return 20 if n < 10**4 else 3


def _crps() -> Iterator[Row]:
    properscoring, scoringrules = map(importlib.import_module, ("properscoring", "scoringrules"))
    for n in (10**3, 10**5, 10**6):
        rng = np.random.default_rng(0)
        mean = rng.normal(size=n)
        draws, labels = mean[:, None] + rng.normal(size=(n, 20)), mean + rng.normal(size=n)
        ours = partial(cr.crps, cr.Samples(draws), labels)
        peers: dict[str, Task] = {
            "properscoring with numba": partial(_mean_of, properscoring.crps_ensemble, labels, draws),
            "scoringrules with numba": partial(
                _mean_of, scoringrules.crps_ensemble, labels, draws, backend="numba"
            ),
        }
        task = f"CRPS of 20 draws, with its standard error, n = {n:,}"
        for peer, theirs in peers.items():
            assert abs(float(ours()) - float(theirs())) < 1e-12
            yield _against(task, peer, ours, theirs, 1, _repeats(n))
        sort = partial(np.sort, draws, axis=1)
        row = _against(task, "np.sort of the draws alone", ours, sort, 0, _repeats(n))
        yield dataclasses.replace(row, target="the bound")


def _mean_of(function: Callable[..., Any], *given: Any, **settings: Any) -> Any:
    return function(*given, **settings).mean()


def _classes(n: int, k: int = 10) -> tuple[cr.Point, np.ndarray]:
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(n, k))
    labels = (logits + rng.gumbel(size=(n, k))).argmax(axis=1)
    return cr.Point.from_logits(1.2 * logits), labels


def _risk_coverage() -> Iterator[Row]:
    for n in (10**3, 10**5, 10**6):
        point, labels = _classes(n)
        theirs = partial(_area, _peers_area(), torch.from_numpy(point.probs), torch.from_numpy(labels))
        task = f"risk against coverage: curve, two areas and their errors, n = {n:,}, k = 10"
        ours = partial(cr.risk_coverage_curve, point, labels)
        yield _against(task, "torch-uncertainty, AURC alone", ours, theirs, 1, _repeats(n))


def _peers_area() -> Any:
    """Return torch-uncertainty's AURC; its file is read alone, since the package asks for much more."""
    package = find_spec("torch_uncertainty")
    if package is None or not package.submodule_search_locations:
        raise ImportError(name="torch_uncertainty")
    path = Path(package.submodule_search_locations[0], "metrics/classification/risk_coverage.py")
    spec = spec_from_file_location("risk_coverage", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.AURC


def _area(metric: Any, probs: Any, targets: Any) -> Any:
    made = metric()
    made.update(probs, targets)
    return made.compute()


def _bootstrap() -> Iterator[Row]:
    peer = importlib.import_module("torchmetrics.functional.classification").multiclass_calibration_error
    n, b = 1000, 1000
    point, labels = _classes(n)
    probs, targets = torch.from_numpy(point.probs), torch.from_numpy(labels)

    def ours() -> Any:
        rng = np.random.default_rng(1)
        drawn = (rng.integers(n, size=n) for _ in range(b))
        counts = np.stack([np.bincount(at, minlength=n) for at in drawn]).astype(np.float64)
        return cr.confidence_ece.bind(point)(Classes(np.broadcast_to(labels, (b, n)), 10, counts))

    def theirs() -> list[float]:
        rng = np.random.default_rng(1)
        drawn = (torch.from_numpy(rng.integers(n, size=n)) for _ in range(b))
        return [float(peer(probs[at], targets[at], num_classes=10, n_bins=15, norm="l1")) for at in drawn]

    assert np.abs(ours() - theirs()).max() < 1e-6
    yield _against("1000 bootstrap samples of ECE, n = 1,000", "torchmetrics in a loop", ours, theirs, 3)


def _smooth_ece() -> Iterator[Row]:
    peer = importlib.import_module("relplot")
    for n in (10**3, 10**5):
        rng = np.random.default_rng(0)
        share = rng.beta(0.6, 0.6, size=n)
        labels = (rng.random(n) < share**1.2).astype(np.int64)
        point = cr.Point(np.stack([1 - share, share], axis=-1))
        ours, theirs = partial(cr.smooth_ece, point, labels), partial(peer.smECE, share, labels)
        yield _against(f"smooth ECE, n = {n:,}, k = 2", "relplot", ours, theirs, 1, _repeats(n))


def _own_figures() -> Iterator[Row]:
    """Yield what has no peer, against the seconds it may take."""
    point, labels = _classes(10**6)
    sets = cr.PredictionSets(point.probs > 0.05, claimed=0.9)

    def coverage() -> object:
        return cr.hypotests.set_coverage(sets, labels, n_resamples=99, rng=0)

    seconds = best_of(3, clock=time.process_time, ours=coverage)["ours"]
    yield _limit("`set_coverage`, n = 1,000,000, k = 10, 99 replicates", seconds, 0.5)
    for k, m, limit in ((3, 5, 0.3), (2, 8, 0.3), (6, 10, 0.5)):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(400, 1, k)) + 0.5 * rng.normal(size=(400, m, k))
        ensemble = cr.Ensemble.from_logits(2 * logits, member_axis=1)
        drawn = (2 * logits[:, 0] + rng.gumbel(size=(400, k))).argmax(axis=1)
        test = partial(cr.credal_test, ensemble, drawn, rng=0)
        seconds = best_of(3, clock=time.process_time, ours=test)["ours"]
        yield _limit(f"`credal_test`, all defaults, n = 400, k = {k}, m = {m}", seconds, limit)


def _limit(task: str, seconds: float, limit: float) -> Row:
    return Row(task, seconds, limit, f"the limit, {limit:g} s", ">= 1", seconds <= limit, 1)


def _start() -> Iterator[Row]:
    """Yield what the command line takes to start: processor seconds of whole processes."""
    ours = _seconds_of("-m", "credibly", "report", "--help")
    theirs = _seconds_of("-c", "import numpy, scipy.special")
    task, peer = "`credibly report --help`, whole process", "import numpy, scipy.special"
    yield Row(task, ours, theirs, peer, ">= 1/1.3", ours <= 1.3 * theirs, 1)


def _seconds_of(*words: str) -> float:
    def once() -> float:
        before = os.times()
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return min(once() for _ in range(5))
