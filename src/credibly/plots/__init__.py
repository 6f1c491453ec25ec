"""Results as pictures. Each plot is data first (what exactly is drawn), then a drawing on any Axes."""

from credibly.plots.check_groups import GroupGridDisplay, group_grid, group_grid_data
from credibly.plots.classwise import ClasswiseDisplay, classwise_data, classwise_diagrams
from credibly.plots.combinations import (
    CombinationDisplay,
    SimplexWeightsDisplay,
    combination_data,
    combination_diagram,
    simplex_weights,
    simplex_weights_data,
)
from credibly.plots.display import Display, Table, Words
from credibly.plots.distances import DistanceDisplay, distance_data, distance_diagram
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
from credibly.plots.predictive_checks import (
    CheckDisplay,
    before_after_data,
    before_after_strip,
    check_data,
    check_strip,
)
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
from credibly.plots.regions import RegionDisplay, region_data, region_diagram
from credibly.plots.rejections import RejectionDisplay, rejection_data, rejection_diagram, rejection_diagrams
from credibly.plots.reliability import ReliabilityDisplay, reliability_data, reliability_diagram
from credibly.plots.risk_coverage import RiskCoverageDisplay, risk_coverage_data, risk_coverage_diagram
from credibly.plots.samples import SamplesDisplay, samples_data, samples_strip
from credibly.plots.score_bars import ScoreBarDisplay, score_bar_data, score_bars
from credibly.plots.score_boxes import ScoreBoxDisplay, score_box_data, score_boxes
from credibly.plots.score_groups import ViolinDisplay, score_violins, violin_data
from credibly.plots.score_instances import (
    ConfidenceDisplay,
    ScoreScatterDisplay,
    confidence_data,
    confidence_strip,
    score_scatter,
    score_scatter_data,
)
from credibly.plots.score_members import MembersDisplay, members_curve, members_data
from credibly.plots.simplex import SimplexDisplay, simplex_data, simplex_diagram
from credibly.plots.simplex_maps import SimplexMapDisplay, simplex_heat_map, simplex_map_data
from credibly.plots.sizes import HeatDisplay, SizeDisplay, heat_data, size_data, size_heat_map, size_strips
from credibly.plots.style import BLUE, INK, ORANGE, VERMILION, new_axes, new_figure, printable, whole_figure
from credibly.plots.tradeoffs import TradeoffDisplay, tradeoff_data, tradeoff_lines
from credibly.plots.validity import ValidityDisplay, validity_data, validity_diagram
from credibly.plots.witness import WitnessDisplay, witness_data, witness_diagram
from credibly.plots.worlds import WeightsDisplay, WorldDisplay, weights_data, world_data, world_diagram

__all__ = [
    "BLUE",
    "INK",
    "ORANGE",
    "VERMILION",
    "CheckDisplay",
    "ClasswiseDisplay",
    "CombinationDisplay",
    "ConfidenceDisplay",
    "CoverageDisplay",
    "DebiasingDisplay",
    "DisagreementDisplay",
    "Display",
    "DistanceDisplay",
    "EnvelopeDisplay",
    "FunctionsDisplay",
    "GroupGridDisplay",
    "HeatDisplay",
    "LossMapDisplay",
    "MassDisplay",
    "MemberHistogramDisplay",
    "MembersDisplay",
    "NullDisplay",
    "PowerDisplay",
    "RecalibratedCurvesDisplay",
    "RecalibrationChangesDisplay",
    "RegionDisplay",
    "RejectionDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SamplesDisplay",
    "ScoreBarDisplay",
    "ScoreBoxDisplay",
    "ScoreScatterDisplay",
    "SimplexDisplay",
    "SimplexMapDisplay",
    "SimplexWeightsDisplay",
    "SizeDisplay",
    "SpreadDisplay",
    "Table",
    "TradeoffDisplay",
    "ValidityDisplay",
    "ViolinDisplay",
    "WeightsDisplay",
    "WitnessDisplay",
    "Words",
    "WorldDisplay",
    "before_after_data",
    "before_after_strip",
    "check_data",
    "check_strip",
    "classwise_data",
    "classwise_diagrams",
    "combination_data",
    "combination_diagram",
    "confidence_data",
    "confidence_strip",
    "coverage_data",
    "coverage_diagram",
    "debiasing_curve",
    "debiasing_data",
    "disagreement_data",
    "disagreement_diagram",
    "distance_data",
    "distance_diagram",
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
    "members_curve",
    "members_data",
    "new_axes",
    "new_figure",
    "null_data",
    "null_distribution",
    "pit_data",
    "pit_diagram",
    "power_data",
    "power_diagram",
    "printable",
    "recalibrated_curves_data",
    "recalibration_changes_data",
    "region_data",
    "region_diagram",
    "rejection_data",
    "rejection_diagram",
    "rejection_diagrams",
    "reliability_data",
    "reliability_diagram",
    "risk_coverage_data",
    "risk_coverage_diagram",
    "samples_data",
    "samples_strip",
    "score_bar_data",
    "score_bars",
    "score_box_data",
    "score_boxes",
    "score_scatter",
    "score_scatter_data",
    "score_violins",
    "simplex_data",
    "simplex_diagram",
    "simplex_heat_map",
    "simplex_map_data",
    "simplex_weights",
    "simplex_weights_data",
    "size_data",
    "size_heat_map",
    "size_strips",
    "spread_data",
    "spread_diagram",
    "tradeoff_data",
    "tradeoff_lines",
    "validity_data",
    "validity_diagram",
    "violin_data",
    "weights_data",
    "whole_figure",
    "witness_data",
    "witness_diagram",
    "world_data",
    "world_diagram",
]
