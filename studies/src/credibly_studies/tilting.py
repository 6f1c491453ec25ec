"""A learner that scores members by what they say, compared with the default in docs/studies/credal-level."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, as_float64, namespace
from credibly.learners.linear import LinearLearner
from credibly.learners.mixing import Columns
from credibly.learners.points import Points


@dataclasses.dataclass(frozen=True)
class TiltedColumns(Columns):
    """Columns (n, a, s) of the points themselves, with weights that all points have in common.

    The first `n_plain` of them do not depend on features.
    """

    n_plain: int

    alike = False

    @property
    def n_parameters(self) -> int:
        """Number of weights, s."""
        return int(self.shared.shape[2])

    def logits(self, parameters: Array) -> Array:
        """Return the logits of the weights, (b, s) -> (b, n, a)."""
        n, a, s = self.shared.shape
        return self.xp.reshape(parameters @ self.xp.reshape(self.shared, (n * a, s)).T, (-1, n, a))

    def pulled_back(self, slope: Array) -> Array:
        """Return the gradient in the weights from the one in the logits, (b, n, a) -> (b, s)."""
        n, a, s = self.shared.shape
        return self.xp.reshape(slope, (-1, n * a)) @ self.xp.reshape(self.shared, (n * a, s))


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
    >>> from credibly_studies.tilting import TiltingLearner
    >>> TiltingLearner().name
    'tilting'
    """

    constant_penalty: float = 1.0
    name: ClassVar[str] = "tilting"

    def columns(self, points: Points, made: Array) -> Columns:
        """Deviations from the mean, of it and of its logarithm, by class, also times mean and features.

        Every column is divided by its root mean square over these instances.
        """
        xp = namespace(points.probs)
        probs = as_float64(points.probs)
        _, a, k = probs.shape
        mean = xp.mean(probs, axis=1, keepdims=True)
        apart = probs - mean
        logs = xp.log(xp.clip(probs, 1e-6, None))
        ratio = logs - xp.mean(logs, axis=1, keepdims=True)
        parts = [apart, apart * mean * k, ratio]
        parts += [apart * made[:, column][:, None, None] for column in range(1, made.shape[1])]
        own = xp.concat(parts, axis=2)
        size = xp.mean(own**2, axis=(0, 1)) ** 0.5
        return TiltedColumns(own / xp.where(size > 1e-12, size, xp.ones_like(size)), a, n_plain=3 * k)

    def penalty(self, columns: Columns, value: float) -> np.ndarray[Any, Any]:
        """The deviations' own penalty, and one for those times features."""
        assert isinstance(columns, TiltedColumns)
        found = np.full(columns.n_parameters, value)
        found[: columns.n_plain] = self.constant_penalty
        return found
