"""Write other_numbers.json: what other packages say about the predictions in tests/golden/data.

    python tests/golden/make_other_numbers.py

Needs torchmetrics, netcal and scikit-learn (the extra `bench`); the tests that read the file need none of
them. credibly is not imported. A number is recorded only where the package defines it as the statistic of
that name does; the comments say what had to be arranged.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from netcal.metrics import ECE
from sklearn import metrics
from torchmetrics.functional.classification import multiclass_calibration_error

HERE = Path(__file__).parent
N_BINS = 15


def predictions() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return probabilities and labels by name: three models on digits, the mean of five on remainders."""
    digits, remainders = (np.load(HERE / "data" / f"{name}.npz") for name in ("digits", "remainders"))
    labels = digits["labels"].astype(int)
    settings = {
        f"digits {name}": (digits[name].astype(float), labels) for name in ("sharp", "mean", "smooth")
    }
    members = torch.softmax(torch.from_numpy(remainders["logits"]).double(), -1).numpy()
    return {**settings, "remainders mean": (members.mean(axis=1), remainders["labels"].astype(int))}


def numbers(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the numbers of one model, by package and name."""
    k = probs.shape[1]
    onehot = np.eye(k)[labels]
    binned = [float(ECE(N_BINS).measure(probs[:, j], onehot[:, j])) for j in range(k)]
    found = {
        "scikit-learn accuracy": metrics.accuracy_score(labels, probs.argmax(axis=1)),
        "scikit-learn log_loss": metrics.log_loss(onehot, probs),
        # the sum over classes: scikit-learn averages the squares over the k columns
        "scikit-learn brier": k * metrics.mean_squared_error(onehot, probs),
        "netcal confidence_ece": ECE(N_BINS).measure(probs, labels),
        "netcal classwise_ece": np.mean(binned),
    }
    if probs.max() < 1:  # torchmetrics gives a confidence of exactly 1 a bin of its own
        arguments = torch.from_numpy(probs), torch.from_numpy(labels), k, N_BINS
        found["torchmetrics confidence_ece"] = multiclass_calibration_error(*arguments, norm="l1")
        found["torchmetrics confidence_ece, p=2"] = multiclass_calibration_error(*arguments, norm="l2")
    return {name: float(value) for name, value in found.items()}


def main() -> None:
    """Compute and write."""
    packages = ("netcal", "numpy", "scikit-learn", "torch", "torchmetrics")
    record = {
        "bins": N_BINS,
        "versions": {name: version(name) for name in packages},
        "values": {name: numbers(*prediction) for name, prediction in predictions().items()},
    }
    (HERE / "other_numbers.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
