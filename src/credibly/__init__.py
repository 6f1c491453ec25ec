"""Does a model credibly know what it does not know?

Predictions first, then labels, then keywords: ``cr.calibration_test(predictions, labels, rng=0)``.
"""

# Names are loaded when they are first used, so that a program pays only for the rooms it enters. Each public
# name stands three times here, and a test holds the three equal: imported for type checkers, with its home in
# `_HOMES`, and in `__all__`.

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from credibly import credal as credal
    from credibly import evaluation as evaluation
    from credibly import hypotests as hypotests
    from credibly import io as io
    from credibly import learners as learners
    from credibly import monitor as monitor
    from credibly import plots as plots
    from credibly import predictions as predictions
    from credibly import raters as raters
    from credibly import recalibrate as recalibrate
    from credibly import results as results
    from credibly import scale as scale
    from credibly import selection as selection
    from credibly import statistics as statistics
    from credibly._arrays.checks import InvalidRowsError
    from credibly._arrays.errors import (
        CrediblyError,
        FileError,
        InputError,
        InputTypeError,
        MissingExtraError,
        UnsupportedError,
    )
    from credibly._arrays.namespace import memory_limit
    from credibly.credal import uncertainty
    from credibly.diagnosis import diagnose
    from credibly.evaluation import Comparison, Evaluation, compare, evaluate
    from credibly.hypotests import (
        audit,
        calibration_test,
        corp_curve,
        coverage_curve,
        credal_test,
        inflate,
        pit_test,
        plan_labels,
        predictive_check,
        reliability_curve,
        validity_test,
    )
    from credibly.io import from_posterior_predictive, load, save
    from credibly.monitor import Monitor
    from credibly.predictions import (
        Belief,
        Confidence,
        Dataset,
        Dirichlet,
        Ensemble,
        Gaussian,
        Intervals,
        LabelCounts,
        Point,
        PredictionSets,
        Quantiles,
        Samples,
        as_predictions,
    )
    from credibly.recalibrate import recalibration_report
    from credibly.scale import scan
    from credibly.selection import epistemic_score, rank_models
    from credibly.statistics import (
        accuracy,
        brier,
        classwise_ece,
        confidence_ece,
        confidence_gap,
        crps,
        decompose_brier,
        ecce,
        gaussian_log_loss,
        hosmer_lemeshow,
        interval_score,
        kde_ce,
        kl_ce,
        log_loss,
        mae,
        mmd_ce,
        picp,
        pit,
        quantile_calibration_error,
        risk_coverage_curve,
        rmse,
        skce,
        smooth_ece,
        spiegelhalter_z,
        statistic,
        t_cal,
        top_label_ece,
        truthful_ce,
    )

__version__: str
"""Version of the installed package, which is the tag it was built from."""

_HOMES = {
    "credibly._arrays.checks": ("InvalidRowsError",),
    "credibly._arrays.errors": (
        "CrediblyError",
        "FileError",
        "InputError",
        "InputTypeError",
        "MissingExtraError",
        "UnsupportedError",
    ),
    "credibly._arrays.namespace": ("memory_limit",),
    "credibly.credal": ("uncertainty",),
    "credibly.evaluation": (
        "Comparison",
        "Evaluation",
        "compare",
        "evaluate",
    ),
    "credibly.hypotests": (
        "audit",
        "calibration_test",
        "corp_curve",
        "coverage_curve",
        "credal_test",
        "inflate",
        "pit_test",
        "plan_labels",
        "predictive_check",
        "reliability_curve",
        "validity_test",
    ),
    "credibly.io": (
        "from_posterior_predictive",
        "load",
        "save",
    ),
    "credibly.predictions": (
        "Belief",
        "Confidence",
        "Dataset",
        "Dirichlet",
        "Ensemble",
        "Gaussian",
        "Intervals",
        "LabelCounts",
        "Point",
        "PredictionSets",
        "Quantiles",
        "Samples",
        "as_predictions",
    ),
    "credibly.diagnosis": ("diagnose",),
    "credibly.monitor": ("Monitor",),
    "credibly.recalibrate": ("recalibration_report",),
    "credibly.scale": ("scan",),
    "credibly.selection": (
        "epistemic_score",
        "rank_models",
    ),
    "credibly.statistics": (
        "accuracy",
        "brier",
        "classwise_ece",
        "confidence_ece",
        "confidence_gap",
        "crps",
        "decompose_brier",
        "ecce",
        "gaussian_log_loss",
        "hosmer_lemeshow",
        "interval_score",
        "kde_ce",
        "kl_ce",
        "log_loss",
        "mae",
        "mmd_ce",
        "picp",
        "pit",
        "quantile_calibration_error",
        "risk_coverage_curve",
        "rmse",
        "skce",
        "smooth_ece",
        "spiegelhalter_z",
        "statistic",
        "t_cal",
        "top_label_ece",
        "truthful_ce",
    ),
}

