"""Published CIFAR-10 predictions: numbers that C25's code prints, and rows that must not pass.

Origin: softmax outputs on the CIFAR-10 test set from the code repository of C25 (`snn`, `ddu`, `de_avg`,
`lbbnn_avg`), labels from cleanlab/label-errors, label histograms from CIFAR-10H. The known values are those
that come with the data (natural logarithms, 10 bins (a, b] as in C25). The files are read from CREDIBLY_DATA
and never shipped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credibly as cr

pytestmark = pytest.mark.data

# accuracy, ECE of 10 bins (a, b], log loss and its standard deviation (ddof 0), the same clipped at 1e-10
KNOWN = {
    "snn": (0.9025, 0.066852, 0.482874, 1.838675, 0.480610, 1.796499),
    "de_avg": (0.9377, 0.007495, 0.195081, 0.763132, 0.195081, 0.763132),
    "ddu": (0.9134, 0.043952, 0.309072, 1.114931, 0.309072, 1.114931),
}
HALF_A_DIGIT = 5.1e-7


@pytest.fixture(scope="module")
def cifar10(data_dir: Path):
    def load(name: str) -> np.ndarray:
        path = data_dir / "cifar10" / f"{name}.npy"
        if not path.is_file():
            pytest.skip(f"needs {path.name} of the CIFAR-10 predictions under CREDIBLY_DATA")
        return np.load(path)

    return load


def spread(estimate: cr.results.Estimate) -> float:
    """The standard deviation with ddof 0 behind a standard error of a mean."""
    return estimate.stderr * (estimate.n - 1) ** 0.5


@pytest.mark.parametrize("model", KNOWN)
def test_accuracy_and_exact_log_loss(model: str, cifar10) -> None:
    accuracy, _, loss, deviation, _, _ = KNOWN[model]
    point, labels = cr.Point(cifar10(model)), cifar10("labels")
    assert float(cr.accuracy(point, labels)) == accuracy
    estimate = cr.log_loss(point, labels)
    assert estimate.value == pytest.approx(loss, abs=HALF_A_DIGIT)
    assert spread(estimate) == pytest.approx(deviation, abs=HALF_A_DIGIT)


@pytest.mark.parametrize("model", KNOWN)
def test_paper_mode_of_c25(model: str, cifar10) -> None:
    _, ece, _, _, loss, deviation = KNOWN[model]
    point, labels = cr.Point(cifar10(model)), cifar10("labels")
    assert float(cr.confidence_ece(point, labels, n_bins=10, closed="right")) == pytest.approx(
        ece, abs=HALF_A_DIGIT
    )
    estimate = cr.log_loss(point, labels, clip=1e-10)
    assert estimate.value == pytest.approx(loss, abs=HALF_A_DIGIT)
    assert spread(estimate) == pytest.approx(deviation, abs=HALF_A_DIGIT)


def test_clipping_changes_only_the_model_with_tiny_probabilities(cifar10) -> None:
    labels = cifar10("labels")
    changed = {
        model
        for model in KNOWN
        if float(cr.log_loss(cifar10(model), labels))
        != float(cr.log_loss(cifar10(model), labels, clip=1e-10))
    }
    assert changed == {"snn"}


def test_the_corrupt_rows_are_found_and_counted(cifar10) -> None:
    probs = cifar10("lbbnn_avg")
    with pytest.raises(cr.InvalidRowsError, match=r"row 44 sums to 10 \(24 of 10000 rows") as found:
        cr.Point(probs)
    assert len(found.value.rows) == 24
    assert np.array_equal(found.value.rows, np.flatnonzero(np.abs(probs.sum(axis=1, dtype=float) - 1) > 0.5))
    rest = np.setdiff1d(np.arange(10_000), found.value.rows)
    assert len(cr.Point(probs[rest])) == 10_000 - 24


def test_label_histograms(cifar10) -> None:
    counts = cr.LabelCounts(cifar10("cifar10h_counts"))
    parts = cr.decompose_brier(cifar10("de_avg"), counts, n_bins=15, debiased=False)
    assert parts.loss.value == pytest.approx(0.1507, abs=5e-5)  # L of D21
    assert parts.calibration.value == pytest.approx(0.003857, abs=HALF_A_DIGIT)  # CL, plug-in


def test_debiased_calibration_of_label_histograms(cifar10) -> None:
    """D21 eq. 13 debiases with the variance of mu alone (.002111); pairs of instances use that of mu - z."""
    counts, probs = cifar10("cifar10h_counts"), cifar10("de_avg").astype(np.float64)
    parts = cr.decompose_brier(probs, cr.LabelCounts(counts), n_bins=15)
    frequency = counts / counts.sum(axis=1, keepdims=True)
    by_mu = by_pairs = 0.0
    for mu, z in zip(frequency.T, probs.T, strict=True):
        bins = np.minimum((z * 15).astype(int), 14)
        for cell in range(15):
            inside = bins == cell
            size = inside.sum()
            if size > 1:
                gap = (mu[inside].mean() - z[inside].mean()) ** 2
                by_mu += size * (gap - mu[inside].var() / (size - 1)) / len(probs)
                by_pairs += size * (gap - (mu - z)[inside].var() / (size - 1)) / len(probs)
    assert by_mu == pytest.approx(0.002111, abs=HALF_A_DIGIT)
    assert parts.calibration.value == pytest.approx(by_pairs, rel=1e-9)


def test_the_sharp_network_is_in_conflict_and_no_tie_hides_it(cifar10) -> None:
    # ECE .0669 of 10 000 instances: none of 99 replicates comes near
    result = cr.calibration_test(cifar10("snn"), cifar10("labels"), n_resamples=99, rng=0)
    assert result.pvalue == 0.01
    assert result.null_distribution.max() < 0.02
