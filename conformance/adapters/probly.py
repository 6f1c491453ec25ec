"""probly."""

from __future__ import annotations

import sys
from unittest.mock import MagicMock

import numpy as np

from conformance.adapters import require

# Only probly's data sets use torchvision, no measure does: a stand-in, taken away after the import.
_AWAY = "torchvision" not in sys.modules
if _AWAY:
    sys.modules["torchvision"] = MagicMock()

from probly import metrics  # noqa: E402
from probly.quantification import classification  # noqa: E402

if _AWAY:
    del sys.modules["torchvision"]

PACKAGE = "probly"


def _classes(function):
    return lambda i: function(np.asarray(i["probs"]), np.asarray(i["labels"]))


def _members(function):
    return lambda i: np.mean(function(np.asarray(i["members"])))


def _sets(i):
    return np.asarray(i["sets"], dtype=bool)


def _ece(i, n_bins, closed="right"):
    require(closed == "right")
    return metrics.expected_calibration_error(np.asarray(i["probs"]), np.asarray(i["labels"]), n_bins)


CALLS = {
    "accuracy": ("zero_one_loss", _classes(metrics.zero_one_loss)),
    "brier": ("brier_score", _classes(metrics.brier_score)),
    "log_loss": ("log_loss", _classes(metrics.log_loss)),
    "confidence_ece": ("expected_calibration_error", _ece),
    "total_entropy": ("total_entropy", _members(classification.total_entropy)),
    "conditional_entropy": ("conditional_entropy", _members(classification.conditional_entropy)),
    "mutual_information": ("mutual_information", _members(classification.mutual_information)),
    "set_coverage": ("coverage", lambda i: metrics.coverage(_sets(i), np.asarray(i["labels"]))),
    "set_size": ("efficiency", lambda i: metrics.efficiency(_sets(i))),
}
