"""A null hypothesis, a statistic, a p-value."""

from credibly.hypotests.calibration import calibration_test, default_statistic
from credibly.hypotests.member_functions import member_functions
from credibly.hypotests.pit import coverage_curve, observation_check, pit_test
from credibly.hypotests.predictive import predictive_check
from credibly.hypotests.reliability import classwise_curves, reliability_curve
from credibly.hypotests.replicates import RealReplicates, Replicates

__all__ = [
    "RealReplicates",
    "Replicates",
    "calibration_test",
    "classwise_curves",
    "coverage_curve",
    "default_statistic",
    "member_functions",
    "observation_check",
    "pit_test",
    "predictive_check",
    "reliability_curve",
]
