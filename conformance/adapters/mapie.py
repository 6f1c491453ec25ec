"""MAPIE."""

from __future__ import annotations

import numpy as np
from mapie.metrics import calibration, classification, regression

from conformance.adapters import require

PACKAGE = "mapie"
TOLERANCE = 1e-6  # its walks add a jitter of 1e-8 to the predictions


def _event(function, **settings):
    def value(i):
        probs = np.asarray(i["probs"])
        require(probs.shape[1] == 2)
        return function(np.asarray(i["labels"]), probs[:, 1], **settings)

    return value


def _event_ece(strategy):
    def value(i, n_bins, closed="right"):
        require(closed == "right")
        risk = np.asarray(i["probs"])[:, 1]
        return calibration.expected_calibration_error(
            np.asarray(i["labels"]), risk, num_bins=n_bins, split_strategy=strategy
        )

    return value


def _top_label(i, n_bins):
    return calibration.top_label_ece(
        np.asarray(i["labels"]), np.asarray(i["probs"]), num_bins=n_bins, split_strategy="uniform"
    )


def _ends(i):
    return np.stack([i["lower"], i["upper"]], axis=1)[:, :, None]


def _sets(i):
    return np.asarray(i["sets"], dtype=bool)[:, :, None]


CALLS = {
    "event_ece": ('expected_calibration_error(split_strategy="uniform")', _event_ece("uniform")),
    "event_ece_equal_mass": ('expected_calibration_error(split_strategy="quantile")', _event_ece("quantile")),
    "top_label_ece": ('top_label_ece(split_strategy="uniform")', _top_label),
    "kolmogorov_smirnov": ("kolmogorov_smirnov_statistic", _event(calibration.kolmogorov_smirnov_statistic)),
    "kuiper": ("kuiper_statistic", _event(calibration.kuiper_statistic)),
    "spiegelhalter_z": ("spiegelhalter_statistic", _event(calibration.spiegelhalter_statistic)),
    "interval_coverage": (
        "regression_coverage_score",
        lambda i: regression.regression_coverage_score(np.asarray(i["labels"]), _ends(i))[0],
    ),
    "interval_width": (
        "regression_mean_width_score",
        lambda i: regression.regression_mean_width_score(_ends(i))[0],
    ),
    "interval_score": (
        "regression_mwi_score",
        lambda i, level: regression.regression_mwi_score(np.asarray(i["labels"]), _ends(i), level),
    ),
    "hsic": ("hsic", lambda i, bandwidth: regression.hsic(np.asarray(i["labels"]), _ends(i))[0]),
    "set_coverage": (
        "classification_coverage_score",
        lambda i: classification.classification_coverage_score(np.asarray(i["labels"]), _sets(i))[0],
    ),
    "set_size": (
        "classification_mean_width_score",
        lambda i: classification.classification_mean_width_score(_sets(i))[0],
    ),
}
