"""One score for every kind of prediction, and a fair choice between unlike models."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.selection.decisions import DecisionCosts, decision_costs, murphy_curve
from credibly.selection.detection import Detection, DetectionScore, detection
from credibly.selection.lines import Ranking
from credibly.selection.ranking import rank_models, rank_scores
from credibly.selection.score import epistemic_score, score_from_parts

__all__ = [
    "DecisionCosts",
    "Detection",
    "DetectionScore",
    "Ranking",
    "decision_costs",
    "detection",
    "epistemic_score",
    "murphy_curve",
    "rank_models",
    "rank_scores",
    "score_from_parts",
]

fill_docstrings(map(globals().get, __all__))
