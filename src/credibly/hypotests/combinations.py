"""What a credal test found, usable on any split: points of a set and weights on them."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from credibly._arrays.errors import InputError
from credibly._arrays.namespace import Array, like, namespace
from credibly._arrays.philox import Seed, as_seed
from credibly.hypotests.basis import FittedBasis, check_features, log_probabilities
from credibly.hypotests.calibration import observed_classes, require_resamples
from credibly.hypotests.learners import LinearLearner
from credibly.hypotests.mixing import mixed
from credibly.hypotests.points import Points, as_class_predictions, points_of, require_same_points
from credibly.hypotests.regions import local_deviations, space_of
from credibly.predictions import Point, as_point, as_predictions
from credibly.results.estimates import Estimate
from credibly.results.tests import LocalDeviations
from credibly.statistics import Statistic, accuracy, brier, log_loss


@dataclasses.dataclass(frozen=True)
class Combination(ABC):
    """Turns predictions into one distribution per instance."""

    statistics: tuple[Statistic, ...]

    @abstractmethod
    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return the combination."""

    def score(self, predictions: Any, labels: Any, features: Any = None) -> dict[str, Estimate]:
        """Return accuracy, proper scores and the tested statistics."""
        point = self.apply(predictions, features)
        asked = {one.name: one for one in (accuracy, brier, log_loss, *self.statistics)}
        return {name: one(point, labels) for name, one in asked.items()}

    def regions(
        self, predictions: Any, labels: Any, features: Any, space: Any, n_resamples: int, rng: Any
    ) -> LocalDeviations:
        """Return where in feature space the combination fails."""
        require_resamples(n_resamples)
        given = as_class_predictions(predictions)
        observed = observed_classes(given, labels, test="regions")
        point = self.apply(given, features)
        cut = features if space is None else space
        columns, names = space_of(as_point(given)[0], cut, len(given))
        return local_deviations(point, observed, columns, names, n_resamples=n_resamples, seed=as_seed(rng))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return what it is, in JSON-safe types."""


@dataclasses.dataclass(frozen=True)
class MeanCombination(Combination):
    """The one distribution that stands for each set."""

    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return the mean (pignistic for beliefs)."""
        return as_point(as_predictions(predictions))[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the name."""
        return {"combination": "mean"}


@dataclasses.dataclass(frozen=True)
class PointCombination(Combination):
    """Weights on named points of the set."""

    names: tuple[str, ...]
    n_classes: int
    n_draws: int
    seed: Seed

    def _points(self, predictions: Any) -> Points:
        given = points_of(predictions, self.n_draws, self.seed)
        require_same_points(given, self.names, self.n_classes)
        return given


@dataclasses.dataclass(frozen=True)
class ConstantCombination(PointCombination):
    """One weight vector for all instances."""

    weights: Any = None  # host (a,)

    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return the weighted mean."""
        points = self._points(predictions).probs
        xp = namespace(points)
        weights = xp.broadcast_to(like(self.weights, points), points.shape[:2])
        return Point._trusted(mixed(weights[None, ...], points)[0, ...])

    def to_dict(self) -> dict[str, Any]:
        """Return names and weights."""
        return {
            "combination": "constant",
            "weights": dict(zip(self.names, self.weights.tolist(), strict=True)),
        }


@dataclasses.dataclass(frozen=True)
class FittedLearner:
    """A learner with its parameters: weights for any instances."""

    learner: LinearLearner
    basis: FittedBasis
    uses_features: bool
    scale: Any  # host (s,)
    parameters: Array  # (1, p)
    penalty: float

    def weights(self, points: Points, features: Array) -> Array:
        """Return weights on the points of the learner, (n, a)."""
        columns = self.learner.scaled_columns(points, self.basis, features, self.uses_features, self.scale)
        return columns.weights(self.parameters)[0, ...]


@dataclasses.dataclass(frozen=True)
class LearnedCombination(PointCombination):
    """Weights that depend on the instance; several fits (of cross-fitting) are averaged."""

    fits: Sequence[Any] = ()
    n_features: int | None = None

    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return the combination at other instances."""
        given = self._points(predictions)
        made = self.features(given, predictions, features)
        points = self.fits[0].learner.points(given)
        weights = sum(fit.weights(points, made) for fit in self.fits) / len(self.fits)
        return Point._trusted(mixed(weights[None, ...], points.probs)[0, ...])

    def features(self, given: Points, predictions: Any, features: Any) -> Array:
        """Return the features of other instances, as they were made for the test."""
        if self.n_features is None:
            if features is not None:
                raise InputError(
                    "`features`",
                    "were not given to the test, whose weights look at the members' log-probabilities",
                    "got some",
                    "Leave them out.",
                )
            return log_probabilities(given.probs)
        if features is None:
            raise InputError(
                "`features`",
                f"are needed: the weights were learned from {self.n_features} of them",
                "got none",
                "Pass the features of these instances.",
            )
        made = check_features(features, as_predictions(predictions))
        if made.shape[1] != self.n_features:
            raise InputError(
                "`features`",
                f"must have {self.n_features} columns, as in the test",
                f"got {made.shape[1]}",
                "Make them the same way.",
            )
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the learner's settings, penalties and parameters."""
        return {
            "combination": "learned",
            "learner": self.fits[0].learner.settings(),
            "penalty": [fit.penalty for fit in self.fits],
        }
