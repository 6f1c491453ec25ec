"""How the weights of the members of a set are learned, from the predictions and from features."""

from credibly.learners.basis import Basis
from credibly.learners.linear import BoundaryLearner, FittedWeights, GatingLearner, Learner, Lesson

__all__ = ["Basis", "BoundaryLearner", "FittedWeights", "GatingLearner", "Learner", "Lesson"]
