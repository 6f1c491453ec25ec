"""Does a model credibly know what it does not know?

Predictions first, then labels, then keywords: ``cr.calibration_test(predictions, labels, rng=0)``.
"""

import logging as _logging

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.errors import (
    CrediblyError,
    FileError,
    InputError,
    InputTypeError,
    MissingExtraError,
    UnsupportedError,
)
from credibly._arrays.results import Estimate, HypotestResult, ReliabilityCurve
from credibly._arrays.threads import thread_limit
from credibly._arrays.tiles import memory_limit
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
    nonspecificity,
    nonspecificity_estimate,
    uncertainty,
    upper_entropy,
    upper_probability,
)
from credibly.evaluation import Evaluation, evaluate
from credibly.hypotests import calibration_test, reliability_curve
from credibly.io import Dataset, load, save
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
from credibly.statistics import (
    BrierDecomposition,
    Statistic,
    Traits,
    accuracy,
    brier,
    classwise_ece,
    confidence_ece,
    decompose_brier,
    hosmer_lemeshow,
    log_loss,
    registered,
    statistic,
    top_label_ece,
)

__version__ = "0.1.0"

_logging.getLogger(__name__).addHandler(_logging.NullHandler())

__all__ = [
    "Belief",
    "BrierDecomposition",
    "CrediblyError",
    "Dataset",
    "Dirichlet",
    "Ensemble",
    "Estimate",
    "Evaluation",
    "FileError",
    "Gaussian",
    "HypotestResult",
    "InputError",
    "InputTypeError",
    "Intervals",
    "InvalidRowsError",
    "LabelCounts",
    "MassFunction",
    "MissingExtraError",
    "NonspecificityEstimate",
    "Point",
    "Quantiles",
    "ReliabilityCurve",
    "Samples",
    "Statistic",
    "Traits",
    "Uncertainty",
    "UnsupportedError",
    "accuracy",
    "as_predictions",
    "brier",
    "calibration_test",
    "classwise_ece",
    "confidence_ece",
    "credal_boundary",
    "credal_contains",
    "credal_decision",
    "credal_distance",
    "credal_sample",
    "credal_set",
    "credal_size",
    "credal_vertices",
    "decompose_brier",
    "discounted_utility",
    "evaluate",
    "focal_budget",
    "hosmer_lemeshow",
    "load",
    "log_loss",
    "lower_entropy",
    "lower_envelope",
    "lower_probability",
    "mass_function",
    "memory_limit",
    "nonspecificity",
    "nonspecificity_estimate",
    "registered",
    "reliability_curve",
    "save",
    "statistic",
    "thread_limit",
    "top_label_ece",
    "uncertainty",
    "upper_entropy",
    "upper_probability",
]
