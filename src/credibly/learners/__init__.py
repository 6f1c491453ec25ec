"""How the weights of the members of a set are learned, from the predictions and from features."""

from credibly.learners.basis import Basis
from credibly.learners.linear import BoundaryLearner, GatingLearner, Learner, TiltingLearner
from credibly.learners.neural import NeuralLearner

__all__ = ["Basis", "BoundaryLearner", "GatingLearner", "Learner", "NeuralLearner", "TiltingLearner"]
