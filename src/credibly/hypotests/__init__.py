"""A null hypothesis, a statistic, a p-value."""

from credibly.hypotests.calibration import calibration_test
from credibly.hypotests.check_curves import coverage_curve, member_functions
from credibly.hypotests.predictive import predictive_check
from credibly.hypotests.reliability import classwise_curves, reliability_curve
from credibly.hypotests.replicates import RealReplicates, Replicates

__all__ = [
    "RealReplicates",
    "Replicates",
    "calibration_test",
    "classwise_curves",
    "coverage_curve",
    "member_functions",
    "predictive_check",
    "reliability_curve",
]
