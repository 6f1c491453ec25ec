"""Everything at once: run all that the input allows, cheap parts first, and say it in words."""

from credibly.evaluation.comparison import Comparison, compare
from credibly.evaluation.evaluate import evaluate
from credibly.evaluation.raters import RaterParts
from credibly.evaluation.results import Curves, Evaluation, PredictionSummary, Verdict
from credibly.evaluation.score import ScoreParts
from credibly.evaluation.words import shown, shown_range, title

__all__ = [
    "Comparison",
    "Curves",
    "Evaluation",
    "PredictionSummary",
    "RaterParts",
    "ScoreParts",
    "Verdict",
    "compare",
    "evaluate",
    "shown",
    "shown_range",
    "title",
]
