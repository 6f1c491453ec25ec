"""Several labels per instance: whose loss is it, and is the disagreement between raters predicted?"""

from credibly.annotators.disagreement import decompose_disagreement
from credibly.annotators.loss import decompose_loss
from credibly.annotators.rater_statistics import RaterStatistic, rater_statistic

__all__ = [
    "RaterStatistic",
    "decompose_disagreement",
    "decompose_loss",
    "rater_statistic",
]
