"""Several labels per instance: whose loss is it, is disagreement predicted, is stated ignorance honest?"""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.raters.agreement import agreement
from credibly.raters.annotators import leaving_raters_out, rater_test
from credibly.raters.disagreement import decompose_disagreement
from credibly.raters.entropy_split import entropy_split
from credibly.raters.ignorance import ignorance
from credibly.raters.loss import decompose_loss
from credibly.raters.planning import plan_second_labels
from credibly.raters.rater_statistics import RaterStatistic, rater_statistic
from credibly.raters.spread_test import spread_test

__all__ = [
    "RaterStatistic",
    "agreement",
    "decompose_disagreement",
    "decompose_loss",
    "entropy_split",
    "ignorance",
    "leaving_raters_out",
    "plan_second_labels",
    "rater_statistic",
    "rater_test",
    "spread_test",
]

fill_docstrings(map(globals().get, __all__))
