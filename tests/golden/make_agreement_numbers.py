"""Write agreement_numbers.json: alpha and kappas by the packages krippendorff and statsmodels.

    python tests/golden/make_agreement_numbers.py

Needs krippendorff and statsmodels; the test that reads the file needs neither. credibly is not imported.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import krippendorff
import numpy as np
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

HERE = Path(__file__).parent
WORLDS = {"two classes": (40, 3, 2, 0.0), "gaps": (60, 5, 4, 0.4), "many raters": (30, 12, 3, 0.7)}
"""Instances, raters, classes, share of gaps."""


def table(seed: int, n: int, raters: int, k: int, gaps: float) -> np.ndarray:
    """Return labels (n, raters), -1 for gaps; every instance has a label."""
    rng = np.random.default_rng([7, seed])
    truth = rng.integers(k, size=(n, 1))
    labels = np.where(rng.random((n, raters)) < 0.6, truth, rng.integers(k, size=(n, raters)))
    labels[:, 1:][rng.random((n, raters - 1)) < gaps] = -1
    return labels


def main() -> None:
    """Compute and write."""
    record = {"versions": {name: version(name) for name in ("krippendorff", "statsmodels")}, "worlds": {}}
    for seed, (name, (n, raters, k, gaps)) in enumerate(WORLDS.items()):
        labels = table(seed, n, raters, k, gaps)
        missing = np.where(labels < 0, np.nan, labels.astype(float)).T
        values = {"labels": labels.tolist(), "k": k}
        values["krippendorff"] = float(
            krippendorff.alpha(missing, value_domain=list(range(k)), level_of_measurement="nominal")
        )
        if gaps == 0:
            counts = np.stack([(labels == c).sum(axis=1) for c in range(k)], axis=1)
            values["fleiss"] = float(fleiss_kappa(counts))
        both = (labels[:, 0] >= 0) & (labels[:, 1] >= 0)
        crossed = np.zeros((k, k))
        np.add.at(crossed, (labels[both, 0], labels[both, 1]), 1)
        values["cohen"] = float(cohens_kappa(crossed).kappa)
        record["worlds"][name] = values
    (HERE / "agreement_numbers.json").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
