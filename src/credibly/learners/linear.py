"""Light learners of instance-dependent weights: what is mixed, and what the weights may look at.

Each one says which points of the set it mixes and which columns the logits of their weights are linear in;
`mixing` fits them. H0 of a learned test is "a combination that this learner can represent is calibrated".
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from credibly._arrays.checks import require_integer
from credibly._arrays.errors import InputError, InputTypeError
from credibly._arrays.namespace import Array, HostArray, as_float64, device, like, namespace
from credibly.credal import boundary
from credibly.credal.sets import require_positive_number
from credibly.learners.basis import Basis, FittedBasis
from credibly.learners.mixing import Columns
from credibly.learners.points import Points
from credibly.predictions import as_point

PENALTIES = (float("inf"), 10.0, 1.0, 0.1, 0.01, 0.001)
"""Candidates for the penalty of weights that depend on features; inf means weights that do not. With the
smallest, weights can jump from one member to another, as where each is right on its side of a feature."""

_SAME_SCORE = 1e-9  # points whose entropies or probabilities differ by less are extreme alike


class Part(NamedTuple):
    """Which instances weights are learned on and which are tested, as sorted indices."""

    learn: HostArray
    test: HostArray


@dataclasses.dataclass(frozen=True)
class Learner(ABC):
    """Base of all learners of instance-dependent weights. Settings are the fields; instances are frozen."""

    name: ClassVar[str]

    def points(self, given: Points) -> Points:
        """Return what this learner mixes; the given points, if it adds none."""
        return given

    def settings(self) -> dict[str, Any]:
        """Return the name and the fields."""
        return {"name": self.name, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True)
class LinearLearner(Learner):
    """Base of the light learners, whose logits are linear in columns made of features.

    Parameters
    ----------
    basis : Basis
        Columns made of the features.
    penalties : tuple of float
        Candidates for the penalty of weights on features, chosen by cross-validation of the log loss on the
        learning part, from the largest down until two in a row are no better than the best; ``inf`` means
        weights that do not depend on features.
    constant_penalty : float
        Penalty of all other weights; it keeps the parameters of points without weight finite.
    n_folds : int
        Folds of the cross-validation.
    """

    basis: Basis = dataclasses.field(default_factory=Basis)
    penalties: tuple[float, ...] = PENALTIES
    constant_penalty: float = 0.005
    n_folds: int = 4

    def __post_init__(self) -> None:
        if not isinstance(self.basis, Basis):
            raise InputTypeError("`basis`", "must be a Basis", f"got {self.basis!r}", "Use `Basis('raw')`.")
        require_integer(self.n_folds, "n_folds", 2)
        if not self.penalties or not all(value > 0 for value in self.penalties):
            raise InputError(
                "`penalties`", "must be positive numbers", f"got {self.penalties!r}", "Try (inf, 10.0, 1.0)."
            )
        require_positive_number(self.constant_penalty, "constant_penalty", "Use 0.005.")

    @abstractmethod
    def columns(self, points: Points, made: Array) -> Columns:
        """Return what logits are linear in, from the columns (n, 1 + q) made of features."""

    def scaled_columns(
        self, points: Points, basis: FittedBasis, features: Array, uses_features: bool, scale: Any
    ) -> Columns:
        """Return the columns with those of `own` divided by `scale`, (s,)."""
        made = basis.columns(features)
        plain = self.columns(points, made if uses_features else made[:, :1])
        if not plain.own.shape[2]:
            return plain
        return dataclasses.replace(plain, own=plain.own / like(scale, plain.own))

    @abstractmethod
    def penalty(self, columns: Columns, value: float) -> np.ndarray[Any, Any]:
        """Return the penalty of every parameter, (p,)."""


def _per_point(columns: Columns, constant: float, value: float) -> np.ndarray[Any, Any]:
    """Return penalties of weights per point, columns in front: the first column is the constant."""
    q, a = columns.shared.shape[1], columns.own.shape[1]
    by_column = np.full((q, a), value)
    by_column[0] = constant
    return by_column.reshape(-1)


@dataclasses.dataclass(frozen=True)
class GatingLearner(LinearLearner):
    """Softmax-linear gating on the members: every member has its own weights on the features.

    Parameters
    ----------
    basis : Basis
        Columns made of the features.
    penalties : tuple of float
        Candidates for the penalty of weights on features, chosen by cross-validation.
    constant_penalty : float
        Penalty of all other weights.
    n_folds : int
        Folds of the cross-validation.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.GatingLearner().name
    'gating'
    """

    name: ClassVar[str] = "gating"

    def columns(self, points: Points, made: Array) -> Columns:
        """Ones and features, with weights per point."""
        return Columns(made, _no_columns(points.probs))

    def penalty(self, columns: Columns, value: float) -> np.ndarray[Any, Any]:
        """The constant's own penalty, and one for all features."""
        return _per_point(columns, self.constant_penalty, value)


