"""Everything at once: run all that the input allows, cheap parts first, and say it in words."""

from credibly.evaluation.comparison import Comparison, compare
from credibly.evaluation.evaluate import evaluate
from credibly.evaluation.predictive_checks import check_verdicts
from credibly.evaluation.raters import RaterParts
from credibly.evaluation.results import Curves, Evaluation, PredictionSummary, RealParts
from credibly.evaluation.score import ScoreParts
from credibly.evaluation.sets import CredalParts, ValidityParts
from credibly.evaluation.tidy import NumberRow, StandingRow, number_rows, standing_rows
from credibly.evaluation.verdict import Verdict
from credibly.evaluation.words import joined, shown, shown_range, title, worst_first
from credibly.statistics import story_of

__all__ = [
    "Comparison",
    "CredalParts",
    "Curves",
    "Evaluation",
    "NumberRow",
    "PredictionSummary",
    "RaterParts",
    "RealParts",
    "ScoreParts",
    "StandingRow",
    "ValidityParts",
    "Verdict",
    "check_verdicts",
    "compare",
    "evaluate",
    "joined",
    "number_rows",
    "shown",
    "shown_range",
    "standing_rows",
    "story_of",
    "title",
    "worst_first",
]
