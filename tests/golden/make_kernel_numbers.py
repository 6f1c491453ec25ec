"""Write kernel_numbers.json: kernel and KDE errors of public predictions, from the formulas, without
credibly.

    python tests/golden/make_kernel_numbers.py DATA_FOLDER

NumPy and SciPy only, whole (n, n) matrices, one label vector. The first ROWS instances of each data set.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import gammaln

ROWS = 1000
BANDWIDTH = 0.05
CLIP = 1e-12


def skce(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Widmann et al. 2019: exp(-||p - q||_2 / median), unbiased, biased and linear."""
    distances = pdist(np.unique(probs, axis=0))
    bandwidth = float(np.median(distances))
    residual = np.eye(probs.shape[1])[labels] - probs
    terms = np.exp(-squareform(pdist(probs)) / bandwidth) * (residual @ residual.T)
    n = len(probs)
    return {
        "median": bandwidth,
        "unbiased": float((terms.sum() - np.trace(terms)) / (n * (n - 1))),
        "biased": float(terms.mean()),
        "linear": float(np.mean(terms[np.arange(0, n - 1, 2), np.arange(1, n, 2)])),
    }


def label_estimates(probs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Popordanoska et al. 2022: leave-one-out Dirichlet kernel estimate of E[y | f].

    A density is 0 at a row that is 0 where its centre is more than rounding; rows without neighbours are NaN.
    """
    alpha = probs / BANDWIDTH + 1
    log_beta = gammaln(alpha).sum(axis=1) - gammaln(alpha.sum(axis=1))
    logs = np.log(np.where(probs > 0, probs, 1.0)) @ (probs / BANDWIDTH).T - log_beta[None, :]
    impossible = ((probs[:, None, :] == 0) & (probs[None, :, :] > np.finfo(float).eps)).any(axis=2)
    logs[impossible | np.eye(len(probs), dtype=bool)] = -np.inf
    with np.errstate(invalid="ignore"):
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ np.eye(probs.shape[1])[labels]


def kde(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """CE_2, CE_1 and the divergence with predictions clipped at CLIP."""
    estimate = label_estimates(probs, labels)
    known = np.isfinite(estimate).all(axis=1)
    estimate, probs = estimate[known], probs[known]
    clipped = np.maximum(probs, CLIP)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(estimate > 0, estimate * np.log(estimate / clipped), 0.0)
    return {
        "kde_ce": float(np.sqrt(np.mean(np.sum((estimate - probs) ** 2, axis=1)))),
        "kde_ce_1": float(np.mean(np.sum(np.abs(estimate - probs), axis=1))),
        "kl_ce": float(np.mean(np.sum(divergence, axis=1))),
    }


def data_sets(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the first rows of each data set, in double precision."""
    labels = np.load(folder / "cifar10" / "labels.npy").astype(int)
    found = {
        f"cifar10 {name}": (np.load(folder / "cifar10" / f"{name}.npy").astype(float), labels)
        for name in ("de_avg", "ddu")
    }
    snli = np.load(folder / "snli" / "snli_test_ensemble.npz")
    logits = snli["logits"].astype(float)  # (n, m, k)
    members = np.exp(logits - logits.max(axis=-1, keepdims=True))
    members /= members.sum(axis=-1, keepdims=True)
    found["snli mean"] = (members.mean(axis=1), snli["labels"].astype(int))
    return {name: (probs[:ROWS], labels[:ROWS]) for name, (probs, labels) in found.items()}


def main() -> None:
    """Compute and write."""
    found = {
        name: {**skce(probs, labels), **kde(probs, labels)}
        for name, (probs, labels) in data_sets(Path(sys.argv[1])).items()
    }
    record = {"rows": ROWS, "bandwidth": BANDWIDTH, "clip": CLIP, "values": found}
    Path(__file__).with_name("kernel_numbers.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
