"""scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn import metrics

PACKAGE = "scikit-learn"


def _classes(function):
    return lambda i: function(i["labels"], i["probs"], labels=range(len(i["probs"][0])))


def _means(function):
    return lambda i: function(i["labels"], i["mean"])


def _pinball(i):
    return np.mean(
        [
            metrics.mean_pinball_loss(i["labels"], [row[at] for row in i["quantiles"]], alpha=level)
            for at, level in enumerate(i["levels"])
        ]
    )


CALLS = {
    "accuracy": (
        "accuracy_score",
        lambda i: metrics.accuracy_score(i["labels"], np.argmax(i["probs"], axis=1)),
    ),
    "brier": ("brier_score_loss", _classes(metrics.brier_score_loss)),
    "log_loss": ("log_loss", _classes(metrics.log_loss)),
    "brier_skill": ("d2_brier_score", _classes(metrics.d2_brier_score)),
    "log_loss_skill": ("d2_log_loss_score", _classes(metrics.d2_log_loss_score)),
    "pinball_loss": ("mean_pinball_loss", _pinball),
    "rmse": ("root_mean_squared_error", _means(metrics.root_mean_squared_error)),
    "mae": ("mean_absolute_error", _means(metrics.mean_absolute_error)),
}
