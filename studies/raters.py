"""What a few of many raters tell: CIFAR-10H and ChaosNLI-SNLI with raters subsampled to 2, 3, 5 and 10.

Needs the public data that docs/studies/index.md lists (CREDIBLY_DATA). Prints the table of
docs/studies/raters.md and, given a folder, writes its plot there.

    python studies/raters.py [FOLDER]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import credibly as cr
from credibly.plots import debiasing_data, new_figure

RATERS = (2, 3, 5, 10)
DRAWS = 200


def data_sets(folder: Path) -> dict[str, tuple[cr.Point | cr.Ensemble, cr.LabelCounts]]:
    counts = np.load(folder / "cifar10" / "cifar10h_counts.npy").astype(int)
    with np.load(folder / "snli" / "chaosnli_snli.npz") as file:
        snli = cr.Ensemble.from_logits(file["logits"]), cr.LabelCounts(file["counts"].astype(int))
    return {
        "CIFAR-10H": (cr.Point(np.load(folder / "cifar10" / "de_avg.npy")), cr.LabelCounts(counts)),
        "ChaosNLI-SNLI": snli,
    }


def main(folder: str | None = None) -> None:
    if not os.environ.get("CREDIBLY_DATA"):
        raise SystemExit("Set CREDIBLY_DATA to the folder of the public data, see docs/studies/index.md.")
    data = Path(os.environ["CREDIBLY_DATA"])
    columns = ("data", "raters", "unbiased EL", "95 % interval", "EL of all raters", "plug-in EL")
    print(" | ".join(("", *columns, "holds, unbiased", "plug-in", "")).strip())
    print("|---" * 8 + "|")
    displays = {}
    for name, (predictions, counts) in data_sets(data).items():
        whole = cr.decompose_loss(predictions, counts)
        target = whole.epistemic.value
        first = {m: cr.decompose_loss(predictions, counts.subsample(m, rng=0)) for m in RATERS}
        displays[name] = debiasing_data(first, whole)
        for m, parts in first.items():
            held = {"unbiased": 0, "plugin": 0}
            for draw in range(DRAWS):
                one = cr.decompose_loss(predictions, counts.subsample(m, rng=draw))
                low, high = one.epistemic.interval()
                held["unbiased"] += low <= target <= high
                held["plugin"] += low <= one.plugin.epistemic.value <= high
            low, high = parts.epistemic.interval()
            print(
                f"| {name} | {m} | {parts.epistemic.value:.4f} | {low:.4f} to {high:.4f} | {target:.4f} | "
                f"{parts.plugin.epistemic.value:.4f} | {held['unbiased']} of {DRAWS} | "
                f"{held['plugin']} of {DRAWS} |",
                flush=True,
            )
    if folder is not None:
        figure = new_figure(9.0, 4.0)
        for place, (name, display) in enumerate(displays.items(), start=1):
            ax = figure.add_subplot(1, 2, place)
            display.draw(ax)
            ax.set_title(name, loc="left")
            print(f"{name}: {display.finding}")
        figure.patch.set_alpha(1)
        figure.savefig(Path(folder) / "raters.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:2])
