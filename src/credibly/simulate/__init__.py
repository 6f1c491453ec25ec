"""Simulated worlds whose truth is known, and studies of how tests behave in them."""

from credibly.results.power import WorldPicture
from credibly.simulate.binary import BinaryWorld
from credibly.simulate.calibration import CalibrationTest
from credibly.simulate.ensemble import EnsembleWorld
from credibly.simulate.histograms import HistogramWorld
from credibly.simulate.multiclass import MulticlassWorld
from credibly.simulate.pairing import PairedDifference, paired_difference
from credibly.simulate.pictures import world_picture
from credibly.simulate.power import power_study
from credibly.simulate.regression import LocationWorld, QuadraticWorld
from credibly.simulate.world import Truth, World, WorldSample

__all__ = [
    "BinaryWorld",
    "CalibrationTest",
    "EnsembleWorld",
    "HistogramWorld",
    "LocationWorld",
    "MulticlassWorld",
    "PairedDifference",
    "QuadraticWorld",
    "Truth",
    "World",
    "WorldPicture",
    "WorldSample",
    "paired_difference",
    "power_study",
    "world_picture",
]
