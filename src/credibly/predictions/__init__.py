"""What a model predicted and what was observed; each type validates itself once, when it is created."""

from credibly._arrays.shared_parameters import fill_docstrings
from credibly.predictions.base import ClassPredictions, OverClasses, Predictions, RealPredictions
from credibly.predictions.belief import Belief
from credibly.predictions.confidence import Confidence, has_event
from credibly.predictions.convert import as_predictions
from credibly.predictions.dataset import Dataset
from credibly.predictions.dirichlet import Dirichlet
from credibly.predictions.ensemble import Ensemble
from credibly.predictions.given import (
    as_pair,
    as_rows,
    cluster_codes,
    paired,
    require_independent,
    require_single,
)
from credibly.predictions.intervals import Intervals
from credibly.predictions.label_checks import label_dtype
from credibly.predictions.label_counts import LabelCounts
from credibly.predictions.labels import Classes, Counts, Labels, Reals, as_labels, as_point
from credibly.predictions.point import Point
from credibly.predictions.prediction_sets import PredictionIntervals, PredictionSets
from credibly.predictions.quantiles import Quantiles
from credibly.predictions.regression import Gaussian
from credibly.predictions.rows import InMemory, RowChoice, Rows, group_rows, one_rater, rows_up_to
from credibly.predictions.samples import Samples
from credibly.predictions.second_order import SecondOrder

__all__ = [
    "Belief",
    "ClassPredictions",
    "Classes",
    "Confidence",
    "Counts",
    "Dataset",
    "Dirichlet",
    "Ensemble",
    "Gaussian",
    "InMemory",
    "Intervals",
    "LabelCounts",
    "Labels",
    "OverClasses",
    "Point",
    "PredictionIntervals",
    "PredictionSets",
    "Predictions",
    "Quantiles",
    "RealPredictions",
    "Reals",
    "RowChoice",
    "Rows",
    "Samples",
    "SecondOrder",
    "as_labels",
    "as_pair",
    "as_point",
    "as_predictions",
    "as_rows",
    "cluster_codes",
    "group_rows",
    "has_event",
    "label_dtype",
    "one_rater",
    "paired",
    "require_independent",
    "require_single",
    "rows_up_to",
]

fill_docstrings(map(globals().get, __all__))
