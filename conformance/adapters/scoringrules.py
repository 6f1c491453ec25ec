"""scoringrules."""

from __future__ import annotations

import numpy as np
import scoringrules as sr

from conformance.adapters import require

PACKAGE = "scoringrules"


def _event(function):
    def value(i):
        probs = np.asarray(i["probs"])
        require(probs.shape[1] == 2)
        return np.mean(function(np.asarray(i["labels"]), probs[:, 1]))

    return value


def _draws(function, **fixed):
    return lambda i, **s: np.mean(function(np.asarray(i["labels"]), np.asarray(i["draws"]), **fixed, **s))


def _normal(function):
    return lambda i: np.mean(function(*(np.asarray(i[name]) for name in ("labels", "mean", "std"))))


def _pinball(i):
    return np.mean(
        sr.quantile_score(np.asarray(i["labels"])[:, None], np.asarray(i["quantiles"]), i["levels"])
    )


def _interval(i, level):
    return np.mean(
        sr.interval_score(*(np.asarray(i[name]) for name in ("labels", "lower", "upper")), 1 - level)
    )


def _weighted(i):
    values, levels = np.asarray(i["quantiles"]), np.asarray(i["levels"])
    j = len(levels) // 2
    low, high = values[:, :j], values[:, ::-1][:, :j]
    return np.mean(
        sr.weighted_interval_score(np.asarray(i["labels"]), values[:, j], low, high, 2 * levels[:j])
    )


CALLS = {
    "brier": ("brier_score", _event(sr.brier_score)),
    "log_loss": ("log_score", _event(sr.log_score)),
    "ranked_probability_score": (
        "rps_score",
        lambda i: np.mean(sr.rps_score(np.asarray(i["labels"]) + 1, np.asarray(i["probs"]))),
    ),
    "crps_normal": ("crps_normal", _normal(sr.crps_normal)),
    "gaussian_log_loss": ("logs_normal", _normal(sr.logs_normal)),
    "crps_draws": ("crps_ensemble", _draws(sr.crps_ensemble)),
    "crps_draws_fair": ('crps_ensemble(estimator="fair")', _draws(sr.crps_ensemble, estimator="fair")),
    "pinball_loss": ("quantile_score", _pinball),
    "interval_score": ("interval_score", _interval),
    "weighted_interval_score": ("weighted_interval_score", _weighted),
    "energy_score": ("es_ensemble", _draws(sr.es_ensemble)),
    "variogram_score": ("vs_ensemble", lambda i, order: _draws(sr.vs_ensemble, p=order)(i)),
}
