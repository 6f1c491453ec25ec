"""Promises about whole runs: one seed, one text; every kind of prediction gets a report; large files fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credibly as cr
from credibly.evaluation import set_tests
from credibly.io import demo, demo_models
from same_numbers import differences

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("CREDIBLY_VALIDITY") == "full"


def python(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    given = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "2"} | environment
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=300, check=False)


def write(path: Path, n: int, k: int) -> Path:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(0.5 * np.ones(k), size=n)
    labels = np.minimum((rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1), k - 1)
    np.savez(path, probs=probs, y=labels)
    return path


@pytest.mark.slow
def test_one_seed_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    file, page = write(tmp_path / "x.npz", n=150, k=3), tmp_path / "r.html"
    fast = (str(file), "--n-resamples", "19", "--seed", "3")
    few = (
        "--statistic",
        "skce",
        "--statistic",
        "brier",
    )  # each has a picture; the numbers of all are in JSON
    words = [
        ("evaluate", *fast, "--json"),
        ("test", *fast, "--json"),
        ("report", *fast, *few, "--out", str(page), "--force", "--quiet"),
    ]
    program = f"from credibly.cli import main\nassert not any([main(one) for one in {words!r}])"
    said, pages = [], []
    for salt in ("1", "2"):
        ran = python("-c", program, PYTHONHASHSEED=salt)
        assert ran.returncode == 0, ran.stderr
        said.append(ran.stdout)
        pages.append(page.read_bytes())
    assert said[0].count("schema_version") >= 2
    assert said[0] == said[1]
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_another_processor_and_threads_change_no_more_than_the_last_digits(tmp_path: Path) -> None:
    file = write(tmp_path / "x.npz", n=200, k=10)
    some = [
        word for name in ("log_loss", "skce", "kde_ce", "hosmer_lemeshow") for word in ("--statistic", name)
    ]
    words = ("evaluate", file, "--json", "--n-resamples", 19, "--seed", 3, *some)
    estimate = python(
        "-m", "credibly", *words, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Prescott"
    )
    other = python("-m", "credibly", *words, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
    assert (estimate.returncode, other.returncode) == (0, 0), estimate.stderr + other.stderr
    assert (
        differences(json.loads(estimate.stdout), json.loads(other.stdout)) == []
    )  # p-values to the last digit


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")  # `test_every_kind_of_prediction_gets_a_report` has them
@pytest.mark.parametrize("model", demo_models())
def test_every_bundled_model_gets_a_report(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_tests, "MOST_REFITS", 0)  # weights are learned for every kind below
    data = demo(model)
    chosen = ["accuracy", "brier", "classwise_ece"]
    some = slice(0, 100)  # `make demo` evaluates all rows of one of them
    evaluation = cr.evaluate(
        data.predictions[some],
        data.labels[some],
        classes=data.classes,
        groups=None if data.groups is None else data.groups[some],
        statistics=chosen,
        n_resamples=19,
    )
    assert set(evaluation.tests) == {*chosen, "omnibus"}
    page = evaluation.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert all(verdict.finding.partition(":")[0] in page for verdict in evaluation.verdicts)


def digits() -> tuple[dict[str, Any], np.ndarray]:
    """Sixty bundled predictions as every kind there is, and their labels: digits to 3, to 6, to 9."""
    data = demo("ensemble")
    members = np.add.reduceat(np.asarray(data.predictions.probs[:60], dtype=np.float64), [0, 4, 7], axis=2)
    labels = np.digitize(data.labels[:60], [4, 7])
    members /= members.sum(axis=2, keepdims=True)
    probs = members.mean(axis=1)
    masses = np.concatenate([0.9 * probs, np.full((60, 1), 0.1)], axis=1)
    digit = np.arange(3.0)
    mean = probs @ digit
    std = np.sqrt(probs @ digit**2 - mean**2 + 1.0)
    rng = np.random.default_rng(0)
    samples = mean[:, None] + std[:, None] * rng.standard_normal((60, 20))
    kinds = {
        "probs": probs,
        "logits": cr.Point.from_logits(np.log(probs + 1e-9)),
        "members": members,
        "alpha": cr.Dirichlet(20 * probs + 1e-3),
        "mass": cr.Belief(masses, [{0}, {1}, {2}, {0, 1, 2}]),
        "intervals": cr.Intervals(members.min(axis=1), members.max(axis=1)),
        "gaussian": cr.Gaussian(mean, std),
        "samples": cr.Samples(samples),
        "quantiles": cr.Quantiles(np.quantile(samples, [0.1, 0.5, 0.9], axis=1).T, [0.1, 0.5, 0.9]),
    }
    return kinds, labels


KINDS = ("probs", "logits", "members", "alpha", "mass", "intervals", "gaussian", "samples", "quantiles")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_prediction_gets_a_report(kind: str, tmp_path: Path) -> None:
    kinds, labels = digits()
    assert set(kinds) == set(KINDS)
    real = kind in ("gaussian", "samples", "quantiles")
    some = None  # every statistic has a picture of its own, of one sort: one kind of each sort shows them all
    if kind not in ("probs", "gaussian"):
        some = ["crps", "quantile_calibration_error"] if real else ["brier", "skce"]
    evaluation = cr.evaluate(
        kinds[kind], labels.astype(float) if real else labels, statistics=some, n_resamples=19
    )
    page = evaluation.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(page) < 500_000
    assert f"Evaluation of {evaluation.predictions.kind}" in str(evaluation)
    assert evaluation.verdicts[0].finding.partition(":")[0] in page


@pytest.mark.slow
def test_counts_of_raters_get_a_report(tmp_path: Path) -> None:
    kinds, labels = digits()
    counts = np.eye(3, dtype=int)[labels] * 3 + np.eye(3, dtype=int)[(labels + 1) % 3]
    evaluation = cr.evaluate(kinds["probs"], cr.LabelCounts(counts), statistics=["brier"], n_resamples=19)
    page = evaluation.report(tmp_path / "r.html")
    assert "How much of the loss is the model" in page.read_text(encoding="utf-8")


@pytest.mark.validity
def test_a_file_of_200_000_rows_is_reported_in_a_minute_and_two_gibibytes(tmp_path: Path) -> None:
    """By default a hundredth of the rows, a tenth of the replicates, a third of the time, half of the memory.

    All of it with CREDIBLY_VALIDITY=full, as in docs/benchmarks.md.
    """
    rows, replicates, seconds, gibibytes = (200_000, 999, 60, 2) if FULL else (2000, 99, 20, 1)
    file = write(tmp_path / "large.npz", n=rows, k=10 if FULL else 4)
    pytest.importorskip("resource", reason="needs getrusage, which this system lacks")
    words = ("report", file, "--out", tmp_path / "r.html", "--n-resamples", replicates, "--quiet")
    # The process tells of itself: of the children of this one only the largest so far is known. Linux counts
    # into its own largest size what this process had when it was started, but for the line in its status.
    program = (
        "import pathlib, re, resource, sys\n"
        "from credibly.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "status = pathlib.Path('/proc/self/status')\n"
        "told = re.search(r'VmHWM:\\s*(\\d+) kB', status.read_text() if status.exists() else '')\n"
        "print(code, used.ru_utime + used.ru_stime, told[1] if told else used.ru_maxrss)\n"
    )
    given = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    ran = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        env=given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    code, used, largest = ran.stdout.splitlines()[-1].split()
    assert code == "0", ran.stderr
    assert float(used) < seconds  # of one core: other tests run beside this one
    assert int(largest) * (1 if sys.platform == "darwin" else 1024) < gibibytes * 2**30  # KiB but on macOS
    assert (tmp_path / "r.html").stat().st_size < 500_000