_ROOMS = (
    "credal",
    "evaluation",
    "hypotests",
    "io",
    "learners",
    "monitor",
    "plots",
    "predictions",
    "raters",
    "recalibrate",
    "results",
    "scale",
    "selection",
    "statistics",
)

if not _TYPE_CHECKING:  # a checker would believe that every name is there
    _HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

    def _in_a_room(name: str) -> str:
        """Say in which room a public name is, of those that compute: people write cr.ence."""
        for room in (
            "predictions",
            "statistics",
            "hypotests",
            "recalibrate",
            "selection",
            "credal",
            "raters",
        ):
            if name in _import_module(f"{__name__}.{room}").__all__:
                return f"It is `credibly.{room}.{name}`."
        return ""

    def __getattr__(name: str) -> object:
        """Load a name when it is first asked for: ``cr.brier``, ``cr.plots.reliability``."""
        if name == "__version__":
            return _import_module("importlib.metadata").version(__name__)
        if name in _HOME_OF:
            value = getattr(_import_module(_HOME_OF[name]), name)
            globals()[name] = value  # the next use does not come here
            return value
        if name in _ROOMS:
            return _import_module(f"{__name__}.{name}")
        message = f"module {__name__!r} has no attribute {name!r}"
        if not name.startswith("_"):  # people write cr.ece, cr.nll
            hint = _import_module("credibly.statistics.registry").called_here(name) or _in_a_room(name)
            message += f". {hint}" if hint else ""
        raise AttributeError(message)

    def __dir__() -> list[str]:
        """List the names that are not loaded yet as well."""
        return sorted({*globals(), *__all__, *_ROOMS})


__all__ = [
    "Belief",
    "Comparison",
    "Confidence",
    "CrediblyError",
    "Dataset",
    "Dirichlet",
    "Ensemble",
    "Evaluation",
    "FileError",
    "Gaussian",
    "InputError",
    "InputTypeError",
    "Intervals",
    "InvalidRowsError",
    "LabelCounts",
    "MissingExtraError",
    "Monitor",
    "Point",
    "PredictionSets",
    "Quantiles",
    "Samples",
    "UnsupportedError",
    "accuracy",
    "as_predictions",
    "audit",
    "brier",
    "calibration_test",
    "classwise_ece",
    "compare",
    "confidence_ece",
    "confidence_gap",
    "corp_curve",
    "coverage_curve",
    "credal_test",
    "crps",
    "decompose_brier",
    "diagnose",
    "ecce",
    "epistemic_score",
    "evaluate",
    "from_posterior_predictive",
    "gaussian_log_loss",
    "hosmer_lemeshow",
    "inflate",
    "interval_score",
    "kde_ce",
    "kl_ce",
    "load",
    "log_loss",
    "mae",
    "memory_limit",
    "mmd_ce",
    "picp",
    "pit",
    "pit_test",
    "plan_labels",
    "predictive_check",
    "quantile_calibration_error",
    "rank_models",
    "recalibration_report",
    "reliability_curve",
    "risk_coverage_curve",
    "rmse",
    "save",
    "scan",
    "skce",
    "smooth_ece",
    "spiegelhalter_z",
    "statistic",
    "t_cal",
    "top_label_ece",
    "truthful_ce",
    "uncertainty",
    "validity_test",
]
