"""Geometry and measures of sets of distributions: bounds, masses, entropies, distances, decisions."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.credal.bounds import lower_probability, upper_probability
from credibly.credal.decisions import decision
from credibly.credal.distances import distance
from credibly.credal.entropy import lower_entropy, upper_entropy
from credibly.credal.extreme_points import vertices
from credibly.credal.masses import MassFunction, focal_budget, mass_function
from credibly.credal.means import mean_over
from credibly.credal.membership import boundary, contains
from credibly.credal.nonspecificity import NonspecificityEstimate, nonspecificity, nonspecificity_estimate
from credibly.credal.sets import as_set
from credibly.credal.uncertainty import Uncertainty, disagreement, size, uncertainty

__all__ = [
    "MassFunction",
    "NonspecificityEstimate",
    "Uncertainty",
    "as_set",
    "boundary",
    "contains",
    "decision",
    "disagreement",
    "distance",
    "focal_budget",
    "lower_entropy",
    "lower_probability",
    "mass_function",
    "mean_over",
    "nonspecificity",
    "nonspecificity_estimate",
    "size",
    "uncertainty",
    "upper_entropy",
    "upper_probability",
    "vertices",
]

fill_docstrings(map(globals().get, __all__))
