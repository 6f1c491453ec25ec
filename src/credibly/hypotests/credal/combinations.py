"""What a credal test found: points of a set and weights on them, for any instances, and where they fail.

To find where in feature space they fail, it is cut without looking at labels. Instances are halved at the
median of the column that is widest among them, again and again, so that regions hold about equally many. In
region g and class c

    z_gc = sum_i (1[y_i = c] - f_ic) / sqrt(sum_i f_ic (1 - f_ic)),    i in g

is the deviation in standard errors; the largest of a region stands for it, and p-values are adjusted by the
largest of all regions and classes under labels drawn from f.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from credibly._arrays.checks import require_finite
from credibly._arrays.errors import require
from credibly._arrays.namespace import Array, HostArray, as_float64, like, namespace, to_host
from credibly._arrays.philox import Seed, as_seed
from credibly.hypotests.resampling.loop import label_tiles
from credibly.hypotests.resampling.pvalues import require_resamples
from credibly.hypotests.resampling.replicates import Replicates, observed_classes
from credibly.learners.basis import check_features, set_features
from credibly.learners.linear import FittedWeights, Learner
from credibly.learners.mixing import mixed
from credibly.learners.points import Points, as_class_predictions, points_of, require_same_points
from credibly.predictions import Classes, Point, as_point, as_predictions
from credibly.results.combinations import LocalDeviations
from credibly.statistics.events import Events

LEAST_INSTANCES = 20

MOST_REGIONS = 16


Cut = tuple[int, float, bool]
"""Column, threshold, and whether the region lies above it."""


def regions_of(space: HostArray) -> list[tuple[HostArray, tuple[Cut, ...]]]:
    """Return rows and conditions of every region."""
    spread = space.std(axis=0)
    scaled = space / np.where(spread > 0, spread, 1.0)
    least = max(LEAST_INSTANCES, -(-len(space) // MOST_REGIONS))
    done: list[tuple[HostArray, tuple[Cut, ...]]] = []
    waiting: list[tuple[HostArray, tuple[Cut, ...]]] = [(np.arange(len(space)), ())]
    while waiting:
        rows, conditions = waiting.pop()
        halves = _halves(space, scaled, rows, least)
        if halves is None:
            done.append((rows, conditions))
            continue
        column, threshold, above = halves
        waiting += [
            (rows[above], (*conditions, (column, threshold, True))),
            (rows[~above], (*conditions, (column, threshold, False))),
        ]
    return done


def _halves(
    space: HostArray, scaled: HostArray, rows: HostArray, least: int
) -> tuple[int, float, HostArray] | None:
    """Return the widest column that halves these rows at its median, leaving `least` on both sides."""
    if len(rows) < 2 * least:
        return None
    for column in np.argsort(-scaled[rows].std(axis=0), kind="stable"):
        values = space[rows, column]
        for threshold in (np.median(values), values[values < np.median(values)].max(initial=-np.inf)):
            above = values > threshold  # many equal values may all lie at the median: try just below it
            if least <= above.sum() <= len(rows) - least:
                return int(column), float(threshold), above
    return None


def _words(conditions: tuple[Cut, ...], columns: Sequence[str]) -> str:
    """Say a region in words; of several cuts of one column the last on either side counts."""
    kept = {(column, above): threshold for column, threshold, above in conditions}
    ordered = sorted(kept.items(), key=lambda entry: (entry[0][0], not entry[0][1]))
    return (
        " and ".join(
            f"{columns[column]} {'>' if above else '<='} {threshold:.3g}"
            for (column, above), threshold in ordered
        )
        or "all instances"
    )


def _scores(counted: HostArray, expected: HostArray, variance: HostArray) -> HostArray:
    """Return deviations in standard errors; infinite where what was certain did not happen."""
    gap = counted - expected
    certain = variance <= 1e-12
    scores = gap / np.sqrt(np.where(certain, 1.0, variance))
    return np.where(certain, np.where(np.abs(gap) > 1e-9, np.copysign(np.inf, gap), 0.0), scores)


def space_of(
    point: Point, space: Any, n: int, names: Sequence[str] | None = None
) -> tuple[HostArray, tuple[str, ...]]:
    """Return what to cut and its names: the given columns, or the predicted probabilities."""
    if space is None:
        probs = to_host(as_float64(point.probs))
        return probs, _names_of(probs, names, [f"mean P({c})" for c in range(probs.shape[1])])
    columns = np.asarray(to_host(space) if hasattr(space, "shape") else space, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    require(
        columns.ndim == 2 and len(columns) == n and columns.size,
        f"must be finite columns, one row per prediction ({n})",
        "Give an array (n, d), or leave it out to cut by predicted probabilities.",
        space=columns,
    )
    require_finite(columns, "space")
    return columns, _names_of(columns, names, [f"feature {j}" for j in range(columns.shape[1])])


def _names_of(columns: HostArray, names: Sequence[str] | None, default: Sequence[str]) -> tuple[str, ...]:
    number = columns.shape[1]
    rule, remedy = f"must name each of the {number} columns", "Give one name per column, or leave them out."
    require(names is None or len(names) == number, rule, remedy, names=names)
    return tuple(default if names is None else names)


def features_as_tested(features: Any, n_features: int | None, predictions: Any) -> Array | None:
    """Return the features of other instances; None where the test had none, `wanted` columns otherwise."""
    rule = "were not given to the test, which depends on the sets themselves"
    require(features is None or n_features is not None, rule, "Leave them out.", features=features)
    if features is None:
        rule = f"are needed: the test learned from {n_features} features"
        require(n_features is None, rule, "Pass the features of these instances.", features=features)
        return None
    columns = check_features(features, as_class_predictions(predictions))
    rule = f"must have {n_features} columns, as in the test"
    require(columns.shape[1] == n_features, rule, "Compute them in the same way.", features=columns)
    return columns


@dataclasses.dataclass(frozen=True)
class Combination(ABC):
    """Turns predictions into one distribution per instance."""

    @abstractmethod
    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return the combination."""

    def regions(
        self,
        predictions: Any,
        labels: Any,
        features: Any,
        space: Any,
        names: Sequence[str] | None,
        n_resamples: int,
        rng: Any,
    ) -> LocalDeviations:
        """Return deviations by region of feature space, the worst first."""
        require_resamples(n_resamples)
        predictions = as_class_predictions(predictions)
        observed, _ = observed_classes(predictions, labels, "regions", as_seed(rng))
        point = self.apply(predictions, features)
        where = features if space is None else space
        space, columns = space_of(as_point(predictions)[0], where, len(predictions), names)
        parts, k = regions_of(space), predictions.n_classes
        region = np.empty(len(predictions), dtype=np.int64)
        for number, (rows, _) in enumerate(parts):
            region[rows] = number
        terms = Events(point.probs).split(like(region, point.probs), len(parts))
        fixed = terms.fixed(None, frozenset({"expected", "variance"}))
        expected, variance = (to_host(fixed[name]).reshape(-1, k) for name in ("expected", "variance"))

        def counted(labels: Classes) -> HostArray:
            return to_host(terms.observed(labels)).reshape(-1, *expected.shape)

        scores = _scores(counted(observed), expected, variance)[0]
        drawn = label_tiles(observed, Replicates(point.probs, as_seed(rng)), slice(0, n_resamples))
        every = (np.abs(_scores(counted(batch), expected, variance)) for _, batch in drawn)
        largest = np.concatenate([scores_of_tile.max(axis=(1, 2)) for scores_of_tile in every])[1:]
        # of two classes both deviate alike, and the last bits would choose
        worst = np.arange(len(parts)), np.abs(scores).round(6).argmax(axis=1)
        worst_scores = scores[worst]
        order = np.argsort(-np.abs(worst_scores), kind="stable")
        sizes = np.array([len(rows) for rows, _ in parts])
        reached = (largest[None, :] >= np.abs(worst_scores)[:, None] * (1 - 1e-12)).sum(axis=1)
        return LocalDeviations(
            regions=tuple(_words(parts[g][1], columns) for g in order),
            sizes=sizes[order],
            classes=worst[1][order],
            predicted=(expected[worst] / sizes)[order],
            observed=(counted(observed)[0][worst] / sizes)[order],
            scores=worst_scores[order],
            adjusted_pvalues=((1 + reached) / (1 + n_resamples))[order],
            columns=tuple(columns),
            lower=np.stack([space[parts[g][0]].min(axis=0) for g in order]),
            upper=np.stack([space[parts[g][0]].max(axis=0) for g in order]),
            n=len(predictions),
            n_resamples=n_resamples,
        )

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
        points = points_of(predictions, self.n_draws, self.seed)
        require_same_points(points, self.names, self.n_classes)
        return points


@dataclasses.dataclass(frozen=True)
class ConstantCombination(PointCombination):
    """One weight vector for all instances."""

    weights: HostArray  # (a,)

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
class LearnedCombination(PointCombination):
    """Weights that depend on the instance."""

    learner: Learner
    fit: FittedWeights
    n_features: int | None

    def apply(self, predictions: Any, features: Any = None) -> Point:
        """Return the combination at other instances."""
        sets = self._points(predictions)
        points = self.learner.points(sets)
        chosen = features_as_tested(features, self.n_features, predictions)
        weights = self.fit.weights(points, set_features(sets.probs) if chosen is None else chosen)
        return Point._trusted(mixed(weights[None, ...], points.probs)[0, ...])

    def to_dict(self) -> dict[str, Any]:
        """Return the learner's settings and what it keeps of the fit."""
        return {"combination": "learned", "learner": self.learner.settings(), **self.fit.to_dict()}
