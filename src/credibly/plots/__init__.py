"""Results as pictures. Each plot is data first (what exactly is drawn), then a drawing on any Axes."""

from credibly.plots.check_groups import (
    GroupGridDisplay,
    group_grid,
    group_grid_data,
)
from credibly.plots.checks import (
    CheckDisplay,
    before_after_data,
    before_after_strip,
    check_data,
    check_strip,
)
from credibly.plots.classwise import ClasswiseDisplay, classwise_data, classwise_diagrams
from credibly.plots.display import Display, Table, Words
from credibly.plots.envelopes import (
    CoverageDisplay,
    EnvelopeDisplay,
    coverage_data,
    coverage_diagram,
    pit_data,
    pit_diagram,
)
from credibly.plots.masses import MassDisplay, mass_bars, mass_data
from credibly.plots.members import (
    FunctionsDisplay,
    MemberHistogramDisplay,
    functions_data,
    functions_diagram,
    member_histogram,
    member_histogram_data,
)
from credibly.plots.null import NullDisplay, null_data, null_distribution
from credibly.plots.power import PowerDisplay, power_data, power_diagram
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

__all__ = [
    "BLUE",
    "INK",
    "ORANGE",
    "VERMILION",
    "CheckDisplay",
    "ClasswiseDisplay",
    "CoverageDisplay",
    "DebiasingDisplay",
    "DisagreementDisplay",
    "Display",
    "EnvelopeDisplay",
    "FunctionsDisplay",
    "GroupGridDisplay",
    "HeatDisplay",
    "LossMapDisplay",
    "MassDisplay",
    "MemberHistogramDisplay",
    "NullDisplay",
    "PowerDisplay",
    "ReliabilityDisplay",
    "SamplesDisplay",
    "SimplexDisplay",
    "SimplexMapDisplay",
    "SizeDisplay",
    "SpreadDisplay",
    "Table",
    "Words",
    "before_after_data",
    "before_after_strip",
    "check_data",
    "check_strip",
    "classwise_data",
    "classwise_diagrams",
    "coverage_data",
    "coverage_diagram",
    "debiasing_curve",
    "debiasing_data",
    "disagreement_data",
    "disagreement_diagram",
    "functions_data",
    "functions_diagram",
    "group_grid",
    "group_grid_data",
    "heat_data",
    "loss_map",
    "loss_map_data",
    "mass_bars",
    "mass_data",
    "member_histogram",
    "member_histogram_data",
    "new_axes",
    "new_figure",
    "null_data",
    "null_distribution",
    "pit_data",
    "pit_diagram",
    "power_data",
    "power_diagram",
    "printable",
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
]
