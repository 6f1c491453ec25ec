"""Everything at once: run all that the input allows, cheap parts first, and say it in words."""

from credibly.evaluation.evaluate import evaluate
from credibly.evaluation.raters import RaterParts
from credibly.evaluation.results import Curves, Evaluation, PredictionSummary, Verdict
from credibly.evaluation.tidy import NumberRow, number_rows
from credibly.evaluation.words import shown, shown_range, title

__all__ = [
    "Curves",
    "Evaluation",
    "NumberRow",
    "PredictionSummary",
    "RaterParts",
    "Verdict",
    "evaluate",
    "number_rows",
    "shown",
    "shown_range",
    "title",
]
