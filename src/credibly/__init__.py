"""Does a model credibly know what it does not know?

Predictions first, then labels, then keywords: ``cr.calibration_test(predictions, labels, rng=0)``.
"""

import logging as _logging
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from credibly._arrays.check_result import CheckResult
from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.credal_results import CredalTestResult
from credibly._arrays.curves import EnvelopeCurve, RiskCoverageCurve
from credibly._arrays.decompositions import DisagreementDecomposition, LossDecomposition
from credibly._arrays.deterministic import deterministic
from credibly._arrays.errors import (
    CrediblyError,
    FileError,
    InputError,
    InputTypeError,
    MissingExtraError,
    UnsupportedError,
)
from credibly._arrays.estimates import Estimates, RootEstimate
from credibly._arrays.maps import SimplexMap
from credibly._arrays.member_functions import MemberFunctions
from credibly._arrays.power_results import PowerCurve
from credibly._arrays.predictive_results import HypothesisCheck, PredictiveCheck
from credibly._arrays.ranking_results import Ranking
from credibly._arrays.recalibration_results import Change, MethodChanges, RecalibrationReport
from credibly._arrays.results import Estimate, HypotestResult, ReliabilityCurve
from credibly._arrays.score_results import EpistemicScore, ScoreStability
from credibly._arrays.study_results import PowerStudy
from credibly._arrays.tiles import memory_limit
from credibly._arrays.validity_results import ValidityResult
from credibly.annotators import (
    RaterStatistic,
    decompose_disagreement,
    decompose_loss,
    rater_statistic,
)
from credibly.credal import (
    MassFunction,
    NonspecificityEstimate,
    Uncertainty,
    credal_boundary,
    credal_contains,
    credal_decision,
    credal_distance,
    credal_sample,
    credal_set,
    credal_size,
    credal_vertices,
    discounted_utility,
    focal_budget,
    lower_entropy,
    lower_envelope,
    lower_probability,
    mass_function,
    mean_over,
    nonspecificity,
    nonspecificity_estimate,
    uncertainty,
    upper_entropy,
    upper_probability,
)
from credibly.evaluation import Comparison, Evaluation, compare, evaluate
from credibly.hypotests import (
    Basis,
    BoundaryLearner,
    GatingLearner,
    Inflation,
    Learner,
    NeuralLearner,
    TiltingLearner,
    calibration_test,
    coverage_curve,
    credal_test,
    inflate,
    member_functions,
    observation_check,
    pit_test,
    predictive_check,
    reliability_curve,
    validity_test,
)
from credibly.io import Dataset, from_posterior_predictive, load, save
from credibly.predictions import (
    Belief,
    Dirichlet,
    Ensemble,
    Gaussian,
    Intervals,
    LabelCounts,
    Point,
    Quantiles,
    Samples,
    as_predictions,
)
from credibly.recalibration import (
    AlphaCalibration,
    Chain,
    Convergence,
    CredalRecalibration,
    MatrixScaling,
    MemberTemperatures,
    Recalibration,
    TemperatureScaling,
    VectorScaling,
    load_recalibration,
    recalibration_report,
)
from credibly.scale import scan
from credibly.selection import epistemic_score, rank_models, score_stability
from credibly.simulate import power_study
from credibly.statistics import (
    BrierDecomposition,
    RunningStatistic,
    Statistic,
    Traits,
    accuracy,
    brier,
    classwise_ece,
    confidence_ece,
    crps,
    decompose_brier,
    error_over_simplex,
    error_over_weights,
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
    registered,
    risk_coverage_curve,
    rmse,
    skce,
    statistic,
    top_label_ece,
)

__version__ = "0.1.0"


_logging.getLogger(__name__).addHandler(_logging.NullHandler())

if not _TYPE_CHECKING:  # a checker would believe that every name is there

    def __getattr__(name: str) -> object:
        """Load the plots when they are first asked for: ``cr.plots.pit_diagram(...)``."""
        if name == "plots":
            return _import_module("credibly.plots")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AlphaCalibration",
    "Basis",
    "Belief",
    "BoundaryLearner",
    "BrierDecomposition",
    "Chain",
    "Change",
    "CheckResult",
    "Comparison",
    "Convergence",
    "CredalRecalibration",
    "CredalTestResult",
    "CrediblyError",
    "Dataset",
    "Dirichlet",
    "DisagreementDecomposition",
    "Ensemble",
    "EnvelopeCurve",
    "EpistemicScore",
    "Estimate",
    "Estimates",
    "Evaluation",
    "FileError",
    "GatingLearner",
    "Gaussian",
    "HypotestResult",
    "HypothesisCheck",
    "Inflation",
    "InputError",
    "InputTypeError",
    "Intervals",
    "InvalidRowsError",
    "LabelCounts",
    "Learner",
    "LossDecomposition",
    "MassFunction",
    "MatrixScaling",
    "MemberFunctions",
    "MemberTemperatures",
    "MethodChanges",
    "MissingExtraError",
    "NeuralLearner",
    "NonspecificityEstimate",
    "Point",
    "PowerCurve",
    "PowerStudy",
    "PredictiveCheck",
    "Quantiles",
    "Ranking",
    "RaterStatistic",
    "Recalibration",
    "RecalibrationReport",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "RootEstimate",
    "RunningStatistic",
    "Samples",
    "ScoreStability",
    "SimplexMap",
    "Statistic",
    "TemperatureScaling",
    "TiltingLearner",
    "Traits",
    "Uncertainty",
    "UnsupportedError",
    "ValidityResult",
    "VectorScaling",
    "accuracy",
    "as_predictions",
    "brier",
    "calibration_test",
    "classwise_ece",
    "compare",
    "confidence_ece",
    "coverage_curve",
    "credal_boundary",
    "credal_contains",
    "credal_decision",
    "credal_distance",
    "credal_sample",
    "credal_set",
    "credal_size",
    "credal_test",
    "credal_vertices",
    "crps",
    "decompose_brier",
    "decompose_disagreement",
    "decompose_loss",
    "deterministic",
    "discounted_utility",
    "epistemic_score",
    "error_over_simplex",
    "error_over_weights",
    "evaluate",
    "focal_budget",
    "from_posterior_predictive",
    "gaussian_log_loss",
    "hosmer_lemeshow",
    "inflate",
    "interval_score",
    "kde_ce",
    "kl_ce",
    "load",
    "load_recalibration",
    "log_loss",
    "lower_entropy",
    "lower_envelope",
    "lower_probability",
    "mae",
    "mass_function",
    "mean_over",
    "member_functions",
    "memory_limit",
    "mmd_ce",
    "nonspecificity",
    "nonspecificity_estimate",
    "observation_check",
    "picp",
    "pit",
    "pit_test",
    "power_study",
    "predictive_check",
    "quantile_calibration_error",
    "rank_models",
    "rater_statistic",
    "recalibration_report",
    "registered",
    "reliability_curve",
    "risk_coverage_curve",
    "rmse",
    "save",
    "scan",
    "score_stability",
    "skce",
    "statistic",
    "top_label_ece",
    "uncertainty",
    "upper_entropy",
    "upper_probability",
    "validity_test",
]
