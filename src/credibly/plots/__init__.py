"""Results as pictures. Each plot is data first (what exactly is drawn), then a drawing on any Axes."""

from credibly.plots.classwise import ClasswiseDisplay, classwise_data, classwise_diagrams
from credibly.plots.null import NullDisplay, null_data, null_distribution
from credibly.plots.rater_disagreement import (
    DisagreementDisplay,
    SpreadDisplay,
    disagreement_data,
    disagreement_diagram,
    spread_data,
    spread_diagram,
)
from credibly.plots.rater_loss import (
    DebiasingDisplay,
    LossMapDisplay,
    debiasing_curve,
    debiasing_data,
    loss_map,
    loss_map_data,
)
from credibly.plots.reliability import ReliabilityDisplay, reliability_data, reliability_diagram
from credibly.plots.style import BLUE, INK, ORANGE, VERMILION, new_axes, new_figure, printable

__all__ = [
    "BLUE",
    "INK",
    "ORANGE",
    "VERMILION",
    "ClasswiseDisplay",
    "DebiasingDisplay",
    "DisagreementDisplay",
    "LossMapDisplay",
    "NullDisplay",
    "ReliabilityDisplay",
    "SpreadDisplay",
    "classwise_data",
    "classwise_diagrams",
    "debiasing_curve",
    "debiasing_data",
    "disagreement_data",
    "disagreement_diagram",
    "loss_map",
    "loss_map_data",
    "new_axes",
    "new_figure",
    "null_data",
    "null_distribution",
    "printable",
    "reliability_data",
    "reliability_diagram",
    "spread_data",
    "spread_diagram",
]
