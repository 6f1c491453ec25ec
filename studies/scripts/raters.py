"""What a few of many raters tell: CIFAR-10H and ChaosNLI-SNLI with raters subsampled to 2, 3, 5 and 10.

Needs the public data named in studies/README.md (CREDIBLY_DATA). Prints the table of
studies/pages/raters.md and, given a folder, writes its plot there.

    python studies/scripts/raters.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import credibly as cr
from credibly.plots import new_figure
from credibly_studies.inputs import public_arrays
from credibly_studies.pictures import debiasing_picture

RATERS = (2, 3, 5, 10)
DRAWS = 200


def data_sets() -> dict[str, tuple[cr.Point | cr.Ensemble, cr.LabelCounts]]:
    (probs,) = public_arrays("cifar10/de_avg.npy")
    (people,) = public_arrays("cifar10/cifar10h_counts.npy")
    logits, raters = public_arrays("snli/chaosnli_snli.npz", "logits", "counts")
    return {
        "CIFAR-10H": (cr.Point(probs), cr.LabelCounts(people.astype(int))),
        "ChaosNLI-SNLI": (cr.Ensemble.from_logits(logits), cr.LabelCounts(raters.astype(int))),
    }


def main(folder: str | None = None) -> None:
    columns = ("data", "raters", "unbiased EL", "95 % interval", "EL of all raters", "plug-in EL")
    print(" | ".join(("", *columns, "interval contains EL of all raters", "contains plug-in EL", "")).strip())
    print("|---" * 8 + "|")
    pictures = {}
    for name, (predictions, counts) in data_sets().items():
        whole = cr.raters.decompose_loss(predictions, counts)
        target = whole.epistemic.value
        first = {m: cr.raters.decompose_loss(predictions, counts.subsample(m, rng=0)) for m in RATERS}
        pictures[name] = debiasing_picture(first, whole)
        for m, parts in first.items():
            held = {"unbiased": 0, "plugin": 0}
            for draw in range(DRAWS):
                one = cr.raters.decompose_loss(predictions, counts.subsample(m, rng=draw))
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
        for place, (name, picture) in enumerate(pictures.items(), start=1):
            ax = figure.add_subplot(1, 2, place)
            picture.draw(ax)
            ax.set_title(name, loc="left")
            print(f"{name}: {picture.finding}")
        figure.patch.set_alpha(1)
        figure.savefig(Path(folder) / "raters.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:2])
