"""Everything at once: run all that the input allows, cheap parts first, and report it in words."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.evaluation.comparison import Comparison, compare
from credibly.evaluation.evaluate import evaluate
from credibly.evaluation.findings import Finding, Headline
from credibly.evaluation.ignorance import IgnoranceParts
from credibly.evaluation.results import Evaluation, Reported
from credibly.evaluation.rows import PredictionSummary
from credibly.evaluation.set_tests import CredalParts, ValidityParts
from credibly.evaluation.stages import Curves, RaterParts, RealParts, ScoreParts
from credibly.evaluation.tidy import NumberRow, StandingRow, number_rows, standing_rows
from credibly.evaluation.words import Verdict, title, worst_first
from credibly.evaluation.work import Part
from credibly.results.numbers import joined, shown, shown_range
from credibly.statistics.registry import story_of

__all__ = [
    "Comparison",
    "CredalParts",
    "Curves",
    "Evaluation",
    "Finding",
    "Headline",
    "IgnoranceParts",
    "NumberRow",
    "Part",
    "PredictionSummary",
    "RaterParts",
    "RealParts",
    "Reported",
    "ScoreParts",
    "StandingRow",
    "ValidityParts",
    "Verdict",
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

fill_docstrings(map(globals().get, __all__))
