"""A learner that scores members by what they say, compared with the default in docs/studies/credal-level."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from credibly._arrays.namespace import Array, as_float64, device, namespace
from credibly.learners.linear import LinearLearner
from credibly.learners.mixing import Columns
from credibly.learners.points import Points


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
