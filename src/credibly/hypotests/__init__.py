"""A null hypothesis, a statistic, a p-value."""

from credibly.hypotests.basis import Basis
from credibly.hypotests.calibration import calibration_test, default_statistic
from credibly.hypotests.credal import credal_test
from credibly.hypotests.inflate import Inflation, inflate
from credibly.hypotests.learners import BoundaryLearner, GatingLearner, Learner, TiltingLearner
from credibly.hypotests.member_functions import member_functions
from credibly.hypotests.neural import NeuralLearner
from credibly.hypotests.pit import coverage_curve, observation_check, pit_test
from credibly.hypotests.predictive import predictive_check
from credibly.hypotests.reliability import classwise_curves, reliability_curve
from credibly.hypotests.replicates import RealReplicates, Replicates
from credibly.hypotests.validity import validity_test

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
