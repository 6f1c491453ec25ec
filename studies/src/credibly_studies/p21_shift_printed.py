"""P21 App. I, Figs. 12 to 30: printed p-values of recalibrated models on corrupted CIFAR-10 images.

P21's p is the share of replicates below the observation, so 0.00 and 1.00 are printed of checks that fail,
and of some that pass by less than half a per cent. Rows that are not whole in the text at hand are left out:
saturate; fog and elastic transform of the independent ensemble; the accuracy of dropout and of the Bayesian
ensemble with gaussian noise. The caption of Fig. 16 is not there, so its corruption has no name.
"""

from __future__ import annotations

_TEXT = """
shot noise | dropout | 0.11 0.02 0.00 0.00 0.00 | 0.40 0.97 1.00 1.00 1.00
shot noise | Bayesian | 0.20 0.00 0.00 0.00 0.00 | 0.60 1.00 1.00 1.00 1.00
shot noise | independent | 0.00 0.00 0.00 0.00 0.00 | 0.96 1.00 1.00 1.00 1.00
impulse noise | dropout | 0.12 0.02 0.02 0.00 0.00 | 0.73 0.94 0.96 0.98 0.98
impulse noise | Bayesian | 0.14 0.04 0.04 0.02 0.00 | 0.92 0.96 0.96 0.98 1.00
impulse noise | independent | 0.00 0.00 0.00 0.00 0.00 | 1.00 1.00 1.00 1.00 1.00
jpeg compression | dropout | 0.24 0.10 0.09 0.08 0.04 | 0.46 0.49 0.48 0.57 0.86
jpeg compression | Bayesian | 0.28 0.17 0.16 0.12 0.09 | 0.81 0.81 0.76 0.88 0.91
jpeg compression | independent | 0.59 0.00 0.00 0.00 0.00 | 0.99 1.00 1.00 1.00 1.00
zoom blur | dropout | 0.71 0.38 0.14 0.04 0.02 | 0.44 0.18 0.41 0.90 0.96
zoom blur | Bayesian | 0.82 0.31 0.16 0.07 0.00 | 0.71 0.29 0.55 0.92 1.00
zoom blur | independent | 1.00 0.38 0.00 0.00 0.00 | 1.00 0.80 1.00 1.00 1.00
Fig. 16 | dropout | 0.87 0.90 0.51 0.13 0.02 | 0.20 0.21 0.04 0.65 0.98
Fig. 16 | Bayesian | 0.87 0.90 0.35 0.09 0.00 | 0.55 0.53 0.06 0.90 1.00
Fig. 16 | independent | 0.99 1.00 0.49 0.00 0.00 | 0.86 0.88 0.42 1.00 1.00
pixelate | dropout | 0.65 0.18 0.08 0.00 0.00 | 0.37 0.22 0.88 0.99 1.00
pixelate | Bayesian | 0.68 0.25 0.10 0.00 0.00 | 0.75 0.34 0.92 1.00 1.00
pixelate | independent | 0.97 0.15 0.00 0.00 0.00 | 0.98 0.79 1.00 1.00 1.00
spatter | dropout | 0.66 0.32 0.22 0.10 0.02 | 0.12 0.49 0.46 0.85 0.96
spatter | Bayesian | 0.63 0.25 0.22 0.09 0.00 | 0.31 0.82 0.78 0.94 1.00
spatter | independent | 0.95 0.26 0.06 0.00 0.00 | 0.69 1.00 1.00 1.00 1.00
contrast | dropout | 0.92 0.80 0.65 0.37 0.02 | 0.36 0.42 0.06 0.49 0.98
contrast | Bayesian | 0.69 0.42 0.20 0.16 0.00 | 0.79 0.82 0.17 0.83 1.00
contrast | independent | 0.98 0.94 0.04 0.00 0.00 | 1.00 1.00 0.64 1.00 1.00
speckle noise | dropout | 0.10 0.02 0.00 0.00 0.00 | 0.38 0.98 1.00 1.00 1.00
speckle noise | Bayesian | 0.20 0.00 0.00 0.00 0.00 | 0.54 1.00 1.00 1.00 1.00
speckle noise | independent | 0.00 0.00 0.00 0.00 0.00 | 0.91 1.00 1.00 1.00 1.00
glass blur | dropout | 0.00 0.00 0.00 0.00 0.00 | 0.98 0.98 0.98 0.98 0.99
glass blur | Bayesian | 0.00 0.00 0.00 0.00 0.00 | 1.00 1.00 1.00 1.00 1.00
glass blur | independent | 0.00 0.00 0.00 0.00 0.00 | 1.00 1.00 1.00 1.00 1.00
motion blur | dropout | 0.72 0.17 0.04 0.06 0.02 | 0.26 0.44 0.92 0.92 0.96
motion blur | Bayesian | 0.84 0.16 0.02 0.03 0.00 | 0.46 0.70 0.97 0.97 1.00
motion blur | independent | 1.00 0.00 0.00 0.00 0.00 | 0.92 1.00 1.00 1.00 1.00
frost | dropout | 0.47 0.12 0.03 0.02 0.00 | 0.28 0.34 0.92 0.96 0.98
frost | Bayesian | 0.63 0.17 0.06 0.02 0.00 | 0.50 0.50 0.94 0.98 1.00
frost | independent | 0.98 0.00 0.00 0.00 0.00 | 0.89 0.94 1.00 1.00 1.00
gaussian blur | dropout | 0.89 0.48 0.09 0.02 0.00 | 0.18 0.17 0.80 0.96 1.00
gaussian blur | Bayesian | 0.92 0.31 0.10 0.00 0.00 | 0.52 0.26 0.89 1.00 1.00
gaussian blur | independent | 1.00 0.27 0.00 0.00 0.00 | 0.81 0.78 1.00 1.00 1.00
fog | dropout | 0.89 1.00 0.92 0.64 0.04 | 0.21 0.38 0.06 0.01 0.96
fog | Bayesian | 0.79 1.00 0.70 0.22 0.02 | 0.61 0.78 0.20 0.06 0.98
gaussian noise | dropout | - | 0.96 1.00 1.00 1.00 1.00
gaussian noise | Bayesian | - | 0.98 1.00 1.00 1.00 1.00
gaussian noise | independent | 0.00 0.00 0.00 0.00 0.00 | 1.00 1.00 1.00 1.00 1.00
brightness | dropout | 0.86 0.83 0.83 0.80 0.68 | 0.27 0.27 0.18 0.10 0.26
brightness | Bayesian | 0.89 0.75 0.96 0.96 0.70 | 0.71 0.72 0.57 0.33 0.59
brightness | independent | 0.99 0.97 1.00 1.00 0.98 | 0.94 0.93 0.85 0.65 0.93
elastic transform | dropout | 0.75 0.78 0.44 0.19 0.11 | 0.35 0.36 0.00 0.12 0.48
elastic transform | Bayesian | 0.91 0.89 0.31 0.20 0.13 | 0.68 0.70 0.01 0.14 0.82
snow | dropout | 0.36 0.05 0.13 0.10 0.04 | 0.52 0.71 0.63 0.78 0.93
snow | Bayesian | 0.23 0.08 0.11 0.08 0.02 | 0.90 0.92 0.89 0.91 0.98
snow | independent | 0.20 0.00 0.00 0.00 0.00 | 1.00 1.00 1.00 1.00 1.00
"""


def _read() -> dict[tuple[str, str], dict[str, tuple[float, ...]]]:
    tables = {}
    for line in _TEXT.strip().splitlines():
        corruption, model, accuracy, ece = (part.strip() for part in line.split("|"))
        tables[corruption, model] = {
            "accuracy": () if accuracy == "-" else tuple(map(float, accuracy.split())),
            "ECE": tuple(map(float, ece.split())),
        }
    return tables


PVALUES = _read()
"""By corruption and model (dropout, Bayesian or independent ensemble), then by check: severities 1 to 5."""


def surely_passed(model: str, check: str, severity: int) -> int:
    """Return how many printed p-values of a model are neither 0.00 nor 1.00 at a severity."""
    return sum(
        0 < checks[check][severity - 1] < 1
        for (_, own), checks in PVALUES.items()
        if own == model and checks[check]
    )


def beyond(corruption: str, check: str = "ECE") -> int:
    """Return from which severity on the printed p of every model at hand is 0.00 or 1.00; 6 if never."""
    rows = [checks[check] for (name, _), checks in PVALUES.items() if name == corruption]
    extreme = [all(row[at] in (0.0, 1.0) for row in rows) for at in range(5)]
    return next((at + 1 for at in range(5) if all(extreme[at:])), 6)
