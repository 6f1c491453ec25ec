"""probcal: two classes, the probability of the event."""

from __future__ import annotations

import numpy as np
from probcal import metrics

from conformance.adapters import require

PACKAGE = "probcal"


def _event(function, part=None, **fixed):
    def value(i, closed="left", **settings):
        probs = np.asarray(i["probs"])
        require(probs.shape[1] == 2 and closed == "left")
        result = function(np.asarray(i["labels"]), probs[:, 1], **fixed, **settings)
        return result if part is None else getattr(result, part)

    return value


CALLS = {
    "brier": ("brier_score", _event(metrics.brier_score)),
    "log_loss": ("log_loss", _event(metrics.log_loss)),
    "brier_skill": ("brier_skill_score", _event(metrics.brier_skill_score)),
    "event_ece": ('ece(strategy="width")', _event(metrics.ece, strategy="width")),
    "event_mce": ('ece(strategy="width", norm="max")', _event(metrics.ece, strategy="width", norm="max")),
    "event_ece_equal_mass": ("ece", _event(metrics.ece)),
    "hosmer_lemeshow": ("hosmer_lemeshow", _event(metrics.hosmer_lemeshow, "statistic")),
    "kolmogorov_smirnov": ("ecce(...).stat_max", _event(metrics.ecce, "stat_max")),
    "spiegelhalter_z": ("spiegelhalter_z", _event(metrics.spiegelhalter_z, "z")),
    "skce": ('skce(kernel="laplace")', _event(metrics.skce, kernel="laplace", scale="probability")),
}
