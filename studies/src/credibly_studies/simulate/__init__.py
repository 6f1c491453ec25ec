"""Simulated worlds whose truth is known, and studies of how tests behave in them."""

from credibly_studies.simulate.binary import BinaryWorld
from credibly_studies.simulate.calibration import CalibrationTest
from credibly_studies.simulate.ensemble import EnsembleWorld
from credibly_studies.simulate.histograms import HistogramWorld
from credibly_studies.simulate.multiclass import MulticlassWorld
from credibly_studies.simulate.pairing import PairedDifference, paired_difference
from credibly_studies.simulate.pictures import WorldPicture, world_picture
from credibly_studies.simulate.plots import rejections as rejections  # `plot` finds the pictures by then
from credibly_studies.simulate.power import PowerStudy, power_study
from credibly_studies.simulate.regression import LocationWorld, QuadraticWorld
from credibly_studies.simulate.world import Truth, World, WorldSample

__all__ = [
    "BinaryWorld",
    "CalibrationTest",
    "EnsembleWorld",
    "HistogramWorld",
    "LocationWorld",
    "MulticlassWorld",
    "PairedDifference",
    "PowerStudy",
    "QuadraticWorld",
    "Truth",
    "World",
    "WorldPicture",
    "WorldSample",
    "paired_difference",
    "power_study",
    "world_picture",
]
