"""Results as pictures. Each plot is data first (what exactly is drawn), then a drawing on any Axes."""

from credibly.plots.classwise import ClasswiseDisplay, classwise_data, classwise_diagrams
from credibly.plots.null import NullDisplay, null_data, null_distribution
from credibly.plots.reliability import ReliabilityDisplay, reliability_data, reliability_diagram
from credibly.plots.simplex_maps import SimplexDisplay, simplex_data, simplex_heat_map
from credibly.plots.style import BLUE, INK, ORANGE, VERMILION, new_axes, new_figure, printable

__all__ = [
    "BLUE",
    "INK",
    "ORANGE",
    "VERMILION",
    "ClasswiseDisplay",
    "NullDisplay",
    "ReliabilityDisplay",
    "SimplexDisplay",
    "classwise_data",
    "classwise_diagrams",
    "new_axes",
    "new_figure",
    "null_data",
    "null_distribution",
    "printable",
    "reliability_data",
    "reliability_diagram",
    "simplex_data",
    "simplex_heat_map",
]
