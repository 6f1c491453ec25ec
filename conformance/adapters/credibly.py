"""credibly: every measure."""

from __future__ import annotations

import math

import numpy as np

import credibly as cr
from conformance.adapters import require
from credibly.predictions import PredictionIntervals

PACKAGE = "credibly"
S = cr.statistics


def _classes(statistic, **fixed):
    return lambda i, **s: statistic(i["probs"], i["labels"], **fixed, **s)


def _normal(statistic):
    return lambda i, **s: statistic(cr.Gaussian(i["mean"], i["std"]), i["labels"], **s)


def _draws(statistic, **fixed):
    return lambda i, **s: statistic(cr.Samples(i["draws"]), i["labels"], **fixed, **s)


def _ends(i, level):
    half = (1 - level) / 2
    return cr.Quantiles(np.stack([i["lower"], i["upper"]], axis=1), [half, 1 - half])


def _uncertainty(part):
    return lambda i: getattr(cr.uncertainty(cr.Ensemble(np.asarray(i["members"]))), part).mean()


def _pinball(i):
    levels = i["levels"]
    values = [
        float(S.pinball_loss(cr.Quantiles(i["quantiles"], levels), i["labels"], level=one)) for one in levels
    ]
    return np.mean(values)


def _sets(part):
    def value(i):
        allowed = cr.PredictionSets(np.asarray(i["sets"], dtype=bool), claimed=0.9)
        return getattr(cr.hypotests.set_coverage(allowed, i["labels"], n_resamples=19, rng=0), part)

    return value


def _bounds(part):
    def value(i):
        ends = PredictionIntervals(np.asarray(i["lower"]), np.asarray(i["upper"]), claimed=0.9)
        return getattr(cr.hypotests.set_coverage(ends, i["labels"], n_resamples=19, rng=0), part)

    return value


def _event(statistic, **fixed):
    def value(i, closed=None, **s):
        require(closed is None or statistic is cr.classwise_ece)
        more = {} if closed is None else {"closed": closed}
        return statistic(i["probs"], i["labels"], target=1, **fixed, **more, **s)

    return value


CALLS = {
    "accuracy": ("accuracy", _classes(cr.accuracy)),
    "confidence_gap": ("confidence_gap", _classes(cr.confidence_gap)),
    "brier": ("brier", _classes(cr.brier)),
    "log_loss": ("log_loss", _classes(cr.log_loss)),
    "ranked_probability_score": ("statistics.rps", _classes(S.rps)),
    "brier_skill": ("statistics.brier_skill", _classes(S.brier_skill)),
    "log_loss_skill": ("statistics.log_loss_skill", _classes(S.log_loss_skill)),
    "net_benefit": ("statistics.net_benefit", _classes(S.net_benefit)),
    "spiegelhalter_z": ("spiegelhalter_z", _classes(cr.spiegelhalter_z)),
    "confidence_ece": ("confidence_ece", _classes(cr.confidence_ece)),
    "confidence_ece_l2": ("confidence_ece(p=2)", _classes(cr.confidence_ece, p=2)),
    "confidence_mce": ("confidence_ece(p=math.inf)", _classes(cr.confidence_ece, p=math.inf)),
    "debiased_squared_ece": (
        "confidence_ece(p=2, debiased=True)",
        _classes(cr.confidence_ece, p=2, debiased=True),
    ),
    "top_label_ece": ("top_label_ece", _classes(cr.top_label_ece)),
    "classwise_ece": ("classwise_ece", _classes(cr.classwise_ece)),
    "event_ece": ("classwise_ece(target=1)", _event(cr.classwise_ece)),
    "event_mce": ("classwise_ece(target=1, p=math.inf)", _event(cr.classwise_ece, p=math.inf)),
    "event_ece_equal_mass": (
        'classwise_ece(target=1, binning="equal_mass")',
        _event(cr.classwise_ece, binning="equal_mass"),
    ),
    "hosmer_lemeshow": ("hosmer_lemeshow", _classes(cr.hosmer_lemeshow)),
    "kolmogorov_smirnov": ('ecce(kind="max", target=1)', _event(cr.ecce, kind="max")),
    "kuiper": ("ecce(target=1)", _event(cr.ecce)),
    "two_bin_error": ("truthful_ce", _classes(cr.truthful_ce)),
    "skce": ("skce", _classes(cr.skce)),
    "aurc": ("risk_coverage_curve(...).area", lambda i: cr.risk_coverage_curve(i["probs"], i["labels"]).area),
    "augrc": ("statistics.augrc", _classes(S.augrc)),
    "total_entropy": ("uncertainty(...).total", _uncertainty("total")),
    "conditional_entropy": ("uncertainty(...).aleatoric", _uncertainty("aleatoric")),
    "mutual_information": ("uncertainty(...).epistemic", _uncertainty("epistemic")),
    "member_disagreement": (
        "credal.disagreement",
        lambda i: cr.credal.disagreement(cr.Ensemble(np.asarray(i["members"]))).mean(),
    ),
    "crps_normal": ("crps", _normal(cr.crps)),
    "gaussian_log_loss": ("gaussian_log_loss", _normal(cr.gaussian_log_loss)),
    "rmse": ("rmse", _normal(cr.rmse)),
    "mae": ("mae", _normal(cr.mae)),
    "mean_squared_z": ("statistics.spread_ratio", _normal(S.spread_ratio)),
    "sharpness": ("statistics.sharpness", _normal(S.sharpness)),
    "gaussian_coverage": ("picp", _normal(cr.picp)),
    "gaussian_interval_score": ("interval_score", _normal(cr.interval_score)),
    "ence": ("statistics.ence", _normal(S.ence)),
    "quantile_calibration_error": (
        "quantile_calibration_error",
        lambda i, levels: _normal(cr.quantile_calibration_error)(i, levels=tuple(levels)),
    ),
    "crps_draws": ("crps", _draws(cr.crps)),
    "crps_draws_fair": ('crps(estimator="fair")', _draws(cr.crps, estimator="fair")),
    "pinball_loss": ("statistics.pinball_loss", _pinball),
    "interval_score": (
        "interval_score",
        lambda i, level: cr.interval_score(_ends(i, level), i["labels"], level=level),
    ),
    "interval_coverage": ("hypotests.set_coverage(...).coverage", _bounds("coverage")),
    "interval_width": ("hypotests.set_coverage(...).size", _bounds("size")),
    "weighted_interval_score": (
        "statistics.wis",
        lambda i: S.wis(cr.Quantiles(i["quantiles"], i["levels"]), i["labels"]),
    ),
    "hsic": ("statistics.hsic", lambda i, bandwidth: S.hsic(_ends(i, 0.9), i["labels"], bandwidth=bandwidth)),
    "energy_score": ("statistics.energy_score", lambda i: S.energy_score(i["draws"], i["labels"])),
    "variogram_score": (
        "statistics.variogram_score",
        lambda i, order: S.variogram_score(i["draws"], i["labels"], order=order),
    ),
    "set_coverage": ("hypotests.set_coverage(...).coverage", _sets("coverage")),
    "set_size": ("hypotests.set_coverage(...).size", _sets("size")),
}
