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
from credibly._arrays.maps import SimplexMap
from credibly._arrays.results import Estimate, HypotestResult, ReliabilityCurve
from credibly._arrays.threads import thread_limit
from credibly._arrays.tiles import memory_limit
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
    error_over_simplex,
    error_over_weights,
    hosmer_lemeshow,
    kde_ce,
    kl_ce,
    log_loss,
    mmd_ce,
    registered,
    skce,
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
    "MissingExtraError",
    "Point",
    "Quantiles",
    "ReliabilityCurve",
    "Samples",
    "SimplexMap",
    "Statistic",
    "Traits",
    "UnsupportedError",
    "accuracy",
    "as_predictions",
    "brier",
    "calibration_test",
    "classwise_ece",
    "confidence_ece",
    "decompose_brier",
    "error_over_simplex",
    "error_over_weights",
    "evaluate",
    "hosmer_lemeshow",
    "kde_ce",
    "kl_ce",
    "load",
    "log_loss",
    "memory_limit",
    "mmd_ce",
    "registered",
    "reliability_curve",
    "save",
    "skce",
    "statistic",
    "thread_limit",
    "top_label_ece",
]
