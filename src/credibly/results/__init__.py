"""What tests and measures return; plots and reports read these, so nothing here computes."""

from credibly.results.certificates import Certificate
from credibly.results.coverage import SetCoverage, Slab, Strata
from credibly.results.curves import (
    CorpCurve,
    EnvelopeCurve,
    MemberFunctions,
    ReliabilityCurve,
    RiskCoverageCurve,
    SimplexMap,
    SpreadCurve,
)
from credibly.results.decompositions import DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate, Estimates, RootEstimate
from credibly.results.power import PowerCurve, PowerStudy
from credibly.results.predictive import HypothesisCheck, PredictiveCheck
from credibly.results.recalibration import Change, MethodChanges, RecalibrationReport
from credibly.results.scores import EpistemicScore, ScoreStability
from credibly.results.tests import CheckResult, CredalTestResult, HypotestResult, ValidityResult
from credibly.results.witness import WitnessDirection, WitnessResult

__all__ = [
    "Certificate",
    "Change",
    "CheckResult",
    "CorpCurve",
    "CredalTestResult",
    "DisagreementDecomposition",
    "EnvelopeCurve",
    "EpistemicScore",
    "Estimate",
    "Estimates",
    "HypotestResult",
    "HypothesisCheck",
    "LossDecomposition",
    "MemberFunctions",
    "MethodChanges",
    "PowerCurve",
    "PowerStudy",
    "PredictiveCheck",
    "RecalibrationReport",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "RootEstimate",
    "ScoreStability",
    "SetCoverage",
    "SimplexMap",
    "Slab",
    "SpreadCurve",
    "Strata",
    "ValidityResult",
    "WitnessDirection",
    "WitnessResult",
]
