"""uncertainty-toolbox."""

from __future__ import annotations

import numpy as np
import uncertainty_toolbox as uct

PACKAGE = "uncertainty-toolbox"


def _normal(function, **fixed):
    return lambda i, **s: function(*(np.asarray(i[name]) for name in ("mean", "std", "labels")), **fixed)


def _points(name):
    return lambda i: uct.metrics.prediction_error_metrics(np.asarray(i["mean"]), np.asarray(i["labels"]))[
        name
    ]


CALLS = {
    "crps_normal": ("crps_gaussian", _normal(uct.crps_gaussian)),
    "gaussian_log_loss": ("nll_gaussian", _normal(uct.nll_gaussian)),
    "gaussian_interval_score": ("interval_score", _normal(uct.interval_score)),
    "gaussian_coverage": (
        "get_proportion_in_interval",
        lambda i, level: _normal(uct.get_proportion_in_interval, quantile=level)(i),
    ),
    "sharpness": ("sharpness", lambda i, level: uct.sharpness(np.asarray(i["std"]))),
    "quantile_calibration_error": (
        'root_mean_squared_calibration_error(prop_type="quantile")',
        _normal(uct.root_mean_squared_calibration_error, prop_type="quantile"),
    ),
    "rmse": ("prediction_error_metrics", _points("rmse")),
    "mae": ("prediction_error_metrics", _points("mae")),
}
