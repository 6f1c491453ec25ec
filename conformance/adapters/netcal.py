"""netcal."""

from __future__ import annotations

import numpy as np
from netcal.metrics import ECE, MCE
from netcal.metrics.regression import ENCE, NLL, PICP

from conformance.adapters import require

PACKAGE = "netcal"


def _binned(metric, event=False, **settings):
    def value(i, n_bins, closed="left"):
        require(closed == "left")
        probs = np.asarray(i["probs"])
        return metric(n_bins, **settings).measure(probs[:, 1] if event else probs, np.asarray(i["labels"]))

    return value


def _normal(i):
    return (np.asarray(i["mean"]), np.asarray(i["std"])), np.asarray(i["labels"])


CALLS = {
    "confidence_ece": ("ECE(n_bins).measure", _binned(ECE)),
    "confidence_mce": ("MCE(n_bins).measure", _binned(MCE)),
    "event_ece": ("ECE(n_bins).measure, one column", _binned(ECE, event=True)),
    "event_mce": ("MCE(n_bins).measure, one column", _binned(MCE, event=True)),
    "event_ece_equal_mass": (
        "ECE(n_bins, equal_intervals=False).measure",
        _binned(ECE, event=True, equal_intervals=False),
    ),
    "gaussian_log_loss": ("regression.NLL().measure", lambda i: np.mean(NLL().measure(*_normal(i)))),
    "gaussian_coverage": (
        "regression.PICP().measure",
        lambda i, level: np.mean(PICP().measure(*_normal(i), q=level).picp),
    ),
    "ence": ("regression.ENCE(bins).measure", lambda i, n_bins: ENCE(n_bins).measure(*_normal(i))),
}
