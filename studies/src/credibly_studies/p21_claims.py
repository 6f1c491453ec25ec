"""Places and statements of P21's claims that more than one study asks about."""

from __future__ import annotations

MISTRUST = (
    "P21 abstract, Sec. 3.1, App. A",
    "calibration error can lead to mistrust in good models",
)
TRUST = ("P21 abstract, Sec. 3.1, App. A", "calibration error can lead to trust in bad models")
ALWAYS = (
    "P21 abstract",
    "calibration error and its variants are almost always incorrect to use given model uncertainty",
)
ORDER = (
    "P21 App. A, first bullet",
    "without model uncertainty, order by calibration error or PICP aligns with the number of passed checks",
)
WORST = (
    "P21 App. A, second bullet",
    "on concrete, kin8nm, power and wine MC dropout has the largest calibration error, and expects it",
)
COVERAGE = (
    "P21 App. A, third bullet",
    "on concrete and power dropout also has the worst PICP, and expects it",
)
WEAK = ("P21 App. A, third bullet", "on kin8nm and wine its PICP is weak both ways")
ENERGY = (
    "P21 App. A, fourth bullet",
    "on energy dropout has a lower calibration error than SQR, and passes fewer checks",
)
YACHT = (
    "P21 App. A, fifth bullet",
    "on yacht the PICP of dropout looks strong, and passes fewer checks than other models",
)
GAP_FAILS = ("P21 Sec. 4.1, Table 1, Fig. 5b", "in the gap the independent ensemble fails the check")
GAP_PASSES = ("P21 Sec. 4.1, Table 1, Fig. 5b", "in the gap Bayesian ensemble and MC dropout pass")
SEEN_PASSES = ("P21 Sec. 4.1, Table 1, Fig. 5a", "in distribution all three pass")
SHARPER = ("P21 Sec. 4.1, Table 1", "in the gap the Bayesian ensemble is sharper than MC dropout")
MORE_PASSES = (
    "P21 Sec. 4.2, Fig. 7, Table 4",
    "read as one of its members the ensemble passes more checks of corrupted images than read as their mean",
)
SHIFT = ("P21 Sec. 4.2, Fig. 7, Table 4", "MC dropout accounts for the shift of corrupted images")
NOISE = (
    "P21 Sec. 4.2, App. I",
    "shot noise and gaussian noise are beyond every model",
)
