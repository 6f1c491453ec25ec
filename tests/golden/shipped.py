"""The data in tests/golden/data, which every clone holds; the layout of the public data filled with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import credibly as cr

FOLDER = Path(__file__).with_name("data")
MODELS = ("sharp", "mean", "smooth")
CORRUPT = tuple(range(44, 600, 47))
"""Rows of the layout's Bayesian model average that are made to sum to 2 to 10: 12 of 600."""


def arrays(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of one file; labels and counts as the integers that NumPy computes with."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as held:
        found = {key: held[key] for key in held.files}
    return {key: values.astype(int) if values.dtype.kind == "u" else values for key, values in found.items()}


def focal_sets() -> list[set[int]]:
    """Return 30 sets of digits: the single ones, pairs and triples."""
    return [set(np.flatnonzero(row).tolist()) for row in arrays("digits")["focal_sets"]]


def ensemble() -> tuple[cr.Ensemble, np.ndarray]:
    """Return five members on remainders, with their labels."""
    held = arrays("remainders")
    return cr.Ensemble.from_logits(held["logits"]), held["labels"]


def write_public_layout(folder: Path) -> None:
    """Fill the files that studies read from CREDIBLY_DATA, by the names and in the form of the public ones.

    Digits stand for CIFAR-10, remainders for SNLI and ChaosNLI, a drawn surface for yachts. So the studies
    run everywhere; what they say about the papers they say of the public files only.
    """
    for part in ("cifar10", "snli", "uci/yacht"):
        (folder / part).mkdir(parents=True)
    digits, remainders, surface = arrays("digits"), arrays("remainders"), arrays("surface")
    corrupt = digits["mean"].copy()
    corrupt[list(CORRUPT)] *= 2 + np.arange(len(CORRUPT), dtype=np.float32)[:, None] % 9
    stored = {
        "snn": digits["sharp"],
        "ddu": digits["smooth"],
        "de_avg": digits["mean"],
        "lbbnn_avg": corrupt,
        "labels": digits["labels"],
        "cifar10h_counts": digits["counts"],
    }
    for name, one in stored.items():
        np.save(folder / "cifar10" / f"{name}.npy", one)
    listed = {"classes": list("0123456789"), "focal_sets": [sorted(one) for one in focal_sets()]}
    (folder / "cifar10" / "focal_sets.json").write_text(json.dumps(listed), encoding="utf-8")
    for part, front in (("dev", ""), ("test", "test_")):
        np.savez(
            folder / "snli" / f"snli_{part}_ensemble.npz",
            logits=remainders[f"{front}logits"],
            labels=remainders[f"{front}labels"],
        )
    np.savez(
        folder / "snli" / "chaosnli_snli.npz",
        logits=remainders["logits"],
        counts=remainders["counts"],
        classes=np.array(["0", "1", "2"]),
    )
    surface["data"] = surface["data"].astype(float)
    np.savez(folder / "uci" / "yacht" / "data.npz", **surface)