@dataclasses.dataclass(frozen=True)
class BoundaryLearner(GatingLearner):
    """Gating on the members, on boundary points of the set towards each class, and on its extreme members.

    The ray from the mean prediction towards a class leaves the set at a point that belongs to the set,
    whatever the order of its members. So do the most cautious member (largest entropy), the boldest one, and
    the one that gives a class its largest probability. With these points in the mixture, the learner can
    follow a truth that stays on one side of the set, or with one kind of member. Weights on fixed members
    cannot, because which member that is changes from instance to instance.

    Parameters
    ----------
    basis : Basis
        Columns made of the features.
    penalties : tuple of float
        Candidates for the penalty of weights on features, chosen by cross-validation.
    constant_penalty : float
        Penalty of all other weights.
    n_folds : int
        Folds of the cross-validation.
    max_classes : int
        With more classes than this, the points that belong to a class are left out, except the one towards
        the most probable class.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.BoundaryLearner().name
    'boundary'
    """

    max_classes: int = 20
    name: ClassVar[str] = "boundary"

    def points(self, given: Points) -> Points:
        """Add one boundary point and one member per class, the most cautious and the boldest member."""
        xp = namespace(given.probs)
        classes = range(given.probs.shape[2] if given.probs.shape[2] <= self.max_classes else 0)
        found = {
            **{f"boundary towards class {c}": _boundary(given, c) for c in classes},
            "boundary towards the most probable class": _boundary(given, None),
            **_telling_points(as_float64(given.probs), classes),
        }
        probs = xp.concat([as_float64(given.probs), xp.stack(list(found.values()), axis=1)], axis=1)
        return dataclasses.replace(given, probs=probs, names=(*given.names, *found))


def _boundary(given: Points, towards: int | None) -> Array:
    """Return where rays from the mean leave the sets, (n, k): towards a class, or the most probable one."""
    mean, _ = as_point(given.credal)
    goal = namespace(mean.probs).argmax(mean.probs, axis=1)
    if towards is not None:
        goal = like(np.full(len(mean), towards), given.probs)
    return as_float64(boundary(given.credal, goal))


def _telling_points(probs: Array, classes: Sequence[int]) -> dict[str, Array]:
    """Return points that are extreme among those of their instance, whatever their order, (n, k) each.

    Where several are, their mean: choosing one of them would depend on the order, and count it twice.
    """
    xp = namespace(probs)
    entropy = -xp.sum(probs * xp.log(xp.where(probs > 0, probs, xp.ones_like(probs))), axis=2)
    scores = {"the most cautious": entropy, "the boldest": -entropy}
    scores |= {f"the largest in class {c}": probs[:, :, c] for c in classes}
    found = {}
    for name, score in scores.items():
        tied = xp.astype(score >= xp.max(score, axis=1, keepdims=True) - _SAME_SCORE, xp.float64)
        found[name] = xp.sum(tied[:, :, None] * probs, axis=1) / xp.sum(tied, axis=1, keepdims=True)
    return found


@dataclasses.dataclass(frozen=True)
class TiltingLearner(LinearLearner):
    """Scores every member from its own prediction, the mean and the features; softmax over the members.

    All members share one set of weights, so their order does not matter, and a score that grows with the
    probability of a class tilts the combination towards that class.

    Parameters
    ----------
    basis : Basis
        Columns made of the features.
    penalties : tuple of float
        Candidates for the penalty of weights on features, chosen by cross-validation.
    constant_penalty : float
        Penalty of all other weights.
    n_folds : int
        Folds of the cross-validation.

    Examples
    --------
    >>> import credibly as cr
    >>> cr.learners.TiltingLearner().name
    'tilting'
    """

    constant_penalty: float = 1.0
    name: ClassVar[str] = "tilting"

    def columns(self, points: Points, made: Array) -> Columns:
        """Deviations from the mean, of it and of its logarithm, by class, also times mean and features."""
        xp = namespace(points.probs)
        probs = as_float64(points.probs)
        n, _, k = probs.shape
        mean = xp.mean(probs, axis=1, keepdims=True)
        apart = probs - mean
        logs = xp.log(xp.clip(probs, 1e-6, None))
        ratio = logs - xp.mean(logs, axis=1, keepdims=True)
        parts = [apart, apart * mean * k, ratio]
        parts += [apart * made[:, column][:, None, None] for column in range(1, made.shape[1])]
        none = xp.zeros((n, 0), dtype=xp.float64, device=device(probs))
        return Columns(none, xp.concat(parts, axis=2), n_plain=3 * k)

    def penalty(self, columns: Columns, value: float) -> np.ndarray[Any, Any]:
        """The deviations' own penalty, and one for those times features."""
        found = np.full(columns.own.shape[2], value)
        found[: columns.n_plain] = self.constant_penalty
        return found


def _no_columns(points: Array) -> Array:
    xp = namespace(points)
    n, a, _ = points.shape
    return xp.zeros((n, a, 0), dtype=xp.float64, device=device(points))
