"""A null hypothesis, a statistic, a p-value."""

from credibly.hypotests.calibration.calibration_test import calibration_test, default_statistic
from credibly.hypotests.calibration.pit import coverage_curve, observation_check, pit_test
from credibly.hypotests.calibration.reliability import classwise_curves, reliability_curve
from credibly.hypotests.credal.basis import Basis
from credibly.hypotests.credal.credal_test import credal_test
from credibly.hypotests.credal.inflate import Inflation, inflate
from credibly.hypotests.credal.learners import BoundaryLearner, GatingLearner, Learner, TiltingLearner
from credibly.hypotests.credal.neural import NeuralLearner
from credibly.hypotests.credal.validity import validity_test
from credibly.hypotests.predictive.member_functions import member_functions
from credibly.hypotests.predictive.predictive_check import predictive_check
from credibly.hypotests.resampling.replicates import RealReplicates, Replicates

__all__ = [
    "Basis",
    "BoundaryLearner",
    "GatingLearner",
    "Inflation",
    "Learner",
    "NeuralLearner",
    "RealReplicates",
    "Replicates",
    "TiltingLearner",
    "calibration_test",
    "classwise_curves",
    "coverage_curve",
    "credal_test",
    "default_statistic",
    "inflate",
    "member_functions",
    "observation_check",
    "pit_test",
    "predictive_check",
    "reliability_curve",
    "validity_test",
]
