"""Everything at once: run all that the input allows, cheap parts first, and say it in words."""

from credibly.evaluation.checks import check_verdicts
from credibly.evaluation.evaluate import evaluate
from credibly.evaluation.raters import RaterParts
from credibly.evaluation.results import Curves, Evaluation, PredictionSummary, RealParts, Verdict
from credibly.evaluation.words import shown, shown_range, title

__all__ = [
    "Curves",
    "Evaluation",
    "PredictionSummary",
    "RaterParts",
    "RealParts",
    "Verdict",
    "check_verdicts",
    "evaluate",
    "shown",
    "shown_range",
    "title",
]
