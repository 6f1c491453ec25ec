"""A null hypothesis, a statistic, a p-value."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.hypotests.calibration.audit import audit
from credibly.hypotests.calibration.calibration_test import calibration_test
from credibly.hypotests.calibration.certificate import certificate
from credibly.hypotests.calibration.corp import corp_curve
from credibly.hypotests.calibration.crps_split import decompose_crps
from credibly.hypotests.calibration.joint import joint_test
from credibly.hypotests.calibration.pit import coverage_curve, pit_test
from credibly.hypotests.calibration.planning import plan_labels
from credibly.hypotests.calibration.reliability import reliability_curve, spread_curve
from credibly.hypotests.calibration.replicate_test import replicate_test
from credibly.hypotests.calibration.set_coverage import set_coverage
from credibly.hypotests.credal.credal_test import credal_test
from credibly.hypotests.credal.inflate import Inflation, inflate
from credibly.hypotests.credal.validity import validity_test
from credibly.hypotests.credal.weights_test import weights_test
from credibly.hypotests.credal.witness import witness_test
from credibly.hypotests.predictive.predictive_check import predictive_check

__all__ = [
    "Inflation",
    "audit",
    "calibration_test",
    "certificate",
    "corp_curve",
    "coverage_curve",
    "credal_test",
    "decompose_crps",
    "inflate",
    "joint_test",
    "pit_test",
    "plan_labels",
    "predictive_check",
    "reliability_curve",
    "replicate_test",
    "set_coverage",
    "spread_curve",
    "validity_test",
    "weights_test",
    "witness_test",
]

fill_docstrings(map(globals().get, __all__))
