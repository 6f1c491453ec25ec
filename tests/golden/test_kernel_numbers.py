"""Kernel and KDE errors of public predictions: the numbers of make_kernel_numbers.py, which does not use
credibly.

Origin: CIFAR-10 softmax outputs from the code repository of C25 (`de_avg`, `ddu`), five NLI models on the
SNLI test set (mean of their softmax). The files are read from CREDIBLY_DATA and never shipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly_studies.kernel_estimators import linear_skce

pytestmark = pytest.mark.data

RECORD = json.loads(Path(__file__).with_name("kernel_numbers.json").read_text(encoding="utf-8"))


def load(data_dir: Path, name: str) -> tuple[cr.Point, np.ndarray]:
    """The first rows of a data set, read through the package's own types."""
    kind, _, model = name.partition(" ")
    needed = data_dir / kind / (f"{model}.npy" if kind == "cifar10" else "snli_test_ensemble.npz")
    if not needed.is_file():
        pytest.skip(f"needs {needed.name} under CREDIBLY_DATA")
    if kind == "cifar10":
        point, labels = cr.Point(np.load(needed)), np.load(data_dir / kind / "labels.npy")
    else:
        content = np.load(needed)
        point, labels = cr.Ensemble.from_logits(content["logits"]).mean(), content["labels"]
    return point[: RECORD["rows"]], labels[: RECORD["rows"]]


@pytest.mark.parametrize("name", RECORD["values"])
def test_kernel_errors(name: str, data_dir: Path) -> None:
    expected = RECORD["values"][name]
    point, labels = load(data_dir, name)
    for estimator, statistic in (("unbiased", cr.skce), ("linear", linear_skce)):
        value = statistic(point, labels)
        assert float(value) == pytest.approx(expected[estimator], rel=1e-9, abs=1e-13)
        assert value.settings["bandwidth"] == pytest.approx(expected["median"], rel=1e-12)
    assert float(cr.mmd_ce(point, labels)) == pytest.approx(expected["unbiased"], rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("name", RECORD["values"])
def test_smoothed_errors(name: str, data_dir: Path) -> None:
    expected = RECORD["values"][name]
    point, labels = load(data_dir, name)
    bandwidth, clip = RECORD["bandwidth"], RECORD["clip"]
    assert float(cr.kde_ce(point, labels, bandwidth=bandwidth)) == pytest.approx(expected["kde_ce"], rel=1e-9)
    first = cr.kde_ce(point, labels, bandwidth=bandwidth, p=1)
    assert float(first) == pytest.approx(expected["kde_ce_1"], rel=1e-9)
    divergence = cr.kl_ce(point, labels, bandwidth=bandwidth, clip=clip)
    assert float(divergence) == pytest.approx(expected["kl_ce"], rel=1e-9)
