"""Results as pictures. Each plot is data first (what exactly is drawn), then a drawing on any Axes."""

from credibly.plots.classwise import ClasswiseDisplay, classwise_data, classwise_diagrams
from credibly.plots.display import Display, Table, Words
from credibly.plots.distances import DistanceDisplay, distance_data, distance_diagram
from credibly.plots.masses import MassDisplay, mass_bars, mass_data
from credibly.plots.null import NullDisplay, null_data, null_distribution
from credibly.plots.power import PowerDisplay, power_data, power_diagram, power_diagrams
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
from credibly.plots.recalibration import (
    RecalibratedCurvesDisplay,
    RecalibrationChangesDisplay,
    recalibrated_curves_data,
    recalibration_changes_data,
)
from credibly.plots.reliability import ReliabilityDisplay, reliability_data, reliability_diagram
from credibly.plots.samples import SamplesDisplay, samples_data, samples_strip
from credibly.plots.simplex import SimplexDisplay, simplex_data, simplex_diagram
from credibly.plots.simplex_maps import SimplexMapDisplay, simplex_heat_map, simplex_map_data
from credibly.plots.sizes import (
    HeatDisplay,
    SizeDisplay,
    heat_data,
    size_data,
    size_heat_map,
    size_strips,
)
from credibly.plots.style import BLUE, INK, ORANGE, VERMILION, new_axes, new_figure, printable
from credibly.plots.worlds import (
    WeightsDisplay,
    WorldDisplay,
    weights_data,
    world_data,
    world_diagram,
)

__all__ = [
    "BLUE",
    "INK",
    "ORANGE",
    "VERMILION",
    "ClasswiseDisplay",
    "DebiasingDisplay",
    "DisagreementDisplay",
    "Display",
    "DistanceDisplay",
    "HeatDisplay",
    "LossMapDisplay",
    "MassDisplay",
    "NullDisplay",
    "PowerDisplay",
    "RecalibratedCurvesDisplay",
    "RecalibrationChangesDisplay",
    "ReliabilityDisplay",
    "SamplesDisplay",
    "SimplexDisplay",
    "SimplexMapDisplay",
    "SizeDisplay",
    "SpreadDisplay",
    "Table",
    "WeightsDisplay",
    "Words",
    "WorldDisplay",
    "classwise_data",
    "classwise_diagrams",
    "debiasing_curve",
    "debiasing_data",
    "disagreement_data",
    "disagreement_diagram",
    "distance_data",
    "distance_diagram",
    "heat_data",
    "loss_map",
    "loss_map_data",
    "mass_bars",
    "mass_data",
    "new_axes",
    "new_figure",
    "null_data",
    "null_distribution",
    "power_data",
    "power_diagram",
    "power_diagrams",
    "printable",
    "recalibrated_curves_data",
    "recalibration_changes_data",
    "reliability_data",
    "reliability_diagram",
    "samples_data",
    "samples_strip",
    "simplex_data",
    "simplex_diagram",
    "simplex_heat_map",
    "simplex_map_data",
    "size_data",
    "size_heat_map",
    "size_strips",
    "spread_data",
    "spread_diagram",
    "weights_data",
    "world_data",
    "world_diagram",
]
