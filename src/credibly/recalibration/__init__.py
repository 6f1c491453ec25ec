"""Repair what was found: fitted on predictions and labels, applied to predictions."""

from credibly.recalibration.affine import MatrixScaling, VectorScaling
from credibly.recalibration.alpha import AlphaCalibration
from credibly.recalibration.base import Recalibration
from credibly.recalibration.chain import Chain
from credibly.recalibration.comparison import recalibration_report
from credibly.recalibration.credal import CredalRecalibration
from credibly.recalibration.files import load_recalibration
from credibly.recalibration.fitting import Convergence
from credibly.recalibration.members import MemberTemperatures
from credibly.recalibration.temperature import TemperatureScaling

__all__ = [
    "AlphaCalibration",
    "Chain",
    "Convergence",
    "CredalRecalibration",
    "MatrixScaling",
    "MemberTemperatures",
    "Recalibration",
    "TemperatureScaling",
    "VectorScaling",
    "load_recalibration",
    "recalibration_report",
]
