"""Does a model credibly know what it does not know?

Predictions first, then labels, then keywords: ``cr.calibration_test(predictions, labels, rng=0)``.
"""

import logging as _logging

from credibly._arrays.checks import InvalidRowsError
from credibly._arrays.decompositions import (
    DisagreementDecomposition,
    Estimates,
    LossDecomposition,
    RootEstimate,
)
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
from credibly.annotators import (
    RaterStatistic,
    decompose_disagreement,
    decompose_disagreement_in_chunks,
    decompose_loss,
    decompose_loss_in_chunks,
    rater_statistic,
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
    "DisagreementDecomposition",
    "Ensemble",
    "Estimate",
    "Estimates",
    "Evaluation",
    "FileError",
    "Gaussian",
    "HypotestResult",
    "InputError",
    "InputTypeError",
    "Intervals",
    "InvalidRowsError",
    "LabelCounts",
    "LossDecomposition",
    "MissingExtraError",
    "Point",
    "Quantiles",
    "RaterStatistic",
    "ReliabilityCurve",
    "RootEstimate",
    "Samples",
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
    "decompose_disagreement",
    "decompose_disagreement_in_chunks",
    "decompose_loss",
    "decompose_loss_in_chunks",
    "evaluate",
    "hosmer_lemeshow",
    "load",
    "log_loss",
    "memory_limit",
    "rater_statistic",
    "registered",
    "reliability_curve",
    "save",
    "statistic",
    "thread_limit",
    "top_label_ece",
]
