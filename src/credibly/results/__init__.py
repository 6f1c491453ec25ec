"""What tests and measures return; plots and reports read these, so nothing here computes."""

from credibly.results.agreement import Agreement
from credibly.results.audit import AuditGroup, AuditResult
from credibly.results.certificates import Certificate, EquivalenceDetails
from credibly.results.coverage import SetCoverage, Strata
from credibly.results.credal import CredalDetails, ValidityDetails, WeightsDetails
from credibly.results.curves import (
    CorpCurve,
    EnvelopeCurve,
    MurphyCurve,
    ReliabilityCurve,
    RiskCoverageCurve,
    SpreadCurve,
)
from credibly.results.decompositions import CrpsDecomposition, DisagreementDecomposition, LossDecomposition
from credibly.results.estimates import Estimate, Estimates, RootEstimate
from credibly.results.ignorance import Ignorance, RaterDetails, SizeBins, SpreadDetails
from credibly.results.monitor import GroupEvidence, MonitorResult, Suspect, Tracked
from credibly.results.power import LabelPlan, PowerCurve
from credibly.results.predictive import HypothesisCheck, PredictiveCheck
from credibly.results.recalibration import Change, MethodChanges, RecalibrationReport
from credibly.results.scores import EpistemicScore
from credibly.results.second_labels import EntropySplit, SecondLabelPlan
from credibly.results.tests import CheckDetails, Details, HypotestResult
from credibly.results.witness import WitnessDetails, WitnessDirection

__all__ = [
    "Agreement",
    "AuditGroup",
    "AuditResult",
    "Certificate",
    "Change",
    "CheckDetails",
    "CorpCurve",
    "CredalDetails",
    "CrpsDecomposition",
    "Details",
    "DisagreementDecomposition",
    "EntropySplit",
    "EnvelopeCurve",
    "EpistemicScore",
    "EquivalenceDetails",
    "Estimate",
    "Estimates",
    "GroupEvidence",
    "HypotestResult",
    "HypothesisCheck",
    "Ignorance",
    "LabelPlan",
    "LossDecomposition",
    "MethodChanges",
    "MonitorResult",
    "MurphyCurve",
    "PowerCurve",
    "PredictiveCheck",
    "RaterDetails",
    "RecalibrationReport",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "RootEstimate",
    "SecondLabelPlan",
    "SetCoverage",
    "SizeBins",
    "SpreadCurve",
    "SpreadDetails",
    "Strata",
    "Suspect",
    "Tracked",
    "ValidityDetails",
    "WeightsDetails",
    "WitnessDetails",
    "WitnessDirection",
]
