"""CIFAR-10H and ChaosNLI-SNLI: the values that come with the data, to the digits given.

Origin: CIFAR-10H label histograms (47 to 63 raters) with the mean of a deep ensemble from the code repository
of C25; ChaosNLI-SNLI (100 raters) with the mean of a five-member ensemble. 15 equal bins, calibration losses
debiased as in D21. The files are read from CREDIBLY_DATA and never shipped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr
from credibly_studies import d21

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def cifar10h(data_dir: Path) -> tuple[cr.Point, cr.LabelCounts]:
    folder = data_dir / "cifar10"
    for name in ("de_avg.npy", "cifar10h_counts.npy"):
        if not (folder / name).is_file():
            pytest.skip(f"needs {name} of the CIFAR-10 predictions under CREDIBLY_DATA")
    counts = np.load(folder / "cifar10h_counts.npy").astype(int)
    return cr.Point(np.load(folder / "de_avg.npy")), cr.LabelCounts(counts)


@pytest.fixture(scope="module")
def chaosnli(data_dir: Path) -> tuple[cr.Ensemble, cr.LabelCounts]:
    path = data_dir / "snli" / "chaosnli_snli.npz"
    if not path.is_file():
        pytest.skip(f"needs {path.name} under CREDIBLY_DATA")
    with np.load(path) as data:
        return cr.Ensemble.from_logits(data["logits"]), cr.LabelCounts(data["counts"].astype(int))


def agrees(value: float, known: str) -> bool:
    """Whether a value rounds to the digits of a known one."""
    return f"{value:.{len(known.partition('.')[2])}f}" == known


def test_loss_on_cifar10h(cifar10h) -> None:
    parts = d21.decompose_loss(*cifar10h)
    assert agrees(parts.expected.value, "0.1507")
    assert agrees(parts.plugin.epistemic.value, "0.07570")
    assert agrees(parts.epistemic.value, "0.07420")
    assert agrees(parts.plugin.calibration.value, "0.003857")
    assert agrees(parts.calibration.value, "0.002111")
    assert agrees(parts.plugin.dispersion.value, "0.07184")
    assert agrees(parts.dispersion.value, "0.07209")
    assert (parts.n, parts.n_left_out, parts.raters) == (10_000, 0, (47.0, 63.0))


def test_disagreement_on_cifar10h(cifar10h) -> None:
    parts = d21.disagreement(*cifar10h)
    assert agrees(parts.expected.value, "0.08380")
    assert agrees(parts.plugin.calibration.value, "0.015370")
    assert agrees(parts.calibration.value, "0.015282")
    # bins of one instance add 0; with their plug-in value it would be .015330
    alone = parts.bins.count[0] == 1
    gap = (parts.bins.observed - parts.bins.predicted)[0][alone]
    assert agrees(parts.calibration.value + (parts.bins.weight[0][alone] * gap**2).sum(), "0.015330")


def test_loss_on_chaosnli(chaosnli) -> None:
    parts = d21.decompose_loss(*chaosnli)
    assert agrees(parts.expected.value, "0.5088")
    assert agrees(parts.plugin.epistemic.value, "0.1702")
    assert agrees(parts.epistemic.value, "0.1668")
    assert agrees(parts.calibration.value, "0.0632")
    assert agrees(parts.dispersion.value, "0.1036")


@pytest.mark.parametrize("n_raters", [2, 3, 5, 10])
def test_few_of_the_raters_tell_the_same_unbiased_loss(chaosnli, n_raters: int) -> None:
    """The interval of the unbiased epistemic loss holds the value of all raters; the plug-in lies above."""
    predictions, counts = chaosnli
    whole = cr.raters.decompose_loss(predictions, counts).epistemic.value
    parts = cr.raters.decompose_loss(predictions, counts.subsample(n_raters, rng=0))
    low, high = parts.epistemic.interval()
    assert low <= whole <= high
    assert parts.plugin.epistemic.value > high
