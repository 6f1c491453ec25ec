"""torchmetrics, functional, in single precision."""

from __future__ import annotations

import torch
from torchmetrics import functional
from torchmetrics.functional import classification, regression

from conformance.adapters import require

PACKAGE = "torchmetrics"
TOLERANCE = 2e-6


def _error(norm):
    def value(i, n_bins, closed="left"):
        require(closed == "left")
        probs, labels = torch.tensor(i["probs"]), torch.tensor(i["labels"])
        return classification.multiclass_calibration_error(probs, labels, probs.shape[1], n_bins, norm)

    return value


def _event_error(norm):
    def value(i, n_bins, closed="left"):
        require(closed == "left")
        risk = torch.tensor(i["probs"])[:, 1]
        return classification.binary_calibration_error(risk, torch.tensor(i["labels"]), n_bins, norm)

    return value


def _accuracy(i):
    return classification.multiclass_accuracy(
        torch.tensor(i["probs"]), torch.tensor(i["labels"]), len(i["probs"][0])
    )


def _crps(i):
    draws, labels = torch.tensor(i["draws"]), torch.tensor(i["labels"])
    return regression.continuous_ranked_probability_score(draws, labels)


CALLS = {
    "accuracy": ("multiclass_accuracy", _accuracy),
    "confidence_ece": ("multiclass_calibration_error", _error("l1")),
    "confidence_ece_l2": ('multiclass_calibration_error(norm="l2")', _error("l2")),
    "confidence_mce": ('multiclass_calibration_error(norm="max")', _error("max")),
    "event_ece": ("binary_calibration_error", _event_error("l1")),
    "event_mce": ('binary_calibration_error(norm="max")', _event_error("max")),
    "crps_draws": ("continuous_ranked_probability_score", _crps),
    "rmse": (
        "mean_squared_error(squared=False)",
        lambda i: functional.mean_squared_error(
            torch.tensor(i["mean"]), torch.tensor(i["labels"]), squared=False
        ),
    ),
    "mae": (
        "mean_absolute_error",
        lambda i: functional.mean_absolute_error(torch.tensor(i["mean"]), torch.tensor(i["labels"])),
    ),
}
