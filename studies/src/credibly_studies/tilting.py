"""A learner that scores members by what they say, compared with the default in studies/pages/credal-level."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, HostArray, as_float64, device, like, namespace, to_host
from credibly.learners import FittedWeights, GatingLearner, Lesson
from credibly.learners.mixing import Columns
from credibly.learners.points import Points


@dataclasses.dataclass(frozen=True)
class MemberColumns(Columns):
    """Columns (n, a, s) of every member, with weights that all members share.

    What a column holds says what kind of member it is, so renaming the members renames the weights. The
    first `n_plain` columns do not depend on features.
    """

    own: Array
    n_plain: int = 0

    @property
    def alike(self) -> bool:
        """Never: members say something else about every instance."""
        return False

    @functools.cached_property
    def reach(self) -> float:
        """How far a logit can be from 0, in units of the largest parameter."""
        return float(self.xp.max(self.xp.sum(self.xp.abs(self.own), axis=2)))

    @property
    def n_parameters(self) -> int:
        """Number of weights, s."""
        return int(self.own.shape[2])

    def rows(self, rows: Array) -> MemberColumns:
        """Return the columns of some instances."""
        shared, of_members = (self.xp.take(columns, rows, axis=0) for columns in (self.shared, self.own))
        return dataclasses.replace(self, shared=shared, own=of_members)

    def logits(self, parameters: Array) -> Array:
        """Return the logits of the weights, (b, s) -> (b, n, a)."""
        n, a, s = self.own.shape
        logits = parameters @ self.xp.reshape(self.own, (n * a, s)).T
        return self.xp.reshape(logits, (parameters.shape[0], n, a))

    def pulled_back(self, slope: Array) -> Array:
        """Return the gradient in the weights from the one in the logits, (b, n, a) -> (b, s)."""
        n, a, s = self.own.shape
        flat = self.xp.reshape(slope, (slope.shape[0], n * a))
        return flat @ self.xp.reshape(self.own, (n * a, s))


@dataclasses.dataclass(frozen=True)
class TiltingLearner(GatingLearner):
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
    >>> from credibly_studies.tilting import TiltingLearner
    >>> TiltingLearner().name
    'tilting'
    """

    constant_penalty: float = 1.0
    name: ClassVar[str] = "tilting"

    def columns(self, points: Points, made: Array) -> MemberColumns:
        """Deviations from the mean, of it and of its logarithm, by class, also times mean and features."""
        xp = namespace(points.probs)
        probs = as_float64(points.probs)
        n, a, k = probs.shape
        mean = xp.mean(probs, axis=1, keepdims=True)
        apart = probs - mean
        logs = xp.log(xp.clip(probs, 1e-6, None))
        ratio = logs - xp.mean(logs, axis=1, keepdims=True)
        parts = [apart, apart * mean * k, ratio]
        parts += [apart * made[:, column][:, None, None] for column in range(1, made.shape[1])]
        none = xp.zeros((n, 0), dtype=xp.float64, device=device(probs))
        return MemberColumns(none, a, xp.concat(parts, axis=2), n_plain=3 * k)

    def penalty(self, columns: Columns, value: float) -> np.ndarray[Any, Any]:
        """The deviations' own penalty, and one for those times features."""
        assert isinstance(columns, MemberColumns)
        penalties = np.full(columns.n_parameters, value)
        penalties[: columns.n_plain] = self.constant_penalty
        return penalties

    def learn_parts(self, lesson: Lesson, parts: Sequence[HostArray]) -> list[FittedWeights]:
        """Bring the columns to one size first, so that one penalty suits all."""
        made = self.basis.fit(lesson.features).columns(lesson.features)
        columns = to_host(self.columns(lesson.points, made).own)
        size = np.sqrt((columns**2).mean(axis=(0, 1)))
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        scaled = _ScaledTilting(**fields, scale=np.where(size > 1e-12, size, 1.0))
        return GatingLearner.learn_parts(scaled, lesson, parts)


@dataclasses.dataclass(frozen=True)
class _ScaledTilting(TiltingLearner):
    """The same with columns divided by their root mean squares, those without features first."""

    scale: HostArray = dataclasses.field(default_factory=lambda: np.ones(0))

    def columns(self, points: Points, made: Array) -> MemberColumns:
        plain = super().columns(points, made)
        scale = like(self.scale[: plain.n_parameters], plain.own)
        return dataclasses.replace(plain, own=plain.own / scale)
