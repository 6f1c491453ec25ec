"""Everything at once: run all that the input allows, cheap parts first, and say it in words."""

from credibly.evaluation.evaluate import evaluate
from credibly.evaluation.raters import RaterParts
from credibly.evaluation.results import Curves, Evaluation, PredictionSummary
from credibly.evaluation.sets import CredalParts, ValidityParts
from credibly.evaluation.verdict import Verdict
from credibly.evaluation.words import shown, shown_range, title

__all__ = [
    "CredalParts",
    "Curves",
    "Evaluation",
    "PredictionSummary",
    "RaterParts",
    "ValidityParts",
    "Verdict",
    "evaluate",
    "shown",
    "shown_range",
    "title",
]
