"""Repair miscalibration: fitted on predictions and labels, applied to predictions."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.recalibrate.additive import BiasScaling, PlattScaling
from credibly.recalibrate.affine import MatrixScaling, VectorScaling
from credibly.recalibrate.alpha import AlphaCalibration
from credibly.recalibrate.base import Recalibration
from credibly.recalibrate.chain import Chain
from credibly.recalibrate.comparison import recalibration_report
from credibly.recalibrate.credal import CredalRecalibration
from credibly.recalibrate.curves import BetaScaling, CurveScaling, VennAbers
from credibly.recalibrate.files import load
from credibly.recalibrate.ignorance import IgnoranceCalibration
from credibly.recalibrate.labelling import ColumnOrder, NoiseScaling
from credibly.recalibrate.levels import IsotonicRecalibration, QuantileShift
from credibly.recalibrate.location import LocationScaling
from credibly.recalibrate.members import MemberTemperatures
from credibly.recalibrate.minimum import Convergence
from credibly.recalibrate.spread import SpreadScaling
from credibly.recalibrate.tails import SkewScaling, TailScaling
from credibly.recalibrate.temperature import TemperatureScaling

__all__ = [
    "AlphaCalibration",
    "BetaScaling",
    "BiasScaling",
    "Chain",
    "ColumnOrder",
    "Convergence",
    "CredalRecalibration",
    "CurveScaling",
    "IgnoranceCalibration",
    "IsotonicRecalibration",
    "LocationScaling",
    "MatrixScaling",
    "MemberTemperatures",
    "NoiseScaling",
    "PlattScaling",
    "QuantileShift",
    "Recalibration",
    "SkewScaling",
    "SpreadScaling",
    "TailScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "load",
    "recalibration_report",
]

fill_docstrings(map(globals().get, __all__))
