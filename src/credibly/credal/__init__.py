"""Geometry and measures of sets of distributions: bounds, masses, entropies, distances, decisions."""

from credibly.credal.bounds import credal_support, lower_probability, upper_probability
from credibly.credal.decisions import credal_decision, discounted_utility
from credibly.credal.distance import credal_distance
from credibly.credal.entropy import lower_entropy, upper_entropy
from credibly.credal.envelope import lower_envelope
from credibly.credal.masses import MassFunction, focal_budget, mass_function
from credibly.credal.means import mean_over
from credibly.credal.membership import credal_boundary, credal_contains
from credibly.credal.nonspecificity import (
    NonspecificityEstimate,
    nonspecificity,
    nonspecificity_estimate,
)
from credibly.credal.pictures import simplex_picture
from credibly.credal.sampling import credal_sample
from credibly.credal.sets import credal_set
from credibly.credal.uncertainty import Uncertainty, credal_size, uncertainty
from credibly.credal.vertices import credal_vertices

__all__ = [
    "MassFunction",
    "NonspecificityEstimate",
    "Uncertainty",
    "credal_boundary",
    "credal_contains",
    "credal_decision",
    "credal_distance",
    "credal_sample",
    "credal_set",
    "credal_size",
    "credal_support",
    "credal_vertices",
    "discounted_utility",
    "focal_budget",
    "lower_entropy",
    "lower_envelope",
    "lower_probability",
    "mass_function",
    "mean_over",
    "nonspecificity",
    "nonspecificity_estimate",
    "simplex_picture",
    "uncertainty",
    "upper_entropy",
    "upper_probability",
]
