"""Worlds whose truth is known, and studies of how tests behave in them."""

from credibly._arrays.study_results import PowerStudy, WorldPicture
from credibly.simulate.binary import BinaryWorld
from credibly.simulate.calibration import CalibrationTest
from credibly.simulate.ensemble import EnsembleWorld
from credibly.simulate.histograms import HistogramWorld
from credibly.simulate.multiclass import MulticlassWorld
from credibly.simulate.pairing import PairedDifference, paired_difference
from credibly.simulate.pictures import world_picture
from credibly.simulate.power import power_study
from credibly.simulate.regression import LocationWorld, QuadraticWorld
from credibly.simulate.studies import STUDIES, Size, Study, as_study, studies
from credibly.simulate.world import Truth, World, WorldSample

__all__ = [
    "STUDIES",
    "BinaryWorld",
    "CalibrationTest",
    "EnsembleWorld",
    "HistogramWorld",
    "LocationWorld",
    "MulticlassWorld",
    "PairedDifference",
    "PowerStudy",
    "QuadraticWorld",
    "Size",
    "Study",
    "Truth",
    "World",
    "WorldPicture",
    "WorldSample",
    "as_study",
    "paired_difference",
    "power_study",
    "studies",
    "world_picture",
]
