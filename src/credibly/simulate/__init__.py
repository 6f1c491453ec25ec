"""Worlds whose truth is known, and studies of how tests behave in them."""

from credibly.simulate.binary import BinaryWorld
from credibly.simulate.ensemble import EnsembleWorld
from credibly.simulate.histograms import HistogramWorld
from credibly.simulate.multiclass import MulticlassWorld
from credibly.simulate.regression import LocationWorld, QuadraticWorld
from credibly.simulate.world import Truth, World, WorldSample

__all__ = [
    "BinaryWorld",
    "EnsembleWorld",
    "HistogramWorld",
    "LocationWorld",
    "MulticlassWorld",
    "QuadraticWorld",
    "Truth",
    "World",
    "WorldSample",
]
