"""A null hypothesis, a statistic, a p-value."""

from credibly.hypotests.basis import Basis
from credibly.hypotests.calibration import calibration_test
from credibly.hypotests.credal import credal_test
from credibly.hypotests.learners import BoundaryLearner, GatingLearner, Learner, TiltingLearner
from credibly.hypotests.neural import NeuralLearner
from credibly.hypotests.reliability import classwise_curves, reliability_curve
from credibly.hypotests.replicates import Replicates

__all__ = [
    "Basis",
    "BoundaryLearner",
    "GatingLearner",
    "Learner",
    "NeuralLearner",
    "Replicates",
    "TiltingLearner",
    "calibration_test",
    "classwise_curves",
    "credal_test",
    "reliability_curve",
]
