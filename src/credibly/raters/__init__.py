"""Several labels per instance: whose loss is it, and is the disagreement between raters predicted?"""

from credibly.raters.disagreement import decompose_disagreement
from credibly.raters.loss import decompose_loss
from credibly.raters.rater_statistics import RaterStatistic, rater_statistic

__all__ = [
    "RaterStatistic",
    "decompose_disagreement",
    "decompose_loss",
    "rater_statistic",
]
