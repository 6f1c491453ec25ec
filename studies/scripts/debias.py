"""Which debiasing of the calibration loss is right more often: D21's or the full one?

Worlds with known truth, many samples each; for every cell the error of both estimates of the binned
calibration loss. Prints the table of studies/pages/debias.md.

    python studies/scripts/debias.py             about two minutes
"""

from __future__ import annotations

import sys

import numpy as np

import credibly as cr
from credibly_studies import d21

SAMPLES = 300
CLASSES = 3


def temper(probs: np.ndarray, exponent: float) -> np.ndarray:
    powered = probs**exponent
    return powered / powered.sum(axis=1, keepdims=True)


def blur(probs: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Draw each truth around its prediction: calibrated, but instances differ."""
    gammas = rng.standard_gamma(strength * probs + 1e-9) + 1e-300
    return gammas / gammas.sum(axis=1, keepdims=True)


def world(name: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions and truths (n, 3)."""
    z = rng.dirichlet(np.ones(CLASSES), size=n)
    if name == "ideal":
        return z, z
    if name == "dispersed":
        return z, blur(z, 5.0, rng)
    if name == "overconfident":
        return z, temper(z, 0.6)
    return z, blur(temper(z, 0.6), 5.0, rng)


def truth(name: str, n_bins: int) -> float:
    """Return the binned calibration loss of a very large sample without rater noise."""
    z, q = world(name, 2_000_000, np.random.default_rng(99))
    loss = 0.0
    for c in range(CLASSES):
        bins = np.minimum((z[:, c] * n_bins).astype(int), n_bins - 1)
        size = np.bincount(bins, minlength=n_bins)
        gap = np.bincount(bins, q[:, c] - z[:, c], n_bins) / np.maximum(size, 1)
        loss += float((size / len(z) * gap**2).sum())
    return loss


def study(name: str, n: int, raters: int, n_bins: int, samples: int) -> dict[str, float]:
    rng = np.random.default_rng(7)
    target = truth(name, n_bins)
    values: dict[str, list[float]] = {"plugin": [], "paper": [], "full": []}
    for _ in range(samples):
        z, q = world(name, n, rng)
        counts = cr.LabelCounts(rng.multinomial(raters, q))
        for debias, decompose in (("paper", d21.decompose_loss), ("full", cr.raters.decompose_loss)):
            parts = decompose(z, counts, n_bins=n_bins)
            values[debias].append(parts.calibration.value)
        values["plugin"].append(parts.plugin.calibration.value)
    errors = {key: np.array(found) - target for key, found in values.items()}
    row: dict[str, float] = {"true": target}
    for key, error in errors.items():
        row[f"bias {key}"] = float(error.mean())
        row[f"z {key}"] = float(error.mean() / (error.std(ddof=1) / samples**0.5))
    row["full nearer"] = float((np.abs(errors["full"]) < np.abs(errors["paper"])).mean())
    return row


def main(samples: int = SAMPLES) -> None:
    columns = ("true", "bias plugin", "bias paper", "z paper", "bias full", "z full", "full nearer")
    print("| world | N | raters | bins | " + " | ".join(columns) + " |")
    print("|---" * (4 + len(columns)) + "|")
    nearer, cells, worst = 0.0, 0, {"paper": 0, "full": 0}
    for name in ("ideal", "dispersed", "overconfident", "both"):
        for n in (100, 1000):
            for raters in (2, 5):
                for n_bins in (2, 5, 15):
                    row = study(name, n, raters, n_bins, samples)
                    shown = " | ".join(
                        f"{row[column]:+.1f}" if column.startswith("z") else f"{row[column]:.5f}"
                        for column in columns[:-1]
                    )
                    print(
                        f"| {name} | {n} | {raters} | {n_bins} | {shown} | {row['full nearer']:.2f} |",
                        flush=True,
                    )
                    nearer, cells = nearer + row["full nearer"], cells + 1
                    for key in worst:
                        worst[key] += abs(row[f"z {key}"]) > 3
    print(f"\nfull is nearer to the truth in {nearer / cells:.2f} of the samples;")
    print(f"bias beyond three standard errors: paper {worst['paper']}, full {worst['full']} of {cells} cells")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
